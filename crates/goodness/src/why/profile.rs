//! The causal profile: what would less CPU time of tasks change, a shorter hold of a lock, a faster disk?

use super::Question;
use super::check::changed;
use super::names::Names;
use super::run::{Explained, Found, names};
use crate::edit::Edit;
use crate::parallel::{Counted, Told, each_watched};
use crate::plan::Ready;
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::simulation::Beside;
use goodness_core::{Event, LockId, Observer, TaskId, Time};
use goodness_report::why::{Lever, LeverKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// By how much time is shortened, in percent.
const STEPS: [u32; 3] = [5, 10, 25];
/// Kinds of tasks that are tried: those that use most CPU time. A choice.
const KINDS: usize = 6;
/// Locks that are tried, those first for which tasks fall asleep most often, and disks. A choice.
const PLACES: usize = 4;

/// Something of which there could be less.
struct Lesser {
    kind: LeverKind,
    what: String,
}

impl Lesser {
    /// The edit that leaves `percent`.
    fn edit(&self, percent: u32) -> Edit {
        match self.kind {
            LeverKind::Compute => Edit::computes(&self.what, percent),
            LeverKind::Hold => Edit::holds(&self.what, percent),
            LeverKind::Service => Edit::serves(&self.what, percent),
        }
    }
}

/// Simulates `run` with less of each; what shortens the 99th percentile most comes first, of equals what raises the
/// throughput.
///
/// # Errors
/// As [`crate::Plan::run`].
pub(super) fn profile(run: Explained, found: &Found, watch: &Watch) -> Result<Vec<Lever>, Refusal> {
    let lesser = Counted::new(watch, 1).run(|told| lesser(run, told))?;
    let jobs: Vec<(&Lesser, u32)> = lesser.iter().flat_map(|it| STEPS.map(|step| (it, step))).collect();
    let question = Question { of: Some(found.of), at: None, worst: 0, checks: 0, profile: false };
    let levers = each_watched(&jobs, watch, |(it, step), told| {
        let contender = changed(run.contender, &it.edit(100 - step));
        let less = Explained { contender: &contender, ..run }.find(&question, told)?;
        let change = |with: f64, without: f64| (with > 0.0).then(|| without / with - 1.0);
        let p99 = |found: &Found| found.lateness.p99.map(|span| span.0 as f64);
        let rate = |found: &Found| found.served as f64 / found.length.0.max(1) as f64;
        Ok(Lever {
            kind: it.kind,
            what: it.what.clone(),
            less: f64::from(*step) / 100.0,
            p99: p99(found).zip(p99(&less)).and_then(|(with, without)| change(with, without)),
            throughput: change(rate(found), rate(&less)),
        })
    });
    let mut levers: Vec<Lever> = levers?.into_iter().collect::<Result<_, Refusal>>()?;
    let [p99, loss] = [|it: &Lever| it.p99.unwrap_or(0.0), |it: &Lever| -it.throughput.unwrap_or(0.0)];
    levers.sort_by(|a, b| p99(a).total_cmp(&p99(b)).then(loss(a).total_cmp(&loss(b))));
    Ok(levers)
}

/// Everything to try: the kinds of tasks that use most CPU time, the locks for which most sleep, the disks.
fn lesser(run: Explained, told: Told) -> Result<Vec<Lesser>, Refusal> {
    let (plan, ready) = (run.plan(), run.ready()?);
    let names = names(&ready, run.work);
    let disks = disks(&ready);
    let mut sleeps = Sleeps(vec![0; ready.work.locks.len()]);
    let measured = plan.run_first(ready, Beside::watched(&mut sleeps), told)?.measured;
    let used = measured.tasks.iter().map(|task| (names.kind(TaskId(task.task.0)), task.cpu_time.0));
    let kinds = busiest(used).into_iter().map(|kind| (LeverKind::Compute, names.of_kind(kind).to_string()));
    let all = kinds.chain(sleeps.locks(&names)).chain(disks);
    Ok(all.map(|(kind, what)| Lesser { kind, what }).collect())
}

fn disks(ready: &Ready) -> Vec<(LeverKind, String)> {
    let disks = ready.work.storage.disks.iter().take(PLACES);
    disks.map(|disk| (LeverKind::Service, disk.name.clone())).collect()
}

/// The kinds with the largest sums above 0, largest first.
fn busiest(used: impl Iterator<Item = (u32, u64)>) -> Vec<u32> {
    let mut sums = BTreeMap::<u32, u64>::new();
    used.for_each(|(kind, time)| *sums.entry(kind).or_default() += time);
    let mut sums: Vec<(u32, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by_key(|(kind, sum)| (Reverse(*sum), *kind));
    sums.into_iter().take(KINDS).map(|(kind, _)| kind).collect()
}

/// Counts how often tasks fall asleep for each lock.
struct Sleeps(Vec<u64>);

impl Sleeps {
    fn locks(&self, names: &Names) -> Vec<(LeverKind, String)> {
        let mut locks: Vec<(LockId, u64)> = (0..).map(LockId).zip(self.0.iter().copied()).collect();
        locks.sort_by_key(|(lock, count)| (Reverse(*count), *lock));
        locks.into_iter().take(PLACES).map(|(lock, _)| (LeverKind::Hold, names.lock(lock).to_string())).collect()
    }
}

impl Observer for Sleeps {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Contended { lock, .. } = event {
            self.0[lock.0 as usize] += 1;
        }
    }
}
