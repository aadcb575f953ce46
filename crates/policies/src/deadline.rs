//! SCHED_DEADLINE of Linux: each task has a server with a budget and a deadline (constant bandwidth server), so that no
//! overrun harms another task; the earliest deadline runs.
//!
//! Source: specs section 11 (general knowledge, not checked against the kernel): the wake-up rule, throttling until the
//! deadline, admission up to 95 % of the machine, the limits of runtime and period. General knowledge beyond the sheet:
//! a yield gives up the rest of the budget; a task whose deadline is shorter than its period and that wakes between the
//! two waits for the next period; GRUB (`reclaim=on`, SCHED_FLAG_RECLAIM for all, which in Linux each task asks for)
//! slows a budget down to max(own, active)/0.95 of real time, and a task that blocks counts as active until its
//! zero-lag time.
//! Inferred and departed from: a task with a reservation is a deadline task unless its class is a real-time one;
//! SCHED_DEADLINE without a reservation counts as normal. One queue for the machine stands for the kernel's queues with
//! push and pull. Budgets end by a timer, and are looked at on ticks; Linux by default only does the latter. With GRUB
//! each CPU's share of the active bandwidth is the machine's mean. The bandwidth of a task that ends is free at once.
//! Beneath: SCHED_FIFO and SCHED_RR (100 ms) by priority, without the throttle that `cfs` and `eevdf` have; then all
//! ordinary tasks in turns of `timeslice`, whatever their nice; SCHED_IDLE last. All share the ordered queue.
//! Weakness: a throttled task waits though CPUs idle; on several CPUs deadlines are met with bounded lateness only.

use crate::parts::ordered::{Ordered, Places};
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, PerTask, Pick, Registered, Rejected,
    Reservation, Resched, Seed, Span, Stop, Task, TaskId, Time,
};
use std::cmp::Reverse;

goodness_core::tunables! {
    pub struct Settings {
        /// Let deadline tasks use bandwidth that others leave (GRUB, SCHED_FLAG_RECLAIM).
        reclaim: bool = false;
        /// Turn of an ordinary task.
        timeslice: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
    }
}

/// Bandwidth of a whole CPU.
const UNIT: u64 = 1 << 20;
/// Share of a CPU that reservations may promise: 95 %.
const PROMISED: u64 = UNIT * 95 / 100;
/// Limits of a reservation (specs section 11).
const RUNTIME_MIN: Span = Span(1024);
const PERIOD_MIN: Span = Span::from_us(100);
const PERIOD_MAX: Span = Span::from_us(1 << 22);
/// Turn of SCHED_RR.
const RR_SLICE: Span = Span::from_ms(100);

/// Key of the best real-time priority, behind all deadlines. Lower priorities have larger keys.
const REALTIME: i64 = i64::MAX - 200;
const ORDINARY: i64 = i64::MAX - 1;
const IDLE: i64 = i64::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Queued,
    /// Runnable, but without budget.
    Throttled,
}

#[derive(Clone, Copy, Debug, Default)]
struct Server {
    /// Share of a CPU, 2^20 for all of it; 0 for no reservation.
    bandwidth: u64,
    /// Remaining budget, ns.
    budget: i64,
    /// Absolute deadline; `Time::ZERO` before the first job.
    deadline: Time,
    is_throttled: bool,
    /// True while the bandwidth counts as active.
    is_active: bool,
    has_timer: bool,
    place: Place,
    /// Under which it is queued, or was when picked.
    key: i64,
}

/// The state of the policy.
#[derive(Debug)]
pub struct Deadline {
    settings: Settings,
    cpus: u64,
    servers: PerTask<Server>,
    places: Places,
    queue: Ordered,
    timer_places: Places,
    /// Ends of throttling and zero-lag times.
    timers: Ordered,
    running_cpus: RunningCpus<Reverse<i64>>,
    /// Bandwidth promised, and that of active servers.
    promised: u64,
    active: u64,
}

impl Registered for Deadline {
    const ABOUT: About = About {
        name: "deadline",
        summary: "SCHED_DEADLINE: constant bandwidth servers with admission above real-time and ordinary tasks.",
        source: "Linux SCHED_DEADLINE; Abeni and Buttazzo 1998; specs section 11",
        needs: Needs { tick: true, timer: true, balance: false, global_lock: true },
    };
    const HAS_RESERVATIONS: bool = true;
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Deadline {
            settings,
            cpus: machine.cpu_count() as u64,
            servers: PerTask::default(),
            places: Places::default(),
            queue: Ordered::default(),
            timer_places: Places::default(),
            timers: Ordered::default(),
            running_cpus: RunningCpus::all(machine),
            promised: 0,
            active: 0,
        }
    }
}

