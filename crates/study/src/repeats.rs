//! Recordings of one load beside each other: how much they differ, and whether the intervals stated from one of them
//! hold the others (`recordings/repeats`).
//!
//! Half of the loads give the spread that intervals contain ([`spreads`], `fidelity/recordings.toml`); the other half
//! shows whether it is enough ([`coverage`], [`called_different`]).

use goodness::standard::Field;
use goodness::{
    Circumstances, Contender, OpenOptions, Plan, PolicySpec, Ratios, Refusal, Report, Runs, Spread, Work, recordings,
};
use goodness_observe::{Better, METRICS};
use goodness_report::model::{Details, Input, MetricSummary, Verdict};
use goodness_stats::summary::{mean, standard_deviation};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// A load with several recordings, `NAME.1` to `NAME.5`, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Load(pub &'static str);

impl Load {
    /// True if it had two CPUs, as its name says.
    fn had_two_cpus(self) -> bool {
        self.0.ends_with("-2cpu")
    }
}

/// Loads that give the stated spread.
pub const SEEN: [Load; 6] = [
    Load("apache-ab-c16-1cpu"),
    Load("mariadb-sysbench-8"),
    Load("redis-benchmark-4"),
    Load("mixed-1cpu"),
    Load("apache-ab-c12-2cpu"),
    Load("mixed-2cpu"),
];
/// Loads that were not used for it.
pub const UNSEEN: [Load; 5] = [
    Load("apache-ab-c6-1cpu"),
    Load("redis-benchmark-16"),
    Load("messaging-1cpu"),
    Load("apache-ab-c24-2cpu"),
    Load("make-j4-2cpu"),
];

/// Recordings of each load.
const RECORDINGS: u32 = 5;
/// Replays of each recording under each policy.
const REPLAYS: u32 = 5;
/// Arms whose ratio is below this factor differ little. A choice.
const SMALL: f64 = 1.5;
/// Fewest observations of a metric in a recording that shows its spread. A choice: of a few tasks that happened to end,
/// the spread says nothing about others.
const FEWEST: u64 = 30;
/// Policies beside the recorded one.
const POLICIES: [&str; 13] = [
    "cfs",
    "o1",
    "staircase",
    "rsdl",
    "sd",
    "bfs",
    "muqss",
    "mlfq",
    "lottery",
    "rr",
    "linux-2.4",
    "scx-lavd",
    "scx-bpfland",
];

/// Results of a load.
pub struct Observed {
    /// The load.
    pub load: Load,
    /// Of each recording, by metric: the recorded value.
    pub levels: Vec<BTreeMap<&'static str, f64>>,
    /// Of each recording, the comparison of all policies from that recording alone.
    pub reports: Vec<Report>,
    /// The comparison of every two recordings as arms.
    pub pairs: Vec<Report>,
}

/// Replays all recordings of `load` in `folder`.
///
/// # Errors
/// A recording that is missing or cannot be read.
pub fn observe(folder: &Path, load: Load) -> Result<Observed, Refusal> {
    let mut observed = Observed { load, levels: Vec::new(), reports: Vec::new(), pairs: Vec::new() };
    for number in 1..=RECORDINGS {
        let work = open(&file_of(folder, load, number))?;
        let recorded = work.recorded.as_ref().ok_or_else(|| Refusal::usage("no recording".to_string()))?;
        let level = |metric: &goodness_observe::About| {
            let own = recorded.measured.get(metric.name);
            Some((metric.name, own.value.filter(|value| *value > 0.0 && own.samples >= FEWEST)?))
        };
        observed.levels.push(METRICS.iter().filter_map(level).collect());
        let own = Contender::policy(recorded.policy.clone());
        let policies = POLICIES.iter().map(|name| PolicySpec::parse(name).map(Contender::policy));
        let deployable = work.contenders(&[], &[], Some(Field::Deploy))?;
        let changes = deployable.into_iter().skip(1).filter(|it| it.policy.name == own.policy.name).map(Ok);
        let contenders = std::iter::once(Ok(own.clone())).chain(policies).chain(changes).collect::<Result<_, _>>()?;
        let runs = Plan { runs: REPLAYS, ..Plan::of(&work, contenders) }.run(&goodness::unwatched)?;
        observed.reports.push(report(&runs));
        for other in number + 1..=RECORDINGS {
            observed.pairs.push(as_arms(folder, [(load, number), (load, other)])?);
        }
    }
    Ok(observed)
}

