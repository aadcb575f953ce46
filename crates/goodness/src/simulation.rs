//! Runs a named policy with metrics, checkers and, if requested, a timeline.

use crate::spec::{ElevatorSpec, PolicySpec};
use crate::storage::{self, AroundElevator};
use goodness_block::Storage;
use goodness_core::{Machine, MadePolicy, Observer, Seed, Span, Time, Workload};
use goodness_observe::{ByFifth, Checked, Ending, Fifths, Measured, MetricsAndCheckers, Subject, Window};
use goodness_report::timeline::Recorder;
use goodness_sim::{Blame, End, Fault, Options, Outcome, Pulse, simulate_with};

/// Longest time that a policy without a timer leaves a CPU idle whose run queue has a task, at the end of a run. A
/// choice: far above the cost of any switch or wake-up, far below the length of a run.
const FORGOTTEN: Span = Span::from_ms(100);

/// Parameters of one run.
pub struct Trial<'a, 'b> {
    /// Policy with settings.
    pub policy: &'a PolicySpec,
    /// Elevator of the disks that the work leaves open; `None` if there are none.
    pub elevator: Option<&'a ElevatorSpec>,
    /// Simulated machine.
    pub machine: &'a Machine,
    /// The work.
    pub work: Workload,
    /// Random seed.
    pub seed: Seed,
    /// Keeps the schedule, if requested.
    pub recorder: Option<Recorder>,
    /// Adds up CPU time by fifths of this window, if requested.
    pub fifths: Option<Window>,
    /// Told now and then how far the run is, if requested.
    pub pulse: Option<Pulse<'a>>,
    /// What goes on beside the run.
    pub beside: Beside<'b>,
}

impl<'a> Trial<'a, '_> {
    /// A run without an elevator of its own, and with nobody beside it.
    #[must_use]
    pub fn of(policy: &'a PolicySpec, machine: &'a Machine, work: Workload, seed: Seed) -> Self {
        Trial {
            policy,
            elevator: None,
            machine,
            work,
            seed,
            recorder: None,
            fifths: None,
            pulse: None,
            beside: Beside::default(),
        }
    }
}

/// An observer beside metrics and checkers, and a policy and elevators around those that decide.
#[derive(Default)]
pub struct Beside<'b> {
    /// The observer, if any.
    pub observer: Option<&'b mut dyn Observer>,
    /// Makes the policy around the one that decides, if any.
    pub around: Option<Around<'b>>,
    /// Makes the elevator around that of each disk, if any.
    pub around_elevator: Option<Box<AroundElevator<'b>>>,
}

/// Makes a policy around another one.
pub type Around<'b> = Box<dyn FnOnce(MadePolicy) -> MadePolicy + 'b>;

