//! Metrics of each fifth of a window by itself: how much they change within one recording.

use crate::metrics::{Measured, Window};
use crate::subject::Subject;
use crate::watch::Metrics;
use goodness_core::{Event, Observer, Time};

/// Measures each fifth of a window as if it were a run of its own.
pub struct Batches {
    /// Fifths that have not ended, with their ends; the next to end is the last.
    open: Vec<(Time, Metrics)>,
    ended: Vec<Measured>,
}

impl Batches {
    /// Observes a machine of `cpus` CPUs during `window`. `subjects` are the initial tasks, by task number.
    ///
    /// # Panics
    /// As [`Metrics::new`].
    #[must_use]
    pub fn new(cpus: usize, window: Window, subjects: &[Subject]) -> Batches {
        let batch = |it: Window| (it.to, Metrics::new(cpus, it.from, subjects));
        Batches { open: window.fifths().into_iter().rev().map(batch).collect(), ended: Vec::new() }
    }

    /// The measurements of each fifth, in order of time.
    #[must_use]
    pub fn finish(mut self) -> Vec<Measured> {
        self.end_until(Time::NEVER);
        self.ended
    }

    /// Ends the fifths whose end is not after `at`.
    fn end_until(&mut self, at: Time) {
        while let Some((to, metrics)) = self.open.pop_if(|(to, _)| *to <= at) {
            self.ended.push(metrics.finish(to));
        }
    }
}

impl Observer for Batches {
    fn observe(&mut self, at: Time, event: &Event) {
        self.end_until(at);
        for (_, metrics) in &mut self.open {
            metrics.observe(at, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{CpuId, Off, TaskId};

    #[test]
    fn a_fifth_counts_what_happened_in_it() {
        let window = Window { from: Time(1_000), to: Time(6_000) };
        let mut batches = Batches::new(1, window, &[Subject::default()]);
        for at in [1_100, 1_500, 3_200, 5_999] {
            let (task, cpu) = (Some(TaskId(0)), CpuId(0));
            batches.observe(Time(at), &Event::Switch { cpu, prev: None, off: Off::Sleeping, next: task });
            batches.observe(Time(at), &Event::Switch { cpu, prev: task, off: Off::Sleeping, next: None });
        }
        let batches = batches.finish();
        let switches = |it: &Measured| it.get("context_switches").value.expect("counted");
        let counts: Vec<f64> = batches.iter().map(switches).collect();
        assert_eq!(counts, [2.0, 0.0, 1.0, 0.0, 1.0]);
        assert!(batches.iter().all(|it| it.window.length() == 1_000.0));
    }
}
