//! Wait and wake-up of a played task: one futex per task, for timers, channels, locks and the end of the play.

use super::kernel::{futex_wait, futex_wake};
use goodness_sys::monotonic_ns;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The end of a play: every task looks at it before it waits and while it computes.
#[derive(Debug)]
pub struct Curtain {
    down: AtomicBool,
    /// End of the play, in ns on `CLOCK_MONOTONIC`.
    end: AtomicU64,
}

impl Curtain {
    /// A play without an end yet.
    pub fn new() -> Curtain {
        Curtain { down: AtomicBool::new(false), end: AtomicU64::new(u64::MAX / 2) }
    }

    /// Sets the end of the play.
    pub fn ends_at(&self, end: u64) {
        self.end.store(end, Ordering::SeqCst);
    }

    /// Ends the play now.
    pub fn drop_now(&self) {
        self.down.store(true, Ordering::SeqCst);
    }

    /// Whether the play is over.
    pub fn is_down(&self) -> bool {
        self.is_down_at(monotonic_ns())
    }

    /// Whether the play is over at `now`, in ns on `CLOCK_MONOTONIC`.
    pub fn is_down_at(&self, now: u64) -> bool {
        self.down.load(Ordering::SeqCst) || now >= self.end.load(Ordering::Relaxed)
    }
}

/// Reason a wait ended. Times in ns on `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken by another thread at this time.
    At(u64),
    /// The time waited for has come.
    Due,
    /// The play is over.
    Over,
}

const WAITS: u32 = 0;
const CALLED: u32 = 1;

/// The futex of one task.
#[derive(Debug, Default)]
pub struct Seat {
    word: AtomicU32,
    called_at: AtomicU64,
    /// The task's thread; 0 before it has one and after its end.
    pub thread: AtomicI32,
}

impl Seat {
    /// Marks the task as about to wait. Call this before publishing the seat to wakers.
    pub fn prepare(&self) {
        self.word.store(WAITS, Ordering::SeqCst);
    }

    /// Waits, after [`Self::prepare`], until woken, until `until`, or until the play is over.
    pub fn wait(&self, until: u64, curtain: &Curtain) -> Woken {
        loop {
            if self.word.load(Ordering::SeqCst) == CALLED {
                return match curtain.down.load(Ordering::SeqCst) {
                    true => Woken::Over,
                    false => Woken::At(self.called_at.load(Ordering::SeqCst)),
                };
            }
            if curtain.is_down() {
                return Woken::Over;
            }
            if monotonic_ns() >= until {
                return Woken::Due;
            }
            futex_wait(&self.word, WAITS, until.min(curtain.end.load(Ordering::SeqCst)));
        }
    }

    /// Wakes the task, which is waiting or about to.
    pub fn call(&self) {
        self.called_at.store(monotonic_ns(), Ordering::SeqCst);
        self.word.store(CALLED, Ordering::SeqCst);
        futex_wake(&self.word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_call_between_preparing_and_waiting_is_not_lost() {
        let (seat, curtain) = (Seat::default(), Curtain::new());
        seat.prepare();
        seat.call();
        assert!(matches!(seat.wait(u64::MAX / 2, &curtain), Woken::At(_)));
    }

    #[test]
    fn a_wait_ends_when_its_time_comes_or_the_play_is_over() {
        let (seat, curtain) = (Seat::default(), Curtain::new());
        seat.prepare();
        assert_eq!(seat.wait(monotonic_ns() + 2_000_000, &curtain), Woken::Due);
        curtain.ends_at(monotonic_ns() + 2_000_000);
        assert_eq!(seat.wait(u64::MAX / 2, &curtain), Woken::Over);
    }

    #[test]
    fn who_waits_when_the_curtain_drops_is_told() {
        let shared = Arc::new((Seat::default(), Curtain::new()));
        let theirs = Arc::clone(&shared);
        let waiting = std::thread::spawn(move || {
            theirs.0.prepare();
            theirs.0.wait(u64::MAX / 2, &theirs.1)
        });
        std::thread::sleep(std::time::Duration::from_millis(5));
        shared.1.drop_now();
        shared.0.call();
        assert_eq!(waiting.join().expect("it ends"), Woken::Over);
    }
}