impl CpuPolicy for Deadline {
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.places.reserve(task.index() + 1);
        self.timer_places.reserve(task.index() + 1);
        *self.servers.admit(task) = Server::default();
        let Some(reservation) = &cx.tasks[task].reservation else { return Ok(()) };
        check(reservation)?;
        let bandwidth = share(reservation);
        if self.promised + bandwidth > PROMISED * self.cpus {
            let percent = |share: u64| share as u128 * 100 / u128::from(UNIT);
            return Err(Rejected {
                reason: format!(
                    "its {} of {} ({} % of a CPU) do not fit: {} % of the {} % that {} CPU(s) may promise are taken; \
                     reserve less or use more CPUs",
                    reservation.runtime,
                    reservation.period,
                    percent(bandwidth),
                    percent(self.promised),
                    percent(PROMISED * self.cpus + UNIT / 200),
                    self.cpus
                ),
            });
        }
        self.promised += bandwidth;
        self.servers[task].bandwidth = bandwidth;
        Ok(())
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.cancel_timer(cx, task);
        self.deactivate(task);
        self.promised -= self.servers[task].bandwidth;
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let it = &cx.tasks[task];
        let Some(reservation) = reservation_of(it) else {
            if !self.servers[task].has_timer {
                self.deactivate(task);
            }
            let first = why == Enqueue::Preempted && it.class.is_realtime();
            return self.queue(cx, cpu, task, ordinary_key(it), first);
        };
        if matches!(why, Enqueue::Fork { .. } | Enqueue::Wakeup { .. }) || !self.servers[task].is_active {
            self.wake(cx, task, reservation);
        }
        let server = &mut self.servers[task];
        if server.is_throttled {
            server.place = Place::Throttled;
            return Resched::Keep;
        }
        let key = server.deadline.0 as i64;
        self.queue(cx, cpu, task, key, false)
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        if std::mem::take(&mut self.servers[task].place) == Place::Queued {
            self.queue.remove(&mut self.places, cx, task);
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let first = self.queue.take_first_allowed(&mut self.places, cx, cpu);
        self.running_cpus.set(cpu, first.map(|(task, key)| (task, Reverse(key))));
        let (task, _) = first?;
        self.servers[task].place = Place::Nowhere;
        let it = &cx.tasks[task];
        let timeslice = match it.class {
            _ if reservation_of(it).is_some() => Some(self.lasts(task)),
            Class::Fifo => None,
            Class::RoundRobin => Some(RR_SLICE),
            _ => Some(self.settings.timeslice),
        };
        Some(Pick { task, timeslice })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let Some(reservation) = reservation_of(&cx.tasks[task]) else { return Resched::Keep };
        let rate = self.rate(task);
        let server = &mut self.servers[task];
        server.budget -= (u128::from(ran.0) * u128::from(rate) / u128::from(PROMISED)) as i64;
        if why == Stop::Yielded {
            server.budget = server.budget.min(0);
        }
        let spent = server.budget <= 0;
        match why {
            Stop::Exited => {}
            _ if spent => self.throttle(cx, task, self.servers[task].deadline),
            Stop::Blocked { .. } => self.become_inactive(cx, task, reservation),
            _ => {}
        }
        if spent && why == Stop::Tick { Resched::Preempt(cpu) } else { Resched::Keep }
    }

    fn next_timer(&self) -> Option<Time> {
        self.timers.first(&self.timer_places).map(|(_, at)| Time(at as u64))
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        // One at a time: the host asks again at once while another is due.
        let Some((task, at)) = self.timers.first(&self.timer_places) else { return Resched::Keep };
        if at as u64 > cx.now.0 {
            return Resched::Keep;
        }
        self.cancel_timer(cx, task);
        let is_waiting = self.servers[task].place == Place::Throttled;
        let is_served = reservation_of(&cx.tasks[task]).is_some() && self.is_running(cx, task);
        if !is_waiting && !is_served {
            // It blocked, or has another class now.
            self.servers[task].is_throttled = false;
            self.deactivate(task);
            return Resched::Keep;
        }
        self.replenish(cx, task);
        if !is_waiting {
            return Resched::Keep;
        }
        let (home, key) = (cx.tasks.cpu(task), self.servers[task].deadline.0 as i64);
        let was_idle = self.running_cpus.is_idle(home);
        let answer = self.queue(cx, home, task, key, false);
        // Only this timer notifies an idle CPU.
        if was_idle { Resched::Preempt(home) } else { answer }
    }
}

/// The reservation under which the task runs now.
fn reservation_of(task: &Task) -> Option<&Reservation> {
    task.reservation.as_ref().filter(|_| !task.class.is_realtime())
}

fn ordinary_key(task: &Task) -> i64 {
    match task.class {
        Class::Fifo | Class::RoundRobin => REALTIME + 99 - i64::from(task.rt_priority.clamp(1, 99)),
        Class::Idle => IDLE,
        _ => ORDINARY,
    }
}

fn share(reservation: &Reservation) -> u64 {
    (u128::from(reservation.runtime.0) * u128::from(UNIT) / u128::from(reservation.period.0)) as u64
}

