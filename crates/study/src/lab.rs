//! Runs the trials of a study in replications with paired seeds, and supplies its parameters.

use crate::{Estimate, Number, Parameter, Published, Row, Study};
use goodness::{Contender, Plan, Progress, Refusal, RunResult};
use goodness_core::{Machine, Overhead, WorkloadSource};
use goodness_observe::Measured;
use goodness_sim::Outcome;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Gets the number of completed simulations, and may end the study.
pub type Tell<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// Hears nothing, and goes on.
pub fn untold(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Settings of a study's runs.
pub struct Lab<'a> {
    /// Random seed.
    pub seed: u64,
    /// Replications of each run.
    pub runs: u32,
    /// Skips everything without a verdict: charts, and rows without published numbers.
    pub verdicts_only: bool,
    /// Measures what depends on the clock of this machine, too.
    pub timing: bool,
    published: &'a Published,
    parameters: Vec<(&'static str, f64)>,
    progress: &'a Tell<'a>,
    done: Arc<AtomicU64>,
}

/// Parameters of one trial.
pub struct Trial<'a> {
    /// Policy as typed: `o1`, `staircase:interactive=off`; with an elevator if the work has disks: `o1+cfq`.
    pub policy: &'a str,
    /// Machine.
    pub machine: &'a Machine,
    /// Work.
    pub work: &'a dyn WorkloadSource,
}

/// Results of one replication that studies use.
pub struct Run {
    /// Metrics.
    pub measured: Measured,
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// Names of the tasks.
    pub names: Vec<String>,
}

impl Run {
    /// The value of a metric.
    ///
    /// # Errors
    /// It was not measured in this run.
    pub fn get(&self, metric: &str) -> Result<f64, String> {
        self.measured.get(metric).value.ok_or_else(|| format!("{metric} could not be measured in a run of the study"))
    }

    /// Measured time in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.measured.window.length() / 1e9
    }

    /// CPU time spent deciding (searching, recalculating, inserting), as a fraction of one CPU.
    #[must_use]
    pub fn deciding(&self) -> f64 {
        let kinds = [Overhead::Search, Overhead::Recalculate, Overhead::Insert];
        let spent: u64 = kinds.iter().map(|kind| self.measured.overhead[*kind as usize].0).sum();
        spent as f64 / self.measured.window.length()
    }
}

impl<'a> Lab<'a> {
    /// A lab for `study`, with its own values of the parameters.
    #[must_use]
    pub fn new(study: &Study, published: &'a Published, seed: u64, progress: &'a Tell<'a>) -> Lab<'a> {
        let parameters = study.parameters.iter().map(|p| (p.name, p.value)).collect();
        Lab {
            seed,
            runs: study.runs,
            verdicts_only: false,
            timing: false,
            published,
            parameters,
            progress,
            done: Arc::default(),
        }
    }

    /// The same lab with other values of some parameters.
    #[must_use]
    pub fn with(&self, values: &[(&Parameter, f64)]) -> Lab<'a> {
        let mut parameters = self.parameters.clone();
        for (parameter, value) in values {
            if let Some(found) = parameters.iter_mut().find(|(name, _)| *name == parameter.name) {
                found.1 = *value;
            }
        }
        let Lab { seed, runs, verdicts_only, timing, published, progress, .. } = *self;
        Lab { seed, runs, verdicts_only, timing, published, parameters, progress, done: Arc::clone(&self.done) }
    }

    /// The value of a parameter of the study.
    ///
    /// # Panics
    /// The study has no such parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> f64 {
        let found = self.parameters.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("\"{name}\" is no parameter of the study")).1
    }

    /// The published number `key`.
    ///
    /// # Errors
    /// The study's file lacks it.
    pub fn published(&self, key: &str) -> Result<&'a Number, String> {
        self.published.get(key)
    }

    /// The published value of `key`.
    ///
    /// # Errors
    /// The study's file lacks it or states no number.
    pub fn value(&self, key: &str) -> Result<f64, String> {
        self.published(key)?.value.ok_or_else(|| format!("the published number \"{key}\" has no value"))
    }

    /// A row of the study: `values` has one number for each replication.
    ///
    /// # Errors
    /// The study's file lacks the key.
    pub fn row(&self, key: &str, values: &[f64], note: &str) -> Result<Row, String> {
        Ok(Row::new(self.published(key)?, Estimate::of(values).as_ref(), note))
    }

    /// Runs all replications of a trial. They are the same as in any other plan of the library with this seed.
    ///
    /// # Errors
    /// An unknown policy or setting; a violated checker or a fault, with policy and replication; it was ended.
    pub fn run(&self, trial: &Trial) -> Result<Vec<Run>, String> {
        let contenders = vec![Contender::parse(trial.policy)?];
        let plan = Plan {
            seed: self.seed,
            runs: self.runs,
            may_end_waiting: true,
            ..Plan::on(trial.work, trial.machine, contenders)
        };
        let watch = |_: Progress| (self.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        let all = plan.run_each(&watch, kept).map_err(|why| match &why.again {
            Some(again) => {
                format!("{} on {}, replication {}: {why}", trial.policy, trial.work.name(), again.replication)
            }
            None => why.to_string(),
        })?;
        Ok(all.into_iter().flatten().collect())
    }
}

/// The parts of a run that studies use. Fails if a checker found a violation.
fn kept(run: RunResult) -> Result<Run, Refusal> {
    let names = run.tasks.into_iter().map(|task| task.name).collect();
    match run.checked.violations.first() {
        Some(found) => Err(Refusal::violated(format!("{} violated: {}", found.checker, found.sentence))),
        None => Ok(Run { measured: run.measured, outcome: run.outcome, names }),
    }
}
