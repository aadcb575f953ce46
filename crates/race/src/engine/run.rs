//! One run of one arm.

use super::outside_load::{CpuTimes, OutsideLoad};
use super::{Plan, RaceError, RunningRace, Series, order::seed_of};
use crate::arm::MachineChanges;
use crate::cgroup::RoleCgroups;
use crate::load::Load;
use crate::measure::Measure;
use crate::role::Role;
use goodness_core::spelling::suggest;
use goodness_sys::cgroup::Weights;
use goodness_sys::process::Conditions;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Block number, from 0; warm-up blocks come first.
    pub block: u32,
    /// Its arm.
    pub arm: usize,
    /// Measurements.
    pub measures: Vec<Measure>,
    /// Duration, including start and stop of servers.
    pub took: Duration,
    /// Load by other processes.
    pub outside: OutsideLoad,
    /// Number of repetitions because of that.
    pub repeated: u32,
    /// True if there was too much outside load all the same.
    pub disturbed: bool,
}

impl RunningRace<'_> {
    /// Prepares the load. Its processes run in cgroups, but without an arm's settings.
    pub(super) fn prepare(&mut self, load: &mut dyn Load) -> Result<(), RaceError> {
        let cgroups = self.cgroups()?;
        self.assign(&cgroups, |_| Conditions::default());
        let prepared = load.prepare(&self.workspace);
        self.ended(cgroups)?;
        prepared.map_err(RaceError::from)
    }

    pub(super) fn run(&mut self, block: u32, arm: usize, load: &mut dyn Load) -> Result<Run, RaceError> {
        let restore = self.restore.clone();
        let setting = &self.plan.arms[arm];
        let mut changes = MachineChanges::new(&restore, self.workspace.disks());
        setting.apply(&mut changes).map_err(RaceError::Refused)?;
        let cgroups = self.cgroups()?;
        for (role, group) in Role::ALL.iter().zip(&cgroups) {
            if setting.to.means(*role) {
                self.weigh(group, &mut changes)?;
            }
        }
        self.assign(&cgroups, |role| setting.conditions(role));
        let (before, begun) = (CpuTimes::now(), Instant::now());
        let measures = load.run(&self.workspace, seed_of(self.plan.seed, block));
        let took = begun.elapsed();
        let used = cgroups.iter().map(RoleCgroups::used_ns).sum::<Option<u64>>();
        let capacity = took.as_nanos() as u64 * self.cpus as u64;
        let outside = before.until(CpuTimes::now(), used, capacity);
        self.ended(cgroups)?;
        drop(changes);
        Ok(Run { block, arm, measures: measures?, took, outside, repeated: 0, disturbed: false })
    }

    fn cgroups(&self) -> Result<Vec<RoleCgroups>, RaceError> {
        let make = |role: &Role| RoleCgroups::make(&self.hierarchies, *role, self.weights, &self.restore);
        let cgroups: Result<Vec<RoleCgroups>, _> = Role::ALL.iter().map(make).collect();
        let cgroups = cgroups.map_err(|why| RaceError::Failed(format!("a cgroup cannot be made: {why}")))?;
        self.interrupt.watch(cgroups.iter().flat_map(|group| group.groups().to_vec()).collect());
        Ok(cgroups)
    }

    /// Writes the arm's settings to the files of a cgroup.
    fn weigh(&self, group: &RoleCgroups, changes: &mut MachineChanges) -> Result<(), RaceError> {
        let version2 = self.hierarchies.weights() == Some(Weights::Version2);
        for file in std::mem::take(&mut changes.group) {
            let (name, value) = if version2 { &file.version2 } else { &file.version1 };
            let Some(folder) = group.weighed() else { continue };
            changes.put(&folder.join(name), value).map_err(RaceError::Refused)?;
            changes.group.push(file);
        }
        Ok(())
    }

    /// Makes servers and clients start in their cgroups, with their attributes from `asked`.
    fn assign(&mut self, cgroups: &[RoleCgroups], asked: impl Fn(Role) -> Conditions) {
        for (role, group) in Role::ALL.into_iter().zip(cgroups) {
            let asked = asked(role);
            self.workspace.set(role, Conditions { groups: group.groups().to_vec(), session: self.sessions, ..asked });
        }
    }

    /// Stops all remaining processes. A signal received meanwhile ends the race.
    fn ended(&mut self, cgroups: Vec<RoleCgroups>) -> Result<(), RaceError> {
        self.interrupt.watch(Vec::new());
        drop(cgroups);
        self.workspace.stop_all();
        self.interrupt.signal().map_or(Ok(()), |signal| Err(RaceError::Interrupted(signal)))
    }
}

/// Checks that the load provides all measures that need a verdict.
pub(super) fn all_are_measured(plan: &Plan, runs: &[Run]) -> Result<(), String> {
    let given: BTreeSet<&str> = runs.iter().flat_map(|run| &run.measures).map(|it| it.name.as_str()).collect();
    match plan.measures.iter().find(|name| !given.contains(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("the load measures no \"{name}\"; {}", suggest(name, given.iter().copied()))),
    }
}

/// The measures of the counted runs, in order of first appearance.
pub(super) fn series(plan: &Plan, runs: &[Run]) -> Vec<Series> {
    let counted = || runs.iter().filter(|run| run.block >= plan.warmup);
    let blocks = counted().map(|run| run.block + 1 - plan.warmup).max().unwrap_or(0) as usize;
    let mut all: Vec<Series> = Vec::new();
    for run in counted() {
        for measure in &run.measures {
            let found = all.iter().position(|series| series.name == measure.name);
            let at = found.unwrap_or_else(|| {
                let decides = plan.measures.contains(&measure.name);
                let values = vec![vec![None; blocks]; plan.arms.len()];
                let (name, unit, better) = (measure.name.clone(), measure.unit, measure.better);
                all.push(Series { name, unit, better, decides, values });
                all.len() - 1
            });
            let block = (run.block - plan.warmup) as usize;
            // NaN stands for a value that was not measured.
            all[at].values[run.arm][block] = Some(measure.value).filter(|value| value.is_finite());
        }
    }
    all
}
