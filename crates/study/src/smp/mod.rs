//! Real kernels on several CPUs beside the simulator, on synthetic loads.
//!
//! `fidelity/smp` holds the loads and what kernels made of them, on two and four equal CPUs that share a cache,
//! `fidelity/eight` on eight of them, `fidelity/topologies` on other machines. [`simulate`] runs a load, [`figures`]
//! measures runs and traces of plays alike, [`score`] compares them and says how large the model's error is.

pub mod as_played;
pub mod figures;
pub mod guest;
pub mod perfect;
pub mod placement;
pub mod score;
pub mod suite;
pub mod table;

use as_played::AsPlayed;
use figures::{Figures, of_run};
use goodness::{Contender, Plan, PolicySpec, Refusal, Timelines, unwatched};
use goodness_core::WorkloadSource;
use guest::{Guest, Shape};
use score::Case;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use suite::{Cell, SUITES, Suite};

/// Simulated runs of each cell, with a seed each. A choice: their mean varies by a fifth of what one run does.
pub const RUNS: u32 = 24;
/// The same under another policy than the kernel's. A choice: a wrong one is far off.
pub const CONTROL_RUNS: u32 = 8;
/// Slices kept of a schedule: more than any play has.
pub(crate) const SLICES: usize = 1 << 20;

/// The guests in which anything was played, of all suites.
///
/// # Errors
/// As [`Suite::cells`].
pub fn compared() -> Result<BTreeSet<Guest>, Box<dyn Error>> {
    let mut compared = BTreeSet::new();
    for suite in SUITES.into_iter().filter_map(Suite::of) {
        compared.extend(suite.cells()?.into_iter().map(|cell| cell.guest));
    }
    Ok(compared)
}

/// Values by figure, of the runs that have it, if all have.
#[must_use]
pub fn by_figure(runs: &[Figures]) -> BTreeMap<String, Vec<f64>> {
    let Some(first) = runs.first() else { return BTreeMap::new() };
    let all = |name: &String| runs.iter().map(|run| run.get(name).copied()).collect::<Option<Vec<f64>>>();
    first.keys().filter_map(|name| Some((name.clone(), all(name)?))).collect()
}

/// Simulates `source` on the machine of `guest` under `policy` so many times. To be compared with plays it is
/// [`AsPlayed`].
///
/// # Errors
/// A policy that does not exist, a fault of the run.
pub fn simulate(
    suite: &Suite,
    source: &dyn WorkloadSource,
    guest: Guest,
    policy: &str,
    runs: u32,
) -> Result<BTreeMap<String, Vec<f64>>, Refusal> {
    let machine = suite.machine(guest)?;
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
/// As [`Suite::open`] and [`simulate`].
pub fn starts(suite: &Suite, cell: &Cell, policy: &str, runs: u32) -> Result<[(usize, usize); 2], Refusal> {
    let work = suite.open(&cell.load)?;
    let source = AsPlayed { source: &*work.source, cpus: cell.guest.cpus };
    let simulated = simulate(suite, &source, cell.guest, policy, runs)?;
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
/// As [`Suite::open`] and [`simulate`].
pub fn cases(suite: &Suite, cells: &[Cell], policy: Option<&str>) -> Result<Vec<Case>, Refusal> {
    let mut cases = Vec::new();
    for cell in cells {
        let work = suite.open(&cell.load)?;
        let (policy, runs) = policy.map_or((cell.guest.policy(), RUNS), |other| (other, CONTROL_RUNS));
        let source = AsPlayed { source: &*work.source, cpus: cell.guest.cpus };
        let simulated = simulate(suite, &source, cell.guest, policy, runs)?;
        cases.extend(score::cases(cell, &simulated));
    }
    Ok(cases)
}
