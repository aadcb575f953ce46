//! Timers that end slices (HRTICK), in kernels that have them: one for each CPU, beside others that wait there.
//!
//! Source: docs/specs/smp.md section 5. Linux 7.1 and later have the feature on, 7.0 off, as read in guests.

use super::order::Order;
use super::{Running, Stack};
use goodness_core::{Context, CpuId, Span, Time};

impl<O: Order> Stack<O> {
    /// Sets the timer that ends the slice of the fair task on `cpu`, as of its last accounting.
    #[inline]
    pub(super) fn set_slice_end(&mut self, cpu: CpuId) {
        let it = &self.cpus[cpu.index()];
        let left = if matches!(it.running, Running::Fair(_)) { self.order.slice_left(cpu) } else { None };
        let it = &mut self.cpus[cpu.index()];
        // A new weight can leave nothing of a slice, and the next one begins only when some time was accounted.
        it.slice_end = left.map_or(Time::NEVER, |left| it.accounted_at + left.max(Span(1)));
    }

    /// Ends the slice of `cpu` if it is over. True if that CPU has to pick again.
    pub(super) fn ends_slice(&mut self, cx: &Context, cpu: CpuId) -> bool {
        if self.cpus[cpu.index()].slice_end > cx.now {
            return false;
        }
        self.cpus[cpu.index()].slice_end = Time::NEVER;
        self.catch_up(cx, cpu);
        self.cpus[cpu.index()].resched = true;
        true
    }
}
