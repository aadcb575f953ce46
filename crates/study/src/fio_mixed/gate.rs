//! The device of the study: one I/O after the other, and of each direction only so many in a window of time.
//!
//! That is what the kernel's limit on I/Os a second does (`blk-throttle`): a direction's allowance is granted slice by slice;
//! what finds none waits, in order of arrival, for the next slice. What is not used is lost.

use goodness_core::{Device, DeviceFacts, Request, RequestId, Span, Time};
use std::collections::VecDeque;

/// A limited device.
#[derive(Debug)]
pub struct Gate {
    facts: DeviceFacts,
    window: Span,
    /// I/Os a second, reads and others.
    rates: [u64; 2],
    /// What one I/O takes once it is let through.
    service: Span,
    waiting: [VecDeque<RequestId>; 2],
    /// The present window and how many of each direction it has let through.
    present: u64,
    used: [u64; 2],
    /// Let through, in order.
    passed: VecDeque<RequestId>,
    /// When the first of `passed` is done.
    done_at: Time,
}

impl Gate {
    /// A device of `sectors` sectors with 128 tags that lets `rates` reads and writes a second through.
    pub fn new(sectors: u64, window: Span, rates: [u64; 2], service: Span) -> Gate {
        let facts =
            DeviceFacts { sectors, depth: 128, queues: 1, rotational: false, sectors_max: 2560, volatile_cache: false };
        Gate {
            facts,
            window,
            rates,
            service,
            waiting: Default::default(),
            present: 0,
            used: [0; 2],
            passed: VecDeque::new(),
            done_at: Time::NEVER,
        }
    }

    /// What a direction may do in window `number`: whole I/Os, which come to the rate in the long run.
    fn allowance(&self, number: u64, direction: usize) -> u64 {
        let until = |window: u64| window * self.window.0 * self.rates[direction] / 1_000_000_000;
        until(number + 1) - until(number)
    }

    /// Lets through what may go at `now`.
    fn open(&mut self, now: Time) {
        let window = now.0 / self.window.0;
        if window > self.present {
            (self.present, self.used) = (window, [0; 2]);
        }
        for direction in 0..2 {
            while self.used[direction] < self.allowance(window, direction) {
                let Some(id) = self.waiting[direction].pop_front() else { break };
                self.used[direction] += 1;
                self.passed.push_back(id);
            }
        }
        if self.done_at == Time::NEVER && !self.passed.is_empty() {
            self.done_at = now + self.service;
        }
    }
}

impl Device for Gate {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        self.waiting[usize::from(!request.is_read())].push_back(id);
        self.open(now);
    }

    fn next_event(&self) -> Time {
        let is_shut = self.waiting.iter().any(|waiting| !waiting.is_empty());
        let opens = if is_shut { Time((self.present + 1) * self.window.0) } else { Time::NEVER };
        self.done_at.min(opens)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        if self.done_at <= now {
            done.extend(self.passed.pop_front());
            self.done_at = if self.passed.is_empty() { Time::NEVER } else { now + self.service };
        }
        self.open(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{HwQueue, IoPriority, Operation, Submitter};

    #[test]
    fn a_direction_beyond_its_allowance_waits_for_the_next_window_and_the_other_does_not() {
        let request = |op| Request {
            op,
            sector: 0,
            sectors: 8,
            segments: 1,
            sync: true,
            durable: false,
            mergeable: true,
            submitter: Submitter(0),
            priority: IoPriority::DEFAULT,
            cpu: 0,
            queue: HwQueue(0),
            allocated: Time::ZERO,
            inserted: Time::ZERO,
            issued: Time::ZERO,
        };
        // Two reads and one write in 10 ms.
        let mut gate = Gate::new(1000, Span::from_ms(10), [200, 100], Span::from_ms(1));
        for (id, op) in [(0, Operation::Read), (1, Operation::Read), (2, Operation::Read), (3, Operation::Write)] {
            gate.start(Time::ZERO, RequestId(id), &request(op));
        }
        let (mut seen, mut done) = (Vec::new(), Vec::new());
        while gate.next_event() != Time::NEVER {
            let now = gate.next_event();
            gate.advance(now, &mut done);
            seen.extend(done.drain(..).map(|id| (id.0, now.0 / 1_000_000)));
        }
        assert_eq!(seen, [(0, 1), (1, 2), (3, 3), (2, 11)]);
    }
}
