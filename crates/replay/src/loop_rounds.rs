//! Chooses the next turn of an event loop in a replay.
//!
//! The turns between two instructions with a fixed order (a sleep, a wait for another task) form a round. In a round a
//! loop repeatedly takes the oldest turn whose reply has arrived, sleeps while there is none, and leaves the round when
//! all are taken. Oldest means first in the recorded order, the only known order of the peers' requests. (Serving in
//! the order of the replies was tried and refused: `docs/decisions/0006-programmes-that-choose.md`.)
//!
//! A loop that connects to a pool ([`super::pools`]) serves in the order of the replies, as `epoll` does: a reply there
//! belongs to the next service of the pool, not to a recorded order. So does a loop whose calls were recorded
//! (`message_turns`).
//!
//! A loop that reads messages together (`read_together`) takes all turns whose replies have arrived, as far as
//! [`Instruction::HasRead`]. Then it continues each of them there, before it takes others. The recorded order holds the
//! peers together, too: in reverse of the order of reading, clients of Redis drift apart, and who is done first keeps
//! the CPU while others still ask (request p99 of `redis-benchmark-16.1` +45 %).
//!
//! Nothing is allocated while a replay runs.

use crate::program::{Instruction, Op};
use goodness_core::Channel;
use goodness_queues::{Links, List};
use std::sync::{Arc, Mutex, PoisonError};

/// Turns that may be taken in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    /// Its first turn.
    first: u32,
    /// Number of its turns.
    count: u32,
    /// Instruction at which the programme continues after it.
    after: u32,
    /// True if its turns are taken in the order of their replies.
    in_order_of_replies: bool,
    /// True if all that have their replies are read before one is answered.
    reads_together: bool,
}

/// A turn: its round, and its first instruction in the loop's programme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    round: u32,
    begin: u32,
    /// Instruction after it was read; `begin` if it is not divided into reading and answering.
    answers: u32,
    /// True if its answer is there from the beginning of each later lap: nobody gives it then, or it is not waited for.
    is_unanswered: bool,
}

/// All turns of all programmes.
#[derive(Clone, Debug, Default)]
pub struct LoopRounds {
    rounds: Vec<Round>,
    turns: Vec<Turn>,
}

impl LoopRounds {
    /// Finds the rounds and turns of programmes. [`Instruction::BeginTurn`] and [`Instruction::Answer`] name answers
    /// before, and rounds and turns after the call. `unanswered` has an entry for each answer, true if it is there from
    /// the beginning of later laps. Those below `messages` are messages of recorded calls. Answers that start no turn
    /// are removed.
    #[must_use]
    pub fn arrange(programmes: &mut [Vec<Op>], unanswered: &[bool], messages: u32) -> LoopRounds {
        let mut turn_of = vec![None; unanswered.len()];
        let (mut turns, mut rounds) = (0, 0);
        let mut has_messages = vec![false; programmes.len()];
        for (ops, has_messages) in programmes.iter_mut().zip(&mut has_messages) {
            *ops = in_rounds(ops, &mut rounds, |answer| {
                turn_of[answer as usize] = Some(turns);
                turns += 1;
                *has_messages |= answer < messages;
            });
        }
        for ops in programmes.iter_mut() {
            *ops = without_idle_answers(ops, &turn_of);
        }
        let mut found = LoopRounds::default();
        for (ops, has_messages) in programmes.iter().zip(has_messages) {
            found.add(ops, has_messages);
        }
        for (turn, is_unanswered) in turn_of.iter().zip(unanswered) {
            if let Some(turn) = turn {
                found.turns[*turn as usize].is_unanswered = *is_unanswered;
            }
        }
        found
    }

