//! The host of one run: advances time, handles due events, and carries out what the referee returns.
//!
//! | file | contents |
//! |---|---|
//! | `cpus` | execution: running tasks, ticks, slices, migrations |
//! | `tasks` | the host's part of a task: starts, wake-ups, sleeps |
//! | `steps` | steps of behaviours |
//! | `locks` | locks of every kind, spinning, priority inheritance |
//! | `outside` | clients and other actors that use no CPU |
//! | `storage` | disks, files and page cache |
//! | `task_io` | the I/O of one task |
//! | `flusher` | the page cache's writes in the background |
//! | `faults` | stolen CPUs and lost ticks |
//! | `hotplug` | CPUs that go offline |
//! | `costs` | CPU time of the host's own work |
//! | `io_costs`, `elevator_lock` | CPU time of block I/O |
//! | `preemption` | models of a kernel's preemption, extensions of slices |
//! | `standstill` | detection of runs in which time does not advance |

mod costs;
mod cpus;
mod elevator_lock;
mod faults;
mod flusher;
mod hotplug;
mod io_costs;
mod locks;
mod outside;
mod preemption;
mod reapers;
mod siblings;
mod standstill;
mod steps;
mod storage;
mod task_io;
mod tasks;

use crate::bursts::Bursts;
use crate::calendar::{Calendar, Entry, Packed, class};
use crate::outbox::Outbox;
use crate::places::Places;
use crate::{Blame, End, Fault, Options, Outcome, Pulse};
use costs::Charging;
use cpus::CpuRun;
use goodness_block::Storage;
use goodness_core::{
    CpuId, CpuStat, Event, GroupId, Machine, MachineFault, MadePolicy, Observer, Preemption, Span, State, Step, Task,
    TaskId, Time, Workload,
};
use goodness_referee::{Referee, Refusal};
use locks::Locks;
use outside::Outside;
use reapers::Reapers;
use standstill::Standstill;
use storage::StorageRun;
use tasks::{Deferred, TaskRun};

/// The calendar, and the end of the run.
struct Agenda {
    calendar: Calendar,
    bursts: Bursts,
    horizon: Time,
    /// Number of runnable tasks, timers and pending starts. At zero, nothing can happen any more.
    live: u64,
    /// Threads of the kernel, which are never counted as live.
    workers: usize,
    /// Time at which the policy's timer is due.
    policy_timer: Time,
}

impl Agenda {
    /// That of `workload` before its tasks are entered.
    fn of(workload: &Workload, cpus: usize) -> Agenda {
        let entries = workload.tasks.len() + workload.outside.len() + workload.faults.len();
        Agenda {
            calendar: Calendar::new(entries, cpus),
            bursts: Bursts::new(cpus),
            horizon: workload.horizon.unwrap_or(Time::NEVER),
            live: 0,
            workers: workload.workers,
            policy_timer: Time::NEVER,
        }
    }

    /// Sets when the burst or slice on `cpu` ends, unless the run is over by then.
    #[inline(always)]
    fn set_burst(&mut self, cpu: CpuId, at: Time) {
        self.bursts.set(cpu, if at < self.horizon { at } else { Time::NEVER });
    }
}

/// State of one run.
pub struct Host<'a> {
    machine: &'a Machine,
    referee: Referee,
    outbox: Outbox<'a>,
    agenda: Agenda,
    runs: Vec<TaskRun>,
    /// Deferred work of each task before its next step; its run shows whether there is any.
    deferred: Vec<Deferred>,
    /// Steps that wait until their task has been preempted.
    held: Vec<(TaskId, Step)>,
    cpus: Vec<CpuRun>,
    /// CPUs to reschedule at this instant.
    asked: Vec<CpuId>,
    places: Places,
    locks: Locks,
    outside: Outside,
    reapers: Reapers,
    /// Disks and files, if the workload has any.
    storage: Option<Box<StorageRun>>,
    charging: Charging,
    faults: Vec<MachineFault>,
    /// Number of CPUs that are offline.
    offline: usize,
    /// Tasks that were set free because none of their CPUs was online, and when.
    set_free: Vec<(TaskId, Time)>,
    /// Figures of the limits of groups during the warm-up.
    warm: Vec<(GroupId, CpuStat)>,
    has_policy_timer: bool,
    /// A waker that is preempted stays in the kernel until then.
    keeps_wakers: bool,
    /// The policy's model of preemption.
    preemption: Preemption,
    /// Longest time for which a critical section keeps its CPU.
    slice_extension: Span,
    /// Longest delay of timers outside the real-time classes.
    timer_slack: Span,
    standstill: Standstill,
    pulse: Option<Pulse<'a>>,
    /// True once the pulse has ended the run.
    is_stopped: bool,
    fault: Option<Box<Fault>>,
}

