//! Real kernels on several CPUs beside the simulator, on synthetic loads.
//!
//! `fidelity/smp` holds the loads and what kernels made of them, on two and four equal CPUs that share a cache,
//! `fidelity/eight` on eight of them, `fidelity/topologies` on other machines. [`simulate`] runs a load, [`figures`] measures runs and traces of plays
//! alike, [`score`] compares them and says how large the model's error is.

mod as_played;
pub mod figures;
pub mod placement;
pub mod score;

use as_played::AsPlayed;
use figures::{Figures, of_run};
use goodness::{Contender, OpenOptions, Plan, PolicySpec, Refusal, Timelines, Work, unwatched};
use goodness_core::{Machine, WorkloadSource};
use goodness_work::machine::parse_machine;
use score::Case;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Plays of a cell, with seeds from 1 on.
pub const PLAYS: u64 = 3;
/// Simulated runs of each cell, with a seed each. A choice: their mean varies by a third of what one run does.
pub const RUNS: u32 = 8;
/// Slices kept of a schedule: more than any play has.
pub(crate) const SLICES: usize = 1 << 20;

/// What the CPUs of a guest share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One cache.
    Flat,
    /// One cache, and each two a core.
    Threads,
    /// Half of them a cache.
    Caches,
    /// Half of them a cache and a node.
    Nodes,
}

/// A kernel on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guest {
    /// Kernel series.
    pub kernel: &'static str,
    /// CPUs.
    pub cpus: u32,
    /// What they share.
    pub shape: Shape,
}

const fn guest(kernel: &'static str, cpus: u32, shape: Shape) -> Guest {
    Guest { kernel, cpus, shape }
}

/// The guests in which the loads of `fidelity/smp` were played.
pub const GUESTS: [Guest; 6] = [
    guest("6.1", 2, Shape::Flat),
    guest("6.1", 4, Shape::Flat),
    guest("6.12", 4, Shape::Flat),
    guest("6.18", 2, Shape::Flat),
    guest("6.18", 4, Shape::Flat),
    guest("7.3", 4, Shape::Flat),
];

/// Those in which the loads of `fidelity/eight` were, of twice the tasks.
pub const EIGHT: [Guest; 1] = [guest("6.18", 8, Shape::Flat)];

/// Those in which the loads of `fidelity/topologies` were.
pub const TOPOLOGIES: [Guest; 4] = [
    guest("6.18", 4, Shape::Caches),
    guest("6.18", 4, Shape::Nodes),
    guest("6.18", 4, Shape::Threads),
    guest("6.18", 8, Shape::Threads),
];

impl Guest {
    /// Name of its folder of traces.
    #[must_use]
    pub fn name(self) -> String {
        let shape = match self.shape {
            Shape::Flat => "",
            Shape::Threads => "t2",
            Shape::Caches => "c2",
            Shape::Nodes => "n2",
        };
        format!("{}-{}{shape}", self.kernel, self.cpus)
    }

    /// Plays of `load`: more where starts are counted.
    #[must_use]
    pub fn plays(self, load: &str) -> u64 {
        if (self.cpus, self.shape, load) == (8, Shape::Threads, "four-hogs") { 20 } else { PLAYS }
    }

    /// The scheduler of its kernel. 6.18 and 7.3 preempt lazily, as they are built.
    #[must_use]
    pub fn policy(self) -> &'static str {
        match self.kernel {
            "6.1" => "cfs:kernel=6.1",
            "6.12" => "eevdf:kernel=6.12",
            "6.18" => "eevdf:kernel=6.18,preempt=lazy",
            _ => "eevdf:kernel=7.2,preempt=lazy",
        }
    }

    /// The kernel whose rules its policy has: its own, or the nearest before it.
    #[must_use]
    pub fn profile(self) -> &'static str {
        self.policy().split(['=', ',']).nth(1).unwrap_or("")
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
        let guest = *GUESTS.iter().chain(&EIGHT).chain(&TOPOLOGIES).find(|it| it.name() == guest)?;
        Some(Cell { load: load.into(), guest, is_unseen: *halves.get(load)?, plays })
    };
    all.into_iter().map(|it| cell(it.clone()).ok_or(format!("no such cell: {}", it.0))).collect()
}

