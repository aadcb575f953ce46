//! A policy around another one, which is asked for its rules after its decisions. It decides as the policy itself.

use goodness_core::{
    Context, CpuId, CpuPolicy, CpuStat, Dequeue, Enqueue, GroupId, Idle, MadePolicy, PerTask, Pick, Placement,
    Preemption, Pull, Reason, Rejected, Resched, Span, Standing, Stop, TaskId, Time, Why,
};

/// A verb that a policy just carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It picked the next task of the CPU, after the one before left it for this reason; `None` if it was idle.
    Picked(Option<(TaskId, Stop)>),
    /// It queued this task there, for this reason.
    Queued(TaskId, Enqueue),
    /// A tick or a timer passed.
    Ticked,
}

/// A decision about a CPU, and whom to ask about it.
pub struct Decided<'a> {
    /// The view of the policy.
    pub cx: &'a Context,
    /// The CPU.
    pub cpu: CpuId,
    /// The verb that the policy carried out.
    pub did: Did,
    /// The task that runs there from now on; `None` if it idles.
    pub running: Option<TaskId>,
    /// Tasks that wait on its run queue.
    pub waiting: &'a [TaskId],
    policy: &'a dyn CpuPolicy,
}

impl Decided<'_> {
    /// The rule by which the running task is ahead of `waiting`; `None` if the policy does not tell.
    #[must_use]
    pub fn why(&self, waiting: TaskId) -> Option<Reason> {
        self.rule(waiting, matches!(self.did, Did::Picked(_)))
    }

    /// The rule by which the running task goes on while `waiting` waits.
    #[must_use]
    pub fn why_it_goes_on(&self, waiting: TaskId) -> Option<Reason> {
        self.rule(waiting, false)
    }

    /// Of a task that may not run here (one queue for all CPUs lists it where it came from), no rule decides.
    fn rule(&self, waiting: TaskId, is_pick: bool) -> Option<Reason> {
        let may_run = self.cx.tasks.may_run(waiting, self.cpu);
        may_run.then(|| self.policy.why(self.cx, self.cpu, Why { ahead: self.running, waiting, is_pick })).flatten()
    }

    /// True if a limit on the CPU time of its group keeps `task` from running.
    #[must_use]
    pub fn is_throttled(&self, task: TaskId) -> bool {
        self.policy.is_throttled(task) == Some(true)
    }

    /// The place of `task` in a fair queue.
    #[must_use]
    pub fn standing(&self, task: TaskId) -> Option<Standing> {
        self.policy.standing(task)
    }
}

/// The choice of a CPU for a task that becomes runnable, before it is queued there.
pub struct Placed<'a> {
    /// The view of the policy.
    pub cx: &'a Context,
    /// The task.
    pub task: TaskId,
    /// The CPU that the policy chose.
    pub cpu: CpuId,
    /// The reason for which it becomes runnable.
    pub why: &'a Enqueue,
    running: &'a [Option<TaskId>],
    left: &'a [Option<(TaskId, Stop)>],
    waiting: &'a [Vec<TaskId>],
    policy: &'a dyn CpuPolicy,
}

impl Placed<'_> {
    /// The rule by which the policy chose the CPU; `None` if it does not tell.
    #[must_use]
    pub fn rule(&self) -> Option<Placement> {
        self.policy.why_placed(self.cx, self.task, self.cpu, self.why)
    }

    /// The task that runs on `cpu`.
    #[must_use]
    pub fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.running[cpu.index()]
    }

    /// True if no task runs or waits on `cpu`, and none left it since its last pick.
    #[must_use]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        let has_picked = self.left[cpu.index()].is_none();
        has_picked && self.running(cpu).is_none() && self.waiting[cpu.index()].is_empty()
    }
}

/// Asks a policy about its decisions.
pub trait Asker {
    /// Called after each decision.
    fn ask(&mut self, decided: &Decided);

    /// Called after each choice of a CPU.
    fn placed(&mut self, placed: &Placed) {
        let _ = placed;
    }
}

/// A policy that is asked.
pub struct Asked<A> {
    policy: Box<dyn CpuPolicy>,
    asker: A,
    /// Tasks that wait on each CPU's run queue.
    waiting: Vec<Vec<TaskId>>,
    /// The CPU on whose list each task is.
    listed: PerTask<Option<CpuId>>,
    running: Vec<Option<TaskId>>,
    /// The task that left each CPU since its last pick.
    left: Vec<Option<(TaskId, Stop)>>,
}

