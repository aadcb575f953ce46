//! A trace format: description, recognition, and line parser.

use crate::line::Parsed;
use crate::metadata::Metadata;

/// One trace format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Registered name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// The parts that are read.
    pub reads: &'static str,
    /// Instructions to record it.
    pub how_to_record: &'static str,
    /// True if a line shows that the text is in this format.
    pub(crate) recognises: fn(&[u8]) -> bool,
    /// Reads one line. Header lines go to the metadata.
    pub(crate) line: fn(&[u8], &mut Metadata) -> Parsed,
}