/// The guests in which anything was played, of all suites.
///
/// # Errors
/// A file that cannot be read or is invalid.
pub fn compared(fidelity: &Path) -> Result<BTreeSet<Guest>, Box<dyn std::error::Error>> {
    let mut compared = BTreeSet::new();
    for suite in ["smp", "eight", "topologies"].map(|name| fidelity.join(name)) {
        let all = cells(&std::fs::read_to_string(suite.join("measured.toml"))?, &loads(&suite)?)?;
        compared.extend(all.into_iter().map(|cell| cell.guest));
    }
    Ok(compared)
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
            let lines: Vec<String> = values.chunks(8).map(|some| some.join(", ")).collect();
            text += &format!("\"{figure}\" = [{}]\n", lines.join(",\n    "));
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

/// The machine of `guest`, with what scheduling costs there. In guests the threads of a core do not slow each other.
///
/// # Errors
/// The file `machines/GUEST.toml` of the suite is missing or invalid.
pub fn machine(suite: &Path, guest: Guest) -> Result<Machine, Refusal> {
    let path = suite.join(format!("machines/{}.toml", guest.name()));
    parse_machine(&path.to_string_lossy()).map_err(Refusal::usage)
}

/// Simulates `source` on the machine of `guest` under `policy`, with the run-up of a play.
///
/// # Errors
/// A policy that does not exist, a fault of the run.
pub fn simulate(
    suite: &Path,
    source: &dyn WorkloadSource,
    guest: Guest,
    policy: &str,
) -> Result<BTreeMap<String, Vec<f64>>, Refusal> {
    simulate_often(suite, source, guest, policy, RUNS)
}

/// As [`simulate`], with so many runs.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_often(
    suite: &Path,
    source: &dyn WorkloadSource,
    guest: Guest,
    policy: &str,
    runs: u32,
) -> Result<BTreeMap<String, Vec<f64>>, Refusal> {
    let machine = machine(suite, guest)?;
    let source = &AsPlayed(source);
    let contenders = || PolicySpec::parse(policy).map(|spec| vec![Contender::policy(spec)]);
    let plan = Plan { runs, may_end_waiting: true, ..Plan::on(source, &machine, contenders()?) };
    if guest.shape == Shape::Flat {
        let runs = plan.run_each(&unwatched, |run| Ok(of_run(&run, &machine)))?;
        return Ok(by_figure(&runs[0]));
    }
    // A plan keeps the schedule of its first run.
    let timelines = Timelines { slices: SLICES, with_queues: false };
    let mut figures = Vec::new();
    for first in 0..runs {
        let plan = Plan { runs: 1, first, timelines, contenders: contenders()?, ..plan };
        figures.extend(plan.run_each(&unwatched, |run| Ok(of_run(&run, &machine)))?.remove(0));
    }
    Ok(by_figure(&figures))
}

/// True if starts of `cell` are counted: no more hogs than the machine has cores of two threads.
#[must_use]
pub fn has_starts(cell: &Cell) -> bool {
    let hogs = ["two-hogs", "three-hogs", "four-hogs"].iter().position(|it| *it == cell.load);
    let cores = cell.guest.cpus as usize / 2;
    cell.guest.shape == Shape::Threads && hogs.is_some_and(|place| place + 2 <= cores)
}

/// True if a start with these `shared_cores` has its tasks on cores of their own.
fn is_spread(shared_cores: &f64) -> bool {
    *shared_cores < 1.0
}

/// Starts of `cell` on cores of their own, and all of them; likewise in `runs` simulated ones.
///
/// # Errors
/// As [`open`] and [`simulate`].
pub fn starts(suite: &Path, cell: &Cell, policy: &str, runs: u32) -> Result<[(usize, usize); 2], Refusal> {
    let work = open(suite, &cell.load)?;
    let simulated = simulate_often(suite, &*work.source, cell.guest, policy, runs)?;
    let count = |all: &BTreeMap<String, Vec<f64>>| {
        let shared = all.get("shared_cores").map_or(&[][..], Vec::as_slice);
        (shared.iter().filter(|it| is_spread(it)).count(), shared.len())
    };
    Ok([count(&cell.plays), count(&simulated)])
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
        let simulated = simulate(suite, &*work.source, cell.guest, policy.unwrap_or(cell.guest.policy()))?;
        cases.extend(score::cases(cell, &simulated));
    }
    Ok(cases)
}
