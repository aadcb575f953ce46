//! A window of a trace: the same events as in the whole, and the state at its start.

mod common;

use common::{assert_consistent, is_same, lines, switch, waking};
use goodness_core::{Span, TaskId, Time};
use goodness_trace::{Excerpt, Input, Origin, Record, Recording, Repair, SchedEvent, TraceError, load, load_excerpt};
use std::path::Path;

fn excerpt(text: &[String], window: &str) -> Result<Recording, TraceError> {
    let text = format!("# tracer: nop\n{}\n", text.join("\n"));
    let input = Input::bytes("t.txt", text.as_bytes()).expect("memory");
    load_excerpt(input, Excerpt::parse(window).expect("a window"))
}

/// The tasks switched in at the start, by CPU.
fn at_start(recording: &Recording) -> Vec<(u32, TaskId)> {
    let put_in = |record: &&Record| record.origin == Origin::Repaired && record.at == recording.start();
    let next = |record: &Record| match record.event {
        SchedEvent::Switch { prev: None, next: Some(next), .. } => Some((record.cpu.0, next)),
        _ => None,
    };
    recording.records.iter().take_while(put_in).filter_map(next).collect()
}

#[test]
fn a_window_of_a_shipped_recording_holds_the_events_that_the_whole_has_there() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/apache-ab-c32-2cpu.ftrace.zst");
    let whole = load(&path).expect("the recording is shipped");
    let third = whole.duration().0 / 3;
    let (from, to) = (Span(third), Span(2 * third));
    let part = load_excerpt(Input::open(&path).expect("it is shipped"), Excerpt { from, to }).expect("a window");
    assert_consistent(&part);
    let within = |record: &&Record| record.at >= whole.start() + from && record.at < whole.start() + to;
    let expected: Vec<Record> = whole.records.iter().filter(within).copied().collect();
    let (running, events) = part.records.split_at(at_start(&part).len());
    assert!(!running.is_empty() && expected.len() > 1_000, "{} of {}", running.len(), expected.len());
    let other = events.iter().zip(&expected).find(|(here, there)| !is_same(here, there));
    assert!(other.is_none() && events.len() == expected.len(), "{} of {}: {other:?}", events.len(), expected.len());
    assert_eq!(part.start(), whole.start() + from);
    // The attributes of tasks are those of the header.
    assert_eq!(part.metadata.attributes.len(), whole.metadata.attributes.len());
}

#[test]
fn who_runs_throughout_the_window_is_known_although_it_writes_nothing_there() {
    let text: Vec<String> = [switch(100, 1, 0, "R", 7), waking(150, 0, 0, 8, 0), switch(160, 0, 0, "R", 8)]
        .into_iter()
        .chain((0..8).map(|n| match n % 2 {
            0 => switch(200 + 10 * n, 0, 8, "S", 9),
            _ => switch(200 + 10 * n, 0, 9, "R", 8),
        }))
        .chain([switch(900, 1, 7, "S", 0)])
        .collect();
    let part = excerpt(&text, "105us..175us").expect("a window");
    let pid = |(cpu, task): (u32, TaskId)| (cpu, part.tasks.get(task).map(|it| it.pid));
    assert_eq!(at_start(&part).into_iter().map(pid).collect::<Vec<_>>(), [(0, Some(9)), (1, Some(7))]);
    assert_eq!((part.start(), part.end()), (Time(205_000), Time(275_000)));
    assert_eq!(part.metadata.cpus, 2);
    // The first switches to tasks unseen before are no repairs of the window.
    assert!(lines(&text).repairs.of(Repair::FirstSeenRunning).count > 0);
    assert_eq!(part.repairs.of(Repair::FirstSeenRunning).count, 0);
}

