//! The elevator: a pure state machine that decides in which order waiting requests go to a device.

use crate::effort::{Effort, EffortMeter};
use crate::group::Groups;
use crate::io_reason::{IoReason, WhyWaits};
use crate::registry::Typed;
use crate::request::{HwQueue, Io, QueueFacts, RequestId, RequestTable, Submitter};
use crate::rng::Seed;
use crate::time::Time;
use crate::tunable::{Tunable, TunableError, Tunables, Values};

/// An elevator's view of the system during one call.
#[derive(Clone, Copy)]
pub struct IoContext<'a> {
    /// The time of the event.
    pub now: Time,
    /// The requests of this queue; read only.
    pub requests: &'a RequestTable,
    /// HZ, depth and kind of the device.
    pub facts: &'a QueueFacts,
    /// Requests that the device has and has not completed.
    pub in_flight: u32,
    /// Meter to which the elevator reports the elements it examined.
    pub effort: &'a EffortMeter,
}

impl IoContext<'_> {
    /// The jiffy of the event.
    #[inline]
    #[must_use]
    pub const fn jiffies(&self) -> u64 {
        self.facts.jiffies(self.now)
    }

    /// Reports that `elements` of `kind` were examined: queues and requests looked at ([`Effort::Search`]), lists and
    /// tree levels passed ([`Effort::Insert`]), accounts of tokens, budgets or statistics ([`Effort::Recalculate`]).
    #[inline]
    pub fn examined(&self, kind: Effort, elements: u32) {
        self.effort.add(kind, elements);
    }

    /// Reports the insertion into, or the removal from, a tree of `len` elements and `lists` lists.
    #[inline]
    pub fn linked(&self, len: usize, lists: u32) {
        self.examined(Effort::Insert, usize::BITS - len.leading_zeros() + lists);
    }
}

/// An I/O elevator: chooses the next request for a device.
///
/// Order of calls for one request:
///
/// ```text
///  may_allocate ─▶ insert ─▶ (waiting) ─▶ dispatch ─▶ (in flight) ─▶ complete
///                    allows_merge, merged ↺   └ absorbed: merged into another request; it is gone
/// ```
///
/// The block layer finds merge candidates by their ends and starts, checks sector, direction and size, and asks; the
/// elevator never searches. After `insert`, `complete` and `timer` the layer calls `dispatch` until the device is full
/// or the result is `None`, unless the queue is plugged.
pub trait Elevator {
    /// Merges it supports.
    fn merges(&self) -> Merges {
        Merges::All
    }

    /// The lock under which it works.
    fn lock(&self) -> QueueLock {
        QueueLock::OfDevice
    }

    /// Tells it the groups of the run, before the first request. It shares the device between them, if it knows how
    /// ([`RegisteredElevator::WEIGHS_GROUPS`]).
    fn share(&mut self, groups: &Groups) {
        let _ = groups;
    }

    /// True if `io` may be merged into `request`, which waits here and is adjacent to `io`.
    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        let _ = (cx, request, io);
        true
    }

    /// True if `absorbed` may be merged into `survivor`, which ends where it starts; both wait here. Default: true if
    /// an I/O like each may be merged into the other.
    fn allows_absorb(&self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) -> bool {
        self.allows_merge(cx, survivor, &cx.requests[absorbed].as_io())
            && self.allows_merge(cx, absorbed, &cx.requests[survivor].as_io())
    }

    /// `request`, which waits here, has grown at `side`. At [`Side::Front`] its first sector has changed from `before`.
    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, before: u64) {
        let _ = (cx, request, side, before);
    }

    /// `absorbed` was merged into `survivor`, which ended where it started. Both waited here; `absorbed` must leave
    /// every list. The survivor's `inserted` is already the earlier of both.
    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        self.remove(cx, absorbed);
        let _ = survivor;
    }

    /// Removes a waiting request from every list.
    fn remove(&mut self, cx: &IoContext, request: RequestId);

    /// True if a slot may be taken for `io` while `used` are in use: of its direction in the single-queue layer, of its
    /// hardware queue in blk-mq. The layer's own limit is [`QueueFacts::requests_each`].
    fn may_allocate(&self, cx: &IoContext, io: &Io, used: u32) -> Allocate {
        let _ = (cx, io, used);
        Allocate::AsUsual
    }

    /// Adds a request (never a flush, which bypasses elevators). Returns whether a plugged queue should run at once.
    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run;

    /// Chooses and removes the next request for `queue` of the device. `None`: nothing waits, or waiting is better;
    /// then `next_timer` must limit the wait, unless a completion or an arrival ends it.
    fn dispatch(&mut self, cx: &IoContext, queue: HwQueue) -> Option<RequestId>;

    /// The device has completed a request that `dispatch` returned. `cx.in_flight` no longer counts it.
    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        let _ = (cx, request);
    }

    /// Time of the next call of [`Elevator::timer`], if any. Checked after each call that may change it.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Called at the time given by [`Elevator::next_timer`].
    fn timer(&mut self, cx: &IoContext) {
        let _ = cx;
    }

    /// A process ended; it submits no more.
    fn exit(&mut self, cx: &IoContext, submitter: Submitter) {
        let _ = (cx, submitter);
    }

    /// True if requests wait here.
    fn has_work(&self) -> bool;

    /// Says why a request waits, by the state after the last `dispatch`. Called only if somebody asks; no order depends
    /// on it. `None` if the elevator does not tell, or if that dispatch had nothing to do with the request.
    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let _ = (cx, question);
        None
    }
}

