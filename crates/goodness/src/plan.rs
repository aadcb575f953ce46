//! Runs policies on the same work. All policies get the same replications, so that differences come from the policy.

use crate::again::Again;
use crate::block_fidelity;
use crate::collected::Collected;
use crate::contender::Contender;
use crate::device_error::{FittedDisk, devices};
use crate::edit::{self, Edit};
use crate::fidelity::{VERIFYING, fidelity, middle};
use crate::memory;
use crate::parallel::{self, Told, each_watched};
use crate::progress::Watch;
use crate::recorded::Recorded;
use crate::refusal::{Kind, Refusal};
use crate::replication::Replication;
use crate::run::{Named, RunResult};
use crate::runs::{Arm, Drawn, Runs};
use crate::simulation::{self, Around, Beside, Trial};
use crate::standstill;
use crate::storage;
use crate::throttles::Throttles;
use crate::work::Work;
use goodness_core::{
    Class, CpuSet, Group, HORIZON_MAX, Machine, PolicyEntry, Remarked, Remarks, Seed, TaskId, TaskSpec, Time, Workload,
    WorkloadSource,
};
use goodness_observe::{Lull, Window};
use goodness_report::figure;
use goodness_report::model::Fidelity;
use goodness_report::offline::Offline;
use goodness_report::timeline::{Recorder, TimelineTask};
use goodness_sim::{Blame, End, Fault, Options, Outcome, Pulse, simulate_with};
use goodness_work::workers;
use std::sync::Mutex;
use std::time::Instant;

