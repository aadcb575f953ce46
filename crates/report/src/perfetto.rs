//! Timelines as a Perfetto trace: CPU tracks with slices, threads under their processes, wake-ups with their wakers and
//! an arrow from one to the other, their times out of quota, tracks of CPUs that go offline, and a counter track for
//! each run queue's length. Of several arms, each has CPUs and processes of its own, which follow those of the one
//! before.
//!
//! Switches are written as `CompactSched` columns (a few bytes each), wake-ups as ftrace events, because only these can
//! name the waker. Linux recordings contain both, so every version of the Perfetto UI and its trace processor reads
//! them. Field numbers are those of `protos/perfetto/trace/perfetto_trace.proto`; `tests/python/check_perfetto.py`
//! reads the result with Perfetto's Python package.
//!
//! Limit of the format: a wake-up in the same nanosecond in which the task fell asleep is shown as a sleep until the
//! switch-in.

mod message;
mod offline;
mod throttled;

use crate::timeline::{Slice, Timeline, TimelineTask, Woken};
use goodness_core::{Off, TaskId};
use message::{Message, packet};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Events in one packet; a reader holds one packet in memory at a time.
const EVENTS_IN_PACKET: usize = 4096;
/// Id of the only writer of packets; any number but 0.
const SEQUENCE: u64 = 1;
/// `BUILTIN_CLOCK_BOOTTIME`, the clock of ftrace events and of packets that name none.
const BOOTTIME: u64 = 6;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: a reader may start at this packet.
const STATE_CLEARED: u64 = 1;
/// `TYPE_SLICE_BEGIN` and `TYPE_SLICE_END` of track events.
const BEGIN: u64 = 1;
const END: u64 = 2;
/// `TYPE_INSTANT` of track events.
const INSTANT: u64 = 3;
/// `TYPE_COUNTER` of track events.
const COUNTER: u64 = 4;
/// Field of an event's flows, and of those that end with it.
const FLOW: u64 = 47;
const FLOW_ENDS: u64 = 48;
/// Numbers of tracks: counters first, then one for each thread.
const FIRST_COUNTER_TRACK: u64 = 1_000;
const FIRST_THREAD_TRACK: u64 = 1_000_000;
/// `UNIT_COUNT` of counters.
const UNIT_COUNT: u64 = 2;
/// `TRACE_FLAG_HARDIRQ` of ftrace's common flags: the event happened in an interrupt.
const IN_INTERRUPT: u64 = 8;

/// Writes the schedules of arms, each with its label.
///
/// # Errors
/// Those of `out`.
pub fn write(arms: &[(&Timeline, &str)], out: &mut dyn Write) -> io::Result<()> {
    packet(out, &clock())?;
    // Each arm has CPUs and thread ids of its own, because a trace is of one machine.
    let largest = arms.iter().flat_map(|(timeline, _)| pids(timeline)).max().unwrap_or(0);
    let apart = 10u64.pow((largest + 1).ilog10() + 1);
    let mut first_cpu = 0;
    for (place, (timeline, label)) in arms.iter().enumerate() {
        let first_pid = apart * place as u64;
        let pids: Vec<u64> = pids(timeline).into_iter().map(|pid| pid + first_pid).collect();
        let label = if arms.len() > 1 { Some(*label) } else { None };
        Writer { timeline, label, first_cpu, first_pid, pids }.write(out)?;
        first_cpu += u64::from(timeline.cpus);
    }
    Ok(())
}

struct Writer<'a> {
    timeline: &'a Timeline,
    /// Name of the arm, if there are several.
    label: Option<&'a str>,
    first_cpu: u64,
    first_pid: u64,
    pids: Vec<u64>,
}

/// One switch in the compact encoding.
struct Switch {
    at: u64,
    prev_state: u64,
    next: Option<TaskId>,
}

