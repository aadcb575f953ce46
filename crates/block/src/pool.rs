//! How many requests there may be, and who may take one.
//!
//! Single-queue layer (`specs/io-schedulers.md` section 2.1): n requests per direction. A direction is congested from
//! 7/8 n + 1 until fewer than 7/8 n - n/16 - 1 are used. The submitter that takes the last one, and one that had to sleep,
//! is *batching*: for 32 requests or 20 ms it may go beyond n, up to 1.5 n; all others sleep. blk-mq: n tags for all.

use goodness_core::{Allocate, Io, Layer, Operation, QueueFacts, Submitter, Time};

/// Requests of a batching submitter. Source: `BLK_BATCH_REQ`.
const BATCH: u32 = 32;

/// How long a submitter is batching, in milliseconds. Source: `BLK_BATCH_TIME` = HZ/50.
const BATCH_MS: u64 = 20;

/// The licence of one submitter to go beyond the limit.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    left: u32,
    since: u64,
}

/// The requests in use.
#[derive(Debug)]
pub(crate) struct Pool {
    layer: Layer,
    limit: u32,
    /// By direction: reads, all others.
    used: [u32; 2],
    is_full: [bool; 2],
    is_congested: [bool; 2],
    batches: Vec<Batch>,
}

/// Reads are apart from everything that changes the medium.
pub(crate) fn direction(op: Operation) -> usize {
    usize::from(op != Operation::Read)
}

impl Pool {
    pub fn new(layer: Layer, limit: u32) -> Pool {
        Pool { layer, limit, used: [0; 2], is_full: [false; 2], is_congested: [false; 2], batches: Vec::new() }
    }

    /// Requests in use that count against the limit for `op`.
    pub fn used(&self, op: Operation) -> u32 {
        match self.layer {
            Layer::Legacy => self.used[direction(op)],
            Layer::MultiQueue => self.used[0] + self.used[1],
        }
    }

    pub fn is_congested(&self, op: Operation) -> bool {
        match self.layer {
            Layer::Legacy => self.is_congested[direction(op)],
            Layer::MultiQueue => false,
        }
    }

    /// Takes a request for `io`, unless the limit or the elevator, which says `say`, is against it.
    pub fn take(&mut self, facts: &QueueFacts, now: Time, io: &Io, say: Allocate) -> bool {
        let may = say != Allocate::Wait
            && match self.layer {
                Layer::Legacy => self.may_take_legacy(facts, now, io, say),
                Layer::MultiQueue => self.used(io.op) < self.limit,
            };
        self.used[direction(io.op)] += u32::from(may);
        may
    }

    /// The rules of the single-queue layer, in the order in which it applies them.
    fn may_take_legacy(&mut self, facts: &QueueFacts, now: Time, io: &Io, say: Allocate) -> bool {
        let way = direction(io.op);
        let with_this = self.used[way] + 1;
        let is_batching = self.is_batching(facts, now, io.submitter);
        if with_this >= self.limit {
            if !self.is_full[way] {
                self.is_full[way] = true;
                self.begin_batch(facts, now, io.submitter);
            } else if say != Allocate::Always && !is_batching {
                return false;
            }
        }
        if with_this > self.limit - self.limit / 8 {
            self.is_congested[way] = true;
        }
        if self.used[way] >= self.limit + self.limit / 2 {
            return false;
        }
        if self.is_batching(facts, now, io.submitter) {
            self.batches[io.submitter.index()].left -= 1;
        }
        true
    }

    fn is_batching(&self, facts: &QueueFacts, now: Time, submitter: Submitter) -> bool {
        let Some(batch) = self.batches.get(submitter.index()) else { return false };
        let jiffies = facts.jiffies_of_ms(BATCH_MS).max(1);
        batch.left == BATCH || (batch.left > 0 && facts.jiffies(now) < batch.since + jiffies)
    }

    /// `submitter` slept for a request or took the last: it may go beyond the limit for a while.
    pub fn begin_batch(&mut self, facts: &QueueFacts, now: Time, submitter: Submitter) {
        if self.is_batching(facts, now, submitter) {
            return;
        }
        if submitter.index() >= self.batches.len() {
            self.batches.resize(submitter.index() + 1, Batch::default());
        }
        self.batches[submitter.index()] = Batch { left: BATCH, since: facts.jiffies(now) };
    }