impl<'a> Host<'a> {
    pub fn new(
        machine: &'a Machine,
        policy: MadePolicy,
        workload: Workload,
        disks: Option<Storage>,
        observer: &'a mut dyn Observer,
        options: Options<'a>,
    ) -> Self {
        let (tasks, outsiders) = (workload.tasks.len(), workload.outside.len());
        let storage = disks.map(|disks| {
            let mut rng = options.seed.stream("files", 0).rng();
            Box::new(StorageRun::new(&workload, disks, !machine.costs.io.are_free(), &mut rng))
        });
        let mut host = Host {
            has_policy_timer: policy.about.needs.timer,
            keeps_wakers: !workload.is_recorded && storage.is_none(),
            preemption: policy.policy.preemption(),
            slice_extension: policy.policy.slice_extension(),
            machine,
            referee: Referee::new(machine.clone(), policy, tasks),
            outbox: Outbox::new(observer),
            agenda: Agenda::of(&workload, machine.cpu_count()),
            runs: Vec::with_capacity(tasks),
            deferred: Vec::with_capacity(tasks),
            held: Vec::new(),
            cpus: machine.cpu_ids().map(|cpu| CpuRun::idle(machine.cpu(cpu).capacity)).collect(),
            asked: Vec::with_capacity(machine.cpu_count()),
            places: Places::new(&workload.channels, tasks + outsiders),
            locks: Locks::new(&workload.locks, tasks),
            outside: Outside::default(),
            reapers: Reapers::of(tasks, workload.reapers),
            storage,
            charging: Charging::of(machine),
            faults: Vec::new(),
            offline: 0,
            set_free: Vec::new(),
            warm: Vec::new(),
            timer_slack: workload.timer_slack,
            standstill: Standstill::new(options.event_limit),
            pulse: options.pulse,
            is_stopped: false,
            fault: None,
        };
        host.enlist(workload, options.seed);
        host
    }

    pub fn run(mut self) -> Result<Outcome, Fault> {
        let reason = loop {
            if let Some(reason) = self.advance() {
                break reason;
            }
        };
        self.account_spinners();
        self.report_all_io();
        self.outbox.flush();
        if let Some(fault) = self.first_fault() {
            return Err(fault);
        }
        let waiting = match reason {
            End::Quiet => self.places.waiting().chain(self.locks.waiting()).collect(),
            _ => self.locks.deadlocked(),
        };
        let (decisions, events) = (self.referee.decisions(), self.standstill.events());
        let (cpu_stats, set_free) = (self.cpu_stats(), self.set_free);
        Ok(Outcome { end: self.referee.now(), reason, decisions, events, waiting, cpu_stats, set_free })
    }

    /// Figures of the limits of groups after the warm-up.
    fn cpu_stats(&self) -> Vec<(GroupId, CpuStat)> {
        let mut all = self.referee.cpu_stats();
        all.iter_mut().zip(&self.warm).for_each(|((_, after), (_, before))| *after = after.since(*before));
        all
    }

    /// Time of the current event.
    #[inline]
    fn now(&self) -> Time {
        self.referee.now()
    }

    #[inline]
    fn task(&self, task: TaskId) -> &Task {
        &self.referee.tasks()[task]
    }

