//! Writes measured scheduling costs as a machine file, and a measured disk as a device file.

mod calibration;
pub mod disk;

pub use calibration::Calibration;

use crate::refusal::Refusal;
use goodness_core::{Machine, Span};
use goodness_play::calibrate::{Figure, Found, Neighbours, measure};
use goodness_report::table;
use goodness_sys::kernel_release;
use goodness_table::Kind::{Float, Whole};
use goodness_table::long::{MACHINE, METRIC, UNIT};
use goodness_table::{Cell, Column, Table, column};
use goodness_work::key::Key;
use goodness_work::machine::{KEYS, from_table};
use serde::Serialize;
use std::fmt::Write as _;

/// Measures this machine.
///
/// # Errors
/// It cannot be measured.
pub fn this_machine() -> Result<Machine, Refusal> {
    let failed = |why: &dyn std::fmt::Display| Refusal::failed(format!("this machine cannot be measured: {why}"));
    let found = measure(|_| ()).map_err(|why| failed(&why))?;
    let table: toml::Table = toml::from_str(&render(&found, &[])).map_err(|why| failed(&why))?;
    from_table("this machine", &table).map_err(|why| failed(&why))
}

/// Kernel and load, one line each.
#[must_use]
pub fn surroundings() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_string()));
    let kernel = kernel_release().unwrap_or_default();
    let load = read("/proc/loadavg").split(' ').take(1).collect::<String>();
    let known = [("processor", model.unwrap_or_default()), ("kernel", kernel), ("load average before", load)];
    known.into_iter().filter(|(_, what)| !what.is_empty()).map(|(name, what)| format!("{name}: {what}")).collect()
}

/// The machine-file key of this name.
fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Description of a machine-file key.
#[must_use]
pub fn meaning(name: &str) -> &'static str {
    key(name).map_or("", |key| key.meaning)
}

/// Default of a machine-file key.
#[must_use]
pub fn default(name: &str) -> &'static str {
    key(name).map_or("", |key| key.default)
}

fn span(ns: u64) -> String {
    Span(ns).to_string()
}

/// Columns of measured costs: schema `goodness.costs/1`.
pub const COSTS: &[Column] = &[
    MACHINE,
    METRIC,
    UNIT,
    column("value", Float, "Median."),
    column("low", Float, "A quarter of the measurements is below this."),
    column("high", Float, "A quarter of the measurements is above this."),
    column("samples", Whole, "Measurements."),
];

/// Measured costs: schema `goodness.calibrate/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.calibrate/1`.
    schema: &'static str,
    /// The kernel's release.
    kernel: Option<String>,
    /// CPUs that the command may use.
    cpus: usize,
    /// Timer interrupts per second; `null` if the kernel does not tell.
    hz: Option<u64>,
    /// Costs, by key of a machine file.
    costs: Vec<Cost>,
    /// Keys that were not measured.
    left_out: Vec<LeftOut<'a>>,
}

/// A measured cost.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Cost {
    /// Key of a machine file.
    key: &'static str,
    /// Its meaning.
    meaning: &'static str,
    /// Median in ns.
    median_ns: u64,
    /// A quarter of the measurements is below this.
    low_ns: u64,
    /// A quarter of the measurements is above this.
    high_ns: u64,
    /// Measurements.
    samples: usize,
}

/// A key that was not measured.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LeftOut<'a> {
    /// Key of a machine file.
    key: &'a str,
    /// Reason.
    why: String,
}

impl Document<'_> {
    /// Of all that was found.
    #[must_use]
    pub fn of(found: &Found) -> Document<'static> {
        let cost = |Figure { key, sample }: &Figure| Cost {
            key,
            meaning: meaning(key),
            median_ns: sample.median,
            low_ns: sample.low,
            high_ns: sample.high,
            samples: sample.count,
        };
        Document {
            schema: "goodness.calibrate/1",
            kernel: kernel_release(),
            cpus: found.cpus.len(),
            hz: found.hz,
            costs: found.figures.iter().map(cost).collect(),
            left_out: refused(found).into_iter().map(|(key, why)| LeftOut { key, why }).collect(),
        }
    }

    /// The costs as a table: schema `goodness.costs/1`.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new("goodness.costs/1", COSTS);
        for cost in &self.costs {
            table.push(&[
                self.kernel.as_deref().into(),
                Cell::Text(cost.key),
                Cell::Text("ns"),
                Cell::Float(cost.median_ns as f64),
                Cell::Float(cost.low_ns as f64),
                Cell::Float(cost.high_ns as f64),
                Cell::Whole(cost.samples as u64),
            ]);
        }
        table
    }
}

