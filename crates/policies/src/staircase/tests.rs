//! The numbers of specs section 3, read off the scheduler's own state.

use super::*;
use crate::parts::verb_driver::{VerbDriver, CPU};

impl VerbDriver<Staircase> {
    fn new(version: Version, typed: &[(&str, &str)]) -> Self {
        use goodness_core::Tunables as _;
        let mut settings = Settings { version, ..Settings::default() };
        typed.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        VerbDriver::with(1, settings)
    }

    fn prio(&self, task: TaskId) -> u8 {
        self.policy().queues.entities[task].prio
    }

    fn earn(&mut self, task: TaskId, units: i64) {
        self.call(|policy, _| policy.queues.entities[task].earned = units);
    }

    fn earned(&self, task: TaskId) -> i64 {
        self.policy().queues.entities[task].earned
    }

    /// Changes of priority of a single task over `ticks`: after how many milliseconds, and the new priority.
    fn descent(&mut self, task: TaskId, ticks: u64) -> Vec<(u64, u8)> {
        self.wake(task);
        assert_eq!(self.pick(), task);
        let mut stairs = vec![(0, self.prio(task))];
        for ms in 1..=ticks {
            self.spin(1);
            if stairs.last().unwrap().1 != self.prio(task) {
                stairs.push((ms, self.prio(task)));
            }
        }
        stairs
    }

    /// Runs `task` for `run`, blocks it, and wakes it after `sleep`.
    fn nap(&mut self, task: TaskId, run: Span, sleep: Span) {
        assert_eq!(self.pick(), task);
        self.pass_for(run);
        self.stop_after(run, Stop::Blocked { interruptible: true });
        self.pass_for(sleep);
        self.wake(task);
    }

    fn slice_ms(&self, task: TaskId) -> i64 {
        self.policy().queues.entities[task].slice / 1_000_000
    }
}

const MS: fn(u64) -> Span = Span::from_ms;

/// specs/cpu-schedulers.md 3.10 (1)
#[test]
fn a_lone_hog_descends_one_level_every_10_ms_and_starts_again_at_200_ms() {
    let mut driver = VerbDriver::new(Version::V7G, &[("interactive", "off")]);
    let hog = driver.admit(0);
    let stairs = driver.descent(hog, 210);
    let expected: Vec<(u64, u8)> =
        (0..20).map(|k| (10 * k, 120 + k as u8)).chain([(200, 120), (210, 121)]).collect();
    assert_eq!(stairs, expected);
}

/// specs/cpu-schedulers.md 3.10 (2)
#[test]
fn a_burst_of_5_stays_60_ms_on_the_top_stair_and_reaches_134() {
    let mut driver = VerbDriver::new(Version::V7G, &[]);
    let hog = driver.admit(0);
    driver.wake(hog);
    driver.earn(hog, 5);
    assert_eq!(driver.pick(), hog);
    driver.stop(Stop::Preempted);
    let mut stairs = Vec::new();
    assert_eq!(driver.pick(), hog);
    for ms in 1..200 {
        driver.spin(1);
        if stairs.last().is_none_or(|(_, prio)| *prio != driver.prio(hog)) {
            stairs.push((ms, driver.prio(hog)));
        }
    }
    let later = (0..14).map(|k| (60 + 10 * k, 121 + k as u8));
    let expected: Vec<(u64, u8)> = [(1, 120)].into_iter().chain(later).collect();
    assert_eq!(stairs, expected);
    driver.spin(1);
    assert_eq!((driver.prio(hog), driver.earned(hog)), (120, 4), "the slice is over: top stair, history reduced");
}

/// specs/cpu-schedulers.md 3.2: slices
#[test]
fn slices_and_top_stairs_follow_nice() {
    let of = |typed: &[(&str, &str)], nice: i64| {
        let mut driver = VerbDriver::new(Version::V7G, typed);
        let task = driver.admit(nice);
        (driver.slice_ms(task), driver.prio(task))
    };
    assert_eq!([-20, 0, 19].map(|nice| of(&[], nice)), [(400, 100), (200, 120), (10, 139)]);
    assert_eq!([-20, 0, 19].map(|nice| of(&[("compute", "on")], nice).0), [4000, 2000, 100]);
}

