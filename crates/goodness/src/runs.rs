//! Results of a plan.

use crate::again::Again;
use crate::contender::Contender;
use crate::recorded::Recorded;
use crate::refusal::{Refusal, See};
use crate::run::RunResult;
use crate::standstill;
use goodness_core::spelling::suggest;
use goodness_core::{Machine, WorkloadSource};
use goodness_observe::metrics::Distributions;
use goodness_observe::{Better, Histogram, METRICS, TaskMeasured, Violation};
use goodness_report::Timeline;
use goodness_report::model::{Fidelity, MachineSummary, Sampling};

/// Results of a plan: all values of each contender, and its first run in full.
///
/// Memory does not grow with the length of the runs, and by a few hundred bytes per run, because only the values of a
/// run are kept. [`Runs::report`] compares.
pub struct Runs {
    /// Results by contender, in the order of the plan. The first is the reference.
    pub arms: Vec<Arm>,
    /// Error of the replay, if the work is a recording.
    pub fidelity: Option<Fidelity>,
    /// The machine, in short.
    pub(crate) machine: MachineSummary,
    /// CPUs that the judged tasks of a recording may use; of other work all of the machine.
    pub(crate) cpus: u32,
    /// Random seed of the replications.
    pub(crate) seed: u64,
    /// Number of the first replication.
    pub(crate) first: u32,
    /// Replications of each contender.
    pub(crate) runs: u32,
    /// Sentence on what is missing, if the runs were stopped before all were made.
    pub(crate) stopped: Option<String>,
    /// Remark on a comparison of elevators that cost nothing.
    pub(crate) free_elevators: Option<String>,
    /// Remark on runs that ended early.
    pub(crate) remark: Option<String>,
    /// Sampling unit of a value.
    pub(crate) sampling: Sampling,
}

/// All runs of one contender.
pub struct Arm {
    /// Its name, if it is not the contender's: that of the recording it is.
    pub(crate) label: Option<String>,
    /// The policy and the elevator.
    pub contender: Contender,
    /// For each of [`METRICS`] its values: one for each run, in the order of the replications, or one for each input.
    /// Empty if no run of any arm measured it.
    pub(crate) values: Vec<Vec<Option<f64>>>,
    /// Requests answered in each run; of several inputs, [`Arm::by_input`] has them.
    pub(crate) requests: Vec<u64>,
    /// The runs of each input, where there are several.
    pub(crate) by_input: Vec<OfInput>,
    /// For each of [`METRICS`] the observations behind all its values.
    pub(crate) samples: Vec<u64>,
    /// For each of [`METRICS`] the standard error of its logarithm, if the arm is a recording as it was made.
    pub(crate) batch_errors: Vec<Option<f64>>,
    /// Scheduling decisions of all runs.
    pub decisions: u64,
    /// Wall-clock time of all runs in ns, if measured.
    pub wall_ns: Option<u64>,
    /// For each of [`FAMILIES`] the distribution of all runs together.
    pub(crate) distributions: Vec<Histogram>,
    /// Results of every task in each run, if the plan keeps them; else empty.
    pub(crate) tasks: Vec<Vec<TaskMeasured>>,
    /// Violations found by checkers, by replication.
    pub violations: Vec<(Again, Violation)>,
    /// Message of the sched_ext watchdog for the first run in which it would have fired.
    pub(crate) overdue: Option<String>,
    /// The first replication.
    pub first: RunResult,
}

/// The runs of one contender on one of several inputs.
pub(crate) struct OfInput {
    /// The input's name.
    pub input: String,
    /// As [`Arm::values`].
    pub values: Vec<Vec<Option<f64>>>,
    /// As [`Arm::requests`].
    pub requests: Vec<u64>,
}

impl Arm {
    /// Its name in reports.
    #[must_use]
    pub fn label(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.contender.to_string())
    }

    /// Its name among arms: what it changes of the `reference`.
    pub(crate) fn label_beside(&self, reference: &Arm) -> String {
        self.label.clone().unwrap_or_else(|| self.contender.beside(&reference.contender))
    }

    /// The value of `metric` in each run, or on each of several inputs; `None` where it was not measured. Empty if
    /// no arm has it.
    ///
    /// # Panics
    /// There is no such metric; names from users are checked first (`check_rank`).
    #[must_use]
    pub fn values(&self, metric: &str) -> &[Option<f64>] {
        &self.values[place_of(metric)]
    }

    /// Standard error of the logarithm of `metric`, if the arm is a recording as it was made, and shows that.
    pub(crate) fn batch_error(&self, metric: &str) -> Option<f64> {
        self.batch_errors.get(place_of(metric)).copied().flatten()
    }
}

impl Runs {
    /// The runs of `arms` on `machine`; `recorded` is what they replay.
    pub(crate) fn new(
        arms: Vec<Arm>,
        fidelity: Option<Fidelity>,
        source: &dyn WorkloadSource,
        machine: &Machine,
        drawn: Drawn,
        recorded: Option<&Recorded>,
    ) -> Runs {
        let free_elevators = free_elevators(&arms, machine);
        let remark = arms.iter().find_map(|arm| standstill::remark(source, &arm.first));
        let machine = MachineSummary { name: machine.name.clone(), cpus: machine.cpu_count() as u32, hz: machine.hz };
        let cpus = recorded.map_or(machine.cpus, |it| it.cpus);
        let sampling = if recorded.is_some() { Sampling::Replays } else { Sampling::Runs };
        let Drawn { seed, first, runs } = drawn;
        Runs { arms, fidelity, machine, cpus, seed, first, runs, stopped: None, free_elevators, remark, sampling }
    }

