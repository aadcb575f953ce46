//! Whose turn it is on each CPU: picks, preemptions and moves, verified and made into commands.

use super::command::Order;
use super::host::{Host, context};
use goodness_core::{Context, CpuId, Dequeue, Enqueue, Event, Idle, Pick, Pull, Registered, Resched, State, TaskId};

/// What was decided of a turn that goes on in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Nothing: it ends by itself.
    #[default]
    Stays,
    /// A preemption is on its way.
    Stops,
    /// A preemption is on its way, and then the task goes to another CPU's queue.
    Moves(CpuId),
}

/// One CPU of the policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// Whose turn it is.
    pub current: Option<TaskId>,
    /// What becomes of that turn.
    pub fate: Fate,
    /// The task that ran here and is being changed by the kernel, which leaves it running: the choice waits for it.
    pub held_for: Option<TaskId>,
}

impl<P: Registered> Host<P> {
    /// The CPU whose turn `task` has.
    pub(super) fn seat_of(&self, task: TaskId) -> Option<CpuId> {
        let cpu = self.tasks[task].cpu;
        (self.seats.get(cpu.index())?.current == Some(task)).then_some(cpu)
    }

    /// Nobody has the turn on `cpu` any more.
    pub(super) fn vacate(&mut self, cpu: CpuId) {
        let seat = &mut self.seats[cpu.index()];
        seat.current = None;
        seat.fate = Fate::Stays;
    }

    /// Remembers that a CPU is to choose again.
    pub(super) fn heed(&mut self, answer: Resched) {
        if let Resched::Preempt(cpu) = answer {
            if cpu.index() >= self.seats.len() {
                return self.fail(format!("preempted {cpu}, which this machine does not have"));
            }
            self.ask(cpu);
        }
    }

    /// As `heed`, but `cpu` itself is about to choose anyway.
    pub(super) fn heed_others(&mut self, answer: Resched, cpu: CpuId) {
        if answer != Resched::Preempt(cpu) {
            self.heed(answer);
        }
    }

    fn ask(&mut self, cpu: CpuId) {
        if !self.asked.contains(&cpu) {
            self.asked.push(cpu);
        }
    }

    /// Queues a runnable task on `cpu` and heeds what the policy says of it.
    pub(super) fn join(&mut self, task: TaskId, cpu: CpuId, why: Enqueue) {
        self.tasks[task].state = State::Queued;
        let answer = self.policy.enqueue(&context!(self), cpu, task, why);
        self.heed(answer);
        if self.seats[cpu.index()].current.is_none() {
            self.ask(cpu);
        }
    }

    /// All CPUs that were asked choose again; where somebody has the turn, the kernel is told to end it first.
    pub(super) fn reschedule_asked(&mut self) {
        while !self.asked.is_empty() && self.fault.is_none() {
            let cpu = self.asked.remove(0);
            match self.seats[cpu.index()].current {
                None => self.schedule(cpu),
                Some(task) => self.stop(cpu, task, Fate::Stops),
            }
        }
        self.asked.clear();
    }

    /// Has the kernel end the turn of `task`, unless that is on its way.
    fn stop(&mut self, cpu: CpuId, task: TaskId, fate: Fate) {
        let seat = &mut self.seats[cpu.index()];
        if seat.fate == Fate::Stays {
            self.command(task, cpu, Order::Preempt);
            self.seats[cpu.index()].fate = fate;
        } else if seat.fate == Fate::Stops {
            seat.fate = fate;
        }
    }

    /// Asks the policy whom to run on `cpu`, where it is nobody's turn, and grants it.
    pub(super) fn schedule(&mut self, cpu: CpuId) {
        let seat = &self.seats[cpu.index()];
        if seat.current.is_some() || seat.held_for.is_some() || self.fault.is_some() {
            return;
        }
        // Choosing for any reason answers what was asked before.
        self.asked.retain(|asked| *asked != cpu);
        self.decisions += 1;
        let mut pick = self.policy.pick_next(&context!(self), cpu);
        while pick.is_none() && P::ABOUT.needs.balance {
            let Some(pull) = self.policy.balance(&context!(self), cpu, Idle::Newly) else { break };
            if !self.migrate(pull) {
                return;
            }
            pick = self.policy.pick_next(&context!(self), cpu);
        }
        if let Some(pick) = pick
            && self.may_run(cpu, pick.task)
        {
            self.grant(cpu, pick);
        }
    }

    fn grant(&mut self, cpu: CpuId, pick: Pick) {
        let Pick { task, timeslice } = pick;
        let it = &mut self.tasks[task];
        it.state = State::Running;
        let from = std::mem::replace(&mut it.cpu, cpu);
        if from != cpu {
            self.events.push(Event::Migrate { task, from, to: cpu });
        }
        let seat = &mut self.seats[cpu.index()];
        seat.current = Some(task);
        seat.fate = Fate::Stays;
        self.command(task, cpu, Order::Grant { slice: timeslice });
    }

    /// Verifies the policy's choice.
    fn may_run(&mut self, cpu: CpuId, task: TaskId) -> bool {
        if task.index() >= self.tasks.len() {
            self.fail(format!("picked {task}, which does not exist"));
            return false;
        }
        let it = &self.tasks[task];
        match it.state {
            State::Queued if it.affinity.contains(cpu) => return true,
            State::Queued => self.fail(format!("picked {task} for {cpu}, which its affinity forbids")),
            state => self.fail(format!("picked {task} for {cpu}, but it is {state:?}, not Queued")),
        }
        false
    }

    /// The balancing of a tick.
    pub(super) fn balance_busy(&mut self, cpu: CpuId) {
        if !P::ABOUT.needs.balance {
            return;
        }
        for _ in 0..self.seats.len() {
            let Some(pull) = self.policy.balance(&context!(self), cpu, Idle::Busy) else { break };
            if !self.migrate(pull) {
                return;
            }
        }
    }

    /// Moves a task as the policy proposed; false when that takes time or cannot be.
    fn migrate(&mut self, pull: Pull) -> bool {
        let Pull { task, from, to } = pull;
        if task.index() >= self.tasks.len() || from.index() >= self.seats.len() || to.index() >= self.seats.len() {
            self.fail(format!("proposed to move {task} from {from} to {to}, one of which does not exist"));
            return false;
        }
        if !self.tasks[task].affinity.contains(to) {
            self.fail(format!("proposed to move {task} to {to}, which its affinity forbids"));
            return false;
        }
        if self.seats[from.index()].current == Some(task) {
            // The kernel has to stop it first: it joins the other queue when its turn has ended.
            self.stop(from, task, Fate::Moves(to));
            return false;
        }
        if self.tasks[task].state != State::Queued || self.tasks[task].cpu != from {
            self.fail(format!("proposed to move {task}, which is neither queued nor running on {from}"));
            return false;
        }
        self.policy.dequeue(&context!(self), from, task, Dequeue::Migrate);
        self.tasks[task].cpu = to;
        self.events.push(Event::Migrate { task, from, to });
        self.join(task, to, Enqueue::Migrated);
        true
    }
}
