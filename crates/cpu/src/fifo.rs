//! First come, first served: one queue for the whole machine, no preemption, no priorities.
//!
//! Source: textbook. A running task keeps its CPU until it waits, yields or ends. Classes and nice are
//! ignored. Weakness: one long burst delays everyone behind it (convoy).

use crate::idle_cpus::IdleCpus;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Registered, Rejected, Resched, Seed, Span,
    Stop, TaskId,
};
use goodness_queues::{Links, List};

goodness_core::tunables! {
    pub struct Settings {}
}

/// One queue, served in order of arrival.
#[derive(Debug)]
pub struct Fifo {
    links: Links,
    queue: List,
    idle: IdleCpus,
}

impl Registered for Fifo {
    const ABOUT: About = About {
        name: "fifo",
        summary: "First come, first served from one queue, without preemption.",
        source: "textbook; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, _: Settings, _: Seed) -> Self {
        Fifo { links: Links::default(), queue: List::default(), idle: IdleCpus::all(machine) }
    }
}

/// The first task of a machine-wide queue that may run on `cpu`, taken off the queue.
#[inline]
pub(crate) fn take_first_allowed(queue: &mut List, links: &mut Links, cx: &Context, cpu: CpuId) -> Option<TaskId> {
    let first = TaskId(queue.front()?);
    if !cx.tasks[first].affinity.contains(cpu) {
        return search_allowed(queue, links, cx, cpu);
    }
    cx.examined(goodness_core::Effort::Search, 1);
    queue.remove(links, first.0);
    Some(first)
}

/// As `take_first_allowed`, looking at one task after the other.
#[cold]
fn search_allowed(queue: &mut List, links: &mut Links, cx: &Context, cpu: CpuId) -> Option<TaskId> {
    let mut looked_at = 0;
    let found = queue.iter(links).map(TaskId).find(|task| {
        looked_at += 1;
        cx.tasks[*task].affinity.contains(cpu)
    });
    cx.examined(goodness_core::Effort::Search, looked_at);
    if let Some(task) = found {
        queue.remove(links, task.0);
    }
    found
}

impl CpuPolicy for Fifo {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        self.queue.push_back(&mut self.links, task.0);
        self.idle.claim(cx, cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.links, task.0);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let found = take_first_allowed(&mut self.queue, &mut self.links, cx, cpu);
        self.idle.set(cpu, found.is_none());
        let task = found?;
        Some(Pick { task, timeslice: None })
    }

    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}
