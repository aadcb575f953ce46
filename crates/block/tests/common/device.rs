//! A test device with random service times: it completes out of order, may lose unflushed writes, and checks the block
//! layer's promises.

use goodness_core::{Device, DeviceFacts, Operation, Request, RequestId, Rng, Seed, Time};

pub struct Unruly {
    pub facts: DeviceFacts,
    rng: Rng,
    slowest: u64,
    under_way: Vec<(Time, RequestId)>,
}

impl Unruly {
    pub fn new(depth: u32, queues: u16, slowest: u64, seed: Seed) -> Unruly {
        let facts = DeviceFacts {
            sectors: 1 << 16,
            depth,
            queues,
            rotational: true,
            sectors_max: 256,
            volatile_cache: true,
            age_limit: None,
        };
        Unruly { facts, rng: seed.rng(), slowest, under_way: Vec::new() }
    }
}

impl Device for Unruly {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        assert!((self.under_way.len() as u32) < self.facts.depth, "more than the device takes");
        assert!(self.under_way.iter().all(|(_, other)| *other != id), "request {} is here already", id.0);
        assert!(request.queue.0 < self.facts.queues && request.issued == now && request.inserted <= now);
        assert_eq!(request.sectors == 0, request.op == Operation::Flush);
        assert!(request.sectors <= self.facts.sectors_max && request.end() <= self.facts.sectors);
        assert!(!request.durable || request.segments == 1, "a durable write was merged");
        let at = Time(now.0 + self.rng.below(self.slowest + 1));
        self.under_way.push((at, id));
    }

    fn next_event(&self) -> Time {
        self.under_way.iter().map(|(at, _)| *at).min().unwrap_or(Time::NEVER)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        self.under_way.retain(|(at, id)| {
            if *at <= now {
                done.push(*id);
            }
            *at > now
        });
    }
}
