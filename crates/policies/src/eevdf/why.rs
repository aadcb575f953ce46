//! The rule of an election.

use super::VirtualDeadlines;
use crate::parts::fair::order::{EntityId, QueueId};
use goodness_core::{Class, Reason, Standing};

impl VirtualDeadlines {
    /// Why the current entity `ahead` runs and `waiting` waits.
    pub(super) fn rule(&self, at: QueueId, ahead: EntityId, waiting: EntityId) -> Reason {
        let (queue, it, current) = (&self.queues[at.index()], &self.entities[waiting], &self.entities[ahead]);
        if it.is_idle && !current.is_idle {
            return Reason::Class { ahead: Class::Normal, waiting: Class::Idle };
        }
        if !queue.eligibility()(it.runtime) {
            return Reason::NotEligible { lag: it.weight.real_time(it.runtime - queue.virtual_time()) };
        }
        if current.deadline <= it.deadline {
            return Reason::EarlierDeadline { by: it.weight.real_time(it.deadline - current.deadline) };
        }
        if current.protected > current.runtime {
            let left = current.weight.real_time(current.protected - current.runtime);
            return Reason::SliceProtected { left };
        }
        Reason::AwaitsTick
    }

    /// The place of `entity` in its queue.
    pub(super) fn place_of(&self, entity: EntityId) -> Option<Standing> {
        let it = &self.entities[entity];
        let virtual_time = self.queues[it.home.index()].virtual_time();
        let owed = virtual_time - it.runtime;
        let lag = it.weight.real_time(owed.abs()).0 as i64 * owed.signum();
        it.queued.then_some(Standing { virtual_time, lag, deadline: it.deadline })
    }
}
