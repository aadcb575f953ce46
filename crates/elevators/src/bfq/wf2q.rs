//! B-WF2Q+: selects the next queue by weighted fair queueing.
//!
//! Service is measured in sectors. Each class has a virtual time, which advances by service over the sum of weights. In
//! it, a queue has a start S and a finish F = S + budget / weight. Among eligible queues (S not after the virtual
//! time), the one with the smallest F is next. Classes have strict priority, except for a thin share of the idle class.

use goodness_core::{Span, Time};
use goodness_queues::{Nodes, Tree};

/// Virtual time of one sector at weight 1.
const SECTOR: u64 = 1 << 22;
/// Classes: real-time, best-effort, idle.
pub const CLASSES: usize = 3;
const IDLE: usize = CLASSES - 1;
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

/// Virtual times of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entity {
    place: Place,
    start: u64,
    finish: u64,
    class: usize,
    weight: u64,
    /// Class and weight from the next activation on.
    wanted: (usize, u64),
    /// Sectors it may use before the next decision.
    pub budget: u64,
    /// Sectors of the budget used.
    pub service: u64,
}

impl Entity {
    /// Remaining budget.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.service)
    }

    /// Its weight now.
    pub fn weight(&self) -> u64 {
        self.weight
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

/// State of one class.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    active: Tree,
    idle: Tree,
    now: u64,
    /// Sum of the weights of all queues that are not [`Place::Out`].
    weights: u64,
}

/// All queues of a device.
#[derive(Clone, Debug)]
pub struct Schedule {
    nodes: Nodes<1>,
    classes: [Class; CLASSES],
    entities: Vec<Entity>,
    serving: Option<u32>,
    idle_class_served: Time,
}

impl std::ops::Index<u32> for Schedule {
    type Output = Entity;
    fn index(&self, queue: u32) -> &Entity {
        &self.entities[queue as usize]
    }
}

impl std::ops::IndexMut<u32> for Schedule {
    fn index_mut(&mut self, queue: u32) -> &mut Entity {
        &mut self.entities[queue as usize]
    }
}

impl Schedule {
    /// A schedule without queues.
    pub fn new() -> Schedule {
        Schedule {
            nodes: Nodes::default(),
            classes: Default::default(),
            entities: Vec::new(),
            serving: None,
            idle_class_served: Time::ZERO,
        }
    }

    /// Makes room for queues `0..count`.
    pub fn reserve(&mut self, count: usize) {
        self.nodes.reserve(count);
        if self.entities.len() < count {
            self.entities.resize(count, Entity::default());
        }
    }

    /// The queue that is being served.
    pub fn serving(&self) -> Option<u32> {
        self.serving
    }

    /// Class and weight of a queue from its next activation on.
    pub fn want(&mut self, queue: u32, class: usize, weight: u64) {
        self[queue].wanted = (class, weight);
    }

    /// Applies the queue's new class and weight. The queue must be idle or in service.
    pub fn apply(&mut self, queue: u32) {
        let Entity { place, class, weight, wanted, .. } = self[queue];
        if (class, weight) == wanted {
            return;
        }
        if place != Place::Out {
            self.classes[class].weights -= weight;
            self.classes[wanted.0].weights += wanted.1;
        }
        let now = self.classes[wanted.0].now;
        let entity = &mut self[queue];
        (entity.class, entity.weight) = wanted;
        if class != wanted.0 {
            // Virtual times of two classes have nothing in common.
            (entity.start, entity.finish) = (now, now);
        }
    }

    /// A queue that had no requests and is not being served has one now. Its budget is set.
    pub fn activate(&mut self, queue: u32, how: Return) {
        let Entity { place, finish, class, .. } = self[queue];
        let now = self.classes[class].now;
        let earliest = if how == Return::Late { now } else { now.min(finish) };
        let start = if place == Place::Idle {
            self.classes[class].idle.remove(&mut self.nodes, queue);
            earliest.max(finish)
        } else {
            assert_eq!(place, Place::Out, "queue {queue} is activated once");
            self.classes[class].weights += self[queue].weight;
            earliest
        };
        let entity = &mut self[queue];
        (entity.start, entity.place) = (start, Place::Active);
        self.enter(queue, how);
    }