/// Merges that an elevator supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merges {
    /// An I/O merges behind or before one of the newest few requests of its software queue, if
    /// [`Elevator::allows_merge`] agrees;
    /// two requests never merge.
    Newest,
    /// Back merges with the request last merged or inserted.
    LastOnly,
    /// Behind any waiting request.
    Back,
    /// Back and front merges with any waiting request, and of requests that have become adjacent.
    All,
}

/// The lock under which an elevator works, for which the CPUs that submit and complete compete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLock {
    /// None: requests go past it, from a CPU to a queue of the device.
    Free,
    /// One for each hardware queue.
    OfQueue,
    /// One for the device.
    OfDevice,
}

/// The end at which a request grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before its first sector.
    Front,
    /// After its last.
    Back,
}

/// Answer to a request for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// The layer's own limit decides.
    AsUsual,
    /// In any case.
    Always,
    /// Not now: the submitter waits for a completion.
    Wait,
    /// One of the first slots of its hardware queue (blk-mq), so many of them, in proportion over the words of its
    /// bitmap. Others may use these, too. Once told so, the I/O waits for one of them, whatever others complete.
    Shallow(u32),
}

/// Result of an insertion: run a plugged queue now, or later.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Run it when the layer unplugs it.
    WhenUnplugged,
    /// Now.
    Now,
}

/// The block layer for which an elevator was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Single queue with plugging by device, up to Linux 4.20.
    Legacy,
    /// blk-mq: plugging by task, hardware queues and tags.
    MultiQueue,
}

/// Description of an elevator: name, summary, source, layer.
#[derive(Clone, Copy, Debug)]
pub struct ElevatorAbout {
    /// The registered name: the file's name with `-` for `_`.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Paper, kernel version or specification section.
    pub source: &'static str,
    /// The layer it works in.
    pub layer: Layer,
}

/// An elevator in the registry.
pub trait RegisteredElevator: Elevator + Send + Sized + 'static {
    /// Its entry in the list.
    const ABOUT: ElevatorAbout;
    /// Its tunables.
    type Settings: Tunables + Send;
    /// True if it shares the device between groups by their weights for I/O; the others take no notice of them.
    const WEIGHS_GROUPS: bool = false;
    /// Number of requests the layer should allow; `facts` has its default.
    fn requests(settings: &Self::Settings, facts: &QueueFacts) -> u32 {
        let _ = settings;
        facts.requests
    }
    /// An elevator for a queue.
    fn new(facts: &QueueFacts, settings: Self::Settings, seed: Seed) -> Self;
    /// Its line in the registry.
    const ENTRY: ElevatorEntry = ElevatorEntry {
        about: &Self::ABOUT,
        weighs_groups: Self::WEIGHS_GROUPS,
        tunables: Self::Settings::spec,
        values: |typed| Self::Settings::made(typed).map(|settings| settings.values()),
        make: |facts, requests, typed, seed| {
            Self::Settings::made(typed).map(|settings| MadeElevator::of::<Self>(facts, requests, settings, seed))
        },
    };
}

/// A line of the registry of elevators.
pub struct ElevatorEntry {
    /// The elevator's entry in the list.
    pub about: &'static ElevatorAbout,
    /// True if it shares the device between groups by their weights.
    pub weighs_groups: bool,
    /// Its tunables.
    pub tunables: fn() -> &'static [Tunable],
    /// All tunables with their values, after the typed settings.
    pub values: fn(&Typed) -> Result<Values, TunableError>,
    /// Makes the elevator for a queue, with settings as typed; see [`MadeElevator::of`].
    pub make: fn(QueueFacts, Option<u32>, &Typed, Seed) -> Result<MadeElevator, TunableError>,
}

/// An elevator ready to run: trait object, description, and queue attributes.
pub struct MadeElevator {
    /// Its entry in the list.
    pub about: &'static ElevatorAbout,
    /// Queue attributes, with the elevator's number of requests.
    pub facts: QueueFacts,
    /// The state machine.
    pub elevator: Box<dyn Elevator + Send>,
}

impl MadeElevator {
    /// Elevator `E` for a queue. `facts.requests` is the layer's default; `requests` is the user's setting, or `None`
    /// to let the elevator decide.
    #[must_use]
    pub fn of<E: RegisteredElevator>(
        mut facts: QueueFacts,
        requests: Option<u32>,
        settings: E::Settings,
        seed: Seed,
    ) -> MadeElevator {
        facts.requests = requests.unwrap_or_else(|| E::requests(&settings, &facts)).max(1);
        let elevator = Box::new(E::new(&facts, settings, seed));
        MadeElevator { about: E::ENTRY.about, facts, elevator }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_costs_its_levels_and_lists_one_each() {
        let facts =
            QueueFacts { hz: 250, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 1000, requests: 128 };
        let (requests, effort) = (RequestTable::default(), EffortMeter::default());
        let cx = IoContext { now: Time::ZERO, requests: &requests, facts: &facts, in_flight: 0, effort: &effort };
        for (len, lists, inserts) in [(0, 0, 0), (1, 2, 3), (7, 0, 3), (8, 0, 4), (1000, 3, 13)] {
            cx.linked(len, lists);
            assert_eq!(effort.take(), [0, 0, inserts, 0], "{len} elements and {lists} lists");
        }
    }
}