/// The comparison of two recordings, each the load's with that number, as arms.
///
/// # Errors
/// As [`observe`].
pub fn as_arms(folder: &Path, pair: [(Load, u32); 2]) -> Result<Report, Refusal> {
    let files = pair.map(|(load, number)| file_of(folder, load, number));
    Ok(report(&recordings::as_arms(&files, open)?.0))
}

fn file_of(folder: &Path, load: Load, number: u32) -> String {
    folder.join(format!("{}.{number}.ftrace.zst", load.0)).to_string_lossy().into_owned()
}

fn open(file: &str) -> Result<Work, Refusal> {
    goodness::open(file, &OpenOptions::default(), &goodness::unwatched)
}

fn report(runs: &Runs) -> Report {
    let again = |_: &goodness::Again| String::new();
    runs.report(Circumstances { input: Input::default(), details: Details::default(), commit: None, again: &again })
}

/// Metrics that have a verdict.
fn directed() -> impl Iterator<Item = &'static str> {
    METRICS.iter().filter(|it| it.better != Better::Neither).map(|it| it.name)
}

/// Ratios of each of `arms` to the recorded policy in `metric`, by recording.
fn ratios(observed: &Observed, metric: &str, arms: Range<usize>) -> Vec<Vec<f64>> {
    let of_policy = |policy: usize| {
        let one = |report: &Report| versus(report, policy, metric)?.ratio.filter(|ratio| *ratio > 0.0);
        observed.reports.iter().filter_map(one).collect()
    };
    arms.map(of_policy).collect()
}

fn versus(report: &Report, policy: usize, metric: &str) -> Option<goodness_report::model::VsReference> {
    let of_policy = report.policies.get(policy)?.metric(metric)?;
    of_policy.vs_reference
}

/// Mean and standard deviation of the logarithms of `values`.
fn logs(values: &[f64]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    Some((mean(&logs)?, standard_deviation(&logs)?))
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> Option<f64> {
    mean(&values.map(|value| value * value).collect::<Vec<_>>()).map(f64::sqrt)
}

/// The standard deviation of log ratios: of those near 1, and, of the others, what it has beyond that for each unit of
/// the logarithm.
fn spread_of_ratios(groups: &[(f64, f64)]) -> Ratios {
    let (small, large): (Vec<_>, Vec<_>) = groups.iter().partition(|(mean, _)| mean.abs() < SMALL.ln());
    let near = root_mean_square(small.iter().map(|(_, sd)| *sd)).unwrap_or(0.0);
    let beyond = large.iter().map(|(mean, sd)| (sd * sd - near * near).max(0.0).sqrt() / mean.abs());
    Ratios { near, far: root_mean_square(beyond).unwrap_or(0.0) }
}

/// Spread of recordings of one load, by metric and number of CPUs.
pub fn spreads(all: &[Observed]) -> Vec<Spread> {
    let mut found = Vec::new();
    for several_cpus in [false, true] {
        for metric in METRICS.iter().map(|it| it.name) {
            let has = |it: &&Observed| {
                it.load.had_two_cpus() == several_cpus && it.levels.iter().any(|l| l.contains_key(metric))
            };
            let some: Vec<&Observed> = all.iter().filter(has).collect();
            let levels =
                |it: &&Observed| -> Vec<f64> { it.levels.iter().filter_map(|l| l.get(metric).copied()).collect() };
            let level = root_mean_square(some.iter().filter_map(|it| logs(&levels(it))).map(|(_, sd)| sd));
            let groups = |arms: fn(&Observed) -> Range<usize>| {
                let ratios = some.iter().flat_map(|it| ratios(it, metric, arms(it)));
                spread_of_ratios(&ratios.filter_map(|it| logs(&it)).collect::<Vec<_>>())
            };
            let policies = groups(|_| 1..1 + POLICIES.len());
            let changes = groups(|it| 1 + POLICIES.len()..it.reports[0].policies.len());
            let Some(level) = level else { continue };
            let recordings = some.iter().map(|it| levels(it).len()).sum();
            let (metric, loads) = (metric.to_string(), some.len());
            found.push(Spread { metric, several_cpus, loads, recordings, level, policies, changes });
        }
    }
    found
}

/// A count of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// So many.
    pub of: usize,
    /// Of them so many.
    pub some: usize,
}

