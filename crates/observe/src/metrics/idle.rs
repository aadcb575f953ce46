//! Idle while queued: the time during which at least one CPU idled while at least one task waited that may run
//! there. With restricted affinities it is known up to 64 CPUs and 64 different affinities; beyond that it is
//! not measured.

use super::Window;
use super::measured::Values;
use crate::tracker::Tracker;
use goodness_core::{Span, Time};

#[derive(Clone, Debug, Default)]
pub(super) struct IdleWhileQueued {
    total: Span,
    unknown: bool,
}

impl IdleWhileQueued {
    /// The state that the tracker shows lasted from `from` to `to`.
    #[inline]
    pub fn pass<T: Default>(&mut self, from: Time, to: Time, tracker: &Tracker<T>) {
        match tracker.idles_while_queued() {
            Some(false) => {}
            Some(true) => self.total += to.since(from),
            None => self.unknown = true,
        }
    }

    pub fn report(&self, window: Window, values: &mut Values) {
        let measured = !self.unknown && window.length() > 0.0;
        values.set("idle_while_queued", measured.then_some(self.total.ns() as f64), u64::from(measured));
    }
}
