//! `goodness run`: one run of one policy, in detail.

use crate::compare::circumstances;
use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::output::{self, Outputs};
use crate::stop;
use crate::watching::watch;
use crate::words::{self, command_line};
use clap::Args;
use goodness::{Plan, PolicySpec, RUNS_MAX, Timelines, Work, check_names, shipped};
use goodness_report::model::Details;
use goodness_report::schedule;

/// Slices that a detailed run keeps.
const TIMELINE_CAP: usize = 2_000_000;

/// Run one policy once, in detail.
///
/// Prints metrics and the tasks' latencies; on request, the slices and a map of the schedule.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness run mixed -p eevdf                                metrics and tasks of one run
  goodness run mixed -p o1 --timehist 20                     the first 20 slices
  goodness run mixed -p rr --map                             a map of the switches
  goodness run mariadb-sysbench-16 --perfetto run.perfetto

Exit codes: 0 ran, 1 failure, 2 bad input, 4 a checker was violated.")]
pub struct Run {
    /// Input, as in `goodness compare`.
    input: Option<String>,
    /// Policy with settings: eevdf:base_slice=3ms. Default: eevdf, or the policy that made the recording.
    #[arg(short, long, value_name = "POLICY[:KEY=VAL,…]")]
    policy: Option<String>,
    /// Elevator of the disks with settings: bfq:low_latency=off. Default: mq-deadline.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Option<String>,
    /// What-if changes, separated by blanks, as in `goodness compare`: redis.nice=-5, cpus=4.
    #[arg(long, value_name = "EDIT…")]
    arm: Option<String>,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replication of a comparison to show, from 0.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..i64::from(RUNS_MAX)))]
    replication: u32,
    /// Print the first N slices: time, CPU, task, wait and run time.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    timehist: Option<usize>,
    /// Print the first N switches as a map: one column per CPU, one letter per task.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    map: Option<usize>,
    /// Report the run time of the simulation, the only figure that differs from run to run.
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    options: InputOptions,
    #[command(flatten)]
    outputs: Outputs,
}

impl Run {
    /// Runs and prints.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        self.outputs.verbosity.begin();
        let named = self.input.as_deref().unwrap_or(shipped::DEFAULT);
        self.outputs.check(named)?;
        check_names(&self.policy, &self.elevator)?;
        let input = self.options.words(named);
        let said = |refusal| words::failure(&refusal, &input);
        stop::heed()?;
        let watch = watch();
        let work = goodness::open(named, &self.options.read()?, &watch).map_err(said)?;
        let mut runs = self.plan(&work)?.run_as_far(&watch).map_err(said)?;
        let details = Details { command: Some(command_line()), ..work.details };
        let report = runs.report(circumstances(work.about, details, &|again| words::reproduce(&input, again)));
        if let Some(stopped) = runs.stopped() {
            return self.outputs.tell_stopped(&report, stopped);
        }
        let timelines = runs.take_timelines();
        let decisions = (!self.outputs.verbosity.quiet).then_some(runs.arms[0].decisions);
        let schedule = |it| schedule::text(it, (self.timehist, self.map), decisions, output::columns());
        let schedule = timelines.first().map(schedule).unwrap_or_default();
        self.outputs.deliver(&report, &timelines, &schedule)?;
        match report.policies.iter().flat_map(|p| &p.violations).next() {
            Some(v) => Err(Failure::violated(format!("{}: {}", v.checker, v.message))),
            None => Ok(exit::OK),
        }
    }

    fn plan<'a>(&self, work: &'a Work) -> Result<Plan<'a>, Failure> {
        let policy = self.policy.as_deref().map_or_else(|| work.standard_policy(), PolicySpec::parse)?;
        let contender = work.arm(self.arm.as_deref(), &policy, self.elevator.as_deref())?;
        Ok(Plan {
            seed: self.seed,
            runs: 1,
            first: self.replication,
            timelines: Timelines { slices: TIMELINE_CAP, with_queues: self.outputs.perfetto.is_some() },
            timing: self.timing,
            ..Plan::of(work, vec![contender])
        })
    }
}
