//! The numbers of specs section 10, read off the tables and the scheduler's own state.

use super::*;
use crate::parts::verb_driver::VerbDriver;

impl VerbDriver<SolarisTs> {
    fn of(table: Table) -> Self {
        VerbDriver::with(1, Settings { table })
    }

    fn at(&mut self, level: u8) -> TaskId {
        self.admit_as(Task { priority: Some(level), ..Task::default() }, None)
    }

    fn level(&self, task: TaskId) -> u8 {
        self.policy().entities[task].level
    }

    fn update(&mut self) {
        let at = self.next_timer().expect("somebody is runnable");
        self.set_now(at);
        let _ = self.timer();
    }
}

/// specs/cpu-schedulers.md 10, the default table
#[test]
fn the_default_table_is_that_of_the_sheet() {
    let row = |level: u8| {
        let Row { quantum, expired, slept, max_wait, waited } = default_row(level);
        (quantum, expired, slept, max_wait, waited)
    };
    assert_eq!([0, 9].map(row), [(20, 0, 50, 0, 50); 2]);
    assert_eq!([10, 19].map(row), [(16, 0, 51, 0, 51), (16, 9, 51, 0, 51)]);
    assert_eq!([20, 29].map(row), [(12, 10, 52, 0, 52), (12, 19, 52, 0, 52)]);
    assert_eq!([30, 34].map(row), [(8, 20, 53, 0, 53), (8, 24, 53, 0, 53)]);
    assert_eq!([35, 39].map(row), [(8, 25, 54, 0, 54), (8, 29, 54, 0, 54)]);
    assert_eq!([40, 44].map(row), [(4, 30, 55, 0, 55), (4, 34, 55, 0, 55)]);
    assert_eq!([45, 46].map(row), [(4, 35, 56, 0, 56), (4, 36, 57, 0, 57)]);
    assert_eq!([47, 48].map(row), [(4, 37, 58, 0, 58), (4, 38, 58, 0, 58)]);
    assert_eq!([49, 58].map(row), [(4, 39, 58, 0, 59), (4, 48, 58, 0, 59)]);
    assert_eq!(row(59), (2, 49, 59, 32_000, 59));
}

/// specs/cpu-schedulers.md 10, the server table
#[test]
fn the_server_table_is_that_of_the_sheet() {
    let of = |value: fn(Row) -> u32, levels: [u8; 6]| levels.map(|level| value(server_row(level)));
    assert_eq!(of(|r| r.quantum, [0, 1, 19, 20, 40, 41]), [40, 38, 38, 36, 36, 34]);
    assert_eq!(of(|r| r.expired.into(), [0, 19, 20, 21, 40, 59]), [0, 9, 10, 11, 30, 49]);
    assert_eq!(of(|r| r.slept.into(), [0, 20, 40, 57, 58, 59]), [1, 21, 41, 58, 59, 59]);
    assert_eq!(of(|r| r.waited.into(), [0, 39, 40, 57, 58, 59]), [40, 40, 41, 58, 59, 59]);
    assert!(rows(Table::Server).iter().all(|row| row.max_wait == 2));
}

/// specs/cpu-schedulers.md 10, checks: a sleeper at 0 returns at 50, through 60
#[test]
fn a_sleeper_at_0_returns_at_50_and_waits_at_60() {
    let mut driver = VerbDriver::of(Table::Default);
    let task = driver.at(0);
    driver.wake(task);
    assert_eq!(driver.policy().entities[task].priority, 60);
    assert_eq!(driver.pick(), task);
    assert_eq!((driver.level(task), driver.policy().entities[task].priority), (50, 50));
}

/// specs/cpu-schedulers.md 10, checks: a waiter at level 0 rises to 50 at the first update
#[test]
fn a_waiter_at_0_rises_to_50_at_the_first_update() {
    let mut driver = VerbDriver::of(Table::Default);
    let waiter = driver.at(0);
    driver.fork(waiter, None);
    driver.update();
    assert_eq!((driver.now(), driver.level(waiter)), (Time(SECOND), 50));
}

/// specs/cpu-schedulers.md 10, the server table: maxwait 2 s
#[test]
fn under_the_server_table_the_third_update_lifts_to_40() {
    let mut driver = VerbDriver::of(Table::Server);
    let waiter = driver.at(0);
    driver.fork(waiter, None);
    let levels = [(); 3].map(|()| {
        driver.update();
        driver.level(waiter)
    });
    assert_eq!(levels, [0, 0, 40]);
}

/// specs/cpu-schedulers.md 10 "Final priority = level + user priority offset, clamp 0–59"
#[test]
fn nice_moves_by_three_levels_a_step_within_the_class() {
    let mut driver = VerbDriver::of(Table::Default);
    let priorities = [-20, -5, 0, 5, 19].map(|nice| {
        let task = driver.admit(nice);
        driver.call(|policy, cx| policy.set_priority(cx, task));
        driver.policy().entities[task].priority
    });
    assert_eq!(priorities, [59, 44, 29, 14, 0]);
}

/// specs/cpu-schedulers.md 10 "Fork: child at parent's level, full quantum"
#[test]
fn a_child_begins_at_its_parents_level_with_a_whole_turn() {
    let mut driver = VerbDriver::of(Table::Default);
    let parent = driver.at(7);
    driver.call(|policy, _| policy.entities[parent].left = 1);
    let child = driver.admit_as(Task::default(), Some(parent));
    assert_eq!((driver.level(child), driver.policy().entities[child].left), (7, 200));
}
