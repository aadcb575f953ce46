//! By which rule a policy placed a task on a CPU, where the other side placed it elsewhere or not yet.

use super::decisions::{Choice, Track};
use super::first::Parting;
use super::question::Answer;
use goodness_core::{CpuId, MadePolicy, Placement, TaskId, Time};
use goodness_observe::asked::{Asked, Asker, Decided, Placed};

/// A question to one side. Asking changes nothing in its run.
pub(super) struct PlacementQuestion {
    task: TaskId,
    cpu: CpuId,
    at: Time,
    pub answer: Answer<Placement>,
}

impl PlacementQuestion {
    /// The question to side `index`; `None` if it does not place the task at which the sides part.
    pub fn of(parting: &Parting, index: usize) -> Option<PlacementQuestion> {
        let Track::Task(task) = parting.track else { return None };
        let own = parting.of[index]?.decision;
        let Choice::Placed(cpu) = own.choice else { return None };
        Some(PlacementQuestion { task, cpu, at: own.at, answer: Answer::default() })
    }

    /// `made`, which is asked this.
    pub fn to(self, made: MadePolicy, cpus: usize) -> MadePolicy {
        Asked::around(made, cpus, self)
    }
}

impl Asker for PlacementQuestion {
    fn ask(&mut self, _: &Decided) {}

    fn placed(&mut self, placed: &Placed) {
        if (placed.task, placed.cpu, placed.cx.now) == (self.task, self.cpu, self.at) {
            self.answer.set(placed.rule());
        }
    }
}
