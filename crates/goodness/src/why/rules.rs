//! The rules of a policy: a policy around another one asks it why tasks wait.

use goodness_core::{
    Context, CpuId, CpuPolicy, CpuStat, Dequeue, Enqueue, GroupId, Idle, MadePolicy, PerTask, Pick, Preemption, Pull,
    Reason, Rejected, Resched, Span, State, Stop, TaskId, Time, Why,
};
use goodness_observe::blame::{Cause, Segment};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// What the policy said about one task, and since when it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ruling {
    at: Time,
    reason: Option<Reason>,
}

/// What the policy said about each task, as far back as an explanation reaches.
#[derive(Clone, Default)]
pub(super) struct Rulings(Rc<Said>);

#[derive(Default)]
struct Said {
    by_task: RefCell<BTreeMap<TaskId, VecDeque<Ruling>>>,
    /// Time up to which latencies were explained; the run is ahead of its observers.
    explained: Cell<Time>,
}

impl Rulings {
    /// Latencies that end before `now` are explained.
    pub fn explained_until(&self, now: Time) {
        self.0.explained.set(now);
    }

    /// Notes what holds for `task` from `now` on. What no latency of at most `keep` needs any more is dropped.
    fn note(&self, now: Time, task: TaskId, reason: Option<Reason>, keep: Span) {
        let mut all = self.0.by_task.borrow_mut();
        let of_task = all.entry(task).or_default();
        while of_task.get(1).is_some_and(|second| self.0.explained.get().since(second.at) > keep) {
            of_task.pop_front();
        }
        // Of two answers about one instant the later one counts; the figures of a rule change all the time, and the
        // first ones are kept.
        if of_task.back().is_some_and(|last| last.at == now) {
            of_task.pop_back();
        }
        let name = |reason: Option<Reason>| reason.map(Reason::name);
        if of_task.back().is_none_or(|last| name(last.reason) != name(reason)) {
            of_task.push_back(Ruling { at: now, reason });
        }
    }

    /// Puts the rules into `segments`, and cuts these where a rule changes.
    pub fn attach(&self, segments: &mut Vec<Segment>) {
        let all = self.0.by_task.borrow();
        let mut ruled = Vec::with_capacity(segments.len());
        for segment in segments.drain(..) {
            let waits = matches!(segment.cause, Cause::Behind(_) | Cause::BesideIdle { .. } | Cause::IdleCpu);
            match all.get(&segment.task).filter(|_| waits) {
                Some(rulings) => cut(segment, rulings, &mut ruled),
                None => ruled.push(segment),
            }
        }
        *segments = ruled;
    }
}

/// Cuts `segment` where `rulings` change.
fn cut(segment: Segment, rulings: &VecDeque<Ruling>, into: &mut Vec<Segment>) {
    let end = segment.from + segment.span;
    let first = rulings.partition_point(|ruling| ruling.at <= segment.from).saturating_sub(1);
    let mut at = segment.from;
    let mut rule = rulings.get(first).filter(|ruling| ruling.at <= at).and_then(|ruling| ruling.reason);
    for ruling in rulings.range(first.min(rulings.len())..).filter(|it| it.at > segment.from && it.at < end) {
        into.push(Segment { from: at, span: ruling.at.since(at), rule, ..segment });
        (at, rule) = (ruling.at, ruling.reason);
    }
    into.push(Segment { from: at, span: end.since(at), rule, ..segment });
}

/// When to ask.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Windows of time, which do not overlap, in their order.
    all: Vec<(Time, Time)>,
    /// The first one that is not over.
    next: usize,
    /// How far back an explanation reaches.
    keep: Span,
}

impl Windows {
    /// The windows that cover `latencies`.
    pub fn of(latencies: impl Iterator<Item = (Time, Time)>) -> Windows {
        let mut sorted: Vec<(Time, Time)> = latencies.collect();
        sorted.sort_unstable();
        let keep = sorted.iter().map(|(from, to)| to.since(*from)).max().unwrap_or_default();
        let mut all: Vec<(Time, Time)> = Vec::new();
        for (from, to) in sorted {
            match all.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => all.push((from, to)),
            }
        }
        Windows { all, next: 0, keep }
    }

    /// True if `now` is in one of them. Time does not go back.
    fn contain(&mut self, now: Time) -> bool {
        while self.all.get(self.next).is_some_and(|(_, to)| *to < now) {
            self.next += 1;
        }
        self.all.get(self.next).is_some_and(|(from, _)| *from <= now)
    }
}

