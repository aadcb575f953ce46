//! Runs recovered programmes: each instruction becomes a step of the simulated task.

use crate::loop_rounds::RoundState;
use crate::open_end::GoesOn;
use crate::program::{Instruction, Op};
use goodness_core::{Behaviour, BehaviourId, Channel, Nice, Span, Step, StepContext, TaskId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the players of a run share.
pub struct Cast {
    /// The rounds of event loops.
    pub rounds: RoundState,
    /// How each task goes on after its programme.
    pub going_on: Vec<GoesOn>,
    /// Edges that nobody posts after the first lap, and how long the waits for them last then.
    pub delays: BTreeMap<u32, Span>,
    /// The first of the channels on which tasks wait to be forked again, one for each task.
    pub forks: Channel,
    /// Length of a lap.
    pub lap: Span,
}

impl Cast {
    /// The channel on which `task` waits to be forked again. That of the task after the last is never posted.
    fn fork_of(&self, task: u32) -> Channel {
        Channel(self.forks.0 + task)
    }
}

/// Runs a recovered programme.
pub struct Player {
    ops: Arc<[Op]>,
    at: usize,
    /// Where later laps begin.
    lap_begin: usize,
    cast: Arc<Cast>,
    /// How often the programme was run through before.
    lap: u32,
    /// Turns taken of the present round.
    taken: u32,
    /// The round whose next turn is due, as its channel has released the task.
    takes: Option<u32>,
    /// When the sleep before ended or will end.
    slept_until: Option<Time>,
    /// Requests that have begun, and when.
    begun: Vec<(u32, Time)>,
}

impl Player {
    /// A player at the beginning of `ops`; `cast` is shared by all players of a run.
    #[must_use]
    pub fn new(ops: Arc<[Op]>, cast: Arc<Cast>) -> Player {
        Player { ops, at: 0, lap_begin: 0, cast, lap: 0, taken: 0, takes: None, slept_until: None, begun: Vec::new() }
    }

    /// Takes the turn whose reply has arrived.
    fn take_turn(&mut self) {
        if let Some(begin) = self.takes.take().and_then(|round| self.cast.rounds.take(round)) {
            self.at = begin;
            self.taken += 1;
        }
    }

    /// The step of `instruction`; `None` when the next instruction comes at once.
    fn step(&mut self, instruction: Instruction, cx: &StepContext) -> Option<Step> {
        Some(match instruction {
            Instruction::Run(span) => Step::Compute(span),
            Instruction::Sleep(span) => {
                self.slept_until = Some(cx.now + span);
                Step::Sleep(span)
            }
            Instruction::SleepUntil(at) => {
                let until = at + self.cast.lap * u64::from(self.lap);
                self.slept_until = Some(until.max(cx.now));
                Step::SleepUntil(until)
            }
            Instruction::Wait(edge) | Instruction::WaitUninterruptible(edge)
                if self.lap > 0 && self.delay(edge).is_some() =>
            {
                Step::Sleep(self.delay(edge)?)
            }
            Instruction::Wait(edge) => Step::Wait(Channel(edge)),
            Instruction::WaitUninterruptible(edge) => Step::WaitUninterruptible(Channel(edge)),
            Instruction::Post(edge) => Step::Wake(Channel(edge)),
            Instruction::Answer(turn) => Step::Wake(self.cast.rounds.answer(turn, self.lap)?),
            Instruction::BeginTurn(round) | Instruction::RoundEnd(round) => return self.choose(round),
            Instruction::Fork(child) => return self.fork(child),
            Instruction::Nice(nice) => Step::SetNice(Nice::new(nice.into()).unwrap_or_default()),
            Instruction::Ask(request) => return self.begin(request, cx.now),
            Instruction::Arrived(request) => {
                let at = self.slept_until.take().unwrap_or(cx.now);
                return self.begin(request, at.min(cx.now));
            }
            Instruction::Served(request) => {
                let at = self.begun.iter().position(|(begun, _)| *begun == request)?;
                Step::Served(self.begun.swap_remove(at).1)
            }
            Instruction::LapBegin => {
                self.lap_begin = self.at;
                return None;
            }
            Instruction::Exit | Instruction::Cut => return self.finish(instruction, cx.task),
        })
    }

    /// The request of this number began at `at`.
    fn begin(&mut self, request: u32, at: Time) -> Option<Step> {
        self.begun.retain(|(other, _)| *other != request);
        self.begun.push((request, at));
        None
    }

    /// How long a wait for `edge` lasts after the first lap, if nobody posts it then.
    fn delay(&self, edge: u32) -> Option<Span> {
        self.cast.delays.get(&edge).copied()
    }

    /// Waits for the next answer of `round`, unless one came early; goes on after the round once all were taken.
    fn choose(&mut self, round: u32) -> Option<Step> {
        if let Some(after) = self.cast.rounds.end(round, self.taken) {
            (self.at, self.taken) = (after, 0);
            return None;
        }
        self.takes = Some(round);
        if self.cast.rounds.takes_early(round) {
            self.take_turn();
            return None;
        }
        Some(Step::Wait(self.cast.rounds.channel(round)))
    }

    /// Forks `child`; after the first lap a child that ended, and waits for that, goes on instead.
    fn fork(&self, child: u32) -> Option<Step> {
        match (self.lap, self.cast.going_on.get(child as usize)) {
            (0, _) => Some(Step::Fork(BehaviourId(child))),
            (_, Some(GoesOn::Forked)) => Some(Step::Wake(self.cast.fork_of(child))),
            _ => None,
        }
    }

    /// The programme is over, ended by `instruction`: the next lap, or the end.
    fn finish(&mut self, instruction: Instruction, task: TaskId) -> Option<Step> {
        let goes_on = self.cast.going_on.get(task.index()).copied().unwrap_or(GoesOn::Never);
        if matches!(goes_on, GoesOn::Itself | GoesOn::Forked) {
            (self.at, self.lap) = (self.lap_begin, self.lap + 1);
        }
        match (goes_on, instruction) {
            (GoesOn::Computing, _) => Some(Step::Compute(Span::MAX)),
            (GoesOn::Itself, _) => None,
            (GoesOn::Forked, _) => Some(Step::Wait(self.cast.fork_of(task.0))),
            (GoesOn::Never, Instruction::Exit) => Some(Step::Exit),
            (GoesOn::Never, _) => {
                self.at = self.ops.len();
                Some(Step::Wait(self.cast.fork_of(self.cast.going_on.len() as u32)))
            }
        }
    }
}

impl Behaviour for Player {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self.take_turn();
        loop {
            let instruction = self.ops.get(self.at).map_or(Instruction::Cut, |op| op.instruction());
            self.at += 1;
            if let Some(step) = self.step(instruction, cx) {
                return step;
            }
        }
    }
}
