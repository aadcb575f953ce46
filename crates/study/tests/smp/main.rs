//! Kernels on several CPUs beside the simulator: what is promised, and that wrong models are rejected.

mod eight;
mod equal;
mod groups;
mod topologies;

use goodness_study::smp;
use goodness_study::smp::score::{self, Case};
use goodness_study::smp::suite::{self, SUITES, Suite};

fn suite(name: &str) -> Suite {
    Suite::of(name).unwrap()
}

/// Every figure of a half of a suite beside what is simulated, under the kernel's scheduler or under `policy`.
fn cases(suite: &Suite, is_unseen: bool, policy: Option<&str>) -> Vec<Case> {
    smp::cases(suite, &suite.half(is_unseen).unwrap(), policy).unwrap()
}

/// Cells within bounds, of so many classes of figures.
fn within<const N: usize>(cases: &[Case], classes: [&str; N]) -> [usize; N] {
    classes.map(|class| score::within(cases, class).0)
}

/// Panics if fewer cells than `least` are within bounds.
#[track_caller]
fn assert_within<const N: usize>(cases: &[Case], classes: [&str; N], least: [usize; N]) {
    let counts = within(cases, classes);
    assert!(counts.iter().zip(least).all(|(count, least)| *count >= least), "{classes:?}: {counts:?} of {least:?}");
}

#[test]
fn the_halves_are_those_that_were_fixed_before_anything_was_measured() {
    for suite in SUITES.map(suite) {
        let text = std::fs::read_to_string(suite.folder.join("README.md")).unwrap();
        for (load, is_unseen) in suite.loads().unwrap() {
            let half = if is_unseen { "- unseen:" } else { "- seen:" };
            let names = text.split_once(half).unwrap().1.split("\n-").next().unwrap();
            let names = names.split("\n\n").next().unwrap();
            assert!(names.contains(&format!("`{load}`")), "{load} belongs to {half}");
        }
    }
}

#[test]
fn the_committed_figures_are_read_and_written_alike() {
    for suite in SUITES.map(suite) {
        let all = suite.cells().unwrap();
        assert_eq!(all.len(), suite.loads().unwrap().len() * suite.guests.len());
        for cell in &all {
            let plays = cell.guest.plays(&cell.load) as usize;
            assert!(cell.plays.values().all(|values| values.len() == plays), "{} {}", cell.load, cell.guest.name());
        }
        assert_eq!(suite::file(&all), std::fs::read_to_string(suite.file()).unwrap());
    }
}
