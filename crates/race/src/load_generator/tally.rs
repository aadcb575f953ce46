//! Counters of the load generator.

use crate::latency::latencies;
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use goodness_core::Span;
use goodness_observe::Histogram;

/// Counts of the time between `from` and `until`, in ns on the client's clock.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) from: u64,
    pub(super) until: u64,
    latency: Histogram,
    delay: Histogram,
    smallest: u64,
    answered: u64,
    failed: u64,
    /// CPU time of the client over its own duration.
    pub(super) cpu_share: f64,
    /// Requests without a reply when the client stopped waiting.
    pub(super) unanswered: u64,
}

impl Tally {
    pub(super) fn new(from: u64, length: Span) -> Tally {
        Tally {
            from,
            until: from + length.ns(),
            latency: Histogram::default(),
            delay: Histogram::default(),
            smallest: u64::MAX,
            answered: 0,
            failed: 0,
            cpu_share: 0.0,
            unanswered: 0,
        }
    }

    fn counts(&self, at: u64) -> bool {
        (self.from..self.until).contains(&at)
    }

    /// Counts a request due at `due` and started at `now`.
    pub(super) fn started(&mut self, due: u64, now: u64) {
        if self.counts(due) {
            self.delay.record(now.saturating_sub(due));
        }
    }

    /// Counts a request due at `due` and answered at `now`.
    pub(super) fn answered(&mut self, due: u64, now: u64) {
        self.answered += u64::from(self.counts(now));
        if self.counts(due) {
            let latency = now.saturating_sub(due);
            self.latency.record(latency);
            self.smallest = self.smallest.min(latency);
        }
    }

    /// Counts a request due at `due` that failed.
    pub(super) fn failed(&mut self, due: u64) {
        self.failed += u64::from(self.counts(due));
    }

    pub(super) fn measures(&self, server: &str) -> Result<Vec<Measure>, LoadError> {
        let (done, failed) = (self.latency.count(), self.failed + self.unanswered);
        if done == 0 || failed * 10 > done {
            return Err(LoadError(format!(
                "{server} answered {done} requests, and {} failed and {} had no answer in time; fewer connections or a \
                 lower rate may help",
                self.failed, self.unanswered
            )));
        }
        let seconds = (self.until - self.from) as f64 / 1e9;
        let mut all = vec![Measure::new("throughput", "1/s", Better::Higher, self.answered as f64 / seconds)];
        all.extend(latencies("request_latency", &self.latency, Some(self.smallest)));
        all.push(Measure::new("failed_requests", "1", Better::Lower, failed as f64));
        let delay = self.delay.quantile(9900).unwrap_or(0);
        all.push(Measure::new("client_delay_p99", "ns", Better::Lower, delay as f64));
        all.push(Measure::new("client_cpu_share", "1", Better::Lower, self.cpu_share));
        Ok(all)
    }
}
