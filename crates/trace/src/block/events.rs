//! The kernel's block events as text: ftrace, `trace-cmd report`, `perf script`, and ftrace's `blk` tracer.
//!
//! ```text
//!  dd-9 [000] d..1.  1.000001: block_rq_issue: 8,0 R 4096 () 8 + 8 [dd]
//!  dd-9 [000] d..1.  1.000001:   8,0    Q   R 8 + 8 [dd]                       (blk tracer)
//! ```

use super::actions::{Action, Front, Stage, Tail, device, stage_of};
use super::format::{BlockFormat, Reads};
use super::record::{BlockRecord, BlockStage};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::event_line::comm_and_ids;
use crate::ftrace;
use crate::line::{Content, LineEvent};
use crate::lost::lost_line;
use crate::metadata::Metadata;
use crate::prefix::{Prefix, Unusable, name_and_args, prefix};
use crate::repairs::Repair;
use crate::scan::{split_last, thread_id};
use goodness_core::{Operation, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "block-events",
    summary: "the kernel's block events as text: ftrace, trace-cmd report, perf script, and the blk tracer",
    carries: Carries { stages: true, completions: true, processes: true, flags: true },
    how_to_record: "echo 1 > events/block/enable in /sys/kernel/tracing, then cat trace_pipe > FILE",
    from_first: false,
    reads: Reads::Text { recognises, make: || Box::new(BlockEvents::default()) },
};

#[derive(Default)]
struct BlockEvents {
    headers: Metadata,
}

/// Start of the header of `goodness record`. Such a recording may have its first block event far behind the part
/// inspected to recognise a format.
const OF_OURS: &[u8] = b"# goodness: {\"recording\":";

fn recognises(line: &[u8]) -> bool {
    if line.starts_with(OF_OURS) {
        return true;
    }
    let Ok(found) = prefix(line) else { return false };
    match name_and_args(found.event) {
        Some((name, _)) if name.starts_with(b"block_") => true,
        _ => tracer_line(found.event).is_some(),
    }
}

/// Parses a line of the blk tracer: disk, action, letters, and the rest.
fn tracer_line(event: &[u8]) -> Option<([&[u8]; 3], &[u8])> {
    let mut rest = event;
    let (disk, action, letters) = (word(&mut rest), word(&mut rest), word(&mut rest));
    device(disk)?;
    stage_of(action)?;
    Some(([disk, action, letters], rest))
}

fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

/// The thread id at the end of `who`, in the format of ftrace (`comm-9 ( 8)`), trace-cmd (`comm-9`) or perf (`comm 9`).
fn pid_of(who: &[u8]) -> u32 {
    if let Some(pid) = comm_and_ids(who).pid {
        return pid;
    }
    let last = split_last(who, b" ").map_or(who, |(_, last)| last);
    let thread = split_last(last, b"/").map_or(last, |(_, thread)| thread);
    thread_id(thread).unwrap_or(0)
}

const UNREADABLE: Fault = Fault::Left(Repair::UnreadableEvent);

/// Field layout of an event, and its stage.
#[derive(Clone, Copy)]
enum Layout {
    /// Disk, letters, place.
    Bio(Stage),
    /// Disk, letters, bytes, command in parentheses, place. Completions have no bytes.
    Request(Stage),
    /// Task name and a number, without disk.
    Task(Stage),
}

fn layout(name: &[u8]) -> Option<Layout> {
    use BlockStage as S;
    Some(match name {
        b"block_bio_queue" => Layout::Bio(Stage::Plain(S::Queue)),
        b"block_bio_backmerge" => Layout::Bio(Stage::Plain(S::BackMerge)),
        b"block_bio_frontmerge" => Layout::Bio(Stage::Plain(S::FrontMerge)),
        b"block_bio_bounce" => Layout::Bio(Stage::Plain(S::Bounce)),
        b"block_bio_remap" | b"block_rq_remap" => Layout::Bio(Stage::Remap),
        b"block_bio_complete" => Layout::Bio(Stage::Complete),
        b"block_getrq" => Layout::Bio(Stage::Plain(S::GetRequest)),
        b"block_sleeprq" => Layout::Bio(Stage::Plain(S::Sleep)),
        b"block_split" => Layout::Bio(Stage::Split),
        b"block_rq_insert" => Layout::Request(Stage::Plain(S::Insert)),
        b"block_rq_issue" => Layout::Request(Stage::Plain(S::Issue)),
        b"block_rq_merge" => Layout::Request(Stage::Plain(S::BackMerge)),
        b"block_rq_requeue" => Layout::Request(Stage::Plain(S::Requeue)),
        b"block_rq_abort" => Layout::Request(Stage::Plain(S::Abort)),
        b"block_rq_complete" => Layout::Request(Stage::Complete),
        b"block_plug" => Layout::Task(Stage::Plain(S::Plug)),
        b"block_unplug" | b"block_unplug_io" => Layout::Task(Stage::Unplug { timer: false }),
        b"block_unplug_timer" => Layout::Task(Stage::Unplug { timer: true }),
        _ => return None,
    })
}

