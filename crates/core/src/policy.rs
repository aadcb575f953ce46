//! The CPU policy interface: a pure state machine from events and time to decisions.

use crate::cpu_stat::CpuStat;
use crate::effort::{Effort, EffortMeter};
use crate::event::WakeSource;
use crate::group::{GroupId, Groups};
use crate::machine::{CpuId, Machine};
use crate::placement::Placement;
use crate::reason::{Reason, Standing, Why};
use crate::task::{TaskId, TaskTable};
use crate::time::{Span, Time};

/// A policy's view of the system during one call. The host keeps one for the whole run, so that a call only passes its
/// address.
#[derive(Debug)]
pub struct Context {
    /// The time of the event.
    pub now: Time,
    /// All tasks; read only.
    pub tasks: TaskTable,
    /// Meter to which the policy reports the elements it examined.
    pub effort: EffortMeter,
    /// Topology, tick and costs.
    pub machine: Machine,
    /// The task groups, complete before the first task is admitted.
    pub groups: Groups,
}

impl Context {
    /// The view of `machine` at the start of a run.
    #[must_use]
    pub fn new(machine: Machine, tasks: TaskTable) -> Context {
        Context { now: Time::ZERO, tasks, effort: EffortMeter::default(), machine, groups: Groups::default() }
    }

    /// Reports that `elements` of `kind` were examined.
    #[inline]
    pub fn examined(&self, kind: Effort, elements: u32) {
        self.effort.add(kind, elements);
    }
}

crate::choices! {
    /// Preemption model of a kernel: when a request to reschedule a busy CPU takes effect. In the kernel
    /// ([`Step::Kernel`](crate::Step::Kernel)) `none` and `voluntary` wait for its end, `full` does not, and `lazy`
    /// does until the next tick, unless a real-time task is to run. In user mode `lazy` lets a request from another CPU
    /// wait for the end of a system call, an interrupt or the tick (specs/groups-locks.md section 4.1).
    pub enum Preemption { None = "none", Voluntary = "voluntary", Full = "full", Lazy = "lazy" }
}

/// A CPU scheduling policy.
///
/// The crate's documentation shows the order of calls. Any method may report effort. None may allocate once the tasks
/// are admitted.
pub trait CpuPolicy {
    /// Adds a task. Called once per task, before any other method names it; allocate for it here.
    ///
    /// # Errors
    /// [`Rejected`] if admission control rejects the task; it then never runs.
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected>;

    /// A task ceased to exist. It is neither queued nor running. Its number is not used again.
    fn exit(&mut self, cx: &Context, task: TaskId) {
        let _ = (cx, task);
    }

