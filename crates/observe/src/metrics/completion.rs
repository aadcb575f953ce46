//! Completion time (of the judged work as a whole) and turnaround (of each judged task).

use super::Window;
use super::measured::Values;
use super::task_account::TaskAccount;
use crate::tracker::Tracker;
use goodness_core::Time;

#[derive(Clone, Debug, Default)]
pub(super) struct Completion {
    last: Option<Time>,
    ended: u64,
    turnaround: u128,
    turned: u64,
}

impl Completion {
    /// A task ended. Its turnaround counts if it arrived within the window.
    pub fn exited(&mut self, at: Time, from: Time, arrived: Option<Time>, judged: bool) {
        if !judged {
            return;
        }
        self.last = Some(at);
        self.ended += 1;
        if let Some(arrived) = arrived.filter(|arrived| *arrived >= from) {
            self.turnaround += u128::from(at.since(arrived).ns());
            self.turned += 1;
        }
    }

    pub fn report(&self, window: Window, tracker: &Tracker<TaskAccount>, values: &mut Values) {
        let judged =
            tracker.tasks().filter(|(task, t)| t.is_judged() && tracker.arrived(*task).is_some()).count() as u64;
        let all = self.last.filter(|_| self.ended >= judged);
        values.set("completion_time", all.map(|last| last.since(window.from).ns() as f64), self.ended);
        let mean = (self.turned > 0).then(|| self.turnaround as f64 / self.turned as f64);
        values.set("turnaround", mean, self.turned);
    }
}
