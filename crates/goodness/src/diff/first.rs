//! The first decision in which two runs differ.
//!
//! Decisions are compared object by object: the n-th switch of a CPU with the n-th of the other run, the n-th placement
//! of a task likewise. Two schedulers cost different CPU time, which shifts the same decisions by some nanoseconds. The
//! same decision counts as the same if its shift is no more than what the schedulers' costs have differed by so far, or
//! a sleep or a wake-up was shifted. Two runs of one scheduler cost the same until they differ, so of these the first
//! difference is exact.

use super::decisions::{Choice, Decision, Stream, Track};
use goodness_core::Time;
use std::collections::{BTreeMap, VecDeque};

/// Time after which a decision that the other run has not made counts as one that it does not make, in ns. Longer than
/// the timer slack of 50 us, and shorter than any slice. Only when a difference is noticed depends on it, not which.
const PATIENCE: u64 = 500_000;

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

impl Side {
    fn opposite(self) -> Side {
        if self == Side::A { Side::B } else { Side::A }
    }
}

/// A decision with its number in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub number: u64,
    pub decision: Decision,
}

/// Where two runs part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parting {
    /// Time of the earlier of the two decisions.
    pub at: Time,
    pub track: Track,
    /// The decision of each run; `None` where it went on as before.
    pub of: [Option<Numbered>; 2],
}

impl Parting {
    /// A decision of one run that the other did not make.
    fn alone((side, it): (Side, Numbered)) -> Parting {
        Parting { at: it.decision.at, track: it.decision.track, of: in_order(side, Some(it), None) }
    }

    /// The place in the order of decisions: of several at one instant the first. A pick from a queue that CPUs share
    /// moves the task first; the pick is the decision.
    fn place(&self) -> (Time, bool, u64) {
        let is_move = self.of.iter().flatten().all(|it| matches!(it.decision.choice, Choice::Moved(_)));
        let numbers = self.of.iter().flatten().map(|it| it.number);
        (self.at, is_move, numbers.min().unwrap_or(u64::MAX))
    }
}

fn in_order(side: Side, own: Option<Numbered>, other: Option<Numbered>) -> [Option<Numbered>; 2] {
    if side == Side::A { [own, other] } else { [other, own] }
}

/// Compares two runs until they differ. Takes the decisions of both in step, the earlier first.
pub(super) fn first(mut a: Stream, mut b: Stream) -> Option<Parting> {
    let mut matching = Matching::default();
    loop {
        let side = match (a.peek(), b.peek()) {
            (None, None) => break,
            (Some(at), Some(other)) if other < at => Side::B,
            (None, Some(_)) => Side::B,
            (Some(_), _) => Side::A,
        };
        let stream = if side == Side::A { &mut a } else { &mut b };
        let Some((number, decision)) = stream.take() else { break };
        matching.expire(decision.at);
        if matching.is_decided_at(decision.at) {
            break;
        }
        matching.take(side, Numbered { number, decision });
    }
    matching.finish()
}

/// Decisions of one run that the other has not made yet.
#[derive(Default)]
struct Matching {
    ahead: BTreeMap<Track, VecDeque<(Side, Numbered)>>,
    /// Time and track of every decision that was ahead, in order of time.
    order: VecDeque<(Time, Track)>,
    /// Largest shift so far that is not a decision, in ns.
    shift: u64,
    found: Option<Parting>,
}

impl Matching {
    fn patience(&self) -> u64 {
        PATIENCE.max(self.shift)
    }

    /// True if nothing earlier than what was found can be found any more: the runs have come to `at`.
    fn is_decided_at(&self, at: Time) -> bool {
        self.found.is_some_and(|found| at.0 > found.at.0 + self.patience())
    }

    /// Gives up waiting for the partners of decisions long before `at`.
    fn expire(&mut self, at: Time) {
        while let Some((since, track)) = self.order.front().copied() {
            if at.0 <= since.0 + self.patience() {
                break;
            }
            self.order.pop_front();
            let front = self.ahead.get(&track).and_then(VecDeque::front).copied();
            if let Some(ahead) = front.filter(|(_, it)| it.decision.at == since) {
                self.part(Parting::alone(ahead));
            }
        }
    }

    fn take(&mut self, side: Side, it: Numbered) {
        let track = it.decision.track;
        let ahead = self.ahead.entry(track).or_default();
        match ahead.front().copied().filter(|(other, _)| *other != side) {
            Some((_, partner)) => {
                ahead.pop_front();
                self.pair(side, it, partner);
            }
            None => {
                ahead.push_back((side, it));
                self.order.push_back((it.decision.at, track));
            }
        }
    }

    /// Compares a decision with the one of the other run, which is not later.
    fn pair(&mut self, side: Side, it: Numbered, partner: Numbered) {
        let (one, other) = (it.decision, partner.decision);
        let shift = one.at.0.abs_diff(other.at.0);
        self.shift = self.shift.max(one.overhead.abs_diff(other.overhead));
        let is_same = one.choice == other.choice;
        if is_same && !is_timed(one.choice) {
            self.shift = self.shift.max(shift);
        }
        if shift > self.shift {
            // The run that decides later went on as before until then.
            self.part(Parting::alone((side.opposite(), partner)));
        } else if !is_same {
            self.part(Parting { at: other.at, track: other.track, of: in_order(side, Some(it), Some(partner)) });
        }
    }

    fn part(&mut self, parting: Parting) {
        if self.found.is_none_or(|found| parting.place() < found.place()) {
            self.found = Some(parting);
        }
    }

    /// The first difference, once both runs are over or it is known.
    fn finish(mut self) -> Option<Parting> {
        let left: Vec<_> = self.ahead.values().filter_map(VecDeque::front).copied().collect();
        left.into_iter().for_each(|ahead| self.part(Parting::alone(ahead)));
        self.found
    }
}

/// True if the scheduler chose the time of `choice`. Tasks sleep, end and wake at a time of their own.
fn is_timed(choice: Choice) -> bool {
    match choice {
        Choice::Switched { prev, .. } => prev.is_some_and(|(_, off)| off.is_runnable()),
        Choice::Moved(_) => true,
        Choice::Placed(_) | Choice::Issued { .. } => false,
    }
}
