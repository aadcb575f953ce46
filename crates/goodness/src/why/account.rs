//! Adds up explained latencies, and keeps the longest.

use super::names::Names;
use super::rules::Rulings;
use goodness_core::{IoReason, LockId, Overhead, Reason, Span, TaskId};
use goodness_observe::blame::{Cause, Explained, Lateness, Of, Origin, Segment, ServedFirst, Told};
use goodness_report::rule::Rule;
use goodness_report::why::{Held, Latency, Link, LockPart, Part, Tail, Who, who};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Name of the cause if most who wait behind tasks of a kind are of it, too.
const OWN_KIND: &str = "behind_own";

/// What time is blamed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Blamed {
    /// Tasks of this kind computed.
    Computing(u32),
    /// Tasks of this kind ran on the CPU.
    Behind(u32),
    /// Likewise, while another CPU idled that the waiting task may use.
    BesideAllowed(u32),
    /// Likewise, while another CPU idled that the waiting task, which is of this kind, may not use.
    BesideForbidden(u32),
    /// A limit of the group of tasks of this kind.
    Throttled(u32),
    /// The CPU idled.
    CpuStarts,
    /// Work of the host.
    Scheduler(Overhead),
    /// Tasks of this kind slept until something outside woke them.
    Asleep(u32),
    /// Likewise, uninterruptibly.
    Device(u32),
    /// Tasks of this kind slept while too much memory was dirty.
    DirtyMemory(u32),
    /// A limit on the I/O of the group of tasks of this kind.
    IoLimit(u32),
    /// The queue of a disk, filled mostly by tasks of this kind.
    DiskQueue(u32),
    /// The events do not tell.
    NotTold,
}

impl Blamed {
    /// What `segment` is blamed on.
    pub fn of(segment: &Segment, names: &Names) -> Blamed {
        let own = names.kind(segment.task);
        match segment.cause {
            _ if matches!(segment.rule, Some(Told::Policy(Reason::Throttled { .. }))) => Blamed::Throttled(own),
            Cause::Computing => Blamed::Computing(own),
            Cause::Behind(task) => Blamed::Behind(names.kind(task)),
            Cause::BesideIdle { behind, allowed: true } => Blamed::BesideAllowed(names.kind(behind)),
            Cause::BesideIdle { allowed: false, .. } => Blamed::BesideForbidden(own),
            Cause::IdleCpu => Blamed::CpuStarts,
            Cause::Host(kind) => Blamed::Scheduler(kind),
            Cause::Asleep => Blamed::Asleep(own),
            Cause::Device => Blamed::Device(own),
            Cause::DirtyMemory => Blamed::DirtyMemory(own),
            Cause::IoLimit => Blamed::IoLimit(own),
            Cause::DiskQueue(first) => match kept_by(first, segment.rule) {
                Some(task) => Blamed::DiskQueue(names.kind(task)),
                None => Blamed::Device(own),
            },
            Cause::NotTold => Blamed::NotTold,
        }
    }

    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Blamed::Computing(_) => "computing",
            Blamed::Behind(_) => "behind",
            Blamed::BesideAllowed(_) => "idle_cpu_allowed",
            Blamed::BesideForbidden(_) => "idle_cpu_forbidden",
            Blamed::Throttled(_) => "throttled",
            Blamed::CpuStarts => "cpu_starts",
            Blamed::Scheduler(_) => "scheduler",
            Blamed::Asleep(_) => "asleep",
            Blamed::Device(_) => "device",
            Blamed::DirtyMemory(_) => "dirty_memory",
            Blamed::IoLimit(_) => "io_limit",
            Blamed::DiskQueue(_) => "disk_queue",
            Blamed::NotTold => "not_told",
        }
    }

    /// The kind of tasks it is about.
    pub const fn kind(self) -> Option<u32> {
        match self {
            Blamed::Computing(kind)
            | Blamed::Behind(kind)
            | Blamed::BesideAllowed(kind)
            | Blamed::BesideForbidden(kind)
            | Blamed::Throttled(kind)
            | Blamed::Asleep(kind)
            | Blamed::Device(kind)
            | Blamed::DirtyMemory(kind)
            | Blamed::IoLimit(kind)
            | Blamed::DiskQueue(kind) => Some(kind),
            Blamed::CpuStarts | Blamed::Scheduler(_) | Blamed::NotTold => None,
        }
    }
}

