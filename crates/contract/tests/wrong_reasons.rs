//! Negative controls: a policy that tells a wrong reason, or decides otherwise when it is asked, is found out.

use goodness_contract::{Broken, Contract};
use goodness_core::*;
use std::cell::Cell;

/// A policy that decides as another one, and tells other reasons.
struct Liar {
    inner: Box<dyn CpuPolicy>,
    lie: Lie,
    misplaces: Misplaces,
    /// Idles at the next pick, because it was asked.
    is_startled: Cell<bool>,
    startles: bool,
}

impl CpuPolicy for Liar {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.inner.admit(cx, task, parent)
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.inner.exit(cx, task);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.inner.select_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.inner.enqueue(cx, cpu, task, why)
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.inner.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let pick = self.inner.pick_next(cx, cpu)?;
        let is_short = self.startles && self.is_startled.take();
        Some(if is_short { Pick { timeslice: Some(Span::from_us(10)), ..pick } } else { pick })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.inner.charge(cx, cpu, task, ran, why)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.inner.balance(cx, cpu, idle)
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.inner.balances_later(cpu)
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        self.inner.timer(cx)
    }

    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        self.is_startled.set(true);
        (self.lie)(cx, question, self.inner.why(cx, cpu, question))
    }

    fn why_placed(&self, cx: &Context, task: TaskId, cpu: CpuId, why: &Enqueue) -> Option<Placement> {
        (self.misplaces)(self.inner.why_placed(cx, task, cpu, why))
    }
}

type Lie = fn(&Context, Why, Option<Reason>) -> Option<Reason>;
type Misplaces = fn(Option<Placement>) -> Option<Placement>;

/// The findings about `lie`, told by `policy`, in the first of the draws on one CPU.
fn found(policy: &str, startles: bool, lie: Lie) -> Option<Broken> {
    let entry = goodness_policies::entry(policy).unwrap();
    let make = |machine: &Machine, seed: Seed| {
        let made = (entry.make)(machine, &[], seed).unwrap();
        let misplaces: Misplaces = |said| said;
        let policy = Liar { inner: made.policy, lie, misplaces, startles, is_startled: Cell::new(false) };
        MadePolicy { policy: Box::new(policy), ..made }
    };
    (0..200).find_map(|seed| Contract { cpus: 1, seed, is_unequal: false }.reasons(&make).err())
}

/// A policy, what is wrong with what it says, and how it says it.
const LIES: [(&str, &str, Lie); 15] = [
    ("srtf", "reverses figures", |_, _, said| match said? {
        Reason::ShorterBurst { ahead, waiting } => Some(Reason::ShorterBurst { ahead: waiting, waiting: ahead }),
        other => Some(other),
    }),
    ("o1", "reverses priorities", |_, _, said| match said? {
        Reason::Priority { ahead, waiting } => Some(Reason::Priority { ahead: waiting, waiting: ahead }),
        other => Some(other),
    }),
    ("sjf", "calls the longest the nearest", |_, _, said| match said? {
        Reason::ShorterBurst { ahead, waiting } => {
            Some(Reason::ShorterBurst { ahead: Span::ZERO, waiting: Span(u64::MAX - waiting.0 - ahead.0) })
        }
        other => Some(other),
    }),
    ("stride", "says that it came first", |_, _, _| Some(Reason::First)),
    ("rr", "says at picks that a slice is not over", |_, _, _| Some(Reason::SliceNotOver)),
    ("rr", "says that a running task is drawn", |_, _, _| Some(Reason::Drawn { tickets: 1, of: 2 })),
    ("rr", "names classes that the tasks have not", |_, _, _| {
        Some(Reason::Class { ahead: Class::Fifo, waiting: Class::Normal })
    }),
    ("rr", "says throttled of who runs next", |cx, _, _| {
        Some(Reason::Throttled { until: Some(cx.now + Span::from_s(100)) })
    }),
    ("rm", "invents a distance of periods", |_, _, said| match said? {
        Reason::ShorterPeriod { by } => Some(Reason::ShorterPeriod { by: by + Span(1) }),
        other => Some(other),
    }),
    ("cfs", "calls the one with the most CPU time the nearest", |_, _, said| match said? {
        Reason::LessRuntime { by } => Some(Reason::LessRuntime { by: Span(1_000_000_000_000 - by.0) }),
        other => Some(other),
    }),
    ("cfs", "lets a lead shrink while another task runs", |_, _, said| match said? {
        Reason::LeadTooShort { by } => Some(Reason::LessRuntime { by }),
        other => Some(other),
    }),
    ("cfs", "lets a lead grow faster than time passes", |_, _, said| match said? {
        Reason::LeadTooShort { by } => Some(Reason::LeadTooShort { by: by * 1_000 }),
        other => Some(other),
    }),
    ("rr", "favours a task that goes on running", |_, _, _| Some(Reason::Favoured)),
    ("o1", "says of its round what is true of the next", |_, _, said| match said? {
        Reason::RoundUsedUp => Some(Reason::First),
        _ => Some(Reason::RoundUsedUp),
    }),
    ("stride", "says aged of who came last", |_, why, _| why.is_pick.then_some(Reason::Aged)),
];

