//! recorded: service times drawn from measured ones.
//!
//! Samples are sorted into classes by operation, size (powers of two), and whether the request starts where the
//! previous one of its operation ended. A request draws uniformly from its class. A class without samples uses the
//! nearest one: the same operation and the next size, then the other kind of succession, then reads for writes and
//! writes for reads. Discards and flushes without samples take no time. [`Recorded::in_order`] takes the times of a
//! class one after the other instead, so what was slow together stays together.
//!
//! Slow times may be correlated. With a [`Pace`], the drawn times are work, done at the device's measured speed window
//! by window, starting at a random window; then all requests in flight are slow together.
//!
//! A device may serve each command more slowly, the more of them it has ([`Recorded::sharing`]): its commands then
//! share what it can do, as the flash chips, the arm or the driver's thread behind it are shared. A command may also
//! take some time on its way, in which it shares nothing ([`Recorded::lagging`]).
//!
//! Not modelled: influences beyond class and pace, such as distance, load and the previous request. It is not in the
//! registry, because it needs a sample.

use crate::pace::Pace;
pub use goodness_core::Service;
use goodness_core::{Device, DeviceFacts, Operation, Request, RequestId, Rng, Seed, Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Powers of two of a size in sectors.
const SIZES: usize = 33;
/// Sizes of requests that succeed each other, and of those that do not.
const CLASSES: usize = 2 * SIZES;
/// Full speed in the unit of speeds.
const FULL: u128 = 1000;
/// Operations.
const OPERATIONS: usize = 4;

/// A device with the service times of a sample.
#[derive(Debug)]
pub struct Recorded {
    facts: DeviceFacts,
    /// Commands served at a time; further ones wait in the device.
    servers: usize,
    /// Times of all classes, concatenated.
    spans: Vec<Span>,
    /// By operation and class: the part of `spans` that it draws from.
    classes: Vec<(u32, u32)>,
    /// By operation and class: the next of its times, if they are taken in order.
    turns: Option<Vec<u32>>,
    /// End of the last request, by operation.
    ends: [u64; OPERATIONS],
    waiting: VecDeque<(RequestId, Span)>,
    /// Times on the way, and which of them is next.
    lags: Vec<Span>,
    lag: usize,
    /// Commands that are done, but still on their way.
    landing: BinaryHeap<Reverse<(Time, RequestId)>>,
    /// Speed of each command per mille, by the number of commands less 1; with more commands the last of them is
    /// shared.
    speeds: Vec<u32>,
    /// The device clock and the pace's at the last change, in thousandths of ns.
    clock: (u128, u128),
    /// By device-clock time of completion, in thousandths of ns, then by number.
    served: BinaryHeap<Reverse<(u128, u64, RequestId)>>,
    /// Time of the first completion.
    next: Time,
    /// `None` for constant normal speed; then the device clock is the true time.
    pace: Option<Pace>,
    begun: u64,
    rng: Rng,
}

impl Recorded {
    /// A device with `facts` that serves `servers` commands at a time. Use 1 for a sample of pure service times; use
    /// the measured queue depth for times that include waiting in the device.
    ///
    /// # Errors
    /// No read and no write in the sample, or no server, as a sentence.
    pub fn new(facts: DeviceFacts, servers: u32, sample: &[Service], seed: Seed) -> Result<Recorded, String> {
        if servers == 0 {
            return Err("a device with 0 servers completes nothing; give it 1 or more".into());
        }
        if !sample.iter().any(|s| matches!(s.op, Operation::Read | Operation::Write)) {
            return Err(format!(
                "none of the {} requests of the sample is a read or a write; take a sample that has some",
                sample.len()
            ));
        }
        if u32::try_from(sample.len()).is_err() {
            return Err(format!("a sample of {} requests is too large; keep fewer than 2^32", sample.len()));
        }
        let (spans, own) = sorted(sample);
        let classes = (0..OPERATIONS * CLASSES).map(|class| substitute(&own, class)).collect();
        Ok(Recorded {
            facts,
            servers: servers as usize,
            spans,
            classes,
            turns: None,
            ends: [u64::MAX; OPERATIONS],
            waiting: VecDeque::new(),
            speeds: Vec::new(),
            lags: Vec::new(),
            lag: 0,
            landing: BinaryHeap::new(),
            clock: (0, 0),
            served: BinaryHeap::new(),
            next: Time::NEVER,
            pace: None,
            begun: 0,
            rng: seed.stream("recorded", 0).rng(),
        })
    }

    /// Adds a pace: windows of length `window` with `speeds` per mille, repeated, starting at a random one.
    ///
    /// # Errors
    /// No speed, a speed of zero, or a window of no length, as a sentence.
    pub fn paced(mut self, window: Span, speeds: Vec<u32>) -> Result<Recorded, String> {
        let first = self.rng.below(speeds.len().max(1) as u64) as usize;
        self.pace = Some(Pace::new(window, speeds, first)?);
        Ok(self)
    }

    /// Serves `n` commands at the speed `speeds[n - 1]` each, in per mille; more commands than that share the speed of
    /// the last number evenly. The sample's times are then those at full speed.
    ///
    /// # Errors
    /// A speed of zero, as a sentence.
    pub fn sharing(mut self, speeds: Vec<u32>) -> Result<Recorded, String> {
        if let Some(at) = speeds.iter().position(|speed| *speed == 0) {
            return Err(format!(
                "{} commands have speed 0, and nothing would be done; give 1 or more per mille",
                at + 1
            ));
        }
        self.speeds = speeds;
        Ok(self)
    }

    /// Adds to the time of each command one of `lags`, in their order.
    #[must_use]
    pub fn lagging(mut self, lags: Vec<Span>) -> Recorded {
        self.lags = lags;
        self
    }

    /// Takes the times of each class in the sample's order, over and over, from one of the first `begin` on, drawn for
    /// each class. Few of them keep the sample in step with what else was recorded.
    #[must_use]
    pub fn in_order(mut self, begin: u32) -> Recorded {
        let turns = self.classes.iter().map(|(_, count)| self.rng.below(begin.min(*count).max(1).into()) as u32);
        self.turns = Some(turns.collect());
        self
    }

    fn draw(&mut self, request: &Request) -> Span {
        let op = request.op as usize;
        let is_sequential = self.ends[op] == request.sector;
        self.ends[op] = request.end();
        let class = op * CLASSES + class(request.sectors, is_sequential);
        let (first, count) = self.classes[class];
        if count == 0 {
            return Span::ZERO;
        }
        let which = match &mut self.turns {
            None => self.rng.below(u64::from(count)) as u32,
            Some(turns) => {
                let turn = turns[class];
                turns[class] = (turn + 1) % count;
                turn
            }
        };
        self.spans[(first + which) as usize]
    }

    fn serve(&mut self, now: Time, id: RequestId, span: Span) {
        self.show(now);
        self.begun += 1;
        self.served.push(Reverse((self.clock.0 + Pace::work(span), self.begun, id)));
        self.look_ahead();
    }

    /// Moves the device clock on to `now`: slower, the more commands share it.
    fn show(&mut self, now: Time) {
        let paced = self.pace.as_mut().map_or(Pace::work(Span(now.0)), |pace| pace.show(now));
        let (speed, of) = self.speed();
        let passed = paced.saturating_sub(self.clock.1) * speed / of;
        self.clock = (self.clock.0 + passed, paced);
    }

    /// The speed of each command: a share.
    fn speed(&self) -> (u128, u128) {
        let (there, known) = (self.served.len().max(1), self.speeds.len());
        match self.speeds.get(there.min(known).wrapping_sub(1)) {
            None => (1, 1),
            Some(speed) if there <= known => ((*speed).into(), FULL),
            Some(speed) => (u128::from(*speed) * known as u128, FULL * there as u128),
        }
    }

    fn look_ahead(&mut self) {
        let Some(Reverse((done, ..))) = self.served.peek() else {
            self.next = Time::NEVER;
            return;
        };
        let (speed, of) = self.speed();
        let left = (done.saturating_sub(self.clock.0) * of).div_ceil(speed);
        let paced = self.clock.1 + left;
        self.next = self.pace.as_ref().map_or_else(|| Pace::usual(paced), |pace| pace.when(paced));
    }
}

/// The class of a request within its operation.
fn class(sectors: u32, is_sequential: bool) -> usize {
    let size = (u64::from(sectors).max(1).next_power_of_two().trailing_zeros()) as usize;
    usize::from(is_sequential) * SIZES + size
}

/// The times in order of class, and which part belongs to each.
fn sorted(sample: &[Service]) -> (Vec<Span>, Vec<(u32, u32)>) {
    let of = |s: &Service| s.op as usize * CLASSES + class(s.sectors, s.is_sequential);
    let mut parts = vec![(0, 0); OPERATIONS * CLASSES];
    for service in sample {
        parts[of(service)].1 += 1;
    }
    let mut first = 0;
    for part in &mut parts {
        part.0 = first;
        first += part.1;
    }
    let mut next: Vec<u32> = parts.iter().map(|part| part.0).collect();
    let mut spans = vec![Span::ZERO; sample.len()];
    for service in sample {
        let at = &mut next[of(service)];
        spans[*at as usize] = service.span;
        *at += 1;
    }
    (spans, parts)
}

/// Sample range for class `wanted`: its own, or that of the nearest class with samples.
fn substitute(own: &[(u32, u32)], wanted: usize) -> (u32, u32) {
    let (op, wanted) = (wanted / CLASSES, wanted % CLASSES);
    let (read, write) = (Operation::Read as usize, Operation::Write as usize);
    // Reads and writes stand in for each other, nothing else does.
    let second = if op == read { write } else { read };
    let operations = if op == read || op == write { [op, second] } else { [op, op] };
    let distance = |class: usize| (class / SIZES != wanted / SIZES, (class % SIZES).abs_diff(wanted % SIZES));
    let nearest = |op: &usize| {
        let filled = (0..CLASSES).filter(|class| own[op * CLASSES + class].1 > 0);
        filled.min_by_key(|class| distance(*class)).map(|class| own[op * CLASSES + class])
    };
    operations.iter().find_map(nearest).unwrap_or((0, 0))
}

impl Device for Recorded {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        let span = self.draw(request);
        if self.served.len() < self.servers {
            self.serve(now, id, span);
        } else {
            self.waiting.push_back((id, span));
        }
    }

    fn next_event(&self) -> Time {
        self.landing.peek().map_or(self.next, |Reverse((at, _))| self.next.min(*at))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        while self.next_event() <= now {
            if let Some(Reverse((at, id))) = self.landing.peek().copied()
                && at <= self.next
            {
                self.landing.pop();
                done.push(id);
                continue;
            }
            let at = self.next;
            self.show(at);
            let Some(Reverse((_, _, id))) = self.served.pop() else { return };
            self.look_ahead();
            match self.lags.get(self.lag) {
                None => done.push(id),
                Some(lag) => {
                    self.lag = (self.lag + 1) % self.lags.len();
                    self.landing.push(Reverse((at + *lag, id)));
                }
            }
            if let Some((id, span)) = self.waiting.pop_front() {
                self.serve(at, id, span);
            }
        }
    }
}
