//! A recording as the stream of events that simulations emit, so that the same observers measure both.

use crate::event::{Context, Record, SchedEvent, Wake};
use crate::recording::Recording;
use goodness_core::{CpuId, Event, Observer, Off, Span, TaskId, Time, WakeSource};

/// State followed for one task.
#[derive(Clone, Copy, Debug, Default)]
struct Follow {
    /// Running or runnable: further wake-ups change nothing.
    awake: bool,
    /// Last CPU, if known.
    cpu: Option<CpuId>,
}

/// A request that was answered at a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The record.
    pub record: u32,
    /// The task that was served.
    pub task: TaskId,
    /// Time of its request.
    pub latency: Span,
}

/// Turns records into the events of a run, one after the other.
pub struct Events {
    /// By task.
    follows: Vec<Follow>,
}

impl Events {
    /// Passes the next record to `observer`, with the waker of a wake-up from `waker_of`.
    pub fn pass(&mut self, record: &Record, waker_of: impl Fn(&Wake) -> Option<TaskId>, observer: &mut impl Observer) {
        convert(record, &mut self.follows, waker_of, observer);
    }
}

impl Recording {
    /// Passes the recording to `observer` as the events of a run, in order of time.
    ///
    /// - `Wakeup`: once per wait, at its first waking. Hard and soft interrupts count as interrupts; in traces without
    ///   a flags column, the task running on the CPU is the waker.
    /// - `Switch`: as recorded or repaired. Tasks running when the trace began are switched in at its start. A trace
    ///   does not distinguish yielding from preemption: both are `Off::Preempted`.
    /// - `Migrate`: as recorded, or before a switch on another CPU than the task's last.
    /// - `Exit`: at the last switch of a task that ended.
    ///
    /// A sleep without a recorded waking ends with the switch alone: no latency is invented.
    pub fn observe(&self, observer: &mut impl Observer) {
        self.observe_served(&[], observer);
    }

    /// Passes the recording to `observer`, and after its record each of `served`, which are in order of records.
    pub fn observe_served(&self, served: &[Served], observer: &mut impl Observer) {
        self.observe_woken(served, waker_in_context, observer);
    }

    /// Like [`Recording::observe_served`], with the waker of each wake-up from `waker_of`.
    pub fn observe_woken(
        &self,
        mut served: &[Served],
        waker_of: impl Fn(&Wake) -> Option<TaskId>,
        observer: &mut impl Observer,
    ) {
        let mut events = self.begin_events(observer);
        for (record, number) in self.records.iter().zip(0..) {
            events.pass(record, &waker_of, observer);
            while let Some((it, rest)) = served.split_first().filter(|(it, _)| it.record == number) {
                observer.observe(record.at, &Event::Served { task: it.task, latency: it.latency });
                served = rest;
            }
        }
    }

    /// Begins to pass records, of this recording or of the one of which it is a sample, to `observer`.
    pub fn begin_events(&self, observer: &mut impl Observer) -> Events {
        let mut follows = vec![Follow::default(); self.tasks.len()];
        for (task, cpu) in self.running_at_start() {
            follows[task.index()] = Follow { awake: true, cpu: Some(cpu) };
            observer.observe(self.start(), &Event::Switch { cpu, prev: None, off: Off::Sleeping, next: Some(task) });
        }
        Events { follows }
    }

    /// Tasks running when the trace began: those that leave a CPU in its first switch, unless they came from another
    /// CPU.
    #[must_use]
    pub fn running_at_start(&self) -> Vec<(TaskId, CpuId)> {
        let mut seen = vec![false; self.tasks.len()];
        let mut cpus = vec![false; self.metadata.cpus as usize];
        let mut found = Vec::new();
        let mut open = cpus.len();
        for record in &self.records {
            if open == 0 {
                break;
            }
            let first = |cpus: &mut Vec<bool>, cpu: CpuId| {
                cpus.get_mut(cpu.index()).is_some_and(|known| !std::mem::replace(known, true))
            };
            match record.event {
                SchedEvent::Switch { prev, next, .. } => {
                    if first(&mut cpus, record.cpu) {
                        open -= 1;
                        found.extend(prev.filter(|t| !seen[t.index()]).map(|task| (task, record.cpu)));
                    }
                    for task in [prev, next].into_iter().flatten() {
                        seen[task.index()] = true;
                    }
                }
                SchedEvent::Lost { .. } if first(&mut cpus, record.cpu) => open -= 1,
                SchedEvent::Waking(wake) | SchedEvent::Wakeup(wake) | SchedEvent::WakeupNew(wake) => {
                    seen[wake.task.index()] = true
                }
                SchedEvent::Fork { child, .. } => seen[child.index()] = true,
                _ => {}
            }
        }
        found
    }
}

/// The task in whose context a wake-up was written; without a flags column, the task that ran.
fn waker_in_context(wake: &Wake) -> Option<TaskId> {
    wake.current.filter(|_| matches!(wake.context, Context::Task | Context::Unknown))
}

fn convert(
    record: &Record,
    follows: &mut [Follow],
    waker_of: impl Fn(&Wake) -> Option<TaskId>,
    observer: &mut impl Observer,
) {
    let at = record.at;
    match record.event {
        SchedEvent::Switch { prev, next, prev_state, .. } => {
            switch(record, (prev, next), prev_state.off(), follows, observer);
        }
        SchedEvent::Waking(wake) | SchedEvent::Wakeup(wake) | SchedEvent::WakeupNew(wake) => {
            woken(at, &wake, follows, waker_of, observer)
        }
        SchedEvent::Fork { parent, child } => observer.observe(at, &Event::Fork { parent, child }),
        SchedEvent::Migrate { task, to, .. } => moved(at, task, to, &mut follows[task.index()], observer),
        SchedEvent::Exec { .. } | SchedEvent::Exit { .. } | SchedEvent::Call { .. } | SchedEvent::Lost { .. } => {}
    }
}

fn switch(
    record: &Record,
    (prev, next): (Option<TaskId>, Option<TaskId>),
    off: Off,
    follows: &mut [Follow],
    observer: &mut impl Observer,
) {
    let (at, cpu) = (record.at, record.cpu);
    if let Some(task) = prev {
        follows[task.index()] = Follow { awake: off.is_runnable(), cpu: Some(cpu) };
        if off == Off::Exited {
            observer.observe(at, &Event::Exit { task });
        }
    }
    if let Some(task) = next {
        moved(at, task, cpu, &mut follows[task.index()], observer);
        follows[task.index()].awake = true;
    }
    observer.observe(at, &Event::Switch { cpu, prev, off, next });
}

fn woken(
    at: Time,
    wake: &Wake,
    follows: &mut [Follow],
    waker_of: impl Fn(&Wake) -> Option<TaskId>,
    observer: &mut impl Observer,
) {
    let follow = &mut follows[wake.task.index()];
    if follow.awake {
        return;
    }
    moved(at, wake.task, wake.target, follow, observer);
    follow.awake = true;
    let waker = waker_of(wake);
    let from = if waker.is_some() { WakeSource::Task } else { WakeSource::Interrupt };
    observer.observe(at, &Event::Wakeup { task: wake.task, waker, cpu: wake.target, from });
}

fn moved(at: Time, task: TaskId, to: CpuId, follow: &mut Follow, observer: &mut impl Observer) {
    if let Some(from) = follow.cpu.replace(to).filter(|from| *from != to) {
        observer.observe(at, &Event::Migrate { task, from, to });
    }
}
