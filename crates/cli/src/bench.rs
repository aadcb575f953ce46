//! `goodness bench`: cost of decisions by number of tasks and CPUs.

mod elevators;

use crate::failure::{Failure, exit};
use crate::input::span;
use crate::json_option::Json;
use crate::output;
use crate::progress;
use crate::tables::Tables;
use crate::verbosity::Quiet;
use clap::{Args, ValueEnum};
use goodness::PolicySpec;
use goodness_bench::Size;
use goodness_bench::pattern::Pattern;
use goodness_bench::{long, table, text};
use goodness_core::Span;
use goodness_table::Table;
use std::time::Duration;

/// Time decisions of policies and elevators.
///
/// decision_ns is the cost of the policy alone: a pick, the charge at the end of the slice, a wake-up. end_to_end_ns is
/// the CPU time of the whole simulator per decision, with metrics and checkers, on the work given by --work. bare_ns is
/// that of a minimal loop on the same work (a binary heap of events, or a BTreeMap for cfs and eevdf, and a histogram);
/// it is measured on one CPU, with work that sleeps. The last column is end_to_end_ns divided by bare_ns.
///
/// With --elevator, decision_ns is the cost of the elevator alone (a request chosen, completed and replaced), and
/// end_to_end_ns is the CPU time of a random 4 KiB request through the block layer to a device that costs nothing.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness bench                                           every policy; takes minutes
  goodness bench -p rr -p eevdf --tasks 10,1000
  goodness bench -p o1 --tasks 1000 --budget 20ms --json   quick, for scripts
  goodness bench --elevator all --waiting 48,1000          elevators instead

Exit codes: 0 measured, 2 bad input.")]
pub struct Bench {
    /// Policies to time; all of them by default.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// Elevators to time instead, or "all". May be repeated.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]", conflicts_with_all = ["policy", "tasks", "cpus", "work"])]
    elevator: Vec<String>,
    /// Numbers of requests that wait in an elevator.
    #[arg(long, value_delimiter = ',', default_values_t = [48, 1_000], requires = "elevator")]
    waiting: Vec<u32>,
    /// Numbers of tasks.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 1_000, 100_000])]
    tasks: Vec<usize>,
    /// Numbers of CPUs.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    cpus: Vec<usize>,
    /// Time to spend on each operation.
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    budget: String,
    /// Decisions, or requests, of the end-to-end run.
    #[arg(long, default_value_t = 300_000)]
    decisions: u64,
    /// Work of the end-to-end run.
    #[arg(long, value_enum, default_value_t = Work::Sleeps)]
    work: Work,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    quiet: Quiet,
}

/// Work of the end-to-end run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    /// Bursts of 10 us and yields: one event for each decision.
    Turns,
    /// Bursts of 10 us and sleeps: three events and a wake-up for each decision.
    Sleeps,
}

impl Work {
    fn pattern(self) -> Pattern {
        match self {
            Work::Turns => Pattern::Turns,
            Work::Sleeps => Pattern::Sleeps,
        }
    }
}

impl Bench {
    /// Measures and prints.
    ///
    /// # Errors
    /// Unknown policies or tunables, sizes out of range, faults.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        self.json.check("")?;
        let budget = self.time()?;
        output::check_tables(&[], &self.tables)?;
        if !self.elevator.is_empty() {
            return elevators::run(self);
        }
        let sizes = Size::all(&self.tasks, &self.cpus).map_err(|why| Failure::usage(format!("--{why}")))?;
        let policies: Vec<PolicySpec> = match self.policy.is_empty() {
            true => PolicySpec::all(&["all".into()])?,
            false => self.policy.iter().map(|text| PolicySpec::parse(text)).collect::<Result<_, _>>()?,
        };
        let bar = progress::bar((sizes.len() * policies.len()) as u64, "timing");
        let rows = table::rows(&policies, &sizes, budget, self.decisions, self.work.pattern(), &|| bar.inc(1));
        bar.finish_and_clear();
        let rows = rows.map_err(Failure::other)?;
        self.json.show(&rows, |width| text::decisions(&rows, width))?;
        self.write(|| long::decisions(&rows))
    }

    /// Writes the table `values`, if that is asked for.
    fn write(&self, values: impl Fn() -> Table) -> Result<u8, Failure> {
        let written = self.tables.write(|| std::iter::once(values()))?;
        if !self.json.is_stdout() {
            output::say_written(&written);
        }
        Ok(exit::OK)
    }

    /// Time to spend on each operation.
    fn time(&self) -> Result<Duration, Failure> {
        let text = &self.budget;
        let budget = span("--budget", text)?;
        if budget > Span::from_ms(3_600_000) {
            return Err(Failure::usage(format!("--budget {text} is longer than an hour")));
        }
        Ok(Duration::from_nanos(budget.ns().max(1_000_000)))
    }
}
