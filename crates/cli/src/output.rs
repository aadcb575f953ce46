//! Output of results: terminal, JSON, files.

use crate::failure::Failure;
use comfy_table::Table;
use goodness::Timelines;
pub use goodness_report::table::align_right;
use goodness_report::{Report, Timeline, atomic, html, json, perfetto, text};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Outputs that `compare` and `run` share.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Outputs {
    /// Write the results as JSON (schema goodness.report/1); `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the schedule of the first run of the first policy as a Perfetto trace (open it at ui.perfetto.dev).
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
}

impl Outputs {
    /// Rejects files that cannot be written, one file for two outputs, and an output that is the input, before any work
    /// is done.
    ///
    /// # Errors
    /// A sentence naming the file.
    pub fn check(&self, input: &str) -> Result<(), Failure> {
        check(input, &[(&self.json, "--json"), (&self.html, "--html"), (&self.perfetto, "--perfetto")])
    }

    /// The schedules that are needed, of `slices` each.
    pub fn timelines(&self, slices: usize) -> Timelines {
        let is_wanted = self.html.is_some() || self.perfetto.is_some();
        Timelines { slices: if is_wanted { slices } else { 0 }, with_queues: self.perfetto.is_some() }
    }

    /// Prints the report and writes the requested files.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn deliver(&self, report: &Report, timelines: &[Timeline]) -> Result<(), Failure> {
        let to_stdout = self.json.as_deref().is_some_and(|path| path.as_os_str() == "-");
        if to_stdout {
            say!("{}", json::render(report).trim_end());
        } else {
            let terminal = std::io::stdout().is_terminal();
            let colour = terminal && std::env::var_os("NO_COLOR").is_none();
            say!("{}", text::render(report, width(terminal), colour).trim_end());
        }
        let mut written = Vec::new();
        if let Some(path) = self.json.as_deref().filter(|_| !to_stdout) {
            atomic::write(path, json::render(report).as_bytes()).map_err(Failure::other)?;
            written.push(path);
        }
        if let Some(path) = &self.html {
            atomic::write(path, html::render(report, timelines).as_bytes()).map_err(Failure::other)?;
            written.push(path);
        }
        if let (Some(path), Some(first)) = (&self.perfetto, timelines.first()) {
            let labels = report.labels();
            let policy = labels.first().map_or("", String::as_str);
            atomic::write_with(path, |out| perfetto::write(first, policy, out)).map_err(Failure::other)?;
            written.push(path);
        }
        for path in written.iter().filter(|_| !to_stdout) {
            say!("wrote {}", path.display());
        }
        Ok(())
    }
}

/// Rejects files that cannot be written, one file for two options, and an output that is the input, before any work is
/// done.
///
/// # Errors
/// A sentence naming the file.
pub fn check(input: &str, asked: &[(&Option<PathBuf>, &'static str)]) -> Result<(), Failure> {
    let is_stdout = |path: &Path| path.as_os_str() == "-";
    for (path, option) in asked {
        if *option != "--json" && path.as_deref().is_some_and(is_stdout) {
            return Err(Failure::usage(format!(
                "{option} -: only --json goes to standard output; name a file, or ./- for one of that name"
            )));
        }
    }
    let files = asked.iter().filter_map(|(path, option)| Some((path.as_deref().filter(|p| !is_stdout(p))?, *option)));
    atomic::check_all(Path::new(input), files).map_err(Failure::usage)
}

/// Refuses a file that cannot be written, before any work is done.
///
/// # Errors
/// A sentence naming the file.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    atomic::check(path).map_err(Failure::usage)
}

/// Prints a line to standard output. A reader that went away is no error: the program ends quietly.
pub fn say(text: std::fmt::Arguments) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("error: standard output cannot be written: {error}");
        }
        std::process::exit(if error.kind() == std::io::ErrorKind::BrokenPipe { 0 } else { 1 });
    }
}

/// A table without lines, as wide as the terminal at most.
pub fn table() -> Table {
    goodness_report::table::new(columns())
}

/// Columns to fill on standard output.
pub fn columns() -> u16 {
    width(std::io::stdout().is_terminal())
}

/// Width of the terminal in columns; 80 if unknown.
fn width(terminal: bool) -> u16 {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns.or_else(|| terminal.then(|| console::Term::stdout().size().1)).unwrap_or(80).clamp(60, 160)
}
