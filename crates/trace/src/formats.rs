//! The list of trace formats.

/// One trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Registered name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What is read of it.
    pub reads: &'static str,
    /// How to record it.
    pub how_to_record: &'static str,
}

/// Every format, in the order in which they are tried.
pub const FORMATS: &[Format] = &[];
