//! The referee of a CPU policy.

mod promises;

use goodness_core::{
    About, Context, CpuId, CpuPolicy, CpuSet, CpuStat, Dequeue, Enqueue, GroupId, Groups, Idle, Level, Machine,
    MadePolicy, Pick, Preemption, Pull, Rejected, Resched, Span, State, Stop, Task, TaskId, TaskTable, Time,
};
use std::fmt;

/// First invalid answer of a policy, which ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Time of the answer.
    pub at: Time,
    /// A sentence that starts with the policy's name: `rr picked task 3, which does not exist`.
    pub sentence: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", self.at, self.sentence)
    }
}

impl std::error::Error for Refusal {}

/// CPUs newly asked to reschedule by a verb, in order.
pub type Asked = [Option<CpuId>; 2];

/// The policy's choice for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The task runs now.
    Run {
        /// The task that runs, and its slice.
        pick: Pick,
        /// The CPU it was on before.
        from: CpuId,
    },
    /// The CPU goes idle.
    Idle,
    /// The policy migrates a task first. Carry it out, then call [`Referee::choose_again`].
    Move(Move),
    /// The answer was invalid; see [`Referee::refusal`].
    Refused,
}

/// A move of a task to another runqueue that the policy proposed and the rules allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A queued task, already moved to its new run queue. These CPUs were newly asked to reschedule.
    Queued(Pull, Asked),
    /// A running task. The host takes it off its CPU ([`Referee::charge`], [`Referee::take_off`]) and then enqueues it
    /// as [`Enqueue::Migrated`].
    Running(Pull),
}

/// The referee's state of one CPU.
#[derive(Clone, Copy, Debug)]
struct CpuState {
    /// The task that runs, on no runqueue, or [`NOBODY`].
    running: TaskId,
    /// True from a request to reschedule until the CPU chooses again.
    is_asked: bool,
}

/// Stands for an idle CPU's task.
const NOBODY: TaskId = TaskId(u32::MAX);

impl CpuState {
    #[inline(always)]
    fn current(self) -> Option<TaskId> {
        (self.running != NOBODY).then_some(self.running)
    }

    /// The running task, as the host asserts by calling a verb that needs one.
    #[inline(always)]
    fn runs(self) -> TaskId {
        self.current().expect("a task runs where one is charged or taken off")
    }
}

/// Checks a policy for a host. Hosts leave `P` unnamed; tests name it to inspect the policy.
pub struct Referee<P: ?Sized = dyn CpuPolicy> {
    policy: Box<P>,
    about: &'static About,
    cx: Context,
    cpus: Box<[CpuState]>,
    /// Affinities that were asked for, by task, if a group has a cpuset or CPUs may go offline; the table has what is
    /// left of them.
    asked: Option<Vec<CpuSet>>,
    /// Tasks that are or were real-time tasks.
    realtime: Vec<TaskId>,
    /// True if a task has or had a reservation.
    has_reservations: bool,
    /// True if a group has a limit on its CPU time.
    has_limits: bool,
    /// Time, CPU and number of the moves that one balancing made so far.
    moves: (Time, CpuId, usize),
    decisions: u64,
    refusal: Option<Box<Refusal>>,
}

impl Referee {
    /// A referee of a policy made by name for `machine`, with room for `tasks` tasks.
    #[must_use]
    pub fn new(machine: Machine, policy: MadePolicy, tasks: usize) -> Referee {
        Referee::of(policy.about, machine, policy.policy, tasks)
    }
}

