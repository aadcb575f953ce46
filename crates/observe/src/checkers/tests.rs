use super::stream::Stream;
use super::*;
use crate::{Checkers, Subject};
use goodness_core::{CpuSet, Event, Observer, WakeSource};

fn anywhere(tasks: usize) -> Vec<Subject> {
    vec![Subject::default(); tasks]
}

fn pinned(cpu: u32) -> Subject {
    Subject { affinity: CpuSet::of(&[CpuId(cpu)]), ..Subject::default() }
}

/// Asserts these violations and no others: name, time and part of the sentence.
#[track_caller]
fn assert_found(checked: &Checked, expected: &[(&str, u64, &str)]) {
    let said: Vec<String> = checked.violations.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (violation, (name, at, part)) in checked.violations.iter().zip(expected) {
        assert!(
            violation.checker == *name && violation.at == Time(*at) && violation.sentence.contains(part),
            "{violation}, not {name} at {at}: {part}"
        );
        assert!(CHECKERS.iter().any(|c| c.name == *name), "{name} is not listed");
    }
}

/// Two CPUs: task 0 runs, is preempted by 1, migrates, exits; 1 sleeps.
fn good() -> Stream {
    Stream::new(2, &[Subject::default(), pinned(0)])
        .wake(1, 0, 0)
        .overhead(1, 0, 1)
        .start(2, 0, 0)
        .wake(5, 1, 0)
        .switch(5, 0, 0, Off::Preempted, 1)
        .migrate(5, 0, 0, 1)
        .start(6, 1, 0)
        .stop(8, 0, 1, Off::Sleeping)
        .exit(9, 0)
        .stop(9, 1, 0, Off::Exited)
}

#[test]
fn a_good_stream_violates_nothing() {
    let checked = good().quiet(20);
    assert_found(&checked, &[]);
    let longest = Wait { task: TaskId(0), since: Time(1), span: Span(1), over: true };
    assert_eq!((checked.longest_wait, checked.longest_idling), (Some(longest), Some(Span(1))));
}

#[test]
fn a_clock_that_goes_back_is_found() {
    let checked = Stream::new(1, &anywhere(1)).wake(9, 0, 0).start(7, 0, 0).end(20);
    assert_found(&checked, &[("conservation", 7, "from 9ns to 7ns")]);
}

#[test]
fn cpu_time_that_no_task_got_is_found() {
    let broken = Stream::new(1, &anywhere(2)).wake(1, 0, 0).wake(1, 1, 0).start(1, 0, 0);
    let checked = broken.stop(10, 0, 1, Off::Sleeping).end(15);
    let unbalanced = "CPUs were occupied for 9 ns, but tasks ran for 0 ns";
    assert_found(&checked, &[("no_lost_task", 10, "task 1"), ("conservation", 15, unbalanced)]);
}

#[test]
fn more_overhead_than_time_is_found() {
    let busy = || Stream::new(1, &anywhere(1)).wake(0, 0, 0).start(0, 0, 0);
    let checked = busy().overhead(5, 0, 30).overhead(6, 0, 1).stop(20, 0, 0, Off::Sleeping).end(20);
    assert_found(&checked, &[("conservation", 20, "overhead")]);
    // Idle time does not count.
    let checked = busy().overhead(2, 0, 15).overhead(6, 0, 1).stop(10, 0, 0, Off::Sleeping).end(40);
    assert_found(&checked, &[("conservation", 40, "16ns on overhead, but was occupied for 10ns")]);
    // The decision to idle takes idle time.
    assert_found(&busy().overhead(2, 0, 8).overhead(10, 0, 90).stop(10, 0, 0, Off::Sleeping).end(40), &[]);
    // What delays the tasks may reach beyond the end, and beyond the last of them.
    let preempted = || busy().overhead(5, 0, 10).overhead(7, 0, 30).overhead(8, 0, 30);
    assert_found(&preempted().end(9), &[]);
    assert_found(&preempted().stop(9, 0, 0, Off::Preempted).start(39, 0, 0).end(40), &[]);
    let stopped = preempted().stop(9, 0, 0, Off::Sleeping).end(40);
    assert_found(&stopped, &[("conservation", 40, "70ns on overhead, but was occupied for 9ns")]);
    // Searches of an idle CPU may overlap.
    assert_found(&Stream::new(1, &anywhere(1)).overhead(5, 0, 30).overhead(6, 0, 1).end(20), &[]);
}

