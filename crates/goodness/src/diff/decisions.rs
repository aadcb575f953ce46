//! The decisions of a run as a stream: who runs where, where woken tasks go, which request a disk gets.
//!
//! Two runs are compared while they run. Each sends its decisions in batches through a bounded channel, so that memory
//! does not grow with the length of the runs.

use goodness_core::{CpuId, DiskId, Event, IoStage, Observer, Off, Operation, TaskId, Time};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Decisions sent at a time.
const BATCH: usize = 1_024;
/// Batches that wait for the comparison before a run waits for it.
const WAITING: usize = 4;

/// The object that decisions follow each other on. Two runs are compared object by object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Track {
    /// Who runs on a CPU.
    Cpu(CpuId),
    /// On which CPU a task waits.
    Task(TaskId),
    /// What a disk is given.
    Disk(DiskId),
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A CPU went from one task to another; `None` is idle.
    Switched { prev: Option<(TaskId, Off)>, next: Option<TaskId> },
    /// A woken task joined the queue of this CPU.
    Placed(CpuId),
    /// A waiting task was moved to this CPU.
    Moved(CpuId),
    /// A request was given to the disk.
    Issued { op: Operation, sector: u64, sectors: u32 },
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub at: Time,
    pub track: Track,
    pub choice: Choice,
    /// CPU time that the host had spent on its own account until then, on all CPUs, in ns.
    pub overhead: u64,
}

/// Turns the events of a run into decisions.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    overhead: u64,
}

impl Decisions {
    pub(super) fn of(&mut self, at: Time, event: &Event) -> Option<Decision> {
        let (track, choice) = match *event {
            Event::Switch { cpu, prev, off, next } => {
                (Track::Cpu(cpu), Choice::Switched { prev: prev.map(|task| (task, off)), next })
            }
            Event::Wakeup { task, cpu, .. } => (Track::Task(task), Choice::Placed(cpu)),
            Event::Migrate { task, to, .. } => (Track::Task(task), Choice::Moved(to)),
            Event::Io(io) if io.stage == IoStage::Issued => {
                (Track::Disk(io.disk), Choice::Issued { op: io.op, sector: io.sector, sectors: io.sectors })
            }
            Event::Overhead { span, .. } => {
                self.overhead += span.0;
                return None;
            }
            Event::Fork { .. } | Event::Exit { .. } | Event::Served { .. } | Event::Io(_) | Event::Contended { .. } => {
                return None;
            }
        };
        Some(Decision { at, track, choice, overhead: self.overhead })
    }
}

/// Sends the decisions of a run to the comparison.
pub(super) struct Sender {
    decisions: Decisions,
    batch: Vec<Decision>,
    to: SyncSender<Vec<Decision>>,
    /// True if the comparison has ended.
    is_over: bool,
}

/// Two ends of a channel of decisions.
pub(super) fn channel() -> (Sender, Stream) {
    let (to, from) = sync_channel(WAITING);
    let sender = Sender { decisions: Decisions::default(), batch: Vec::with_capacity(BATCH), to, is_over: false };
    (sender, Stream { from, batch: Vec::new().into_iter(), next: None, number: 0 })
}

impl Sender {
    fn send(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.is_over = self.to.send(batch).is_err();
    }
}

impl Observer for Sender {
    fn observe(&mut self, at: Time, event: &Event) {
        if self.is_over {
            return;
        }
        self.batch.extend(self.decisions.of(at, event));
        if self.batch.len() == BATCH {
            self.send();
        }
    }
}

impl Drop for Sender {
    /// Sends the rest: the run is over.
    fn drop(&mut self) {
        if !self.is_over {
            self.send();
        }
    }
}

/// The decisions of a run, in order, each with its number.
pub(super) struct Stream {
    from: Receiver<Vec<Decision>>,
    batch: std::vec::IntoIter<Decision>,
    next: Option<Decision>,
    number: u64,
}

impl Stream {
    /// Time of the next decision; waits for it. `None` at the end of the run.
    pub(super) fn peek(&mut self) -> Option<Time> {
        while self.next.is_none() {
            self.next = self.batch.next();
            if self.next.is_none() {
                self.batch = self.from.recv().ok()?.into_iter();
            }
        }
        self.next.map(|it| it.at)
    }

    /// The next decision and its number, from 0.
    pub(super) fn take(&mut self) -> Option<(u64, Decision)> {
        self.peek()?;
        self.number += 1;
        Some((self.number - 1, self.next.take()?))
    }
}
