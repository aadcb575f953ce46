//! `goodness list`: prints the registries.

use crate::failure::{Failure, exit};
use crate::output;
use clap::{Args, ValueEnum};
use goodness::catalogue;
use goodness_core::spelling::suggest;
use serde_json::{Value, json};

/// List policies and elevators with their tunables, devices, workloads, recordings, machines, metrics, formats,
/// studies.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness list                  policies
  goodness list policies eevdf   one policy with its tunables
  goodness list workloads        built-in workloads
  goodness list metrics --json

Exit codes: 0 listed, 2 no such entry.")]
pub struct List {
    /// List to print.
    #[arg(value_enum, default_value_t = What::Policies)]
    what: What,
    /// Print only the entry of this name, with its tunables.
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
            What::Policies => catalogue::policies(),
            What::Elevators => catalogue::elevators(),
            What::Devices => catalogue::devices(),
            What::Workloads => catalogue::workloads(),
            What::Recordings => catalogue::recordings(),
            What::Machines => catalogue::machines(),
            What::Metrics => catalogue::metrics(),
            What::Formats => catalogue::formats(),
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
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
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

fn studies() -> Vec<Value> {
    let entry = |s: &goodness_study::Study| json!({"name": s.name, "summary": s.question, "source": s.source});
    goodness_study::STUDIES.iter().map(entry).collect()
}
