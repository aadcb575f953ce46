//! The behaviour of one job.

use super::io::{FioIo, FioOp, Pause};
use super::job::{Durability, FioJob};
use super::stream::FioStream;
use super::together::Together;
use super::wave::{begins, ended};
use goodness_core::{
    Behaviour, FileId, IoStep, Operation, PAGE_BYTES, SECTOR_BYTES, Span, Step, StepContext, Time, VolumeId,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Position of one of a job's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// In the page cache.
    pub file: FileId,
    /// First byte on the disk.
    pub start: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It waits for its wave.
    Waiting,
    /// It waits for its `start_delay`.
    Delayed,
    Running,
    /// The job is complete and waits for I/Os in flight.
    Ending,
    Ended,
}

/// Performs one job.
pub(super) struct Player {
    job: Arc<FioJob>,
    stream: FioStream,
    extents: Vec<Extent>,
    cost: Span,
    phase: Phase,
    began: Time,
    /// The next I/O, not yet due.
    held: Option<FioIo>,
    /// The next steps.
    steps: VecDeque<Step>,
    /// Most I/Os in flight.
    under_way: u32,
    /// What it shares with other jobs, if anything.
    together: Option<Together>,
    /// I/Os of its flow.
    flowed: u64,
}

impl Player {
    pub fn new(job: Arc<FioJob>, stream: FioStream, extents: Vec<Extent>, cost: Span) -> Player {
        Player {
            job,
            stream,
            extents,
            cost,
            phase: Phase::Waiting,
            began: Time::ZERO,
            held: None,
            steps: VecDeque::with_capacity(16),
            under_way: 0,
            together: None,
            flowed: 0,
        }
    }

    /// The same beside jobs that share this.
    pub fn beside(self, together: Option<Together>) -> Player {
        Player { together, ..self }
    }

    fn depth(&self) -> u32 {
        if self.job.direct { self.job.in_flight().max(1) } else { 1 }
    }

    fn io(&mut self, step: IoStep) {
        self.steps.push_back(Step::Io(step));
    }

    /// Waits until at most `at_most` I/Os are in flight.
    fn drain(&mut self, at_most: u32) {
        if self.under_way > at_most {
            self.io(IoStep::Await { at_most });
            self.under_way = at_most;
        }
    }

    /// Plans the next I/Os that belong together; `None` when the job is over.
    fn plan(&mut self, now: Time) -> Option<()> {
        let ends = self.job.runtime.map(|runtime| self.began + self.job.ramp_time + runtime);
        if ends.is_some_and(|end| now >= end) {
            return None;
        }
        if let Some(together) = &self.together {
            if together.has_ended(&self.job) {
                return None;
            }
            if let Some(pause) = self.job.flow.and_then(|flow| together.pause(flow, self.flowed)) {
                self.steps.push_back(Step::Sleep(pause));
                return Some(());
            }
        }
        let io = self.held.take().or_else(|| self.stream.next())?;
        let due = io.due.map_or(now, |due| self.began + due);
        if due > now {
            self.held = Some(io);
            // A job that waits for its rate has all of its I/Os before; one that replays a log takes them as they come.
            if self.job.replay.is_none() && !self.job.is_offloaded {
                self.drain(0);
            }
            let until = ends.map_or(due, |end| end.min(due));
            self.steps.push_back(Step::SleepUntil(until));
            return Some(());
        }
        match io.op {
            FioOp::Sync | FioOp::DataSync => self.sync(io.file),
            FioOp::Drain => self.drain(0),
            _ if self.job.direct || io.op == FioOp::Trim => self.direct(io, now),
            _ => self.cached(io),
        }
        Some(())
    }

    /// So many I/Os more go out.
    fn count(&mut self, ios: u64) {
        if let (Some(together), Some(flow)) = (&self.together, self.job.flow) {
            together.count(flow, ios);
            self.flowed += ios;
        }
    }

    /// Through the page cache.
    fn cached(&mut self, io: FioIo) {
        self.count(1);
        self.steps.push_back(Step::Compute(self.cost));
        let file = self.extents[io.file].file;
        let page = (io.offset / PAGE_BYTES) as u32;
        let pages = ((io.offset + io.bytes).div_ceil(PAGE_BYTES) - io.offset / PAGE_BYTES) as u32;
        match io.op {
            FioOp::Read => self.io(IoStep::Read { file, page, pages }),
            _ => self.io(IoStep::Write { file, page, pages }),
        }
        if io.op == FioOp::Write && self.job.durability != Durability::Later {
            self.io(IoStep::Sync { file });
        }
        self.pause(io.pause);
    }

