//! The rules of a policy, which is asked why tasks wait.

use goodness_core::{Reason, Span, State, TaskId, Time};
use goodness_observe::asked::{Asker, Decided};
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

/// Asks why tasks wait, in the windows.
pub(super) struct AskRules {
    pub windows: Windows,
    /// The answers go here.
    pub rulings: Rulings,
}

impl Asker for AskRules {
    fn ask(&mut self, decided: &Decided) {
        let cx = decided.cx;
        if !self.windows.contain(cx.now) {
            return;
        }
        for task in decided.waiting.iter().filter(|task| cx.tasks.state(**task) == State::Queued) {
            self.rulings.note(cx.now, *task, decided.why(*task), self.windows.keep);
        }
    }
}
