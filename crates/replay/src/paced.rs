//! Waits for tasks that another clock paces.
//!
//! Clients that are served faster ask more. But a task that sleeps at least half of the time is *paced*: it does the
//! same at the same time, such as the main thread of a benchmark until its time is up. So is a program that is not
//! judged. Their occasional messages must not hold up those who are ahead of them:
//!
//! | message | who waits for it |
//! |---|---|
//! | of a program that is not judged | waits as long as in the recording, as for something outside |
//! | of a paced task after its last sleep: it stops the others | the same |
//! | of another paced task, or of a kernel thread | waits for it in the first lap; later as long as recorded |
//!
//! In the first lap, a turn of an event loop that begins with such a message belongs to the turn before it; in later
//! laps its message is there from the beginning. Only waits of judged tasks change that seldom wait for paced ones, in
//! fewer than one of [`SELDOM`] cases: a server waits for its clients even if these sleep most of the time.

use crate::draft::Draft;
use crate::open_end::OpenEnds;
use crate::participants::Participant;
use crate::program::{Instruction, Op};
use goodness_core::Span;
use std::collections::BTreeSet;

/// A task seldom waits for paced tasks if they end fewer than one in this many of its waits. A choice.
const SELDOM: usize = 20;

/// Relation of a task to the judged work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Judged,
    /// Another program.
    Others,
    Kernel,
}

impl Side {
    fn of(task: &Participant) -> Side {
        match (task.judged, task.task.address_space) {
            (true, _) => Side::Judged,
            (false, Some(_)) => Side::Others,
            (false, None) => Side::Kernel,
        }
    }
}

/// Messages of paced tasks to others.
#[derive(Default)]
struct Messages {
    edges: BTreeSet<u32>,
    answers: BTreeSet<u32>,
}

impl Messages {
    fn add(&mut self, ops: &[Op]) {
        for op in ops {
            match op.instruction() {
                Instruction::Post(edge) => drop(self.edges.insert(edge)),
                Instruction::Answer(answer) => drop(self.answers.insert(answer)),
                _ => {}
            }
        }
    }

    /// True if `instruction` waits for one of them.
    fn ends(&self, instruction: Instruction) -> bool {
        match instruction {
            Instruction::Wait(edge) | Instruction::WaitUninterruptible(edge) => self.edges.contains(&edge),
            Instruction::BeginTurn(answer) => self.answers.contains(&answer),
            _ => false,
        }
    }

    /// True if they end some of the waits of `ops`, but seldom.
    fn seldom_end(&self, ops: &[Op]) -> bool {
        let waits = ops.iter().map(|op| op.instruction()).filter(|it| is_wait(*it));
        let (all, ended) = waits.fold((0, 0), |(all, ended), it| (all + 1, ended + usize::from(self.ends(it))));
        ended > 0 && ended * SELDOM < all
    }
}

/// Lets tasks go on in the first lap. `waits` are the recorded lengths of the waits, by edge, in a recording of this
/// length.
pub fn let_go_on(drafts: &mut [Draft], participants: &[Participant], waits: &[Span], length: Span) {
    let side = |draft: &Draft| Side::of(&participants[draft.recorded.index()]);
    let mut messages = Messages::default();
    for draft in drafts.iter() {
        match side(draft) {
            Side::Others => messages.add(&draft.ops),
            Side::Judged if is_paced(draft, length) => messages.add(after_last_sleep(&draft.ops)),
            Side::Judged | Side::Kernel => {}
        }
    }
    for draft in drafts.iter_mut().filter(|draft| side(draft) == Side::Judged) {
        if messages.seldom_end(&draft.ops) {
            draft.ops = without(&draft.ops, |op| messages.ends(op.instruction()), waits);
        }
    }
}

