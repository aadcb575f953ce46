//! Load tracking: how much of the recent time tasks were on a queue (load, runnable) and ran (utilisation), for each
//! task and each CPU.
//!
//! Source: specs/smp.md section 2. A CPU's averages contain what sleeping tasks left there, until it has decayed or the
//! task wakes elsewhere. A task that sleeps but is still queued has load. On a slow CPU the clock is slower, too.
//! Departures: averages are brought up to date whenever they are read, also those of idle CPUs, but for the load of a
//! task that wakes, as it chooses a CPU; a task that wakes elsewhere takes its part from its old CPU at once. A task
//! that first wakes while its group is throttled has the load of a new one.

mod clock;
mod parts;
mod series;

use super::order::QueueId;
use super::weight::Weight;
use clock::Clock;
use goodness_core::{Class, Context, CpuId, Machine, PerTask, Span, TaskId, Time};
use goodness_queues::{Links, List};
use parts::Parts;
pub use series::FULL;
use series::{Presence, Series};

/// Estimates change only for differences of at least this much.
const MARGIN: u64 = FULL / 100;

/// Load of one task.
#[derive(Clone, Copy, Debug, Default)]
struct TaskLoad {
    series: Series,
    weight: u64,
    /// CPU whose averages contain the task's.
    attached: Option<CpuId>,
    /// The queue there that is its group's.
    queue: QueueId,
    on_queue: bool,
    /// It sleeps, but is still queued: it has load, and is not runnable.
    is_delayed: bool,
    /// It is SCHED_IDLE.
    is_background: bool,
    runs: bool,
    /// Utilisation at its recent sleeps.
    estimate: u64,
    /// Time at which it last left a CPU; `None` if it was moved since by a wake-up, or never ran.
    ran_at: Option<Time>,
}

impl TaskLoad {
    fn advance(&mut self, now: Time) {
        let is_runnable = self.on_queue && !self.is_delayed;
        let present = Presence { weight: self.on_queue.into(), tasks: is_runnable.into(), runs: self.runs };
        self.series.advance(now, present, self.weight);
    }
}

/// Load of one CPU.
#[derive(Clone, Debug, Default)]
struct CpuLoad {
    clock: Clock,
    /// Of its fair tasks.
    series: Series,
    present: Presence,
    /// Of its real-time tasks; of their averages, only the utilisation counts.
    realtime: Series,
    realtime_runs: bool,
    /// True if it has two tasks or more, of any class.
    is_crowded: bool,
    /// SCHED_IDLE tasks on the queue.
    background: u32,
    /// Sum of the estimates of the tasks on the queue.
    estimate: u64,
    /// Its tasks, the one that was queued or picked last in front.
    recent: List,
}

impl CpuLoad {
    /// Brings its averages up to `now`, and says what its clock shows then.
    fn advance(&mut self, now: Time) -> Time {
        let now = self.clock.advance(now, self.present.runs || self.realtime_runs);
        self.series.advance(now, self.present, 1);
        now
    }

    /// Capacity left to fair tasks by real-time ones.
    fn capacity(&mut self, now: Time) -> u64 {
        let whole = self.clock.speed();
        if !self.realtime_runs && self.realtime.util == 0 {
            return whole;
        }
        let now = self.clock.advance(now, self.present.runs || self.realtime_runs);
        self.realtime.advance(now, Presence { runs: self.realtime_runs, ..Presence::default() }, 1);
        whole.saturating_sub(self.realtime.util).max(1)
    }
}

/// Averages of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Averages {
    /// Load, 1024 for a task of nice 0 that was always there.
    pub load: u64,
    /// Tasks that were there, 1024 for one that always was.
    pub runnable: u64,
    /// Utilisation, 1024 if a task always ran.
    pub util: u64,
    /// Capacity left to fair tasks by real-time ones.
    pub capacity: u64,
    /// Capacity without real-time tasks, 1024 of the fastest CPU.
    pub whole: u64,
}

/// Loads of all tasks and CPUs.
#[derive(Debug)]
pub struct Loads {
    tasks: PerTask<TaskLoad>,
    cpus: Vec<CpuLoad>,
    links: Links,
    /// CPUs with two tasks or more, of any class.
    crowded: u32,
    /// SCHED_IDLE tasks on all queues.
    background: u32,
    parts: Parts,
    is_unequal: bool,
}