    /// CPU that `task` runs, waits or last ran on.
    #[inline]
    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.referee.tasks().cpu(task)
    }

    /// Advances to the next events: all calendar entries of one instant, then rescheduling, and only then the ends of
    /// bursts. Returns the reason if the run is over.
    #[inline]
    fn advance(&mut self) -> Option<End> {
        if !self.asked.is_empty() {
            return self.advance_or_reschedule();
        }
        let (ends, cpu) = self.agenda.bursts.first();
        match self.agenda.calendar.pop_until(ends) {
            Some((at, entry)) => self.serve(at, entry),
            None => {
                if self.agenda.live == 0 || !self.begins(ends) {
                    return Some(self.finish(ends));
                }
                self.burst_ended(cpu);
                None
            }
        }
    }

    /// Handles the next calendar entry of this instant, or reschedules the CPUs that were asked to.
    #[inline(never)]
    fn advance_or_reschedule(&mut self) -> Option<End> {
        match self.agenda.calendar.pop_until(self.now()) {
            Some((at, entry)) => self.serve(at, entry),
            None => {
                self.reschedule_asked();
                None
            }
        }
    }

    /// Consequences that every event may have: outsiders that it reached, and a new time of the policy's timer.
    #[inline(always)]
    pub fn follow_up(&mut self) {
        if !self.outside.is_quiet() {
            self.let_outsiders_act();
        }
        if self.has_policy_timer {
            self.arm_policy_timer();
        }
    }

    /// Sets the clock to the next event. False if the run is over: at the horizon, which a fault of the work moves to
    /// the beginning of time, or after a refusal. `Time::NEVER` means there is no event.
    #[inline(always)]
    fn begins(&mut self, at: Time) -> bool {
        if at >= self.agenda.horizon {
            return false;
        }
        if at > self.now() {
            self.referee.check_realtime();
            self.referee.check_reservations();
            self.referee.check_limits();
        }
        if self.referee.refusal().is_some() {
            return false;
        }
        self.referee.set_now(at);
        if self.standstill.counts() {
            self.look_for_standstill();
        }
        true
    }

    /// Reason for which the run ends instead of going on to `at`.
    #[cold]
    fn finish(&mut self, at: Time) -> End {
        if self.is_at_fault() {
            return End::Quiet;
        }
        if self.is_stopped {
            return End::Stopped;
        }
        if self.agenda.live == 0 || at == Time::NEVER && self.agenda.horizon == Time::NEVER {
            let of_work = self.referee.tasks().len() - self.agenda.workers;
            let is_finished = self.referee.tasks().states().take(of_work).all(|state| state == State::Exited);
            return if is_finished { End::Finished } else { End::Quiet };
        }
        self.referee.set_now(self.agenda.horizon);
        End::Horizon
    }

    /// Handles a calendar entry, unless the run is over: an entry may be stale, and nothing else be left.
    #[inline(always)]
    fn serve(&mut self, at: Time, entry: Packed) -> Option<End> {
        if self.agenda.live == 0 || !self.begins(at) {
            return Some(self.finish(at));
        }
        match entry.timer() {
            Some(task) => self.timer_expired(task),
            None => self.serve_other(entry.entry()),
        }
        self.follow_up();
        None
    }

    /// Handles any calendar entry.
    #[inline(never)]
    fn serve_other(&mut self, entry: Entry) {
        match entry {
            Entry::Tick(cpu) => self.ticked(cpu),
            Entry::Timer(task) => self.timer_expired(task),
            Entry::Slack(task) => self.slack_begins(task),
            Entry::Start(task) => self.start(task, None),
            Entry::FirstWake(task) => self.first_wake(task),
            Entry::Outsider(index) => self.outsider_due(index),
            Entry::Reschedule(cpu, stamp) => {
                if self.referee.is_asked(cpu) && self.cpus[cpu.index()].ask_stamp == stamp {
                    self.asked.push(cpu);
                }
            }
            Entry::Disks => self.disks_due(),
            Entry::Flusher => self.flusher_due(),
            Entry::Fault(index) => self.fault_begins(index),
            Entry::Online(cpu) => self.comes_online(cpu),
            Entry::Later(cpu) => self.balance_later(cpu),
            Entry::Ended(cpu, stage) => self.reaper_due(cpu, stage),
            Entry::Warm => self.warm = self.referee.cpu_stats(),
            // An entry overtaken by an earlier one is stale: its consequences were handled then.
            Entry::Policy if self.agenda.policy_timer != self.now() => {}
            Entry::Policy => {
                self.agenda.policy_timer = Time::NEVER;
                if let Some(cpu) = self.referee.timer() {
                    self.will_reschedule(cpu, None);
                }
            }
        }
    }

    /// Schedules the policy's next timer, if it has one.
    #[inline]
    fn arm_policy_timer(&mut self) {
        if let Some(at) = self.referee.next_timer()
            && at < self.agenda.policy_timer
        {
            let at = at.max(self.now());
            self.agenda.policy_timer = at;
            self.agenda.calendar.push(at, class::TICK, Entry::Policy);
        }
    }

    /// Tells the observer which CPUs `task` may use.
    fn tell_affinity(&mut self, task: TaskId) {
        self.outbox.confine(self.referee.now(), task, self.referee.tasks().affinity(task));
    }

    #[inline]
    fn emit(&mut self, event: Event) {
        self.outbox.push(self.referee.now(), event);
    }

    /// True after a fault; the run stops before the next event.
    #[inline]
    fn is_at_fault(&self) -> bool {
        self.fault.is_some() || self.referee.refusal().is_some()
    }

    /// Removes and returns the first fault. A fault of the workload is recorded only if the policy has made none.
    fn first_fault(&mut self) -> Option<Fault> {
        if let Some(refusal) = self.referee.refusal().cloned() {
            self.refused(&refusal);
        }
        self.fault.take().map(|fault| *fault)
    }

    /// Ends the run because a policy or elevator gave an invalid answer.
    #[cold]
    fn refused(&mut self, refusal: &Refusal) {
        let Refusal { at, sentence } = refusal.clone();
        self.fault.get_or_insert(Box::new(Fault { at, blame: Blame::Policy, task: None, sentence }));
    }

    /// Ends the run because the work requested something impossible: the behaviour of `task`, if known. `what` follows
    /// its name.
    #[cold]
    fn at_fault(&mut self, task: impl Into<Option<TaskId>>, what: String) {
        if !self.is_at_fault() {
            let fault = Fault { at: self.now(), blame: Blame::Workload, task: task.into(), sentence: what };
            self.fault = Some(Box::new(fault));
            self.agenda.horizon = Time::ZERO;
        }
    }
}