/// The machine file: each measured key with its description, number of repetitions and spread; each key not measured as
/// a comment.
#[must_use]
pub fn render(found: &Found, surroundings: &[String]) -> String {
    let mut file = String::from("# Measured by `goodness calibrate`; docs/machines.md says how.\n");
    for line in surroundings {
        let _ = writeln!(file, "# {}", line.replace(['\n', '\r'], " "));
    }
    let mut number = |key: &str, value: u64| {
        let _ = writeln!(file, "{key} = {value}  # {}", meaning(key));
    };
    number("cpus", found.cpus.len() as u64);
    found.hz.into_iter().for_each(|hz| number("hz", hz));
    let groups = groups(&found.cpus);
    groups.iter().for_each(|(key, size)| size.iter().for_each(|size| number(key, *size)));
    for Figure { key, sample } in &found.figures {
        let spread = format!("{} .. {}, {} times", span(sample.low), span(sample.high), sample.count);
        let _ = writeln!(file, "{key} = \"{}\"  # {} ({spread})", span(sample.median), meaning(key));
    }
    for (key, why) in refused(found) {
        let _ = writeln!(file, "# {key} is left out: {why}; its default is {}", default(key));
    }
    file
}

/// The figures as a table of `width` columns, and the keys left out.
#[must_use]
pub fn text(found: &Found, width: u16) -> String {
    let mut table = table::new(width);
    table.set_header(["figure", "median", "a quarter below", "a quarter above", "times", "meaning"]);
    for Figure { key, sample } in &found.figures {
        let (median, low, high) = (span(sample.median), span(sample.low), span(sample.high));
        table.add_row([key, median.as_str(), &low, &high, &sample.count.to_string(), meaning(key)]);
    }
    table::align_right(&mut table, 1..5);
    let mut out = table.to_string();
    for (key, why) in refused(found) {
        let _ = write!(out, "\n  {key} is left out: {why}; its default is {}", default(key));
    }
    out
}

/// Keys that could not be measured, with reasons.
#[must_use]
pub fn refused(found: &Found) -> Vec<(&'static str, String)> {
    let mut refused = found.refused.clone();
    if found.hz.is_none() {
        refused.push(("hz", "the kernel does not tell its tick".into()));
    }
    let uneven = "the CPUs this process may use form groups of different sizes, which a machine file cannot say";
    let sizes = groups(&found.cpus).into_iter().filter(|(_, size)| size.is_none());
    refused.extend(sizes.map(|(key, _)| (key, uneven.to_string())));
    refused
}

/// Number of CPUs per core, cache and node; `None` where it differs between CPUs.
fn groups(cpus: &[Neighbours]) -> [(&'static str, Option<u64>); 3] {
    let size = |group: fn(&Neighbours) -> &Vec<u32>| {
        let first = group(cpus.first()?).len();
        cpus.iter().all(|cpu| group(cpu).len() == first).then_some(first as u64)
    };
    [("smt", size(|it| &it.core)), ("cache", size(|it| &it.cache)), ("node", size(|it| &it.node))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{CpuId, Level};
    use goodness_play::calibrate::Sample;
    use goodness_work::machine::parse_machine;

    fn neighbours(cpu: u32) -> Neighbours {
        let group = |size: u32| (cpu / size * size..(cpu / size + 1) * size).collect();
        Neighbours { cpu, core: group(2), cache: group(4), node: group(8) }
    }

    fn found() -> Found {
        let figure = |(key, median)| Figure { key, sample: Sample { median, low: 1, high: 99_999, count: 101 } };
        Found {
            cpus: (0..16).map(neighbours).collect(),
            hz: Some(300),
            figures: [("switch", 1_234), ("address_space", 56), ("migration_machine", 7_890)].map(figure).into(),
            refused: vec![("idle_exit", "it is below the noise of the measurement".into())],
        }
    }

    fn read_back(found: &Found) -> goodness_core::Machine {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("here.toml");
        std::fs::write(&path, render(found, &["processor: \"quoted\" # and\nbroken".into()])).unwrap();
        parse_machine(path.to_str().unwrap()).unwrap()
    }

    #[test]
    fn what_was_measured_is_read_back_as_a_machine() {
        let machine = read_back(&found());
        assert_eq!((machine.cpu_count(), machine.hz), (16, 300));
        assert_eq!(Level::ALL.map(|level| machine.group(CpuId(9), level).len()), [2, 4, 8, 16]);
        let costs = machine.costs;
        assert_eq!((costs.switch, costs.address_space), (Span(1_234), Span(56)));
        assert_eq!(costs.migration[Level::Machine as usize], Span(7_890));
        assert_eq!(costs.idle_exit, Span::ZERO, "what was refused is not in the file");
    }

    #[test]
    fn what_was_not_measured_is_said_and_left_out() {
        let mut found = found();
        found.hz = None;
        found.cpus[3].core = vec![3];
        let text = render(&found, &[]);
        for said in ["# idle_exit is left out: it is below", "# hz is left out", "# smt is left out: the CPUs"] {
            assert!(text.contains(said), "{text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("hz") || line.starts_with("smt")), "{text}");
        assert_eq!(read_back(&found).hz, 250);
    }
}
