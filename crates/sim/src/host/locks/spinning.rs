//! Waiters that spin. A spinner is an ordinary running task whose CPU time is no work; reports call it spinning.
//!
//! A spinner with a CPU sees a release at once, and of several the one that came first gets the lock, after the
//! machine's `lock_handover`. So the releasing task cannot take it again before them. A spinner without a CPU sees it
//! when it runs again, if the lock is still free.

use super::{Host, LockId, LockKind, S_LOCK_TRIES};
use crate::host::steps::Then;
use crate::host::tasks::Deferred;
use goodness_core::{CpuId, HORIZON_MAX, Overhead, Span, State, TaskId};

/// Time of one try of a spinning thread: a PAUSE of 50 cycles at 2.5 GHz. Processors need 10 to 140 cycles
/// (specs/groups-locks.md section 6); a choice in between.
const TRY: Span = Span(20);

/// Longest spinning of the kinds without a limit: longer than any run.
pub(super) const NO_LIMIT: Span = Span(2 * HORIZON_MAX.0);

/// Most tries of an adaptive mutex: glibc.pthread.mutex_spin_count.
const ADAPTIVE_TRIES_MAX: u32 = 100;

/// Bounds of the tries of `s_lock`, and the first and the longest of its sleeps (PostgreSQL's s_lock.c).
const S_LOCK_TRIES_MIN: u32 = S_LOCK_TRIES / 10;
const S_LOCK_TRIES_MAX: u32 = S_LOCK_TRIES * 10;
const S_LOCK_DELAY: Span = Span::from_ms(1);
const S_LOCK_DELAY_MAX: Span = Span::from_s(1);
/// Number of sleeps after which PostgreSQL declares the lock stuck.
const S_LOCK_SLEEPS_MAX: u32 = 1_000;

