//! Progress messages of the library.

use goodness_core::Time;
use goodness_report::figure;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// One progress message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// This file (`-` for standard input) is about to be opened and read. A pipe may block.
    Opening(&'a str),
    /// This file (`-` for standard input) is being read.
    Reading {
        /// Its name.
        path: &'a str,
        /// Bytes read so far.
        read: u64,
        /// Its size; `None` for a pipe.
        of: Option<u64>,
    },
    /// The file has been read; a recording's work is recovered from it next.
    Opened,
    /// Simulations completed so far. The order of messages depends on the threads.
    Simulated {
        /// Simulations completed.
        done: u64,
        /// Simulations in all.
        of: u64,
    },
    /// A simulation begins, at time 0, or goes on.
    Simulating {
        /// Simulations completed.
        done: u64,
        /// Simulations in all.
        of: u64,
        /// Simulated time that it has reached.
        at: Time,
        /// Simulated time at which it ends at the latest; `None` if it ends with its tasks.
        end: Option<Time>,
    },
    /// A tuning simulated once more.
    Raced {
        /// The round of the search, from 1; after the last one the final score.
        round: u32,
        /// Rounds of the search.
        rounds: u32,
        /// Candidates that run in it, with the default.
        left: usize,
        /// Simulations so far.
        runs: u64,
    },
}

/// Callback for progress messages, on the working thread. `Break` cancels: the call returns [`crate::Kind::Cancelled`],
/// at the latest 1024 events later, or a mebibyte of a
/// file. Waiting for a pipe cannot be cancelled, nor can recovering work.
pub type Watch<'a> = dyn Fn(Progress) -> ControlFlow<()> + Sync + 'a;

/// Ignores all messages.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Time between two looks at work under way; told is it much more often.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What people should see of a call's progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// What is shown stays.
    AsBefore,
    /// Nothing any more.
    Nothing,
    /// Long work, of which this is done.
    Long {
        /// Parts that are done.
        done: u64,
        /// All parts; a new number begins a new bar.
        of: u64,
        /// The same in words.
        said: String,
    },
}

/// Progress of a call, from its messages, as people should see it.
#[derive(Clone, Debug, Default)]
pub struct Account {
    looked: Option<Instant>,
    /// The furthest simulation that has not ended.
    furthest: Furthest,
    /// Time at which reading a file began, and parts that were told of it.
    reading: Option<(Instant, u64)>,
}

impl Account {
    /// Takes a message into account.
    pub fn takes(&mut self, progress: Progress) -> Shown {
        match progress {
            Progress::Reading { path, read, of } => self.reads(path, read, of),
            Progress::Opened => match self.reading.take().filter(|(_, of)| *of > 0) {
                Some((_, of)) => Shown::Long { done: of, of, said: "recovering the work".into() },
                None => Shown::AsBefore,
            },
            Progress::Simulating { .. } | Progress::Simulated { .. } => {
                self.furthest.takes(progress);
                match self.furthest.is_done() {
                    true => Shown::Nothing,
                    false if !self.is_due() => Shown::AsBefore,
                    false => {
                        let (done, of) = (self.furthest.part(), self.furthest.parts());
                        Shown::Long { done, of, said: self.furthest.to_string() }
                    }
                }
            }
            // A pipe that blocks is told otherwise, and a tuning shows its own.
            Progress::Opening(_) | Progress::Raced { .. } => Shown::AsBefore,
        }
    }

    /// Reading a file, once that takes long.
    fn reads(&mut self, path: &str, read: u64, size: Option<u64>) -> Shown {
        let (begun, told) = self.reading.get_or_insert_with(|| (Instant::now(), 0));
        let elapsed = begun.elapsed();
        if elapsed < BETWEEN_LOOKS || self.looked.is_some_and(|at| at.elapsed() < BETWEEN_LOOKS) {
            return Shown::AsBefore;
        }
        let of = size.unwrap_or(read).max(1);
        *told = of;
        self.looked = Some(Instant::now());
        Shown::Long { done: read, of, said: read_so_far(path, read, size, elapsed) }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.looked.is_none_or(|at| at.elapsed() >= BETWEEN_LOOKS);
        if is_due {
            self.looked = Some(Instant::now());
        }
        is_due
    }
}

/// How far a file is read after `elapsed`: `read 3.2 GB of 10 GB, 450 MB/s`.
fn read_so_far(path: &str, read: u64, of: Option<u64>, elapsed: Duration) -> String {
    let bytes = |count: u64, unit| figure::show(Some(count as f64), unit);
    let of = of.map_or_else(String::new, |size| format!(" of {}", bytes(size, "bytes")));
    let rate = figure::show(Some(read as f64 / elapsed.as_secs_f64().max(1e-9)), "bytes/s");
    format!("{}: read {}{of}, {rate}", figure::printable(path), bytes(read, "bytes"))
}

