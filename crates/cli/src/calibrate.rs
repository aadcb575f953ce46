//! `goodness calibrate`: measures the scheduling costs of this machine and writes a machine file.

use crate::failure::{Failure, exit};
use crate::{output, progress};
use clap::Args;
use goodness::calibrate::{default, meaning, refused, render, surroundings};
use goodness_core::Span;
use goodness_play::calibrate::{Figure, Found, STEPS, measure};
use goodness_report::atomic;
use std::path::PathBuf;

/// Measure this machine, for --machine FILE: switching, waking and moving tasks, sleeps, caches, tick and topology.
///
/// Needs no root and takes two or three seconds. The figures are medians. Other work makes them too high, so measure a
/// quiet machine. Costs that cannot be measured are named and left out. See docs/machines.md.
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
                print(&found);
                say!("\nwrote {0}; use it with --machine {0}", path.display());
            }
        }
        Ok(exit::OK)
    }
}

fn print(found: &Found) {
    let span = |ns: u64| Span(ns).to_string();
    let mut table = output::table();
    table.set_header(["figure", "median", "a quarter below", "a quarter above", "times", "meaning"]);
    for Figure { key, sample } in &found.figures {
        let (median, low, high) = (span(sample.median), span(sample.low), span(sample.high));
        table.add_row([key, median.as_str(), &low, &high, &sample.count.to_string(), meaning(key)]);
    }
    output::align_right(&mut table, 1..5);
    say!("{table}");
    for (key, why) in refused(found) {
        say!("  {key} is left out: {why}; its default is {}", default(key));
    }
}
