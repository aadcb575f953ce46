//! Writes a run's events as ftrace text, which this crate and other tools read back.

use goodness_core::{CpuId, Event, Observer, Off, TaskId, Time, WakeSource};
use std::io::{self, Write};

/// Label of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLabel {
    /// Name; cut to 15 bytes, with line ends replaced by `?`.
    pub name: String,
    /// Kernel priority: 0–99 real time, 100–139 nice −20 … +19.
    pub prio: i16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    cpu: CpuId,
    running: bool,
    forked: bool,
}

/// Writes observed events as ftrace text. Task `n` has thread id `n + 1`. Overhead, served requests and block I/O are
/// left out, as ftrace scheduling text cannot represent them.
pub struct FtraceWriter<'a, W: Write> {
    to: W,
    labels: &'a [TaskLabel],
    running: Vec<Option<TaskId>>,
    places: Vec<Place>,
    failed: Option<io::Error>,
}

impl<'a, W: Write> FtraceWriter<'a, W> {
    /// A writer for a machine of `cpus` CPUs. Tasks beyond `labels` are called `task-N` and have priority 120.
    pub fn new(to: W, cpus: usize, labels: &'a [TaskLabel]) -> Self {
        let mut writer = FtraceWriter { to, labels, running: vec![None; cpus], places: Vec::new(), failed: None };
        let head = format!("# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:{cpus}\n#\n");
        writer.write(&head);
        writer
    }

    /// Ends the text.
    ///
    /// # Errors
    /// The first error met while writing.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.to.flush()?;
        Ok(self.to)
    }

    fn write(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(text.as_bytes()).err();
        }
    }

    fn place(&mut self, task: TaskId) -> &mut Place {
        if task.index() >= self.places.len() {
            self.places.resize(task.index() + 1, Place::default());
        }
        &mut self.places[task.index()]
    }

    fn runs(&self, cpu: CpuId) -> Option<TaskId> {
        self.running.get(cpu.index()).copied().flatten()
    }

    /// `comm`, `pid`, `prio`.
    fn label(&self, task: Option<TaskId>, cpu: CpuId) -> (String, u32, i16) {
        let Some(task) = task else { return (format!("swapper/{}", cpu.0), 0, 120) };
        let (name, prio) =
            self.labels.get(task.index()).map_or((format!("task-{}", task.0), 120), |s| (s.name.clone(), s.prio));
        let clean: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let end = (0..=clean.len().min(15)).rev().find(|at| clean.is_char_boundary(*at)).unwrap_or(0);
        (clean[..end].to_string(), task.0 + 1, prio)
    }

    fn line(&mut self, at: Time, cpu: CpuId, flags: &str, event: &str) {
        let who = self.runs(cpu);
        let (name, pid, _) = self.label(who, cpu);
        let name = if who.is_none() { "<idle>".into() } else { name };
        let (s, ns) = (at.ns() / 1_000_000_000, at.ns() % 1_000_000_000);
        let text = format!("{name:>16}-{pid:<7} [{:03}] {flags} {s:>5}.{ns:09}: {event}\n", cpu.0);
        self.write(&text);
    }

    fn named(&self, task: TaskId, cpu: CpuId) -> String {
        let (comm, pid, prio) = self.label(Some(task), cpu);
        format!("comm={comm} pid={pid} prio={prio}")
    }

    fn switch(&mut self, at: Time, cpu: CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>) {
        let state = match off {
            _ if prev.is_none() => "R",
            Off::Preempted => "R+",
            Off::Yielded => "R",
            Off::Sleeping => "S",
            Off::Uninterruptible | Off::DirtyMemory => "D",
            Off::Exited => "X",
        };
        if let Some(slot) = self.running.get_mut(cpu.index()) {
            *slot = prev;
        }
        let (from, from_pid, from_prio) = self.label(prev, cpu);
        let (to, to_pid, to_prio) = self.label(next, cpu);
        let event = format!(
            "sched_switch: prev_comm={from} prev_pid={from_pid} prev_prio={from_prio} prev_state={state} ==> \
             next_comm={to} next_pid={to_pid} next_prio={to_prio}"
        );
        self.line(at, cpu, "d..2.", &event);
        if let Some(task) = prev {
            *self.place(task) = Place { cpu, running: false, forked: false };
        }
        if let Some(task) = next {
            *self.place(task) = Place { cpu, running: true, forked: false };
        }
        if let Some(slot) = self.running.get_mut(cpu.index()) {
            *slot = next;
        }
    }

    fn wakeup(&mut self, at: Time, task: TaskId, waker: Option<TaskId>, cpu: CpuId, from: WakeSource) {
        let by = waker.map(|w| *self.place(w)).filter(|p| p.running && from == WakeSource::Task);
        let (on, flags) = by.map_or((cpu, "d.h2."), |p| (p.cpu, "d..2."));
        let forked = std::mem::take(&mut self.place(task).forked);
        let name = if forked { "sched_wakeup_new" } else { "sched_waking" };
        let event = format!("{name}: {} target_cpu={:03}", self.named(task, cpu), cpu.0);
        self.line(at, on, flags, &event);
        self.place(task).cpu = cpu;
    }

    fn fork(&mut self, at: Time, parent: Option<TaskId>, child: TaskId) {
        let cpu = parent.map_or(CpuId(0), |p| self.place(p).cpu);
        self.place(child).forked = true;
        let (by, by_pid, _) = self.label(parent, cpu);
        let (comm, pid, _) = self.label(Some(child), cpu);
        let event = format!("sched_process_fork: comm={by} pid={by_pid} child_comm={comm} child_pid={pid}");
        self.line(at, cpu, ".....", &event);
    }
}

impl<W: Write> Observer for FtraceWriter<'_, W> {
    fn observe(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Fork { parent, child } => self.fork(at, parent, child),
            Event::Wakeup { task, waker, cpu, from } => self.wakeup(at, task, waker, cpu, from),
            Event::Switch { cpu, prev, off, next } => self.switch(at, cpu, prev, off, next),
            Event::Migrate { task, from, to } => {
                let event =
                    format!("sched_migrate_task: {} orig_cpu={} dest_cpu={}", self.named(task, to), from.0, to.0);
                self.line(at, to, "d..2.", &event);
                self.place(task).cpu = to;
            }
            Event::Exit { task } => {
                let cpu = self.place(task).cpu;
                let event = format!("sched_process_exit: {}", self.named(task, cpu));
                self.line(at, cpu, ".....", &event);
            }
            Event::Overhead { .. } | Event::Served { .. } | Event::Io(_) | Event::Contended { .. } => {}
        }
    }
}
