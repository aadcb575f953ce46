//! Messages: the recorded calls by which tasks read from pipes and local sockets and write to them.
//!
//! A message that finds its receiver awake wakes nobody, so scheduling events do not show it. Without it, a receiver
//! that runs earlier or later in a replay works for several messages at once, where it would wait between them. With
//! the calls (`goodness record --messages`), each receiving end is a conduit ([`super::conduits`]).
//!
//! The trace names descriptors, which mean nothing across tasks. Who receives what another sends shows in wakings
//! between calls: a sender wakes the receiver inside its call, or a receiver a sender that waits for room. Tasks that
//! share one channel of a descriptor, as forks do, share the others; a sender that no waking names at all sends as the
//! task forked next to it does. Only wakings in task context count: pipes and local sockets. The network has rules of
//! its own ([`super::connections`], and without calls [`super::answers`] and `dialogues`).
//!
//! A conduit is used only if the recording agrees with it: all that was received had been sent before, nobody waited
//! for what was there already, and no message is larger than a page, which a pipe could divide. Other wakings stay
//! edges.

use super::conduits::{Conduit, Costs};
use super::history::History;
use super::program::{Instruction, Op};
use goodness_core::{Span, TaskId};
use goodness_trace::{Call, Context, SchedEvent};
use std::collections::{BTreeMap, BTreeSet};

/// Largest message that a pipe never divides: `PIPE_BUF`.
const LARGEST: u32 = 4096;
/// A receiver may wait although something is there at most once in this many waits: on several CPUs, what arrives in
/// the last moment. A choice.
const WAITS_FOR_ONE_RACE: u32 = 10;

/// A receiver may receive what nobody sent at most once in this many calls. A choice.
const CALLS_FOR_ONE_WRONG: u32 = 10;

/// Messages of a recording.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Instructions by record, ascending.
    transfers: Vec<(u32, Op)>,
    /// Wakings that follow from them, ascending.
    wakings: Vec<u32>,
    /// CPU time to take out of the burst that ends with a record, ascending.
    extra: Vec<(u32, Span)>,
    /// CPU time of calls that wake and wait.
    pub costs: Costs,
    /// The conduits; they name tasks of the recording.
    pub conduits: Vec<Conduit>,
    /// Number of messages that woke nobody.
    pub unseen: u64,
}

impl Messages {
    /// Finds the messages between tasks that `is_kept` accepts.
    #[must_use]
    pub fn find(history: &History, is_kept: impl Fn(TaskId) -> bool) -> Messages {
        let traffic = Traffic::of(history);
        if traffic.transfers.is_empty() {
            return Messages::default();
        }
        let ends = traffic.receiving_ends(history);
        let mut inboxes: BTreeMap<End, Inbox> = ends.values().map(|end| (*end, Inbox::default())).collect();
        for step in &traffic.steps {
            if let Some(end) = traffic.end_of(step.transfer, &ends)
                && let Some(inbox) = inboxes.get_mut(&end)
            {
                inbox.see(step, &traffic.transfers, |by| traffic.end_of(by, &ends) == Some(end));
            }
        }
        for (&(task, descriptor), end) in &ends {
            if !is_kept(task) || !is_kept(end.0) || traffic.largest(task, descriptor) > LARGEST {
                inboxes.remove(end);
            }
        }
        inboxes.retain(|_, inbox| inbox.is_sound());
        traffic.messages(&ends, &inboxes)
    }

    /// The transfer at `record`.
    #[must_use]
    pub fn at(&self, record: u32) -> Option<Instruction> {
        let place = self.transfers.binary_search_by_key(&record, |(record, _)| *record).ok()?;
        Some(self.transfers[place].1.instruction())
    }

    /// CPU time that the call which ends at `record` took because it woke another task or waited.
    #[must_use]
    pub fn cost_at(&self, record: u32) -> Span {
        let place = self.extra.binary_search_by_key(&record, |(record, _)| *record);
        place.map_or(Span::ZERO, |place| self.extra[place].1)
    }

