//! The rule by which an entity waits.

use super::VirtualRuntimes;
use crate::parts::fair::order::EntityId;
use goodness_core::{Class, Reason};

impl VirtualRuntimes {
    /// The rule by which the current entity `ahead` runs and `waiting` waits. A buddy is picked if it is close to the
    /// fairest entity, however far from the others.
    pub(super) fn rule(&self, ahead: EntityId, waiting: EntityId, is_pick: bool) -> Reason {
        let (it, current) = (&self.entities[waiting], &self.entities[ahead]);
        if it.is_idle && !current.is_idle {
            return Reason::Class { ahead: Class::Normal, waiting: Class::Idle };
        }
        let lead = current.runtime - it.runtime;
        match lead > 0 {
            true if is_pick && !self.tolerable(ahead, waiting) => Reason::Favoured,
            true => Reason::LeadTooShort { by: it.weight.real_time(lead) },
            false => Reason::LessRuntime { by: it.weight.real_time(-lead) },
        }
    }
}
