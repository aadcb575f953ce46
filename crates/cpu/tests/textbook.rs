//! The two policies without priorities, as a textbook draws them.

mod lab;

use goodness_core::*;
use goodness_cpu::{fifo::Fifo, rr::RoundRobin};
use lab::{MS, cycle, golden, hog, schedule, task};

/// Three jobs of 24, 3 and 3 ms that arrive together, and one of 2 ms that sleeps first.
fn jobs() -> Vec<TaskSpec> {
    vec![
        task(&[Step::Compute(MS(24))]),
        task(&[Step::Compute(MS(3))]),
        task(&[Step::Compute(MS(3))]),
        task(&[Step::Sleep(MS(5)), Step::Compute(MS(2))]),
    ]
}

#[test]
fn the_textbook_schedules_are_as_blessed() {
    golden("fifo", &schedule::<Fifo>(1000, &[], jobs(), MS(40)));
    golden("rr", &schedule::<RoundRobin>(1000, &[("timeslice", "4ms")], jobs(), MS(40)));
}

#[test]
fn a_hog_under_fifo_starves_everyone_and_under_rr_delays_by_one_slice() {
    let work = || vec![hog(), cycle(&[Step::Compute(MS(1)), Step::Sleep(MS(9))])];
    assert_eq!(schedule::<Fifo>(1000, &[], work(), MS(30)), "a 0..30");
    let told = schedule::<RoundRobin>(1000, &[("timeslice", "4ms")], work(), MS(30));
    assert_eq!(told, "a 0..4  b 4..5  a 5..17  b 17..18  a 18..30", "a slice begins anew when nobody waits");
}
