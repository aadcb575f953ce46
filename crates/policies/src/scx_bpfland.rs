//! scx_bpfland: virtual deadlines that favour tasks that wake often and run briefly. Slices shrink as the queue grows.
//!
//! Idea: a task's deadline is its weighted CPU time plus what it used since it last slept. A task that wakes often may
//! lag further behind, up to 64 times the lag of others, and so comes sooner. A long queue reduces this advantage.
//!
//! Source: specs section 12. The kernel side, with departures, is in `scx.rs`.
//! General knowledge, not in the sheet (M): the wake-up frequency is an average with weight 1/4 for the newest
//! interval; the base of the lag factor is that frequency, at least 1; CPU time since the last sleep is weighted too.
//! Inferred, by simple choices: one shared queue for the machine; "waiting" counts its tasks, at least one; a slice is
//! never shorter than 1 µs. Its cache, turbo and primary-domain options are left out.
//! Weakness: any frequent waker is favoured, useful or not; slices of 1 ms and less cost switches.

use crate::parts::scx::{Ext, Kernel, Scheduler, WEIGHT, virtual_time, weight};
use goodness_core::{About, Context, CpuId, Enqueue, Machine, Needs, PerTask, Span, Stop, TaskId, Time};

goodness_core::tunables! {
    pub struct Settings {
        /// Slice of a task of weight 100 when no other task waits.
        slice_max: Span = Span::from_ms(1), in Span::from_us(10) => Span::from_s(1);
        /// Shortest slice.
        slice_min: Span = Span::ZERO, in Span::ZERO => Span::from_s(1);
        /// Virtual time by which a task of weight 100 that wakes seldom may lag behind.
        slice_lag: Span = Span::from_ms(40), in Span::ZERO => Span::from_s(10);
    }
}

const SHARED: usize = 0;
/// Wake-ups are counted for this time.
const FREQUENCY_PERIOD: u64 = 100_000_000;
/// Greatest wake-up frequency that counts.
const FREQUENCY_CAP: u64 = 64;
/// A queue is under pressure if serving it takes a tenth of this, in ns.
const PRESSURE: u64 = 5_000_000_000;
const SHORTEST: Span = Span::from_us(1);

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    vtime: i64,
    /// Weighted CPU time since it last slept.
    awake: i64,
    /// Wake-ups in 100 ms, averaged.
    frequency: u64,
    woken_at: Time,
}

/// Virtual times and wake-up frequencies.
#[derive(Debug)]
pub struct Bpfland {
    settings: Settings,
    vtime_now: i64,
    entities: PerTask<Entity>,
}

/// scx_bpfland in its kernel.
pub type ScxBpfland = Ext<Bpfland>;

/// The average wake-up frequency after another interval.
fn frequency(before: u64, interval: Span) -> u64 {
    let now = FREQUENCY_PERIOD / interval.0.max(1);
    (before - before / 4 + now / 4).min(FREQUENCY_CAP)
}

impl Bpfland {
    /// Reduced lag: `base` if no task waits, half of it when as many wait as the threshold.
    fn scaled_lag(&self, base: u64, queued: u64, weight: u64) -> u64 {
        let threshold = PRESSURE / 10 / self.settings.slice_max.0;
        let lag = u128::from(self.settings.slice_lag.0 * weight / WEIGHT) * u128::from(base);
        (lag * u128::from(threshold.max(1)) / u128::from(threshold.max(1) + queued)) as u64
    }

    /// The order on the queue; a task that lags too far is brought nearer first.
    fn deadline(&mut self, cx: &Context, queued: u64, task: TaskId) -> i64 {
        let weight = weight(&cx.tasks[task]);
        let Entity { vtime, awake, frequency, .. } = self.entities[task];
        let vtime = vtime.max(self.vtime_now - self.scaled_lag(frequency.max(1), queued, weight) as i64);
        self.entities[task].vtime = vtime;
        vtime + awake.min(virtual_time(self.settings.slice_lag, weight))
    }

    fn slice(&self, cx: &Context, waiting: usize, task: TaskId) -> Span {
        let weighted = self.settings.slice_max.0 * weight(&cx.tasks[task]) / WEIGHT;
        Span(weighted / waiting.max(1) as u64).max(self.settings.slice_min).max(SHORTEST)
    }
}

