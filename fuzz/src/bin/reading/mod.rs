//! What must hold of any text, shared by all targets.

#[path = "../../../../crates/trace/tests/common/mod.rs"]
mod common;

use common::{Monotone, assert_consistent};
use goodness_trace::{Excerpt, Input, Recording, load_input, read_pieces, summarise};

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
            recording.observe(&mut Monotone::default());
            read_in_pieces(text, &recording);
        }
        (Ok(Err(error)), Err(_)) => assert!(error.to_string().contains("fuzz"), "{error} names no file"),
        _ => panic!("the two ways in disagree"),
    }
}
