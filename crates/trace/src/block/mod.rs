//! Traces of block I/O: many formats, one kind of record.
//!
//! ```text
//!  files ─▶ compress ─▶ lines or records ─▶ format ─▶ reorder ─▶ response times ─▶ BlockReader (one record at a time)
//! ```
//!
//! Like scheduling traces they are imperfect: what can be repaired is repaired and counted, what cannot be used is left
//! out and counted, and only a trace without any usable part is refused, in one sentence.
//!
//! | module | holds |
//! |---|---|
//! | `record` | [`BlockRecord`] |
//! | `disks` | disks and processes of a trace |
//! | `source` | where records come from; what is known of their trace |
//! | `format`, `formats` | what a format is; the list of them |
//! | `reading` | the stages that all formats share |
//! | `blktrace…` | binary records: one record, one file, the files of a run, the writer |
//! | `actions`, `rwbs`, `fields` | what text formats share |

mod actions;
mod blkparse;
mod blktrace;
mod blktrace_file;
mod blktrace_set;
mod blktrace_write;
mod disks;
mod disksim;
mod events;
mod fields;
mod format;
mod formats;
mod iolog;
mod msr;
mod pairs;
mod reading;
mod record;
mod rwbs;
mod source;
mod spc;
#[cfg(test)]
mod tests;
mod text;
mod validate;

pub use blktrace::{BlktraceVersion, ByteOrder};
pub use blktrace_set::files_of;
pub use blktrace_write::BlktraceWriter;
pub use disks::{DISKS_MAX, DeviceNumber, Disks, Processes};
pub use format::BlockFormat;
pub use formats::BLOCK_FORMATS;
pub use iolog::{IologFiles, IologIo, read_iolog};
pub use reading::{BlockReader, BlockTrace};
pub use record::{BlockFlags, BlockRecord, BlockStage};
pub use source::{About, Carries};

use crate::compress::Input;
use crate::error::TraceError;
use crate::formats::{HEAD, remedy};
use crate::lines::Lines;
use blktrace_file::BlktraceFile;
use blktrace_set::BlktraceSet;
use format::Reads;
use formats::recognise;
use std::io;
use std::path::PathBuf;
use text::Text;

/// Opens a trace of block I/O: a file (`-` is standard input), one file of a blktrace run (opens all of them), a folder
/// of blktrace files, or several blktrace files.
///
/// # Errors
/// A file that cannot be opened, is empty, or has an unknown format; or files of several formats.
pub fn open_block(paths: &[PathBuf]) -> Result<BlockTrace<'static>, TraceError> {
    let files = files_of(paths)?;
    read_block(files.iter().map(|path| Input::open(path)).collect::<Result<_, _>>()?)
}

/// Reads a trace of block I/O from one input, or from several blktrace files.
///
/// # Errors
/// An empty input, an unknown format, or several formats.
pub fn read_block(mut inputs: Vec<Input<'_>>) -> Result<BlockTrace<'_>, TraceError> {
    let mut heads = Vec::with_capacity(inputs.len());
    for input in &mut inputs {
        match input.peek(HEAD) {
            Ok(head) => heads.push(head),
            Err(source) => return Err(TraceError::Read { path: input.name.clone(), line: 1, source }),
        }
    }
    // CPUs on which nothing happened have empty files.
    let mut parts: Vec<(Input, Vec<u8>)> =
        inputs.into_iter().zip(heads).filter(|(_, head)| !head.trim_ascii().is_empty()).collect();
    let [(first, head), ..] = &parts[..] else {
        return Err(TraceError::Empty { path: "the input".into() });
    };
    let format = recognise(head).ok_or_else(|| unknown(first, head))?;
    let name = first.name.clone();
    match format.reads {
        Reads::Text { make, .. } if parts.len() == 1 => {
            let (input, _) = parts.swap_remove(0);
            let text = Text { name: name.clone(), lines: Lines::new(input), format: make() };
            Ok(BlockTrace::new(name, format, Box::new(text)))
        }
        Reads::Text { .. } => {
            let what = format!("only files of blktrace can be read together, and this is {}", format.name);
            Err(TraceError::Refused { path: name, place: "line 1".into(), what })
        }
        Reads::Blktrace => {
            let mut files = Vec::with_capacity(parts.len());
            for (input, head) in parts {
                if !blktrace::recognises(&head) {
                    let what = "this is no file of blktrace, and is given together with some; leave it out".into();
                    return Err(TraceError::Refused { path: input.name, place: "byte 0".into(), what });
                }
                files.push(BlktraceFile::new(input, &head)?);
            }
            Ok(BlockTrace::new(name, format, Box::new(BlktraceSet::new(files))))
        }
    }
}

fn unknown(input: &Input, head: &[u8]) -> TraceError {
    TraceError::NotATrace {
        path: input.name.clone(),
        formats: BLOCK_FORMATS.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
        begins: head[..head.len().min(32)].escape_ascii().to_string(),
        remedy: remedy(head),
    }
}

/// A trace of block I/O in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRecording {
    /// Its records in order of time.
    pub records: Vec<BlockRecord>,
    /// Facts about the trace.
    pub about: About,
}

/// Reads a whole trace into memory.
///
/// # Errors
/// As for [`open_block`] and [`BlockReader::next`].
pub fn load_block(paths: &[PathBuf]) -> Result<BlockRecording, TraceError> {
    keep(open_block(paths)?)
}

/// Reads the rest of a trace into memory.
///
/// # Errors
/// As for [`BlockReader::next`].
pub fn keep(mut trace: BlockTrace) -> Result<BlockRecording, TraceError> {
    let mut records = Vec::new();
    while let Some(record) = trace.next()? {
        records.push(record);
    }
    Ok(BlockRecording { records, about: trace.about().clone() })
}

/// Reads a whole trace from bytes in memory.
///
/// # Errors
/// As for [`read_block`] and [`BlockReader::next`], or compressed data that cannot be decompressed.
pub fn load_block_bytes(name: &str, bytes: &[u8]) -> Result<BlockRecording, TraceError> {
    let cannot = |source: io::Error| TraceError::Open { path: name.into(), source };
    keep(read_block(vec![Input::bytes(name, bytes).map_err(cannot)?])?)
}

/// The records of a text, for the tests of each format.
#[cfg(test)]
fn read_text(text: &str) -> (Vec<BlockRecord>, About) {
    let BlockRecording { records, about } = load_block_bytes("t", text.as_bytes()).expect("a usable trace");
    (records, about)
}

/// The error of a text.
#[cfg(test)]
fn refusal_of(text: &str) -> String {
    load_block_bytes("t", text.as_bytes()).expect_err("no usable trace").to_string()
}
