//! B-WF2Q+: selects the next queue by weighted fair queueing.
//!
//! Service is measured in sectors. Each class has a virtual time, which advances by service over the sum of weights. In
//! it, a queue has a start S and a finish F = S + budget / weight. Among eligible queues (S not after the virtual
//! time), the one with the smallest F is next. Classes have strict priority, except for a thin share of the idle class.
//!
//! ```text
//! level of the root ── queue, queue, group ──┐       a group is served as the queue that is next in it, and is charged
//!                                            └─ level of the group ── queue, group ── …        for that one's service
//! ```
//!
//! A group has classes and virtual times of its own, its *level*, and is in that of the group around it as a queue is:
//! with its weight, as best effort, and a budget that is that of its next queue.

mod groups;
#[cfg(test)]
mod tests;

use goodness_core::{Span, Time};
use goodness_queues::{Links, List, Nodes, Tree};

/// Virtual time of one sector at weight 1.
const SECTOR: u64 = 1 << 22;
/// Classes: real-time, best-effort, idle.
pub const CLASSES: usize = 3;
const IDLE: usize = CLASSES - 1;
/// Every group is best effort among those beside it.
const GROUP_CLASS: usize = 1;
/// The idle class is served after so long without.
const IDLE_UNSERVED: Span = Span::from_ms(200);

fn virtual_span(sectors: u64, weight: u64) -> u64 {
    sectors * SECTOR / weight
}

/// The list that holds a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nowhere: its share of the past is forgotten.
    #[default]
    Out,
    /// It has requests.
    Active,
    /// It has none, and the virtual time has not reached its finish.
    Idle,
    /// It is being served.
    Serving,
}

/// Virtual times of one queue or group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entity {
    place: Place,
    start: u64,
    finish: u64,
    /// The level it is in.
    level: u32,
    class: usize,
    weight: u64,
    /// Class and weight from the next activation on.
    wanted: (usize, u64),
    /// Sectors it may use before the next decision.
    pub budget: u64,
    /// Sectors of the budget used.
    pub service: u64,
    /// Its requests, from their insertion to their completion.
    held: u32,
}

impl Entity {
    /// Remaining budget.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.service)
    }

    /// Its weight now.
    #[cfg(test)]
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The group it is in.
    pub fn group(&self) -> u32 {
        self.level
    }

    /// Its class now.
    pub fn class(&self) -> usize {
        self.class
    }
}

/// Reactivation of a queue without requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// Like any other.
    Late,
    /// Its request was waited for without blocking others and came in time: it may start where it finished, in the
    /// past. The gain is compensated by its weight.
    InTime {
        /// Times its own weight.
        raised: u64,
    },
}

/// Weight of a group, and the number of the one around it; 0 is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Weight among the queues and groups beside it.
    pub weight: u64,
    /// The group around it, which comes before it.
    pub parent: u32,
}

/// State of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    active: Tree,
    idle: Tree,
    now: u64,
    /// Sum of the weights of all queues that are not [`Place::Out`].
    weights: u64,
}

/// The queues of one group and the groups within it.
#[derive(Clone, Debug, Default)]
struct Level {
    classes: [Class; CLASSES],
    /// The entity in service.
    serving: Option<u32>,
    idle_class_served: Time,
}

/// All queues of a device.
#[derive(Clone, Debug)]
pub struct Schedule {
    nodes: Nodes<1>,
    /// By group; the root comes first.
    levels: Vec<Level>,
    /// Those of the groups without the root, then those of the queues.
    entities: Vec<Entity>,
    serving: Option<u32>,
    /// Active queues of all groups; the one that became active, or got another place, last comes first.
    recent: List,
    links: Links,
}

impl std::ops::Index<u32> for Schedule {
    type Output = Entity;
    fn index(&self, queue: u32) -> &Entity {
        &self.entities[self.entity_of(queue) as usize]
    }
}