    /// True if the waking of `record` follows from a transfer.
    #[must_use]
    pub fn has_waking(&self, record: u32) -> bool {
        self.wakings.binary_search(&record).is_ok()
    }
}

/// A task and one of its descriptors.
type End = (TaskId, u32);

/// A call that carries a message.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    task: TaskId,
    descriptor: u32,
    is_send: bool,
    /// True if its task slept in it.
    slept: bool,
    /// Tasks that it woke.
    woke: u16,
    /// CPU time in ns.
    time: u32,
    /// Records of its begin and end.
    begin: u32,
    end: u32,
    /// Bytes; 0 for a call that failed, and at the end of a file.
    bytes: u32,
}

/// Something that happened in a transfer.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Its number among the transfers.
    transfer: u32,
    record: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Begins,
    Ends,
    Sleeps,
    /// Its task was woken within this transfer of another.
    IsWoken(u32),
}

/// All transfers of a recording.
#[derive(Default)]
struct Traffic {
    transfers: Vec<Transfer>,
    /// In the order of the records.
    steps: Vec<Step>,
}

impl Traffic {
    fn of(history: &History) -> Traffic {
        let mut traffic = Traffic::default();
        let mut open: Vec<Option<u32>> = vec![None; history.participants.len()];
        let mut since = vec![history.begin(); history.participants.len()];
        for (record, number) in history.records.iter().zip(0..) {
            match record.event {
                SchedEvent::Call { by: Some(by), call } => {
                    let since = &mut since[by.index()];
                    let time = record.at.since(std::mem::replace(since, record.at));
                    traffic.call(by, call, (number, time), &mut open[by.index()]);
                }
                SchedEvent::Switch { prev, next, prev_state, .. } => {
                    if let Some(next) = next {
                        since[next.index()] = record.at;
                    }
                    if let Some(prev) = prev
                        && let Some(transfer) = open[prev.index()]
                    {
                        traffic.transfers[transfer as usize].account(record.at.since(since[prev.index()]));
                        if !prev_state.is_runnable() {
                            traffic.transfers[transfer as usize].slept = true;
                            traffic.steps.push(Step { transfer, record: number, what: What::Sleeps });
                        }
                    }
                }
                SchedEvent::Waking(wake) if wake.context == Context::Task => {
                    if let (Some(transfer), Some(by)) =
                        (open[wake.task.index()], wake.current.and_then(|by| open[by.index()]))
                    {
                        let woke = &mut traffic.transfers[by as usize].woke;
                        *woke = woke.saturating_add(1);
                        traffic.steps.push(Step { transfer, record: number, what: What::IsWoken(by) });
                    }
                }
                _ => {}
            }
        }
        traffic
    }

    fn call(&mut self, task: TaskId, call: Call, (record, time): (u32, Span), open: &mut Option<u32>) {
        let (is_send, descriptor) = match call {
            Call::Send(descriptor) => (true, descriptor),
            Call::Receive(descriptor) => (false, descriptor),
            Call::Returned(bytes) => {
                if let Some(transfer) = open.take() {
                    let it = &mut self.transfers[transfer as usize];
                    it.account(time);
                    (it.end, it.bytes) = (record, bytes.max(0) as u32);
                    self.steps.push(Step { transfer, record, what: What::Ends });
                }
                return;
            }
        };
        let transfer = self.transfers.len() as u32;
        *open = Some(transfer);
        self.transfers.push(Transfer {
            task,
            descriptor,
            is_send,
            slept: false,
            woke: 0,
            time: 0,
            begin: record,
            end: record,
            bytes: 0,
        });
        self.steps.push(Step { transfer, record, what: What::Begins });
    }

