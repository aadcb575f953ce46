//! Stride scheduling: each task's pass advances by a stride inverse to its tickets, and the task with the least pass
//! runs.
//!
//! Idea: the shares of lottery scheduling, but at any time instead of on average: two tasks that both want the CPU
//! never differ by more than one timeslice from the shares of their tickets.
//!
//! Source: Waldspurger and Weihl 1995; specs section 11 (general knowledge, not checked against the paper): stride1 is
//! 2^20, a partial timeslice advances in proportion, and a task that leaves keeps the difference to the global pass for
//! when it comes back; a new one joins one stride behind the global pass.
//! Inferred: the timeslice of 10 ms; the global pass goes on while CPUs are busy, for each of them. Passes count in
//! 2^−20 of the paper's unit so that short stretches on a CPU are not lost to rounding.
//! Tickets: the task's, or 100 · 1.25^−nice; the classes are ignored, but SCHED_IDLE is worth one ticket.
//! Weakness: no task is preempted, so a woken task waits for the ends of timeslices; a task that yields at once has
//! hardly advanced and runs again.

use crate::parts::idle_cpus::IdleCpus;
use crate::parts::ordered::{Ordered, Places};
use crate::parts::tickets::tickets_of;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, PerTask, Pick, Reason, Registered, Rejected,
    Resched, Seed, Span, Stop, TaskId, Time, Why,
};

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time after which the next task is chosen.
        timeslice: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
    }
}

/// The stride of one ticket: 2^20 of the paper's units of 2^20 each.
const STRIDE1: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, Default)]
struct Client {
    /// 0 before it first joined.
    tickets: u64,
    stride: i64,
    /// Its pass, while runnable.
    pass: i64,
    /// Its distance from the global pass when it left.
    remain: i64,
    takes_part: bool,
}

/// The state of the policy.
#[derive(Debug)]
pub struct Stride {
    settings: Settings,
    clients: PerTask<Client>,
    places: Places,
    queue: Ordered,
    idle: IdleCpus,
    /// Pass of a task that always had its share.
    global_pass: i64,
    /// Tickets of all runnable tasks.
    global_tickets: u64,
    running: u64,
    updated: Time,
}

impl Registered for Stride {
    const ABOUT: About = About {
        name: "stride",
        summary: "Stride: shares in proportion to tickets, exact to one timeslice.",
        source: "Waldspurger and Weihl 1995; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Stride {
            settings,
            clients: PerTask::default(),
            places: Places::default(),
            queue: Ordered::default(),
            idle: IdleCpus::all(machine),
            global_pass: 0,
            global_tickets: 0,
            running: 0,
            updated: Time::ZERO,
        }
    }
}

impl CpuPolicy for Stride {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.clients.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        if why == Enqueue::Restored && self.clients[task].takes_part {
            self.leave(cx, task);
        }
        if !self.clients[task].takes_part {
            self.join(cx, task);
        }
        self.queue.insert(&mut self.places, cx, task, self.clients[task].pass);
        self.idle.claim(cx, cpu, task)
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, why: Dequeue) {
        self.queue.remove(&mut self.places, cx, task);
        if why == Dequeue::Kill {
            self.leave(cx, task);
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.idle.set(cpu, first.is_none());
        let (task, _) = first?;
        self.advance_global(cx.now);
        self.running += 1;
        Some(Pick { task, timeslice: Some(self.settings.timeslice) })
    }

    fn why(&self, _: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let [own, other] = [ahead?, waiting].map(|task| &self.clients[task]);
        let lead = i128::from(other.pass - own.pass);
        if !is_pick && lead <= 0 {
            return Some(Reason::SliceNotOver);
        }
        // In CPU time of the waiting task.
        let by = lead * i128::from(self.settings.timeslice.0) / i128::from(other.stride.max(1));
        match by {
            ..0 => None,
            0 => Some(Reason::First),
            _ => Some(Reason::SmallerPass { by: Span(by as u64) }),
        }
    }

    fn charge(&mut self, cx: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.advance_global(cx.now);
        self.running -= 1;
        let client = &mut self.clients[task];
        client.pass += fraction(client.stride as u64, ran, self.settings.timeslice);
        if matches!(why, Stop::Blocked { .. } | Stop::Exited) {
            self.leave(cx, task);
        }
        Resched::Keep
    }
}

/// `stride` times the share of the timeslice that was used.
fn fraction(stride: u64, ran: Span, timeslice: Span) -> i64 {
    (u128::from(stride) * u128::from(ran.0) / u128::from(timeslice.0)) as i64
}

impl Stride {
    fn advance_global(&mut self, now: Time) {
        let gone = now.since(self.updated) * self.running;
        self.updated = now;
        if self.global_tickets > 0 {
            self.global_pass += fraction(STRIDE1, gone, self.settings.timeslice) / self.global_tickets as i64;
        }
    }

    /// A task returns as far ahead of the global pass as it left, scaled if its tickets changed.
    fn join(&mut self, cx: &Context, task: TaskId) {
        self.advance_global(cx.now);
        let tickets = tickets_of(&cx.tasks[task]);
        let client = &mut self.clients[task];
        let before = std::mem::replace(&mut client.tickets, tickets);
        client.stride = (STRIDE1 / tickets) as i64;
        client.remain = match before {
            0 => client.stride,
            _ => (i128::from(client.remain) * i128::from(before) / i128::from(tickets)) as i64,
        };
        client.pass = self.global_pass + client.remain;
        client.takes_part = true;
        self.global_tickets += tickets;
    }

    fn leave(&mut self, cx: &Context, task: TaskId) {
        self.advance_global(cx.now);
        let client = &mut self.clients[task];
        client.remain = client.pass - self.global_pass;
        client.takes_part = false;
        self.global_tickets -= client.tickets;
    }
}
