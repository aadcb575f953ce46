//! Kernels beside the simulator on machines with threads, caches and nodes (`fidelity/topologies`): what is promised,
//! and that schedulers that know nothing of these are rejected.

use goodness_study::smp::score::{self, Case};
use goodness_study::smp::{self, Cell};
use std::path::PathBuf;

fn suite() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fidelity/topologies")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(suite().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn all() -> Vec<Cell> {
    smp::cells(&read("measured.toml"), &smp::loads(&suite()).unwrap()).unwrap()
}

fn cases(is_unseen: bool, policy: Option<&str>) -> Vec<Case> {
    let cells: Vec<Cell> = all().into_iter().filter(|cell| cell.is_unseen == is_unseen).collect();
    smp::cases(&suite(), &cells, policy).unwrap()
}

#[test]
fn the_halves_are_those_that_were_fixed_before_anything_was_measured() {
    let text = read("README.md");
    for (load, is_unseen) in smp::loads(&suite()).unwrap() {
        let half = if is_unseen { "- unseen:" } else { "- seen:" };
        let names = text.split_once(half).unwrap().1.split("\n-").next().unwrap();
        let names = names.split("\n\n").next().unwrap();
        assert!(names.contains(&format!("`{load}`")), "{load} belongs to {half}");
    }
}

#[test]
fn the_committed_figures_are_read_and_written_alike() {
    let all = all();
    assert_eq!(all.len(), 12 * smp::TOPOLOGIES.len());
    let plays = |cell: &Cell| cell.guest.plays(&cell.load) as usize;
    assert!(all.iter().all(|cell| cell.plays.values().all(|values| values.len() == plays(cell))));
    assert_eq!(smp::file(&all), read("measured.toml"));
}

/// Cells within bounds, at least. The control is a policy that takes any idle CPU.
#[test]
fn tasks_are_placed_as_kernels_place_them() {
    for (is_unseen, least) in [(false, LEAST[0]), (true, LEAST[1])] {
        let own = cases(is_unseen, None);
        for (class, least) in CLASSES.into_iter().zip(least) {
            let (inside, of) = score::within(&own, class);
            assert!(inside >= least, "{class}, unseen {is_unseen}: {inside} of {of}");
        }
    }
    let blind = cases(false, Some("rr"));
    for (class, least) in [("shared_cores", LEAST[0][1]), ("switches", LEAST[0][3])] {
        let (inside, of) = score::within(&blind, class);
        assert!(inside < least, "rr {class}: {inside} of {of}");
    }
}

/// Negative control: the same machines, on which scheduling costs nothing.
#[test]
fn machines_without_costs_miss_switches() {
    let free = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("without-costs");
    for part in ["loads", "machines"] {
        std::fs::create_dir_all(free.join(part)).unwrap();
        for entry in std::fs::read_dir(suite().join(part)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let is_cost = |line: &&str| part == "machines" && line.contains(" = \"");
            let kept: Vec<&str> = text.lines().filter(|line| !is_cost(line)).collect();
            std::fs::write(free.join(part).join(path.file_name().unwrap()), kept.join("\n")).unwrap();
        }
    }
    let unseen: Vec<Cell> = all().into_iter().filter(|cell| cell.is_unseen).collect();
    let (inside, of) = score::within(&smp::cases(&free, &unseen, None).unwrap(), "switches");
    assert!(inside < LEAST[1][3], "{inside} of {of}");
}

/// Where no more hogs run than cores of two threads, starts are placed as by the kernel in 95 of 100. The control takes
/// any idle CPU.
#[test]
fn hogs_start_on_cores_of_their_own_as_in_kernels() {
    let (mut kernel, mut played, mut right, mut simulated, mut blind) = (0, 0, 0, 0, 0);
    for cell in all().iter().filter(|cell| smp::has_starts(cell)) {
        let [(spread, of), (own, runs)] = smp::starts(&suite(), cell, cell.guest.policy(), 20).unwrap();
        assert!(own * 100 >= runs * 95, "{} {}: {own} of {runs}", cell.load, cell.guest.name());
        blind += smp::starts(&suite(), cell, "rr", 20).unwrap()[1].0;
        (kernel, played, right, simulated) = (kernel + spread, played + of, right + own, simulated + runs);
    }
    assert!(played >= 20 && kernel * 100 >= played * 95, "kernel: {kernel} of {played}");
    assert!(right * 100 >= simulated * 95, "{right} of {simulated}");
    assert!(blind * 100 < simulated * 95, "rr: {blind} of {simulated}");
}

/// Figures with a promise.
const CLASSES: [&str; 5] = ["share", "shared_cores", "lopsided", "switches", "wakeup_latency_p99"];
/// Cells within bounds, at least, of the seen and the unseen half.
const LEAST: [[usize; 5]; 2] = [[23, 12, 12, 19, 12], [16, 10, 12, 22, 9]];