impl std::ops::IndexMut<u32> for Schedule {
    fn index_mut(&mut self, queue: u32) -> &mut Entity {
        let entity = self.entity_of(queue);
        self.at(entity)
    }
}

impl Schedule {
    /// A schedule without queues, of the root and these groups.
    pub fn new(groups: &[Share]) -> Schedule {
        let entity = |group: &Share| Entity {
            level: group.parent,
            class: GROUP_CLASS,
            weight: group.weight,
            wanted: (GROUP_CLASS, group.weight),
            ..Entity::default()
        };
        let (mut nodes, mut links) = (Nodes::default(), Links::default());
        nodes.reserve(groups.len());
        links.reserve(groups.len());
        Schedule {
            nodes,
            levels: vec![Level::default(); 1 + groups.len()],
            entities: groups.iter().map(entity).collect(),
            serving: None,
            recent: List::default(),
            links,
        }
    }

    /// Makes room for queues `0..count`.
    pub fn reserve(&mut self, count: usize) {
        let count = count + self.groups() as usize;
        self.nodes.reserve(count);
        self.links.reserve(count);
        if self.entities.len() < count {
            self.entities.resize(count, Entity::default());
        }
    }

    /// Groups without the root.
    fn groups(&self) -> u32 {
        self.levels.len() as u32 - 1
    }

    fn entity_of(&self, queue: u32) -> u32 {
        queue + self.groups()
    }

    /// The queue of an entity; `None` for a group.
    fn queue_of(&self, entity: u32) -> Option<u32> {
        entity.checked_sub(self.groups())
    }

    fn at(&mut self, entity: u32) -> &mut Entity {
        &mut self.entities[entity as usize]
    }

    fn class(&mut self, level: u32, class: usize) -> &mut Class {
        &mut self.levels[level as usize].classes[class]
    }

    /// The queue that is being served.
    pub fn serving(&self) -> Option<u32> {
        self.serving
    }

    /// The group that a queue is in.
    pub fn group(&self, queue: u32) -> u32 {
        self[queue].group()
    }

    /// Class and weight of a queue from its next activation on.
    pub fn want(&mut self, queue: u32, class: usize, weight: u64) {
        self[queue].wanted = (class, weight);
    }

    /// Applies the queue's new class and weight. The queue must be idle or in service.
    pub fn apply(&mut self, queue: u32) {
        self.apply_to(self.entity_of(queue));
    }

    fn apply_to(&mut self, entity: u32) {
        let Entity { place, level, class, weight, wanted, .. } = self.entities[entity as usize];
        if (class, weight) == wanted {
            return;
        }
        if place != Place::Out {
            self.class(level, class).weights -= weight;
            self.class(level, wanted.0).weights += wanted.1;
        }
        let now = self.class(level, wanted.0).now;
        let it = self.at(entity);
        (it.class, it.weight) = wanted;
        if class != wanted.0 {
            // Virtual times of two classes have nothing in common.
            (it.start, it.finish) = (now, now);
        }
    }

    /// A queue that had no requests and is not being served has one now. Its budget is set.
    pub fn activate(&mut self, queue: u32, how: Return) {
        self.activate_one(self.entity_of(queue), how);
        // Only a queue is raised.
        let how = if how == Return::Late { how } else { Return::InTime { raised: 1 } };
        self.follow(self[queue].level, how);
    }

    fn activate_one(&mut self, entity: u32, how: Return) {
        let Entity { place, finish, level, class, weight, .. } = self.entities[entity as usize];
        let now = self.class(level, class).now;
        let earliest = if how == Return::Late { now } else { now.min(finish) };
        let start = if place == Place::Idle {
            self.levels[level as usize].classes[class].idle.remove(&mut self.nodes, entity);
            earliest.max(finish)
        } else {
            assert_eq!(place, Place::Out, "entity {entity} is activated once");
            self.class(level, class).weights += weight;
            earliest
        };
        let it = self.at(entity);
        (it.start, it.place) = (start, Place::Active);
        self.enter(entity, how);
    }

