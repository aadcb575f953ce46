//! Slice length: from a switch-in to the next switch-out. A task picked again at once continues its slice, because no
//! switch happened.

use super::measured::Values;
use crate::histogram::Histogram;
use goodness_core::Span;

#[derive(Clone, Debug, Default)]
pub(super) struct SliceLength {
    pub distribution: Histogram,
}

impl SliceLength {
    #[inline]
    pub fn record(&mut self, ran: Span) {
        self.distribution.record(ran.ns());
    }

    pub fn report(&self, values: &mut Values) {
        values.set_distribution("slice_length", &self.distribution);
    }
}
