//! The list of block formats. Adding one is a file and a line in [`BLOCK_FORMATS`].

use super::format::{BlockFormat, Reads};
use super::{blkparse, blktrace, disksim, events, iolog, msr, spc, validate};

/// Every format, in the order in which they are tried on each line.
pub const BLOCK_FORMATS: &[BlockFormat] = &[
    blktrace::FORMAT,
    iolog::FORMAT,
    events::FORMAT,
    blkparse::FORMAT,
    msr::FORMAT,
    spc::FORMAT,
    validate::FORMAT,
    disksim::FORMAT,
];

/// Detects the format of a file that starts with `head`.
pub(crate) fn recognise(head: &[u8]) -> Option<&'static BlockFormat> {
    if blktrace::recognises(head) {
        return Some(&BLOCK_FORMATS[0]);
    }
    head.split(|b| *b == b'\n').find_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        BLOCK_FORMATS.iter().find(|f| matches!(f.reads, Reads::Text { recognises, .. } if recognises(line)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_of_its_own_and_says_how_to_record_it() {
        for (at, format) in BLOCK_FORMATS.iter().enumerate() {
            assert!(!format.how_to_record.is_empty() && !format.summary.is_empty());
            assert!(BLOCK_FORMATS[..at].iter().all(|f| f.name != format.name));
        }
    }

    #[test]
    fn each_format_is_recognised_by_its_content() {
        for (name, text) in [
            ("fio-iolog", "fio version 2 iolog\n"),
            ("fio-iolog", "fio version 3 iolog\n"),
            ("fio-iolog", "0,4096,512\n"),
            ("block-events", " dd-9 [000] d..1.  1.000001: block_rq_issue: 8,0 R 4096 () 8 + 8 [dd]\n"),
            ("block-events", " dd-9 [000] ...1.  1.000001:   8,0    Q   R 8 + 8 [dd]\n"),
            ("block-events", "# tracer: nop\n# goodness: {\"recording\":{}}\n a-1 [000] d..2. 1.0: sched_switch: \n"),
            ("blkparse", "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n"),
            ("msr", "128166372003061629,usr,0,Read,7014609920,24576,41286\n"),
            ("spc", "0, 20941264, 8192, W, 0.551706\n"),
            ("disksim-validate", "W Hit    4583176   4    663.00000  45422.00000\n"),
            ("disksim", "0.000000 0 1234 8 1\n"),
        ] {
            assert_eq!(recognise(text.as_bytes()).map(|f| f.name), Some(name), "{text}");
        }
        for text in ["", "hello world\n", "a,b,c,d,e\n", "1 2 3\n", "# tracer: nop\n"] {
            assert!(recognise(text.as_bytes()).is_none(), "{text}");
        }
    }
}
