//! Entities, and a queue of them with their average virtual runtime V.

use super::NOBODY;
use crate::parts::fair::order::QueueId;
use crate::parts::fair::weight::Weight;
use goodness_queues::{Tally, Tree};

/// State of one entity, in a cache line of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Entity {
    /// Virtual runtime.
    pub runtime: i64,
    /// Virtual deadline; while `relative`, its distance from the virtual runtime.
    pub deadline: i64,
    /// Lag when it last left a queue, in virtual time; positive if it is owed service.
    pub lag: i64,
    /// Until which virtual runtime it is protected since it was picked.
    pub protected: i64,
    pub slice: u64,
    pub weight: Weight,
    pub home: QueueId,
    pub queued: bool,
    /// Asleep, but still queued until it has worked off its negative lag.
    pub delayed: bool,
    pub relative: bool,
    pub is_idle: bool,
}

const _: () = assert!(size_of::<Entity>() == 64);

/// The entities of one queue. The current one is not in the tree but counts in all sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub tree: Tree,
    pub current: u32,
    pub next: u32,
    /// Sums are kept relative to this virtual time.
    pub base: i64,
    /// Σ weight · (runtime − base) over all entities.
    pub sum: i128,
    /// Σ weight over all entities.
    pub load: u64,
    /// The requested slices of all entities.
    pub slices: Tally,
    /// Entities queued, the current and the delayed ones included.
    pub count: u32,
    pub delayed: u32,
}

impl Queue {
    /// A queue without entities.
    pub fn empty() -> Queue {
        Queue { current: NOBODY, next: NOBODY, ..Queue::default() }
    }

    /// V, rounded down, without keeping it.
    pub fn virtual_time(&self) -> i64 {
        self.base + self.sum.div_euclid(i128::from(self.load.max(1))) as i64
    }

    /// V, rounded down. For an empty queue, the last value.
    #[inline(always)]
    pub fn average(&mut self) -> i64 {
        if self.load == 0 {
            return self.base;
        }
        let relative = match i64::try_from(self.sum) {
            Ok(small) => small.div_euclid(self.load as i64),
            Err(_) => self.sum.div_euclid(i128::from(self.load)) as i64,
        };
        self.base += relative;
        self.sum -= i128::from(self.load) * i128::from(relative);
        self.base
    }

    /// A test for "not ahead of V" that needs no division.
    #[inline(always)]
    pub fn eligibility(&self) -> impl Fn(i64) -> bool + use<> {
        let Queue { sum, load, base, .. } = *self;
        move |runtime| sum >= i128::from(runtime - base) * i128::from(load)
    }
}