impl Scheduler for Bpfland {
    const ABOUT: About = About {
        name: "scx-bpfland",
        summary: "Deadlines that favour tasks which wake often and run briefly.",
        source: "sched-ext/scx scx_bpfland; specs section 12",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;
    const IS_BY_DEADLINE: bool = true;

    fn new(_: &Machine, settings: Settings) -> (Self, usize) {
        (Bpfland { settings, vtime_now: 0, entities: PerTask::default() }, 1)
    }

    fn init_task(&mut self, cx: &Context, task: TaskId) {
        *self.entities.admit(task) = Entity { vtime: self.vtime_now, woken_at: cx.now, ..Entity::default() };
    }

    fn runnable(&mut self, cx: &Context, _: &Kernel, task: TaskId, why: &Enqueue) {
        let entity = &mut self.entities[task];
        if let Enqueue::Wakeup { .. } = why {
            entity.awake = 0;
            entity.frequency = frequency(entity.frequency, cx.now.since(entity.woken_at));
            entity.woken_at = cx.now;
        }
    }

    fn direct_slice(&self, cx: &Context, kernel: &Kernel, task: TaskId) -> Span {
        self.slice(cx, kernel.queued(SHARED), task)
    }

    fn enqueue(&mut self, cx: &Context, kernel: &mut Kernel, _: CpuId, task: TaskId) {
        let deadline = self.deadline(cx, kernel.queued(SHARED) as u64, task);
        kernel.insert_ordered(cx, SHARED, task, self.settings.slice_max, deadline);
    }

    fn dispatch(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        let task = kernel.take(cx, SHARED, cpu)?;
        let slice = self.slice(cx, kernel.queued(SHARED), task);
        kernel.set_slice(task, slice);
        Some(task)
    }

    fn running(&mut self, _: &Context, _: CpuId, task: TaskId) {
        self.vtime_now = self.vtime_now.max(self.entities[task].vtime);
    }

    fn stopping(&mut self, cx: &Context, _: CpuId, task: TaskId, ran: Span, _: Stop) {
        let used = virtual_time(ran, weight(&cx.tasks[task]));
        let entity = &mut self.entities[task];
        entity.vtime += used;
        entity.awake += used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bpfland() -> Bpfland {
        Bpfland::new(&Machine::flat(1, 1000).unwrap(), Settings::default()).0
    }

    /// specs/cpu-schedulers.md 12: q = 5000 ms/10 / slice_max = 500; lag factor = base·q/(q + queued)
    #[test]
    fn five_hundred_waiting_tasks_halve_the_lag() {
        let ms = |base, queued, weight| bpfland().scaled_lag(base, queued, weight) / 1_000_000;
        assert_eq!([ms(1, 0, 100), ms(64, 0, 100), ms(1, 500, 100), ms(4, 1500, 100)], [40, 2560, 20, 40]);
        assert_eq!(ms(1, 0, 300), 120, "scaled by weight");
    }

    /// specs/cpu-schedulers.md 12: wake frequency EMA per 100 ms, cap 64
    #[test]
    fn the_wake_up_frequency_settles_at_the_rate_and_stops_at_64() {
        let after = |interval_us, from| (0..100).fold(from, |f, _| frequency(f, Span::from_us(interval_us)));
        assert_eq!((after(5_000, 20), after(100, 0)), (20, 64));
        assert_eq!(frequency(20, Span::from_ms(100)), 15, "a quarter is forgotten");
    }

    /// specs/cpu-schedulers.md 12: deadline = clamped vtime + awake time, at most slice_lag / weight
    #[test]
    fn a_deadline_is_the_clamped_virtual_time_and_what_was_used_since_the_sleep() {
        use crate::parts::verb_driver::VerbDriver;
        let mut driver = VerbDriver::<ScxBpfland>::with(1, Settings::default());
        let task = driver.admit(0);
        let mut policy = bpfland();
        driver.call(|_, cx| policy.init_task(cx, task));
        policy.vtime_now = 100_000_000;
        policy.entities[task].awake = 3_000_000;
        assert_eq!(driver.call(|_, cx| policy.deadline(cx, 0, task)), 63_000_000);
        policy.entities[task].awake = 90_000_000;
        assert_eq!(driver.call(|_, cx| policy.deadline(cx, 0, task)), 100_000_000, "60 ms and no more than 40");
    }
}