/// The runs to make: work, machine, contenders, number.
///
/// A plan is data. Making one reads and runs nothing; running it twice gives the same [`Runs`]. The first contender is
/// the reference of all comparisons. Replication `n` is [`Replication::of`] the seed and `n`, in every plan and for
/// every contender, which pairs the runs of two contenders.
///
/// If the work is a recording, the plan also replays it a few times under the recording's policy. The difference to the
/// recording is the stated error ([`Runs::fidelity`]).
pub struct Plan<'a> {
    /// Simulated machine.
    pub machine: &'a Machine,
    /// Work.
    pub source: &'a dyn WorkloadSource,
    /// The recording to compare a replay with, if the work is a recording and that is requested.
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
    /// True if the results of every task are kept of each run, and not of the first alone.
    pub by_task: bool,
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
            by_task: false,
            timing: false,
            may_end_waiting: false,
        }
    }

    /// Runs all simulations, one per thread at a time. The result does not depend on the number of threads. Only the
    /// first run of each contender is kept in full; of the others, the values.
    ///
    /// # Errors
    /// The first fault, in order of replications and contenders, with its run; or cancellation.
    pub fn run(&self, watch: &Watch) -> Result<Runs, Refusal> {
        self.run_to(watch, false)
    }

    /// As [`Plan::run`]; but when `watch` cancels, returns the replications that every contender has run, or, of one
    /// run alone, what was measured until then. [`Runs::stopped`] says what is missing.
    ///
    /// # Errors
    /// As [`Plan::run`], and cancellation before that.
    pub fn run_as_far(&self, watch: &Watch) -> Result<Runs, Refusal> {
        self.run_to(watch, true)
    }

    fn run_to(&self, watch: &Watch, may_stop: bool) -> Result<Runs, Refusal> {
        self.check_edits()?;
        let collected = Mutex::new(Collected::of(&self.contenders, self.drawn(), self.by_task));
        let stated = Mutex::new(Vec::new());
        let verifier = self.recorded.map(Recorded::contender);
        let mut jobs = self.jobs(verifier.as_ref());
        // Contenders side by side, so that a plan that is stopped has runs of all.
        jobs.sort_by_key(|job| (job.index.is_some(), job.replication));
        let is_alone = self.contenders.len() == 1 && self.runs == 1;
        let free = memory::free();
        for job in &mut jobs {
            (job.free, job.may_stop) = (free, may_stop && is_alone && job.index.is_some());
        }
        let ended = self.each(watch, &jobs, |job, run| {
            if job.verifies {
                lock(&stated).extend(self.stated(job.contender, &run).map(|it| (job.replication, it)));
            }
            if let Some(index) = job.index {
                lock(&collected).add(index, job.replication - self.first, run);
            }
            Ok(())
        });
        let collected = collected.into_inner().unwrap_or_else(|it| it.into_inner());
        let runs = collected.runs();
        let is_stopped = ended.as_ref().is_err_and(|refusal| refusal.kind == Kind::Cancelled) && may_stop;
        match ended {
            Err(_) if is_stopped && runs > 0 => {}
            Err(cancelled) if is_stopped => return Err(self.nothing_yet(cancelled)),
            ended => drop(ended?),
        }
        let mut arms = collected.finish();
        if self.recorded.is_some() {
            arms.iter_mut().for_each(Arm::count_observations_once);
        }
        let mut stated = stated.into_inner().unwrap_or_else(|it| it.into_inner());
        stated.sort_by_key(|(replication, _)| *replication);
        let fidelity = middle(stated.into_iter().map(|(_, it)| it).collect());
        let stopped = is_stopped.then(|| self.missing(&arms, runs));
        let drawn = Drawn { runs, ..self.drawn() };
        Ok(Runs { stopped, ..Runs::new(arms, fidelity, self.source, self.machine, drawn, self.recorded) })
    }

    /// The sentence on a plan that was stopped after so many runs of each contender.
    fn missing(&self, arms: &[Arm], runs: u32) -> String {
        let first = &arms[0].first.outcome;
        match first.reason {
            End::Stopped => format!("stopped after {} of simulated time", figure::time(Some(first.end.ns()))),
            _ => format!("stopped after {runs} of {} runs of each arm", self.runs),
        }
    }

    fn nothing_yet(&self, cancelled: Refusal) -> Refusal {
        Refusal { what: "stopped before every arm had run once, so nothing is known".into(), ..cancelled }
    }

    /// Refuses edits that cannot be, before anything long begins.
    fn check_edits(&self) -> Result<(), Refusal> {
        for edits in self.contenders.iter().map(|it| &it.edits).filter(|edits| !edits.is_empty()) {
            let machine = edit::machine(edits, self.machine)?;
            self.edited_work(self.source, 0, edits, &machine)?;
        }
        Ok(())
    }

    /// The work of one replication on `machine` with `edits`, and the threads of the machine's kernel beside it. Those
    /// of a recorded kernel are among the recorded tasks.
    ///
    /// # Errors
    /// An edit that cannot be.
    fn edited_work(
        &self,
        source: &dyn WorkloadSource,
        replication: u32,
        edits: &[Edit],
        machine: &Machine,
    ) -> Result<Workload, Refusal> {
        let mut work = self.work(source, replication);
        let before = self.machine.cpu_count();
        edit::grow(edits, &mut work, (before, machine.cpu_count()));
        if source.cpus().is_none() {
            let cpus = edit::shared_cpus(edits, before);
            workers::add(&mut work, machine, cpus, Replication::of(self.seed, replication).seed);
        }
        edit::apply(edits, &mut work, source, before)?;
        Ok(work)
    }

    fn work(&self, source: &dyn WorkloadSource, replication: u32) -> Workload {
        let mut work = source.build(Replication::of(self.seed, replication).seed, replication);
        let here = self.machine.cpu_count();
        edit::onto(&mut work, source.cpus().unwrap_or(here), here);
        work
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

    fn each<T: Send>(
        &self,
        watch: &Watch,
        jobs: &[Job],
        keep: impl Fn(&Job, RunResult) -> Result<T, Refusal> + Sync + Send,
    ) -> Result<Vec<T>, Refusal> {
        let one = |job: &Job, pulse: Told| {
            self.one(job, pulse).and_then(|run| keep(job, run).map_err(|refusal| refusal.again(self.again(job))))
        };
        each_watched(jobs, watch, one)?.into_iter().collect()
    }

    /// All simulations, in the order in which faults are reported. The replays that are compared with the recording
    /// come first, unless they are among the contenders' runs.
    fn jobs<'b>(&'b self, verifier: Option<&'b Contender>) -> Vec<Job<'b>> {
        let whole = self.recorded.and_then(|it| it.whole.as_deref());
        let own = self.first..self.first + self.runs;
        let anyway = verifier.filter(|it| whole.is_none() && self.contenders.contains(it));
        let verifying = verifier.into_iter().flat_map(|contender| {
            let source = whole.unwrap_or(self.source);
            let job = move |replication| Job {
                contender,
                source,
                index: None,
                replication,
                verifies: true,
                may_stop: false,
                free: None,
            };
            (0..VERIFYING).map(job)
        });
        let is_shared = |job: &Job| anyway.is_some() && job.replication == 0 && own.contains(&0);
        let alone = verifying.filter(move |job| !is_shared(job));
        let all = self.contenders.iter().enumerate().flat_map(|(index, contender)| {
            (self.first..self.first + self.runs).map(move |replication| {
                let verifies = replication == 0 && anyway == Some(contender);
                Job {
                    contender,
                    source: self.source,
                    index: Some(index),
                    replication,
                    verifies,
                    may_stop: false,
                    free: None,
                }
            })
        });
        alone.chain(all).collect()
    }

    fn stated(&self, contender: &Contender, run: &RunResult) -> Option<Fidelity> {
        let recorded = self.recorded?;
        let of = if recorded.elevator.is_some() { block_fidelity::fidelity } else { fidelity };
        Some(of(recorded, &contender.to_string(), run))
    }

    /// Runs replication `number` of contender `index` again, with `beside` and without metrics; `told` is told how far
    /// it is.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub(crate) fn watch_one(
        &self,
        index: usize,
        number: u32,
        beside: Beside,
        told: Told,
    ) -> Result<Vec<Named>, Refusal> {
        let contender = &self.contenders[index];
        let job = Job {
            contender,
            source: self.source,
            index: Some(index),
            replication: number,
            verifies: false,
            may_stop: false,
            free: None,
        };
        let Ready { machine, work, tasks, seed, .. } = self.ready(&job)?;
        let disks =
            simulation::disks(&work, contender.elevator.as_ref(), (&machine, seed), beside.around_elevator.as_deref());
        let policy = simulation::surrounded(contender.policy.make(&machine, seed), beside.around);
        let end = last(&work);
        let pulse = |at| told(at, end);
        let options = Options { seed, pulse: Some(&pulse), ..Options::default() };
        let mut observer = beside.observer;
        let outcome = disks
            .and_then(|disks| simulate_with(&machine, policy, work, disks, &mut observer, options))
            .map_err(|fault| self.refusal(&fault, &tasks, &job))?;
        uncancelled(&outcome)?;
        Ok(tasks)
    }

    /// CPUs of the largest machine that a contender has.
    ///
    /// # Errors
    /// An edit of the machine that cannot be.
    pub(crate) fn most_cpus(&self) -> Result<usize, Refusal> {
        let cpus = |contender: &Contender| Ok(edit::machine(&contender.edits, self.machine)?.cpu_count());
        let all = self.contenders.iter().map(cpus).collect::<Result<Vec<usize>, Refusal>>()?;
        Ok(all.into_iter().max().unwrap_or_default())
    }

    /// Runs one simulation; `pulse` is told how far it is and when it ends.
    fn one(&self, job: &Job, pulse: Told) -> Result<RunResult, Refusal> {
        let Ready { machine, mut work, tasks, of_work, seed } = self.ready(job)?;
        let remarks = work.remarks.take();
        let unheeded = unheeded(job.contender, &work);
        let (groups, end, cpus) = (work.groups.clone(), last(&work), machine.cpu_count());
        let (fitted, devices) = (FittedDisk::all(&work.storage), devices(&work.storage));
        let mut lull = self.lull(job, &work);
        let began = self.timing.then(Instant::now);
        let recorder = (job.index.is_some() && job.replication == self.first && self.timelines.slices > 0)
            .then(|| self.recorder(&machine));
        let offline = recorder.as_ref().map_or_else(Vec::new, |_| Offline::of(&work.faults));
        let throttles = recorder.as_ref().and_then(|_| Throttles::of(&work.groups));
        let around = throttles.clone().map(|it| Box::new(move |made| it.around(made, cpus)) as Around);
        let run = simulation::run(Trial {
            policy: &job.contender.policy,
            elevator: job.contender.elevator.as_ref(),
            machine: &machine,
            work,
            seed,
            recorder,
            fifths: self.compared_window(job),
            pulse: Some(&|at| pulse(at, end)),
            beside: Beside { around, observer: lull.as_mut().map(|it| it as _), ..Beside::default() },
        })
        .map_err(|fault| self.refusal(&fault, &tasks, job))?;
        if !job.may_stop {
            uncancelled(&run.outcome)?;
        }
        if !self.may_end_waiting {
            standstill::refuse_deadlock(job.source, &tasks[..of_work], &run.outcome, || self.again(job))?;
        }
        let end = run.outcome.end;
        Ok(RunResult {
            measured: run.measured,
            checked: run.checked,
            timeline: run.recorder.map(|recorder| {
                let timeline = recorder.finish(end, job.index.unwrap_or_default(), timeline_tasks(&tasks));
                timeline.with_throttled(throttles.map_or_else(Vec::new, |it| it.finish(end))).with_offline(offline)
            }),
            fifths: run.fifths,
            tasks,
            groups,
            remarks: self.remarked(remarks, lull.filter(|_| run.outcome.reason != End::Stopped)),
            unheeded,
            fitted,
            devices,
            outcome: run.outcome,
            wall_ns: began.map(|began| began.elapsed().as_nanos() as u64),
        })
    }

    /// The observer of lulls, for a replay with requests whose doubts are told.
    fn lull(&self, job: &Job, work: &Workload) -> Option<Lull> {
        let is_told = job.index.is_some() && job.replication == self.first;
        standstill::lull(self.recorded.filter(|_| is_told)?, work)
    }

    /// The remarks of the work, and the doubt that a lull leaves.
    fn remarked(&self, remarks: Option<Remarks>, lull: Option<Lull>) -> Remarked {
        let mut remarked = remarks.map(|remarks| remarks()).unwrap_or_default();
        let doubt = self.recorded.zip(lull).and_then(|(recorded, it)| standstill::ran_dry(recorded, it.finish()));
        remarked.doubts.extend(doubt);
        remarked
    }

    /// The work and the machine of one simulation.
    fn ready(&self, job: &Job) -> Result<Ready, Refusal> {
        let replication = Replication::of(self.seed, job.replication);
        let edits = &job.contender.edits;
        let machine = replication.machine(&edit::machine(edits, self.machine)?);
        // A replay that is only compared with the recording has the recorded work, and ticks at other times.
        let number = if job.index.is_some() { job.replication } else { 0 };
        let work = self.edited_work(job.source, number, edits, &machine)?;
        fits(&work, &machine, job.source)?;
        let all = self.contenders.len().saturating_mul(self.runs as usize);
        memory::check_tasks(work.tasks.len(), parallel::at_once(all), job.free)?;
        let tasks = named(&work, job.source);
        let of_work = tasks.len() - work.workers;
        Ok(Ready { machine, work, tasks, of_work, seed: replication.seed })
    }

    /// The first simulation: the first replication of the first contender.
    fn first_job(&self) -> Job<'_> {
        Job {
            contender: &self.contenders[0],
            source: self.source,
            index: Some(0),
            replication: self.first,
            verifies: false,
            may_stop: false,
            free: None,
        }
    }

    /// The work and the machine of the first simulation.
    ///
    /// # Errors
    /// Edits that cannot be.
    pub(crate) fn first_ready(&self) -> Result<Ready, Refusal> {
        self.ready(&self.first_job())
    }

    /// Runs the first simulation, with something beside it; `told` is told how far it is.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub(crate) fn run_first(&self, ready: Ready, beside: Beside, told: Told) -> Result<simulation::Run, Refusal> {
        let (job, Ready { machine, work, tasks, of_work, seed }) = (self.first_job(), ready);
        let Contender { policy, elevator, .. } = job.contender;
        let (machine, elevator) = (&machine, elevator.as_ref());
        let end = last(&work);
        let pulse = |at| told(at, end);
        let (recorder, fifths, pulse) = (None, None, Some(&pulse as Pulse));
        let trial = Trial { policy, elevator, machine, work, seed, recorder, fifths, pulse, beside };
        let run = simulation::run(trial).map_err(|fault| self.refusal(&fault, &tasks, &job))?;
        uncancelled(&run.outcome)?;
        if let Some(found) = run.checked.violations.first() {
            let violated = Refusal::violated(format!("{}: {}", found.checker, found.sentence));
            return Err(violated.again(self.again(&job)));
        }
        if !self.may_end_waiting {
            standstill::refuse_deadlock(job.source, &tasks[..of_work], &run.outcome, || self.again(&job))?;
        }
        Ok(run)
    }

    /// The window of the recording, if `job` is held against one.
    fn compared_window(&self, job: &Job) -> Option<Window> {
        let recorded = self.recorded.filter(|_| job.verifies)?;
        Some(Window { from: Time::ZERO, to: Time::ZERO + recorded.length() })
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
            Blame::Workload => standstill::fault(job.source, tasks, fault),
            Blame::Policy => Refusal::violated(fault.to_string()),
        };
        refusal.again(self.again(job))
    }
}

