//! scx_lavd: latency criticality from wake-up chains, and virtual deadlines based on it.
//!
//! Idea: a task that often waits and often wakes others, with short bursts, is in the middle of a latency-critical
//! chain. The higher its criticality, the earlier its deadline; its wakees and its waker inherit a part. Tasks that
//! exceeded their share get later deadlines. Slices share a latency target among the runnable tasks.
//!
//! Source: specs section 12. The kernel side, with departures, is in `scx.rs`. The sheet gives the latency target (10
//! ms), the slices (0.5 to 5 ms), the formula of criticality, the caps of inheritance, the range of the penalty with
//! its lag, and that cores are compacted and slices boosted. The rest is inferred, by simple choices:
//! - frequencies, in events a second, and run time are averages over intervals, in which the newest weighs 1/8;
//! - the runtime factor is 1 + slice_max / run time, the weight factor the weight (100 for nice 0); logarithms are
//!   whole;
//! - a task inherits the excess of the other's criticality over its own, at most 12.5 % (from the waker) and 25 % (from
//!   the wakee) of its own, until its next sleep;
//! - a share is weighted CPU time compared with the mean of all tasks; new tasks begin at the mean;
//! - the deadline is a logical clock, the latest deadline that was served, plus run time (at most the target) times
//!   penalty over criticality, at least 1 µs, so that no task can be overtaken for ever;
//! - slice = target × CPUs / runnable tasks, within the bounds; if no task waits, a slice is the whole target;
//! - core compaction gathers work on as many of the first CPUs as there are runnable tasks;
//! - one queue for the machine, and no preemption: the next slice ends soon enough.
//!
//! Weakness: criticality is a guess from frequencies, which a busy loop of wake-ups can earn too.

use crate::parts::scx::{Ext, Kernel, Scheduler, virtual_time, weight};
use goodness_core::policy::previous_cpu;
use goodness_core::{About, Context, CpuId, Enqueue, Machine, Needs, PerTask, Span, Stop, TaskId, Time};

goodness_core::tunables! {
    pub struct Settings {
        /// Time within which every runnable task should have had its turn.
        latency_target: Span = Span::from_ms(10), in Span::from_us(100) => Span::from_s(1);
        /// Shortest slice.
        slice_min: Span = Span::from_us(500), in Span::from_us(10) => Span::from_s(1);
        /// Longest slice while other tasks wait.
        slice_max: Span = Span::from_ms(5), in Span::from_us(10) => Span::from_s(1);
        /// Gather work on few CPUs.
        core_compaction: bool = true;
    }
}

const SHARED: usize = 0;
const SECOND: u64 = 1_000_000_000;
/// Lag at which the penalty is greatest.
const LAG_MAX: i64 = 500_000_000;
/// Inheritable parts of a task's own criticality: an eighth from the waker, a quarter from the wakee.
const FROM_WAKER: u64 = 8;
const FROM_WAKEE: u64 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Events a second, averaged.
    wait_frequency: u64,
    wake_frequency: u64,
    last_wait: Time,
    last_wake: Time,
    /// Average CPU time between two waits, and that since the last wait.
    run_time: u64,
    running: u64,
    /// Weighted CPU time.
    served: i64,
    /// Criticality on loan until the next sleep.
    inherited: u64,
    deadline: i64,
}

/// Least distance of a deadline from the clock, in ns.
const SHORTEST_DELAY: u64 = 1_000;

/// State of the scheduler.
#[derive(Debug)]
pub struct Lavd {
    settings: Settings,
    cpus: u64,
    entities: PerTask<Entity>,
    /// The latest deadline that was served.
    clock: i64,
    /// Total weighted CPU time of all living tasks, and their number.
    served: i128,
    living: i128,
}

/// scx_lavd in its kernel.
pub type ScxLavd = Ext<Lavd>;

fn averaged(before: u64, newest: u64) -> u64 {
    before - before / 8 + newest / 8
}

/// An average frequency after another interval.
fn frequency(before: u64, interval: Span) -> u64 {
    averaged(before, SECOND / interval.0.max(1))
}

