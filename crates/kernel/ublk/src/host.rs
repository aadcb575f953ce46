//! Runs an elevator for a real disk: I/O comes in, requests go to the backing, completions come out.
//!
//! A state machine without clock or system calls: the caller supplies the time and moves the bytes. The elevator runs
//! inside the simulator's block layer (`goodness_block`), with merging, request pools and plugging. The referee checks
//! the elevator's choices and panics on an invalid one. All events go to the observers of `goodness_observe`, as in
//! simulated runs.
//!
//! A flush covers all writes completed before it: the layer sends it at once, and completed writes are already in the
//! backing. A durable write bypasses the elevator and is never merged.

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name};
use goodness_core::{Device, DeviceFacts, Event, Io, Observer, Operation, Request, RequestId, SECTOR_BYTES, Time};
use goodness_observe::{Checked, Checkers, Ending, Measured, Metrics};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests dispatched by the layer, and completions from the backing.
#[derive(Debug, Default)]
struct Mail {
    started: Vec<(RequestId, Request)>,
    finished: VecDeque<RequestId>,
}

/// The device as the layer sees it. Its other side is the host.
struct LetterBox {
    facts: DeviceFacts,
    mail: Arc<Mutex<Mail>>,
}

/// Locks even after a panic elsewhere: the data is consistent between calls.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device for LetterBox {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, _: Time, id: RequestId, request: &Request) {
        lock(&self.mail).started.push((id, *request));
    }

    fn next_event(&self) -> Time {
        if lock(&self.mail).finished.is_empty() { Time::NEVER } else { Time::ZERO }
    }

    fn advance(&mut self, _: Time, done: &mut Vec<RequestId>) {
        done.extend(lock(&self.mail).finished.drain(..));
    }
}

/// Part of an I/O's memory, read or filled by a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The I/O, as in [`Io::tag`].
    pub tag: u64,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
}

/// One operation of the backing on contiguous sectors. Its memory is that of `parts`, in order.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The request; pass it back on completion.
    pub request: RequestId,
    /// Operation.
    pub op: Operation,
    /// First sector.
    pub sector: u64,
    /// Sectors; 0 for a flush.
    pub sectors: u32,
    /// Must be durable before it is complete.
    pub durable: bool,
    /// Memory of the transfer.
    pub parts: &'a [Part],
}

/// Completion of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As in [`Io::tag`].
    pub tag: u64,
    /// An error number of the backing.
    pub result: Result<(), i32>,
}

/// Metrics and checks so far. Metrics count from the last reset, checks from the first request.
#[derive(Clone, Debug)]
pub struct Watch {
    metrics: Metrics,
    checkers: Checkers,
    since: Time,
    now: Time,
}

impl Watch {
    fn new() -> Watch {
        let (metrics, checkers) = (Metrics::new(1, Time::ZERO, &[]), Checkers::new(1, &[]));
        Watch { metrics, checkers, since: Time::ZERO, now: Time::ZERO }
    }

    fn observe(&mut self, at: Time, event: &Event) {
        self.now = at;
        self.metrics.observe(at, event);
        self.checkers.observe(at, event);
    }

    /// Measures from `now` on.
    pub fn begin_anew(&mut self, now: Time) {
        (self.metrics, self.since) = (Metrics::new(1, now, &[]), now);
    }

    /// Start of the measurement and time of the last event.
    #[must_use]
    pub fn window(&self) -> (Time, Time) {
        (self.since, self.now)
    }

    /// Metrics until `end`, and checks. `ending` says whether the run is over.
    #[must_use]
    pub fn finish(self, end: Time, ending: Ending) -> (Measured, Checked) {
        (self.metrics.finish(end), self.checkers.finish(end, ending))
    }
}

/// A running elevator.
pub struct Host {
    disk: Box<dyn Disk>,
    mail: Arc<Mutex<Mail>>,
    out: Out,
    started: Vec<(RequestId, Request)>,
    parts: Vec<Part>,
    /// By tag: why it failed.
    failed: Vec<Option<i32>>,
    answers: Vec<Answer>,
    watch: Arc<Mutex<Watch>>,
    last: Time,
}

