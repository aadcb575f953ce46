//! Block I/O of tasks, and the requests a block layer makes of it.

use crate::group::GroupId;
use crate::time::{Span, Time};

/// Bytes of a sector. Addresses and sizes of block I/O count sectors.
pub const SECTOR_BYTES: u64 = 512;
/// Bytes of a page of memory.
pub const PAGE_BYTES: u64 = 4096;
/// Sectors of a page.
pub const PAGE_SECTORS: u32 = (PAGE_BYTES / SECTOR_BYTES) as u32;

/// A disk of the machine, or of a run without CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiskId(pub u16);

/// A request of one disk's queue: a slot of its [`RequestTable`], reused after completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Index into tables by request.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Submitter: the process that elevators keep queues and statistics for. Dense numbers from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Submitter(pub u32);

impl Submitter {
    /// Index into tables by submitter.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A hardware queue of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HwQueue(pub u16);

impl HwQueue {
    /// Index into tables by hardware queue.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Sectors to memory.
    Read,
    /// Memory to sectors.
    Write,
    /// The sectors' contents are no longer needed.
    Discard,
    /// Make completed writes durable; has no sectors.
    Flush,
}

impl Operation {
    /// Direction as an index: 0 for reads, 1 for operations that change the medium.
    #[inline]
    #[must_use]
    pub const fn direction(self) -> usize {
        match self {
            Operation::Read => 0,
            Operation::Write | Operation::Discard | Operation::Flush => 1,
        }
    }

    /// Name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::Flush => "flush",
        }
    }
}

/// The class of an I/O priority (ionice).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoClass {
    /// Before all others.
    RealTime,
    /// The usual one.
    BestEffort,
    /// Only when nothing else is waiting.
    Idle,
}

/// An I/O priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoPriority {
    /// Class.
    pub class: IoClass,
    /// Level within the class, 0 (first) to 7.
    pub level: u8,
}

impl IoPriority {
    /// Priority of a task of nice 0 that never called ionice.
    pub const DEFAULT: IoPriority = IoPriority { class: IoClass::BestEffort, level: 4 };

    /// Default priority without ionice: best effort, level (nice + 20) / 5.
    #[must_use]
    pub fn from_nice(nice: i64) -> IoPriority {
        IoPriority { class: IoClass::BestEffort, level: ((nice.clamp(-20, 19) + 20) / 5) as u8 }
    }
}

/// One I/O as submitted: a bio in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Operation.
    pub op: Operation,
    /// First sector.
    pub sector: u64,
    /// Number of sectors; 0 for flushes only.
    pub sectors: u32,
    /// True if it is synchronous: reads, and writes flagged so.
    pub sync: bool,
    /// Durable when it completes, past any write cache (FUA).
    pub durable: bool,
    /// True if it may be merged.
    pub mergeable: bool,
    /// The submitter.
    pub submitter: Submitter,
    /// The task whose data it moves: the submitter, but for write-back of a page cache the one that wrote to the file.
    pub owner: Submitter,
    /// Its priority.
    pub priority: IoPriority,
    /// The CPU on which it was submitted: it chooses the software queue.
    pub cpu: u16,
    /// The submitter's number for it, returned on completion.
    pub tag: u64,
    /// The task group of the owner.
    pub group: GroupId,
    /// Time that a limit of the group has held it back before it got here; `None` if none has.
    pub held: Option<Span>,
}

impl Io {
    /// A read of `sectors` sectors from `sector` by `submitter`; other fields have defaults.
    #[must_use]
    pub const fn read(submitter: Submitter, sector: u64, sectors: u32) -> Io {
        Io {
            op: Operation::Read,
            sector,
            sectors,
            sync: true,
            durable: false,
            mergeable: true,
            submitter,
            owner: submitter,
            priority: IoPriority::DEFAULT,
            cpu: 0,
            tag: 0,
            group: GroupId::ROOT,
            held: None,
        }
    }

    /// An asynchronous write, as in write-back.
    #[must_use]
    pub const fn write(submitter: Submitter, sector: u64, sectors: u32) -> Io {
        Io { op: Operation::Write, sync: false, ..Io::read(submitter, sector, sectors) }
    }

    /// A synchronous write.
    #[must_use]
    pub const fn sync_write(submitter: Submitter, sector: u64, sectors: u32) -> Io {
        Io { sync: true, ..Io::write(submitter, sector, sectors) }
    }

