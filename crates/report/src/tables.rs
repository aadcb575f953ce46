//! A report as tables, one row per fact: for data frames, and files of CSV, Arrow and Parquet.

mod groups;
mod requests;

pub use groups::{GROUPS, groups};
pub use requests::{REQUESTS, requests};

use crate::every_run::PolicyRuns;
use crate::model::{Better, Fidelity, MetricSummary, PolicyReport, Report};
use crate::timeline::Timeline;
use goodness_core::Off;
use goodness_table::Kind::{Float, Signed, Text, Whole};
use goodness_table::long::{self, ARM, ERROR_FACTOR, METRIC, OneRun, UNIT};
use goodness_table::{Cell, Column, Table, column};

/// Every value of every run of a report.
#[must_use]
pub fn runs(report: &Report) -> Table {
    let mut table = long::predicted_runs();
    report.runs.iter().for_each(|runs| push_runs(&mut table, report, runs));
    table
}

/// The rows of [`runs`] in parts, which take less memory than all at once.
pub fn runs_in_parts(report: &Report) -> impl Iterator<Item = Table> {
    report.runs.iter().map(|runs| {
        let mut table = long::predicted_runs();
        push_runs(&mut table, report, runs);
        table
    })
}

fn push_runs(table: &mut Table, report: &Report, runs: &PolicyRuns) {
    let Some(policy) = report.labels().iter().position(|label| *label == runs.policy) else { return };
    let policy = &report.policies[policy];
    let settings = settings(policy);
    for of_metric in &runs.values {
        let metric = policy.metric(&of_metric.name);
        let named = (of_metric.name.as_str(), metric.map_or("", |metric| metric.unit.as_str()));
        let error = metric.and_then(|metric| metric.error_factor);
        for (run, value) in (u64::from(runs.first)..).zip(&of_metric.values) {
            let run = OneRun {
                input: Some(&runs.input),
                arm: Some(&runs.policy),
                settings: Some(&settings),
                machine: Some(&report.machine.name),
                seed: Some(report.seed),
                run: Some(run),
            };
            run.push_predicted(table, named, *value, error);
        }
    }
}

fn settings(policy: &PolicyReport) -> String {
    let set = policy.settings.iter().filter(|it| it.value != "auto");
    let typed: Vec<String> = set.map(|it| format!("{}={}", it.name, it.value)).collect();
    typed.join(",")
}

/// Columns of [`metrics`] and [`ranking`]: schema `goodness.metrics/1`.
pub const METRICS: &[Column] = &[
    ARM,
    METRIC,
    UNIT,
    column("better", Text, "Good direction: lower, higher or neither."),
    column("value", Float, "Mean over the runs, or the geometric mean over recordings."),
    column("low", Float, "Lower end of the value's 95 % interval."),
    column("high", Float, "Upper end of the value's 95 % interval."),
    column("samples", Whole, "Observations behind the value."),
    ERROR_FACTOR,
    column("ratio", Float, "Value over the reference's, paired by run; missing for the reference."),
    column("ratio_low", Float, "Lower end of the ratio's 95 % interval."),
    column("ratio_high", Float, "Upper end of the ratio's 95 % interval."),
    column("verdict", Text, "Against the reference: better, worse, same or inconclusive."),
];

/// Every metric of every arm that was measured, in the order of the report.
#[must_use]
pub fn metrics(report: &Report) -> Table {
    let mut table = Table::new("goodness.metrics/1", METRICS);
    for (label, policy) in report.labels().iter().zip(&report.policies) {
        policy.metrics.iter().filter(|it| it.value.is_some()).for_each(|it| push_metric(&mut table, label, it));
    }
    table
}

/// The metric that ranks, of every arm that has it, best first. Empty if nothing ranks.
#[must_use]
pub fn ranking(report: &Report) -> Table {
    let mut table = Table::new("goodness.metrics/1", METRICS);
    let (labels, Some(metric)) = (report.labels(), report.ranked_by()) else { return table };
    for place in report.ranking(metric) {
        let summary = report.policies[place].metric(metric).filter(|it| it.value.is_some());
        summary.into_iter().for_each(|it| push_metric(&mut table, &labels[place], it));
    }
    table
}