/// State that hosts read.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// A referee of `policy`, which was made for `machine`, with room for `tasks` tasks.
    #[must_use]
    pub fn of(about: &'static About, machine: Machine, policy: Box<P>, tasks: usize) -> Referee<P> {
        Referee {
            policy,
            about,
            cpus: vec![CpuState { running: NOBODY, is_asked: false }; machine.cpu_count()].into(),
            cx: Context::new(machine, TaskTable::with_capacity(tasks)),
            asked: None,
            realtime: Vec::new(),
            has_reservations: false,
            has_limits: false,
            moves: (Time::ZERO, CpuId(0), 0),
            decisions: 0,
            refusal: None,
        }
    }

    /// Sets the task groups, before the first task is admitted.
    pub fn set_groups(&mut self, groups: Groups) {
        debug_assert!(self.cx.tasks.is_empty(), "groups come before tasks");
        self.asked = groups.has_cpusets().then(Vec::new);
        self.has_limits = groups.iter().any(|(_, group)| group.quota.is_some());
        self.cx.groups = groups;
    }

    /// Prepares for [`Referee::set_online`], before the first task is added.
    pub fn expect_offline(&mut self) {
        debug_assert!(self.cx.tasks.is_empty(), "tasks come later");
        self.asked.get_or_insert_default();
    }

    /// Only these CPUs are online. They are the CPUs of the root group, so that no task may use another one once it was
    /// edited, which is up to the host.
    pub fn set_online(&mut self, cpus: CpuSet) {
        debug_assert!(self.asked.is_some(), "it was not said that CPUs may go offline");
        self.cx.groups.edit(GroupId::ROOT).cpus = cpus;
    }

    /// The CPUs that `task` may use if it is edited now.
    #[must_use]
    pub fn allowed(&self, task: TaskId) -> CpuSet {
        let own = self.asked.as_ref().map_or_else(|| self.cx.tasks.affinity(task), |asked| &asked[task.index()]);
        self.cx.groups.confine(own, self.cx.tasks.group(task))
    }

    /// True if none of the CPUs that `task` asks for is online.
    #[must_use]
    pub fn is_stranded(&self, task: TaskId) -> bool {
        let online = &self.cx.groups[GroupId::ROOT].cpus;
        self.asked.as_ref().is_some_and(|asked| asked[task.index()].and(online).is_none())
    }

    /// The task groups.
    #[must_use]
    pub fn groups(&self) -> &Groups {
        &self.cx.groups
    }

    /// Figures of the limits of groups so far, by group; of policies with limits alone.
    #[must_use]
    pub fn cpu_stats(&self) -> Vec<(GroupId, CpuStat)> {
        self.cx.groups.iter().filter_map(|(group, _)| Some((group, self.policy.cpu_stat(group)?))).collect()
    }

    /// True if a group has a limit on its CPU time.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.has_limits
    }

    /// The policy's own description.
    #[must_use]
    pub fn about(&self) -> &'static About {
        self.about
    }

    /// Preemption model of the policy's kernel.
    #[must_use]
    pub fn preemption(&self) -> Preemption {
        self.policy.preemption()
    }

    /// True if a request of the policy to reschedule `cpu` waits for its tick, or its next return to user mode.
    #[must_use]
    pub fn waits_for_tick(&self, cpu: CpuId) -> bool {
        self.policy.waits_for_tick(cpu)
    }

    /// The machine the policy was made for.
    #[inline]
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.cx.machine
    }

    /// Time of the current event.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.cx.now
    }

    /// Sets the time of the current event. It never goes backwards.
    #[inline]
    pub fn set_now(&mut self, now: Time) {
        debug_assert!(now >= self.cx.now, "time goes backwards");
        self.cx.now = now;
    }

    /// All tasks that were ever added.
    #[inline]
    #[must_use]
    pub fn tasks(&self) -> &TaskTable {
        &self.cx.tasks
    }

    /// The task that runs on `cpu`.
    #[inline(always)]
    #[must_use]
    pub fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].current()
    }

    /// True if `cpu` was asked to reschedule and has not picked since.
    #[inline]
    #[must_use]
    pub fn is_asked(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].is_asked
    }

    /// Number of picks.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// First invalid answer, which ends the run.
    #[inline]
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Elements that the policy examined since the last call, by kind.
    #[inline]
    pub fn take_effort(&mut self) -> [u32; 4] {
        self.cx.effort.take()
    }

    /// The policy, to read its own state in tests.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// Calls the policy past the rules, as the test of one of its parts does.
    pub fn call<T>(&mut self, verb: impl FnOnce(&mut P, &Context) -> T) -> T {
        verb(&mut self.policy, &self.cx)
    }

    /// Records that the policy broke a rule; `what` continues its name. Hosts use it for timing rules, which only they
    /// can check.
    #[cold]
    pub fn refuse(&mut self, what: &str) {
        if self.refusal.is_none() {
            let sentence = format!("{} {what}", self.about.name);
            self.refusal = Some(Box::new(Refusal { at: self.cx.now, sentence }));
        }
    }
}