/// The work and the machine of one simulation.
pub(crate) struct Ready {
    pub machine: Machine,
    pub work: Workload,
    pub tasks: Vec<Named>,
    /// Tasks that are no threads of the kernel, which come last.
    pub of_work: usize,
    pub seed: Seed,
}

/// One simulation of a plan.
struct Job<'a> {
    contender: &'a Contender,
    source: &'a dyn WorkloadSource,
    /// Its place among the contenders; `None` for a run that only serves to verify the replay.
    index: Option<usize>,
    replication: u32,
    /// True if the run is compared with the recording.
    verifies: bool,
    /// True if a run that was stopped is kept.
    may_stop: bool,
    /// Memory that was free before the first simulation, if it is heeded.
    free: Option<u64>,
}

/// Time at which a run of `work` ends at the latest.
fn last(work: &Workload) -> Option<Time> {
    work.horizon.filter(|end| *end < Time::ZERO + HORIZON_MAX)
}

/// Refuses what a cancelled run leaves.
fn uncancelled(outcome: &Outcome) -> Result<(), Refusal> {
    if outcome.reason == End::Stopped { Err(Refusal::cancelled()) } else { Ok(()) }
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
    let is_astray = |group: &Group| !machine.cpu_ids().any(|cpu| group.cpus.contains(cpu));
    if let Some((_, group)) = work.groups.iter().find(|(_, group)| is_astray(group)) {
        let last = machine.cpu_count() - 1;
        let what =
            format!("the cpuset of group \"{}\" has no CPU of this machine, which has CPUs 0 to {last}", group.name);
        let remedy = "change its cpuset, or take a machine with more CPUs";
        return Err(Refusal::usage(what).at(source.name().to_string()).remedy(remedy));
    }
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
    let entry =
        |(index, spec): (usize, &TaskSpec)| Named::of(&spec.name, source.id_of(TaskId(index as u32)), &spec.task);
    work.tasks.iter().enumerate().map(entry).collect()
}

