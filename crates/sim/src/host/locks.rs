//! Locks: taking one, waiting for it, and releasing it, by the kind of the lock ([`LockKind`]; `docs/locks.md`).
//!
//! | file | contents |
//! |---|---|
//! | `spinning` | waiters that use CPU time: adaptive, kernel and spin locks, PostgreSQL's `s_lock` |
//! | `inheritance` | owners that are as urgent as their waiters: `pi` |
//! | `rwsem` | owners that share a lock: `rwsem` |
//!
//! Sources: specs/groups-locks.md section 5. The futex word, the tries of a spinner and the queue of a kernel mutex's
//! spinners are modelled by what they cause: who gets the lock, and when.

mod inheritance;
mod rwsem;
mod spinning;

use super::Host;
use super::steps::Then;
use super::tasks::{Deferred, TaskRun};
use goodness_core::{
    Awaited, Channel, Class, CpuId, Event, LockId, LockKind, Off, Overhead, Span, State, TaskId, TaskTable, Time,
};
use goodness_queues::{Links, List};
use std::collections::BTreeMap;

/// One lock.
struct Lock {
    kind: LockKind,
    owner: Option<TaskId>,
    /// Tasks that own it together, in the order in which they came; then it has no other owner.
    sharers: Vec<TaskId>,
    /// Waiters that sleep, in order of arrival. The first one of a kernel's lock stays here until it has the lock.
    sleepers: List,
    /// Waiters that spin, in order of arrival, whether they have a CPU or not.
    spinners: List,
    /// True if a real-time task is or was among the sleepers, since there were none.
    has_urgent: bool,
    /// glibc's mutexes: true if the owner knows of sleepers, so that its release wakes one.
    contended: bool,
    /// Locks of the kernel: true if the first sleeper lost a race, so that the next release makes it the owner.
    handoff: bool,
    /// `rwsem`: true if no writer spins, as one did so for too long behind readers.
    spinning_is_off: bool,
    /// Adaptive mutex: mean number of tries.
    tries: u32,
}

/// Number of tries of a spin lock before it sleeps, at first: DEFAULT_SPINS_PER_DELAY of PostgreSQL.
const S_LOCK_TRIES: u32 = 100;

/// Owners that share a lock for which there is room from the beginning. A choice.
const SHARERS: usize = 1_024;

/// Highest priority of a real-time task.
const HIGHEST_PRIORITY: u8 = 99;

/// State of a task that waits for a lock.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    /// Lock that it spins for.
    spins_for: Option<LockId>,
    /// True if it spins as the first sleeper of a kernel's lock, apart from the other spinners.
    is_first: bool,
    /// Spinning time it had left when it was last accounted.
    budget: Span,
    /// `s_lock`: number of tries before it sleeps.
    tries: u32,
    /// `s_lock`: number of sleeps for the lock that it waits for.
    sleeps: u32,
    /// `s_lock`: length of the last of them.
    delay: Span,
    /// `rwsem`: true if it sleeps to share the lock.
    is_reader: bool,
    /// `rwsem`: time at which it began to sleep for the lock.
    queued: Time,
    /// Priority-inheriting lock that it sleeps for.
    sleeps_for: Option<LockId>,
    /// Its own class and priority, while it has those of a waiter.
    own: Option<(Class, u8)>,
    /// True if it was changed while it slept, which the policy is told when it wakes.
    is_changed: bool,
}

const NEW: Waiter = Waiter {
    spins_for: None,
    is_first: false,
    budget: Span::ZERO,
    tries: S_LOCK_TRIES,
    sleeps: 0,
    delay: Span::ZERO,
    is_reader: false,
    queued: Time::ZERO,
    sleeps_for: None,
    own: None,
    is_changed: false,
};

/// All locks of a run.
pub struct Locks {
    all: Vec<Lock>,
    /// State of each task; empty if there are no locks.
    waiters: Vec<Waiter>,
    /// A task waits for one lock at a time, so all lists share their links.
    links: Links,
    /// Number of tasks that spin.
    spinning: u32,
    /// Number of tasks that were changed while they slept.
    pub(super) changed: u32,
    /// The kernel's locks.
    kernel: Box<[LockId]>,
    /// Locks that pass priorities on.
    pi: Box<[LockId]>,
}

