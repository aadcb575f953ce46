//! Control of 4.12 to 4.19: means over short windows. Reads or writes are throttled when they are fast and the others
//! slow.

use super::{DOMAINS, after_jiffies};
use goodness_core::{IoContext, Request, Span, Time};

/// The window that a request beyond its target opens.
const FIRST_MS: u64 = 10;
/// The windows that follow while targets are missed.
const NEXT_MS: u64 = 100;
const READ: usize = 0;
const WRITE: usize = 1;
const OTHER: usize = 2;
/// Tokens of the other domain from which nothing is throttled.
const OTHER_TOKENS: u32 = 64;

/// A mean latency relative to its target; greater is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// At least twice the target.
    Awful,
    /// Beyond the target.
    Bad,
    /// Within the target.
    Good,
    /// At most half of it.
    Great,
}

impl Status {
    fn of(mean: Span, target: Span) -> Status {
        match mean.0 {
            mean if mean >= 2 * target.0 => Status::Awful,
            mean if mean > target.0 => Status::Bad,
            mean if mean > target.0 / 2 => Status::Good,
            _ => Status::Great,
        }
    }

    fn is_good(self) -> bool {
        self >= Status::Good
    }
}

/// Device latencies of one domain in this window.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u64,
    samples: u64,
}

/// The window and its completions.
#[derive(Clone, Debug)]
pub struct Means {
    targets: [Span; 2],
    means: [Mean; 3],
    /// End of the window; `None` if none is open.
    pub timer: Option<Time>,
}

impl Means {
    /// No open window.
    pub fn new(read: Span, write: Span) -> Means {
        Means { targets: [read, write], means: Default::default(), timer: None }
    }

    /// Samples a completed request of `domain`. It counts in the open window; if it missed its target, it opens one.
    pub fn sample(&mut self, cx: &IoContext, domain: usize, request: &Request) {
        let latency = cx.now.since(request.issued);
        if self.timer.is_some() {
            let mean = &mut self.means[domain];
            mean.sum = mean.sum.saturating_add(latency.0);
            mean.samples += 1;
        } else if self.targets.get(domain).is_some_and(|target| latency > *target) {
            self.timer = Some(after_jiffies(cx, FIRST_MS));
        }
    }

    /// The depths that follow from `depths` at the end of a window.
    pub fn decide(&mut self, cx: &IoContext, mut depths: [u32; DOMAINS]) -> [u32; DOMAINS] {
        let status = |domain: usize| {
            let Mean { sum, samples } = self.means[domain];
            sum.checked_div(samples).map(|mean| Status::of(Span(mean), self.targets[domain]))
        };
        let (read, write) = (status(READ), status(WRITE));
        depths[READ] = balanced(depths[READ], read, write);
        depths[WRITE] = balanced(depths[WRITE], write, read);
        depths[OTHER] = throttled(depths[OTHER], read.max(write), self.means[OTHER].samples > 0).clamp(1, OTHER_TOKENS);
        let goes_on = [read, write].iter().flatten().any(|status| !status.is_good()) || depths[OTHER] < OTHER_TOKENS;
        self.timer = goes_on.then(|| after_jiffies(cx, NEXT_MS));
        self.means = Default::default();
        depths
    }
}

/// Depth of reads or writes, balancing both: the better one is throttled.
pub fn balanced(depth: u32, this: Option<Status>, other: Option<Status>) -> u32 {
    let part = |share: u32| depth.saturating_sub((depth / share).max(1));
    match (this, other) {
        (None, _) => depth,
        (Some(this), Some(other)) if this.is_good() == other.is_good() => depth,
        (Some(_), None) => depth + 1,
        (Some(Status::Great), Some(Status::Awful)) => depth / 2,
        (Some(Status::Great), Some(_)) | (Some(Status::Good), Some(Status::Awful)) => part(4),
        (Some(Status::Good), Some(_)) => part(8),
        (Some(Status::Awful), Some(Status::Great)) => depth + 2,
        (Some(Status::Awful | Status::Bad), Some(_)) => depth + 1,
    }
}

/// Depth of other requests, given the better status of reads and writes.
fn throttled(depth: u32, best: Option<Status>, has_samples: bool) -> u32 {
    match best {
        None => depth + 2,
        Some(_) if !has_samples => depth,
        Some(Status::Great) => depth + 2,
        Some(Status::Good) => depth + 1,
        Some(Status::Bad) => depth.saturating_sub((depth / 4).max(1)),
        Some(Status::Awful) => depth / 2,
    }
}
