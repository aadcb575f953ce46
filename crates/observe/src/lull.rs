//! The longest lull: a time without an answered request in which no judged task runs and nobody waits for a CPU. A
//! replay that has one, and whose recording has none, waits for what was not recorded.

use crate::metrics::Window;
use crate::subject::Subject;
use goodness_core::{Event, Observer, Span, TaskId, Time};

/// Finds the longest lull of a window.
#[derive(Clone, Debug)]
pub struct Lull {
    window: Window,
    /// By task: whether it is judged, and whether it keeps a lull away now.
    tasks: Vec<(bool, bool)>,
    /// Number of tasks that do, and since when there are any, or none.
    awake: u32,
    since: Time,
    /// The lull since the last answered request, and the longest.
    present: Span,
    longest: Span,
}

/// What a task does.
enum Now {
    Runs,
    /// It waits for a CPU.
    Waits,
    Neither,
}

impl Lull {
    /// Observes the tasks that `subjects` describe.
    #[must_use]
    pub fn new(window: Window, subjects: &[Subject]) -> Lull {
        let tasks = subjects.iter().map(|it| (it.judged, false)).collect();
        Lull { window, tasks, awake: 0, since: window.from, present: Span::ZERO, longest: Span::ZERO }
    }

    /// The longest lull. What a lull is interrupted by, other than a request, does not count.
    #[must_use]
    pub fn finish(mut self) -> Span {
        self.advance(self.window.to);
        self.longest
    }

    /// Counts the time up to `at`.
    fn advance(&mut self, at: Time) {
        let at = at.min(self.window.to);
        if self.awake == 0 {
            self.present += at.since(self.since.min(at));
            self.longest = self.longest.max(self.present);
        }
        self.since = self.since.max(at);
    }

    /// From `at` on `task` is `now` at this.
    fn note(&mut self, at: Time, task: TaskId, now: Now) {
        let Some((judged, was_awake)) = self.tasks.get_mut(task.index()) else { return };
        let is_awake = match now {
            Now::Runs => *judged,
            Now::Waits => true,
            Now::Neither => false,
        };
        if std::mem::replace(was_awake, is_awake) != is_awake {
            self.advance(at);
            self.awake = if is_awake { self.awake + 1 } else { self.awake - 1 };
        }
    }
}

impl Observer for Lull {
    fn observe(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Wakeup { task, .. } => self.note(at, task, Now::Waits),
            Event::Switch { prev, off, next, .. } => {
                if let Some(prev) = prev {
                    self.note(at, prev, if off.is_runnable() { Now::Waits } else { Now::Neither });
                }
                if let Some(next) = next {
                    self.note(at, next, Now::Runs);
                }
            }
            Event::Served { .. } => {
                self.advance(at);
                self.present = Span::ZERO;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{CpuId, Off, WakeSource};

    fn wakes(task: u32) -> Event {
        Event::Wakeup { task: TaskId(task), waker: None, cpu: CpuId(0), from: WakeSource::Interrupt }
    }

    fn switch(prev: Option<u32>, off: Off, next: Option<u32>) -> Event {
        Event::Switch { cpu: CpuId(0), prev: prev.map(TaskId), off, next: next.map(TaskId) }
    }

    fn lull(judged: [bool; 2], events: &[(u64, Event)]) -> Span {
        let subjects = judged.map(|judged| Subject { judged, ..Subject::default() });
        let mut lull = Lull::new(Window { from: Time(10), to: Time(110) }, &subjects);
        events.iter().for_each(|(at, event)| lull.observe(Time(*at), event));
        lull.finish()
    }

    #[test]
    fn a_lull_is_a_time_without_requests_in_which_no_judged_task_runs() {
        let served = Event::Served { task: TaskId(0), latency: Span(8) };
        let run = [
            (12, wakes(0)),
            (15, switch(None, Off::Sleeping, Some(0))),
            (20, served),
            (20, switch(Some(0), Off::Sleeping, None)),
            (50, wakes(0)),
            (60, switch(None, Off::Sleeping, Some(0))),
            (65, switch(Some(0), Off::Sleeping, None)),
        ];
        assert_eq!(lull([true, true], &run), Span(30 + 45), "from 20 to 50 and from 65 to the end");
        let answered: Vec<_> = run.into_iter().chain([(70, served)]).collect();
        assert_eq!(lull([true, true], &answered), Span(40), "from 70 on");
        assert_eq!(lull([true, true], &[]), Span(100), "nothing happens");
    }

    #[test]
    fn there_is_no_lull_while_anybody_waits_or_a_judged_task_runs() {
        let runs = [(15, switch(None, Off::Sleeping, Some(1)))];
        assert_eq!(lull([true, false], &runs), Span(100), "another one runs");
        assert_eq!(lull([false, true], &runs), Span(5), "the judged one runs");
        let waits = [(12, wakes(0)), (15, switch(None, Off::Sleeping, Some(1)))];
        assert_eq!(lull([true, false], &waits), Span(2), "the judged one waits");
        assert_eq!(lull([false, false], &waits), Span(2), "another one waits, which may serve a judged one");
    }
}
