//! Measures candidates: the same replications of every input for each.

use super::table::{Block, Table};
use crate::contender::Contender;
use crate::plan::Plan;
use crate::progress::{Progress, Watch};
use crate::refusal::Refusal;
use crate::run::RunResult;
use crate::work::Work;
use goodness_observe::About;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs candidates.
pub(crate) struct Bench<'a> {
    /// The inputs that candidates race on.
    pub inputs: Vec<&'a Work>,
    /// The metrics of a table.
    pub metrics: Vec<&'static About>,
    /// Random seed.
    pub seed: u64,
    /// Runs so far.
    pub runs: AtomicU64,
    /// Listens to progress, and may cancel.
    pub watch: &'a Watch<'a>,
}

impl Bench<'_> {
    /// Runs the candidates up to `blocks` blocks. Replication 0, a recording as it was, is kept for the final score.
    ///
    /// # Errors
    /// A fault or a violation, with its run; cancellation.
    pub fn measure(
        &self,
        (table, contenders): (&mut Table, &[Contender]),
        candidates: &[usize],
        blocks: u32,
        stage: (u32, u32),
    ) -> Result<(), Refusal> {
        let mut ages: Vec<u32> = candidates.iter().map(|it| table.blocks(*it)).filter(|it| *it < blocks).collect();
        ages.sort_unstable();
        ages.dedup();
        for age in ages {
            let group: Vec<usize> = candidates.iter().copied().filter(|it| table.blocks(*it) == age).collect();
            let tell = |progress: Progress| match progress {
                Progress::Simulated { .. } => {
                    let runs = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
                    (self.watch)(Progress::Raced { round: stage.0, rounds: stage.1, left: candidates.len(), runs })
                }
                other => (self.watch)(other),
            };
            let mut by_input = Vec::new();
            for work in &self.inputs {
                let contenders = group.iter().map(|it| contenders[*it].clone()).collect();
                let plan = Plan {
                    seed: self.seed,
                    first: 1 + age,
                    runs: blocks - age,
                    recorded: None,
                    ..Plan::of(work, contenders)
                };
                by_input.push(plan.run_each(&tell, |run| self.values(run))?);
            }
            for (place, candidate) in group.into_iter().enumerate() {
                for run in 0..(blocks - age) as usize {
                    let block: Block = by_input.iter().map(|input| input[place][run].clone()).collect();
                    table.push(candidate, block);
                }
            }
        }
        Ok(())
    }

    /// The values of a run, of the metrics that have enough observations.
    fn values(&self, run: RunResult) -> Result<Vec<Option<f64>>, Refusal> {
        if let Some(violation) = run.checked.violations.first() {
            return Err(Refusal::violated(format!("{}: {}", violation.checker, violation.sentence)));
        }
        let value = |metric: &&About| {
            let measured = run.measured.get(metric.name);
            measured.value.filter(|_| measured.samples >= metric.fewest())
        };
        Ok(self.metrics.iter().map(value).collect())
    }
}