/// Time that is blamed on one thing.
#[derive(Default)]
struct Sum {
    total: Span,
    /// Time in which who waited was of the same kind as who ran.
    own: Span,
    /// By the name of the rule: time, and the rule of the longest segment with that one's length.
    rules: BTreeMap<&'static str, (Span, Span, Option<Told>)>,
    limit: Option<String>,
}

/// The sums, and the longest latencies.
pub(super) struct Account<'a> {
    names: &'a Names,
    of: Of,
    rulings: Option<Rulings>,
    sums: BTreeMap<Blamed, Sum>,
    /// By lock: the time asleep for it, by the kind of its holder.
    locks: BTreeMap<LockId, BTreeMap<u32, Span>>,
    worst: Vec<Explained>,
    keep: usize,
}

impl Account<'_> {
    /// An account that keeps the `keep` longest. With `rulings`, the policy told its rules.
    pub fn new(names: &Names, of: Of, keep: usize, rulings: Option<Rulings>) -> Account<'_> {
        Account { names, of, rulings, sums: BTreeMap::new(), locks: BTreeMap::new(), worst: Vec::new(), keep }
    }

    /// Adds a latency.
    pub fn add(&mut self, mut explained: Explained) {
        if let Some(rulings) = &self.rulings {
            rulings.attach(&mut explained.segments);
        }
        for segment in &explained.segments {
            if let Some(held) = segment.lock {
                let holder = self.names.kind(held.holder);
                *self.locks.entry(held.lock).or_default().entry(holder).or_default() += segment.span;
            }
            let sum = self.sums.entry(Blamed::of(segment, self.names)).or_default();
            sum.total += segment.span;
            if matches!(segment.cause, Cause::Behind(task) if self.names.kind(task) == self.names.kind(segment.task)) {
                sum.own += segment.span;
            }
            if sum.limit.is_none() {
                sum.limit = match segment.cause {
                    Cause::IoLimit => self.names.io_limit(segment.task).map(String::from),
                    _ => self.names.limit(segment.task).map(String::from),
                };
            }
            let rule = sum.rules.entry(segment.rule.map_or("", Told::name)).or_default();
            rule.0 += segment.span;
            if segment.span >= rule.1 {
                (rule.1, rule.2) = (segment.span, segment.rule);
            }
        }
        let place = self.worst.partition_point(|it| rank(it) < rank(&explained));
        if place < self.keep {
            self.worst.insert(place, explained);
            self.worst.truncate(self.keep);
        }
    }

    /// What the sums are blamed on, largest first.
    pub fn blamed(&self) -> Vec<Blamed> {
        let mut all: Vec<(&Blamed, &Sum)> = self.sums.iter().collect();
        all.sort_by_key(|(_, sum)| Reverse(sum.total));
        all.into_iter().map(|(blamed, _)| *blamed).collect()
    }

    /// The sums as they are reported.
    pub fn tail(&self, found: &Lateness) -> Tail {
        let total: u64 = self.sums.values().map(|sum| sum.total.0).sum();
        let part = |blamed: Blamed| {
            let sum = &self.sums[&blamed];
            Part {
                cause: if sum.own.0 * 2 > sum.total.0 { OWN_KIND } else { blamed.name() }.into(),
                culprit: self.culprit(blamed, sum),
                total_ns: sum.total.0,
                share: sum.total.0 as f64 / total.max(1) as f64,
                rule: sum
                    .rules
                    .values()
                    .max_by_key(|rule| rule.0)
                    .and_then(|rule| rule.2)
                    .map(|it| self.rule(it, None)),
            }
        };
        let from_ns = found.tail.last().map_or(0, |late| late.span().0);
        let parts = self.blamed().into_iter().map(part).filter(|part| part.total_ns > 0).collect();
        Tail { count: found.tail.len() as u64, from_ns, total_ns: total, parts, locks: self.locks(total) }
    }

    /// The locks as they are reported; `total` is the sum of the latencies.
    fn locks(&self, total: u64) -> Vec<LockPart> {
        let part = |(lock, holders): (&LockId, &BTreeMap<u32, Span>)| {
            let total_ns = holders.values().map(|span| span.0).sum::<u64>();
            let most = holders.iter().max_by_key(|(kind, span)| (**span, Reverse(**kind)))?;
            Some(LockPart {
                lock: self.names.lock(*lock).into(),
                holder: self.names.of_kind(*most.0).into(),
                total_ns,
                share: total_ns as f64 / total.max(1) as f64,
            })
        };
        let mut locks: Vec<LockPart> = self.locks.iter().filter_map(part).filter(|it| it.total_ns > 0).collect();
        locks.sort_by_key(|it| Reverse(it.total_ns));
        locks
    }

    fn culprit(&self, blamed: Blamed, sum: &Sum) -> Option<String> {
        match blamed {
            Blamed::Scheduler(kind) => Some(kind.name().into()),
            Blamed::Throttled(_) | Blamed::IoLimit(_) => sum.limit.clone(),
            _ => blamed.kind().map(|kind| self.names.of_kind(kind).into()),
        }
    }

    /// The longest latencies as they are reported.
    pub fn worst(&self) -> Vec<Latency> {
        self.worst.iter().map(|it| self.latency(it)).collect()
    }

    fn latency(&self, it: &Explained) -> Latency {
        let (began, woken_by) = match (self.of, it.origin) {
            (Of::Requests, _) => ("asked", None),
            (Of::Io, _) => ("submitted", None),
            (_, Origin::Woken(waker)) => ("woken", waker),
            (_, Origin::LostCpu) => ("lost_cpu", None),
            (_, Origin::NotTold) => ("not_told", None),
        };
        Latency {
            at_ns: it.late.from.ns(),
            length_ns: it.late.span().0,
            task: self.names.who(it.late.task),
            began: began.into(),
            woken_by: woken_by.map(|waker| self.names.who(waker)),
            is_open: it.late.is_open,
            chain: it.segments.iter().map(|segment| self.link(segment)).collect(),
        }
    }

    /// A rule in words, over `waiting` if there is one.
    fn rule(&self, told: Told, waiting: Option<TaskId>) -> Rule {
        let name = |task: TaskId| who(&self.names.who(task));
        match (told, waiting) {
            (Told::Policy(reason), Some(waiting)) => Rule::over(reason, &name(waiting)),
            (Told::Policy(reason), None) => Rule::from(reason),
            (Told::Elevator(reason), _) => Rule::of_elevator(reason, |submitter| name(TaskId(submitter.0))),
        }
    }

    fn link(&self, segment: &Segment) -> Link {
        let blamed = Blamed::of(segment, self.names);
        let culprit = match (blamed, segment.cause) {
            (Blamed::Throttled(_), _) => self.names.limit(segment.task).map(|name| Who { name: name.into(), id: 0 }),
            (Blamed::IoLimit(_), _) => self.names.io_limit(segment.task).map(|name| Who { name: name.into(), id: 0 }),
            (_, Cause::Behind(task) | Cause::BesideIdle { behind: task, .. }) => Some(self.names.who(task)),
            (Blamed::DiskQueue(_), Cause::DiskQueue(first)) => {
                kept_by(first, segment.rule).map(|task| self.names.who(task))
            }
            (Blamed::Scheduler(kind), _) => Some(Who { name: kind.name().into(), id: 0 }),
            _ => None,
        };
        Link {
            from_ns: segment.from.ns(),
            length_ns: segment.span.0,
            task: self.names.who(segment.task),
            cpu: segment.cpu.0,
            cause: blamed.name().into(),
            culprit,
            rule: segment.rule.map(|it| self.rule(it, Some(segment.task))),
            placed: segment.placed.map(Rule::from),
            lock: segment.lock.map(|held| Held {
                name: self.names.lock(held.lock).into(),
                waiter: self.names.who(held.waiter),
                holder: self.names.who(held.holder),
            }),
            served_first: match segment.cause {
                Cause::DiskQueue(first) => Some([first.requests, first.writes]),
                _ => None,
            },
            served_most: match segment.cause {
                Cause::DiskQueue(first) => first.most.map(|task| self.names.who(task)),
                _ => None,
            },
        }
    }
}

/// The task that keeps an I/O waiting: whose requests the disk served first, or for whom it idles.
fn kept_by(first: ServedFirst, rule: Option<Told>) -> Option<TaskId> {
    match rule {
        Some(Told::Elevator(IoReason::Idles { submitter })) => Some(TaskId(submitter.0)),
        _ => first.most,
    }
}

/// Longest first; of equals the earliest.
fn rank(it: &Explained) -> (Reverse<Span>, goodness_observe::blame::Late) {
    (Reverse(it.late.span()), it.late)
}
