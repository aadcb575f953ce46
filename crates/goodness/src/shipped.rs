//! The recordings shipped with the library, so that a first comparison needs nothing else.

use crate::progress::{Progress, Watch};
use goodness_trace::{Input, TraceError};
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
pub fn open(name: &str, watch: &Watch) -> Result<Input<'static>, TraceError> {
    match find(name) {
        Some(shipped) => Ok(Input::bytes(shipped.name, shipped.bytes).expect("what is shipped is whole")),
        None => {
            let _ = watch(Progress::Opening(name));
            let input = Input::open(Path::new(name));
            let _ = watch(Progress::Opened);
            input
        }
    }
}
