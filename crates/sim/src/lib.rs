//! The deterministic discrete-event host. It owns time, tasks and CPUs, asks the policy, performs what it
//! answers, verifies every answer, and tells the observer what happened.
//!
//! Order of what happens at one instant: first starts and timers, then policy timers and ticks, then
//! rescheduling, then the ends of compute bursts and slices. So an interrupt that makes a better task runnable
//! at the very instant a burst ends preempts before the burst's task takes its next step, and a task that wakes
//! several others at one instant is preempted once, after all of them are queued.
//!
//! What the model leaves out is listed in `docs/fidelity.md`.

mod bursts;
mod calendar;
mod costs;
mod cpus;
mod outside;
mod places;
mod steps;
mod storage;
mod tasks;

use bursts::Bursts;
use calendar::{Calendar, Entry};
use cpus::CpuRun;
use goodness_block::Storage;
use goodness_core::{
    Awaited, Context, CpuId, EffortMeter, Event, Machine, Observer, Registered, Resched, Seed, Span, State, Task,
    TaskId, TaskTable, Time, Workload,
};
use outside::Outside;
use places::Places;
use std::fmt;
use storage::StorageRun;
use tasks::TaskRun;

/// What a run needs besides machine, policy and workload.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where chance begins: the policy's and each task's own stream derive from it.
    pub seed: Seed,
    /// Events to process at most; a run that exceeds it fails with a sentence instead of running on.
    pub event_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: Seed(1), event_limit: u64::MAX }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every task exited.
    Finished,
    /// Nobody can act any more: the rest waits for something that will not happen.
    Quiet,
    /// The workload's horizon.
    Horizon,
}

/// What a run leaves besides what its observer saw.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When it ended.
    pub end: Time,
    /// Why it ended.
    pub reason: End,
    /// How often the policy was asked whom to run.
    pub decisions: u64,
    /// Events processed.
    pub events: u64,
    /// Who waits for what, in the order of the places, when the run ended because nobody could act any more
    /// ([`End::Quiet`]); empty after any other end.
    pub waiting: Vec<(TaskId, Awaited)>,
}

/// Whose fault a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The policy answered what cannot be.
    Policy,
    /// The work asks for what cannot be, or never lets time pass: no policy can run it as it is.
    Workload,
}

/// Why a run failed. Each is a sentence that names policy or task, CPU and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// Whose fault it is.
    pub blame: Blame,
    /// Which task's programme is to be mended, where the fault is the work's.
    pub task: Option<TaskId>,
    /// What: a sentence after the name of the policy or the task, `picked task 3, which does not exist`.
    pub sentence: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: ", self.at)?;
        if let Some(task) = self.task {
            write!(f, "{task} ")?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Fault {}

/// Runs `workload` on `machine` under policy `P` until everyone is done, nobody can act, or the horizon.
///
/// # Errors
/// A [`Fault`] of the policy when it answers what cannot be (a task that is not queued, a CPU outside the
/// affinity, …); one of the workload when admission refuses a task, when a behaviour uses what is not there, or when it
/// never stops taking steps without time.
pub fn simulate<P: Registered, O: Observer>(
    machine: &Machine,
    settings: P::Settings,
    workload: Workload,
    observer: &mut O,
    options: Options,
) -> Result<Outcome, Fault> {
    simulate_with::<P, O>(machine, settings, workload, None, observer, options)
}

/// As [`simulate`], with the disks that the workload's storage asks for.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with<P: Registered, O: Observer>(
    machine: &Machine,
    settings: P::Settings,
    workload: Workload,
    disks: Option<Storage>,
    observer: &mut O,
    options: Options,
) -> Result<Outcome, Fault> {
    let policy = P::new(machine, settings, options.seed.stream("policy", 0));
    let storage = disks.map(|disks| {
        let mut rng = options.seed.stream("files", 0).rng();
        Box::new(StorageRun::new(&workload.storage, disks, workload.tasks.len(), &mut rng))
    });
    Host::new(machine, policy, workload, storage, observer, options).run()
}

/// How many events pass between two looks at the clock.
const WATCH: u64 = 1 << 20;
/// How many looks in a row may show the same time: a million tasks on 4096 CPUs start with about three million events.
const STILL_MAX: u32 = 8;

/// Classes of entries of one instant, in the order they are served. The ends of bursts come after all of them.
mod class {
    pub const WAKE: u8 = 0;
    pub const TICK: u8 = 1;
    pub const SLACK: u8 = 2;
    pub const RESCHEDULE: u8 = 3;
}

