//! The adapter between a running kernel and a policy: converts events to calls of the policy, and its answers to
//! commands. It makes no system calls, so a log of its input gives the same decisions anywhere.
//!
//! ```text
//!  kernel ──KernelEvent──▶ ┌──────┐ ──verbs──▶ ┌────────┐
//!  timer  ──Input::Timer─▶ │ Host │            │ policy │
//!  kernel ◀──Command────── └──┬───┘ ◀─answers─ └────────┘
//!                             └──Event──▶ observer: metrics, checkers
//! ```
//!
//! *Turns* and slices differ. A turn is logical: a task is granted a CPU (`Grant`) and holds it until it leaves,
//! yields, uses up its slice or is preempted. A slice is physical: within one turn, other classes may take the CPU and
//! return it. The policy sees turns, the observer sees slices.
//!
//! Decisions reach the kernel with a delay. So a command repeats the task's `turn`, and the shim drops it if the task
//! has moved on; the event about that is on its way and corrects this side. As in the simulator, the referee
//! (`goodness-referee`) checks every answer.

mod turns;

use super::command::{Command, Order};
use super::event::{Input, KernelEvent, Kind, flag};
use goodness_core::{
    CpuId, CpuSet, Dequeue, Enqueue, Event, Machine, MadePolicy, Nice, Observer, Off, Seed, Span, State, Stop, Task,
    TaskId, Time, WakeSource,
};
use goodness_referee::policy::Asked;
use goodness_referee::{Referee, Refusal};
use turns::{Fate, Turn};

/// Largest lead of a thread's number over the number of threads seen. The shim counts threads and reports them nearly
/// in order. The limit bounds memory for corrupt logs.
const KEYS_AHEAD: usize = 1 << 20;

/// The adapter's state of a task, hidden from the policy.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// The shim's number.
    key: u32,
    /// Thread id.
    pid: u32,
    /// The last turn reported by the kernel.
    turn: u32,
    /// CPU time up to which the task was charged, on its own clock, in ns.
    charged: u64,
    /// Dequeued for a change, not blocked.
    is_changing: bool,
    /// The CPU it executes on.
    executes: Option<CpuId>,
    /// True if it ever did.
    has_executed: bool,
}

/// Fixed parameters of a live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The policy's CPUs, as it sees them.
    pub machine: Machine,
    /// The kernel's CPU numbers, ascending.
    pub cpus: Vec<u16>,
    /// Start of the run on the kernel's monotonic clock: the policy's time zero.
    pub epoch: Time,
    /// Random seed of the policy.
    pub seed: Seed,
}

impl Setting {
    /// Equal CPUs that share a cache, from time zero.
    ///
    /// # Panics
    /// Without CPUs or ticks.
    #[must_use]
    pub fn flat(cpus: Vec<u16>, hz: u32, seed: u64) -> Setting {
        let machine = Machine::flat(cpus.len() as u32, hz).expect("CPUs and ticks");
        Setting { machine, cpus, epoch: Time::ZERO, seed: Seed(seed) }
    }
}

/// The adapter.
pub struct Host {
    setting: Setting,
    referee: Referee,
    lives: Vec<Life>,
    turns: Vec<Turn>,
    /// CPUs asked to pick again by this input.
    asked: Vec<CpuId>,
    commands: Vec<Command>,
    /// Events of this input, for the observer.
    events: Vec<Event>,
    /// The task with each of the shim's numbers.
    keys: Vec<Option<TaskId>>,
    strays: u64,
}

impl Host {
    /// Adapts a fresh policy to the machine of `setting`.
    #[must_use]
    pub fn new(setting: Setting, policy: MadePolicy) -> Host {
        Host {
            referee: Referee::new(setting.machine.clone(), policy, 0),
            lives: Vec::new(),
            turns: vec![Turn::default(); setting.cpus.len()],
            asked: Vec::with_capacity(setting.cpus.len()),
            commands: Vec::with_capacity(16),
            events: Vec::with_capacity(16),
            keys: Vec::new(),
            strays: 0,
            setting,
        }
    }

    /// Handles one input and returns the commands for the kernel.
    ///
    /// # Errors
    /// The [`Refusal`] that ends the run: the policy gave an invalid answer, or rejected a task.
    pub fn take(&mut self, input: &Input, observer: &mut dyn Observer) -> Result<&[Command], Refusal> {
        self.commands.clear();
        let at = match input {
            Input::Kernel(event) => event.at,
            Input::Timer(at) => *at,
        };
        // Time stamps of different CPUs may be out of order by the time it takes to write an event.
        let now = self.referee.now().max(Time(at.0.saturating_sub(self.setting.epoch.0)));
        self.referee.set_now(now);
        match input {
            Input::Kernel(event) => self.happened(event),
            Input::Timer(_) => {
                let asked = self.referee.timer();
                self.asked.extend(asked);
            }
        }
        self.reschedule_asked();
        self.referee.take_effort();
        for event in self.events.drain(..) {
            observer.observe(now, &event);
        }
        match self.referee.refusal() {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(&self.commands),
        }
    }

