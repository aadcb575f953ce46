//! Arbitrary input: no panic, records in order, memory bounded by the text.

mod common;

use common::{Monotone, about, assert_consistent, fork, load, switch, waking};
use goodness_trace::{Excerpt, Input, Record, Recording, read_pieces};
use proptest::prelude::*;

fn holds(trace: &Recording, bytes: usize) {
    assert!(trace.records.is_sorted_by_key(|r| r.at), "records out of order");
    assert!(trace.records.len() + trace.tasks.len() <= bytes, "more records than bytes");
    trace.observe(&mut Monotone::default());
    assert_consistent(trace);
}

/// A trace of a few threads on three CPUs, with all kinds of lines, consistent or not.
fn any_trace() -> impl Strategy<Value = String> {
    let line = (0u64..2_000, 0u32..3, 0u32..5, 0u32..5, 0usize..9).prop_map(|(us, cpu, a, b, kind)| match kind {
        0..=2 => switch(us, cpu, a, ["S", "R", "D"][kind], b),
        3 => waking(us, cpu, a, b, cpu),
        4 => fork(us, cpu, a, b),
        5 => about(us, cpu, a, "dNs3.", "sched_waking", b, " target_cpu=001"),
        6 => about(us, cpu, a, ".....", "sched_process_exit", a, ""),
        7 => switch(us, cpu, a, "X", b),
        _ => format!("CPU:{cpu} [LOST {us} EVENTS]"),
    });
    prop::collection::vec(line, 1..60).prop_map(|lines| format!("# tracer: nop\n{}\n", lines.join("\n")))
}

/// All records of `text`, read in pieces of `piece` events.
fn in_pieces(text: &str, piece: usize) -> Vec<Record> {
    let input = Input::bytes("t.txt", text.as_bytes()).expect("memory");
    let mut all = Vec::new();
    read_pieces(input, Excerpt::WHOLE, piece, |records| all.extend_from_slice(records)).expect("a trace");
    all
}

/// A task runs in two places, and one that was woken at the very time at which it must have left comes after it: both
/// switches are inferred, in this order.
#[test]
fn inferred_switches_of_one_time_keep_their_order() {
    let lost = "CPU:0 [LOST 0 EVENTS]".to_string();
    let lines = [
        switch(1_230, 1, 3, "S", 2),
        waking(1_265, 0, 3, 1, 1),
        lost,
        switch(1_300, 2, 3, "S", 2),
        switch(1_300, 1, 1, "S", 2),
    ];
    let text = format!("# tracer: nop\n{}\n", lines.join("\n"));
    holds(&load(text.as_bytes()).expect("a trace"), text.len());
}

proptest! {
    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(trace) = load(&bytes) {
            holds(&trace, bytes.len());
        }
    }

    #[test]
    fn inconsistent_traces_become_ordered_events(text in any_trace()) {
        if let Ok(trace) = load(text.as_bytes()) {
            holds(&trace, text.len());
        }
    }

    /// Pieces far too small for the repairs lose some of them, but keep the order.
    #[test]
    fn inconsistent_traces_in_pieces_become_ordered_events(text in any_trace(), piece in 0usize..100) {
        if let Ok(trace) = load(text.as_bytes()) {
            let records = in_pieces(&text, piece);
            prop_assert!(records.is_sorted_by_key(|r| r.at), "records out of order");
            prop_assert!(records.len() <= trace.records.len());
            prop_assert_eq!(in_pieces(&text, 10_000), trace.records);
        }
    }

    #[test]
    fn mutated_traces_are_read_or_refused(
        text in any_trace(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..20),
    ) {
        let mut text = text.into_bytes();
        for (at, byte, way) in changes {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match way {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => { text.remove(at); }
                _ => text.truncate(at.max(text.len() / 2)),
            }
        }
        if let Ok(trace) = load(&text) {
            holds(&trace, text.len() * 2);
        }
    }
}
