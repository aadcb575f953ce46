//! Feedback queues in the simulator: schedules of specs section 11.

mod harness;

use goodness_core::*;
use goodness_policies::ctss::Ctss;
use goodness_policies::mlfq::Mlfq;
use harness::*;

fn arriving(ms: u64, spec: TaskSpec) -> TaskSpec {
    starting(Start::At(Time(ms * 1_000_000)), spec)
}

/// specs/cpu-schedulers.md 11, checks: a hog falls one level per quantum; total at level l ≤ 2^l q
#[test]
fn a_hog_falls_one_level_for_each_quantum_of_its_level() {
    // The turns of two hogs show where they are: 10 ms at level 0, 20 at level 1, 40 at level 2 and ever after.
    let settings = [("boost", "0s")];
    let shown = schedule::<Mlfq>(1000, &settings, vec![hog(), hog()], MS(220));
    assert_eq!(shown, "a 0..10  b 10..20  a 20..40  b 40..60  a 60..100  b 100..140  a 140..180  b 180..220");
    let settings = [("quantum", "10ms"), ("size", "0"), ("levels", "3")];
    let shown = schedule::<Ctss>(1000, &settings, vec![hog(), hog()], MS(220));
    assert_eq!(shown, "a 0..10  b 10..20  a 20..40  b 40..60  a 60..100  b 100..140  a 140..180  b 180..220");
}

/// specs/cpu-schedulers.md 11: allotment per level, however many turns it takes
#[test]
fn sleeping_before_the_quantum_ends_does_not_keep_a_task_up() {
    // b sleeps after each 4 ms; having used 10 ms of level 0 it no longer preempts a, which is at level 1 by then.
    let dodger = cycle(&[Step::Compute(MS(4)), Step::Sleep(MS(6))]);
    let shown = schedule::<Mlfq>(1000, &[("boost", "0s"), ("levels", "2")], vec![hog(), dodger], MS(80));
    assert_eq!(
        shown,
        "a 0..10  b 10..14  a 14..20  b 20..24  a 24..30  b 30..32  a 32..40  b 40..42  a 42..62  b 62..66  a 66..80"
    );
}

/// specs/cpu-schedulers.md 11: in `allotment` quanta of a level a task has as many turns
#[test]
fn an_allotment_of_two_quanta_is_served_in_two_turns() {
    let settings = [("boost", "0s"), ("allotment", "2"), ("levels", "2")];
    let shown = schedule::<Mlfq>(1000, &settings, vec![hog(), hog()], MS(80));
    assert_eq!(shown, "a 0..10  b 10..20  a 20..30  b 30..40  a 40..60  b 60..80");
}

/// specs/cpu-schedulers.md 11: boost of all jobs to the top level every period
#[test]
fn a_boost_brings_starving_jobs_back_to_the_top() {
    // From 60 ms on, a new job of 9 ms arrives every 9 ms: it never falls, and keeps the hog off the CPU.
    let jobs = || {
        let mut jobs = vec![hog()];
        jobs.extend((0..12).map(|k| arriving(60 + 9 * k, task(&[Step::Compute(MS(9))]))));
        jobs
    };
    let without = run::<Mlfq>(&one_cpu(1000), &[("boost", "0s")], jobs(), MS(168));
    assert_eq!(cpu_time(&without, MS(168), 0), MS(60));
    let with = run::<Mlfq>(&one_cpu(1000), &[("boost", "100ms")], jobs(), MS(168));
    assert_eq!(cpu_time(&with, MS(168), 0), MS(70), "one quantum of level 0 after the boost at 100 ms");
}

/// specs/cpu-schedulers.md 11: a used-up quantum at the size's level
#[test]
fn a_large_program_begins_below_the_first_level() {
    let settings = [("quantum", "10ms"), ("size", "24576"), ("quantum_words", "8192"), ("levels", "4")];
    let shown = schedule::<Ctss>(1000, &settings, vec![hog(), hog()], MS(240));
    assert_eq!(shown, "a 0..40  b 40..80  a 80..160  b 160..240", "⌊log2(3 + 1)⌋ = 2: four quanta");
}

/// specs/cpu-schedulers.md 11: arrivals at a lower level preempt; the Programmer's Guide: to the end of the level
#[test]
fn an_arrival_on_a_better_level_preempts_and_the_rest_of_the_turn_comes_later() {
    let settings = [("quantum", "10ms"), ("size", "0"), ("levels", "2")];
    let jobs = vec![hog(), hog(), arriving(25, task(&[Step::Compute(MS(3))]))];
    let shown = schedule::<Ctss>(1000, &settings, jobs, MS(80));
    assert_eq!(shown, "a 0..10  b 10..20  a 20..25  c 25..28  b 28..48  a 48..63  b 63..80");
    let jobs = vec![hog(), hog(), arriving(25, task(&[Step::Compute(MS(3))]))];
    let shown = schedule::<Mlfq>(1000, &[("levels", "2")], jobs, MS(80));
    assert_eq!(
        shown, "a 0..10  b 10..20  a 20..25  c 25..28  a 28..43  b 43..63  a 63..80",
        "the textbook's keeps its place"
    );
}

/// As above, where the turn is a part of the allotment.
#[test]
fn the_rest_of_a_turn_comes_later_where_the_level_has_more_turns() {
    let jobs = vec![hog(), hog(), arriving(45, task(&[Step::Compute(MS(5))]))];
    let shown = schedule::<Mlfq>(1000, &[("boost", "0s"), ("allotment", "2"), ("levels", "2")], jobs, MS(105));
    assert_eq!(shown, "a 0..10  b 10..20  a 20..30  b 30..40  a 40..45  c 45..50  a 50..65  b 65..85  a 85..105");
}

/// specs/cpu-schedulers.md 11: all jobs, also one that runs alone
#[test]
fn a_job_that_runs_alone_is_boosted_too() {
    let jobs = || vec![hog(), arriving(52, hog())];
    // Of its 10 ms at level 0 after the boost at 45 ms, a has 3 left when b comes.
    let boosted = schedule::<Mlfq>(1000, &[("boost", "45ms"), ("levels", "2")], jobs(), MS(65));
    assert_eq!(boosted, "a 0..55  b 55..65");
    let fallen = schedule::<Mlfq>(1000, &[("boost", "0s"), ("levels", "2")], jobs(), MS(62));
    assert_eq!(fallen, "a 0..52  b 52..62");
}

/// The Programmer's Guide: a program enters anew when its response is completed.
#[test]
fn in_ctss_a_program_that_waited_begins_anew() {
    let settings = [("quantum", "10ms"), ("size", "0"), ("levels", "2")];
    let talker = cycle(&[Step::Compute(MS(15)), Step::Sleep(MS(15))]);
    let shown = schedule::<Ctss>(1000, &settings, vec![hog(), talker], MS(110));
    assert_eq!(
        shown,
        "a 0..10  b 10..20  a 20..40  b 40..45  a 45..60  b 60..70  a 70..75  b 75..80  a 80..95  b 95..105  a 105..110"
    );
}

#[test]
fn the_textbook_schedules_of_feedback_queues_are_as_blessed() {
    golden("mlfq", &schedule::<Mlfq>(1000, &[], textbook(), MS(1200)));
    golden("ctss", &schedule::<Ctss>(1000, &[("quantum", "10ms")], textbook(), MS(500)));
}
