//! A trace read in pieces holds the events that it has when it is read as a whole.

mod common;

use common::is_same;
use goodness_trace::{Excerpt, Input, Record, Repair, load_input, read_pieces, read_sample};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// The lines of a shipped recording of two CPUs.
fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/apache-ab-c32-2cpu.ftrace.zst");
    let mut text = String::new();
    Input::open(&path).expect("it is shipped").read_to_string(&mut text).expect("plain text");
    text
}

/// The text without one event in `every`, so that some must be put in.
fn without_one_in(text: &str, every: usize) -> String {
    let kept = text.lines().enumerate().filter(|(n, line)| line.starts_with('#') || n % every != 0);
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

fn input(text: &str) -> Input<'_> {
    Input::bytes("t.txt", text.as_bytes()).expect("memory")
}

/// All records of `text`, read in pieces, and the largest piece.
fn in_pieces(text: &str, piece: usize) -> (Vec<Record>, usize) {
    let (mut all, mut largest) = (Vec::new(), 0);
    let each = |records: &[Record]| {
        all.extend_from_slice(records);
        largest = largest.max(records.len());
    };
    read_pieces(input(text), Excerpt::WHOLE, piece, each).expect("a trace");
    (all, largest)
}

#[test]
fn pieces_hold_the_records_of_the_whole_with_the_repairs_in_their_places() {
    let text = text();
    for text in [text.clone(), without_one_in(&text, 50)] {
        let whole = load_input(input(&text)).expect("a trace");
        let repaired = whole.repairs.of(Repair::MissingSwitch).count;
        assert!(whole.records.len() > 10_000 && repaired > 500, "{repaired}");
        let (found, largest) = in_pieces(&text, 2_000);
        assert!(largest < 2_000, "{largest}");
        let other = found.iter().zip(&whole.records).position(|(here, there)| !is_same(here, there));
        assert!(other.is_none() && found.len() == whole.records.len(), "{other:?} of {}", found.len());
    }
}

#[test]
fn a_sample_has_all_tasks_and_their_first_events_on_each_cpu() {
    let text = text();
    let whole = load_input(input(&text)).expect("a trace");
    let sample = read_sample(input(&text), Excerpt::WHOLE, 2_000).expect("a trace");
    assert!(sample.records.len() < 3_000, "{}", sample.records.len());
    assert_eq!((sample.start(), sample.end()), (whole.start(), whole.end()));
    assert_eq!(sample.tasks.len(), whole.tasks.len());
    let places = |records: &[Record]| -> BTreeSet<_> {
        records.iter().flat_map(|it| it.event.tasks().map(|task| (task, it.cpu))).collect()
    };
    assert_eq!(places(&sample.records), places(&whole.records));
    assert!(places(&whole.records[..2_000]) != places(&whole.records), "later events show more");
}