    /// Adds an active queue to the tree of its class by its start and budget.
    fn enter(&mut self, queue: u32, how: Return) {
        self.apply(queue);
        let now = self.classes[self[queue].class].now;
        let entity = &mut self[queue];
        entity.finish = entity.start + virtual_span(entity.budget, entity.weight);
        if let Return::InTime { raised } = how
            && entity.finish < now
        {
            // Who often comes back in time could fall far behind the virtual time, and would then have the device
            // alone.
            let push = (now - entity.finish) / raised.max(1);
            entity.start += push;
            entity.finish += push;
        }
        let Entity { start, finish, class, .. } = *entity;
        self.classes[class].active.insert(&mut self.nodes, queue, finish as i64, [start as i64]);
    }

    /// Requeues an active or serving queue that has more requests; its next budget is set.
    pub fn requeue(&mut self, queue: u32) {
        let Entity { place, class, .. } = self[queue];
        if place == Place::Serving {
            self.settle(queue);
            self.serving = None;
            self[queue].service = 0;
        } else {
            assert_eq!(place, Place::Active, "queue {queue} has requests");
            self.classes[class].active.remove(&mut self.nodes, queue);
        }
        self[queue].place = Place::Active;
        self.enter(queue, Return::Late);
    }

    /// Advances the start of a served queue by its service.
    fn settle(&mut self, queue: u32) {
        let entity = &mut self[queue];
        entity.finish = entity.start + virtual_span(entity.service, entity.weight);
        entity.start = entity.finish;
    }

    /// Deactivates a queue without further requests. It keeps its finish until the virtual time passes it, so that
    /// leaving gains nothing.
    pub fn deactivate(&mut self, queue: u32) {
        let Entity { place, class, .. } = self[queue];
        if place == Place::Serving {
            self.serving = None;
        } else {
            assert_eq!(place, Place::Active, "queue {queue} has requests");
            self.classes[class].active.remove(&mut self.nodes, queue);
        }
        // A queue not in service may also have used budget, while another one was waited for.
        self.settle(queue);
        let finish = self[queue].finish;
        if finish > self.classes[class].now {
            self.classes[class].idle.insert(&mut self.nodes, queue, finish as i64, [0]);
            self[queue].place = Place::Idle;
        } else {
            self.forget(queue);
        }
    }

    fn forget(&mut self, queue: u32) {
        let Entity { class, weight, .. } = self[queue];
        self.classes[class].weights -= weight;
        self[queue].place = Place::Out;
    }

    /// The queue used `sectors` of its budget.
    pub fn served(&mut self, queue: u32, sectors: u64) {
        let entity = &mut self[queue];
        entity.service += sectors;
        let class = entity.class;
        let weights = self.classes[class].weights;
        self.classes[class].now += virtual_span(sectors, weights);
        self.forget_past(class);
    }

    /// Removes idle queues whose finish the virtual time has passed.
    fn forget_past(&mut self, class: usize) {
        if self.classes[class].active.is_empty() && self.serving.is_none_or(|queue| self[queue].class != class) {
            let Class { idle, now, .. } = self.classes[class];
            let last = idle.last().map_or(0, |queue| self[queue].finish);
            self.classes[class].now = now.max(last);
        }
        while let Some(first) = self.classes[class].idle.first() {
            if self[first].finish > self.classes[class].now {
                return;
            }
            self.classes[class].idle.remove(&mut self.nodes, first);
            self.forget(first);
        }
    }

    /// Starts service of the next queue.
    pub fn serve_next(&mut self, now: Time) -> Option<u32> {
        assert!(self.serving.is_none(), "one queue is served at a time");
        let class = self.next_class(now)?;
        let Class { active, now: at, .. } = self.classes[class];
        let earliest = active.least(&self.nodes, 0).expect("the class has a queue");
        // If no queue has started, the virtual time jumps to the first start.
        let at = at.max(earliest as u64);
        self.classes[class].now = at;
        let queue = active.first_where(&self.nodes, 0, |start| start <= at as i64).0.expect("somebody has started");
        self.classes[class].active.remove(&mut self.nodes, queue);
        self[queue].place = Place::Serving;
        self.serving = Some(queue);
        self.forget_past(class);
        Some(queue)
    }

    /// True if the active `queue` would have been chosen before the one in service.
    pub fn precedes(&self, queue: u32, serving: u32) -> bool {
        let (new, old) = (&self[queue], &self[serving]);
        new.class < old.class
            || new.class == old.class && new.start <= self.classes[new.class].now && new.finish < old.finish
    }

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