/// Lets tasks go on in later laps: adds the messages that they do not wait for to `ends`.
pub fn let_go_on_later(
    ends: &mut OpenEnds,
    drafts: &[Draft],
    participants: &[Participant],
    waits: &[Span],
    length: Span,
) {
    let side = |draft: &Draft| Side::of(&participants[draft.recorded.index()]);
    let mut messages = Messages::default();
    for draft in drafts {
        match side(draft) {
            Side::Judged if !is_paced(draft, length) => {}
            Side::Judged | Side::Kernel => messages.add(&draft.ops),
            Side::Others => {}
        }
    }
    let going_on = drafts.iter().filter(|it| side(it) == Side::Judged && messages.seldom_end(&it.ops));
    for op in going_on.flat_map(|draft| &draft.ops).filter(|op| messages.ends(op.instruction())) {
        match op.instruction() {
            Instruction::Wait(edge) | Instruction::WaitUninterruptible(edge) => {
                ends.delays.insert(edge, waits[edge as usize]);
            }
            Instruction::BeginTurn(answer) => ends.unanswered[answer as usize] = true,
            _ => {}
        }
    }
}

/// The operations of a task after its last sleep for reasons outside the recording.
fn after_last_sleep(ops: &[Op]) -> &[Op] {
    use Instruction::{Expiry, NextExpiry, Sleep};
    let last = ops.iter().rposition(|op| matches!(op.instruction(), Sleep(_) | Expiry(_) | NextExpiry(_)));
    &ops[last.map_or(0, |last| last + 1)..]
}

/// True if a task sleeps for reasons outside the recording, in at least half of its length.
fn is_paced(draft: &Draft, length: Span) -> bool {
    let time = |op: &Op| if let Instruction::Sleep(span) = op.instruction() { span.0 } else { 0 };
    draft.timed.0 + draft.ops.iter().map(time).sum::<u64>() >= length.0 / 2
}

fn is_wait(instruction: Instruction) -> bool {
    use Instruction::{BeginTurn, Wait, WaitHeld, WaitUninterruptible};
    matches!(instruction, Wait(_) | WaitHeld(_) | WaitUninterruptible(_) | BeginTurn(_))
}

/// `ops` without the waits that `is_paced` selects.
fn without(ops: &[Op], is_paced: impl Fn(&Op) -> bool, waits: &[Span]) -> Vec<Op> {
    let turns: BTreeSet<u32> = ops.iter().filter(|op| is_paced(op)).filter_map(|op| turn_of(*op)).collect();
    let rewritten = |op: &Op| match op.instruction() {
        Instruction::Wait(edge) | Instruction::WaitUninterruptible(edge) if is_paced(op) => {
            // A wait of no length is none: the message came before the task would have waited.
            let wait = waits[edge as usize];
            (wait > Span::ZERO).then(|| Op::new(Instruction::Sleep(wait)))
        }
        _ => turn_of(*op).is_none_or(|turn| !turns.contains(&turn)).then_some(*op),
    };
    ops.iter().filter_map(rewritten).collect()
}