    /// Chooses a CPU for a task that becomes runnable (`Fork`, `Wakeup`) or lost its CPU by an affinity change. The CPU
    /// must be in the task's affinity. Default: its last CPU if allowed, else the first allowed CPU.
    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        let _ = why;
        previous_cpu(cx, task)
    }

    /// Chooses a CPU for `task`, which runs on `cpu` and replaces its program, so that its caches are of no use. The
    /// CPU must be in the task's affinity. If it is another one, the host migrates the task, as after
    /// [`CpuPolicy::balance`]. Default: the task stays.
    fn exec(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> CpuId {
        let _ = (cx, task);
        cpu
    }

    /// Adds `task` to the run queue of `cpu`. Given: it is neither queued nor running, and `cpu` is in its affinity.
    /// That changes while it is queued only if a CPU goes offline or comes back, and then it keeps `cpu`. A task of a
    /// real-time class or with a reservation is dequeued and enqueued if it gets or had a single CPU.
    /// Returns the CPU that should reschedule, if any; an idle CPU reschedules anyway.
    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched;

    /// A queued task leaves the runqueue of `cpu` for another reason than running.
    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue);

    /// Chooses the next task of `cpu` and removes it from the run queue. Given: nothing runs on `cpu`, and the previous
    /// task was charged and, if still runnable, enqueued. `None` leaves the CPU idle.
    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick>;

    /// Writes the tasks that `cpu` would run next, in order, as far as they are known at a glance; returns how many.
    /// Hosts load them into the caches together, and so does the policy with its own data about them; no schedule
    /// depends on it.
    fn likely_next(&self, cpu: CpuId, next: &mut [TaskId]) -> usize {
        let _ = (cpu, next);
        0
    }

    /// Charges `ran` (time since the pick or the last charge, including scheduling costs) to `task`. With
    /// [`Stop::Tick`] the task continues, unless the result preempts its CPU. With any other reason it has left the CPU
    /// already, and `enqueue` follows if it is still runnable.
    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched;

    /// Proposes a migration. Called when `cpu` found nothing to run (repeatedly, until it has a task or the result is
    /// `None`), on its ticks, and on [`Idle::Later`] after them. The host migrates: the policy gets `dequeue(Migrate)`
    /// and `enqueue(Migrated)`. A running task may be proposed; it is charged as `Preempted` and then enqueued.
    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        let _ = (cx, cpu, idle);
        None
    }

    /// True if `balance` with [`Idle::Later`] should follow for `cpu`, which ticked and was balanced now.
    fn balances_later(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }

    /// Preemption model of the kernel that the policy is part of. Simulating hosts apply it.
    fn preemption(&self) -> Preemption {
        Preemption::Full
    }

    /// Longest time for which a critical section keeps the CPU after a request to reschedule; zero if it never does.
    /// Simulating hosts apply it.
    fn slice_extension(&self) -> Span {
        Span::ZERO
    }

    /// True if a request to reschedule `cpu` waits for its tick, or the next return to user mode there, as
    /// [`Preemption::Lazy`] has it.
    fn waits_for_tick(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }

    /// Number of real-time tasks that wait, if the policy promises that none waits while a CPU that it may use runs
    /// something less urgent, or nothing. The referee checks that promise, up to requests to reschedule that are on
    /// their way.
    fn waiting_realtime(&self) -> Option<u32> {
        None
    }

    /// True if a rule against starvation keeps real-time tasks from `cpu` for now; those that wait there stay there.
    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        let _ = cpu;
        false
    }

    /// Number of tasks with a reservation (SCHED_DEADLINE) that wait and have budget, if the policy promises that none
    /// waits while a CPU that it may use runs something of a later deadline, or of none. The referee checks that
    /// promise, up to requests to reschedule that are on their way.
    fn waiting_reservations(&self) -> Option<u32> {
        None
    }

    /// Absolute deadline by which `task` competes now; `None` without a reservation, or without budget.
    fn deadline(&self, task: TaskId) -> Option<Time> {
        let _ = task;
        None
    }

    /// Absolute deadline of the rule against starvation by which `cpu` runs its task, if one does so now.
    fn served_deadline(&self, cpu: CpuId) -> Option<Time> {
        let _ = cpu;
        None
    }

    /// True if a limit on the CPU time of its group, or of one around it, keeps `task` from running now. `None` for a
    /// policy without such limits. The referee checks that such a task does not run, and that no CPU idles while
    /// another one is queued there, up to requests to reschedule that are on their way.
    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        let _ = task;
        None
    }

    /// Says why a task waits on the run queue of `cpu`, by the state after the last pick or enqueue there. Called only
    /// if somebody asks; no schedule depends on it. `None` if the policy does not tell.
    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        let _ = (cx, cpu, question);
        None
    }

    /// Says by which rule `select_cpu` chose `cpu` for `task` just now, before the task is enqueued there; or `exec`,
    /// with [`Enqueue::Migrated`]. Called only if somebody asks; no schedule depends on it. `None` if the policy does
    /// not tell.
    fn why_placed(&self, cx: &Context, task: TaskId, cpu: CpuId, why: &Enqueue) -> Option<Placement> {
        let _ = (cpu, why);
        without_choice(cx, task)
    }

    /// The place of a runnable task in its queue, by the state after the last pick or enqueue there. Called only if
    /// somebody asks. `None` for a policy without virtual deadlines, and for a task that does not compete by them.
    fn standing(&self, task: TaskId) -> Option<Standing> {
        let _ = task;
        None
    }

    /// Figures of the limit of `group` so far; `None` for a group without a limit, and for a policy without limits.
    fn cpu_stat(&self, group: GroupId) -> Option<CpuStat> {
        let _ = group;
        None
    }

    /// Time of the next call of [`CpuPolicy::timer`], if any. Checked after each event that concerned the policy.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Called at the time given by [`CpuPolicy::next_timer`].
    fn timer(&mut self, cx: &Context) -> Resched {
        let _ = cx;
        Resched::Keep
    }
}