fn push_metric(table: &mut Table, label: &str, it: &MetricSummary) {
    let better = match it.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    };
    let versus = it.vs_reference.as_ref();
    let ratio = versus.and_then(|it| it.ci95);
    table.push(&[
        Cell::Text(label),
        Cell::Text(&it.name),
        Cell::Text(&it.unit),
        Cell::Text(better),
        it.value.into(),
        it.ci95.map(|it| it[0]).into(),
        it.ci95.map(|it| it[1]).into(),
        Cell::Whole(it.samples),
        it.error_factor.into(),
        versus.and_then(|it| it.ratio).into(),
        ratio.map(|it| it[0]).into(),
        ratio.map(|it| it[1]).into(),
        versus.map(|it| it.verdict.name()).into(),
    ]);
}

/// Columns of [`tasks`]: schema `goodness.tasks/1`.
pub const TASKS: &[Column] = &[
    ARM,
    column("task", Text, "Name; not unique."),
    column("id", Whole, "Thread id in the recording, else the task's number in the run, from 1."),
    column("nice", Signed, "Nice at the end of the run; missing for real-time tasks."),
    column("cpu_time", Whole, "Time on a CPU, in ns."),
    column("wait", Whole, "Time runnable without a CPU, in ns."),
    column("sleep", Whole, "Time blocked, in ns."),
    column("switches", Whole, "Times it left a CPU."),
    column("wakeups", Whole, "Times it was woken."),
    column("wakeup_latency_p50", Whole, "Median of its wake-up latencies, in ns; missing if it was never woken."),
    column("wakeup_latency_p99", Whole, "99th percentile of its wake-up latencies, in ns."),
    column("wakeup_latency_max", Whole, "Longest of its wake-up latencies, in ns."),
];

/// The tasks of each arm's first run.
#[must_use]
pub fn tasks(report: &Report) -> Table {
    let mut table = Table::new("goodness.tasks/1", TASKS);
    for (label, policy) in report.labels().iter().zip(&report.policies) {
        for task in &policy.tasks {
            table.push(&[
                Cell::Text(label),
                Cell::Text(&task.name),
                Cell::Whole(task.id),
                task.nice.into(),
                Cell::Whole(task.cpu_time_ns),
                Cell::Whole(task.wait_ns),
                Cell::Whole(task.sleep_ns),
                Cell::Whole(task.switches),
                Cell::Whole(task.wakeups),
                task.wakeup_latency_p50_ns.into(),
                task.wakeup_latency_p99_ns.into(),
                task.wakeup_latency_max_ns.into(),
            ]);
        }
    }
    table
}

/// Columns of [`distributions`]: schema `goodness.distributions/1`.
pub const DISTRIBUTIONS: &[Column] = &[
    ARM,
    column("metric", Text, "Family of metrics: wakeup_latency, request_latency, slice_length or io_latency."),
    UNIT,
    column("samples", Whole, "Observations of all runs together."),
    column("quantile", Float, "Share of the observations that are not larger, 0 to 1."),
    column("value", Float, "Value at the quantile."),
];

/// Points of the distributions of all runs together.
#[must_use]
pub fn distributions(report: &Report) -> Table {
    let mut table = Table::new("goodness.distributions/1", DISTRIBUTIONS);
    for (label, policy) in report.labels().iter().zip(&report.policies) {
        for family in &policy.distributions {
            for [quantile, value] in &family.quantiles {
                table.push(&[
                    Cell::Text(label),
                    Cell::Text(&family.metric),
                    Cell::Text(&family.unit),
                    Cell::Whole(family.samples),
                    Cell::Float(*quantile),
                    Cell::Float(*value),
                ]);
            }
        }
    }
    table
}

/// Columns of [`schedule`]: schema `goodness.schedule/1`.
pub const SCHEDULE: &[Column] = &[
    column("cpu", Whole, "Number of the CPU, from 0."),
    column("start", Whole, "Switch-in, in ns since the start of the run."),
    column("end", Whole, "Switch-out, or the end of the schedule, in ns."),
    column("waited", Whole, "Time the task had been runnable at the switch-in, in ns."),
    column("task", Text, "Name of the task."),
    column("id", Whole, "Thread id in the recording, else the task's number in the run, from 1."),
    column("off", Text, "Why the task left the CPU; missing if it was running at the end."),
];

/// The slices of one run: who ran where and when.
#[must_use]
pub fn schedule(timeline: &Timeline) -> Table {
    let mut table = Table::new("goodness.schedule/1", SCHEDULE);
    for slice in &timeline.slices {
        let task = timeline.tasks.get(slice.task.index());
        table.push(&[
            Cell::Whole(slice.cpu.index() as u64),
            Cell::Whole(slice.start),
            Cell::Whole(slice.end),
            Cell::Whole(slice.waited),
            task.map(|task| task.name.as_str()).into(),
            Cell::Whole(task.map_or(u64::from(slice.task.0), |task| task.id)),
            slice.off.map(Off::name).into(),
        ]);
    }
    table
}

