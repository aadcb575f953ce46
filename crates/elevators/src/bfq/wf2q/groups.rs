//! Groups in the schedule: each follows what changes in it, and decides for its queues among what is beside it.

use super::{Entity, Place, Return, Schedule};

impl Schedule {
    /// Brings the groups around a queue up to date after it was requeued or deactivated.
    pub(super) fn follow_service(&mut self, queue: u32) {
        let level = self[queue].level;
        if self.serving == Some(queue) {
            self.serving = None;
            self.end_service(level);
        } else {
            self.follow(level, Return::Late);
        }
    }

    /// Ends the service of the group of `level` and of those around it.
    fn end_service(&mut self, mut level: u32) {
        while level > 0 {
            let group = level - 1;
            if let Some(budget) = self.next_budget(level) {
                self.at(group).budget = budget;
                self.requeue_one(group);
            } else {
                self.stop(group);
            }
            level = self.entities[group as usize].level;
        }
    }

    /// Brings the group of `level` and those around it up to date after its queues changed, none of them in service.
    /// A group that is served is, until that ends.
    pub(super) fn follow(&mut self, mut level: u32, how: Return) {
        while level > 0 {
            let group = level - 1;
            let Entity { place, budget: former, level: outer, .. } = self.entities[group as usize];
            match (place, self.next_budget(level)) {
                (Place::Serving, _) | (Place::Out | Place::Idle, None) => return,
                (Place::Active, Some(budget)) if budget == former => return,
                (Place::Active, Some(budget)) => {
                    self.at(group).budget = budget;
                    self.requeue_one(group);
                }
                (Place::Active, None) => self.stop(group),
                (Place::Out | Place::Idle, Some(budget)) => {
                    self.at(group).budget = budget;
                    self.activate_one(group, how);
                }
            }
            level = outer;
        }
    }

    /// Deactivates a group in which nothing is left.
    fn stop(&mut self, group: u32) {
        self.deactivate_one(group);
        let it = self.at(group);
        (it.budget, it.service) = (0, 0);
    }

    /// Budget of the entity that is next in `level`; `None` if nobody is.
    fn next_budget(&self, level: u32) -> Option<u64> {
        let class = self.levels[level as usize].classes.iter().find(|class| !class.active.is_empty())?;
        let at = class.next(&self.nodes).1;
        Some(self.entities[at as usize].budget)
    }

    /// The two that decide between a queue and the one in service: they themselves if they are in one group, else the
    /// groups around them that are, or a queue and a group.
    fn rivals(&self, queue: u32, serving: u32) -> [&Entity; 2] {
        let mut new = self.entity_of(queue);
        loop {
            let level = self.entities[new as usize].level;
            if let Some(old) = self.levels[level as usize].serving {
                return [new, old].map(|entity| &self.entities[entity as usize]);
            }
            let Some(group) = level.checked_sub(1) else { return [&self[queue], &self[serving]] };
            new = group;
        }
    }

    /// True if the active `queue`, or its group, would have been chosen before the one in service.
    pub fn precedes(&self, queue: u32, serving: u32) -> bool {
        let [new, old] = self.rivals(queue, serving);
        let now = self.levels[new.level as usize].classes[new.class].now;
        new.class < old.class || new.class == old.class && new.start <= now && new.finish < old.finish
    }

    /// True if `queue`, or its group, is of a higher class than the one in service, or weighs more in the same.
    pub fn outweighs(&self, queue: u32, serving: u32) -> bool {
        let [new, old] = self.rivals(queue, serving);
        new.class < old.class || new.class == old.class && new.weight > old.weight
    }

    /// True if the class decides that `ahead` goes before `waiting`: its own, or that of the group around it which is
    /// beside the other one's.
    pub fn outclasses(&self, ahead: u32, waiting: u32) -> bool {
        let [waits, goes] = match self.serving == Some(ahead) {
            true => self.rivals(waiting, ahead),
            false if self.are_beside(ahead, waiting) => [&self[waiting], &self[ahead]],
            false => return false,
        };
        goes.class < waits.class
    }

    /// True if the two queues are in one group, so that classes and turns of queues decide between them.
    pub fn are_beside(&self, one: u32, other: u32) -> bool {
        self[one].level == self[other].level
    }
}
