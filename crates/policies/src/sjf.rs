//! Shortest job first, also called shortest process next: of the waiting tasks the one with the shortest burst runs,
//! until it waits or ends.
//!
//! Idea: with all lengths known, no other order without preemption has a shorter mean waiting time.
//!
//! Source: Silberschatz, Galvin and Gagne, "Operating System Concepts", 10th edition, section 5.3.2. Lengths are told
//! by the work or predicted: `parts/bursts.rs`. Equal lengths run in order of arrival.
//! Inferred: one queue for the whole machine. Classes and nice are ignored.
//! Weakness: a stream of short tasks starves the long ones, and a long burst that has begun delays all.

use crate::parts::bursts::Bursts;
use crate::parts::idle_cpus::IdleCpus;
use crate::parts::ordered::{Ordered, Places};
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Reason, Registered, Rejected, Resched,
    Seed, Span, Stop, TaskId, Why,
};

goodness_core::tunables! {
    pub struct Settings {
        /// Predicted length of a task's first burst, where the work tells none.
        guess: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
        /// Weight of the last burst in the prediction of the next, in percent.
        alpha: u64 = 50, in 0 => 100;
    }
}

/// One queue in order of length.
#[derive(Debug)]
pub struct Sjf {
    bursts: Bursts,
    places: Places,
    queue: Ordered,
    idle: IdleCpus,
}

impl Registered for Sjf {
    const ABOUT: About = About {
        name: "sjf",
        summary: "Shortest job first, without preemption; lengths are told by the work or predicted.",
        source: "Silberschatz, Galvin and Gagne, 10th edition, section 5.3.2",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Sjf {
            bursts: Bursts::new(settings.guess, settings.alpha),
            places: Places::default(),
            queue: Ordered::default(),
            idle: IdleCpus::all(machine),
        }
    }
}

impl CpuPolicy for Sjf {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.bursts.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        let length = self.bursts.length(cx, task);
        self.queue.insert(&mut self.places, cx, task, length.0 as i64);
        self.idle.claim(cx, cpu, task)
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.places, cx, task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.idle.set(cpu, first.is_none());
        first.map(|(task, _)| Pick { task, timeslice: None })
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let [own, other] = [ahead?, waiting].map(|task| self.bursts.length(cx, task));
        let rule = Bursts::rule(own, other);
        if is_pick || own < other { rule } else { Some(Reason::RunsOn) }
    }

    fn charge(&mut self, _: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.bursts.charge(task, ran, why);
        Resched::Keep
    }
}
