//! Turns of event loops that begin with the messages of recorded calls.
//!
//! Each message that a task receives through a connection ([`super::connections`]) begins a turn of its programme; its
//! sender's programme answers where it has sent the last byte. A replay takes the turn whose message came first, and
//! waits while there is none (`loop_rounds`): so the loop waits for any of its connections, and what comes
//! while it is busy queues.
//!
//! A turn begins with the waking that ended the wait for its message, or with the call that receives it. Wakings by
//! messages are no edges: whether a loop sleeps is an outcome of the replay.
//!
//! Some loops read all that is there before they answer, others answer each message before they read the next. Which
//! it is shows where a second message was there before the answer to a first. In a loop that reads together, a turn is
//! divided where it begins to answer ([`Instruction::HasRead`]), and `by_turn` puts both parts together: what a loop
//! writes depends on what it has read from that connection, not on what it read last.

use super::causes::{Cause, Kinds, RECURRING, Rule, is_soft};
use super::connections::{Connection, End, Traffic};
use super::conversations::Answer;
use super::history::History;
use super::loop_rounds::has_its_order;
use super::program::{Instruction, Op};
use goodness_core::TaskId;
use goodness_trace::{Call, SchedEvent, Wake};
use std::collections::{BTreeMap, BTreeSet};

/// The turns of a recording.
#[derive(Clone, Debug, Default)]
pub struct MessageTurns {
    /// Instructions by the record of their call, ascending.
    instructions: Vec<(u32, Op)>,
    /// Wakings by messages, ascending, and the turn that begins with each, if one does.
    wakings: Vec<(u32, Option<Answer>)>,
    /// Tasks with connections, and the programs at the other ends.
    partners: BTreeSet<(TaskId, u32)>,
    /// Number of connections by the programs at both ends, in either order.
    connections: BTreeMap<(u32, u32), u32>,
    /// Number of turns.
    turns: u32,
}

/// A message, as its receiver sees it.
#[derive(Clone, Copy, Debug)]
struct Turn {
    task: TaskId,
    /// The connection, by number.
    connection: usize,
    /// Its sender.
    sender: TaskId,
    /// Begin and end of the calls that send its last byte and that receive it.
    send: (u32, u32),
    receipt: (u32, u32),
    /// Begin of the first call that writes to the same connection before the next receipt from it.
    answer: Option<u32>,
}

impl MessageTurns {
    /// The turns by messages between tasks that `is_kept` accepts.
    #[must_use]
    pub fn find(history: &History, rule: &Rule, is_kept: impl Fn(TaskId) -> bool) -> MessageTurns {
        if !history.records.iter().any(|it| matches!(it.event, SchedEvent::Call { .. })) {
            return MessageTurns::default();
        }
        let traffic = Traffic::of(history, rule, is_kept);
        let connections = traffic.connections(history);
        if connections.is_empty() {
            return MessageTurns::default();
        }
        let turns = turns(&traffic, &connections);
        let mut found = MessageTurns {
            instructions: instructions(&turns),
            wakings: Wakings::find(history, rule, &connections, &turns),
            turns: turns.len() as u32,
            ..MessageTurns::default()
        };
        for it in &connections {
            let [one, other] = it.ends.map(|(task, _)| history.participant(task).program);
            found.partners.extend([(it.ends[0].0, other), (it.ends[1].0, one)]);
            for programs in [(one, other), (other, one)] {
                *found.connections.entry(programs).or_default() += 1;
            }
        }
        found
    }