    /// The receiving end for each sending end.
    fn receiving_ends(&self, history: &History) -> BTreeMap<End, End> {
        let mut votes = BTreeMap::<End, BTreeMap<End, u32>>::new();
        for step in &self.steps {
            let What::IsWoken(by) = step.what else { continue };
            let (woken, by) = (&self.transfers[step.transfer as usize], &self.transfers[by as usize]);
            let (from, to) = match (by.is_send, woken.is_send) {
                (true, false) => (by, woken),
                (false, true) => (woken, by),
                _ => continue,
            };
            *votes.entry(from.own_end()).or_default().entry(to.own_end()).or_default() += 1;
        }
        let most = |votes: &BTreeMap<End, u32>| votes.iter().max_by_key(|(_, count)| **count).map(|(end, _)| *end);
        let seen: BTreeMap<End, End> = votes.iter().filter_map(|(from, votes)| Some((*from, most(votes)?))).collect();
        let senders = self.transfers.iter().filter(|it| it.is_send && it.bytes > 0).map(Transfer::own_end).collect();
        let seen = with_shared(&seen, &senders);
        let parent = |task: TaskId| history.participant(task).parent;
        with_siblings(&seen, &senders, |task, other| parent(task).is_some() && parent(task) == parent(other))
    }

    /// The receiving end that a transfer concerns.
    fn end_of(&self, transfer: u32, ends: &BTreeMap<End, End>) -> Option<End> {
        let it = &self.transfers[transfer as usize];
        if it.is_send { ends.get(&it.own_end()).copied() } else { Some(it.own_end()) }
    }

    /// Size of the largest message from this end.
    fn largest(&self, task: TaskId, descriptor: u32) -> u32 {
        let from = self.transfers.iter().filter(|it| it.is_send && it.own_end() == (task, descriptor));
        from.map(|it| it.bytes).max().unwrap_or(0)
    }

    /// The messages through `inboxes`.
    fn messages(&self, ends: &BTreeMap<End, End>, inboxes: &BTreeMap<End, Inbox>) -> Messages {
        let mut found = Messages { conduits: conduits(inboxes), ..Messages::default() };
        let number: BTreeMap<End, u32> = inboxes.keys().copied().zip(0..).collect();
        let conduit = |transfer: u32| number.get(&self.end_of(transfer, ends)?).copied();
        let used = |transfer: &(&Transfer, u32)| conduit(transfer.1).is_some() && transfer.0.bytes > 0;
        found.costs = costs(self.transfers.iter().zip(0..).filter(used).map(|(it, _)| it));
        for (it, transfer) in self.transfers.iter().zip(0..) {
            let Some(conduit) = conduit(transfer).filter(|_| it.bytes > 0) else { continue };
            if !it.is_send && inboxes[&it.own_end()].foreign.contains(&transfer) {
                continue;
            }
            found.unseen += u64::from(it.is_send);
            let extra = it.extra(found.costs);
            if extra > Span::ZERO {
                found.extra.push((it.end, extra));
            }
            found.transfers.push(match it.is_send {
                // A sender has the message in hand at the end of the call, a waiter for room before it.
                true if !it.slept => (it.end, Op::new(Instruction::Send(conduit, it.bytes))),
                true => (it.begin, Op::new(Instruction::Send(conduit, it.bytes))),
                false => (it.begin, Op::new(Instruction::Receive(conduit, it.bytes))),
            });
        }
        found.transfers.sort_unstable_by_key(|(record, _)| *record);
        found.extra.sort_unstable_by_key(|(record, _)| *record);
        for step in &self.steps {
            let What::IsWoken(by) = step.what else { continue };
            let here = conduit(step.transfer).filter(|_| self.transfers[step.transfer as usize].bytes > 0);
            if here.is_some() && here == conduit(by) {
                found.wakings.push(step.record);
                found.unseen -= u64::from(self.transfers[by as usize].is_send);
            }
        }
        found
    }
}

impl Transfer {
    /// Adds CPU time.
    fn account(&mut self, time: Span) {
        self.time = self.time.saturating_add(time.0.try_into().unwrap_or(u32::MAX));
    }

