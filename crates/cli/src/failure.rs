//! Failure of a command: a sentence for stderr and an exit code.

/// Exit codes of every command.
pub mod exit {
    /// All went well.
    pub const OK: u8 = 0;
    /// A failure not caused by the input.
    pub const FAILURE: u8 = 1;
    /// Bad usage or bad input.
    pub const USAGE: u8 = 2;
    /// A verdict was requested and the runs are undecided.
    pub const INCONCLUSIVE: u8 = 3;
    /// A checker was violated.
    pub const VIOLATED: u8 = 4;
}

/// A sentence and the exit code that goes with it.
#[derive(Debug)]
pub struct Failure {
    /// Problem, place, and remedy.
    pub sentence: String,
    /// One of [`exit`].
    pub code: u8,
}

impl Failure {
    /// Bad usage or input.
    pub fn usage(sentence: impl Into<String>) -> Failure {
        Failure { sentence: sentence.into(), code: exit::USAGE }
    }

    /// A failure not caused by the input.
    pub fn other(sentence: impl Into<String>) -> Failure {
        Failure { sentence: sentence.into(), code: exit::FAILURE }
    }

    /// A checker was violated.
    pub fn violated(sentence: impl Into<String>) -> Failure {
        Failure { sentence: sentence.into(), code: exit::VIOLATED }
    }
}