/// One run.
struct Host<'a, P, O> {
    machine: &'a Machine,
    policy: P,
    observer: &'a mut O,
    now: Time,
    horizon: Time,
    calendar: Calendar,
    bursts: Bursts,
    tasks: TaskTable,
    runs: Vec<TaskRun>,
    cpus: Vec<CpuRun>,
    /// CPUs that were asked to reschedule at this instant.
    asked: Vec<CpuId>,
    places: Places,
    outside: Outside,
    /// Disks and files, where the work has any.
    storage: Option<Box<StorageRun>>,
    effort: EffortMeter,
    /// When the one lock of a global runqueue is free again.
    lock_free: Time,
    /// Which CPU had that lock last.
    lock_by: CpuId,
    policy_timer: Time,
    /// Whether the policy's effort costs time on this machine.
    effort_costs: bool,
    /// Whether switches and cold caches do.
    switch_costs: bool,
    /// By how much timers outside the real-time classes may be late.
    timer_slack: Span,
    /// Tasks that are runnable, plus timers and starts to come: at zero nobody can act.
    live: u64,
    decisions: u64,
    events: u64,
    event_limit: u64,
    /// When the clock was last watched, and how often in a row it showed the same time.
    watched: Time,
    still: u32,
    /// The task that last did something that may take no time, and when.
    restless: Option<(TaskId, Time)>,
    fault: Option<Fault>,
}

/// The policy's view at this instant, leaving the policy itself free to be borrowed.
macro_rules! context {
    ($host:expr) => {
        Context { now: $host.now, machine: $host.machine, tasks: &$host.tasks, effort: &$host.effort }
    };
}
use context;

impl<'a, P: Registered, O: Observer> Host<'a, P, O> {
    fn new(
        machine: &'a Machine,
        policy: P,
        workload: Workload,
        storage: Option<Box<StorageRun>>,
        observer: &'a mut O,
        options: Options,
    ) -> Self {
        let mut host = Host {
            machine,
            policy,
            observer,
            now: Time::ZERO,
            horizon: workload.horizon.unwrap_or(Time::NEVER),
            calendar: Calendar::new(workload.tasks.len() + workload.outside.len(), machine.cpu_count()),
            bursts: Bursts::new(machine.cpu_count()),
            tasks: TaskTable::with_capacity(workload.tasks.len()),
            runs: Vec::with_capacity(workload.tasks.len()),
            cpus: machine.cpu_ids().map(|cpu| CpuRun::idle(machine.cpu(cpu).capacity)).collect(),
            asked: Vec::with_capacity(machine.cpu_count()),
            places: Places::new(&workload.channels, workload.locks, workload.tasks.len() + workload.outside.len()),
            outside: Outside::default(),
            storage,
            effort: EffortMeter::default(),
            lock_free: Time::ZERO,
            lock_by: CpuId(0),
            policy_timer: Time::NEVER,
            effort_costs: machine.costs.effort != [Span::ZERO; 4],
            switch_costs: !machine.costs.switching_is_free(),
            timer_slack: workload.timer_slack,
            live: 0,
            decisions: 0,
            events: 0,
            event_limit: options.event_limit,
            watched: Time::NEVER,
            still: 0,
            restless: None,
            fault: None,
        };
        host.enlist(workload, options.seed);
        host
    }

    fn run(mut self) -> Result<Outcome, Fault> {
        let reason = loop {
            if let Some(reason) = self.advance() {
                break reason;
            }
        };
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let waiting = if reason == End::Quiet { self.places.waiting() } else { Vec::new() };
        Ok(Outcome { end: self.now, reason, decisions: self.decisions, events: self.events, waiting })
    }

    /// Lets happen what comes next: entries of the calendar, at one instant followed by rescheduling and only then by
    /// the ends of bursts. Says why the run is over if it is.
    #[inline]
    fn advance(&mut self) -> Option<End> {
        let (ends, cpu) = self.bursts.first();
        let limit = if self.asked.is_empty() { ends } else { self.now };
        if let Some((at, entry)) = self.calendar.pop_until(limit) {
            if let Some(reason) = self.begin(at) {
                return Some(reason);
            }
            self.serve(entry);
        } else if !self.asked.is_empty() {
            self.reschedule_asked();
            return None;
        } else {
            if let Some(reason) = self.begin(ends) {
                return Some(reason);
            }
            self.burst_ended(cpu);
        }
        if !self.outside.is_quiet() {
            self.let_outsiders_act();
        }
        self.arm_policy_timer();
        None
    }