impl Locks {
    /// Locks of these kinds, all free, for `tasks` tasks.
    pub fn new(kinds: &[LockKind], tasks: usize) -> Locks {
        let lock = |kind: &LockKind| Lock {
            kind: *kind,
            owner: None,
            sharers: Vec::with_capacity(if kind.is_shareable() { tasks.min(SHARERS) } else { 0 }),
            sleepers: List::default(),
            spinners: List::default(),
            has_urgent: false,
            contended: false,
            handoff: false,
            spinning_is_off: false,
            tries: 0,
        };
        let mut links = Links::default();
        let tasks = if kinds.is_empty() { 0 } else { tasks };
        links.reserve(tasks);
        let those = |are: fn(LockKind) -> bool| {
            let numbered = (0..).map(LockId).zip(kinds);
            numbered.filter(|(_, kind)| are(**kind)).map(|(number, _)| number).collect()
        };
        Locks {
            all: kinds.iter().map(lock).collect(),
            waiters: vec![NEW; tasks],
            links,
            spinning: 0,
            changed: 0,
            kernel: those(LockKind::is_of_kernel),
            pi: those(|kind| kind == LockKind::Pi),
        }
    }

    /// Tasks that sleep for a lock, by lock and queue order.
    pub fn waiting(&self) -> impl Iterator<Item = (TaskId, Awaited)> {
        let locks = self.all.iter().enumerate();
        locks.flat_map(|(number, lock)| {
            let place = Awaited::Lock(LockId(number as u32));
            lock.sleepers.iter(&self.links).map(move |task| (TaskId(task), place))
        })
    }

    /// Tasks that sleep for each other's locks in a circle, or for their own, by lock and queue order.
    pub fn deadlocked(&self) -> Vec<(TaskId, Awaited)> {
        let waits: BTreeMap<TaskId, Awaited> = self.waiting().collect();
        let owner = |task: &TaskId| match waits.get(task) {
            Some(Awaited::Lock(lock)) => {
                let lock = &self.all[lock.0 as usize];
                lock.owner.or(lock.sharers.first().copied())
            }
            _ => None,
        };
        let is_in_circle = |task: &TaskId| {
            let owners = std::iter::successors(owner(task), owner);
            owners.take(waits.len()).any(|it| it == *task)
        };
        self.waiting().filter(|(task, _)| is_in_circle(task)).collect()
    }

    /// True if `task` is in the kernel, or owns or waits for a lock of the kernel.
    #[cold]
    pub fn keep_in_kernel(&self, task: TaskId, run: &TaskRun, deferred: &[Deferred]) -> bool {
        let asks_for = |lock: &LockId| {
            let retakes = matches!(deferred[task.index()], Deferred::Retake(it) if it == *lock);
            let spins = self.waiters[task.index()].spins_for == Some(*lock);
            let it = &self.all[lock.0 as usize];
            it.owner == Some(task) || it.sharers.contains(&task) || spins || run.is_deferred && retakes
        };
        run.in_kernel || self.kernel.iter().any(asks_for)
    }

    /// Makes `task` the owner if the lock is free. `slept` says whether it slept for the lock before.
    fn take(&mut self, lock: LockId, task: TaskId, slept: bool) -> bool {
        let it = &mut self.all[lock.0 as usize];
        if !it.is_free() {
            return false;
        }
        it.owner = Some(task);
        it.spinning_is_off = false;
        // A thread that slept does not know whether others do.
        it.contended = slept;
        if it.kind.is_of_kernel() && it.sleepers.front() == Some(task.0) {
            it.sleepers.pop_front(&mut self.links);
        }
        true
    }

