//! Runs a script.

use super::{Mailbox, Op, Overrun, Script, Via};
use goodness_core::{Behaviour, BehaviourId, Channel, LockId, Span, Step, StepContext, Time};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Spinning checks the clock after this much CPU time. rt-app does likewise between two passes of its load;
/// the length is our choice and bounds how far a preempted spin overshoots.
const SPIN: Span = Span::from_us(32);

/// A request in a mailbox.
#[derive(Clone, Copy, Debug)]
struct Letter {
    answer: Channel,
    sent: Time,
    via: Via,
    marked: bool,
}

/// Letters that one task received. Few tasks do, and a million tasks have little room each.
#[derive(Default)]
struct Post {
    /// The last one.
    letter: Option<Letter>,
    gathered: VecDeque<Letter>,
}

/// Shared state of the tasks of a run. A run is one thread, so the mutex is never contended.
pub(super) struct Shared {
    mailboxes: Box<[Mutex<VecDeque<Letter>>]>,
    /// Turns taken, by pot.
    pots: Box<[AtomicU64]>,
}

impl Shared {
    pub fn new(mailboxes: u16, pots: u16) -> Shared {
        Shared {
            mailboxes: (0..mailboxes).map(|_| Mutex::default()).collect(),
            pots: (0..pots).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn put(&self, mailbox: Mailbox, letter: Letter) {
        let mut letters = self.mailboxes[usize::from(mailbox.number)].lock().unwrap_or_else(PoisonError::into_inner);
        letters.push_back(letter);
    }

    fn letters(&self, mailbox: Mailbox) -> usize {
        self.mailboxes[usize::from(mailbox.number)].lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes a turn; false if none is left.
    fn turn(&self, pot: u16, of: u64) -> bool {
        self.pots[usize::from(pot)].fetch_add(1, Ordering::Relaxed) < of
    }

    fn count(&self, pot: u16, into: bool) {
        let pot = &self.pots[usize::from(pot)];
        // A task is subtracted only if it was added.
        if into {
            pot.fetch_add(1, Ordering::Relaxed)
        } else {
            pot.fetch_sub(1, Ordering::Relaxed)
        };
    }

    fn counted(&self, pot: u16) -> u64 {
        self.pots[usize::from(pot)].load(Ordering::Relaxed)
    }

    /// Removes and returns the oldest letter. A woken receiver always finds one.
    fn take(&self, mailbox: Mailbox) -> Option<Letter> {
        self.mailboxes[usize::from(mailbox.number)].lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The execution state of a script.
pub(super) struct Interpreter {
    script: Arc<Script>,
    at: usize,
    /// Stage within an instruction that takes several steps.
    stage: u8,
    counters: Box<[u64]>,
    timers: Box<[Option<Time>]>,
    /// Next offset of each sequential access.
    cursors: Box<[u64]>,
    shared: Arc<Shared>,
    /// Letters that it received, if it ever did.
    post: Option<Box<Post>>,
    /// Channel of replies to its own letters.
    answers: Channel,
    held: Vec<LockId>,
    origin: Option<Time>,
    spin_until: Option<Time>,
    begun: Time,
}

impl Interpreter {
    pub fn new(script: Arc<Script>, shared: Arc<Shared>, answers: Channel) -> Interpreter {
        Interpreter {
            at: 0,
            stage: 0,
            counters: vec![0; script.counters.into()].into(),
            timers: vec![None; script.timers.into()].into(),
            cursors: vec![0; script.cursors.into()].into(),
            shared,
            post: None,
            answers,
            held: Vec::new(),
            origin: script.origin,
            spin_until: None,
            begun: Time::ZERO,
            script,
        }
    }

    /// The last received letter.
    fn letter(&self) -> Option<Letter> {
        self.post.as_ref()?.letter
    }

    fn post(&mut self) -> &mut Post {
        self.post.get_or_insert_default()
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
            Op::KernelBetween(low, high) => self.done(Step::Kernel(Span(cx.rng.within(low.0, high.0)))),
            Op::SleepBetween(low, high) => self.done(Step::Sleep(Span(cx.rng.within(low.0, high.0)))),
            Op::ComputeExponential(mean) => self.done(Step::Compute(Span(cx.rng.exponential(mean.0)))),
            Op::SleepExponential(mean) => self.done(Step::Sleep(Span(cx.rng.exponential(mean.0)))),
            Op::Chance { millionths, .. } if cx.rng.below(1_000_000) < u64::from(millionths) => self.skip(),
            Op::Chance { or_to: to, .. } | Op::Jump(to) => self.jump(to),
            Op::LockOneOf { first, count } => {
                self.plain(Step::Lock(LockId(first.0 + cx.rng.below(u64::from(count)) as u32)))
            }
            Op::UnlockLast => self.unlock_last(),
            Op::Ask(_) | Op::AskDevice(_) | Op::Receive(_) | Op::Answer | Op::Reply => self.correspond(op, cx.now),
            Op::Post(_)
            | Op::Pass(_)
            | Op::PassAndWait(_)
            | Op::Forward { .. }
            | Op::AwaitSender
            | Op::Gather(_)
            | Op::ReplyGathered => self.correspond(op, cx.now),
            Op::Turn { .. } | Op::Room { .. } | Op::AtMost { .. } | Op::Marked { .. } | Op::Count { .. } => {
                self.ask_plan(op)
            }
            Op::Repeat { counter, times, to } => self.repeat(counter, times, to),
            Op::Timer { timer, period, overrun } => {
                let until = self.next_expiry(cx.now, timer, period, overrun);
                self.done(Step::SleepUntil(until))
            }
            Op::Spin(span) => self.spin(cx.now, span),
            Op::WaitWith { channel, lock, signal } => self.wait_with(channel, lock, signal),
            Op::ForkNext { counter, first, count } => self.fork_next(counter, first, count),
            Op::Access(ref access) => {
                let step = access.step(&mut self.cursors, cx.rng);
                self.done(step)
            }
            Op::Begin => {
                self.begun = cx.now;
                self.skip()
            }
            Op::BeginAtExpiry(timer) => {
                self.begun = self.last_expiry(timer).unwrap_or(cx.now);
                self.skip()
            }
            Op::Served => self.done(Step::Served(self.begun)),
        }
    }

    /// Executes instructions about pots and about the contents of mailboxes.
    fn ask_plan(&mut self, op: &Op) -> Option<Step> {
        let (holds, to) = match *op {
            Op::Turn { pot, of, or_to } => (self.shared.turn(pot, of), or_to),
            Op::Room { mailbox, most, or_to } => (self.shared.letters(mailbox) as u64 <= most, or_to),
            Op::AtMost { pot, most, or_to } => (self.shared.counted(pot) <= most, or_to),
            Op::Marked { or_to } => (self.letter().is_some_and(|letter| letter.marked), or_to),
            Op::Count { pot, into } => {
                self.shared.count(pot, into);
                return self.skip();
            }
            ref other => unreachable!("{other:?} asks nothing of the plan"),
        };
        if holds { self.skip() } else { self.jump(to) }
    }

    fn fork_next(&mut self, counter: u16, first: BehaviourId, count: u32) -> Option<Step> {
        let index = self.counters[usize::from(counter)] as u32;
        self.counters[usize::from(counter)] += 1;
        if index < count { self.done(Step::Fork(BehaviourId(first.0 + index))) } else { self.skip() }
    }

    fn jump(&mut self, to: u32) -> Option<Step> {
        self.at = to as usize;
        None
    }

    fn unlock_last(&mut self) -> Option<Step> {
        match self.held.pop() {
            Some(lock) => self.done(Step::Unlock(lock)),
            None => self.skip(),
        }
    }

    /// Executes instructions that send, receive or answer letters.
    fn correspond(&mut self, op: &Op, now: Time) -> Option<Step> {
        match *op {
            Op::Ask(mailbox) => self.ask(now, mailbox, Step::Wait(self.answers)),
            Op::AskDevice(mailbox) => self.ask(now, mailbox, Step::WaitUninterruptible(self.answers)),
            Op::Receive(mailbox) => self.receive(mailbox),
            Op::Answer => self.answer(),
            Op::Reply => match self.letter() {
                Some(letter) => self.done(letter.via.wake(letter.answer)),
                None => self.skip(),
            },
            Op::Post(mailbox) => self.send(mailbox, now, self.answers, false),
            Op::Pass(mailbox) => match self.letter() {
                Some(Letter { answer, sent, .. }) => self.send(mailbox, sent, answer, false),
                None => self.skip(),
            },
            Op::PassAndWait(mailbox) => match self.letter() {
                Some(letter) => self.ask(letter.sent, mailbox, Step::Wait(self.answers)),
                None => self.skip(),
            },
            Op::Forward { mailbox, mark } => match self.letter() {
                Some(letter) => self.send(mailbox, letter.sent, self.answers, mark),
                None => self.skip(),
            },
            Op::AwaitSender => match self.letter() {
                Some(letter) => self.done(Step::Wait(letter.answer)),
                None => self.skip(),
            },
            Op::Gather(mailbox) => self.gather(mailbox),
            Op::ReplyGathered => match self.post().gathered.pop_front() {
                Some(letter) => Some(letter.via.wake(letter.answer)),
                None => self.skip(),
            },
            ref other => unreachable!("{other:?} has nothing to do with letters"),
        }
    }

    fn plain(&mut self, step: Step) -> Option<Step> {
        match step {
            Step::Lock(lock) | Step::LockShared(lock) => self.held.push(lock),
            Step::Unlock(lock) => match self.held.iter().rposition(|l| *l == lock) {
                Some(place) => drop(self.held.swap_remove(place)),
                None => return self.skip(),
            },
            _ => {}
        }
        self.done(step)
    }

    /// Stages: 0 send the letter, 1 wait for the reply.
    fn ask(&mut self, sent: Time, mailbox: Mailbox, wait: Step) -> Option<Step> {
        self.stage += 1;
        if self.stage == 1 {
            self.shared.put(mailbox, Letter { answer: self.answers, sent, via: mailbox.via, marked: false });
            return Some(mailbox.via.wake(mailbox.letters));
        }
        self.done(wait)
    }

    fn send(&mut self, mailbox: Mailbox, sent: Time, answer: Channel, marked: bool) -> Option<Step> {
        self.shared.put(mailbox, Letter { answer, sent, via: mailbox.via, marked });
        self.done(mailbox.via.wake(mailbox.letters))
    }

    /// Stages: 0 check, 1 take the message that the semaphore counts, which is present.
    fn gather(&mut self, mailbox: Mailbox) -> Option<Step> {
        if self.stage == 1 {
            let letter = self.shared.take(mailbox);
            self.post().gathered.extend(letter);
        }
        if self.shared.letters(mailbox) == 0 {
            return self.skip();
        }
        self.stage = 1;
        Some(Step::Wait(mailbox.letters))
    }

    /// Executes a receive. Stages: 0 wait for a letter, 1 take it.
    fn receive(&mut self, mailbox: Mailbox) -> Option<Step> {
        self.stage += 1;
        if self.stage == 1 {
            return Some(Step::Wait(mailbox.letters));
        }
        self.post().letter = self.shared.take(mailbox);
        self.skip()
    }

    /// Stages: 0 report, 1 wake the sender.
    fn answer(&mut self) -> Option<Step> {
        self.stage += 1;
        match self.letter() {
            None => self.skip(),
            Some(letter) if self.stage == 1 => Some(Step::Served(letter.sent)),
            Some(letter) => self.done(letter.via.wake(letter.answer)),
        }
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

    /// The last expiry; `None` if the timer has not been used yet.
    fn last_expiry(&self, timer: u16) -> Option<Time> {
        self.timers[usize::from(timer)]
    }

    fn next_expiry(&mut self, now: Time, timer: u16, period: Span, overrun: Overrun) -> Time {
        let last = self.last_expiry(timer).or(self.origin).unwrap_or(now);
        let mut next = last + period;
        match overrun {
            Overrun::RestartsNow => next = next.max(now),
            Overrun::SkipsPassed if next < now && period > Span::ZERO => {
                next += period * now.since(next).0.div_ceil(period.0);
            }
            Overrun::SkipsPassed | Overrun::KeepsGrid => {}
        }
        self.timers[usize::from(timer)] = Some(next);
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
        // A round without a step is a step without time. The host counts these and stops a task with too many.
        for _ in 0..=script.ops.len() {
            let Some(op) = script.ops.get(self.at) else { return Step::Exit };
            if let Some(step) = self.perform(op, cx) {
                return step;
            }
        }
        Step::Compute(Span::ZERO)
    }
}
