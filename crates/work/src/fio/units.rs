//! Values in fio job files: sizes, times, percentages, and lists of them for reads, writes and trims.

use goodness_core::Span;

/// A size in bytes or as a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Hundredths of the whole.
    Percent(u8),
}

impl Amount {
    /// In bytes, of `whole` bytes.
    #[must_use]
    pub const fn of(self, whole: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (whole as u128 * percent as u128 / 100) as u64,
        }
    }
}

/// Meaning of `k`. With 1024 (fio's default), `ki` is 1000; with 1000, `ki` is 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kilo {
    /// `k` is 1024.
    Binary,
    /// `k` is 1000.
    Decimal,
}

/// A whole number of bytes with an optional unit such as `k`, `4ki`, `1MB`; hexadecimal with `0x`.
///
/// # Errors
/// The fault of the text.
pub fn size(text: &str, kilo: Kilo) -> Result<u64, String> {
    let wrong = || match text.contains('$') {
        true => {
            format!("{text:?} is no number, and nothing replaces it; write a number, or set the variable as ${{NAME}}")
        }
        false => format!("{text:?} is no size; write a whole number with or without k, m, g, t or p"),
    };
    let lower = text.trim().to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_err(|_| wrong());
    }
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(split);
    let unit = unit.strip_suffix('b').unwrap_or(unit);
    let (letter, other) = match unit.strip_suffix('i') {
        Some(letter) if !letter.is_empty() => (letter, true),
        _ => (unit, false),
    };
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(wrong()),
    };
    let base: u64 = if (kilo == Kilo::Binary) == other { 1000 } else { 1024 };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(base.pow(power)).ok_or_else(|| format!("{text:?} is more than 64 bits hold"))
}

/// A size or a percentage.
///
/// # Errors
/// The defect of the text.
pub fn amount(text: &str, kilo: Kilo) -> Result<Amount, String> {
    match text.trim().strip_suffix('%') {
        Some(number) => match number.trim().parse() {
            Ok(percent @ 0..=100) => Ok(Amount::Percent(percent)),
            _ => Err(format!("{text:?} is no percentage between 0% and 100%")),
        },
        None => size(text, kilo).map(Amount::Bytes),
    }
}

/// A length of time; without a unit it counts `unit`s.
///
/// # Errors
/// The defect of the text.
pub fn time(text: &str, unit: Span) -> Result<Span, String> {
    let wrong = || format!("{text:?} is no length of time; write a whole number with or without us, ms, s, m, h or d");
    let lower = text.trim().to_ascii_lowercase();
    let split = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let scale = match lower[split..].trim() {
        "" => unit.ns(),
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = lower[..split].parse().map_err(|_| wrong())?;
    number.checked_mul(scale).map(Span).ok_or_else(|| format!("{text:?} is more than 64-bit nanoseconds hold"))
}

/// Values for reads, writes and trims, as in `4k,8k`. Missing values repeat the previous one; an empty one keeps the
/// old value.
///
/// # Errors
/// More than three values, or an error of `read`.
pub fn three<T: Clone>(text: &str, old: &[T; 3], read: impl Fn(&str) -> Result<T, String>) -> Result<[T; 3], String> {
    let mut new = old.clone();
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    if words.len() > 3 {
        return Err(format!("{text:?} has more than three values, for reads, writes and trims"));
    }
    for place in 0..3 {
        match words.get(place) {
            Some(&"") => {}
            Some(word) => new[place] = read(word)?,
            None if words[words.len() - 1].is_empty() => {}
            None => new[place] = new[words.len() - 1].clone(),
        }
    }
    Ok(new)
}

/// The value of a switch; a bare key is on.
pub(super) fn on_or_off(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(other) => Err(format!("{other:?} is neither 0 nor 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_fios_units() {
        for (text, bytes) in
            [("512", 512), ("4k", 4096), ("4K", 4096), ("4kb", 4096), ("4ki", 4000), ("4KiB", 4000), ("1m", 1 << 20)]
        {
            assert_eq!(size(text, Kilo::Binary), Ok(bytes), "{text}");
        }
        assert_eq!((size("4k", Kilo::Decimal), size("4ki", Kilo::Decimal)), (Ok(4000), Ok(4096)));
        assert_eq!((size("0x10", Kilo::Binary), size("2g", Kilo::Binary)), (Ok(16), Ok(2 << 30)));
        for wrong in ["", "k", "4x", "-1", "1.5k", "4i", "99999999999g", "0x"] {
            assert!(size(wrong, Kilo::Binary).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_suffixes_or_the_options_unit() {
        assert_eq!(time("30", Span::from_s(1)), Ok(Span::from_s(30)));
        assert_eq!(time("30", Span::from_us(1)), Ok(Span::from_us(30)));
        for (text, span) in [("10ms", Span::from_ms(10)), ("2m", Span::from_s(120)), ("1h", Span::from_s(3600))] {
            assert_eq!(time(text, Span::from_s(1)), Ok(span), "{text}");
        }
        for wrong in ["", "s", "1x", "-1", "99999999999999d"] {
            assert!(time(wrong, Span::from_s(1)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_for_three_directions_follow_the_one_before() {
        let read = |text: &str| text.parse::<u8>().map_err(|e| e.to_string());
        assert_eq!(three("4", &[0, 0, 0], read), Ok([4, 4, 4]));
        assert_eq!(three("4,8", &[0, 0, 0], read), Ok([4, 8, 8]));
        assert_eq!(three(",8", &[1, 2, 3], read), Ok([1, 8, 8]));
        assert_eq!(three("4,", &[1, 2, 3], read), Ok([4, 2, 3]));
        assert!(three("1,2,3,4", &[0, 0, 0], read).is_err());
    }

    #[test]
    fn a_percentage_is_a_share_of_the_whole() {
        assert_eq!(amount("25%", Kilo::Binary).map(|a| a.of(1 << 40)), Ok(1 << 38));
        assert_eq!(amount("4k", Kilo::Binary).map(|a| a.of(1 << 40)), Ok(4096));
        assert!(amount("101%", Kilo::Binary).is_err());
    }
}
