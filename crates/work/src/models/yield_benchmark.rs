//! Gregory Travis's benchmark of 1998: processes or threads that only yield, or a parent that creates them.

use super::parts::*;
use goodness_core::BehaviourId;

pub const ABOUT: About = About {
    name: "yield-benchmark",
    summary: "Processes or threads that only call sched_yield, or a parent that creates them one by one.",
    source: "G. Travis, 8 March 1998 (Linux Weekly News, 12 March 1998); Linux Journal 57, January 1999. That other \
             processes sleep meanwhile is general knowledge; how many is a parameter.",
};

goodness_core::choices! {
    /// Timed operation: yields, or the creation of tasks that exit at once.
    pub enum Timed { Yield = "yield", Create = "create" }
}

goodness_core::choices! {
    /// Kind of context: processes with an address space each, or threads sharing one.
    pub enum Contexts { Processes = "processes", Threads = "threads" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Number of contexts.
        tasks: u64 = 40, in 1 => 100_000;
        /// Processes or threads.
        contexts: Contexts = Contexts::Processes;
        /// Yields, or creations.
        timed: Timed = Timed::Yield;
        /// Other processes, always asleep; a recalculation visits them, too.
        others: u64 = 40, in 0 => 100_000;
        /// CPU time of a yield itself, besides the switch that follows.
        call: Span = Span::ZERO, in Span::ZERO => Span::from_s(1);
        /// CPU time the parent spends on creating one context.
        creation: Span = Span::from_us(1000), in Span::ZERO => Span::from_s(1);
        /// Duration of the run.
        duration: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let never = plan.channel(ChannelKind::Semaphore);
    add(&mut plan, "other", settings.others, &forever(vec![Op::Do(Step::Wait(never))]));
    let first = plan.tasks.len();
    match settings.timed {
        Timed::Yield => {
            let call = (settings.call > Span::ZERO).then_some(Op::Do(Step::Compute(settings.call)));
            let ops = call.into_iter().chain([Op::Do(Step::Yield)]).collect();
            add(&mut plan, "yielder", settings.tasks, &forever(ops));
        }
        Timed::Create => create(&mut plan, settings),
    }
    if settings.contexts == Contexts::Threads {
        plan.tasks[first..].iter_mut().for_each(|task| task.task.address_space = Some(first as u32));
    }
    plan
}

/// A parent that creates all other tasks, which exit at once.
fn create(plan: &mut Plan, settings: &Settings) {
    let first = BehaviourId(plan.tasks.len() as u32 + 1);
    let mut script = Script::default();
    let counter = script.counter();
    script.ops = vec![
        Op::Do(Step::Compute(settings.creation)),
        Op::ForkNext { counter, first, count: settings.tasks as u32 },
    ];
    script.repeat_from(0, Some(settings.tasks));
    add(plan, "parent", 1, &Arc::new(script));
    let children = plan.tasks.len();
    add(plan, "child", settings.tasks, &Arc::new(Script::default()));
    plan.tasks[children..].iter_mut().for_each(|task| task.start = Start::Forked);
}
