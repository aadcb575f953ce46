//! Kyber: limits each kind of I/O by tokens, and takes tokens from fast kinds when the device is congested.
//!
//! Source: Linux, `specs/io-schedulers.md` section 10. Requests are not sorted. Each CPU has a queue per domain (kind
//! of I/O). A hardware queue serves one domain for a batch, then rotates. A request holds a token of its domain while
//! in the device. `kernel=4.20` sets the number of tokens by percentiles (`histogram.rs`), `kernel=4.12` by means
//! (`mean.rs`).
//!
//! Inferred: when a turn ends for lack of work or tokens, the next domain starts a full batch. An I/O merges only with
//! one of the eight newest requests of its CPU and domain; two requests never merge. Flushes, the only other requests
//! here, bypass elevators, so the domain "others" stays empty.
//!
//! Weakness: no fairness between processes; no order on a seeking disk; nothing is throttled if every request is slow.

mod histogram;
mod mean;
mod queues;
#[cfg(test)]
mod tests;

use goodness_core::{
    Allocate, Effort, Elevator, ElevatorAbout, HwQueue, Io, IoContext, IoReason, Layer, Merges, Operation, QueueFacts,
    QueueLock, RegisteredElevator, Request, RequestId, Run, Seed, Span, Time, WhyWaits,
};
use histogram::Histograms;
use mean::Means;
use queues::Queues;

goodness_core::choices! {
    /// The version modelled: 4.12 to 4.19, or since 4.20.
    pub enum Kernel { V4_12 = "4.12", V4_20 = "4.20" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Form modelled: means (4.12 to 4.19) or percentiles (since 4.20).
        kernel: Kernel = Kernel::V4_20;
        /// Latency that reads should have.
        read_lat: Span = Span::from_ms(2), in Span::from_us(1) => Span::from_s(60);
        /// Latency that writes should have.
        write_lat: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(60);
    }
}

/// Domains of the form with the most.
const DOMAINS: usize = 4;
/// Share of the layer's slots, in percent, available to asynchronous I/O.
const ASYNC_PERCENT: u64 = 75;

/// Tokens and batch size of a domain.
struct Grant {
    tokens: u32,
    batch: u32,
}

/// Since 4.20: reads, writes, discards, others.
const CURRENT: [Grant; DOMAINS] = [
    Grant { tokens: 256, batch: 16 },
    Grant { tokens: 128, batch: 8 },
    Grant { tokens: 64, batch: 1 },
    Grant { tokens: 16, batch: 1 },
];
/// 4.12 to 4.19: reads, synchronous writes, others.
const OLD: [Grant; 3] =
    [Grant { tokens: 256, batch: 16 }, Grant { tokens: 128, batch: 8 }, Grant { tokens: 64, batch: 8 }];

/// The tokens of one domain.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    /// Requests that the device may have.
    depth: u32,
    /// Requests that it has.
    used: u32,
}

/// The domain a hardware queue serves, and how many requests of it were dispatched in this batch.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    domain: usize,
    batch: u32,
}

#[derive(Clone, Debug)]
enum Control {
    Histograms(Box<Histograms>),
    Means(Means),
}

/// Domains with tokens.
#[derive(Clone, Debug)]
pub struct Kyber {
    grants: &'static [Grant],
    queues: Queues,
    tokens: [Tokens; DOMAINS],
    turns: Vec<Turn>,
    /// Domain whose token each request holds.
    holds: Vec<Option<u8>>,
    control: Control,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens, batches of {}", self.tokens, self.batch)
    }
}

impl RegisteredElevator for Kyber {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "kyber",
        summary: "Tokens for reads, writes and discards, fewer for those that are fast while the device is congested.",
        source: "Linux 4.12 to 4.19 and since 4.20; specs section 10",
        layer: Layer::MultiQueue,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Kyber {
        let grants: &'static [Grant] = match settings.kernel {
            Kernel::V4_12 => &OLD,
            Kernel::V4_20 => &CURRENT,
        };
        let control = match settings.kernel {
            Kernel::V4_12 => Control::Means(Means::new(settings.read_lat, settings.write_lat)),
            Kernel::V4_20 => Control::Histograms(Box::new(Histograms::new(settings.read_lat, settings.write_lat))),
        };
        let mut tokens = [Tokens::default(); DOMAINS];
        for (tokens, grant) in tokens.iter_mut().zip(grants) {
            tokens.depth = grant.tokens;
        }
        Kyber {
            grants,
            queues: Queues::new(facts, grants.len()),
            tokens,
            turns: vec![Turn::default(); usize::from(facts.queues.max(1))],
            holds: Vec::new(),
            control,
        }
    }
}

impl Elevator for Kyber {
    fn merges(&self) -> Merges {
        Merges::Newest
    }

    fn lock(&self) -> QueueLock {
        QueueLock::OfQueue
    }

    fn allows_merge(&self, _: &IoContext, request: RequestId, io: &Io) -> bool {
        self.queues.is_among_the_newest(request, usize::from(io.cpu), self.domain(io.op, io.sync))
    }

    fn remove(&mut self, _: &IoContext, request: RequestId) {
        self.queues.remove(request);
    }

