//! `goodness sweep`: a space of comparisons, computed once each.

use crate::failure::{Failure, exit};
use crate::tables::Tables;
use crate::verbosity::Quiet;
use crate::words::{command_line, quoted};
use crate::{output, progress, stop};
use clap::Args;
use goodness::Refusal;
use goodness_report::{figure, json};
use goodness_sweep::{Cell, Cells, Definition, Folder, Part, Summary, folder, local};
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Cells that a dry run times.
const TIMED: usize = 32;
/// Failed cells that are shown.
const SHOWN: usize = 10;

/// Sweep a space of arms, settings, machines, inputs and seeds; resumable.
///
/// FILE defines the space (docs/sweep.md). Each cell is computed once: its results are in a folder, as Parquet files of
/// one value a row and a journal. A killed sweep goes on where it was; a larger space computes what is new.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness sweep slices.toml                         compute what is missing in the folder slices
  goodness sweep slices.toml --dry-run               number of cells, and the time they take
  goodness sweep slices.toml --html slices.html      which arm wins where, as a page
  goodness sweep slices.toml --csv slices.csv        every value of every cell in one file
  goodness sweep slices.toml --part 3/8              third of eight jobs of a batch system, in one folder or several
  goodness sweep slices.toml --on ray://head:10001   on a cluster
  goodness sweep slices.toml --on ray --recheck 0.1%  compute one cell in a thousand here again
  goodness sweep slices.toml --merge other/slices    take in the results of another folder
  duckdb -c \"from 'slices/shards/*.parquet' limit 5\"

Exit codes: 0 computed, 1 a cell failed or a file cannot be written, 2 bad input.")]
pub struct Sweep {
    /// Definition of the sweep.
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Folder of the results. Default: FILE without its ending.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Compute one of N parts of the cells, number K.
    #[arg(long, visible_alias = "shard", value_name = "K/N", value_parser = Part::parse, default_value = "1/1")]
    part: Part,
    /// Take in the results of other folders first.
    #[arg(long, value_name = "FOLDER", num_args = 1..)]
    merge: Vec<PathBuf>,
    /// Compute on a Ray cluster: ray, or an address such as ray://head:10001. Needs the Python package
    /// (pip install 'goodness[ray]').
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    /// Compute this share of the cells from the cluster here again, and compare: 0.1%, or 0 for none. Default: 1 %, and
    /// at most 1 000 cells.
    #[arg(long, value_name = "SHARE", requires = "on")]
    recheck: Option<String>,
    /// Print how many cells there are and how long they take; compute and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also print the metric of each arm over the two parameters of the diagram.
    #[arg(short, long)]
    verbose: bool,
    /// Write the summary as JSON (schema goodness.sweep/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write the summary as a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    quiet: Quiet,
}

impl Sweep {
    /// Computes the missing cells.
    ///
    /// # Errors
    /// A bad definition, a damaged folder, a file that cannot be written.
    pub fn run(&self) -> Result<u8, Failure> {
        if let Some(cluster) = &self.on {
            // The command of the Python package takes this option before it comes here.
            let remedy = "Install the package and use its command: pip install 'goodness[ray]'";
            return Err(Failure::usage(format!("--on {cluster}: this program is built without Python. {remedy}")));
        }
        self.quiet.begin();
        let definition = self.file.to_string_lossy().into_owned();
        output::check_with(&[definition], &self.tables, &[(&self.json, "--json"), (&self.html, "--html")])?;
        let definition = Definition::open(&self.file)?;
        let cells = Arc::new(Cells::of(&definition)?);
        let path = self.folder.clone().unwrap_or_else(|| self.file.with_extension(""));
        if path == self.file {
            let why = format!("{}: its results need a folder of another name; name one with --folder", path.display());
            return Err(Failure::usage(why));
        }
        if self.dry_run && !path.exists() {
            dry_run(&cells, &(0..cells.all.len()).collect::<Vec<_>>());
            return Ok(exit::OK);
        }
        let mut folder = Folder::open(&path, Arc::clone(&cells), self.part)?;
        if self.dry_run {
            dry_run(&cells, &folder.missing());
            return Ok(exit::OK);
        }
        self.merge.iter().try_for_each(|other| folder.merge(other))?;
        let (count, began) = (folder.missing().len(), Instant::now());
        compute(&mut folder, count as u64)?;
        let failed = folder.finish()?;
        let summary = Summary::of(&definition, &folder::values(&path, Some(&definition.metric))?)?;
        if output::is_stdout(&self.json) {
            output::say_json(&summary);
        } else {
            say!("{}\n", done(count, cells.all.len(), began.elapsed()));
            say!("{}", summary.text(output::columns()));
            if self.verbose && summary.phase.is_some() {
                say!("{}", summary.surfaces_text(output::columns()));
            }
            say!("results: {}/shards/*.parquet", path.display());
        }
        self.deliver(&summary, &path, &cells)?;
        Ok(say_failed(&failed))
    }

