//! Open ends: what a task does once its recorded programme is over.
//!
//! A recording shows what tasks got under one scheduler. Demand does not end with it: a task that gets more under
//! another scheduler reaches the end of its programme early. It then starts again at the beginning of the recording,
//! for another *lap*. Laps keep together what depends on each other: in each lap every edge is posted as often as it is
//! waited for, so a wake-up finds its waiter in the second lap as in the first, and whole requests repeat. A task that
//! never blocked computes on; one that had cycles has them again.
//!
//! Later laps leave out the first [`START_UP`]th of the recording, where tasks are started and wait for each other: the
//! task that started them has something else to do until the end. A wait for what was posted there lasts as long as
//! recorded in later laps.
//!
//! | in the recording | in the replay |
//! |---|---|
//! | alive at the end | another lap, after a sleep as long as its cut wait and the wait it began with |
//! | stopped at the end by a clock | the same |
//! | a child that ended, of a parent that goes on | waits to be forked again |
//! | ended for good | ends; in later laps its wake-ups come after the recorded delay |

use crate::draft::Draft;
use crate::program::{Instruction, Op};
use goodness_core::{Span, Start, TaskId};
use std::collections::BTreeMap;

/// What happens in laps after the first.
#[derive(Clone, Debug, Default)]
pub struct OpenEnds {
    /// Edges that nobody posts in later laps, and how long the recorded waits for them lasted.
    pub delays: BTreeMap<u32, Span>,
    /// Answers that nobody gives in later laps, by their number.
    pub unanswered: Vec<bool>,
}

/// How each draft goes on, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesOn {
    /// It ends for good.
    Never,
    /// It never blocked nor woke anybody, and computes on.
    Computing,
    /// With its next lap.
    Itself,
    /// When its parent forks it again.
    Forked,
}

/// The start-up is this part of a recording: a twentieth. A choice.
pub const START_UP: u64 = 20;

/// A lap takes at least this part of the recording: tasks with less do not go on, since their laps would never end.
const LAPS_MAX: u64 = 100_000;

/// Says how each of `drafts` goes on, recovered from a recording of this length.
#[must_use]
pub fn going_on(drafts: &[Draft], length: Span) -> Vec<GoesOn> {
    let place: BTreeMap<TaskId, usize> = drafts.iter().enumerate().map(|(place, it)| (it.recorded, place)).collect();
    let mut going_on: Vec<GoesOn> = drafts.iter().map(|draft| by_itself(draft, length)).collect();
    let mut parents: Vec<usize> = (0..drafts.len()).filter(|at| going_on[*at] == GoesOn::Itself).collect();
    // From parents to children, so that a trace in which tasks fork each other in a circle, or in a long line, does no
    // harm.
    while let Some(parent) = parents.pop() {
        for op in lap_of(&drafts[parent].ops) {
            if let Instruction::Fork(child) = op.instruction()
                && let Some(&child) = place.get(&TaskId(child))
                && going_on[child] == GoesOn::Never
                && ended_after_a_fork(&drafts[child])
            {
                going_on[child] = GoesOn::Forked;
                parents.push(child);
            }
        }
    }
    going_on
}

/// How `draft` goes on without its parent.
fn by_itself(draft: &Draft, length: Span) -> GoesOn {
    let time = time_of(lap_of(&draft.ops));
    match draft.ops.last().map(|op| op.instruction()) {
        Some(Instruction::Cut) if time > 0 && draft.ops.iter().all(|op| is_work(op.instruction())) => GoesOn::Computing,
        Some(Instruction::Cut) if time > length.0 / LAPS_MAX => GoesOn::Itself,
        _ => GoesOn::Never,
    }
}

fn ended_after_a_fork(draft: &Draft) -> bool {
    draft.start == Start::Forked && draft.ops.last().is_some_and(|op| op.instruction() == Instruction::Exit)
}

/// Whether `instruction` concerns nobody but the task, which does not block at it.
fn is_work(instruction: Instruction) -> bool {
    matches!(instruction, Instruction::Run(_) | Instruction::Nice(_) | Instruction::LapBegin | Instruction::Cut)
}

