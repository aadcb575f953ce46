//! `goodness summarise`: summary of a trace, in constant memory.

use crate::failure::{Failure, exit};
use crate::json_option::Json;
use crate::watching::watch;
use clap::Args;
use goodness::{shipped, summary};
use goodness_trace::summarise;

/// Summarise a trace, in constant memory.
///
/// Prints events, tasks, length, losses and repairs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness summarise my.ftrace.gz
  zstdcat big.ftrace.zst | goodness summarise -   from standard input
  goodness summarise apache-ab-c32-1cpu --json    a shipped recording

Exit codes: 0 summarised, 2 bad input.")]
pub struct Summarise {
    /// Trace; `-` for standard input.
    trace: String,
    #[command(flatten)]
    json: Json,
}

impl Summarise {
    /// Reads and prints.
    ///
    /// # Errors
    /// A trace that cannot be used.
    pub fn run(&self) -> Result<u8, Failure> {
        self.json.check(&self.trace)?;
        let found = shipped::open(&self.trace, &watch()).and_then(summarise);
        let found = found.map_err(|error| Failure::usage(error.to_string()))?;
        self.json.show(&found, |width| summary::text(&found, width))?;
        Ok(exit::OK)
    }
}