    /// Instructions at the call of `record`.
    pub fn at(&self, record: u32) -> impl Iterator<Item = Instruction> + '_ {
        let first = self.instructions.partition_point(|(it, _)| *it < record);
        let here = self.instructions[first..].iter().take_while(move |(it, _)| *it == record);
        here.map(|(_, op)| op.instruction())
    }

    /// The turn that begins with the waking of `record`, if one does; `None` if that is no waking by a message.
    #[must_use]
    pub fn waking(&self, record: u32) -> Option<Option<Answer>> {
        let place = self.wakings.binary_search_by_key(&record, |(record, _)| *record).ok()?;
        Some(self.wakings[place].1)
    }

    /// True if `task` has connections to `program`.
    #[must_use]
    pub fn is_partner(&self, task: TaskId, program: u32) -> bool {
        self.partners.contains(&(task, program))
    }

    /// Number of connections between programs whose names are `client` and `server`.
    #[must_use]
    pub fn connections(&self, history: &History, client: &str, server: &str) -> u32 {
        let is_called = |program: u32, name: &str| {
            history.participants.iter().find(|it| it.program == program).is_some_and(|it| it.name == name)
        };
        let between =
            self.connections.iter().filter(|((one, other), _)| is_called(*one, client) && is_called(*other, server));
        between.map(|(_, count)| count).sum()
    }

    /// Number of turns. They are numbered from 0.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.turns
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns == 0
    }

    /// Number of messages that woke nobody.
    #[must_use]
    pub fn unseen(&self) -> u64 {
        u64::from(self.turns).saturating_sub(self.wakings.len() as u64)
    }
}

/// All turns, in the order of their receipts.
fn turns(traffic: &Traffic, connections: &[Connection]) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (connection, it) in connections.iter().enumerate() {
        for (place, received) in it.received.iter().enumerate() {
            let (end, (sender, _)) = (it.ends[place], it.ends[1 - place]);
            let own = traffic.at(end).map_or(&[][..], |it| &it.sends);
            for (message, next) in received.iter().zip(1..) {
                let until = received.get(next).map_or(u32::MAX, |next| next.receipt.begin);
                let first = own.partition_point(|send| send.begin <= message.receipt.end);
                let answer = own.get(first).map(|send| send.begin).filter(|begin| *begin < until);
                let (send, receipt) = (message.send, message.receipt);
                let (send, receipt) = ((send.begin, send.end), (receipt.begin, receipt.end));
                turns.push(Turn { task: end.0, connection, sender, send, receipt, answer });
            }
        }
    }
    turns.sort_unstable_by_key(|turn| (turn.receipt, turn.connection));
    turns
}

/// The instructions of `turns`, whose places are their numbers.
fn instructions(turns: &[Turn]) -> Vec<(u32, Op)> {
    let together = reading_together(turns);
    let mut found = Vec::with_capacity(2 * turns.len());
    for (turn, answer) in turns.iter().zip(0..) {
        found.push((turn.receipt.0, Op::new(Instruction::BeginTurn(answer))));
        if let Some(begin) = turn.answer.filter(|_| together.contains(&turn.task)) {
            found.push((begin, Op::new(Instruction::HasRead(answer))));
        }
    }
    for (turn, answer) in turns.iter().zip(0..) {
        // On several CPUs a message can be received before the call that sends it has ended.
        let sent = if turn.send.1 < turn.receipt.1 { turn.send.1 } else { turn.send.0 };
        found.push((sent, Op::new(Instruction::Answer(answer))));
    }
    found.sort_by_key(|(record, _)| *record);
    found
}

/// Tasks that read what is there before they answer: in most cases where a second message of another connection was
/// there before the answer to a first, they read it before that.
fn reading_together(turns: &[Turn]) -> BTreeSet<TaskId> {
    let mut last = BTreeMap::<TaskId, Turn>::new();
    let mut counts = BTreeMap::<TaskId, (u32, u32)>::new();
    for turn in turns {
        let Some(before) = last.insert(turn.task, *turn) else { continue };
        let Some(answer) = before.answer.filter(|_| before.connection != turn.connection) else { continue };
        if turn.send.1 < answer {
            let (there, together) = counts.entry(turn.task).or_default();
            *there += 1;
            *together += u32::from(turn.receipt.0 < answer);
        }
    }
    let is_usual = |(there, together): (u32, u32)| together >= RECURRING && together * 2 > there;
    counts.into_iter().filter(|(_, counts)| is_usual(*counts)).map(|(task, _)| task).collect()
}