impl Writer<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        packet(out, &self.process_tree())?;
        for cpu in 0..self.timeline.cpus {
            packet(out, &self.counter_track(cpu))?;
        }
        let rows = self.timeline.rows();
        // Of events at one instant the reader takes those first that come first in the file: wake-ups precede
        // the switches that they cause.
        for row in &rows {
            self.wakeups(row, out)?;
        }
        for row in &rows {
            self.switches(row, out)?;
        }
        self.flows(out)?;
        self.throttled(out)?;
        self.offline(out)?;
        self.counters(out)
    }

    /// Threads under their processes. Tasks that are not known to share memory are processes of their own. A process
    /// has the number and the name of its first thread.
    fn process_tree(&self) -> Message {
        let tasks = &self.timeline.tasks;
        let mut first_of = BTreeMap::new();
        let leader = |(index, task): (usize, &TimelineTask)| match task.process {
            Some(process) => *first_of.entry(process).or_insert(index),
            None => index,
        };
        let leaders: Vec<usize> = tasks.iter().enumerate().map(leader).collect();
        let mut tree = Message::default();
        for (index, task) in tasks.iter().enumerate().filter(|(index, _)| leaders[*index] == *index) {
            let name = self.label.map_or_else(|| task.name.clone(), |label| format!("{label}: {}", task.name));
            let mut process = Message::default();
            process.number(1, self.pids[index]).text(3, &name);
            tree.message(1, &process);
        }
        for (index, task) in tasks.iter().enumerate() {
            let mut thread = Message::default();
            thread.number(1, self.pids[index]).text(2, &task.name).number(3, self.pids[leaders[index]]);
            tree.message(2, &thread);
        }
        let mut packet = Message::default();
        packet.number(8, 0).message(2, &tree).number(10, SEQUENCE);
        packet
    }

    /// Arrows from who wakes to who is woken: an instant on the track of each, joined by the number of the flow.
    fn flows(&self, out: &mut dyn Write) -> io::Result<()> {
        let woken = self.timeline.slices.iter().enumerate();
        let woken = woken.filter_map(|(number, slice)| match slice.woken {
            Some(Woken::By(waker)) => Some((number, slice, waker)),
            _ => None,
        });
        let mut has_track = vec![false; self.timeline.tasks.len()];
        for (number, slice, waker) in woken {
            let flow = (self.first_cpu << 40) + number as u64 + 1;
            for task in [waker, slice.task] {
                if let Some(known @ false) = has_track.get_mut(task.index()) {
                    *known = true;
                    packet(out, &self.thread_track(task))?;
                }
            }
            let at = slice.start - slice.waited;
            packet(out, &instant(at, "wakes", self.track_of_thread(waker), FLOW, flow))?;
            packet(out, &instant(slice.start, "woken", self.track_of_thread(slice.task), FLOW_ENDS, flow))?;
        }
        Ok(())
    }

    fn thread_track(&self, task: TaskId) -> Message {
        let mut thread = Message::default();
        thread.number(1, self.pid(task)).number(2, self.pid(task)).text(5, self.name(task));
        let mut track = Message::default();
        track.number(1, self.track_of_thread(task)).message(4, &thread);
        declaration(&track)
    }

    fn track_of_thread(&self, task: TaskId) -> u64 {
        FIRST_THREAD_TRACK + self.pid(task)
    }

    fn track_of(&self, cpu: u32) -> u64 {
        FIRST_COUNTER_TRACK + self.first_cpu + u64::from(cpu)
    }

    fn counter_track(&self, cpu: u32) -> Message {
        let mut counter = Message::default();
        counter.number(3, UNIT_COUNT);
        let of = self.label.map_or_else(String::new, |label| format!("{label}: "));
        let mut track = Message::default();
        track.number(1, self.track_of(cpu)).text(2, &format!("{of}run queue of CPU {cpu}")).message(8, &counter);
        declaration(&track)
    }

    /// Number of a CPU in the trace.
    fn cpu(&self, cpu: u32) -> u64 {
        self.first_cpu + u64::from(cpu)
    }

    fn wakeups(&self, row: &[&Slice], out: &mut dyn Write) -> io::Result<()> {
        let woken: Vec<_> = row.iter().filter_map(|s| s.woken.map(|w| (*s, w))).collect();
        for chunk in woken.chunks(EVENTS_IN_PACKET) {
            let mut bundle = Message::default();
            bundle.number(1, self.cpu(chunk[0].0.cpu.0));
            for (slice, woken) in chunk {
                bundle.message(2, &self.waking(slice, *woken));
            }
            let mut message = Message::default();
            message.message(1, &bundle).number(10, SEQUENCE);
            packet(out, &message)?;
        }
        Ok(())
    }

    fn waking(&self, slice: &Slice, woken: Woken) -> Message {
        let mut waking = Message::default();
        waking.text(1, self.name(slice.task)).number(2, self.pid(slice.task));
        waking.number(3, self.priority(slice.task)).number(4, 1).number(5, self.cpu(slice.cpu.0));
        let (waker, flags) = match woken {
            Woken::By(task) => (self.pid(task), 0),
            Woken::ByInterrupt => (0, IN_INTERRUPT),
        };
        let mut event = Message::default();
        event.number(1, slice.start - slice.waited).number(2, waker).number(5, flags).message(20, &waking);
        event
    }

    fn switches(&self, row: &[&Slice], out: &mut dyn Write) -> io::Result<()> {
        let Some(first) = row.first() else { return Ok(()) };
        for chunk in switches_of(row).chunks(EVENTS_IN_PACKET) {
            let mut bundle = Message::default();
            bundle.number(1, self.cpu(first.cpu.0)).message(4, &self.compact(chunk, first.cpu.0));
            let mut message = Message::default();
            message.message(1, &bundle).number(10, SEQUENCE);
            packet(out, &message)?;
        }
        Ok(())
    }

    /// Columns of switches, the names in a table of their own.
    fn compact(&self, switches: &[Switch], cpu: u32) -> Message {
        let mut names: Vec<String> = Vec::new();
        let mut index_of: BTreeMap<Option<TaskId>, u64> = BTreeMap::new();
        let idle = format!("swapper/{}", self.cpu(cpu));
        let comm = |s: &Switch| {
            *index_of.entry(s.next).or_insert_with(|| {
                names.push(s.next.map_or(&*idle, |t| self.name(t)).into());
                names.len() as u64 - 1
            })
        };
        let comms: Vec<u64> = switches.iter().map(comm).collect();
        let times = std::iter::once(0).chain(switches.iter().map(|s| s.at));
        let mut compact = Message::default();
        compact.packed(1, switches.iter().zip(times).map(|(s, earlier)| s.at - earlier));
        compact.packed(2, switches.iter().map(|s| s.prev_state));
        compact.packed(3, switches.iter().map(|s| s.next.map_or(0, |t| self.pid(t))));
        compact.packed(4, switches.iter().map(|s| s.next.map_or(120, |t| self.priority(t))));
        for name in &names {
            compact.text(5, name);
        }
        compact.packed(6, comms.into_iter());
        compact
    }

    /// A named slice of a track.
    fn slice(&self, track: u64, name: &str, (from, to): (u64, u64), out: &mut dyn Write) -> io::Result<()> {
        for (at, kind) in [(from, BEGIN), (to, END)] {
            let mut event = Message::default();
            event.number(9, kind).number(11, track);
            if kind == BEGIN {
                event.text(23, name);
            }
            let mut message = Message::default();
            message.number(8, at).message(11, &event).number(10, SEQUENCE);
            packet(out, &message)?;
        }
        Ok(())
    }

    fn counters(&self, out: &mut dyn Write) -> io::Result<()> {
        for queue in &self.timeline.queues {
            let mut event = Message::default();
            event.number(9, COUNTER).number(11, self.track_of(queue.cpu.0)).number(30, u64::from(queue.tasks));
            let mut message = Message::default();
            message.number(8, queue.at).message(11, &event).number(10, SEQUENCE);
            packet(out, &message)?;
        }
        Ok(())
    }

    fn name(&self, task: TaskId) -> &str {
        self.timeline.tasks.get(task.index()).map_or("", |t| &t.name)
    }

    fn pid(&self, task: TaskId) -> u64 {
        self.pids.get(task.index()).copied().unwrap_or(self.first_pid + u64::from(task.0) + 1)
    }

    fn priority(&self, task: TaskId) -> u64 {
        self.timeline.tasks.get(task.index()).map_or(120, |t| u64::from(t.priority))
    }
}

