//! Constant bandwidth servers of SCHED_DEADLINE, shared by `deadline` and the classes of `cfs` and `eevdf`: each task
//! has a budget and a deadline, so that no overrun harms another task.
//!
//! Source: specs section 11 (general knowledge, not checked against the kernel): the wake-up rule, throttling until the
//! next period, admission up to 95 % of the machine, the limits of runtime and period. Measured on Linux 6.18: the fair
//! servers' 5 % are among what is promised. General knowledge beyond the sheet: a yield gives up the rest of the
//! budget; a task whose deadline is shorter than its period and that wakes between the two waits for the next period;
//! GRUB slows a budget down to max(own, active)/0.95 of real time, and a task that blocks counts as active until its
//! zero-lag time.
//! Departures: with GRUB each CPU's share of the active bandwidth is the machine's mean. The bandwidth of a task that
//! ends is free at once.

use crate::parts::ordered::{Ordered, Places};
use goodness_core::{Context, PerTask, Rejected, Reservation, Span, Stop, TaskId, Time};

/// Bandwidth of a whole CPU.
const UNIT: u64 = 1 << 20;
/// Share of a CPU that reservations may promise: 95 %.
const PROMISED: u64 = UNIT * 95 / 100;
/// Share of a CPU that a fair server has of it: 50 of 1000 ms.
const FAIR_SERVER: u64 = UNIT * 5 / 100;
/// Limits of a reservation (specs section 11).
const RUNTIME_MIN: Span = Span(1024);
const PERIOD_MIN: Span = Span::from_us(100);
const PERIOD_MAX: Span = Span::from_us(1 << 22);

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
}

/// The servers of a machine.
#[derive(Debug)]
pub(crate) struct Servers {
    cpus: u64,
    /// True if tasks use bandwidth that others leave (GRUB).
    reclaim: bool,
    /// Bandwidth that tasks may have.
    most: u64,
    all: PerTask<Server>,
    places: Places,
    /// Ends of throttling and zero-lag times.
    timers: Ordered,
    /// Bandwidth promised, and that of active servers.
    promised: u64,
    active: u64,
}

impl Servers {
    /// No servers yet, on a machine of `cpus` CPUs; `reclaim` for GRUB, `serves_fair` if each CPU has a fair server.
    pub fn new(cpus: usize, reclaim: bool, serves_fair: bool) -> Servers {
        let cpus = cpus as u64;
        let most = cpus * (PROMISED - if serves_fair { FAIR_SERVER } else { 0 });
        let (all, places, timers) = (PerTask::default(), Places::default(), Ordered::default());
        Servers { cpus, reclaim, most, all, places, timers, promised: 0, active: 0 }
    }

    /// Makes room for `task`, which has a reservation; those without need none.
    pub fn reserve(&mut self, task: TaskId) {
        self.places.reserve(task.index() + 1);
        *self.all.admit(task) = Server::default();
    }

    /// Promises `task` its reservation.
    ///
    /// # Errors
    /// A reservation that is invalid or does not fit.
    pub fn admit(&mut self, task: TaskId, reservation: Option<&Reservation>) -> Result<(), Rejected> {
        let Some(reservation) = reservation else { return Ok(()) };
        self.reserve(task);
        check(reservation)?;
        let bandwidth = share(reservation);
        if self.promised + bandwidth > self.most {
            let percent = |share: u64| share as u128 * 100 / u128::from(UNIT);
            return Err(Rejected {
                reason: format!(
                    "its {} of {} ({} % of a CPU) do not fit: {} % of the {} % that {} CPU(s) may promise are taken; \
                     reserve less or use more CPUs",
                    reservation.runtime,
                    reservation.period,
                    percent(bandwidth),
                    percent(self.promised),
                    percent(self.most + UNIT / 200),
                    self.cpus
                ),
            });
        }
        self.promised += bandwidth;
        self.all[task].bandwidth = bandwidth;
        Ok(())
    }

    /// `task` ended.
    pub fn exit(&mut self, cx: &Context, task: TaskId) {
        let Some(&Server { bandwidth, .. }) = self.all.get(task) else { return };
        self.cancel_timer(cx, task);
        self.deactivate(task);
        self.promised -= bandwidth;
    }

    /// `task` runs in another class now.
    pub fn leave(&mut self, task: TaskId) {
        if self.all.get(task).is_some_and(|server| !server.has_timer) {
            self.deactivate(task);
        }
    }

    /// `task` becomes runnable, or stays so; `wakes` if it did not run before. False if it is throttled.
    pub fn arrive(&mut self, cx: &Context, task: TaskId, reservation: &Reservation, wakes: bool) -> bool {
        if wakes || !self.all[task].is_active {
            self.wake(cx, task, reservation);
        }
        !self.all[task].is_throttled
    }

