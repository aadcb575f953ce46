//! The plug of the single-queue layer: an empty queue waits briefly for more requests.
//!
//! Source: `specs/io-schedulers.md` section 2.1. A request added to an empty queue plugs it. The queue runs again
//!
//! - with the fourth request,
//! - after 3 ms in whole jiffies, at least one,
//! - when a submitter waits for its I/O or for a free request,
//! - when the elevator asks,
//! - after a synchronous write,
//! - at every completion (inferred from the SCSI mid-layer of the time: running a queue unplugs it).

use goodness_core::{QueueFacts, Span, Time};

/// Requests that end a plug. Source: `unplug_thresh`.
pub(crate) const UNPLUG_THRESHOLD: u32 = 4;

/// Duration of a plug. Source: `unplug_delay`.
const UNPLUG_DELAY: Span = Span::from_ms(3);

/// The plug of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plug {
    until: Time,
}

impl Plug {
    pub const OFF: Plug = Plug { until: Time::NEVER };

    pub fn is_on(&self) -> bool {
        self.until != Time::NEVER
    }

    /// Expiry of its timer; [`Time::NEVER`] while unplugged.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Plugs the queue, unless it is plugged.
    pub fn put_on(&mut self, facts: &QueueFacts, now: Time) {
        if !self.is_on() {
            let jiffy = facts.jiffies(now) + facts.jiffies_up(UNPLUG_DELAY);
            self.until = Time(jiffy * facts.jiffy().0);
        }
    }

    pub fn take_off(&mut self) {
        *self = Plug::OFF;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plug_lasts_three_milliseconds_in_whole_jiffies_but_at_least_one() {
        let until = |hz, at| {
            let facts =
                QueueFacts { hz, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 1 << 31, requests: 128 };
            let mut plug = Plug::OFF;
            plug.put_on(&facts, Time(at));
            plug.put_on(&facts, Time(at + 2_000_000));
            plug.until().0
        };
        assert_eq!([until(1000, 0), until(250, 0), until(100, 0)], [3_000_000, 4_000_000, 10_000_000]);
        // Timers expire when a jiffy begins.
        assert_eq!([until(1000, 999_999), until(100, 9_000_000)], [3_000_000, 10_000_000]);
    }
}
