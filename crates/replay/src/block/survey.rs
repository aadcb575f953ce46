//! First pass over a trace: its disks, their sizes and depths, and service times.

use super::sharing::{Sharing, Speeds};
use goodness_core::{DeviceFacts, DeviceSample, DiskId, HORIZON_MAX, Operation, Service, Time};
use goodness_trace::TraceError;
use goodness_trace::block::{BlockReader, BlockRecord, BlockStage, BlockTrace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Mean random read time from which a disk counts as rotating. A choice between the two kinds: flash takes a tenth of
/// it, half a revolution at 15 000 rpm twice as much.
const TURNS_NS: u64 = 1_000_000;
/// Largest queue depth taken from a trace. A choice: a deeper queue means that the trace lacks completions.
const DEPTH_MAX: u32 = 1024;
/// Largest command of a device made from a trace, in sectors, unless a larger one was seen: 512 KiB.
const COMMAND: u32 = 1024;

/// Observations of one disk.
#[derive(Debug, Default)]
pub(super) struct Seen {
    queued: u64,
    issued: u64,
    last_event: Time,
    /// The sector behind the last.
    pub end: u64,
    largest: u32,
    flushes: bool,
    /// Target of its remaps.
    below: Option<DiskId>,
    /// I/Os whose record contains the response time: completion, number, and which it was.
    ends: BinaryHeap<Reverse<(Time, u64)>>,
    answered: BTreeMap<u64, Service>,
    sharing: Sharing,
    /// End of the last I/O, by operation.
    last: [u64; 4],
}

/// Role of a disk of the trace in the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is replayed, as this volume.
    Volume(u16),
    /// Passes its I/O on to other disks of the trace.
    Stacked,
}

/// Result of the first pass.
#[derive(Debug)]
pub(super) struct Survey {
    pub disks: Vec<Seen>,
    /// By disk of the trace.
    pub roles: Vec<Role>,
    /// By volume, the disk of the trace.
    pub volumes: Vec<usize>,
    /// First arrival.
    pub first: Time,
    /// Last event of a disk that is replayed.
    pub last: Time,
    pub issues: u64,
    /// Requests that reached an elevator.
    pub inserts: u64,
}

impl Survey {
    /// Reads the whole trace, which completes the facts about `trace`.
    pub fn of(trace: &mut BlockTrace) -> Result<Survey, TraceError> {
        let mut disks: Vec<Seen> = Vec::new();
        let (mut first, mut issues, mut inserts) = (Time::NEVER, 0, 0);
        while let Some(record) = trace.next()? {
            if record.disk == BlockRecord::NO_DISK {
                continue;
            }
            let at = usize::from(record.disk.0);
            if disks.len() <= at {
                disks.resize_with(at + 1, Seen::default);
            }
            match record.stage {
                BlockStage::Queue => first = first.min(record.at),
                BlockStage::Issue => {
                    first = first.min(record.at);
                    issues += 1;
                }
                BlockStage::Insert => inserts += 1,
                BlockStage::Remap { from, .. } => {
                    let from = usize::from(from.0);
                    if disks.len() <= from {
                        disks.resize_with(from + 1, Seen::default);
                    }
                    disks[from].below.get_or_insert(record.disk);
                }
                _ => {}
            }
            disks[at].see(&record);
        }
        let mut survey = Survey { disks, roles: Vec::new(), volumes: Vec::new(), first, last: first, issues, inserts };
        survey.assign(trace);
        let ends = survey.volumes.iter().map(|disk| survey.disks[*disk].last_event);
        survey.last = ends.fold(first, Time::max);
        Ok(survey)
    }

    /// Assigns roles: a partition belongs to its disk, stacked devices are left out, and every other disk with I/O is a
    /// volume.
    fn assign(&mut self, trace: &BlockTrace) {
        let known = &trace.about().disks;
        let number = |disk: usize| known.number(DiskId(disk as u16));
        let is_real = |seen: &Seen| if self.issues > 0 { seen.issued > 0 } else { seen.queued > 0 };
        // The whole disk has the lower minor number of the same driver.
        let whole = |part: usize| {
            let own = number(part)?;
            let is_whole = |disk: &usize| {
                number(*disk).is_some_and(|n| n.major == own.major && n.minor < own.minor)
                    && is_real(&self.disks[*disk])
            };
            (0..self.disks.len()).filter(is_whole).max_by_key(|disk| number(*disk).map(|n| n.minor))
        };
        let mut roles = vec![Role::Stacked; self.disks.len()];
        let mut volumes = Vec::new();
        for (disk, seen) in self.disks.iter().enumerate().filter(|(_, seen)| is_real(seen)) {
            let crosses =
                |below: DiskId| number(disk).map(|n| n.major) != number(usize::from(below.0)).map(|n| n.major);
            if seen.issued > 0 || seen.below.is_none_or(|below| !crosses(below)) {
                roles[disk] = Role::Volume(volumes.len() as u16);
                volumes.push(disk);
            }
        }
        for (disk, seen) in self.disks.iter().enumerate().filter(|(_, seen)| !is_real(seen) && seen.queued > 0) {
            if let Some(whole) = whole(disk) {
                roles[disk] = roles[whole];
            }
            let _ = seen;
        }
        (self.roles, self.volumes) = (roles, volumes);
    }

