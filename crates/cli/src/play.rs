//! `goodness play`: runs the work as real threads under the running kernel's scheduler.

use crate::failure::{Failure, exit};
use crate::input::span;
use crate::output;
use crate::tables::Tables;
use crate::watching::watch;
use clap::Args;
use goodness::OpenOptions;
use goodness::play::{Document, Part, class, text};
use goodness_core::Span;
use goodness_play::PlayClass;
use goodness_sys::cpu_list::CpuList;
use std::path::PathBuf;

/// Play work as real threads, under the scheduler of the running kernel.
///
/// Each task of the file becomes a thread of that name. It computes for the given CPU time, sleeps, waits for other
/// tasks, yields, forks and changes its nice like the simulated task; the same seed gives the same lengths. CPU n of
/// the file is the n-th CPU this command may use (taskset). Prints CPU time and context switches from the kernel, and
/// wake-up latencies.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness play examples/02-nice.toml -d 5s                  under this kernel's own scheduler
  goodness run examples/02-nice.toml -p eevdf                the same work, simulated
  goodness play examples/02-nice.toml --policy-class batch   ordinary tasks as SCHED_BATCH
  taskset -c 1 goodness play hogs:tasks=4 -d 3s              a built-in workload on CPU 1

Lower nice and real-time classes need root. Disks cannot be played. Ctrl-C ends the play and prints its results.
Differences from the simulator: docs/guest.md.
Exit codes: 0 played, 2 it cannot be played here (the error names the remedy), 128 + the number of a signal that \
ended it early.")]
pub struct Play {
    /// An experiment (.toml), an rt-app file (.json), or a built-in workload (`goodness list workloads`).
    input: String,
    /// Duration including warm-up. Default: the file's own.
    #[arg(short, long, value_name = "TIME")]
    duration: Option<String>,
    /// CPUs that tasks may use; CPU n of the file is the n-th of them. Default: those of this command.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// Class of tasks without a class. Default: this command's; ext is the loaded policy.
    #[arg(long, value_name = "CLASS", value_parser = ["ext", "other", "batch", "idle"])]
    policy_class: Option<String>,
    /// Changes to tasks and groups, separated by blanks: hog.nice=10, db*.slice=1ms, web.cpu_weight=50.
    #[arg(long, value_name = "EDIT…", default_value = "", hide_default_value = true)]
    arm: String,
    /// Random seed; the simulator draws the same lengths from the same seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Accept rt-app keys that have no effect here, and name them.
    #[arg(long)]
    lenient: bool,
    /// Write the results as JSON (schema goodness.play/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
}

impl Play {
    /// Plays and prints.
    ///
    /// # Errors
    /// Bad input, work that cannot be played, missing root permission, a file that cannot be written.
    pub fn run(&self) -> Result<u8, Failure> {
        output::check_with(std::slice::from_ref(&self.input), &self.tables, &[(&self.json, "--json")])?;
        let duration = self.duration.as_deref().map(length).transpose()?;
        let options = OpenOptions { lenient: self.lenient, ..OpenOptions::default() };
        let input = goodness::open(&self.input, &options, &watch())?;
        let class = self.policy_class.as_deref().map_or(PlayClass::Inherited, class);
        let cpus = self.cpus.as_ref().map(|CpuList(cpus)| goodness_play::usable(cpus)).transpose();
        let cpus = cpus.map_err(|why| Failure::usage(format!("--cpus: {why}")))?;
        let edits = goodness::play::edits(&self.arm)?;
        let played = Part { seed: self.seed, duration, class, cpus, edits }.play(&input)?;
        let document = Document::of(&self.input, self.seed, &played);
        let shown = |width| text(&self.input, self.seed, &played, &input, width);
        output::deliver((&self.json, &self.tables), &document, shown, || document.table(&self.arm))?;
        // As a shell has it for a command that a signal ended.
        Ok(played.interrupted_by.map_or(exit::OK, |signal| 128 + signal as u8))
    }
}

/// A duration as typed.
///
/// # Errors
/// None at all, or longer than a day.
pub fn length(text: &str) -> Result<Span, Failure> {
    goodness::play::length(span("--duration", text)?).map_err(|why| Failure::usage(format!("--duration: {why}")))
}
