//! The rules of a policy and of elevators, which are asked why tasks and requests wait.

use super::placements::Placements;
use goodness_core::{DiskId, IoReason, RequestId, Span, State, TaskId, Time};
use goodness_observe::asked::{Asker, Decided, Placed};
use goodness_observe::asked_elevator::{AskerIo, DecidedIo, DidIo};
use goodness_observe::blame::{Cause, Segment, ServedFirst, Told};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    mark: Mark,
}

/// What else happened then. Numbers of requests are used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mark {
    #[default]
    Nothing,
    /// The elevator got the request.
    Inserted,
    /// The number became free.
    Freed,
}

/// What was said about each, as far back as an explanation reaches. Elevators can go to other threads.
#[derive(Clone, Default)]
pub(super) struct Rulings(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    by_whom: BTreeMap<Whom, VecDeque<Ruling>>,
    placements: Placements,
    /// Disks on which write-back is throttled.
    throttled: BTreeSet<DiskId>,
    /// Time up to which latencies were explained; the run is ahead of its observers.
    explained: Time,
}

impl Said {
    /// The reason to wait before the elevator has the I/O.
    fn without_slot(&self, cause: Cause) -> IoReason {
        match cause {
            Cause::DiskQueue(it) if it.is_write_back && self.throttled.contains(&it.disk) => IoReason::WriteBack,
            _ => IoReason::NoSlot,
        }
    }
}

impl Rulings {
    /// Rulings of a run in which these disks throttle write-back.
    pub fn throttled_on(disks: impl Iterator<Item = DiskId>) -> Rulings {
        let rulings = Rulings::default();
        rulings.said().throttled = disks.collect();
        rulings
    }

