//! Differences in words.

use super::{Diff, Difference, Finding, FirstDifference, Kind, TaskName, Verdict};
use crate::figure;
use crate::model::Better;

/// Factors beyond which a change is said as a factor and not in percent.
const FACTORS: std::ops::Range<f64> = 0.1..10.0;

/// A change with its interval: `+12 % (+10…+15)`.
#[must_use]
pub fn change(it: &Difference) -> String {
    if it.finding == Finding::Equal {
        return "0 %".into();
    }
    match (it.a, it.b) {
        (Some(0.0), Some(_)) => return "from 0".into(),
        (Some(_), Some(0.0)) => return "to 0".into(),
        _ => {}
    }
    let Some(ratio) = it.ratio else { return figure::NOT_MEASURED.into() };
    let is_factor =
        !FACTORS.contains(&ratio) || it.ci95.is_some_and(|[low, high]| !FACTORS.contains(&low) || high > 10.0);
    match (it.ci95, is_factor) {
        (None, true) => figure::ratio(Some(ratio)),
        (None, false) => format!("{} %", percent(ratio)),
        (Some(interval), true) => format!("{} ({})", figure::ratio(Some(ratio)), figure::ratio_interval(interval)),
        (Some([low, high]), false) => format!("{} % ({}…{})", percent(ratio), percent(low), percent(high)),
    }
}

fn percent(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let decimals = if change.abs() < 9.95 { 1 } else { 0 };
    let text = format!("{change:+.decimals$}");
    if text.trim_start_matches(['+', '-']).chars().all(|c| c == '0' || c == '.') { "0".into() } else { text }
}

/// What the finding means for the side B.
pub(super) fn judged(it: &Difference) -> &'static str {
    match (it.finding, it.better) {
        (Finding::Equal, _) => "equal",
        (Finding::Same, _) => "same",
        (Finding::Undecided, _) => "undecided",
        (Finding::More, Better::Higher) | (Finding::Less, Better::Lower) => "better",
        (Finding::More, Better::Lower) | (Finding::Less, Better::Higher) => "worse",
        (Finding::More, Better::Neither) => "more",
        (Finding::Less, Better::Neither) => "less",
    }
}

/// A task for text.
pub(super) fn task(it: &TaskName) -> String {
    if it.id == 0 { figure::name(&it.name) } else { format!("{} {}", figure::name(&it.name), it.id) }
}

/// The answer in a sentence or two.
#[must_use]
pub fn headline(diff: &Diff) -> String {
    let differ = diff.metrics.iter().filter(|it| it.finding.is_different()).count();
    match (diff.verdict, &diff.first_difference) {
        (Verdict::None, _) if diff.kind == Kind::Recordings => {
            "No difference: no metric differs by more than recordings of one load do.".into()
        }
        (Verdict::None, _) if diff.metrics.iter().all(|it| it.finding == Finding::Equal) => {
            "No difference: all runs are equal.".into()
        }
        (Verdict::None, _) => "No difference: no metric differs by more than chance explains.".into(),
        (Verdict::Different, Some(first)) => format!("Different: first {}; {}.", place(first), metrics_differ(differ)),
        (Verdict::Different, None) => format!("Different: {}.", metrics_differ(differ)),
    }
}

fn metrics_differ(count: usize) -> String {
    match count {
        0 => "no metric differs by more than chance explains".into(),
        1 => "1 metric differs".into(),
        _ => format!("{count} metrics differ"),
    }
}

fn place(first: &FirstDifference) -> String {
    let place = match (first.cpu, first.disk) {
        (_, Some(disk)) => format!(" on disk {disk}"),
        (Some(cpu), _) => format!(" on CPU {cpu}"),
        (None, None) => String::new(),
    };
    format!("at {}{place}", figure::time(Some(first.at_ns)))
}