    /// Time on the kernel's clock at which the policy wants [`Input::Timer`].
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        self.referee
            .next_timer()
            .filter(|at| *at != Time::NEVER)
            .map(|at| Time(at.0.saturating_add(self.setting.epoch.0)))
    }

    /// Parameters of the run.
    #[must_use]
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The policy's registered name.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.referee.about().name
    }

    /// Number of picks.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.referee.decisions()
    }

    /// Events inconsistent with the known state of their task; ignored or corrected.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// The task with the shim's number `key`.
    #[must_use]
    pub fn task_of(&self, key: u32) -> Option<TaskId> {
        self.keys.get(key as usize).copied().flatten()
    }

    fn task(&self, task: TaskId) -> &Task {
        &self.referee.tasks()[task]
    }

    fn happened(&mut self, event: &KernelEvent) {
        if event.kind == Kind::Created {
            return self.created(event);
        }
        let Some(task) = self.task_of(event.key) else {
            self.strays += 1;
            return;
        };
        let life = &mut self.lives[task.index()];
        life.turn = event.turn;
        life.pid = event.pid;
        match event.kind {
            Kind::Created => {}
            Kind::Ready => self.ready(task, event),
            Kind::Running => self.began(task, event),
            Kind::Stopping => self.stopped(task, off_runnable(event)),
            Kind::TurnEnded => self.turn_ended(task, event),
            Kind::Left => self.left(task, event),
            Kind::Tick => self.ticked(task, event),
            Kind::Gone => self.gone(task, event),
            Kind::Away => self.release_hold(task),
        }
    }

    fn created(&mut self, event: &KernelEvent) {
        let key = event.key as usize;
        if key > self.lives.len() + KEYS_AHEAD {
            let threads = self.lives.len();
            return self.referee.refuse(&format!("is told of a thread numbered {key}, after {threads} threads"));
        }
        let parent = event.other.checked_sub(1).and_then(|key| self.task_of(key));
        let mut it = Task { address_space: Some(event.tgid), ..Task::default() };
        self.read_attributes(&mut it, event);
        it.first_cpu = parent
            .map_or_else(|| self.cpu_named(event.cpu).unwrap_or(CpuId(0)), |parent| self.referee.tasks().cpu(parent));
        let task = self.referee.add(it);
        self.lives.push(Life {
            key: event.key,
            pid: event.pid,
            turn: event.turn,
            charged: event.ran,
            is_changing: false,
            executes: None,
            has_executed: false,
        });
        if self.keys.len() <= key {
            self.keys.resize(key + 1, None);
        }
        self.keys[key] = Some(task);
        if let Err(rejected) = self.referee.admit(task, parent) {
            let name = event.name();
            return self.referee.refuse(&format!("does not admit {name} (thread {}): {}", event.pid, rejected.reason));
        }
        self.events.push(Event::Fork { parent, child: task });
    }

    /// Reads nice and affinity from an event, limited to the policy's CPUs. A task that may use none of them never
    /// becomes runnable here.
    fn read_attributes(&self, it: &mut Task, event: &KernelEvent) {
        it.nice = Nice::new(i64::from(event.nice)).unwrap_or(Nice::ZERO);
        let allowed = |kernel: &&u16| event.mask >> **kernel & 1 == 1;
        it.affinity = if self.setting.cpus.iter().all(|kernel| allowed(&kernel)) {
            CpuSet::All
        } else {
            let cpus = self.setting.cpus.iter().enumerate().filter(|(_, kernel)| allowed(kernel));
            CpuSet::Small(cpus.fold(0, |bits, (cpu, _)| bits | 1 << cpu))
        };
    }

    fn update_attributes(&mut self, task: TaskId, event: &KernelEvent) {
        let mut changed = self.task(task).clone();
        self.read_attributes(&mut changed, event);
        self.referee.edit(task, |it| *it = changed);
    }

    fn cpu_named(&self, kernel: u16) -> Option<CpuId> {
        self.setting.cpus.iter().position(|cpu| *cpu == kernel).map(|cpu| CpuId(cpu as u32))
    }

    /// The task became runnable: it is placed and queued.
    fn ready(&mut self, task: TaskId, event: &KernelEvent) {
        if matches!(self.referee.tasks().state(task), State::Queued | State::Running | State::Exited) {
            self.strays += 1;
            return;
        }
        let is_new = self.referee.tasks().state(task) == State::New;
        let changed = std::mem::replace(&mut self.lives[task.index()].is_changing, false);
        self.update_attributes(task, event);
        let other = event.other.checked_sub(1).and_then(|key| self.task_of(key));
        let from = if event.has(flag::BY_INTERRUPT) { WakeSource::Interrupt } else { WakeSource::Task };
        let why = match (is_new, changed) {
            (true, _) => Enqueue::Fork { parent: other },
            (false, true) => Enqueue::Restored,
            (false, false) => {
                let on = self.cpu_named(event.on).unwrap_or(self.referee.tasks().cpu(task));
                Enqueue::Wakeup { waker: other, on, sync: event.has(flag::SYNC), from }
            }
        };
        let home = self.referee.tasks().cpu(task);
        let mut cpu = home;
        if !changed || !self.task(task).affinity.contains(home) {
            let Some(selected) = self.referee.select_cpu(task, &why) else { return };
            cpu = selected;
        }
        if !changed {
            self.events.push(Event::Wakeup { task, waker: other, cpu, from });
        }
        if home != cpu && self.lives[task.index()].has_executed {
            self.events.push(Event::Migrate { task, from: home, to: cpu });
        }
        self.enqueue(task, cpu, why);
        if changed {
            self.release_hold(task);
        }
    }

    /// The CPU that was kept free while the task that ran there was changed may choose again.
    fn release_hold(&mut self, task: TaskId) {
        for index in 0..self.turns.len() {
            if self.turns[index].held_for == Some(task) {
                self.turns[index].held_for = None;
                self.schedule(CpuId(index as u32));
            }
        }
    }

    fn began(&mut self, task: TaskId, event: &KernelEvent) {
        let Some(cpu) = self.cpu_named(event.on) else {
            self.strays += 1;
            return;
        };
        let life = &mut self.lives[task.index()];
        if life.executes.replace(cpu) == Some(cpu) {
            return;
        }
        life.has_executed = true;
        self.strays += u64::from(self.referee.tasks().cpu(task) != cpu);
        self.events.push(Event::Switch { cpu, prev: None, off: Off::Preempted, next: Some(task) });
    }

    fn stopped(&mut self, task: TaskId, off: Off) {
        if let Some(cpu) = self.lives[task.index()].executes.take() {
            self.events.push(Event::Switch { cpu, prev: Some(task), off, next: None });
        }
    }

    /// Time since the last charge, which is now.
    fn settle(&mut self, task: TaskId, event: &KernelEvent) -> Span {
        let life = &mut self.lives[task.index()];
        let ran = event.ran.saturating_sub(life.charged);
        life.charged = event.ran;
        Span(ran)
    }

    /// Handles the end of a slice; the task is still runnable.
    fn turn_ended(&mut self, task: TaskId, event: &KernelEvent) {
        self.stopped(task, off_runnable(event));
        let Some(cpu) = self.cpu_of_turn(task) else {
            self.strays += 1;
            return;
        };
        let fate = std::mem::take(&mut self.turns[cpu.index()].fate);
        let (stop, why) = match fate {
            _ if event.has(flag::YIELDED) => (Stop::Yielded, Enqueue::Yielded),
            Fate::Stays => (Stop::SliceEnd, Enqueue::SliceEnd),
            Fate::Stops | Fate::Moves(_) => (Stop::Preempted, Enqueue::Preempted),
        };
        self.charge(task, cpu, event, stop);
        self.update_attributes(task, event);
        if let (Fate::Moves(to), true) = (fate, stop == Stop::Preempted) {
            self.referee.take_off(cpu);
            self.events.push(Event::Migrate { task, from: cpu, to });
            self.enqueue(task, to, Enqueue::Migrated);
        } else {
            let asked = self.referee.requeue(cpu, why);
            self.asked.extend(asked);
        }
        self.schedule(cpu);
    }

    /// Accounts the time since the last charge to a task that leaves `cpu`.
    fn charge(&mut self, task: TaskId, cpu: CpuId, event: &KernelEvent, stop: Stop) {
        let ran = self.settle(task, event);
        let asked = self.referee.charge(cpu, ran, stop);
        self.asked.extend(asked);
    }

    /// Enqueues a runnable task on `cpu`.
    fn enqueue(&mut self, task: TaskId, cpu: CpuId, why: Enqueue) {
        let asked = self.referee.enqueue(task, cpu, why);
        self.will_choose(asked);
    }

    /// Records CPUs newly asked to pick again.
    fn will_choose(&mut self, asked: Asked) {
        self.asked.extend(asked.into_iter().flatten());
    }

    /// Handles a task that is no longer runnable or was dequeued for a change.
    fn left(&mut self, task: TaskId, event: &KernelEvent) {
        let (sleeps, dies) = (event.has(flag::TO_SLEEP), event.has(flag::DEAD));
        let off = match (sleeps, dies, event.has(flag::UNINTERRUPTIBLE)) {
            (false, ..) => Off::Preempted,
            (true, true, _) => Off::Exited,
            (true, false, true) => Off::Uninterruptible,
            (true, false, false) => Off::Sleeping,
        };
        self.lives[task.index()].is_changing = !sleeps;
        match self.cpu_of_turn(task) {
            Some(cpu) => self.left_cpu(task, cpu, off, event),
            None => self.left_queue(task, off),
        }
    }

    fn left_cpu(&mut self, task: TaskId, cpu: CpuId, off: Off, event: &KernelEvent) {
        let stop = match off {
            Off::Exited => Stop::Exited,
            Off::Sleeping => Stop::Blocked { interruptible: true },
            Off::Uninterruptible | Off::DirtyMemory => Stop::Blocked { interruptible: false },
            Off::Preempted | Off::Yielded => Stop::Preempted,
        };
        self.charge(task, cpu, event, stop);
        self.referee.take_off(cpu);
        self.turns[cpu.index()].fate = Fate::Stays;
        if off == Off::Exited {
            self.end(task);
        }
        self.stopped(task, off);
        if off == Off::Preempted {
            self.turns[cpu.index()].held_for = Some(task);
        } else {
            self.schedule(cpu);
        }
    }

    fn left_queue(&mut self, task: TaskId, off: Off) {
        if self.referee.tasks().state(task) != State::Queued {
            self.strays += 1;
            return;
        }
        // Only a running task can sleep or end: it ran between two events without a grant.
        self.strays += u64::from(off != Off::Preempted);
        let why = if off == Off::Exited { Dequeue::Kill } else { Dequeue::Change };
        self.referee.dequeue(task, why);
        self.lives[task.index()].is_changing = true;
        if off == Off::Exited {
            self.end(task);
        }
    }

    fn end(&mut self, task: TaskId) {
        self.referee.exit(task);
        self.events.push(Event::Exit { task });
    }

    /// The task left the policy: it ended without notice, or changed its class.
    fn gone(&mut self, task: TaskId, event: &KernelEvent) {
        match self.referee.tasks().state(task) {
            State::Exited => return,
            State::Running => {
                let mut last = *event;
                last.flags = flag::TO_SLEEP | flag::DEAD;
                return self.left(task, &last);
            }
            State::Queued => self.referee.dequeue(task, Dequeue::Kill),
            // It left its CPU for the change of its class, and the policy still expects it back.
            State::Blocked if self.lives[task.index()].is_changing => self.give_back_and_kill(task),
            State::New | State::Blocked => {}
        }
        self.end(task);
        self.release_hold(task);
    }

    /// Completes a change that never ended: the task rejoins its queue, as after every change, and then leaves for
    /// good.
    fn give_back_and_kill(&mut self, task: TaskId) {
        let cpu = self.referee.tasks().cpu(task);
        // The task leaves at once, so no CPU has to pick again because of it.
        for asked in self.referee.enqueue(task, cpu, Enqueue::Restored).into_iter().flatten() {
            self.referee.heeded(asked);
        }
        self.referee.dequeue(task, Dequeue::Kill);
    }

    fn command(&mut self, task: TaskId, cpu: CpuId, order: Order) {
        let life = &self.lives[task.index()];
        let cpu = self.setting.cpus[cpu.index()];
        self.commands.push(Command { order, key: life.key, pid: life.pid, turn: life.turn, cpu });
    }

    fn ticked(&mut self, task: TaskId, event: &KernelEvent) {
        let Some(cpu) = self.cpu_of_turn(task) else {
            self.strays += 1;
            return;
        };
        let ran = self.settle(task, event);
        let asked = self.referee.tick(cpu, ran);
        self.asked.extend(asked);
        self.balance_ticked(cpu);
    }
}

fn off_runnable(event: &KernelEvent) -> Off {
    if event.has(flag::YIELDED) { Off::Yielded } else { Off::Preempted }
}
