//! Compares two saved results, `goodness.report/1`.

use super::judge::{self, Row};
use crate::refusal::Refusal;
use crate::spread::Spread;
use goodness_core::spelling::suggest;
use goodness_observe::Better;
use goodness_report::Report;
use goodness_report::diff::{Diff, Difference, Finding, Kind, Side, TaskDifference, TaskName};
use goodness_report::every_run::PolicyRuns;
use goodness_report::model::{FidelityMetric, PolicyReport, Sampling, TaskReport, Trust};
use goodness_stats::compare::Doubt;
use goodness_stats::ratio::Pairing;
use goodness_stats::summary::mean;
use std::collections::BTreeMap;

/// Largest magnitude of a value, and the inverse of the smallest. A choice: no metric comes near it, and the squares of
/// ratios do not overflow.
const LARGEST: f64 = 1e30;

/// Compares one policy of two results: the one labelled `label`, or the one that both have, or the only one of each.
/// Runs are paired where both results have the same seeds and the same input.
///
/// # Errors
/// A result without the values of its runs; several policies, of which none is named; results that measure nothing in
/// common.
pub fn results(a: (&str, &Report), b: (&str, &Report), label: Option<&str>) -> Result<Diff, Refusal> {
    let [of_a, of_b] = labels([a, b], label)?;
    let (a, b) = (Half::of(a, &of_a)?, Half::of(b, &of_b)?);
    let mut diff = Diff::new(Kind::Results, a.side(), b.side());
    let is_paired = a.is_paired_with(&b);
    let pairing = if is_paired { Pairing::Paired } else { Pairing::Independent };
    diff.samples =
        format!("{} and {} runs, {}", a.count(), b.count(), if is_paired { "paired by seed" } else { "not paired" });
    diff.metrics = judge::judge(rows(&a, &b), pairing);
    if diff.metrics.is_empty() {
        return Err(Refusal::usage(format!("{} and {} measure nothing in common", a.name, b.name)));
    }
    diff.tasks = tasks(a.policy, b.policy);
    diff.trust = trust([a.report, b.report]);
    diff.notes.extend(notes(&a, &b, is_paired));
    diff.conclude();
    Ok(diff)
}

/// Trust in both results, with the reasons of both.
fn trust(reports: [&Report; 2]) -> Option<Trust> {
    let mut all = reports.into_iter().filter_map(|it| it.trust.clone());
    let mut first = all.next()?;
    for other in all {
        first.verdict = if other.is_untrusted() { other.verdict } else { first.verdict };
        first.because.extend(other.because);
    }
    Some(first)
}

/// The label to compare on each side.
fn labels(both: [(&str, &Report); 2], label: Option<&str>) -> Result<[String; 2], Refusal> {
    let known = both.map(|(_, report)| report.labels());
    if let Some(label) = label {
        for ((name, _), labels) in both.iter().zip(&known) {
            if !labels.iter().any(|it| it == label) {
                let near = suggest(label, labels.iter().map(String::as_str));
                return Err(Refusal::usage(format!("{name} has no policy \"{label}\"")).remedy(near));
            }
        }
        return Ok([label.into(), label.into()]);
    }
    let common: Vec<&String> = known[0].iter().filter(|it| known[1].contains(it)).collect();
    match (&common[..], &known[0][..], &known[1][..]) {
        ([one], _, _) => Ok([(*one).clone(), (*one).clone()]),
        ([], [a], [b]) => Ok([a.clone(), b.clone()]),
        _ => {
            let names = if common.is_empty() { known.concat() } else { common.into_iter().cloned().collect() };
            let what = format!("the results have several policies: {}", names.join(", "));
            Err(Refusal::usage(what).remedy("name one that both have"))
        }
    }
}

/// One policy of a result.
struct Half<'a> {
    name: &'a str,
    report: &'a Report,
    policy: &'a PolicyReport,
    label: String,
    runs: Vec<&'a PolicyRuns>,
}

