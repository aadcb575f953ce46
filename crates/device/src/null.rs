//! null: every command takes the same time, however many are in flight.
//!
//! Like Linux's null_blk with timed completions. It shows the cost of the block layer and the elevator alone.

use crate::registry::{DeviceKind, read};
use goodness_core::{Device, DeviceFacts, Request, RequestId, Span, Time, Tunables};
use std::collections::VecDeque;

goodness_core::tunables! {
    pub struct Settings {
        /// Time from start to completion of every command.
        latency: Span = Span::from_us(10), in Span::ZERO => Span::from_s(10);
        /// Queue depth over all its queues.
        depth: u64 = 64, in 1 => 1_048_576;
        /// Hardware queues.
        queues: u64 = 1, in 1 => 4096;
        /// Capacity in sectors of 512 bytes.
        sectors: u64 = 488_281_250, in 1 => goodness_core::storage::SECTORS_MAX;
    }
}

/// The registry's entry.
pub(crate) const KIND: DeviceKind = DeviceKind {
    name: "null",
    summary: "Completes every command after the same time.",
    source: "Linux null_blk with irqmode=2: 10 us and 64 commands are its defaults",
    tunables: || Settings::spec().to_vec(),
    make: |settings, _| Ok(Box::new(Null::new(&read(settings)?))),
};

/// Constant service time.
#[derive(Debug)]
pub struct Null {
    facts: DeviceFacts,
    latency: Span,
    /// Requests in flight; with one latency for all, they complete in order.
    under_way: VecDeque<(Time, RequestId)>,
}

impl Null {
    /// A device with these settings.
    #[must_use]
    pub fn new(settings: &Settings) -> Null {
        let facts = DeviceFacts {
            sectors: settings.sectors,
            depth: settings.depth as u32,
            queues: settings.queues as u16,
            rotational: false,
            sectors_max: 2560,
            volatile_cache: false,
            age_limit: None,
        };
        Null { facts, latency: settings.latency, under_way: VecDeque::new() }
    }
}

impl Device for Null {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, now: Time, id: RequestId, _: &Request) {
        self.under_way.push_back((now + self.latency, id));
    }

    fn next_event(&self) -> Time {
        self.under_way.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        while let Some((at, id)) = self.under_way.front().copied() {
            if at > now {
                return;
            }
            self.under_way.pop_front();
            done.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Io, Submitter};

    const READ: Request = Request::of(&Io::read(Submitter(0), 0, 8), Time::ZERO);

    #[test]
    fn commands_overlap_and_complete_in_order_each_after_the_same_time() {
        let mut null = Null::new(&Settings { latency: Span(100), ..Settings::default() });
        let mut done = Vec::new();
        assert_eq!(null.next_event(), Time::NEVER);
        null.start(Time(0), RequestId(7), &READ);
        null.start(Time(40), RequestId(3), &READ);
        assert_eq!(null.next_event(), Time(100));
        null.advance(Time(100), &mut done);
        assert_eq!((done.as_slice(), null.next_event()), ([RequestId(7)].as_slice(), Time(140)));
        null.advance(Time(140), &mut done);
        assert_eq!((done.as_slice(), null.next_event()), ([RequestId(7), RequestId(3)].as_slice(), Time::NEVER));
    }
}
