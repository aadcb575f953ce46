//! Second pass over a trace: the I/O of each submitter, with its dependencies and queue depth.
//!
//! A submitter's trace is a sequence of arrivals and completions; `waits` says what each arrival waits for.

use super::lags::Lags;
use super::survey::Survey;
use super::under_way::{Began, UnderWay};
use super::waits::{Arrival, waits};
use super::{Events, Lost};
use goodness_core::{
    DiskId, Event, HORIZON_MAX, IoEvent, IoStage, Observer, Operation, RequestId, Span, Submitter as Who, TaskId, Time,
};
use goodness_observe::{Measured, Metrics};
use goodness_trace::TraceError;
use goodness_trace::block::{BlockFlags, BlockReader, BlockRecord, BlockStage, BlockTrace};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Most queued I/Os without an issue whose submitter is remembered. A choice.
const OWNERS_MAX: usize = 1 << 17;

/// A submitter that is silent at the end for this part of the recording has ended, if it never was silent for so long
/// before: a twentieth. A choice.
const SILENCE: u64 = 20;
/// A lap takes at least this part of the recording, so that a crafted trace cannot keep the simulator busy for ever.
const LAPS_MAX: u64 = 100_000;

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
    fn new(record: &BlockRecord, at: Time, volume: u16) -> Piece {
        Piece {
            at,
            think: Span::ZERO,
            sector: record.sector,
            sectors: record.sectors,
            at_most: UNTIED,
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
    /// Time from the last event of one lap to the first arrival of the next; `None` if it does not go on.
    pub lap: Option<Span>,
    /// True if it submits at the recorded times.
    pub open: bool,
}

impl Programme {
    /// True if the most of it is written later by others than those who wrote: it waits for nobody.
    pub fn is_written_back(&self) -> bool {
        let later = self.pieces.iter().filter(|piece| !piece.sync()).count();
        2 * later > self.pieces.len()
    }
}

/// A submitter while the trace is read.
#[derive(Debug)]
struct Submitter {
    programme: Programme,
    under_way: u32,
    /// For each arrival, what was in flight before it and whether anything completed since the one before.
    arrivals: Vec<Arrival>,
    /// True if anything completed since the last arrival.
    done: bool,
    /// Times of completions, from the start.
    completions: Vec<Time>,
}

/// Result of the second pass.
#[derive(Debug)]
pub(super) struct Gathered {
    pub programmes: Vec<Programme>,
    /// By volume: times on the way to the device.
    pub lags: Vec<Vec<Span>>,
    /// Metrics of the recording, as those of a run.
    pub measured: Measured,
    pub lost: Lost,
}

/// The second reading.
pub(super) struct Gather<'s> {
    survey: &'s Survey,
    events: Events,
    submitters: Vec<Submitter>,
    by_pid: BTreeMap<u32, usize>,
    under_way: UnderWay,
    /// I/Os whose record contains the response time, by their end.
    ends: BinaryHeap<Reverse<(Time, Began, Operation)>>,
    /// Submitters of queued I/O by volume and first sector, if issues are replayed.
    owners: BTreeMap<(u16, u64), u32>,
    lags: Lags,
    metrics: Metrics,
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
            lags: Lags::default(),
            metrics: Metrics::new(1, Time::ZERO, &[]),
            lost: Lost::default(),
        };
        while let Some(record) = trace.next()? {
            gather.take(&record);
        }
        gather.lost.never_done += gather.under_way.len() as u64;
        gather.settle(survey.last);
        let window = survey.window();
        let programmes = gather.submitters.into_iter().map(|it| it.finish(Span(window.0))).collect();
        Ok(Gathered {
            programmes,
            lags: gather.lags.finish(),
            measured: gather.metrics.finish(window),
            lost: gather.lost,
        })
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
            BlockStage::Issue if self.events == Events::Queue => {
                self.lags.issues(volume, record.sector, record.end(), record.at);
            }
            BlockStage::Complete { error } => {
                self.lags.completes(volume, record.sector, record.end());
                self.lost.errors += u64::from(error != 0);
                self.completed(volume, record);
            }
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
        let (submitters, metrics) = (&mut self.submitters, &mut self.metrics);
        let at = Time(record.at.since(self.survey.first).0);
        self.under_way.end(volume, record.sector, record.sectors, |piece| {
            metrics.observe(at, &done(piece, record.op, record.at));
            submitters[piece.task as usize].completes(at);
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
        if self.events == Events::Queue && self.survey.issues > 0 && record.sectors > 0 {
            self.lags.arrives(volume, record.sector, record.at);
        }
        let pid = self.who(volume, record);
        let task = self.submitter(pid, at);
        self.submitters[task].arrives(Piece::new(record, at, volume));
        match record.response {
            Some(response) => {
                let piece = Began { task: task as u32, sectors: record.sectors, queued: record.at };
                self.ends.push(Reverse((record.at + response, piece, record.op)));
            }
            None => self.under_way.begin(record.at, volume, record.sector, record.sectors, task as u32),
        }
    }

    /// Completes I/Os done by `now`, and drops those that will never complete.
    fn settle(&mut self, now: Time) {
        while let Some(Reverse((end, piece, op))) = self.ends.peek().copied().filter(|Reverse((end, ..))| *end <= now) {
            self.ends.pop();
            let at = Time(end.since(self.survey.first).0);
            self.metrics.observe(at, &done(piece, op, end));
            self.submitters[piece.task as usize].completes(at);
        }
        let (submitters, lost) = (&mut self.submitters, &mut self.lost);
        let at = Time(now.since(self.survey.first).0);
        self.under_way.forget(now, |task| {
            lost.never_done += 1;
            submitters[task as usize].gives_up(at);
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
        let (submitters, metrics) = (&mut self.submitters, &mut self.metrics);
        *self.by_pid.entry(pid).or_insert_with(|| {
            metrics.observe(now, &Event::Fork { parent: None, child: TaskId(submitters.len() as u32) });
            submitters.push(Submitter {
                programme: Programme { pid, pieces: Vec::new(), lap: None, open: false },
                under_way: 0,
                arrivals: Vec::new(),
                done: false,
                completions: Vec::new(),
            });
            submitters.len() - 1
        })
    }
}

impl Submitter {
    fn completes(&mut self, now: Time) {
        self.gives_up(now);
        self.done = true;
    }

    /// An I/O is no longer in flight.
    fn gives_up(&mut self, now: Time) {
        self.under_way -= 1;
        self.completions.push(now);
    }

    fn arrives(&mut self, piece: Piece) {
        let done = std::mem::take(&mut self.done);
        self.arrivals.push(Arrival { at: piece.at, in_flight: self.under_way, done });
        self.under_way += 1;
        self.programme.pieces.push(piece);
    }

    /// Its programme in a recording of this length. Each I/O knows what it waits for.
    fn finish(mut self, length: Span) -> Programme {
        self.programme.lap = self.lap(length);
        let waits = waits(&self.arrivals, &self.completions);
        for (piece, wait) in self.programme.pieces.iter_mut().zip(waits) {
            piece.think = wait.think;
            piece.at_most = wait.at_most.and_then(|n| u16::try_from(n).ok()).unwrap_or(UNTIED);
        }
        self.programme
    }

    /// The time between two laps, if it goes on: if its silence at the end is a pause as there were others.
    fn lap(&self, length: Span) -> Option<Span> {
        let (first, last) = (self.arrivals.first()?.at, self.arrivals.last()?.at);
        let last = self.completions.last().map_or(last, |done| last.max(*done));
        let pauses = self.arrivals.windows(2).map(|two| two[1].at.since(two[0].at));
        let usual = pauses.max().unwrap_or_default().max(length / SILENCE);
        let silence = Span(length.0.saturating_sub(last.0));
        let gap = Span(first.0 + silence.0);
        let thinks = last.since(first).0 + gap.0;
        (silence <= usual && thinks > length.0 / LAPS_MAX).then_some(gap)
    }
}

/// The event of a run in which `piece` is done at `end`.
fn done(piece: Began, op: Operation, end: Time) -> Event {
    Event::Io(IoEvent {
        disk: DiskId(0),
        stage: IoStage::Done,
        op,
        sync: true,
        request: RequestId(0),
        survivor: RequestId(0),
        submitter: Who(piece.task),
        owner: Who(piece.task),
        sector: 0,
        sectors: piece.sectors,
        span: end.since(piece.queued),
    })
}
