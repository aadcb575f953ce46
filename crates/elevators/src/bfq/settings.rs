//! Tunables, and values derived from them and from HZ.

use goodness_core::{QueueFacts, Span};

goodness_core::tunables! {
    pub struct Settings {
        /// Longest wait for the next request of the queue in service; 0 for never.
        slice_idle: Span = Span::from_ms(8), in Span::ZERO => Span::from_s(1);
        /// Longest service of a queue per turn; auto: an eighth of a second in whole jiffies.
        timeout_sync: Option<Span> = None, in Span::from_ms(1) => Span::from_s(60);
        /// Most sectors served per turn of a queue; 0: as many as the device serves within the timeout.
        max_budget: u64 = 0, in 0 => 1 << 32;
        /// Age at which a synchronous request goes first.
        fifo_expire_sync: Span = Span::from_ms(125), in Span::ZERO => Span::from_s(600);
        /// Age at which an asynchronous request goes first.
        fifo_expire_async: Span = Span::from_ms(250), in Span::ZERO => Span::from_s(600);
        /// Farthest step backwards, in KiB.
        back_seek_max: u64 = 16_384, in 0 => 1 << 40;
        /// Cost of a backward seek, relative to a forward seek of the same length.
        back_seek_penalty: u64 = 2, in 1 => 1000;
        /// Raise the weight of interactive and soft real-time queues.
        low_latency: bool = true;
        /// Share a queue between processes that start together, on a device that queues and does not seek (Linux 5.13
        /// and later).
        stable_merge: bool = true;
        /// Leave a queue or group as many slots as its weight's part of them, as Linux 5.17 and later do; whoever asks
        /// for more may starve.
        slot_limits: bool = false;
        /// Keep shares at any cost: always idle, one request in the device.
        strict_guarantees: bool = false;
    }
}

/// Constants of the spec, and times that depend on HZ.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Longest service of a queue in one go.
    pub timeout: Span,
}

impl Times {
    /// Distance from the previous request's end above which a request counts as a seek.
    pub const SEEK_SECTORS: u64 = 800;
    /// On flash, only requests smaller than this count as seeks.
    pub const SMALL_SECTORS: u32 = 64;
    /// Idle time for a seeky queue, if shares do not depend on it.
    pub const SHORT_IDLE: Span = Span::from_ms(2);
    /// Idling for a raised queue is not shorter than this.
    pub const RAISED_IDLE: Span = Span::from_ms(20);
    /// Sectors charged per asynchronous sector, if all weights are equal.
    pub const ASYNC_CHARGE: u64 = 3;
    /// The first largest budget, in sectors.
    pub const FIRST_BUDGET: u64 = 16_384;

    /// The times of a queue.
    pub fn new(facts: &QueueFacts, settings: &Settings) -> Times {
        let eighth = Span(u64::from(facts.hz / 8).max(1) * facts.jiffy().0);
        Times { timeout: settings.timeout_sync.unwrap_or(eighth) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::verb_driver::facts;

    #[test]
    fn the_timeout_is_an_eighth_of_a_second_in_whole_jiffies() {
        let timeout = |hz| Times::new(&QueueFacts { hz, ..facts() }, &Settings::default()).timeout;
        assert_eq!([1000, 250].map(timeout), [Span::from_ms(125), Span::from_ms(124)]);
    }
}
