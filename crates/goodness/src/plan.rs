//! Runs policies on the same work. All policies get the same replications, so that differences come from the policy.

use crate::again::Again;
use crate::contender::Contender;
use crate::edit;
use crate::fidelity::fidelity;
use crate::parallel::each_job;
use crate::progress::{Progress, Watch};
use crate::recorded::Recorded;
use crate::refusal::Refusal;
use crate::replication::Replication;
use crate::run::{Named, RunResult};
use crate::runs::{Collected, Drawn, Runs};
use crate::simulation::{self, Trial};
use crate::standstill;
use crate::work::Work;
use goodness_core::{CpuSet, Machine, TaskId, TaskSpec, Workload, WorkloadSource};
use goodness_report::model::Fidelity;
use goodness_report::timeline::{Recorder, TimelineTask};
use goodness_sim::{Blame, Fault};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// The runs to make: work, machine, contenders, number.
///
/// A plan is data. Making one reads and runs nothing; running it twice gives the same [`Runs`]. The first contender is
/// the reference of all comparisons. Replication `n` is [`Replication::of`] the seed and `n`, in every plan and for
/// every contender, which pairs the runs of two contenders.
///
/// If the work is a recording, the plan also replays it once under the recording's policy. The difference to the
/// recording is the stated error ([`Runs::fidelity`]).
pub struct Plan<'a> {
    /// Simulated machine.
    pub machine: &'a Machine,
    /// Work.
    pub source: &'a dyn WorkloadSource,
    /// The recording to hold a replay against, if the work is one and that is wanted.
    pub recorded: Option<&'a Recorded>,
    /// Policies and elevators to compare.
    pub contenders: Vec<Contender>,
    /// Random seed of the replications.
    pub seed: u64,
    /// Replications of each contender.
    pub runs: u32,
    /// The number of the first replication; the others follow it.
    pub first: u32,
    /// The schedules to keep of the first replication of each contender.
    pub timelines: Timelines,
    /// True if the real time that simulating takes is measured: the one result that is not the same every time.
    pub timing: bool,
    /// Accepts runs in which all tasks wait at the end, whatever the workload states. Servers that get a fixed number
    /// of requests end like this.
    pub may_end_waiting: bool,
}

/// Extent of the schedules to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timelines {
    /// Slices of each schedule; 0 for no schedules.
    pub slices: usize,
    /// True if they carry queue lengths.
    pub with_queues: bool,
}

impl<'a> Plan<'a> {
    /// Ten replications of `contenders` on `work`; of a recording with its stated error.
    #[must_use]
    pub fn of(work: &'a Work, contenders: Vec<Contender>) -> Plan<'a> {
        Plan { recorded: work.recorded.as_ref(), ..Plan::on(&*work.source, &work.machine, contenders) }
    }

    /// Ten replications of `contenders` on work that was not opened but made.
    #[must_use]
    pub fn on(source: &'a dyn WorkloadSource, machine: &'a Machine, contenders: Vec<Contender>) -> Plan<'a> {
        Plan {
            machine,
            source,
            recorded: None,
            contenders,
            seed: 1,
            runs: 10,
            first: 0,
            timelines: Timelines::default(),
            timing: false,
            may_end_waiting: false,
        }
    }