    /// A request of `op` is free again.
    pub fn give_back(&mut self, op: Operation) {
        let way = direction(op);
        self.used[way] -= 1;
        if self.used[way] < (self.limit - self.limit / 8).saturating_sub(self.limit / 16 + 1).max(1) {
            self.is_congested[way] = false;
        }
        if self.used[way] < self.limit {
            self.is_full[way] = false;
        }
    }

    /// Whether a sleeper of the direction of `op` is woken: it then batches.
    pub fn wakes(&self, op: Operation) -> bool {
        self.layer == Layer::Legacy && self.used[direction(op)] < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> QueueFacts {
        QueueFacts { hz: 1000, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 1 << 31, requests: 128 }
    }

    fn take(pool: &mut Pool, ms: u64, submitter: u32) -> bool {
        let io = Io::write(Submitter(submitter), 0, 8);
        pool.take(&facts(), Time(ms * 1_000_000), &io, Allocate::AsUsual)
    }

    #[test]
    fn congestion_begins_with_113_of_128_and_ends_with_102() {
        let mut pool = Pool::new(Layer::Legacy, 128);
        for _ in 0..112 {
            assert!(take(&mut pool, 0, 0));
        }
        assert!(!pool.is_congested(Operation::Write));
        take(&mut pool, 0, 0);
        assert!(pool.is_congested(Operation::Write) && !pool.is_congested(Operation::Read));
        for used in (102..113).rev() {
            assert!(pool.is_congested(Operation::Write), "{used}");
            pool.give_back(Operation::Write);
        }
        assert!(!pool.is_congested(Operation::Write));
    }

    #[test]
    fn who_takes_the_last_request_goes_on_to_take_32_and_another_sleeps() {
        let mut pool = Pool::new(Layer::Legacy, 128);
        let taken = (0..200).take_while(|_| take(&mut pool, 0, 0)).count();
        assert_eq!(taken, 127 + 32);
        assert!(!take(&mut pool, 0, 1));
        assert!(pool.take(&facts(), Time::ZERO, &Io::read(Submitter(1), 0, 8), Allocate::AsUsual));
    }

    #[test]
    fn a_batch_ends_after_20_ms_and_nobody_goes_beyond_one_and_a_half_times_the_limit() {
        let mut pool = Pool::new(Layer::Legacy, 128);
        for _ in 0..130 {
            assert!(take(&mut pool, 0, 0));
        }
        assert!(take(&mut pool, 19, 0));
        assert!(!take(&mut pool, 20, 0));
        for submitter in 1..4 {
            pool.begin_batch(&facts(), Time::ZERO, Submitter(submitter));
            while take(&mut pool, 0, submitter) {}
        }
        assert_eq!(pool.used(Operation::Write), 192);
    }

    #[test]
    fn the_elevator_can_forbid_a_request_and_can_lift_the_limit() {
        let mut pool = Pool::new(Layer::Legacy, 4);
        let io = Io::read(Submitter(9), 0, 8);
        assert!(!pool.take(&facts(), Time::ZERO, &io, Allocate::Wait));
        pool.is_full[0] = true;
        pool.used[0] = 5;
        assert!(!pool.take(&facts(), Time::ZERO, &io, Allocate::AsUsual));
        assert!(pool.take(&facts(), Time::ZERO, &io, Allocate::Always));
        assert!(!pool.take(&facts(), Time::ZERO, &io, Allocate::Always), "the ceiling holds for all");
    }

    #[test]
    fn tags_of_blk_mq_count_both_directions() {
        let mut pool = Pool::new(Layer::MultiQueue, 2);
        assert!(take(&mut pool, 0, 0) && take(&mut pool, 0, 1) && !take(&mut pool, 0, 0));
        assert!(!pool.take(&facts(), Time::ZERO, &Io::read(Submitter(1), 0, 8), Allocate::AsUsual));
    }
}