#[test]
fn a_window_outside_the_trace_or_without_a_switch_is_refused_with_the_length() {
    let text = [switch(100, 0, 0, "R", 1), waking(200, 0, 1, 2, 0), switch(900, 0, 1, "S", 0)];
    let refused = |window| excerpt(&text, window).err().map(|why| why.to_string()).unwrap_or_default();
    assert!(refused("1s..2s").contains("the recording is 800us long"), "{}", refused("1s..2s"));
    assert!(refused("50us..150us").contains("no sched_switch event is in it"), "{}", refused("50us..150us"));
    assert!(excerpt(&text, "50us..").is_ok() && excerpt(&text, "801us").is_ok());
    // A window between two events, with switches before and behind.
    let refused = |window| excerpt(&[switch(100, 0, 0, "R", 1), switch(900, 0, 1, "S", 0)], window).is_err();
    assert!(refused("10us..50us") && !refused("10us..801us"));
}

#[test]
fn a_window_ends_where_it_is_cut_and_the_last_at_its_last_event() {
    let text =
        [switch(100, 0, 0, "R", 1), switch(200, 0, 1, "S", 0), switch(300, 0, 0, "R", 2), waking(900, 0, 2, 1, 0)];
    let ends = |window| excerpt(&text, window).map(|part| part.end()).ok();
    assert_eq!(["50us..700us", "50us..2ms", "50us.."].map(ends), [800, 900, 900].map(|us| Some(Time(us * 1_000))));
}

#[test]
fn a_window_begins_where_it_is_cut_although_every_cpu_idles_then() {
    let text = [switch(100, 0, 0, "R", 1), switch(200, 0, 1, "S", 0), waking(400, 0, 0, 1, 0)];
    let text: Vec<_> = text.into_iter().chain([switch(500, 0, 0, "R", 1), switch(900, 0, 1, "S", 0)]).collect();
    let starts =
        |window| excerpt(&text, window).map(|part| (part.start(), part.duration(), at_start(&part).len())).ok();
    let at = |us: u64, length: u64, running| Some((Time(us * 1_000), Span(length * 1_000), running));
    assert_eq!(starts("200us.."), at(300, 600, 0), "idle until the waking at 400 us");
    assert_eq!(starts("50us.."), at(150, 750, 1));
    assert_eq!(lines(&text).start(), Time(100_000));
}

#[test]
fn who_runs_at_the_start_is_known_at_every_priority() {
    for prio in ["0", "-1", "120"] {
        let to = switch(100, 0, 0, "R", 1).replace("next_prio=120", &format!("next_prio={prio}"));
        let part = excerpt(&[to, switch(900, 0, 1, "R", 2)], "50us..").expect("a window");
        assert_eq!((at_start(&part).len(), part.start()), (1, Time(150_000)), "priority {prio}");
    }
}

#[test]
fn what_makes_a_trace_useless_is_told_of_a_window_too() {
    let told = |line: &str| excerpt(&[line.into()], "10s..20s").err().map(|why| why.to_string()).unwrap_or_default();
    let counts = " x-1 [000] ..... 123456789: sched_waking: comm=y pid=2 prio=120 target_cpu=000";
    assert!(told(counts).contains("the times are clock counts"), "{}", told(counts));
    assert!(told(&waking(100, 0, 0, 1, 0)).contains("no sched_switch event up to here"));
}

#[test]
fn changes_before_the_window_are_the_attributes_at_its_start() {
    let changes = r#"{"at_ns":1000,"policy":"other","nice":0},{"at_ns":200000,"nice":5},
        {"at_ns":300000,"policy":"batch"},{"at_ns":800000,"nice":7}"#
        .replace(['\n', ' '], "");
    let header = format!("# goodness: {{\"task\":{{\"pid\":1,\"comm\":\"t1\",\"changes\":[{changes}]}}}}");
    let text = [header, switch(100, 0, 0, "R", 1), switch(700, 0, 1, "R", 2), switch(900, 0, 2, "S", 1)];
    let part = excerpt(&text, "500us..").expect("a window");
    let changes = &part.metadata.attributes_of(1).expect("stated").changes;
    let told: Vec<_> = changes.iter().map(|it| (it.at_ns, it.policy.as_deref(), it.nice)).collect();
    assert_eq!(told, [(300_000, Some("batch"), Some(5)), (800_000, None, Some(7))]);
}