    /// Adds an active queue to the tree of its class by its start and budget.
    fn enter(&mut self, entity: u32, how: Return) {
        self.apply_to(entity);
        let Entity { level, class, .. } = self.entities[entity as usize];
        let now = self.class(level, class).now;
        let it = self.at(entity);
        it.finish = it.start + virtual_span(it.budget, it.weight);
        if let Return::InTime { raised } = how
            && it.finish < now
        {
            // Who often comes back in time could fall far behind the virtual time, and would then have the device
            // alone.
            let push = (now - it.finish) / raised.max(1);
            it.start += push;
            it.finish += push;
        }
        let (start, finish) = (it.start, it.finish);
        let active = &mut self.levels[level as usize].classes[class].active;
        active.insert(&mut self.nodes, entity, finish as i64, [start as i64]);
        if self.queue_of(entity).is_some() {
            self.recent.push_front(&mut self.links, entity);
        }
    }

    /// Takes an active entity out of the tree of its class.
    fn extract(&mut self, entity: u32) {
        let Entity { level, class, .. } = self.entities[entity as usize];
        self.levels[level as usize].classes[class].active.remove(&mut self.nodes, entity);
        if self.queue_of(entity).is_some() {
            self.recent.remove(&mut self.links, entity);
        }
    }

    /// Requeues an active or serving queue that has more requests; its next budget is set.
    pub fn requeue(&mut self, queue: u32) {
        self.requeue_one(self.entity_of(queue));
        self.follow_service(queue);
    }

    fn requeue_one(&mut self, entity: u32) {
        self.take_out(entity, true);
        self.at(entity).place = Place::Active;
        self.enter(entity, Return::Late);
    }

    /// Ends the service of an entity, or takes it out of the tree of active ones. What one in service has used counts,
    /// if it `stays`.
    fn take_out(&mut self, entity: u32, stays: bool) {
        let Entity { place, level, .. } = self.entities[entity as usize];
        if place != Place::Serving {
            assert_eq!(place, Place::Active, "entity {entity} has requests");
            self.extract(entity);
            return;
        }
        self.levels[level as usize].serving = None;
        if stays {
            self.settle(entity);
            self.at(entity).service = 0;
        }
    }

    /// Advances the start of a served queue by its service.
    fn settle(&mut self, entity: u32) {
        let it = self.at(entity);
        it.finish = it.start + virtual_span(it.service, it.weight);
        it.start = it.finish;
    }

    /// Deactivates a queue without further requests. It keeps its finish until the virtual time passes it, so that
    /// leaving gains nothing.
    pub fn deactivate(&mut self, queue: u32) {
        self.deactivate_one(self.entity_of(queue));
        self.follow_service(queue);
    }

    fn deactivate_one(&mut self, entity: u32) {
        self.take_out(entity, false);
        // A queue not in service may also have used budget, while another one was waited for.
        self.settle(entity);
        let Entity { finish, level, class, .. } = self.entities[entity as usize];
        if finish > self.class(level, class).now {
            self.levels[level as usize].classes[class].idle.insert(&mut self.nodes, entity, finish as i64, [0]);
            self.at(entity).place = Place::Idle;
        } else {
            self.forget(entity);
        }
    }

    fn forget(&mut self, entity: u32) {
        let Entity { level, class, weight, .. } = self.entities[entity as usize];
        self.class(level, class).weights -= weight;
        self.at(entity).place = Place::Out;
    }