impl TextFormat for BlockEvents {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        let found = match prefix(line) {
            Ok(found) => found,
            Err(why) => return self.rare(line, why, cx),
        };
        let pid = pid_of(found.who);
        let cpu = u16::try_from(found.cpu).map_err(|_| Fault::Left(Repair::ImpossibleCpu))?;
        let front = Front { at: found.at, pid, cpu };
        if let Some((name, args)) = name_and_args(found.event)
            && device(name).is_none()
        {
            return match layout(name) {
                Some(layout) => event(layout, args, front, cx).map(Some),
                None => Ok(None),
            };
        }
        tracer(&found, front, cx)
    }
}

impl BlockEvents {
    #[cold]
    fn rare(&mut self, line: &[u8], why: Unusable, cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        if line.starts_with(b"#") {
            ftrace::header(line, &mut self.headers);
            if let (Some(held), Some(written)) = (self.headers.entries_in_buffer.take(), self.headers.entries_written)
                && held < written
            {
                cx.about
                    .warnings
                    .push(format!("the ring buffer wrapped: the first {} events are gone", written - held));
            }
            return Ok(None);
        }
        if let Some(lost) = lost_line(line) {
            let Content::Sched(LineEvent::Lost { count }) = lost.content else { return Ok(None) };
            cx.about.repairs.add(Repair::LostEvents, count.max(1).into(), cx.line);
            return Ok(None);
        }
        Err(match why {
            Unusable::NoEvent => Fault::Left(Repair::UnreadableLine),
            Unusable::ImpossibleTime => Fault::Left(Repair::ImpossibleTime),
            Unusable::ImpossibleCpu => Fault::Left(Repair::ImpossibleCpu),
            Unusable::NotSeconds => Fault::Refused(
                "the times are clock counts, not seconds; record with a clock in time units (for ftrace: echo mono > \
                 trace_clock)"
                    .into(),
            ),
        })
    }
}

fn tracer(found: &Prefix<'_>, front: Front, cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
    let Some(([disk, action, letters], rest)) = tracer_line(found.event) else { return Ok(None) };
    let Some(stage) = stage_of(action).flatten() else { return Ok(None) };
    let tail = Tail::read(rest).ok_or(UNREADABLE)?;
    let disk = device(disk).ok_or(UNREADABLE)?;
    if stage != Stage::Complete {
        cx.about.processes.note(front.pid, tail.bracket);
    }
    Action { front, disk, letters, stage, tail }.record(cx).map(Some)
}

/// An event by its layout.
fn event(layout: Layout, args: &[u8], front: Front, cx: &mut LineContext) -> Result<BlockRecord, Fault> {
    let stage = match layout {
        Layout::Bio(stage) | Layout::Request(stage) => stage,
        Layout::Task(stage) => return task(stage, args, front, cx),
    };
    let mut rest = args;
    let disk = device(word(&mut rest)).ok_or(UNREADABLE)?;
    let letters = word(&mut rest);
    if matches!(layout, Layout::Request(_)) {
        // Bytes, where given, say the same as the sectors; the command is that of a passed-through request.
        let open = rest.iter().position(|b| *b == b'(').ok_or(UNREADABLE)?;
        let close = rest[open..].iter().position(|b| *b == b')').ok_or(UNREADABLE)? + open;
        rest = &rest[close + 1..];
    }
    let mut tail = Tail::read(rest).ok_or(UNREADABLE)?;
    let is_done = matches!(stage, Stage::Complete) || matches!(stage, Stage::Plain(BlockStage::Requeue));
    if !is_done {
        cx.about.processes.note(front.pid, tail.bracket);
    }
    // The first sector of what has none is written as -1.
    if tail.sectors == 0 && tail.sector == u64::MAX {
        tail.sector = 0;
    }
    Action { front, disk, letters, stage, tail }.record(cx)
}

