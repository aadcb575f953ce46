//! The longest lull: a time without an answered request in which no judged task wanted a CPU. A replay that has one and
//! whose recording has none waits for what was not recorded.

use crate::metrics::Window;
use crate::subject::Subject;
use goodness_core::{Event, Observer, Span, TaskId, Time};

/// Finds the longest lull of a window.
#[derive(Clone, Debug)]
pub struct Lull {
    window: Window,
    judged: Vec<bool>,
    /// By task: true if it runs or waits for a CPU, and is judged.
    wants: Vec<bool>,
    /// Number of those, and since when there are any, or none.
    wanting: u32,
    since: Time,
    /// The present stretch without a request: how long no judged task wanted a CPU so far.
    quiet: Span,
    longest: Span,
}

impl Lull {
    /// Observes tasks that are described by `subjects`, or come of such a task.
    #[must_use]
    pub fn new(window: Window, subjects: &[Subject]) -> Lull {
        let judged = subjects.iter().map(|it| it.judged).collect();
        let (quiet, longest) = (Span::ZERO, Span::ZERO);
        Lull { window, judged, wants: Vec::new(), wanting: 0, since: window.from, quiet, longest }
    }

    /// The longest lull, without the time in it in which a judged task wanted a CPU.
    #[must_use]
    pub fn finish(mut self) -> Span {
        self.advance(self.window.to);
        self.longest
    }

    /// Counts the time up to `at`.
    fn advance(&mut self, at: Time) {
        let at = at.min(self.window.to);
        if self.wanting == 0 {
            self.quiet += at.since(self.since.min(at));
            self.longest = self.longest.max(self.quiet);
        }
        self.since = self.since.max(at);
    }

    /// `task` wants a CPU from `at` on, or does not.
    fn note(&mut self, at: Time, task: TaskId, wants: bool) {
        let index = task.index();
        if !self.judged.get(index).copied().unwrap_or_default() {
            return;
        }
        if self.wants.len() <= index {
            self.wants.resize(index + 1, false);
        }
        if self.wants[index] != wants {
            self.advance(at);
            self.wants[index] = wants;
            self.wanting = if wants { self.wanting + 1 } else { self.wanting - 1 };
        }
    }
}

impl Observer for Lull {
    fn observe(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Fork { parent: Some(parent), child } if child.index() >= self.judged.len() => {
                let is_judged = self.judged.get(parent.index()).copied().unwrap_or_default();
                self.judged.resize(child.index() + 1, is_judged);
            }
            Event::Wakeup { task, .. } => self.note(at, task, true),
            Event::Switch { prev, off, next, .. } => {
                if let Some(prev) = prev {
                    self.note(at, prev, off.is_runnable());
                }
                if let Some(next) = next {
                    self.note(at, next, true);
                }
            }
            Event::Served { .. } => {
                self.advance(at);
                self.quiet = Span::ZERO;
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
    fn a_lull_is_a_time_without_requests_in_which_no_judged_task_runs_or_waits() {
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
    fn who_waits_for_a_cpu_is_in_no_lull_and_others_do_not_count() {
        let starved = [(12, wakes(0)), (12, wakes(1)), (15, switch(None, Off::Sleeping, Some(1)))];
        assert_eq!(lull([true, false], &starved), Span(2), "the judged one waits");
        assert_eq!(lull([false, true], &starved), Span(2), "the judged one runs");
        assert_eq!(lull([false, false], &starved), Span(100), "others do not count");
    }
}