impl<'b> Beside<'b> {
    /// An observer alone.
    pub fn watched(observer: &'b mut dyn Observer) -> Beside<'b> {
        Beside { observer: Some(observer), ..Beside::default() }
    }
}

/// `made`, with the policy around it, if any.
pub(crate) fn surrounded(made: MadePolicy, around: Option<Around>) -> MadePolicy {
    match around {
        Some(around) => around(made),
        None => made,
    }
}

/// Result of one run.
pub struct Run {
    /// Metrics.
    pub measured: Measured,
    /// Results of the checkers.
    pub checked: Checked,
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// The schedule, if requested.
    pub recorder: Option<Recorder>,
    /// CPU time by task and fifth, if requested.
    pub fifths: Option<Vec<ByFifth>>,
}

/// Runs `trial`.
///
/// # Errors
/// A fault of the policy or of the work; disks that cannot be built are the work's fault.
pub fn run(trial: Trial) -> Result<Run, Fault> {
    let around = trial.beside.around_elevator.as_deref();
    let disks = disks(&trial.work, trial.elevator, (trial.machine, trial.seed), around)?;
    let Trial { policy, machine, work, seed, recorder, fifths, pulse, beside, .. } = trial;
    let subjects = Subject::all(&work);
    let mut watch = MetricsAndCheckers::new(machine.cpu_count(), Time::ZERO + work.warmup, &subjects);
    if let Some(limit) = policy.entry().watchdog {
        watch = watch.with_watchdog(limit, &subjects);
    }
    if let Some(storage) = &disks {
        watch = watch.with_age_limits(storage.disks().iter().map(|disk| disk.device().age_limit).collect());
    }
    if !policy.entry().about.needs.timer {
        watch = watch.with_forgotten(FORGOTTEN);
    }
    let fifths = fifths.map(|window| Fifths::new(machine.cpu_count(), window));
    let mut observer = (watch, ((recorder, fifths), beside.observer));
    let options = Options { seed, pulse, ..Options::default() };
    let made = surrounded(policy.make(machine, seed), beside.around);
    let outcome = simulate_with(machine, made, work, disks, &mut observer, options)?;
    let (watch, ((recorder, fifths), _)) = observer;
    let ending = if outcome.reason == End::Horizon { Ending::Horizon } else { Ending::Quiet };
    let (measured, checked) = watch.finish(outcome.end, ending);
    Ok(Run { measured, checked, outcome, recorder, fifths: fifths.map(Fifths::finish) })
}

/// The disks of `work`. What is wrong with them is the work's fault.
pub(crate) fn disks(
    work: &Workload,
    elevator: Option<&ElevatorSpec>,
    on: (&Machine, Seed),
    around: Option<&AroundElevator>,
) -> Result<Option<Storage>, Fault> {
    let fault = |sentence| Fault { at: Time::ZERO, blame: Blame::Workload, task: None, sentence };
    storage::build(work, elevator, on, around).map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Start, Step, StepContext, Task, TaskId, TaskSpec, WorkloadSource};
    use goodness_work::models::BuiltIn;

    /// Hogs on one CPU for 31 s.
    fn hogs(policy: &str, count: usize) -> Checked {
        let machine = Machine::flat(1, 250).unwrap();
        let policy = PolicySpec::parse(policy).unwrap();
        let tasks = (0..count).map(|_| hog()).collect();
        let work = Workload { tasks, horizon: Some(Time(31_000_000_000)), ..Workload::default() };
        let trial = Trial::of(&policy, &machine, work, Seed(1));
        run(trial).unwrap_or_else(|fault| panic!("{fault}")).checked
    }

    fn hog() -> TaskSpec {
        TaskSpec {
            name: "hog".into(),
            start: Start::At(Time::ZERO),
            task: Task { address_space: Some(0), ..Task::default() },
            behaviour: Box::new(|_: &mut StepContext| Step::Compute(Span::MAX)),
            judged: true,
        }
    }

    /// specs/cpu-schedulers.md 12 "Kernel facts": slice 20 ms, watchdog 30 s. The last of n waits for n - 1 slices.
    #[test]
    fn in_a_queue_of_1502_hogs_the_watchdog_of_sched_ext_throws_the_policy_out_for_the_last() {
        let last = hogs("scx-simple:fifo=on", 1_502);
        let overdue = last.overdue.expect("30.02 s are too long");
        assert_eq!((overdue.task, overdue.since, overdue.span), (TaskId(1_501), Time::ZERO, Span::from_ms(30_020)));
        assert_eq!(last.violations, [], "the policy does nothing wrong");
        assert_eq!(hogs("scx-simple:fifo=on", 1_501).overdue, None, "30 s are just allowed");
        let without = hogs("rr:timeslice=20ms", 1_502);
        assert_eq!((without.overdue, without.watchdog), (None, None), "only sched_ext has one");
    }

    #[test]
    fn every_registered_policy_runs_by_its_name() {
        let machine = Machine::flat(2, 250).unwrap();
        let work = BuiltIn::parse("sleepers:duration=300ms").unwrap();
        for about in goodness_policies::ALL {
            let policy = PolicySpec::parse(about.name).unwrap();
            let trial = Trial::of(&policy, &machine, work.build(Seed(1), 0), Seed(1));
            let run = run(trial).unwrap_or_else(|fault| panic!("{}: {fault}", about.name));
            assert_eq!(run.checked.violations, [], "{}", about.name);
            assert!(run.outcome.decisions > 10, "{}", about.name);
        }
    }
}
