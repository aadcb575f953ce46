//! The election: the eligible entity with the earliest virtual deadline, and the protection of the current one.

use super::queue::Entity;
use super::{NOBODY, RUNTIME, VirtualDeadlines};
use crate::parts::fair::order::{EntityId, QueueId};
use goodness_core::{Context, Effort};

impl VirtualDeadlines {
    /// The election. `protect`: whether the current entity may insist on its slice.
    pub(super) fn best(&mut self, cx: &Context, at: QueueId, protect: bool) -> Option<EntityId> {
        let queue = &self.queues[at.index()];
        let current = self.running(at).map(|it| (EntityId(queue.current), it));
        if queue.count == 1 {
            return current.map(|(entity, _)| entity).or(queue.tree.first().map(EntityId));
        }
        let eligible = queue.eligibility();
        if protect && queue.next != NOBODY && eligible(self.entities[EntityId(queue.next)].runtime) {
            return Some(EntityId(queue.next));
        }
        let current = current.filter(|(_, it)| eligible(it.runtime));
        if let Some((entity, it)) = current
            && protect
            && it.protected > it.runtime
        {
            return Some(entity);
        }
        let current = current.map(|(entity, it)| (entity, it.deadline));
        // Many comparisons against V: one division pays.
        let queue = &mut self.queues[at.index()];
        let average = queue.average();
        let (best, levels) = queue.tree.first_where(&self.nodes, RUNTIME, |runtime| runtime <= average);
        cx.examined(Effort::Search, levels);
        match (current, best) {
            // Of equal deadlines, the current entity's counts as the latest.
            (Some((entity, deadline)), Some(best)) if deadline < self.nodes.key(best) => Some(entity),
            (Some((entity, _)), None) => Some(entity),
            (_, best) => best.map(EntityId),
        }
    }

    /// False if `woken` cannot win an election, judged by it and the current entity alone.
    #[inline]
    pub(super) fn would_win(&self, at: QueueId, woken: EntityId) -> bool {
        let (eligible, it) = (self.queues[at.index()].eligibility(), &self.entities[woken]);
        let beaten = |current: &Entity| eligible(current.runtime) && current.deadline < it.deadline;
        let is_favoured = self.queues[at.index()].next == woken.0;
        eligible(it.runtime) && (is_favoured || !self.running(at).is_some_and(beaten))
    }

    /// Smallest slice of any entity on `at`.
    pub(super) fn shortest(&self, at: QueueId) -> u64 {
        self.queues[at.index()].slices.least().unwrap_or(u64::MAX)
    }

    /// Starts the slice protection of the current entity, which was just switched in.
    #[inline]
    pub(super) fn protect(&mut self, at: QueueId) {
        let least = if self.rules.run_to_parity { self.shortest(at) } else { self.rules.unscaled_slice };
        let current = EntityId(self.queues[at.index()].current);
        let rules = self.rules;
        let it = &mut self.entities[current];
        it.protected = match (rules.expire_protection, rules.run_to_parity) {
            (false, false) => it.runtime,
            (true, _) if least < it.slice => it.deadline.min(it.runtime + it.weight.virtual_time(least)),
            _ => it.deadline,
        };
    }
}
