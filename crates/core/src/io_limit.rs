//! A limit on the block I/O of a task group (`io.max`).
//!
//! Source: the kernel's `Documentation/admin-guide/cgroup-v2.rst`, "IO Interface Files".

use std::fmt;

/// Most bytes and I/Os a second of a group and those within it, on each disk; `None` where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoLimit {
    /// Bytes read a second (`rbps`).
    pub read_bytes: Option<u64>,
    /// Bytes written a second (`wbps`); a discard counts as one of 512.
    pub written_bytes: Option<u64>,
    /// Reads a second (`riops`).
    pub reads: Option<u64>,
    /// Writes, discards and flushes a second (`wiops`).
    pub writes: Option<u64>,
}

impl IoLimit {
    /// No limit at all.
    pub const NONE: IoLimit = IoLimit { read_bytes: None, written_bytes: None, reads: None, writes: None };

    /// A limit as written: `rbps=10M wiops=200`, `rbps=max`; a comma separates, too. K, M, G are powers of 1024.
    ///
    /// # Errors
    /// A sentence if it is none, or one of 0, which would stop the group for ever.
    pub fn parse(text: &str) -> Result<IoLimit, String> {
        let mut limit = IoLimit::NONE;
        if text.trim() == "max" {
            return Ok(limit);
        }
        let parts: Vec<&str> = text.split([' ', ',']).filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return Err("no limit is given; write max for none, or one such as rbps=10M".into());
        }
        let mut given = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let place = match key {
                "rbps" => &mut limit.read_bytes,
                "wbps" => &mut limit.written_bytes,
                "riops" => &mut limit.reads,
                "wiops" => &mut limit.writes,
                rate if value.is_empty() && rate.starts_with(|first: char| first.is_ascii_digit()) => {
                    return Err(format!("\"{part}\" does not say of what; write rbps={part}, or wbps, riops or wiops"));
                }
                _ => return Err(format!("\"{part}\" is no limit of I/O; write rbps, wbps, riops or wiops: rbps=10M")),
            };
            if given.contains(&key) {
                return Err(format!("{key} is given twice; keep one of its values"));
            }
            given.push(key);
            *place = match value {
                "max" => None,
                _ => Some(number(value).ok_or_else(|| {
                    format!("\"{part}\" needs \"max\" or a whole number above 0, with K, M or G if you like: {key}=10M")
                })?),
            };
        }
        Ok(limit)
    }
}

/// A number above 0 with a unit of 1024.
fn number(text: &str) -> Option<u64> {
    let (digits, unit) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|it| (1..=1 << 50).contains(it))
}

impl fmt::Display for IoLimit {
    /// As [`IoLimit::parse`] reads it, and `io.max` behind the number of a disk.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts =
            [("rbps", self.read_bytes), ("wbps", self.written_bytes), ("riops", self.reads), ("wiops", self.writes)];
        for (place, (key, value)) in parts.into_iter().enumerate() {
            let gap = if place > 0 { " " } else { "" };
            match value {
                Some(value) => write!(f, "{gap}{key}={value}")?,
                None => write!(f, "{gap}{key}=max")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_for_the_kernel_and_printed_so_that_they_are_read_again() {
        let limit = IoLimit::parse("rbps=10M wiops=200").unwrap();
        assert_eq!((limit.read_bytes, limit.writes, limit.written_bytes), (Some(10 << 20), Some(200), None));
        assert_eq!(limit.to_string(), "rbps=10485760 wbps=max riops=max wiops=200");
        assert_eq!(IoLimit::parse(&limit.to_string()), Ok(limit));
        assert_eq!(IoLimit::parse("max"), Ok(IoLimit::NONE));
        let numbers = ["rbps=0", "rbps=-1", "rbps", "rbps=1T", "riops=99999999999999999999", "rbps=K"];
        for wrong in ["", " , ", "rbps=1M rbps=2M", "speed=3"].into_iter().chain(numbers) {
            assert!(IoLimit::parse(wrong).is_err(), "{wrong}");
        }
    }
}