#[test]
fn each_wrong_reason_is_found() {
    for (policy, what, lie) in LIES {
        assert_eq!(found(policy, false, |_, _, said| said), None, "{policy} itself");
        let broken = found(policy, false, lie).unwrap_or_else(|| panic!("{policy} {what}, and nobody notices"));
        assert!(broken.to_string().contains("on 1 CPU, seed "), "{broken}");
    }
    let startled = found("rr", true, |_, _, said| said).expect("asking changes its slices");
    assert!(startled.what.contains("decides otherwise"), "{startled}");
}

/// Faults in the answers of a policy about its placements, and how it gives them.
const MISPLACES: [(&str, Misplaces); 10] = [
    ("says of every CPU that it idles", |said| said.map(|_| Placement::IdleCpu)),
    ("says of idle CPUs that none idles", |said| match said? {
        Placement::IdleCpu => Some(Placement::NoneIdle),
        other => Some(other),
    }),
    ("says of idle CPUs that none idles around them", |said| match said? {
        Placement::IdleCpu => Some(Placement::NoneIdleNear),
        other => Some(other),
    }),
    ("says of idle CPUs that it searched in vain", |said| match said? {
        Placement::IdleCpu => Some(Placement::SearchEnded { looked_at: 0 }),
        other => Some(other),
    }),
    ("says that there was no choice", |said| said.map(|_| Placement::OnlyCpu)),
    ("says that no other CPU was online", |said| match said? {
        Placement::OnlyCpu => Some(Placement::OnlyOnline),
        other => Some(other),
    }),
    ("says of every task that it was still queued", |said| said.map(|_| Placement::StillQueued)),
    ("says of every task that it stays with its parent", |said| said.map(|_| Placement::StaysWithParent)),
    ("says of every CPU that what it runs is less urgent", |said| said.map(|_| Placement::LessUrgent)),
    ("says of every task that no CPU runs less urgent ones", |said| said.map(|_| Placement::NoneLessUrgent)),
];

/// The number of checked placements of `eevdf` on eight CPUs, told by `misplaces`; the first finding if one is wrong.
fn misplaced(misplaces: Misplaces) -> Result<usize, Broken> {
    let entry = goodness_policies::entry("eevdf").unwrap();
    let make = |machine: &Machine, seed: Seed| {
        let made = (entry.make)(machine, &[], seed).unwrap();
        let (lie, is_startled): (Lie, _) = (|_, _, said| said, Cell::new(false));
        let policy = Liar { inner: made.policy, lie, misplaces, startles: false, is_startled };
        MadePolicy { policy: Box::new(policy), ..made }
    };
    (0..6).map(|seed| Ok(Contract { cpus: 8, seed, is_unequal: false }.reasons(&make)?.placements)).sum()
}

#[test]
fn each_wrong_placement_is_found() {
    let checked = misplaced(|said| said).expect("eevdf itself");
    assert!(checked > 100, "{checked} placements were told");
    for (what, misplaces) in MISPLACES {
        let broken = misplaced(misplaces).err().unwrap_or_else(|| panic!("eevdf {what}, and nobody notices"));
        assert!(broken.to_string().contains("is claimed of"), "{what}: {broken}");
    }
}