/// Rejects invalid reservations.
fn check(it: &Reservation) -> Result<(), Rejected> {
    let reason = if it.runtime < RUNTIME_MIN {
        format!("a runtime of {} is too short; the least is {RUNTIME_MIN}", it.runtime)
    } else if it.period < PERIOD_MIN || it.period > PERIOD_MAX {
        format!("a period of {} is outside {PERIOD_MIN} ..= {PERIOD_MAX}", it.period)
    } else if it.runtime > it.deadline || it.deadline > it.period {
        format!("runtime {} ≤ deadline {} ≤ period {} does not hold", it.runtime, it.deadline, it.period)
    } else {
        return Ok(());
    };
    Err(Rejected { reason })
}

impl Deadline {
    fn queue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, key: i64, first: bool) -> Resched {
        self.queue.insert_at(&mut self.places, cx, task, key, first);
        let server = &mut self.servers[task];
        (server.place, server.key) = (Place::Queued, key);
        let answer = self.running_cpus.claim(cx, cpu, task, Reverse(key));
        if let Resched::Preempt(victim) = answer {
            self.running_cpus.revalue(victim, Reverse(key));
        }
        answer
    }

    fn is_running(&self, cx: &Context, task: TaskId) -> bool {
        let running = self.running_cpus.on(cx.tasks.cpu(task));
        cx.tasks.state(task) == goodness_core::State::Running && running.is_some_and(|(on, _)| on == task)
    }

    /// Rate at which a budget runs down; [`PROMISED`] is real time.
    fn rate(&self, task: TaskId) -> u64 {
        match self.settings.reclaim {
            true => self.servers[task].bandwidth.max(self.active / self.cpus).clamp(1, PROMISED),
            false => PROMISED,
        }
    }

    /// For how long the budget lasts at the present rate.
    fn lasts(&self, task: TaskId) -> Span {
        let budget = self.servers[task].budget.max(1) as u128;
        Span((budget * u128::from(PROMISED)).div_ceil(u128::from(self.rate(task))) as u64)
    }

    /// The wake-up rule: the old budget and deadline are kept unless that would exceed the bandwidth.
    fn wake(&mut self, cx: &Context, task: TaskId, reservation: &Reservation) {
        let is_throttled = self.servers[task].is_throttled;
        if !is_throttled {
            self.cancel_timer(cx, task);
        }
        self.activate(task);
        if is_throttled {
            return;
        }
        let server = &mut self.servers[task];
        let left = server.deadline.since(cx.now);
        let next_period = server.deadline + (reservation.period - reservation.deadline);
        if server.deadline != Time::ZERO && cx.now > server.deadline && cx.now < next_period {
            server.budget = 0;
            return self.throttle(cx, task, next_period);
        }
        let exceeds = i128::from(server.budget) * i128::from(reservation.period.0)
            >= i128::from(left.0) * i128::from(reservation.runtime.0);
        if cx.now >= server.deadline || exceeds {
            server.deadline = cx.now + reservation.deadline;
            server.budget = reservation.runtime.0 as i64;
        }
    }

    /// Without budget until `until`.
    fn throttle(&mut self, cx: &Context, task: TaskId, until: Time) {
        self.cancel_timer(cx, task);
        self.servers[task].is_throttled = true;
        self.set_timer(cx, task, until.max(cx.now));
    }

    /// The next period's budget and deadline; after a long overrun as many as are needed.
    fn replenish(&mut self, cx: &Context, task: TaskId) {
        let Some(reservation) = cx.tasks[task].reservation else { return };
        let server = &mut self.servers[task];
        server.is_throttled = false;
        while server.budget <= 0 {
            server.deadline += reservation.period;
            server.budget += reservation.runtime.0 as i64;
        }
        if server.deadline < cx.now {
            server.deadline = cx.now + reservation.deadline;
            server.budget = reservation.runtime.0 as i64;
        }
    }

    /// Handles a blocking task: it counts as active until its zero-lag time, because its remaining budget is still
    /// reserved.
    fn become_inactive(&mut self, cx: &Context, task: TaskId, reservation: &Reservation) {
        let server = &self.servers[task];
        let owed = server.budget as u128 * u128::from(reservation.period.0) / u128::from(reservation.runtime.0);
        let zero_lag = Time(server.deadline.0.saturating_sub(owed as u64));
        if zero_lag <= cx.now { self.deactivate(task) } else { self.set_timer(cx, task, zero_lag) }
    }

    fn activate(&mut self, task: TaskId) {
        if !std::mem::replace(&mut self.servers[task].is_active, true) {
            self.active += self.servers[task].bandwidth;
        }
    }

    fn deactivate(&mut self, task: TaskId) {
        if std::mem::take(&mut self.servers[task].is_active) {
            self.active -= self.servers[task].bandwidth;
        }
    }

    fn set_timer(&mut self, cx: &Context, task: TaskId, at: Time) {
        self.servers[task].has_timer = true;
        self.timers.insert(&mut self.timer_places, cx, task, at.0 as i64);
    }

    fn cancel_timer(&mut self, cx: &Context, task: TaskId) {
        if std::mem::take(&mut self.servers[task].has_timer) {
            self.timers.remove(&mut self.timer_places, cx, task);
        }
    }
}