#[test]
fn a_task_on_two_cpus_is_found() {
    let checked = Stream::new(2, &anywhere(1)).wake(1, 0, 0).start(1, 0, 0).start(5, 1, 0).end(5);
    let twice = ("one_cpu_per_task", 5, "on cpu 1 while it runs on cpu 0");
    assert_found(&checked, &[twice, ("conservation", 5, "occupied for 4 ns")]);
}

#[test]
fn waking_a_runnable_task_is_found() {
    let woken = Stream::new(1, &anywhere(1)).wake(1, 0, 0);
    assert_found(&woken.wake(3, 0, 0).end(9), &[("no_lost_task", 3, "Queued")]);
    let running = Stream::new(1, &anywhere(1)).wake(1, 0, 0).start(2, 0, 0);
    assert_found(&running.wake(3, 0, 0).end(9), &[("no_lost_task", 3, "Running")]);
}

#[test]
fn running_a_task_that_nobody_woke_is_found() {
    let never = Stream::new(1, &anywhere(1)).start(2, 0, 0);
    assert_found(&never.end(9), &[("no_lost_task", 2, "New")]);
    let asleep = Stream::new(1, &anywhere(1)).wake(1, 0, 0).start(1, 0, 0).stop(4, 0, 0, Off::Sleeping);
    assert_found(&asleep.start(5, 0, 0).end(9), &[("no_lost_task", 5, "Blocked")]);
}

#[test]
fn leaving_idle_while_a_task_runs_is_found() {
    let broken = Stream::new(1, &anywhere(2)).wake(1, 0, 0).wake(1, 1, 0).start(1, 0, 0).start(5, 0, 1);
    let checked = broken.end(5);
    assert_eq!(checked.violations[0].sentence, "cpu 0 switched away from idle although it runs task 0");
}

#[test]
fn a_task_forgotten_in_a_queue_is_found_when_nothing_is_left_to_happen() {
    let waiting = || Stream::new(1, &anywhere(1)).wake(3, 0, 0);
    assert_found(&waiting().quiet(9), &[("no_lost_task", 9, "task 0 still waits")]);
    assert_found(&waiting().end(9), &[]);
}

#[test]
fn a_task_that_waits_for_an_idle_cpu_until_the_end_is_found_beyond_the_limit() {
    let stream = || Stream::of(Checkers::new(2, &anywhere(2)).with_forgotten(Span(50)));
    let waiting = || stream().wake(1, 1, 1).start(1, 1, 1).wake(10, 0, 0);
    assert_found(&waiting().end(61), &[("no_lost_task", 61, "task 0 waits on cpu 0 since")]);
    assert_found(&waiting().end(60), &[]);
    let moved = waiting().migrate(20, 0, 0, 1).migrate(30, 0, 1, 0);
    assert_found(&moved.end(80), &[]);
    let busy = stream().wake(1, 1, 0).start(1, 0, 1).wake(10, 0, 0);
    assert_found(&busy.end(200), &[]);
}

#[test]
fn running_waking_and_moving_outside_the_affinity_are_found() {
    let subjects = [pinned(0)];
    let run = Stream::new(2, &subjects).wake(1, 0, 0).start(2, 1, 0).end(3);
    assert_found(&run, &[("affinity", 2, "cpu 1")]);
    let wake = Stream::new(2, &subjects).wake(1, 0, 1).end(3);
    assert_found(&wake, &[("affinity", 1, "cpu 1")]);
    let moved = Stream::new(2, &subjects).wake(1, 0, 0).migrate(2, 0, 0, 1).end(3);
    assert_found(&moved, &[("affinity", 2, "cpu 1")]);
}