/// The life of a task.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// Adds a task to the table; the policy does not know it yet.
    pub fn add(&mut self, mut task: Task) -> TaskId {
        if let Some(asked) = &mut self.asked {
            asked.push(task.affinity.clone());
            task.affinity = self.cx.groups.confine(&task.affinity, task.group);
        }
        let is_realtime = task.class.is_realtime();
        self.has_reservations |= task.reservation.is_some();
        let id = self.cx.tasks.push(task);
        if is_realtime {
            self.realtime.push(id);
        }
        id
    }

    /// Admits the task to the policy.
    ///
    /// # Errors
    /// The policy's admission control rejects it.
    pub fn admit(&mut self, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.policy.admit(&self.cx, task, parent)
    }

    /// Marks an admitted task as asleep from the start.
    pub fn begin_asleep(&mut self, task: TaskId) {
        debug_assert_eq!(self.cx.tasks.state(task), State::New);
        self.cx.tasks.set_state(task, State::Blocked);
    }

    /// Edits what was asked for a task that is on no runqueue.
    #[inline]
    pub fn edit(&mut self, task: TaskId, edit: impl FnOnce(&mut Task)) {
        match &mut self.asked {
            None => self.cx.tasks.edit(task, edit),
            Some(asked) => {
                let (asked, groups) = (&mut asked[task.index()], &self.cx.groups);
                self.cx.tasks.edit(task, |it| {
                    it.affinity = asked.clone();
                    edit(it);
                    let left = groups.confine(&it.affinity, it.group);
                    *asked = std::mem::replace(&mut it.affinity, left);
                });
            }
        }
        if self.cx.tasks.class(task).is_realtime() && !self.realtime.contains(&task) {
            self.realtime.push(task);
        }
    }

    /// Sets the CPU on which a task that never ran is at home.
    pub fn set_home(&mut self, task: TaskId, cpu: CpuId) {
        self.cx.tasks.set_cpu(task, cpu);
    }

    /// Has the policy choose a CPU for `task`; `None` if the answer was invalid. The task is not moved.
    #[inline(always)]
    pub fn select_cpu(&mut self, task: TaskId, why: &Enqueue) -> Option<CpuId> {
        let cpu = self.policy.select_cpu(&self.cx, task, why);
        if cpu.index() < self.cpus.len() && self.cx.tasks.may_run(task, cpu) {
            return Some(cpu);
        }
        self.refuse(&format!("selected {cpu} for {task}, which its affinity or the machine forbids"));
        None
    }

    /// Has the policy choose a CPU for `task`, which runs on `cpu` and replaces its program; `None` if the answer was
    /// invalid. The task is not moved.
    pub fn exec(&mut self, cpu: CpuId, task: TaskId) -> Option<CpuId> {
        let to = self.policy.exec(&self.cx, cpu, task);
        if to == cpu || (to.index() < self.cpus.len() && self.cx.tasks.may_run(task, to)) {
            return Some(to);
        }
        self.refuse(&format!("selected {to} for {task} at exec, which its affinity or the machine forbids"));
        None
    }

    /// Enqueues a runnable task on `cpu`. An idle CPU is asked to reschedule.
    #[inline(always)]
    pub fn enqueue(&mut self, task: TaskId, cpu: CpuId, why: Enqueue) -> Asked {
        self.cx.tasks.set_state(task, State::Queued);
        self.cx.tasks.set_cpu(task, cpu);
        let answer = self.policy.enqueue(&self.cx, cpu, task, why);
        let preempted = self.heed(answer);
        let woken = if self.current(cpu).is_none() && self.ask(cpu) { Some(cpu) } else { None };
        [preempted, woken]
    }

    /// Dequeues a task for another reason than running; it is blocked afterwards.
    pub fn dequeue(&mut self, task: TaskId, why: Dequeue) {
        debug_assert_eq!(self.cx.tasks.state(task), State::Queued);
        let cpu = self.cx.tasks.cpu(task);
        self.policy.dequeue(&self.cx, cpu, task, why);
        self.cx.tasks.set_state(task, State::Blocked);
    }

    /// Charges `ran` to the task running on `cpu`, which leaves the CPU: [`Referee::requeue`] or [`Referee::take_off`]
    /// must follow. `cpu` picks anyway, so only another CPU can be newly asked.
    #[inline(always)]
    #[must_use]
    pub fn charge(&mut self, cpu: CpuId, ran: Span, why: Stop) -> Option<CpuId> {
        let answer = self.account(cpu, ran, why);
        self.heed_others(answer, cpu)
    }

    /// Charges `ran` to the task running on `cpu`, which continues. The CPU newly asked to reschedule may be `cpu`.
    #[inline]
    #[must_use]
    pub fn tick(&mut self, cpu: CpuId, ran: Span) -> Option<CpuId> {
        let answer = self.account(cpu, ran, Stop::Tick);
        self.heed(answer)
    }

    #[inline(always)]
    fn account(&mut self, cpu: CpuId, ran: Span, why: Stop) -> Resched {
        let task = self.cpus[cpu.index()].runs();
        self.policy.charge(&self.cx, cpu, task, ran, why)
    }

    /// Requeues the task that ran on `cpu`. The host then lets the CPU pick.
    #[inline]
    #[must_use]
    pub fn requeue(&mut self, cpu: CpuId, why: Enqueue) -> Option<CpuId> {
        let task = self.take_off(cpu);
        self.cx.tasks.set_state(task, State::Queued);
        let answer = self.policy.enqueue(&self.cx, cpu, task, why);
        self.heed_others(answer, cpu)
    }

    /// Takes the task that ran on `cpu` off it, as blocked. The host lets the CPU pick, or moves the task.
    #[inline]
    pub fn take_off(&mut self, cpu: CpuId) -> TaskId {
        let state = &mut self.cpus[cpu.index()];
        let task = state.runs();
        state.running = NOBODY;
        self.cx.tasks.set_state(task, State::Blocked);
        task
    }

    /// Charges `ran` to the task running on `cpu` and takes it off, as blocked: [`Referee::charge`] and
    /// [`Referee::take_off`] in one.
    #[inline(always)]
    #[must_use]
    pub fn retire(&mut self, cpu: CpuId, ran: Span, why: Stop) -> Option<CpuId> {
        let task = self.cpus[cpu.index()].runs();
        let answer = self.policy.charge(&self.cx, cpu, task, ran, why);
        self.cpus[cpu.index()].running = NOBODY;
        self.cx.tasks.set_state(task, State::Blocked);
        self.heed_others(answer, cpu)
    }

    /// A task that is neither queued nor running ceases to exist.
    pub fn exit(&mut self, task: TaskId) {
        debug_assert!(!matches!(self.cx.tasks.state(task), State::Queued | State::Running));
        self.cx.tasks.set_state(task, State::Exited);
        self.policy.exit(&self.cx, task);
    }
}

