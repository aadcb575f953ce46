//! The numbers of specs section 9.2, read off the formulas and the scheduler's own state.

use super::*;
use crate::parts::verb_driver::{VerbDriver, CPU};

const S: u64 = 1_000_000_000;

fn after(ran: u64, slept: u64) -> History {
    History { ran, slept }
}

fn driver() -> VerbDriver<Ule> {
    VerbDriver::with(1, Settings::default())
}

impl VerbDriver<Ule> {
    fn priority(&mut self, task: TaskId, history: History) -> u8 {
        self.call(|policy, _| policy.entities[task].history = history);
        self.call(|policy, cx| policy.set_priority(cx, task));
        self.policy().entities[task].priority
    }
}

/// specs/cpu-schedulers.md 9.2, checks: run 1 s, sleep 4 s → 12; run = sleep → 50
#[test]
fn scores_are_those_of_the_sheet() {
    assert_eq!(after(S, 4 * S).score(), 12);
    assert_eq!(after(2 * S, 2 * S).score(), 50);
    assert_eq!(after(4 * S, S).score(), 88);
    assert_eq!((after(S, 0).score(), after(0, S).score(), after(0, 0).score()), (100, 0, 0));
}

/// specs/cpu-schedulers.md 9.2 "History"
#[test]
fn history_beyond_five_seconds_is_forgotten_by_fifths_halves_or_all_at_once() {
    let trimmed = |ran, slept| {
        let mut history = after(ran, slept);
        history.trim();
        (history.ran, history.slept)
    };
    assert_eq!(trimmed(2 * S, 2 * S), (2 * S, 2 * S));
    assert_eq!(trimmed(S, 5 * S), (S / 5 * 4, 4 * S), "up to 6/5: four fifths stay");
    assert_eq!(trimmed(2 * S, 5 * S), (S, 5 * S / 2), "beyond: half");
    assert_eq!(trimmed(S, 10 * S), (1, 5 * S), "beyond twice: only who was longer counts");
    assert_eq!(trimmed(11 * S, 0), (5 * S, 1));
}

/// specs/cpu-schedulers.md 9.2 "Fork": child and parent scaled to 0.5 s
#[test]
fn after_a_fork_parent_and_child_remember_half_a_second() {
    let mut driver = driver();
    let parent = driver.admit(0);
    driver.call(|policy, _| policy.entities[parent].history = after(S, 4 * S));
    let child = driver.admit_as(Default::default(), Some(parent));
    for task in [parent, child] {
        let History { ran, slept } = driver.policy().entities[task].history;
        assert_eq!((ran, slept), (S / 10, 4 * S / 10));
    }
    driver.call(|policy, _| policy.entities[child].history.ran = S);
    driver.exit(child);
    assert_eq!(driver.policy().entities[parent].history.ran, S + S / 10, "the parent pays for its child");
}

/// specs/cpu-schedulers.md 9.2: score + nice < 30 is interactive, 48 priorities from the best on
#[test]
fn below_30_a_thread_is_interactive() {
    let mut driver = driver();
    let task = driver.admit(0);
    assert_eq!(driver.priority(task, after(0, 5 * S)), 88);
    assert_eq!(driver.priority(task, after(S, 4 * S)), 88 + (48 * 12 / 30) as u8);
    assert!(driver.policy().entities[task].urgent);
    assert_eq!(driver.priority(task, after(29 * S / 10, 5 * S)), 88 + (48 * 29 / 30) as u8);
    assert!(driver.priority(task, after(3 * S, 5 * S)) >= BATCH, "30 is not");
    let kind = driver.admit(18);
    assert!(driver.priority(kind, after(S, 4 * S)) >= BATCH, "12 + 18 is not");
    assert!(!driver.policy().entities[kind].urgent);
}

/// specs/cpu-schedulers.md 9.2 "priority by %CPU (10 s window) + nice in time-share 88–223"
#[test]
fn batch_priority_grows_with_use_and_nice_within_the_range() {
    let mut driver = driver();
    let mut of = |nice: i64, ran: u64| {
        let task = driver.admit(nice);
        driver.call(|policy, _| policy.entities[task].cpu_use = Use { since: Time(0), until: Time(10 * S), ran });
        driver.priority(task, after(5 * S, 0))
    };
    assert_eq!([of(0, 0), of(0, 5 * S), of(0, 10 * S)], [156, 156 + 24, 156 + 47]);
    assert_eq!([of(-20, 0), of(19, 10 * S)], [136, 222]);
}

/// specs/cpu-schedulers.md 9.2 "Slice": 12 ticks, shared by load, minimum divisor 6
#[test]
fn slices_are_shared_by_the_load_down_to_a_sixth() {
    let mut driver = driver();
    let tasks: Vec<TaskId> = (0..9).map(|_| driver.admit(0)).collect();
    let lengths: Vec<u32> = tasks
        .iter()
        .map(|task| {
            driver.wake(*task);
            driver.call(|policy, cx| policy.slice_length(cx, CPU, *task))
        })
        .collect();
    assert_eq!(lengths, [12, 12, 6, 4, 3, 2, 2, 2, 2]);
}

/// specs/cpu-schedulers.md 9.2: the wheel serves light users before heavy ones, and everybody within a round
#[test]
fn the_bucket_of_the_present_round_is_not_filled_again() {
    let mut tdq = Ule::new(&Machine::flat(1, 1000).unwrap(), Settings::default(), Seed(1)).cpus.remove(0);
    assert_eq!([tdq.bucket(136), tdq.bucket(180), tdq.bucket(223)], [0, 32, 63]);
    (tdq.insert, tdq.remove) = (5, 4);
    assert_eq!((tdq.bucket(136), tdq.bucket(223)), (5, 3), "63 behind 5 is the hand's bucket 4, so the one before");
}
