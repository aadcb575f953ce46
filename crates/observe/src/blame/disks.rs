//! What an I/O waited for: the requests that its disk served first.

use goodness_core::{DiskId, IoEvent, IoStage, Operation, RequestId, Span, Submitter, TaskId, Time};
use std::collections::{BTreeMap, VecDeque};

/// Requests that a disk served while an I/O waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServedFirst {
    /// The disk.
    pub disk: DiskId,
    /// The request that the I/O was part of when the device got it, or is at the end; `None` if it never had a slot.
    pub request: Option<RequestId>,
    /// Their number.
    pub requests: u32,
    /// Number of writes among them.
    pub writes: u32,
    /// The task whose requests most of them are, its write-back included; `None` if there are none.
    pub most: Option<TaskId>,
    /// True if the I/O that waited is an asynchronous write or a discard.
    pub is_write_back: bool,
}

/// The stations of an I/O that is done, or at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoTimes {
    /// It reached the block layer.
    pub queued: Time,
    /// The limit of its group let it go on, where it held it.
    pub released: Time,
    /// The device got it.
    pub issued: Time,
    /// Between the two.
    pub first: ServedFirst,
}

/// A request that a disk completed.
#[derive(Clone, Copy, Debug)]
struct Completion {
    at: Time,
    by: Submitter,
    is_write: bool,
}

/// True for what write-back throttling limits.
pub(super) fn is_write_back(op: Operation, sync: bool) -> bool {
    op == Operation::Discard || (op == Operation::Write && !sync)
}

/// Requests that are remembered, at least. A choice.
const FEWEST_KEPT: usize = 1_024;

/// The disks of a run.
#[derive(Debug, Default)]
pub(super) struct Disks {
    keep: Span,
    completions: BTreeMap<DiskId, VecDeque<Completion>>,
    /// Time for which the limit of a group held I/Os that are not done, by disk, submitter and first sector.
    held: BTreeMap<(DiskId, Submitter, u64), Span>,
    /// When the device got each request, and when it completed it.
    issued: BTreeMap<(DiskId, RequestId), (Time, Option<Time>)>,
    /// Number of requests at which old ones are forgotten.
    most: usize,
}

impl Disks {
    /// Disks whose requests are known as far back as `keep`.
    pub fn new(keep: Span) -> Disks {
        Disks { keep, ..Disks::default() }
    }

    /// Follows an event; returns the stations of an I/O that is done and that the device had.
    pub fn follow(&mut self, at: Time, event: &IoEvent) -> Option<IoTimes> {
        let io = (event.disk, event.submitter, event.sector);
        match event.stage {
            IoStage::Released => drop(self.held.insert(io, event.span)),
            IoStage::Issued => drop(self.issued.insert((event.disk, event.request), (at, None))),
            IoStage::Completed => {
                self.complete(at, (event.disk, event.request));
                let all = self.completions.entry(event.disk).or_default();
                while all.front().is_some_and(|oldest| at.since(oldest.at) > self.keep) {
                    all.pop_front();
                }
                all.push_back(Completion { at, by: event.owner, is_write: event.op == Operation::Write });
            }
            IoStage::Done => {
                let held = self.held.remove(&io).unwrap_or(Span::ZERO);
                let (issued, _) = *self.issued.get(&(event.disk, event.request))?;
                let queued = Time(at.0.saturating_sub(event.span.0));
                let released = queued + held;
                let first = ServedFirst {
                    is_write_back: is_write_back(event.op, event.sync),
                    ..self.served_first((event.disk, Some(event.request)), released, issued)
                };
                return Some(IoTimes { queued, released, issued, first });
            }
            _ => {}
        }
        None
    }

    /// Forgets requests that were completed long ago, each time that their number has doubled.
    fn complete(&mut self, at: Time, request: (DiskId, RequestId)) {
        if let Some((_, completed)) = self.issued.get_mut(&request) {
            *completed = Some(at);
        }
        if self.issued.len() > self.most {
            let keep = self.keep;
            self.issued.retain(|_, (_, completed)| completed.is_none_or(|it| at.since(it) <= keep));
            self.most = FEWEST_KEPT.max(2 * self.issued.len());
        }
    }

    /// The requests that `disk` served between `queued` and `issued`, while `request` waited.
    pub fn served_first(
        &self,
        (disk, request): (DiskId, Option<RequestId>),
        queued: Time,
        issued: Time,
    ) -> ServedFirst {
        let mut by: BTreeMap<Submitter, u32> = BTreeMap::new();
        let mut first = ServedFirst { disk, request, requests: 0, writes: 0, most: None, is_write_back: false };
        let all = self.completions.get(&disk).into_iter().flatten();
        for it in all.filter(|it| queued < it.at && it.at <= issued) {
            first.requests += 1;
            first.writes += u32::from(it.is_write);
            *by.entry(it.by).or_default() += 1;
        }
        first.most = by.into_iter().max_by_key(|(_, count)| *count).map(|(by, _)| TaskId(by.0));
        first
    }
}