/// Choices and moves.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// Has the policy pick a task for `cpu`, where nothing runs. This satisfies all requests to reschedule `cpu`.
    #[inline(always)]
    pub fn choose(&mut self, cpu: CpuId) -> Choice {
        self.decisions += 1;
        self.cpus[cpu.index()].is_asked = false;
        self.choose_again(cpu)
    }

    /// Continues [`Referee::choose`] after a migration.
    #[inline(always)]
    pub fn choose_again(&mut self, cpu: CpuId) -> Choice {
        match self.policy.pick_next(&self.cx, cpu) {
            // Passed field by field: copying the whole value just written would stall the CPU.
            Some(Pick { task, timeslice }) => self.run(cpu, task, timeslice),
            None => self.balance(cpu, Idle::Newly).map_or(self.no_move(), Choice::Move),
        }
    }

    /// The choice when the policy has neither a task nor a migration.
    fn no_move(&self) -> Choice {
        if self.refusal.is_none() { Choice::Idle } else { Choice::Refused }
    }

    /// The policy's guess of its next picks for `cpu`; unchecked.
    #[must_use]
    pub fn likely_next<'a>(&self, cpu: CpuId, room: &'a mut [TaskId]) -> &'a [TaskId] {
        let found = self.policy.likely_next(cpu, room);
        &room[..found.min(room.len())]
    }

    /// Checks the pick and marks it as running.
    #[inline(always)]
    fn run(&mut self, cpu: CpuId, task: TaskId, timeslice: Option<Span>) -> Choice {
        let tasks = &mut self.cx.tasks;
        if task.index() < tasks.len() && tasks.state(task) == State::Queued && tasks.may_run(task, cpu) {
            tasks.set_state(task, State::Running);
            let from = tasks.set_cpu(task, cpu);
            self.cpus[cpu.index()].running = task;
            return Choice::Run { pick: Pick { task, timeslice }, from };
        }
        self.refuse_pick(cpu, task);
        Choice::Refused
    }

    #[cold]
    fn refuse_pick(&mut self, cpu: CpuId, task: TaskId) {
        if task.index() >= self.cx.tasks.len() {
            return self.refuse(&format!("picked {task}, which does not exist"));
        }
        match self.cx.tasks.state(task) {
            State::Queued => self.refuse(&format!("picked {task} for {cpu}, which its affinity forbids")),
            state => self.refuse(&format!("picked {task} for {cpu}, but it is {state:?}, not Queued")),
        }
    }

    /// Asks a balancing policy for a migration; `None` if there is none or it was invalid.
    #[inline]
    pub fn balance(&mut self, cpu: CpuId, idle: Idle) -> Option<Move> {
        if !self.about.needs.balance {
            return None;
        }
        let pull = self.policy.balance(&self.cx, cpu, idle)?;
        if let Err(what) = self.may_move(pull).and_then(|()| self.count_move(cpu)) {
            self.refuse(&what);
            return None;
        }
        let Pull { task, from, to } = pull;
        if self.current(from) == Some(task) {
            return Some(Move::Running(pull));
        }
        self.policy.dequeue(&self.cx, from, task, Dequeue::Migrate);
        Some(Move::Queued(pull, self.enqueue(task, to, Enqueue::Migrated)))
    }

    /// True if the policy balances after this tick of `cpu`, too.
    #[must_use]
    pub fn balances_later(&self, cpu: CpuId) -> bool {
        self.about.needs.balance && self.policy.balances_later(cpu)
    }

    /// Counts a move proposed by the balancing of `cpu`. A task may move several times at one instant, for several CPUs
    /// at several levels, but not without end.
    fn count_move(&mut self, cpu: CpuId) -> Result<(), String> {
        let (at, by, count) = &mut self.moves;
        if (*at, *by) != (self.cx.now, cpu) {
            (*at, *by, *count) = (self.cx.now, cpu, 0);
        }
        *count += 1;
        let most = Level::ALL.len() * self.cpus.len() * self.cx.tasks.len();
        if *count > most { Err(format!("moved tasks without end while it balanced {cpu}")) } else { Ok(()) }
    }

    /// Verifies a proposed move.
    fn may_move(&self, Pull { task, from, to }: Pull) -> Result<(), String> {
        if task.index() >= self.cx.tasks.len() || from.index() >= self.cpus.len() || to.index() >= self.cpus.len() {
            return Err(format!("proposed to move {task} from {from} to {to}, one of which does not exist"));
        }
        let tasks = &self.cx.tasks;
        if !tasks.may_run(task, to) {
            return Err(format!("proposed to move {task} to {to}, which its affinity forbids"));
        }
        if self.current(from) != Some(task) && (tasks.state(task) != State::Queued || tasks.cpu(task) != from) {
            return Err(format!("proposed to move {task}, which is neither queued nor running on {from}"));
        }
        Ok(())
    }
}