/// Parts of a simulation, for bars.
const PARTS: u64 = 1000;

/// Progress of the simulations of a call, from its messages: `simulated 3/10; the next is at 1.25 s of 10 s`.
#[derive(Clone, Copy, Debug, Default)]
struct Furthest {
    done: u64,
    of: u64,
    /// The furthest simulation that goes on since the last one was completed.
    at: Time,
    end: Option<Time>,
}

impl Furthest {
    /// Takes a message into account.
    fn takes(&mut self, progress: Progress) {
        match progress {
            Progress::Simulated { done, of } if done > self.done || of != self.of => {
                *self = Furthest { done, of, ..Furthest::default() };
            }
            Progress::Simulating { done, of, at, end } if done != self.done || at >= self.at => {
                *self = Furthest { done, of, at, end };
            }
            _ => {}
        }
    }

    /// True if all are completed.
    fn is_done(&self) -> bool {
        self.done == self.of
    }

    /// Parts of all simulations.
    fn parts(&self) -> u64 {
        self.of * PARTS
    }

    /// Parts that are simulated.
    fn part(&self) -> u64 {
        let share = self.end.map_or(0.0, |end| self.at.ns() as f64 / end.ns().max(1) as f64);
        self.done * PARTS + (share * PARTS as f64) as u64
    }
}

impl fmt::Display for Furthest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |at: Time| figure::show(Some(at.ns() as f64), "ns");
        write!(f, "simulated {}/{}", self.done, self.of)?;
        match (self.at, self.end) {
            (Time::ZERO, _) => Ok(()),
            (at, None) => write!(f, "; the next is at {}", time(at)),
            (at, Some(end)) => write!(f, "; the next is at {} of {}", time(at), time(end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_told_with_the_size_and_the_rate() {
        let said = read_so_far("big.txt", 3_000_000_000, Some(10_000_000_000), Duration::from_secs(6));
        assert_eq!(said, "big.txt: read 3 GB of 10 GB, 500 MB/s");
        assert_eq!(read_so_far("-", 4_000_000, None, Duration::from_secs(2)), "-: read 4 MB, 2 MB/s");
    }

    #[test]
    fn reading_and_simulating_are_shown_once_they_take_long_and_end() {
        let mut account = Account::default();
        let reading = |read| Progress::Reading { path: "big.txt", read, of: Some(4_000_000) };
        assert_eq!(account.takes(reading(1_000_000)), Shown::AsBefore);
        assert_eq!(account.takes(Progress::Opened), Shown::AsBefore, "it was read at once");
        account.takes(reading(1_000_000));
        std::thread::sleep(BETWEEN_LOOKS);
        let Shown::Long { done, of, said } = account.takes(reading(2_000_000)) else { panic!("it takes long") };
        assert_eq!((done, of), (2_000_000, 4_000_000));
        assert!(said.starts_with("big.txt: read 2 MB of 4 MB, "), "{said}");
        assert!(matches!(account.takes(Progress::Opened), Shown::Long { said, .. } if said == "recovering the work"));
        std::thread::sleep(BETWEEN_LOOKS);
        let half = Progress::Simulating { done: 0, of: 1, at: Time(5_000), end: Some(Time(10_000)) };
        assert!(matches!(account.takes(half), Shown::Long { done: 500, of: 1000, .. }));
        assert_eq!(account.takes(half), Shown::AsBefore, "a moment later");
        assert_eq!(account.takes(Progress::Simulated { done: 1, of: 1 }), Shown::Nothing);
    }

    #[test]
    fn the_furthest_simulation_is_said_and_a_new_one_begins_again() {
        let mut furthest = Furthest::default();
        let second = |s: u64| Time(s * 1_000_000_000);
        let mut takes = |done, at, end| {
            furthest.takes(Progress::Simulating { done, of: 10, at: second(at), end });
            (furthest.to_string(), furthest.part())
        };
        assert_eq!(takes(0, 0, None), ("simulated 0/10".into(), 0));
        let third = ("simulated 0/10; the next is at 3 s of 10 s".into(), 300);
        assert_eq!(takes(0, 3, Some(second(10))), third);
        assert_eq!(takes(0, 2, Some(second(10))), third, "another one that is behind");
        assert_eq!(takes(1, 1, None), ("simulated 1/10; the next is at 1 s".into(), 1000));
        furthest.takes(Progress::Simulated { done: 10, of: 10 });
        assert!(furthest.is_done());
    }
}
