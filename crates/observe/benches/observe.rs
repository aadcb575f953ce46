//! Cost of observing in nanoseconds per event and per decision, for each observer, by tasks and CPUs.
//!
//! `cargo bench -p goodness-observe` prints the table. For instruction counts of a single observer: `valgrind
//! --tool=callgrind BINARY both 1000 1 100000` (nothing|metrics|checkers|both, tasks, CPUs, decisions).
//!
//! The event stream is that of a round-robin host: alternately a task blocks or is preempted and the next one runs, and
//! as many are woken as blocked. The row `nothing` is the cost of making the stream.

use goodness_core::{CpuId, Event, Observer, Off, TaskId, Time, WakeSource};
use goodness_observe::{Checkers, Ending, Metrics, MetricsAndCheckers, Subject};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

/// A host that only emits events.
struct Host {
    now: u64,
    turn: u64,
    events: u64,
    running: Vec<TaskId>,
    queued: VecDeque<TaskId>,
    asleep: VecDeque<TaskId>,
}

impl Host {
    /// Wakes every task and starts every CPU, then puts half of the remaining tasks to sleep.
    fn new<O: Observer>(tasks: u32, cpus: u32, observer: &mut O) -> Host {
        assert!(tasks >= 2 * cpus + 2, "the stream needs more tasks than twice the CPUs");
        let mut host = Host {
            now: 1,
            turn: 0,
            events: 0,
            running: Vec::new(),
            queued: (0..tasks).map(TaskId).collect(),
            asleep: VecDeque::new(),
        };
        for task in 0..tasks {
            host.tell(observer, Event::Fork { parent: None, child: TaskId(task) });
            host.wake(observer, TaskId(task), task % cpus);
        }
        for cpu in 0..cpus {
            let next = host.queued.pop_front();
            host.tell(observer, Event::Switch { cpu: CpuId(cpu), prev: None, off: Off::Sleeping, next });
            host.running.extend(next);
        }
        while host.asleep.len() < tasks as usize / 2 {
            host.switch(observer, 0, Off::Sleeping);
        }
        host
    }

    #[inline]
    fn tell<O: Observer>(&mut self, observer: &mut O, event: Event) {
        self.events += 1;
        observer.observe(Time(self.now), black_box(&event));
    }

    fn wake<O: Observer>(&mut self, observer: &mut O, task: TaskId, cpu: u32) {
        let from = WakeSource::Interrupt;
        self.tell(observer, Event::Wakeup { task, waker: None, cpu: CpuId(cpu), from });
    }

    fn switch<O: Observer>(&mut self, observer: &mut O, cpu: u32, off: Off) {
        let prev = self.running[cpu as usize];
        let next = self.queued.pop_front().expect("more tasks than CPUs");
        if off.is_runnable() {
            self.queued.push_back(prev)
        } else {
            self.asleep.push_back(prev)
        }
        self.running[cpu as usize] = next;
        self.tell(observer, Event::Switch { cpu: CpuId(cpu), prev: Some(prev), off, next: Some(next) });
    }

    /// One wake-up, one switch by blocking and one by preemption: per event, two thirds of a switch and a third of a
    /// wake-up.
    #[inline]
    fn step<O: Observer>(&mut self, observer: &mut O) {
        self.turn += 1;
        // Lengths that do not repeat soon, so that buckets and branches are not all the same.
        let jitter = self.turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46;
        let cpu = (self.turn % self.running.len() as u64) as u32;
        self.now += 1_000 + jitter;
        if let Some(task) = self.asleep.pop_front() {
            self.wake(observer, task, cpu);
            self.queued.push_back(task);
        }
        self.now += 500 + jitter / 3;
        self.switch(observer, cpu, Off::Sleeping);
        self.now += 700 + jitter / 2;
        self.switch(observer, cpu, Off::Preempted);
    }
}

/// CPU time of this thread in seconds. On a busy machine, wall-clock time would include other work; it is used, since
/// `start`, only if CPU time is unavailable.
fn cpu_seconds(start: Instant) -> f64 {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = account.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    used.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// Events and seconds of `decisions` decisions after as many to warm up.
fn measure<O: Observer>(observer: &mut O, tasks: u32, cpus: u32, decisions: u64) -> (u64, f64) {
    let mut host = Host::new(tasks, cpus, observer);
    for _ in 0..decisions.min(4 * u64::from(tasks)) / 2 {
        host.step(observer);
    }
    let start = Instant::now();
    let (events, before) = (host.events, cpu_seconds(start));
    for _ in 0..decisions / 2 {
        host.step(observer);
    }
    (host.events - events, cpu_seconds(start) - before)
}

/// Like `measure`, with the named observer.
fn measure_named(name: &str, tasks: u32, cpus: u32, decisions: u64) -> (u64, f64) {
    let subjects = vec![Subject::default(); tasks as usize];
    let mut metrics = Metrics::new(cpus as usize, Time::ZERO, &subjects);
    let mut checkers = Checkers::new(cpus as usize, &subjects);
    let mut both = MetricsAndCheckers::new(cpus as usize, Time::ZERO, &subjects);
    let result = match name {
        "nothing" => measure(&mut (), tasks, cpus, decisions),
        "metrics" => measure(&mut metrics, tasks, cpus, decisions),
        "checkers" => measure(&mut checkers, tasks, cpus, decisions),
        "both" => measure(&mut both, tasks, cpus, decisions),
        _ => panic!("\"{name}\" is none of nothing, metrics, checkers, both"),
    };
    let (measured, checked) = both.finish(Time::ZERO, Ending::Horizon);
    for checked in [checkers.finish(Time::ZERO, Ending::Horizon), checked] {
        assert_eq!(checked.violations, [], "the stream of the benchmark is sound");
    }
    black_box((metrics.finish(Time::ZERO), measured));
    result
}

/// The median of some rounds: nanoseconds per event and per decision.
fn median(name: &str, tasks: u32, cpus: u32) -> (f64, f64) {
    const DECISIONS: u64 = 2_000_000;
    let mut rounds: Vec<(f64, f64)> = (0..5)
        .map(|_| {
            let (events, seconds) = measure_named(name, tasks, cpus, DECISIONS);
            (seconds * 1e9 / events as f64, seconds * 1e9 / DECISIONS as f64)
        })
        .collect();
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    rounds[rounds.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [name, tasks, cpus, decisions] = &arguments[..] {
        let number = |text: &String| text.parse::<u32>().expect("tasks, CPUs and decisions are whole numbers");
        let (events, seconds) = measure_named(name, number(tasks), number(cpus), u64::from(number(decisions)));
        println!("{name}: {events} events in {seconds} s");
        return;
    }
    println!("{:>10} {:>8} {:>6} {:>10} {:>12}", "observer", "tasks", "cpus", "ns/event", "ns/decision");
    for (tasks, cpus) in [(10, 1), (1_000, 1), (1_000, 64), (100_000, 1), (1_000_000, 4_096)] {
        for name in ["nothing", "metrics", "checkers", "both"] {
            let (event, decision) = median(name, tasks, cpus);
            println!("{name:>10} {tasks:>8} {cpus:>6} {event:>10.2} {decision:>12.2}");
        }
    }
}
