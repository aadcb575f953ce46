//! Repairs of typical defects of real recordings.

mod common;

use common::{about, events, fork, lines, load, switch, waking};
use goodness_core::{CpuId, Event, Off, TaskId, Time, WakeSource};
use goodness_trace::{Context, Origin, PrevState, Recording, Repair, SchedEvent};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn us(n: u64) -> Time {
    Time(n * 1_000)
}

fn count(recording: &Recording, kind: Repair) -> u64 {
    recording.repairs.of(kind).count
}

/// `prev>next@us` of every switch, `*` behind those put in.
fn switches(recording: &Recording) -> String {
    let pid = |t: Option<TaskId>| t.and_then(|t| recording.tasks.get(t)).map_or(0, |e| e.pid);
    let mut words = Vec::new();
    for record in &recording.records {
        if let SchedEvent::Switch { prev, next, prev_state, .. } = record.event {
            let mark = if record.origin == Origin::Repaired { "*" } else { "" };
            words.push(format!("{}{prev_state}>{}@{}{mark}", pid(prev), pid(next), record.at.ns() / 1_000));
        }
    }
    words.join(" ")
}

fn wakeups(recording: &Recording) -> Vec<(Time, TaskId)> {
    let wakeup = |(at, event): &(Time, Event)| match event {
        Event::Wakeup { task, .. } => Some((*at, *task)),
        _ => None,
    };
    events(recording).iter().filter_map(wakeup).collect()
}

#[test]
fn a_missing_switch_is_put_where_the_newcomer_was_woken() {
    let trace = lines(&[switch(100, 0, 0, "R", 1), waking(200, 1, 9, 2, 0), switch(900, 0, 2, "S", 0)]);
    assert_eq!(switches(&trace), "0R>1@100 1?>2@200* 2S>0@900");
    assert_eq!(count(&trace, Repair::MissingSwitch), 1);
    assert_eq!(trace.repairs.of(Repair::MissingSwitch).first_line, 4);
}

#[test]
fn a_cpu_without_a_line_takes_who_was_woken_for_it_and_not_who_ran_from_the_start() {
    let trace = lines(&[waking(200, 0, 9, 2, 1), switch(900, 1, 2, "S", 0)]);
    assert_eq!(switches(&trace), "0R>2@200* 2S>0@900");
    assert_eq!(switches(&lines(&[waking(200, 0, 9, 3, 0), switch(900, 1, 2, "S", 0)])), "2S>0@900");
}

#[test]
fn an_idle_cpu_takes_a_waiting_task_at_once_although_its_switch_is_missing() {
    let trace = lines(&[
        switch(100, 0, 1, "S", 0),
        about(200, 0, 0, "d.h2.", "sched_waking", 2, " target_cpu=000"),
        about(203, 0, 0, "dNh3.", "sched_wakeup", 2, " target_cpu=000"),
        switch(900, 0, 2, "S", 0),
    ]);
    assert_eq!(switches(&trace), "1S>0@100 0R>2@203* 2S>0@900");
}

#[test]
fn who_is_woken_although_thought_running_was_asleep() {
    let trace = lines(&[
        switch(100, 0, 0, "R", 1),
        waking(500, 1, 9, 1, 0),
        switch(700, 0, 0, "R", 1),
        switch(800, 0, 1, "S", 0),
    ]);
    assert_eq!(switches(&trace), "0R>1@100 1S>0@500* 0R>1@700 1S>0@800");
    assert_eq!(wakeups(&trace), vec![(us(500), TaskId(0))]);
}

#[test]
fn who_runs_again_without_a_waking_was_preempted() {
    let trace = lines(&[
        switch(100, 0, 0, "R", 1),
        waking(200, 0, 1, 2, 0),
        switch(900, 0, 2, "S", 1),
        switch(950, 0, 1, "S", 0),
    ]);
    assert_eq!(switches(&trace), "0R>1@100 1R>2@550* 2S>1@900 1S>0@950");
}

#[test]
fn a_task_switched_in_elsewhere_is_taken_off_the_cpu_it_was_on() {
    let trace = lines(&[switch(100, 0, 0, "R", 1), switch(300, 1, 0, "R", 1), switch(400, 1, 1, "S", 0)]);
    assert_eq!(count(&trace, Repair::TwoPlaces), 1);
    assert_eq!(switches(&trace), "0R>1@100 1R>0@200* 0R>1@300 1S>0@400");
}

#[test]
fn lines_out_of_order_are_put_in_order() {
    let trace = lines(&[
        switch(100, 0, 0, "R", 1),
        switch(300, 0, 1, "S", 0),
        waking(200, 0, 1, 2, 0),
        switch(400, 0, 0, "R", 2),
    ]);
    assert_eq!(count(&trace, Repair::OutOfOrder), 1);
    assert_eq!(count(&trace, Repair::MissingSwitch), 0);
    assert_eq!(wakeups(&trace), vec![(us(200), TaskId(1))]);
}