    /// The part of its CPU time that is for waking and waiting.
    fn extra(&self, costs: Costs) -> Span {
        costs.wake * u64::from(self.woke) + if self.slept { costs.wait } else { Span::ZERO }
    }

    fn own_end(&self) -> End {
        (self.task, self.descriptor)
    }
}

/// Adds the receivers of `senders` that woke nobody: those that a task has for the same descriptor which shares a
/// channel with them.
fn with_shared(seen: &BTreeMap<End, End>, senders: &BTreeSet<End>) -> BTreeMap<End, End> {
    let mut sharing = BTreeMap::<(u32, End), Vec<TaskId>>::new();
    for ((task, descriptor), to) in seen {
        sharing.entry((*descriptor, *to)).or_default().push(*task);
    }
    let mut all = seen.clone();
    for &(task, descriptor) in senders.iter().filter(|from| !seen.contains_key(from)) {
        let own = seen.range((task, 0)..=(task, u32::MAX));
        let mut siblings = own.flat_map(|((_, shared), to)| &sharing[&(*shared, *to)]);
        if let Some(to) = siblings.find_map(|sibling| seen.get(&(*sibling, descriptor))) {
            all.insert((task, descriptor), *to);
        }
    }
    all
}

/// Adds the receivers of `senders` that are still unknown: those of the nearest sibling for the same descriptor.
fn with_siblings(
    seen: &BTreeMap<End, End>,
    senders: &BTreeSet<End>,
    are_siblings: impl Fn(TaskId, TaskId) -> bool,
) -> BTreeMap<End, End> {
    let mut all = seen.clone();
    for &(task, descriptor) in senders.iter().filter(|from| !seen.contains_key(from)) {
        let own = || seen.range((task, 0)..=(task, u32::MAX));
        let agree =
            |other: TaskId| own().all(|((_, its), to)| seen.get(&(other, *its)).is_none_or(|theirs| theirs == to));
        let others = seen.iter().filter(|((other, its), _)| *its == descriptor && are_siblings(task, *other));
        let nearest =
            others.filter(|((other, _), _)| agree(*other)).min_by_key(|((other, _), _)| other.0.abs_diff(task.0));
        if let Some((_, to)) = nearest {
            all.insert((task, descriptor), *to);
        }
    }
    all
}

/// A receiving end, while the steps of its transfers are gone through.
#[derive(Clone, Debug, Default)]
struct Inbox {
    /// Bytes of calls that have begun and of those that have ended.
    begun: u64,
    sent: u64,
    received: u64,
    /// Size of its largest message.
    largest: u32,
    /// Waits of the receiver, and those with something there.
    waits: u32,
    races: u32,
    /// Calls that received.
    calls: u32,
    /// Calls that received what had not been sent, and how many of them came after something was.
    foreign: BTreeSet<u32>,
    wrong: u32,
    /// Senders that wait for room.
    full: BTreeSet<u32>,
    /// Bytes there when senders began to wait for room, and when the receiver woke them.
    filled: Vec<u64>,
    drained: Vec<u64>,
    /// The call that woke senders last, how many it has woken, and how many waited.
    wakes: (u32, u32, u32),
    /// Calls that woke all of several senders, and only one.
    woke_all: u32,
    woke_one: u32,
}

impl Inbox {
    /// A transfer of this end makes a `step`; `is_here` tells of others whether they are of this end.
    fn see(&mut self, step: &Step, transfers: &[Transfer], is_here: impl Fn(u32) -> bool) {
        let it = &transfers[step.transfer as usize];
        let bytes = u64::from(it.bytes);
        match (step.what, it.is_send) {
            (What::Begins, true) => {
                self.begun += bytes;
                self.largest = self.largest.max(it.bytes);
            }
            (What::Ends, true) => self.sent += bytes,
            (What::Begins, false) => {}
            // A descriptor may have belonged to another file before.
            (What::Ends, false) if self.received + bytes > self.begun => {
                self.foreign.insert(step.transfer);
                self.wrong += u32::from(self.begun > 0);
            }
            (What::Ends, false) => {
                self.received += bytes;
                self.calls += 1;
            }
            (What::Sleeps, true) if it.bytes > 0 => {
                self.full.insert(step.transfer);
                self.filled.push(self.sent.saturating_sub(self.received));
            }
            (What::Sleeps, false) if it.bytes > 0 => {
                self.waits += 1;
                self.races += u32::from(self.sent > self.received);
            }
            (What::IsWoken(by), true) if is_here(by) => self.let_go_on(step.transfer, by, &transfers[by as usize]),
            _ => {}
        }
    }

