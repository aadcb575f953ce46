//! Scheduler share: CPU time of the host itself, divided by all busy CPU time. Overhead on a CPU running a task is part
//! of that task's slice and already busy time; overhead on an idle CPU is added. Spinning for locks of the work and
//! block I/O are apart.

use super::measured::Values;
use goodness_core::{Overhead, Span};

#[derive(Clone, Debug, Default)]
pub(super) struct SchedulerTime {
    by_kind: [Span; Overhead::ALL.len()],
    on_idle: Span,
    events: u64,
}

impl SchedulerTime {
    #[inline]
    pub fn spent(&mut self, kind: Overhead, span: Span, within_slice: bool) {
        self.by_kind[kind as usize] += span;
        self.events += 1;
        if !within_slice {
            self.on_idle += span;
        }
    }

    pub fn by_kind(&self) -> [Span; Overhead::ALL.len()] {
        self.by_kind
    }

    /// CPU time that was spent while no task ran.
    pub fn on_idle(&self) -> Span {
        self.on_idle
    }

    /// Reports the results. `in_slices` is the CPU time of all tasks, ns, and `ios` the number of I/Os done.
    pub fn report(&self, in_slices: f64, ios: u64, values: &mut Values) {
        let of_others = [Overhead::Spin, Overhead::Io, Overhead::IoLock];
        let of_scheduler = || Overhead::ALL.into_iter().filter(|kind| !of_others.contains(kind));
        let spent: f64 = of_scheduler().map(|kind| self.by_kind[kind as usize].ns() as f64).sum();
        let busy = in_slices + self.on_idle.ns() as f64;
        let share = |spent: f64| (busy > 0.0).then(|| spent / busy);
        values.set("scheduler_share", share(spent), self.events);
        let spun = self.by_kind[Overhead::Spin as usize].ns() as f64;
        values.set("spin_share", share(spun), self.events);
        let waited = self.by_kind[Overhead::IoLock as usize].ns() as f64;
        let of_io = self.by_kind[Overhead::Io as usize].ns() as f64 + waited;
        // Without costs of I/O nothing is measured.
        let each = |span: f64| (of_io > 0.0 && ios > 0).then(|| span / ios as f64);
        values.set("io_cpu_time", each(of_io), ios);
        values.set("io_lock_wait", each(waited), ios);
        for kind in of_scheduler() {
            let name = format!("scheduler_share_{}", kind.name());
            values.set(&name, share(self.by_kind[kind as usize].ns() as f64), self.events);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_kept_in_the_order_of_the_list() {
        for (index, kind) in Overhead::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }
}