impl Loads {
    pub fn new(machine: &Machine) -> Loads {
        let cpu = |cpu| CpuLoad { clock: Clock::new(machine.cpu(cpu).capacity), ..CpuLoad::default() };
        let cpus = machine.cpu_ids().map(cpu).collect();
        let (tasks, links, parts) = (PerTask::default(), Links::default(), Parts::default());
        Loads { tasks, cpus, links, crowded: 0, background: 0, parts, is_unequal: machine.is_unequal() }
    }

    pub fn admit(&mut self, task: TaskId) {
        self.tasks.admit(task);
        self.links.reserve(task.index() + 1);
    }

    /// Fair task `task` joins the queue of `cpu`, woken or not; nothing happens if it is there.
    pub fn arrives(&mut self, cx: &Context, cpu: CpuId, task: TaskId, wakes: bool) {
        let weight = Weight::of_task(cx.tasks.class(task), cx.tasks.nice(task), 3).value;
        let is_background = cx.tasks.class(task) == Class::Idle;
        let queue = if self.has_groups() { self.queue_of(cx.tasks.group(task).0, cpu) } else { QueueId(cpu.0) };
        let own = &self.tasks[task];
        let is_same = own.weight == weight && own.is_background == is_background;
        if own.on_queue && !own.is_delayed && own.queue == queue && is_same {
            return;
        }
        self.leaves(cx.now, task, false);
        let before = self.tasks[task].attached;
        self.attach(cx.now, (cpu, queue), task, weight, wakes);
        let (own, there) = (&mut self.tasks[task], &mut self.cpus[cpu.index()]);
        if wakes && before != Some(cpu) {
            own.ran_at = None;
        }
        (own.on_queue, own.is_background) = (true, is_background);
        there.present.tasks += 1;
        there.background += u32::from(is_background);
        self.background += u32::from(is_background);
        there.estimate += own.estimate;
        there.recent.push_front(&mut self.links, task.0);
        self.counts(cx.now, queue, 1);
        self.weighs(cx.now, queue, weight as i64);
    }

    /// Makes the averages of `cpu`, and of the queue of the task's group there, contain those of `task`. One that is
    /// new but `wakes` has existed from the start, and slept since.
    fn attach(&mut self, now: Time, (cpu, queue): (CpuId, QueueId), task: TaskId, weight: u64, wakes: bool) {
        self.advance_task(now, task);
        let own = &mut self.tasks[task];
        let is_new = own.weight == 0;
        if own.weight != weight && !is_new {
            // Another weight: the averages of load follow it.
            let [runnable, util] = [own.series.runnable, own.series.util];
            let load = own.series.load * weight / own.weight;
            self.detach(now, task);
            self.tasks[task].series.set(weight, [load, runnable, util]);
        }
        let own = &mut self.tasks[task];
        own.weight = weight;
        if own.attached.is_some() && own.queue == queue {
            self.cpus[cpu.index()].advance(now);
            return;
        }
        self.detach(now, task);
        let (own, there) = (&mut self.tasks[task], &mut self.cpus[cpu.index()]);
        (own.attached, own.queue) = (Some(cpu), queue);
        let shown = there.advance(now);
        if self.is_unequal {
            own.series.continue_at(weight, shown);
        }
        if is_new {
            let util = initial_utilisation(weight, there.series, there.clock.speed());
            if wakes {
                own.series = Series::default();
            }
            own.series.set(weight, [weight, util, util]);
            own.series.advance(shown, Presence::default(), weight);
        }
        let series = own.series;
        there.series.attach(&Series { load: 0, ..series });
        self.moves(now, queue, &series, true);
    }

    /// Takes the averages of `task` out of its CPU's and its group's.
    pub fn detach(&mut self, now: Time, task: TaskId) {
        let own = &mut self.tasks[task];
        let Some(cpu) = own.attached.take() else { return };
        let (queue, series) = (own.queue, own.series);
        let there = &mut self.cpus[cpu.index()];
        there.advance(now);
        there.series.detach(&Series { load: 0, ..series });
        self.moves(now, queue, &series, false);
    }

