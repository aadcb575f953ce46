//! Differences in words.

use super::{Diff, Difference, Finding, FirstDifference, Kind, QueuedRequest, TaskName, Verdict};
use crate::change::change_within;
use crate::figure;
use crate::model::{Better, Trust};

/// A change of B from A with its interval: `12 % higher (+10…+15 %)`.
#[must_use]
pub fn change(it: &Difference, kind: Kind) -> String {
    let units = if kind == Kind::Recordings { "recordings" } else { "runs" };
    match (it.finding, it.a, it.b, it.ratio) {
        (Finding::Equal, ..) => "unchanged".into(),
        (_, Some(0.0), Some(_), _) => "up from 0".into(),
        (_, Some(_), Some(0.0), _) => "down to 0".into(),
        (.., None) => figure::NOT_MEASURED.into(),
        (.., Some(ratio)) => change_within(ratio, it.ci95, units),
    }
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

/// A waiting request for text.
pub(super) fn request(it: &QueuedRequest) -> String {
    let by = it.by.as_ref().map(|by| format!(" by {}", task(by))).unwrap_or_default();
    format!("{} at {}{by}", it.operation, it.sector)
}

/// The answer in a sentence or two, after the first reason not to trust it.
#[must_use]
pub fn headline(diff: &Diff) -> String {
    match diff.trust.as_ref().and_then(Trust::warning) {
        Some(warning) => format!("{warning} {}", answer(diff)),
        None => answer(diff),
    }
}

fn answer(diff: &Diff) -> String {
    let differ = diff.metrics.iter().filter(|it| it.finding.is_different()).count();
    match (diff.verdict, &diff.first_difference) {
        (Verdict::None, _) if diff.kind == Kind::Recordings => {
            "No difference: no metric differs by more than recordings of one load do.".into()
        }
        (Verdict::None, _) if diff.metrics.iter().all(|it| it.finding == Finding::Equal) => {
            "No difference: all runs are equal.".into()
        }
        (Verdict::None, _) => "No difference: no metric differs by more than chance explains.".into(),
        (Verdict::Different, Some(first)) => {
            format!("Different: decisions part {}; {}.", place(first), metrics_differ(differ))
        }
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
