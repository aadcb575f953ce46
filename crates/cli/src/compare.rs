//! `goodness compare`: the main job.

use crate::analysis::{Circumstances, report};
use crate::failure::{Failure, exit};
use crate::input::{Input, InputOptions, open};
use crate::lab::Plan;
use crate::output::Outputs;
use crate::shipped;
use clap::Args;
use goodness_core::registry::suggest;
use goodness_lab::{Contender, ElevatorSpec, PolicySpec};
use goodness_observe::METRICS;
use goodness_report::model::{Details, Verdict};
use goodness_report::{Report, Timeline};
use std::path::PathBuf;

/// The policies that are compared when none is named: the fair classes of today and before, and the schedulers that
/// came before them.
pub const STANDARD_FIELD: &[&str] = &["eevdf", "cfs", "staircase", "o1", "linux-2.4", "rr", "fifo"];

/// The elevators that are compared on work with disks when none is named: those of blk-mq, and those before it.
pub const STANDARD_ELEVATORS: &[&str] = &["mq-deadline", "none", "kyber", "bfq", "deadline", "cfq", "as", "noop"];

/// The policies for work with disks when none is named: what is asked is what the elevators do.
const STANDARD_POLICY: &str = "eevdf";

/// Slices of each policy's first run that the report's timeline keeps.
const TIMELINE_CAP: usize = 400_000;

/// Rank schedulers on the same work, with intervals and verdicts.
///
/// INPUT is a recording of scheduling or block I/O (`goodness list formats`), an experiment (.toml), an rt-app file
/// (.json), a fio job file (.fio) or a built-in workload, as in `goodness list workloads`; without it, a recording shipped with the program. The first policy is the reference; for
/// a recording it is the recording kernel's own. Every policy sees the same seeds.
#[derive(Args)]
pub struct Compare {
    /// What to run.
    pub input: Option<String>,
    /// A policy, with settings: eevdf:base_slice=3ms. May be repeated; the standard field by default.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// An elevator of the disks, with settings: bfq:low_latency=off. May be repeated: every policy is then run with
    /// every elevator. By default those of today and before.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Vec<String>,
    /// Runs of each policy.
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Where chance begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The metric that ranks (`goodness list metrics`).
    #[arg(long, value_name = "METRIC")]
    rank_by: Option<String>,
    /// Exit with 3 when the runs do not say for every policy whether it is better or worse than the reference.
    #[arg(long)]
    decide: bool,
    /// Do not write goodness-report.html.
    #[arg(long)]
    no_html: bool,
    #[command(flatten)]
    options: InputOptions,
    #[command(flatten)]
    outputs: Outputs,
}