    /// True if the arms are more than policies: changes, or recordings.
    pub(crate) fn has_arms(&self) -> bool {
        self.arms.iter().any(|arm| arm.label.is_some() || !arm.contender.edits.is_empty())
    }

    /// The name of `arm` in the report.
    pub(crate) fn name(&self, arm: &Arm) -> String {
        if self.has_arms() { arm.label_beside(&self.arms[0]) } else { arm.label() }
    }

    /// A sentence on what is missing, if the runs were stopped before all were made ([`crate::Plan::run_as_far`]).
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// The first thing that a checker found.
    #[must_use]
    pub fn violation(&self) -> Option<&(Again, Violation)> {
        self.arms.iter().flat_map(|arm| &arm.violations).next()
    }

    /// The schedules that were kept, by contender.
    pub fn take_timelines(&mut self) -> Vec<Timeline> {
        self.arms.iter_mut().filter_map(|arm| arm.first.timeline.take()).collect()
    }

    /// Checks that these runs contain the metric to rank by.
    ///
    /// # Errors
    /// A sentence that names the metrics they contain.
    pub fn check_rank_by(&self, metric: &str) -> Result<(), Refusal> {
        let is_measured = |name: &str| self.arms.iter().any(|arm| arm.values(name).iter().any(Option::is_some));
        if is_measured(metric) {
            return Ok(());
        }
        let others = METRICS.iter().filter(|it| it.better != Better::Neither && is_measured(it.name)).map(|it| it.name);
        let others: Vec<&str> = others.collect();
        let remedy = match others.is_empty() {
            true => "no metric that can rank was measured".to_string(),
            false => format!("rank by what was: {}", others.join(", ")),
        };
        let observed = self.arms.iter().map(|arm| arm.first.measured.get(metric).samples).max().unwrap_or(0);
        let what = match observed {
            0 => format!("{metric} was not measured on this work, so it ranks nothing"),
            few => {
                format!("{metric} has {few} observations in a run, and needs {}", METRICS[place_of(metric)].fewest())
            }
        };
        Err(Refusal::usage(what).remedy(remedy))
    }
}

/// Metrics that are listed where the end of their names was typed, at most.
const LISTED: usize = 8;

/// Refuses a metric that does not exist.
///
/// # Errors
/// A sentence naming the nearest metric, or those whose names end so.
pub fn check_metric(name: &str) -> Result<(), Refusal> {
    if METRICS.iter().any(|it| it.name == name) {
        return Ok(());
    }
    let all = || METRICS.iter().map(|it| it.name);
    let with_it: Vec<&str> = all().filter(|it| it.strip_suffix(name).is_some_and(|it| it.ends_with('_'))).collect();
    let near = match with_it.len() {
        2..=LISTED => format!("there are {}", with_it.join(", ")),
        _ => suggest(name, all()),
    };
    Err(Refusal::usage(format!("there is no metric \"{name}\"")).remedy(near).see(See::Metrics))
}

/// Refuses a metric that does not exist or of which neither more nor less is better.
///
/// # Errors
/// A sentence naming the nearest metric, or those that have a direction.
pub fn check_rank(name: &str) -> Result<(), Refusal> {
    check_metric(name)?;
    if METRICS[place_of(name)].better != Better::Neither {
        return Ok(());
    }
    let what = format!("{name} ranks nothing: neither more nor less is better");
    Err(Refusal::usage(what).remedy("rank by a metric of which more, or less, is better").see(See::Metrics))
}

/// Says that elevators cost nothing on `machine`, if that is what the arms may differ in.
fn free_elevators(arms: &[Arm], machine: &Machine) -> Option<String> {
    let first = arms.first()?.contender.elevator.as_ref()?;
    let differs = arms.iter().any(|arm| arm.contender.elevator.as_ref().is_some_and(|it| it != first));
    let is_free = machine.costs.io.are_free();
    let sentence = "This machine charges elevators no CPU time, which can decide on fast disks; --machine null-guest \
                    has measured costs";
    (differs && is_free).then(|| sentence.into())
}

/// Takes a distribution out of those of a run.
type Pick = fn(&Distributions) -> &Histogram;

/// The distributions that reports show, by the metrics that they are behind.
pub(crate) const FAMILIES: [(&str, Pick); 4] = [
    ("wakeup_latency", |d| &d.wakeup_latency),
    ("request_latency", |d| &d.request_latency),
    ("slice_length", |d| &d.slice_length),
    ("io_latency", |d| &d.io_latency),
];

fn place_of(metric: &str) -> usize {
    METRICS.iter().position(|it| it.name == metric).unwrap_or_else(|| panic!("\"{metric}\" is not in METRICS"))
}

/// The replications to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    pub seed: u64,
    pub first: u32,
    pub runs: u32,
}