    /// Absolute deadline of `task`; `Time::ZERO` without a reservation.
    pub fn deadline(&self, task: TaskId) -> Time {
        self.all.get(task).map_or(Time::ZERO, |server| server.deadline)
    }

    /// Charges `ran` to `task`; true if its budget is used up.
    pub fn charge(&mut self, cx: &Context, task: TaskId, reservation: &Reservation, ran: Span, why: Stop) -> bool {
        let rate = self.rate(task);
        let server = &mut self.all[task];
        server.budget -= (u128::from(ran.0) * u128::from(rate) / u128::from(PROMISED)) as i64;
        if why == Stop::Yielded {
            server.budget = server.budget.min(0);
        }
        let spent = server.budget <= 0;
        match why {
            Stop::Exited => {}
            _ if spent => {
                self.throttle(cx, task, self.all[task].deadline + (reservation.period - reservation.deadline))
            }
            Stop::Blocked { .. } => self.become_inactive(cx, task, reservation),
            _ => {}
        }
        spent
    }

    /// For how long the budget lasts at the present rate.
    pub fn lasts(&self, task: TaskId) -> Span {
        let budget = self.all[task].budget.max(1) as u128;
        Span((budget * u128::from(PROMISED)).div_ceil(u128::from(self.rate(task))) as u64)
    }

    /// Time of the next timer.
    pub fn next_timer(&self) -> Option<Time> {
        self.timers.first(&self.places).map(|(_, at)| Time(at as u64))
    }

    /// The next task whose timer is due; it has none any more. [`Servers::replenish`] or [`Servers::rest`] must follow.
    pub fn next_due(&mut self, cx: &Context) -> Option<TaskId> {
        let (task, at) = self.timers.first(&self.places)?;
        if at as u64 > cx.now.0 {
            return None;
        }
        self.cancel_timer(cx, task);
        Some(task)
    }

    /// `task` does not want to run: it is neither throttled nor active any more.
    pub fn rest(&mut self, task: TaskId) {
        self.all[task].is_throttled = false;
        self.deactivate(task);
    }

    /// The next period's budget and deadline; after a long overrun as many as are needed.
    pub fn replenish(&mut self, cx: &Context, task: TaskId) {
        let Some(reservation) = cx.tasks[task].reservation else { return };
        let server = &mut self.all[task];
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

    /// Rate at which a budget runs down; [`PROMISED`] is real time.
    fn rate(&self, task: TaskId) -> u64 {
        match self.reclaim {
            true => self.all[task].bandwidth.max(self.active / self.cpus).clamp(1, PROMISED),
            false => PROMISED,
        }
    }

    /// The wake-up rule: the old budget and deadline are kept unless that would exceed the bandwidth.
    fn wake(&mut self, cx: &Context, task: TaskId, reservation: &Reservation) {
        let is_throttled = self.all[task].is_throttled;
        if !is_throttled {
            self.cancel_timer(cx, task);
        }
        self.activate(task);
        if is_throttled {
            return;
        }
        let server = &mut self.all[task];
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
        self.all[task].is_throttled = true;
        self.set_timer(cx, task, until.max(cx.now));
    }

    /// Handles a blocking task: with GRUB it counts as active until its zero-lag time, because its remaining budget is
    /// still reserved.
    fn become_inactive(&mut self, cx: &Context, task: TaskId, reservation: &Reservation) {
        let server = &self.all[task];
        let owed = server.budget as u128 * u128::from(reservation.period.0) / u128::from(reservation.runtime.0);
        let zero_lag = Time(server.deadline.0.saturating_sub(owed as u64));
        let is_over = zero_lag <= cx.now || !self.reclaim;
        if is_over { self.deactivate(task) } else { self.set_timer(cx, task, zero_lag) }
    }

    fn activate(&mut self, task: TaskId) {
        if !std::mem::replace(&mut self.all[task].is_active, true) {
            self.active += self.all[task].bandwidth;
        }
    }

    fn deactivate(&mut self, task: TaskId) {
        if std::mem::take(&mut self.all[task].is_active) {
            self.active -= self.all[task].bandwidth;
        }
    }

    fn set_timer(&mut self, cx: &Context, task: TaskId, at: Time) {
        self.all[task].has_timer = true;
        self.timers.insert(&mut self.places, cx, task, at.0 as i64);
    }

    fn cancel_timer(&mut self, cx: &Context, task: TaskId) {
        if std::mem::take(&mut self.all[task].has_timer) {
            self.timers.remove(&mut self.places, cx, task);
        }
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
