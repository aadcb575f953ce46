//! Parses numbers of the block formats: decimals of any length into whole units, and integers up to 64 bits.

use crate::repairs::Repair;

/// Parses a time such as `12`, `0.551706`, `1.5e-3` into units of `10^-digits`; fractions are truncated. A time that is
/// negative or beyond 64 bits is impossible, any other text unreadable.
pub(crate) fn decimal(text: &[u8], digits: u32) -> Result<u64, Repair> {
    let (text, negative) = match text {
        [b'-', rest @ ..] => (rest, true),
        [b'+', rest @ ..] => (rest, false),
        _ => (text, false),
    };
    let at = text.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = match at {
        Some(at) => (&text[..at], exponent(&text[at + 1..])),
        None => (text, Some(0)),
    };
    let value = exponent.and_then(|exponent| scaled(mantissa, digits, exponent)).ok_or(Repair::UnreadableLine)?;
    value.filter(|units| *units == 0 || !negative).ok_or(Repair::ImpossibleTime)
}

/// An exponent of at most two digits: times and addresses need no more.
fn exponent(text: &[u8]) -> Option<i32> {
    let (text, sign) = match text {
        [b'-', rest @ ..] => (rest, -1),
        [b'+', rest @ ..] => (rest, 1),
        _ => (text, 1),
    };
    if text.is_empty() || text.len() > 2 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |n, b| n * 10 + i32::from(b - b'0')) * sign)
}

/// `mantissa` times ten to the `digits + exponent`. Outer `None`: not a number; inner: too large.
fn scaled(mantissa: &[u8], digits: u32, exponent: i32) -> Option<Option<u64>> {
    let point = mantissa.iter().position(|b| *b == b'.').unwrap_or(mantissa.len());
    let (whole, fraction) = (&mantissa[..point], mantissa.get(point + 1..).unwrap_or_default());
    if whole.len() + fraction.len() == 0 || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    // Digits that count: those before the point, and as many behind it as the shift makes whole.
    let shift = digits as i32 + exponent;
    let kept = whole.len() as i64 + i64::from(shift);
    let mut value: u64 = 0;
    let mut all = whole.iter().chain(fraction);
    for _ in 0..kept.max(0) {
        let digit = match all.next() {
            Some(byte) => u64::from(byte - b'0'),
            None if value == 0 => return Some(Some(0)),
            None => 0,
        };
        let Some(next) = value.checked_mul(10).and_then(|v| v.checked_add(digit)) else { return Some(None) };
        value = next;
    }
    Some(Some(value))
}

/// A whole number without sign of up to 64 bits.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A whole number of up to 32 bits.
pub(crate) fn small(text: &[u8]) -> Option<u32> {
    whole(text).and_then(|n| u32::try_from(n).ok())
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| matches!(b, b' ' | b'\t')).filter(|w| !w.is_empty())
}

/// Exactly `N` words, or `None`.
pub(crate) fn exactly<'a, const N: usize>(mut from: impl Iterator<Item = &'a [u8]>) -> Option<[&'a [u8]; N]> {
    let mut found = [&b""[..]; N];
    for place in &mut found {
        *place = from.next()?;
    }
    from.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_whole_units_or_say_why_not() {
        assert_eq!(decimal(b"0.551706", 9), Ok(551_706_000));
        assert_eq!(decimal(b"663.00000", 3), Ok(663_000));
        assert_eq!(decimal(b"1.0000000000009", 9), Ok(1_000_000_000));
        assert_eq!(decimal(b"1.5e-3", 6), Ok(1_500));
        assert_eq!(decimal(b"2E+2", 0), Ok(200));
        assert_eq!(decimal(b".5", 1), Ok(5));
        assert_eq!(decimal(b"7.", 0), Ok(7));
        assert_eq!(decimal(b"-0.0", 9), Ok(0));
        assert_eq!(decimal(b"-0.1", 9), Err(Repair::ImpossibleTime));
        assert_eq!(decimal(b"1e99", 9), Err(Repair::ImpossibleTime));
        assert_eq!(decimal(b"0e99", 9), Ok(0));
        assert_eq!(decimal(b"99999999999999999999", 0), Err(Repair::ImpossibleTime));
        for wrong in ["", ".", "x", "1e", "1e999", "1.2.3", "--1", "nan"] {
            assert_eq!(decimal(wrong.as_bytes(), 9), Err(Repair::UnreadableLine), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_reach_64_bits() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"-1"), None);
        assert_eq!(small(b"4294967296"), None);
    }
}
