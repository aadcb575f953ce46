//! Runs recovered programmes: each instruction becomes a step of the simulated task.

use crate::conduits::Conduits;
use crate::handoffs::HandoffState;
use crate::loop_rounds::RoundState;
use crate::open_end::GoesOn;
use crate::program::{Instruction, Op};
use crate::services::QueueState;
use goodness_core::{Behaviour, BehaviourId, Channel, CpuSet, GroupId, Nice, Span, Step, StepContext, TaskId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// State that the players of a run share.
pub struct Shared {
    /// The rounds of event loops.
    pub rounds: RoundState,
    /// The cycles of tasks that hold locks.
    pub handoffs: HandoffState,
    /// Pipes and sockets.
    pub conduits: Conduits,
    /// The queues of services.
    pub queues: QueueState,
    /// Continuation of each task after its programme.
    pub going_on: Vec<GoesOn>,
    /// Edges that nobody posts after the first lap, and the length of the waits for them then.
    pub delays: BTreeMap<u32, Span>,
    /// The affinities that instructions name.
    pub affinities: Vec<CpuSet>,
    /// The first of the channels on which tasks wait to be forked again, one for each task.
    pub forks: Channel,
    /// Length of a lap.
    pub lap: Span,
}

impl Shared {
    /// The channel on which `task` waits to be forked again. That of the task after the last is never posted.
    fn fork_of(&self, task: u32) -> Channel {
        Channel(self.forks.0 + task)
    }
}

/// A request that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// The request of this number.
    Request(u32),
    /// That of the connection to this queue that gets this service.
    Connection(u32, u32),
}

/// Runs a recovered programme.
pub struct Player {
    ops: Arc<[Op]>,
    at: usize,
    /// The queue whose service the task is in, and whose instructions it follows; `None` in its own programme.
    serves: Option<u32>,
    /// True if the task has waited for a connection since it last looked for one.
    is_called: bool,
    /// Instruction at which later laps begin.
    lap_begin: usize,
    shared: Arc<Shared>,
    /// Number of completed laps.
    lap: u32,
    /// Turns taken of the present round.
    taken: u32,
    /// The round whose next turn is due, as its channel has released the task.
    takes: Option<u32>,
    /// End of the latest sleep.
    slept_until: Option<Time>,
    /// Last expiry of the task's periodic timer.
    expired: Option<Time>,
    /// Open requests and their start.
    begun: Vec<(Begun, Time)>,
    /// Steps that come before the next instruction, last first.
    due: Vec<Step>,
}

impl Player {
    /// A player at the beginning of `ops`; `shared` is shared by all players of a run.
    #[must_use]
    pub fn new(ops: Arc<[Op]>, shared: Arc<Shared>) -> Player {
        Player {
            ops,
            at: 0,
            serves: None,
            is_called: false,
            lap_begin: 0,
            shared,
            lap: 0,
            taken: 0,
            takes: None,
            slept_until: None,
            expired: None,
            begun: Vec::new(),
            due: Vec::new(),
        }
    }

