//! Output of results: terminal, JSON, files.

use crate::failure::Failure;
use crate::tables::Tables;
use crate::verbosity::Verbosity;
use goodness::Timelines;
use goodness_report::{
    Report, Timeline, atomic, citation, figures, html, json, perfetto, shell, tables, text, text::Extent,
};
#[cfg(feature = "live")]
use goodness_table::Table;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Outputs that `compare` and `run` share.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Outputs {
    /// Write the results as JSON (schema goodness.report/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the schedules of the first run of every arm as a Perfetto trace (open it at ui.perfetto.dev).
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    #[command(flatten)]
    pub tables: Tables,
    /// Write figures for print into a folder: ranking, distribution and runs, each as SVG and PDF.
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    /// Print what a paper needs to cite the result.
    #[arg(long)]
    pub cite: bool,
    #[command(flatten)]
    pub verbosity: Verbosity,
}

impl Outputs {
    /// Rejects files that cannot be written, one file for two outputs, and an output that is the input, before any work
    /// is done.
    ///
    /// # Errors
    /// A sentence naming the file.
    pub fn check(&self, input: &str) -> Result<(), Failure> {
        self.tables.check()?;
        if let Some(folder) = self.figures.as_deref().filter(|path| path.exists() && !path.is_dir()) {
            return Err(Failure::usage(format!("--figures {0}: {0} is a file; name a folder", folder.display())));
        }
        let files = [(&self.json, "--json"), (&self.html, "--html"), (&self.perfetto, "--perfetto")];
        check(input, &[&files[..], &self.tables.asked()].concat())
    }

    /// Prints what is known of work that was stopped, for people, and writes nothing.
    ///
    /// # Errors
    /// Always: it was stopped.
    pub fn tell_stopped(&self, report: &Report, stopped: &str) -> Result<u8, Failure> {
        if !is_stdout(&self.json) {
            say!("{}", text::render(report, Extent::Ranking, columns(), false).trim_end());
        }
        Err(Failure::other(format!("{stopped}; no file was written")))
    }

    /// The schedules that are needed, of `slices` each.
    pub fn timelines(&self, slices: usize) -> Timelines {
        let is_wanted = self.html.is_some() || self.perfetto.is_some();
        Timelines { slices: if is_wanted { slices } else { 0 }, with_queues: self.perfetto.is_some() }
    }

    /// Prints the report, then `more`, writes the requested files, and tells their names last.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn deliver(&self, report: &Report, timelines: &[Timeline], more: &str) -> Result<(), Failure> {
        let to_stdout = is_stdout(&self.json);
        if to_stdout {
            say!("{}", json::render(report).trim_end());
        } else {
            let terminal = std::io::stdout().is_terminal();
            let colour = terminal && std::env::var_os("NO_COLOR").is_none();
            say!("{}", text::render(report, self.verbosity.extent(), width(terminal), colour).trim_end());
            if !more.is_empty() {
                say!("\n{}", more.trim_end());
            }
            if self.cite {
                say!("\n{}", citation::text(report));
            }
        }
        let mut written = Vec::new();
        if let Some(path) = file(&self.json) {
            atomic::write_with(path, |out| json::write(report, out)).map_err(Failure::other)?;
            written.push(path);
        }
        written.extend(write(self.html.as_deref(), || html::render(report, timelines))?);
        if let Some(path) = self.perfetto.as_deref().filter(|_| !timelines.is_empty()) {
            let labels = report.labels();
            let label = |it: &Timeline| labels.get(it.policy).map_or("", String::as_str);
            let arms: Vec<(&Timeline, &str)> = timelines.iter().map(|it| (it, label(it))).collect();
            atomic::write_with(path, |out| perfetto::write(&arms, out)).map_err(Failure::other)?;
            written.push(path);
        }
        written.extend(self.tables.write(|| tables::runs_in_parts(report))?);
        let figures = self.figures.as_deref().map(|folder| figures::write(report, folder)).transpose();
        let figures = figures.map_err(Failure::other)?;
        if !to_stdout && !self.verbosity.quiet {
            let figures = figures.unwrap_or_default();
            written.extend(figures.iter().map(PathBuf::as_path));
            if !written.is_empty() {
                say!("");
            }
            say_written(&written);
        }
        Ok(())
    }
}

/// The page that `goodness COMMAND` writes if none is named; never over another command line's.
pub fn page(command: &str, about: &str, command_line: &str) -> PathBuf {
    atomic::page_name::unclaimed(command, about, &shell::command_mark(command_line))
}

