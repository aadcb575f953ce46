//! Share error and Jain's index against the weighted fair share.
//!
//! The share a task is entitled to is that of an ideal processor which, at every instant, divides the capacity
//! left by real-time tasks among the tasks that are runnable *in this run*, by their weights, none getting more
//! than one CPU. A clock that advances by capacity over total weight gives it in constant time per event: a
//! task's share is its weight times what the clock advanced while the task was runnable.
//!
//! The weight is 1024 · 1.25^−nice, the ratio Linux's table approximates; SCHED_IDLE weighs 3. On one CPU this is
//! exact for any weights; on several only while all weights are equal and no affinity restricts, since a capped
//! task's surplus would have to be divided anew. Elsewhere both metrics are not measured.

use super::measured::Values;
use super::task_account::TaskAccount;
use crate::subject::Subject;
use crate::tracker::Tracker;
use goodness_core::{Class, CpuSet, State, TaskId, Time};

/// Weight of a task of nice 0.
const NICE_0_WEIGHT: f64 = 1024.0;
/// Weight of a SCHED_IDLE task in Linux.
const IDLE_WEIGHT: f64 = 3.0;

/// One task's weight and claim.
#[derive(Clone, Copy, Debug)]
struct Claim {
    /// 0 for a real-time task, which takes what it wants.
    weight: f64,
    /// What the clock advanced while the task was runnable; while it is, less the clock's present value.
    clock: f64,
}

impl Default for Claim {
    fn default() -> Self {
        Claim { weight: NICE_0_WEIGHT, clock: 0.0 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fairness {
    measurable: bool,
    /// Whether any task is a real-time task.
    realtime: bool,
    claims: Vec<Claim>,
    /// Value of the clock at `then`; since then it advances by `rate` per nanosecond.
    clock: f64,
    then: Time,
    rate: f64,
    /// Weight of all runnable tasks.
    weight: f64,
    /// CPUs that do not run a real-time task.
    capacity: f64,
    /// The clock never advances faster: one CPU a task. Infinite on one CPU, where the total weight sees to it.
    fastest: f64,
}

impl Fairness {
    pub fn new(cpus: usize, from: Time, subjects: &[Subject]) -> Fairness {
        let claims: Vec<Claim> = subjects.iter().map(|s| Claim { weight: weight(s), ..Claim::default() }).collect();
        let mut weights = claims.iter().map(|c| c.weight).filter(|w| *w > 0.0);
        let common = weights.next().unwrap_or(NICE_0_WEIGHT);
        let equal = weights.all(|w| w == common) && subjects.iter().all(|s| s.affinity == CpuSet::All);
        Fairness {
            measurable: cpus == 1 || equal,
            realtime: claims.iter().any(|c| c.weight == 0.0),
            claims,
            clock: 0.0,
            then: from,
            rate: 0.0,
            weight: 0.0,
            capacity: cpus as f64,
            fastest: if cpus == 1 { f64::INFINITY } else { 1.0 / common },
        }
    }

    /// A child that nobody described takes after its parent.
    pub fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        if child.index() < self.claims.len() {
            return;
        }
        let weight = parent.map_or(NICE_0_WEIGHT, |parent| self.claim(parent).weight);
        self.claim(child).weight = weight;
        if self.fastest.is_finite() && weight > 0.0 && weight * self.fastest != 1.0 {
            self.measurable = false;
        }
    }

    #[inline]
    fn claim(&mut self, task: TaskId) -> &mut Claim {
        if task.index() >= self.claims.len() {
            self.claims.resize(task.index() + 1, Claim::default());
        }
        &mut self.claims[task.index()]
    }

    /// Brings the clock up to `at`. Before the warm-up `then` lies in the future, and the clock stands still.
    #[inline]
    fn clock_at(&mut self, at: Time) -> f64 {
        self.clock += at.since(self.then).ns() as f64 * self.rate;
        self.then = self.then.max(at);
        self.clock
    }

    /// Weight or capacity changed.
    #[inline]
    fn set_rate(&mut self) {
        self.rate = if self.weight > 0.0 { (self.capacity / self.weight).min(self.fastest) } else { 0.0 };
    }

    #[inline]
    pub fn runnable(&mut self, at: Time, task: TaskId) {
        if self.measurable {
            let clock = self.clock_at(at);
            let claim = self.claim(task);
            claim.clock -= clock;
            let weight = claim.weight;
            self.weight += weight;
            self.set_rate();
        }
    }

    #[inline]
    pub fn blocked(&mut self, at: Time, task: TaskId) {
        if self.measurable {
            let clock = self.clock_at(at);
            let claim = self.claim(task);
            claim.clock += clock;
            let weight = claim.weight;
            self.weight -= weight;
            if self.weight < IDLE_WEIGHT / 2.0 {
                // Rounding must not leave a weight behind when nobody is runnable.
                self.weight = 0.0;
            }
            self.set_rate();
        }
    }

    #[inline]
    pub fn started(&mut self, at: Time, task: TaskId) {
        if self.realtime {
            self.take(at, task, -1.0);
        }
    }

    #[inline]
    pub fn stopped(&mut self, at: Time, task: TaskId) {
        if self.realtime {
            self.take(at, task, 1.0);
        }
    }

    /// A real-time task gives its CPU back (+1) or takes one (-1).
    fn take(&mut self, at: Time, task: TaskId, cpus: f64) {
        if self.claim(task).weight == 0.0 {
            self.clock_at(at);
            self.capacity += cpus;
            self.set_rate();
        }
    }

    /// Settles the claims of tasks that are runnable at the end.
    pub fn close(&mut self, end: Time, tracker: &Tracker<TaskAccount>) {
        self.clock_at(end);
        for (task, track) in tracker.tasks() {
            if matches!(track.state, State::Queued | State::Running) {
                self.blocked(end, task);
            }
        }
    }

    pub fn report(&mut self, tracker: &Tracker<TaskAccount>, values: &mut Values) {
        let (mut error, mut entitled, mut n) = (0.0, 0.0, 0u64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (task, track) in tracker.tasks().filter(|(_, t)| t.is_judged()) {
            let claim = *self.claim(task);
            let (share, got) = (claim.weight * claim.clock, track.own.cpu_time.ns() as f64);
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

fn weight(subject: &Subject) -> f64 {
    match subject.class {
        Class::Fifo | Class::RoundRobin => 0.0,
        Class::Idle => IDLE_WEIGHT,
        Class::Normal | Class::Batch => NICE_0_WEIGHT / 1.25f64.powi(subject.nice.get() as i32),
    }
}
