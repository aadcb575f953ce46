//! Locks, as far as wake-ups show them: a server's task wakes another one, which is in the middle of a request.
//!
//! Each of the two works for clients of its own, so the wake-up is no message of a request. It hands over what one held
//! and the other waited for: a lock, a buffer, the flush of a log. An ordinary edge would make the waiter wait in every
//! replay for this holder, even if it has not come to the lock yet, and perhaps not even got its request. Then tasks
//! that drift apart by little wait for each other in a fixed order, and CPUs are idle that never were.
//!
//! When a holder took the lock is not recorded; it was in the cycle in which it was when the waiter fell asleep. A
//! cycle begins when a message or a lock wakes the task. So in a replay the waiter waits if its holder has begun that
//! cycle, and goes on if not; then the holder's signal does nothing, or the next lap's wait would find it. What is
//! missing: a holder that comes later does not wait for the task that went first.
//! So this is done in programs whose locks are mostly free: of [`CYCLES_PER_WAIT`] cycles at most one waits for a
//! lock. Where more do, somebody else would hold what the recorded holder does not, and the waiter waits for the
//! recorded one. A holder that has got another message since the waiter fell asleep holds the lock over several
//! requests, since when the recording does not tell; it is always waited for. So is one of a pool ([`super::pools`]),
//! and by one: any task may be in the cycles of its services.

use goodness_core::{Step, TaskId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A task, and the cycle in which it holds what another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The task: of the recording while programmes are recovered, then of the workload.
    pub task: TaskId,
    /// Number of its cycle.
    pub cycle: u32,
}

/// Holders by the edge that they signal.
pub type Holders = BTreeMap<u32, Holder>;

/// Fewest cycles of a program for each wait for its locks if these are mostly free. A choice: MariaDB with 64 clients
/// has 95, PostgreSQL with one row for all has 6.
pub const CYCLES_PER_WAIT: usize = 20;

/// State of one task.
#[derive(Clone, Debug, Default)]
struct Part {
    /// Times at which its cycles began.
    begun: Vec<Time>,
    /// Time at which a message woke it last.
    asked: Time,
    /// True if a message of another program woke it, and it has not woken that program since.
    is_asked: bool,
}

/// The hand-offs of a recording, up to the present record.
#[derive(Clone, Debug)]
pub struct Handoffs {
    parts: Vec<Part>,
    /// The holders found.
    pub holders: Holders,
}

impl Handoffs {
    /// The state before the first record, for `tasks` tasks.
    #[must_use]
    pub fn new(tasks: usize) -> Handoffs {
        Handoffs { parts: vec![Part::default(); tasks], holders: Holders::new() }
    }

    /// `by` wakes `task`, a task of another program.
    pub fn message(&mut self, by: TaskId, task: TaskId, at: Time) {
        self.parts[by.index()].is_asked = false;
        let task = &mut self.parts[task.index()];
        (task.is_asked, task.asked) = (true, at);
    }

    /// `by` wakes `task`, a task of its program that has slept since `since`. Returns the holder if this is a hand-off.
    #[must_use]
    pub fn holder(&self, by: TaskId, task: TaskId, since: Time) -> Option<Holder> {
        let holder = &self.parts[by.index()];
        let cycles = holder.begun.partition_point(|begun| *begun <= since) as u32;
        let is_handoff = self.parts[task.index()].is_asked && cycles > 0 && holder.asked <= since;
        is_handoff.then(|| Holder { task: by, cycle: cycles - 1 })
    }

    /// Forgets the holders in programs whose locks are often taken; `program_of` is the program of each task.
    pub fn keep_free_locks(&mut self, program_of: &[u32]) {
        let mut cycles = BTreeMap::<u32, usize>::new();
        for (part, program) in self.parts.iter().zip(program_of) {
            *cycles.entry(*program).or_default() += part.begun.len();
        }
        let mut waits = BTreeMap::<u32, usize>::new();
        let program = |holder: &Holder| program_of[holder.task.index()];
        self.holders.values().for_each(|holder| *waits.entry(program(holder)).or_default() += 1);
        self.holders.retain(|_, holder| waits[&program(holder)] * CYCLES_PER_WAIT <= cycles[&program(holder)]);
    }

    /// `task` begins its next cycle. Returns the cycle's number.
    pub fn begin(&mut self, task: TaskId, at: Time) -> u32 {
        let begun = &mut self.parts[task.index()].begun;
        begun.push(at);
        begun.len() as u32 - 1
    }
}

/// The cycles of all tasks in one run, shared by the run's players.
#[derive(Debug)]
pub struct HandoffState {
    holders: Arc<Holders>,
    /// Locked because behaviours may move between threads.
    progress: Mutex<Progress>,
}

/// How far the tasks of one run have come.
#[derive(Debug)]
struct Progress {
    /// For each task, the lap and the number of the latest cycle that it has begun. Turns may begin in another order.
    begun: Vec<Option<(u32, u32)>>,
    /// Edge and lap of each wait left out whose signal is still to come.
    left_out: BTreeSet<(u32, u32)>,
}

