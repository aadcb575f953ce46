//! What differs between two arms, two recordings, or two saved results, and where it begins.

mod asked;
mod decisions;
mod disk_question;
mod disk_queues;
#[cfg(test)]
mod disk_tests;
mod first;
mod judge;
pub(crate) mod parting;
mod placement_question;
mod question;
mod results;
mod saved;
mod scene;
#[cfg(test)]
mod tests;

pub use asked::Asked;
pub use results::results;
pub use saved::{Saved, is_result, read};

use crate::parallel::Counted;
use crate::plan::Plan;
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::report::unit_of;
use crate::runs::{Arm, Runs};
use crate::simulation::Beside;
use goodness_observe::{About, METRICS};
use goodness_report::diff::{Diff, Difference, FirstDifference, Kind, Side, TaskName};
use goodness_report::model::{Sampling, Trust};
use judge::Row;

/// Remark on the intervals of replays of one recording.
const ONE_RECORDING: &str = "Intervals of metrics cover other recordings of this load and the replay's error; those \
    of tasks only these replays.";

/// Runs the first two contenders of `plan` and compares the second with the first. Returns the runs, too: they know of
/// violations.
///
/// # Errors
/// As [`Plan::run`].
///
/// # Panics
/// The plan has not two contenders, or does not keep the results of tasks.
pub fn arms(plan: &Plan, input: &str, watch: &Watch) -> Result<(Diff, Runs), Refusal> {
    assert!(plan.contenders.len() == 2 && plan.by_task, "a plan of two arms that keeps tasks");
    let runs = plan.run(watch)?;
    let side = |arm: &Arm| Side { label: arm.label_beside_other(&runs.arms), input: input.into() };
    let mut diff = Diff::new(Kind::Arms, side(&runs.arms[0]), side(&runs.arms[1]));
    diff.samples = format!("{} runs of each, paired by seed {}", plan.runs, plan.seed);
    diff.metrics = runs.differences();
    diff.tasks = runs.task_differences();
    diff.first_difference = first_difference(plan, &runs, watch)?;
    diff.trust = Trust::of(runs.fidelity.as_ref(), None, runs.doubts());
    diff.notes.extend(runs.simulation_notes());
    if runs.sampling == Sampling::Replays {
        diff.notes.push(ONE_RECORDING.into());
    }
    diff.conclude();
    Ok((diff, runs))
}

/// The first decision that differs, in the first run of which a value differs; of the first run if none does.
fn first_difference(plan: &Plan, runs: &Runs, watch: &Watch) -> Result<Option<FirstDifference>, Refusal> {
    let replication = plan.first + runs.first_unequal().unwrap_or(0);
    let counted = Counted::new(watch, 4);
    let rerun = |side: usize, beside: Beside| counted.run(|told| plan.watch_one(side, replication, beside, told));
    let Some(parting) = parting::parting(&rerun)? else { return Ok(None) };
    let cpus = plan.most_cpus()?;
    let told = parting::told(&parting, cpus, &rerun)?;
    Ok(Some(FirstDifference { replication, seed: plan.seed, ..told }))
}

/// Compares two recordings as they were made: `runs` are those of [`crate::recordings::as_arms`].
///
/// # Panics
/// There are not two.
#[must_use]
pub fn recordings(runs: &Runs, inputs: [&str; 2]) -> Diff {
    let [a, b] = [0, 1].map(|index| Side { label: runs.arms[index].label(), input: inputs[index].into() });
    let mut diff = Diff::new(Kind::Recordings, a, b);
    diff.samples = "one recording each; intervals by what recordings of one load differ".into();
    diff.metrics = runs.differences();
    diff.conclude();
    diff
}

impl Runs {
    /// The second arm against the first, in every metric that both measured.
    fn differences(&self) -> Vec<Difference> {
        let [a, b] = [&self.arms[0], &self.arms[1]];
        let row = |metric: &About| Row {
            name: metric.name.into(),
            group: judge::quantity(metric.name).into(),
            unit: unit_of(metric).into(),
            better: metric.better,
            a: a.values(metric.name).to_vec(),
            b: b.values(metric.name).to_vec(),
            doubt: self.doubt(b, metric),
            is_withheld: !self.is_judged(b, metric),
        };
        let is_measured =
            |metric: &&About| [a, b].iter().all(|arm| arm.values(metric.name).iter().any(Option::is_some));
        judge::judge(METRICS.iter().filter(is_measured).map(row).collect(), self.pairing())
    }

    fn task_differences(&self) -> Vec<goodness_report::diff::TaskDifference> {
        let [a, b] = [&self.arms[0], &self.arms[1]];
        let names = a.first.tasks.iter().map(|it| TaskName { name: it.name.clone(), id: it.id });
        judge::tasks(&names.collect::<Vec<_>>(), &a.tasks, &b.tasks)
    }

    /// The first run, from 0, of which some value differs between the first two arms.
    fn first_unequal(&self) -> Option<u32> {
        let unequal = |index: &u32| {
            let values = |arm: &Arm, metric: &About| arm.values(metric.name).get(*index as usize).copied().flatten();
            METRICS.iter().any(|metric| values(&self.arms[0], metric) != values(&self.arms[1], metric))
        };
        (0..self.runs).find(unequal)
    }
}

impl Arm {
    /// Its name beside the other of two arms: what it is, or what it changes.
    fn label_beside_other(&self, arms: &[Arm]) -> String {
        match arms.iter().any(|arm| !arm.contender.edits.is_empty()) {
            true => self.label_beside(&arms[0]),
            false => self.label(),
        }
    }
}
