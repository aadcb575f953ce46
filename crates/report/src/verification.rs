//! How faithfully a replay repeats its recording, as text for a terminal.

use crate::model::{Details, Fidelity};
use crate::{figure, table};
use serde_json::{Value, json};
use std::fmt::Write;

/// The fidelity of replays, each with the name of its recording, as JSON.
#[must_use]
pub fn document(results: &[(String, Fidelity)]) -> Value {
    let object = |(trace, fidelity): &(String, Fidelity)| {
        let mut value = json!(fidelity);
        value["trace"] = Value::from(trace.as_str());
        value
    };
    json!({ "fidelity": results.iter().map(object).collect::<Vec<_>>() })
}

/// The fidelity of one replay, with what was repaired and what is unknown.
#[must_use]
pub fn text(trace: &str, fidelity: &Fidelity, details: &Details, width: u16) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{trace}, replayed under {}", fidelity.policy);
    for warning in &details.warnings {
        let _ = writeln!(out, "  note: {warning}");
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
    let listed = details.repairs.iter().chain(&details.unknowns).filter(|c| c.count > 0);
    for counted in listed {
        let _ = writeln!(out, "  {:>8}  {}", counted.count, counted.what);
    }
    out
}