/// Wishes to reschedule, and the policy's timer.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// Asks `cpu` to reschedule. Returns false if it already was.
    #[inline]
    pub fn ask(&mut self, cpu: CpuId) -> bool {
        !std::mem::replace(&mut self.cpus[cpu.index()].is_asked, true)
    }

    /// Clears the request to reschedule `cpu`, which the host has answered in another way than by a choice.
    pub fn heeded(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].is_asked = false;
    }

    /// Time at which the policy wants [`Referee::timer`] to be called, if it uses timers.
    #[inline]
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        if self.about.needs.timer { self.policy.next_timer() } else { None }
    }

    /// Calls the policy's timer at the time given by [`Referee::next_timer`].
    #[must_use]
    pub fn timer(&mut self) -> Option<CpuId> {
        let answer = self.policy.timer(&self.cx);
        self.heed(answer)
    }

    /// Checks a request to reschedule. Returns the CPU, if newly asked.
    #[inline(always)]
    fn heed(&mut self, answer: Resched) -> Option<CpuId> {
        let Resched::Preempt(cpu) = answer else { return None };
        if cpu.index() >= self.cpus.len() {
            self.refuse(&format!("preempted {cpu}, which this machine does not have"));
            return None;
        }
        self.ask(cpu).then_some(cpu)
    }

    /// Like `heed`, but `cpu` itself is about to pick anyway.
    #[inline]
    fn heed_others(&mut self, answer: Resched, cpu: CpuId) -> Option<CpuId> {
        if answer == Resched::Preempt(cpu) { None } else { self.heed(answer) }
    }
}
