//! The end of a play, set in advance or early.

use goodness_sys::monotonic_ns;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Flag that ends a play: tasks check it before they wait and while they compute.
#[derive(Debug)]
pub struct PlayEnd {
    /// True once the play was ended early.
    ended: AtomicBool,
    /// End of the play, in ns on `CLOCK_MONOTONIC`.
    at: AtomicU64,
}

impl PlayEnd {
    /// A play without an end yet.
    pub fn new() -> PlayEnd {
        PlayEnd { ended: AtomicBool::new(false), at: AtomicU64::new(u64::MAX / 2) }
    }

    /// Sets the end of the play.
    pub fn set(&self, at: u64) {
        self.at.store(at, Ordering::SeqCst);
    }

    /// Ends the play now.
    pub fn end_now(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// True if the play is over.
    pub fn is_over(&self) -> bool {
        self.is_over_at(monotonic_ns())
    }

    /// True if the play is over at `now`, in ns on `CLOCK_MONOTONIC`.
    pub fn is_over_at(&self, now: u64) -> bool {
        self.ended.load(Ordering::SeqCst) || now >= self.at.load(Ordering::Relaxed)
    }

    /// True if the play was ended early.
    pub fn was_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// End of the play, in ns on `CLOCK_MONOTONIC`.
    pub fn at(&self) -> u64 {
        self.at.load(Ordering::SeqCst)
    }
}
