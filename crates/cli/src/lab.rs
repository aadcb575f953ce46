//! Runs policies on the same work: every policy sees the same seeds, replication by replication, so that what
//! differs between two of them is the policy.

use crate::failure::Failure;
use crate::progress;
use crate::standstill;
use goodness_core::{CpuSet, Machine, Seed, Span, TaskId, TaskSpec, Workload, WorkloadSource};
use goodness_lab::{Contender, ElevatorSpec, PolicySpec, Trial};
use goodness_observe::{Checked, Measured};
use goodness_report::Timeline;
use goodness_report::timeline::{Recorder, TimelineTask};
use goodness_sim::{Blame, Fault, Outcome};
use rayon::prelude::*;
use std::time::Instant;

/// What to run.
pub struct Plan<'a> {
    /// On what.
    pub machine: &'a Machine,
    /// The words after `goodness run` that name the work and how it is read.
    pub words: &'a str,
    /// Which work.
    pub source: &'a dyn WorkloadSource,
    /// Where chance begins.
    pub seed: u64,
    /// Replications of each policy.
    pub runs: u32,
    /// Which policies and elevators.
    pub contenders: &'a [Contender],
    /// The first replication to run; the others follow it.
    pub first: u32,
    /// Slices of the first replication to keep for the timeline; 0 for none.
    pub timeline_cap: usize,
    /// Whether timelines carry queue lengths.
    pub with_queues: bool,
}

/// One replication of one policy.
pub struct RunResult {
    /// What the metrics say.
    pub measured: Measured,
    /// What the checkers say.
    pub checked: Checked,
    /// What the simulator says.
    pub outcome: Outcome,
    /// Real time it took, in ns.
    pub wall_ns: u64,
    /// The schedule, where asked for.
    pub timeline: Option<Timeline>,
    /// The tasks by number.
    pub tasks: Vec<Named>,
    /// What the work says of itself.
    pub remarks: Vec<String>,
}

/// A task as people know it.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name; not unique.
    pub name: String,
    /// Thread id in the recording; number in the run, from 1, where there is none.
    pub id: u64,
    /// Nice at the start; `None` for real-time tasks.
    pub nice: Option<i64>,
    /// Priority as Linux's traces write it.
    pub priority: u32,
}

/// All replications of one policy, in order.
pub struct Arm {
    /// The policy and the elevator.
    pub contender: Contender,
    /// Its runs by replication.
    pub runs: Vec<RunResult>,
}

/// An elevator as typed.
///
/// # Errors
/// As [`ElevatorSpec::parse`].
pub fn elevator(text: &str) -> Result<ElevatorSpec, Failure> {
    ElevatorSpec::parse(text).map_err(Failure::usage)
}

/// A policy as typed.
///
/// # Errors
/// As [`PolicySpec::parse`].
pub fn policy(text: &str) -> Result<PolicySpec, Failure> {
    PolicySpec::parse(text).map_err(Failure::usage)
}

impl Plan<'_> {
    /// Runs everything, as many simulations at a time as there are cores. The result does not depend on how
    /// many that is.
    ///
    /// # Errors
    /// The first fault, in the order of policies and replications, with the command that shows it again.
    pub fn conduct(&self) -> Result<Vec<Arm>, Failure> {
        let jobs: Vec<(usize, u32)> = (0..self.contenders.len())
            .flat_map(|contender| (self.first..self.first + self.runs).map(move |run| (contender, run)))
            .collect();
        let bar = progress::bar(jobs.len() as u64, "simulating");
        let results: Vec<Result<RunResult, Failure>> = jobs
            .par_iter()
            .map(|(contender, replication)| {
                let result = self.one(*contender, *replication);
                bar.inc(1);
                result
            })
            .collect();
        bar.finish_and_clear();
        let mut results = results.into_iter();
        self.contenders
            .iter()
            .map(|contender| {
                let runs = results.by_ref().take(self.runs as usize).collect::<Result<_, _>>()?;
                Ok(Arm { contender: contender.clone(), runs })
            })
            .collect()
    }

    /// One replication of one policy.
    fn one(&self, contender: usize, replication: u32) -> Result<RunResult, Failure> {
        let machine = self.machine_of(replication);
        let seed = Seed(self.seed).stream("replication", u64::from(replication));
        let keep = if replication == self.first { self.timeline_cap } else { 0 };
        One { plan: self, machine: &machine, seed, replication, contender, keep }.run()
    }

    /// The machine of a replication: the first as given, the others with ticks at a drawn phase.
    fn machine_of(&self, replication: u32) -> Machine {
        let mut machine = self.machine.clone();
        if replication > 0 {
            let mut rng = Seed(self.seed).stream("tick phase", u64::from(replication)).rng();
            machine.first_tick = Span(1 + rng.below(machine.tick().0));
        }
        machine
    }

    /// The command that shows a failed run again.
    pub fn reproduce(&self, contender: usize, replication: u32) -> String {
        let Contender { policy, elevator } = &self.contenders[contender];
        let elevator = elevator.as_ref().map_or_else(String::new, |elevator| format!(" --elevator {elevator}"));
        format!("goodness run {} -p {policy}{elevator} --seed {} --replication {replication}", self.words, self.seed)
    }
}

