//! The rules of a policy and of elevators, which are asked why tasks and requests wait.

use goodness_core::{DiskId, IoReason, RequestId, Span, State, TaskId, Time};
use goodness_observe::asked::{Asker, Decided};
use goodness_observe::asked_elevator::{AskerIo, DecidedIo, DidIo};
use goodness_observe::blame::{Cause, Segment, ServedFirst, Told};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whom a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    Task(TaskId),
    Request(DiskId, RequestId),
}

/// What was said about one of them, and since when it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ruling {
    at: Time,
    rule: Option<Told>,
}

/// What was said about each, as far back as an explanation reaches. Elevators can go to other threads.
#[derive(Clone, Default)]
pub(super) struct Rulings(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    by_whom: BTreeMap<Whom, VecDeque<Ruling>>,
    /// Time up to which latencies were explained; the run is ahead of its observers.
    explained: Time,
}

impl Rulings {
    /// Latencies that end before `now` are explained.
    pub fn explained_until(&self, now: Time) {
        self.said().explained = now;
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what holds for `whom` from `now` on. What no latency of at most `keep` needs any more is dropped.
    fn note(&self, now: Time, whom: Whom, rule: Option<Told>, keep: Span) {
        let mut said = self.said();
        let explained = said.explained;
        let of_whom = said.by_whom.entry(whom).or_default();
        while of_whom.get(1).is_some_and(|second| explained.since(second.at) > keep) {
            of_whom.pop_front();
        }
        // Of two answers about one instant the later one counts; the figures of a rule change all the time, and the
        // first ones are kept.
        if of_whom.back().is_some_and(|last| last.at == now) {
            of_whom.pop_back();
        }
        let name = |rule: Option<Told>| rule.map(Told::name);
        if of_whom.back().is_none_or(|last| name(last.rule) != name(rule)) {
            of_whom.push_back(Ruling { at: now, rule });
        }
    }

    /// Puts the rules into `segments`, and cuts those of waits for a CPU where a rule changes.
    pub fn attach(&self, segments: &mut Vec<Segment>) {
        let said = self.said();
        let mut ruled = Vec::with_capacity(segments.len());
        for segment in segments.drain(..) {
            let whom = match segment.cause {
                Cause::Behind(_) | Cause::BesideIdle { .. } | Cause::IdleCpu => Some(Whom::Task(segment.task)),
                Cause::DiskQueue(ServedFirst { disk, request, .. }) => Some(Whom::Request(disk, request)),
                _ => None,
            };
            match whom.and_then(|whom| said.by_whom.get(&whom)) {
                Some(rulings) if matches!(segment.cause, Cause::DiskQueue(_)) => {
                    ruled.push(Segment { rule: longest(segment, rulings), ..segment });
                }
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
    let mut rule = rulings.get(first).filter(|ruling| ruling.at <= at).and_then(|ruling| ruling.rule);
    for ruling in rulings.range(first.min(rulings.len())..).filter(|it| it.at > segment.from && it.at < end) {
        into.push(Segment { from: at, span: ruling.at.since(at), rule, ..segment });
        (at, rule) = (ruling.at, ruling.rule);
    }
    into.push(Segment { from: at, span: end.since(at), rule, ..segment });
}

/// The rule that held for most of `segment`, and the figures of its longest stretch. The requests that the disk served
/// meanwhile belong to all stretches.
fn longest(segment: Segment, rulings: &VecDeque<Ruling>) -> Option<Told> {
    let mut stretches = Vec::new();
    cut(segment, rulings, &mut stretches);
    let total = |rule: Option<Told>| {
        let alike = stretches.iter().filter(|it| it.rule.map(Told::name) == rule.map(Told::name));
        alike.map(|it| it.span.0).sum::<u64>()
    };
    stretches.iter().max_by_key(|it| (total(it.rule), it.span)).and_then(|it| it.rule)
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
            let rule = decided.why(*task).map(Told::Policy);
            self.rulings.note(cx.now, Whom::Task(*task), rule, self.windows.keep);
        }
    }
}

/// Asks why requests of a disk wait, in the windows.
pub(super) struct AskElevator {
    pub disk: DiskId,
    pub windows: Windows,
    /// The answers go here.
    pub rulings: Rulings,
}

impl AskElevator {
    fn note(&self, now: Time, request: RequestId, rule: Option<IoReason>) {
        self.rulings.note(now, Whom::Request(self.disk, request), rule.map(Told::Elevator), self.windows.keep);
    }
}

impl AskerIo for AskElevator {
    fn ask(&mut self, decided: &DecidedIo) {
        let cx = decided.cx;
        match decided.did {
            DidIo::Inserted(request) => {
                let is_full = cx.in_flight >= cx.facts.depth;
                self.note(cx.now, request, is_full.then_some(IoReason::DeviceFull));
            }
            DidIo::Dispatched(_, ahead) => {
                // The next I/O of this number waits for a slot before it is a request.
                if let Some(ahead) = ahead {
                    self.note(cx.now, ahead, Some(IoReason::NoSlot));
                }
                let asked = if self.windows.contain(cx.now) { decided.waiting } else { &[] };
                for waiting in asked {
                    // What did not concern it changes nothing.
                    if let Some(reason) = decided.why(*waiting) {
                        self.note(cx.now, *waiting, Some(reason));
                    }
                }
            }
            DidIo::Absorbed(..) | DidIo::Completed(_) => {}
        }
    }
}
