//! The run queues of a run just before one of its decisions, and the slices around it.

use super::decisions::{Decision, Decisions};
use super::disk_queues::DiskQueues;
use goodness_core::{CpuId, Event, Observer, Off, PerTask, TaskId, Time};
use std::collections::VecDeque;

/// Slices of each CPU that are kept before the moment, and after it. A choice: as many as a picture shows.
const BEFORE: usize = 8;
const AFTER: usize = 24;

/// The moment of a run to look at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moment {
    /// Just before the decision of this number.
    Before(u64),
    /// After all that happened until this time.
    After(Time),
}

/// Follows who runs and who waits where, until a moment.
pub(super) struct Scene {
    moment: Moment,
    decisions: Decisions,
    number: u64,
    is_over: bool,
    running: Vec<Option<TaskId>>,
    slices: Slices,
    /// Of each waiting task its CPU, since when, and its place in the order of arrival.
    waiting: PerTask<Option<Waiting>>,
    arrivals: u64,
    disks: DiskQueues,
}

/// Slices around the moment.
struct Slices {
    /// The running task of each CPU, and since when.
    open: Vec<Option<(TaskId, Time)>>,
    kept: VecDeque<(TaskId, CpuId, Time, Time)>,
    /// Slices kept since the moment.
    after: usize,
}

impl Slices {
    fn switch(&mut self, at: Time, cpu: CpuId, next: Option<TaskId>, is_after: bool) {
        let cpus = self.open.len();
        if self.after >= AFTER * cpus {
            return;
        }
        let ended = std::mem::replace(&mut self.open[cpu.index()], next.map(|task| (task, at)));
        let Some((task, since)) = ended else { return };
        self.kept.push_back((task, cpu, since, at));
        self.after += usize::from(is_after);
        if !is_after && self.kept.len() > BEFORE * cpus {
            self.kept.pop_front();
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    cpu: CpuId,
    since: Time,
    arrival: u64,
}

impl Scene {
    pub(super) fn new(cpus: usize, moment: Moment) -> Scene {
        Scene {
            moment,
            decisions: Decisions::default(),
            number: 0,
            is_over: false,
            running: vec![None; cpus],
            slices: Slices { open: vec![None; cpus], kept: VecDeque::new(), after: 0 },
            waiting: PerTask::default(),
            arrivals: 0,
            disks: DiskQueues::default(),
        }
    }

    /// The slices around the moment, by end; of the last ones on each CPU the part until then.
    pub(super) fn slices(&self) -> impl Iterator<Item = (TaskId, CpuId, Time, Time)> {
        let end = self.slices.kept.back().map_or(Time::ZERO, |it| it.3);
        let open = self.slices.open.iter().enumerate().filter_map(move |(cpu, it)| {
            it.filter(|(_, since)| *since < end).map(|(task, since)| (task, CpuId(cpu as u32), since, end))
        });
        self.slices.kept.iter().copied().chain(open)
    }

    /// The task that ran on `cpu`.
    pub(super) fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.running[cpu.index()]
    }

    /// The CPU on which `task` waited.
    pub(super) fn queue_of(&self, task: TaskId) -> Option<CpuId> {
        self.waiting.iter().nth(task.index()).and_then(|(_, it)| it.map(|it| it.cpu))
    }

    /// The tasks that waited on `cpu`, with the time since when, in order of arrival.
    pub(super) fn queue(&self, cpu: CpuId) -> Vec<(TaskId, Time)> {
        let waiting = self.waiting.iter().filter_map(|(task, it)| Some((task, (*it)?)));
        let mut queue: Vec<(TaskId, Waiting)> = waiting.filter(|(_, it)| it.cpu == cpu).collect();
        queue.sort_by_key(|(_, it)| it.arrival);
        queue.into_iter().map(|(task, it)| (task, it.since)).collect()
    }

    /// The requests that waited for disks.
    pub(super) fn disks(&self) -> &DiskQueues {
        &self.disks
    }

    fn is_at(&self, at: Time, decision: Option<&Decision>) -> bool {
        match self.moment {
            Moment::Before(number) => decision.is_some() && self.number == number,
            Moment::After(time) => at > time,
        }
    }

    fn wait(&mut self, task: TaskId, cpu: CpuId, since: Time) {
        self.arrivals += 1;
        *self.waiting.admit(task) = Some(Waiting { cpu, since, arrival: self.arrivals });
    }

    fn apply(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Wakeup { task, cpu, .. } => self.wait(task, cpu, at),
            Event::Migrate { task, to, .. } => {
                if let Some(Waiting { since, .. }) = *self.waiting.admit(task) {
                    self.wait(task, to, since);
                }
            }
            Event::Switch { cpu, prev, off, next } => {
                if let Some(task) = prev.filter(|_| off.is_runnable()) {
                    self.wait(task, cpu, at);
                }
                self.running[cpu.index()] = next;
                if let Some(task) = next {
                    *self.waiting.admit(task) = None;
                }
            }
            Event::Io(io) => self.disks.apply(at, &io),
            Event::Fork { .. } | Event::Overhead { .. } | Event::Exit { .. } => {}
            Event::Served { .. } | Event::Contended { .. } => {}
        }
    }
}

impl Observer for Scene {
    fn observe(&mut self, at: Time, event: &Event) {
        if let Event::Switch { cpu, next, .. } = *event {
            self.slices.switch(at, cpu, next, self.is_over);
        }
        if self.is_over {
            return;
        }
        let decision = self.decisions.of(at, event);
        self.is_over = self.is_at(at, decision.as_ref());
        if self.is_over {
            return;
        }
        self.number += u64::from(decision.is_some());
        self.apply(at, event);
    }
}

/// The word for the reason for which a task left a CPU, in a sentence about it.
pub(super) fn left(off: Off) -> &'static str {
    match off {
        Off::Preempted => "is preempted",
        Off::Yielded => "yields",
        Off::Sleeping | Off::Uninterruptible | Off::DirtyMemory => "sleeps",
        Off::Exited => "ends",
    }
}