impl Host<'_> {
    /// Starts to spin for the lock.
    pub(super) fn spin(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        let limit = self.spinning_limit(task, lock);
        let it = &mut self.locks.all[lock.0 as usize];
        let waiter = &mut self.locks.waiters[task.index()];
        let budget = match it.kind {
            LockKind::Adaptive => TRY * u64::from(ADAPTIVE_TRIES_MAX.min(2 * it.tries + 10)),
            LockKind::SLock => TRY * u64::from(waiter.tries),
            LockKind::Rwsem => limit.unwrap_or(NO_LIMIT),
            _ => NO_LIMIT,
        };
        let is_first = it.sleepers.front() == Some(task.0);
        (waiter.spins_for, waiter.is_first, waiter.budget) = (Some(lock), is_first, budget);
        if !is_first {
            it.spinners.push_back(&mut self.locks.links, task.0);
        }
        self.locks.spinning += 1;
        self.runs[task.index()].begin(budget);
        self.defer(task, Deferred::StopSpinning(lock));
        self.arm(cpu, task);
        Then::Stop
    }

    /// The time to spin is over, or spinning makes no sense any more: takes the lock if it is free, else sleeps.
    pub fn stop_spinning(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        let spun = self.end_spin(cpu, task);
        if self.locks.take(lock, task, false) {
            self.note_tries(task, lock, Some(spun));
            return Then::Next;
        }
        match self.locks.all[lock.0 as usize].kind {
            LockKind::SLock => self.sleep_a_while(cpu, task, lock),
            LockKind::Spin => self.spin(cpu, task, lock),
            LockKind::Rwsem => self.give_up_spinning(cpu, task, lock),
            kind => {
                if kind == LockKind::Adaptive {
                    self.note_tries(task, lock, Some(spun));
                }
                self.sleep_for(cpu, task, lock)
            }
        }
    }

    /// Ends the spinning of `task` on `cpu`, if it spins. Returns the time that it spun in this turn on its CPU.
    fn end_spin(&mut self, cpu: CpuId, task: TaskId) -> Span {
        let Some(lock) = self.locks.waiters[task.index()].spins_for else { return Span::ZERO };
        let spun = self.account_spin(cpu, task);
        if !self.locks.waiters[task.index()].is_first {
            self.locks.all[lock.0 as usize].spinners.remove(&mut self.locks.links, task.0);
        }
        self.locks.waiters[task.index()].spins_for = None;
        self.locks.spinning -= 1;
        self.runs[task.index()].begin(Span::ZERO);
        spun
    }

    /// Reports the time that `task` spun on `cpu` since the last account.
    fn account_spin(&mut self, cpu: CpuId, task: TaskId) -> Span {
        let (run, capacity) = (&mut self.runs[task.index()], self.cpus[cpu.index()].capacity);
        let left = run.wall_left(capacity);
        let budget = &mut self.locks.waiters[task.index()].budget;
        let before = std::mem::replace(budget, run.left());
        run.begin(before);
        let spun = run.wall_left(capacity).saturating_sub(left);
        run.begin(*budget);
        self.overhead(cpu, Overhead::Spin, spun);
        spun
    }

    /// The free lock goes to the first of its spinners that has a CPU, if any.
    pub(super) fn let_spinner_take(&mut self, lock: LockId) {
        let (tasks, it) = (self.referee.tasks(), &self.locks.all[lock.0 as usize]);
        let next = it.spinners.iter(&self.locks.links).map(TaskId).find(|task| tasks.state(*task) == State::Running);
        if let Some(next) = next {
            self.locks.take(lock, next, false);
            self.give_lock(next);
        }
    }

    /// `task` has become the owner: if it spins, it goes on after the handover; if it waits for a CPU, as it runs.
    pub(super) fn give_lock(&mut self, task: TaskId) {
        let cpu = self.cpu_of(task);
        let runs = self.referee.tasks().state(task) == State::Running;
        if runs {
            self.settle(cpu);
        }
        self.go_on_as_owner(task);
        if runs {
            self.arm(cpu, task);
        }
    }

    fn go_on_as_owner(&mut self, task: TaskId) {
        let spins_for = self.locks.waiters[task.index()].spins_for;
        let cpu = self.cpu_of(task);
        let spun = self.end_spin(cpu, task);
        self.take_deferred(task);
        if let Some(lock) = spins_for {
            let handover = self.machine.costs.lock_handover;
            self.overhead(cpu, Overhead::Spin, handover);
            self.runs[task.index()].begin(handover);
            self.note_tries(task, lock, Some(spun));
        }
    }

    /// Adjusts the number of tries to how long it took. `spun` is `None` if the task did not spin just now.
    pub(super) fn note_tries(&mut self, task: TaskId, lock: LockId, spun: Option<Span>) {
        let it = &mut self.locks.all[lock.0 as usize];
        let waiter = &mut self.locks.waiters[task.index()];
        match (it.kind, spun) {
            (LockKind::Adaptive, Some(spun)) => {
                let tries = spun.0.div_ceil(TRY.0) as i64;
                it.tries = (i64::from(it.tries) + (tries - i64::from(it.tries)) / 8).max(0) as u32;
            }
            (LockKind::SLock, spun) => {
                let slept = std::mem::take(&mut waiter.sleeps) > 0;
                waiter.delay = Span::ZERO;
                if slept {
                    waiter.tries = (waiter.tries - 1).max(S_LOCK_TRIES_MIN);
                } else if spun.is_some() {
                    waiter.tries = (waiter.tries + S_LOCK_TRIES).min(S_LOCK_TRIES_MAX);
                }
            }
            _ => {}
        }
    }

    /// `s_lock` sleeps before it spins again.
    fn sleep_a_while(&mut self, cpu: CpuId, task: TaskId, lock: LockId) -> Then {
        let waiter = &mut self.locks.waiters[task.index()];
        if waiter.sleeps == S_LOCK_SLEEPS_MAX {
            let what = format!(
                "slept {S_LOCK_SLEEPS_MAX} times for lock {}, which PostgreSQL calls a stuck spinlock: its holder \
                 never releases it, or never runs",
                lock.0
            );
            self.at_fault(task, what);
            return Then::Stop;
        }
        waiter.sleeps += 1;
        let longer = waiter.delay + Span(self.runs[task.index()].rng.within(0, waiter.delay.0));
        waiter.delay = if waiter.delay == Span::ZERO || longer > S_LOCK_DELAY_MAX { S_LOCK_DELAY } else { longer };
        let until = self.referee.now() + waiter.delay;
        self.tell_contended(task, lock);
        self.defer(task, Deferred::Retake(lock));
        self.fall_asleep(cpu, task, until)
    }

    /// True if a task spins, so that switches matter.
    #[inline(always)]
    pub fn somebody_spins(&self) -> bool {
        self.locks.spinning > 0
    }

    /// `cpu` goes from `prev` to `next`: spinning stops, or finds the lock free, and an owner's spinners notice.
    #[cold]
    #[inline(never)]
    pub fn spinners_switch(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if let Some(prev) = prev {
            if let Some(lock) = self.locks.waiters[prev.index()].spins_for {
                match self.locks.all[lock.0 as usize].kind {
                    // It sleeps when it runs again.
                    LockKind::Kernel | LockKind::Rwsem => self.end_spin(cpu, prev),
                    _ => self.account_spin(cpu, prev),
                };
            }
            self.owner_leaves(prev);
        }
        if let Some(next) = next
            && let Some(lock) = self.locks.waiters[next.index()].spins_for
            && self.locks.take(lock, next, false)
        {
            self.go_on_as_owner(next);
        }
    }

    /// Nobody spins for a kernel's lock whose owner has no CPU.
    fn owner_leaves(&mut self, owner: TaskId) {
        for index in 0..self.locks.kernel.len() {
            let lock = self.locks.kernel[index];
            if self.locks.all[lock.0 as usize].owner != Some(owner) {
                continue;
            }
            self.end_spinners(lock);
        }
    }

    /// Nobody spins for this lock of the kernel any more.
    pub(super) fn end_spinners(&mut self, lock: LockId) {
        while let Some(spinner) = self.spinner_of(lock) {
            let cpu = self.cpu_of(spinner);
            self.settle(cpu);
            self.end_spin(cpu, spinner);
            self.arm(cpu, spinner);
        }
    }

    /// A task that spins for this lock of the kernel.
    fn spinner_of(&self, lock: LockId) -> Option<TaskId> {
        let it = &self.locks.all[lock.0 as usize];
        let spins = |task: &TaskId| self.locks.waiters[task.index()].spins_for == Some(lock);
        let first = it.sleepers.front().map(TaskId).filter(spins);
        first.or_else(|| it.spinners.front().map(TaskId))
    }

    /// At the end of a run, reports the time of those that still spin.
    pub fn account_spinners(&mut self) {
        for number in 0..if self.somebody_spins() { self.cpus.len() } else { 0 } {
            let cpu = CpuId(number as u32);
            self.settle(cpu);
            if let Some(task) = self.referee.current(cpu)
                && self.locks.waiters[task.index()].spins_for.is_some()
            {
                self.account_spin(cpu, task);
            }
        }
    }
}
