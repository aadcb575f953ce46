//! The rule by which an entity waits.

use super::VirtualRuntimes;
use crate::parts::fair::order::{EntityId, QueueId};
use goodness_core::{Class, Reason};

impl VirtualRuntimes {
    /// Why the current entity `ahead` runs and `waiting` waits.
    pub(super) fn rule(&self, _: QueueId, ahead: EntityId, waiting: EntityId) -> Reason {
        let (it, current) = (&self.entities[waiting], &self.entities[ahead]);
        if it.is_idle && !current.is_idle {
            return Reason::Class { ahead: Class::Normal, waiting: Class::Idle };
        }
        let lead = current.runtime - it.runtime;
        match lead > 0 {
            true => Reason::LeadTooShort { by: it.weight.real_time(lead) },
            false => Reason::LessRuntime { by: it.weight.real_time(-lead) },
        }
    }
}
