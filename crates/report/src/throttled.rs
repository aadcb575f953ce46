//! Times in which tasks that want to run are out of quota.

use crate::timeline::Timeline;
use goodness_core::TaskId;

/// A time in which a task was runnable, and a limit on its group kept it from running. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// The task.
    pub task: TaskId,
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub to: u64,
}

impl Timeline {
    /// The timeline with these times, as far as it reaches.
    #[must_use]
    pub fn with_throttled(mut self, mut throttled: Vec<Throttled>) -> Timeline {
        let end = self.end;
        throttled.iter_mut().for_each(|it| it.to = it.to.min(end));
        throttled.retain(|it| it.from < it.to);
        throttled.sort_unstable_by_key(|it| (it.from, it.task));
        self.throttled = throttled;
        self
    }
}

#[test]
fn the_end_of_the_timeline_cuts_them() {
    let at = |from, to| Throttled { task: TaskId(1), from, to };
    let timeline = Timeline { end: 10, ..Timeline::default() };
    assert_eq!(timeline.with_throttled(vec![at(8, 12), at(2, 5), at(10, 11)]).throttled, [at(2, 5), at(8, 10)]);
}
