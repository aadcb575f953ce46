//! First come, first served: one queue for the whole machine, no preemption, no priorities.
//!
//! Source: textbook. A running task keeps its CPU until it waits, yields or ends. Classes and nice are ignored.
//! Weakness: one long burst delays everyone behind it (convoy).

use crate::parts::shared_queue::SharedQueue;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Reason, Registered, Rejected, Resched,
    Seed, Span, Stop, TaskId, Why,
};

goodness_core::tunables! {
    pub struct Settings {}
}

/// One FIFO queue.
#[derive(Debug)]
pub struct Fifo(SharedQueue);

impl Registered for Fifo {
    const ABOUT: About = About {
        name: "fifo",
        summary: "First come, first served from one queue, without preemption.",
        source: "textbook; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, _: Settings, _: Seed) -> Self {
        Fifo(SharedQueue::new(machine))
    }
}

impl CpuPolicy for Fifo {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.0.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        self.0.push(cx, cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.0.remove(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let task = self.0.take_first(cx, cpu)?;
        Some(Pick { task, timeslice: None })
    }

    fn likely_next(&self, _: CpuId, next: &mut [TaskId]) -> usize {
        self.0.first(next)
    }

    fn why(&self, _: &Context, _: CpuId, question: Why) -> Option<Reason> {
        question.ahead.map(|_| Reason::First)
    }

    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}