    /// Takes the turn whose reply has arrived.
    fn take_turn(&mut self) {
        if let Some(begin) = self.takes.take().and_then(|round| self.shared.rounds.take(round)) {
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
            Instruction::SleepUntil(at) => self.sleep_until(at + self.shared.lap * u64::from(self.lap), cx.now),
            Instruction::Expiry(span) => self.expire(self.last_expiry(cx.now) + span, cx.now),
            Instruction::NextExpiry(period) => {
                self.expire(next_expiry(self.last_expiry(cx.now), period, cx.now), cx.now)
            }
            Instruction::Wait(edge) | Instruction::WaitHeld(edge) | Instruction::WaitUninterruptible(edge)
                if self.lap > 0 && self.delay(edge).is_some() =>
            {
                Step::Sleep(self.delay(edge)?)
            }
            Instruction::WaitHeld(edge) if !self.shared.handoffs.waits(edge, self.lap) => return None,
            Instruction::Wait(edge) | Instruction::WaitHeld(edge) => Step::Wait(Channel(edge)),
            Instruction::WaitUninterruptible(edge) => Step::WaitUninterruptible(Channel(edge)),
            Instruction::Post(edge) if !self.shared.handoffs.signals(edge, self.lap) => return None,
            Instruction::Post(edge) => Step::Wake(Channel(edge)),
            Instruction::Answer(turn) => Step::Wake(self.shared.rounds.answer(turn, self.lap)?),
            Instruction::BeginTurn(round) | Instruction::RoundEnd(round) => return self.choose(round),
            Instruction::HasRead(round) => return self.choose(round),
            Instruction::Fork(child) => return self.fork(child),
            Instruction::Nice(nice) => Step::SetNice(Nice::new(nice.into()).unwrap_or_default()),
            Instruction::Class(class, priority) => Step::SetClass(class, priority),
            Instruction::Affinity(set) => Step::SetAffinity(self.shared.affinities.get(set as usize)?.clone()),
            Instruction::Group(group) => Step::SetGroup(GroupId(group)),
            Instruction::Yield => Step::Yield,
            Instruction::Send(conduit, bytes) => return self.send(conduit, bytes, cx.task),
            Instruction::Receive(conduit, bytes) => return self.receive(conduit, bytes, cx.task),
            Instruction::Accept(queue) => return self.accept(queue),
            Instruction::Connect(queue) => self.connect(queue, cx.now),
            Instruction::Ask(request) => return self.begin(Begun::Request(request), cx.now),
            Instruction::Arrived(request) => {
                let at = self.slept_until.take().unwrap_or(cx.now);
                return self.begin(Begun::Request(request), at.min(cx.now));
            }
            Instruction::Served(request) => return self.report(Begun::Request(request)),
            Instruction::ServedBy(queue, service) => return self.report(Begun::Connection(queue, service)),
            Instruction::Cycle(cycle) => return self.shared.handoffs.begin(cx.task, self.lap, cycle),
            Instruction::LapBegin => {
                self.lap_begin = self.at;
                return None;
            }
            Instruction::Exit | Instruction::Cut => return self.finish(instruction, cx.task),
        })
    }

    fn sleep_until(&mut self, until: Time, now: Time) -> Step {
        self.slept_until = Some(until.max(now));
        Step::SleepUntil(until)
    }

    /// The last expiry of the periodic timer, which starts when it is first waited for.
    fn last_expiry(&self, now: Time) -> Time {
        self.expired.unwrap_or(now)
    }

    /// Waits for the expiry of the periodic timer at `until`.
    fn expire(&mut self, until: Time, now: Time) -> Step {
        self.expired = Some(until);
        self.sleep_until(until, now)
    }

    fn connect(&mut self, queue: u32, now: Time) -> Step {
        if let Some(service) = self.shared.queues.connect(queue) {
            self.begin(Begun::Connection(queue, service), now);
        }
        Step::Wake(self.shared.queues.channel(queue))
    }

    /// Sends to `conduit`, or waits for room and tries again.
    fn send(&mut self, conduit: u32, bytes: u32, task: TaskId) -> Option<Step> {
        if !self.shared.conduits.send(task, conduit, bytes.into(), &mut self.due) {
            self.at -= 1;
        }
        self.first_due()
    }

    /// Receives from `conduit`, or waits and tries again.
    fn receive(&mut self, conduit: u32, bytes: u32, task: TaskId) -> Option<Step> {
        let conduits = &self.shared.conduits;
        if self.lap > 0 && conduits.is_cut_off(conduit) {
            return None;
        }
        if !conduits.receive(task, conduit, bytes.into(), &mut self.due) {
            self.at -= 1;
        }
        self.first_due()
    }

    fn first_due(&mut self) -> Option<Step> {
        self.due.reverse();
        self.due.pop()
    }

    /// `step`, after what has to come before it because `task` may wait or end then.
    fn announced(&mut self, step: Step, task: TaskId) -> Step {
        self.shared.conduits.announce(task, &step, &mut self.due);
        if self.due.is_empty() {
            return step;
        }
        self.due.push(step);
        self.first_due().expect("not empty")
    }

    /// Reports a request that has begun.
    fn report(&mut self, request: Begun) -> Option<Step> {
        let at = self.begun.iter().position(|(begun, _)| *begun == request)?;
        Some(Step::Served(self.begun.swap_remove(at).1))
    }

    /// The request began at `at`.
    fn begin(&mut self, request: Begun, at: Time) -> Option<Step> {
        self.begun.retain(|(other, _)| *other != request);
        self.begun.push((request, at));
        None
    }

    /// Length of a wait for `edge` after the first lap, if nobody posts it then.
    fn delay(&self, edge: u32) -> Option<Span> {
        self.shared.delays.get(&edge).copied()
    }

    /// Waits for the next answer of `round`, unless one came early; continues after the round once all were taken. If
    /// all messages that were there are read, answers the next of them.
    fn choose(&mut self, round: u32) -> Option<Step> {
        if let Some(at) = self.shared.rounds.answers(round) {
            self.at = at;
            return None;
        }
        if let Some(after) = self.shared.rounds.end(round, self.taken) {
            (self.at, self.taken) = (after, 0);
            return None;
        }
        self.takes = Some(round);
        if self.shared.rounds.takes_early(round) {
            self.take_turn();
            return None;
        }
        Some(Step::Wait(self.shared.rounds.channel(round)))
    }

    /// Takes the next service of `queue`. Without a connection it waits for one; if it was woken for one that another
    /// task has taken, it runs for a moment before it waits again.
    fn accept(&mut self, queue: u32) -> Option<Step> {
        let is_called = std::mem::take(&mut self.is_called);
        if let Some((begin, lap)) = self.shared.queues.take(queue) {
            (self.serves, self.at, self.lap) = (Some(queue), begin, lap);
            return None;
        }
        self.at -= 1;
        self.is_called = !is_called;
        Some(match is_called {
            true => Step::Compute(self.shared.queues.fruitless(queue)),
            false => Step::Wait(self.shared.queues.channel(queue)),
        })
    }

    /// The next instruction: of the service that the task is in, or of its own programme.
    fn instruction(&self) -> Instruction {
        let op = match self.serves {
            Some(queue) => self.shared.queues.op(queue, self.at),
            None => self.ops.get(self.at).copied(),
        };
        op.map_or(Instruction::Cut, Op::instruction)
    }

    /// Forks `child`. After the first lap, a child that ended and waits for its fork continues instead.
    fn fork(&self, child: u32) -> Option<Step> {
        match (self.lap, self.shared.going_on.get(child as usize)) {
            (0, _) => Some(Step::Fork(BehaviourId(child))),
            (_, Some(GoesOn::Forked)) => Some(Step::Wake(self.shared.fork_of(child))),
            _ => None,
        }
    }

    /// The end of the programme by `instruction`: starts the next lap, or ends the task.
    fn finish(&mut self, instruction: Instruction, task: TaskId) -> Option<Step> {
        let goes_on = self.shared.going_on.get(task.index()).copied().unwrap_or(GoesOn::Never);
        if matches!(goes_on, GoesOn::Itself | GoesOn::Forked) {
            (self.at, self.lap) = (self.lap_begin, self.lap + 1);
            self.begun.clear();
        }
        match (goes_on, instruction) {
            (GoesOn::Computing, _) => Some(Step::Compute(Span::MAX)),
            (GoesOn::Itself, _) => None,
            (GoesOn::Forked, _) => Some(Step::Wait(self.shared.fork_of(task.0))),
            (GoesOn::Never, Instruction::Exit) => Some(Step::Exit),
            (GoesOn::Never, _) => {
                self.at = self.ops.len();
                Some(Step::Wait(self.shared.fork_of(self.shared.going_on.len() as u32)))
            }
        }
    }
}

/// The first expiry, from `period` after the `last`, that is not before `now`.
fn next_expiry(last: Time, period: Span, now: Time) -> Time {
    let next = last + period;
    next + period * now.since(next).0.div_ceil(period.0.max(1))
}

impl Behaviour for Player {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        if let Some(step) = self.due.pop() {
            return step;
        }
        let has_conduits = !self.shared.conduits.is_empty();
        if has_conduits {
            self.shared.conduits.works(cx.task);
        }
        self.take_turn();
        loop {
            let instruction = self.instruction();
            self.at += 1;
            let is_transfer = matches!(instruction, Instruction::Send(..) | Instruction::Receive(..));
            if let Some(step) = self.step(instruction, cx) {
                return if has_conduits && !is_transfer { self.announced(step, cx.task) } else { step };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_expires_at_multiples_of_its_period_and_not_in_the_past() {
        let next = |now| next_expiry(Time(100), Span(10), Time(now)).0;
        assert_eq!([100, 105, 110, 111, 139].map(next), [110, 110, 110, 120, 140]);
    }
}
