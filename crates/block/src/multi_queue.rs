//! blk-mq: the plug of a submission, and the tags of the hardware queues.
//!
//! Source: `specs/io-schedulers.md` section 2.2. The plug collects the requests of one submission. It is flushed at 32
//! requests, when another request follows one of at least 128 KiB, and at the end. Driver tags are the device's depth,
//! divided evenly among its hardware queues. Queues with free tags are served round robin.

use goodness_core::{HwQueue, RequestId};

/// Requests that fill a plug. Source: `BLK_MAX_REQUEST_COUNT`.
pub(crate) const PLUG_REQUESTS: usize = 32;

/// A last request of this many sectors ends a plug. Source: `BLK_PLUG_FLUSH_SIZE` = 128 KiB.
pub(crate) const PLUG_SECTORS: u32 = 256;

/// The plug and the tags of one disk.
#[derive(Debug)]
pub(crate) struct Tags {
    /// Requests of the submission that is going on, in order.
    pub plug: Vec<RequestId>,
    in_flight: Vec<u32>,
    each: u32,
    turn: usize,
}

impl Tags {
    /// `depth` tags over `queues` hardware queues.
    pub fn new(depth: u32, queues: u16) -> Tags {
        let queues = queues.max(1);
        Tags {
            plug: Vec::with_capacity(PLUG_REQUESTS),
            in_flight: vec![0; usize::from(queues)],
            each: (depth / u32::from(queues)).max(1),
            turn: 0,
        }
    }

    /// The hardware queue of a software queue.
    #[inline]
    pub fn queue_of(&self, cpu: u16) -> HwQueue {
        HwQueue((usize::from(cpu) % self.in_flight.len()) as u16)
    }

    /// Number of hardware queues.
    pub fn queues(&self) -> usize {
        self.in_flight.len()
    }

    /// Next hardware queue in turn.
    #[inline]
    pub fn next_queue(&mut self) -> HwQueue {
        let queue = self.turn;
        self.turn = if queue + 1 == self.in_flight.len() { 0 } else { queue + 1 };
        HwQueue(queue as u16)
    }

    /// True if `queue` has a free tag.
    #[inline]
    pub fn is_free(&self, queue: HwQueue) -> bool {
        self.in_flight[queue.index()] < self.each
    }

    #[inline]
    pub fn take(&mut self, queue: HwQueue) {
        self.in_flight[queue.index()] += 1;
    }

    #[inline]
    pub fn give_back(&mut self, queue: HwQueue) {
        self.in_flight[queue.index()] -= 1;
    }
}
