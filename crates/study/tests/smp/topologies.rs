//! Machines with threads, caches and nodes (`fidelity/topologies`).

use super::{assert_within, cases, suite, within};
use goodness_study::smp;
use goodness_study::smp::suite::Suite;
use std::path::Path;

/// Figures with a promise.
const CLASSES: [&str; 5] = ["share", "shared_cores", "lopsided", "switches", "wakeup_latency_p99"];
/// Cells within bounds, at least, of the seen and the unseen half.
const LEAST: [[usize; 5]; 2] = [[24, 12, 12, 24, 12], [15, 11, 12, 22, 9]];

/// The control is a policy that takes any idle CPU.
#[test]
fn tasks_are_placed_as_kernels_place_them() {
    let suite = suite("topologies");
    for (is_unseen, least) in [(false, LEAST[0]), (true, LEAST[1])] {
        assert_within(&cases(&suite, is_unseen, None), CLASSES, least);
    }
    let [shares, shared_cores, _, switches, _] = within(&cases(&suite, false, Some("rr")), CLASSES);
    assert!(shared_cores < LEAST[0][1] && switches < LEAST[0][3], "rr: {shares} {shared_cores} {switches}");
}

/// The suite, with a copy of its machines in the folder `name` that lacks these keys.
fn without(suite: &Suite, name: &str, is_left_out: impl Fn(&str) -> bool) -> Suite {
    let copy = Suite { folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), ..suite.clone() };
    for part in ["loads", "machines"] {
        std::fs::create_dir_all(copy.folder.join(part)).unwrap();
        for entry in std::fs::read_dir(suite.folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let kept: Vec<&str> = text.lines().filter(|line| part == "loads" || !is_left_out(line)).collect();
            std::fs::write(copy.folder.join(part).join(path.file_name().unwrap()), kept.join("\n")).unwrap();
        }
    }
    copy
}

/// Negative control: the same machines, on which scheduling costs nothing.
#[test]
fn machines_without_costs_miss_switches() {
    let suite = suite("topologies");
    let free = without(&suite, "without-costs", |line| line.contains(" = \""));
    let [switches] = within(&smp::cases(&free, &suite.half(true).unwrap(), None).unwrap(), ["switches"]);
    assert!(switches < LEAST[1][3], "{switches}");
}

/// Negative control: the same machines without threads of the kernel and passes after the tick, on which nothing moves
/// a hog that has a CPU.
#[test]
fn machines_without_threads_of_the_kernel_and_late_passes_miss_switches() {
    let suite = suite("topologies");
    let is_left_out = |line: &str| line.starts_with("worker_every") || line.starts_with("late_balance");
    let quiet = without(&suite, "without-threads", is_left_out);
    let [switches] = within(&smp::cases(&quiet, &suite.half(false).unwrap(), None).unwrap(), ["switches"]);
    assert!(switches < LEAST[0][3], "{switches}");
}

/// Hogs, no more than cores of two threads, get a core each, in Linux and in 95 of 100 simulated starts. The control
/// takes any idle CPU.
#[test]
fn hogs_start_on_cores_of_their_own_as_in_kernels() {
    let (mut kernel, mut played, mut right, mut simulated, mut blind) = (0, 0, 0, 0, 0);
    let suite = suite("topologies");
    for cell in suite.cells().unwrap().iter().filter(|cell| smp::has_starts(cell)) {
        let [(spread, of), (own, runs)] = smp::starts(&suite, cell, cell.guest.policy(), 20).unwrap();
        assert!(own * 100 >= runs * 95, "{} {}: {own} of {runs}", cell.load, cell.guest.name());
        assert!(of < 20 || spread * 100 >= of * 95, "kernel, {}: {spread} of {of}", cell.load);
        blind += smp::starts(&suite, cell, "rr", 20).unwrap()[1].0;
        (kernel, played, right, simulated) = (kernel + spread, played + of, right + own, simulated + runs);
    }
    assert!(played >= 38 && kernel * 100 >= played * 85, "kernel: {kernel} of {played}");
    assert!(right * 100 >= simulated * 95, "{right} of {simulated}");
    assert!(blind * 100 < simulated * 95, "rr: {blind} of {simulated}");
}
