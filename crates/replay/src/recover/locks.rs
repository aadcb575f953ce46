//! Locks of servers: who held what a task waited for, and the cycles of the holders.

use super::Recovery;
use crate::causes::Cause;
use crate::handoffs::Holder;
use crate::program::Instruction;
use crate::task_recovery::{Activity, Ending};
use goodness_core::{TaskId, Time};
use goodness_trace::{Context, Wake};

impl Recovery<'_> {
    /// True if `cause` is a task of another program than that of `task`, both not the kernel's.
    fn is_message(&self, cause: Cause, task: TaskId) -> bool {
        let Cause::Edge(by) = cause else { return false };
        let [from, to] = [by, task].map(|it| self.history.participant(it));
        from.program != to.program && [from, to].iter().all(|it| it.task.address_space.is_some())
    }

    /// Notes a message. Returns the holder if `wake` hands over a lock.
    pub(super) fn handoff(&mut self, wake: &Wake, cause: Cause, at: Time) -> Option<Holder> {
        let (Cause::Edge(by), task) = (cause, wake.task) else { return None };
        if self.is_message(cause, task) {
            self.handoffs.message(by, task, at);
            return None;
        }
        let Activity::Blocked(since, _) = self.recoveries[task.index()].activity else { return None };
        let is_own = self.history.participant(by).program == self.history.participant(task).program;
        let is_pooled = [by, task].iter().any(|it| self.pools.of(*it).is_some());
        (is_own && !is_pooled && wake.context == Context::Task).then(|| self.handoffs.holder(by, task, since))?
    }

    /// `holder` signals the edge of `ending`.
    pub(super) fn hold(&mut self, ending: Ending, holder: Option<Holder>) {
        if let (Ending::Edge(edge), Some(holder)) = (ending, holder) {
            self.handoffs.holders.insert(edge, holder);
        }
    }

    /// A message or a lock has ended the wait of `task`, which begins a cycle.
    pub(super) fn begin_cycle(&mut self, task: TaskId, cause: Cause, ending: Ending, holder: Option<Holder>, at: Time) {
        if matches!(ending, Ending::Edge(_)) && (holder.is_some() || self.is_message(cause, task)) {
            let cycle = self.handoffs.begin(task, at);
            self.push(task, Instruction::Cycle(cycle), at);
        }
    }
}