    /// Runs all simulations, one per thread at a time. The result does not depend on the number of threads. Only the
    /// first run of each contender is kept in full; of the others, the values.
    ///
    /// # Errors
    /// The first fault, in order of contenders and replications, with its run; or cancellation.
    pub fn run(&self, watch: &Watch) -> Result<Runs, Refusal> {
        self.check_edits()?;
        let room = |contender: &Contender| Mutex::new(Collected::of(contender.clone(), self.drawn()));
        let collected: Vec<Mutex<Collected>> = self.contenders.iter().map(room).collect();
        let stated = Mutex::new(None);
        let verifier = self.recorded.map(|recorded| Contender::policy(recorded.policy.clone()));
        let keep = |contender: &Contender, index: Option<usize>, replication: u32, run: RunResult| {
            if replication == 0 && verifier.as_ref() == Some(contender) {
                *lock(&stated) = self.stated(contender, &run);
            }
            if let Some(index) = index {
                lock(&collected[index]).add(replication - self.first, run);
            }
        };
        self.each_kept(watch, &self.jobs(verifier.as_ref()), keep)?;
        let collected = collected.into_iter().map(|one| one.into_inner().unwrap_or_else(|it| it.into_inner()));
        let arms = collected.map(Collected::finish).collect();
        let fidelity: Option<Fidelity> = stated.into_inner().unwrap_or_else(|it| it.into_inner());
        Ok(Runs::new(arms, fidelity, self.source, self.machine, self.drawn()))
    }

    /// Refuses edits that cannot be, before anything long begins.
    fn check_edits(&self) -> Result<(), Refusal> {
        for edits in self.contenders.iter().map(|it| &it.edits).filter(|edits| !edits.is_empty()) {
            let machine = edit::machine(edits, self.machine)?;
            let mut work = self.source.build(Replication::of(self.seed, 0).seed, 0);
            edit::work(edits, &mut work, self.source, (self.machine.cpu_count(), machine.cpu_count()))?;
        }
        Ok(())
    }

    fn drawn(&self) -> Drawn {
        Drawn { seed: self.seed, first: self.first, runs: self.runs }
    }

    /// Runs all simulations and keeps the result of `keep` for each, by contender, then replication.
    ///
    /// # Errors
    /// As [`Plan::run`], and errors of `keep`.
    pub fn run_each<T: Send>(
        &self,
        watch: &Watch,
        keep: impl Fn(RunResult) -> Result<T, Refusal> + Sync + Send,
    ) -> Result<Vec<Vec<T>>, Refusal> {
        let mut made = self.each(watch, &self.jobs(None), |_, run| keep(run))?.into_iter();
        Ok(self.contenders.iter().map(|_| made.by_ref().take(self.runs as usize).collect()).collect())
    }

    fn each_kept(
        &self,
        watch: &Watch,
        jobs: &[Job],
        keep: impl Fn(&Contender, Option<usize>, u32, RunResult) + Sync + Send,
    ) -> Result<(), Refusal> {
        let keep = |job: &Job, run| {
            keep(job.contender, job.index, job.replication, run);
            Ok(())
        };
        self.each(watch, jobs, keep).map(drop)
    }

    fn each<T: Send>(
        &self,
        watch: &Watch,
        jobs: &[Job],
        keep: impl Fn(&Job, RunResult) -> Result<T, Refusal> + Sync + Send,
    ) -> Result<Vec<T>, Refusal> {
        let (done, is_cancelled) = (AtomicU64::new(0), AtomicBool::new(false));
        let of = jobs.len() as u64;
        let results = each_job(jobs, |job| {
            if is_cancelled.load(Ordering::Relaxed) {
                return Err(Refusal::cancelled());
            }
            let kept = self.one(job).and_then(|run| keep(job, run).map_err(|refusal| refusal.again(self.again(job))));
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if watch(Progress::Simulated { done, of }).is_break() {
                is_cancelled.store(true, Ordering::Relaxed);
            }
            kept
        });
        match is_cancelled.into_inner() {
            true => Err(Refusal::cancelled()),
            false => results.into_iter().collect(),
        }
    }

    /// All simulations, in the order in which faults are reported. The recording's policy comes first, unless it is a
    /// contender.
    fn jobs<'b>(&'b self, verifier: Option<&'b Contender>) -> Vec<Job<'b>> {
        let is_run_anyway = |it: &&Contender| self.first == 0 && self.runs > 0 && self.contenders.contains(it);
        let alone = verifier.filter(|it| !is_run_anyway(it));
        let alone = alone.map(|contender| Job { contender, index: None, replication: 0 });
        let all = self.contenders.iter().enumerate().flat_map(|(index, contender)| {
            let job = move |replication| Job { contender, index: Some(index), replication };
            (self.first..self.first + self.runs).map(job)
        });
        alone.into_iter().chain(all).collect()
    }

