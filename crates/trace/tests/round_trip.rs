//! A run written as ftrace text and read back yields the same events.

mod common;

use common::{events, load};
use goodness_core::{CpuId, Event, Observer, Off, TaskId, Time, WakeSource};
use goodness_trace::{FtraceWriter, TaskLabel};
use proptest::prelude::*;

const CPUS: usize = 3;

/// A machine that takes any step that is possible and emits what a host would emit.
struct Machine {
    now: u64,
    running: [Option<TaskId>; CPUS],
    /// CPU on whose queue each task waits; `None` if it runs or sleeps.
    queued: Vec<Option<CpuId>>,
    home: Vec<CpuId>,
    alive: Vec<bool>,
    emitted: Vec<(Time, Event)>,
}

impl Machine {
    fn emit(&mut self, event: Event) {
        self.emitted.push((Time(self.now), event));
    }

    fn wake(&mut self, task: TaskId, by: CpuId, to: CpuId) {
        let waker = self.running[by.index()];
        let from = if waker.is_some() { WakeSource::Task } else { WakeSource::Interrupt };
        let home = self.home[task.index()];
        if home != to
            && self.emitted.iter().any(|(_, e)| matches!(e, Event::Switch { next, .. } if *next == Some(task)))
        {
            self.emit(Event::Migrate { task, from: home, to });
        }
        self.home[task.index()] = to;
        self.queued[task.index()] = Some(to);
        self.emit(Event::Wakeup { task, waker, cpu: to, from });
    }

    fn switch(&mut self, cpu: CpuId, off: Off) {
        let prev = self.running[cpu.index()];
        let next = (0..self.queued.len()).map(|t| TaskId(t as u32)).find(|t| self.queued[t.index()] == Some(cpu));
        if prev == next || (prev.is_some() && off.is_runnable() && next.is_none()) {
            return;
        }
        if let Some(task) = prev {
            self.queued[task.index()] = off.is_runnable().then_some(cpu);
            if off == Off::Exited {
                self.alive[task.index()] = false;
                self.emit(Event::Exit { task });
            }
        }
        if let Some(task) = next {
            self.queued[task.index()] = None;
        }
        self.running[cpu.index()] = next;
        let off = if prev.is_none() { Off::Preempted } else { off };
        self.emit(Event::Switch { cpu, prev, off, next });
    }

    fn step(&mut self, (pass, kind, cpu, other): (u64, u8, u32, u32)) {
        self.now += pass;
        let (cpu, to) = (CpuId(cpu), CpuId(other % CPUS as u32));
        match kind {
            0 => {
                let child = TaskId(self.queued.len() as u32);
                let parent = self.running[cpu.index()];
                if parent.is_none() {
                    return;
                }
                self.queued.push(None);
                self.home.push(cpu);
                self.alive.push(true);
                self.emit(Event::Fork { parent, child });
                self.wake(child, cpu, cpu);
            }
            1 | 2 => {
                let count = self.queued.len() as u32;
                let task = TaskId(other % count);
                let asleep = self.queued[task.index()].is_none() && !self.running.contains(&Some(task));
                if asleep && self.alive[task.index()] {
                    self.wake(task, cpu, to);
                }
            }
            3 => self.switch(cpu, Off::Preempted),
            4 => self.switch(cpu, Off::Uninterruptible),
            5 => self.switch(cpu, Off::Exited),
            _ => self.switch(cpu, Off::Sleeping),
        }
    }
}

proptest! {
    #[test]
    fn a_written_run_reads_back_event_by_event(
        steps in prop::collection::vec((200_000u64..900_000, 0u8..9, 0u32..CPUS as u32, 0u32..40), 20..150),
    ) {
        let mut machine = Machine {
            now: 5_000_000_000,
            running: [None; CPUS],
            queued: vec![None; 4],
            home: (0..4).map(|n| CpuId(n % CPUS as u32)).collect(),
            alive: vec![true; 4],
            emitted: Vec::new(),
        };
        for task in 0..4 {
            machine.now += 1_000;
            let home = machine.home[task];
            machine.wake(TaskId(task as u32), home, home);
            machine.switch(home, Off::Preempted);
        }
        steps.into_iter().for_each(|step| machine.step(step));

        let labels: Vec<TaskLabel> =
            (0..300).map(|n| TaskLabel { name: format!("task {n}: [a]=b-{n}"), prio: 100 + n % 40 }).collect();
        let mut writer = FtraceWriter::new(Vec::new(), CPUS, &labels);
        machine.emitted.iter().for_each(|(at, event)| writer.observe(*at, event));
        let text = writer.finish().expect("memory");
        let trace = load(&text).expect("what was written is a trace");
        for (kind, count) in trace.repairs.iter() {
            prop_assert!(kind.name() == "first_seen_running", "{}: {count:?}", kind.name());
        }
        // Task numbers follow the order of appearance; thread ids are the numbers written.
        let original = |t: TaskId| TaskId(trace.tasks.get(t).expect("a task").pid - 1);
        let read: Vec<_> = events(&trace).into_iter().map(|(at, e)| (at, renumber(e, &original))).collect();
        prop_assert_eq!(read, machine.emitted);
    }
}

fn renumber(event: Event, number: &impl Fn(TaskId) -> TaskId) -> Event {
    match event {
        Event::Fork { parent, child } => Event::Fork { parent: parent.map(number), child: number(child) },
        Event::Wakeup { task, waker, cpu, from } => {
            Event::Wakeup { task: number(task), waker: waker.map(number), cpu, from }
        }
        Event::Switch { cpu, prev, off, next } => {
            Event::Switch { cpu, prev: prev.map(number), off, next: next.map(number) }
        }
        Event::Migrate { task, from, to } => Event::Migrate { task: number(task), from, to },
        Event::Exit { task } => Event::Exit { task: number(task) },
        other => other,
    }
}
