//! Utilisation, and the judged tasks' share of the available CPU time. A CPU is busy while a task runs on it. The
//! checker `conservation` verifies that the tasks' times add up to the CPUs'.

use super::Window;
use super::measured::Values;
use super::task_account::TaskAccount;
use crate::tracker::Tracker;
use goodness_core::Span;

/// CPU time during which CPUs ran tasks, nanoseconds.
pub(super) fn busy(tracker: &Tracker<TaskAccount>) -> f64 {
    tracker.tasks().map(|(_, t)| u128::from(t.own.cpu_time.ns())).sum::<u128>() as f64
}

/// Enters the results. `on_idle` is the time that the host itself took on CPUs without a task.
pub(super) fn report(window: Window, tracker: &Tracker<TaskAccount>, on_idle: Span, values: &mut Values) {
    let there_was = window.length() * tracker.cpu_count() as f64;
    let share = |of: f64| (there_was > 0.0).then(|| of / there_was);
    let judged = || tracker.tasks().filter(|(_, t)| t.is_judged());
    let got: u128 = judged().map(|(_, t)| u128::from(t.own.cpu_time.ns())).sum();
    values.set("cpu_share", share(got as f64), judged().count() as u64);
    let all = busy(tracker) + on_idle.ns() as f64;
    values.set("cpu_busy", share(all), tracker.cpu_count() as u64);
    values.set("utilisation", share(busy(tracker)), tracker.cpu_count() as u64);
}
