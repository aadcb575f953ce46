//! What the library tells while it works.

use std::ops::ControlFlow;

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// This is about to be opened and read: a file, `-` for standard input. What is no ordinary file may keep the caller waiting.
    Opening(&'a str),
    /// What was to be opened is read.
    Opened,
    /// So many simulations of so many are done. The order in which threads tell it is not fixed.
    Simulated {
        /// How many are done.
        done: u64,
        /// How many there will be.
        of: u64,
    },
}

/// Is told what goes on, on the thread that does it; `Break` cancels: the call returns [`crate::Kind::Cancelled`] as soon
/// as the simulations under way have ended. Opening cannot be cancelled.
pub type Watch<'a> = dyn Fn(Progress) -> ControlFlow<()> + Sync + 'a;

/// For callers who need not know.
pub fn unwatched(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