    /// The sector after the last.
    #[inline]
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.sector + self.sectors as u64
    }

    /// True if the kernel counts it as synchronous: every read, and writes flagged so.
    #[inline]
    #[must_use]
    pub const fn counts_as_sync(&self) -> bool {
        self.sync || matches!(self.op, Operation::Read)
    }

    /// True if it is valid for a device with `sectors` sectors: a flush has none, everything else at least one, all
    /// within the device.
    #[must_use]
    pub fn fits(&self, sectors: u64) -> bool {
        let end = self.sector.checked_add(u64::from(self.sectors));
        match self.op {
            Operation::Flush => self.sectors == 0,
            _ => self.sectors > 0 && end.is_some_and(|end| end <= sectors),
        }
    }
}

/// One request: one or more adjacent I/Os on their way to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Operation.
    pub op: Operation,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Number of memory segments: one per I/O.
    pub segments: u16,
    /// True if it is synchronous.
    pub sync: bool,
    /// Durable when it completes.
    pub durable: bool,
    /// True if more may be merged into it.
    pub mergeable: bool,
    /// The first submitter.
    pub submitter: Submitter,
    /// The task whose data it moves, as of an [`Io`].
    pub owner: Submitter,
    /// Its priority.
    pub priority: IoPriority,
    /// Software queue (CPU) of its submission.
    pub cpu: u16,
    /// Task group of the owner.
    pub group: GroupId,
    /// The hardware queue it will go by.
    pub queue: HwQueue,
    /// Time its slot was taken: latencies that include waiting for the elevator count from here.
    pub allocated: Time,
    /// Time the elevator got it. After a merge of two requests the survivor has the earlier of both.
    pub inserted: Time,
    /// Time it was issued to the device; [`Time::NEVER`] before.
    pub issued: Time,
}

impl Request {
    /// A request for `io` alone at `now`, on hardware queue 0.
    #[inline]
    #[must_use]
    pub const fn of(io: &Io, now: Time) -> Request {
        Request {
            op: io.op,
            sector: io.sector,
            sectors: io.sectors,
            segments: 1,
            sync: io.sync,
            durable: io.durable,
            mergeable: io.mergeable,
            submitter: io.submitter,
            owner: io.owner,
            priority: io.priority,
            cpu: io.cpu,
            group: io.group,
            queue: HwQueue(0),
            allocated: now,
            inserted: now,
            issued: Time::NEVER,
        }
    }

    /// The sector after the last.
    #[inline]
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.sector + self.sectors as u64
    }

    /// The request in the form of an I/O, for an elevator's merge decision.
    #[must_use]
    pub const fn as_io(&self) -> Io {
        Io {
            op: self.op,
            sync: self.sync,
            durable: self.durable,
            mergeable: self.mergeable,
            owner: self.owner,
            priority: self.priority,
            cpu: self.cpu,
            group: self.group,
            ..Io::read(self.submitter, self.sector, self.sectors)
        }
    }

    /// True if the kernel counts it as synchronous: every read, and writes flagged so.
    #[inline]
    #[must_use]
    pub const fn counts_as_sync(&self) -> bool {
        self.sync || self.is_read()
    }

    /// True for a read.
    #[inline]
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(self.op, Operation::Read)
    }
}

/// The requests of one queue by their numbers.
#[derive(Clone, Debug, Default)]
pub struct RequestTable {
    slots: Vec<Request>,
    free: Vec<RequestId>,
}

impl RequestTable {
    /// Room for `count` requests before anything is allocated.
    #[must_use]
    pub fn with_capacity(count: usize) -> RequestTable {
        RequestTable { slots: Vec::with_capacity(count), free: Vec::with_capacity(count) }
    }

    /// Takes a slot for `request`: the one freed last, or a new one.
    pub fn take(&mut self, request: Request) -> RequestId {
        if let Some(id) = self.free.pop() {
            self.slots[id.index()] = request;
            return id;
        }
        let id = RequestId(u32::try_from(self.slots.len()).expect("a queue holds fewer than 2^32 requests"));
        self.slots.push(request);
        id
    }

    /// Frees a slot. The host calls it when the request has completed or was merged into another.
    pub fn give_back(&mut self, id: RequestId) {
        self.free.push(id);
    }

    /// Requests in existence.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// True without any request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Slots ever taken at the same time: tables by request need this many entries.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }
}

impl std::ops::Index<RequestId> for RequestTable {
    type Output = Request;
    #[inline]
    fn index(&self, id: RequestId) -> &Request {
        &self.slots[id.index()]
    }
}

impl std::ops::IndexMut<RequestId> for RequestTable {
    #[inline]
    fn index_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.slots[id.index()]
    }
}

