//! A made-up schedule: tasks that compute and sleep at random on CPUs with a shared run queue. It models no real
//! policy; it only fills a report with consistent figures.

use goodness_core::{CpuId, Event, Observer, Off, Rng, Seed, TaskId, Time, WakeSource};
use goodness_report::Timeline;
use goodness_report::throttled::Throttled;
use goodness_report::timeline::{Recorder, Slice, TimelineTask};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Behaviour of one made-up policy.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Longest stay on a CPU, in ns.
    pub timeslice: u64,
    /// True if a woken task goes to the front of the queue.
    pub wakers_first: bool,
    /// Number of slices.
    pub slices: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Wake(u32),
    SliceEnd(u32),
}

/// The state of the made-up run.
struct Run {
    manner: Manner,
    rng: Rng,
    recorder: Recorder,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    queue: VecDeque<u32>,
    running: Vec<Option<u32>>,
    /// CPU time until each task sleeps again.
    left: Vec<u64>,
}

/// Number of CPUs of every made-up run.
pub const CPUS: u32 = 8;
/// Number of tasks: a few that compute, many that serve.
pub const TASKS: u32 = 34;

/// A task that is out of quota for the second half of each wait.
const LIMITED: TaskId = TaskId(15);
/// The first tasks compute most of the time.
const HOGS: u32 = 6;

/// Names of the tasks, one of them hostile.
pub fn tasks() -> Vec<TimelineTask> {
    let name = |i: u32| match i {
        0..HOGS => "rustc".into(),
        HOGS => "<script>alert(1)</script>".into(),
        7..=13 => format!("mariadbd/{i}"),
        _ => "apache2".to_string(),
    };
    (0..TASKS)
        .map(|i| TimelineTask { name: name(i), id: u64::from(4100 + i * 7), priority: 120, process: None })
        .collect()
}

/// A timeline under `manner`.
pub fn make(policy: usize, manner: Manner) -> Timeline {
    let mut run = Run {
        manner,
        rng: Seed(7 + policy as u64).rng(),
        recorder: Recorder::new(CPUS, manner.slices).with_queues(),
        due: BinaryHeap::new(),
        queue: VecDeque::new(),
        running: vec![None; CPUS as usize],
        left: vec![0; TASKS as usize],
    };
    for task in 0..TASKS {
        let at = run.rng.below(3_000_000);
        run.due.push(Reverse((at, Due::Wake(task))));
    }
    let mut now = 0;
    for _ in 0..manner.slices * 2 {
        let Some(Reverse((at, due))) = run.due.pop() else { break };
        now = at;
        match due {
            Due::Wake(task) => run.wake(at, task),
            Due::SliceEnd(cpu) => run.slice_end(at, cpu),
        }
    }
    let timeline = run.recorder.finish(Time(now), policy, tasks());
    let throttled = timeline.slices.iter().filter(|slice| slice.task == LIMITED && slice.waited > 0);
    let until = throttled.map(|slice| {
        let Slice { task, start, waited, .. } = *slice;
        Throttled { task, from: start - waited / 2, to: start }
    });
    let throttled = until.collect();
    timeline.with_throttled(throttled)
}

impl Run {
    fn wake(&mut self, at: u64, task: u32) {
        let cpu = CpuId(task % CPUS);
        // Half of the wake-ups come from whoever runs on the CPU, the others from a timer.
        let waker = self.running[cpu.index()].filter(|_| self.rng.below(2) == 0).map(TaskId);
        let from = if waker.is_some() { WakeSource::Task } else { WakeSource::Interrupt };
        let wake = Event::Wakeup { task: TaskId(task), waker, cpu, from };
        self.recorder.observe(Time(at), &wake);
        self.left[task as usize] = self.burst(task);
        if self.manner.wakers_first {
            self.queue.push_front(task);
        } else {
            self.queue.push_back(task);
        }
        if let Some(cpu) = self.running.iter().position(Option::is_none) {
            self.dispatch(at, cpu as u32, None);
        }
    }

    fn burst(&mut self, task: u32) -> u64 {
        let mean = if task < HOGS { 40_000_000 } else { 900_000 };
        30_000 + self.rng.below(mean) * self.rng.below(100) / 100
    }

    fn slice_end(&mut self, at: u64, cpu: u32) {
        let task = self.running[cpu as usize].take().expect("a slice ends only while one runs");
        let off = if self.left[task as usize] == 0 {
            let sleep = 50_000 + self.rng.below(4_500_000);
            self.due.push(Reverse((at + sleep, Due::Wake(task))));
            Off::Sleeping
        } else {
            self.queue.push_back(task);
            Off::Preempted
        };
        self.dispatch(at, cpu, Some((task, off)));
    }

    fn dispatch(&mut self, at: u64, cpu: u32, prev: Option<(u32, Off)>) {
        let next = self.queue.pop_front();
        if let Some(task) = next {
            let ran = self.left[task as usize].min(self.manner.timeslice);
            self.left[task as usize] -= ran;
            self.running[cpu as usize] = Some(task);
            self.due.push(Reverse((at + ran, Due::SliceEnd(cpu))));
        }
        if prev.map(|p| p.0) == next && next.is_some() {
            return;
        }
        let off = prev.map_or(Off::Sleeping, |p| p.1);
        let prev = prev.map(|p| TaskId(p.0));
        let switch = Event::Switch { cpu: CpuId(cpu), prev, off, next: next.map(TaskId) };
        self.recorder.observe(Time(at), &switch);
    }
}
