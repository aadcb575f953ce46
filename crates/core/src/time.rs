//! Integer nanoseconds: an instant ([`Time`]) and a duration ([`Span`]) as distinct types.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// An instant, in nanoseconds since the start of the run (or of the recording's clock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// Units accepted by [`Span::parse`], for messages; `m` is short for `min`.
pub const UNITS: &str = "ns, us, ms, s, min, h";

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// Nanoseconds since [`Time::ZERO`].
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if `earlier` is in the future.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero.
    pub const ZERO: Span = Span(0);
    /// Longer than anything measured.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of `n` nanoseconds.
    #[must_use]
    pub const fn from_ns(n: u64) -> Span {
        Span(n)
    }

    /// A span of `n` microseconds.
    #[must_use]
    pub const fn from_us(n: u64) -> Span {
        Span(n * 1_000)
    }

    /// A span of `n` milliseconds.
    #[must_use]
    pub const fn from_ms(n: u64) -> Span {
        Span(n * 1_000_000)
    }

    /// A span of `n` seconds.
    #[must_use]
    pub const fn from_s(n: u64) -> Span {
        Span(n * 1_000_000_000)
    }

    /// Its length in nanoseconds.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// The difference, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// Parses a duration such as `250us`, `1.5ms`, `10 s` or `0`; exact to the nanosecond.
    ///
    /// # Errors
    /// The expected form, as a sentence: no number, a missing or unknown unit, a fraction of a nanosecond, a
    /// negative or an overflowing duration.
    pub fn parse(text: &str) -> Result<Span, String> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
        if number.is_empty() {
            return Err(format!("\"{text}\" is not a length of time; write for example \"250us\" or \"1.5ms\""));
        }
        let scale: u64 = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" | "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" if number.chars().all(|c| c == '0') => 1,
            "" => {
                return Err(format!("\"{text}\" has no unit; did you mean \"{number}ms\"? (units: {UNITS})"));
            }
            _ => return Err(format!("\"{unit}\" in \"{text}\" is not a unit of time ({UNITS})")),
        };
        exact(&number, scale)
            .map(Span)
            .ok_or_else(|| format!("\"{text}\" cannot be held exactly in 64-bit nanoseconds"))
    }
}

/// `number` (digits with at most one point) times `scale`, when that is a whole number below 2^64.
fn exact(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.bytes() {
        if !unit.is_multiple_of(10) {
            return (digit == b'0').then_some(total);
        }
        unit /= 10;
        total = total.checked_add(u64::from(digit - b'0') * unit)?;
    }
    Some(total)
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(self >= earlier, "subtracted a later time ({earlier}) from an earlier one ({self})");
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        debug_assert!(self >= other, "a span cannot be negative: {self} - {other}");
        self.saturating_sub(other)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl Rem<Span> for Span {
    type Output = Span;
    fn rem(self, divisor: Span) -> Span {
        Span(self.0 % divisor.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            0 => return f.pad("0"),
            n if n >= 1_000_000_000 => ("s", 1_000_000_000),
            n if n >= 1_000_000 => ("ms", 1_000_000),
            n if n >= 1_000 => ("us", 1_000),
            _ => ("ns", 1),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        let mut text = whole.to_string();
        if rest > 0 {
            let digits = format!("{rest:0width$}", width = scale.ilog10() as usize);
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        f.pad(&(text + unit))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reads_back_what_it_prints() {
        for ns in [0, 1, 999, 1_000, 1_500_000, 863_000, 2_000_000_001, u64::MAX] {
            assert_eq!(Span::parse(&Span(ns).to_string()), Ok(Span(ns)));
        }
    }

    #[test]
    fn a_span_is_exact_or_refused() {
        assert_eq!(Span::parse("1.5ms"), Ok(Span(1_500_000)));
        assert_eq!(Span::parse("0.000001s"), Ok(Span(1_000)));
        assert_eq!(Span::parse("1.5h"), Ok(Span::from_s(5400)));
        assert_eq!(Span::parse("2m"), Span::parse("2 min"));
        assert!(Span::parse("0.5ns").is_err());
        assert!(Span::parse("99999999999s").is_err());
        assert!(Span::parse("-1ms").is_err());
        assert!(Span::parse("5").unwrap_err().contains("no unit"));
        assert!(Span::parse("5 parsecs").unwrap_err().contains("not a unit"));
        assert!(Span::parse("1d").unwrap_err().contains("ns, us, ms, s, min, h"));
        assert!(Span::parse("1.2.3ms").is_err());
    }
}
