//! Groups in the schedule: each follows what changes in it, and decides for its queues among what is beside it.

use super::{Entity, Place, Return, Schedule};

/// Levels of priority in a class.
const LEVELS_OF_CLASS: u64 = 8;

/// Slots that an entity may have.
struct Part {
    slots: u64,
    /// It, or one around it, holds as many.
    is_used_up: bool,
}

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

    /// Changes the number of requests that a queue, and each group around it, holds.
    pub fn hold(&mut self, queue: u32, change: impl Fn(u32) -> u32) {
        let mut entity = self.entity_of(queue);
        loop {
            let it = self.at(entity);
            it.held = change(it.held);
            let Some(group) = it.level.checked_sub(1) else { return };
            entity = group;
        }
    }

    /// True if a queue or a group around it holds its part of `slots` or more. Parts are by weight among all beside it
    /// that have a share of the present. One without such a share may have more, so that it comes to have one.
    pub fn holds_its_part(&self, queue: u32, slots: u32) -> bool {
        self.part(self.entity_of(queue), slots).is_some_and(|part| part.is_used_up)
    }

    /// The part of an entity: that of `slots` which the group around it has, by its weight.
    fn part(&self, entity: u32, slots: u32) -> Option<Part> {
        let Entity { place, level, class, weight, held, .. } = self.entities[entity as usize];
        if place == Place::Out {
            return None;
        }
        let outer = match level.checked_sub(1) {
            Some(group) => self.part(group, slots)?,
            None => Part { slots: u64::from(slots), is_used_up: false },
        };
        let classes = &self.levels[level as usize].classes;
        let all = match self.queue_of(entity) {
            // A lower class gets less than the lowest weight of a higher one.
            Some(_) => classes[..=class].iter().fold(0, |all, class| LEVELS_OF_CLASS * all + class.weights),
            None => classes[class].weights,
        };
        let slots = (outer.slots * weight + all / 2) / all;
        Some(Part { slots, is_used_up: outer.is_used_up || u64::from(held) >= slots })
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
