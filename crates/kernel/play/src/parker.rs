//! Wait and wake-up of a played task: one futex per task, for timers, channels, locks and the end of the play.

use super::kernel::{futex_wait, futex_wake};
use super::play_end::PlayEnd;
use goodness_sys::monotonic_ns;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Reason a wait ended. Times in ns on `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken by another thread at this time.
    At(u64),
    /// The deadline is reached.
    Due,
    /// The play is over.
    Over,
}

const WAITS: u32 = 0;
const WOKEN: u32 = 1;

/// The futex of one task.
#[derive(Debug, Default)]
pub struct Parker {
    word: AtomicU32,
    woken_at: AtomicU64,
    /// The task's thread id; 0 before it has one and after its end.
    pub tid: AtomicI32,
}

impl Parker {
    /// Marks the task as about to wait. Call this before publishing the task to wakers.
    pub fn prepare(&self) {
        self.word.store(WAITS, Ordering::SeqCst);
    }

    /// Waits, after [`Self::prepare`], until woken, until `until`, or until the play is over.
    pub fn wait(&self, until: u64, end: &PlayEnd) -> Woken {
        loop {
            if self.word.load(Ordering::SeqCst) == WOKEN {
                return match end.was_ended() {
                    true => Woken::Over,
                    false => Woken::At(self.woken_at.load(Ordering::SeqCst)),
                };
            }
            if end.is_over() {
                return Woken::Over;
            }
            if monotonic_ns() >= until {
                return Woken::Due;
            }
            futex_wait(&self.word, WAITS, until.min(end.at()));
        }
    }

    /// Wakes the task, which is waiting or about to.
    pub fn wake(&self) {
        self.woken_at.store(monotonic_ns(), Ordering::SeqCst);
        self.word.store(WOKEN, Ordering::SeqCst);
        futex_wake(&self.word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_wake_up_between_preparing_and_waiting_is_not_lost() {
        let (parker, end) = (Parker::default(), PlayEnd::new());
        parker.prepare();
        parker.wake();
        assert!(matches!(parker.wait(u64::MAX / 2, &end), Woken::At(_)));
    }

    #[test]
    fn a_wait_ends_when_its_time_comes_or_the_play_is_over() {
        let (parker, end) = (Parker::default(), PlayEnd::new());
        parker.prepare();
        assert_eq!(parker.wait(monotonic_ns() + 2_000_000, &end), Woken::Due);
        end.set(monotonic_ns() + 2_000_000);
        assert_eq!(parker.wait(u64::MAX / 2, &end), Woken::Over);
    }

    #[test]
    fn who_waits_when_the_play_is_ended_is_told() {
        let shared = Arc::new((Parker::default(), PlayEnd::new()));
        let theirs = Arc::clone(&shared);
        let waiting = std::thread::spawn(move || {
            theirs.0.prepare();
            theirs.0.wait(u64::MAX / 2, &theirs.1)
        });
        std::thread::sleep(std::time::Duration::from_millis(5));
        shared.1.end_now();
        shared.0.wake();
        assert_eq!(waiting.join().expect("it ends"), Woken::Over);
    }
}
