//! Share error and Jain's index, relative to the weighted fair share.
//!
//! A task's fair share is that of an ideal processor. At every instant it divides the capacity left by real-time tasks
//! among the tasks runnable *in this run*, by weight, at most one CPU per task. A clock that advances by capacity over
//! total weight computes it in constant time per event: a task's share is its weight times the clock's advance while
//! the task was runnable. A task that changes its nice has the new weight from then on.
//!
//! The weight is 1024 · 1.25^−nice, which Linux's table approximates; SCHED_IDLE has 3. On one CPU this is exact for
//! any weights. On several CPUs it is exact only for equal weights without affinities, because the surplus of a capped
//! task would have to be divided again. Otherwise both metrics are not measured, nor with task groups, whose weights
//! and limits divide the CPU before those of tasks do, nor if a task becomes or ceases to be a real-time task.

use super::measured::Values;
use super::task_account::TaskAccount;
use crate::subject::Subject;
use crate::tracker::Tracker;
use goodness_core::{Class, CpuSet, Nice, State, TaskId, Time};

/// Weight of a task of nice 0.
const NICE_0_WEIGHT: f64 = 1024.0;
/// Weight of a SCHED_IDLE task in Linux.
const IDLE_WEIGHT: f64 = 3.0;

/// A task's claim: the clock's advance while it was runnable. While it is runnable, the present clock value is
/// subtracted.
#[derive(Clone, Debug)]
pub(super) struct Fairness {
    measurable: bool,
    is_one_cpu: bool,
    /// True if it is measurable and all weights are the common one.
    plain: bool,
    /// The weight of every task, as long as all have the same.
    common: f64,
    /// Else each task's weight; 0 for a real-time task, which takes what it needs.
    weights: Vec<f64>,
    /// True if any task is a real-time task.
    realtime: bool,
    /// Value of the clock at `then`; since then it advances by `rate` per nanosecond.
    clock: f64,
    then: Time,
    rate: f64,
    /// Total weight of the runnable tasks.
    weight: f64,
    /// CPUs that do not run a real-time task.
    capacity: f64,
    /// Highest speed of the clock: one CPU per task. Infinite on one CPU, where the total weight limits it.
    fastest: f64,
}

impl Fairness {
    pub fn new(cpus: usize, from: Time, subjects: &[Subject]) -> Fairness {
        let mut weights: Vec<f64> = subjects.iter().map(|it| weight(it.class, it.nice)).collect();
        let common = weights.iter().copied().find(|w| *w > 0.0).unwrap_or(NICE_0_WEIGHT);
        let restricted = subjects.iter().any(|s| s.affinity != CpuSet::All);
        let realtime = weights.contains(&0.0);
        if weights.iter().all(|w| *w == common) {
            weights.clear();
        }
        let equal = weights.iter().all(|w| *w == common || *w == 0.0) && !restricted;
        let measurable = (cpus == 1 || equal) && !subjects.iter().any(|it| it.is_grouped);
        Fairness {
            plain: measurable && weights.is_empty(),
            measurable,
            is_one_cpu: cpus == 1,
            common,
            weights,
            realtime,
            clock: 0.0,
            then: from,
            rate: 0.0,
            weight: 0.0,
            capacity: cpus as f64,
            fastest: if cpus == 1 { f64::INFINITY } else { 1.0 / common },
        }
    }

    /// From now on nothing can be measured.
    fn give_up(&mut self) {
        (self.measurable, self.plain) = (false, false);
    }

    /// Some task may use other CPUs.
    pub fn confine(&mut self) {
        if !self.is_one_cpu {
            self.give_up();
        }
    }

    /// `task` has another weight from `at` on; its claim is kept. `tasks` are known.
    pub fn reweigh(
        &mut self,
        at: Time,
        (task, new, is_runnable): (TaskId, f64, bool),
        own: &mut TaskAccount,
        tasks: usize,
    ) {
        let old = self.weight_of(task);
        if old == new || !self.measurable {
            return;
        }
        if !self.is_one_cpu || old == 0.0 || new == 0.0 {
            return self.give_up();
        }
        if self.weights.is_empty() {
            self.weights = vec![self.common; tasks];
            self.plain = false;
        }
        if is_runnable {
            self.leave(at, old, own);
        }
        own.claim *= old / new;
        self.weights[task.index()] = new;
        if is_runnable {
            self.join(at, new, own);
        }
    }

