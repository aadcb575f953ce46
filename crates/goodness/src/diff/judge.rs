//! Judges values of two sides, metric by metric, corrected for the number of metrics.

use goodness_observe::{Better, TaskMeasured};
use goodness_report::diff::{Difference, Finding, TaskDifference, TaskName};
use goodness_stats::compare::{Comparison, Direction, Doubt, Settings, Verdict, compare_each};
use goodness_stats::holm::holm;
use goodness_stats::ratio::Pairing;
use goodness_stats::summary::mean;
use goodness_stats::{Confidence, measured};
use std::collections::BTreeMap;

/// The values of one metric on both sides.
pub(super) struct Row {
    pub name: String,
    /// What counts once in the correction for many comparisons: the quantity, of a task.
    pub group: String,
    pub unit: String,
    pub better: Better,
    pub a: Vec<Option<f64>>,
    pub b: Vec<Option<f64>>,
    pub doubt: Doubt,
    /// True if the values cannot be judged: too few observations, or an unknown error.
    pub is_withheld: bool,
}

/// Judges `rows`, which are one family of comparisons. Rows without a value on one side are left out. The mean and the
/// percentiles of one quantity go together, so a quantity counts once in the correction for many comparisons.
pub(super) fn judge(rows: Vec<Row>, pairing: Pairing) -> Vec<Difference> {
    let rows: Vec<Row> = rows.into_iter().filter(|row| is_measured(&row.a) && is_measured(&row.b)).collect();
    let shown: Vec<Comparison> = rows.iter().map(|row| row.compare(pairing, Confidence::P95)).collect();
    let p_value = |(row, it): (&Row, &Comparison)| it.p_value.filter(|_| !row.is_withheld && !row.is_equal(pairing));
    let p_values: Vec<Option<f64>> = rows.iter().zip(&shown).map(p_value).collect();
    let levels = levels(rows.iter().zip(&p_values).filter_map(|(row, p_value)| Some((&*row.group, (*p_value)?))));
    let all = rows.iter().zip(shown).zip(p_values);
    all.map(|((row, shown), p_value)| {
        let decided = p_value.map(|_| row.compare(pairing, levels[&*row.group]).verdict);
        row.difference(&shown, decided, row.is_equal(pairing))
    })
    .collect()
}

/// The level at which each group is decided, by its smallest p-value.
fn levels<'a>(p_values: impl Iterator<Item = (&'a str, f64)>) -> BTreeMap<&'a str, Confidence> {
    let mut least: BTreeMap<&str, f64> = BTreeMap::new();
    for (group, p_value) in p_values {
        least.entry(group).and_modify(|it| *it = it.min(p_value)).or_insert(p_value);
    }
    let all: Vec<Option<f64>> = least.values().map(|it| Some(*it)).collect();
    let corrected = holm(&all, Confidence::P95).into_iter().flatten().map(|it| it.confidence);
    least.into_keys().zip(corrected).collect()
}

/// The quantity of a metric: that of a mean, a percentile or a part.
pub(super) fn quantity(metric: &str) -> &str {
    const ENDS: [&str; 6] = ["_mean", "_p50", "_p95", "_p99", "_p999", "_max"];
    const WHOLE: &str = "scheduler_share";
    if metric.starts_with(WHOLE) {
        return WHOLE;
    }
    ENDS.iter().find_map(|end| metric.strip_suffix(end)).unwrap_or(metric)
}

impl Row {
    fn compare(&self, pairing: Pairing, confidence: Confidence) -> Comparison {
        let settings = Settings { pairing, confidence, ..Settings::new(Direction::LowerIsBetter) };
        compare_each(&self.a, &[&self.b], &[self.doubt], &settings).remove(0)
    }

    /// True if every run has the same value as its partner.
    fn is_equal(&self, pairing: Pairing) -> bool {
        pairing == Pairing::Paired && self.a == self.b
    }

    fn difference(&self, shown: &Comparison, decided: Option<Verdict>, is_equal: bool) -> Difference {
        let finding = match decided {
            _ if is_equal => Finding::Equal,
            Some(Verdict::Better) => Finding::Less,
            Some(Verdict::Worse) => Finding::More,
            Some(Verdict::Same) => Finding::Same,
            Some(Verdict::Inconclusive) | None => Finding::Undecided,
        };
        Difference {
            name: self.name.clone(),
            unit: self.unit.clone(),
            better: self.better,
            a: mean(&measured(&self.a)),
            b: mean(&measured(&self.b)),
            ratio: shown.ratio,
            ci95: shown.stated.filter(|_| !self.is_withheld).map(|it| [it.low, it.high]),
            finding,
        }
    }
}

fn is_measured(values: &[Option<f64>]) -> bool {
    values.iter().any(Option::is_some)
}

/// Name, unit, good direction and value of a measure of a task.
type Measure = (&'static str, &'static str, Better, fn(&TaskMeasured) -> Option<f64>);

/// The measures of a task that are compared.
const MEASURES: [Measure; 7] = [
    ("cpu_time", "ns", Better::Neither, |it| Some(it.cpu_time.0 as f64)),
    ("wait", "ns", Better::Lower, |it| Some(it.wait.0 as f64)),
    ("turnaround", "ns", Better::Lower, |it| Some(it.ended?.since(it.arrived?).0 as f64)),
    ("wakeup_latency_p99", "ns", Better::Lower, |it| it.wakeup_latency_p99.map(|it| it.0 as f64)),
    ("wakeup_latency_max", "ns", Better::Lower, |it| it.wakeup_latency_max.map(|it| it.0 as f64)),
    ("involuntary_switches", "count", Better::Neither, |it| Some(f64::from(it.involuntary_switches))),
    ("migrations", "count", Better::Neither, |it| Some(f64::from(it.migrations))),
];

/// Compares the tasks of both sides, run by run. Tasks of the same number are the same task. Intervals are over the
/// runs of this input alone.
pub(super) fn tasks(names: &[TaskName], a: &[Vec<TaskMeasured>], b: &[Vec<TaskMeasured>]) -> Vec<TaskDifference> {
    let of = |runs: &[Vec<TaskMeasured>], task: usize, value: fn(&TaskMeasured) -> Option<f64>| {
        runs.iter().map(|run| run.get(task).and_then(value)).collect()
    };
    let row = |task: usize, (name, unit, better, value): Measure| Row {
        name: name.into(),
        group: format!("{task} {}", quantity(name)),
        unit: unit.into(),
        better,
        a: of(a, task, value),
        b: of(b, task, value),
        doubt: Doubt::default(),
        is_withheld: false,
    };
    let is_told = |row: &Row| row.a.iter().chain(&row.b).any(|it| it.is_some_and(|value| value != 0.0));
    let (owners, rows): (Vec<usize>, Vec<Row>) = (0..names.len())
        .flat_map(|task| MEASURES.map(|measure| (task, row(task, measure))))
        .filter(|(_, row)| is_told(row) && is_measured(&row.a) && is_measured(&row.b))
        .unzip();
    let without = |task: &TaskName| TaskDifference { task: task.clone(), metrics: Vec::new() };
    let mut all: Vec<TaskDifference> = names.iter().map(without).collect();
    owners.into_iter().zip(judge(rows, Pairing::Paired)).for_each(|(task, it)| all[task].metrics.push(it));
    all.retain(|it| !it.metrics.is_empty());
    all
}
