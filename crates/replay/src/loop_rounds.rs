//! Chooses the next turn of an event loop in a replay.
//!
//! The turns between two instructions with a fixed order (a sleep, a wait for another task) form a round. In a round a
//! loop repeatedly takes the oldest turn whose reply has arrived, sleeps while there is none, and leaves the round when
//! all are taken. Oldest means first in the recorded order, the only known order of the peers' requests. (Serving in
//! the order of the replies was tried; see `docs/decisions/0006-programmes-that-choose.md`. Work of one peer for
//! another's request then drifts away from that request.)
//!
//! Nothing is allocated while a replay runs.

use crate::program::{Act, Op};
use goodness_core::Channel;
use goodness_queues::{Links, List};
use std::sync::{Arc, Mutex, PoisonError};

/// Turns that may be taken in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    /// Number of turns.
    count: u32,
    /// Instruction at which the programme continues after it.
    after: u32,
}

/// A turn: its round, and its first instruction in the loop's programme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    round: u32,
    begin: u32,
}

/// All turns of all programmes.
#[derive(Clone, Debug, Default)]
pub struct LoopRounds {
    rounds: Vec<Round>,
    turns: Vec<Turn>,
}

impl LoopRounds {
    /// Finds rounds and turns in programmes whose [`Act::Turn`] and [`Act::Answer`] name replies (`answers` in number),
    /// and makes them name rounds and turns. Replies that start no turn are removed.
    #[must_use]
    pub fn arrange(programmes: &mut [Vec<Op>], answers: usize) -> LoopRounds {
        let mut turn_of = vec![None; answers];
        let (mut turns, mut rounds) = (0, 0);
        for ops in programmes.iter_mut() {
            *ops = in_rounds(ops, &mut rounds, |answer| {
                turn_of[answer as usize] = Some(turns);
                turns += 1;
            });
        }
        for ops in programmes.iter_mut() {
            *ops = without_idle_answers(ops, &turn_of);
        }
        let mut found = LoopRounds::default();
        for ops in programmes.iter() {
            found.add(ops);
        }
        found
    }

    fn add(&mut self, ops: &[Op]) {
        let mut first = self.turns.len() as u32;
        for (place, op) in ops.iter().enumerate() {
            match op.act() {
                Act::Turn(round) => self.turns.push(Turn { round, begin: place as u32 + 1 }),
                Act::RoundEnd(_) => {
                    let count = self.turns.len() as u32 - first;
                    self.rounds.push(Round { count, after: place as u32 + 1 });
                    first += count;
                }
                _ => {}
            }
        }
    }

    /// Number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds.len() as u32
    }
}

/// Closes each round before the next instruction with a fixed order. Calls `found` with the reply of each turn.
fn in_rounds(ops: &[Op], rounds: &mut u32, mut found: impl FnMut(u32)) -> Vec<Op> {
    let mut result = Vec::with_capacity(ops.len());
    let mut is_open = false;
    for op in ops {
        match op.act() {
            Act::Turn(answer) => {
                is_open = true;
                found(answer);
                result.push(Op::new(Act::Turn(*rounds)));
                continue;
            }
            act if is_open && has_its_order(act) => {
                is_open = false;
                result.push(Op::new(Act::RoundEnd(*rounds)));
                *rounds += 1;
            }
            _ => {}
        }
        result.push(*op);
    }
    result
}

/// Whether an instruction has a fixed order: it may wait, or is the last.
fn has_its_order(act: Act) -> bool {
    match act {
        Act::Sleep(_) | Act::SleepUntil(_) | Act::Wait(_) | Act::WaitUninterruptible(_) | Act::Exit | Act::Unknown => {
            true
        }
        Act::Run(_) | Act::Post(_) | Act::Answer(_) | Act::Turn(_) | Act::RoundEnd(_) | Act::Fork(_) | Act::Nice(_) => {
            false
        }
    }
}

/// Makes replies name their turns. Those without a turn are removed, and the burst they split is joined.
fn without_idle_answers(ops: &[Op], turn_of: &[Option<u32>]) -> Vec<Op> {
    let mut result: Vec<Op> = Vec::with_capacity(ops.len());
    for op in ops {
        let act = match op.act() {
            Act::Answer(answer) => match turn_of[answer as usize] {
                Some(turn) => Act::Answer(turn),
                None => continue,
            },
            act => act,
        };
        match (act, result.last().map(|last| last.act())) {
            (Act::Run(more), Some(Act::Run(span))) => {
                result.pop();
                result.push(Op::new(Act::Run(span + more)));
            }
            _ => result.push(Op::new(act)),
        }
    }
    result
}

/// Turns whose replies have arrived, not taken yet: a list per round, in the recorded order.
#[derive(Debug)]
struct Ready {
    links: Links,
    rounds: Vec<List>,
}

