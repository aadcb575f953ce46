//! One I/O of a job.

use goodness_core::Span;

/// A request of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioOp {
    /// Bytes of a file.
    Read,
    /// Bytes into a file.
    Write,
    /// The contents are no longer needed.
    Trim,
    /// fsync of the file.
    Sync,
    /// fdatasync of the file.
    DataSync,
    /// No I/O: all before it is complete.
    Drain,
}

/// A pause before the next I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// CPU time first.
    pub spin: Span,
    /// Then sleep.
    pub sleep: Span,
}

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FioIo {
    /// Operation.
    pub op: FioOp,
    /// Index of the file among the job's files.
    pub file: usize,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; 0 for syncs.
    pub bytes: u64,
    /// Earliest start, since the start of the job; `None` without a rate limit.
    pub due: Option<Span>,
    /// Pause after its completion.
    pub pause: Option<Pause>,
}

impl FioIo {
    /// One without bytes.
    pub(super) const fn bare(op: FioOp, file: usize) -> FioIo {
        FioIo { op, file, offset: 0, bytes: 0, due: None, pause: None }
    }
}
