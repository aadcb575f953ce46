//! Connections: which descriptor of one task is the other end of which descriptor of another.
//!
//! Recorded calls (`goodness record --messages`) name descriptors, which mean nothing across tasks. Two descriptors may
//! be the two ends of one connection only if, in both directions, no byte is received before it was sent. The pairs of
//! descriptors of two programs that communicate through the network are compared by that rule. One is taken if one of
//! its two ends has no other candidate; then both leave the search, until nothing changes.
//!
//! What is still open is compared by sleeps: a task that sleeps outside its calls although bytes lie at its end does
//! not wait for that end. Pairs in which that is usual are no candidates, and the search goes on. It is the second rule
//! because a server may sleep for something else in the middle of a request. What stays open is not guessed.
//!
//! A descriptor that was closed and opened for another connection breaks the first rule, as a rule. Receipts before the
//! first send from the other end are of another file.

use super::causes::{Cause, Kinds, RECURRING, Rule, is_soft};
use super::history::History;
use goodness_core::TaskId;
use goodness_trace::{Call, SchedEvent};
use std::collections::{BTreeMap, BTreeSet};

/// A receiver may sleep beside at most one message in this many: on several CPUs, what arrives in the last moment. A
/// choice.
const MESSAGES_FOR_ONE_RACE: usize = 10;

/// A task and one of its descriptors.
pub type End = (TaskId, u32);

/// A call that carried bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Record of its beginning.
    pub begin: u32,
    /// Record of its end.
    pub end: u32,
    /// Number of bytes.
    pub bytes: u32,
}

/// Bytes received with one call, and the call that sent the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The call that completed it.
    pub send: Transfer,
    /// The call that received it.
    pub receipt: Transfer,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its ends.
    pub ends: [End; 2],
    /// Messages that each end received, in order.
    pub received: [Vec<Message>; 2],
}

/// Calls of one descriptor that carried bytes.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// Calls that sent.
    pub sends: Vec<Transfer>,
    /// Calls that received.
    pub receipts: Vec<Transfer>,
}

/// The calls of a recording, and what tells their connections apart.
#[derive(Debug)]
pub struct Traffic {
    /// Calls by descriptor.
    ends: BTreeMap<End, Transfers>,
    /// Records at which each task went to sleep outside its calls.
    sleeps: Vec<Vec<u32>>,
    /// Pairs of programs that communicate through the network, the smaller number first.
    programs: BTreeSet<(u32, u32)>,
}

impl Traffic {
    /// Reads the calls of the tasks that `is_kept` accepts.
    #[must_use]
    pub fn of(history: &History, rule: &Rule, is_kept: impl Fn(TaskId) -> bool) -> Traffic {
        let tasks = history.participants.len();
        let mut traffic = Traffic { ends: BTreeMap::new(), sleeps: vec![Vec::new(); tasks], programs: BTreeSet::new() };
        let mut under_way: Vec<Option<(Call, u32)>> = vec![None; tasks];
        for (record, number) in history.records.iter().zip(0..) {
            if let Some(wake) = history.waking(record)
                && is_soft(wake.context)
                && let Cause::Edge(by) = rule.judge(&wake, &mut Kinds::default())
            {
                let (one, other) = (history.participant(by).program, history.participant(wake.task).program);
                traffic.programs.extend((one != other).then_some((one.min(other), one.max(other))));
            }
            match record.event {
                SchedEvent::Call { by: Some(by), call } if is_kept(by) => {
                    traffic.call(by, call, number, &mut under_way[by.index()]);
                }
                SchedEvent::Switch { prev: Some(prev), prev_state, .. }
                    if !prev_state.is_runnable() && under_way[prev.index()].is_none() =>
                {
                    traffic.sleeps[prev.index()].push(number);
                }
                _ => {}
            }
        }
        traffic
    }

    fn call(&mut self, task: TaskId, call: Call, record: u32, under_way: &mut Option<(Call, u32)>) {
        let Call::Returned(bytes) = call else {
            *under_way = Some((call, record));
            return;
        };
        let Some((call, begin)) = under_way.take().filter(|_| bytes > 0) else { return };
        let transfer = Transfer { begin, end: record, bytes: bytes as u32 };
        match call {
            Call::Send(descriptor) => self.ends.entry((task, descriptor)).or_default().sends.push(transfer),
            Call::Receive(descriptor) => self.ends.entry((task, descriptor)).or_default().receipts.push(transfer),
            Call::Returned(_) => {}
        }
    }

