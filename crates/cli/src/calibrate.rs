//! `goodness calibrate`: measures the scheduling costs of this machine and writes a machine file.

use crate::failure::{Failure, exit};
use crate::tables::Tables;
use crate::verbosity::Quiet;
use crate::{output, progress};
use clap::Args;
use goodness::calibrate::{Document, render, surroundings, text};
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
    /// Write the figures as JSON (schema goodness.calibrate/1); without FILE, or with `-`, to standard output, instead
    /// of the machine file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    quiet: Quiet,
}

impl Calibrate {
    /// Measures, and writes or prints the file.
    ///
    /// # Errors
    /// An output that cannot be written, or no pipes, threads or processes to measure with.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        if let Some(path) = self.output.as_deref().filter(|path| path.extension().is_none_or(|end| end != "toml")) {
            let shown = path.display();
            return Err(Failure::usage(format!("{shown}: machine files are TOML; write --output {shown}.toml")));
        }
        output::check_with(&[], &self.tables, &[(&self.output, "--output"), (&self.json, "--json")])?;
        let bar = progress::bar(STEPS, "measuring");
        let found = measure(|what| {
            bar.set_message(what);
            bar.inc(1);
        });
        bar.finish_and_clear();
        let found = found.map_err(|e| Failure::other(format!("this machine cannot be measured: {e}")))?;
        let (file, document) = (render(&found, &surroundings()), Document::of(&found));
        let mut written = Vec::new();
        written.extend(output::write(output::file(&self.json), || output::json(&document))?);
        written.extend(self.tables.write(|| std::iter::once(document.table()))?);
        let to_stdout = output::is_stdout(&self.json);
        match &self.output {
            None if to_stdout => output::say_json(&document),
            None => say!("{}", file.trim_end()),
            Some(path) => {
                atomic::write(path, file.as_bytes()).map_err(Failure::usage)?;
                output::show(to_stdout, &document, |width| text(&found, width));
                if !to_stdout {
                    say!("\nwrote {0}; use it with --machine {0}", path.display());
                }
            }
        }
        // The machine file alone is on standard output.
        if self.output.is_some() {
            output::say_unless_json(&self.json, &written);
        }
        Ok(exit::OK)
    }
}