    /// Sets the clock to the next event, unless the run is over. `Time::NEVER` stands for no event.
    #[inline]
    fn begin(&mut self, at: Time) -> Option<End> {
        if at >= self.horizon || self.live == 0 || self.fault.is_some() {
            return Some(self.finish(at));
        }
        self.now = at;
        self.events += 1;
        if self.events > self.event_limit {
            let what = format!("the run exceeded its limit of {} events", self.event_limit);
            self.blame(Blame::Workload, None, what);
        }
        if self.events.is_multiple_of(WATCH) {
            self.watch();
        }
        None
    }

    /// Stops a run in which time stands still: tasks that only yield, or wake each other, for ever. Where no task
    /// took a step meanwhile, it is the policy that keeps the host busy.
    #[cold]
    fn watch(&mut self) {
        self.still = if self.now == self.watched { self.still + 1 } else { 0 };
        self.watched = self.now;
        if self.still >= STILL_MAX {
            let events = u64::from(STILL_MAX) * WATCH;
            let task = self.restless.filter(|(_, at)| *at == self.now).map(|(task, _)| task);
            let what = format!("{events} events in a row took no time");
            match task {
                Some(task) => self.at_fault(task, format!("goes on for ever without using time: {what}")),
                None => self.fail(what),
            }
        }
    }

    /// Why the run ends instead of going on to `at`.
    #[cold]
    fn finish(&mut self, at: Time) -> End {
        if self.fault.is_some() {
            return End::Quiet;
        }
        if self.live == 0 || at == Time::NEVER && self.horizon == Time::NEVER {
            return self.how_it_ended();
        }
        self.now = self.horizon;
        End::Horizon
    }

    /// Lets the event of an entry happen.
    #[inline]
    fn serve(&mut self, entry: Entry) {
        match entry {
            Entry::Tick(cpu) => self.ticked(cpu),
            Entry::Timer(task, stamp) => self.timer_expired(task, stamp),
            Entry::Slack(task, stamp) => self.slack_begins(task, stamp),
            Entry::Start(task) => self.start(task, None),
            Entry::FirstWake(task) => self.first_wake(task),
            Entry::Outsider(index) => self.outsider_due(index),
            Entry::Reschedule(cpu, stamp) => {
                let run = &self.cpus[cpu.index()];
                if run.asked && run.ask_stamp == stamp {
                    self.asked.push(cpu);
                }
            }
            Entry::Disks => self.disks_due(),
            Entry::Flusher => self.flusher_due(),
            // An entry that an earlier one overtook is stale: what follows from it was done then.
            Entry::Policy if self.policy_timer != self.now => {}
            Entry::Policy => {
                self.policy_timer = Time::NEVER;
                let answer = self.policy.timer(&context!(self));
                self.heed(answer, None);
            }
        }
    }

    /// Asks the policy when it wants its timer, if it has one.
    #[inline]
    fn arm_policy_timer(&mut self) {
        if !P::ABOUT.needs.timer {
            return;
        }
        if let Some(at) = self.policy.next_timer()
            && at < self.policy_timer
        {
            self.policy_timer = at.max(self.now);
            self.calendar.push(self.policy_timer, class::TICK, Entry::Policy);
        }
    }

    /// Passes a policy's wish to reschedule on to the CPU it names. `by` is the CPU on which the wish arose:
    /// another CPU learns of it by an interrupt.
    #[inline(always)]
    fn heed(&mut self, answer: Resched, by: Option<CpuId>) {
        if let Resched::Preempt(cpu) = answer {
            if cpu.index() >= self.cpus.len() {
                return self.fail(format!("preempted {cpu}, which this machine does not have"));
            }
            self.ask(cpu, by);
        }
    }

    fn how_it_ended(&self) -> End {
        let done = |(_, task): (TaskId, &Task)| task.state == State::Exited;
        if self.tasks.iter().all(done) { End::Finished } else { End::Quiet }
    }

    #[inline]
    fn emit(&mut self, event: Event) {
        self.observer.observe(self.now, &event);
    }

    /// The policy answered what cannot be.
    #[cold]
    fn fail(&mut self, what: String) {
        self.blame(Blame::Policy, None, format!("{}: {what}", P::ABOUT.name));
    }

    /// The programme of `task` asks for what cannot be; `what` follows the task's name.
    #[cold]
    fn at_fault(&mut self, task: TaskId, what: String) {
        self.blame(Blame::Workload, Some(task), what);
    }

    /// Records the first thing that went wrong; the run stops before the next event.
    #[cold]
    fn blame(&mut self, blame: Blame, task: Option<TaskId>, sentence: String) {
        if self.fault.is_none() {
            self.fault = Some(Fault { at: self.now, blame, task, sentence });
        }
    }
}
