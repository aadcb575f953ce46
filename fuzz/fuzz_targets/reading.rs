//! What must hold of any text, shared by all targets.

use goodness_core::{CpuId, Event, Observer, TaskId, Time};
use goodness_trace::{Excerpt, Input, Recording, SchedEvent, load_input, read_pieces, summarise};
use std::collections::BTreeMap;

/// Follows the events: time never goes back, nobody switches to themselves.
#[derive(Default)]
struct Follow {
    now: Time,
}

impl Observer for Follow {
    fn observe(&mut self, at: Time, event: &Event) {
        assert!(at >= self.now, "{at} after {}", self.now);
        self.now = at;
        if let Event::Switch { prev, next, .. } = event {
            assert_ne!(prev, next, "a switch to the same task at {at}");
        }
    }
}

/// Who leaves a CPU is who came to it, and nobody runs in two places.
fn assert_consistent(recording: &Recording) {
    let mut running: BTreeMap<CpuId, Option<TaskId>> = BTreeMap::new();
    for record in &recording.records {
        match record.event {
            SchedEvent::Lost { .. } => {
                running.remove(&record.cpu);
            }
            SchedEvent::Switch { prev, next, .. } => {
                if let Some(known) = running.insert(record.cpu, next) {
                    assert_eq!(known, prev, "who left {} at {}", record.cpu, record.at);
                }
                assert!(running.values().filter(|r| next.is_some() && **r == next).count() <= 1);
            }
            _ => {}
        }
    }
}

/// Pieces that are too small for the repairs keep the order, and large ones are the recording.
fn read_in_pieces(text: &[u8], recording: &Recording) {
    for (piece, is_whole) in [(10, false), (1 << 20, true)] {
        let mut all = Vec::new();
        let input = Input::bytes("fuzz", text).expect("it was read before");
        read_pieces(input, Excerpt::WHOLE, piece, |records| all.extend_from_slice(records))
            .expect("it was read before");
        assert!(all.is_sorted_by_key(|r| r.at), "records of pieces out of order");
        assert!(!is_whole || all == recording.records, "a piece that holds all differs");
    }
}

/// Reads `text` both ways; neither may panic, and both must agree on what was repaired.
pub fn read_both_ways(text: &[u8]) {
    let streamed = Input::bytes("fuzz", text).map(summarise);
    let Ok(loaded) = Input::bytes("fuzz", text).map(load_input) else { return };
    match (streamed, loaded) {
        (Ok(Ok(summary)), Ok(recording)) => {
            assert!(recording.records.is_sorted_by_key(|r| r.at), "records out of order");
            assert_eq!(summary.repairs, recording.repairs);
            assert_consistent(&recording);
            recording.observe(&mut Follow::default());
            read_in_pieces(text, &recording);
        }
        (Ok(Err(error)), Err(_)) => assert!(error.to_string().contains("fuzz"), "{error} names no file"),
        _ => panic!("the two ways in disagree"),
    }
}
