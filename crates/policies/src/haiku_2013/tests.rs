use super::*;
use crate::parts::verb_driver::VerbDriver;
use goodness_core::Task;

const LOW_LATENCY: Settings =
    Settings { mode: Mode::LowLatency, base_quantum: None, max_latency: None, cache_expire: Span::from_ms(100) };

fn lengths(mode: Mode) -> Lengths {
    Lengths::new(&Settings { mode, ..LOW_LATENCY })
}

/// specs/cpu-schedulers.md 7.10 (8)
#[test]
fn quanta_follow_priority_and_are_capped_by_the_threads_of_a_cpu() {
    let us = |priority, threads| lengths(Mode::LowLatency).quantum(priority, threads) / 1000;
    assert_eq!([99, 20, 15, 10, 5, 0].map(|p| us(p, 1)), [1000, 1000, 1500, 2000, 3500, 5000]);
    assert_eq!((us(10, 10), us(20, 10), us(10, 1000)), (500, 500, 100));
}

/// specs/cpu-schedulers.md 7.5
#[test]
fn power_saving_has_longer_quanta() {
    let us = |priority, threads| lengths(Mode::PowerSaving).quantum(priority, threads) / 1000;
    assert_eq!([20, 15, 10, 5, 0].map(|p| us(p, 1)), [2000, 4000, 6000, 13_000, 20_000]);
    assert_eq!((us(10, 10), us(10, 1000)), (2000, 500));
}

fn driver(priority: u8) -> (VerbDriver<Haiku2013>, TaskId) {
    let mut driver = VerbDriver::<Haiku2013>::with(1, LOW_LATENCY);
    let task = driver.admit_as(Task { priority: Some(priority), ..Task::default() }, None);
    driver.wake(task);
    (driver, task)
}

/// Uses `count` quanta up; the effective priorities afterwards.
fn spend(driver: &mut VerbDriver<Haiku2013>, task: TaskId, count: usize) -> Vec<(u8, u8)> {
    let spent = (0..count).map(|_| {
        let slice = driver.choice().timeslice.unwrap();
        driver.stop_after(slice, Stop::SliceEnd);
        (driver.policy().threads[task].penalty, driver.policy().threads[task].level)
    });
    spent.collect()
}

/// specs/cpu-schedulers.md 7.5 "Penalty": down to a fifth of the priority; extra mod (prio − pen) below that
#[test]
fn who_uses_quanta_up_sinks_to_a_floor_and_wanders_below_it() {
    let (mut driver, task) = driver(10);
    let levels = spend(&mut driver, task, 10);
    // Extra penalties 1, 2, 3 …: 9 − 1, 8 − 2, 7 − 3, 6 − 4, 5 − 5 mod 5, 4 − 6 mod 4, 3 − 7 mod 3, 2 − 8 mod 2, then 2
    // − 9 mod 2.
    assert_eq!(levels, [(1, 8), (2, 6), (3, 4), (4, 2), (5, 5), (6, 2), (7, 2), (8, 2), (8, 1), (8, 2)]);
}

/// specs/cpu-schedulers.md 7.5: floor clamp(prio/5, 1, 25)
#[test]
fn the_floor_is_a_fifth_between_1_and_25() {
    let floor = |priority| Thread { priority, ..Thread::default() }.floor();
    assert_eq!([1, 9, 10, 99, 120].map(floor), [1, 1, 2, 19, 24]);
}

/// specs/cpu-schedulers.md 7.5: cancelled by sleeping longer than half the base quantum
#[test]
fn a_sleep_of_more_than_half_a_base_quantum_cancels_the_penalty() {
    for (slept, penalty) in [(Span::from_us(500), 3), (Span::from_us(501), 0)] {
        let (mut driver, task) = driver(15);
        spend(&mut driver, task, 3);
        driver.pick();
        driver.stop(Stop::Blocked { interruptible: true });
        driver.pass_for(slept);
        driver.wake(task);
        assert_eq!(driver.policy().threads[task].penalty, penalty);
        assert_eq!(driver.policy().threads[task].extra, 4, "blocking before the end counts, too");
    }
}

/// specs/cpu-schedulers.md 7.5: "Children inherit the penalty"; real-time threads have none
#[test]
fn children_inherit_penalties_and_real_time_threads_have_none() {
    let (mut driver, task) = driver(15);
    spend(&mut driver, task, 4);
    let child = driver.admit_as(Task { priority: Some(15), ..Task::default() }, Some(task));
    assert_eq!((driver.policy().threads[child].penalty, driver.policy().threads[child].extra), (4, 4));
    let (mut driver, urgent) = super::tests::driver(110);
    assert_eq!(spend(&mut driver, urgent, 3), [(0, 110); 3]);
}

/// specs/cpu-schedulers.md 7.5: preempted, it goes to the front with its rest; with half a minimum left, to the back
#[test]
fn a_preempted_thread_keeps_its_place_unless_its_quantum_is_all_but_over() {
    let preempted_after = |ran: Span| {
        let (mut driver, task) = driver(20);
        let other = driver.admit_as(Task { priority: Some(20), ..Task::default() }, None);
        driver.pick();
        driver.wake(other);
        driver.stop_after(ran, Stop::Preempted);
        let next = driver.choice();
        (next.task == task, next.timeslice.unwrap(), driver.policy().threads[task].stolen)
    };
    assert_eq!(preempted_after(Span::from_us(400)), (true, Span::from_us(600), 0));
    assert_eq!(preempted_after(Span::from_us(949)), (true, Span::from_us(51), 0));
    let (kept, _, stolen) = preempted_after(Span::from_us(950));
    assert_eq!((kept, stolen), (false, 50_000), "the rest becomes stolen time");
}

#[test]
fn stolen_time_lengthens_a_later_quantum_by_the_minimum_at_most() {
    let (mut driver, task) = driver(110);
    driver.pick();
    driver.stop_after(Span::from_us(300), Stop::Yielded);
    let slice = driver.choice().timeslice.unwrap();
    assert_eq!((slice, driver.policy().threads[task].stolen), (Span::from_us(1100), 600_000));
}
