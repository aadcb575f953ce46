//! Scripts: programmes made of steps, loops and timers, shared by all replications and run without allocation.
//!
//! A [`Plan`] is a workload whose behaviours are all scripts; experiment files, rt-app files and the built-in
//! models compile to it.

use goodness_core::{
    Behaviour, BehaviourId, Channel, ChannelKind, LockId, Span, Start, Step, StepContext, Task, TaskSpec, Time,
    Workload,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One instruction of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Do this step.
    Do(Step),
    /// Use CPU time drawn evenly from `low..=high`.
    ComputeBetween(Span, Span),
    /// Sleep for a time drawn evenly from `low..=high`.
    SleepBetween(Span, Span),
    /// Go back to instruction `to` until it was passed `times` times; `None` for ever.
    Repeat {
        /// Which of the script's counters counts.
        counter: u16,
        /// Passes through the body in all.
        times: Option<u64>,
        /// First instruction of the body.
        to: u32,
    },
    /// Sleep until the timer's next period. The first one ends a period after the task's origin.
    Timer {
        /// Which of the script's timers.
        timer: Timer,
        /// From one expiry to the next.
        period: Span,
        /// What an overrun does to the expiries that follow.
        overrun: Overrun,
    },
    /// Spin until this much time has passed, whether the task was running or not.
    Spin(Span),
    /// Wait on a condition with its lock, which is taken for the purpose if the task does not hold it.
    WaitWith {
        /// The condition.
        channel: Channel,
        /// Its lock.
        lock: LockId,
        /// Wake one waiter of the condition first.
        signal: bool,
    },
    /// Create the next of `count` tasks that begin at `first`; nothing when they have all been created.
    ForkNext {
        /// Which of the script's counters counts.
        counter: u16,
        /// The first of them.
        first: BehaviourId,
        /// How many there are.
        count: u32,
    },
    /// Remember now as the time at which a request was sent.
    Begin,
    /// Report the request sent at the last [`Op::Begin`] as served.
    Served,
}

/// Where a periodic timer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// One for each task.
    Own(u16),
    /// One for all tasks of the plan.
    Shared(u16),
}

/// What happens to a periodic timer that has passed its expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// The grid stays where it is.
    KeepsGrid,
    /// The next period begins now.
    RestartsNow,
}

/// Spinning checks the clock after this much CPU time. rt-app does likewise between two passes of its load;
/// the length is our choice and bounds how far a preempted spin overshoots.
const SPIN: Span = Span::from_us(32);

/// A programme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The instructions; after the last one the task exits.
    pub ops: Vec<Op>,
    /// How many counters they use.
    pub counters: u16,
    /// How many timers of its own a task has.
    pub timers: u16,
    /// When the first period of the timers begins; `None`: when the task runs for the first time.
    pub origin: Option<Time>,
}

impl Script {
    /// A fresh counter.
    pub fn counter(&mut self) -> u16 {
        self.counters += 1;
        self.counters - 1
    }

    /// Repeats the instructions from `to` on, `times` times in all (`None`: for ever). An empty body is left alone.
    pub fn repeat_from(&mut self, to: usize, times: Option<u64>) {
        if self.ops.len() > to && times != Some(1) {
            let counter = self.counter();
            self.ops.push(Op::Repeat { counter, times, to: to as u32 });
        }
    }
}

/// A task of a [`Plan`].
#[derive(Clone, Debug)]
pub struct TaskPlan {
    /// Name for people.
    pub name: String,
    /// When it begins.
    pub start: Start,
    /// Class, nice, affinity.
    pub task: Task,
    /// What it does.
    pub script: Arc<Script>,
}

/// A workload made of scripts.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The tasks.
    pub tasks: Vec<TaskPlan>,
    /// The kind of each channel.
    pub channels: Vec<ChannelKind>,
    /// How many locks there are.
    pub locks: u32,
    /// How many timers the tasks share.
    pub shared_timers: u16,
    /// When the run ends at the latest.
    pub horizon: Option<Time>,
    /// Measurements begin here.
    pub warmup: Span,
    /// By how much timers outside the real-time classes may be late.
    pub timer_slack: Span,
}

impl Plan {
    /// A fresh channel.
    pub fn channel(&mut self, kind: ChannelKind) -> Channel {
        self.channels.push(kind);
        Channel(self.channels.len() as u32 - 1)
    }

    /// A fresh lock.
    pub fn lock(&mut self) -> LockId {
        self.locks += 1;
        LockId(self.locks - 1)
    }

    /// The workload, ready to run.
    #[must_use]
    pub fn workload(&self) -> Workload {
        let shared: Arc<[AtomicU64]> = (0..self.shared_timers).map(|_| AtomicU64::new(UNSET)).collect();
        let spec = |plan: &TaskPlan| TaskSpec {
            name: plan.name.clone(),
            start: plan.start,
            task: plan.task.clone(),
            behaviour: Box::new(Interpreter::new(Arc::clone(&plan.script), Arc::clone(&shared))),
            judged: true,
        };
        Workload {
            tasks: self.tasks.iter().map(spec).collect(),
            channels: self.channels.clone(),
            locks: self.locks,
            horizon: self.horizon,
            warmup: self.warmup,
            timer_slack: self.timer_slack,
        }
    }
}