/// A policy that is asked why tasks wait, after each of its decisions in the windows. It decides as the policy itself.
pub(super) struct Asked {
    policy: Box<dyn CpuPolicy>,
    windows: Windows,
    rulings: Rulings,
    /// Tasks that wait on each CPU's run queue.
    waiting: Vec<Vec<TaskId>>,
    /// The CPU on whose list each task is.
    listed: PerTask<Option<CpuId>>,
    running: Vec<Option<TaskId>>,
}

impl Asked {
    /// `made`, which is asked in `windows`; the answers go to `rulings`.
    pub fn around(made: MadePolicy, cpus: usize, windows: Windows, rulings: Rulings) -> MadePolicy {
        let policy = Box::new(Asked {
            policy: made.policy,
            windows,
            rulings,
            waiting: vec![Vec::new(); cpus],
            listed: PerTask::default(),
            running: vec![None; cpus],
        });
        MadePolicy { about: made.about, policy }
    }

    fn joins(&mut self, cpu: CpuId, task: TaskId) {
        self.leaves(task);
        self.listed[task] = Some(cpu);
        self.waiting[cpu.index()].push(task);
    }

    fn leaves(&mut self, task: TaskId) {
        if let Some(cpu) = self.listed[task].take() {
            self.waiting[cpu.index()].retain(|it| *it != task);
        }
    }

    /// Asks about all tasks that wait for `cpu`.
    fn ask(&mut self, cx: &Context, cpu: CpuId) {
        if !self.windows.contain(cx.now) {
            return;
        }
        let ahead = self.running[cpu.index()];
        for task in &self.waiting[cpu.index()] {
            if cx.tasks.state(*task) == State::Queued {
                let reason = self.policy.why(cx, cpu, Why { ahead, waiting: *task });
                self.rulings.note(cx.now, *task, reason, self.windows.keep);
            }
        }
    }
}

impl CpuPolicy for Asked {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.listed.admit(task);
        self.policy.admit(cx, task, parent)
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.policy.exit(cx, task);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.policy.select_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        if self.running[cpu.index()] == Some(task) {
            self.running[cpu.index()] = None;
        }
        let answer = self.policy.enqueue(cx, cpu, task, why);
        self.joins(cpu, task);
        self.ask(cx, cpu);
        answer
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.leaves(task);
        self.policy.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let pick = self.policy.pick_next(cx, cpu);
        self.running[cpu.index()] = pick.map(|pick| pick.task);
        if let Some(pick) = pick {
            self.leaves(pick.task);
        }
        self.ask(cx, cpu);
        pick
    }

    fn likely_next(&self, cpu: CpuId, next: &mut [TaskId]) -> usize {
        self.policy.likely_next(cpu, next)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let answer = self.policy.charge(cx, cpu, task, ran, why);
        if why == Stop::Tick {
            self.ask(cx, cpu);
        } else {
            self.running[cpu.index()] = None;
        }
        answer
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.policy.balance(cx, cpu, idle)
    }

    fn preemption(&self) -> Preemption {
        self.policy.preemption()
    }

    fn waits_for_tick(&self, cpu: CpuId) -> bool {
        self.policy.waits_for_tick(cpu)
    }

    fn waiting_realtime(&self) -> Option<u32> {
        self.policy.waiting_realtime()
    }

    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        self.policy.is_closed_to_realtime(cpu)
    }

    fn waiting_reservations(&self) -> Option<u32> {
        self.policy.waiting_reservations()
    }

    fn deadline(&self, task: TaskId) -> Option<Time> {
        self.policy.deadline(task)
    }

    fn served_deadline(&self, cpu: CpuId) -> Option<Time> {
        self.policy.served_deadline(cpu)
    }

    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        self.policy.is_throttled(task)
    }

    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        self.policy.why(cx, cpu, question)
    }

    fn cpu_stat(&self, group: GroupId) -> Option<CpuStat> {
        self.policy.cpu_stat(group)
    }

    fn next_timer(&self) -> Option<Time> {
        self.policy.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        let answer = self.policy.timer(cx);
        for cpu in 0..self.waiting.len() {
            self.ask(cx, CpuId(cpu as u32));
        }
        answer
    }
}
