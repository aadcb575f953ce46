//! Lists the registries: each entry is an object with `name` and `summary`, and `tunables` if it has settings.

use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn tunables(spec: &[goodness_core::Tunable]) -> Value {
    spec.iter()
        .map(|t| {
            json!({
                "name": t.name,
                "doc": t.doc,
                "type": t.kind,
                "unit": t.unit,
                "default": t.default,
                "range": t.range,
            })
        })
        .collect()
}

/// The CPU policies, with their requirements and settings.
#[must_use]
pub fn policies() -> Vec<Value> {
    let entry = |about: &&goodness_core::About| {
        let spec = goodness_policies::entry(about.name).map_or(&[][..], |entry| (entry.tunables)());
        let needs: Vec<&str> = [
            (about.needs.tick, "tick"),
            (about.needs.timer, "timer"),
            (about.needs.balance, "balance"),
            (about.needs.global_lock, "global_lock"),
        ]
        .iter()
        .filter_map(|(needed, name)| needed.then_some(*name))
        .collect();
        json!({
            "name": about.name,
            "summary": about.summary,
            "source": about.source,
            "needs": needs,
            "tunables": tunables(spec),
        })
    };
    goodness_policies::ALL.iter().map(entry).collect()
}

/// The elevators, with their settings.
#[must_use]
pub fn elevators() -> Vec<Value> {
    let entry = |about: &&goodness_core::ElevatorAbout| {
        let spec = goodness_elevators::entry(about.name).map_or(&[][..], |entry| (entry.tunables)());
        let layer = match about.layer {
            goodness_core::Layer::Legacy => "single queue",
            goodness_core::Layer::MultiQueue => "blk-mq",
        };
        json!({
            "name": about.name,
            "summary": about.summary,
            "source": about.source,
            "layer": layer,
            "tunables": tunables(spec),
        })
    };
    goodness_elevators::ALL.iter().map(entry).collect()
}

/// The device models, with their settings.
#[must_use]
pub fn devices() -> Vec<Value> {
    let entry = |kind: &goodness_device::DeviceKind| {
        let tunables = tunables(&(kind.tunables)());
        json!({"name": kind.name, "summary": kind.summary, "source": kind.source, "tunables": tunables})
    };
    goodness_device::DEVICES.iter().map(entry).collect()
}

/// Metrics of a run.
#[must_use]
pub fn metrics() -> Vec<Value> {
    let entry =
        |m: &goodness_observe::About| json!({"name": m.name, "summary": m.summary, "unit": m.unit, "better": m.better});
    goodness_observe::METRICS.iter().map(entry).collect()
}

/// The built-in workloads, with their settings.
#[must_use]
pub fn workloads() -> Vec<Value> {
    let entry = |model: &goodness_work::models::Model| {
        let tunables = tunables((model.tunables)());
        json!({"name": model.name, "summary": model.summary, "source": model.source, "tunables": tunables})
    };
    goodness_work::models::WORKLOADS.iter().map(entry).collect()
}

/// Named machines.
#[must_use]
pub fn machines() -> Vec<Value> {
    let entry = |preset: &goodness_work::machine::Preset| {
        json!({
            "name": preset.name,
            "summary": preset.summary,
            "source": preset.source,
            "definition": preset.text,
        })
    };
    goodness_work::machine::PRESETS.iter().map(entry).collect()
}

/// The trace formats, and how each is recorded.
#[must_use]
pub fn formats() -> Vec<Value> {
    let entry = |format: &goodness_trace::Format| {
        json!({
            "name": format.name,
            "summary": format.summary,
            "how": format.how_to_record,
        })
    };
    let block = |format: &goodness_trace::block::BlockFormat| {
        json!({
            "name": format.name,
            "summary": format.summary,
            "how": format.how_to_record,
        })
    };
    goodness_trace::FORMATS.iter().map(entry).chain(goodness_trace::block::BLOCK_FORMATS.iter().map(block)).collect()
}

/// The recordings shipped with the library.
#[must_use]
pub fn recordings() -> Vec<Value> {
    crate::shipped::RECORDINGS.iter().map(|r| json!({"name": r.name, "summary": r.summary})).collect()
}

/// The entry of this name.
///
/// # Errors
/// There is none; the nearest is named.
pub fn entry(entries: &[Value], name: &str) -> Result<Value, Refusal> {
    let found = entries.iter().find(|entry| entry["name"] == name).cloned();
    found.ok_or_else(|| {
        let near = suggest(name, entries.iter().filter_map(|entry| entry["name"].as_str()));
        Refusal::usage(format!("\"{name}\" is not in this list; {near}."))
    })
}

/// Names and summaries as a table of `width` columns.
#[must_use]
pub fn table(entries: &[Value], width: u16) -> String {
    let mut table = goodness_report::table::new(width);
    for entry in entries {
        table.add_row([text(&entry["name"]), text(&entry["summary"])]);
    }
    table.to_string()
}

/// The other facts of an entry, one line each, and its settings as a table of `width` columns. Each line begins with a
/// line end.
#[must_use]
pub fn details(entry: &Value, width: u16) -> String {
    let mut out = String::new();
    for key in ["source", "definition", "unit", "better", "needs", "layer", "how"] {
        if !entry[key].is_null() {
            let _ = write!(out, "\n  {key}: {}", text(&entry[key]));
        }
    }
    let Some(tunables) = entry["tunables"].as_array().filter(|t| !t.is_empty()) else { return out };
    let mut table = goodness_report::table::new(width);
    table.set_header(["  tunable", "default", "range", "meaning"]);
    for tunable in tunables {
        let name = format!("  {}", text(&tunable["name"]));
        table.add_row([name, text(&tunable["default"]), text(&tunable["range"]), text(&tunable["doc"])]);
    }
    let _ = write!(out, "\n\n{table}");
    out
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}