impl<'a> Half<'a> {
    fn of((name, report): (&'a str, &'a Report), label: &str) -> Result<Half<'a>, Refusal> {
        let place = report.labels().iter().position(|it| it == label);
        let policy = &report.policies[place.expect("a label of this report")];
        let runs: Vec<&PolicyRuns> = report.runs.iter().filter(|it| it.policy == label).collect();
        if runs.is_empty() {
            let what = format!("{name} does not have the values of its runs");
            return Err(Refusal::usage(what).remedy("write it again with a version that keeps them"));
        }
        if let Some(metric) = runs.iter().find_map(|it| incomplete(it)) {
            let what = format!("{name} does not have as many runs of {metric} as of other metrics");
            return Err(Refusal::usage(what).remedy("write it again"));
        }
        if let Some(value) = implausible(report, &runs) {
            let what = format!("{name} says {value:e}, which no measurement can be");
            return Err(Refusal::usage(what).remedy("write it again"));
        }
        Ok(Half { name, report, policy, label: label.into(), runs })
    }

    fn side(&self) -> Side {
        Side { label: self.label.clone(), input: self.name.into() }
    }

    /// Values of a metric: of one input by run, of several by input.
    fn values(&self, metric: &str) -> Vec<Option<f64>> {
        let of = |runs: &&PolicyRuns| runs.values.iter().find(|it| it.name == metric).map(|it| it.values.clone());
        match &self.runs[..] {
            [one] => of(one).unwrap_or_default(),
            all => all.iter().map(|it| mean(&of(it)?.into_iter().flatten().collect::<Vec<_>>())).collect(),
        }
    }

    fn count(&self) -> usize {
        let longest = |runs: &PolicyRuns| runs.values.iter().map(|it| it.values.len()).max().unwrap_or(0);
        if let [one] = &self.runs[..] { longest(one) } else { self.runs.len() }
    }

    fn is_prediction(&self) -> bool {
        self.report.sampling != Sampling::Runs
    }

    fn has_input_of(&self, other: &Half) -> bool {
        let (one, two) = (&self.report.input, &other.report.input);
        (one.kind, &one.sha256, &one.name) == (two.kind, &two.sha256, &two.name)
            || one.sha256.is_some() && one.sha256 == two.sha256
    }

    fn is_paired_with(&self, other: &Half) -> bool {
        let first = |half: &Half| half.runs.iter().map(|it| it.first).collect::<Vec<_>>();
        self.has_input_of(other)
            && self.report.sampling != Sampling::Arms
            && self.report.sampling == other.report.sampling
            && self.report.seed == other.report.seed
            && first(self) == first(other)
            && self.count() == other.count()
    }

    fn error(&self, metric: &str) -> Option<f64> {
        let fidelity = self.report.fidelity.as_ref()?;
        fidelity.metrics.iter().find(|it| it.name == metric).and_then(FidelityMetric::factor)
    }
}

/// A metric that does not have a value, or the lack of one, for each run. A file may say anything.
fn incomplete(runs: &PolicyRuns) -> Option<&str> {
    let (first, rest) = runs.values.split_first()?;
    rest.iter().find(|it| it.values.len() != first.values.len()).map(|it| it.name.as_str())
}

/// A value that is too large or too small to compute with.
fn implausible(report: &Report, runs: &[&PolicyRuns]) -> Option<f64> {
    let values = runs.iter().flat_map(|it| &it.values).flat_map(|it| &it.values);
    let compared = report.fidelity.iter().flat_map(|it| &it.metrics).flat_map(|it| [&it.recorded, &it.replayed]);
    let is_plausible = |it: f64| it == 0.0 || (LARGEST.recip()..=LARGEST).contains(&it.abs());
    values.chain(compared).flatten().copied().find(|it| !is_plausible(*it))
}

