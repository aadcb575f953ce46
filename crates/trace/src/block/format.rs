//! Description of a block-I/O format.

use super::source::Carries;
use super::text::TextFormat;

/// Reader of a format.
#[derive(Clone, Copy)]
pub(crate) enum Reads {
    /// Line by line.
    Text {
        /// True if a line shows that the text is in this format.
        recognises: fn(&[u8]) -> bool,
        /// A reader at the first line.
        make: fn() -> Box<dyn TextFormat>,
    },
    /// Binary records, one file for each CPU.
    Blktrace,
}

/// One format of block I/O.
#[derive(Clone, Copy)]
pub struct BlockFormat {
    /// Registered name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Information it can contain.
    pub carries: Carries,
    /// Instructions to record it.
    pub how_to_record: &'static str,
    /// True if times are relative to the first record, because the clock started long before.
    pub(crate) from_first: bool,
    pub(crate) reads: Reads,
}
