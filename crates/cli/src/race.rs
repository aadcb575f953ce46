//! `goodness race`: real servers under different kernel settings.

use crate::failure::{Failure, exit};
use crate::tables::Tables;
use crate::verbosity::Verbosity;
use crate::words::command_line;
use crate::{output, progress};
use clap::Args;
use goodness_core::Seed;
use goodness_race::config::{self, RaceFile};
use goodness_race::engine::{self, Outcome, Plan, Progress};
use goodness_race::prediction::{self, PredictedMeasure, Predictor};
use goodness_race::subprocess::Launcher;
use goodness_race::{load, page, table, text};
use goodness_report::json;
use indicatif::ProgressBar;
use std::path::PathBuf;

/// Race real servers under different kernel settings.
///
/// A race file names a load and two or more arms: kernel settings during the load, such as nice, classes, slices,
/// weights or I/O schedulers. Each block runs every arm once, in random order, and the runs of a block are compared.
/// The race ends when every comparison is decided. Servers are private and listen on 127.0.0.1; running servers are
/// left alone. All changed settings are restored, however the race ends.
#[derive(Args)]
#[command(after_help = after_help())]
pub struct Race {
    /// A race file, the name of a shipped race, or `list`.
    race: String,
    /// Most blocks; overrides the file.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// Random seed of order and work; overrides the file.
    #[arg(long)]
    seed: Option<u64>,
    /// Write the results as JSON (schema goodness.race/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    /// Also show the simulator's predictions, for loads and arms it models, on the machine FILE (see `goodness
    /// calibrate`) or, without FILE, on this machine as measured before the race.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    predict: Option<String>,
    /// Print the planned runs and changes without running.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    verbosity: Verbosity,
}

fn after_help() -> String {
    let mut help = text::guide();
    help.push_str(
        "\nExamples:\n  goodness race list\n  goodness race spin-nice\n  goodness race spin-nice --dry-run\n  \
         sudo goodness race my.toml --json my.json --html my.html\n\nExit codes: 0 every comparison is decided, 3 some \
         are not, 2 the race cannot be run here, 1 something failed.",
    );
    help
}

impl Race {
    /// Runs the race and prints the results.
    ///
    /// # Errors
    /// An invalid race file, an arm this machine does not support, a load that fails.
    pub fn run(&self) -> Result<u8, Failure> {
        if self.race == "list" {
            list();
            return Ok(exit::OK);
        }
        self.verbosity.begin();
        let file = self.read()?;
        let files = [(&self.json, "--json"), (&self.html, "--html")];
        output::check_with(std::slice::from_ref(&self.race), &self.tables, &files)?;
        let launcher = Launcher::of_this_program().map_err(|why| Failure::other(why.to_string()))?;
        let load = load::make(&file.load, &file.settings, &launcher).map_err(|why| Failure::usage(why.0))?;
        let possible = load::possible(&file.load, load.as_ref()).map_err(|why| Failure::usage(why.0));
        if self.dry_run {
            say!("{}", text::plan(&file, output::columns()).trim_end());
            engine::check(&file.plan).map_err(|why| Failure::usage(why.to_string()))?;
            return possible.map(|_| exit::OK);
        }
        possible?;
        let folder = tempfile::tempdir().map_err(|why| Failure::other(format!("no private folder: {why}")))?;
        let predictor =
            self.predict.as_deref().map(|machine| Predictor::prepare(machine, &file, &launcher, folder.path()));
        let predictor = predictor.transpose()?;
        let bar = progress::phases();
        let outcome = engine::race(&file.plan, load, &mut |progress| tell(&bar, &file.plan, progress));
        bar.finish_and_clear();
        let outcome = outcome.map_err(|why| Failure { code: why.exit_code(), sentence: why.to_string() })?;
        let predictions = predictor.map_or_else(Vec::new, |predictor| predictor.predict(&file, &outcome));
        self.deliver(&outcome, &predictions)?;
        Ok(if outcome.is_inconclusive() { exit::INCONCLUSIVE } else { exit::OK })
    }

    fn read(&self) -> Result<RaceFile, Failure> {
        let mut file = config::open(&self.race).map_err(Failure::usage)?;
        file.plan.blocks = self.blocks.unwrap_or(file.plan.blocks);
        file.plan.seed = self.seed.map_or(file.plan.seed, Seed);
        Ok(file)
    }

    fn deliver(&self, outcome: &Outcome, predictions: &[PredictedMeasure]) -> Result<(), Failure> {
        let document = prediction::Document { outcome, predictions };
        let to_stdout = output::is_stdout(&self.json);
        if to_stdout {
            output::say_json(&document);
        } else {
            let (extent, width) = (self.verbosity.extent(), output::columns());
            let shown = text::outcome(outcome, extent, width) + &text::predictions(predictions, width);
            say!("{}", shown.trim_end());
        }
        let mut written = Vec::new();
        written.extend(output::write(output::file(&self.json), || json::text(&document))?);
        written.extend(output::write(self.html.as_deref(), || page::render(outcome, &command_line()))?);
        written.extend(self.tables.write(|| std::iter::once(table::values(outcome)))?);
        if !self.verbosity.quiet {
            output::say_unless_json(&self.json, &written);
        }
        Ok(())
    }
}

fn list() {
    let table = text::shipped(output::columns());
    say!("{table}\n\nRun one: goodness race NAME. What it would change: goodness race NAME --dry-run");
}

fn tell(bar: &ProgressBar, plan: &Plan, progress: Progress) {
    match progress {
        Progress::CleanedUp(what) => {
            progress::above(bar, format_args!("undone what a killed command had left: {what}"))
        }
        Progress::Preparing => bar.set_message("preparing"),
        Progress::Running { block, of, arm } => {
            bar.set_length(u64::from(of));
            bar.set_position(u64::from(block));
            bar.set_message(format!("{}, block", plan.arms[arm].name));
        }
        Progress::Repeated { arm, outside } => {
            let used = (outside.worst() * 100.0).round();
            let name = &plan.arms[arm].name;
            progress::above(bar, format_args!("\"{name}\" is run again: others used {used} % of the machine"));
        }
        Progress::LeftAlone(what) => bar.suspend(|| eprintln!("{what}")),
        Progress::Looked { blocks, open } => {
            progress::above(bar, format_args!("after {blocks} blocks {open} comparisons are open"));
        }
    }
}
