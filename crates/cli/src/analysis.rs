//! From runs to a report: intervals, comparisons with the reference, verdicts.

use crate::failure::Failure;
use crate::lab::{Arm, Plan};
use crate::{standstill, watchdog};
use goodness_lab::{Contender, ElevatorSpec};
use goodness_observe::{About, Better, Histogram, METRICS, TaskIo};
use goodness_report::model::{
    self, Build, Details, Distribution, EffectRow, Effects, Fidelity, Input, MachineSummary, MetricAbout,
    MetricSummary, PolicyReport, QUANTILES, Report, Setting, TaskIoReport, TaskReport, VsReference,
};
use goodness_report::stats::compare::{Comparison, Direction, Settings, compare_family};
use goodness_report::stats::factorial;
use goodness_report::stats::summary::summarise;
use goodness_report::stats::{Confidence, Interval, measured};

/// What is known of the runs besides their results.
pub struct Circumstances {
    /// What was run.
    pub input: Input,
    /// How faithful the replay is, where the input is a recording.
    pub fidelity: Option<Fidelity>,
    /// For people.
    pub details: Details,
}

/// Puts a report together. The first policy is the reference: the others are compared with it.
///
/// # Errors
/// When settings cannot be shown; they were checked before, so this does not happen.
pub fn report(plan: &Plan, arms: &[Arm], circumstances: Circumstances) -> Result<Report, Failure> {
    let Circumstances { input, fidelity, mut details } = circumstances;
    details.warnings.extend(arms.iter().flat_map(|arm| arm.runs.first()).find_map(|run| standstill::remark(plan, run)));
    details.warnings.extend(arms.iter().filter_map(watchdog::warning));
    details.workload_notes.extend(remarks(arms));
    let comparisons = compare_all(arms, fidelity.as_ref());
    let mut policies = Vec::new();
    for (index, arm) in arms.iter().enumerate() {
        policies.push(PolicyReport {
            name: arm.contender.name(),
            label: arm.contender.to_string(),
            settings: settings(arm)?,
            is_reference: index == 0,
            metrics: metrics(arms, index, &comparisons),
            tasks: arm.runs.first().map(tasks).unwrap_or_default(),
            decisions: Some(arm.runs.iter().map(|r| r.outcome.decisions).sum()),
            simulation_wall_ns: Some(arm.runs.iter().map(|r| r.wall_ns).sum()),
            violations: violations(plan, arm, index),
            distributions: distributions(arm),
        });
    }
    let mut report = Report {
        goodness: Build {
            version: env!("CARGO_PKG_VERSION").into(),
            commit: option_env!("GOODNESS_COMMIT").map(str::to_string),
        },
        input,
        machine: MachineSummary {
            name: plan.machine.name.clone(),
            cpus: plan.machine.cpu_count() as u32,
            hz: plan.machine.hz,
        },
        seed: plan.seed,
        runs_per_policy: plan.runs,
        simulated_ns: arms.first().and_then(|a| a.runs.first()).map_or(0, |r| r.outcome.end.0),
        fidelity,
        policies,
        details: Details { metrics: abouts(), ..details },
        ..Report::default()
    };
    report.details.effects = report.ranked_by().and_then(|metric| effects(arms, metric));
    Ok(report)
}

fn abouts() -> Vec<MetricAbout> {
    METRICS.iter().map(|m| MetricAbout { name: m.name.into(), summary: m.summary.into() }).collect()
}

fn settings(arm: &Arm) -> Result<Vec<Setting>, Failure> {
    let Contender { policy, elevator } = &arm.contender;
    let policy = policy.values().map_err(Failure::usage)?;
    let elevator = elevator.as_ref().map_or_else(|| Ok(Vec::new()), ElevatorSpec::values).map_err(Failure::usage)?;
    let of_policy = policy.into_iter().map(|(name, value)| Setting { name: name.into(), value });
    let of_elevator = elevator.into_iter().map(|(name, value)| Setting { name: format!("elevator.{name}"), value });
    Ok(of_policy.chain(of_elevator).collect())
}

/// One value for each replication.
fn values(arm: &Arm, metric: &str) -> Vec<Option<f64>> {
    arm.runs.iter().map(|run| run.measured.get(metric).value).collect()
}

/// What the work said of the first run of each policy and elevator.
fn remarks(arms: &[Arm]) -> impl Iterator<Item = String> {
    let first = arms.iter().filter_map(|arm| Some((&arm.contender, arm.runs.first()?)));
    first.flat_map(|(contender, run)| run.remarks.iter().map(move |remark| format!("{contender}: {remark}")))
}

