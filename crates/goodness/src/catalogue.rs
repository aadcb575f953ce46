//! Lists the registries: each entry is an object with the fields of [`Entry`].

use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_observe::Better;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// An entry of a list.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct Entry {
    /// Its name.
    name: &'static str,
    /// Summary in one sentence.
    summary: &'static str,
    /// Document or program that defines it: of policies, elevators, devices, workloads, machines and studies.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    /// What a policy needs of its host: tick, timer, balance or global_lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<Vec<&'static str>>,
    /// Block layer of an elevator: single queue or blk-mq.
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<&'static str>,
    /// Unit of a metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    /// Good direction of a metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    better: Option<Better>,
    /// A machine as typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'static str>,
    /// How to record in a trace format.
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
    /// Settings: of policies, elevators, devices and workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    tunables: Option<Vec<Tunable>>,
    /// Inputs of a suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<&'static str>>,
    /// How a section of an experiment file is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<&'static str>,
    /// Keys of a section of an experiment file.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<Key>>,
}

/// A key of a section of an experiment file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Key {
    /// Its name.
    name: &'static str,
    /// Type, and range or unit of its value.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Value if it is left out, as TOML, or in words.
    default: &'static str,
    /// Summary.
    doc: &'static str,
    /// A use of it, as lines of TOML.
    example: &'static str,
}

/// A setting.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Tunable {
    /// Its name.
    name: &'static str,
    /// Summary in one sentence.
    doc: &'static str,
    /// span, integer, switch or choice.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Unit of the value; empty for none.
    unit: &'static str,
    /// Default as typed; `auto` if it depends on the version.
    default: String,
    /// Allowed values in words.
    range: String,
}

impl Entry {
    /// An entry without facts.
    #[must_use]
    pub fn new(name: &'static str, summary: &'static str) -> Entry {
        Entry { name, summary, ..Entry::default() }
    }

    /// Sets the document or program that defines it.
    #[must_use]
    pub fn source(self, source: &'static str) -> Entry {
        Entry { source: Some(source), ..self }
    }

    fn tunables(self, spec: &[goodness_core::Tunable]) -> Entry {
        let tunable = |it: &goodness_core::Tunable| {
            let goodness_core::Tunable { name, doc, kind, unit, default, range } = it.clone();
            Tunable { name, doc, kind, unit, default, range }
        };
        Entry { tunables: Some(spec.iter().map(tunable).collect()), ..self }
    }

    /// As JSON.
    #[must_use]
    pub fn value(self) -> Value {
        json!(self)
    }
}

/// The CPU policies, with their requirements and settings.
#[must_use]
pub fn policies() -> Vec<Value> {
    let entry = |about: &&goodness_core::About| {
        let spec = goodness_policies::entry(about.name).map_or(&[][..], |entry| (entry.tunables)());
        let needs = [
            (about.needs.tick, "tick"),
            (about.needs.timer, "timer"),
            (about.needs.balance, "balance"),
            (about.needs.global_lock, "global_lock"),
        ];
        let needs = needs.iter().filter_map(|(needed, name)| needed.then_some(*name)).collect();
        let entry = Entry::new(about.name, about.summary).source(about.source).tunables(spec);
        Entry { needs: Some(needs), ..entry }.value()
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
        let entry = Entry::new(about.name, about.summary).source(about.source).tunables(spec);
        Entry { layer: Some(layer), ..entry }.value()
    };
    goodness_elevators::ALL.iter().map(entry).collect()
}

/// The device models, with their settings.
#[must_use]
pub fn devices() -> Vec<Value> {
    let entry = |kind: &goodness_device::DeviceKind| {
        Entry::new(kind.name, kind.summary).source(kind.source).tunables(&(kind.tunables)()).value()
    };
    goodness_device::DEVICES.iter().map(entry).collect()
}

/// Metrics of a run.
#[must_use]
pub fn metrics() -> Vec<Value> {
    let entry = |m: &goodness_observe::About| {
        Entry { unit: Some(m.unit), better: Some(m.better), ..Entry::new(m.name, m.summary) }.value()
    };
    goodness_observe::METRICS.iter().map(entry).collect()
}

