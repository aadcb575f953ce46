//! The part of a trace that is kept, by time since its first event.

use goodness_core::Span;
use std::fmt;

/// A window of a trace. Times count from its first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Start.
    pub from: Span,
    /// End, which is not part of it.
    pub to: Span,
}

impl Excerpt {
    /// The whole trace.
    pub const WHOLE: Excerpt = Excerpt { from: Span::ZERO, to: Span::MAX };

    /// Parses `10s..20s`, `10s..`, `..20s`, or `20s` for the first 20 s.
    ///
    /// # Errors
    /// No time, or a window of no length.
    pub fn parse(text: &str) -> Result<Excerpt, String> {
        let bound = |text: &str, open| if text.trim().is_empty() { Ok(open) } else { Span::parse(text) };
        let (from, to) = text.split_once("..").unwrap_or(("", text));
        let excerpt = Excerpt { from: bound(from, Span::ZERO)?, to: bound(to, Span::MAX)? };
        match excerpt {
            Excerpt::WHOLE => Err(format!("\"{text}\" is the whole recording; write for example 10s..20s")),
            Excerpt { from, to } if from >= to => Err(format!("\"{text}\" ends before it begins; write FROM..TO")),
            _ => Ok(excerpt),
        }
    }

    /// Its length, if it has an end.
    #[must_use]
    pub fn length(&self) -> Option<Span> {
        (self.to != Span::MAX).then(|| self.to.saturating_sub(self.from))
    }
}

impl Default for Excerpt {
    fn default() -> Excerpt {
        Excerpt::WHOLE
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length() {
            None => write!(f, "{}..", self.from),
            Some(_) => write!(f, "{}..{}", self.from, self.to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_written_as_it_is_read() {
        for (typed, shown) in [("10s..20s", "10s..20s"), ("250ms", "0..250ms"), ("1.5s..", "1.5s.."), ("..2s", "0..2s")]
        {
            let read = Excerpt::parse(typed).expect(typed);
            assert_eq!(Excerpt::parse(&read.to_string()), Ok(read), "{typed} is shown as {read}");
            assert_eq!(Excerpt::parse(shown), Ok(read), "{typed}");
        }
        assert!(
            ["", "..", "2s..1s", "1s..1s", "10", "a..b", "0s", "1s..2s..3s", "-1s.."]
                .map(Excerpt::parse)
                .iter()
                .all(Result::is_err)
        );
    }
}
