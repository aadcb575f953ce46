//! Parameters of loads that are neither numbers, times nor choices.

use goodness_core::tunable::TunableValue;
use std::path::PathBuf;

/// A user's file; empty if none is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePath(pub PathBuf);

impl TunableValue for FilePath {
    const KIND: &'static str = "path";
    const UNIT: &'static str = "";

    fn read(text: &str) -> Result<Self, String> {
        Ok(FilePath(text.into()))
    }

    fn show(&self) -> String {
        self.0.display().to_string()
    }
}

/// Numbers to test in turn, ascending, typed as `4 8 16`. Empty without a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub Vec<u64>);

/// A sweep has no more points than this, and no larger one.
const MOST: usize = 16;
const LARGEST: u64 = 1024;

impl TunableValue for Counts {
    const KIND: &'static str = "list";
    const UNIT: &'static str = "";

    fn read(text: &str) -> Result<Self, String> {
        let read: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        let counts =
            read.map_err(|_| format!("\"{text}\" is no list of whole numbers; write for example \"4 8 16\""))?;
        let ascends = counts.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends || counts.len() > MOST || counts.iter().any(|count| !(1..=LARGEST).contains(count)) {
            return Err(format!(
                "\"{text}\" is not at most {MOST} numbers of 1 to {LARGEST}, each larger than the one before"
            ));
        }
        Ok(Counts(counts))
    }

    fn show(&self) -> String {
        let words: Vec<String> = self.0.iter().map(u64::to_string).collect();
        words.join(" ")
    }

    fn allowed() -> String {
        format!("up to {MOST} numbers of 1 to {LARGEST}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ascends_and_is_bounded() {
        assert_eq!(Counts::read("4 8  16").unwrap().0, [4, 8, 16]);
        assert_eq!(Counts::read("4 8 16").unwrap().show(), "4 8 16");
        assert!(Counts::read("").unwrap().0.is_empty());
        for bad in ["8 4", "4 4", "0", "1025", "four", "-1", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"] {
            assert!(Counts::read(bad).is_err(), "{bad}");
        }
    }
}
