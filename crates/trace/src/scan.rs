//! Bytes of a line into numbers and pieces, without allocation.

use crate::tasks::PID_MAX;
use goodness_core::CPUS_MAX;
use memchr::memrchr;

/// A whole number without sign; `None` for anything else or when it does not fit.
#[inline]
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut value = 0u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// A thread id; `None` for values that are never a thread id in Linux.
#[inline]
pub(crate) fn thread_id(text: &[u8]) -> Option<u32> {
    number(text).filter(|id| *id <= u64::from(PID_MAX)).map(|id| id as u32)
}

/// The number of a CPU; `None` beyond the supported ones.
#[inline]
pub(crate) fn cpu_number(text: &[u8]) -> Option<u32> {
    number(text).filter(|cpu| *cpu < CPUS_MAX as u64).map(|cpu| cpu as u32)
}

/// An integer with an optional sign, as printed by `%d`; −1 may be printed as 4294967295.
#[inline]
pub(crate) fn signed(text: &[u8]) -> Option<i16> {
    let value = match text.strip_prefix(b"-") {
        Some(rest) => -i64::try_from(number(rest)?).ok()?,
        None => i64::try_from(number(text)?).ok()?,
    };
    let value = if value > i64::from(i32::MAX) { value - (1 << 32) } else { value };
    i16::try_from(value).ok()
}

/// A time as `seconds.fraction` with up to nine decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// In ns.
    Ns(u64),
    /// Negative, or beyond 64-bit nanoseconds.
    Impossible,
    /// A number without a point.
    Count,
    /// Something else.
    No,
}

/// Reads `seconds.fraction`.
pub(crate) fn stamp(text: &[u8]) -> Stamp {
    let (text, negative) = match text.strip_prefix(b"-") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let digits = |t: &[u8]| !t.is_empty() && t.iter().all(u8::is_ascii_digit);
    let Some(point) = text.iter().position(|b| *b == b'.') else {
        return if digits(text) && !negative { Stamp::Count } else { Stamp::No };
    };
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    if fraction.len() > 9 || !digits(fraction) || !digits(whole) {
        return Stamp::No;
    }
    if negative {
        return Stamp::Impossible;
    }
    let scale = 10u64.pow(9 - fraction.len() as u32);
    let ns = number(whole).and_then(|s| s.checked_mul(1_000_000_000));
    match (ns, number(fraction)) {
        (Some(ns), Some(rest)) => ns.checked_add(rest * scale).map_or(Stamp::Impossible, Stamp::Ns),
        _ => Stamp::Impossible,
    }
}

/// Takes the last `key=value` off the end of `text`; the value has no spaces. `None` when there is none.
#[inline]
pub(crate) fn last_pair<'a>(text: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let whole: &'a [u8] = text;
    let equals = memrchr(b'=', whole)?;
    let start = memrchr(b' ', &whole[..equals]).map_or(0, |at| at + 1);
    *text = whole[..start].trim_ascii_end();
    Some((&whole[start..equals], whole[equals + 1..].trim_ascii_end()))
}

/// The text before and after the last `mark`.
#[inline]
pub(crate) fn split_last<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let last = *mark.last()?;
    let mut end = text.len();
    while let Some(at) = memrchr(last, &text[..end]) {
        if text[..=at].ends_with(mark) {
            return Some((&text[..at + 1 - mark.len()], &text[at + 1..]));
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_or_refused() {
        assert_eq!(stamp(b"1.5"), Stamp::Ns(1_500_000_000));
        assert_eq!(stamp(b"1042.218400123"), Stamp::Ns(1_042_218_400_123));
        assert_eq!(stamp(b"0.000001"), Stamp::Ns(1_000));
        assert_eq!(stamp(b"-1.000000"), Stamp::Impossible);
        assert_eq!(stamp(b"18446744073.709551615"), Stamp::Ns(u64::MAX));
        assert_eq!(stamp(b"18446744073.709551616"), Stamp::Impossible);
        assert_eq!(stamp(b"99999999999999999999.000000"), Stamp::Impossible);
        assert_eq!(stamp(b"123456"), Stamp::Count);
        assert_eq!(stamp(b"1.0000000001"), Stamp::No);
        assert_eq!(stamp(b"1."), Stamp::No);
        assert_eq!(stamp(b""), Stamp::No);
    }

    #[test]
    fn pairs_come_off_the_end() {
        let mut text: &[u8] = b"comm=a b=c pid=7 prio=-1";
        assert_eq!(last_pair(&mut text), Some((&b"prio"[..], &b"-1"[..])));
        assert_eq!(last_pair(&mut text), Some((&b"pid"[..], &b"7"[..])));
        assert_eq!(text, b"comm=a b=c");
    }

    #[test]
    fn the_last_mark_separates() {
        assert_eq!(split_last(b"a ==> b ==> c", b" ==> "), Some((&b"a ==> b"[..], &b"c"[..])));
        assert_eq!(split_last(b"a", b" ==> "), None);
        assert_eq!(split_last(b" ==> ", b" ==> "), Some((&b""[..], &b""[..])));
    }

    #[test]
    fn priorities_keep_their_sign() {
        assert_eq!(signed(b"-1"), Some(-1));
        assert_eq!(signed(b"4294967295"), Some(-1));
        assert_eq!(signed(b"139"), Some(139));
        assert_eq!(signed(b"99999"), None);
    }
}