/// A task's plug: `[name]`, and the number of requests.
fn task(stage: Stage, args: &[u8], front: Front, cx: &mut LineContext) -> Result<BlockRecord, Fault> {
    let tail = Tail::read(args).ok_or(UNREADABLE)?;
    cx.about.processes.note(front.pid, tail.bracket);
    let stage = match stage {
        Stage::Unplug { timer } => BlockStage::Unplug { requests: tail.behind, timer },
        _ => BlockStage::Plug,
    };
    let Front { at, pid, cpu } = front;
    Ok(BlockRecord { stage, pid, cpu, ..BlockRecord::queue(Time(at), BlockRecord::NO_DISK, Operation::Read, 0, 0) })
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::super::record::BlockFlags;
    use super::*;
    use crate::tasks::Comm;
    use goodness_core::{DiskId, Span};

    const EVENTS: &str = "\
# tracer: nop
# entries-in-buffer/entries-written: 10/12   #P:2
   dd-9       [000] .....     1.000000: sched_waking: comm=x pid=5 prio=120 target_cpu=001
   dd-9       [000] .....     1.000001: block_bio_queue: 8,0 R 8 + 8 [dd]
   dd-9       [000] .....     1.000002: block_getrq: 8,0 R 8 + 8 [dd]
   dd-9       [000] .....     1.000003: block_plug: [dd]
   dd-9       [000] .....     1.000004: block_unplug: [dd] 1
   dd-9       [000] .....     1.000005: block_rq_insert: 8,0 R 4096 () 8 + 8 be,0,4 [dd]
   dd-9       [000] d..1.     1.000006: block_rq_issue: 8,0 R 4096 () 8 + 8 [dd]
   <idle>-0   [001] d.h1.     1.000206: block_rq_complete: 8,0 R () 8 + 8 none,0,0 [0]
   kw-7       [001] .....     1.000300: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [kw]
   <idle>-0   [001] d.h1.     1.000400: block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [-5]
CPU:1 [LOST 3 EVENTS]
   dd-9       [000] .....     1.000500: block_bio_remap: 8,0 WFS 2056 + 8 <- (8,1) 8
   dd-9       [000] .....     1.000600: block_bio_backmerge: 8,0 W 16 + 8 [dd]
";

    #[test]
    fn the_events_of_all_kernels_become_stages() {
        let (records, about) = read_text(EVENTS);
        let stages: Vec<BlockStage> = records.iter().map(|r| r.stage).collect();
        assert_eq!(
            stages,
            [
                BlockStage::Queue,
                BlockStage::GetRequest,
                BlockStage::Plug,
                BlockStage::Unplug { requests: 1, timer: false },
                BlockStage::Insert,
                BlockStage::Issue,
                BlockStage::Complete { error: 0 },
                BlockStage::Issue,
                BlockStage::Complete { error: 5 },
                BlockStage::Remap { from: DiskId(1), sector: 8 },
                BlockStage::BackMerge,
            ]
        );
        assert_eq!(records[2].disk, BlockRecord::NO_DISK);
        assert_eq!((records[0].at, records[0].pid, records[0].cpu), (Time(1_000_001_000), 9, 0));
        assert_eq!(records[6].response, Some(Span(200_000)));
        assert_eq!((records[7].op, records[7].sector, records[7].sectors), (Operation::Flush, 0, 0));
        assert_eq!(records[8].response, Some(Span(100_000)));
        assert!(records[9].flags.has(BlockFlags::DURABLE.with(BlockFlags::SYNC)));
        assert_eq!(about.repairs.of(Repair::LostEvents).count, 3);
        assert!(about.warnings.iter().any(|w| w.contains("the first 2 events are gone")), "{:?}", about.warnings);
        assert_eq!(about.processes.name(7), Some(Comm::new(b"kw")));
    }

    #[test]
    fn the_blk_tracer_and_perf_say_the_same_as_ftrace() {
        for text in [
            "   dd-9  [000] .....  1.000001:   8,0    Q   R 8 + 8 [dd]\n",
            "dd     9 [000]  1.000001: block:block_bio_queue: 8,0 R 8 + 8 [dd]\n",
            "dd     8/9 [000]  1.000001: block:block_bio_queue: 8,0 R 8 + 8 [dd]\n",
            "  dd-9   [000]  1.000001: block_bio_queue:      8,0 R 8 + 8 [dd]\n",
        ] {
            let (records, about) = read_text(text);
            let expected =
                BlockRecord { pid: 9, ..BlockRecord::queue(Time(1_000_001_000), DiskId(0), Operation::Read, 8, 8) };
            assert_eq!(records, [expected], "{text}");
            assert_eq!(about.format, "block-events", "{text}");
        }
    }

    #[test]
    fn damaged_events_are_counted_and_those_about_other_things_are_not() {
        let (records, about) = read_text(
            "  dd-9 [000] ..... 1.000001: block_bio_queue: 8,0 R 8 + 8 [dd]\n  dd-9 [000] ..... 1.000002: \
                block_rq_issue: 8,0 R 4096 8 + 8\n  dd-9 [000] ..... 1.000003: block_touch_buffer: 8,0 sector=1 \
                size=4096\ngarbage\n  dd-9 [000] ..... -1.000003: block_bio_queue: 8,0 R 8 + 8 [dd]\n",
        );
        assert_eq!(records.len(), 1);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!((count(Repair::UnreadableEvent), count(Repair::UnreadableLine)), (1, 1));
        assert_eq!(count(Repair::ImpossibleTime), 1);
    }
}