    fn add(&mut self, ops: &[Op], has_messages: bool) {
        let mut first = self.turns.len() as u32;
        let has = |is: fn(Instruction) -> bool| ops.iter().any(|op| is(op.instruction()));
        let in_order_of_replies = has_messages || has(|it| matches!(it, Instruction::Connect(_)));
        let reads_together = has(|it| matches!(it, Instruction::HasRead(_)));
        for (place, op) in ops.iter().enumerate() {
            match op.instruction() {
                Instruction::BeginTurn(round) => {
                    let begin = place as u32 + 1;
                    self.turns.push(Turn { round, begin, answers: begin, is_unanswered: false });
                }
                Instruction::HasRead(_) => {
                    if let Some(turn) = self.turns.last_mut() {
                        turn.answers = place as u32 + 1;
                    }
                }
                Instruction::RoundEnd(_) => {
                    let count = self.turns.len() as u32 - first;
                    self.rounds.push(Round {
                        first,
                        count,
                        after: place as u32 + 1,
                        in_order_of_replies,
                        reads_together,
                    });
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
        match op.instruction() {
            Instruction::BeginTurn(answer) => {
                is_open = true;
                found(answer);
                result.push(Op::new(Instruction::BeginTurn(*rounds)));
                continue;
            }
            Instruction::HasRead(_) => {
                result.push(Op::new(Instruction::HasRead(*rounds)));
                continue;
            }
            instruction if is_open && has_its_order(instruction) => {
                is_open = false;
                result.push(Op::new(Instruction::RoundEnd(*rounds)));
                *rounds += 1;
            }
            _ => {}
        }
        result.push(*op);
    }
    result
}

/// True if an instruction has a fixed order: it may wait, or is the last.
pub(crate) fn has_its_order(instruction: Instruction) -> bool {
    match instruction {
        Instruction::Sleep(_)
        | Instruction::SleepUntil(_)
        | Instruction::Expiry(_)
        | Instruction::NextExpiry(_)
        | Instruction::Wait(_)
        | Instruction::WaitHeld(_)
        | Instruction::WaitUninterruptible(_)
        | Instruction::Send(..)
        | Instruction::Receive(..)
        | Instruction::LapBegin
        | Instruction::Accept(_)
        | Instruction::Exit
        | Instruction::Cut => true,
        Instruction::Run(_)
        | Instruction::Post(_)
        | Instruction::Answer(_)
        | Instruction::BeginTurn(_)
        | Instruction::HasRead(_)
        | Instruction::RoundEnd(_)
        | Instruction::Fork(_)
        | Instruction::Ask(_)
        | Instruction::ServedBy(..)
        | Instruction::Connect(_)
        | Instruction::Arrived(_)
        | Instruction::Served(_)
        | Instruction::Nice(_)
        | Instruction::Class(..)
        | Instruction::Affinity(_)
        | Instruction::Group(_)
        | Instruction::Cycle(_)
        | Instruction::Yield => false,
    }
}

/// Makes replies name their turns. Those without a turn are removed, and the burst they split is joined.
fn without_idle_answers(ops: &[Op], turn_of: &[Option<u32>]) -> Vec<Op> {
    let mut result: Vec<Op> = Vec::with_capacity(ops.len());
    for op in ops {
        let instruction = match op.instruction() {
            Instruction::Answer(answer) => match turn_of[answer as usize] {
                Some(turn) => Instruction::Answer(turn),
                None => continue,
            },
            instruction => instruction,
        };
        match (instruction, result.last().map(|last| last.instruction())) {
            (Instruction::Run(more), Some(Instruction::Run(span))) => {
                result.pop();
                result.push(Op::new(Instruction::Run(span + more)));
            }
            _ => result.push(Op::new(instruction)),
        }
    }
    result
}

/// Turns whose replies have arrived, not taken yet: a list per round, in the recorded order.
#[derive(Debug)]
struct Ready {
    links: Links,
    rounds: Vec<ReadyRound>,
    /// For each turn, the answers that came before the loop began their lap.
    early: Vec<u32>,
}

/// The turns of one round that are ready.
#[derive(Clone, Debug, Default)]
struct ReadyRound {
    turns: List,
    /// Number of completed laps of the round.
    lap: u32,
    /// Turns in the list whose answers came early: the channel was not posted for them.
    early: u32,
    /// Turns of the present batch that are not read yet.
    unread: List,
    /// Turns of the present batch that are read and not answered yet.
    read: List,
}

impl Ready {
    /// Begins the next lap of `round`, whose number is `index`. Early answers count from now on.
    fn begin_lap(&mut self, index: usize, round: Round, turns: &[Turn]) {
        let ready = &mut self.rounds[index];
        ready.lap += 1;
        for turn in round.first..round.first + round.count {
            let early = &mut self.early[turn as usize];
            if turns[turn as usize].is_unanswered || *early > 0 {
                *early = early.saturating_sub(1);
                ready.turns.push_back(&mut self.links, turn);
                ready.early += 1;
            }
        }
    }
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
        let (rounds, early) = (vec![ReadyRound::default(); turns.rounds.len()], vec![0; turns.turns.len()]);
        RoundState { turns, channels, ready: Mutex::new(Ready { links, rounds, early }) }
    }

    /// Channel on which a loop waits for the next reply of a round.
    #[must_use]
    pub fn channel(&self, round: u32) -> Channel {
        Channel(self.channels.0 + round)
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the answer to `turn`, given by a peer in its lap `lap`. Returns the channel to post; `None` while the
    /// loop is in an earlier lap. Visits ready turns that come later in the recorded order, at most one for each peer.
    #[must_use]
    pub fn answer(&self, turn: u32, lap: u32) -> Option<Channel> {
        let Turn { round, is_unanswered, .. } = self.turns.turns[turn as usize];
        if is_unanswered && lap > 0 {
            return None;
        }
        let Ready { links, rounds, early } = &mut *self.ready();
        let ReadyRound { turns: list, lap: begun, .. } = &mut rounds[round as usize];
        if lap > *begun {
            early[turn as usize] += 1;
            return None;
        }
        let is_overtaken = |later: &u32| *later > turn && !self.turns.rounds[round as usize].in_order_of_replies;
        match list.iter_back(links).take_while(is_overtaken).last() {
            Some(later) => list.insert_before(links, later, turn),
            None => list.push_back(links, turn),
        }
        Some(self.channel(round))
    }

    /// Takes an early answer of `round`, if there is one: its turn needs no wait.
    #[must_use]
    pub fn takes_early(&self, round: u32) -> bool {
        let early = &mut self.ready().rounds[round as usize].early;
        let takes = *early > 0;
        *early -= u32::from(takes);
        takes
    }

    /// First instruction of the next turn; `None` unless the round's channel has released the loop.
    #[must_use]
    pub fn take(&self, round: u32) -> Option<usize> {
        let Ready { links, rounds, .. } = &mut *self.ready();
        let ready = &mut rounds[round as usize];
        if !self.turns.rounds[round as usize].reads_together {
            let turn = ready.turns.pop_front(links)?;
            return Some(self.turns.turns[turn as usize].begin as usize);
        }
        if ready.unread.is_empty() {
            std::mem::swap(&mut ready.turns, &mut ready.unread);
        }
        let turn = ready.unread.pop_front(links)?;
        let Turn { begin, answers, .. } = self.turns.turns[turn as usize];
        // One that is not divided is answered where it is read.
        if answers > begin {
            ready.read.push_back(links, turn);
        }
        Some(begin as usize)
    }

    /// Once the batch of `round` is read: the instruction at which its next turn that is not answered yet continues.
    #[must_use]
    pub fn answers(&self, round: u32) -> Option<usize> {
        let Ready { links, rounds, .. } = &mut *self.ready();
        let ready = &mut rounds[round as usize];
        if !ready.unread.is_empty() {
            return None;
        }
        let next = ready.read.pop_front(links)?;
        Some(self.turns.turns[next as usize].answers as usize)
    }

    /// If `taken` turns are all of `round`: the instruction after the round, whose next lap begins.
    #[must_use]
    pub fn end(&self, round: u32, taken: u32) -> Option<usize> {
        let it = self.turns.rounds[round as usize];
        if taken < it.count {
            return None;
        }
        self.ready().begin_lap(round as usize, it, &self.turns.turns);
        Some(it.after as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Span;

    fn ops(instructions: &[Instruction]) -> Vec<Op> {
        instructions.iter().copied().map(Op::new).collect()
    }

    /// A loop with two turns, a sleep and one more turn, and a peer that gives their three replies and an unused one.
    fn arranged() -> (Vec<Vec<Op>>, Arc<LoopRounds>) {
        let of_loop = [
            Instruction::Run(Span(1)),
            Instruction::BeginTurn(0),
            Instruction::Run(Span(2)),
            Instruction::Post(0),
            Instruction::BeginTurn(2),
            Instruction::Run(Span(3)),
            Instruction::Sleep(Span(4)),
            Instruction::BeginTurn(3),
            Instruction::Run(Span(5)),
            Instruction::Exit,
        ];
        let of_peer = [
            Instruction::Answer(0),
            Instruction::Run(Span(6)),
            Instruction::Answer(1),
            Instruction::Run(Span(7)),
            Instruction::Answer(2),
            Instruction::Answer(3),
        ];
        let mut programmes = vec![ops(&of_loop), ops(&of_peer)];
        let turns = LoopRounds::arrange(&mut programmes, &[false; 4], 0);
        (programmes, Arc::new(turns))
    }

    #[test]
    fn rounds_end_where_something_has_an_order_of_its_own_and_unused_answers_cut_no_burst() {
        let (programmes, turns) = arranged();
        assert_eq!(turns.rounds(), 2);
        let of_loop: Vec<Instruction> = programmes[0].iter().map(|op| op.instruction()).collect();
        assert_eq!(of_loop[6..9], [Instruction::RoundEnd(0), Instruction::Sleep(Span(4)), Instruction::BeginTurn(1)]);
        assert_eq!(of_loop[10..], [Instruction::RoundEnd(1), Instruction::Exit]);
        let of_peer: Vec<Instruction> = programmes[1].iter().map(|op| op.instruction()).collect();
        assert_eq!(
            of_peer,
            [Instruction::Answer(0), Instruction::Run(Span(13)), Instruction::Answer(1), Instruction::Answer(2)]
        );
    }

    #[test]
    fn the_oldest_turn_that_is_ready_is_taken_and_none_of_a_later_round() {
        let state = RoundState::new(arranged().1, Channel(10));
        assert_eq!(state.take(0), None);
        assert_eq!(state.answer(2, 0), Some(Channel(11)), "of the round after the sleep");
        assert_eq!(state.take(0), None);
        assert_eq!((state.answer(1, 0), state.answer(0, 0)), (Some(Channel(10)), Some(Channel(10))));
        assert_eq!((state.take(0), state.take(0), state.take(0)), (Some(2), Some(5), None));
        assert_eq!((state.end(0, 1), state.end(0, 2)), (None, Some(7)));
        assert_eq!(state.take(1), Some(9));
    }

    #[test]
    fn an_answer_for_a_later_lap_is_kept_until_that_lap_begins() {
        let state = RoundState::new(arranged().1, Channel(10));
        assert_eq!(state.answer(1, 1), None, "the loop is in its first lap");
        assert!(!state.takes_early(0));
        assert_eq!((state.answer(0, 0), state.answer(1, 0)), (Some(Channel(10)), Some(Channel(10))));
        assert_eq!((state.take(0), state.take(0)), (Some(2), Some(5)));
        assert_eq!(state.end(0, 2), Some(7));
        assert_eq!((state.takes_early(0), state.takes_early(0)), (true, false), "one, and nothing to wait for");
        assert_eq!((state.take(0), state.take(0)), (Some(5), None));
    }

    #[test]
    fn a_loop_that_reads_together_reads_all_that_is_there_before_it_answers() {
        use Instruction::{Answer, BeginTurn, Cut, HasRead, Run};
        let turns = |answer| [BeginTurn(answer), Run(Span(1)), HasRead(answer), Run(Span(2))];
        let of_loop: Vec<Instruction> = (0..3).flat_map(turns).chain([Cut]).collect();
        let mut programmes = vec![ops(&of_loop), ops(&[Answer(0)]), ops(&[Answer(1)]), ops(&[Answer(2)])];
        let state = RoundState::new(Arc::new(LoopRounds::arrange(&mut programmes, &[false; 3], 0)), Channel(0));
        let reads = |turn: usize| Some(4 * turn + 1);
        let continues = |turn: usize| Some(4 * turn + 3);
        let answer = |turn| assert_eq!(state.answer(turn, 0), Some(Channel(0)));
        answer(2);
        answer(1);
        assert_eq!((state.take(0), state.answers(0)), (reads(1), None), "the other is not read yet");
        answer(0);
        assert_eq!((state.take(0), state.answers(0)), (reads(2), continues(1)), "the first came later");
        assert_eq!((state.answers(0), state.answers(0)), (continues(2), None));
        assert_eq!((state.take(0), state.answers(0)), (reads(0), continues(0)));
    }

    #[test]
    fn a_turn_that_is_not_divided_is_taken_once_in_a_loop_that_reads_together() {
        use Instruction::{Answer, BeginTurn, Cut, HasRead, Run};
        let of_loop = [BeginTurn(0), Run(Span(1)), HasRead(0), Run(Span(2)), BeginTurn(1), Run(Span(3)), Cut];
        let mut programmes = vec![ops(&of_loop), ops(&[Answer(0)]), ops(&[Answer(1)])];
        let state = RoundState::new(Arc::new(LoopRounds::arrange(&mut programmes, &[false; 2], 0)), Channel(0));
        for turn in [0, 1] {
            assert_eq!(state.answer(turn, 0), Some(Channel(0)));
        }
        assert_eq!((state.take(0), state.answers(0)), (Some(1), None), "the other is not read yet");
        assert_eq!((state.take(0), state.answers(0), state.answers(0)), (Some(5), Some(3), None));
    }

    #[test]
    fn nobody_waits_in_later_laps_for_an_answer_that_nobody_gives() {
        let mut programmes = arranged().0;
        programmes[0] = ops(&[Instruction::BeginTurn(0), Instruction::Run(Span(1)), Instruction::Cut]);
        programmes[1] = ops(&[Instruction::Answer(0), Instruction::Exit]);
        let state = RoundState::new(Arc::new(LoopRounds::arrange(&mut programmes, &[true], 0)), Channel(0));
        assert_eq!((state.answer(0, 0), state.take(0)), (Some(Channel(0)), Some(1)));
        assert!(state.end(0, 1).is_some());
        assert_eq!((state.takes_early(0), state.take(0)), (true, Some(1)));
    }
}
