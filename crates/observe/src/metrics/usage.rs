//! Utilisation and the judged tasks' share of the CPU time there was.

use super::Window;
use super::measured::Values;
use super::task_account::TaskAccount;
use crate::tracker::Tracker;
use goodness_core::Span;

#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    busy: u128,
}

impl Usage {
    /// `span` passed while `running` CPUs ran a task.
    #[inline]
    pub fn pass(&mut self, span: Span, running: u64) {
        self.busy += u128::from(span.ns()) * u128::from(running);
    }

    /// CPU time during which CPUs ran tasks, nanoseconds.
    pub fn busy(&self) -> f64 {
        self.busy as f64
    }

    pub fn report(&self, window: Window, tracker: &Tracker<TaskAccount>, values: &mut Values) {
        let there_was = window.length() * tracker.cpu_count() as f64;
        let share = |of: f64| (there_was > 0.0).then(|| of / there_was);
        let judged = || tracker.tasks().filter(|(_, t)| t.is_judged());
        let got: u128 = judged().map(|(_, t)| u128::from(t.own.cpu_time.ns())).sum();
        values.set("cpu_share", share(got as f64), judged().count() as u64);
        values.set("utilisation", share(self.busy()), tracker.cpu_count() as u64);
    }
}
