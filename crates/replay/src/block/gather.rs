//! Second pass over a trace: the I/O of each submitter, with its dependencies and queue depth.
//!
//! A submitter's trace is a sequence of arrivals and completions. If any of its I/O completed since its previous
//! arrival, an arrival is taken to wait until as few I/Os are in flight as were recorded, plus the time since the last
//! of these completions. Otherwise it follows the previous arrival after the recorded time. Which completion it waited
//! for, if any, is an inference.

use super::survey::Survey;
use super::under_way::UnderWay;
use super::{Events, Lost};
use goodness_core::{HORIZON_MAX, Operation, Span, Time};
use goodness_observe::Histogram;
use goodness_trace::TraceError;
use goodness_trace::block::{BlockFlags, BlockReader, BlockRecord, BlockStage, BlockTrace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Arrivals of a submitter that follow each other faster than this are taken as one plug …
const PLUG_GAP: Span = Span::from_us(10);
/// Longest duration of a plug. A choice: preparing an I/O takes a few microseconds.
const PLUG: Span = Span::from_us(100);
/// Most queued I/Os without an issue whose submitter is remembered. A choice.
const OWNERS_MAX: usize = 1 << 17;

/// Nothing completed since the previous arrival, so the I/O waits for no completion.
const UNTIED: u16 = u16::MAX;

/// One I/O of a submitter. 32 bytes, as a day of a busy disk has millions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Recorded time, from the start.
    pub at: Time,
    /// Delay after the event it follows.
    pub think: Span,
    /// First sector.
    pub sector: u64,
    /// Sectors; 0 for a flush.
    pub sectors: u32,
    at_most: u16,
    /// Volume in the low 12 bits, operation in the next 2, synchronous flag in the next.
    packed: u16,
}

impl Piece {
    fn new(record: &BlockRecord, at: Time, volume: u16, at_most: Option<u32>) -> Piece {
        Piece {
            at,
            think: Span::ZERO,
            sector: record.sector,
            sectors: record.sectors,
            at_most: at_most.and_then(|n| u16::try_from(n).ok()).unwrap_or(UNTIED),
            packed: volume | (record.op as u16) << 12 | u16::from(record.is_sync()) << 14,
        }
    }

    /// Volume.
    pub const fn volume(&self) -> u16 {
        self.packed & 0xfff
    }

    /// Operation.
    pub const fn op(&self) -> Operation {
        match self.packed >> 12 & 3 {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Discard,
            _ => Operation::Flush,
        }
    }

    /// True if it is synchronous.
    pub const fn sync(&self) -> bool {
        self.packed >> 14 != 0
    }

    /// Most I/Os of the submitter in flight before it starts; `None` if it waits for none.
    pub const fn at_most(&self) -> Option<u32> {
        if self.at_most == UNTIED { None } else { Some(self.at_most as u32) }
    }
}

/// I/Os of one submitter.
#[derive(Debug)]
pub(super) struct Programme {
    /// Process id; 0 if unknown.
    pub pid: u32,
    /// In order of time; at least one.
    pub pieces: Vec<Piece>,
}

/// A submitter while the trace is read.
#[derive(Debug)]
struct Submitter {
    programme: Programme,
    under_way: u32,
    /// Time of its last arrival, and of the first one in the same plug.
    last: Time,
    plug: Time,
    /// The last completion since then.
    done: Option<Time>,
}

/// Result of the second pass.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub programmes: Vec<Programme>,
    /// From arrival to completion, in ns.
    pub latency: Histogram,
    pub lost: Lost,
}

/// The second reading.
pub(super) struct Gather<'s> {
    survey: &'s Survey,
    events: Events,
    submitters: Vec<Submitter>,
    by_pid: BTreeMap<u32, usize>,
    under_way: UnderWay,
    /// I/Os whose record contains the response time: end, start, submitter.
    ends: BinaryHeap<Reverse<(Time, Time, u32)>>,
    /// Submitters of queued I/O by volume and first sector, if issues are replayed.
    owners: BTreeMap<(u16, u64), u32>,
    latency: Histogram,
    lost: Lost,
}

impl<'s> Gather<'s> {
    /// Reads the whole trace.
    pub fn all(survey: &'s Survey, events: Events, trace: &mut BlockTrace) -> Result<Gathered, TraceError> {
        let mut gather = Gather {
            survey,
            events,
            submitters: Vec::new(),
            by_pid: BTreeMap::new(),
            under_way: UnderWay::default(),
            ends: BinaryHeap::new(),
            owners: BTreeMap::new(),
            latency: Histogram::default(),
            lost: Lost::default(),
        };
        while let Some(record) = trace.next()? {
            gather.take(&record);
        }
        gather.lost.never_done += gather.under_way.len() as u64;
        let programmes = gather.submitters.into_iter().map(|submitter| submitter.programme).collect();
        Ok(Gathered { programmes, latency: gather.latency, lost: gather.lost })
    }