/// The tasks' numbers if they are valid thread ids: unique, positive, 31 bits. Otherwise 1, 2, …; 0 is the idle task.
fn pids(timeline: &Timeline) -> Vec<u64> {
    let own: Vec<u64> = timeline.tasks.iter().map(|t| t.id).collect();
    let mut sorted = own.clone();
    sorted.sort_unstable();
    let unique = sorted.windows(2).all(|w| w[0] != w[1]);
    let fit = own.iter().all(|id| (1..=i32::MAX as u64).contains(id));
    if unique && fit { own } else { (1..=own.len() as u64).collect() }
}

/// The switches of one CPU: to each slice, and to idle before a gap.
fn switches_of(row: &[&Slice]) -> Vec<Switch> {
    let mut switches = Vec::with_capacity(row.len() * 2);
    let mut left: Option<&Slice> = None;
    for slice in row {
        let mut prev_state = left.map_or(0, state_after);
        if let Some(gap_before) = left.filter(|l| l.end < slice.start) {
            switches.push(Switch { at: gap_before.end, prev_state, next: None });
            prev_state = 0;
        }
        switches.push(Switch { at: slice.start, prev_state, next: Some(slice.task) });
        left = Some(slice);
    }
    if let Some(last) = left.filter(|l| l.off.is_some()) {
        switches.push(Switch { at: last.end, prev_state: state_after(last), next: None });
    }
    switches
}

