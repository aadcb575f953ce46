//! Timers that end slices (HRTICK), in kernels that have them: one for each CPU, beside others that wait there.
//!
//! A timer is set as its CPU switches to another task, and as a task arrives while it is not set. So it is not set
//! again for a task that is elected once more: that one runs until the next tick, or until another task arrives. Nor is
//! it cancelled for a task that leaves, unless the CPU idles: it may fire in the turn of the next one.
//!
//! Source: docs/specs/smp.md section 5, from the source of 7.3.4. Linux 7.1 and later have the feature on, 7.0 off, as
//! read in guests.
//! Departures: of a switch `switch` counts alone, not what another address space or a migration adds; a timer that
//! moves by 5 us or less is moved, too; time is not scaled by that of interrupts; in the turn of a task of SCHED_RR it
//! does not count as a tick; a running task that changes its class or nice does not set it.

use super::order::Order;
use super::{Running, Stack};
use goodness_core::{Context, CpuId, Span, Time};

/// Least time for which a timer is set.
const LEAST: Span = Span::from_us(10);

/// The timer of a CPU.
#[derive(Debug)]
pub(super) struct SliceTimer {
    /// Time at which it fires; [`Time::NEVER`] while it is not set.
    pub at: Time,
    /// Occupant that the CPU switched to last.
    switched_to: Running,
}

impl Default for SliceTimer {
    fn default() -> SliceTimer {
        SliceTimer { at: Time::NEVER, switched_to: Running::Nothing }
    }
}

impl<O: Order> Stack<O> {
    /// Sets the timer of `cpu`, which has picked, if it switches to another fair task beside others.
    #[inline]
    pub(super) fn time_switch(&mut self, cx: &Context, cpu: CpuId) {
        if !self.times_slices {
            return;
        }
        let it = &mut self.cpus[cpu.index()];
        let before = std::mem::replace(&mut it.slice_timer.switched_to, it.running);
        match it.running {
            Running::Nothing => it.slice_timer.at = Time::NEVER,
            // The slice begins with the switch, the timer is set at its end.
            running if running != before => self.set_slice_end(cpu, cx.machine.costs.switch),
            _ => {}
        }
    }

    /// Sets the timer of `cpu`, at which a fair task arrives, if it is not set. The current one is accounted.
    #[inline]
    pub(super) fn time_arrival(&mut self, cpu: CpuId) {
        if self.times_slices && self.cpus[cpu.index()].slice_timer.at == Time::NEVER {
            self.set_slice_end(cpu, Span::ZERO);
        }
    }

    /// Sets the timer to the end of the slice, or so much later.
    fn set_slice_end(&mut self, cpu: CpuId, late: Span) {
        let is_fair = matches!(self.cpus[cpu.index()].running, Running::Fair(_));
        if !is_fair || self.order.queued(cpu) <= 1 {
            return;
        }
        if let Some(left) = self.order.slice_left(cpu) {
            let it = &mut self.cpus[cpu.index()];
            it.slice_timer.at = it.accounted_at + left.max(LEAST) + late;
        }
    }

    /// Ends the slice of `cpu` if its timer is due. True if that CPU has to pick again.
    pub(super) fn ends_slice(&mut self, cx: &Context, cpu: CpuId) -> bool {
        if self.cpus[cpu.index()].slice_timer.at > cx.now {
            return false;
        }
        self.cpus[cpu.index()].slice_timer.at = Time::NEVER;
        if !matches!(self.cpus[cpu.index()].running, Running::Fair(_)) {
            return false;
        }
        self.catch_up(cx, cpu);
        // For groups it is a tick: their weights are brought up to date.
        self.order.tick(cx, &mut self.loads, cpu);
        self.cpus[cpu.index()].resched = true;
        true
    }
}
