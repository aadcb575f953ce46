//! Two and four equal CPUs (`fidelity/smp`), whose error all runs carry.

use super::{assert_within, cases, suite, within};
use goodness_core::{CpuId, CpuSet, Seed, TaskId, Workload, WorkloadSource};
use goodness_study::smp;
use goodness_study::smp::as_played::AsPlayed;
use goodness_study::smp::score::{self, Case};
use goodness_study::smp::suite::Cell;

/// Figures with a promise.
const CLASSES: [&str; 3] = ["share", "wakeup_latency_p99", "migrations"];
/// Cells within bounds, at least, of the seen and the unseen half.
const LEAST: [[usize; 3]; 2] = [[76, 42, 71], [74, 60, 66]];

#[test]
fn both_halves_are_within_bounds_and_the_stated_error_is_theirs() {
    let suite = suite("smp");
    let [seen, unseen] = [false, true].map(|is_unseen| cases(&suite, is_unseen, None));
    assert_within(&seen, CLASSES, LEAST[0]);
    assert_within(&unseen, CLASSES, LEAST[1]);
    let kept = std::fs::read_to_string(suite.folder.join("../smp.toml")).unwrap();
    let stated = score::errors(&[seen, unseen].concat());
    assert_eq!(score::file(&stated, &smp::compared().unwrap()), kept, "run the example `smp` with `errors`");
}

/// Panics unless the seen half is as far off as no model may be.
#[track_caller]
fn assert_rejected(seen: &[Case], what: &str) {
    let [shares, latencies, migrations] = within(seen, CLASSES);
    assert!(shares < LEAST[0][0] - 10, "{what}: {shares} shares");
    let is_off = latencies < LEAST[0][1] || migrations < LEAST[0][2] - 10;
    assert!(is_off, "{what}: {latencies} latencies, {migrations} counts of migrations");
}

/// Negative control: schedulers that know neither weights nor wake-up preemption.
#[test]
fn a_wrong_policy_is_rejected() {
    for policy in ["rr", "fifo"] {
        assert_rejected(&cases(&suite("smp"), false, Some(policy)), policy);
    }
}

/// Negative control of the newest kernel's rules: those of 6.18, whose slices end at ticks.
#[test]
fn the_rules_of_6_18_are_rejected_on_7_3() {
    let suite = suite("smp");
    let newest: Vec<Cell> = suite.cells().unwrap().into_iter().filter(|it| it.guest.kernel == "7.3").collect();
    let switches = |policy| score::within(&smp::cases(&suite, &newest, policy).unwrap(), "switches");
    let (own, of_6_18) = (switches(None), switches(Some("eevdf:kernel=6.18,preempt=lazy")));
    assert!(own.0 >= 20 && of_6_18.0 <= 14, "of 26 cells {own:?}, with the rules of 6.18 {of_6_18:?}");
}

/// A load whose tasks stay on the CPU they were dealt to.
struct Unbalanced<'a> {
    load: &'a dyn WorkloadSource,
    cpus: u32,
}

impl WorkloadSource for Unbalanced<'_> {
    fn name(&self) -> &str {
        self.load.name()
    }

    fn what_varies(&self) -> &str {
        self.load.what_varies()
    }

    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let mut work = self.load.build(seed, replication);
        for (index, spec) in (0..).zip(&mut work.tasks) {
            let allowed: Vec<CpuId> =
                (0..self.cpus).map(CpuId).filter(|cpu| spec.task.affinity.contains(*cpu)).collect();
            spec.task.affinity = CpuSet::of(&[allowed[index % allowed.len()]]);
        }
        work
    }

    fn place_of(&self, task: TaskId) -> Option<String> {
        self.load.place_of(task)
    }
}

/// Negative control: the right schedulers without balancing.
#[test]
fn a_simulator_without_balancing_is_rejected() {
    let (suite, mut all) = (suite("smp"), Vec::new());
    for cell in suite.half(false).unwrap() {
        let work = suite.open(&cell.load).unwrap();
        let cpus = cell.guest.cpus;
        let load = AsPlayed { source: &Unbalanced { load: &*work.source, cpus }, cpus };
        let simulated = smp::simulate(&suite, &load, cell.guest, cell.guest.policy(), smp::CONTROL_RUNS).unwrap();
        all.extend(score::cases(&cell, &simulated));
    }
    assert_rejected(&all, "no balancing");
}

/// Negative control: the right schedulers on tasks that are there at once, without the player that makes them.
#[test]
fn work_that_no_player_begins_misses_migrations() {
    let (suite, mut all) = (suite("smp"), Vec::new());
    for cell in suite.half(false).unwrap() {
        let work = suite.open(&cell.load).unwrap();
        let simulated = smp::simulate(&suite, &*work.source, cell.guest, cell.guest.policy(), smp::RUNS).unwrap();
        all.extend(score::cases(&cell, &simulated));
    }
    let [migrations] = within(&all, ["migrations"]);
    assert!(migrations < LEAST[0][2] - 3, "{migrations}");
}