/// The placement of a task under every policy: [`Placement::OnlyCpu`] if it may use one CPU of several, or
/// [`Placement::OnlyOnline`] if some are offline, which are not among those of the root group.
#[must_use]
pub fn without_choice(cx: &Context, task: TaskId) -> Option<Placement> {
    let has_several = cx.machine.cpu_count() > 1;
    let allowed = |cpu: &CpuId| cx.tasks.may_run(task, *cpu);
    let is_only = has_several && cx.machine.cpu_ids().filter(allowed).take(2).count() == 1;
    let are_online = || cx.machine.cpu_ids().all(|cpu| cx.groups[GroupId::ROOT].cpus.contains(cpu));
    is_only.then(|| if are_online() { Placement::OnlyCpu } else { Placement::OnlyOnline })
}

/// The CPU the task last ran on if its affinity allows it, else the first that it allows.
///
/// # Panics
/// If the affinity names no CPU of the machine; hosts refuse such tasks.
#[inline(always)]
#[must_use]
pub fn previous_cpu(cx: &Context, task: TaskId) -> CpuId {
    let before = cx.tasks.cpu(task);
    if cx.tasks.may_run(task, before) {
        return before;
    }
    cx.machine.cpu_ids().find(|cpu| cx.tasks.may_run(task, *cpu)).expect("a task's affinity names a CPU of the machine")
}

/// Reason for which a task joins a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueue {
    /// It was just created by `parent` (`None`: by the host, at its start time).
    Fork {
        /// The task that created it.
        parent: Option<TaskId>,
    },
    /// The task was woken: the event it waited for happened.
    Wakeup {
        /// The task that woke it; `None` for interrupts and timers.
        waker: Option<TaskId>,
        /// The CPU on which the wake-up was executed.
        on: CpuId,
        /// The waker announced that it is about to sleep.
        sync: bool,
        /// In which context the waker ran.
        from: WakeSource,
    },
    /// It was preempted.
    Preempted,
    /// The timeslice of its [`Pick`] ended.
    SliceEnd,
    /// It yielded.
    Yielded,
    /// It was moved from another CPU's runqueue.
    Migrated,
    /// It was taken off to change nice, class, affinity or group.
    Restored,
}

/// Reason for which a queued task leaves its runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeue {
    /// To another CPU's runqueue.
    Migrate,
    /// To change nice, class, affinity or group.
    Change,
    /// For good.
    Kill,
}

/// Reason for which a task is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The timer interrupt; the task is still running.
    Tick,
    /// The timeslice of its [`Pick`] ended.
    SliceEnd,
    /// A preemption requested by the policy, or a change of nice, class, affinity or group.
    Preempted,
    /// It called `sched_yield`.
    Yielded,
    /// It waits for something.
    Blocked {
        /// True if a signal can interrupt the sleep (`S`), false if not (`D`).
        interruptible: bool,
    },
    /// It ended.
    Exited,
}

/// Occasion on which `balance` is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// The CPU found nothing to run.
    Newly,
    /// The CPU is busy and its timer ticked.
    Busy,
    /// The CPU's timer ticked [`Costs::late_balance`](crate::Costs::late_balance) ago, when it was busy, and
    /// [`CpuPolicy::balances_later`] said then that there is more to balance. Other CPUs have made their choices since.
    Later,
}

/// The task to run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The task to run.
    pub task: TaskId,
    /// CPU time until the host stops it with `SliceEnd`; `None` for policies that count ticks or have no limit. Without
    /// any, a simulating host stops it where it would return to user mode: a task in the kernel goes on until then.
    pub timeslice: Option<Span>,
}

/// A proposed migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The task to move.
    pub task: TaskId,
    /// CPU on which it is queued or running.
    pub from: CpuId,
    /// Target CPU.
    pub to: CpuId,
}

/// The CPU that must pick again after an event, if any.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resched {
    /// None.
    Keep,
    /// This CPU must stop its task and pick again.
    Preempt(CpuId),
}

/// A rejection by admission control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Reason in one sentence.
    pub reason: String,
}
