//! Totals of a live run: CPU time and turns of each task, and decision latency.

use super::event::{KernelEvent, Kind, flag};
use goodness_core::{Span, Time};
use goodness_observe::Histogram;
use serde::{Deserialize, Serialize};

/// Totals of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskTally {
    /// Name of the thread when last seen.
    pub name: String,
    /// Thread id.
    pub pid: u32,
    /// Process id.
    pub process: u32,
    /// Nice.
    pub nice: i8,
    /// CPU time under the policy, in ns.
    pub cpu_time_ns: u64,
    /// Slices granted and started.
    pub turns: u64,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// True if it has ended or left the policy.
    pub is_gone: bool,
}

/// Decision latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Median, ns.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
}

#[derive(Clone, Debug)]
struct Counted {
    shown: TaskTally,
    comm: [u8; 16],
    /// CPU time when it joined the policy.
    ran_before: u64,
    is_in_turn: bool,
}

/// Counts events and commands as they pass.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    tasks: Vec<Option<Counted>>,
    latency: Histogram,
    events: u64,
}

impl Tally {
    /// Counts an event.
    pub fn count(&mut self, event: &KernelEvent) {
        self.events += 1;
        let key = event.key as usize;
        if event.kind == Kind::Created {
            if self.tasks.len() <= key {
                self.tasks.resize(key + 1, None);
            }
            self.tasks[key] = Some(begun(event));
        }
        let Some(task) = self.tasks.get_mut(key).and_then(Option::as_mut) else { return };
        task.shown.cpu_time_ns = event.ran.saturating_sub(task.ran_before);
        task.shown.nice = event.nice;
        task.comm = event.comm;
        match event.kind {
            Kind::Running => task.shown.turns += u64::from(!std::mem::replace(&mut task.is_in_turn, true)),
            Kind::TurnEnded | Kind::Left => task.is_in_turn = false,
            Kind::Ready => task.shown.wakeups += u64::from(event.has(flag::WAKEUP)),
            Kind::Gone => task.shown.is_gone = true,
            _ => {}
        }
    }

    /// Counts a decision from the event at `from` to its completion at `to`.
    pub fn decided(&mut self, from: Time, to: Time) {
        self.latency.record(to.since(from).0);
    }

    /// Decision latency; `None` before the first decision.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        Some(Latency {
            p50_ns: self.latency.quantile(5_000)?,
            p99_ns: self.latency.quantile(9_900)?,
            max_ns: self.latency.max()?,
        })
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// All tasks that used CPU time or are still alive, in order of arrival.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskTally> {
        let mut all = Vec::new();
        for task in self.tasks.iter().flatten() {
            if task.shown.cpu_time_ns > 0 || !task.shown.is_gone {
                let length = task.comm.iter().position(|byte| *byte == 0).unwrap_or(task.comm.len());
                let name = String::from_utf8_lossy(&task.comm[..length]).into_owned();
                all.push(TaskTally { name, ..task.shown.clone() });
            }
        }
        all
    }
}

fn begun(event: &KernelEvent) -> Counted {
    let shown = TaskTally {
        name: String::new(),
        pid: event.pid,
        process: event.tgid,
        nice: event.nice,
        cpu_time_ns: 0,
        turns: 0,
        wakeups: 0,
        is_gone: false,
    };
    Counted { shown, comm: event.comm, ran_before: event.ran, is_in_turn: false }
}

/// Share of `task` in the CPU time of all, in percent.
#[must_use]
pub fn share(task: &TaskTally, all: &[TaskTally]) -> f64 {
    let total: u64 = all.iter().map(|one| one.cpu_time_ns).sum();
    if total == 0 { 0.0 } else { task.cpu_time_ns as f64 * 100.0 / total as f64 }
}

/// A length of time for people: `12.3us`.
#[must_use]
pub fn shown(ns: u64) -> String {
    match ns {
        0..1_000 => Span(ns).to_string(),
        1_000..1_000_000 => format!("{:.1}us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}ms", ns as f64 / 1e6),
        _ => format!("{:.2}s", ns as f64 / 1e9),
    }
}
