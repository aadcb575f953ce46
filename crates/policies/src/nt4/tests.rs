use super::*;
use crate::parts::verb_driver::{VerbDriver, CPU};
use goodness_core::Nice;

fn begin(driver: &mut VerbDriver<Nt4>, tasks: &[TaskId]) {
    for task in tasks {
        driver.fork(*task, None);
    }
}

/// specs/cpu-schedulers.md 8 "Foreground stretch"
#[test]
fn quanta_are_those_of_the_tables() {
    let units = |quanta: Quanta| [0, 1, 2].map(|stretch| quanta.units(stretch));
    assert_eq!(units(Quanta::VariableShort), [6, 12, 18]);
    assert_eq!(units(Quanta::VariableLong), [12, 24, 36]);
    assert_eq!(units(Quanta::FixedShort), [18; 3]);
    assert_eq!(units(Quanta::FixedLong), [36; 3]);
}

/// specs/cpu-schedulers.md 8 "Quantum": 2 and 12 clock ticks of 10 ms
#[test]
fn a_quantum_is_20_ms_on_a_workstation_and_120_ms_on_a_server() {
    for (version, ms) in [(Version::Workstation, 20), (Version::Server, 120)] {
        let mut driver = VerbDriver::<Nt4>::with(1, Settings { version, ..Settings::default() });
        let (first, second) = (driver.admit(0), driver.admit(0));
        begin(&mut driver, &[first, second]);
        driver.pick();
        assert_eq!(driver.spin(2 * ms + 1), [(0, first), (ms, second), (2 * ms, first)]);
    }
}

fn woken_from_disk(base: u8) -> (VerbDriver<Nt4>, TaskId) {
    let mut driver = VerbDriver::<Nt4>::with(1, Settings::default());
    let task = driver.admit_as(Task { priority: Some(base), ..Task::default() }, None);
    driver.wake(task);
    driver.pick();
    driver.stop(Stop::Blocked { interruptible: false });
    driver.wake(task);
    (driver, task)
}

/// specs/cpu-schedulers.md 8, check (5): base 8, 9 for one quantum, 8 after
#[test]
fn a_disk_request_boosts_by_one_for_one_quantum() {
    let (mut driver, task) = woken_from_disk(8);
    assert_eq!(driver.policy().threads[task].priority, 9);
    driver.pick();
    let mut priorities = Vec::new();
    for _ in 0..20 {
        driver.spin(1);
        priorities.push(driver.policy().threads[task].priority);
    }
    // Two waits were charged a unit of 3.3 ms each: 13.3 ms of the 20 are left.
    assert_eq!(priorities.iter().filter(|p| **p == 9).count(), 13);
    assert_eq!(priorities[13..], [8; 7]);
}

/// specs/cpu-schedulers.md 8 "Structure", "Boosts": dynamic only, up to 15
#[test]
fn boosts_end_at_15_and_leave_real_time_alone() {
    let boosted = |base| {
        let (driver, task) = woken_from_disk(base);
        driver.policy().threads[task].priority
    };
    assert_eq!([14, 15, 16, 31].map(boosted), [15, 15, 16, 31]);
}

#[test]
fn an_event_boosts_by_one_and_a_foreground_wait_by_the_separation_too() {
    for (foreground, priority) in [(None, 9), (Some(0), 11)] {
        let mut driver = VerbDriver::<Nt4>::with(1, Settings { foreground, ..Settings::default() });
        let task = driver.admit(0);
        driver.wake_from(task, WakeSource::Task);
        assert_eq!(driver.policy().threads[task].priority, priority);
    }
}

/// specs/cpu-schedulers.md 8: the preempted goes to the head of its queue and keeps its quantum
#[test]
fn a_preempted_thread_goes_before_its_equals_with_what_is_left() {
    let mut driver = VerbDriver::<Nt4>::with(1, Settings::default());
    let [first, second] = [0, 0].map(|nice| driver.admit(nice));
    let better = driver.admit(-10);
    begin(&mut driver, &[first, second]);
    let running = driver.pick();
    driver.spin(7);
    assert_eq!(driver.wake(better), [Some(CPU), None]);
    driver.stop(Stop::Preempted);
    assert_eq!(driver.pick(), better);
    driver.stop(Stop::Blocked { interruptible: true });
    assert_eq!((driver.pick(), driver.policy().threads[running].quantum), (first, 13_000_000));
}

/// The map from POSIX, and specs/cpu-schedulers.md 8 "Structure"
#[test]
fn nice_and_classes_map_to_process_classes() {
    let base = |class, nice, rt_priority, priority| {
        base_of(&Task { class, nice: Nice::new(nice).unwrap(), rt_priority, priority, ..Task::default() })
    };
    let normal = |nice| base(Class::Normal, nice, 0, None);
    assert_eq!([-20, -10, -5, 0, 5, 10, 19].map(normal), [13, 10, 9, 8, 7, 6, 4]);
    assert_eq!((base(Class::Fifo, 0, 1, None), base(Class::RoundRobin, 0, 99, Some(3))), (16, 31));
    assert_eq!((base(Class::Idle, 0, 0, None), base(Class::Batch, 0, 0, None)), (1, 4));
    assert_eq!((base(Class::Normal, 0, 0, Some(24)), base(Class::Normal, 0, 0, Some(99))), (24, 31));
}

/// specs/cpu-schedulers.md 8 "Balance-set manager": at most 16 looked at, at most 10 boosted
#[test]
fn a_scan_looks_at_16_threads_and_rescues_10() {
    let mut driver = VerbDriver::<Nt4>::with(1, Settings::default());
    let tasks: Vec<TaskId> = (0..30).map(|_| driver.admit(0)).collect();
    begin(&mut driver, &tasks);
    driver.pass(4_000);
    let mut rescue = || {
        while driver.policy().next_timer().is_some_and(|at| at <= driver.now()) {
            let _ = driver.call(Nt4::timer);
        }
        let rescued = tasks.iter().filter(|task| driver.policy().threads[**task].rescued).count();
        driver.pass(1_000);
        rescued
    };
    assert_eq!([rescue(), rescue(), rescue(), rescue()], [10, 20, 30, 30]);
}