/// An elevator's view of the queue it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFacts {
    /// Timer interrupts per second: the resolution of kernel timers.
    pub hz: u32,
    /// Queue depth of the device, over all hardware queues.
    pub depth: u32,
    /// Hardware queues.
    pub queues: u16,
    /// CPUs that submit; each has a software queue.
    pub cpus: u16,
    /// True if seeks take time, as on a rotating disk.
    pub rotational: bool,
    /// Capacity in sectors.
    pub sectors: u64,
    /// Size of the request pool: per direction in the single-queue layer; in blk-mq the sum over the hardware queues,
    /// which share it evenly.
    pub requests: u32,
}

impl QueueFacts {
    /// Share of [`QueueFacts::requests`] per hardware queue, at least 1. In the single-queue layer all of them.
    #[inline]
    #[must_use]
    pub const fn requests_each(&self) -> u32 {
        let each = self.requests / self.queues as u32;
        if each == 0 { 1 } else { each }
    }

    /// One period of the timer interrupt.
    #[inline]
    #[must_use]
    pub const fn jiffy(&self) -> Span {
        Span(1_000_000_000 / self.hz as u64)
    }

    /// `span` in whole jiffies, rounded up, as the kernel converts milliseconds for timers: only zero is 0 jiffies.
    #[inline]
    #[must_use]
    pub const fn jiffies_up(&self, span: Span) -> u64 {
        span.0.saturating_mul(self.hz as u64).div_ceil(1_000_000_000)
    }

    /// Jiffy that contains `at`.
    #[inline]
    #[must_use]
    pub const fn jiffies(&self, at: Time) -> u64 {
        at.0 / self.jiffy().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_data_has_sectors_and_ends_on_the_device() {
        let of = |op, sector, sectors| Io { op, ..Io::read(Submitter(0), sector, sectors) }.fits(100);
        assert!(of(Operation::Read, 92, 8) && of(Operation::Flush, 0, 0));
        assert!(!of(Operation::Read, 93, 8) && !of(Operation::Write, u64::MAX, 8));
        assert!(!of(Operation::Read, 8, 0) && !of(Operation::Write, 8, 0) && !of(Operation::Flush, 0, 8));
    }

    #[test]
    fn a_request_is_the_io_that_it_was_made_for() {
        let io = Io {
            op: Operation::Write,
            sync: true,
            durable: true,
            mergeable: false,
            owner: Submitter(5),
            priority: IoPriority::from_nice(-20),
            cpu: 3,
            group: GroupId(2),
            ..Io::read(Submitter(4), 800, 16)
        };
        let request = Request::of(&io, Time(7));
        assert_eq!(request.as_io(), io);
        assert_eq!((request.segments, request.allocated, request.issued), (1, Time(7), Time::NEVER));
    }

    #[test]
    fn nice_gives_a_level_of_best_effort_in_steps_of_five() {
        let level = |nice| IoPriority::from_nice(nice).level;
        assert_eq!([level(-20), level(-16), level(-15), level(0), level(19)], [0, 0, 1, 4, 7]);
        assert_eq!(IoPriority::from_nice(0), IoPriority::DEFAULT);
    }

    #[test]
    fn a_span_is_as_many_jiffies_as_it_begins() {
        let facts = |hz| QueueFacts { hz, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 8, requests: 1 };
        let jiffies = |span| [100, 250, 300, 1000].map(|hz| facts(hz).jiffies_up(span));
        assert_eq!(jiffies(Span::from_ms(10)), [1, 3, 3, 10]);
        assert_eq!((jiffies(Span(1)), jiffies(Span::ZERO)), ([1; 4], [0; 4]));
    }

    #[test]
    fn reads_count_as_synchronous_and_others_where_they_are_flagged() {
        let write = Io::write(Submitter(0), 0, 8);
        let ios = [Io { sync: false, ..Io::read(Submitter(0), 0, 8) }, write, Io { sync: true, ..write }];
        assert_eq!(ios.map(|io| io.counts_as_sync()), [true, false, true]);
        assert_eq!(ios.map(|io| Request::of(&io, Time::ZERO).counts_as_sync()), [true, false, true]);
        assert_eq!(ios.map(|io| io.op.direction()), [0, 1, 1]);
    }

    #[test]
    fn a_slot_is_used_again_only_after_it_was_given_back() {
        let io = Io::read(Submitter(0), 8, 8);
        let request = Request::of(&io, Time::ZERO);
        let mut table = RequestTable::default();
        let first = table.take(request);
        let second = table.take(request);
        assert_ne!(first, second);
        table.give_back(first);
        assert_eq!(table.len(), 1);
        assert_eq!(table.take(request), first);
        assert_eq!(table.slots(), 2);
    }
}
