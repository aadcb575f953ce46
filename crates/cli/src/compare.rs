//! `goodness compare`: the main job.

use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::output::Outputs;
use crate::watching::watch;
use crate::words::{self, command_line};
use clap::Args;
use goodness::{Again, Circumstances, Contender, Plan, Work, check_names, shipped};
use goodness_report::model::{self, Details};
use std::path::PathBuf;

/// Slices of each policy's first run that the report's timeline keeps.
const TIMELINE_CAP: usize = 400_000;

/// Rank schedulers on the same work, with confidence intervals and verdicts.
///
/// INPUT is a recording of scheduling or block I/O (`goodness list formats`), an experiment (.toml), an rt-app file
/// (.json), a fio job file (.fio) or a built-in workload (`goodness list workloads`). Default: a recording shipped with
/// the program. All policies are compared with the first one; for a recording, that is the recording kernel's own. All
/// policies get the same random seeds.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness compare                                                        the shipped recording of Apache
  goodness compare mixed -p eevdf -p cfs -p o1                            a built-in workload, three policies
  goodness compare mixed -p eevdf -p eevdf:base_slice=6ms                 one policy, two settings
  goodness compare examples/05-disk.toml --elevator none --elevator bfq
  goodness compare apache-ab-c32-1cpu --arm ab.nice=5 --arm cpus=4        what if
  goodness compare my.ftrace.gz --json result.json --no-html

Exit codes: 0 compared, 1 failure, 2 bad input, 3 undecided or untrusted (--decide), 4 a checker was violated.")]
pub struct Compare {
    /// Recording, experiment, rt-app or fio file, or built-in workload.
    pub input: Option<String>,
    /// Policy with settings: eevdf:base_slice=3ms. May be repeated. Default: a standard set.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// What-if: a change to tasks, machine or policy: redis.nice=-5, 1234.affinity=0-1, worker*.class=batch,
    /// x.slice=1ms, cpus=4, hz=1000, eevdf:base_slice=700us; several with blanks in between. May be repeated. The work
    /// as it is (base) is the reference and need not be named.
    #[arg(long, value_name = "EDIT…", conflicts_with_all = ["policy", "elevator"])]
    arm: Vec<String>,
    /// Elevator of the disks with settings: bfq:low_latency=off. May be repeated; every policy runs with every
    /// elevator. Default: current and older elevators.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Vec<String>,
    /// Runs of each policy.
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Metric to rank by (`goodness list metrics`).
    #[arg(long, value_name = "METRIC")]
    rank_by: Option<String>,
    /// Exit with 3 if the verdict on any policy stays open or cannot be trusted.
    #[arg(long)]
    decide: bool,
    /// Do not write goodness-report.html.
    #[arg(long)]
    no_html: bool,
    /// Report the run time of the simulation, the only figure that differs from run to run.
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    options: InputOptions,
    #[command(flatten)]
    outputs: Outputs,
}

impl Compare {
    /// Runs, ranks and writes.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        if self.runs == 0 || self.runs > 10_000 {
            return Err(Failure::usage(format!("--runs {} is outside 1 ..= 10000", self.runs)));
        }
        self.rank_by.as_deref().map(goodness::check_rank).transpose()?;
        let mut outputs = self.outputs.clone();
        if outputs.html.is_none() && !self.no_html {
            outputs.html = Some(PathBuf::from("goodness-report.html"));
        }
        let named = self.input.as_deref().unwrap_or(shipped::DEFAULT);
        outputs.check(named)?;
        check_names(&self.policy, &self.elevator)?;
        let input = self.options.words(named);
        let said = |refusal| words::failure(&refusal, &input);
        let watch = watch();
        let work = goodness::open(named, &self.options.read()?, &watch).map_err(said)?;
        let mut runs = self.plan(&work, &outputs)?.run(&watch).map_err(said)?;
        self.rank_by.as_deref().map(|metric| runs.can_rank_by(metric)).transpose()?;
        let details = Details {
            command: Some(command_line()),
            what_varies: Some(work.source.what_varies().into()),
            ranked_by: self.rank_by.clone(),
            ..work.details
        };
        let report = runs.report(circumstances(work.about, details, &|again| words::reproduce(&input, again)));
        outputs.deliver(&report, &runs.take_timelines())?;
        match report.policies.iter().flat_map(|p| &p.violations).next() {
            Some(v) => Err(Failure::violated(format!("{}: {} Reproduce: {}", v.checker, v.message, v.reproduce))),
            None if self.decide && report.is_undecided() => Ok(exit::INCONCLUSIVE),
            None => Ok(exit::OK),
        }
    }

    fn plan<'a>(&self, work: &'a Work, outputs: &Outputs) -> Result<Plan<'a>, Failure> {
        let contenders = if self.arm.is_empty() {
            work.contenders(&self.policy, &self.elevator)?
        } else {
            Contender::arms(&self.arm, &work.standard_policy()?)?
        };
        Ok(Plan {
            seed: self.seed,
            runs: self.runs,
            timelines: outputs.timelines(TIMELINE_CAP),
            timing: self.timing,
            ..Plan::of(work, contenders)
        })
    }
}

/// Parts of a report that do not come from the runs.
pub fn circumstances(input: model::Input, details: Details, again: &dyn Fn(&Again) -> String) -> Circumstances<'_> {
    Circumstances { input, details, commit: option_env!("GOODNESS_COMMIT").map(str::to_string), again }
}
