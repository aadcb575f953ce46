//! Recovered programmes: eight bytes per instruction, shared by all replications.

use goodness_core::{Class, Rng, Seed, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One instruction: kind in the low five bits, operand above.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Op(u64);

/// A decoded [`Op`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Use this much CPU time.
    Run(Span),
    /// Wake-up from outside the recording, this long after the wait started.
    Sleep(Span),
    /// Wake-up from outside the recording, at this instant.
    SleepUntil(Time),
    /// Wake-up by the task's periodic timer, this long after its last expiry; the first time, after now.
    Expiry(Span),
    /// The same at its next expiry that is not past: a multiple of this time after the last one.
    NextExpiry(Span),
    /// Wait for the wake-up edge of this number.
    Wait(u32),
    /// The same, but only if the holder of what the task waits for has begun its cycle (`handoffs`).
    WaitHeld(u32),
    /// As `Wait`, in uninterruptible sleep.
    WaitUninterruptible(u32),
    /// Fire the edge of this number.
    Post(u32),
    /// Give the reply that starts this turn of an event loop (`loop_rounds`).
    Answer(u32),
    /// Turn of an event loop in this round: wait for a reply and continue with the turn it starts.
    BeginTurn(u32),
    /// End of this round. Like `Turn` until all its turns are taken.
    RoundEnd(u32),
    /// The loop of this round has read the message of its turn. It answers once it has read all that were there.
    HasRead(u32),
    /// As a task of this pool: take the next service, or wait for a connection (`services`).
    Accept(u32),
    /// Connect to this pool.
    Connect(u32),
    /// The request that this pool served with this service is answered: report it.
    ServedBy(u32, u32),
    /// Create the task of this number in the workload's list.
    Fork(u32),
    /// Change the task's own nice.
    Nice(i8),
    /// The request of this number begins.
    Ask(u32),
    /// The request of this number, from another machine, began with the end of the previous sleep.
    Arrived(u32),
    /// The request of this number is answered: report it.
    Served(u32),
    /// Change the task's own class and real-time priority.
    Class(Class, u8),
    /// Change the task's own affinity to that of this number.
    Affinity(u32),
    /// Move to the group of this number.
    Group(u32),
    /// Let others run: `sched_yield`.
    Yield,
    /// Send this many bytes to the conduit of this number; wait for room.
    Send(u32, u32),
    /// Receive this many bytes from the conduit of this number; wait for them.
    Receive(u32, u32),
    /// The task begins its cycle of this number.
    Cycle(u32),
    /// Later laps begin here. The instructions before it run once.
    LapBegin,
    /// End.
    Exit,
    /// The recording ends here, in the middle of the task's work.
    Cut,
}

impl Instruction {
    /// True if it concerns nobody but the task, which does not block at it, and is no work.
    #[must_use]
    pub fn is_about_itself(self) -> bool {
        matches!(
            self,
            Self::Nice(_) | Self::Class(..) | Self::Affinity(_) | Self::Group(_) | Self::Cycle(_) | Self::Yield
        )
    }
}

/// The classes that recordings name, by number.
const CLASSES: [Class; 5] = [Class::Normal, Class::Batch, Class::Idle, Class::Fifo, Class::RoundRobin];

fn number_of(class: Class) -> u64 {
    CLASSES.iter().position(|it| *it == class).unwrap_or(0) as u64
}

/// Bits of a number of bytes; those of the conduit are above.
const BYTES_BITS: u32 = 31;
const BYTES_MAX: u64 = (1 << BYTES_BITS) - 1;

fn of_conduit(conduit: u32, bytes: u32) -> u64 {
    u64::from(conduit) << BYTES_BITS | u64::from(bytes).min(BYTES_MAX)
}

/// The bits of the kind.
const TAG: u64 = 31;
const LENGTH_MAX: u64 = (1 << 59) - 1;

