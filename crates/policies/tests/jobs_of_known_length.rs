//! The textbooks' tables of the policies that order by length or priority: every number as published.

mod harness;

use goodness_core::*;
use goodness_policies::{fifo::Fifo, hrrn::Hrrn, priority::Priority, rr::RoundRobin, sjf::Sjf, srtf::Srtf};
use harness::{MS, cpu_time, cycle, golden, hog, nice, one_cpu, run, schedule, schedule_of, starting, stretches, task};

/// A job that arrives at `at` and computes for `burst`, which it tells; both in ms.
fn job((at, burst): (u64, u64)) -> TaskSpec {
    let mut it = starting(Start::At(Time(at * 1_000_000)), task(&[Step::Compute(MS(burst))]));
    it.task.burst = Some(MS(burst));
    it
}

fn jobs(all: &[(u64, u64)]) -> Vec<TaskSpec> {
    all.iter().copied().map(job).collect()
}

const UNTIL: fn() -> Span = || MS(60);

/// The end of each job in ms.
fn ends<P: Registered>(settings: &[(&str, &str)], all: Vec<TaskSpec>) -> Vec<u64> {
    let count = all.len() as u32;
    let slices = stretches(&run::<P>(&one_cpu(1000), settings, all, UNTIL()), UNTIL());
    let end = |task: u32| slices.iter().filter(|it| it.2.0 == task).map(|it| it.3.0 / 1_000_000).max();
    (0..count).map(|task| end(task).expect("it ran")).collect()
}

/// Sum of the waiting times in ms: from arrival to end without the burst.
fn waiting<P: Registered>(settings: &[(&str, &str)], all: &[(u64, u64)]) -> u64 {
    ends::<P>(settings, jobs(all)).iter().zip(all).map(|(end, (at, burst))| end - at - burst).sum()
}

/// Silberschatz, Galvin and Gagne, 10th edition, section 5.3.
#[test]
fn the_mean_waiting_times_are_those_of_silberschatz() {
    let sjf = [(0, 6), (0, 8), (0, 7), (0, 3)];
    assert_eq!(waiting::<Sjf>(&[], &sjf), 4 * 7, "a mean of 7 ms");
    assert_eq!(waiting::<Fifo>(&[], &sjf), 41, "a mean of 10.25 ms");
    let srtf = [(0, 8), (1, 4), (2, 9), (3, 5)];
    assert_eq!(waiting::<Srtf>(&[], &srtf), 26, "a mean of 6.5 ms");
    assert_eq!(waiting::<Sjf>(&[], &srtf), 31, "a mean of 7.75 ms");
    let fcfs = [(0, 24), (0, 3), (0, 3)];
    assert_eq!(waiting::<Fifo>(&[], &fcfs), 3 * 17);
    assert_eq!(waiting::<RoundRobin>(&[("timeslice", "4ms")], &fcfs), 17, "a mean of 5.66 ms");
}

/// Stallings, 9th edition, table 9.5: processes A to E arrive at 0, 2, 4, 6 and 8 and take 3, 6, 4, 5 and 2.
#[test]
fn the_finish_times_are_those_of_stallings() {
    let all = || jobs(&[(0, 3), (2, 6), (4, 4), (6, 5), (8, 2)]);
    assert_eq!(ends::<Fifo>(&[], all()), [3, 9, 13, 18, 20]);
    assert_eq!(ends::<RoundRobin>(&[("timeslice", "1ms")], all()), [4, 18, 17, 20, 15]);
    assert_eq!(ends::<RoundRobin>(&[("timeslice", "4ms")], all()), [3, 17, 11, 20, 19]);
    assert_eq!(ends::<Sjf>(&[], all()), [3, 9, 15, 20, 11]);
    assert_eq!(ends::<Srtf>(&[], all()), [3, 15, 8, 20, 10]);
    assert_eq!(ends::<Hrrn>(&[], all()), [3, 9, 13, 20, 15]);
}

/// Silberschatz, Galvin and Gagne, 10th edition, section 5.3.4: bursts of 10, 1, 2, 1 and 5 with priorities 3, 1, 4, 5
/// and 2 wait 8.2 ms on average.
#[test]
fn priorities_are_served_in_the_order_of_silberschatz() {
    let all = [(10, 3), (1, 1), (2, 4), (1, 5), (5, 2)].map(|(burst, number)| nice(number, job((0, burst))));
    let ends = ends::<Priority>(&[], all.into_iter().collect());
    assert_eq!(ends, [16, 1, 18, 19, 6]);
    assert_eq!(ends.iter().sum::<u64>() - (10 + 1 + 2 + 1 + 5), 41, "a mean of 8.2 ms");
}

#[test]
fn the_schedules_are_as_blessed() {
    let late = || jobs(&[(0, 8), (1, 4), (2, 9), (3, 5)]);
    golden("sjf", &schedule::<Sjf>(1000, &[], late(), UNTIL()));
    golden("srtf", &schedule::<Srtf>(1000, &[], late(), UNTIL()));
    let stallings = jobs(&[(0, 3), (2, 6), (4, 4), (6, 5), (8, 2)]);
    golden("hrrn", &schedule::<Hrrn>(1000, &[], stallings, UNTIL()));
    let settings = [("age", "10ms"), ("timeslice", "5ms")];
    let late = starting(Start::At(Time(12_000_000)), task(&[Step::Compute(MS(2))]));
    let work = vec![hog(), nice(2, hog()), nice(-1, late)];
    golden("priority", &schedule_of(&run::<Priority>(&one_cpu(1000), &settings, work, UNTIL()), UNTIL()));
}

#[test]
fn without_ageing_the_less_urgent_starve_and_with_it_nobody_does() {
    let work = || vec![hog(), nice(5, hog())];
    let of = |age: &str| {
        let history = run::<Priority>(&one_cpu(1000), &[("age", age)], work(), MS(1_000));
        cpu_time(&history, MS(1_000), 1)
    };
    assert_eq!(of("0"), Span::ZERO);
    assert_eq!(of("20ms"), MS(90), "10 ms after each 100 ms of waiting");
}

/// Where no length is told, it is learned: `a` has bursts of 20 ms, `b` of 1 ms, and both began as guesses of 10 ms.
#[test]
fn lengths_are_learned_where_they_are_not_told() {
    let bursts = |length: u64| cycle(&[Step::Compute(MS(length)), Step::Sleep(MS(1))]);
    let shown = schedule::<Srtf>(1000, &[], vec![bursts(20), bursts(1)], MS(60));
    assert!(
        shown.starts_with("a 0..20  b 20..21  a 21..22  b 22..23"),
        "the second burst of b counts as 5.5 ms: {shown}"
    );
    let untold = schedule::<Fifo>(1000, &[], vec![bursts(20), bursts(1)], MS(60));
    assert!(untold.starts_with("a 0..20  b 20..21  a 21..41  b 41..42"), "{untold}");
}
