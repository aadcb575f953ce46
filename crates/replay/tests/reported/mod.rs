//! Requests of a replay.

use goodness_core::{Event, Observer, Span, Time};

/// Latencies that a run reports.
#[derive(Default)]
pub struct Reported(pub Vec<Span>);

impl Observer for Reported {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Served { latency, .. } = event {
            self.0.push(*latency);
        }
    }
}