/// Columns of [`fidelity`]: schema `goodness.fidelity/1`.
pub const FIDELITY: &[Column] = &[
    column("input", Text, "Name of the recording."),
    column("policy", Text, "Policy of the replay."),
    METRIC,
    UNIT,
    column("recorded", Float, "Value in the recording."),
    column("replayed", Float, "Value in the replay."),
    column("error", Float, "Difference as a share of the recorded value."),
    column("bound", Float, "Largest error that is promised; missing if none is."),
];

/// The metrics of replays beside those of their recordings, whose names come first.
#[must_use]
pub fn fidelity(results: &[(String, Fidelity)]) -> Table {
    let mut table = Table::new("goodness.fidelity/1", FIDELITY);
    for (input, fidelity) in results {
        for it in &fidelity.metrics {
            let texts = [input, &fidelity.policy, &it.name, &it.unit].map(|text| Cell::Text(text));
            let values = [it.recorded, it.replayed, it.error, it.tolerance].map(Cell::from);
            table.push(&[&texts[..], &values].concat());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::every_run::RunValues;
    use crate::model::{Setting, Verdict, VsReference};
    use goodness_table::{Format, csv};

    fn report() -> Report {
        let metric = |value, verdict: Option<VsReference>| MetricSummary {
            name: "wakeup_latency_p99".into(),
            unit: "ns".into(),
            value: Some(value),
            ci95: Some([value - 1.0, value + 1.0]),
            samples: 20,
            error_factor: verdict.is_some().then_some(1.5),
            vs_reference: verdict,
            ..MetricSummary::default()
        };
        let worse = VsReference { ratio: Some(1.5), ci95: Some([1.25, 1.75]), verdict: Verdict::Worse };
        let policy = |name: &str, metric| PolicyReport {
            name: name.into(),
            settings: vec![Setting { name: "timeslice".into(), value: "10ms".into() }],
            metrics: vec![metric, MetricSummary { name: "throughput".into(), ..MetricSummary::default() }],
            ..PolicyReport::default()
        };
        let values = vec![RunValues { name: "wakeup_latency_p99".into(), values: vec![Some(6.0), None] }];
        let runs = |policy: &str| PolicyRuns {
            policy: policy.into(),
            input: "mixed".into(),
            first: 3,
            requests: vec![250, 0],
            values: values.clone(),
        };
        Report {
            seed: 7,
            policies: vec![policy("rr", metric(6.0, Some(worse))), policy("o1", metric(4.0, None))],
            runs: vec![runs("rr"), runs("o1")],
            ..Report::default()
        }
    }

    #[test]
    fn each_run_has_a_row_for_each_metric_that_was_measured() {
        let text = csv::render(&runs(&report()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "input,arm,settings,machine,seed,run,metric,unit,value,error_factor");
        assert_eq!(lines[1], "mixed,rr,timeslice=10ms,,7,3,wakeup_latency_p99,ns,6,1.5");
        assert_eq!(lines[2], "mixed,rr,timeslice=10ms,,7,4,wakeup_latency_p99,ns,,1.5");
        assert_eq!(lines.len(), 1 + 4);
        let mut parts = Vec::new();
        Format::Csv.write(&mut runs_in_parts(&report()), &mut parts).unwrap();
        assert_eq!(String::from_utf8(parts).unwrap(), text);
    }

    #[test]
    fn requests_have_a_row_for_each_run_and_miss_what_was_not_measured() {
        let text = csv::render(&requests(&report()));
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[..2], ["mixed,rr,3,250,,,,,,,", "mixed,rr,4,0,,,,,,,"]);
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn the_ranking_has_the_best_first_and_only_what_was_measured() {
        let text = csv::render(&ranking(&report()));
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let expected = [
            "o1,wakeup_latency_p99,ns,lower,4,3,5,20,,,,,",
            "rr,wakeup_latency_p99,ns,lower,6,5,7,20,1.5,1.5,1.25,1.75,worse",
        ];
        assert_eq!(lines, expected);
        assert_eq!(metrics(&report()).rows(), 2, "throughput was not measured");
    }
}