    /// Queues `task` as a sleeper, unless it is queued already.
    fn queue(&mut self, lock: LockId, task: TaskId, is_urgent: bool) {
        let it = &mut self.all[lock.0 as usize];
        it.has_urgent = is_urgent || it.has_urgent && !it.sleepers.is_empty();
        it.contended = true;
        if !it.kind.is_of_kernel() || it.sleepers.front() != Some(task.0) {
            it.sleepers.push_back(&mut self.links, task.0);
        }
    }

    /// The sleeper whose turn it is: the most urgent real-time task, else the one that came first.
    fn next_sleeper(&self, lock: LockId, tasks: &TaskTable) -> Option<TaskId> {
        let it = &self.all[lock.0 as usize];
        // A lock that passes priorities on may have raised a sleeper since.
        if !it.has_urgent && it.kind != LockKind::Pi || it.kind.is_of_kernel() || it.kind == LockKind::Fifo {
            return it.sleepers.front().map(TaskId);
        }
        it.sleepers
            .iter(&self.links)
            .map(TaskId)
            .reduce(|best, task| if urgency(tasks, task) > urgency(tasks, best) { task } else { best })
    }

    /// Removes the sleeper whose turn it is.
    fn pop_sleeper(&mut self, lock: LockId, tasks: &TaskTable) -> Option<TaskId> {
        let next = self.next_sleeper(lock, tasks)?;
        self.all[lock.0 as usize].sleepers.remove(&mut self.links, next.0);
        Some(next)
    }
}

/// Urgency among waiters: deadline tasks, then real-time tasks by priority. All others are alike, whatever their nice.
fn urgency(tasks: &TaskTable, task: TaskId) -> u8 {
    urgency_of(tasks.class(task), tasks[task].rt_priority)
}

fn urgency_of(class: Class, priority: u8) -> u8 {
    match class {
        Class::Deadline => HIGHEST_PRIORITY + 1,
        class if class.is_realtime() => priority,
        _ => 0,
    }
}

