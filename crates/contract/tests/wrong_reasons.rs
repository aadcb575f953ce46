//! Negative controls: a policy that tells a wrong reason, or decides otherwise when it is asked, is found out.

use goodness_contract::{Broken, Contract};
use goodness_core::*;
use std::cell::Cell;

/// A policy that decides as another one, and tells other reasons.
struct Liar {
    inner: Box<dyn CpuPolicy>,
    lie: fn(&Context, Why, Option<Reason>) -> Option<Reason>,
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
}

type Lie = fn(&Context, Why, Option<Reason>) -> Option<Reason>;

/// The findings about `lie`, told by `policy`, in the first of the draws on one CPU.
fn found(policy: &str, startles: bool, lie: Lie) -> Option<Broken> {
    let entry = goodness_policies::entry(policy).unwrap();
    let make = |machine: &Machine, seed: Seed| {
        let made = (entry.make)(machine, &[], seed).unwrap();
        let policy = Liar { inner: made.policy, lie, startles, is_startled: Cell::new(false) };
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