    /// Writes the files that were asked for.
    fn deliver(&self, summary: &Summary, folder: &Path, cells: &Cells) -> Result<(), Failure> {
        let title = self.file.file_stem().unwrap_or_default().to_string_lossy();
        let json = output::write(output::file(&self.json), || json::text(summary))?;
        let html = output::write(self.html.as_deref(), || summary.page(&title, &command_line()))?;
        // What cannot be listed now was listed a moment ago.
        let parts = || folder::tables(folder, cells).into_iter().flatten();
        let tables = self.tables.write_tried(parts)?;
        let written: Vec<&Path> = json.into_iter().chain(html).chain(tables).collect();
        output::say_unless_json(&self.json, &written);
        Ok(())
    }
}

/// Computes what is missing; on Ctrl-C says how to go on.
fn compute(folder: &mut Folder, count: u64) -> Result<(), Failure> {
    stop::heed()?;
    let bar: ProgressBar = progress::rate(count, "computing");
    let ended = local::run(folder, &mut |done, _| {
        bar.set_position(done as u64);
        stop::flow()
    });
    bar.finish_and_clear();
    ended.map_err(|refusal: Refusal| match stop::is_wished() {
        true => Failure::other(format!("stopped; what was computed is kept. Go on with: {}", command_line())),
        false => refusal.into(),
    })
}

/// Number of computed cells, with the rate, for people.
fn done(count: usize, of: usize, time: Duration) -> String {
    let rate = count as f64 / time.as_secs_f64().max(1e-9);
    match count {
        0 => format!("nothing is missing of {of} cells"),
        _ => format!("computed {count} of {of} cells in {}, {rate:.0} a second", shown(time)),
    }
}

fn shown(time: Duration) -> String {
    figure::show(Some(time.as_nanos() as f64), "ns")
}

fn dry_run(cells: &Cells, missing: &[usize]) {
    say!("{} of {} cells are to be computed", missing.len(), cells.all.len());
    if let Some(time) = local::time_of_a_cell(missing.iter().map(|place| &cells.all[*place]), TIMED) {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let whole = shown(time.mul_f64(missing.len() as f64 / threads as f64));
        say!("about {whole} on {threads} cores: {} a cell, the median of up to {TIMED}", shown(time));
    }
}

/// Names cells that failed, each with the command that shows it again. Returns the exit code.
fn say_failed(failed: &[(Cell, String)]) -> u8 {
    if failed.is_empty() {
        return exit::OK;
    }
    let cells = if failed.len() == 1 { "1 cell".to_string() } else { format!("{} cells", failed.len()) };
    eprintln!("{cells} failed, and will be tried again on the next start");
    for (cell, why) in failed.iter().take(SHOWN) {
        let machine = cell.machine.as_ref().map_or(String::new(), |it| format!(" --machine {}", quoted(it)));
        let input = quoted(&cell.input);
        eprintln!("  {}: {why}", cell.arm);
        let Cell { arm, runs, seed, .. } = cell;
        eprintln!("    goodness compare {input}{machine} --arm {} --runs {runs} --seed {seed}", quoted(arm));
    }
    exit::FAILURE
}
