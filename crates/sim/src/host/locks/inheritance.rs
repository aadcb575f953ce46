//! Priority inheritance: the owner of a `pi` lock has the class and priority of its most urgent waiter, if that is more
//! urgent than itself, and so has the owner of the lock that this owner waits for, and so on. A boost changes a task as
//! `Step::SetClass` does. Nice is not inherited (specs/groups-locks.md section 5.5), and a deadline task lends the
//! highest real-time priority, not its reservation.

use super::{HIGHEST_PRIORITY, Host, LockId, urgency, urgency_of};
use crate::host::steps::Then;
use goodness_core::{Class, CpuId, Dequeue, Enqueue, Off, State, Task, TaskId};

/// Longest chain of owners that is walked: max_lock_depth of the kernel.
const CHAIN_MAX: u32 = 1_024;

impl Host<'_> {
    /// Makes `task` sleep for a lock that is passed on, whose owner is now as urgent as `task`.
    pub(super) fn sleep_and_urge(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        self.tell_contended(task, lock);
        let is_urgent = urgency(self.referee.tasks(), task) > 0;
        self.locks.queue(lock, task, is_urgent);
        self.locks.waiters[task.index()].sleeps_for = Some(lock);
        if is_urgent {
            self.urge_owners(lock);
        }
        self.block(cpu, task, Off::Sleeping)
    }

    /// Adjusts the owner of `lock`, the owner of what that one sleeps for, and so on.
    fn urge_owners(&mut self, mut lock: LockId) {
        for _ in 0..CHAIN_MAX {
            let Some(owner) = self.locks.all[lock.0 as usize].owner else { return };
            if !self.adjust(owner) {
                return;
            }
            let Some(next) = self.locks.waiters[owner.index()].sleeps_for else { return };
            lock = next;
        }
    }

    /// A sleeper got its lock, and inherits from those that go on sleeping for it.
    pub(super) fn becomes_owner(&mut self, task: TaskId) {
        self.locks.waiters[task.index()].sleeps_for = None;
        self.adjust(task);
    }

    /// Takes from `task` what it inherited through a lock it gave up. Stops the step if it has to be scheduled anew.
    pub(super) fn calm_down(&mut self, task: TaskId) -> Then {
        let is_boosted = self.locks.waiters[task.index()].own.is_some();
        if is_boosted && self.adjust(task) { Then::Stop } else { Then::Next }
    }

    /// Changes the class of the task running on `cpu`; what it inherits still counts.
    pub fn set_class(&mut self, cpu: CpuId, task: TaskId, class: Class, priority: u8) -> Then {
        let priority = if class.is_realtime() { priority.clamp(1, 99) } else { 0 };
        self.outbox.reclass(self.referee.now(), task, class, self.referee.tasks().nice(task));
        if let Some(waiter) = self.locks.waiters.get_mut(task.index())
            && waiter.own.is_some()
        {
            waiter.own = Some((class, priority));
            return if self.adjust(task) { Then::Stop } else { Then::Next };
        }
        self.change(cpu, task, |it| (it.class, it.rt_priority) = (class, priority))
    }

    /// Gives `task` the class and priority it should have. True if it had others.
    fn adjust(&mut self, task: TaskId) -> bool {
        let tasks = self.referee.tasks();
        let now = (tasks.class(task), tasks[task].rt_priority);
        let own = self.locks.waiters[task.index()].own.unwrap_or(now);
        let top = self.top_waiter(task).filter(|top| urgency(tasks, *top) > urgency_of(own.0, own.1));
        let wanted = top.map_or(own, |top| match tasks.class(top) {
            // A reservation is not lent.
            Class::Deadline => (Class::Fifo, HIGHEST_PRIORITY),
            class => (class, tasks[top].rt_priority),
        });
        self.locks.waiters[task.index()].own = (wanted != own).then_some(own);
        if wanted != now {
            self.edit_anywhere(task, |it| (it.class, it.rt_priority) = wanted);
        }
        wanted != now
    }

    /// The most urgent task that sleeps for a lock of `task` that passes priorities on.
    fn top_waiter(&self, task: TaskId) -> Option<TaskId> {
        let tasks = self.referee.tasks();
        let held = self.locks.pi.iter().filter(|lock| self.locks.all[lock.0 as usize].owner == Some(task));
        held.filter_map(|lock| self.locks.next_sleeper(*lock, tasks)).max_by_key(|top| urgency(tasks, *top))
    }

    /// Tells the policy what was changed of `task`, which was just woken, while it slept.
    /// `by` is the CPU that woke it.
    pub(in crate::host) fn tell_changes(&mut self, task: TaskId, by: CpuId) {
        if !std::mem::take(&mut self.locks.waiters[task.index()].is_changed) {
            return;
        }
        self.locks.changed -= 1;
        let cpu = self.cpu_of(task);
        self.referee.dequeue(task, Dequeue::Change);
        self.enqueue(task, cpu, Enqueue::Restored, by);
    }

    /// Changes a task in any state.
    fn edit_anywhere(&mut self, task: TaskId, edit: impl FnOnce(&mut Task)) {
        let cpu = self.cpu_of(task);
        match self.referee.tasks().state(task) {
            State::Running => {
                self.settle(cpu);
                self.change(cpu, task, edit);
            }
            State::Queued => {
                self.referee.dequeue(task, Dequeue::Change);
                self.referee.edit(task, edit);
                self.enqueue(task, cpu, Enqueue::Restored, cpu);
            }
            State::New => self.referee.edit(task, edit),
            State::Blocked => {
                self.referee.edit(task, edit);
                if !std::mem::replace(&mut self.locks.waiters[task.index()].is_changed, true) {
                    self.locks.changed += 1;
                }
            }
            State::Exited => {}
        }
    }
}
