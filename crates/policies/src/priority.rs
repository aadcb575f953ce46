//! Priority scheduling with ageing: the most urgent task runs, and a task becomes more urgent the longer it waits.
//!
//! Idea: a task of number p that has waited for w counts as p − w / age. All waiting tasks age alike, so the order of
//! two of them never changes: it is that of p · age + the time since when they wait, which is the key of the queue.
//!
//! Source: Silberschatz, Galvin and Gagne, "Operating System Concepts", 10th edition, section 5.3.4: ageing by one for
//! each second of waiting; tasks of equal priority in turns.
//! Numbers: nice from −20 to 19; real-time priorities before all of them, SCHED_IDLE after. Small is urgent.
//! Inferred: ageing is continuous where the textbook counts whole steps. A task keeps its age while it runs and when an
//! arrival preempts it; it loses it when its timeslice ends. One queue for the whole machine; an arrival preempts the
//! CPU whose task comes last.
//! Weakness: shares follow no rule: of two tasks that never wait, the less urgent one gets one timeslice each time it
//! has aged enough.

use crate::parts::ordered::{Ordered, Places};
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Nice, PerTask, Pick, Reason, Registered,
    Rejected, Resched, Seed, Span, Stop, Task, TaskId, Why,
};
use std::cmp::{Ordering, Reverse};

goodness_core::tunables! {
    pub struct Settings {
        /// Time of waiting that is worth one number; 0 for no ageing.
        age: Span = Span::from_s(1), in Span::ZERO => Span::from_s(1_000);
        /// CPU time after which a task waits anew; 0 for none.
        timeslice: Span = Span::from_ms(10), in Span::ZERO => Span::from_s(10);
        /// True if a more urgent arrival preempts.
        preemptive: bool = true;
    }
}

/// One queue in order of urgency.
#[derive(Debug)]
pub struct Priority {
    settings: Settings,
    /// Key of each task while it is runnable; the least runs.
    keys: PerTask<i64>,
    places: Places,
    queue: Ordered,
    running: RunningCpus<Reverse<i64>>,
}

impl Registered for Priority {
    const ABOUT: About = About {
        name: "priority",
        summary: "Priority scheduling with ageing: the most urgent task first, and waiting makes urgent.",
        source: "Silberschatz, Galvin and Gagne, 10th edition, section 5.3.4",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Priority {
            settings,
            keys: PerTask::default(),
            places: Places::default(),
            queue: Ordered::default(),
            running: RunningCpus::all(machine),
        }
    }
}

impl CpuPolicy for Priority {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.keys.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let keeps_age = matches!(why, Enqueue::Preempted | Enqueue::Migrated);
        if !keeps_age {
            self.keys[task] = self.key(cx, task);
        }
        let key = self.keys[task];
        self.queue.insert_at(&mut self.places, cx, task, key, keeps_age);
        match self.settings.preemptive {
            true => self.running.claim(cx, cpu, task, Reverse(key)),
            false => self.running.claim_idle(cx, cpu, task),
        }
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.places, cx, task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.running.set(cpu, first.map(|(task, key)| (task, Reverse(key))));
        let timeslice = Some(self.settings.timeslice).filter(|it| *it > Span::ZERO);
        first.map(|(task, _)| Pick { task, timeslice })
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let ahead = ahead?;
        if self.keys[ahead] > self.keys[waiting] {
            let runs_on = if self.settings.timeslice > Span::ZERO { Reason::SliceNotOver } else { Reason::RunsOn };
            return (!is_pick && !self.settings.preemptive).then_some(runs_on);
        }
        let [own, other] = [ahead, waiting].map(|task| number(&cx.tasks[task]));
        Some(match own.cmp(&other) {
            Ordering::Less => Reason::Level { ahead: shown(own), waiting: shown(other) },
            Ordering::Equal => Reason::First,
            Ordering::Greater => Reason::Aged,
        })
    }

    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}

impl Priority {
    /// The key of a task that begins to wait now.
    fn key(&self, cx: &Context, task: TaskId) -> i64 {
        let number = number(&cx.tasks[task]);
        match self.settings.age {
            Span::ZERO => number,
            age => number * age.0 as i64 + cx.now.0 as i64,
        }
    }
}

/// A number as nice values are written.
fn shown(number: i64) -> i32 {
    number as i32 - Nice::ZERO.index() as i32
}

/// Small is urgent.
fn number(task: &Task) -> i64 {
    match task.class {
        Class::Fifo | Class::RoundRobin => -i64::from(task.rt_priority),
        Class::Idle => 40,
        Class::Normal | Class::Batch | Class::Iso | Class::Deadline => task.nice.index() as i64,
    }
}