/// True if `--json` names standard output.
pub fn is_stdout(json: &Option<PathBuf>) -> bool {
    json.as_deref().is_some_and(|path| path.as_os_str() == "-")
}

/// The file that `--json` names, unless it is standard output.
pub fn file(json: &Option<PathBuf>) -> Option<&Path> {
    json.as_deref().filter(|_| !is_stdout(json))
}

/// Writes the requested file, if one is. Returns its path.
///
/// # Errors
/// It cannot be written.
pub fn write(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<Option<&Path>, Failure> {
    if let Some(path) = path {
        atomic::write(path, text().as_bytes()).map_err(Failure::other)?;
    }
    Ok(path)
}

/// Prints the names of written files.
pub fn say_written(paths: &[&Path]) {
    paths.iter().for_each(|path| say!("wrote {}", path.display()));
}

/// Prints `document` as text, or as JSON if that goes to standard output, and writes the files that are asked for.
///
/// # Errors
/// A file that cannot be written.
#[cfg(feature = "live")]
pub fn deliver(
    (json, tables): (&Option<PathBuf>, &Tables),
    document: &impl Serialize,
    text: impl FnOnce(u16) -> String,
    table: impl Fn() -> Table,
) -> Result<(), Failure> {
    let mut written = Vec::new();
    written.extend(write(file(json), || json::text(document))?);
    show(is_stdout(json), document, text);
    written.extend(tables.write(|| std::iter::once(table()))?);
    say_unless_json(json, &written);
    Ok(())
}

/// Prints the names of written files, unless JSON is on standard output.
pub fn say_unless_json(json: &Option<PathBuf>, paths: &[&Path]) {
    if !is_stdout(json) {
        say_written(paths);
    }
}

/// Rejects files that cannot be written, one file for two options, and an output that is the input, before any work is
/// done.
///
/// # Errors
/// A sentence naming the file.
pub fn check(input: &str, asked: &[(&Option<PathBuf>, &'static str)]) -> Result<(), Failure> {
    for (path, option) in asked {
        if *option != "--json" && is_stdout(path) {
            return Err(Failure::usage(format!(
                "{option} -: only --json goes to standard output; name a file, or ./- for one of that name"
            )));
        }
    }
    let files = asked.iter().filter_map(|(path, option)| Some((file(path)?, *option)));
    atomic::check_all(Path::new(input), files.clone()).map_err(Failure::usage)?;
    for (path, option) in files {
        atomic::check_kind(path, option).map_err(Failure::usage)?;
    }
    Ok(())
}

/// Rejects tables that cannot be written, or would be one of the inputs.
///
/// # Errors
/// A sentence naming the option or the file.
pub fn check_tables(inputs: &[String], tables: &Tables) -> Result<(), Failure> {
    check_with(inputs, tables, &[])
}

/// Rejects tables and `others` that cannot be written, or would be one of the inputs.
///
/// # Errors
/// A sentence naming the option or the file.
pub fn check_with(
    inputs: &[String],
    tables: &Tables,
    others: &[(&Option<PathBuf>, &'static str)],
) -> Result<(), Failure> {
    tables.check()?;
    let asked = [others, &tables.asked()].concat();
    // Without an input, no file can be one.
    let inputs = if inputs.is_empty() { &[String::new()][..] } else { inputs };
    inputs.iter().try_for_each(|input| check(input, &asked))
}

/// Refuses a file that cannot be written, before any work is done.
///
/// # Errors
/// A sentence naming the file.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    atomic::check(path).map_err(Failure::usage)
}

/// True once the reader of standard output went away.
static HAS_NO_READER: AtomicBool = AtomicBool::new(false);

/// Prints a line to standard output. A reader that went away is not an error: the rest is not printed, but files are
/// written and the exit code is what it would be.
pub fn say(text: std::fmt::Arguments) {
    if HAS_NO_READER.load(Ordering::Relaxed) {
        return;
    }
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => HAS_NO_READER.store(true, Ordering::Relaxed),
        Err(error) => {
            eprintln!("error: standard output cannot be written: {error}");
            std::process::exit(1);
        }
    }
}

/// Prints a value as JSON.
pub fn say_json(value: &impl Serialize) {
    say!("{}", json::text(value).trim_end());
}

/// Prints a value as JSON if `json` is set, else as text for so many columns.
pub fn show(json: bool, value: &impl Serialize, text: impl FnOnce(u16) -> String) {
    match json {
        true => say_json(value),
        false => say!("{}", text(columns())),
    }
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
