//! Lengths of CPU bursts, for the textbook's policies that order by them: told by the work, else predicted.
//!
//! Source: Silberschatz, Galvin and Gagne, "Operating System Concepts", 10th edition, section 5.3.2: the next burst is
//! predicted as the exponential average of those before, τ(n+1) = α·t(n) + (1 − α)·τ(n), with α = 1/2 and τ(0) = 10 ms.
//! A kernel knows no lengths; where the work tells them, the policies are those of the textbook's tables.

use goodness_core::{Context, PerTask, Reason, Span, Stop, TaskId};
use std::cmp::Ordering;

/// The burst of one task.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// CPU time used since it began.
    used: Span,
    /// Predicted length.
    predicted: Span,
}

/// The bursts of all tasks.
#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    of: PerTask<Burst>,
    /// Prediction of a first burst.
    guess: Span,
    /// Weight of the last burst, in percent.
    alpha: u64,
}

impl Bursts {
    /// No tasks yet.
    pub fn new(guess: Span, alpha: u64) -> Bursts {
        Bursts { of: PerTask::default(), guess, alpha }
    }

    /// Reserves room for a task.
    pub fn admit(&mut self, task: TaskId) {
        *self.of.admit(task) = Burst { used: Span::ZERO, predicted: self.guess };
    }

    /// Length of the burst; at least 1 ns.
    #[inline]
    pub fn length(&self, cx: &Context, task: TaskId) -> Span {
        cx.tasks[task].burst.unwrap_or(self.of[task].predicted).max(Span(1))
    }

    /// What is left of it; 0 for one that is longer than it was predicted.
    #[inline]
    pub fn remaining(&self, cx: &Context, task: TaskId) -> Span {
        self.length(cx, task).saturating_sub(self.of[task].used)
    }

    /// The rule by which a burst that needs `ahead` comes before one that needs `waiting`.
    pub fn rule(ahead: Span, waiting: Span) -> Option<Reason> {
        match ahead.cmp(&waiting) {
            Ordering::Less => Some(Reason::ShorterBurst { ahead, waiting }),
            Ordering::Equal => Some(Reason::First),
            Ordering::Greater => None,
        }
    }

    /// Counts `ran` into the burst, which ends when the task waits or ends.
    #[inline]
    pub fn charge(&mut self, task: TaskId, ran: Span, why: Stop) {
        let (alpha, burst) = (self.alpha, &mut self.of[task]);
        burst.used += ran;
        if matches!(why, Stop::Blocked { .. } | Stop::Exited) {
            let weighted = u128::from(burst.used.0) * u128::from(alpha);
            let weighted = weighted + u128::from(burst.predicted.0) * u128::from(100 - alpha);
            *burst = Burst { used: Span::ZERO, predicted: Span((weighted / 100) as u64) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Machine, Task, TaskTable};

    /// Silberschatz, Galvin and Gagne, section 5.3.2, figure "Prediction of the length of the next CPU burst": bursts
    /// of 6, 4, 6, 4, 13, 13 and 13 are predicted as 10, 8, 6, 6, 5, 9 and 11, and the next as 12.
    #[test]
    fn bursts_are_predicted_as_in_the_textbook() {
        let mut tasks = TaskTable::default();
        let task = tasks.push(Task::default());
        let cx = Context::new(Machine::flat(1, 250).unwrap(), tasks);
        let mut bursts = Bursts::new(Span::from_ms(10), 50);
        bursts.admit(task);
        let mut predicted = Vec::new();
        for burst in [6, 4, 6, 4, 13, 13, 13] {
            predicted.push(bursts.length(&cx, task).0 / 1_000_000);
            bursts.charge(task, Span::from_ms(burst), Stop::Blocked { interruptible: true });
        }
        predicted.push(bursts.length(&cx, task).0 / 1_000_000);
        assert_eq!(predicted, [10, 8, 6, 6, 5, 9, 11, 12]);
    }

    #[test]
    fn a_told_length_is_taken_and_what_is_left_of_it_never_falls_below_nothing() {
        let mut tasks = TaskTable::default();
        let task = tasks.push(Task { burst: Some(Span(7)), ..Task::default() });
        let cx = Context::new(Machine::flat(1, 250).unwrap(), tasks);
        let mut bursts = Bursts::new(Span::from_ms(10), 50);
        bursts.admit(task);
        bursts.charge(task, Span(5), Stop::Preempted);
        assert_eq!((bursts.length(&cx, task), bursts.remaining(&cx, task)), (Span(7), Span(2)));
        bursts.charge(task, Span(5), Stop::Tick);
        assert_eq!(bursts.remaining(&cx, task), Span::ZERO);
    }
}
