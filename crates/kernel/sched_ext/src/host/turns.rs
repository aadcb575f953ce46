//! The turn on each CPU: converts picks, preemptions and migrations into commands.

use super::Host;
use crate::command::Order;
use goodness_core::{CpuId, Event, Idle, Pick, Pull, TaskId};
use goodness_referee::policy::Asked;
use goodness_referee::{Choice, Move};

/// Decision about a turn that continues in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// None: it ends by itself.
    #[default]
    Stays,
    /// Preemption requested.
    Stops,
    /// Preemption requested, followed by a migration to this CPU's queue.
    Moves(CpuId),
}

/// The turn on one CPU of the policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// Decision about it.
    pub fate: Fate,
    /// The task that ran here and is being changed by the kernel while it runs; the pick waits for it.
    pub held_for: Option<TaskId>,
}

impl Host {
    /// The CPU on which `task` has the turn.
    pub(super) fn cpu_of_turn(&self, task: TaskId) -> Option<CpuId> {
        let cpu = self.referee.tasks().cpu(task);
        (cpu.index() < self.turns.len() && self.referee.current(cpu) == Some(task)).then_some(cpu)
    }

    /// Makes all CPUs with a request pick again; if a task has the turn, the kernel is told to end it first.
    pub(super) fn reschedule_asked(&mut self) {
        while !self.asked.is_empty() && self.referee.refusal().is_none() {
            let cpu = self.asked.remove(0);
            self.referee.heeded(cpu);
            match self.referee.current(cpu) {
                None => self.schedule(cpu),
                Some(task) => self.stop(cpu, task, Fate::Stops),
            }
        }
        self.asked.clear();
    }

    /// Asks the kernel to preempt `task`, unless it was asked already.
    fn stop(&mut self, cpu: CpuId, task: TaskId, fate: Fate) {
        let turn = &mut self.turns[cpu.index()];
        if turn.fate == Fate::Stays {
            turn.fate = fate;
            self.command(task, cpu, Order::Preempt);
        } else if turn.fate == Fate::Stops {
            turn.fate = fate;
        }
    }

    /// Has the policy pick a task for `cpu`, where no task has the turn, and grants it.
    pub(super) fn schedule(&mut self, cpu: CpuId) {
        let is_held = self.turns[cpu.index()].held_for.is_some();
        if is_held || self.referee.current(cpu).is_some() || self.referee.refusal().is_some() {
            return;
        }
        // This pick also answers earlier requests to pick.
        self.asked.retain(|asked| *asked != cpu);
        let mut choice = self.referee.choose(cpu);
        loop {
            match choice {
                Choice::Run { pick, from } => return self.grant(cpu, pick, from),
                Choice::Idle | Choice::Refused => return,
                Choice::Move(Move::Queued(pull, asked)) => self.moved(pull, asked),
                // The kernel has to stop the task first: it joins the other queue when its turn has ended.
                Choice::Move(Move::Running(Pull { task, from, to })) => return self.stop(from, task, Fate::Moves(to)),
            }
            choice = self.referee.choose_again(cpu);
        }
    }

    fn grant(&mut self, cpu: CpuId, pick: Pick, from: CpuId) {
        let Pick { task, timeslice } = pick;
        if from != cpu {
            self.events.push(Event::Migrate { task, from, to: cpu });
        }
        self.turns[cpu.index()].fate = Fate::Stays;
        self.command(task, cpu, Order::Grant { slice: timeslice });
    }

    /// The balancing of a tick, with that which the policy would put off.
    pub(super) fn balance_ticked(&mut self, cpu: CpuId) {
        self.balance(cpu, Idle::Busy);
        if self.referee.balances_later(cpu) {
            self.balance(cpu, Idle::Later);
        }
    }

    fn balance(&mut self, cpu: CpuId, idle: Idle) {
        while let Some(it) = self.referee.balance(cpu, idle) {
            match it {
                Move::Queued(pull, asked) => self.moved(pull, asked),
                Move::Running(Pull { task, from, to }) => return self.stop(from, task, Fate::Moves(to)),
            }
        }
    }

    /// A queued task is on its new runqueue.
    fn moved(&mut self, Pull { task, from, to }: Pull, asked: Asked) {
        self.events.push(Event::Migrate { task, from, to });
        self.will_choose(asked);
    }
}
