//! The request pool: its size and its limits.
//!
//! Single-queue layer (`specs/io-schedulers.md` section 2.1): n requests per direction. A submitter that takes the last
//! one, or has slept for one, is *batching*: for 32 requests or 20 ms it may exceed n, up to 1.5 n. All others sleep.
//! blk-mq: n tags per hardware queue, for all directions. Congestion marks (7/8 n) are not modelled: nothing here uses
//! them.

use goodness_core::{Allocate, Layer, QueueFacts, Span, Submitter, Time};

/// Requests of a batching submitter. Source: `BLK_BATCH_REQ`.
const BATCH_REQUESTS: u32 = 32;

/// Duration of batching. Source: `BLK_BATCH_TIME` = HZ/50.
const BATCH_TIME: Span = Span::from_ms(20);

/// The licence of one submitter to go beyond the limit.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    left: u32,
    since: u64,
}

/// Requests in use, by share: a direction of the single-queue layer, or a hardware queue of blk-mq.
#[derive(Debug)]
pub(crate) struct Pool {
    layer: Layer,
    /// Limit per share.
    limit: u32,
    used: Vec<u32>,
    is_full: [bool; 2],
    batches: Vec<Batch>,
}

impl Pool {
    /// `limit` requests for each direction, or for each of `queues` hardware queues.
    pub fn new(layer: Layer, queues: u16, limit: u32) -> Pool {
        let shares = if layer == Layer::Legacy { 2 } else { usize::from(queues) };
        Pool { layer, limit, used: vec![0; shares], is_full: [false; 2], batches: Vec::new() }
    }

    /// Requests of `share` in use.
    #[inline]
    pub fn used(&self, share: usize) -> u32 {
        self.used[share]
    }

    /// Takes a request of `share` for `submitter`, if within the limit. `say` is the elevator's answer, which is not
    /// [`Allocate::Wait`].
    #[inline]
    pub fn take(&mut self, facts: &QueueFacts, now: Time, share: usize, submitter: Submitter, say: Allocate) -> bool {
        let may = match self.layer {
            Layer::Legacy => self.may_take_legacy(facts, now, share, submitter, say),
            Layer::MultiQueue => self.used[share] < self.limit,
        };
        self.used[share] += u32::from(may);
        may
    }

    /// The rules of the single-queue layer, in the order in which it applies them.
    fn may_take_legacy(
        &mut self,
        facts: &QueueFacts,
        now: Time,
        way: usize,
        submitter: Submitter,
        say: Allocate,
    ) -> bool {
        let is_batching = self.is_batching(facts, now, submitter);
        if self.used[way] + 1 >= self.limit {
            if !self.is_full[way] {
                self.is_full[way] = true;
                self.begin_batch(facts, now, submitter);
            } else if say != Allocate::Always && !is_batching {
                return false;
            }
        }
        if self.used[way] >= self.limit + self.limit / 2 {
            return false;
        }
        if self.is_batching(facts, now, submitter) {
            self.batches[submitter.index()].left -= 1;
        }
        true
    }

    fn is_batching(&self, facts: &QueueFacts, now: Time, submitter: Submitter) -> bool {
        let Some(batch) = self.batches.get(submitter.index()) else { return false };
        let jiffies = facts.jiffies_up(BATCH_TIME);
        batch.left == BATCH_REQUESTS || (batch.left > 0 && facts.jiffies(now) < batch.since + jiffies)
    }

    /// Lets `submitter`, which slept for a request or took the last one, exceed the limit for a while.
    pub fn begin_batch(&mut self, facts: &QueueFacts, now: Time, submitter: Submitter) {
        if self.is_batching(facts, now, submitter) {
            return;
        }
        if submitter.index() >= self.batches.len() {
            self.batches.resize(submitter.index() + 1, Batch::default());
        }
        self.batches[submitter.index()] = Batch { left: BATCH_REQUESTS, since: facts.jiffies(now) };
    }

    /// Frees a request of `share`.
    #[inline]
    pub fn give_back(&mut self, share: usize) {
        self.used[share] -= 1;
        if self.layer == Layer::Legacy && self.used[share] < self.limit {
            self.is_full[share] = false;
        }
    }

    /// True if a sleeper for `share` is woken: it then batches.
    pub fn wakes(&self, share: usize) -> bool {
        self.layer == Layer::Legacy && self.used[share] < self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> QueueFacts {
        QueueFacts { hz: 1000, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 1 << 31, requests: 128 }
    }

    const READS: usize = 0;
    const WRITES: usize = 1;

    fn take(pool: &mut Pool, ms: u64, submitter: u32) -> bool {
        pool.take(&facts(), Time(ms * 1_000_000), WRITES, Submitter(submitter), Allocate::AsUsual)
    }

    #[test]
    fn who_takes_the_last_request_goes_on_to_take_32_and_another_sleeps() {
        let mut pool = Pool::new(Layer::Legacy, 1, 128);
        let taken = (0..200).take_while(|_| take(&mut pool, 0, 0)).count();
        assert_eq!(taken, 127 + 32);
        assert!(!take(&mut pool, 0, 1));
        assert!(pool.take(&facts(), Time::ZERO, READS, Submitter(1), Allocate::AsUsual));
    }

    #[test]
    fn a_batch_ends_after_20_ms_and_nobody_goes_beyond_one_and_a_half_times_the_limit() {
        let mut pool = Pool::new(Layer::Legacy, 1, 128);
        for _ in 0..130 {
            assert!(take(&mut pool, 0, 0));
        }
        assert!(take(&mut pool, 19, 0));
        assert!(!take(&mut pool, 20, 0));
        for submitter in 1..4 {
            pool.begin_batch(&facts(), Time::ZERO, Submitter(submitter));
            while take(&mut pool, 0, submitter) {}
        }
        assert_eq!(pool.used(WRITES), 192);
    }

    #[test]
    fn the_elevator_can_lift_the_limit_but_not_the_ceiling() {
        let mut pool = Pool::new(Layer::Legacy, 1, 4);
        pool.is_full[READS] = true;
        pool.used[READS] = 5;
        let mut take = |say| pool.take(&facts(), Time::ZERO, READS, Submitter(9), say);
        assert!(!take(Allocate::AsUsual));
        assert!(take(Allocate::Always));
        assert!(!take(Allocate::Always), "the ceiling holds for all");
    }

    #[test]
    fn each_hardware_queue_of_blk_mq_has_its_own_tags() {
        let mut pool = Pool::new(Layer::MultiQueue, 2, 2);
        let mut take = |queue| pool.take(&facts(), Time::ZERO, queue, Submitter(0), Allocate::AsUsual);
        assert!(take(0) && take(0) && !take(0) && take(1));
        pool.give_back(0);
        assert_eq!((pool.used(0), pool.used(1)), (1, 1));
    }
}