impl Op {
    /// Encodes `instruction`. Lengths beyond 2^59 ns (18 years) are cut to that.
    #[must_use]
    pub fn new(instruction: Instruction) -> Op {
        let (tag, value) = match instruction {
            Instruction::Run(span) => (0, span.0),
            Instruction::Sleep(span) => (1, span.0),
            Instruction::SleepUntil(at) => (2, at.0),
            Instruction::Wait(edge) => (3, edge.into()),
            Instruction::WaitUninterruptible(edge) => (4, edge.into()),
            Instruction::Post(edge) => (5, edge.into()),
            Instruction::Fork(child) => (6, child.into()),
            Instruction::Nice(nice) => (7, (i64::from(nice) + 20) as u64),
            Instruction::Exit => (8, 0),
            Instruction::Cut => (9, 0),
            Instruction::Answer(turn) => (10, turn.into()),
            Instruction::BeginTurn(round) => (11, round.into()),
            Instruction::RoundEnd(round) => (12, round.into()),
            Instruction::Ask(request) => (13, request.into()),
            Instruction::Served(request) => (14, request.into()),
            Instruction::Arrived(request) => (15, request.into()),
            Instruction::LapBegin => (16, 0),
            Instruction::Class(class, priority) => (17, number_of(class) << 8 | u64::from(priority)),
            Instruction::Affinity(set) => (18, set.into()),
            Instruction::Yield => (19, 0),
            Instruction::Send(conduit, bytes) => (20, of_conduit(conduit, bytes)),
            Instruction::Receive(conduit, bytes) => (21, of_conduit(conduit, bytes)),
            Instruction::Accept(pool) => (22, pool.into()),
            Instruction::Connect(pool) => (23, pool.into()),
            Instruction::ServedBy(pool, service) => (24, u64::from(pool) << 32 | u64::from(service)),
            Instruction::Group(group) => (25, group.into()),
            Instruction::WaitHeld(edge) => (26, edge.into()),
            Instruction::Cycle(cycle) => (27, cycle.into()),
            Instruction::HasRead(round) => (28, round.into()),
            Instruction::Expiry(span) => (29, span.0),
            Instruction::NextExpiry(period) => (30, period.0),
        };
        Op(value.min(LENGTH_MAX) << 5 | tag)
    }

    /// True if it marks the beginning or the end of a request, or the beginning of a cycle.
    pub(crate) fn is_mark(self) -> bool {
        use Instruction::{Arrived, Ask, Cycle, Served, ServedBy};
        matches!(self.instruction(), Cycle(_) | Ask(_) | Arrived(_) | Served(_) | ServedBy(..))
    }

    /// Decodes it.
    #[must_use]
    pub fn instruction(self) -> Instruction {
        let value = self.0 >> 5;
        match self.0 & TAG {
            0 => Instruction::Run(Span(value)),
            1 => Instruction::Sleep(Span(value)),
            2 => Instruction::SleepUntil(Time(value)),
            3 => Instruction::Wait(value as u32),
            4 => Instruction::WaitUninterruptible(value as u32),
            5 => Instruction::Post(value as u32),
            6 => Instruction::Fork(value as u32),
            7 => Instruction::Nice((value as i64 - 20) as i8),
            8 => Instruction::Exit,
            10 => Instruction::Answer(value as u32),
            11 => Instruction::BeginTurn(value as u32),
            12 => Instruction::RoundEnd(value as u32),
            13 => Instruction::Ask(value as u32),
            14 => Instruction::Served(value as u32),
            15 => Instruction::Arrived(value as u32),
            16 => Instruction::LapBegin,
            17 => Instruction::Class(CLASSES[(value >> 8) as usize % CLASSES.len()], value as u8),
            18 => Instruction::Affinity(value as u32),
            19 => Instruction::Yield,
            20 => Instruction::Send((value >> BYTES_BITS) as u32, (value & BYTES_MAX) as u32),
            21 => Instruction::Receive((value >> BYTES_BITS) as u32, (value & BYTES_MAX) as u32),
            22 => Instruction::Accept(value as u32),
            23 => Instruction::Connect(value as u32),
            24 => Instruction::ServedBy((value >> 32) as u32, value as u32),
            25 => Instruction::Group(value as u32),
            26 => Instruction::WaitHeld(value as u32),
            27 => Instruction::Cycle(value as u32),
            28 => Instruction::HasRead(value as u32),
            29 => Instruction::Expiry(Span(value)),
            30 => Instruction::NextExpiry(Span(value)),
            _ => Instruction::Cut,
        }
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.instruction().fmt(f)
    }
}

/// Number of lengths shuffled among each other. A choice: large enough to break up coincidences, small enough to keep
/// phases of different load apart.
const BLOCK: usize = 8;

/// The programme with bursts and delays shuffled among similar ones: no length is invented, and sums stay the same.
/// Lengths are exchanged only within a block of eight with the same kind, neighbours (previous and next instruction)
/// and power of eight in length. Freer exchange would swap a server's short and long steps and shift every metric.
#[must_use]
pub fn permuted(ops: &[Op], seed: Seed) -> Arc<[Op]> {
    let mut blocks = BTreeMap::<Kind, Vec<u32>>::new();
    let mut result = ops.to_vec();
    let mut rng = seed.rng();
    for place in 0..ops.len() {
        let Some(kind) = kind_of(ops, place) else { continue };
        let block = blocks.entry(kind).or_default();
        block.push(place as u32);
        if block.len() == BLOCK {
            shuffle(&mut result, block, &mut rng);
            block.clear();
        }
    }
    for block in blocks.values() {
        shuffle(&mut result, block, &mut rng);
    }
    result.into()
}

