//! Hand-written event streams for tests.

use super::{Checked, Ending};
use crate::Checkers;
use crate::subject::Subject;
use goodness_core::{CpuId, Event, Observer, Off, Overhead, Span, TaskId, Time, WakeSource};

/// Feeds a checker one event at a time.
pub(super) struct Stream(Checkers);

impl Stream {
    pub fn new(cpus: usize, subjects: &[Subject]) -> Stream {
        Stream(Checkers::new(cpus, subjects))
    }

    pub fn of(checkers: Checkers) -> Stream {
        Stream(checkers)
    }

    pub fn event(mut self, at: u64, event: Event) -> Self {
        self.0.observe(Time(at), &event);
        self
    }

    pub fn wake(self, at: u64, task: u32, cpu: u32) -> Self {
        let (task, cpu) = (TaskId(task), CpuId(cpu));
        self.event(at, Event::Wakeup { task, waker: None, cpu, from: WakeSource::Interrupt })
    }

    pub fn start(self, at: u64, cpu: u32, next: u32) -> Self {
        let (cpu, next) = (CpuId(cpu), Some(TaskId(next)));
        self.event(at, Event::Switch { cpu, prev: None, off: Off::Sleeping, next })
    }

    pub fn switch(self, at: u64, cpu: u32, prev: u32, off: Off, next: u32) -> Self {
        let (cpu, prev, next) = (CpuId(cpu), Some(TaskId(prev)), Some(TaskId(next)));
        self.event(at, Event::Switch { cpu, prev, off, next })
    }

    pub fn stop(self, at: u64, cpu: u32, prev: u32, off: Off) -> Self {
        self.event(at, Event::Switch { cpu: CpuId(cpu), prev: Some(TaskId(prev)), off, next: None })
    }

    pub fn migrate(self, at: u64, task: u32, from: u32, to: u32) -> Self {
        self.event(at, Event::Migrate { task: TaskId(task), from: CpuId(from), to: CpuId(to) })
    }

    pub fn overhead(self, at: u64, cpu: u32, span: u64) -> Self {
        self.event(at, Event::Overhead { cpu: CpuId(cpu), kind: Overhead::Search, span: Span(span) })
    }

    pub fn exit(self, at: u64, task: u32) -> Self {
        self.event(at, Event::Exit { task: TaskId(task) })
    }

    pub fn end(self, at: u64) -> Checked {
        self.0.finish(Time(at), Ending::Horizon)
    }

    pub fn quiet(self, at: u64) -> Checked {
        self.0.finish(Time(at), Ending::Quiet)
    }
}
