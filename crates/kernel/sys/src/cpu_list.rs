//! CPU lists in the format of the kernel: `0-3,8`.

use std::collections::BTreeSet;
use std::str::FromStr;

/// The largest number of a CPU that Linux is built for, and one more.
const MOST: u32 = 8192;

/// CPU numbers, ascending, unique, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl FromStr for CpuList {
    type Err = String;

    /// Reads `0-3,8`.
    ///
    /// # Errors
    /// A sentence with the part that is not a number and no range of CPUs.
    fn from_str(text: &str) -> Result<CpuList, String> {
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.parse::<u32>(), last.parse::<u32>()) {
                (Ok(first), Ok(last)) if first <= last && last < MOST => cpus.extend(first..=last),
                _ => return Err(format!("\"{part}\" is no CPU; write numbers below {MOST} and ranges, as in 0-3,8")),
            }
        }
        Ok(CpuList(cpus.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read_ascending_and_once() {
        assert_eq!("0-2,5,7-8\n".parse(), Ok(CpuList(vec![0, 1, 2, 5, 7, 8])));
        assert_eq!(" 8, 1-2,2 ".parse(), Ok(CpuList(vec![1, 2, 8])));
    }

    #[test]
    fn what_is_no_cpu_is_named() {
        for (text, part) in
            [("", "\"\""), ("1,x", "\"x\""), ("3-1", "\"3-1\""), ("0-9999999", "\"0-9999999\""), ("1-", "\"1-\"")]
        {
            let why = text.parse::<CpuList>().unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