impl Part {
    fn count(&mut self, is_it: bool) {
        self.of += 1;
        self.some += usize::from(is_it);
    }

    /// The part, from 0 to 1.
    pub fn share(self) -> f64 {
        self.some as f64 / self.of.max(1) as f64
    }
}

/// By metric, how many ratios of other recordings lie in the interval stated from one. `scale` shrinks the logarithm of
/// each interval around its ratio, to see that narrower ones fail.
pub fn coverage(all: &[Observed], scale: f64) -> BTreeMap<&'static str, Part> {
    let mut parts: BTreeMap<&'static str, Part> = BTreeMap::new();
    for (observed, metric) in all.iter().flat_map(|it| directed().map(move |metric| (it, metric))) {
        for policy in 1..observed.reports[0].policies.len() {
            let of = |report: &Report| {
                let it = versus(report, policy, metric)?;
                Some((it.ratio.filter(|ratio| *ratio > 0.0)?, it.ci95.filter(|ci| ci[0] > 0.0)?))
            };
            let known: Vec<(f64, [f64; 2])> = observed.reports.iter().filter_map(of).collect();
            for (index, (ratio, ci)) in known.iter().enumerate() {
                let [low, high] = ci.map(|end| ratio * (end / ratio).powf(scale));
                for (_, (other, _)) in known.iter().enumerate().filter(|(other, _)| *other != index) {
                    parts.entry(metric).or_default().count(low <= *other && *other <= high);
                }
            }
        }
    }
    parts
}

/// Number of comparisons of two recordings of one load that call them different, by metric.
pub fn called_different(all: &[Observed]) -> BTreeMap<&'static str, Part> {
    let mut parts: BTreeMap<&'static str, Part> = BTreeMap::new();
    for report in all.iter().flat_map(|it| &it.pairs) {
        let arm: BTreeMap<&str, &MetricSummary> = report.policies[1].metrics.iter().map(|m| (&*m.name, m)).collect();
        for metric in directed() {
            let Some(versus) = arm.get(metric).filter(|it| it.value.is_some()).and_then(|it| it.vs_reference) else {
                continue;
            };
            let is_different = matches!(versus.verdict, Verdict::Better | Verdict::Worse);
            parts.entry(metric).or_default().count(is_different);
        }
    }
    parts
}

/// All counts together.
pub fn total(parts: &BTreeMap<&'static str, Part>) -> Part {
    parts.values().fold(Part::default(), |sum, it| Part { of: sum.of + it.of, some: sum.some + it.some })
}

/// `fidelity/recordings.toml`.
///
/// # Panics
/// Never: plain values are written.
pub fn file(spreads: &[Spread]) -> String {
    #[derive(serde::Serialize)]
    struct File<'a> {
        spread: &'a [Spread],
    }
    let ratios = |it: Ratios| Ratios { near: rounded(it.near), far: rounded(it.far) };
    let round = |it: &Spread| Spread {
        level: rounded(it.level),
        policies: ratios(it.policies),
        changes: ratios(it.changes),
        ..it.clone()
    };
    let rounded: Vec<Spread> = spreads.iter().map(round).collect();
    let head = "# How much recordings of one load differ: docs/statistics.md. Written by the example `repeats`.\n\n";
    format!("{head}{}", toml::to_string(&File { spread: &rounded }).expect("plain values are written"))
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
