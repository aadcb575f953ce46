//! Shortest remaining time first: the task with the least left of its burst runs, and a shorter arrival preempts it.
//!
//! Idea: with all lengths known, no other order has a shorter mean waiting time on one CPU.
//!
//! Source: Silberschatz, Galvin and Gagne, "Operating System Concepts", 10th edition, section 5.3.2 (preemptive SJF);
//! Stallings, "Operating Systems: Internals and Design Principles", 9th edition, section 9.2. Lengths are told by the
//! work or predicted: `parts/bursts.rs`. On a tie the running task stays.
//! Inferred: one queue for the whole machine; an arrival preempts the CPU whose task would end last. Classes and nice
//! are ignored. A burst that is longer than its prediction has nothing left, and is not preempted.
//! Weakness: a stream of short tasks starves the long ones.

use crate::parts::bursts::Bursts;
use crate::parts::ordered::{Ordered, Places};
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Reason, Registered, Rejected, Resched,
    Seed, Span, Stop, TaskId, Time, Why,
};
use std::cmp::Reverse;

pub use crate::sjf::Settings;

/// One queue in order of remaining time.
#[derive(Debug)]
pub struct Srtf {
    bursts: Bursts,
    places: Places,
    queue: Ordered,
    /// Each CPU's task, and when it would end if it ran on.
    running: RunningCpus<Reverse<Time>>,
}

impl Registered for Srtf {
    const ABOUT: About = About {
        name: "srtf",
        summary: "Shortest remaining time first: shortest job first with preemption.",
        source: "Silberschatz, Galvin and Gagne, 10th edition, section 5.3.2; Stallings, 9th edition, section 9.2",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Srtf {
            bursts: Bursts::new(settings.guess, settings.alpha),
            places: Places::default(),
            queue: Ordered::default(),
            running: RunningCpus::all(machine),
        }
    }
}

impl CpuPolicy for Srtf {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.bursts.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        let remaining = self.bursts.remaining(cx, task);
        self.queue.insert(&mut self.places, cx, task, remaining.0 as i64);
        self.running.claim(cx, cpu, task, Reverse(cx.now + remaining))
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.places, cx, task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.running.set(cpu, first.map(|(task, left)| (task, Reverse(cx.now + Span(left as u64)))));
        first.map(|(task, _)| Pick { task, timeslice: None })
    }

    fn why(&self, cx: &Context, cpu: CpuId, Why { waiting, .. }: Why) -> Option<Reason> {
        let (_, Reverse(end)) = self.running.on(cpu)?;
        Bursts::rule(end.since(cx.now.min(end)), self.bursts.remaining(cx, waiting))
    }

    fn charge(&mut self, _: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.bursts.charge(task, ran, why);
        Resched::Keep
    }
}