/// (log2(wait · wake) + log2(runtime factor · weight factor))², factors of at least 1.
fn criticality(wait: u64, wake: u64, runtime_factor: u64, weight_factor: u64) -> u64 {
    let log = |a: u64, b: u64| u64::from((a.max(1) as u128 * b.max(1) as u128).ilog2());
    let sum = log(wait, wake) + log(runtime_factor, weight_factor);
    sum * sum
}

/// Criticality that a task of `own` inherits from one of `other`.
fn inheritance(own: u64, other: u64, part: u64) -> u64 {
    other.saturating_sub(own).min(own / part)
}

/// The penalty, in percent, of a task that is `lag` ahead of the others.
fn penalty(lag: i64) -> u64 {
    100 + (lag.clamp(0, LAG_MAX) * 100 / LAG_MAX) as u64
}

impl Lavd {
    fn mean_served(&self) -> i64 {
        if self.living == 0 { 0 } else { (self.served / self.living) as i64 }
    }

    /// The task's own criticality, without the inherited part.
    fn own_criticality(&self, cx: &Context, task: TaskId) -> u64 {
        let it = &self.entities[task];
        let runtime_factor = 1 + self.settings.slice_max.0 / it.run_time.max(1000);
        criticality(it.wait_frequency, it.wake_frequency, runtime_factor, weight(&cx.tasks[task]))
    }

    fn deadline(&self, cx: &Context, task: TaskId) -> i64 {
        let it = &self.entities[task];
        let critical = (self.own_criticality(cx, task) + it.inherited).max(1);
        let run = it.run_time.max(it.running).min(self.settings.latency_target.0);
        let delay = run * penalty(it.served - self.mean_served()) / 100 / critical;
        self.clock + delay.max(SHORTEST_DELAY) as i64
    }

    /// The slice for `runnable` runnable tasks of which `waiting` wait.
    fn slice(&self, runnable: usize, waiting: usize) -> Span {
        if waiting == 0 {
            return self.settings.latency_target;
        }
        let share = Span(self.settings.latency_target.0 * self.cpus / runnable.max(1) as u64);
        share.min(self.settings.slice_max).max(self.settings.slice_min)
    }

    /// Waker and wakee learn of each other.
    fn woken_by(&mut self, cx: &Context, waker: TaskId, wakee: TaskId) {
        let giver = &mut self.entities[waker];
        giver.wake_frequency = frequency(giver.wake_frequency, cx.now.since(giver.last_wake));
        giver.last_wake = cx.now;
        let [from, to] = [waker, wakee].map(|task| self.own_criticality(cx, task));
        let from_waker = from + self.entities[waker].inherited;
        self.entities[wakee].inherited = inheritance(to, from_waker, FROM_WAKER);
        let to_waker = inheritance(from, to, FROM_WAKEE);
        let giver = &mut self.entities[waker];
        giver.inherited = giver.inherited.max(to_waker);
    }
}