/// The built-in workloads, with their settings.
#[must_use]
pub fn workloads() -> Vec<Value> {
    let entry = |model: &goodness_work::models::Model| {
        Entry::new(model.name, model.summary).source(model.source).tunables((model.tunables)()).value()
    };
    goodness_work::models::WORKLOADS.iter().map(entry).collect()
}

/// Named machines.
#[must_use]
pub fn machines() -> Vec<Value> {
    let entry = |preset: &goodness_work::machine::Preset| {
        let entry = Entry::new(preset.name, preset.summary).source(preset.source);
        Entry { definition: Some(preset.text), ..entry }.value()
    };
    goodness_work::machine::PRESETS.iter().map(entry).collect()
}

/// The trace formats, and how each is recorded.
#[must_use]
pub fn formats() -> Vec<Value> {
    let entry = |name, summary, how| Entry { how: Some(how), ..Entry::new(name, summary) }.value();
    let scheduling = goodness_trace::FORMATS.iter().map(|it| entry(it.name, it.summary, it.how_to_record));
    let block = goodness_trace::block::BLOCK_FORMATS.iter();
    scheduling.chain(block.map(|it| entry(it.name, it.summary, it.how_to_record))).collect()
}

/// The sections of an experiment file, and their keys.
#[must_use]
pub fn experiment() -> Vec<Value> {
    let keys = |section: &goodness_work::key::Section| {
        let key = |it: &goodness_work::key::Key| {
            let goodness_work::key::Key { name, kind, default, meaning: doc, example } = *it;
            Key { name, kind, default, doc, example }
        };
        Some(section.keys.iter().map(key).collect())
    };
    let entry = |section: &goodness_work::key::Section| {
        let entry = Entry::new(section.name, section.summary);
        Entry { written: Some(section.written), keys: keys(section), ..entry }.value()
    };
    goodness_work::experiment::SECTIONS.iter().map(entry).collect()
}

/// The suites, and their inputs.
#[must_use]
pub fn suites() -> Vec<Value> {
    let entry = |suite: &crate::suite::Suite| {
        Entry { inputs: Some(suite.inputs.to_vec()), ..Entry::new(suite.name, suite.summary) }.value()
    };
    crate::suite::SUITES.iter().map(entry).collect()
}

/// The recordings shipped with the library.
#[must_use]
pub fn recordings() -> Vec<Value> {
    crate::shipped::RECORDINGS.iter().map(|r| Entry::new(r.name, r.summary).value()).collect()
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

/// Parts that entries have, each shown by itself: `Keys` or `Tunables`.
#[must_use]
pub fn parts(entries: &[Value]) -> Option<&'static str> {
    let have = |key: &str| entries.iter().any(|entry| entry[key].as_array().is_some_and(|all| !all.is_empty()));
    [("keys", "Keys"), ("tunables", "Tunables")].into_iter().find(|(key, _)| have(key)).map(|(_, name)| name)
}

/// The other facts of an entry, one line each, and its settings as a table of `width` columns. Each line begins with a
/// line end.
#[must_use]
pub fn details(entry: &Value, width: u16) -> String {
    let mut out = String::new();
    for key in ["source", "definition", "unit", "better", "needs", "layer", "how", "inputs", "written"] {
        if !entry[key].is_null() {
            let _ = write!(out, "\n  {key}: {}", text(&entry[key]));
        }
    }
    if let Some(tunables) = entry["tunables"].as_array().filter(|it| !it.is_empty()) {
        let header = ["  tunable", "default", "range", "meaning"];
        let _ = write!(out, "\n\n{}", settings(tunables, header, ["default", "range", "doc"], width));
    }
    if let Some(keys) = entry["keys"].as_array() {
        let header = ["  key", "value", "default", "meaning"];
        let _ = write!(out, "\n\n{}\n\nExamples:", settings(keys, header, ["type", "default", "doc"], width));
        let examples = keys.iter().flat_map(|key| key["example"].as_str().into_iter().flat_map(str::lines));
        examples.for_each(|line| out.extend(["\n  ", line]));
    }
    out
}

/// Settings as a table: the name, and these fields.
fn settings(list: &[Value], header: [&str; 4], fields: [&str; 3], width: u16) -> String {
    let mut table = goodness_report::table::new(width);
    table.set_header(header);
    for it in list {
        let [first, second, third] = fields.map(|field| text(&it[field]));
        table.add_row([format!("  {}", text(&it["name"])), first, second, third]);
    }
    table.to_string()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}
