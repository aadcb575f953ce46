//! The list of trace formats. Adding one is a file and a line in [`FORMATS`].

use crate::format::Format;
use crate::{ftrace, perf_script, trace_cmd};

/// Every format, in the order in which they are tried on each line.
pub const FORMATS: &[Format] = &[perf_script::FORMAT, trace_cmd::FORMAT, ftrace::FORMAT];

/// Number of bytes inspected to recognise the format.
pub(crate) const HEAD: usize = 64 << 10;

/// Detects the format of a text that starts with `head`.
pub(crate) fn recognise(head: &[u8]) -> Option<&'static Format> {
    head.split(|b| *b == b'\n').find_map(|line| FORMATS.iter().find(|f| (f.recognises)(line)))
}

/// Remedy for a file of unknown format.
pub(crate) fn remedy(head: &[u8]) -> String {
    if head.starts_with(b"PERFILE") {
        return "It is perf's binary file: print it with `perf script --ns -i FILE` and read that".into();
    }
    if head.starts_with(b"\x17\x08\x44tracing") {
        return "It is trace-cmd's binary file: print it with `trace-cmd report -t -l FILE` and read that".into();
    }
    "Record one, or print it in one of these formats".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_of_its_own_and_says_how_to_record_it() {
        for (at, format) in FORMATS.iter().enumerate() {
            assert!(!format.how_to_record.is_empty() && !format.reads.is_empty());
            assert!(FORMATS[..at].iter().all(|f| f.name != format.name));
        }
    }
}
