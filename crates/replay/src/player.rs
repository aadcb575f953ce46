//! Runs recovered programmes: each instruction becomes a step of the simulated task.

use crate::loop_rounds::RoundState;
use crate::program::{Act, Op};
use goodness_core::{Behaviour, BehaviourId, Channel, Nice, Step, StepContext};
use std::sync::Arc;

/// Runs a recovered programme.
pub struct Player {
    ops: Arc<[Op]>,
    at: usize,
    rounds: Arc<RoundState>,
    /// Turns taken of the present round.
    taken: u32,
    /// The round whose next turn is due, as its channel has released the task.
    takes: Option<u32>,
}

impl Player {
    /// A player at the beginning of `ops`; `rounds` is shared by all players of a run.
    #[must_use]
    pub fn new(ops: Arc<[Op]>, rounds: Arc<RoundState>) -> Player {
        Player { ops, at: 0, rounds, taken: 0, takes: None }
    }

    /// Takes the turn whose reply has arrived.
    fn take_turn(&mut self) {
        if let Some(begin) = self.takes.take().and_then(|round| self.rounds.take(round)) {
            self.at = begin;
            self.taken += 1;
        }
    }

    /// Waits for the next reply of `round`. Once all are taken, takes the first step after it.
    fn choose(&mut self, round: u32, cx: &mut StepContext) -> Step {
        if let Some(after) = self.rounds.end(round, self.taken) {
            (self.at, self.taken) = (after, 0);
            return self.next(cx);
        }
        self.takes = Some(round);
        Step::Wait(self.rounds.channel(round))
    }
}

impl Behaviour for Player {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self.take_turn();
        let act = self.ops.get(self.at).map_or(Act::Unknown, |op| op.act());
        self.at += 1;
        match act {
            Act::Run(span) => Step::Compute(span),
            Act::Sleep(span) => Step::Sleep(span),
            Act::SleepUntil(at) => Step::SleepUntil(at),
            Act::Wait(edge) => Step::Wait(Channel(edge)),
            Act::WaitUninterruptible(edge) => Step::WaitUninterruptible(Channel(edge)),
            Act::Post(edge) => Step::Wake(Channel(edge)),
            Act::Answer(turn) => Step::Wake(self.rounds.answer(turn)),
            Act::Turn(round) | Act::RoundEnd(round) => self.choose(round, cx),
            Act::Fork(child) => Step::Fork(BehaviourId(child)),
            Act::Nice(nice) => Step::SetNice(Nice::new(nice.into()).unwrap_or_default()),
            Act::Exit => Step::Exit,
            Act::Unknown => {
                self.at = self.ops.len();
                Step::Wait(self.rounds.never())
            }
        }
    }
}
