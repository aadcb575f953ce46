//! Lottery scheduling: for each timeslice a ticket is drawn at random, and its holder runs.
//!
//! Idea: a random draw is fair. A task with a share p of the tickets wins n·p of n draws on average, with a standard
//! deviation of √(n·p·(1 − p)), and no ticket holder starves.
//!
//! Source: Waldspurger and Weihl 1994; specs section 11 (general knowledge, not checked against the paper). One list of
//! all runnable tasks is walked until the sum of tickets passes the number drawn. A task that gives up its CPU after a
//! fraction f of its timeslice holds 1/f times its tickets until it wins next (compensation tickets).
//! Inferred: the timeslice of 100 ms is that of the paper's prototype, from general knowledge; the list keeps its order
//! of arrival (no move to front); a draw for a CPU leaves out tasks that may not run on it. Ticket currencies and
//! transfers are left out.
//! Tickets: the task's, or 100 · 1.25^−nice; the classes are ignored, but SCHED_IDLE is worth one ticket.
//! Weakness: a draw walks half of the list on average; shares are exact only in the long run; there is no preemption.

use crate::parts::idle_cpus::IdleCpus;
use crate::parts::tickets::tickets_of;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, CpuSet, Dequeue, Effort, Enqueue, Machine, Needs, PerTask, Pick, Reason,
    Registered, Rejected, Resched, Rng, Seed, Span, Stop, TaskId, Why,
};
use goodness_queues::{Links, List};

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time after which the next ticket is drawn.
        timeslice: Span = Span::from_ms(100), in Span::from_us(1) => Span::from_s(10);
        /// Give a task that used only part of its timeslice more tickets until it wins again.
        compensation: bool = true;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    /// Tickets in the draw while queued, compensation included.
    in_draw: u64,
    /// Used part of its last timeslice if compensated, else 0.
    used: u64,
    /// May not run everywhere.
    pinned: bool,
}

/// The state of the policy.
#[derive(Debug)]
pub struct Lottery {
    settings: Settings,
    holders: PerTask<Holder>,
    links: Links,
    queue: List,
    /// Tickets of all queued tasks, and the number of these tasks with restricted affinity.
    total: u64,
    pinned: u32,
    idle: IdleCpus,
    rng: Rng,
}

impl Registered for Lottery {
    const ABOUT: About = About {
        name: "lottery",
        summary: "Lottery: a random ticket decides each timeslice; partial timeslices are compensated.",
        source: "Waldspurger and Weihl 1994; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, seed: Seed) -> Self {
        Lottery {
            settings,
            holders: PerTask::default(),
            links: Links::default(),
            queue: List::default(),
            total: 0,
            pinned: 0,
            idle: IdleCpus::all(machine),
            rng: seed.stream("lottery", 0).rng(),
        }
    }
}

impl CpuPolicy for Lottery {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        self.holders.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Enqueue) -> Resched {
        let it = &cx.tasks[task];
        let holder = &mut self.holders[task];
        holder.in_draw = compensated(tickets_of(it), holder.used, self.settings.timeslice.0);
        holder.pinned = it.affinity != CpuSet::All;
        self.total += holder.in_draw;
        self.pinned += u32::from(holder.pinned);
        self.queue.push_back(&mut self.links, task.0);
        self.idle.claim(cx, cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.take(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let winner = self.draw(cx, cpu);
        self.idle.set(cpu, winner.is_none());
        let task = winner?;
        self.take(task);
        self.holders[task].used = 0;
        Some(Pick { task, timeslice: Some(self.settings.timeslice) })
    }

    fn why(&self, cx: &Context, cpu: CpuId, Why { ahead, is_pick, .. }: Why) -> Option<Reason> {
        let tickets = self.holders[ahead?].in_draw;
        let drawn = Reason::Drawn { tickets, of: self.allowed(cx, cpu) + tickets };
        Some(if is_pick { drawn } else { Reason::SliceNotOver })
    }

    fn charge(&mut self, _: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let gave_up = matches!(why, Stop::Blocked { .. } | Stop::Yielded);
        if self.settings.compensation && gave_up && ran < self.settings.timeslice {
            self.holders[task].used = ran.0.max(1);
        }
        Resched::Keep
    }
}

/// Largest compensation factor, so that sums of tickets do not overflow. A task that used less of its timeslice is
/// treated as having used 1/MOST of it.
const MOST: u64 = 1_000_000;

/// `tickets` divided by the used fraction of the timeslice; `used` 0 means all of it.
fn compensated(tickets: u64, used: u64, timeslice: u64) -> u64 {
    if used == 0 {
        return tickets;
    }
    (u128::from(tickets) * u128::from(timeslice) / u128::from(used.max(timeslice / MOST))) as u64
}

impl Lottery {
    fn take(&mut self, task: TaskId) {
        let holder = &self.holders[task];
        self.total -= holder.in_draw;
        self.pinned -= u32::from(holder.pinned);
        self.queue.remove(&mut self.links, task.0);
    }

    /// Draws a winner among the tasks that may run on `cpu`.
    fn draw(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let may = |task: TaskId| cx.tasks.may_run(task, cpu);
        let total = if self.pinned == 0 {
            self.total
        } else {
            cx.examined(Effort::Search, self.queue.len() as u32);
            self.allowed(cx, cpu)
        };
        if total == 0 {
            return None;
        }
        let mut left = self.rng.below(total);
        let mut walked = 0;
        let winner = self.queue.iter(&self.links).map(TaskId).find(|task| {
            walked += 1;
            let tickets = if may(*task) { self.holders[*task].in_draw } else { 0 };
            let wins = left < tickets;
            left = left.saturating_sub(tickets);
            wins
        });
        cx.examined(Effort::Search, walked);
        winner
    }

    /// Tickets of the tasks that may run on `cpu`.
    fn allowed(&self, cx: &Context, cpu: CpuId) -> u64 {
        let tasks = self.queue.iter(&self.links).map(TaskId);
        tasks.filter(|task| cx.tasks.may_run(*task, cpu)).map(|task| self.holders[task].in_draw).sum()
    }
}
