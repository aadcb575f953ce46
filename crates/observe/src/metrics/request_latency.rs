//! Request latency and throughput, as reported by the modelled services.

use super::Window;
use super::measured::Values;
use crate::histogram::Histogram;
use goodness_core::Span;

#[derive(Clone, Debug, Default)]
pub(super) struct RequestLatency {
    pub distribution: Histogram,
}

impl RequestLatency {
    #[inline]
    pub fn record(&mut self, latency: Span) {
        self.distribution.record(latency.ns());
    }

    /// Reports the results. A workload without requests has no throughput, rather than one of 0.
    pub fn report(&self, window: Window, values: &mut Values) {
        values.set_distribution("request_latency", &self.distribution);
        let served = self.distribution.count();
        let measured = served > 0 && window.length() > 0.0;
        values.set("throughput", measured.then(|| served as f64 * 1e9 / window.length()), served);
    }
}
