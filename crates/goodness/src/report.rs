//! Builds the report from the runs: intervals, comparisons with the reference, verdicts.

use crate::again::Again;
use crate::change_error::error_of;
use crate::contender::Contender;
use crate::run::RunResult;
use crate::runs::{Arm, FAMILIES, Runs};
use goodness_observe::{About, Better, Histogram, METRICS, TaskIo};
use goodness_report::model::{
    self, Build, Details, Distribution, EffectRow, Effects, Fidelity, FidelityMetric, Input, MetricAbout,
    MetricSummary, PolicyReport, QUANTILES, Report, Setting, TaskIoReport, TaskReport, Trust, VsReference,
};
use goodness_stats::compare::{Comparison, Direction, Settings, compare_each};
use goodness_stats::factorial;
use goodness_stats::summary::summarise;
use goodness_stats::{Confidence, Interval, measured};

/// Parts of a report that do not come from the runs.
pub struct Circumstances<'a> {
    /// Description of the work.
    pub input: Input,
    /// For people.
    pub details: Details,
    /// Commit the program was built from, if known.
    pub commit: Option<String>,
    /// Command that reproduces a run, for violations.
    pub again: &'a dyn Fn(&Again) -> String,
}

impl Runs {
    /// Puts a report together. The first contender is the reference: the others are compared with it.
    #[must_use]
    pub fn report(&self, circumstances: Circumstances) -> Report {
        let Circumstances { input, mut details, commit, again } = circumstances;
        details.warnings.extend(self.remark.clone());
        details.warnings.extend(self.arms.iter().filter_map(|arm| arm.overdue.clone()));
        details.workload_notes.extend(remarks(&self.arms));
        let comparisons = compare_all(&self.arms, self.fidelity.as_ref(), self.machine.cpus);
        details.has_arms = self.arms.iter().any(|arm| !arm.contender.edits.is_empty());
        let policies = self.arms.iter().enumerate().map(|(index, arm)| PolicyReport {
            name: arm.contender.name(),
            label: arm.contender.to_string(),
            settings: settings(arm),
            is_reference: index == 0,
            metrics: metrics(&self.arms, index, &comparisons),
            tasks: tasks(&arm.first),
            decisions: Some(arm.decisions),
            simulation_wall_ns: arm.wall_ns,
            violations: violations(arm, again),
            distributions: distributions(arm),
        });
        let mut report = Report {
            goodness: Build { version: env!("CARGO_PKG_VERSION").into(), commit },
            input,
            machine: self.machine.clone(),
            seed: self.seed,
            runs_per_policy: self.runs,
            simulated_ns: self.arms.first().map_or(0, |arm| arm.first.outcome.end.0),
            fidelity: self.fidelity.clone(),
            policies: policies.collect(),
            details: Details { metrics: abouts(), ..details },
            ..Report::default()
        };
        report.trust = Trust::of(report.fidelity.as_ref(), report.ranked_by());
        report.details.effects = report.ranked_by().and_then(|metric| effects(&self.arms, metric));
        report
    }
}

fn abouts() -> Vec<MetricAbout> {
    METRICS.iter().map(|m| MetricAbout { name: m.name.into(), summary: m.summary.into() }).collect()
}

fn settings(arm: &Arm) -> Vec<Setting> {
    let Contender { policy, elevator, .. } = &arm.contender;
    let of_policy = policy.values().into_iter().flatten();
    let of_policy = of_policy.map(|(name, value)| Setting { name: name.into(), value });
    let of_elevator = elevator.iter().flat_map(|elevator| elevator.values().into_iter().flatten());
    let of_elevator = of_elevator.map(|(name, value)| Setting { name: format!("elevator.{name}"), value });
    of_policy.chain(of_elevator).collect()
}

/// Remarks of the work on the first run of each contender.
fn remarks(arms: &[Arm]) -> impl Iterator<Item = String> {
    arms.iter().flat_map(|arm| arm.first.remarks.iter().map(|remark| format!("{}: {remark}", arm.contender)))
}

/// Compares each policy with the first, per metric; empty for metrics without a better direction. All policies of one
/// metric form one family for the correction.
fn compare_all(arms: &[Arm], fidelity: Option<&Fidelity>, cpus: u32) -> Vec<Vec<Comparison>> {
    let of_metric = |metric: &About| {
        let direction = match metric.better {
            Better::Lower => Direction::LowerIsBetter,
            Better::Higher => Direction::HigherIsBetter,
            Better::Neither => return Vec::new(),
        };
        let error =
            fidelity.and_then(|f| f.metrics.iter().find(|m| m.name == metric.name)).and_then(FidelityMetric::factor);
        let all: Vec<&[Option<f64>]> = arms.iter().map(|arm| arm.values(metric.name)).collect();
        let Some((first, others)) = all.split_first() else { return Vec::new() };
        let larger = |change: Option<f64>| change.into_iter().chain(error).max_by(f64::total_cmp);
        let of_change = |arm: &Arm| larger(error_of(&arms[0].contender, &arm.contender, cpus, metric.name));
        // Only a prediction from a recording has an error: other work is what it is.
        let errors: Vec<Option<f64>> = arms[1..].iter().map(|arm| fidelity.and_then(|_| of_change(arm))).collect();
        compare_each(first, others, &errors, &Settings::new(direction))
    };
    METRICS.iter().map(of_metric).collect()
}

