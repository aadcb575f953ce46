//! Open ends: the behaviour of a task after its recorded programme.
//!
//! A recording shows the work that tasks got done under one scheduler, not all they had. A task that gets more CPU time
//! under another scheduler reaches the end of its programme early. It then starts again at the beginning of the
//! recording, for another *lap*. In each lap every edge is posted as often as it is waited for, so a wake-up finds its
//! waiter in the second lap as in the first, and whole requests repeat. A task that never blocked continues to compute.
//!
//! Later laps leave out the first [`START_UP`]th of the recording, in which tasks are started and wait for each other,
//! because the task that started them does not start them again. In later laps, a wait for an edge posted there lasts
//! as long as recorded; so does one for a task with another clock (`paced`).
//!
//! | in the recording | in the replay |
//! |---|---|
//! | alive at the end | another lap, after a sleep as long as its cut wait and its first wait |
//! | stopped at the end by a clock | the same |
//! | a child that ended, of a parent that continues | waits to be forked again |
//! | ended for good | ends; in later laps its wake-ups come after the recorded delay |

use crate::draft::Draft;
use crate::program::{Instruction, Op};
use goodness_core::{Span, Start, TaskId};
use std::collections::BTreeMap;

/// Edges and answers that are missing in laps after the first.
#[derive(Clone, Debug, Default)]
pub struct OpenEnds {
    /// Edges that nobody posts or waits for in later laps, and the length of the recorded waits for them.
    pub delays: BTreeMap<u32, Span>,
    /// Answers that nobody gives or waits for in later laps, by their number.
    pub unanswered: Vec<bool>,
}

/// Continuation of a task after its recorded programme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesOn {
    /// It ends for good.
    Never,
    /// It never blocked nor woke another task, and continues to compute.
    Computing,
    /// It starts its next lap.
    Itself,
    /// It starts again when its parent forks it again.
    Forked,
}

/// The start-up is this part of a recording: a twentieth. A choice.
pub const START_UP: u64 = 20;

/// A lap takes at least this part of the recording. A task with less does not continue, since its laps would not end.
const LAPS_MAX: u64 = 100_000;

/// The continuation of each of `drafts`, recovered from a recording of this length.
#[must_use]
pub fn going_on(drafts: &[Draft], length: Span) -> Vec<GoesOn> {
    let place: BTreeMap<TaskId, usize> = drafts.iter().enumerate().map(|(place, it)| (it.recorded, place)).collect();
    let mut going_on: Vec<GoesOn> = drafts.iter().map(|draft| by_itself(draft, length)).collect();
    let mut parents: Vec<usize> = (0..drafts.len()).filter(|at| going_on[*at] == GoesOn::Itself).collect();
    // A loop from parents to children, not a recursion: a trace may contain circles or long chains of forks.
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

/// The continuation of `draft` without its parent.
fn by_itself(draft: &Draft, length: Span) -> GoesOn {
    let time = time_of(lap_of(&draft.ops));
    match draft.ops.last().map(|op| op.instruction()) {
        Some(Instruction::Cut) if time > 0 && draft.ops.iter().all(|op| is_work(op.instruction())) => GoesOn::Computing,
        Some(Instruction::Cut) if time > length.0 / LAPS_MAX => GoesOn::Itself,
        // Its services are in the laps of its pool.
        Some(Instruction::Cut) if draft.ops.iter().any(|op| matches!(op.instruction(), Instruction::Accept(_))) => {
            GoesOn::Itself
        }
        _ => GoesOn::Never,
    }
}

fn ended_after_a_fork(draft: &Draft) -> bool {
    draft.start == Start::Forked && draft.ops.last().is_some_and(|op| op.instruction() == Instruction::Exit)
}

/// True if `instruction` neither blocks the task nor affects another one.
fn is_work(instruction: Instruction) -> bool {
    use Instruction::{Affinity, Class, Cut, Group, LapBegin, Nice, Run};
    matches!(instruction, Run(_) | Nice(_) | Class(..) | Affinity(_) | Group(_) | LapBegin | Cut)
}

/// The instructions of each lap.
fn lap_of(ops: &[Op]) -> &[Op] {
    let begin = ops.iter().position(|op| op.instruction() == Instruction::LapBegin);
    &ops[begin.map_or(0, |at| at + 1)..]
}

/// Least time of a lap of `ops` in ns, whatever other tasks do.
fn time_of(ops: &[Op]) -> u64 {
    let time = |op: &Op| match op.instruction() {
        Instruction::Run(span) | Instruction::Sleep(span) => span.0,
        Instruction::Expiry(span) | Instruction::NextExpiry(span) => span.0,
        Instruction::SleepUntil(at) => at.0,
        _ => 0,
    };
    ops.iter().map(time).fold(0, u64::saturating_add)
}

/// Posts missing in later laps: those of tasks that end for good, and those of the start-up. `waits` are the recorded
/// lengths of the waits, by edge.
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
        Draft { recorded: TaskId(task), start, cpu: CpuId(0), ops, timed: Span::ZERO }
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
