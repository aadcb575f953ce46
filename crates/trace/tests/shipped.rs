//! The recordings that come with the program are read whole, and agree with what their recorder counted.

mod common;

use common::assert_consistent;
use goodness_trace::{Input, Origin, Recording, Repair, SchedEvent, load, summarise};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of recordings")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "zst"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no recording in {}", folder.display());
    files
}

/// Number of switches to each thread id, from the lines of the trace.
fn switched_to(recording: &Recording) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for record in &recording.records {
        if let (SchedEvent::Switch { next: Some(task), .. }, Origin::Recorded) = (record.event, record.origin) {
            let pid = recording.tasks.get(task).expect("a task of this recording").pid;
            *counts.entry(pid).or_default() += 1;
        }
    }
    counts
}

#[test]
fn every_shipped_recording_agrees_with_what_its_recorder_counted() {
    for path in shipped() {
        let recording = load(&path).unwrap_or_else(|e| panic!("{e}"));
        let name = path.display();
        assert_consistent(&recording);
        for kind in [Repair::UnreadableLine, Repair::UnreadableEvent, Repair::UnreadableHeader, Repair::OutOfOrder] {
            assert_eq!(recording.repairs.of(kind).count, 0, "{name}: {}", kind.meaning());
        }
        let header = recording.metadata.recording.as_ref().expect("a header");
        let (start, end) = (header.time.start_ns.expect("a start"), header.time.end_ns.expect("an end"));
        assert!(start <= recording.start().ns() && recording.end().ns() <= end, "{name}: events outside the window");
        let counts = switched_to(&recording);
        for task in &recording.metadata.attributes {
            assert_eq!(counts.get(&task.pid).copied().unwrap_or(0), task.switches, "{name}: thread {}", task.pid);
        }
        assert!(recording.metadata.hz().is_some() && !recording.metadata.members().is_empty(), "{name}");
    }
}

#[test]
fn a_summary_counts_what_loading_finds() {
    let path = shipped().remove(0);
    let summary = Input::open(&path).and_then(summarise).unwrap_or_else(|e| panic!("{e}"));
    let recording = load(&path).unwrap_or_else(|e| panic!("{e}"));
    let recorded = recording.records.iter().filter(|r| r.origin == Origin::Recorded).count() as u64;
    assert_eq!((summary.events, summary.tasks), (recorded, recording.tasks.len() as u64));
    assert_eq!((summary.start_ns, summary.end_ns), (recording.start().ns(), recording.end().ns()));
    assert_eq!(summary.repairs, recording.repairs);
    assert!(serde_json::to_string(&summary).expect("plain values").contains("\"missing_switch\""));
}
