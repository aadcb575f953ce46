//! The rules that every registered elevator tells agree with what it dispatches, under random loads; asking changes
//! nothing; and a wrong rule is found out.

#[path = "contract/host.rs"]
mod host;
#[path = "reasons/judge.rs"]
mod judge;

use goodness_core::{IoReason, Span};
use goodness_observe::asked_elevator::AskedElevator;
use host::{Dispatched, Grouping, RandomHost, variants};
use judge::{Found, Judge, Lie};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Streams for each elevator and setting.
const SEEDS: u64 = 12;
/// Events of a stream.
const STEPS: u32 = 400;

/// Settings, seed and groups of a stream.
type Stream<'a> = (&'a [(String, String)], u64, Grouping);

const NO_LIE: Lie = |_, _, said| said;

/// The stream of `seed`, whose elevator is asked, and what was found.
fn asked(name: &'static str, stream: Stream, lie: Lie) -> (Vec<Dispatched>, Found) {
    let found = Arc::new(Mutex::new(Found::default()));
    let entry = goodness_elevators::entry(name).expect("registered elevators are found by name");
    let judge = Judge::new(name, lie, Arc::clone(&found));
    let mut host = RandomHost::around(name, entry, stream, |made| AskedElevator::around(made, judge));
    (0..STEPS).for_each(|_| host.step());
    host.finish();
    let found = found.lock().unwrap().clone();
    (host.dispatched, found)
}

/// The same stream, whose elevator is not asked.
fn unasked(name: &'static str, stream: Stream) -> Vec<Dispatched> {
    let entry = goodness_elevators::entry(name).expect("registered elevators are found by name");
    let mut host = RandomHost::new(name, entry, stream);
    (0..STEPS).for_each(|_| host.step());
    host.finish();
    host.dispatched
}

#[test]
fn every_elevator_tells_its_rules_and_they_agree_with_what_it_does() {
    let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for about in goodness_elevators::ALL {
        let entry = goodness_elevators::entry(about.name).expect("registered elevators are found by name");
        for settings in variants((entry.tunables)()) {
            let all = [Grouping::Flat, Grouping::Fixed, Grouping::Moving];
            for stream in (0..SEEDS).flat_map(|seed| all.map(|grouping| (&*settings, seed, grouping))) {
                let (order, found) = asked(about.name, stream, NO_LIE);
                told.entry(about.name).or_default().extend(found.told);
                wrong.extend(found.wrong.map(|it| format!("{} {stream:?}: {it}", about.name)));
                if order != unasked(about.name, stream) {
                    wrong.push(format!("{} {stream:?} decides otherwise when asked", about.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (elevator, rules) in RULES {
        assert_eq!(told[elevator].iter().copied().collect::<Vec<_>>(), rules, "{elevator}");
    }
    assert_eq!(told.len(), RULES.len());
}

/// The rules that each elevator tells in these streams.
const RULES: [(&str, &[&str]); 13] = [
    ("as", &["drains", "expired", "first", "idles", "in_service", "kind_turn", "sector_order"]),
    ("bfq", &["group_turn", "idles", "in_service", "injected", "io_class", "queue_order"]),
    ("cfq", &["idles", "in_service", "io_class", "queue_order"]),
    ("cfq-v2", &["queue_order", "round"]),
    ("cscan", &["head_moves", "sector_order"]),
    ("deadline", &["batch", "expired", "first", "reads_first", "sector_order", "writes_starved"]),
    ("kyber", &["cpu_turn", "first", "kind_turn", "tokens_used_up"]),
    ("look", &["sector_order"]),
    (
        "mq-deadline",
        &["batch", "expired", "first", "io_aged", "io_class", "reads_first", "sector_order", "writes_starved"],
    ),
    ("none", &["cpu_turn", "first"]),
    ("noop", &["first"]),
    ("scan", &["head_moves", "sector_order"]),
    ("sstf", &["nearer"]),
];

/// The wrong claim that is found in one of twenty streams, if any.
fn found_out(elevator: &'static str, lie: Lie) -> Option<String> {
    (0..20).find_map(|seed| asked(elevator, (&[], seed, Grouping::Fixed), lie).1.wrong)
}

/// An elevator, what is wrong with what it says, and how it says it.
const LIES: [(&str, &str, Lie); 17] = [
    ("noop", "sorts by sector", |_, _, _| Some(IoReason::SectorOrder)),
    ("noop", "has batches", |_, _, _| Some(IoReason::Batch)),
    ("sstf", "takes the first", |_, _, _| Some(IoReason::First)),
    ("sstf", "takes the farthest", |_, _, said| match said? {
        IoReason::Nearer { ahead, waiting } => Some(IoReason::Nearer { ahead: waiting, waiting: ahead }),
        other => Some(other),
    }),
    ("sstf", "mistakes the distance", |_, _, said| match said? {
        IoReason::Nearer { ahead, waiting } => Some(IoReason::Nearer { ahead, waiting: waiting + 1 }),
        other => Some(other),
    }),
    ("look", "takes the first", |_, _, said| said.map(|_| IoReason::First)),
    ("mq-deadline", "prefers writes", |_, _, said| match said? {
        IoReason::ReadsFirst => Some(IoReason::WritesStarved),
        other => Some(other),
    }),
    ("mq-deadline", "goes on with a batch that begins", |_, _, said| match said? {
        IoReason::ReadsFirst | IoReason::WritesStarved => Some(IoReason::Batch),
        other => Some(other),
    }),
    ("mq-deadline", "reverses classes", |_, _, said| match said? {
        IoReason::Class { ahead, waiting } => Some(IoReason::Class { ahead: waiting, waiting: ahead }),
        other => Some(other),
    }),
    ("mq-deadline", "says aged of a class", |_, _, said| match said? {
        IoReason::Class { .. } => Some(IoReason::Aged),
        other => Some(other),
    }),
    ("deadline", "mistakes the age", |_, _, said| match said? {
        IoReason::Expired { age } => Some(IoReason::Expired { age: age + Span(1) }),
        other => Some(other),
    }),
    ("none", "always changes the CPU", |_, _, said| said.map(|_| IoReason::CpuTurn)),
    ("cfq", "serves itself", |_, _, said| match said? {
        IoReason::QueueOrder => Some(IoReason::InService),
        other => Some(other),
    }),
    ("cfq", "idles for one who waits", |cx, [_, waiting], said| match said? {
        IoReason::Idles { .. } => Some(IoReason::Idles { submitter: cx.requests[waiting?].submitter }),
        other => Some(other),
    }),
    ("bfq", "takes a process of the same group for another group", |_, _, said| match said? {
        IoReason::InService => Some(IoReason::GroupTurn),
        other => Some(other),
    }),
    ("mq-deadline", "throttles write-back, which the block layer does", |_, _, said| said.map(|_| IoReason::WriteBack)),
    ("bfq", "hides that it is a group's turn", |_, _, said| match said? {
        IoReason::GroupTurn => Some(IoReason::InService),
        other => Some(other),
    }),
];

#[test]
fn each_wrong_rule_is_found_out() {
    for (elevator, what, lie) in LIES {
        assert_eq!(found_out(elevator, NO_LIE), None, "{elevator} itself");
        assert!(found_out(elevator, lie).is_some(), "{elevator} {what}, and nobody notices");
    }
    let tokens: Lie = |_, _, said| said.map(|_| IoReason::TokensUsedUp { tokens: 1_000 });
    assert!(found_out("kyber", tokens).is_some_and(|it| it.contains("TokensUsedUp")));
}
