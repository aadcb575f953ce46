//! The fidelity of a replay to its recording, as text for a terminal.

use crate::model::{Details, Fidelity, FidelityMetric};
use crate::{figure, table};
use serde::Serialize;
use std::fmt::Write;

/// Indent of the text of a counted repair.
const INDENT: &str = "            ";

/// The fidelity of replays: schema `goodness.verify/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.verify/1`.
    schema: &'static str,
    /// Each replay beside its recording.
    fidelity: Vec<OfTrace<'a>>,
}

/// The fidelity of one replay with the name of its recording.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OfTrace<'a> {
    #[serde(flatten)]
    fidelity: &'a Fidelity,
    /// The recording as typed.
    trace: &'a str,
}

impl Document<'_> {
    /// The fidelity of replays, each with the name of its recording.
    #[must_use]
    pub fn of(results: &[(String, Fidelity)]) -> Document<'_> {
        let fidelity = results.iter().map(|(trace, fidelity)| OfTrace { fidelity, trace });
        Document { schema: "goodness.verify/1", fidelity: fidelity.collect() }
    }
}

/// The fidelity of one replay, with what was repaired and what is unknown.
#[must_use]
pub fn text(trace: &str, fidelity: &Fidelity, details: &Details, width: u16) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{trace}, replayed under {}", fidelity.policy);
    for warning in &details.warnings {
        let _ = writeln!(out, "{}", table::wrapped("  note: ", warning, width, "    "));
    }
    let mut rows = table::new(width);
    rows.set_header(["metric", "recorded", "replayed", "error", "bound", ""]);
    for metric in &fidelity.metrics {
        let mark = match (metric.tolerance, metric.keeps_promise()) {
            (None, _) => "",
            (_, None) => "not measured",
            (_, Some(true)) => "holds",
            (_, Some(false)) => "misses",
        };
        rows.add_row([
            metric.name.clone(),
            figure::show(metric.recorded, &metric.unit),
            figure::show(metric.replayed, &metric.unit),
            figure::percent(metric.error),
            figure::percent(metric.tolerance),
            mark.into(),
        ]);
    }
    table::align_right(&mut rows, 1..5);
    let _ = writeln!(out, "{rows}");
    let ranges: Vec<String> = fidelity.metrics.iter().filter_map(range).collect();
    if !ranges.is_empty() {
        let _ = writeln!(out, "{}", table::wrapped("  a replay fails outside ", &ranges.join("; "), width, "    "));
    }
    let listed = details.repairs.iter().chain(&details.unknowns).filter(|c| c.count > 0);
    for counted in listed {
        let _ = writeln!(out, "{}", table::wrapped(&format!("  {:>8}  ", counted.count), &counted.what, width, INDENT));
    }
    out
}

/// The values that a bound lets pass, with the metric: `requests 98…102`.
fn range(metric: &FidelityMetric) -> Option<String> {
    let (recorded, bound) = metric.recorded.zip(metric.tolerance)?;
    let ends = [recorded * (1.0 - bound), recorded * (1.0 + bound)];
    Some(format!("{} {}", metric.name, figure::interval(Some(ends), &metric.unit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Counted;

    #[test]
    fn repairs_and_notes_keep_to_the_width_with_every_word() {
        let what = "wake-ups in soft interrupts that a task caused, replayed as edges from the task to the one it woke";
        let details = Details {
            repairs: vec![Counted { count: 13_716, what: what.into() }],
            warnings: vec![
                "the recording names CPUs that have no lines of their own, so they are taken as idle".into(),
            ],
            ..Details::default()
        };
        let text = text("a.ftrace", &Fidelity::default(), &details, 80);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|columns| (60..=80).contains(&columns)), "{text}");
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert!(words(&text).windows(words(what).len()).any(|some| some == words(what)), "{text}");
        assert!(text.contains("\n     13716  wake-ups") && text.contains("\n            "), "{text}");
        let wide = super::text("a.ftrace", &Fidelity::default(), &details, 200);
        assert!(wide.contains(what), "{wide}");
    }

    #[test]
    fn the_values_that_a_bound_lets_pass_are_said() {
        let metric = |name: &str, tolerance| FidelityMetric {
            name: name.into(),
            recorded: Some(1e6),
            replayed: Some(1.3e6),
            error: Some(0.3),
            unit: "ns".into(),
            tolerance,
        };
        let metrics = vec![metric("wakeup_latency_p99", Some(0.25)), metric("wakeup_latency_mean", None)];
        let fidelity = Fidelity { metrics, ..Fidelity::default() };
        let text = text("a.ftrace", &fidelity, &Details::default(), 80);
        assert!(text.contains("fails outside wakeup_latency_p99 750 µs … 1.25 ms\n"), "{text}");
        assert!(text.contains("misses"), "{text}");
    }
}
