//! Waiting time, as textbooks define it: the time that a task spent in run queues from its arrival to its end.

use super::Window;
use super::measured::Values;
use super::task_account::TaskAccount;
use crate::tracker::Tracker;
use goodness_core::State;

/// The mean of the judged tasks that arrived in the window and ended.
pub(super) fn report(window: Window, tracker: &Tracker<TaskAccount>, values: &mut Values) {
    let arrived = |task| tracker.arrived(task).is_some_and(|arrived| arrived >= window.from);
    let ended = tracker.tasks().filter(|(task, it)| it.is_judged() && it.state == State::Exited && arrived(*task));
    let (count, wait) = ended.fold((0, 0), |(count, wait), (_, it)| (count + 1, wait + u128::from(it.own.wait.ns())));
    values.set("waiting_time", (count > 0).then(|| wait as f64 / count as f64), count);
}