    fn take(&mut self, record: &BlockRecord) {
        if record.disk == BlockRecord::NO_DISK {
            return;
        }
        let arrives = match self.events {
            Events::Queue => record.stage == BlockStage::Queue,
            Events::Issue => record.stage == BlockStage::Issue,
        };
        let Some(volume) = self.survey.volume(record.disk) else {
            self.lost.stacked += u64::from(arrives);
            return;
        };
        match record.stage {
            BlockStage::Complete { .. } => self.completed(volume, record),
            BlockStage::Queue if !arrives => {
                if self.owners.len() >= OWNERS_MAX {
                    self.owners.clear();
                }
                self.owners.insert((volume, record.sector), record.pid);
            }
            _ if arrives => self.arrived(volume, record),
            _ => {}
        }
    }

    fn completed(&mut self, volume: u16, record: &BlockRecord) {
        let (submitters, latency) = (&mut self.submitters, &mut self.latency);
        self.under_way.end(volume, record.sector, record.sectors, |task, queued| {
            latency.record(record.at.since(queued).0);
            submitters[task as usize].completes(record.at);
        });
    }

    fn arrived(&mut self, volume: u16, record: &BlockRecord) {
        let at = Time(record.at.since(self.survey.first).0);
        if at > Time::ZERO + HORIZON_MAX {
            self.lost.late += 1;
            return;
        }
        if (record.sectors == 0) != (record.op == Operation::Flush) {
            self.lost.empty += 1;
            return;
        }
        let marked = record.flags.has(BlockFlags::DURABLE) || record.flags.has(BlockFlags::FLUSH_BEFORE);
        self.lost.marks += u64::from(marked && record.op == Operation::Write);
        self.settle(record.at);
        let pid = self.who(volume, record);
        let task = self.submitter(pid, record.at);
        let submitter = &mut self.submitters[task];
        submitter.arrives(record, at, volume);
        match record.response {
            Some(response) => self.ends.push(Reverse((record.at + response, record.at, task as u32))),
            None => self.under_way.begin(record.at, volume, record.sector, record.sectors, task as u32),
        }
    }

    /// Completes I/Os done by `now`, and drops those that will never complete.
    fn settle(&mut self, now: Time) {
        while let Some(Reverse((end, begun, task))) = self.ends.peek().copied().filter(|Reverse((end, ..))| *end <= now)
        {
            self.ends.pop();
            self.latency.record(end.since(begun).0);
            self.submitters[task as usize].completes(end);
        }
        let (submitters, lost) = (&mut self.submitters, &mut self.lost);
        self.under_way.forget(now, |task| {
            lost.never_done += 1;
            submitters[task as usize].under_way -= 1;
        });
    }

    /// Submitter of `record`. The pid of an issue is that of the running task, so the earlier queueing is used if there
    /// is one.
    fn who(&mut self, volume: u16, record: &BlockRecord) -> u32 {
        if self.events == Events::Queue {
            return record.pid;
        }
        let within = (volume, record.sector)..(volume, record.end().max(record.sector + 1));
        let mut owner = None;
        while let Some((&key, &pid)) = self.owners.range(within.clone()).next() {
            self.owners.remove(&key);
            owner.get_or_insert(pid);
        }
        owner.unwrap_or(record.pid)
    }

    fn submitter(&mut self, pid: u32, now: Time) -> usize {
        let submitters = &mut self.submitters;
        *self.by_pid.entry(pid).or_insert_with(|| {
            let programme = Programme { pid, pieces: Vec::new() };
            submitters.push(Submitter { programme, under_way: 0, last: now, plug: now, done: None });
            submitters.len() - 1
        })
    }
}

impl Submitter {
    fn completes(&mut self, now: Time) {
        self.under_way -= 1;
        self.done = Some(now);
    }

    fn arrives(&mut self, record: &BlockRecord, at: Time, volume: u16) {
        let now = record.at;
        let done = self.done.take();
        let is_plugged =
            done.is_none() && now.since(self.last) <= PLUG_GAP && now.since(self.plug) <= PLUG && self.under_way > 0;
        let mut piece = Piece::new(record, at, volume, done.map(|_| self.under_way));
        if !is_plugged {
            piece.think = now.since(done.map_or(self.plug, |done| done.max(self.plug)));
            self.plug = now;
        }
        self.last = now;
        self.under_way += 1;
        self.programme.pieces.push(piece);
    }
}
