//! `goodness calibrate`: measures the scheduling costs of this machine and writes a machine file.

use crate::failure::{Failure, exit};
use crate::{output, progress};
use clap::Args;
use goodness::calibrate::{render, surroundings, text};
use goodness_play::calibrate::{STEPS, measure};
use goodness_report::atomic;
use std::path::PathBuf;

/// Measure the scheduling costs of this machine, for --machine.
///
/// Measures switches, wake-ups and migrations of tasks, sleeps, caches, tick and topology. Needs no root and takes two
/// or three seconds. The figures are medians. Other work makes them too high, so measure a quiet machine. Costs that
/// cannot be measured are named and left out. See docs/machines.md.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness calibrate                           print the machine file
  goodness calibrate -o this.toml              write it
  goodness compare mixed --machine this.toml   use it

Exit codes: 0 measured, 1 failure, 2 bad output.")]
pub struct Calibrate {
    /// File to write; standard output by default.
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
}

impl Calibrate {
    /// Measures, and writes or prints the file.
    ///
    /// # Errors
    /// An output that cannot be written, or no pipes, threads or processes to measure with.
    pub fn run(&self) -> Result<u8, Failure> {
        if let Some(path) = self.output.as_deref().filter(|path| path.extension().is_none_or(|end| end != "toml")) {
            let shown = path.display();
            return Err(Failure::usage(format!("{shown}: machine files are TOML; write --output {shown}.toml")));
        }
        let bar = progress::bar(STEPS, "measuring");
        let found = measure(|what| {
            bar.set_message(what);
            bar.inc(1);
        });
        bar.finish_and_clear();
        let found = found.map_err(|e| Failure::other(format!("this machine cannot be measured: {e}")))?;
        let file = render(&found, &surroundings());
        match &self.output {
            None => say!("{}", file.trim_end()),
            Some(path) => {
                atomic::write(path, file.as_bytes()).map_err(Failure::usage)?;
                say!("{}", text(&found, output::columns()));
                say!("\nwrote {0}; use it with --machine {0}", path.display());
            }
        }
        Ok(exit::OK)
    }
}