    /// A sender that waited for room is woken in the call `by`.
    fn let_go_on(&mut self, sender: u32, by: u32, call: &Transfer) {
        let waiting = self.full.len() as u32;
        if !self.full.remove(&sender) || call.is_send {
            return;
        }
        if self.wakes.0 != by {
            self.drained.push(self.sent.saturating_sub(self.received + u64::from(call.bytes)));
            self.note_wakes();
            self.wakes = (by, 0, waiting);
        }
        self.wakes.1 += 1;
    }

    fn note_wakes(&mut self) {
        let (_, woken, waiting) = self.wakes;
        if waiting > 1 {
            *(if woken > 1 { &mut self.woke_all } else { &mut self.woke_one }) += 1;
        }
    }

    fn is_sound(&self) -> bool {
        self.calls > 0
            && self.wrong * CALLS_FOR_ONE_WRONG <= self.calls
            && self.races * WAITS_FOR_ONE_RACE <= self.waits
    }
}

/// Common properties of conduits of one size of message.
#[derive(Default)]
struct Kind {
    filled: Vec<u64>,
    drained: Vec<u64>,
    woke_all: u32,
    woke_one: u32,
}

/// The conduits of `inboxes`. Those with messages of one size are of one kind: not all need have been full.
fn conduits(inboxes: &BTreeMap<End, Inbox>) -> Vec<Conduit> {
    let mut kinds = BTreeMap::<u32, Kind>::new();
    for inbox in inboxes.values() {
        let mut inbox = inbox.clone();
        inbox.note_wakes();
        let kind = kinds.entry(inbox.largest).or_default();
        kind.filled.append(&mut inbox.filled);
        kind.drained.append(&mut inbox.drained);
        kind.woke_all += inbox.woke_all;
        kind.woke_one += inbox.woke_one;
    }
    let conduit = |(end, inbox): (&End, &Inbox)| {
        let kind = &kinds[&inbox.largest];
        let capacity = median(&kind.filled).unwrap_or(u64::MAX).max(1);
        Conduit {
            receiver: end.0,
            capacity,
            low: median(&kind.drained).unwrap_or(u64::MAX).min(capacity - 1),
            wakes_all: kind.woke_all >= kind.woke_one,
            is_cut_off: false,
        }
    };
    inboxes.iter().map(conduit).collect()
}

/// Extra time of calls that wake one task, or wait, over those that do neither: medians.
fn costs<'a>(transfers: impl Iterator<Item = &'a Transfer> + Clone) -> Costs {
    let median = |is: fn(&Transfer) -> bool| {
        let times: Vec<u64> = transfers.clone().filter(|it| is(it)).map(|it| it.time.into()).collect();
        median(&times).map(Span)
    };
    let beyond = |more: Option<Span>, plain: Option<Span>| match (more, plain) {
        (Some(more), Some(plain)) => more.saturating_sub(plain),
        _ => Span::ZERO,
    };
    let sends = median(|it| it.is_send && it.woke == 0 && !it.slept);
    let receives = median(|it| !it.is_send && it.woke == 0 && !it.slept);
    Costs {
        wake: beyond(median(|it| it.is_send && it.woke == 1 && !it.slept), sends),
        wait: beyond(median(|it| !it.is_send && it.woke == 0 && it.slept), receives),
    }
}

fn median(samples: &[u64]) -> Option<u64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}