    fn may_allocate(&self, cx: &IoContext, io: &Io, _: u32) -> Allocate {
        let limit = u64::from(cx.facts.requests_each()) * ASYNC_PERCENT / 100;
        if io.sync { Allocate::AsUsual } else { Allocate::Shallow(limit.max(1) as u32) }
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let slots = cx.requests.slots();
        self.queues.reserve(slots);
        if self.holds.len() < slots {
            self.holds.resize(slots, None);
        }
        let what = &cx.requests[request];
        let domain = self.domain_of(what);
        self.queues.insert(request, what, domain);
        cx.examined(Effort::Insert, 1);
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, queue: HwQueue) -> Option<RequestId> {
        if !self.queues.has(queue) {
            // Nobody counts what is not there, and a turn through all domains ends where it began.
            self.turns[queue.index()].batch = 0;
            return None;
        }
        let turn = self.turns[queue.index()];
        let goes_on = turn.batch < self.grants[turn.domain].batch;
        if let Some(request) = goes_on.then(|| self.dispatch_turn(cx, queue)).flatten() {
            return Some(request);
        }
        self.rotate(cx, queue)
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        let Some(domain) = self.holds[request.index()].take() else { return };
        self.tokens[usize::from(domain)].used -= 1;
        let what = &cx.requests[request];
        // The token, and what the controller learns: the wait, the service, the timer.
        cx.examined(Effort::Recalculate, 4);
        match &mut self.control {
            Control::Histograms(control) => control.sample(cx, usize::from(domain), what),
            Control::Means(control) => control.sample(cx, usize::from(domain), what),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        match &self.control {
            Control::Histograms(control) => control.timer,
            Control::Means(control) => control.timer,
        }
    }

    fn timer(&mut self, cx: &IoContext) {
        let depths = self.tokens.map(|tokens| tokens.depth);
        let wanted = match &mut self.control {
            Control::Histograms(control) => control.decide(cx, depths),
            Control::Means(control) => control.decide(cx, depths),
        };
        for ((tokens, grant), depth) in self.tokens.iter_mut().zip(self.grants).zip(wanted) {
            tokens.depth = depth.clamp(1, grant.tokens);
        }
    }

    fn has_work(&self) -> bool {
        self.queues.waiting() > 0
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let waiting = &cx.requests[question.waiting];
        if waiting.queue != question.queue {
            return None;
        }
        let ahead = question.ahead.map(|ahead| &cx.requests[ahead]);
        let domain = self.domain_of(waiting);
        match ahead.filter(|ahead| self.domain_of(ahead) == domain) {
            Some(ahead) if ahead.cpu == waiting.cpu => Some(IoReason::First),
            Some(_) => Some(IoReason::CpuTurn),
            None => {
                let Tokens { depth, used } = self.tokens[domain];
                let is_turn = ahead.map(|_| IoReason::KindTurn);
                if used >= depth { Some(IoReason::TokensUsedUp { tokens: depth }) } else { is_turn }
            }
        }
    }
}

impl Kyber {
    fn domain_of(&self, request: &Request) -> usize {
        self.domain(request.op, request.sync)
    }

    /// The domain of an I/O. In the old version, only synchronous writes count as writes.
    fn domain(&self, op: Operation, sync: bool) -> usize {
        match (&self.control, op) {
            (_, Operation::Read) => 0,
            (Control::Histograms(_), Operation::Write) => 1,
            (Control::Histograms(_), Operation::Discard) => 2,
            (Control::Histograms(_), Operation::Flush) => 3,
            (Control::Means(_), Operation::Write) if sync => 1,
            (Control::Means(_), _) => 2,
        }
    }

    /// A request of the current domain, if there are one and a token.
    fn dispatch_turn(&mut self, cx: &IoContext, queue: HwQueue) -> Option<RequestId> {
        cx.examined(Effort::Search, 1);
        let turn = &mut self.turns[queue.index()];
        let tokens = &mut self.tokens[turn.domain];
        if tokens.used >= tokens.depth {
            return None;
        }
        let request = self.queues.take(queue, turn.domain)?;
        turn.batch += 1;
        tokens.used += 1;
        cx.examined(Effort::Insert, 2);
        cx.examined(Effort::Recalculate, 1);
        self.holds[request.index()] = Some(turn.domain as u8);
        Some(request)
    }

    /// Moves to the next domain with work and a token; the current one comes last.
    fn rotate(&mut self, cx: &IoContext, queue: HwQueue) -> Option<RequestId> {
        let domains = self.grants.len();
        self.turns[queue.index()].batch = 0;
        (0..domains).find_map(|_| {
            let turn = &mut self.turns[queue.index()];
            turn.domain = (turn.domain + 1) % domains;
            self.dispatch_turn(cx, queue)
        })
    }
}

/// Expiry of a kernel timer of `ms` milliseconds: whole jiffies, from the start of the current one.
fn after_jiffies(cx: &IoContext, ms: u64) -> Time {
    let jiffies = cx.facts.jiffies_up(Span::from_ms(ms));
    Time((cx.jiffies() + jiffies) * cx.facts.jiffy().0)
}
