//! By which rule a policy has its choice ahead of the choice of the other side, at the decision in which they differ.

use super::decisions::{Choice, Track};
use super::first::Parting;
use goodness_core::{CpuId, MadePolicy, Reason, State, TaskId, Time};
use goodness_observe::asked::{Asked, Asker, Decided, Did};
use std::cell::Cell;
use std::rc::Rc;

/// The answer, which the question's side of a run writes.
#[derive(Clone)]
pub(super) struct Answer<T>(Rc<Cell<Option<T>>>);

impl<T> Default for Answer<T> {
    fn default() -> Answer<T> {
        Answer(Rc::new(Cell::new(None)))
    }
}

impl<T: Copy> Answer<T> {
    pub fn get(&self) -> Option<T> {
        self.0.get()
    }

    pub fn set(&self, answer: Option<T>) {
        self.0.set(answer);
    }
}

/// A question to one side. Asking changes nothing in its run.
pub(super) struct Question {
    cpu: CpuId,
    /// Time of the side's own decision, or until when it goes on as before.
    at: Time,
    /// The task that it picks or keeps.
    ahead: TaskId,
    /// The task that the other side picks or keeps.
    pub waiting: TaskId,
    is_pick: bool,
    /// True if one queue serves all CPUs.
    is_shared: bool,
    is_answered: bool,
    pub answer: Answer<Reason>,
}

impl Question {
    /// The question to side `index`; `None` if the sides do not choose between two tasks for a CPU.
    pub fn of(parting: &Parting, index: usize) -> Option<Question> {
        let Track::Cpu(cpu) = parting.track else { return None };
        let own = parting.of[index];
        Some(Question {
            cpu,
            at: own.map_or(parting.at, |it| it.decision.at),
            ahead: chosen(parting, index)?,
            waiting: chosen(parting, 1 - index)?,
            is_pick: own.is_some(),
            is_shared: false,
            is_answered: false,
            answer: Answer::default(),
        })
        .filter(|it| it.ahead != it.waiting)
    }

    /// `made`, which is asked this.
    pub fn to(self, made: MadePolicy, cpus: usize) -> MadePolicy {
        let is_shared = made.about.needs.global_lock;
        Asked::around(made, cpus, Question { is_shared, ..self })
    }

    /// True if the other side's task waits here. It may not have been forked yet.
    fn waits(&self, decided: &Decided) -> bool {
        if self.waiting.index() >= decided.cx.tasks.len() {
            return false;
        }
        let is_queued = decided.cx.tasks.state(self.waiting) == State::Queued;
        is_queued && (self.is_shared || decided.waiting.contains(&self.waiting))
    }
}

/// The task that side `index` runs from the parting on.
fn chosen(parting: &Parting, index: usize) -> Option<TaskId> {
    match (parting.of[index], parting.of[1 - index]) {
        (Some(own), _) => match own.decision.choice {
            Choice::Switched { next, .. } => next,
            _ => None,
        },
        // It keeps the task that the other side stops.
        (None, Some(other)) => match other.decision.choice {
            Choice::Switched { prev, .. } => prev.map(|(task, _)| task),
            _ => None,
        },
        (None, None) => None,
    }
}

impl Asker for Question {
    fn ask(&mut self, decided: &Decided) {
        let is_here = decided.cpu == self.cpu && decided.cx.now <= self.at && decided.running == Some(self.ahead);
        if self.is_answered || !is_here {
            return;
        }
        let is_the_pick = decided.cx.now == self.at && matches!(decided.did, Did::Picked(_));
        if self.is_pick && !is_the_pick {
            return;
        }
        // Of a task that is kept the last answer counts.
        self.is_answered = self.is_pick;
        let ask = if self.is_pick { Decided::why } else { Decided::why_it_goes_on };
        self.answer.set(if self.waits(decided) { ask(decided, self.waiting) } else { None });
    }
}