#[test]
fn a_cpu_that_does_not_exist_is_found() {
    let checked = Stream::new(2, &anywhere(1)).wake(1, 0, 2).start(2, 7, 0).overhead(3, 2, 1).end(4);
    let all = [("affinity", 1, "cpu 2"), ("affinity", 2, "cpu 7"), ("affinity", 3, "cpu 2")];
    assert_found(&checked, &all);
}

fn exited() -> Stream {
    Stream::new(1, &anywhere(1)).wake(1, 0, 0).start(1, 0, 0).exit(5, 0).stop(5, 0, 0, Off::Exited)
}

#[test]
fn nothing_follows_an_exit() {
    let created = Event::Fork { parent: None, child: TaskId(0) };
    let served = Event::Served { task: TaskId(0), latency: Span(1) };
    assert_found(&exited().wake(6, 0, 0).end(9), &[("exit_final", 6, "woken")]);
    assert_found(&exited().start(6, 0, 0).end(9), &[("exit_final", 6, "given a CPU")]);
    assert_found(&exited().migrate(6, 0, 0, 0).end(9), &[("exit_final", 6, "moved")]);
    assert_found(&exited().exit(6, 0).end(9), &[("exit_final", 6, "again")]);
    assert_found(&exited().event(6, created).end(9), &[("exit_final", 6, "created")]);
    assert_found(&exited().event(6, served).end(9), &[("exit_final", 6, "served")]);
}

#[test]
fn an_exit_and_its_switch_belong_together() {
    let running = || Stream::new(1, &anywhere(1)).wake(1, 0, 0).start(1, 0, 0);
    let silent = running().stop(5, 0, 0, Off::Exited);
    assert_found(&silent.end(9), &[("exit_final", 5, "without an exit")]);
    let late = running().exit(5, 0).stop(7, 0, 0, Off::Exited);
    assert_found(&late.end(9), &[("exit_final", 7, "kept its CPU")]);
    let asleep = running().exit(5, 0).stop(5, 0, 0, Off::Sleeping);
    assert_found(&asleep.end(9), &[("exit_final", 5, "Sleeping")]);
    assert_found(&running().exit(5, 0).end(9), &[("exit_final", 9, "never left")]);
}

#[test]
fn a_task_is_held_to_the_cpus_that_it_may_use_by_now() {
    let found = |cpu| {
        let mut checkers = Checkers::new(2, &[pinned(0)]);
        checkers.confine(Time::ZERO, TaskId(0), &pinned(1).affinity);
        let (task, from) = (TaskId(0), WakeSource::Interrupt);
        checkers.observe(Time(5), &Event::Wakeup { task, waker: None, cpu: CpuId(cpu), from });
        checkers.first().map(ToString::to_string)
    };
    assert_eq!(found(1), None);
    let said = "affinity violated at 5ns: task 0 was placed on cpu 0, which its affinity forbids";
    assert_eq!(found(0).as_deref(), Some(said));
}

#[test]
fn a_wait_beyond_the_bound_is_found_finished_or_not() {
    let bounded = || Stream::of(Checkers::new(1, &anywhere(2)).with_wait_bound(Span(10)));
    let run = bounded().wake(0, 0, 0).start(10, 0, 0).wake(12, 1, 0).switch(23, 0, 0, Off::Preempted, 1);
    let checked = run.end(50);
    let all = [("bounded_wait", 23, "task 1 waited 11ns"), ("bounded_wait", 50, "task 0 waited 27ns")];
    assert_found(&checked, &all);
    let longest = Wait { task: TaskId(0), since: Time(23), span: Span(27), over: false };
    assert_eq!(checked.longest_wait, Some(longest));
}