    /// `task` leaves its queue; `sleeps` if it waits for something.
    pub fn leaves(&mut self, now: Time, task: TaskId, sleeps: bool) {
        self.stops_wanting(now, task, sleeps);
        let own = &mut self.tasks[task];
        let Some(cpu) = own.attached.filter(|_| own.on_queue) else { return };
        let there = &mut self.cpus[cpu.index()];
        (own.on_queue, own.is_delayed) = (false, false);
        there.background -= u32::from(own.is_background);
        self.background -= u32::from(own.is_background);
        there.recent.remove(&mut self.links, task.0);
        let (queue, weight) = (own.queue, own.weight as i64);
        self.weighs(now, queue, -weight);
    }

    /// `task` falls asleep and stays queued.
    pub fn delays(&mut self, now: Time, task: TaskId) {
        self.stops_wanting(now, task, true);
        self.tasks[task].is_delayed = self.tasks[task].on_queue;
    }

    /// `task`, which sleeps and is still queued, is moved to the queue of `cpu`.
    pub fn moves_delayed(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.arrives(cx, cpu, task, false);
        self.stops_wanting(cx.now, task, false);
        self.tasks[task].is_delayed = true;
    }

    /// `task` does not want a CPU any more; `sleeps` if it waits for something.
    fn stops_wanting(&mut self, now: Time, task: TaskId, sleeps: bool) {
        let own = &mut self.tasks[task];
        let Some(cpu) = own.attached.filter(|_| own.on_queue) else { return };
        let there = &mut self.cpus[cpu.index()];
        own.advance(there.advance(now));
        if own.is_delayed {
            return;
        }
        there.present.tasks -= 1;
        there.estimate -= own.estimate;
        if sleeps {
            own.estimate = estimate(own.estimate, own.series);
        }
        let queue = own.queue;
        self.counts(now, queue, -1);
    }

    /// A real-time task begins to run on `cpu`, or stops.
    pub fn realtime_runs(&mut self, now: Time, cpu: CpuId, runs: bool) {
        let there = &mut self.cpus[cpu.index()];
        let present = Presence { runs: there.realtime_runs, ..Presence::default() };
        let now = there.clock.advance(now, there.present.runs || there.realtime_runs);
        there.realtime.advance(now, present, 1);
        there.realtime_runs = runs;
    }

    /// `cpu` has this many tasks of all classes.
    #[inline]
    pub fn note_tasks(&mut self, cpu: CpuId, tasks: u32) {
        let there = &mut self.cpus[cpu.index()];
        if there.is_crowded != (tasks > 1) {
            there.is_crowded = tasks > 1;
            self.crowded = if there.is_crowded { self.crowded + 1 } else { self.crowded - 1 };
        }
    }

    /// `task` is gone from the fair class or for good.
    pub fn forget(&mut self, now: Time, task: TaskId) {
        self.leaves(now, task, false);
        self.detach(now, task);
    }

    /// Fair task `task` runs on `cpu` from now on.
    pub fn starts(&mut self, now: Time, cpu: CpuId, task: TaskId) {
        self.runs(now, cpu, task, true);
        let there = &mut self.cpus[cpu.index()];
        if self.tasks[task].on_queue {
            there.recent.remove(&mut self.links, task.0);
            there.recent.push_front(&mut self.links, task.0);
        }
    }

    /// `task` stops running on `cpu`.
    pub fn stops(&mut self, now: Time, cpu: CpuId, task: TaskId) {
        self.runs(now, cpu, task, false);
        self.tasks[task].ran_at = Some(now);
    }

    fn runs(&mut self, now: Time, cpu: CpuId, task: TaskId, runs: bool) {
        let (own, there) = (&mut self.tasks[task], &mut self.cpus[cpu.index()]);
        own.advance(there.advance(now));
        own.runs = runs;
        there.present.runs = runs;
        let queue = own.queue;
        self.runs_below(now, queue, runs);
    }

    /// Puts `task`, which balancing refused, in front of its CPU's list.
    pub fn refused(&mut self, cpu: CpuId, task: TaskId) {
        let there = &mut self.cpus[cpu.index()];
        there.recent.remove(&mut self.links, task.0);
        there.recent.push_front(&mut self.links, task.0);
    }

