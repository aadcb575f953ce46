//! The baseline for the simulator's speed: a minimal loop that runs the sleeping work of [`crate::pattern`].
//!
//! One CPU, a binary heap of events, a run queue, and one histogram of wake-up latencies. There is no policy interface,
//! no machine, no checkers and no other metrics. It takes steps from the same behaviours with the same random streams,
//! so the round-robin loop makes the same decisions as `rr` in the simulator.

use crate::clock::cpu_time;
use goodness_core::{Behaviour, Rng, Seed, Start, Step, StepContext, TaskId, Time, Workload};
use goodness_observe::Histogram;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

/// Data structure of the loop's runnable tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareLoop {
    /// A queue in order of arrival.
    RoundRobin,
    /// A `BTreeMap` by virtual deadline, from which the first eligible task is taken.
    Eevdf,
}

/// Policies with an ordered timeline, which are compared with the loop that has one.
const TIMELINES: [&str; 2] = ["cfs", "eevdf"];

/// Work done by a loop.
#[derive(Clone, Debug)]
pub struct Served {
    /// Number of picks, including those that found no task.
    pub decisions: u64,
    /// From each waking after time 0 to the start of the burst, in ns.
    pub latency: Histogram,
}

impl BareLoop {
    /// The loop that `policy` is measured against.
    #[must_use]
    pub fn beside(policy: &str) -> BareLoop {
        if TIMELINES.contains(&policy) { BareLoop::Eevdf } else { BareLoop::RoundRobin }
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BareLoop::RoundRobin => "bare round robin",
            BareLoop::Eevdf => "bare EEVDF",
        }
    }

    /// Runs `work`, which must consist of bursts and sleeps, until its horizon.
    #[must_use]
    pub fn serve(self, work: Workload) -> Served {
        let tasks = work.tasks.len();
        match self {
            BareLoop::RoundRobin => Loop::new(work, VecDeque::with_capacity(tasks)).serve(),
            BareLoop::Eevdf => Loop::new(work, Timeline::new(tasks)).serve(),
        }
    }

    /// Like [`BareLoop::serve`]; returns CPU time and decisions.
    #[must_use]
    pub fn timed(self, work: Workload) -> (Duration, u64) {
        let began = cpu_time();
        let served = std::hint::black_box(self.serve(work));
        (cpu_time() - began, served.decisions)
    }
}

/// The runnable tasks.
trait Queue {
    /// `task` became runnable.
    fn push(&mut self, task: u32);
    /// The task to run next, off the queue.
    fn pop(&mut self) -> Option<u32>;
    /// `task`, popped before, ran for `ns` and now sleeps.
    fn slept(&mut self, task: u32, ns: u64);
}

impl Queue for VecDeque<u32> {
    fn push(&mut self, task: u32) {
        self.push_back(task);
    }

    fn pop(&mut self) -> Option<u32> {
        self.pop_front()
    }

    fn slept(&mut self, _: u32, _: u64) {}
}

/// Virtual time in ns after which a task gets a new deadline.
const SLICE: i64 = 2_800_000;

/// Tasks of equal weight in order of virtual deadline, with the sum that their mean virtual time needs.
struct Timeline {
    /// Virtual time by deadline and task, of all runnable tasks except the running one.
    queued: BTreeMap<(i64, u32), i64>,
    /// Virtual time of each task while runnable, its lag while it sleeps.
    time: Vec<i64>,
    deadline: Vec<i64>,
    /// Sum of the virtual times of the runnable tasks, including the running one, and their number.
    sum: i64,
    runnable: i64,
}

impl Timeline {
    fn new(tasks: usize) -> Timeline {
        Timeline { queued: BTreeMap::new(), time: vec![0; tasks], deadline: vec![0; tasks], sum: 0, runnable: 0 }
    }

    fn mean(&self) -> i64 {
        self.sum / self.runnable.max(1)
    }
}

impl Queue for Timeline {
    fn push(&mut self, task: u32) {
        let time = self.mean() - self.time[task as usize];
        self.time[task as usize] = time;
        self.deadline[task as usize] = time + SLICE;
        self.queued.insert((time + SLICE, task), time);
        self.sum += time;
        self.runnable += 1;
    }

    fn pop(&mut self) -> Option<u32> {
        let mean = self.mean();
        let eligible = self.queued.iter().find(|(_, time)| **time <= mean);
        let (key, _) = eligible.or_else(|| self.queued.first_key_value())?;
        let key = *key;
        self.queued.remove(&key);
        Some(key.1)
    }

    fn slept(&mut self, task: u32, ns: u64) {
        let time = self.time[task as usize] + ns as i64;
        self.sum += ns as i64;
        let lag = (self.mean() - time).clamp(-SLICE, SLICE);
        self.sum -= time;
        self.runnable -= 1;
        self.time[task as usize] = lag;
    }
}

/// The end of the running task's burst; every smaller number is the task that wakes.
const BURST_ENDS: u32 = u32::MAX;

