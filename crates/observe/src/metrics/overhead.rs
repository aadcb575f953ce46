//! Scheduler share: CPU time of the host itself, divided by all busy CPU time. Overhead on a CPU running a task is part
//! of that task's slice and already busy time; overhead on an idle CPU is added. Spinning for locks of the work and
//! block I/O are apart.
//!
//! A CPU does its host work one after the other. What an idle CPU has not done when its next slice begins is dropped,
//! because it delays nobody, except for the decision to begin the slice, which is part of it. What is not done at the
//! end of the run is not counted either. So no share exceeds 1.

use super::measured::Values;
use goodness_core::{CpuId, Overhead, Span, Time};
use std::collections::VecDeque;

/// Host work of a CPU that is not done yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: Overhead,
    left: Span,
    reported: Time,
    /// True if it is the work of a CPU without a task.
    on_idle: bool,
}

/// Host work of one CPU.
#[derive(Clone, Debug, Default)]
struct HostWork {
    /// Time up to which it is counted.
    until: Time,
    /// In the order in which it is done.
    pending: VecDeque<Pending>,
    occupied: bool,
    /// Start of the idle time, and work done since. Meaningful while the CPU idles.
    idle_since: Time,
    idle_work: Span,
}

impl HostWork {
    /// Counts in `by_kind` what is done until `at`.
    #[inline]
    fn pass(&mut self, at: Time, by_kind: &mut [Span; Overhead::ALL.len()]) {
        let mut passed = at.since(std::mem::replace(&mut self.until, at));
        while let Some(work) = self.pending.front_mut() {
            let done = work.left.min(passed);
            by_kind[work.kind as usize] += done;
            self.idle_work += if self.occupied { Span::ZERO } else { done };
            work.left -= done;
            passed -= done;
            if work.left > Span::ZERO {
                return;
            }
            self.pending.pop_front();
        }
    }

    /// Time that the host took since the CPU idles, no longer than that. I/O may be simulated beside other work.
    fn on_idle(&self) -> Span {
        self.idle_work.min(self.until.since(self.idle_since))
    }
}

#[derive(Clone, Debug)]
pub(super) struct SchedulerTime {
    cpus: Vec<HostWork>,
    by_kind: [Span; Overhead::ALL.len()],
    on_idle: Span,
    events: u64,
}

impl SchedulerTime {
    /// Of `cpus` CPUs, measured from `from` on.
    pub fn new(cpus: usize, from: Time) -> SchedulerTime {
        let idle = HostWork { until: from, idle_since: from, ..HostWork::default() };
        SchedulerTime { cpus: vec![idle; cpus], by_kind: Default::default(), on_idle: Span::ZERO, events: 0 }
    }

    /// The host needs `span` of `cpu` from `at` on, or needed it just before.
    #[inline]
    pub fn spent(&mut self, at: Time, cpu: CpuId, kind: Overhead, span: Span) {
        self.events += 1;
        let it = &mut self.cpus[cpu.index()];
        it.pass(at, &mut self.by_kind);
        if matches!(kind, Overhead::Spin | Overhead::Io | Overhead::IoLock) {
            self.by_kind[kind as usize] += span;
            it.idle_work += if it.occupied { Span::ZERO } else { span };
        } else {
            it.pending.push_back(Pending { kind, left: span, reported: at, on_idle: !it.occupied });
        }
    }

    /// From `at` on `cpu` runs a task, if it is `occupied`, or idles.
    pub fn switched(&mut self, at: Time, cpu: CpuId, occupied: bool) {
        let it = &mut self.cpus[cpu.index()];
        let at = at.max(it.until);
        if it.occupied == occupied {
            return;
        }
        it.pass(at, &mut self.by_kind);
        it.occupied = occupied;
        if occupied {
            self.on_idle += it.on_idle();
            it.pending.retain(|work| !work.on_idle || work.reported == at);
        } else {
            (it.idle_since, it.idle_work) = (at, Span::ZERO);
        }
        // The decision to begin or to end the idle time is reported just before.
        it.pending.iter_mut().filter(|work| work.reported == at).for_each(|work| work.on_idle = !occupied);
    }

    /// Ends the run at `end`.
    pub fn close(&mut self, end: Time) {
        for it in &mut self.cpus {
            it.pass(end.max(it.until), &mut self.by_kind);
            self.on_idle += if it.occupied { Span::ZERO } else { it.on_idle() };
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
