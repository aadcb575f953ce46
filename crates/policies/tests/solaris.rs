//! The time-sharing class of Solaris in the simulator: schedules of specs section 10.

mod harness;

use goodness_core::*;
use goodness_policies::solaris_ts::SolarisTs;
use harness::*;

fn at(level: u8, mut spec: TaskSpec) -> TaskSpec {
    spec.task.priority = Some(level);
    spec
}

/// specs/cpu-schedulers.md 10: the tick at 0 of the quantum leads to tqexp, ten levels down, with longer turns
#[test]
fn two_hogs_descend_by_ten_levels_with_longer_turns() {
    let hogs = vec![at(59, hog()), at(59, hog())];
    let shown = schedule::<SolarisTs>(100, &[], hogs, MS(900));
    // 59: 20 ms, 49: 40, 39: 80, 29: 120, 19: 160, 9: 200, then level 0.
    assert_eq!(
        shown,
        "a 0..20  b 20..40  a 40..80  b 80..120  a 120..200  b 200..280  a 280..400  b 400..520  a 520..680  b \
            680..840  a 840..900"
    );
}

/// specs/cpu-schedulers.md 10: who sleeps returns above those who compute
#[test]
fn a_sleeper_preempts_a_hog() {
    let sleeper = cycle(&[Step::Compute(MS(2)), Step::Sleep(MS(38))]);
    let shown = schedule::<SolarisTs>(100, &[], vec![at(0, hog()), at(10, sleeper)], MS(90));
    assert_eq!(shown, "b 0..2  a 2..40  b 40..42  a 42..80  b 80..82  a 82..90");
}

/// specs/cpu-schedulers.md 10: each update lifts who waits, 29 → 52 → 59, where it meets the best
#[test]
fn a_thread_starved_by_nice_minus_20_is_served_after_the_second_update() {
    let shown = schedule::<SolarisTs>(100, &[], vec![nice(-20, hog()), hog()], MS(2300));
    let served = shown.split("  ").find(|stretch| stretch.starts_with('b')).unwrap();
    assert_eq!(served, "b 2080..2200", "behind the turn of 200 ms that began at 1880, for its own of 120");
}

/// specs/cpu-schedulers.md 10: RT class above
#[test]
fn real_time_goes_before_the_kernel_and_time_sharing() {
    let fifo = class(Class::Fifo, 1, starting(Start::WokenAt(Time(5_000_000)), task(&[Step::Compute(MS(300))])));
    let woken = starting(Start::WokenAt(Time(8_000_000)), task(&[Step::Compute(MS(4))]));
    let shown = schedule::<SolarisTs>(100, &[], vec![hog(), fifo, woken], MS(320));
    assert_eq!(shown, "a 0..5  b 5..305  c 305..309  a 309..320");
}

/// specs/cpu-schedulers.md 10 "yield: to the tail of its level"
#[test]
fn a_yielding_thread_goes_behind_its_equals() {
    let yielder = task(&[Step::Compute(MS(5)), Step::Yield, Step::Compute(MS(5))]);
    let shown = schedule::<SolarisTs>(100, &[], vec![yielder, task(&[Step::Compute(MS(20))])], MS(30));
    assert_eq!(shown, "a 0..5  b 5..25  a 25..30");
}

#[test]
fn the_textbook_schedule_of_solaris_is_as_blessed() {
    golden("solaris-ts", &schedule::<SolarisTs>(100, &[], textbook(), MS(1400)));
}