struct One<'a> {
    plan: &'a Plan<'a>,
    machine: &'a Machine,
    seed: Seed,
    replication: u32,
    contender: usize,
    keep: usize,
}

impl One<'_> {
    fn run(self) -> Result<RunResult, Failure> {
        let mut work = self.plan.source.build(self.seed, self.replication);
        let remarks = work.remarks.take();
        fits(&work, self.machine, self.plan.source)?;
        let tasks = named(&work, self.plan.source);
        let contender = &self.plan.contenders[self.contender];
        let began = Instant::now();
        let run = goodness_lab::run(Trial {
            policy: &contender.policy,
            elevator: contender.elevator.as_ref(),
            machine: self.machine,
            work,
            seed: self.seed,
            recorder: (self.keep > 0).then(|| self.recorder()),
        })
        .map_err(|fault| self.failure(&fault, &tasks))?;
        standstill::refuse_deadlock(self.plan, &tasks, &run.outcome, &self.command())?;
        let wall_ns = began.elapsed().as_nanos() as u64;
        let end = run.outcome.end;
        Ok(RunResult {
            measured: run.measured,
            checked: run.checked,
            timeline: run.recorder.map(|r| r.finish(end, self.contender, timeline_tasks(&tasks))),
            tasks,
            remarks: remarks.map_or_else(Vec::new, |remarks| remarks()),
            outcome: run.outcome,
            wall_ns,
        })
    }

    fn recorder(&self) -> Recorder {
        let recorder = Recorder::new(self.machine.cpu_count() as u32, self.keep);
        if self.plan.with_queues { recorder.with_queues() } else { recorder }
    }

    /// The command that shows this run again.
    fn command(&self) -> String {
        self.plan.reproduce(self.contender, self.replication)
    }

    /// A fault as people meet it: the policy's is a violation, the work's is bad input.
    fn failure(&self, fault: &Fault, tasks: &[Named]) -> Failure {
        match fault.blame {
            Blame::Workload => standstill::fault(self.plan, tasks, fault, &self.command()),
            Blame::Policy => {
                Failure::violated(format!("{} Reproduce: {}", sentence(&fault.to_string()), self.command()))
            }
        }
    }
}

/// `text` with a full stop, where it does not end a sentence already.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', '?', '!']) { text.to_string() } else { format!("{text}.") }
}

/// Refuses work with a task that no CPU of `machine` may run.
fn fits(work: &Workload, machine: &Machine, source: &dyn WorkloadSource) -> Result<(), Failure> {
    let stranded = |spec: &TaskSpec| {
        spec.task.affinity != CpuSet::All && !machine.cpu_ids().any(|cpu| spec.task.affinity.contains(cpu))
    };
    let Some(index) = work.tasks.iter().position(stranded) else { return Ok(()) };
    Err(Failure::usage(format!(
        "{}: task \"{}\" may run on no CPU of this machine, which has CPUs 0 to {}; change its affinity, or give \
         --machine more CPUs",
        source.place_of(TaskId(index as u32)).unwrap_or_else(|| source.name().to_string()),
        work.tasks[index].name,
        machine.cpu_count() - 1
    )))
}

fn named(work: &Workload, source: &dyn WorkloadSource) -> Vec<Named> {
    let entry = |(index, spec): (usize, &TaskSpec)| Named {
        name: spec.name.clone(),
        id: source.id_of(TaskId(index as u32)),
        nice: (!spec.task.class.is_realtime()).then(|| spec.task.nice.get()),
        priority: match spec.task.class.is_realtime() {
            true => 99u32.saturating_sub(spec.task.rt_priority.into()),
            false => 100 + spec.task.nice.index() as u32,
        },
    };
    work.tasks.iter().enumerate().map(entry).collect()
}

fn timeline_tasks(tasks: &[Named]) -> Vec<TimelineTask> {
    tasks.iter().map(|t| TimelineTask { name: t.name.clone(), id: t.id, priority: t.priority }).collect()
}
