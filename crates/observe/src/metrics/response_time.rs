//! Response time, as textbooks define it: from the arrival of a task to the first time that it runs.

use super::measured::Values;
use super::task_account::TaskAccount;
use crate::tracker::Began;
use goodness_core::Time;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseTime {
    sum: u128,
    count: u64,
}

impl ResponseTime {
    /// The first slice of a task began. It counts if the task arrived in the window, which begins at `from`.
    #[cold]
    pub fn started(&mut self, at: Time, from: Time, began: &Began<'_, TaskAccount>) {
        let arrived = began.waited_since.filter(|since| began.woken && *since >= from && began.task.is_judged());
        if let Some(arrived) = arrived {
            self.sum += u128::from(at.since(arrived).ns());
            self.count += 1;
        }
    }

    pub fn report(self, values: &mut Values) {
        let mean = (self.count > 0).then(|| self.sum as f64 / self.count as f64);
        values.set("response_time", mean, self.count);
    }
}
