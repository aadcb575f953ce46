//! Failure of a command: a sentence for stderr and an exit code.

use std::fmt;

/// Exit codes of every command.
pub mod exit {
    /// All went well.
    pub const OK: u8 = 0;
    /// Something went wrong that was not the input's fault.
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

    /// Something went wrong that was not the input's fault.
    pub fn other(sentence: impl Into<String>) -> Failure {
        Failure { sentence: sentence.into(), code: exit::FAILURE }
    }

    /// A checker was violated.
    pub fn violated(sentence: impl Into<String>) -> Failure {
        Failure { sentence: sentence.into(), code: exit::VIOLATED }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Longest word printed in full. A choice: longer than any path or sensible setting.
const WORD_MAX: usize = 1000;
/// Characters kept of a longer word.
const WORD_KEPT: usize = 100;

/// Cuts overlong words of `sentence`, which may repeat the contents of a file.
pub fn shortened(sentence: &str) -> String {
    let short = |word: &str| match word.chars().count() {
        0..=WORD_MAX => word.to_string(),
        letters => {
            let kept: String = word.chars().take(WORD_KEPT).collect();
            format!("{kept}… ({} letters more)", letters - WORD_KEPT)
        }
    };
    sentence.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_hundred_thousand_letters_is_not_repeated_as_a_whole() {
        let fine = format!("there is no device \"{}\"", "n".repeat(900));
        assert_eq!(shortened(&fine), fine);
        let cut = shortened(&format!("line 5: {} is no size", "9".repeat(100_000)));
        assert_eq!(cut, format!("line 5: {}… (99900 letters more) is no size", "9".repeat(100)));
    }
}