/// specs/cpu-schedulers.md 3.10 (5)
#[test]
fn in_compute_mode_stairs_last_100_ms_and_the_slice_2_s() {
    let mut driver = VerbDriver::new(Version::V7G, &[("compute", "on")]);
    let hog = driver.admit(0);
    let stairs = driver.descent(hog, 2000);
    assert_eq!(stairs[..3], [(0, 120), (100, 121), (200, 122)]);
    assert_eq!(stairs[stairs.len() - 2..], [(1900, 139), (2000, 120)]);
}

/// specs/cpu-schedulers.md 3.10 (7)
#[test]
fn nice_19_is_always_at_the_bottom_with_10_ms() {
    let mut driver = VerbDriver::new(Version::V7G, &[]);
    let hog = driver.admit(19);
    assert_eq!(driver.descent(hog, 100), [(0, 139)]);
    assert_eq!(driver.slice_ms(hog), 10);
}

/// specs/cpu-schedulers.md 3.3 "Wake": (1) a very short sleep continues the slice, (2) a longer one starts over
#[test]
fn very_short_sleeps_do_not_reset_the_descent_of_7_g() {
    let mut driver = VerbDriver::new(Version::V7G, &[]);
    let task = driver.admit(0);
    driver.pass(50);
    driver.wake(task);
    assert_eq!(driver.earned(task), 1, "a qualifying wake earns one");
    driver.call(|policy, _| policy.queues.entities[task].slice = 100 * 1_000_000);
    driver.nap(task, Span::from_us(600), MS(5));
    assert_eq!((driver.slice_ms(task), driver.earned(task)), (100, 1));
    // 1.2 ms in all: one whole tick is charged.
    driver.nap(task, Span::from_us(600), MS(5));
    assert_eq!((driver.slice_ms(task), driver.earned(task)), (99, 1));
    driver.nap(task, Span::from_us(600), MS(15));
    assert_eq!((driver.slice_ms(task), driver.earned(task)), (200, 2));
}

/// specs/cpu-schedulers.md 3.3 "Fork"
#[test]
fn a_parent_continues_its_slice_at_its_next_wake_up() {
    let mut driver = VerbDriver::new(Version::V7G, &[]);
    let parent = driver.admit(0);
    driver.pass(50);
    driver.wake(parent);
    driver.call(|policy, _| policy.queues.entities[parent].slice = 100 * 1_000_000);
    assert_eq!(driver.pick(), parent);
    let child = driver.admit_as(Task::default(), Some(parent));
    driver.fork(child, Some(parent));
    assert_eq!((driver.slice_ms(child), driver.earned(child), driver.prio(child)), (200, 0, 120));
    driver.stop(Stop::Blocked { interruptible: true });
    driver.pass(500);
    driver.wake(parent);
    assert_eq!((driver.slice_ms(parent), driver.earned(parent)), (100, 1));
}

/// specs/cpu-schedulers.md 3.2: the quirk of uninterruptible sleep; 3.8 (b): gone in 10.5
#[test]
fn uninterruptible_sleep_costs_a_stair_in_7_g_only() {
    let woken = |version: Version, typed: &[(&str, &str)]| {
        let mut driver = VerbDriver::new(version, typed);
        let task = driver.admit(0);
        driver.pass(50);
        driver.wake(task);
        assert_eq!(driver.pick(), task);
        driver.stop(Stop::Blocked { interruptible: false });
        driver.pass(50);
        driver.wake(task);
        (driver.prio(task), driver.earned(task))
    };
    assert_eq!(woken(Version::V7G, &[]), (121, 1));
    assert_eq!(woken(Version::V7G, &[("interactive", "off")]).0, 120);
    assert_eq!(woken(Version::V10_5, &[]), (120, 1));
}

