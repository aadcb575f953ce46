//! Run queues of numbered levels: a FIFO list for each level and a bitmap that finds the first one with a task.
//!
//! Level 0 is served first. Several `Levels` may share their links, so that a task costs one link however many queues
//! there are. Every operation takes constant time, except looking past tasks that may not run on a CPU.

use goodness_core::{Context, CpuId, Effort, TaskId};
use goodness_queues::{Bitmap, Links, List};

/// One queue of up to `64 * WORDS` levels.
#[derive(Clone, Debug)]
pub(crate) struct Levels<const WORDS: usize> {
    lists: Box<[List]>,
    filled: Bitmap<WORDS>,
    count: usize,
}

impl<const WORDS: usize> Levels<WORDS> {
    /// An empty queue of `levels` levels.
    pub fn new(levels: usize) -> Levels<WORDS> {
        debug_assert!(levels <= 64 * WORDS);
        Levels { lists: vec![List::default(); levels].into(), filled: Bitmap::default(), count: 0 }
    }

    /// Tasks on all levels.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    #[inline]
    fn note(&mut self, level: usize) {
        self.filled.set(level);
        self.count += 1;
    }

    /// Queues `task` behind its equals.
    #[inline]
    pub fn push_back(&mut self, links: &mut Links, level: usize, task: TaskId) {
        self.lists[level].push_back(links, task.0);
        self.note(level);
    }

    /// Queues `task` before its equals.
    #[inline]
    pub fn push_front(&mut self, links: &mut Links, level: usize, task: TaskId) {
        self.lists[level].push_front(links, task.0);
        self.note(level);
    }

    /// Removes `task` from the list of `level`, on which it must be.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, level: usize, task: TaskId) {
        let list = &mut self.lists[level];
        list.remove(links, task.0);
        self.count -= 1;
        if list.is_empty() {
            self.filled.clear(level);
        }
    }

    /// The best level with a task.
    #[inline]
    pub fn best(&self) -> Option<usize> {
        self.filled.first()
    }

    /// The best level with a task that is not below `level`.
    #[inline]
    pub fn best_from(&self, level: usize) -> Option<usize> {
        self.filled.first_from(level)
    }

    /// The first task of `level`.
    #[inline]
    pub fn front(&self, level: usize) -> Option<TaskId> {
        self.lists[level].front().map(TaskId)
    }

    /// All tasks in the order in which they would be served.
    pub fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = TaskId> + 'a {
        let levels = std::iter::successors(self.filled.first(), |level| self.filled.first_from(level + 1));
        levels.flat_map(|level| self.lists[level].iter(links)).map(TaskId)
    }

    /// Removes the first task that may run on `cpu`. Returns it with its level.
    #[inline]
    pub fn take_allowed(&mut self, links: &mut Links, cx: &Context, cpu: CpuId) -> Option<(usize, TaskId)> {
        let best = self.filled.first()?;
        let first = self.front(best)?;
        if !cx.tasks.may_run(first, cpu) {
            return self.search_allowed(links, cx, cpu);
        }
        cx.examined(Effort::Search, 1);
        self.remove(links, best, first);
        Some((best, first))
    }

    /// Like `take_allowed`, by examining one task after the other.
    #[cold]
    fn search_allowed(&mut self, links: &mut Links, cx: &Context, cpu: CpuId) -> Option<(usize, TaskId)> {
        let mut level = self.filled.first();
        while let Some(at) = level {
            let found = self.lists[at].iter(links).map(TaskId).find(|task| {
                cx.examined(Effort::Search, 1);
                cx.tasks.may_run(*task, cpu)
            });
            if let Some(task) = found {
                self.remove(links, at, task);
                return Some((at, task));
            }
            level = self.filled.first_from(at + 1);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_served_in_order_and_each_from_its_head() {
        let (mut links, mut levels) = (Links::default(), Levels::<3>::new(170));
        links.reserve(5);
        for (task, level) in [(0, 169), (1, 64), (2, 3), (3, 64)] {
            levels.push_back(&mut links, level, TaskId(task));
        }
        levels.push_front(&mut links, 64, TaskId(4));
        assert_eq!(levels.iter(&links).map(|t| t.0).collect::<Vec<_>>(), [2, 4, 1, 3, 0]);
        levels.remove(&mut links, 3, TaskId(2));
        assert_eq!((levels.len(), levels.best(), levels.front(64)), (4, Some(64), Some(TaskId(4))));
        assert_eq!(levels.best_from(65), Some(169));
    }
}
