//! The priority array of Linux 2.6.0 to 2.6.22: a FIFO list for each priority and a bitmap that finds the best one.
//!
//! Source: specs section 2.1 and 3.1. Priorities 0 to 99 are real-time (0 best), 100 to 139 normal; 140 is the level of
//! staircase's batch tasks. Every operation takes constant time.

use goodness_core::{Context, Reason, TaskId};
use goodness_queues::{Bitmap, Links, List};

/// One level more than the kernel's 140.
pub(crate) const LEVELS: usize = 141;
/// Normal priorities of nice −20 and +19.
pub(crate) const BEST_USER_PRIO: u8 = 100;
pub(crate) const WORST_USER_PRIO: u8 = 139;

/// The rule by which `ahead` runs before `waiting`, of which each has a priority, on one array.
pub(crate) fn urgency(cx: &Context, ahead: (TaskId, u8), waiting: (TaskId, u8)) -> Reason {
    let (is_realtime, other) = (ahead.1 < BEST_USER_PRIO, waiting.1);
    if is_realtime && other >= BEST_USER_PRIO {
        return Reason::Class { ahead: cx.tasks.class(ahead.0), waiting: cx.tasks.class(waiting.0) };
    }
    // Larger is more urgent, as in SCHED_FIFO.
    let urgency = |prio: u8| i32::from(WORST_USER_PRIO) - i32::from(prio);
    match ahead.1.cmp(&other) {
        std::cmp::Ordering::Less => Reason::Priority { ahead: urgency(ahead.1), waiting: urgency(other) },
        std::cmp::Ordering::Equal => Reason::First,
        std::cmp::Ordering::Greater => Reason::AwaitsTick,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct PrioArray {
    lists: [List; LEVELS],
    filled: Bitmap<3>,
    count: u32,
}

impl Default for PrioArray {
    fn default() -> Self {
        PrioArray { lists: [List::default(); LEVELS], filled: Bitmap::default(), count: 0 }
    }
}

impl PrioArray {
    /// Tasks on all lists.
    #[inline]
    pub fn len(&self) -> u32 {
        self.count
    }

    #[inline]
    fn note(&mut self, prio: u8) {
        self.filled.set(usize::from(prio));
        self.count += 1;
    }

    #[inline]
    pub fn push_back(&mut self, links: &mut Links, prio: u8, task: TaskId) {
        self.lists[usize::from(prio)].push_back(links, task.0);
        self.note(prio);
    }

    pub fn push_front(&mut self, links: &mut Links, prio: u8, task: TaskId) {
        self.lists[usize::from(prio)].push_front(links, task.0);
        self.note(prio);
    }

    /// Inserts `task` before `place`, which is on the list of `prio`.
    pub fn insert_before(&mut self, links: &mut Links, prio: u8, place: TaskId, task: TaskId) {
        self.lists[usize::from(prio)].insert_before(links, place.0, task.0);
        self.note(prio);
    }

    #[inline]
    pub fn remove(&mut self, links: &mut Links, prio: u8, task: TaskId) {
        let list = &mut self.lists[usize::from(prio)];
        list.remove(links, task.0);
        self.count -= 1;
        if list.is_empty() {
            self.filled.clear(usize::from(prio));
        }
    }

    /// Puts `task`, which is on the list of `before`, at the end of the list of `prio`.
    #[inline]
    pub fn put_behind_equals(&mut self, links: &mut Links, task: TaskId, before: u8, prio: u8) {
        if prio == before {
            self.lists[usize::from(prio)].move_to_back(links, task.0);
        } else {
            self.remove(links, before, task);
            self.push_back(links, prio, task);
        }
    }

    /// The task at the head of the best list.
    #[inline]
    pub fn first(&self) -> Option<TaskId> {
        let prio = self.filled.first()?;
        self.lists[prio].front().map(TaskId)
    }

    /// The tasks of the best list, from its head.
    pub fn best_list<'a>(&self, links: &'a Links) -> impl Iterator<Item = TaskId> + use<'a> {
        let best = self.filled.first().map_or(List::default(), |prio| self.lists[prio]);
        best.iter(links).map(TaskId)
    }

    /// The task at the head of the list of `prio`.
    pub fn front_of(&self, prio: u8) -> Option<TaskId> {
        self.lists[usize::from(prio)].front().map(TaskId)
    }

    /// All tasks in the order in which balancing tries them: best list first, each list from its tail.
    pub fn coldest_first<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = TaskId> + 'a {
        self.lists.iter().filter(|list| !list.is_empty()).flat_map(|list| list.iter_back(links)).map(TaskId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_list_is_served_from_its_head_and_robbed_from_its_tail() {
        let (mut links, mut array) = (Links::default(), PrioArray::default());
        links.reserve(5);
        for (task, prio) in [(0, 120), (1, 140), (2, 120), (3, 99)] {
            array.push_back(&mut links, prio, TaskId(task));
        }
        array.insert_before(&mut links, 120, TaskId(2), TaskId(4));
        assert_eq!(array.coldest_first(&links).map(|t| t.0).collect::<Vec<_>>(), [3, 2, 4, 0, 1]);
        let mut served = Vec::new();
        while let Some(task) = array.first() {
            served.push(task.0);
            array.remove(&mut links, [120, 140, 120, 99, 120][task.index()], task);
        }
        assert_eq!((served, array.len()), (vec![3, 0, 4, 2, 1], 0));
    }
}