fn timeline_tasks(tasks: &[Named]) -> Vec<TimelineTask> {
    let of = |t: &Named| TimelineTask { name: t.name.clone(), id: t.id, priority: t.priority, process: t.process };
    tasks.iter().map(of).collect()
}

/// Features of `work` that policy and elevator of `contender` ignore, as sentences.
fn unheeded(contender: &Contender, work: &Workload) -> Vec<String> {
    let of_elevator = storage::unheeded(work, contender.elevator.as_ref());
    lacks(contender.policy.entry(), work).into_iter().chain(of_elevator).collect()
}

/// Features of `work` that `policy` lacks, as sentences.
pub(crate) fn lacks(policy: &PolicyEntry, work: &Workload) -> Vec<String> {
    let reserves = |it: &TaskSpec| it.task.class == Class::Deadline;
    let mut lacks = Vec::new();
    if !work.groups.is_flat() && !policy.has_groups {
        lacks.push("ignores groups: every task is scheduled for itself".into());
    }
    if let Some(first) = work.tasks.iter().find(|it| reserves(it) && !policy.has_reservations) {
        let all = work.tasks.iter().filter(|it| reserves(it)).count();
        let whom = if all > 1 { format!("{} and {} others", first.name, all - 1) } else { first.name.to_string() };
        lacks.push(format!("has no SCHED_DEADLINE: scheduled {whom} in the normal class"));
    }
    lacks
}
