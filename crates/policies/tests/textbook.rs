//! Textbook schedules of the policies without priorities, and of every policy whose golden schedule no other test runs.

mod harness;

use goodness_core::*;
use goodness_policies::{fifo::Fifo, rr::RoundRobin};
use harness::{MS, cycle, golden, hog, one_cpu, run_of, schedule, schedule_of, task};

/// Three jobs of 24, 3 and 3 ms that arrive together, and one of 2 ms that sleeps first.
fn jobs() -> Vec<TaskSpec> {
    vec![
        task(&[Step::Compute(MS(24))]),
        task(&[Step::Compute(MS(3))]),
        task(&[Step::Compute(MS(3))]),
        task(&[Step::Sleep(MS(5)), Step::Compute(MS(2))]),
    ]
}

/// Policies whose golden schedule needs special work or settings; another test runs it.
const WITH_A_TEST_OF_THEIR_OWN: &[&str] = &[
    "beos",
    "beosrt",
    "bfs",
    "bsd4",
    "cfs",
    "ctss",
    "deadline",
    "edf",
    "eevdf",
    "haiku-2009",
    "haiku-2013",
    "haiku-2pow",
    "haiku-affine",
    "haiku-fair",
    "hrrn",
    "linux-2.0",
    "linux-2.2",
    "linux-2.4",
    "lottery",
    "mlfq",
    "muqss",
    "nt4",
    "o1",
    "priority",
    "rm",
    "rr",
    "rsdl",
    "scx-bpfland",
    "scx-lavd",
    "scx-rusty",
    "scx-simple",
    "sd",
    "sjf",
    "solaris-ts",
    "srtf",
    "staircase",
    "stride",
    "ule",
];

#[test]
fn every_other_registered_policy_runs_the_jobs_as_blessed() {
    for name in goodness_policies::ALL.iter().map(|about| about.name).filter(|n| !WITH_A_TEST_OF_THEIR_OWN.contains(n))
    {
        let policy = goodness_policies::entry(name).expect("a listed policy is found");
        golden(name, &schedule_of(&run_of(policy, &one_cpu(1000), &[], jobs(), MS(40)), MS(40)));
    }
}

#[test]
fn rr_runs_the_jobs_in_turns_of_4_ms_as_blessed() {
    golden("rr", &schedule::<RoundRobin>(1000, &[("timeslice", "4ms")], jobs(), MS(40)));
}

#[test]
fn a_hog_under_fifo_starves_everyone_and_under_rr_delays_by_one_slice() {
    let work = || vec![hog(), cycle(&[Step::Compute(MS(1)), Step::Sleep(MS(9))])];
    assert_eq!(schedule::<Fifo>(1000, &[], work(), MS(30)), "a 0..30");
    let shown = schedule::<RoundRobin>(1000, &[("timeslice", "4ms")], work(), MS(30));
    assert_eq!(shown, "a 0..4  b 4..5  a 5..17  b 17..18  a 18..30", "a slice begins anew when nobody waits");
}
