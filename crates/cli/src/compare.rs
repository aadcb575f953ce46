//! `goodness compare`: the main job.

mod suite;

use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::output::{self, Outputs};
use crate::stop;
use crate::watching::watch;
use crate::words::{self, command_line};
use clap::Args;
use goodness::standard::Field;
use goodness::{
    Again, Circumstances, Contender, Plan, RUNS_MAX, Runs, Timelines, Work, check_names, recordings, shipped,
};
use goodness_report::model::{self, Details};

/// Slices of each policy's first run that the report's timeline keeps.
const TIMELINE_CAP: usize = 400_000;

/// Rank schedulers on the same work, with intervals and verdicts.
///
/// INPUT is a recording of scheduling or block I/O (`goodness list formats`), an experiment (.toml), an rt-app file
/// (.json), a fio job file (.fio) or a built-in workload (`goodness list workloads`). Default: a recording shipped with
/// the program. Several recordings of one load give intervals over recordings. The first policy is the reference; for a
/// recording, that is the recording kernel's own. All policies get the same random seeds.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness compare                                                    a shipped recording
  goodness compare mixed -p eevdf -p cfs -p o1                        a built-in workload
  goodness compare mixed -p eevdf -p eevdf:base_slice=6ms             one policy, two settings
  goodness compare examples/05-disk.toml --elevator none --elevator bfq
  goodness compare apache-ab-c32-1cpu --arm ab.nice=5 --arm cpus=4    what if
  goodness compare my.ftrace.gz --judge redis-server --window 5s..9s  for one program, of a long recording
  goodness compare apache-ab-c32-1cpu --field history                 older schedulers, too
  goodness compare monday.ftrace.gz tuesday.ftrace.gz                 one load, recorded twice
  goodness compare before.ftrace.gz after.ftrace.gz --as-arms         two recordings, nothing replayed
  goodness compare --suite server -p eevdf -p cfs --html suite.html   three servers, ranked together
  goodness compare mixed mixed-cpu --each -p eevdf -p cfs             unlike inputs of one's own
  goodness compare my.ftrace.gz --json result.json --no-html
  goodness compare my.ftrace.gz -v                                    all figures, errors and notes