/// State of the search for wakings by messages.
struct Wakings<'a> {
    turns: &'a [Turn],
    /// Turns of each task, in order.
    of: Vec<Vec<Answer>>,
    /// The task at the other end of each descriptor.
    others: BTreeMap<End, TaskId>,
    /// Descriptor to which each task is sending.
    sends: Vec<Option<u32>>,
    /// Record at which each task went to sleep last.
    slept: Vec<u32>,
}

impl Wakings<'_> {
    /// The wakings of `history` by the messages of `turns`.
    fn find(history: &History, rule: &Rule, connections: &[Connection], turns: &[Turn]) -> Vec<(u32, Option<Answer>)> {
        let tasks = history.participants.len();
        let others = connections.iter().flat_map(|it| [(it.ends[0], it.ends[1].0), (it.ends[1], it.ends[0].0)]);
        let mut of = vec![Vec::new(); tasks];
        for (turn, answer) in turns.iter().zip(0..) {
            of[turn.task.index()].push(answer);
        }
        let (sends, slept) = (vec![None; tasks], vec![0; tasks]);
        let mut wakings = Wakings { turns, of, others: others.collect(), sends, slept };
        let mut found = Vec::new();
        for (record, number) in history.records.iter().zip(0..) {
            if let Some(wake) = history.waking(record).filter(|wake| is_soft(wake.context)) {
                let cause = rule.judge(&wake, &mut Kinds::default());
                found.extend(wakings.by_message(&wake, cause, number).map(|begins| (number, begins)));
            }
            match record.event {
                SchedEvent::Call { by: Some(by), call: Call::Send(to) } => wakings.sends[by.index()] = Some(to),
                SchedEvent::Call { by: Some(by), .. } => wakings.sends[by.index()] = None,
                SchedEvent::Switch { prev: Some(prev), prev_state, .. } if !prev_state.is_runnable() => {
                    wakings.slept[prev.index()] = number;
                }
                _ => {}
            }
        }
        found
    }

    /// The turn that begins with this waking, if one does; `None` if no message caused it. Its waker is sending to the
    /// woken task; or the message that this one receives next was sent while it slept, and its arrival was put off.
    fn by_message(&self, wake: &Wake, cause: Cause, record: u32) -> Option<Option<Answer>> {
        let own = &self.of[wake.task.index()];
        let next = own[own.partition_point(|it| self.turns[*it as usize].receipt.1 < record)..].first();
        let next = *next?;
        let turn = self.turns[next as usize];
        // Calls tell it even if such wakings are rare.
        let is_sender = wake.current.is_some_and(|by| {
            let to = self.sends[by.index()].and_then(|to| self.others.get(&(by, to)));
            to == Some(&wake.task)
        });
        let was_put_off = turn.send.0 > self.slept[wake.task.index()] && turn.send.0 < record;
        let is_message = match cause {
            Cause::Edge(by) => is_sender || (by == turn.sender && was_put_off),
            Cause::External => is_sender || was_put_off,
        };
        is_message.then(|| Some(next).filter(|_| turn.send.0 < record))
    }
}

/// The programme with each part that begins to answer put behind the beginning of its turn. A turn whose beginning has
/// another place because of an instruction with a fixed order is not divided.
#[must_use]
pub fn by_turn(ops: &[Op]) -> Vec<Op> {
    let mut result = Vec::with_capacity(ops.len());
    let mut turns: Vec<(Answer, Vec<Op>)> = Vec::new();
    let mut here = None;
    for op in ops {
        match op.instruction() {
            Instruction::BeginTurn(answer) => {
                here = Some(turns.len());
                turns.push((answer, vec![*op]));
            }
            Instruction::HasRead(answer) => {
                if let Some(place) = turns.iter().rposition(|(begun, _)| *begun == answer) {
                    here = Some(place);
                    turns[place].1.push(*op);
                }
            }
            instruction if has_its_order(instruction) => {
                result.extend(turns.drain(..).flat_map(|(_, ops)| ops));
                here = None;
                result.push(*op);
            }
            _ => match here {
                Some(place) => turns[place].1.push(*op),
                None => result.push(*op),
            },
        }
    }
    result.extend(turns.into_iter().flat_map(|(_, ops)| ops));
    result
}
