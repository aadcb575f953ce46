//! Waits for tasks that another clock paces.
//!
//! Clients that are served faster ask more. But a task that sleeps most of the time (the main thread of a benchmark,
//! until its time is up), or that is not judged (a kernel thread, another program), does the same at the same time.
//! Its occasional messages must not hold up those who are ahead of it: a server does not stop at the time of its
//! clients' end, and a client does not wait in its second lap for the thread that migrated it when it started.
//!
//! So a wait for such a task lasts as long as in the recording, like one for something outside, and a turn of an event
//! loop that such a task begins belongs to the turn before it. Only waits of a task that seldom waits for paced tasks
//! change: fewer than one in [`SELDOM`]. A server waits for its clients even if they sleep most of the time.

use crate::draft::Draft;
use crate::participants::Participant;
use crate::program::{Instruction, Op};
use goodness_core::Span;
use std::collections::BTreeSet;

/// A task seldom waits for paced tasks if they end fewer than one in this many of its waits. A choice.
const SELDOM: usize = 20;

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
}

/// Lets tasks go on that seldom wait for paced ones. `waits` are the recorded lengths of the waits, by edge, in a
/// recording of this length.
pub fn let_go_on(drafts: &mut [Draft], participants: &[Participant], waits: &[Span], length: Span) {
    let is_judged = |draft: &Draft| participants[draft.recorded.index()].judged;
    let (mut by_clock, mut by_others) = (Messages::default(), Messages::default());
    for draft in drafts.iter() {
        if !is_judged(draft) {
            by_others.add(&draft.ops);
        } else if slept(&draft.ops) >= length.0 / 2 {
            by_clock.add(&draft.ops);
        }
    }
    for draft in drafts.iter_mut() {
        let judged = is_judged(draft);
        let is_paced = |it: &Op| by_clock.ends(it.instruction()) || judged && by_others.ends(it.instruction());
        let all = draft.ops.iter().filter(|op| is_wait(op.instruction())).count();
        let paced = draft.ops.iter().filter(|op| is_paced(op)).count();
        if paced > 0 && paced * SELDOM < all {
            draft.ops = without(&draft.ops, is_paced, waits);
        }
    }
}

/// Time that a programme sleeps for reasons outside the recording, in ns.
fn slept(ops: &[Op]) -> u64 {
    let time = |op: &Op| if let Instruction::Sleep(span) = op.instruction() { span.0 } else { 0 };
    ops.iter().map(time).sum()
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