/// For each metric, the comparison of each policy but the first with the first; none where no direction is good. All
/// policies of one metric form a family for the correction.
fn compare_all(arms: &[Arm], fidelity: Option<&Fidelity>) -> Vec<Vec<Comparison>> {
    let of_metric = |metric: &About| {
        let direction = match metric.better {
            Better::Lower => Direction::LowerIsBetter,
            Better::Higher => Direction::HigherIsBetter,
            Better::Neither => return Vec::new(),
        };
        let error = fidelity.and_then(|f| f.metrics.iter().find(|m| m.name == metric.name)).and_then(|m| m.error);
        let settings = Settings { fidelity_error: error, ..Settings::new(direction) };
        let all: Vec<Vec<Option<f64>>> = arms.iter().map(|arm| values(arm, metric.name)).collect();
        let all: Vec<&[Option<f64>]> = all.iter().map(Vec::as_slice).collect();
        all.split_first().map_or_else(Vec::new, |(first, others)| compare_family(first, others, &settings))
    };
    METRICS.iter().map(of_metric).collect()
}

fn metrics(arms: &[Arm], index: usize, comparisons: &[Vec<Comparison>]) -> Vec<MetricSummary> {
    let arm = &arms[index];
    METRICS
        .iter()
        .zip(comparisons)
        .map(|(metric, compared)| {
            let summary = summarise(&measured(&values(arm, metric.name)), Confidence::P95);
            // What was not measured on both sides was not compared.
            let is_measured = |arm: &Arm| values(arm, metric.name).iter().any(Option::is_some);
            let compared = compared.iter().filter(|_| is_measured(arm) && is_measured(&arms[0]));
            MetricSummary {
                name: metric.name.into(),
                unit: unit(metric).into(),
                better: metric.better,
                value: summary.as_ref().map(|s| s.mean),
                ci95: summary.and_then(|s| s.interval).map(ends),
                samples: arm.runs.iter().map(|run| run.measured.get(metric.name).samples).sum(),
                vs_reference: index.checked_sub(1).and_then(|other| compared.clone().nth(other)).map(versus),
            }
        })
        .collect()
}

/// The unit as reports write it: they tell shares, ratios and counts apart.
pub fn unit(metric: &About) -> &'static str {
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
    VsReference { ratio: comparison.ratio, ci95: comparison.interval.map(ends), verdict: comparison.verdict }
}

fn violations(plan: &Plan, arm: &Arm, index: usize) -> Vec<model::Violation> {
    let of_run = |(replication, run): (usize, &crate::lab::RunResult)| {
        let reproduce = plan.reproduce(index, plan.first + replication as u32);
        let entry = move |v: &goodness_observe::Violation| model::Violation {
            checker: v.checker.into(),
            at_ns: v.at.0,
            message: v.sentence.clone(),
            reproduce: reproduce.clone(),
        };
        run.checked.violations.iter().map(entry).collect::<Vec<_>>()
    };
    arm.runs.iter().enumerate().flat_map(of_run).collect()
}

/// The judged tasks of one run, then the others.
fn tasks(run: &crate::lab::RunResult) -> Vec<TaskReport> {
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
        .map(|row| row.iter().map(|arm| values(arm, metric).into_iter().collect::<Option<Vec<f64>>>()).collect())
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
    type Pick = fn(&goodness_observe::metrics::Distributions) -> &Histogram;
    let families: [(&str, Pick); 4] = [
        ("wakeup_latency", |d| &d.wakeup_latency),
        ("request_latency", |d| &d.request_latency),
        ("slice_length", |d| &d.slice_length),
        ("io_latency", |d| &d.io_latency),
    ];
    let pooled = |(name, pick): (&str, Pick)| {
        let mut runs = arm.runs.iter().map(|run| pick(&run.measured.distributions));
        let mut all = runs.next()?.clone();
        runs.for_each(|other| all.merge(other));
        (all.count() > 0).then(|| Distribution {
            metric: name.into(),
            unit: "ns".into(),
            samples: all.count(),
            quantiles: QUANTILES
                .iter()
                .filter_map(|&q| Some([q, all.quantile((q * 1e4).round() as u32)? as f64]))
                .collect(),
        })
    };
    families.into_iter().filter_map(pooled).collect()
}
