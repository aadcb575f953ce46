//! Errors of reading a trace: one sentence with the place and the remedy.

use crate::excerpt::Excerpt;
use thiserror::Error;

/// Error of reading a trace.
#[derive(Debug, Error)]
pub enum TraceError {
    /// It cannot be opened.
    #[error("{path} cannot be opened: {source}; check the path and its permissions")]
    Open {
        /// The path as given.
        path: String,
        /// Cause.
        source: std::io::Error,
    },
    /// Reading or decompressing failed before anything usable.
    #[error("{path}, line {line}: reading failed: {source}; the file may be damaged or cut, copy or record it again")]
    Read {
        /// The path as given.
        path: String,
        /// The line that was being read.
        line: u64,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("{path} is empty; record again, and check that tracing was on")]
    Empty {
        /// The path as given.
        path: String,
    },
    /// Unknown format.
    #[error(
        "{path}, line 1: this is none of the known trace formats ({formats}); it begins with \"{begins}\". {remedy}"
    )]
    NotATrace {
        /// The path as given.
        path: String,
        /// Names of the formats.
        formats: String,
        /// The first bytes, made printable.
        begins: String,
        /// Remedy.
        remedy: String,
    },
    /// Times are counts without a unit.
    #[error(
        "{path}, line {line}: the times are clock counts, not seconds; record with a clock in time units (for ftrace: \
            echo mono > trace_clock)"
    )]
    NotSeconds {
        /// The path as given.
        path: String,
        /// The first such line.
        line: u64,
    },
    /// Every time is negative or overflows.
    #[error(
        "{path}, line {line}: the time is negative or cannot be held in 64-bit nanoseconds, and no line has a usable \
            one; record with the clock mono"
    )]
    ImpossibleTime {
        /// The path as given.
        path: String,
        /// The first such line.
        line: u64,
    },
    /// The file has events, but no switch.
    #[error(
        "{path}, line {line}: no sched_switch event up to here, the last line; record at least sched_switch and \
            sched_waking ({how})"
    )]
    NoSwitches {
        /// The path as given.
        path: String,
        /// The last line.
        line: u64,
        /// Command that records them with this format's tool.
        how: &'static str,
    },
    /// The requested part of the file has no switch.
    #[error("{path}: nothing is in the window {excerpt}: {why}; name a window inside, counted from the first event")]
    Outside {
        /// The path as given.
        path: String,
        /// The part.
        excerpt: Excerpt,
        /// The reason.
        why: String,
    },
    /// It contains switches, but none in a known form.
    #[error(
        "{path}: no sched_switch event can be read; {count} scheduling events are in a rendering that is not read, \
            first at line {line}; print them without -R or --raw ({how})"
    )]
    UnreadableEvents {
        /// The path as given.
        path: String,
        /// The first such line.
        line: u64,
        /// Number of scheduling events.
        count: u64,
        /// Command that prints them with this format's tool.
        how: &'static str,
    },
    /// Too much of it is far out of order.
    #[error(
        "{path}, line {line}: {count} of {events} events stand more than {window} lines behind where their time \
            belongs, and at most {most} in 100 may: the lines are shuffled or reversed, or several recordings are \
            joined; sort the lines by their time, or read each recording by itself"
    )]
    OutOfOrder {
        /// The path as given.
        path: String,
        /// The first such line.
        line: u64,
        /// Number of these events.
        count: u64,
        /// Number of all events.
        events: u64,
        /// Lines within which order is restored.
        window: usize,
        /// Percentage of such events that is accepted.
        most: u64,
    },
    /// Lines do not name their CPU.
    #[error("{path}, line {line}: the lines do not name the CPU; write them with {how}")]
    NoCpu {
        /// The path as given.
        path: String,
        /// The first such line.
        line: u64,
        /// Command that prints it with this format's tool.
        how: &'static str,
    },
    /// A known format that is not supported.
    #[error("{path}, {place}: {what}")]
    Refused {
        /// The path as given.
        path: String,
        /// Line or byte.
        place: String,
        /// The format, and the remedy.
        what: String,
    },
    /// The file has no arrival, issue or completion.
    #[error("{path}, {place}: no block I/O that can be used up to here, the end; record it again ({how})")]
    NoBlockIo {
        /// The path as given.
        path: String,
        /// Line or byte.
        place: String,
        /// Instructions to record this format.
        how: &'static str,
    },
}