#[test]
fn only_the_first_waking_of_a_wait_is_a_wakeup() {
    let trace = lines(&[
        switch(100, 0, 1, "S", 9),
        waking(200, 0, 9, 1, 0),
        waking(250, 0, 9, 1, 0),
        about(260, 1, 0, "dNh2.", "sched_wakeup", 1, " target_cpu=000"),
        switch(300, 0, 9, "S", 1),
    ]);
    let first = events(&trace).into_iter().find(|(_, e)| matches!(e, Event::Wakeup { .. }));
    let (task, nine) = (TaskId(0), TaskId(1));
    let expected = Event::Wakeup { task, waker: Some(nine), cpu: CpuId(0), from: WakeSource::Task };
    assert_eq!(first, Some((us(200), expected)));
    assert_eq!(wakeups(&trace).len(), 1);
    assert_eq!(count(&trace, Repair::RepeatedWaking), 1);
}

#[test]
fn a_waking_just_before_the_sleep_it_ends_begins_when_the_sleep_does() {
    let trace = lines(&[
        switch(100, 0, 0, "R", 1),
        waking(198, 1, 9, 1, 0),
        switch(200, 0, 1, "S", 0),
        switch(203, 0, 0, "R", 1),
        switch(500, 0, 1, "S", 0),
    ]);
    assert_eq!(count(&trace, Repair::EarlyWaking), 1);
    assert_eq!(count(&trace, Repair::MissingWaking), 0);
    assert_eq!(wakeups(&trace), vec![(us(200), TaskId(0))]);
}

#[test]
fn a_sleep_without_a_waking_ends_without_a_made_up_wakeup() {
    let trace = lines(&[switch(100, 0, 1, "S", 0), switch(300, 0, 0, "R", 1), switch(400, 0, 1, "S", 0)]);
    assert_eq!(count(&trace, Repair::MissingWaking), 1);
    assert_eq!(wakeups(&trace), vec![]);
}

#[test]
fn a_thread_id_used_again_is_another_task() {
    let trace = lines(&[
        fork(100, 0, 1, 7),
        switch(200, 0, 1, "S", 7),
        about(250, 0, 7, ".....", "sched_process_exit", 7, ""),
        switch(300, 0, 7, "Z", 1),
        fork(400, 0, 1, 7),
        switch(500, 0, 1, "S", 7),
        fork(600, 0, 7, 8),
        switch(700, 0, 7, "S", 0),
    ]);
    let lives: Vec<_> = trace.tasks.iter().filter(|(_, e)| e.pid == 7).map(|(t, e)| (t, e.ended, e.born)).collect();
    assert_eq!(lives, vec![(TaskId(1), Some(us(250)), true), (TaskId(2), None, true)]);
    let exit = (us(300), Event::Exit { task: TaskId(1) });
    let all = events(&trace);
    let at = all.iter().position(|e| *e == exit).expect("the first life ends");
    assert!(matches!(all[at + 1], (at, Event::Switch { off: Off::Exited, .. }) if at == us(300)));
    assert_eq!(count(&trace, Repair::MissingExit), 0);
}

#[test]
fn an_exec_changes_the_name_and_nothing_else() {
    let mut text = vec![switch(100, 0, 0, "R", 5)];
    text.push(
        "              t5-5       [000] .....     0.000150: sched_process_exec: filename=/bin/ls pid=5 old_pid=5"
            .into(),
    );
    text.push(switch(200, 0, 5, "S", 0).replace("prev_comm=t5", "prev_comm=ls"));
    let trace = lines(&text);
    assert_eq!(trace.tasks.len(), 1);
    let names: Vec<_> = trace.tasks.renames().iter().map(|(t, at, n)| (*t, *at, n.to_string())).collect();
    assert_eq!(names, vec![(TaskId(0), us(150), "ls".to_string())]);
}

#[test]
fn lost_events_are_counted_and_end_what_is_known_of_the_cpu() {
    let trace = lines(&[switch(100, 0, 0, "R", 1), "CPU:0 [LOST 412 EVENTS]".into(), switch(900, 0, 2, "S", 0)]);
    assert_eq!(count(&trace, Repair::LostEvents), 412);
    assert_eq!(count(&trace, Repair::MissingSwitch), 0);
    assert!(trace.warnings.iter().any(|w| w.contains("412 events were lost")), "{:?}", trace.warnings);
}

