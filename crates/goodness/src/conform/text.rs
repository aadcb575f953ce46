//! A comparison as text for a terminal.

use super::{Both, Conformance, Decisions, GroupRow, Row};
use crate::spec::PolicySpec;
use goodness_report::{figure, table};
use std::fmt::Write;

/// A comparison with its parameters.
pub struct Told<'a> {
    /// The input as typed.
    pub input: &'a str,
    /// Policy of both sides.
    pub policy: &'a PolicySpec,
    /// True if the policy was loaded into the kernel.
    pub is_live: bool,
    /// Random seed of both sides.
    pub seed: u64,
    /// Number of simulations.
    pub runs: u32,
    /// The comparison.
    pub found: &'a Conformance,
}

/// Simulated shares with a wider range than this are shown as a range.
const WIDE: f64 = 0.02;

impl Told<'_> {
    /// As text for a terminal.
    #[must_use]
    pub fn text(&self, width: u16) -> String {
        let mut out = String::new();
        let Conformance { agreement, machine, decisions, .. } = self.found;
        let how = if self.is_live { "alive" } else { "on this kernel's own scheduler" };
        let (cpus, hz) = (machine.cpu_count(), machine.hz);
        let _ = writeln!(
            out,
            "{}: {} simulated ({} runs, seed {}) and {how}; {cpus} CPUs, HZ {hz}",
            self.input, self.policy, self.runs, self.seed
        );
        let mut rows = table::new(width);
        rows.set_header(["task", "nice", "share", "", "switches", "", "p50", "", "p99", "", ""]);
        rows.add_row(["", "", "sim", "real", "sim", "real", "sim", "real", "sim", "real", ""]);
        for row in &agreement.rows {
            rows.add_row(cells(row));
        }
        table::align_right(&mut rows, 1..10);
        let _ = writeln!(out, "{rows}");
        let _ = writeln!(
            out,
            "sim: simulated, the mean or the range of the runs; real: played; ✗: further from the range than the \
             bounds below.\n\
             Latencies: from waking to running."
        );
        if !agreement.groups.is_empty() {
            let _ = writeln!(out, "{}", limits(&agreement.groups, width));
        }
        for line in agreement.sentences() {
            let _ = writeln!(out, "{line}");
        }
        if let Some(Decisions { p50, p99 }) = decisions {
            let (p50, p99) = (figure::time(Some(p50.0)), figure::time(Some(p99.0)));
            let _ = writeln!(out, "decision latency: median {p50}, which the simulation charges; p99 {p99}");
        }
        out
    }
}

/// The simulated share: the mean, or the range.
fn percents(share: &Both) -> String {
    match share.range {
        Some((least, most)) if most - least > WIDE => format!("{:.0}–{}", 100.0 * least, figure::percent(Some(most))),
        _ => figure::percent(share.simulated),
    }
}

/// The groups with a limit: the range of the simulations beside the play.
fn limits(groups: &[GroupRow], width: u16) -> String {
    let mut table = table::new(width);
    table.set_header([
        "group",
        "periods",
        "",
        "throttled",
        "",
        "time throttled",
        "",
        "bursts",
        "",
        "of bursts",
        "",
        "",
    ]);
    table.add_row(["", "sim", "real", "sim", "real", "sim", "real", "sim", "real", "sim", "real", ""]);
    for row in groups {
        let count = |it: &Both| [range(it, |n| format!("{n:.0}")), it.played.map_or("–".into(), |n| format!("{n:.0}"))];
        let time = |ns: f64| figure::time(Some(ns.round() as u64));
        let times = |it: &Both| [range(it, time), it.played.map_or("–".into(), time)];
        let figures = [count(&row.nr_periods), count(&row.nr_throttled), times(&row.throttled_ns)];
        let figures = figures.into_iter().chain([count(&row.nr_bursts), times(&row.burst_ns)]).flatten();
        let mark = if row.agrees() { "" } else { "✗" };
        table.add_row(std::iter::once(figure::name(&row.name)).chain(figures).chain([mark.to_string()]));
    }
    table::align_right(&mut table, 1..11);
    table.to_string()
}

/// The simulated figure, or the range of it.
fn range(it: &Both, show: impl Fn(f64) -> String) -> String {
    match it.range {
        Some((least, most)) if show(least) != show(most) => format!("{}–{}", show(least), show(most)),
        Some((least, _)) => show(least),
        None => "–".into(),
    }
}

fn cells(row: &Row) -> Vec<String> {
    let whole = |value: Option<f64>| figure::time(value.map(|ns| ns.round() as u64));
    vec![
        figure::name(&row.name),
        row.nice.map_or_else(|| "rt".into(), |nice| nice.to_string()),
        percents(&row.share),
        figure::percent(row.share.played),
        row.switches.simulated.map_or_else(|| "–".into(), |count| format!("{count:.0}")),
        row.switches.played.map_or_else(|| "–".into(), |count| format!("{count:.0}")),
        whole(row.latency_p50.simulated),
        whole(row.latency_p50.played),
        whole(row.latency_p99.simulated),
        whole(row.latency_p99.played),
        if row.agrees() { String::new() } else { "✗".into() },
    ]
}
