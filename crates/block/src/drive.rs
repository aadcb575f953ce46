//! Runs a source of I/O against a storage, without CPUs.
//!
//! At one instant the disks go before arrivals, so that a source learns of completions before it submits more.

use crate::disk::{Out, Outcome};
use crate::storage::Storage;
use goodness_core::storage::VolumeId;
use goodness_core::{Event, Io, Observer, Operation, Time};
use std::fmt;

/// Steps without passing time, completions or arrivals, after which a run counts as stuck.
const STEPS_IN_VAIN: u32 = 10_000;

/// Source of I/O. An open source submits by time alone, a closed one waits for completions.
pub trait Source {
    /// Time of the next submission; [`Time::NEVER`] while it waits for outcomes, and once it is exhausted.
    fn next_arrival(&self) -> Time;

    /// Submits at that time: appends one submitter's batch to the empty `ios`.
    fn arrive(&mut self, now: Time, ios: &mut Vec<Io>) -> Arrival;

    /// Delivers the outcome of an I/O. After `Waiting`, a closed source sends no more for that submitter until
    /// `Admitted`; an open source may, and its I/O queues up.
    fn told(&mut self, now: Time, outcome: Outcome);
}

/// Destination of a batch of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// To which volume.
    pub volume: VolumeId,
    /// True if the submitter waits for them, so that plugged queues run at once.
    pub waits: bool,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    /// Time of the last event.
    pub end: Time,
    /// I/Os submitted.
    pub submitted: u64,
    /// I/Os completed.
    pub done: u64,
}

/// Reason a run cannot continue, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// A storage and the time.
pub struct Drive<'a> {
    storage: &'a mut Storage,
    observer: Option<&'a mut dyn Observer>,
    out: Out,
    ios: Vec<Io>,
    now: Time,
    driven: Driven,
}

impl<'a> Drive<'a> {
    /// A run of `storage` without observer.
    pub fn new(storage: &'a mut Storage) -> Drive<'a> {
        let (out, ios) = (Out::default(), Vec::new());
        Drive { storage, observer: None, out, ios, now: Time::ZERO, driven: Driven::default() }
    }

    /// Adds an observer, which gets every [`Event::Io`].
    #[must_use]
    pub fn observed(mut self, observer: &'a mut dyn Observer) -> Drive<'a> {
        self.observer = Some(observer);
        self.out = Out::with_events();
        self
    }

    /// Runs until `source` is exhausted and all I/O is done, or through `until`.
    ///
    /// # Errors
    /// An I/O outside its volume or in the past, or work that waits with no further event, as a sentence.
    pub fn run<S: Source>(mut self, source: &mut S, until: Time) -> Result<Driven, Fault> {
        let mut in_vain = 0;
        loop {
            let (event, arrival) = (self.storage.next_event(), source.next_arrival());
            let next = event.min(arrival);
            if next == Time::NEVER || next > until {
                self.verify()?;
                return if next == Time::NEVER { self.finished() } else { Ok(self.driven) };
            }
            let before = (self.now, self.driven);
            self.now = next.max(self.now);
            if event <= self.now {
                self.storage.advance(self.now, &mut self.out);
            } else {
                self.arrive(source)?;
            }
            self.tell(source);
            in_vain = if (self.now, self.driven) == before { in_vain + 1 } else { 0 };
            if in_vain > STEPS_IN_VAIN {
                return Err(self.stands_still());
            }
            self.driven.end = self.now;
        }
    }

    fn arrive<S: Source>(&mut self, source: &mut S) -> Result<(), Fault> {
        self.ios.clear();
        let Arrival { volume, waits } = source.arrive(self.now, &mut self.ios);
        if usize::from(volume.0) >= self.storage.volumes() {
            return Err(Fault(format!("I/O arrives for volume {}; there are {}", volume.0, self.storage.volumes())));
        }
        let sectors = self.storage.sectors(volume);
        for io in &self.ios {
            let fits = (io.sectors > 0) == (io.op != Operation::Flush)
                && io.sector.checked_add(u64::from(io.sectors)).is_some_and(|end| end <= sectors);
            if !fits {
                return Err(Fault(format!(
                    "a {} of {} sectors at sector {} arrives at {}; volume {} has {sectors} sectors, and only a flush \
                     has none",
                    io.op.name(),
                    io.sectors,
                    io.sector,
                    self.now,
                    volume.0
                )));
            }
        }
        self.driven.submitted += self.ios.len() as u64;
        self.storage.submit(self.now, volume, &self.ios, &mut self.out);
        if waits {
            self.storage.unplug(self.now, volume, &mut self.out);
        }
        Ok(())
    }

    /// Events go to the observer, outcomes to the source.
    fn tell<S: Source>(&mut self, source: &mut S) {
        if let Some(observer) = &mut self.observer {
            for event in self.out.events.iter().flatten() {
                observer.observe(self.now, &Event::Io(*event));
            }
        }
        for outcome in &self.out.outcomes {
            self.driven.done += u64::from(matches!(outcome, Outcome::Done { .. }));
            source.told(self.now, *outcome);
        }
        self.out.clear();
    }

    /// Fails if an elevator gave an invalid answer.
    fn verify(&self) -> Result<(), Fault> {
        match self.storage.refusal() {
            Some(refusal) => Err(Fault(refusal.sentence.clone())),
            None => Ok(()),
        }
    }

    /// Ends the run when nothing is scheduled. Fails if work is left.
    fn finished(&self) -> Result<Driven, Fault> {
        if self.driven.submitted == self.driven.done {
            return Ok(self.driven);
        }
        let left = self.driven.submitted - self.driven.done;
        let stalled = self.storage.disks().iter().enumerate().find(|(_, disk)| disk.waiting() + disk.in_flight() > 0);
        Err(Fault(match stalled {
            Some((number, disk)) => format!(
                "{} stalls at {}: {} requests wait at disk {number}, {} are in the device, and neither the elevator \
                 nor the device says when it will act",
                disk.elevator(),
                self.now,
                disk.waiting(),
                disk.in_flight()
            ),
            None => format!("{left} pieces of I/O were lost by {}: no disk has them", self.now),
        }))
    }

    fn stands_still(&self) -> Fault {
        let disks = self.storage.disks().iter().enumerate();
        let who =
            disks.min_by_key(|(_, disk)| disk.next_event()).map(|(number, _)| format!("the device of disk {number}"));
        let who = who.filter(|_| self.storage.next_event() <= self.now).unwrap_or_else(|| "the source".into());
        Fault(format!("{who} is called {STEPS_IN_VAIN} times at {}, and nothing comes of it", self.now))
    }
}