    /// The recorded time from the first arrival on, as the end of a run that begins with it: the last event is within.
    pub fn window(&self) -> Time {
        Time(self.last.since(self.first).0.min(HORIZON_MAX.0) + 1)
    }

    /// The volume on which a record's disk is replayed.
    pub fn volume(&self, disk: DiskId) -> Option<u16> {
        match self.roles.get(usize::from(disk.0))? {
            Role::Volume(volume) => Some(*volume),
            Role::Stacked => None,
        }
    }

    /// Largest sector used on this volume by any disk of the trace.
    pub fn end(&self, volume: u16) -> u64 {
        let on = self.disks.iter().zip(&self.roles).filter(|(_, role)| **role == Role::Volume(volume));
        on.map(|(seen, _)| seen.end).max().unwrap_or(0)
    }
}

/// True if the response time of `record` lies before it.
const fn is_done(record: &BlockRecord) -> bool {
    matches!(record.stage, BlockStage::Complete { .. })
}

impl Seen {
    fn see(&mut self, record: &BlockRecord) {
        if record.op != Operation::Flush {
            self.end = self.end.max(record.end());
        }
        self.last_event =
            self.last_event.max(record.at + record.response.filter(|_| !is_done(record)).unwrap_or_default());
        match record.stage {
            BlockStage::Queue => {
                self.queued += 1;
                self.flushes |= record.op == Operation::Flush;
                if record.response.is_some() {
                    self.answered(record);
                }
            }
            BlockStage::Issue => {
                self.issued += 1;
                self.largest = self.largest.max(record.sectors);
                if record.response.is_some() {
                    self.answered(record);
                } else {
                    self.sharing.begin(record.at);
                }
            }
            BlockStage::Requeue => self.sharing.return_undone(record.at),
            BlockStage::Complete { .. } => {
                if let Some(service) = self.service(record) {
                    self.sharing.end(record.at, service);
                }
            }
            _ => {}
        }
    }

    /// Handles an I/O whose record contains the response time.
    fn answered(&mut self, record: &BlockRecord) {
        self.settle(record.at);
        let Some(service) = self.service(record) else { return };
        self.largest = self.largest.max(record.sectors);
        self.sharing.begin(record.at);
        let number = self.queued + self.issued;
        self.ends.push(Reverse((record.at + service.span, number)));
        self.answered.insert(number, service);
    }

    /// Completes I/Os done by `now` whose record contained the response time.
    fn settle(&mut self, now: Time) {
        while let Some(Reverse((end, number))) = self.ends.peek().copied().filter(|Reverse((end, _))| *end <= now) {
            self.ends.pop();
            if let Some(service) = self.answered.remove(&number) {
                self.sharing.end(end, service);
            }
        }
    }

    fn service(&mut self, record: &BlockRecord) -> Option<Service> {
        let span = record.response?;
        let op = record.op as usize;
        let is_sequential = self.last[op] == record.sector;
        self.last[op] = record.end();
        Some(Service { op: record.op, sectors: record.sectors, is_sequential, span })
    }

    /// A device with the service times of this one and room for `end` sectors; `None` if no read or write has a service
    /// time.
    pub fn sample(&mut self, end: u64) -> Option<(DeviceSample, Speeds)> {
        self.settle(Time::NEVER);
        let (speeds, services) = self.sharing.finish();
        let moves = |service: &&Service| matches!(service.op, Operation::Read | Operation::Write);
        services.iter().find(moves)?;
        let random = |s: &&Service| s.op == Operation::Read && !s.is_sequential;
        let (sum, count) =
            services.iter().filter(random).fold((0u128, 0u128), |(sum, n), s| (sum + u128::from(s.span.0), n + 1));
        let facts = DeviceFacts {
            sectors: end.max(1 << 11),
            depth: self.sharing.depth().clamp(1, DEPTH_MAX),
            queues: 1,
            rotational: sum >= count * u128::from(TURNS_NS) && count > 0,
            sectors_max: self.largest.max(COMMAND),
            volatile_cache: self.flushes,
            age_limit: None,
        };
        Some((DeviceSample { facts, speeds: speeds.speeds.clone(), lags: Vec::new(), services }, speeds))
    }
}