impl Host {
    /// The elevator typed as `text` for a backing of these `facts`, for I/Os with tags below `tags`.
    ///
    /// # Errors
    /// A sentence about an unknown name or setting.
    pub fn new(text: &str, facts: DeviceFacts, options: &QueueOptions, tags: usize) -> Result<Host, String> {
        let mail = Arc::new(Mutex::new(Mail::default()));
        let device = LetterBox { facts, mail: Arc::clone(&mail) };
        let disk = by_name(text, options, Box::new(device))?;
        Ok(Host {
            disk,
            mail,
            out: Out::with_events(),
            started: Vec::new(),
            parts: Vec::new(),
            failed: vec![None; tags],
            answers: Vec::new(),
            watch: Arc::new(Mutex::new(Watch::new())),
            last: Time::ZERO,
        })
    }

    /// A handle for observers, who can copy the state while the host runs.
    #[must_use]
    pub fn watch(&self) -> Arc<Mutex<Watch>> {
        Arc::clone(&self.watch)
    }

    /// `ios` arrive together. Their tags are free: the requests that had them before were answered.
    pub fn arrive(&mut self, now: Time, ios: &[Io]) {
        let now = self.pass(now);
        self.disk.submit(now, ios, &mut self.out);
        self.disk.unplug(now, &mut self.out);
        self.tell(now);
    }

    /// Reports that the backing has completed `request`, or failed with an error number.
    ///
    /// # Panics
    /// In the next [`Host::advance`], if the backing does not have the request.
    pub fn complete(&mut self, request: RequestId, result: Result<(), i32>) {
        if let Err(error) = result {
            let failed = &mut self.failed;
            self.disk.pieces(request, &mut |io| failed[io.tag as usize] = Some(error));
        }
        lock(&self.mail).finished.push_back(request);
    }

    /// Handles everything due by `now`: completions, timers and their consequences.
    pub fn advance(&mut self, now: Time) {
        let now = self.pass(now);
        while self.disk.next_event() <= now {
            self.disk.advance(now, &mut self.out);
        }
        self.tell(now);
    }

    /// Time at which [`Host::advance`] must be called next, if any.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        Some(self.disk.next_event()).filter(|at| *at < Time::NEVER)
    }

    /// Passes the transfers that the backing is to start now to `to`.
    pub fn hand_out(&mut self, mut to: impl FnMut(&Transfer)) {
        std::mem::swap(&mut self.started, &mut lock(&self.mail).started);
        for (request, about) in self.started.drain(..) {
            self.parts.clear();
            let parts = &mut self.parts;
            self.disk.pieces(request, &mut |io| {
                parts.push(Part { tag: io.tag, sector: io.sector, sectors: io.sectors });
            });
            assert!(covers(&self.parts, &about), "request {} is not what it was made of", request.0);
            let Request { op, sector, sectors, durable, .. } = about;
            to(&Transfer { request, op, sector, sectors, durable, parts: &self.parts });
        }
    }

    /// Takes the completions that are due.
    pub fn answers(&mut self) -> impl Iterator<Item = Answer> + '_ {
        self.answers.drain(..)
    }

    /// Unfinished requests and I/Os.
    #[must_use]
    pub fn unfinished(&self) -> u32 {
        self.disk.in_flight() + self.disk.waiting()
    }

    /// The first rule that was broken, if one was.
    #[must_use]
    pub fn violation(&self) -> Option<String> {
        lock(&self.watch).checkers.first().map(ToString::to_string)
    }

    /// Advances the clock; a time in the past leaves it unchanged.
    fn pass(&mut self, now: Time) -> Time {
        self.last = self.last.max(now);
        self.last
    }

    /// Passes new events to the observers and completes finished I/O.
    fn tell(&mut self, now: Time) {
        let events = self.out.events.iter().flatten();
        let mut watch = lock(&self.watch);
        events.for_each(|event| watch.observe(now, &Event::Io(*event)));
        drop(watch);
        for outcome in &self.out.outcomes {
            if let Outcome::Done { tag } = *outcome {
                let result = self.failed[tag as usize].take().map_or(Ok(()), Err);
                self.answers.push(Answer { tag, result });
            }
        }
        self.out.clear();
        if let Some(refusal) = self.disk.refusal() {
            panic!("{}, at {}", refusal.sentence, refusal.at);
        }
    }
}

/// True if `parts` are the sectors of `request`, without gap and in order.
fn covers(parts: &[Part], request: &Request) -> bool {
    let mut at = request.sector;
    for part in parts {
        if part.sector != at {
            return false;
        }
        at += u64::from(part.sectors);
    }
    at == request.end()
}

/// Converts sectors to bytes.
#[must_use]
pub fn bytes(sectors: u32) -> usize {
    sectors as usize * SECTOR_BYTES as usize
}

#[cfg(test)]
mod tests;
