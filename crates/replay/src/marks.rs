//! Hands out the marks of requests, record by record, to be put into programmes.

use crate::program::Instruction;
use crate::requests::{Mark, What};
use goodness_core::TaskId;

/// The marks of a recording, taken record by record.
pub struct Marks {
    all: std::vec::IntoIter<Mark>,
    /// Those of the current record that are not in a programme yet.
    due: Vec<Mark>,
}

impl Marks {
    /// `all` marks, in order of records.
    #[must_use]
    pub fn new(all: Vec<Mark>) -> Marks {
        Marks { all: all.into_iter(), due: Vec::new() }
    }

    /// Goes on to `record`.
    pub fn advance(&mut self, record: u32) {
        while let Some(mark) = self.all.as_slice().first().filter(|mark| mark.record <= record) {
            self.due.push(*mark);
            self.all.next();
        }
    }

    /// The next mark of `task` at the current record.
    pub fn take(&mut self, task: TaskId) -> Option<Instruction> {
        let place = self.due.iter().position(|mark| mark.task == task)?;
        Some(instruction(self.due.remove(place)))
    }

    /// A mark that nobody has taken.
    pub fn left(&mut self) -> Option<(TaskId, Instruction)> {
        self.due.pop().map(|mark| (mark.task, instruction(mark)))
    }
}

fn instruction(mark: Mark) -> Instruction {
    match mark.what {
        What::Served => Instruction::Served(mark.request),
        What::Asked => Instruction::Ask(mark.request),
        What::Arrived => Instruction::Arrived(mark.request),
    }
}
