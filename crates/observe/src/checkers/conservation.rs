//! Conservation of CPU time: the time CPUs were busy equals the CPU time of the tasks, overhead on a CPU while it is
//! occupied does not exceed the time it is occupied, and the clock never goes back.
//!
//! The effort of a pick, which is reported before its switch, is left out where the CPU idled until then or idles from
//! then on. Overhead that a task did not get to the end of delays the next one: what is left at the end of the run, or
//! of a task that leaves an idle CPU while it is runnable, is left out as well.

use super::Invariant;
use crate::tracker::Tracker;
use goodness_core::{CpuId, Off, Span, Time};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "conservation",
    summary: "The time CPUs were occupied equals the CPU time tasks got, and the clock never goes back.",
};

/// Busy time of one CPU, kept independently of the tracker: only whether a task runs, not which.
#[derive(Clone, Copy, Debug, Default)]
struct Occupation {
    /// Meaningful while occupied.
    since: Time,
    occupied: bool,
    /// Time for which it was occupied before `since`.
    busy: Span,
    overhead: Span,
    /// Overhead of the latest decision, and when it was reported.
    latest: Span,
    latest_at: Time,
    /// End of the overhead since it is occupied, if one follows the other.
    paid: Time,
}

impl Occupation {
    /// The CPU idles from `at` on; `off` is the state of the task that left it, which still runs at the end of the run.
    fn idles(&mut self, at: Time, off: Option<Off>) {
        let unpaid = match off {
            Some(off) if !off.is_runnable() && at == self.latest_at => self.latest,
            Some(off) if !off.is_runnable() => Span::ZERO,
            _ => self.paid.since(at),
        };
        self.overhead = self.overhead.saturating_sub(unpaid);
        self.paid = at;
    }
}

#[derive(Clone, Debug)]
pub(super) struct Conservation {
    cpus: Vec<Occupation>,
    by_tasks: u128,
}

impl Conservation {
    pub fn new(cpus: usize) -> Conservation {
        Conservation { cpus: vec![Occupation::default(); cpus], by_tasks: 0 }
    }

    /// Updates whether `cpu` is busy; `off` is the state of the task that it `was` busy with, unless the run ends. A
    /// switch between tasks changes nothing here.
    pub fn switched(&mut self, at: Time, cpu: CpuId, (was, off): (bool, Option<Off>), is: bool) {
        let it = &mut self.cpus[cpu.index()];
        if was && it.occupied {
            it.busy += at.since(it.since);
            if !is {
                it.idles(at, off);
            }
        }
        it.since = at;
        it.occupied = is;
    }

    /// Start of the time that `cpu` idles since; `None` while it is busy.
    pub fn idle_since(&self, cpu: CpuId) -> Option<Time> {
        let it = &self.cpus[cpu.index()];
        (!it.occupied).then_some(it.since)
    }

    /// Records the length of a slice that ended.
    #[inline]
    pub fn ran(&mut self, span: Span) {
        self.by_tasks += u128::from(span.ns());
    }

    /// The host used `span` of `cpu` itself. What an idle CPU spends is left out: it delays nobody, and one that is
    /// asked to pick again while it still searches is simulated as if it did both at a time. The pick that ends the
    /// idle time is left out with it.
    #[inline]
    pub fn spent(&mut self, at: Time, cpu: CpuId, span: Span) {
        let it = &mut self.cpus[cpu.index()];
        if !it.occupied {
            return;
        }
        it.overhead += span;
        it.latest = if at == it.latest_at { it.latest + span } else { span };
        it.latest_at = at;
        it.paid = it.paid.max(at) + span;
    }

    /// Balances the account.
    pub fn at_end<T: Default>(&mut self, end: Time, tracker: &Tracker<T>) -> Option<String> {
        for cpu in (0..self.cpus.len()).map(|cpu| CpuId(cpu as u32)) {
            self.switched(end, cpu, (true, None), false);
            if let Some(track) = tracker.running_on(cpu).and_then(|task| tracker.task(task)) {
                self.by_tasks += u128::from(end.since(track.since).ns());
            }
            let it = self.cpus[cpu.index()];
            if it.overhead > it.busy {
                return Some(format!("{cpu} spent {} on overhead, but was occupied for {}", it.overhead, it.busy));
            }
        }
        let cpus: u128 = self.cpus.iter().map(|it| u128::from(it.busy.ns())).sum();
        let tasks = self.by_tasks;
        (cpus != tasks).then(|| format!("CPUs were occupied for {cpus} ns, but tasks ran for {tasks} ns"))
    }
}

#[cold]
pub(super) fn clock_went_back(from: Time, to: Time) -> String {
    format!("the clock went back from {from} to {to}")
}
