//! First pass over a trace: its disks, their sizes and depths, and service times.

use goodness_core::{DeviceFacts, DeviceSample, DiskId, Operation, Service, Time};
use goodness_trace::TraceError;
use goodness_trace::block::{BlockReader, BlockRecord, BlockStage, BlockTrace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most service times kept per disk; beyond that every second, fourth and so on is kept. A choice that leaves thousands
/// in each class.
const SERVICES_MAX: usize = 1 << 20;
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
    /// The sector behind the last.
    pub end: u64,
    largest: u32,
    flushes: bool,
    /// Target of its remaps.
    below: Option<DiskId>,
    in_device: u32,
    depth: u32,
    /// Completion times of I/Os whose record contains the response time.
    ends: BinaryHeap<Reverse<Time>>,
    services: Vec<Service>,
    /// One service time in this many is kept.
    stride: u64,
    served: u64,
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
    pub issues: u64,
}

impl Survey {
    /// Reads the whole trace, which completes the facts about `trace`.
    pub fn of(trace: &mut BlockTrace) -> Result<Survey, TraceError> {
        let mut disks: Vec<Seen> = Vec::new();
        let (mut first, mut issues) = (Time::NEVER, 0);
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
        let mut survey = Survey { disks, roles: Vec::new(), volumes: Vec::new(), first, issues };
        survey.assign(trace);
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

impl Seen {
    fn see(&mut self, record: &BlockRecord) {
        if record.op != Operation::Flush {
            self.end = self.end.max(record.end());
        }
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
                    self.in_device += 1;
                    self.depth = self.depth.max(self.in_device);
                }
            }
            BlockStage::Requeue => self.in_device = self.in_device.saturating_sub(1),
            BlockStage::Complete { .. } if record.response.is_some() => {
                self.in_device = self.in_device.saturating_sub(1);
                self.serve(record);
            }
            _ => {}
        }
    }

    /// Handles an I/O whose record contains the response time.
    fn answered(&mut self, record: &BlockRecord) {
        while self.ends.peek().is_some_and(|Reverse(end)| *end <= record.at) {
            self.ends.pop();
        }
        self.ends.push(Reverse(record.at + record.response.unwrap_or_default()));
        self.depth = self.depth.max(self.ends.len() as u32);
        self.largest = self.largest.max(record.sectors);
        self.serve(record);
    }

    fn serve(&mut self, record: &BlockRecord) {
        let Some(span) = record.response else { return };
        let op = record.op as usize;
        let is_sequential = self.last[op] == record.sector;
        self.last[op] = record.end();
        self.served += 1;
        if !self.served.is_multiple_of(self.stride.max(1)) {
            return;
        }
        if self.services.len() == SERVICES_MAX {
            let mut keep = false;
            self.services.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.max(1) * 2;
        }
        self.services.push(Service { op: record.op, sectors: record.sectors, is_sequential, span });
    }

    /// A device with the service times of this one and room for `end` sectors; `None` if no read or write has a service
    /// time.
    pub fn sample(&mut self, end: u64) -> Option<DeviceSample> {
        let moves = |service: &&Service| matches!(service.op, Operation::Read | Operation::Write);
        self.services.iter().find(moves)?;
        let random = |s: &&Service| s.op == Operation::Read && !s.is_sequential;
        let (sum, count) =
            self.services.iter().filter(random).fold((0u128, 0u128), |(sum, n), s| (sum + u128::from(s.span.0), n + 1));
        let facts = DeviceFacts {
            sectors: end.max(1 << 11),
            depth: self.depth.clamp(1, DEPTH_MAX),
            queues: 1,
            rotational: sum >= count * u128::from(TURNS_NS) && count > 0,
            sectors_max: self.largest.max(COMMAND),
            volatile_cache: self.flushes,
        };
        Some(DeviceSample { facts, servers: facts.depth, services: std::mem::take(&mut self.services) })
    }
}