#[test]
fn idling_beyond_the_tolerance_is_found_finished_or_not() {
    let strict = || Stream::of(Checkers::new(2, &anywhere(2)).with_work_conserving(Span(3)));
    let finished = strict().wake(1, 0, 0).start(4, 0, 0).wake(6, 1, 0).start(10, 1, 1).end(20);
    assert_found(&finished, &[("work_conserving", 10, "4ns since 6ns")]);
    assert_eq!(finished.longest_idling, Some(Span(4)));
    let unfinished = strict().wake(1, 0, 0).end(20);
    assert_found(&unfinished, &[("work_conserving", 20, "19ns since 1ns")]);
}

#[test]
fn only_the_first_violations_are_kept_but_all_are_counted() {
    let mut stream = Stream::new(1, &anywhere(1)).wake(1, 0, 0);
    for at in 0..100 {
        stream = stream.wake(2 + at, 0, 0);
    }
    let checked = stream.end(200);
    assert_eq!((checked.violations.len(), checked.count), (Checkers::KEPT, 100));
}

#[test]
fn the_first_violation_is_known_while_the_run_goes_on() {
    let mut checkers = Checkers::new(1, &anywhere(1));
    assert_eq!(checkers.first(), None);
    checkers.observe(Time(4), &Event::Exit { task: TaskId(0) });
    checkers.observe(Time(5), &Event::Exit { task: TaskId(0) });
    let said = checkers.first().map(ToString::to_string);
    assert_eq!(said.as_deref(), Some("exit_final violated at 5ns: task 0 ended again after it had ended"));
}

#[test]
fn every_invariant_has_its_own_name_and_a_sentence() {
    let names: std::collections::BTreeSet<_> = CHECKERS.iter().map(|c| c.name).collect();
    assert_eq!(names.len(), CHECKERS.len());
    assert!(CHECKERS.iter().all(|c| c.summary.ends_with('.')));
}

#[test]
fn a_watchdog_tells_of_the_task_that_was_the_first_to_wait_too_long() {
    let mut subjects = anywhere(4);
    subjects[1].class = goodness_core::Class::Fifo;
    let guarded = || Stream::of(Checkers::new(1, &subjects).with_watchdog(Span(10), &subjects));
    let begun = || guarded().wake(0, 0, 0).start(0, 0, 0).wake(1, 1, 0).wake(3, 2, 0).wake(5, 3, 0);
    // Task 3 waits for 12 ns, task 2, who waited first, for 20; task 1 is real-time.
    let checked = begun().switch(17, 0, 0, Off::Preempted, 3).switch(23, 0, 3, Off::Preempted, 2).end(30);
    let first = Wait { task: TaskId(2), since: Time(3), span: Span(20), over: true };
    assert_eq!((checked.overdue, checked.watchdog, checked.count), (Some(first), Some(Span(10)), 0));
    let unfinished = begun().end(16);
    let first = Wait { task: TaskId(2), since: Time(3), span: Span(13), over: false };
    assert_eq!(unfinished.overdue, Some(first));
    assert_eq!(begun().end(13).overdue, None, "as long as the limit is not too long");
}

/// A change of affinities, as when a CPU comes back, counts from its own time on, not from the last event on.
#[test]
fn idling_begins_when_the_task_may_use_the_idle_cpu() {
    let mut checkers = Checkers::new(2, &[pinned(0), pinned(0)]).with_work_conserving(Span(10));
    for task in [0, 1] {
        let (task, from) = (TaskId(task), WakeSource::Interrupt);
        checkers.observe(Time(0), &Event::Wakeup { task, waker: None, cpu: CpuId(0), from });
    }
    checkers.observe(Time(0), &Event::Switch { cpu: CpuId(0), prev: None, off: Off::Preempted, next: Some(TaskId(0)) });
    checkers.confine(Time(50), TaskId(1), &CpuSet::All);
    checkers.confine(Time(57), TaskId(1), &CpuSet::of(&[CpuId(0)]));
    let checked = checkers.finish(Time(99), Ending::Horizon);
    assert_eq!((checked.longest_idling, checked.count), (Some(Span(7)), 0), "{checked:?}");
}
