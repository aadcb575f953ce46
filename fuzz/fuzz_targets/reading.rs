//! What must hold of any text, shared by all targets.

use goodness_core::{Event, Observer, Time};
use goodness_trace::{Input, load_input, summarise};

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

/// Reads `text` both ways; neither may panic, and both must agree on what was repaired.
pub fn read_both_ways(text: &[u8]) {
    let streamed = Input::bytes("fuzz", text).map(summarise);
    let Ok(loaded) = Input::bytes("fuzz", text).map(load_input) else { return };
    match (streamed, loaded) {
        (Ok(Ok(summary)), Ok(recording)) => {
            assert!(recording.records.is_sorted_by_key(|r| r.at), "records out of order");
            assert_eq!(summary.repairs, recording.repairs);
            recording.observe(&mut Follow::default());
        }
        (Ok(Err(error)), Err(_)) => assert!(error.to_string().contains("fuzz"), "{error} names no file"),
        _ => panic!("the two ways in disagree"),
    }
}
