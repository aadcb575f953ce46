//! `goodness list`: what there is. Every list comes from its registry.

use crate::failure::{Failure, exit};
use crate::output;
use clap::{Args, ValueEnum};
use goodness_core::registry::suggest;
use serde_json::{Value, json};

/// What there is: policies and elevators with their tunables, devices, workloads, recordings, machines, metrics, formats, studies.
#[derive(Args)]
pub struct List {
    /// Which list.
    #[arg(value_enum, default_value_t = What::Policies)]
    what: What,
    /// Only the entry of this name, with its tunables.
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Policies,
    Elevators,
    Devices,
    Workloads,
    Recordings,
    Machines,
    Metrics,
    Formats,
    Studies,
}

impl List {
    /// Prints the list.
    ///
    /// # Errors
    /// A name that is not in it.
    pub fn run(&self) -> Result<u8, Failure> {
        let mut entries = match self.what {
            What::Policies => policies(),
            What::Elevators => elevators(),
            What::Devices => devices(),
            What::Workloads => workloads(),
            What::Recordings => recordings(),
            What::Machines => machines(),
            What::Metrics => metrics(),
            What::Formats => formats(),
            What::Studies => studies(),
        };
        if let Some(name) = &self.name {
            self.narrow(&mut entries, name)?;
        }
        if self.json {
            say!("{}", serde_json::to_string_pretty(&entries).expect("plain values serialise"));
        } else {
            self.print(&entries);
        }
        Ok(exit::OK)
    }

    fn narrow(&self, entries: &mut Vec<Value>, name: &str) -> Result<(), Failure> {
        if !entries.iter().any(|e| e["name"] == name) {
            let near = suggest(name, entries.iter().filter_map(|e| e["name"].as_str()));
            return Err(Failure::usage(format!("\"{name}\" is not in this list; {near}.")));
        }
        entries.retain(|e| e["name"] == name);
        Ok(())
    }

    fn print(&self, entries: &[Value]) {
        let mut table = output::table();
        for entry in entries {
            table.add_row([text(&entry["name"]), text(&entry["summary"])]);
        }
        say!("{table}");
        if self.name.is_some() {
            entries.iter().for_each(print_details);
        } else if entries.iter().any(|e| e["tunables"].as_array().is_some_and(|t| !t.is_empty())) {
            let what = self.what.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default();
            say!("\nTunables of one: goodness list {what} NAME");
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn print_details(entry: &Value) {
    for key in ["source", "definition", "unit", "better", "needs", "layer", "how"] {
        if !entry[key].is_null() {
            say!("  {key}: {}", text(&entry[key]));
        }
    }
    let Some(tunables) = entry["tunables"].as_array().filter(|t| !t.is_empty()) else { return };
    let mut table = output::table();
    table.set_header(["  tunable", "default", "range", "meaning"]);
    for tunable in tunables {
        let name = format!("  {}", text(&tunable["name"]));
        table.add_row([name, text(&tunable["default"]), text(&tunable["range"]), text(&tunable["doc"])]);
    }
    say!("\n{table}");
}

fn tunables(spec: &[goodness_core::Tunable]) -> Value {
    spec.iter()
        .map(|t| json!({"name": t.name, "doc": t.doc, "type": t.kind, "unit": t.unit, "default": t.default, "range": t.range}))
        .collect()
}

fn policies() -> Vec<Value> {
    let entry = |about: &&goodness_core::About| {
        let spec = goodness_cpu::tunables_of(about.name).unwrap_or_default();
        let needs: Vec<&str> = [
            (about.needs.tick, "tick"),
            (about.needs.timer, "timer"),
            (about.needs.balance, "balance"),
            (about.needs.global_lock, "global_lock"),
        ]
        .iter()
        .filter_map(|(needed, name)| needed.then_some(*name))
        .collect();
        json!({"name": about.name, "summary": about.summary, "source": about.source, "needs": needs, "tunables": tunables(spec)})
    };
    goodness_cpu::ALL.iter().map(entry).collect()
}

fn elevators() -> Vec<Value> {
    let entry = |about: &&goodness_core::ElevatorAbout| {
        let spec = goodness_io::tunables_of(about.name).unwrap_or_default();
        let layer = match about.layer {
            goodness_core::Layer::Legacy => "single queue",
            goodness_core::Layer::MultiQueue => "blk-mq",
        };
        json!({"name": about.name, "summary": about.summary, "source": about.source, "layer": layer, "tunables": tunables(spec)})
    };
    goodness_io::ALL.iter().map(entry).collect()
}

fn devices() -> Vec<Value> {
    let entry = |kind: &goodness_device::DeviceKind| json!({"name": kind.name, "summary": kind.summary, "source": kind.source, "tunables": tunables(&(kind.tunables)())});
    goodness_device::DEVICES.iter().map(entry).collect()
}

fn metrics() -> Vec<Value> {
    let entry =
        |m: &goodness_observe::About| json!({"name": m.name, "summary": m.summary, "unit": m.unit, "better": m.better});
    goodness_observe::METRICS.iter().map(entry).collect()
}

fn workloads() -> Vec<Value> {
    let entry = |model: &goodness_workload::models::Model| json!({"name": model.name, "summary": model.summary, "source": model.source, "tunables": tunables((model.tunables)())});
    goodness_workload::models::WORKLOADS.iter().map(entry).collect()
}

fn machines() -> Vec<Value> {
    let entry = |preset: &goodness_workload::machine::Preset| json!({"name": preset.name, "summary": preset.summary, "source": preset.source, "definition": preset.text});
    goodness_workload::machine::PRESETS.iter().map(entry).collect()
}

fn formats() -> Vec<Value> {
    let entry = |format: &goodness_trace::Format| json!({"name": format.name, "summary": format.summary, "how": format.how_to_record});
    let block = |format: &goodness_trace::block::BlockFormat| json!({"name": format.name, "summary": format.summary, "how": format.how_to_record});
    goodness_trace::FORMATS.iter().map(entry).chain(goodness_trace::block::BLOCK_FORMATS.iter().map(block)).collect()
}

fn recordings() -> Vec<Value> {
    crate::shipped::RECORDINGS.iter().map(|r| json!({"name": r.name, "summary": r.summary})).collect()
}

fn studies() -> Vec<Value> {
    let entry = |s: &goodness_study::Study| json!({"name": s.name, "summary": s.question, "source": s.source});
    goodness_study::STUDIES.iter().map(entry).collect()
}
