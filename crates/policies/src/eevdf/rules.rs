//! Defaults of each kernel version for settings left open.

use super::settings::{Kernel, Settings};
use crate::parts::fair::order::{TICK_PATH, Version};
use crate::parts::fair::weight::scaling;
use goodness_core::{Machine, Preemption, Span};

/// Effective values of the settings, with the kernel's defaults.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub base_slice: u64,
    /// `base_slice` before scaling by the number of CPUs.
    pub unscaled_slice: u64,
    pub place_lag: bool,
    pub place_deadline_initial: bool,
    pub place_rel_deadline: bool,
    pub run_to_parity: bool,
    pub preempt_short: bool,
    pub delay_dequeue: bool,
    pub delay_zero: bool,
    pub wakeup_preemption: bool,
    pub next_buddy: bool,
    pub expire_protection: bool,
    pub yield_forfeits: bool,
    /// Limit the lag by the queue's longest slice + tick, instead of max(2 own slices, tick).
    pub lag_by_slice_and_tick: bool,
    pub fair_server: bool,
    /// New tasks preempt.
    pub forks_preempt: bool,
    /// A wake-up removes the delayed tasks that its look for the best one finds.
    pub wakeups_remove_delayed: bool,
    pub hrtick: bool,
    /// Time by which a slice must be exceeded.
    pub slack: u64,
    pub tick: u64,
    /// A wake-up on another CPU preempts at the tick.
    pub preemption: Preemption,
    /// Longest extension of a slice for a critical section.
    pub slice_extension: Span,
    /// Rules of groups, limits and balancing.
    pub version: Version,
}

impl Rules {
    pub fn new(machine: &Machine, settings: &Settings) -> Rules {
        let (delays, current) = (settings.kernel >= Kernel::V6_12_0, settings.kernel >= Kernel::V6_12);
        let hrtick = settings.hrtick.unwrap_or(settings.kernel >= Kernel::V7_2);
        let slice = settings.base_slice.unwrap_or(Span::from_us(if current { 700 } else { 750 }));
        Rules {
            base_slice: slice.0 * scaling(machine.cpu_count()),
            unscaled_slice: slice.0,
            place_lag: settings.place_lag.unwrap_or(true),
            place_deadline_initial: settings.place_deadline_initial.unwrap_or(true),
            place_rel_deadline: settings.place_rel_deadline.unwrap_or(delays),
            run_to_parity: settings.run_to_parity.unwrap_or(true),
            preempt_short: settings.preempt_short.unwrap_or(delays),
            delay_dequeue: settings.delay_dequeue.unwrap_or(delays),
            delay_zero: settings.delay_zero.unwrap_or(delays),
            wakeup_preemption: settings.wakeup_preemption,
            next_buddy: settings.next_buddy,
            expire_protection: settings.expire_protection.unwrap_or(current),
            yield_forfeits: settings.yield_forfeits.unwrap_or(current),
            lag_by_slice_and_tick: current,
            fair_server: delays,
            forks_preempt: settings.kernel < Kernel::V6_18_33,
            wakeups_remove_delayed: settings.kernel >= Kernel::V6_18_33,
            hrtick,
            slack: if hrtick { 0 } else { TICK_PATH.0 },
            tick: machine.tick().0,
            preemption: match settings.preempt {
                Preemption::Lazy if settings.kernel < Kernel::V6_15 => Preemption::Full,
                model => model,
            },
            slice_extension: if settings.kernel >= Kernel::V7_2 { settings.slice_extension } else { Span::ZERO },
            version: match settings.kernel {
                Kernel::V6_6 => Version::V6_6,
                Kernel::V6_12_0 | Kernel::V6_12 => Version::V6_12,
                Kernel::V6_15 => Version::V6_15,
                Kernel::V6_18 | Kernel::V6_18_33 => Version::V6_18,
                Kernel::V7_2 => Version::V7_2,
                Kernel::V7_3 => Version { one_timeline: Some(settings.cgroup_mode), ..Version::V7_2 },
            },
        }
    }
}