    /// Calls of this descriptor.
    #[must_use]
    pub fn at(&self, end: End) -> Option<&Transfers> {
        self.ends.get(&end)
    }

    /// The connections that the calls decide, in the order of their first ends.
    #[must_use]
    pub fn connections(&self, history: &History) -> Vec<Connection> {
        if self.programs.is_empty() {
            return Vec::new();
        }
        let is_end = |it: &&Transfers| it.sends.len().min(it.receipts.len()) >= RECURRING as usize;
        let ends: Vec<End> = self.ends.iter().filter(|(_, it)| is_end(it)).map(|(end, _)| *end).collect();
        let program = |end: End| history.participant(end.0).program;
        let mut open = BTreeMap::<(End, End), bool>::new();
        for (place, &one) in ends.iter().enumerate() {
            for &other in &ends[place + 1..] {
                let programs = (program(one).min(program(other)), program(one).max(program(other)));
                if self.programs.contains(&programs)
                    && let Some(connection) = self.between(one, other)
                {
                    open.insert((one, other), self.sleeps_beside(&connection));
                }
            }
        }
        let mut pairs = decided(&mut open);
        open.retain(|_, sleeps_beside| !*sleeps_beside);
        pairs.append(&mut decided(&mut open));
        pairs.sort_unstable();
        pairs.into_iter().filter_map(|(one, other)| self.between(one, other)).collect()
    }

    /// The connection of two ends; `None` if something was received before it was sent.
    fn between(&self, one: End, other: End) -> Option<Connection> {
        let (first, second) = (self.at(one)?, self.at(other)?);
        let received = [messages(&second.sends, &first.receipts)?, messages(&first.sends, &second.receipts)?];
        let is_used = received.iter().all(|it| it.len() >= RECURRING as usize);
        is_used.then_some(Connection { ends: [one, other], received })
    }

    /// True if a receiver usually sleeps beside what was sent to it.
    fn sleeps_beside(&self, connection: &Connection) -> bool {
        connection.ends.iter().zip(&connection.received).any(|((task, _), received)| {
            let sleeps = &self.sleeps[task.index()];
            let is_left = |it: &&Message| {
                let next = sleeps.partition_point(|sleep| *sleep <= it.send.end);
                sleeps.get(next).is_some_and(|sleep| *sleep < it.receipt.begin)
            };
            received.iter().filter(is_left).count() * MESSAGES_FOR_ONE_RACE > received.len()
        })
    }
}

/// Messages that `receipts` got from `sends`; `None` if they got more than was sent at any time.
fn messages(sends: &[Transfer], receipts: &[Transfer]) -> Option<Vec<Message>> {
    let first = sends.first()?.begin;
    let (mut next, mut sent, mut received) = (0, 0, 0);
    let mut found = Vec::new();
    for receipt in receipts.iter().filter(|it| it.end > first) {
        received += u64::from(receipt.bytes);
        while sent < received {
            let send = sends.get(next).filter(|it| it.begin < receipt.end)?;
            sent += u64::from(send.bytes);
            next += 1;
        }
        found.push(Message { send: sends[next - 1], receipt: *receipt });
    }
    Some(found)
}

/// Takes the pairs out of `open` of which one end has no other candidate, and all others of their ends, until nothing
/// changes. Two ends with the same only candidate decide nothing.
fn decided<T>(open: &mut BTreeMap<(End, End), T>) -> Vec<(End, End)> {
    let mut found = Vec::new();
    loop {
        let mut partners = BTreeMap::<End, Vec<End>>::new();
        for &(one, other) in open.keys() {
            partners.entry(one).or_default().push(other);
            partners.entry(other).or_default().push(one);
        }
        let only = |end: &End| partners[end].len() == 1;
        // Of those that have no other candidate than `end`, there is one, or `end` itself has no other.
        let is_sole = |end: &End| partners[end].iter().filter(|it| only(it)).count() == 1;
        let is_decided = |(one, other): &&(End, End)| (only(one) && is_sole(other)) || (only(other) && is_sole(one));
        let new: Vec<(End, End)> = open.keys().filter(is_decided).copied().collect();
        if new.is_empty() {
            return found;
        }
        let taken: BTreeSet<End> = new.iter().flat_map(|(one, other)| [*one, *other]).collect();
        open.retain(|(one, other), _| !taken.contains(one) && !taken.contains(other));
        found.extend(new);
    }
}