impl Scheduler for Lavd {
    const ABOUT: About = About {
        name: "scx-lavd",
        summary: "Deadlines by latency criticality, slices that share a latency target.",
        source: "sched-ext/scx scx_lavd; specs section 12",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;
    const IS_BY_DEADLINE: bool = true;

    fn new(machine: &Machine, settings: Settings) -> (Self, usize) {
        let cpus = machine.cpu_count() as u64;
        (Lavd { settings, cpus, entities: PerTask::default(), clock: 0, served: 0, living: 0 }, 1)
    }

    fn init_task(&mut self, cx: &Context, task: TaskId) {
        let served = self.mean_served();
        let run_time = self.settings.slice_max.0;
        let fresh = Entity { last_wait: cx.now, last_wake: cx.now, served, run_time, ..Entity::default() };
        *self.entities.admit(task) = fresh;
        self.living += 1;
        self.served += i128::from(served);
    }

    fn exit_task(&mut self, task: TaskId) {
        self.living -= 1;
        self.served -= i128::from(self.entities[task].served);
    }

    fn runnable(&mut self, cx: &Context, _: &Kernel, task: TaskId, why: &Enqueue) {
        if let Enqueue::Wakeup { waker: Some(waker), .. } = why {
            self.woken_by(cx, *waker, task);
        }
    }

    fn select_cpu(&mut self, cx: &Context, kernel: &Kernel, task: TaskId) -> CpuId {
        let home = previous_cpu(cx, task);
        if !self.settings.core_compaction {
            return kernel.nearest_idle(cx, home, task).unwrap_or(home);
        }
        if kernel.is_idle(home) && home.index() <= kernel.runnable() {
            return home;
        }
        kernel.first_idle(cx, task).unwrap_or(home)
    }

    fn direct_slice(&self, _: &Context, kernel: &Kernel, _: TaskId) -> Span {
        self.slice(kernel.runnable(), kernel.queued(SHARED))
    }

    fn enqueue(&mut self, cx: &Context, kernel: &mut Kernel, _: CpuId, task: TaskId) {
        let deadline = self.deadline(cx, task);
        self.entities[task].deadline = deadline;
        kernel.insert_ordered(cx, SHARED, task, self.settings.slice_min, deadline);
    }

    fn dispatch(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        let task = kernel.take(cx, SHARED, cpu)?;
        kernel.set_slice(task, self.slice(kernel.runnable(), kernel.queued(SHARED)));
        Some(task)
    }

    fn running(&mut self, _: &Context, _: CpuId, task: TaskId) {
        self.clock = self.clock.max(self.entities[task].deadline);
    }

    fn stopping(&mut self, cx: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) {
        let served = virtual_time(ran, weight(&cx.tasks[task]));
        self.served += i128::from(served);
        let entity = &mut self.entities[task];
        entity.served += served;
        entity.running += ran.0;
        if let Stop::Blocked { .. } = why {
            entity.run_time = averaged(entity.run_time, std::mem::take(&mut entity.running));
            entity.wait_frequency = frequency(entity.wait_frequency, cx.now.since(entity.last_wait));
            entity.last_wait = cx.now;
            entity.inherited = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lavd(cpus: u32) -> Lavd {
        Lavd::new(&Machine::flat(cpus, 1000).unwrap(), Settings::default()).0
    }

    /// specs/cpu-schedulers.md 12: (log2(wait·wake) + log2(runtime factor·weight factor))²
    #[test]
    fn criticality_is_the_square_of_the_sum_of_logarithms() {
        assert_eq!(criticality(16, 64, 8, 128), 400, "(10 + 10)²");
        assert_eq!(criticality(0, 0, 1, 1), 0);
        assert!(criticality(100, 100, 50, 100) > criticality(100, 1, 50, 100), "waking others counts");
    }

    /// specs/cpu-schedulers.md 12: inheritance capped at 12.5 % from the waker and 25 % from the wakee
    #[test]
    fn inheritance_is_capped_at_an_eighth_and_a_quarter() {
        assert_eq!([inheritance(80, 400, FROM_WAKER), inheritance(80, 400, FROM_WAKEE)], [10, 20]);
        assert_eq!([inheritance(80, 83, FROM_WAKER), inheritance(80, 20, FROM_WAKEE)], [3, 0]);
    }

    /// specs/cpu-schedulers.md 12: greedy penalty 100–200 % with lag max 500 ms
    #[test]
    fn the_greedy_pay_up_to_twice_at_half_a_second() {
        let ms = |lag: i64| penalty(lag * 1_000_000);
        assert_eq!([ms(-900), ms(0), ms(250), ms(500), ms(5000)], [100, 100, 150, 200, 200]);
    }

    /// specs/cpu-schedulers.md 12: latency target 10 ms, slice 0.5–5 ms, boost when few wait
    #[test]
    fn slices_share_the_latency_target() {
        let ms = |cpus, runnable, waiting| lavd(cpus).slice(runnable, waiting).0 / 1000;
        assert_eq!([ms(1, 2, 1), ms(1, 5, 4), ms(1, 50, 49), ms(4, 8, 4)], [5000, 2000, 500, 5000]);
        assert_eq!(ms(4, 3, 0), 10_000, "nobody waits");
    }
}
