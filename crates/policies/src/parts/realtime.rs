//! SCHED_FIFO and SCHED_RR of Linux, shared by the policies that stand above it: per CPU 99 lists and a bitmap.
//!
//! Source: specs sections 1.4, 2 and 5; sched(7). A task runs until a more urgent one is runnable, it waits or it
//! yields; SCHED_RR tasks also go behind their equals after 100 ms, counted in ticks. Two safeguards keep the other
//! classes alive: up to 6.11 the throttle (at most 950 of 1000 ms, tested at each accounting), from 6.12 the fair
//! server (fair tasks that starve get 50 of each 1000 ms, after 950 ms).
//! Left out: group scheduling, runtime shared between CPUs.

use goodness_core::{Class, Context, Span, TaskId, Time};
use goodness_queues::{Bitmap, Links, List};

/// Round-robin slice.
const SLICE: Span = Span::from_ms(100);
/// Length of the period of both safeguards.
const PERIOD: Span = Span::from_ms(1000);
/// CPU time of a period that real-time tasks may use under the throttle.
const RUNTIME: Span = Span::from_ms(950);
/// CPU time of a period that the fair server grants.
const SERVED: Span = Span::from_ms(50);

/// Lists are numbered by urgency: 0 for priority 99.
fn level(priority: u8) -> usize {
    99 - usize::from(priority.clamp(1, 99))
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Ticks left of its slice; 0: a new slice is due.
    ticks: u32,
    /// The list it is on, or was on when it was picked.
    level: u8,
    queued: bool,
}

/// State that all CPUs share: links and slices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    links: Links,
    tasks: goodness_core::PerTask<Member>,
}

impl Members {
    pub fn admit(&mut self, task: TaskId) {
        self.links.reserve(task.index() + 1);
        self.tasks.admit(task);
    }

    /// True if `task` used up its slice.
    pub fn is_expired(&self, task: TaskId) -> bool {
        self.tasks[task].ticks == 0
    }
}

/// The real-time tasks of one CPU.
#[derive(Clone, Debug)]
pub(crate) struct Realtime {
    lists: Box<[List; 99]>,
    bitmap: Bitmap<2>,
    queued: usize,
    /// True if the throttle is in force on this machine.
    throttle: bool,
    throttled: bool,
    used: Span,
    /// Time at which the throttle's period ends, while it is being counted.
    period_end: Time,
}

impl Realtime {
    /// An empty class; `throttle` for kernels before 6.12.
    pub fn new(throttle: bool) -> Realtime {
        Realtime {
            lists: Box::new([List::default(); 99]),
            bitmap: Bitmap::default(),
            queued: 0,
            throttle,
            throttled: false,
            used: Span::ZERO,
            period_end: Time::NEVER,
        }
    }

    /// True while the throttle keeps the tasks from running.
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Tasks that wait.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Queues `task` before or behind its equals.
    pub fn enqueue(&mut self, members: &mut Members, cx: &Context, task: TaskId, at_head: bool) {
        let it = &cx.tasks[task];
        let member = &mut members.tasks[task];
        if member.ticks == 0 {
            member.ticks = slice_ticks(cx);
        }
        member.level = level(it.rt_priority) as u8;
        member.queued = true;
        let list = usize::from(member.level);
        match at_head {
            true => self.lists[list].push_front(&mut members.links, task.0),
            false => self.lists[list].push_back(&mut members.links, task.0),
        }
        self.bitmap.set(list);
        self.queued += 1;
        if self.throttle {
            while cx.now >= self.period_end {
                self.timer(cx.now);
            }
            if self.period_end == Time::NEVER {
                self.period_end = cx.now + PERIOD;
            }
        }
    }

    /// The first waiting task of this priority.
    pub fn front(&self, priority: u8) -> Option<TaskId> {
        self.lists[level(priority)].front().map(TaskId)
    }

    /// Removes a queued task from its list.
    pub fn remove(&mut self, members: &mut Members, task: TaskId) {
        let member = &mut members.tasks[task];
        member.queued = false;
        let list = usize::from(member.level);
        self.lists[list].remove(&mut members.links, task.0);
        if self.lists[list].is_empty() {
            self.bitmap.clear(list);
        }
        self.queued -= 1;
    }