/// A shared timer that nobody has used yet.
const UNSET: u64 = u64::MAX;

/// Runs a script.
struct Interpreter {
    script: Arc<Script>,
    at: usize,
    /// Progress within an instruction that takes several steps.
    stage: u8,
    counters: Box<[u64]>,
    timers: Box<[Option<Time>]>,
    shared: Arc<[AtomicU64]>,
    held: Vec<LockId>,
    origin: Option<Time>,
    spin_until: Option<Time>,
    begun: Time,
}

impl Interpreter {
    fn new(script: Arc<Script>, shared: Arc<[AtomicU64]>) -> Interpreter {
        Interpreter {
            at: 0,
            stage: 0,
            counters: vec![0; script.counters.into()].into(),
            timers: vec![None; script.timers.into()].into(),
            shared,
            held: Vec::with_capacity(4),
            origin: script.origin,
            spin_until: None,
            begun: Time::ZERO,
            script,
        }
    }

    /// The instruction is complete after `step`.
    fn done(&mut self, step: Step) -> Option<Step> {
        self.at += 1;
        self.stage = 0;
        Some(step)
    }

    fn skip(&mut self) -> Option<Step> {
        self.at += 1;
        self.stage = 0;
        None
    }

    fn perform(&mut self, op: &Op, cx: &mut StepContext) -> Option<Step> {
        match *op {
            Op::Do(ref step) => self.plain(step.clone()),
            Op::ComputeBetween(low, high) => self.done(Step::Compute(Span(cx.rng.within(low.0, high.0)))),
            Op::SleepBetween(low, high) => self.done(Step::Sleep(Span(cx.rng.within(low.0, high.0)))),
            Op::Repeat { counter, times, to } => self.repeat(counter, times, to),
            Op::Timer { timer, period, overrun } => {
                let until = self.next_expiry(cx.now, timer, period, overrun);
                self.done(Step::SleepUntil(until))
            }
            Op::Spin(span) => self.spin(cx.now, span),
            Op::WaitWith { channel, lock, signal } => self.wait_with(channel, lock, signal),
            Op::ForkNext { counter, first, count } => {
                let index = self.counters[usize::from(counter)] as u32;
                self.counters[usize::from(counter)] += 1;
                if index < count { self.done(Step::Fork(BehaviourId(first.0 + index))) } else { self.skip() }
            }
            Op::Begin => {
                self.begun = cx.now;
                self.skip()
            }
            Op::Served => self.done(Step::Served(self.begun)),
        }
    }

    fn plain(&mut self, step: Step) -> Option<Step> {
        match step {
            Step::Lock(lock) => self.held.push(lock),
            Step::Unlock(lock) => match self.held.iter().rposition(|l| *l == lock) {
                Some(place) => drop(self.held.swap_remove(place)),
                None => return self.skip(),
            },
            _ => {}
        }
        self.done(step)
    }

    fn repeat(&mut self, counter: u16, times: Option<u64>, to: u32) -> Option<Step> {
        let passes = &mut self.counters[usize::from(counter)];
        *passes += 1;
        if times.is_some_and(|t| *passes >= t) {
            *passes = 0;
            return self.skip();
        }
        self.at = to as usize;
        None
    }

    fn next_expiry(&mut self, now: Time, timer: Timer, period: Span, overrun: Overrun) -> Time {
        let origin = self.origin.unwrap_or(now);
        let last = match timer {
            Timer::Own(own) => self.timers[usize::from(own)].unwrap_or(origin),
            Timer::Shared(index) => match self.shared[usize::from(index)].load(Ordering::Relaxed) {
                UNSET => origin,
                ns => Time(ns),
            },
        };
        let mut next = last + period;
        if next < now && overrun == Overrun::RestartsNow {
            next = now;
        }
        match timer {
            Timer::Own(own) => self.timers[usize::from(own)] = Some(next),
            Timer::Shared(index) => self.shared[usize::from(index)].store(next.0, Ordering::Relaxed),
        }
        next
    }

    fn spin(&mut self, now: Time, span: Span) -> Option<Step> {
        let until = *self.spin_until.get_or_insert(now + span);
        if now >= until {
            self.spin_until = None;
            return self.skip();
        }
        Some(Step::Compute(until.since(now).min(SPIN)))
    }

    /// Stages: 0 lock if needed, 1 signal, 2 wait, 3 unlock if the lock was taken here.
    fn wait_with(&mut self, channel: Channel, lock: LockId, signal: bool) -> Option<Step> {
        loop {
            self.stage += 1;
            match self.stage {
                1 if !self.held.contains(&lock) => return Some(Step::Lock(lock)),
                2 if signal => return Some(Step::Wake(channel)),
                3 => return Some(Step::WaitUnlocked(channel, lock)),
                4 if !self.held.contains(&lock) => return self.done(Step::Unlock(lock)),
                4.. => return self.skip(),
                _ => {}
            }
        }
    }
}

impl Behaviour for Interpreter {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self.origin.get_or_insert(cx.now);
        let script = Arc::clone(&self.script);
        while let Some(op) = script.ops.get(self.at) {
            if let Some(step) = self.perform(op, cx) {
                return step;
            }
        }
        Step::Exit
    }
}