    /// An undescribed child inherits from its parent.
    pub fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        if self.weights.is_empty() || child.index() < self.weights.len() {
            return;
        }
        let weight = parent.map_or(NICE_0_WEIGHT, |parent| self.weight_of(parent));
        self.weights.resize(child.index() + 1, NICE_0_WEIGHT);
        self.weights[child.index()] = weight;
    }

    #[inline(always)]
    fn weight_of(&self, task: TaskId) -> f64 {
        if self.weights.is_empty() {
            return self.common;
        }
        self.weights.get(task.index()).copied().unwrap_or(NICE_0_WEIGHT)
    }

    /// Advances the clock to `at`. During the warm-up, `then` is in the future and the clock stands still.
    #[inline(always)]
    fn clock_at(&mut self, at: Time) -> f64 {
        if at > self.then {
            // Signed, because the conversion is one instruction then; 292 years fit.
            self.clock += (at.ns() - self.then.ns()) as i64 as f64 * self.rate;
            self.then = at;
        }
        self.clock
    }

    /// Weight or capacity changed.
    #[inline(always)]
    fn set_rate(&mut self) {
        let rate = if self.weight > 0.0 { self.capacity / self.weight } else { 0.0 };
        self.rate = if rate > self.fastest { self.fastest } else { rate };
    }

    #[inline(always)]
    pub fn runnable(&mut self, at: Time, task: TaskId, own: &mut TaskAccount) {
        if self.plain {
            self.join(at, self.common, own);
        } else if self.measurable {
            self.join(at, self.weight_of(task), own);
        }
    }

    #[inline(always)]
    pub fn blocked(&mut self, at: Time, task: TaskId, own: &mut TaskAccount) {
        if self.plain {
            self.leave(at, self.common, own);
        } else if self.measurable {
            self.leave(at, self.weight_of(task), own);
        }
    }

    #[inline(always)]
    fn join(&mut self, at: Time, weight: f64, own: &mut TaskAccount) {
        own.claim -= self.clock_at(at);
        self.weight += weight;
        self.set_rate();
    }

    #[inline(always)]
    fn leave(&mut self, at: Time, weight: f64, own: &mut TaskAccount) {
        own.claim += self.clock_at(at);
        self.weight -= weight;
        if self.weight < IDLE_WEIGHT / 2.0 {
            // Rounding must not leave a weight behind when nobody is runnable.
            self.weight = 0.0;
        }
        self.set_rate();
    }

    #[inline(always)]
    pub fn started(&mut self, at: Time, task: TaskId) {
        if self.realtime {
            self.take(at, task, -1.0);
        }
    }

    #[inline(always)]
    pub fn stopped(&mut self, at: Time, task: TaskId) {
        if self.realtime {
            self.take(at, task, 1.0);
        }
    }

    /// A real-time task releases its CPU (+1) or takes one (-1).
    fn take(&mut self, at: Time, task: TaskId, cpus: f64) {
        if self.weight_of(task) == 0.0 {
            self.clock_at(at);
            self.capacity += cpus;
            self.set_rate();
        }
    }

    /// Settles the claims of tasks that are runnable at the end.
    pub fn close(&mut self, end: Time, tracker: &mut Tracker<TaskAccount>) {
        let clock = self.clock_at(end);
        for track in tracker.tasks_mut() {
            if matches!(track.state, State::Queued | State::Running) {
                track.own.claim += clock;
            }
        }
    }

    pub fn report(&self, tracker: &Tracker<TaskAccount>, values: &mut Values) {
        let (mut error, mut entitled, mut n) = (0.0, 0.0, 0u64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (task, track) in tracker.tasks().filter(|(_, t)| t.is_judged()) {
            let (share, got) = (self.weight_of(task) * track.own.claim, track.own.cpu_time.ns() as f64);
            if !self.measurable || share < 1.0 {
                continue;
            }
            n += 1;
            error += (got - share).abs();
            entitled += share;
            sum += got / share;
            squares += (got / share) * (got / share);
        }
        values.set("share_error", (n > 0).then(|| error / entitled), n);
        values.set("jain_index", (squares > 0.0).then(|| sum * sum / (n as f64 * squares)), n);
    }
}

/// Weight of a task of this class and nice; 0 for a real-time task.
pub(super) fn weight(class: Class, nice: Nice) -> f64 {
    match class {
        Class::Fifo | Class::RoundRobin => 0.0,
        Class::Idle => IDLE_WEIGHT,
        Class::Normal | Class::Batch | Class::Iso | Class::Deadline => NICE_0_WEIGHT / 1.25f64.powi(nice.get() as i32),
    }
}
