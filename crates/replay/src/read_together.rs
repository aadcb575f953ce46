//! Event loops that read every message that is there before they answer any, and answer the last one read first, as
//! Redis does.
//!
//! A recording shows each answer, and not what was read. So all that the loop did before its first answer would belong
//! to that one; in a replay, where requests come together in other numbers, one that comes alone would take as long as
//! eight. Here the loop's turns are divided into *batches*: the turns whose messages were there at the batch's first
//! answer. The time before that answer, beyond that of others, was spent on reading, in equal parts for each message.
//! In a replay the loop reads all messages that are there, and then answers them (`loop_rounds`).
//!
//! `epoll` says the order of reading: a peer that was reported stays in the list of those that are ready until the next
//! look finds that it is not. So the peers of the batch before come first, in that batch's order, unless the loop has
//! slept since; then those that became ready, in order of time.
//!
//! This is an inference, made only for a loop whose answers come in the reverse of that order nine times of ten. (In
//! the recordings of Redis they do in more than 99 % of batches.) No instruction waits between reading and answering,
//! so it cannot deadlock.

use super::causes::RECURRING;
use super::conversations::{Answer, Begun};
use super::draft::Draft;
use super::program::{Instruction, Op};
use goodness_core::{Span, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Turns whose messages were read together, in the order of their answers.
type Batch = Vec<Answer>;

/// Divides the turns of those loops that read messages together into reading and answering. `begun` are the turns of
/// all loops, in order of time. In other loops a message that was passed over starts no turn: returns the number of
/// these.
pub fn divide_turns(drafts: &mut [Draft], begun: &[Begun]) -> u64 {
    let mut by_loop = BTreeMap::<TaskId, Vec<Begun>>::new();
    for turn in begun {
        by_loop.entry(turn.by).or_default().push(*turn);
    }
    let mut peers = BTreeMap::<Answer, TaskId>::new();
    for draft in drafts.iter().filter(|_| !begun.is_empty()) {
        let answers = draft.ops.iter().filter_map(|op| match op.instruction() {
            Instruction::Answer(answer) => Some((answer, draft.recorded)),
            _ => None,
        });
        peers.extend(answers);
    }
    let mut passed_over = 0;
    for draft in drafts {
        let Some(turns) = by_loop.get(&draft.recorded) else { continue };
        let batches = batches(turns);
        if answers_in_reverse(&batches, &peers) {
            let batches: Vec<Batch> =
                batches.iter().map(|batch| batch.iter().map(|turn| turn.answer).collect()).collect();
            draft.ops = divided(&draft.ops, &reading(&draft.ops, &batches));
        } else {
            let ignored: BTreeSet<Answer> =
                turns.iter().filter(|turn| turn.is_passed_over).map(|turn| turn.answer).collect();
            let before = draft.ops.len();
            draft.ops.retain(|op| !matches!(op.instruction(), Instruction::BeginTurn(it) if ignored.contains(&it)));
            passed_over += (before - draft.ops.len()) as u64;
        }
    }
    passed_over
}

/// The turns of a loop by batch.
fn batches(turns: &[Begun]) -> Vec<&[Begun]> {
    let mut batches = Vec::new();
    let mut rest = turns;
    while let Some(first) = rest.first() {
        let others = rest[1..].iter().take_while(|turn| turn.came <= first.acted).count();
        let (batch, later) = rest.split_at(1 + others);
        batches.push(batch);
        rest = later;
    }
    batches
}

/// True if a loop answers in reverse what it has read: nine of ten times that one turn of a batch follows another.
fn answers_in_reverse(batches: &[&[Begun]], peers: &BTreeMap<Answer, TaskId>) -> bool {
    let mut before = BTreeMap::<Option<&TaskId>, usize>::new();
    let mut acted = None;
    let (mut as_read, mut pairs) = (0, 0);
    for batch in batches {
        if acted.is_none_or(|acted| batch[0].slept > acted) {
            before.clear();
        }
        let place = |turn: &Begun| (before.get(&peers.get(&turn.answer)).copied().unwrap_or(usize::MAX), turn.came);
        as_read += batch.windows(2).filter(|two| place(&two[0]) > place(&two[1])).count();
        pairs += batch.len() - 1;
        // Of a peer that was answered twice, the first place counts.
        before = batch.iter().map(|turn| peers.get(&turn.answer)).zip((0..batch.len()).rev()).collect();
        acted = batch.last().map(|turn| turn.acted);
    }
    pairs >= RECURRING as usize && as_read * 10 >= pairs * 9
}

/// CPU time with which the turn at `place` begins, if it begins with any.
fn first_burst(ops: &[Op], place: usize) -> Option<(usize, Span)> {
    let at = place + 1 + ops[place + 1..].iter().position(|op| !op.is_mark())?;
    match ops[at].instruction() {
        Instruction::Run(span) => Some((at, span)),
        _ => None,
    }
}

/// Of each turn: time to read its message, and what to take from the time before its answer.
fn reading(ops: &[Op], batches: &[Batch]) -> BTreeMap<Answer, (Span, Span)> {
    let mut bursts = BTreeMap::<Answer, Span>::new();
    for (place, op) in ops.iter().enumerate() {
        if let Instruction::BeginTurn(answer) = op.instruction() {
            bursts.insert(answer, first_burst(ops, place).map_or(Span::ZERO, |(_, span)| span));
        }
    }
    let burst = |answer: &Answer| bursts.get(answer).copied().unwrap_or_default();
    let mut answering: Vec<Span> = batches.iter().flat_map(|batch| &batch[1..]).map(burst).collect();
    answering.sort_unstable();
    let answering = answering.get(answering.len() / 2).copied().unwrap_or_default();
    let mut reading = BTreeMap::new();
    for batch in batches {
        let whole = Span(burst(&batch[0]).0.saturating_sub(answering.0));
        let each = Span(whole.0 / batch.len() as u64);
        for (place, answer) in batch.iter().enumerate() {
            let rest = Span(whole.0 - each.0 * (batch.len() as u64 - 1));
            reading.insert(*answer, if place == 0 { (rest, whole) } else { (each, Span::ZERO) });
        }
    }
    reading
}

/// The programme with the time for reading before each answer of a turn in `reading`.
fn divided(ops: &[Op], reading: &BTreeMap<Answer, (Span, Span)>) -> Vec<Op> {
    let mut result = Vec::with_capacity(ops.len() + 2 * reading.len());
    let mut shortened: Option<(usize, Span)> = None;
    for (place, op) in ops.iter().enumerate() {
        match (op.instruction(), shortened) {
            (Instruction::Run(span), Some((at, taken))) if at == place => {
                result.extend((span > taken).then(|| Op::new(Instruction::Run(Span(span.0 - taken.0)))));
                continue;
            }
            _ => result.push(*op),
        }
        let Instruction::BeginTurn(answer) = op.instruction() else { continue };
        let Some(&(read, taken)) = reading.get(&answer) else { continue };
        if read > Span::ZERO {
            result.push(Op::new(Instruction::Run(read)));
        }
        result.push(Op::new(Instruction::HasRead(answer)));
        shortened = first_burst(ops, place).map(|(at, _)| (at, taken));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::Instruction::{Answer, BeginTurn, Cut, HasRead, Post, Run};
    use super::*;
    use goodness_core::{CpuId, Start, Time};

    /// Turns of a loop whose messages came at these times, with its first actions 1 apart from 100 on. It never slept.
    fn turns(came: &[u64]) -> Vec<Begun> {
        let turn = |(at, came): (usize, &u64)| Begun {
            by: TaskId(0),
            answer: at as u32,
            came: Time(*came),
            acted: Time(100 + at as u64),
            slept: Time(0),
            is_passed_over: at == 2,
        };
        came.iter().enumerate().map(turn).collect()
    }

    fn in_reverse(turns: &[Begun], peers: &[u32]) -> bool {
        let peers = peers.iter().zip(0..).map(|(peer, answer)| (answer, TaskId(*peer))).collect();
        answers_in_reverse(&batches(turns), &peers)
    }

    #[test]
    fn a_batch_has_what_was_there_at_its_first_answer() {
        let all = turns(&[30, 20, 10, 103, 102, 101, 105]);
        assert_eq!(batches(&all).iter().map(|batch| batch.len()).collect::<Vec<_>>(), [3, 3, 1]);
        assert!(in_reverse(&all, &[3, 2, 1, 4, 5, 6, 7]));
        assert!(!in_reverse(&turns(&[10, 20, 30, 40]), &[1, 2, 3, 4]), "in the order of their coming");
        assert!(!in_reverse(&turns(&[20, 10]), &[1, 2]), "that may be chance");
    }

    #[test]
    fn the_peers_of_the_batch_before_are_read_first_unless_the_loop_slept() {
        let peers = [3, 2, 1, 4, 3, 2, 1];
        let mut all = turns(&[30, 20, 10, 103, 101, 102, 103]);
        assert!(in_reverse(&all, &peers), "1, 2 and 3 again, although 1 came later");
        all[3..].iter_mut().for_each(|turn| turn.slept = Time(103));
        assert!(!in_reverse(&all, &peers));
    }

    #[test]
    fn reading_takes_an_equal_part_of_what_came_before_the_first_answer_and_no_time_is_lost() {
        let mut ops = Vec::new();
        for (answer, burst) in [(0, 19), (1, 4), (2, 4), (3, 4)] {
            ops.extend([BeginTurn(answer), Run(Span(burst)), Post(answer), Run(Span(1))].map(Op::new));
        }
        ops.push(Op::new(Cut));
        let draft = |task, ops: &[Op]| Draft {
            recorded: TaskId(task),
            start: Start::WokenAt(Time(0)),
            cpu: CpuId(0),
            ops: ops.to_vec(),
            timed: Span::ZERO,
        };
        let peer = |answer| draft(1 + answer, &[Op::new(Answer(answer)), Op::new(Cut)]);
        let mut drafts = vec![draft(0, &ops), peer(0), peer(1), peer(2), peer(3)];
        assert_eq!(divide_turns(&mut drafts, &turns(&[10, 20, 30, 40])), 1, "in order");
        assert_eq!(drafts[0].ops.len(), ops.len() - 1, "who was passed over starts no turn");
        drafts[0].ops.clone_from(&ops);
        assert_eq!(divide_turns(&mut drafts, &turns(&[40, 30, 20, 10])), 0);
        let found: Vec<Instruction> = drafts[0].ops.iter().map(|op| op.instruction()).collect();
        assert_eq!(found[..6], [BeginTurn(0), Run(Span(6)), HasRead(0), Run(Span(4)), Post(0), Run(Span(1))]);
        assert_eq!(found[6..12], [BeginTurn(1), Run(Span(3)), HasRead(1), Run(Span(4)), Post(1), Run(Span(1))]);
        let time = |ops: &[Op]| -> u64 {
            ops.iter().map(|op| if let Run(span) = op.instruction() { span.0 } else { 0 }).sum()
        };
        assert_eq!(time(&drafts[0].ops), time(&ops));
    }
}
