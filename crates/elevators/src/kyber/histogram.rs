//! Control since 4.20: latency histograms. A congested device takes tokens from domains that meet their target.

use super::{DOMAINS, after_jiffies};
use goodness_core::{IoContext, Request, Span, Time};

const BUCKETS: usize = 8;
/// Buckets below this one lie within the target.
const GOOD: usize = 4;
/// Number of samples that suffice for a percentile at once.
const ENOUGH: u32 = 500;
/// Time after which fewer do.
const PATIENCE: Span = Span::from_s(1);
/// From a completion to the next decision.
const PERIOD_MS: u64 = 100;
/// Domains with a target: all but the last.
const TIMED: usize = DOMAINS - 1;
/// Latency target of discards; not tunable.
const DISCARD_TARGET: Span = Span::from_s(5);

/// The latencies of one domain, of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Histogram {
    buckets: [u32; BUCKETS],
    /// Time the first entry was added.
    since: Option<Time>,
}

impl Histogram {
    fn add(&mut self, now: Time, bucket: usize) {
        self.since.get_or_insert(now);
        self.buckets[bucket] += 1;
    }

    /// The bucket of the percentile; empties the histogram. `None` if there are too few samples.
    fn take_percentile(&mut self, now: Time, percent: u64) -> Option<usize> {
        let samples: u32 = self.buckets.iter().sum();
        if samples < ENOUGH && now.since(self.since?) < PATIENCE {
            return None;
        }
        let mut wanted = (u64::from(samples) * percent).div_ceil(100);
        let bucket = self.buckets.iter().position(|count| {
            let is_here = u64::from(*count) >= wanted;
            wanted = wanted.saturating_sub(u64::from(*count));
            is_here
        });
        *self = Histogram::default();
        bucket
    }
}

/// The bucket of a latency: quarters of the target.
pub fn bucket(latency: Span, target: Span) -> usize {
    let width = (target.0 / GOOD as u64).max(1);
    (latency.0.saturating_sub(1) / width).min(BUCKETS as u64 - 1) as usize
}

/// Latencies of all domains, and decisions based on them.
#[derive(Clone, Debug)]
pub struct Histograms {
    targets: [Span; TIMED],
    /// Since allocation.
    total: [Histogram; TIMED],
    /// Since issue.
    device: [Histogram; TIMED],
    /// Last percentile of total latency that led to no decision.
    remembered: [Option<usize>; TIMED],
    /// Time of the next decision.
    pub timer: Option<Time>,
}

impl Histograms {
    /// Empty histograms.
    pub fn new(read: Span, write: Span) -> Histograms {
        Histograms {
            targets: [read, write, DISCARD_TARGET],
            total: Default::default(),
            device: Default::default(),
            remembered: [None; TIMED],
            timer: None,
        }
    }

    /// A request of `domain` completed.
    pub fn sample(&mut self, cx: &IoContext, domain: usize, request: &Request) {
        if domain >= TIMED {
            return;
        }
        let target = self.targets[domain];
        self.total[domain].add(cx.now, bucket(cx.now.since(request.allocated), target));
        self.device[domain].add(cx.now, bucket(cx.now.since(request.issued), target));
        self.timer.get_or_insert(after_jiffies(cx, PERIOD_MS));
    }

    /// The depths that follow from `depths`.
    pub fn decide(&mut self, cx: &IoContext, mut depths: [u32; DOMAINS]) -> [u32; DOMAINS] {
        self.timer = None;
        let mut congested = false;
        for device in &mut self.device {
            congested |= device.take_percentile(cx.now, 90).is_some_and(|bucket| bucket >= GOOD);
        }
        for (domain, depth) in depths.iter_mut().enumerate().take(TIMED) {
            let fresh = self.total[domain].take_percentile(cx.now, 99);
            // Domains do not gather enough samples at the same time: a percentile waits for the next congestion, and
            // serves for one decision.
            let remembered = self.remembered[domain].take();
            let known = if congested {
                fresh.or(remembered)
            } else {
                self.remembered[domain] = fresh.or(remembered);
                fresh
            };
            if let Some(p99) = known.filter(|p99| congested || *p99 >= GOOD) {
                *depth = *depth * (p99 as u32 + 1) / GOOD as u32;
            }
        }
        depths
    }
}