    /// Latencies that end before `now` are explained.
    pub fn explained_until(&self, now: Time) {
        self.said().explained = now;
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what holds for `whom` from `now` on. What no latency of at most `keep` needs any more is dropped.
    fn note(&self, whom: Whom, ruling: Ruling, keep: Span) {
        let mut said = self.said();
        let explained = said.explained;
        let of_whom = said.by_whom.entry(whom).or_default();
        while of_whom.get(1).is_some_and(|second| explained.since(second.at) > keep) {
            let gone = of_whom.pop_front().map(|gone| gone.mark);
            if let Some(first) = of_whom.front_mut().filter(|it| it.mark == Mark::Nothing) {
                first.mark = gone.unwrap_or_default();
            }
        }
        // Of two answers about one instant the later one counts; the figures of a rule change all the time, and the
        // first ones are kept.
        let mut ruling = ruling;
        if let Some(last) = of_whom.back().copied().filter(|last| last.at == ruling.at) {
            of_whom.pop_back();
            ruling.mark = if ruling.mark == Mark::Nothing { last.mark } else { ruling.mark };
        }
        let name = |ruling: &Ruling| ruling.rule.map(Told::name);
        if ruling.mark != Mark::Nothing || of_whom.back().is_none_or(|last| name(last) != name(&ruling)) {
            of_whom.push_back(ruling);
        }
    }

    /// Notes where a task was placed, and by which rule.
    fn note_placement(&self, placed: &Placed, keep: Span) {
        let Some(rule) = placed.rule() else { return };
        let mut said = self.said();
        let explained = said.explained;
        said.placements.note((placed.cx.now, placed.task, placed.cpu), rule, (explained, keep));
    }

    /// Puts the rules into `segments`, and cuts those of waits for a CPU where a rule changes.
    pub fn attach(&self, segments: &mut Vec<Segment>) {
        let said = self.said();
        let mut ruled = Vec::with_capacity(segments.len());
        for segment in segments.drain(..) {
            let whom = match segment.cause {
                Cause::Behind(_) | Cause::BesideIdle { .. } | Cause::IdleCpu => Some(Whom::Task(segment.task)),
                Cause::DiskQueue(ServedFirst { disk, request: Some(it), .. }) => Some(Whom::Request(disk, it)),
                Cause::DiskQueue(_) => {
                    let rule = Some(Told::Elevator(said.without_slot(segment.cause)));
                    ruled.push(Segment { rule, ..segment });
                    continue;
                }
                _ => None,
            };
            match whom.and_then(|whom| said.by_whom.get(&whom)) {
                Some(rulings) if matches!(segment.cause, Cause::DiskQueue(_)) => {
                    let rule = of_request(segment, rulings, said.without_slot(segment.cause))
                        .and_then(|own| longest(segment, &own));
                    ruled.push(Segment { rule, ..segment });
                }
                Some(rulings) => cut(segment, rulings, &mut ruled),
                None => ruled.push(segment),
            }
        }
        said.placements.attach(&mut ruled);
        *segments = ruled;
    }
}

/// Those of `rulings` about a number that are about the request of `segment`, which ends when the disk gets it. Before
/// the elevator got it, `before` let it wait. `None` if the elevator never got it.
fn of_request(segment: Segment, rulings: &VecDeque<Ruling>, before: IoReason) -> Option<VecDeque<Ruling>> {
    let end = segment.from + segment.span;
    let known = rulings.partition_point(|ruling| ruling.at <= end);
    let last = rulings.range(..known).rposition(|ruling| ruling.mark != Mark::Nothing)?;
    if rulings[last].mark == Mark::Freed {
        return None;
    }
    let before = Ruling { at: Time::ZERO, rule: Some(Told::Elevator(before)), mark: Mark::Nothing };
    Some(std::iter::once(before).chain(rulings.range(last..known).copied()).collect())
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
            let ruling = Ruling { at: cx.now, rule, mark: Mark::Nothing };
            self.rulings.note(Whom::Task(*task), ruling, self.windows.keep);
        }
    }

    fn placed(&mut self, placed: &Placed) {
        if self.windows.contain(placed.cx.now) {
            self.rulings.note_placement(placed, self.windows.keep);
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
    fn note(&self, at: Time, request: RequestId, rule: Option<IoReason>, mark: Mark) {
        let ruling = Ruling { at, rule: rule.map(Told::Elevator), mark };
        self.rulings.note(Whom::Request(self.disk, request), ruling, self.windows.keep);
    }
}

impl AskerIo for AskElevator {
    fn ask(&mut self, decided: &DecidedIo) {
        let cx = decided.cx;
        match decided.did {
            DidIo::Inserted(request) => {
                let is_full = cx.in_flight >= cx.facts.depth;
                self.note(cx.now, request, is_full.then_some(IoReason::DeviceFull), Mark::Inserted);
            }
            DidIo::Dispatched(..) => {
                let asked = if self.windows.contain(cx.now) { decided.waiting } else { &[] };
                for waiting in asked {
                    // What did not concern it changes nothing.
                    if let Some(reason) = decided.why(*waiting) {
                        self.note(cx.now, *waiting, Some(reason), Mark::Nothing);
                    }
                }
            }
            DidIo::Absorbed(_, freed) | DidIo::Completed(freed) => self.note(cx.now, freed, None, Mark::Freed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::CpuId;

    /// The rule of a request that is queued at `from` and that the disk gets at `to`.
    fn rule(said: &[(u64, Option<IoReason>, Mark)], from: u64, to: u64) -> Option<&'static str> {
        rule_of(Rulings::default(), said, false, from, to)
    }

    /// Likewise; `is_write_back` says whether it is write-back.
    fn rule_of(
        rulings: Rulings,
        said: &[(u64, Option<IoReason>, Mark)],
        is_write_back: bool,
        from: u64,
        to: u64,
    ) -> Option<&'static str> {
        let (disk, request) = (DiskId(0), RequestId(0));
        for (at, rule, mark) in said {
            let ruling = Ruling { at: Time(*at), rule: rule.map(Told::Elevator), mark: *mark };
            rulings.note(Whom::Request(disk, request), ruling, Span(1_000));
        }
        let request = Some(request);
        let cause = Cause::DiskQueue(ServedFirst { disk, request, requests: 1, writes: 0, most: None, is_write_back });
        let (from, span) = (Time(from), Span(to - from));
        let (task, cpu) = (TaskId(0), CpuId(0));
        let mut segments = vec![Segment { task, cpu, from, span, cause, rule: None, placed: None, lock: None }];
        rulings.attach(&mut segments);
        segments[0].rule.map(Told::name)
    }

    #[test]
    fn a_request_has_no_rule_of_the_former_owner_of_its_number() {
        let former = [(10, None, Mark::Inserted), (20, Some(IoReason::Batch), Mark::Nothing), (90, None, Mark::Freed)];
        let own = [(95, None, Mark::Inserted), (96, Some(IoReason::ReadsFirst), Mark::Nothing)];
        let both = [&former[..], &own[..]].concat();
        assert_eq!(rule(&both, 20, 100), Some("no_slot"), "it waited for the slot that the former one had");
        assert_eq!(rule(&both, 94, 100), Some("reads_first"));
        assert_eq!(rule(&both, 30, 80), Some("batch"), "the former owner itself");
        assert_eq!(rule(&former, 50, 100), None, "a flush that the elevator never got");
        assert_eq!(rule(&[], 50, 100), None);
    }

    #[test]
    fn write_back_on_a_disk_that_throttles_it_may_have_waited_for_that() {
        let said = [(90, None, Mark::Inserted)];
        let on = |disk| Rulings::throttled_on(std::iter::once(DiskId(disk)));
        assert_eq!(rule_of(on(0), &said, true, 20, 100), Some("write_back"));
        assert_eq!(rule_of(on(0), &said, false, 20, 100), Some("no_slot"), "a read");
        assert_eq!(rule_of(on(1), &said, true, 20, 100), Some("no_slot"), "on another disk");
    }
}