impl HandoffState {
    /// The initial state of `tasks` tasks.
    #[must_use]
    pub fn new(holders: Arc<Holders>, tasks: usize) -> HandoffState {
        let progress = Progress { begun: vec![None; tasks], left_out: BTreeSet::new() };
        HandoffState { holders, progress: Mutex::new(progress) }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `task` begins this cycle of its lap `lap`, which takes no step.
    pub fn begin(&self, task: TaskId, lap: u32, cycle: u32) -> Option<Step> {
        let begun = &mut self.progress().begun[task.index()];
        *begun = (*begun).max(Some((lap, cycle)));
        None
    }

    /// A task in its lap `lap` comes to its wait for `edge`. Returns true if it waits: the holder may hold what it
    /// waits for. If not, the signal of this lap is not due any more.
    #[must_use]
    pub fn waits(&self, edge: u32, lap: u32) -> bool {
        let Some(holder) = self.holders.get(&edge) else { return true };
        let mut progress = self.progress();
        let waits = progress.begun[holder.task.index()] >= Some((lap, holder.cycle));
        if !waits {
            progress.left_out.insert((edge, lap));
        }
        waits
    }

    /// A task in its lap `lap` comes to its signal of `edge`. Returns true if it gives it: the wait was not left out.
    #[must_use]
    pub fn signals(&self, edge: u32, lap: u32) -> bool {
        !self.holders.contains_key(&edge) || !self.progress().left_out.remove(&(edge, lap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: TaskId = TaskId(0);
    const A: TaskId = TaskId(1);
    const B: TaskId = TaskId(2);

    /// Both servers work for the client; A began at 5, B at 7 and 20.
    fn both_asked() -> Handoffs {
        let mut handoffs = Handoffs::new(3);
        for (task, at) in [(A, 5), (B, 7), (B, 20)] {
            handoffs.message(CLIENT, task, Time(at));
            handoffs.begin(task, Time(at));
        }
        handoffs
    }

    #[test]
    fn who_holds_a_lock_was_in_its_cycle_when_the_waiter_fell_asleep() {
        let handoffs = both_asked();
        assert_eq!(handoffs.holder(A, B, Time(6)), Some(Holder { task: A, cycle: 0 }));
        assert_eq!(handoffs.holder(B, A, Time(20)), Some(Holder { task: B, cycle: 1 }));
        assert_eq!(handoffs.holder(A, B, Time(4)), None, "A had not begun anything");
        assert_eq!(handoffs.holder(B, A, Time(10)), None, "B holds it over two requests");
    }

    #[test]
    fn a_task_without_a_request_of_its_own_waits_for_a_message() {
        let mut handoffs = both_asked();
        handoffs.message(B, CLIENT, Time(25));
        assert_eq!(handoffs.holder(A, B, Time(30)), None, "it has answered");
        assert!(handoffs.holder(B, A, Time(30)).is_some());
    }

    #[test]
    fn locks_that_are_often_taken_have_no_holders() {
        let mut handoffs = both_asked();
        let holder = Holder { task: B, cycle: 0 };
        handoffs.holders.insert(9, holder);
        handoffs.keep_free_locks(&[0, 1, 1]);
        assert_eq!(handoffs.holders.len(), 0, "one wait in three cycles");
        handoffs.holders.insert(9, holder);
        for _ in 0..CYCLES_PER_WAIT {
            handoffs.begin(A, Time(30));
        }
        handoffs.keep_free_locks(&[0, 1, 1]);
        assert_eq!(handoffs.holders.len(), 1);
    }

    #[test]
    fn only_a_holder_that_has_begun_is_waited_for() {
        let holders = Holders::from([(9, Holder { task: B, cycle: 1 })]);
        let state = HandoffState::new(Arc::new(holders), 3);
        assert!(!state.waits(9, 0));
        state.begin(B, 0, 0);
        assert!(!state.waits(9, 0));
        state.begin(B, 0, 1);
        assert_eq!((state.waits(9, 0), state.waits(9, 1)), (true, false), "in the next lap it begins anew");
        state.begin(B, 0, 0);
        assert!(state.waits(9, 0), "turns in another order");
        assert!(state.waits(8, 0), "another edge");
    }

    #[test]
    fn a_holder_that_comes_late_signals_nobody() {
        let state = HandoffState::new(Arc::new(Holders::from([(9, Holder { task: B, cycle: 0 })])), 3);
        assert!(!state.waits(9, 0), "B has not begun");
        state.begin(B, 0, 0);
        assert!(!state.signals(9, 0), "or the next lap would find the signal");
        state.begin(B, 1, 0);
        assert!(state.waits(9, 1) && state.signals(9, 1));
        assert!(state.signals(8, 0), "another edge");
    }
}
