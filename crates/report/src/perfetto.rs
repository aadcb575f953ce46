//! A timeline as a Perfetto trace: CPU tracks with slices, task names, wake-ups with their wakers, and a counter track
//! for each run queue's length.
//!
//! Switches are written as `CompactSched` columns (a few bytes each), wake-ups as ftrace events, because only these can
//! name the waker. Linux recordings contain both, so every version of the Perfetto UI and its trace processor reads
//! them. Field numbers are those of `protos/perfetto/trace/perfetto_trace.proto`; `tests/python/check_perfetto.py`
//! reads the result with Perfetto's Python package.
//!
//! Limit of the format: a wake-up in the same nanosecond in which the task fell asleep is shown as a sleep until the
//! switch-in.

use crate::pack::put_varint;
use crate::timeline::{Slice, Timeline, Woken};
use goodness_core::{Off, TaskId};
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
/// `TYPE_COUNTER` of track events.
const COUNTER: u64 = 4;
/// `UNIT_COUNT` of counters.
const UNIT_COUNT: u64 = 2;
/// `TRACE_FLAG_HARDIRQ` of ftrace's common flags: the event happened in an interrupt.
const IN_INTERRUPT: u64 = 8;

/// Writes the trace of one policy's run; `policy` names it in the counter tracks.
///
/// # Errors
/// Those of `out`.
pub fn write(timeline: &Timeline, policy: &str, out: &mut dyn Write) -> io::Result<()> {
    let writer = Writer { timeline, pids: pids(timeline) };
    packet(out, &writer.clock())?;
    packet(out, &writer.process_tree())?;
    for cpu in 0..timeline.cpus {
        packet(out, &counter_track(cpu, policy))?;
    }
    let rows = timeline.rows();
    // Of events at one instant the reader takes those first that come first in the file: wake-ups precede
    // the switches that they cause.
    for row in &rows {
        writer.wakeups(row, out)?;
    }
    for row in &rows {
        writer.switches(row, out)?;
    }
    writer.counters(out)
}

struct Writer<'a> {
    timeline: &'a Timeline,
    pids: Vec<u64>,
}

/// One switch in the compact encoding.
struct Switch {
    at: u64,
    prev_state: u64,
    next: Option<TaskId>,
}

impl Writer<'_> {
    fn clock(&self) -> Message {
        let mut clock = Message::default();
        clock.number(1, BOOTTIME).number(2, 0);
        let mut snapshot = Message::default();
        snapshot.message(1, &clock).number(2, BOOTTIME);
        let mut packet = Message::default();
        packet.number(8, 0).message(6, &snapshot).number(10, SEQUENCE).number(13, STATE_CLEARED);
        packet
    }

    /// Each task as its own process, because it is not known which tasks share memory.
    fn process_tree(&self) -> Message {
        let mut tree = Message::default();
        for (index, task) in self.timeline.tasks.iter().enumerate() {
            let mut process = Message::default();
            process.number(1, self.pids[index]).text(3, &task.name);
            tree.message(1, &process);
        }
        for (index, task) in self.timeline.tasks.iter().enumerate() {
            let mut thread = Message::default();
            thread.number(1, self.pids[index]).text(2, &task.name).number(3, self.pids[index]);
            tree.message(2, &thread);
        }
        let mut packet = Message::default();
        packet.number(8, 0).message(2, &tree).number(10, SEQUENCE);
        packet
    }

    fn wakeups(&self, row: &[&Slice], out: &mut dyn Write) -> io::Result<()> {
        let woken: Vec<_> = row.iter().filter_map(|s| s.woken.map(|w| (*s, w))).collect();
        for chunk in woken.chunks(EVENTS_IN_PACKET) {
            let mut bundle = Message::default();
            bundle.number(1, u64::from(chunk[0].0.cpu.0));
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
        waking.number(3, self.priority(slice.task)).number(4, 1).number(5, u64::from(slice.cpu.0));
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
            bundle.number(1, u64::from(first.cpu.0)).message(4, &self.compact(chunk, first.cpu.0));
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
        let idle = format!("swapper/{cpu}");
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

    fn counters(&self, out: &mut dyn Write) -> io::Result<()> {
        for queue in &self.timeline.queues {
            let mut event = Message::default();
            event.number(9, COUNTER).number(11, track_of(queue.cpu.0)).number(30, u64::from(queue.tasks));
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
        self.pids.get(task.index()).copied().unwrap_or(u64::from(task.0) + 1)
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
        Some(Off::Uninterruptible) => 2,
        Some(Off::Exited) => 16,
    }
}

fn track_of(cpu: u32) -> u64 {
    1000 + u64::from(cpu)
}

fn counter_track(cpu: u32, policy: &str) -> Message {
    let mut counter = Message::default();
    counter.number(3, UNIT_COUNT);
    let mut track = Message::default();
    track.number(1, track_of(cpu)).text(2, &format!("{policy} runqueue of cpu {cpu}")).message(8, &counter);
    let mut packet = Message::default();
    packet.number(8, 0).message(60, &track).number(10, SEQUENCE);
    packet
}

/// Writes one `Trace.packet`.
fn packet(out: &mut dyn Write, message: &Message) -> io::Result<()> {
    let mut head = Message::default();
    put_varint(&mut head.0, 1 << 3 | 2);
    put_varint(&mut head.0, message.0.len() as u64);
    out.write_all(&head.0)?;
    out.write_all(&message.0)
}

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, field: u64, value: u64) -> &mut Message {
        put_varint(&mut self.0, field << 3);
        put_varint(&mut self.0, value);
        self
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Message {
        put_varint(&mut self.0, field << 3 | 2);
        put_varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(&mut self, field: u64, text: &str) -> &mut Message {
        self.bytes(field, text.as_bytes())
    }

    fn message(&mut self, field: u64, message: &Message) -> &mut Message {
        self.bytes(field, &message.0)
    }

    fn packed(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        let mut bytes = Vec::new();
        values.for_each(|v| put_varint(&mut bytes, v));
        self.bytes(field, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::TimelineTask;
    use goodness_core::CpuId;

    fn slice(task: u32, start: u64, end: u64, off: Option<Off>) -> Slice {
        Slice { task: TaskId(task), cpu: CpuId(0), start, end, waited: 0, woken: None, off }
    }

    fn switches(slices: &[Slice]) -> Vec<(u64, u64, Option<u32>)> {
        let row: Vec<&Slice> = slices.iter().collect();
        switches_of(&row).iter().map(|s| (s.at, s.prev_state, s.next.map(|t| t.0))).collect()
    }

    #[test]
    fn a_message_is_encoded_as_the_protocol_buffers_guide_shows() {
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.0, [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.text(2, "testing").message(3, &inner).packed(4, [3, 270, 86942].into_iter());
        let expected: [&[u8]; 3] = [
            &[0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g'],
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
        ];
        assert_eq!(outer.0, expected.concat());
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
}
