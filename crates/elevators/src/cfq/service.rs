//! The order of service: lists of queues with waiting requests.

use super::queue::{LEVELS, Queue, ServiceList};
use goodness_core::IoClass;
use goodness_queues::{Links, List};

/// The service lists, and the order of levels: 0; 0, 1; 0, 1, 2; up to 0 to 7; then from the start.
#[derive(Debug, Default)]
pub struct Service {
    links: Links,
    current: List,
    levels: [List; LEVELS],
    busy: List,
    idle: List,
    /// The level that is visited next, and the last one of this round.
    level: usize,
    last: usize,
    /// Queues on any list.
    queues: usize,
}

impl Service {
    /// Makes room for queues `0..count`.
    pub fn reserve(&mut self, count: usize) {
        self.links.reserve(count);
    }

    /// Queues with waiting requests.
    #[inline]
    pub fn queues(&self) -> usize {
        self.queues
    }

    fn list(&mut self, place: ServiceList) -> &mut List {
        match place {
            ServiceList::Current => &mut self.current,
            ServiceList::Level(level) => &mut self.levels[usize::from(level)],
            ServiceList::Busy => &mut self.busy,
            ServiceList::Idle => &mut self.idle,
        }
    }

    /// Removes a queue from its list.
    pub fn remove(&mut self, queues: &mut [Queue], number: u32) {
        if let Some(place) = queues[number as usize].place.take() {
            let mut list = *self.list(place);
            list.remove(&mut self.links, number);
            *self.list(place) = list;
            self.queues -= 1;
        }
    }

    /// Inserts a queue in order: before those served later.
    pub fn sort_in(&mut self, queues: &mut [Queue], number: u32) {
        self.remove(queues, number);
        let queue = &queues[number as usize];
        let place = match queue.priority.class {
            IoClass::RealTime => ServiceList::Current,
            IoClass::Idle => ServiceList::Idle,
            IoClass::BestEffort if queue.dispatched > 0 => ServiceList::Busy,
            IoClass::BestEffort => ServiceList::Level(queue.priority.level),
        };
        let mut list = *self.list(place);
        if place == ServiceList::Busy {
            list.push_back(&mut self.links, number);
        } else {
            let was_served_later = |other: &u32| {
                let other = queues[*other as usize].served;
                other.is_some() && other >= queue.served
            };
            let before = list.iter_back(&self.links).take_while(was_served_later).last();
            match before {
                Some(before) => list.insert_before(&mut self.links, before, number),
                None => list.push_back(&mut self.links, number),
            }
        }
        *self.list(place) = list;
        queues[number as usize].place = Some(place);
        self.queues += 1;
    }

    /// The next real-time or best-effort queue, if any.
    pub fn first(&mut self, queues: &mut [Queue]) -> Option<u32> {
        if self.current.is_empty() {
            self.visit_level(queues);
        }
        self.current.front().or(self.busy.front())
    }

    /// The queue of the idle class that is next.
    pub fn first_idle(&self) -> Option<u32> {
        self.idle.front()
    }

    /// Moves the next level that has queues to the current list.
    fn visit_level(&mut self, queues: &mut [Queue]) {
        let mut has_wrapped = false;
        let found = loop {
            let mut levels = self.level..=self.last;
            if let Some(found) = levels.find(|level| !self.levels[*level].is_empty()) {
                break found;
            }
            self.level = 0;
            self.last += 1;
            if self.last == LEVELS {
                self.last = 0;
                if has_wrapped {
                    return;
                }
                has_wrapped = true;
            }
        };
        self.current = std::mem::take(&mut self.levels[found]);
        for number in self.current.iter(&self.links) {
            queues[number as usize].place = Some(ServiceList::Current);
        }
        self.level = found + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::IoPriority;

    fn queues(priorities: &[(IoClass, u8)]) -> (Service, Vec<Queue>) {
        let mut service = Service::default();
        service.reserve(priorities.len());
        let queue = |(class, level): &(IoClass, u8)| Queue::new(true, IoPriority { class: *class, level: *level }, 0);
        (service, priorities.iter().map(queue).collect())
    }

    #[test]
    fn levels_are_visited_in_growing_rounds() {
        let (mut service, mut queues) = queues(&(0..8).map(|level| (IoClass::BestEffort, level)).collect::<Vec<_>>());
        (0..8).for_each(|number| service.sort_in(&mut queues, number));
        let mut visited = String::new();
        for _ in 0..40 {
            let number = service.first(&mut queues).expect("all have work");
            visited += &number.to_string();
            service.sort_in(&mut queues, number);
        }
        assert_eq!(visited, "0010120123012340123450123456012345670010");
    }

    #[test]
    fn real_time_is_always_current_and_idle_never() {
        let (mut service, mut queues) = queues(&[(IoClass::BestEffort, 0), (IoClass::RealTime, 7), (IoClass::Idle, 7)]);
        (0..3).for_each(|number| service.sort_in(&mut queues, number));
        for _ in 0..5 {
            assert_eq!(service.first(&mut queues), Some(1));
            service.sort_in(&mut queues, 1);
        }
        service.remove(&mut queues, 1);
        assert_eq!((service.first(&mut queues), service.first_idle()), (Some(0), Some(2)));
        service.remove(&mut queues, 0);
        assert_eq!((service.first(&mut queues), service.queues()), (None, 1));
    }

    #[test]
    fn a_level_is_sorted_by_last_service_and_new_queues_come_first() {
        let (mut service, mut queues) = queues(&[(IoClass::BestEffort, 4); 5]);
        let served = [Some(30), None, Some(10), None, Some(20)];
        for number in 0..5 {
            queues[number as usize].served = served[number as usize];
            service.sort_in(&mut queues, number);
        }
        service.visit_level(&mut queues);
        assert!(service.current.iter(&service.links).eq([1, 3, 2, 4, 0]));
    }

    #[test]
    fn who_has_requests_in_flight_comes_after_all_levels() {
        let (mut service, mut queues) = queues(&[(IoClass::BestEffort, 0), (IoClass::BestEffort, 7)]);
        queues[0].dispatched = 1;
        (0..2).for_each(|number| service.sort_in(&mut queues, number));
        assert_eq!(service.first(&mut queues), Some(1));
        service.remove(&mut queues, 1);
        assert_eq!(service.first(&mut queues), Some(0));
    }
}