    /// Active queues in the order of their finishes, urgent classes first.
    pub fn active(&self) -> impl Iterator<Item = u32> + '_ {
        self.classes.iter().flat_map(|class| class.active.iter(&self.nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues of best effort with these weights and a budget of 100 sectors each, all active.
    fn filled(weights: &[u64]) -> Schedule {
        let mut schedule = Schedule::new();
        schedule.reserve(weights.len());
        for (queue, weight) in (0..).zip(weights) {
            schedule.want(queue, 1, *weight);
            schedule.apply(queue);
            schedule[queue].budget = 100;
            schedule.activate(queue, Return::Late);
        }
        schedule
    }

    /// Serves the next queue for its whole budget.
    fn turn(schedule: &mut Schedule) -> u32 {
        let queue = schedule.serve_next(Time::ZERO).expect("somebody is active");
        schedule.served(queue, 100);
        schedule.requeue(queue);
        queue
    }

    #[test]
    fn queues_with_requests_are_served_in_proportion_to_their_weights_at_all_times() {
        let mut schedule = filled(&[80, 10]);
        let turns: Vec<u32> = (0..90).map(|_| turn(&mut schedule)).collect();
        for (n, _) in turns.iter().enumerate() {
            let ones = turns[..=n].iter().filter(|queue| **queue == 1).count();
            assert!(ones.abs_diff((n + 1) / 9) <= 1, "{ones} of {}", n + 1);
        }
        assert_eq!(turns.iter().filter(|queue| **queue == 1).count(), 10);
    }

    #[test]
    fn a_heavy_queue_does_not_run_ahead_of_its_share() {
        // Plain WFQ would give the first queue its next turns at once, as its finishes are the smallest of all.
        let mut schedule = filled(&[50, 10, 10, 10, 10, 10]);
        let turns: Vec<u32> = (0..10).map(|_| turn(&mut schedule)).collect();
        assert_eq!(turns.iter().filter(|queue| **queue == 0).count(), 5);
        assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    }

    #[test]
    fn nobody_gains_by_leaving_and_coming_back() {
        let mut schedule = filled(&[10, 10]);
        assert_eq!(schedule.serve_next(Time::ZERO), Some(0));
        schedule.served(0, 100);
        schedule.deactivate(0);
        schedule.activate(0, Return::Late);
        assert_eq!(turn(&mut schedule), 1);
        assert_eq!(turn(&mut schedule), 0);
    }

    #[test]
    fn who_comes_back_in_time_begins_where_it_ended() {
        for (how, next) in [(Return::InTime { raised: 1 }, 0), (Return::Late, 1)] {
            let mut schedule = filled(&[10, 10, 10]);
            assert_eq!(schedule.serve_next(Time::ZERO), Some(0));
            schedule.served(0, 10);
            schedule.deactivate(0);
            for queue in [1, 2, 1, 2] {
                assert_eq!(turn(&mut schedule), queue);
            }
            let (v, finish) = (schedule.classes[1].now, schedule[0].finish);
            assert!(finish < v);
            schedule[0].service = 0;
            schedule.activate(0, how);
            assert!(schedule[0].finish >= v, "pushed up to the virtual time");
            assert_eq!(turn(&mut schedule), next);
        }
    }

    #[test]
    fn classes_precede_each_other_but_idle_gets_a_turn_after_200_ms_without() {
        let mut schedule = filled(&[10, 10, 10]);
        for (queue, class) in [(0, 0), (2, IDLE)] {
            schedule.deactivate(queue);
            schedule.want(queue, class, 10);
            schedule.activate(queue, Return::Late);
        }
        let mut at = |ms| {
            let queue = schedule.serve_next(Time(Span::from_ms(ms).0)).expect("somebody is active");
            schedule.served(queue, 100);
            schedule.requeue(queue);
            queue
        };
        assert_eq!([0, 200, 201, 202, 401, 402].map(&mut at), [0, 0, 2, 0, 0, 2]);
    }

    #[test]
    fn a_weight_changed_during_service_counts_from_the_next_sector() {
        let mut schedule = filled(&[10, 10]);
        let first = schedule.serve_next(Time::ZERO).expect("two are active");
        schedule.want(first, 1, 30);
        schedule.apply(first);
        let before = schedule.classes[1].now;
        schedule.served(first, 100);
        assert_eq!(schedule.classes[1].now - before, 100 * SECTOR / 40);
    }
}