/// The state of all rounds in one run, shared by the run's players.
#[derive(Debug)]
pub struct RoundState {
    turns: Arc<LoopRounds>,
    /// Channel of the first round. Each round has a channel that counts replies not yet taken.
    channels: Channel,
    /// Locked because behaviours may move between threads. A run is one thread, so the lock is never contended.
    ready: Mutex<Ready>,
}

impl RoundState {
    /// The initial state without replies. The rounds' channels are numbered from `channels`.
    #[must_use]
    pub fn new(turns: Arc<LoopRounds>, channels: Channel) -> RoundState {
        let mut links = Links::default();
        links.reserve(turns.turns.len());
        let rounds = vec![List::default(); turns.rounds.len()];
        RoundState { turns, channels, ready: Mutex::new(Ready { links, rounds }) }
    }

    /// A channel that is never signalled: the one after those of the rounds.
    #[must_use]
    pub fn never(&self) -> Channel {
        self.channel(self.turns.rounds())
    }

    /// Channel on which a loop waits for the next reply of a round.
    #[must_use]
    pub fn channel(&self, round: u32) -> Channel {
        Channel(self.channels.0 + round)
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the reply of `turn` and returns the channel to signal. Examines ready turns later in the recorded order,
    /// at most one per peer.
    #[must_use]
    pub fn answer(&self, turn: u32) -> Channel {
        let round = self.turns.turns[turn as usize].round;
        let Ready { links, rounds } = &mut *self.ready();
        let list = &mut rounds[round as usize];
        match list.iter_back(links).take_while(|later| *later > turn).last() {
            Some(later) => list.insert_before(links, later, turn),
            None => list.push_back(links, turn),
        }
        self.channel(round)
    }

    /// First instruction of the next turn; `None` unless the round's channel has released the loop.
    #[must_use]
    pub fn take(&self, round: u32) -> Option<usize> {
        let Ready { links, rounds } = &mut *self.ready();
        let turn = rounds[round as usize].pop_front(links)?;
        Some(self.turns.turns[turn as usize].begin as usize)
    }

    /// Instruction after the round, if the loop has taken all of its turns (`taken`).
    #[must_use]
    pub fn end(&self, round: u32, taken: u32) -> Option<usize> {
        let round = self.turns.rounds[round as usize];
        (taken == round.count).then_some(round.after as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Span;

    fn ops(acts: &[Act]) -> Vec<Op> {
        acts.iter().copied().map(Op::new).collect()
    }

    /// A loop with two turns, a sleep and one more turn, and a peer that gives their three replies and an unused one.
    fn arranged() -> (Vec<Vec<Op>>, Arc<LoopRounds>) {
        let of_loop = [
            Act::Run(Span(1)),
            Act::Turn(0),
            Act::Run(Span(2)),
            Act::Post(0),
            Act::Turn(2),
            Act::Run(Span(3)),
            Act::Sleep(Span(4)),
            Act::Turn(3),
            Act::Run(Span(5)),
            Act::Exit,
        ];
        let of_peer =
            [Act::Answer(0), Act::Run(Span(6)), Act::Answer(1), Act::Run(Span(7)), Act::Answer(2), Act::Answer(3)];
        let mut programmes = vec![ops(&of_loop), ops(&of_peer)];
        let turns = LoopRounds::arrange(&mut programmes, 4);
        (programmes, Arc::new(turns))
    }

    #[test]
    fn rounds_end_where_something_has_an_order_of_its_own_and_unused_answers_cut_no_burst() {
        let (programmes, turns) = arranged();
        assert_eq!(turns.rounds(), 2);
        let of_loop: Vec<Act> = programmes[0].iter().map(|op| op.act()).collect();
        assert_eq!(of_loop[6..9], [Act::RoundEnd(0), Act::Sleep(Span(4)), Act::Turn(1)]);
        assert_eq!(of_loop[10..], [Act::RoundEnd(1), Act::Exit]);
        let of_peer: Vec<Act> = programmes[1].iter().map(|op| op.act()).collect();
        assert_eq!(of_peer, [Act::Answer(0), Act::Run(Span(13)), Act::Answer(1), Act::Answer(2)]);
    }

    #[test]
    fn the_oldest_turn_that_is_ready_is_taken_and_none_of_a_later_round() {
        let state = RoundState::new(arranged().1, Channel(10));
        assert_eq!(state.take(0), None);
        assert_eq!(state.answer(2), Channel(11), "of the round after the sleep");
        assert_eq!(state.take(0), None);
        assert_eq!((state.answer(1), state.answer(0)), (Channel(10), Channel(10)));
        assert_eq!((state.take(0), state.take(0), state.take(0)), (Some(2), Some(5), None));
        assert_eq!((state.end(0, 1), state.end(0, 2)), (None, Some(7)));
        assert_eq!(state.take(1), Some(9));
        assert_eq!(state.never(), Channel(12));
    }
}