    /// The task of `cpu` that was queued or picked the longest time ago.
    pub fn longest_waiting(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].recent.back().map(TaskId)
    }

    /// The tasks of `cpu`, from the one that was queued or picked the longest time ago.
    pub fn waiting_longest_first(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        self.cpus[cpu.index()].recent.iter_back(&self.links).map(TaskId)
    }

    /// Averages of `cpu` now.
    pub fn of_cpu(&mut self, now: Time, cpu: CpuId) -> Averages {
        let there = &mut self.cpus[cpu.index()];
        there.advance(now);
        let Series { load, runnable, util, .. } = there.series;
        let capacity = there.capacity(now);
        let whole = there.clock.speed();
        Averages { load, runnable, util: util.max(there.estimate).min(whole), capacity, whole }
    }

    /// Averages of `cpu` now as they would be without `task`, which runs there, and with it.
    pub fn without(&mut self, now: Time, cpu: CpuId, task: TaskId) -> [Averages; 2] {
        let with = self.of_cpu(now, cpu);
        let load = with.load.saturating_sub(self.of_task(now, task));
        let (own, there) = (&self.tasks[task], &self.cpus[cpu.index()]);
        let runnable = with.runnable.saturating_sub(own.series.runnable);
        let used = there.series.util.saturating_sub(own.series.util);
        let util = used.max(there.estimate.saturating_sub(own.estimate)).min(with.whole);
        [Averages { load, runnable, util, ..with }, with]
    }

    /// Brings the averages of `task` up to `now`.
    fn advance_task(&mut self, now: Time, task: TaskId) {
        let own = &mut self.tasks[task];
        let now = match own.attached.filter(|_| self.is_unequal) {
            Some(cpu) => self.cpus[cpu.index()].advance(now),
            None => now,
        };
        own.advance(now);
    }

    /// Load of `task` now.
    pub fn of_task(&mut self, now: Time, task: TaskId) -> u64 {
        self.advance_task(now, task);
        self.last_of_task(now, task)
    }

    /// Load of `task` as of its last update: of one that sleeps, as a rule, that with which it fell asleep.
    pub fn last_of_task(&mut self, now: Time, task: TaskId) -> u64 {
        match self.tasks[task].queue {
            queue if self.has_groups() => self.hierarchical(now, queue, task),
            _ => self.tasks[task].series.load,
        }
    }

    /// Utilisation of `task` now, or its estimate.
    pub fn utilisation(&mut self, now: Time, task: TaskId) -> u64 {
        self.advance_task(now, task);
        self.estimate(task)
    }

    /// Utilisation by which `task` is moved.
    pub fn estimate(&self, task: TaskId) -> u64 {
        self.tasks[task].estimate.max(self.tasks[task].series.util)
    }

    /// True if `task` stopped running less than `span` ago.
    pub fn ran_within(&self, now: Time, task: TaskId, span: Span) -> bool {
        self.tasks[task].ran_at.is_some_and(|at| now.since(at) < span)
    }

    /// True if `task` sleeps and is still queued.
    pub fn is_delayed(&self, task: TaskId) -> bool {
        self.tasks[task].is_delayed
    }

    /// True if `task` is SCHED_IDLE.
    pub fn is_background(&self, task: TaskId) -> bool {
        self.tasks[task].is_background
    }

    /// SCHED_IDLE tasks on the queue of `cpu`.
    pub fn background(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].background
    }

    /// True if SCHED_IDLE tasks are on any queue.
    pub fn is_any_background(&self) -> bool {
        self.background > 0
    }

    /// True if tasks wait on any CPU.
    pub fn is_any_crowded(&self) -> bool {
        self.crowded > 0
    }

    /// Total weight of the tasks on the queue of `cpu`.
    pub fn weight(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].present.weight
    }
}

/// Utilisation of a new task on a CPU of this capacity with these averages.
fn initial_utilisation(weight: u64, there: Series, capacity: u64) -> u64 {
    let spare = capacity.saturating_sub(there.util) / 2;
    if spare == 0 {
        return 0;
    }
    if there.util == 0 { spare } else { (there.util * weight / (there.load + 1)).min(spare) }
}

/// The estimate after a sleep of a task with these averages.
fn estimate(before: u64, now: Series) -> u64 {
    match now.util {
        util if util >= before => util,
        util if before - util < MARGIN || util + MARGIN < now.runnable => before,
        util => (3 * before + util) / 4,
    }
}

#[cfg(test)]
mod tests;
