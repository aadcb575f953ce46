//! Examining tasks costs time, and a global run-queue lock costs more with more CPUs.

use goodness::{PolicySpec, Run, Trial};
use goodness_core::{Machine, Overhead, Seed, Span, WorkloadSource};
use goodness_work::models::BuiltIn;

/// Runs sixteen sleepers per CPU, about four of them runnable, at 1 us per candidate examined.
fn run(policy: &str, cpus: u32) -> Run {
    let mut machine = Machine::flat(cpus, 100).unwrap();
    machine.costs.effort[0] = Span::from_us(1);
    let work = BuiltIn::parse(&format!("sleepers:tasks={},run=200us,sleep=3ms,duration=500ms", 16 * cpus)).unwrap();
    let policy = PolicySpec::parse(policy).unwrap();
    let trial = Trial::of(&policy, &machine, work.build(Seed(1), 0), Seed(1));
    let run = goodness::run(trial).expect("the run is sound");
    assert_eq!(run.checked.violations, []);
    run
}

fn share(run: &Run, part: &str) -> f64 {
    run.measured.get(&format!("scheduler_share{part}")).value.expect("CPUs were busy")
}

#[test]
fn one_lock_for_all_runqueues_costs_more_with_every_cpu() {
    let shares: Vec<f64> = [1, 2, 4, 8].map(|cpus| share(&run("linux-2.2", cpus), "_lock")).to_vec();
    assert_eq!(shares[0], 0.0, "nobody else wants the lock of one CPU");
    assert!(shares.windows(2).all(|pair| pair[0] < pair[1]), "{shares:?}");
    assert!(shares[3] > 0.05, "{shares:?}");
}

#[test]
fn a_cpu_never_waits_for_its_own_lock() {
    let mut machine = Machine::flat(1, 1024).unwrap();
    machine.costs.effort[0] = Span::from_us(2);
    let work = BuiltIn::parse("specweb96:duration=500ms").unwrap();
    let policy = PolicySpec::parse("linux-2.2").unwrap();
    let trial = Trial::of(&policy, &machine, work.build(Seed(1), 0), Seed(1));
    assert_eq!(share(&goodness::run(trial).unwrap(), "_lock"), 0.0);
}

#[test]
fn a_lock_for_each_runqueue_is_never_waited_for() {
    assert_eq!(share(&run("o1", 8), "_lock"), 0.0);
}

#[test]
fn the_parts_add_up_to_the_whole_and_a_search_of_all_costs_more_than_one_of_the_first() {
    let (old, new) = (run("linux-2.2", 4), run("o1", 4));
    for run in [&old, &new] {
        let is_other = |kind: &&Overhead| matches!(kind, Overhead::Spin | Overhead::Io | Overhead::IoLock);
        let parts =
            Overhead::ALL.iter().filter(|kind| !is_other(kind)).map(|kind| share(run, &format!("_{}", kind.name())));
        assert!((parts.sum::<f64>() - share(run, "")).abs() < 1e-9);
    }
    let (searched, found) = (share(&old, "_search"), share(&new, "_search"));
    assert!(searched > 2.0 * found, "{searched} and {found}");
}