    /// Past the page cache: this one and those that are submitted with it.
    fn direct(&mut self, first: FioIo, now: Time) {
        let room = self.depth() - self.under_way;
        let most = self.job.batch.clamp(1, room);
        let mut batch = vec![first];
        while (batch.len() as u32) < most && batch.last().is_some_and(|io| self.may_follow(io)) {
            let Some(io) = self.stream.next() else { break };
            let is_due = io.due.is_none_or(|due| self.began + due <= now);
            if !is_due || matches!(io.op, FioOp::Sync | FioOp::DataSync | FioOp::Drain) {
                self.held = Some(io);
                break;
            }
            batch.push(io);
        }
        let count = batch.len() as u32;
        self.count(count.into());
        self.steps.push_back(Step::Compute(self.cost * u64::from(count)));
        for io in &batch {
            self.submit(io);
        }
        self.under_way += count;
        let last = batch[batch.len() - 1];
        if last.op == FioOp::Write && self.job.durability != Durability::Later {
            self.flush();
        }
        if self.under_way >= self.depth() {
            self.drain(self.refill());
        }
        self.pause(last.pause);
    }

    /// True if another I/O may be submitted together with one.
    fn may_follow(&self, io: &FioIo) -> bool {
        io.pause.is_none() && !(io.op == FioOp::Write && self.job.durability != Durability::Later)
    }

    /// Number of I/Os in flight at which a full queue is refilled.
    fn refill(&self) -> u32 {
        let depth = self.depth();
        if self.job.depth_low < depth {
            return self.job.depth_low;
        }
        depth - self.job.batch_complete.0.clamp(1, depth)
    }

    fn submit(&mut self, io: &FioIo) {
        let op = match io.op {
            FioOp::Read => Operation::Read,
            FioOp::Trim => Operation::Discard,
            _ => Operation::Write,
        };
        let first = self.extents[io.file].start + io.offset;
        let sector = first / SECTOR_BYTES;
        let sectors = ((first + io.bytes).div_ceil(SECTOR_BYTES) - sector).max(1) as u32;
        // Direct I/O is waited for; the kernel marks it like that.
        self.io(IoStep::Submit { volume: VolumeId(0), op, sector, sectors, sync: true });
    }

    /// Flushes the device's cache.
    fn flush(&mut self) {
        self.drain(0);
        self.io(IoStep::Submit { volume: VolumeId(0), op: Operation::Flush, sector: 0, sectors: 0, sync: true });
        self.io(IoStep::Await { at_most: 0 });
    }

    fn sync(&mut self, file: usize) {
        self.count(1);
        self.steps.push_back(Step::Compute(self.cost));
        if self.job.direct {
            self.flush();
        } else {
            self.io(IoStep::Sync { file: self.extents[file].file });
        }
    }

    fn pause(&mut self, pause: Option<Pause>) {
        let Some(pause) = pause else { return };
        self.drain(0);
        self.steps.extend([Step::Compute(pause.spin), Step::Sleep(pause.sleep)]);
    }

    /// Runs the parts before the first I/O and after the last.
    fn change(&mut self, now: Time) {
        match self.phase {
            Phase::Waiting => {
                self.phase = Phase::Delayed;
                if self.job.wave > 0 {
                    self.steps.push_back(Step::Wait(begins(self.job.wave)));
                }
                self.steps.push_back(Step::Sleep(self.job.start_delay));
            }
            Phase::Delayed => (self.phase, self.began) = (Phase::Running, now),
            Phase::Running => {
                self.phase = Phase::Ending;
                if let Some(together) = &self.together {
                    together.end(&self.job, self.flowed);
                }
                self.io(IoStep::Await { at_most: 0 });
            }
            Phase::Ending => {
                self.phase = Phase::Ended;
                self.steps.push_back(Step::Wake(ended(self.job.wave)));
            }
            Phase::Ended => self.steps.push_back(Step::Exit),
        }
    }
}

impl Behaviour for Player {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return step;
            }
            if self.phase != Phase::Running || self.plan(cx.now).is_none() {
                self.change(cx.now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
