//! Round robin: one queue for the whole machine with a fixed time slice.
//!
//! Source: textbook. Classes and nice are ignored; a task that waits gets a whole time slice when it returns.
//! Weakness: interactive tasks wait for the time slices of all others.

use crate::parts::shared_queue::SharedQueue;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Reason, Registered, Rejected, Resched,
    Seed, Span, Stop, TaskId, Why,
};

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time after which a task goes to the tail of the queue.
        timeslice: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
    }
}

/// One run queue with a time slice.
#[derive(Debug)]
pub struct RoundRobin {
    settings: Settings,
    queue: SharedQueue,
}

impl Registered for RoundRobin {
    const ABOUT: About = About {
        name: "rr",
        summary: "Round robin over one queue with a fixed timeslice.",
        source: "textbook; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        RoundRobin { settings, queue: SharedQueue::new(machine) }
    }
}

impl CpuPolicy for RoundRobin {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.queue.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        self.queue.push(cx, cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.take_first(cx, cpu)?;
        Some(Pick { task, timeslice: Some(self.settings.timeslice) })
    }

    fn likely_next(&self, _: CpuId, next: &mut [TaskId]) -> usize {
        self.queue.first(next)
    }

    fn why(&self, _: &Context, _: CpuId, question: Why) -> Option<Reason> {
        question.ahead.map(|_| if question.is_pick { Reason::First } else { Reason::SliceNotOver })
    }

    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}
