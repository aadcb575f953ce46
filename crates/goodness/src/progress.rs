//! Progress messages of the library.

use goodness_core::Time;
use std::ops::ControlFlow;

/// One progress message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// This file (`-` for standard input) is about to be opened and read. A pipe may block.
    Opening(&'a str),
    /// The file has been read.
    Opened,
    /// Simulations completed so far. The order of messages depends on the threads.
    Simulated {
        /// Simulations completed.
        done: u64,
        /// Simulations in all.
        of: u64,
    },
    /// A simulation has come this far; told every 65 536 events.
    Advanced {
        /// Number of the simulation, from 0.
        simulation: u64,
        /// Simulated time.
        now: Time,
        /// Its end, unless it ends with its work.
        until: Option<Time>,
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

/// Callback for progress messages, on the working thread. `Break` cancels: the call returns [`crate::Kind::Cancelled`]
/// once running simulations have ended. Opening cannot be cancelled.
pub type Watch<'a> = dyn Fn(Progress) -> ControlFlow<()> + Sync + 'a;

/// Ignores all messages.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