impl Compare {
    /// Runs, ranks, writes.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        if self.runs == 0 || self.runs > 10_000 {
            return Err(Failure::usage(format!("--runs {} is outside 1 ..= 10000", self.runs)));
        }
        check_metric(self.rank_by.as_deref())?;
        let mut outputs = self.outputs.clone();
        if outputs.html.is_none() && !self.no_html {
            outputs.html = Some(PathBuf::from("goodness-report.html"));
        }
        let named = self.input.as_deref().unwrap_or(shipped::DEFAULT);
        outputs.check(named)?;
        check_names(&self.policy, &self.elevator)?;
        let input = open(named, &self.options, self.seed)?;
        let contenders = Contender::cross(&self.policies(&input)?, &elevators(&self.elevator, &input)?);
        let words = self.options.words(named);
        let plan = Plan {
            machine: &input.machine,
            words: &words,
            source: &*input.source,
            seed: self.seed,
            runs: self.runs,
            first: 0,
            contenders: &contenders,
            timeline_cap: if outputs.wants_timelines() { TIMELINE_CAP } else { 0 },
            with_queues: outputs.perfetto.is_some(),
        };
        let mut arms = plan.conduct()?;
        let details = self.details(&input);
        let fidelity = input.recorded.map(|r| r.fidelity);
        let circumstances = Circumstances { input: input.about, fidelity, details };
        let mut report = report(&plan, &arms, circumstances)?;
        report.details.warnings.extend(self.not_ranked(&report));
        let timelines: Vec<Timeline> =
            arms.iter_mut().filter_map(|arm| arm.runs.first_mut()?.timeline.take()).collect();
        outputs.deliver(&report, &timelines)?;
        match report.policies.iter().flat_map(|p| &p.violations).next() {
            Some(v) => Err(Failure::violated(format!("{}: {} Reproduce: {}", v.checker, v.message, v.reproduce))),
            None if self.decide && is_undecided(&report) => Ok(exit::INCONCLUSIVE),
            None => Ok(exit::OK),
        }
    }

    /// What is to be said when the metric that should rank was not measured, so that another one does.
    fn not_ranked(&self, report: &Report) -> Option<String> {
        let asked = self.rank_by.as_deref()?;
        let ranks = report.ranked_by().filter(|by| *by != asked)?;
        Some(format!("{asked} was not measured on this work, or has no good direction; {ranks} ranks instead"))
    }

    /// The policies asked for, or the standard field. For a recording, the first is the recording kernel's own,
    /// unless policies were named.
    fn policies(&self, input: &Input) -> Result<Vec<PolicySpec>, Failure> {
        if !self.policy.is_empty() {
            return self.policy.iter().map(|text| crate::lab::policy(text)).collect();
        }
        if input.source.asks_for_elevator() {
            return Ok(vec![crate::lab::policy(STANDARD_POLICY)?]);
        }
        let mut field: Vec<PolicySpec> =
            STANDARD_FIELD.iter().map(|name| crate::lab::policy(name)).collect::<Result<_, _>>()?;
        if let Some(recorded) = &input.recorded {
            field.retain(|spec| spec.name != recorded.policy.name);
            field.insert(0, recorded.policy.clone());
        }
        Ok(field)
    }

    fn details(&self, input: &Input) -> Details {
        Details {
            command: Some(command_line()),
            what_varies: Some(input.source.what_varies().into()),
            ranked_by: self.rank_by.clone(),
            ..input.details.clone()
        }
    }
}

/// Whether some policy's verdict in the metric that ranks is open.
fn is_undecided(report: &Report) -> bool {
    let Some(metric) = report.ranked_by() else { return true };
    let verdicts = report.policies.iter().filter(|p| !p.is_reference).map(|p| p.metric(metric)?.vs_reference);
    verdicts.into_iter().any(|v| v.is_none_or(|v| v.verdict == Verdict::Inconclusive))
}

/// The elevators named, or the standard ones, for work with disks whose elevator is open; none for other work.
///
/// # Errors
/// An elevator that does not exist, a setting that cannot be made, or an elevator for work that has no use for one.
pub fn elevators(named: &[String], input: &Input) -> Result<Vec<ElevatorSpec>, Failure> {
    if input.source.asks_for_elevator() {
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let wanted = if named.is_empty() { STANDARD_ELEVATORS } else { &named };
        return wanted.iter().map(|text| crate::lab::elevator(text)).collect();
    }
    match named.first() {
        None => Ok(Vec::new()),
        Some(name) => Err(Failure::usage(format!(
            "--elevator {name}: \"{}\" has no disk whose elevator is open; leave --elevator out",
            input.source.name()
        ))),
    }
}

/// Refuses policies and elevators that cannot be made, before a long input is read.
///
/// # Errors
/// The first such name or setting.
pub fn check_names<'a>(
    policies: impl IntoIterator<Item = &'a String>,
    elevators: impl IntoIterator<Item = &'a String>,
) -> Result<(), Failure> {
    policies.into_iter().try_for_each(|text| crate::lab::policy(text).map(drop))?;
    elevators.into_iter().try_for_each(|text| crate::lab::elevator(text).map(drop))
}

/// Refuses a metric that does not exist.
///
/// # Errors
/// A sentence naming the nearest metric.
pub fn check_metric(name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    if METRICS.iter().any(|m| m.name == name) {
        return Ok(());
    }
    let near = suggest(name, METRICS.iter().map(|m| m.name));
    Err(Failure::usage(format!("there is no metric \"{name}\"; {near}. See `goodness list metrics`.")))
}

/// The command line, as the report repeats it.
pub fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| quoted(&word));
    std::iter::once("goodness".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:,=/+".contains(c)) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