Exit codes: 0 compared, 1 failure, 2 bad input, 3 undecided or untrusted (--decide), 4 a checker was violated.")]
pub struct Compare {
    /// Recording, experiment, rt-app or fio file, or built-in workload; or several recordings of one load.
    #[arg(default_value = shipped::DEFAULT)]
    pub input: Vec<String>,
    /// Policy with settings: eevdf:base_slice=3ms. May be repeated. Default: those of --field.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// What-if: changes to tasks, machine or policy, separated by blanks: redis.nice=-5, 1234.affinity=0-1,
    /// worker*.class=batch, x.slice=1ms, cpus=4, hz=1000, hogs=2 (load), eevdf:base_slice=700us; with disks eevdf+bfq,
    /// web.io_weight=200, web.io_max=rbps=10M, sda.wbt_lat=2ms (all: docs/what-if.md). May be repeated. The reference
    /// is the unchanged work (base).
    #[arg(long, value_name = "EDIT…", conflicts_with_all = ["policy", "elevator"])]
    arm: Vec<String>,
    /// Arms where none is named: what the recorded machine's owner can deploy (default for recordings of current
    /// kernels), or current and past schedulers.
    #[arg(long, value_name = "deploy|history", conflicts_with_all = ["policy", "arm"])]
    field: Option<Field>,
    /// Compare the recordings with each other, as they were made. Nothing is replayed.
    #[arg(long, conflicts_with_all = ["policy", "arm", "elevator", "field", "runs", "seed", "timing", "perfetto",
        "machine", "arrivals", "ends", "recorded_by", "without_others", "lenient"])]
    as_arms: bool,
    /// Rank the inputs of a suite together (`goodness list suites`): the ratio on each, and the geometric mean.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["input", "as_arms", "elevator", "field", "perfetto",
        "figures", "cite", "each"])]
    pub suite: Option<String>,
    /// Rank several inputs together that are unlike, each judged by itself, as those of a suite.
    #[arg(long, conflicts_with_all = ["as_arms", "elevator", "field", "perfetto", "figures", "cite"])]
    pub each: bool,
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
    /// Exit with 3 if any verdict is inconclusive or untrusted.
    #[arg(long)]
    decide: bool,
    /// Do not write a page. Without this and --html, it is goodness-compare-INPUT.html.
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
        if self.runs == 0 || self.runs > RUNS_MAX {
            return Err(Failure::usage(format!("--runs {} is outside 1 ..= {RUNS_MAX}", self.runs)));
        }
        self.rank_by.as_deref().map(goodness::check_rank).transpose()?;
        if self.suite.is_some() || self.each {
            return self.suite();
        }
        let mut outputs = self.outputs.clone();
        outputs.verbosity.begin();
        if outputs.html.is_none() && !self.no_html && !outputs.verbosity.quiet {
            outputs.html = Some(output::page("compare", &self.input[0], &command_line()));
        }
        self.input.iter().try_for_each(|named| outputs.check(named))?;
        check_names(&self.policy, &self.elevator)?;
        stop::heed()?;
        let (mut runs, about, details) = self.runs(&outputs)?;
        self.rank_by.as_deref().map(|metric| runs.check_rank_by(metric)).transpose()?;
        let ranked_by = self.rank_by.clone().or(details.ranked_by);
        let details = Details { command: Some(command_line()), ranked_by, ..details };
        let report = runs.report(circumstances(about, details, &|again| {
            words::reproduce(&self.options.words(&self.input[0]), again)
        }));
        if let Some(stopped) = runs.stopped() {
            return outputs.tell_stopped(&report, stopped);
        }
        outputs.deliver(&report, &runs.take_timelines(), "")?;
        match report.policies.iter().flat_map(|p| &p.violations).next() {
            Some(v) => Err(Failure::violated(format!("{}: {} Reproduce: {}", v.checker, v.message, v.reproduce))),
            None if self.decide && report.is_undecided() => Ok(exit::INCONCLUSIVE),
            None => Ok(exit::OK),
        }
    }

    /// The runs on all inputs, with their description.
    fn runs(&self, outputs: &Outputs) -> Result<(Runs, model::Input, Details), Failure> {
        let options = self.options.read()?;
        let said = |named: &str, refusal| words::failure(&refusal, &self.options.words(named));
        let open = |named: &str| goodness::open(named, &options, &watch()).map_err(|it| said(named, it));
        match self.as_arms {
            true => recordings::as_arms(&self.input, open),
            false => recordings::of_one_load(&self.input, open, |named, work| {
                self.plan(work, outputs)?.run_as_far(&watch()).map_err(|it| said(named, it))
            }),
        }
    }

    fn plan<'a>(&self, work: &'a Work, outputs: &Outputs) -> Result<Plan<'a>, Failure> {
        self.plan_of(work, &self.policy, outputs.timelines(TIMELINE_CAP))
    }

    /// The runs of these policies, or of the arms.
    fn plan_of<'a>(&self, work: &'a Work, policies: &[String], timelines: Timelines) -> Result<Plan<'a>, Failure> {
        let contenders = if self.arm.is_empty() {
            work.contenders(policies, &self.elevator, self.field)?
        } else {
            work.behind_elevators(Contender::arms(&self.arm, &work.standard_policy()?)?)?
        };
        let (seed, runs, timing) = (self.seed, self.runs, self.timing);
        Ok(Plan { seed, runs, timelines, timing, ..Plan::of(work, contenders) })
    }
}

/// Parts of a report that do not come from the runs.
pub fn circumstances(input: model::Input, details: Details, again: &dyn Fn(&Again) -> String) -> Circumstances<'_> {
    Circumstances { input, details, commit: crate::COMMIT.map(str::to_string), again }
}