/// The turn that begins or is divided here.
fn turn_of(op: Op) -> Option<u32> {
    match op.instruction() {
        Instruction::BeginTurn(turn) | Instruction::HasRead(turn) => Some(turn),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::participants::Role;
    use Instruction::{Answer, BeginTurn, Cut, HasRead, Post, Run, Sleep, Wait};
    use Side::{Judged, Kernel, Others};
    use goodness_core::{CpuId, Start, Task, TaskId, Time};
    use std::collections::BTreeMap;

    fn draft(task: u32, instructions: &[Instruction]) -> Draft {
        let ops = instructions.iter().copied().map(Op::new).collect();
        Draft { recorded: TaskId(task), start: Start::WokenAt(Time::ZERO), cpu: CpuId(0), ops, timed: Span::ZERO }
    }

    fn instructions(draft: &Draft) -> Vec<Instruction> {
        draft.ops.iter().map(|op| op.instruction()).collect()
    }

    /// A server that waits 19 times for its client, and then as `last` says.
    fn server(last: &[Instruction]) -> Vec<Instruction> {
        let mut ops = Vec::new();
        for edge in 0..19 {
            ops.extend([Wait(edge), Run(Span(1))]);
        }
        ops.extend_from_slice(last);
        ops
    }

    /// One task for each of `sides`.
    fn participants(sides: &[Side]) -> Vec<Participant> {
        let participant = |side: &Side| Participant {
            name: String::new(),
            pid: 1,
            task: Task { address_space: (*side != Side::Kernel).then_some(1), ..Task::default() },
            program: 0,
            parent: None,
            judged: *side == Side::Judged,
            role: Role::Other,
            changes: Vec::new(),
        };
        sides.iter().map(participant).collect()
    }

    const LENGTH: Span = Span(100);

    #[test]
    fn who_seldom_waits_for_a_clock_or_for_others_goes_on() {
        let waits: Vec<Span> = (0..30).map(Span).collect();
        let posts: Vec<Instruction> = (0..19).map(Post).collect();
        let of_clock = [Wait(19), Wait(20), Run(Span(1)), BeginTurn(7), HasRead(7), Run(Span(2)), BeginTurn(8), Cut];
        let mut drafts = [
            draft(0, &posts),
            draft(1, &[Post(19), Sleep(Span(60)), Post(20), Answer(7), Cut]),
            draft(2, &[Post(21), Cut]),
            draft(3, &[&server(&[])[..], &server(&of_clock)[..]].concat()),
            draft(4, &[&server(&[])[..], &server(&[Wait(21), Run(Span(1)), Cut])[..]].concat()),
        ];
        let_go_on(&mut drafts, &participants(&[Judged, Judged, Others, Judged, Judged]), &waits, LENGTH);
        let ends = |draft: &Draft, from: usize| instructions(draft)[from..].to_vec();
        assert_eq!(ends(&drafts[3], 76), [Wait(19), Sleep(Span(20)), Run(Span(1)), Run(Span(2)), BeginTurn(8), Cut]);
        assert_eq!(ends(&drafts[4], 76), [Sleep(Span(21)), Run(Span(1)), Cut]);
    }

    #[test]
    fn a_server_waits_for_clients_that_think_most_of_the_time() {
        let mut posts = vec![Sleep(Span(60))];
        posts.extend((0..19).map(Post));
        let mut drafts = [draft(0, &posts), draft(1, &server(&[Cut]))];
        let_go_on(&mut drafts, &participants(&[Judged; 2]), &[Span(5); 19], LENGTH);
        assert_eq!(instructions(&drafts[1]), server(&[Cut]));
    }

    #[test]
    fn tasks_that_are_not_judged_wait_for_each_other_as_recorded() {
        let waits: Vec<Span> = (0..30).map(Span).collect();
        let program = [&server(&[])[..], &server(&[Wait(21), Cut])[..]].concat();
        let mut drafts = [draft(0, &[Post(21), Cut]), draft(1, &program)];
        let_go_on(&mut drafts, &participants(&[Others; 2]), &waits, LENGTH);
        assert_eq!(instructions(&drafts[1]), program);
    }
    #[test]
    fn only_in_the_first_lap_are_paced_tasks_and_kernel_threads_waited_for() {
        let waits: Vec<Span> = (0..30).map(Span).collect();
        let last = [BeginTurn(1), Wait(21), Wait(22), Cut];
        let program = [server(&[]), server(&[]), server(&[]), server(&last)].concat();
        let mut drafts = [
            draft(0, &[Post(21), Sleep(Span(60)), Cut]),
            draft(1, &[Post(22), Cut]),
            draft(2, &program),
            draft(3, &[Answer(1), Sleep(Span(50)), Cut]),
        ];
        let sides = participants(&[Kernel, Kernel, Judged, Judged]);
        let_go_on(&mut drafts, &sides, &waits, LENGTH);
        assert_eq!(instructions(&drafts[2]), program);
        let mut ends = OpenEnds { delays: BTreeMap::new(), unanswered: vec![false; 2] };
        let_go_on_later(&mut ends, &drafts, &sides, &waits, LENGTH);
        assert_eq!(ends.delays, BTreeMap::from([(21, Span(21)), (22, Span(22))]));
        assert_eq!(ends.unanswered, [false, true]);
    }
}
