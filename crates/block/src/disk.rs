//! One disk: the interface to an elevator with its block layer and device.

use goodness_core::{
    DeviceFacts, DiskId, Effort, Io, IoCosts, IoEvent, Operation, PAGE_SECTORS, QueueFacts, RequestId, Span, Submitter,
    Time,
};
use goodness_referee::Refusal;

/// One disk: elevator, block layer and device together, as a state machine without a clock.
///
/// The caller supplies the time, which never goes backwards, and calls [`Disk::advance`] no later than
/// [`Disk::next_event`]. Every submitted I/O gives one [`Outcome::Done`], in this call or a later one. Outcomes and
/// events are appended to `out` in order; the events of a call happened at its `now`.
pub trait Disk: Send {
    /// Submits `ios` in one batch. In blk-mq, a plug starts before them and is flushed behind them. If one of them
    /// finds no free request, it and those behind it get [`Outcome::Waiting`].
    fn submit(&mut self, now: Time, ios: &[Io], out: &mut Out);

    /// Runs a plugged queue, because a submitter waits for its I/O. Does nothing in blk-mq, where nothing stays
    /// plugged.
    fn unplug(&mut self, now: Time, out: &mut Out);

    /// Time at which [`Disk::advance`] must be called next; [`Time::NEVER`] if nothing is scheduled.
    fn next_event(&self) -> Time;

    /// Handles everything due at `now`: completions, timers and their consequences.
    fn advance(&mut self, now: Time, out: &mut Out);

    /// Ends `submitter`, which submits no more. Its I/O in flight continues.
    fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out);

    /// Requests in the device.
    fn in_flight(&self) -> u32;

    /// Requests that wait for the device and pieces of I/O that wait for a request.
    fn waiting(&self) -> u32;

    /// Attributes of the queue as the elevator knows them: depth, capacity, HZ and so on.
    fn facts(&self) -> &QueueFacts;

    /// Attributes of the device.
    fn device(&self) -> DeviceFacts;

    /// The name of the elevator, for messages.
    fn elevator(&self) -> &'static str;

    /// First invalid answer of the elevator. It stops this disk and ends the run.
    fn refusal(&self) -> Option<&Refusal>;

    /// Calls `each` with the I/Os of `request`, in order of their sectors, while the device has that request. A device
    /// with real memory needs them. Of an I/O that was split, the part in this request.
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
    fn device(&self) -> DeviceFacts {
        (**self).device()
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

/// Result of an I/O, identified by the submitter's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It found no free request. It waits in order of arrival, and its submitter sleeps until it is admitted.
    Waiting {
        /// [`Io::tag`].
        tag: u64,
    },
    /// It has waited and now has a request, or was merged into one; its submitter may continue.
    Admitted {
        /// [`Io::tag`].
        tag: u64,
    },
    /// It is done. Follows once for every I/O, after `Admitted` if that occurs.
    Done {
        /// [`Io::tag`].
        tag: u64,
    },
}

/// Work of a CPU for a disk: units that the machine's costs turn into CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The disk.
    pub disk: DiskId,
    /// The CPU that submitted the I/O, or submitted what has been completed.
    pub cpu: u16,
    /// I/Os submitted.
    pub submitted: u32,
    /// Pages of 4 KiB that these read or write; a discard has none.
    pub pages: u32,
    /// Requests completed.
    pub completed: u32,
    /// Requests that the elevator queued under its lock.
    pub queued: u32,
    /// Changes of the elevator's timer.
    pub timers: u32,
    /// Elements that the elevator examined, in the order of [`Effort::ALL`].
    pub effort: [u32; 4],
    /// The lock held meanwhile, by number within the disk, if any.
    pub lock: Option<u16>,
}

impl Work {
    /// The submission of `io`.
    #[must_use]
    pub fn of_submission(io: &Io) -> Work {
        let sectors = if io.op == Operation::Discard { 0 } else { io.sectors };
        Work { submitted: 1, pages: sectors.div_ceil(PAGE_SECTORS), ..Work::default() }
    }

    /// CPU time outside the elevator's lock.
    #[must_use]
    pub fn unlocked(&self, costs: &IoCosts) -> Span {
        costs.submit * u64::from(self.submitted)
            + costs.page * u64::from(self.pages)
            + costs.complete * u64::from(self.completed)
            + costs.request * u64::from(self.queued)
            + costs.timer * u64::from(self.timers)
    }

    /// CPU time of the elevator, under its lock if it has one.
    #[must_use]
    pub fn elevator(&self, costs: &IoCosts) -> Span {
        let of = |kind: Effort| costs.effort[kind as usize] * u64::from(self.effort[kind as usize]);
        Effort::ALL.into_iter().fold(Span::ZERO, |sum, kind| sum + of(kind))
    }
}

/// Output of a disk. The caller empties and reuses it.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// Outcomes of I/Os.
    pub outcomes: Vec<Outcome>,
    /// Events at each stage; `None` if not wanted, and then they cost nothing.
    pub events: Option<Vec<IoEvent>>,
    /// Work of the CPUs; `None` if not wanted.
    pub work: Option<Vec<Work>>,
}

impl Out {
    /// An output that collects events, too.
    #[must_use]
    pub fn with_events() -> Out {
        Out { events: Some(Vec::new()), ..Out::default() }
    }

    /// Forgets everything and keeps the room for more.
    pub fn clear(&mut self) {
        self.outcomes.clear();
        if let Some(events) = &mut self.events {
            events.clear();
        }
        if let Some(work) = &mut self.work {
            work.clear();
        }
    }

    /// Adds the event made by `make`, if events are wanted.
    #[inline]
    pub(crate) fn event(&mut self, make: impl FnOnce() -> IoEvent) {
        if let Some(events) = &mut self.events {
            events.push(make());
        }
    }
}