    /// Moves a queue that is not in service to another group, where it gains and loses nothing.
    pub fn moves(&mut self, queue: u32, group: u32) {
        assert_ne!(self.serving, Some(queue), "its service has ended");
        let was_active = self[queue].place == Place::Active;
        if was_active {
            self.deactivate(queue);
        }
        let entity = self.entity_of(queue);
        let Entity { place, level, class, .. } = self.entities[entity as usize];
        if place == Place::Idle {
            self.levels[level as usize].classes[class].idle.remove(&mut self.nodes, entity);
            self.forget(entity);
        }
        let held = self.entities[entity as usize].held;
        self.hold(queue, |all| all - held);
        let it = self.at(entity);
        (it.level, it.held) = (group, 0);
        self.hold(queue, |all| all + held);
        if was_active {
            self.at(entity).service = 0;
            self.activate(queue, Return::Late);
        }
    }

    /// The queue used `sectors` of its budget, and so did the groups that it is in.
    pub fn served(&mut self, queue: u32, sectors: u64) {
        let mut entity = self.entity_of(queue);
        loop {
            let it = self.at(entity);
            it.service += sectors;
            let (level, class) = (it.level, it.class);
            let weights = self.class(level, class).weights;
            self.class(level, class).now += virtual_span(sectors, weights);
            self.forget_past(level, class);
            let Some(group) = level.checked_sub(1) else { return };
            entity = group;
        }
    }

    /// Removes idle queues whose finish the virtual time has passed.
    fn forget_past(&mut self, level: u32, class: usize) {
        let Level { classes, serving, .. } = &self.levels[level as usize];
        let Class { active, idle, now, .. } = classes[class];
        if active.is_empty() && serving.is_none_or(|entity| self.entities[entity as usize].class != class) {
            let last = idle.last().map_or(0, |entity| self.entities[entity as usize].finish);
            self.class(level, class).now = now.max(last);
        }
        while let Some(first) = self.class(level, class).idle.first() {
            if self.entities[first as usize].finish > self.class(level, class).now {
                return;
            }
            self.levels[level as usize].classes[class].idle.remove(&mut self.nodes, first);
            self.forget(first);
        }
    }

    /// Starts service of the next queue.
    pub fn serve_next(&mut self, now: Time) -> Option<u32> {
        assert!(self.serving.is_none(), "one queue is served at a time");
        let mut level = 0;
        while self.serving.is_none() {
            let next = self.serve_in(level, now)?;
            self.serving = self.queue_of(next);
            level = next + 1;
        }
        self.serving
    }

    /// Starts service of the next queue or group of `level`.
    fn serve_in(&mut self, level: u32, now: Time) -> Option<u32> {
        let class = self.levels[level as usize].next_class(now)?;
        let (at, next) = self.levels[level as usize].classes[class].next(&self.nodes);
        self.extract(next);
        let it = &mut self.levels[level as usize];
        it.classes[class].now = at;
        it.serving = Some(next);
        self.at(next).place = Place::Serving;
        self.forget_past(level, class);
        Some(next)
    }

    /// Active queues of all classes and groups, the one that became active or got another place last before the others.
    pub fn active(&self) -> impl Iterator<Item = u32> + '_ {
        self.recent.iter(&self.links).filter_map(|entity| self.queue_of(entity))
    }
}

impl Class {
    /// The virtual time at which the next entity is chosen, and that one. If nobody has started, the time jumps to the
    /// first start.
    fn next(&self, nodes: &Nodes<1>) -> (u64, u32) {
        let earliest = self.active.least(nodes, 0).expect("the class has a queue");
        let at = self.now.max(earliest as u64);
        (at, self.active.first_where(nodes, 0, |start| start <= at as i64).0.expect("somebody has started"))
    }
}

impl Level {
    fn next_class(&mut self, now: Time) -> Option<usize> {
        if now.since(self.idle_class_served) > IDLE_UNSERVED {
            self.idle_class_served = now;
            if !self.classes[IDLE].active.is_empty() {
                return Some(IDLE);
            }
        }
        let class = self.classes.iter().position(|class| !class.active.is_empty())?;
        if class == IDLE {
            self.idle_class_served = now;
        }
        Some(class)
    }
}