fn metrics(arms: &[Arm], index: usize, comparisons: &[Vec<Comparison>]) -> Vec<MetricSummary> {
    let arm = &arms[index];
    METRICS
        .iter()
        .zip(comparisons)
        .zip(&arm.samples)
        .map(|((metric, compared), samples)| {
            let summary = summarise(&measured(arm.values(metric.name)), Confidence::P95);
            // What was not measured on both sides was not compared.
            let is_measured = |arm: &Arm| arm.values(metric.name).iter().any(Option::is_some);
            let compared = compared.iter().filter(|_| is_measured(arm) && is_measured(&arms[0]));
            MetricSummary {
                name: metric.name.into(),
                unit: unit(metric).into(),
                better: metric.better,
                value: summary.as_ref().map(|s| s.mean),
                ci95: summary.and_then(|s| s.interval).map(ends),
                samples: *samples,
                vs_reference: index.checked_sub(1).and_then(|other| compared.clone().nth(other)).map(versus),
            }
        })
        .collect()
}

/// Unit in reports, which distinguish shares, ratios and counts.
pub(crate) fn unit(metric: &About) -> &'static str {
    match (metric.unit, metric.name) {
        ("1", "jain_index") => "ratio",
        ("1", name) if name.contains("share") || name == "utilisation" => "share",
        ("1", _) => "count",
        (unit, _) => unit,
    }
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn versus(comparison: &Comparison) -> VsReference {
    VsReference { ratio: comparison.ratio, ci95: comparison.stated.map(ends), verdict: comparison.verdict }
}

fn violations(arm: &Arm, again: &dyn Fn(&Again) -> String) -> Vec<model::Violation> {
    let entry = |(at, found): &(Again, goodness_observe::Violation)| model::Violation {
        checker: found.checker.into(),
        at_ns: found.at.0,
        message: found.sentence.clone(),
        reproduce: again(at),
    };
    arm.violations.iter().map(entry).collect()
}

/// The judged tasks of one run, then the others.
fn tasks(run: &RunResult) -> Vec<TaskReport> {
    let entry = |task: &goodness_observe::TaskMeasured| {
        let known = run.tasks.get(task.task.index());
        TaskReport {
            name: known.map(|k| k.name.clone()).unwrap_or_default(),
            id: known.map_or(u64::from(task.task.0), |k| k.id),
            nice: known.and_then(|k| k.nice),
            cpu_time_ns: task.cpu_time.0,
            wait_ns: task.wait.0,
            sleep_ns: task.sleep.0,
            switches: u64::from(task.voluntary_switches) + u64::from(task.involuntary_switches),
            wakeups: u64::from(task.wakeups),
            wakeup_latency_p50_ns: task.wakeup_latency_p50.map(|s| s.0),
            wakeup_latency_p99_ns: task.wakeup_latency_p99.map(|s| s.0),
            wakeup_latency_max_ns: task.wakeup_latency_max.map(|s| s.0),
            io: run.measured.io.iter().find(|(it, _)| *it == task.task).map(|(_, io)| task_io(io)),
        }
    };
    let (judged, others): (Vec<_>, Vec<_>) = run.measured.tasks.iter().partition(|t| t.judged);
    judged.into_iter().chain(others).map(entry).collect()
}

fn task_io(io: &TaskIo) -> TaskIoReport {
    TaskIoReport {
        done: io.done,
        bytes: io.bytes,
        read_latency_p50_ns: io.reads.quantile(5_000),
        read_latency_p99_ns: io.reads.quantile(9_900),
        write_latency_p50_ns: io.writes.quantile(5_000),
        write_latency_p99_ns: io.writes.quantile(9_900),
    }
}

/// Main effects and interaction in `metric`, where several policies met several elevators.
fn effects(arms: &[Arm], metric: &str) -> Option<Effects> {
    let elevators = arms.iter().take_while(|arm| arm.contender.policy == arms[0].contender.policy).count();
    let elevator = |arm: &Arm| arm.contender.elevator.as_ref().map(ToString::to_string);
    let columns: Vec<String> = arms.get(..elevators)?.iter().map(elevator).collect::<Option<_>>()?;
    let cells: Option<Vec<Vec<Vec<f64>>>> = arms
        .chunks(elevators)
        .map(|row| row.iter().map(|arm| arm.values(metric).iter().copied().collect::<Option<Vec<f64>>>()).collect())
        .collect();
    let it = factorial::analyse(&cells?, Confidence::P95)?;
    let row = |factor: &str, level: String, effect: &factorial::Effect| EffectRow {
        factor: factor.into(),
        level,
        ratio: effect.ratio,
        ci95: effect.interval.map(ends),
    };
    let policies: Vec<String> = arms.chunks(elevators).map(|row| row[0].contender.policy.to_string()).collect();
    let of_policies =
        policies.iter().zip(&it.rows).skip(1).map(|(policy, effect)| row("policy", policy.clone(), effect));
    let of_elevators =
        columns.iter().zip(&it.columns).skip(1).map(|(name, effect)| row("elevator", name.clone(), effect));
    let pairs = policies.iter().zip(&it.interaction).skip(1).flat_map(|(policy, effects)| {
        let pair = move |(column, effect): (&String, _)| row("interaction", format!("{policy}+{column}"), effect);
        columns.iter().zip(effects).skip(1).map(pair)
    });
    let rows = of_policies.chain(of_elevators).chain(pairs).collect();
    Some(Effects { metric: metric.into(), rows })
}

/// The distributions of all replications together.
fn distributions(arm: &Arm) -> Vec<Distribution> {
    let families = FAMILIES.iter().zip(&arm.distributions).filter(|(_, all)| all.count() > 0);
    let entry = |((name, _), all): (&(&str, _), &Histogram)| Distribution {
        metric: (*name).into(),
        unit: "ns".into(),
        samples: all.count(),
        quantiles: QUANTILES
            .iter()
            .filter_map(|&q| Some([q, all.quantile((q * 1e4).round() as u32)? as f64]))
            .collect(),
    };
    families.map(entry).collect()
}