/// One task: its behaviour, random stream, and last wake-up.
struct Sleeper {
    behaviour: Box<dyn Behaviour>,
    rng: Rng,
    woken: u64,
}

struct Loop<Q> {
    /// Time, serial number, and waking task.
    events: BinaryHeap<Reverse<(u64, u64, u32)>>,
    serial: u64,
    horizon: u64,
    queue: Q,
    tasks: Vec<Sleeper>,
    /// Running task, and for how long.
    running: Option<(u32, u64)>,
    served: Served,
}

impl<Q: Queue> Loop<Q> {
    fn new(work: Workload, queue: Q) -> Loop<Q> {
        let mut bare = Loop {
            events: BinaryHeap::with_capacity(work.tasks.len() + 1),
            serial: 0,
            horizon: work.horizon.map_or(u64::MAX, |at| at.0),
            queue,
            tasks: Vec::with_capacity(work.tasks.len()),
            running: None,
            served: Served { decisions: 0, latency: Histogram::default() },
        };
        for (index, spec) in (0..).zip(work.tasks) {
            let Start::WokenAt(at) = spec.start else { continue };
            bare.at(at.0, index);
            let rng = Seed(1).stream("task", u64::from(index)).rng();
            bare.tasks.push(Sleeper { behaviour: spec.behaviour, rng, woken: 0 });
        }
        bare
    }

    fn at(&mut self, time: u64, what: u32) {
        self.serial += 1;
        self.events.push(Reverse((time, self.serial, what)));
    }

    fn serve(mut self) -> Served {
        while let Some(Reverse((now, _, what))) = self.events.pop()
            && now < self.horizon
        {
            if what == BURST_ENDS {
                self.burst_ends(now);
            } else {
                self.tasks[what as usize].woken = now;
                self.queue.push(what);
                if self.running.is_none() {
                    self.pick(now);
                }
            }
        }
        self.served
    }

    fn burst_ends(&mut self, now: u64) {
        if let Some((task, ran)) = self.running.take() {
            self.queue.slept(task, ran);
            let sleep = self.next(task, now);
            self.at(now + sleep, task);
        }
        self.pick(now);
    }

    fn pick(&mut self, now: u64) {
        self.served.decisions += 1;
        let Some(task) = self.queue.pop() else { return };
        let woken = self.tasks[task as usize].woken;
        if woken > 0 {
            self.served.latency.record(now - woken);
        }
        let burst = self.next(task, now);
        self.running = Some((task, burst));
        self.at(now + burst, BURST_ENDS);
    }

    /// Length of the next step of `task`: its burst or its sleep.
    fn next(&mut self, task: u32, now: u64) -> u64 {
        let Sleeper { behaviour, rng, .. } = &mut self.tasks[task as usize];
        match behaviour.next(&mut StepContext { now: Time(now), task: TaskId(task), rng }) {
            Step::Compute(span) | Step::Sleep(span) => span.ns(),
            step => panic!("the bare loop knows bursts and sleeps, and no {step:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Size, end_to_end, pattern};
    use goodness::PolicySpec;

    /// Decisions and wake-up latencies of `policy` in the simulator.
    fn simulated(policy: &str, tasks: usize, horizon: u64) -> (u64, Histogram) {
        let work = pattern::workload(tasks, 1, Time(horizon));
        let run = end_to_end::run(&PolicySpec::parse(policy).unwrap(), Size { tasks, cpus: 1 }, work).unwrap();
        (run.outcome.decisions, run.measured.distributions.wakeup_latency)
    }

    #[test]
    fn the_round_robin_loop_takes_the_decisions_of_rr_in_the_simulator() {
        for tasks in [4, 10, 1_000] {
            let bare = BareLoop::RoundRobin.serve(pattern::workload(tasks, 1, Time(50_000_000)));
            let (decisions, latency) = simulated("rr", tasks, 50_000_000);
            // Both draw all times with nanoseconds: two that are equal are rare, but then their order differs.
            assert!(bare.decisions.abs_diff(decisions) <= decisions / 100, "{} or {decisions}", bare.decisions);
            assert_eq!(bare.latency.count().abs_diff(latency.count()), 0, "{tasks} tasks");
            let (p50, expected) = (bare.latency.quantile(5_000).unwrap(), latency.quantile(5_000).unwrap());
            assert!(p50.abs_diff(expected) * 100 <= expected, "{p50} or {expected}");
        }
    }

    #[test]
    fn the_timeline_serves_everyone_about_equally() {
        let bare = BareLoop::Eevdf.serve(pattern::workload(100, 1, Time(100_000_000)));
        let (decisions, latency) = simulated("eevdf", 100, 100_000_000);
        assert!(bare.decisions.abs_diff(decisions) <= decisions / 10, "{} or {decisions}", bare.decisions);
        let (p50, expected) = (bare.latency.quantile(5_000).unwrap(), latency.quantile(5_000).unwrap());
        assert!(p50 > expected / 2 && p50 < expected * 2, "{p50} or {expected}");
    }
}
