//! The elevator at work on a disk that exists: pieces of I/O come in, requests go to the backing, answers come out.
//!
//! A state machine without clock and without system calls: who drives it says what time it is and moves the bytes.
//! Around the elevator is the same block layer that runs in the simulator (`goodness_block`), with its merging, pools
//! and plugs, and its referee verifies the elevator's answers: one that cannot be is a panic here. Every event goes to
//! the observers of `goodness_observe`, as in simulated runs.
//!
//! A flush is given to the backing only after all that was answered before it: the layer sends it at once, and what was
//! answered is complete in the backing by then. A durable write passes by the elevator and is never merged.

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name};
use goodness_core::{Device, DeviceFacts, Event, Io, Observer, Operation, Request, RequestId, SECTOR_BYTES, Time};
use goodness_observe::{Checked, Checkers, Ending, Measured, Metrics};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the layer has handed out, and what the backing has finished.
#[derive(Debug, Default)]
struct Mail {
    started: Vec<(RequestId, Request)>,
    finished: VecDeque<RequestId>,
}

/// The device as the layer sees it: a letter box whose other side is the host.
struct LetterBox {
    facts: DeviceFacts,
    mail: Arc<Mutex<Mail>>,
}

/// The content, also after a panic elsewhere: it is whole between calls.
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

/// A part of somebody's memory that a transfer reads or fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whose, as in [`Io::tag`].
    pub tag: u64,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
}

/// What the backing is to do: contiguous sectors, whose memory is that of `parts`, in order.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The request, to be given back when it is complete.
    pub request: RequestId,
    /// What.
    pub op: Operation,
    /// First sector.
    pub sector: u64,
    /// Sectors; 0 for a flush.
    pub sectors: u32,
    /// Must be durable before it is complete.
    pub durable: bool,
    /// Whose memory.
    pub parts: &'a [Part],
}

/// What became of a piece of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As in [`Io::tag`].
    pub tag: u64,
    /// An error number of the backing.
    pub result: Result<(), i32>,
}

/// What is known of the work so far: measured since the watch began anew, checked from the first request on.
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

    /// When measuring began, and the last event.
    #[must_use]
    pub fn window(&self) -> (Time, Time) {
        (self.since, self.now)
    }

    /// What was measured until `end`, and what was checked; `ending` says whether all is over.
    #[must_use]
    pub fn finish(self, end: Time, ending: Ending) -> (Measured, Checked) {
        (self.metrics.finish(end), self.checkers.finish(end, ending))
    }
}

/// One elevator at work.
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
    /// The elevator typed as `text` before a backing of these `facts`, for pieces with tags below `tags`.
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

    /// Those who watch: a copy can be taken while the host works.
    #[must_use]
    pub fn watch(&self) -> Arc<Mutex<Watch>> {
        Arc::clone(&self.watch)
    }

    /// `ios` arrive together. Their tags are free: whatever had them before was answered.
    pub fn arrive(&mut self, now: Time, ios: &[Io]) {
        let now = self.pass(now);
        self.disk.submit(now, ios, &mut self.out);
        self.disk.unplug(now, &mut self.out);
        self.tell(now);
    }

    /// The backing has done what `request` asked for, or failed with an error number.
    ///
    /// # Panics
    /// In the next [`Host::advance`], when the backing does not have it.
    pub fn complete(&mut self, request: RequestId, result: Result<(), i32>) {
        if let Err(error) = result {
            let failed = &mut self.failed;
            self.disk.pieces(request, &mut |io| failed[io.tag as usize] = Some(error));
        }
        lock(&self.mail).finished.push_back(request);
    }

    /// Lets happen what is due: completions, timers, and what follows from them.
    pub fn advance(&mut self, now: Time) {
        let now = self.pass(now);
        while self.disk.next_event() <= now {
            self.disk.advance(now, &mut self.out);
        }
        self.tell(now);
    }

    /// When [`Host::advance`] must be called next, if ever.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        Some(self.disk.next_event()).filter(|at| *at < Time::NEVER)
    }

    /// Hands out what the backing is to do now.
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

    /// Hands out the answers that are due.
    pub fn answers(&mut self) -> impl Iterator<Item = Answer> + '_ {
        self.answers.drain(..)
    }

    /// Requests and pieces that are not done.
    #[must_use]
    pub fn unfinished(&self) -> u32 {
        self.disk.in_flight() + self.disk.waiting()
    }

    /// The first rule that was broken, if one was.
    #[must_use]
    pub fn violation(&self) -> Option<String> {
        lock(&self.watch).checkers.first().map(ToString::to_string)
    }

    /// A clock that goes backwards stays where it was.
    fn pass(&mut self, now: Time) -> Time {
        self.last = self.last.max(now);
        self.last
    }

    /// Observers hear the events, and pieces that are done get their answers.
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

/// Whether `parts` are the sectors of `request`, without gap and in order.
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

/// Bytes of so many sectors.
#[must_use]
pub fn bytes(sectors: u32) -> usize {
    sectors as usize * SECTOR_BYTES as usize
}

#[cfg(test)]
mod tests;