    /// Removes and returns the most urgent task; none while throttled.
    pub fn pick(&mut self, members: &mut Members) -> Option<TaskId> {
        if self.throttled || self.queued == 0 {
            return None;
        }
        let task = TaskId(self.lists[self.bitmap.first()?].front()?);
        self.remove(members, task);
        Some(task)
    }

    /// The most urgent priority that waits and may run, 0 if none.
    pub fn best_waiting(&self) -> u8 {
        if self.throttled { 0 } else { self.bitmap.first().map_or(0, |list| 99 - list as u8) }
    }

    /// The first waiting task that `accepts`, by urgency.
    pub fn find(&self, members: &Members, accepts: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        if self.queued == 0 {
            return None;
        }
        self.lists.iter().flat_map(|list| list.iter(&members.links)).map(TaskId).find(|task| accepts(*task))
    }

    /// Accounts CPU time of a real-time task; whether it must stop because the throttle closed.
    pub fn account(&mut self, ran: Span) -> bool {
        if !self.throttle {
            return false;
        }
        self.used += ran;
        if !self.throttled && self.used > RUNTIME {
            self.throttled = true;
        }
        self.throttled
    }

    /// Accounts CPU time of a class above this one, which uses up the throttle's runtime while a period is counted.
    pub fn account_other(&mut self, ran: Span) {
        if self.period_end != Time::NEVER {
            self.account(ran);
        }
    }

    /// Handles a tick of a running task. Returns whether it must yield to an equal.
    pub fn tick(&mut self, members: &mut Members, cx: &Context, task: TaskId) -> bool {
        let member = &mut members.tasks[task];
        if cx.tasks[task].class != Class::RoundRobin {
            return false;
        }
        member.ticks = member.ticks.saturating_sub(1);
        if member.ticks > 0 {
            return false;
        }
        if self.lists[usize::from(member.level)].is_empty() {
            member.ticks = slice_ticks(cx);
            return false;
        }
        true
    }

    /// Time at which the throttle next needs attention.
    pub fn next_timer(&self) -> Time {
        self.period_end
    }

    /// Called when a period of the throttle may have ended. Returns true if real-time tasks may run again.
    pub fn timer(&mut self, now: Time) -> bool {
        if now < self.period_end {
            return false;
        }
        self.used = self.used.saturating_sub(RUNTIME);
        let opened = self.throttled && self.used < RUNTIME;
        self.throttled &= !opened;
        let idle = self.queued == 0 && self.used == Span::ZERO;
        self.period_end = if idle { Time::NEVER } else { self.period_end + PERIOD };
        opened
    }
}

fn slice_ticks(cx: &Context) -> u32 {
    (SLICE.0 * u64::from(cx.machine.hz)).div_ceil(1_000_000_000).max(1) as u32
}

/// Grants fair tasks that starve behind real-time ones 50 ms per second (kernels from 6.12).
///
/// Fair tasks that run normally use up the budget, too, which defers the server: it acts only at the last moment at
/// which the rest of the budget still fits into the period.
#[derive(Clone, Debug)]
pub(crate) struct FairServer {
    enabled: bool,
    active: bool,
    /// True if the server ran and fair tasks still starve, so that the next period starts without deferral.
    running: bool,
    /// True while fair tasks go before real-time ones.
    serving: bool,
    deadline: Time,
    budget: i64,
}

impl FairServer {
    /// An idle server; `enabled` for kernels from 6.12.
    pub fn new(enabled: bool) -> FairServer {
        FairServer { enabled, active: false, running: false, serving: false, deadline: Time::NEVER, budget: 0 }
    }

    /// True while fair tasks go before real-time ones.
    pub fn is_serving(&self) -> bool {
        self.serving
    }

    /// The deadline by which fair tasks go before others, if they do now.
    pub fn serves_until(&self) -> Option<Time> {
        self.serving.then_some(self.deadline)
    }

    /// Fair tasks became runnable on this CPU.
    pub fn start(&mut self, now: Time) {
        if self.enabled && !self.active {
            self.active = true;
            self.renew(now);
        }
    }

    /// Called when no fair task is runnable any more.
    pub fn stop(&mut self) {
        self.active = false;
        self.running = false;
        self.serving = false;
    }

