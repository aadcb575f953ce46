//! Short ftrace texts, written line by line.
#![allow(dead_code, reason = "each test file uses its part")]

use goodness_core::{CpuId, Event, Observer, TaskId, Time};
use goodness_trace::{Input, PrevState, Record, Recording, SchedEvent, TraceError, load_input};
use std::collections::BTreeMap;

/// Reads a text.
pub fn load(text: &[u8]) -> Result<Recording, TraceError> {
    Input::bytes("t.txt", text).map(load_input).expect("memory can be read")
}

/// Reads lines of ftrace text.
pub fn lines(lines: &[String]) -> Recording {
    load(format!("# tracer: nop\n{}\n", lines.join("\n")).as_bytes()).expect("a usable trace")
}

/// A thread's name: `tN`, or that of the idle task.
fn name(pid: u32) -> String {
    if pid == 0 { "swapper/0".into() } else { format!("t{pid}") }
}

fn front(us: u64, cpu: u32, current: u32, flags: &str) -> String {
    let comm = if current == 0 { "<idle>".into() } else { name(current) };
    format!("{comm:>16}-{current:<7} [{cpu:03}] {flags} {:>5}.{:06}: ", us / 1_000_000, us % 1_000_000)
}

/// `sched_switch` at `us`.
pub fn switch(us: u64, cpu: u32, prev: u32, state: &str, next: u32) -> String {
    format!(
        "{}sched_switch: prev_comm={} prev_pid={prev} prev_prio=120 prev_state={state} ==> next_comm={} \
            next_pid={next} next_prio=120",
        front(us, cpu, prev, "d..2."),
        name(prev),
        name(next)
    )
}

/// An event about one task at `us`, with these flags.
pub fn about(us: u64, cpu: u32, current: u32, flags: &str, event: &str, pid: u32, more: &str) -> String {
    format!("{}{event}: comm={} pid={pid} prio=120{more}", front(us, cpu, current, flags), name(pid))
}

/// `sched_waking` by the running task.
pub fn waking(us: u64, cpu: u32, current: u32, pid: u32, target: u32) -> String {
    about(us, cpu, current, "d..2.", "sched_waking", pid, &format!(" target_cpu={target:03}"))
}

/// `sched_process_fork`.
pub fn fork(us: u64, cpu: u32, parent: u32, child: u32) -> String {
    let (by, of) = (name(parent), name(child));
    format!(
        "{}sched_process_fork: comm={by} pid={parent} child_comm={of} child_pid={child}",
        front(us, cpu, parent, ".....")
    )
}

/// True if both are the same event; a piece `here` may end long before it is known why a task left its CPU.
pub fn is_same(here: &Record, there: &Record) -> bool {
    let mut there = *there;
    if let (SchedEvent::Switch { prev_state: PrevState::UNKNOWN, .. }, SchedEvent::Switch { prev_state, .. }) =
        (here.event, &mut there.event)
    {
        *prev_state = PrevState::UNKNOWN;
    }
    *here == there
}

/// All events of the recording, as passed to an observer.
pub fn events(recording: &Recording) -> Vec<(Time, Event)> {
    let mut events: Vec<(Time, Event)> = Vec::new();
    recording.observe(&mut events);
    events
}

/// Fails if the switches are inconsistent: the task leaving a CPU must be the one that came, and no task may run on
/// two. A CPU's state is unknown before its first switch and after a loss.
pub fn assert_consistent(recording: &Recording) {
    let mut running: BTreeMap<CpuId, Option<TaskId>> = BTreeMap::new();
    for record in &recording.records {
        match record.event {
            SchedEvent::Lost { .. } => {
                running.remove(&record.cpu);
            }
            SchedEvent::Switch { prev, next, .. } => {
                if let Some(known) = running.insert(record.cpu, next) {
                    assert_eq!(known, prev, "who left {} at {}", record.cpu, record.at);
                }
                let places = running.values().filter(|r| next.is_some() && **r == next).count();
                assert!(places <= 1, "{next:?} runs in {places} places at {}", record.at);
            }
            _ => {}
        }
    }
}

/// Fails when time goes back, or a task switches to itself.
#[derive(Default)]
pub struct Monotone(pub Time, pub u64);

impl Observer for Monotone {
    fn observe(&mut self, at: Time, event: &Event) {
        assert!(at >= self.0, "{at} after {}", self.0);
        if let Event::Switch { prev, next, .. } = event {
            assert_ne!(prev, next, "a switch to the same task at {at}");
        }
        (self.0, self.1) = (at, self.1 + 1);
    }
}