/// The kernel's bits for a task's state after a switch.
fn state_after(slice: &Slice) -> u64 {
    match slice.off {
        None | Some(Off::Preempted | Off::Yielded) => 0,
        Some(Off::Sleeping) => 1,
        Some(Off::Uninterruptible | Off::DirtyMemory) => 2,
        Some(Off::Exited) => 16,
    }
}

fn clock() -> Message {
    let mut clock = Message::default();
    clock.number(1, BOOTTIME).number(2, 0);
    let mut snapshot = Message::default();
    snapshot.message(1, &clock).number(2, BOOTTIME);
    let mut packet = Message::default();
    packet.number(8, 0).message(6, &snapshot).number(10, SEQUENCE).number(13, STATE_CLEARED);
    packet
}

/// The packet that declares a track.
fn declaration(track: &Message) -> Message {
    let mut packet = Message::default();
    packet.number(8, 0).message(60, track).number(10, SEQUENCE);
    packet
}

/// An event without length on a track, with a flow in this field.
fn instant(at: u64, name: &str, track: u64, field: u64, flow: u64) -> Message {
    let mut event = Message::default();
    event.number(9, INSTANT).number(11, track).text(23, name).fixed(field, flow);
    let mut packet = Message::default();
    packet.number(8, at).message(11, &event).number(10, SEQUENCE);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::CpuId;

    fn slice(task: u32, start: u64, end: u64, off: Option<Off>) -> Slice {
        Slice { task: TaskId(task), cpu: CpuId(0), start, end, waited: 0, woken: None, off }
    }

    fn switches(slices: &[Slice]) -> Vec<(u64, u64, Option<u32>)> {
        let row: Vec<&Slice> = slices.iter().collect();
        switches_of(&row).iter().map(|s| (s.at, s.prev_state, s.next.map(|t| t.0))).collect()
    }

    #[test]
    fn a_gap_is_a_switch_to_idle_and_a_hand_over_is_one_switch() {
        let row = [
            slice(0, 0, 10, Some(Off::Preempted)),
            slice(1, 10, 15, Some(Off::Sleeping)),
            slice(0, 20, 30, Some(Off::Exited)),
        ];
        let expected = [(0, 0, Some(0)), (10, 0, Some(1)), (15, 1, None), (20, 0, Some(0)), (30, 16, None)];
        assert_eq!(switches(&row), expected);
    }

    #[test]
    fn a_task_still_running_at_the_end_is_not_switched_out() {
        assert_eq!(switches(&[slice(0, 5, 10, None)]), [(5, 0, Some(0))]);
    }

    #[test]
    fn numbers_that_cannot_be_thread_ids_are_replaced() {
        let of = |ids: &[u64]| {
            let tasks = ids.iter().map(|&id| TimelineTask { id, ..TimelineTask::default() }).collect();
            pids(&Timeline { tasks, ..Timeline::default() })
        };
        assert_eq!(of(&[4711, 12]), [4711, 12]);
        assert_eq!(of(&[0, 1]), [1, 2], "0 is the idle task");
        assert_eq!(of(&[7, 7]), [1, 2]);
        assert_eq!(of(&[1 << 40]), [1]);
    }

    /// The names of processes and threads as bytes of the trace.
    #[test]
    fn arms_have_threads_and_cpus_of_their_own_under_processes_that_name_them() {
        let task = |name: &str, id| TimelineTask { name: name.into(), id, process: Some(7), ..TimelineTask::default() };
        let mut woken = slice(1, 5, 9, None);
        woken.woken = Some(Woken::By(TaskId(0)));
        let slices = vec![slice(0, 0, 5, Some(Off::Preempted)), woken];
        let timeline =
            Timeline { cpus: 1, tasks: vec![task("db", 12), task("worker", 13)], slices, ..Timeline::default() };
        let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).filter(|it| *it == text.as_bytes()).count();
        let (mut one, mut two) = (Vec::new(), Vec::new());
        write(&[(&timeline, "base")], &mut one).unwrap();
        write(&[(&timeline, "base"), (&timeline, "o1")], &mut two).unwrap();
        assert_eq!((holds(&one, "base"), holds(&one, "wakes"), holds(&one, "woken")), (0, 1, 1));
        assert_eq!((holds(&two, "base: db"), holds(&two, "o1: db"), holds(&two, "o1: worker")), (1, 1, 0));
        assert_eq!((holds(&two, "swapper/1"), holds(&two, "o1: run queue of CPU 0")), (0, 1));
        let of_112 = |bytes: &[u8]| bytes.windows(2).filter(|it| *it == [0x08, 112]).count();
        assert_eq!((of_112(&one), of_112(&two)), (0, 3), "thread 12 of the second arm: process, thread and track");
    }
}