#[test]
fn garbage_and_a_cut_end_are_counted_and_the_rest_is_used() {
    let mut text = format!("# tracer: nop\n{}\n", switch(100, 0, 0, "R", 1)).into_bytes();
    text.extend_from_slice(b"\xff\xfe\x00 binary\nfree text\n");
    text.extend_from_slice(format!("{}\n", switch(200, 0, 1, "S", 0)).as_bytes());
    text.extend_from_slice(&switch(300, 0, 0, "R", 1).as_bytes()[..90]);
    let trace = load(&text).expect("a usable trace");
    assert_eq!(trace.records.len(), 2);
    assert_eq!(trace.repairs.of(Repair::UnreadableLine).first_line, 3);
    assert_eq!(count(&trace, Repair::UnreadableLine), 2);
    assert_eq!(count(&trace, Repair::TruncatedEnd), 1);
}

#[test]
fn a_compressed_file_cut_in_the_middle_keeps_its_beginning() {
    let many: Vec<String> = (0..20_000).map(|n| switch(n * 10, 0, (n % 2) as u32, "S", ((n + 1) % 2) as u32)).collect();
    let text = format!("# tracer: nop\n{}\n", many.join("\n"));
    let packed = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    let trace = load(&packed[..packed.len() / 2]).expect("the beginning is usable");
    assert!(!trace.records.is_empty() && trace.records.len() < 20_000);
    assert!(trace.warnings[0].starts_with("the file is cut off at line"), "{:?}", trace.warnings);
}

#[test]
fn who_runs_when_the_trace_begins_is_switched_in_at_its_start() {
    let trace = lines(&[switch(100, 0, 0, "R", 1), switch(300, 1, 5, "S", 0)]);
    let (task, cpu) = (Some(TaskId(1)), CpuId(1));
    let start = Event::Switch { cpu, prev: None, off: Off::Sleeping, next: task };
    assert_eq!(events(&trace)[0], (us(100), start));
}

#[test]
fn a_task_that_appears_on_another_cpu_has_migrated() {
    let trace = lines(&[
        switch(100, 0, 1, "R", 0),
        about(150, 1, 0, "d..2.", "sched_migrate_task", 1, " orig_cpu=0 dest_cpu=1"),
        switch(200, 1, 0, "R", 1),
        switch(300, 1, 1, "R", 0),
        switch(400, 0, 0, "R", 1),
    ]);
    let moves: Vec<_> = events(&trace).into_iter().filter(|(_, e)| matches!(e, Event::Migrate { .. })).collect();
    let task = TaskId(0);
    let there = Event::Migrate { task, from: CpuId(0), to: CpuId(1) };
    let back = Event::Migrate { task, from: CpuId(1), to: CpuId(0) };
    assert_eq!(moves, vec![(us(150), there), (us(400), back)]);
}

#[test]
fn interrupts_wake_without_a_waker() {
    let trace = lines(&[
        switch(100, 0, 1, "S", 9),
        about(200, 0, 9, "d.h2.", "sched_waking", 1, " target_cpu=000"),
        switch(300, 0, 9, "R", 1),
    ]);
    assert!(
        events(&trace).iter().any(|(_, e)| matches!(e, Event::Wakeup { waker: None, from: WakeSource::Interrupt, .. }))
    );
    let contexts: Vec<_> = trace
        .records
        .iter()
        .filter_map(|r| if let SchedEvent::Waking(w) = r.event { Some((w.context, w.current)) } else { None })
        .collect();
    assert_eq!(contexts, vec![(Context::HardIrq, Some(TaskId(1)))]);
}

#[test]
fn a_switch_to_itself_is_left_out() {
    let trace = lines(&[switch(100, 0, 0, "R", 1), switch(200, 0, 1, "R", 1), switch(300, 0, 1, "S", 0)]);
    assert_eq!(count(&trace, Repair::SelfSwitch), 1);
    assert_eq!(switches(&trace), "0R>1@100 1S>0@300");
    assert_eq!(PrevState::SLEEPING.off(), Off::Sleeping);
}

#[test]
fn a_task_put_in_somewhere_was_not_yet_there_while_it_ran_elsewhere() {
    let trace = lines(&[
        switch(0, 0, 9, "S", 0),
        switch(0, 2, 1, "S", 0),
        switch(267, 2, 4, "S", 0),
        switch(532, 0, 4, "S", 0),
    ]);
    assert_eq!(switches(&trace), "9S>0@0 1S>0@0 0R>4@133* 4S>0@267 0R>4@399* 4S>0@532");
    let lost = lines(&[
        switch(0, 0, 9, "S", 0),
        switch(0, 1, 0, "R", 1),
        switch(1200, 2, 2, "S", 0),
        "CPU:1 [LOST 1 EVENTS]".into(),
        switch(1400, 0, 1, "S", 0),
    ]);
    assert_eq!(switches(&lost), "9S>0@0 0R>1@0 2S>0@1200 0R>1@1300* 1S>0@1400");
}