/// What is done in each lap.
fn lap_of(ops: &[Op]) -> &[Op] {
    let begin = ops.iter().position(|op| op.instruction() == Instruction::LapBegin);
    &ops[begin.map_or(0, |at| at + 1)..]
}

/// Time in ns that a lap of `ops` takes at least, whatever others do.
fn time_of(ops: &[Op]) -> u64 {
    let time = |op: &Op| match op.instruction() {
        Instruction::Run(span) | Instruction::Sleep(span) => span.0,
        Instruction::SleepUntil(at) => at.0,
        _ => 0,
    };
    ops.iter().map(time).fold(0, u64::saturating_add)
}

/// What later laps must do without: what tasks that end for good would have posted, and what was posted at start-up.
/// `waits` are the recorded lengths of
/// the waits, by edge.
#[must_use]
pub fn open_ends(drafts: &[Draft], going_on: &[GoesOn], waits: &[Span], answers: usize) -> OpenEnds {
    let mut ends = OpenEnds { delays: BTreeMap::new(), unanswered: vec![false; answers] };
    let missing = drafts.iter().zip(going_on).flat_map(|(draft, goes_on)| match goes_on {
        GoesOn::Never => &draft.ops[..],
        _ => &draft.ops[..draft.ops.len() - lap_of(&draft.ops).len()],
    });
    for op in missing {
        match op.instruction() {
            Instruction::Post(edge) => {
                let wait = waits.get(edge as usize).copied().unwrap_or_default();
                ends.delays.insert(edge, wait);
            }
            Instruction::Answer(answer) => ends.unanswered[answer as usize] = true,
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::GoesOn::{Computing, Forked, Itself, Never};
    use super::*;
    use goodness_core::{CpuId, Time};

    fn draft(task: u32, start: Start, instructions: &[Instruction]) -> Draft {
        let ops = instructions.iter().copied().map(Op::new).collect();
        Draft { recorded: TaskId(task), start, cpu: CpuId(0), ops }
    }

    #[test]
    fn who_was_cut_goes_on_and_children_with_their_parents() {
        let now = Start::WokenAt(Time::ZERO);
        let run = Instruction::Run(Span(5));
        let drafts = [
            draft(7, now, &[run, Instruction::Fork(8), Instruction::Sleep(Span(1)), Instruction::Cut]),
            draft(8, Start::Forked, &[run, Instruction::Fork(9), Instruction::Exit]),
            draft(9, Start::Forked, &[run, Instruction::Post(3), Instruction::Exit]),
            draft(4, now, &[run, Instruction::Post(1), Instruction::Fork(5), Instruction::Exit]),
            draft(5, Start::Forked, &[run, Instruction::Answer(0), Instruction::Exit]),
            draft(6, now, &[Instruction::Post(2), Instruction::Wait(4), Instruction::Cut]),
            draft(3, now, &[run, Instruction::Cut]),
            draft(2, now, &[run, Instruction::Post(0), Instruction::Cut]),
            draft(1, now, &[Instruction::Cut]),
        ];
        let on = going_on(&drafts, Span(100));
        assert_eq!(
            on,
            [Itself, Forked, Forked, Never, Never, Never, Computing, Itself, Never],
            "one would go round without letting time pass; who wakes others does so in each lap; one never ran"
        );
        let ends = open_ends(&drafts, &on, &[Span(10), Span(11), Span(12), Span(13)], 2);
        assert_eq!(ends.delays, BTreeMap::from([(1, Span(11)), (2, Span(12))]));
        assert_eq!(ends.unanswered, [true, false]);
    }

    #[test]
    fn tasks_that_fork_each_other_in_a_circle_or_a_long_line_do_no_harm() {
        let run = Instruction::Run(Span(5));
        let child = |task, forks| draft(task, Start::Forked, &[run, Instruction::Fork(forks), Instruction::Exit]);
        assert_eq!(going_on(&[child(0, 1), child(1, 0)], Span(100)), [Never, Never]);
        let mut line: Vec<Draft> = (0..200_000).map(|task| child(task, task + 1)).collect();
        line[0] = draft(0, Start::Forked, &[Instruction::Sleep(Span(9)), Instruction::Fork(1), Instruction::Cut]);
        let on = going_on(&line, Span(100));
        assert_eq!((on[0], on[1], on[199_999]), (Itself, Forked, Forked));
    }
}
