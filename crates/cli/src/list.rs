//! `goodness list`: prints the registries.

use crate::failure::{Failure, exit};
use crate::json_option::Json;
use clap::Args;
use clap::builder::PossibleValuesParser;
use goodness::catalogue;
use serde_json::Value;

/// List policies and elevators with their tunables, devices, workloads, suites, recordings, machines, metrics, formats,
/// keys of experiment files, studies.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness list                  policies
  goodness list policies eevdf   one policy with its tunables
  goodness list workloads        built-in workloads
  goodness list experiment task  keys of a task in an experiment file
  goodness list suites           named suites of inputs
  goodness list metrics --json

Exit codes: 0 listed, 2 no such entry.")]
pub struct List {
    /// List to print.
    #[arg(value_parser = names(), default_value = "policies")]
    what: String,
    /// Print only the entry of this name, with its tunables.
    name: Option<String>,
    #[command(flatten)]
    json: Json,
}

/// The entries of a list.
type Entries = fn() -> Vec<Value>;

/// Lists by name.
const LISTS: &[(&str, Entries)] = &[
    ("policies", catalogue::policies),
    ("elevators", catalogue::elevators),
    ("devices", catalogue::devices),
    ("workloads", catalogue::workloads),
    ("suites", catalogue::suites),
    ("recordings", catalogue::recordings),
    ("machines", catalogue::machines),
    ("metrics", catalogue::metrics),
    ("formats", catalogue::formats),
    ("experiment", catalogue::experiment),
    ("studies", goodness_study::catalogue),
];

/// Accepts the name of a list.
fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(LISTS.iter().map(|(name, _)| *name))
}

impl List {
    /// Prints the list.
    ///
    /// # Errors
    /// A name that is not in it.
    pub fn run(&self) -> Result<u8, Failure> {
        let list = LISTS.iter().find(|(name, _)| *name == self.what);
        let mut entries = list.map_or_else(Vec::new, |(_, entries)| entries());
        if let Some(name) = &self.name {
            entries = vec![catalogue::entry(&entries, name)?];
        }
        self.json.check("")?;
        self.json.show(&entries, |width| self.text(&entries, width))?;
        Ok(exit::OK)
    }

    fn text(&self, entries: &[Value], width: u16) -> String {
        let (table, of_one) = (catalogue::table(entries, width), catalogue::parts(entries));
        match of_one.filter(|_| self.name.is_none()) {
            Some(parts) => format!("{table}\n\n{parts} of one: goodness list {} NAME", self.what),
            None if self.name.is_none() => table,
            None => entries.iter().fold(table, |text, entry| text + &catalogue::details(entry, width)),
        }
    }
}
