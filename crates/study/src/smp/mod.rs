//! Real kernels on several CPUs beside the simulator, on synthetic loads.
//!
//! `fidelity/smp` holds the loads and what kernels made of them. [`simulate`] runs a load, [`figures`] measures runs
//! and traces of plays alike, [`score`] compares them and says how large the model's error is.

pub mod figures;
pub mod score;

use figures::{Figures, of_run};
use goodness::{Contender, OpenOptions, Plan, PolicySpec, Refusal, Work, unwatched};
use goodness_core::{Machine, WorkloadSource};
use score::Case;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// Seeds of each play.
pub const SEEDS: [u64; 3] = [1, 2, 3];
/// Simulated runs of each cell, with a seed each. A choice: their mean varies by a third of what one run does.
pub const RUNS: u32 = 8;
/// Ticks per second of the kernels in guests.
const HZ: u32 = 250;

/// A kernel on a number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guest {
    /// Kernel series.
    pub kernel: &'static str,
    /// CPUs.
    pub cpus: u32,
}

/// The guests in which the loads were played.
pub const GUESTS: [Guest; 5] = [
    Guest { kernel: "6.1", cpus: 2 },
    Guest { kernel: "6.1", cpus: 4 },
    Guest { kernel: "6.12", cpus: 4 },
    Guest { kernel: "6.18", cpus: 2 },
    Guest { kernel: "6.18", cpus: 4 },
];

impl Guest {
    /// Name of its folder of traces.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}-{}", self.kernel, self.cpus)
    }

    /// The scheduler of its kernel. 6.18 preempts lazily, as it is built.
    #[must_use]
    pub fn policy(self) -> &'static str {
        match self.kernel {
            "6.1" => "cfs:kernel=6.1",
            "6.12" => "eevdf:kernel=6.12",
            _ => "eevdf:kernel=6.18,preempt=lazy",
        }
    }

    /// Its policy's name, which shares an error.
    #[must_use]
    pub fn family(self) -> &'static str {
        self.policy().split_once(':').map_or("", |(name, _)| name)
    }
}

/// A load on a kernel and a number of CPUs, with the figures of each play.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name of the load.
    pub load: String,
    /// Kernel and CPUs.
    pub guest: Guest,
    /// True if the load belongs to the unseen half.
    pub is_unseen: bool,
    /// Values by figure, of all plays.
    pub plays: BTreeMap<String, Vec<f64>>,
}

/// Names of all loads in the suite's folder, with their halves: of the names in order of their SHA-256, the second half
/// is the unseen one.
///
/// # Errors
/// The folder cannot be read.
pub fn loads(suite: &Path) -> std::io::Result<BTreeMap<String, bool>> {
    let stem = |entry: std::fs::DirEntry| entry.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let names = std::fs::read_dir(suite.join("loads"))?.filter_map(|entry| entry.ok().and_then(stem));
    let mut names: Vec<String> = names.collect();
    names.sort_by_key(|name| Sha256::digest(name));
    let seen = names.len() / 2;
    Ok(names.into_iter().enumerate().map(|(place, name)| (name, place >= seen)).collect())
}

/// Opens the load of that name.
///
/// # Errors
/// The file cannot be read.
pub fn open(suite: &Path, load: &str) -> Result<Work, Refusal> {
    goodness::open(&suite.join(format!("loads/{load}.toml")).to_string_lossy(), &OpenOptions::default(), &unwatched)
}

/// The cells in the text of `measured.toml`.
///
/// # Errors
/// The file is invalid.
pub fn cells(text: &str, halves: &BTreeMap<String, bool>) -> Result<Vec<Cell>, String> {
    let all: BTreeMap<String, BTreeMap<String, Vec<f64>>> = toml::from_str(text).map_err(|why| why.to_string())?;
    let cell = |(name, plays): (String, _)| {
        let (load, guest) = name.split_once(' ')?;
        let guest = *GUESTS.iter().find(|it| it.name() == guest)?;
        Some(Cell { load: load.into(), guest, is_unseen: *halves.get(load)?, plays })
    };
    all.into_iter().map(|it| cell(it.clone()).ok_or(format!("no such cell: {}", it.0))).collect()
}

/// The text of `measured.toml`.
#[must_use]
pub fn file(cells: &[Cell]) -> String {
    let mut text = String::from(
        "# Figures of each play: shares, spread and idle time in per cent, rates per second, latencies in ns. Written \
         by\n# cargo run --release -p goodness-study --example smp -- measure\n",
    );
    for cell in cells {
        text += &format!("\n[\"{} {}\"]\n", cell.load, cell.guest.name());
        for (figure, values) in &cell.plays {
            let values: Vec<String> = values.iter().map(|value| format!("{value:.5e}")).collect();
            text += &format!("\"{figure}\" = [{}]\n", values.join(", "));
        }
    }
    text
}

/// Values by figure, of the runs that have it, if all have.
#[must_use]
pub fn by_figure(runs: &[Figures]) -> BTreeMap<String, Vec<f64>> {
    let Some(first) = runs.first() else { return BTreeMap::new() };
    let all = |name: &String| runs.iter().map(|run| run.get(name).copied()).collect::<Option<Vec<f64>>>();
    first.keys().filter_map(|name| Some((name.clone(), all(name)?))).collect()
}

/// Simulates `source` on the CPUs of `guest` under `policy`. On this machine scheduling costs nothing.
///
/// # Errors
/// A policy that does not exist, a fault of the run.
pub fn simulate(
    source: &dyn WorkloadSource,
    guest: Guest,
    policy: &str,
) -> Result<BTreeMap<String, Vec<f64>>, Refusal> {
    let machine = Machine::flat(guest.cpus, HZ).map_err(Refusal::usage)?;
    let contender = Contender::policy(PolicySpec::parse(policy)?);
    let plan = Plan { runs: RUNS, may_end_waiting: true, ..Plan::on(source, &machine, vec![contender]) };
    let runs = plan.run_each(&unwatched, |run| Ok(of_run(&run, guest.cpus as usize)))?;
    Ok(by_figure(&runs[0]))
}

/// Every figure of `cells` beside what is simulated; `policy` replaces the kernel's own, to see that a wrong one is
/// found out.
///
/// # Errors
/// As [`open`] and [`simulate`].
pub fn cases(suite: &Path, cells: &[Cell], policy: Option<&str>) -> Result<Vec<Case>, Refusal> {
    let mut cases = Vec::new();
    for cell in cells {
        let work = open(suite, &cell.load)?;
        let simulated = simulate(&*work.source, cell.guest, policy.unwrap_or(cell.guest.policy()))?;
        cases.extend(score::cases(cell, &simulated));
    }
    Ok(cases)
}