/// Class of exchangeable lengths: kind, previous and next instruction, power of eight.
type Kind = (u64, u64, u64, u32);

/// The kind of the duration at `place`; `None` if it has none that can be exchanged.
fn kind_of(ops: &[Op], place: usize) -> Option<Kind> {
    let (Instruction::Run(span) | Instruction::Sleep(span)) = ops[place].instruction() else { return None };
    let tag = |op: Option<&Op>| op.map_or(u64::MAX, |op| op.0 & TAG);
    // Marks of requests take no time and do not separate lengths.
    let before = tag(ops[..place].iter().rev().find(|op| !op.is_mark()));
    let after = tag(ops[place + 1..].iter().find(|op| !op.is_mark()));
    Some((ops[place].0 & TAG, before, after, span.0.max(1).ilog2() / 3))
}

fn shuffle(ops: &mut [Op], places: &[u32], rng: &mut Rng) {
    // Fisher and Yates, on the places.
    for last in (1..places.len()).rev() {
        let other = rng.below(last as u64 + 1) as usize;
        ops.swap(places[last] as usize, places[other] as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_says_what_it_was_made_of() {
        let instructions = [
            Instruction::Run(Span(123_456_789_012)),
            Instruction::Sleep(Span(0)),
            Instruction::SleepUntil(Time(u64::MAX >> 5)),
            Instruction::Expiry(Span(0)),
            Instruction::NextExpiry(Span(16_666_667)),
            Instruction::Wait(u32::MAX),
            Instruction::WaitUninterruptible(7),
            Instruction::WaitHeld(u32::MAX),
            Instruction::Cycle(7),
            Instruction::Post(8),
            Instruction::Fork(9),
            Instruction::Nice(-20),
            Instruction::Nice(19),
            Instruction::Exit,
            Instruction::Cut,
            Instruction::Answer(u32::MAX),
            Instruction::BeginTurn(10),
            Instruction::RoundEnd(11),
            Instruction::HasRead(17),
            Instruction::Ask(12),
            Instruction::Served(u32::MAX),
            Instruction::Arrived(13),
            Instruction::LapBegin,
            Instruction::Class(Class::RoundRobin, 99),
            Instruction::Class(Class::Normal, 0),
            Instruction::Affinity(u32::MAX),
            Instruction::Group(u32::MAX),
            Instruction::Yield,
            Instruction::Send(u32::MAX >> 4, i32::MAX as u32),
            Instruction::Receive(14, 15),
            Instruction::Accept(14),
            Instruction::Connect(15),
            Instruction::ServedBy(16, u32::MAX),
        ];
        for instruction in instructions {
            assert_eq!(Op::new(instruction).instruction(), instruction);
        }
        assert_eq!(std::mem::size_of::<Op>(), 8);
    }

    #[test]
    fn permuting_keeps_sums_and_structure_and_exchanges_only_like_with_like() {
        let mut ops = Vec::new();
        for i in 0..40 {
            ops.extend(
                [Instruction::Run(Span(100 + i)), Instruction::Post(0), Instruction::Run(Span(5000 + i))].map(Op::new),
            );
            ops.extend([Instruction::Wait(i as u32), Instruction::Sleep(Span(9000 + i))].map(Op::new));
        }
        let shuffled = permuted(&ops, Seed(3));
        assert_ne!(&shuffled[..], &ops[..]);
        assert_eq!(permuted(&ops, Seed(3)), shuffled, "equal seeds give equal work");
        assert_ne!(permuted(&ops, Seed(4)), shuffled);
        let similar = |a: &Op, b: &Op| a.0 & TAG == b.0 & TAG && (a.0 == b.0 || (a.0 >> 5).abs_diff(b.0 >> 5) < 40);
        assert!(shuffled.iter().zip(&ops).all(|(a, b)| similar(a, b)));
        let sorted = |ops: &[Op]| {
            let mut values: Vec<u64> = ops.iter().map(|op| op.0).collect();
            values.sort_unstable();
            values
        };
        assert_eq!(sorted(&shuffled), sorted(&ops), "no length is invented or lost");
    }
}