    fn renew(&mut self, now: Time) {
        self.deadline = now + PERIOD;
        self.budget = SERVED.0 as i64;
    }

    /// The next period's budget and deadline; after a long overrun as many as are needed.
    fn replenish(&mut self, now: Time) {
        loop {
            self.deadline += PERIOD;
            self.budget += SERVED.0 as i64;
            if self.budget > 0 {
                break;
            }
        }
        if self.deadline < now {
            self.renew(now);
        }
    }

    /// Fair tasks ran; whether the CPU must choose again because the budget is used up.
    pub fn account(&mut self, now: Time, ran: Span) -> bool {
        if !self.active {
            return false;
        }
        self.budget -= ran.0 as i64;
        if self.budget > 0 {
            return false;
        }
        if self.serving {
            self.serving = false;
            return true;
        }
        self.running = false;
        self.renew(now);
        false
    }

    /// Time at which the server next wants to act.
    pub fn next_timer(&self) -> Time {
        match (self.active && !self.serving, self.running) {
            (false, _) => Time::NEVER,
            (true, true) => self.deadline,
            (true, false) => Time(self.deadline.0 - self.budget.max(0) as u64),
        }
    }

    /// Handles the timer, which may be early. Returns whether fair tasks now have precedence.
    pub fn timer(&mut self, now: Time) -> bool {
        if now < self.next_timer() {
            return false;
        }
        if self.running {
            self.replenish(now);
        }
        self.running = true;
        self.serving = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Specs section 5 (fair server): 50 of 1000 ms, first after 950 ms, then at the beginning of each period.
    #[test]
    fn the_fair_server_steps_in_after_950_ms_and_leaves_after_50() {
        let mut server = FairServer::new(true);
        let at = |ms: u64| Time(ms * 1_000_000);
        server.start(at(0));
        assert_eq!(server.next_timer(), at(950));
        assert!(!server.timer(at(949)));
        assert!(server.timer(at(950)) && server.is_serving());
        assert!(!server.account(at(960), Span::from_ms(10)));
        assert!(server.account(at(1000), Span::from_ms(40)) && !server.is_serving());
        assert_eq!(server.next_timer(), at(1000));
        assert!(server.timer(at(1000)));
    }

    /// As T-SMP-25 asks at any HZ: what is served too much is taken from the next periods.
    #[test]
    fn a_server_that_overruns_pays_with_its_next_periods() {
        let mut server = FairServer::new(true);
        let at = |ms: u64| Time(ms * 1_000_000);
        server.start(at(0));
        assert!(server.timer(at(950)));
        assert!(server.account(at(1100), Span::from_ms(150)), "100 ms too much, two periods' worth");
        assert_eq!(server.next_timer(), at(1000), "it replenishes at once");
        assert!(server.timer(at(1100)) && server.is_serving());
        assert!(server.account(at(1150), Span::from_ms(50)));
        assert_eq!(server.next_timer(), at(4000), "after three periods, not one");
        let mut late = FairServer::new(true);
        late.start(at(0));
        assert!(late.timer(at(950)) && late.account(at(1000), Span::from_ms(50)));
        assert!(late.timer(at(9000)), "a timer that was lost for eight periods");
        assert!(late.account(at(9050), Span::from_ms(50)));
        assert_eq!(late.next_timer(), at(10_000));
    }

    #[test]
    fn fair_tasks_that_run_anyway_defer_the_server() {
        let mut server = FairServer::new(true);
        server.start(Time(0));
        assert!(!server.account(Time(20_000_000), Span::from_ms(20)));
        assert_eq!(server.next_timer(), Time(970_000_000));
        assert!(!server.account(Time(60_000_000), Span::from_ms(30)));
        assert_eq!(server.next_timer(), Time(1_010_000_000), "a used-up budget begins a new period");
    }

    #[test]
    fn the_throttle_closes_after_950_ms_and_opens_with_the_next_period() {
        let mut realtime = Realtime::new(true);
        realtime.period_end = Time(0) + PERIOD;
        assert!(!realtime.account(RUNTIME));
        assert!(realtime.account(Span(1)));
        assert_eq!(realtime.next_timer(), Time(1_000_000_000));
        assert!(realtime.timer(Time(1_000_000_000)));
        assert!(!realtime.account(Span(1)));
    }
}
