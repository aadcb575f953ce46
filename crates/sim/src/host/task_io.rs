//! The I/O of one task: what it has in flight, and what it waits for.

use goodness_core::{CpuId, FileId, Io, Step, Time, VolumeId};
use goodness_memory::ReadAhead;
use std::collections::VecDeque;

/// Storage steps of a task at one instant after which it counts as stuck, even if it waited in between.
pub const STEPS_MAX: u32 = 1_000_000;

/// The I/O that a task has in flight and waits for.
#[derive(Default)]
pub struct TaskIo {
    /// I/Os submitted and not completed.
    pub under_way: u32,
    /// I/Os that wait for a slot of a request pool.
    pub unadmitted: u32,
    /// The task waits until at most this many I/Os are in flight.
    pub awaits: Option<u32>,
    /// Transfers and flushes it waits for.
    pub transfers: u32,
    /// True while it waits, as one of these, until less memory is dirty.
    pub is_throttled: bool,
    /// File to sync. The device is flushed once the transfers are done.
    pub sync: Option<Syncing>,
    /// The step that was put off because the task waits for a slot, or works for its I/O first.
    pub deferred: Option<Step>,
    /// I/Os whose submission the CPU works at; they reach the block layer when it has.
    pub submitting: Vec<(VolumeId, Io)>,
    /// Volumes used since the task last waited. Their plugged I/O is submitted when it waits.
    pub volumes: Vec<VolumeId>,
    /// Read-ahead of the files it has read.
    ahead: Vec<(FileId, ReadAhead)>,
    /// I/Os that are requests, where the work has such.
    pub taken: Taken,
    /// True while its CPU works for its I/O before it blocks.
    pub will_wait: bool,
    /// True while it is blocked until all this allows it to go on.
    pub is_blocked: bool,
    /// Time of its last storage step, and the number of such steps at that time.
    at: Time,
    steps: u32,
}

/// I/Os of a task that are requests: in flight, done but not taken yet, and how many may stay so.
#[derive(Default)]
pub struct Taken {
    /// Submission times, by number, `NEVER` of flushes, which are no requests; and the numbers that are free.
    submitted: Vec<Time>,
    free: Vec<u32>,
    /// Submission times of those that are done, in the order of completion.
    done: VecDeque<Time>,
    /// Number that may stay untaken when the task goes on.
    at_most: Option<u32>,
}

impl Taken {
    /// A number for a new I/O.
    pub fn number(&mut self) -> u32 {
        let number = self.free.pop().unwrap_or(self.submitted.len() as u32);
        if number as usize == self.submitted.len() {
            self.submitted.push(Time::NEVER);
        }
        self.submitted[number as usize] = Time::NEVER;
        number
    }

    pub fn submit(&mut self, number: u32, now: Time) {
        self.submitted[number as usize] = now;
    }

    /// The I/O of that number waited for a slot of the block layer, within its submission.
    pub fn admit(&mut self, number: u32, now: Time) {
        if let Some(submitted) = self.submitted.get_mut(number as usize).filter(|at| **at != Time::NEVER) {
            *submitted = now;
        }
    }

    pub fn complete(&mut self, number: u32) {
        let submitted = self.submitted[number as usize];
        if submitted != Time::NEVER {
            self.done.push_back(submitted);
        }
        self.free.push(number);
    }

    /// The task takes I/Os when it goes on, until at most so many are left.
    pub fn asks(&mut self, at_most: u32) {
        self.at_most = Some(at_most);
    }

    /// Takes the next, now that the task goes on with `under_way` in flight. Returns when it was submitted.
    pub fn take(&mut self, under_way: u32) -> Option<Time> {
        let at_most = self.at_most?;
        if under_way as usize + self.done.len() <= at_most as usize {
            self.at_most = None;
            return None;
        }
        self.done.pop_front()
    }
}

/// A sync in flight.
pub struct Syncing {
    pub file: FileId,
    pub cpu: CpuId,
    /// True if the page cache must be asked once more.
    pub again: bool,
}

impl TaskIo {
    /// Its read-ahead of `file`; a task reads few files.
    pub fn window(&mut self, file: FileId) -> &mut ReadAhead {
        let known = self.ahead.iter().position(|(known, _)| *known == file);
        let index = known.unwrap_or_else(|| {
            self.ahead.push((file, ReadAhead::default()));
            self.ahead.len() - 1
        });
        &mut self.ahead[index].1
    }

    /// Counts a step. Returns whether there were too many at one instant.
    pub fn is_stuck(&mut self, now: Time) -> bool {
        self.steps = if self.at == now { self.steps + 1 } else { 1 };
        self.at = now;
        self.steps > STEPS_MAX
    }

    pub fn uses(&mut self, volume: VolumeId) {
        if !self.volumes.contains(&volume) {
            self.volumes.push(volume);
        }
    }
}
