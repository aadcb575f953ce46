//! Output of results: terminal, JSON, files.

use crate::failure::Failure;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use goodness::Timelines;
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
    let mut taken = vec![(resolved(Path::new(input)), "the input")];
    for (path, option) in asked {
        if *option != "--json" && path.as_deref().is_some_and(|p| p.as_os_str() == "-") {
            return Err(Failure::usage(format!(
                "{option} -: only --json goes to standard output; name a file, or ./- for one of that name"
            )));
        }
        let Some(path) = path.as_deref().filter(|p| p.as_os_str() != "-") else { continue };
        if atomic::is_special(path) {
            continue;
        }
        check_file(path)?;
        let target = resolved(path);
        if let Some((_, other)) = taken.iter().find(|(earlier, _)| *earlier == target) {
            return Err(cannot(path, &format!("it is also {other}")));
        }
        taken.push((target, option));
    }
    Ok(())
}

/// Refuses a file that cannot be written, before any work is done.
///
/// # Errors
/// A sentence naming the file.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    if atomic::is_special(path) {
        return Ok(());
    }
    atomic::target(path).map_err(Failure::usage)?;
    writable(path).map_err(|why| cannot(path, &why))
}

fn cannot(path: &Path, why: &str) -> Failure {
    Failure::usage(format!("{} cannot be written: {why}. Choose another file.", path.display()))
}

/// Checks that a file of this name can be created; else the reason.
fn writable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a folder".into());
    }
    let target = resolved(path);
    let folder = target.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(format!("there is no folder {}", folder.display()));
    }
    let probe = tempfile::Builder::new().prefix(".goodness-").tempfile_in(folder);
    probe.map(drop).map_err(|e| match e.kind() {
        // As /proc answers: the folder is there, but nothing can be put into it.
        std::io::ErrorKind::NotFound => format!("no file can be made in {}", folder.display()),
        kind => format!("{kind} in {}", folder.display()),
    })
}

/// The path with links followed, whether or not the file exists.
fn resolved(path: &Path) -> PathBuf {
    let path = &atomic::target(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.canonicalize().unwrap_or_else(|_| match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    })
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
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width(std::io::stdout().is_terminal()));
    table
}

/// Aligns the columns listed to the right: figures.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Width of the terminal in columns; 80 if unknown.
fn width(terminal: bool) -> u16 {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns.or_else(|| terminal.then(|| console::Term::stdout().size().1)).unwrap_or(80).clamp(60, 160)
}
