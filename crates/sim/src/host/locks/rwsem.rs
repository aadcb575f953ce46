//! The kernel's read-write semaphore (specs/groups-locks.md section 5.4): readers share it, a writer has it alone.
//!
//! A writer that finds it free takes it, whoever sleeps for it. It spins while the owner runs, and for a while behind
//! readers; else it sleeps, and looks again only when a release wakes it. A reader takes a free lock likewise, joins
//! the readers if nobody sleeps, and is made an owner by a release. Who has waited for long and came too late once more
//! sets `handoff`: the next release passes the lock to the first sleeper, and nobody comes in between.

use super::spinning::NO_LIMIT;
use super::{Host, Lock, Locks, urgency};
use crate::host::steps::Then;
use goodness_core::{CpuId, LockId, Off, Span, State, TaskId, Time};

/// Most readers that one release lets in: MAX_READERS_WAKEUP.
const READERS_MAX: u32 = 256;

/// A writer spins behind readers for 10 µs and half a microsecond for each of them, of which 30 count.
const READERS_LIMIT: Span = Span::from_us(10);
const READER_LIMIT: Span = Span(500);
const READERS_COUNTED: usize = 30;

impl Lock {
    /// True if nobody owns it.
    pub(super) fn is_free(&self) -> bool {
        self.owner.is_none() && self.sharers.is_empty()
    }
}

impl Locks {
    /// Makes `task` one of the owners if the lock is free, or if readers own it and nobody sleeps for it.
    fn share(&mut self, lock: LockId, task: TaskId) -> bool {
        let it = &mut self.all[lock.0 as usize];
        if it.owner.is_some() || !it.sharers.is_empty() && !it.sleepers.is_empty() {
            return false;
        }
        it.sharers.push(task);
        true
    }

    fn first_sleeper(&self, lock: LockId) -> Option<TaskId> {
        self.all[lock.0 as usize].sleepers.front().map(TaskId)
    }
}

impl Host<'_> {
    /// Takes the lock together with other readers, or makes `task` sleep until a release lets it in.
    pub fn lock_shared(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        match self.locks.all.get(lock.0 as usize) {
            None => {
                self.at_fault(task, format!("used lock {}, which the workload does not have", lock.0));
                return Then::Stop;
            }
            Some(it) if !it.kind.is_shareable() => {
                let what = format!("shared lock {}, and the kind {} has one owner", lock.0, it.kind.name());
                self.at_fault(task, what);
                return Then::Stop;
            }
            Some(_) => {}
        }
        if self.locks.share(lock, task) {
            return Then::Next;
        }
        self.tell_contended(task, lock);
        self.begin_to_wait(task, true);
        self.locks.queue(lock, task, false);
        self.block(cpu, task, Off::Sleeping)
    }

    fn begin_to_wait(&mut self, task: TaskId, is_reader: bool) {
        let now = self.now();
        let waiter = &mut self.locks.waiters[task.index()];
        (waiter.is_reader, waiter.queued) = (is_reader, now);
    }

    /// `task` found the lock owned: it spins or sleeps. The first sleeper was woken, and came too late.
    pub(super) fn wait_to_write(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        if self.locks.first_sleeper(lock) != Some(task) {
            return match self.spinning_limit(task, lock) {
                Some(_) => self.spin(cpu, task, lock),
                None => self.sleep_to_write(cpu, task, lock),
            };
        }
        let is_late = self.has_waited(task) || urgency(self.referee.tasks(), task) > 0;
        let it = &mut self.locks.all[lock.0 as usize];
        it.handoff |= is_late;
        if it.handoff && self.owner_runs(lock) { self.spin(cpu, task, lock) } else { self.sleep_for(cpu, task, lock) }
    }

    /// Puts a writer to sleep that is not in the queue. A real-time task does not wait before it asks for the handoff.
    fn sleep_to_write(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        self.begin_to_wait(task, false);
        self.locks.all[lock.0 as usize].handoff |= urgency(self.referee.tasks(), task) > 0;
        self.sleep_for(cpu, task, lock)
    }

    /// A writer's spinning is over, and the lock is not free: its time is up, or it lost its CPU, or the owner did.
    pub(super) fn give_up_spinning(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        if self.locks.waiters[task.index()].budget == Span::ZERO {
            if self.owner_runs(lock) {
                return self.spin(cpu, task, lock);
            }
            if self.locks.all[lock.0 as usize].owner.is_none() {
                self.locks.all[lock.0 as usize].spinning_is_off = true;
                self.end_spinners(lock);
            }
        }
        match self.locks.first_sleeper(lock) == Some(task) {
            true => self.sleep_for(cpu, task, lock),
            false => self.sleep_to_write(cpu, task, lock),
        }
    }

    /// For how long `task` may spin for the lock, which is owned, if at all.
    pub(super) fn spinning_limit(&self, task: TaskId, lock: LockId) -> Option<Span> {
        let it = &self.locks.all[lock.0 as usize];
        if it.owner.is_some() {
            return self.owner_runs(lock).then_some(NO_LIMIT);
        }
        let may = !it.spinning_is_off && urgency(self.referee.tasks(), task) == 0;
        may.then(|| READERS_LIMIT + READER_LIMIT * it.sharers.len().min(READERS_COUNTED) as u64)
    }

    /// True if the sleeper has waited for more jiffies than fit into 4 ms, rounded up.
    fn has_waited(&self, task: TaskId) -> bool {
        let jiffies = self.machine.hz.div_ceil(250);
        let after = |at: Time, _| self.machine.next_tick(at);
        self.now() >= (0..=jiffies).fold(self.locks.waiters[task.index()].queued, after)
    }

    /// The lock has become free by `task`. After a handoff, its first sleeper is next; else a spinner takes it at once,
    /// and a woken writer competes with everyone who comes by.
    pub(super) fn release_rwsem(&mut self, task: TaskId, lock: LockId) {
        let it = &mut self.locks.all[lock.0 as usize];
        it.spinning_is_off &= it.sleepers.is_empty();
        let is_handed = std::mem::take(&mut it.handoff);
        if !is_handed {
            self.let_spinner_take(lock);
        }
        let Some(first) = self.locks.first_sleeper(lock) else { return };
        let is_free = self.locks.all[lock.0 as usize].is_free();
        match self.locks.waiters[first.index()].is_reader {
            true if is_free => self.let_readers_in(task, lock),
            true => self.locks.all[lock.0 as usize].handoff = self.has_waited(first),
            false => {
                if is_handed {
                    let it = &mut self.locks.all[lock.0 as usize];
                    it.sleepers.pop_front(&mut self.locks.links);
                    it.owner = Some(first);
                    self.give_lock(first);
                }
                if self.referee.tasks().state(first) == State::Blocked {
                    self.wake_for(first, task);
                }
            }
        }
    }

    /// Makes the readers of the queue owners, and wakes them. Writers keep their places.
    fn let_readers_in(&mut self, task: TaskId, lock: LockId) {
        let mut left = READERS_MAX;
        for _ in 0..self.locks.all[lock.0 as usize].sleepers.len() {
            let it = &mut self.locks.all[lock.0 as usize];
            let Some(next) = it.sleepers.pop_front(&mut self.locks.links) else { return };
            if left > 0 && self.locks.waiters[next as usize].is_reader {
                left -= 1;
                it.sharers.push(TaskId(next));
                self.wake_for(TaskId(next), task);
            } else {
                it.sleepers.push_back(&mut self.locks.links, next);
            }
        }
        self.end_spinners(lock);
    }
}