impl<A: Asker + 'static> Asked<A> {
    /// `made`, which `asker` asks.
    pub fn around(made: MadePolicy, cpus: usize, asker: A) -> MadePolicy {
        let policy = Box::new(Asked {
            policy: made.policy,
            asker,
            waiting: vec![Vec::new(); cpus],
            listed: PerTask::default(),
            running: vec![None; cpus],
            left: vec![None; cpus],
        });
        MadePolicy { about: made.about, policy }
    }

    fn joins(&mut self, cpu: CpuId, task: TaskId) {
        self.leaves(task);
        self.listed[task] = Some(cpu);
        self.waiting[cpu.index()].push(task);
    }

    fn leaves(&mut self, task: TaskId) {
        if let Some(cpu) = self.listed[task].take() {
            self.waiting[cpu.index()].retain(|it| *it != task);
        }
    }

    fn ask(&mut self, cx: &Context, cpu: CpuId, did: Did) {
        let running = self.running[cpu.index()];
        let waiting = &self.waiting[cpu.index()];
        self.asker.ask(&Decided { cx, cpu, did, running, waiting, policy: &*self.policy });
    }
}

impl<A: Asker + 'static> CpuPolicy for Asked<A> {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.listed.admit(task);
        self.policy.admit(cx, task, parent)
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.policy.exit(cx, task);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        let cpu = self.policy.select_cpu(cx, task, why);
        let (running, left, waiting) = (&self.running, &self.left, &self.waiting);
        self.asker.placed(&Placed { cx, task, cpu, why, running, left, waiting, policy: &*self.policy });
        cpu
    }

    fn exec(&mut self, cx: &Context, from: CpuId, task: TaskId) -> CpuId {
        let cpu = self.policy.exec(cx, from, task);
        if cpu != from {
            let (running, left, waiting) = (&self.running, &self.left, &self.waiting);
            let why = &Enqueue::Migrated;
            self.asker.placed(&Placed { cx, task, cpu, why, running, left, waiting, policy: &*self.policy });
        }
        cpu
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        if self.running[cpu.index()] == Some(task) {
            self.running[cpu.index()] = None;
        }
        let answer = self.policy.enqueue(cx, cpu, task, why);
        self.joins(cpu, task);
        self.ask(cx, cpu, Did::Queued(task, why));
        answer
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.leaves(task);
        self.policy.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let pick = self.policy.pick_next(cx, cpu);
        self.running[cpu.index()] = pick.map(|pick| pick.task);
        if let Some(pick) = pick {
            self.leaves(pick.task);
        }
        let left = self.left[cpu.index()].take();
        self.ask(cx, cpu, Did::Picked(left));
        pick
    }

    fn likely_next(&self, cpu: CpuId, next: &mut [TaskId]) -> usize {
        self.policy.likely_next(cpu, next)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let answer = self.policy.charge(cx, cpu, task, ran, why);
        if why == Stop::Tick {
            self.ask(cx, cpu, Did::Ticked);
        } else {
            self.running[cpu.index()] = None;
            self.left[cpu.index()] = Some((task, why));
        }
        answer
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.policy.balance(cx, cpu, idle)
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.policy.balances_later(cpu)
    }

    fn preemption(&self) -> Preemption {
        self.policy.preemption()
    }

    fn slice_extension(&self) -> Span {
        self.policy.slice_extension()
    }

    fn waits_for_tick(&self, cpu: CpuId) -> bool {
        self.policy.waits_for_tick(cpu)
    }

    fn waiting_realtime(&self) -> Option<u32> {
        self.policy.waiting_realtime()
    }

    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        self.policy.is_closed_to_realtime(cpu)
    }

    fn waiting_reservations(&self) -> Option<u32> {
        self.policy.waiting_reservations()
    }

    fn deadline(&self, task: TaskId) -> Option<Time> {
        self.policy.deadline(task)
    }

    fn served_deadline(&self, cpu: CpuId) -> Option<Time> {
        self.policy.served_deadline(cpu)
    }

    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        self.policy.is_throttled(task)
    }

    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        self.policy.why(cx, cpu, question)
    }

    fn why_placed(&self, cx: &Context, task: TaskId, cpu: CpuId, why: &Enqueue) -> Option<Placement> {
        self.policy.why_placed(cx, task, cpu, why)
    }

    fn standing(&self, task: TaskId) -> Option<Standing> {
        self.policy.standing(task)
    }

    fn cpu_stat(&self, group: GroupId) -> Option<CpuStat> {
        self.policy.cpu_stat(group)
    }

    fn next_timer(&self) -> Option<Time> {
        self.policy.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        let answer = self.policy.timer(cx);
        for cpu in 0..self.waiting.len() {
            self.ask(cx, CpuId(cpu as u32), Did::Ticked);
        }
        answer
    }
}