/// The doubt about a metric. One policy on one input shows what the program does now and did then: there is none.
fn doubt(a: &Half, b: &Half, metric: &str) -> (Doubt, bool) {
    let is_same = a.label == b.label && a.has_input_of(b);
    if is_same || !a.is_prediction() && !b.is_prediction() {
        return (Doubt::default(), false);
    }
    let spread = Spread::of(metric, a.report.machine.cpus.max(b.report.machine.cpus));
    let is_of_several = matches!(a.report.sampling, Sampling::Recordings(_));
    let between = match (a.has_input_of(b), a.policy.name == b.policy.name) {
        (false, _) => spread.map(|it| it.between_recordings([None, None])),
        (true, true) => spread.map(Spread::between_changes),
        (true, false) => spread.map(Spread::between_policies),
    };
    let error = [a, b].iter().filter_map(|half| half.error(metric)).max_by(f64::total_cmp);
    let is_known = if a.report.sampling == Sampling::Arms { between.is_some() } else { error.is_some() };
    (Doubt { error, between: between.filter(|_| !is_of_several) }, !is_known)
}

fn rows(a: &Half, b: &Half) -> Vec<Row> {
    let row = |it: &goodness_report::model::MetricSummary| {
        let (doubt, is_withheld) = doubt(a, b, &it.name);
        Row {
            name: it.name.clone(),
            group: judge::quantity(&it.name).into(),
            unit: it.unit.clone(),
            better: it.better,
            a: a.values(&it.name),
            b: b.values(&it.name),
            doubt,
            is_withheld,
        }
    };
    a.policy.metrics.iter().map(row).collect()
}

/// The tasks of the first run of each. One run has no interval: a task is equal or not.
fn tasks(a: &PolicyReport, b: &PolicyReport) -> Vec<TaskDifference> {
    let by_name = |policy: &PolicyReport| -> BTreeMap<(String, u64), TaskReport> {
        policy.tasks.iter().map(|it| ((it.name.clone(), it.id), it.clone())).collect()
    };
    let others = by_name(b);
    let pairs = a.tasks.iter().filter_map(|it| Some((it, others.get(&(it.name.clone(), it.id))?)));
    pairs.map(|(one, other)| task(one, other)).collect()
}

/// Name and value, in ns, of a measure of a task.
type Measure = (&'static str, fn(&TaskReport) -> Option<u64>);

fn task(one: &TaskReport, other: &TaskReport) -> TaskDifference {
    let measures: [Measure; 4] = [
        ("cpu_time", |it| Some(it.cpu_time_ns)),
        ("wait", |it| Some(it.wait_ns)),
        ("wakeup_latency_p99", |it| it.wakeup_latency_p99_ns),
        ("wakeup_latency_max", |it| it.wakeup_latency_max_ns),
    ];
    let of = |(name, value): Measure| {
        let (a, b) = (value(one)? as f64, value(other)? as f64);
        Some(Difference {
            name: name.into(),
            unit: "ns".into(),
            better: if name == "cpu_time" { Better::Neither } else { Better::Lower },
            a: Some(a),
            b: Some(b),
            ratio: (a > 0.0).then_some(b / a),
            ci95: None,
            finding: if a == b { Finding::Equal } else { Finding::Undecided },
        })
    };
    TaskDifference {
        task: TaskName { name: one.name.clone(), id: one.id },
        metrics: measures.into_iter().filter_map(of).collect(),
    }
}

fn notes(a: &Half, b: &Half, is_paired: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !a.has_input_of(b) {
        let names = (&a.report.input.name, &b.report.input.name);
        notes.push(format!("The inputs differ: {} and {}.", names.0, names.1));
    } else if !is_paired {
        notes.push("The results have other seeds or numbers of runs, so runs are not paired.".into());
    }
    if a.report.machine != b.report.machine {
        let said = |half: &Half| format!("{} ({} CPUs)", half.report.machine.name, half.report.machine.cpus);
        notes.push(format!("The machines differ: {} and {}.", said(a), said(b)));
    }
    notes
}