    fn stated(&self, contender: &Contender, run: &RunResult) -> Option<Fidelity> {
        Some(fidelity(self.recorded?, &contender.to_string(), &run.measured))
    }

    /// Runs one simulation.
    fn one(&self, job: &Job) -> Result<RunResult, Refusal> {
        let replication = Replication::of(self.seed, job.replication);
        let edits = &job.contender.edits;
        let machine = replication.machine(&edit::machine(edits, self.machine)?);
        let mut work = self.source.build(replication.seed, job.replication);
        edit::work(edits, &mut work, self.source, (self.machine.cpu_count(), machine.cpu_count()))?;
        let remarks = work.remarks.take();
        fits(&work, &machine, self.source)?;
        let tasks = named(&work, self.source);
        let began = self.timing.then(Instant::now);
        let recorder = (job.index.is_some() && job.replication == self.first && self.timelines.slices > 0)
            .then(|| self.recorder(&machine));
        let run = simulation::run(Trial {
            policy: &job.contender.policy,
            elevator: job.contender.elevator.as_ref(),
            machine: &machine,
            work,
            seed: replication.seed,
            recorder,
        })
        .map_err(|fault| self.refusal(&fault, &tasks, job))?;
        if !self.may_end_waiting {
            standstill::refuse_deadlock(self.source, &tasks, &run.outcome, || self.again(job))?;
        }
        let end = run.outcome.end;
        Ok(RunResult {
            measured: run.measured,
            checked: run.checked,
            timeline: run.recorder.map(|r| r.finish(end, job.index.unwrap_or_default(), timeline_tasks(&tasks))),
            tasks,
            remarks: remarks.map_or_else(Vec::new, |remarks| remarks()),
            outcome: run.outcome,
            wall_ns: began.map(|began| began.elapsed().as_nanos() as u64),
        })
    }

    fn recorder(&self, machine: &Machine) -> Recorder {
        let recorder = Recorder::new(machine.cpu_count() as u32, self.timelines.slices);
        if self.timelines.with_queues { recorder.with_queues() } else { recorder }
    }

    fn again(&self, job: &Job) -> Again {
        job.contender.again(self.seed, job.replication)
    }

    /// Converts a fault for the caller: the policy's is a violation, the work's is bad input.
    fn refusal(&self, fault: &Fault, tasks: &[Named], job: &Job) -> Refusal {
        let refusal = match fault.blame {
            Blame::Workload => standstill::fault(self.source, tasks, fault),
            Blame::Policy => Refusal::violated(fault.to_string()),
        };
        refusal.again(self.again(job))
    }
}

/// One simulation of a plan.
struct Job<'a> {
    contender: &'a Contender,
    /// Its place among the contenders; `None` for a run that only serves to verify the replay.
    index: Option<usize>,
    replication: u32,
}

/// Locks even after a panic: threads add whole runs, so the data stays consistent.
fn lock<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(|it| it.into_inner())
}

/// Refuses work with a task that no CPU of `machine` may run.
fn fits(work: &Workload, machine: &Machine, source: &dyn WorkloadSource) -> Result<(), Refusal> {
    let stranded = |spec: &TaskSpec| {
        spec.task.affinity != CpuSet::All && !machine.cpu_ids().any(|cpu| spec.task.affinity.contains(cpu))
    };
    let Some(index) = work.tasks.iter().position(stranded) else { return Ok(()) };
    let what = format!(
        "task \"{}\" may run on no CPU of this machine, which has CPUs 0 to {}",
        work.tasks[index].name,
        machine.cpu_count() - 1
    );
    let place = source.place_of(TaskId(index as u32)).unwrap_or_else(|| source.name().to_string());
    Err(Refusal::usage(what).at(place).remedy("change its affinity, or take a machine with more CPUs"))
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