impl Host<'_> {
    /// Takes the lock, or makes `task` wait for it. `slept` says whether it slept for the lock before.
    pub fn lock(&mut self, cpu: CpuId, task: TaskId, lock: LockId, slept: bool) -> Then {
        if lock.0 as usize >= self.locks.all.len() {
            self.at_fault(task, format!("used lock {}, which the workload does not have", lock.0));
            return Then::Stop;
        }
        if self.locks.take(lock, task, slept) {
            self.note_tries(task, lock, None);
            return Then::Next;
        }
        match self.locks.all[lock.0 as usize].kind {
            LockKind::Normal | LockKind::Fifo => self.sleep_for(cpu, task, lock),
            LockKind::Adaptive if slept || self.cpus.len() == 1 => self.sleep_for(cpu, task, lock),
            LockKind::Pi => self.sleep_and_urge(cpu, task, lock),
            LockKind::Kernel => {
                let owner_runs = self.owner_runs(lock);
                let it = &mut self.locks.all[lock.0 as usize];
                it.handoff |= it.sleepers.front() == Some(task.0);
                if owner_runs { self.spin(cpu, task, lock) } else { self.sleep_for(cpu, task, lock) }
            }
            LockKind::Rwsem => self.wait_to_write(cpu, task, lock),
            LockKind::Adaptive | LockKind::Spin | LockKind::SLock => self.spin(cpu, task, lock),
        }
    }

    /// Puts `task` to sleep until the lock is passed to it, or until it is worth another try.
    fn sleep_for(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        self.tell_contended(task, lock);
        let is_urgent = urgency(self.referee.tasks(), task) > 0;
        self.locks.queue(lock, task, is_urgent);
        if !self.locks.all[lock.0 as usize].kind.passes_on() {
            self.defer(task, Deferred::Retake(lock));
        }
        self.block(cpu, task, Off::Sleeping)
    }

    /// Tells that `task` falls asleep for the lock.
    fn tell_contended(&mut self, task: TaskId, lock: LockId) {
        let it = &self.locks.all[lock.0 as usize];
        if let Some(holder) = it.owner.or_else(|| it.sharers.first().copied()) {
            self.emit(Event::Contended { task, lock, holder });
        }
    }

    /// Releases the lock.
    pub fn unlock(&mut self, task: TaskId, lock: LockId) -> Then {
        if self.release(task, lock) { self.calm_down(task) } else { Then::Stop }
    }

    /// Releases the lock and waits on the channel; the task takes the lock again when it is woken.
    pub fn wait_unlocked(&mut self, cpu: CpuId, task: TaskId, channel: Channel, lock: LockId) -> Then {
        if self.locks.all.get(lock.0 as usize).is_some_and(|it| it.sharers.contains(&task)) {
            self.at_fault(task, format!("waited with lock {}, which it shares", lock.0));
            return Then::Stop;
        }
        if !self.release(task, lock) {
            return Then::Stop;
        }
        self.defer(task, Deferred::Retake(lock));
        match self.wait(cpu, task, channel, Off::Sleeping) {
            Then::Next => self.calm_down(task),
            Then::Stop => {
                self.calm_down(task);
                Then::Stop
            }
        }
    }

    /// Gives the lock up, to whom its kind says. False after a fault of the work.
    fn release(&mut self, task: TaskId, lock: LockId) -> bool {
        let Some(it) = self.locks.all.get_mut(lock.0 as usize) else {
            self.at_fault(task, format!("used lock {}, which the workload does not have", lock.0));
            return false;
        };
        if it.owner == Some(task) {
            it.owner = None;
        } else if let Some(place) = it.sharers.iter().position(|sharer| *sharer == task) {
            it.sharers.remove(place);
        } else {
            self.at_fault(task, format!("released lock {}, which it does not hold", lock.0));
            return false;
        }
        let was_contended = std::mem::take(&mut it.contended);
        match it.kind {
            LockKind::Fifo | LockKind::Pi => self.pass_on(task, lock),
            LockKind::Normal | LockKind::Adaptive => {
                let next = if was_contended { self.locks.pop_sleeper(lock, self.referee.tasks()) } else { None };
                if let Some(next) = next {
                    self.wake_for(next, task);
                }
                self.let_spinner_take(lock);
            }
            LockKind::Kernel => self.release_kernel(task, lock),
            LockKind::Rwsem if it.is_free() => self.release_rwsem(task, lock),
            LockKind::Rwsem => {}
            LockKind::Spin | LockKind::SLock => self.let_spinner_take(lock),
        }
        true
    }

    /// Makes the next sleeper the owner and wakes it.
    fn pass_on(&mut self, task: TaskId, lock: LockId) {
        let Some(next) = self.locks.pop_sleeper(lock, self.referee.tasks()) else { return };
        self.locks.all[lock.0 as usize].owner = Some(next);
        if self.locks.all[lock.0 as usize].kind == LockKind::Pi {
            self.becomes_owner(next);
        }
        self.wake_for(next, task);
    }

    /// Passes a kernel mutex to a first sleeper that lost a race before; else wakes it, and a spinner takes the lock.
    fn release_kernel(&mut self, task: TaskId, lock: LockId) {
        let it = &mut self.locks.all[lock.0 as usize];
        let first = it.sleepers.front().map(TaskId);
        let handed = if std::mem::take(&mut it.handoff) { first } else { None };
        if let Some(first) = handed {
            it.sleepers.pop_front(&mut self.locks.links);
            it.owner = Some(first);
            self.give_lock(first);
        }
        if let Some(first) = first
            && self.referee.tasks().state(first) == State::Blocked
        {
            self.wake_for(first, task);
        }
        if handed.is_none() {
            self.let_spinner_take(lock);
        }
    }

    /// `task` wakes `next` because of a lock.
    fn wake_for(&mut self, next: TaskId, task: TaskId) {
        self.wake(next, Some(task), false);
        let cpu = self.cpu_of(task);
        self.interrupt(cpu, Overhead::Wakeup, self.machine.costs.lock_handover);
    }

    fn owner_runs(&self, lock: LockId) -> bool {
        let owner = self.locks.all[lock.0 as usize].owner;
        owner.is_some_and(|owner| self.referee.tasks().state(owner) == State::Running)
    }
}
