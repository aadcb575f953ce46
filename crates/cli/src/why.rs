//! `goodness why`: why is it late.

use crate::failure::{Failure, exit};
use crate::input::{self, InputOptions};
use crate::output;
use crate::tables::Tables;
use crate::verbosity::Quiet;
use crate::watching::watch;
use crate::words;
use clap::Args;
use goodness::why::{Latencies, Question, Simulated};
use goodness::{RUNS_MAX, check_names, shipped};
use goodness_core::Time;
use goodness_report::{json, why};
use std::path::PathBuf;

/// Why is it late: the longest waits or requests, and what each was spent on.
///
/// A recording is explained as it is. With a policy, an arm or a machine, and for any other input, a run is simulated
/// and explained, and the policy says by which rule it let a task wait.
///
/// Requests are followed along their critical path: who ran, who waited for a CPU and behind whom, who slept until
/// somebody woke it. The parts sum to the latency, to the nanosecond.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness why redis-benchmark-8                       a recording as it is: the slowest requests
  goodness why my.ftrace.gz --judge 'worker*'          the longest waits of some tasks
  goodness why apache-ab-c24-1cpu --of waits --worst 20 -v
  goodness why mixed -p eevdf                          a simulated run, with the policy's rules
  goodness why examples/03-lock-convoy.toml --profile  what would help, by simulation
  goodness why mariadb-sysbench-16 --arm cpus=2 --json why.json
  goodness why redis-benchmark-8 --html why.html       as a page, with each chain drawn

Exit codes: 0 explained, 1 failure, 2 bad input, 4 a checker was violated.")]
pub struct Why {
    /// Input, as in `goodness compare`.
    input: Option<String>,
    /// Simulate under this policy: eevdf:base_slice=3ms. Default: a recording as it is, else eevdf.
    #[arg(short, long, value_name = "POLICY[:KEY=VAL,…]")]
    policy: Option<String>,
    /// Elevator of the disks with settings: bfq:low_latency=off. Default: mq-deadline.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Option<String>,
    /// Simulate with these changes, separated by blanks, as in `goodness compare`: redis.nice=-5, cpus=4.
    #[arg(long, value_name = "EDIT…")]
    arm: Option<String>,
    /// Random seed of a simulation.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replication of a comparison to explain, from 0.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..i64::from(RUNS_MAX)))]
    replication: u32,
    /// What is late: requests; I/Os; waits for a CPU of tasks that sleep (waits), of these only those after a wake-up
    /// (wakeups), or of all tasks (all). Default: requests if there are any, else io of disks, else waits.
    #[arg(long, value_name = "WHAT", value_parser = ["requests", "io", "waits", "wakeups", "all"])]
    of: Option<String>,
    /// Only what was late at this time, on the clock of the recording or the run (6701.5s).
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Number of latencies to show one by one.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=10_000))]
    worst: u32,
    /// Skip the check: do not simulate the run again without each main cause.
    #[arg(long)]
    no_check: bool,
    /// Simulate the run with 5, 10 and 25 % less CPU time of each kind of tasks, shorter holds of each lock and faster
    /// disks, and rank what would help.
    #[arg(long)]
    profile: bool,
    /// Show all causes, and the whole chain of each latency.
    #[arg(short, long)]
    verbose: bool,
    /// Write the answer as JSON (schema goodness.why/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page, with the chains of the worst on time axes.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    quiet: Quiet,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    options: InputOptions,
}

impl Why {
    /// Explains and prints.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        let named = self.input.as_deref().unwrap_or(shipped::DEFAULT);
        self.tables.check()?;
        let asked = self.tables.asked();
        output::check(named, &[&[(&self.json, "--json"), (&self.html, "--html")], &asked[..]].concat())?;
        check_names(&self.policy, &self.elevator)?;
        let found = self.explain(named)?;
        let to_stdout = output::is_stdout(&self.json);
        if to_stdout {
            output::say_json(&found);
        } else {
            say!("{}", why::text(&found, output::columns(), self.verbose).trim_end());
        }
        let mut written = Vec::new();
        written.extend(output::write(output::file(&self.json), || json::text(&found))?);
        written.extend(output::write(self.html.as_deref(), || why::page(&found, &words::command_line()))?);
        written.extend(self.tables.write(|| std::iter::once(why::tables::links(&found)))?);
        if !to_stdout {
            output::say_written(&written);
        }
        Ok(exit::OK)
    }

    fn explain(&self, named: &str) -> Result<why::Why, Failure> {
        let at = self.at.as_deref().map(|text| input::span("--at", text)).transpose()?;
        let question = Question {
            of: self.of.as_deref().and_then(Latencies::named),
            at: at.map(|span| Time::ZERO + span),
            worst: self.worst as usize,
            checks: if self.no_check { 0 } else { Question::default().checks },
            profile: self.profile,
        };
        let run = Simulated {
            policy: self.policy.clone(),
            elevator: self.elevator.clone(),
            arm: self.arm.clone(),
            seed: self.seed,
            replication: self.replication,
        };
        goodness::why::why(named, self.options.read()?, &run, &question, &watch())
            .map_err(|refusal| words::failure(&refusal, &self.options.words(named)))
    }
}
