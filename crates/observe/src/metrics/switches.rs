//! Context switches and migrations, summed over tasks.

use super::measured::Values;
use super::task_account::TaskAccount;
use crate::tracker::Tracker;

pub(super) fn report(tracker: &Tracker<TaskAccount>, values: &mut Values) {
    let sum = |of: fn(&TaskAccount) -> u32| tracker.tasks().map(|(_, t)| u64::from(of(&t.own))).sum::<u64>();
    let mut set = |name, count: u64| values.set(name, Some(count as f64), count);
    let involuntary = sum(|own| own.involuntary);
    set("context_switches", involuntary + sum(|own| own.voluntary));
    set("involuntary_switches", involuntary);
    set("migrations", sum(|own| own.migrations));
}