/// specs/cpu-schedulers.md 3.4
#[test]
fn batch_slices_are_ten_times_as_long_and_a_lock_holder_is_raised_once() {
    let mut driver = VerbDriver::new(Version::V7G, &[]);
    let batch = driver.admit_as(Task { class: Class::Batch, ..Task::default() }, None);
    assert_eq!((driver.slice_ms(batch), driver.prio(batch)), (2_000, 140));
    driver.wake(batch);
    assert_eq!(driver.pick(), batch);
    driver.stop(Stop::Blocked { interruptible: false });
    driver.pass(50);
    driver.wake(batch);
    assert_eq!((driver.pick(), driver.prio(batch)), (batch, 138));
    driver.spin(10);
    assert_eq!(driver.prio(batch), 140);
    let mut driver = VerbDriver::new(Version::V7G, &[("compute", "on")]);
    let batch = driver.admit_as(Task { class: Class::Batch, ..Task::default() }, None);
    assert_eq!(driver.slice_ms(batch), 20_000);
}

/// specs/cpu-schedulers.md 3.5
#[test]
fn iso_halves_the_user_priority_and_the_stair() {
    let halved = |typed: &[(&str, &str)], class: Class, rt_priority: u8| {
        let mut driver = VerbDriver::new(Version::V7G, typed);
        let iso = driver.admit_as(Task { class, rt_priority, ..Task::default() }, None);
        assert_eq!((driver.prio(iso), driver.slice_ms(iso)), (110, 150), "nice 0 counts as −10, with stairs of 5 ms");
        driver.earn(iso, 5);
        let stairs = driver.descent(iso, 12);
        assert_eq!(stairs, [(0, 110), (5, 111), (10, 112)], "no longer stay on the top stair");
    };
    halved(&[], Class::Iso, 0);
    halved(&[("iso", "on")], Class::RoundRobin, 1);
}

/// specs/cpu-schedulers.md 3.5: a better top stair, but a fall that begins sooner
#[test]
fn an_iso_task_preempts_a_normal_one_and_falls_below_it_when_it_computes() {
    let mut driver = VerbDriver::new(Version::V7G, &[("interactive", "off")]);
    let hog = driver.admit(0);
    let iso = driver.admit_as(Task { class: Class::Iso, ..Task::default() }, None);
    driver.wake(hog);
    assert_eq!(driver.pick(), hog);
    driver.spin(5);
    assert_eq!(driver.wake(iso), [Some(CPU), None]);
    driver.stop(Stop::Preempted);
    assert_eq!(driver.pick(), iso);
    // Ten stairs of 5 ms lead from 110 to 120, where the hog waits ahead of it.
    let history = driver.spin(52);
    assert_eq!(history[..2], [(0, iso), (50, hog)]);
}

/// specs/cpu-schedulers.md 3.4: batch runs only when nothing else does, and one at a time for its whole slice; kernel
/// threads are exempt
#[test]
fn batch_tasks_take_turns_of_a_whole_slice_and_kernel_threads_are_none() {
    let mut driver = VerbDriver::new(Version::V7G, &[]);
    let batch = || Task { class: Class::Batch, ..Task::default() };
    let (first, second) = (driver.admit_as(batch(), None), driver.admit_as(batch(), None));
    driver.wake(first);
    driver.wake(second);
    assert_eq!(driver.pick(), first);
    assert_eq!(driver.spin(4_100), [(0, first), (2_000, second), (4_000, first)]);
    let thread = driver.admit_exactly(batch(), None);
    assert_eq!(driver.prio(thread), 120, "a kernel thread stays normal");
}

/// specs/cpu-schedulers.md 3.6
#[test]
fn version_13_has_5_ms_stairs_and_a_bonus_that_climbs_to_the_top() {
    let mut driver = VerbDriver::new(Version::V13, &[]);
    let hog = driver.admit(0);
    assert_eq!((driver.slice_ms(hog), driver.prio(hog)), (100, 120));
    assert_eq!(driver.descent(hog, 100)[..3], [(0, 120), (5, 121), (10, 122)]);
    let eager = driver.admit(-10);
    assert_eq!(driver.slice_ms(eager), (5 + 10) * 30);
    let mut driver = VerbDriver::new(Version::V13, &[]);
    let task = driver.admit(0);
    driver.pass(1);
    driver.wake(task);
    (0..40).for_each(|_| driver.nap(task, MS(1), MS(30)));
    assert_eq!((driver.earned(task), driver.prio(task)), (20, 100));
    // Sleep must exceed what was run: the slice goes on otherwise.
    driver.nap(task, MS(2), MS(1));
    assert_eq!(driver.slice_ms(task), 98);
}
