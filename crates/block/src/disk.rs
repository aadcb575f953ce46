//! One disk as its users see it: what they may ask of it and what it says in return.

use goodness_core::{Io, IoEvent, QueueFacts, RequestId, Submitter, Time};
use goodness_referee::Refusal;

/// One disk: elevator, block layer and device together, a state machine without a clock.
///
/// The caller tells the time, which never goes backwards, and calls [`Disk::advance`] no later than
/// [`Disk::next_event`] says. Every piece of I/O that is submitted gives one [`Outcome::Done`], in this call or in a
/// later one. Outcomes and events are appended to `out` in order; the events of one call happened at its `now`.
pub trait Disk: Send {
    /// Somebody submits `ios` in one go: a plug of blk-mq begins before them and is flushed behind them. If one of them
    /// finds no free request, [`Outcome::Waiting`] says so, for it and for those behind it.
    fn submit(&mut self, now: Time, ios: &[Io], out: &mut Out);

    /// Somebody waits for what was submitted: a plugged queue runs. Does nothing in blk-mq, where nothing stays
    /// plugged.
    fn unplug(&mut self, now: Time, out: &mut Out);

    /// When [`Disk::advance`] must be called next; [`Time::NEVER`] if nothing happens by itself.
    fn next_event(&self) -> Time;

    /// Lets happen what is due at `now`: completions, timers, and what follows from them.
    fn advance(&mut self, now: Time, out: &mut Out);

    /// `submitter` ended; it submits no more. What it submitted goes on.
    fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out);

    /// Requests in the device.
    fn in_flight(&self) -> u32;

    /// Requests that wait for the device and pieces of I/O that wait for a request.
    fn waiting(&self) -> u32;

    /// What the elevator knows of the queue: depth, capacity, HZ and so on.
    fn facts(&self) -> &QueueFacts;

    /// The name of the elevator, for messages.
    fn elevator(&self) -> &'static str;

    /// The first answer of the elevator that cannot be. Nothing happens at this disk from then on, and the run is over.
    fn refusal(&self) -> Option<&Refusal>;

    /// Tells `each` the pieces of I/O that make up `request`, in the order of their sectors; the device has that
    /// request. A device with memory behind its sectors needs to know whose. Of a piece that was cut, the part in this
    /// request.
    fn pieces(&self, request: RequestId, each: &mut dyn FnMut(&Io));
}

impl<D: Disk + ?Sized> Disk for Box<D> {
    fn submit(&mut self, now: Time, ios: &[Io], out: &mut Out) {
        (**self).submit(now, ios, out);
    }
    fn unplug(&mut self, now: Time, out: &mut Out) {
        (**self).unplug(now, out);
    }
    fn next_event(&self) -> Time {
        (**self).next_event()
    }
    fn advance(&mut self, now: Time, out: &mut Out) {
        (**self).advance(now, out);
    }
    fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out) {
        (**self).exit(now, submitter, out);
    }
    fn in_flight(&self) -> u32 {
        (**self).in_flight()
    }
    fn waiting(&self) -> u32 {
        (**self).waiting()
    }
    fn facts(&self) -> &QueueFacts {
        (**self).facts()
    }
    fn elevator(&self) -> &'static str {
        (**self).elevator()
    }
    fn refusal(&self) -> Option<&Refusal> {
        (**self).refusal()
    }
    fn pieces(&self, request: RequestId, each: &mut dyn FnMut(&Io)) {
        (**self).pieces(request, each);
    }
}

/// What became of a piece of I/O, by the asker's own number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It found no free request. It waits in order of arrival, and its submitter sleeps until it is admitted.
    Waiting {
        /// [`Io::tag`].
        tag: u64,
    },
    /// It waited and has a request now, or joined one: its submitter may go on.
    Admitted {
        /// [`Io::tag`].
        tag: u64,
    },
    /// It is done. Comes once for every piece, and after `Admitted` if that comes.
    Done {
        /// [`Io::tag`].
        tag: u64,
    },
}

/// Where a disk puts what it has to say. The caller empties and reuses it.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// What became of pieces of I/O.
    pub outcomes: Vec<Outcome>,
    /// What happened at each station; `None` when nobody wants to know, and then nothing is spent on it.
    pub events: Option<Vec<IoEvent>>,
}

impl Out {
    /// One that collects events too.
    #[must_use]
    pub fn with_events() -> Out {
        Out { outcomes: Vec::new(), events: Some(Vec::new()) }
    }

    /// Forgets everything and keeps the room for more.
    pub fn clear(&mut self) {
        self.outcomes.clear();
        if let Some(events) = &mut self.events {
            events.clear();
        }
    }

    /// Adds the event that `make` makes, if somebody wants it.
    #[inline]
    pub(crate) fn event(&mut self, make: impl FnOnce() -> IoEvent) {
        if let Some(events) = &mut self.events {
            events.push(make());
        }
    }
}
