//! The constants of a kernel on a machine, and what follows from them alone (specs 2.2 and 2.3).

use super::Kernel;
use crate::parts::prio_array::{BEST_USER_PRIO, WORST_USER_PRIO};
use goodness_core::{Class, Machine, Task};

/// Steps of bonus between no sleep and all sleep.
pub(super) const MAX_BONUS: u64 = 10;

/// Constants of a kernel on a machine, in ticks unless stated otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub kernel: Kernel,
    pub tick: u64,
    slices: [u32; 40],
    pub longest_slice: u32,
    granularity: u64,
    /// Highest average sleep, and the limit of waiting in the expired array.
    pub max_sleep: u64,
    /// The highest average sleep in nanoseconds.
    pub most_sleep: u64,
    /// The average sleep after a long sleep, in nanoseconds: a slice below the highest.
    pub interactive_average: u64,
    /// 2⁶⁴ by a tenth of that, rounded up.
    inverse_step: u64,
    /// By static priority, the sleep beyond which a task is interactive at once, in nanoseconds.
    interactive_sleeps: [u64; 40],
}

impl Constants {
    /// Specs 2.2 and 2.3. Slices count ticks, so that they are exact where HZ divides 1000.
    pub fn new(kernel: Kernel, machine: &Machine) -> Constants {
        let ticks = |ms: u32| (ms * machine.hz / 1000).max(1);
        let slice = |static_prio: u32| match kernel {
            Kernel::V2_6_8 => ticks(10) + (ticks(200) - ticks(10)) * (139 - static_prio) / 39,
            Kernel::V2_6_22 if static_prio < 120 => (ticks(400) * (140 - static_prio) / 20).max(ticks(5)),
            Kernel::V2_6_22 => (ticks(100) * (140 - static_prio) / 20).max(ticks(5)),
        };
        let slices = std::array::from_fn(|index| slice(100 + index as u32));
        let (average_slice, tick) = (u64::from(slices[20]), machine.tick().0);
        let interactive_sleep = |index: usize| {
            let steps = (MAX_BONUS as i64 / 2 + delta(BEST_USER_PRIO + index as u8) + 1) as u64;
            (average_slice * steps).saturating_sub(1) * tick
        };
        Constants {
            kernel,
            tick,
            slices,
            longest_slice: slices[0],
            granularity: u64::from(ticks(10)) * machine.cpu_count() as u64,
            max_sleep: average_slice * MAX_BONUS,
            most_sleep: average_slice * MAX_BONUS * tick,
            interactive_average: average_slice * (MAX_BONUS - 1) * tick,
            inverse_step: u64::MAX / (average_slice * tick) + 1,
            interactive_sleeps: std::array::from_fn(interactive_sleep),
        }
    }

    #[inline]
    pub fn slice(&self, static_prio: u8) -> u32 {
        self.slices[usize::from(static_prio - BEST_USER_PRIO)]
    }

    /// This as tenths of the highest average sleep. The product is exact for every average sleep, and quicker
    /// than a division.
    #[inline]
    pub fn bonus(&self, sleep_avg: u64) -> u64 {
        ((u128::from(sleep_avg) * u128::from(self.inverse_step)) >> u64::BITS) as u64
    }

    /// Sleep in ns above which a task becomes interactive at once.
    #[inline]
    pub fn interactive_sleep(&self, static_prio: u8) -> u64 {
        self.interactive_sleeps[usize::from(static_prio - BEST_USER_PRIO)]
    }

    /// Priority from class, nice and average sleep (specs 2.3).
    #[inline]
    pub fn prio(&self, it: &Task, static_prio: u8, sleep_avg: u64) -> u8 {
        if it.class.is_realtime() {
            return 99 - it.rt_priority.clamp(1, 99);
        }
        self.earned_prio(static_prio, sleep_avg)
    }

    /// Priority of a task that is not real-time.
    #[inline]
    pub fn earned_prio(&self, static_prio: u8, sleep_avg: u64) -> u8 {
        let bonus = self.bonus(sleep_avg) as i64 - MAX_BONUS as i64 / 2;
        let prio = i64::from(static_prio) - bonus;
        prio.clamp(i64::from(BEST_USER_PRIO), i64::from(WORST_USER_PRIO)) as u8
    }

    /// True for a class whose sleep counts for nothing.
    #[inline]
    pub fn never_interactive(&self, class: Class) -> bool {
        class == Class::Batch && self.kernel == Kernel::V2_6_22
    }

    /// Ticks after which an interactive task goes behind its equals.
    pub fn granularity(&self, sleep_avg: u64) -> u64 {
        let steps = (MAX_BONUS - self.bonus(sleep_avg)).max(1) - 1;
        self.granularity << steps
    }
}

/// By how many levels a priority must be better than the static one to count as interactive.
pub(super) fn delta(static_prio: u8) -> i64 {
    (i64::from(static_prio) - 120) * MAX_BONUS as i64 / 40 + 2
}
