//! The recordings shipped with the library, so that a first comparison needs nothing else.

use crate::open::reading::{Reading, Seen};
use crate::progress::{Progress, Watch};
use goodness_trace::{Input, TraceError};
use std::fs::File;
use std::io;
use std::path::Path;

/// A recording inside the library.
pub struct Shipped {
    /// Its name, as typed.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// The file's bytes.
    pub bytes: &'static [u8],
}

/// Default input of a comparison.
pub const DEFAULT: &str = "apache-ab-c32-1cpu";

macro_rules! shipped {
    ($($name:literal, $summary:literal;)*) => {
        /// All shipped recordings; `recordings/README.md` says how they were made.
        pub const RECORDINGS: &[Shipped] = &[$(Shipped {
            name: $name,
            summary: $summary,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/", $name, ".ftrace.zst")),
        },)*];
    };
}

shipped! {
    "apache-ab-c4-1cpu", "Apache 2.4 under ab with 4 connections, server and client on one CPU.";
    "apache-ab-c24-1cpu", "Apache 2.4 under ab with 24 connections, server and client on one CPU.";
    "apache-ab-c32-1cpu", "Apache 2.4 under ab with 32 connections, server and client on one CPU.";
    "apache-ab-c32-2cpu", "Apache 2.4 under ab with 32 connections, on two CPUs.";
    "mariadb-sysbench-16", "MariaDB under sysbench oltp_read_write with 16 threads, on one CPU.";
    "mariadb-sysbench-64", "MariaDB under sysbench oltp_read_write with 64 threads, on two CPUs.";
    "redis-benchmark-8", "Redis under redis-benchmark with 8 threads of one connection each, on one CPU.";
    "mixed-cpu", "Endless loops, periodic sleepers and a stream of short-lived shells, on one CPU.";
}

/// The shipped recording called `name`, with or without extension, unless a file has that name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    let stem = name.strip_suffix(".ftrace.zst").unwrap_or(name);
    RECORDINGS.iter().find(|r| r.name == stem).filter(|_| !Path::new(name).exists())
}

/// Opens a recording by name: a file, standard input (`-`), or a shipped one.
///
/// # Errors
/// A file that cannot be opened.
pub fn open<'a>(name: &str, watch: &'a Watch<'a>) -> Result<Input<'a>, TraceError> {
    match find(name) {
        Some(shipped) => Ok(Input::bytes(shipped.name, shipped.bytes).expect("what is shipped is whole")),
        None => {
            let _ = watch(Progress::Opening(name));
            let input = told(name, watch).map_err(|source| TraceError::Open { path: name.into(), source });
            let _ = watch(Progress::Opened);
            input
        }
    }
}

/// The input called `name`, whose reading is told.
fn told<'a>(name: &str, watch: &'a Watch<'a>) -> io::Result<Input<'a>> {
    if name == "-" {
        return Input::reader(name, Reading::stream(name, io::stdin(), Seen::default(), watch));
    }
    let file = File::open(name)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    Input::reader(name, Reading::file(name, file, Seen::default(), watch)?)
}
