//! blkparse's text in its default layout.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  D   W 223490 + 56 [kjournald]
//!   disk  CPU  sequence   seconds       pid action letters sector + sectors [name or error]
//! ```

use super::actions::{Action, Front, Tail, device, stage_of};
use super::disks::DeviceNumber;
use super::fields::{small, whole};
use super::format::{BlockFormat, Reads};
use super::record::BlockRecord;
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use crate::scan::{Stamp, stamp};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "blkparse",
    summary: "blkparse text in its default layout",
    carries: Carries { stages: true, completions: true, processes: true, flags: true },
    how_to_record: "blktrace -d DEVICE -o - | blkparse -i - > FILE",
    from_first: false,
    reads: Reads::Text { recognises, make: || Box::new(Blkparse { in_summary: false }) },
};

struct Blkparse {
    /// True in the summary of counts after the events.
    in_summary: bool,
}

fn recognises(line: &[u8]) -> bool {
    matches!(Columns::read(line), Ok(Some(columns)) if stage_of(columns.action).is_some())
}

/// The columns before the sector.
struct Columns<'a> {
    disk: DeviceNumber,
    front: Front,
    action: &'a [u8],
    letters: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Columns<'a> {
    /// Parses the columns. `Ok(None)`: not such a line.
    fn read(line: &'a [u8]) -> Result<Option<Columns<'a>>, Fault> {
        let mut rest = line;
        let Some(disk) = device(word(&mut rest)) else { return Ok(None) };
        let (cpu, sequence) = (small(word(&mut rest)), whole(word(&mut rest)));
        let time = stamp(word(&mut rest));
        let pid = small(word(&mut rest));
        let (Some(cpu), Some(_), Some(pid)) = (cpu, sequence, pid) else { return Ok(None) };
        let at = match time {
            Stamp::Ns(at) => at,
            Stamp::Impossible => return Err(Fault::Left(Repair::ImpossibleTime)),
            Stamp::Count | Stamp::No => return Ok(None),
        };
        let cpu = u16::try_from(cpu).map_err(|_| Fault::Left(Repair::ImpossibleCpu))?;
        let (action, letters) = (word(&mut rest), word(&mut rest));
        Ok(Some(Columns { disk, front: Front { at, pid, cpu }, action, letters, rest }))
    }
}

/// Splits off the first word.
fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

impl TextFormat for Blkparse {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let Some(columns) = Columns::read(line)? else {
            self.in_summary |= line.starts_with(b"CPU") || line.starts_with(b"Total (");
            return if self.in_summary { Ok(None) } else { Err(Fault::Left(Repair::UnreadableLine)) };
        };
        let stage = match stage_of(columns.action) {
            Some(Some(stage)) => stage,
            Some(None) => return Ok(None),
            None => return Err(Fault::Left(Repair::UnreadableEvent)),
        };
        let tail = Tail::read(columns.rest).ok_or(Fault::Left(Repair::UnreadableEvent))?;
        if columns.action != b"C" {
            cx.about.processes.note(columns.front.pid, tail.bracket);
        }
        let Columns { disk, front, letters, .. } = columns;
        Action { front, disk, letters, stage, tail }.record(cx).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::super::record::{BlockFlags, BlockStage};
    use super::*;
    use crate::tasks::Comm;
    use goodness_core::{DiskId, Operation, Span, Time};

    const TEXT: &str = "\
  8,0    1        1     0.000001000   697  Q  WS 2048 + 8 [jbd2/sda1]
  8,0    1        2     0.000001500   697  G  WS 2048 + 8 [jbd2/sda1]
  8,0    1        3     0.000002000   697  P   N [jbd2/sda1]
  8,0    1        4     0.000003000   697  I  WS 2048 + 8 [jbd2/sda1]
  8,0    1        5     0.000004000   697  U   N [jbd2/sda1] 1
  8,0    1        6     0.000005000   697  D  WS 2048 + 8 (    2000) [jbd2/sda1]
  8,0    0        1     0.000105000     0  C  WS 2048 + 8 [0]
  8,0    0        2     0.000105500     0  m   N cfq idle=0
  8,0    1        7     0.000110000   697  Q FWFS 4096 + 8 [jbd2/sda1]
  8,0    1        8     0.000120000   697  A   R 63 + 8 <- (8,1) 0
  8,0    1        9     0.000130000   697  X   R 63 / 67 [jbd2/sda1]
  8,0    1       10     0.000140000   697  D  FN [jbd2/sda1]
CPU0 (8,0):
 Reads Queued:           0,        0KiB\t Writes Queued:          2,        8KiB
";

    #[test]
    fn every_action_is_read_and_a_completion_knows_its_time() {
        let (records, about) = read_text(TEXT);
        assert!(about.repairs.is_empty(), "{:?}", about.repairs);
        let stages: Vec<BlockStage> = records.iter().map(|r| r.stage).collect();
        assert_eq!(
            stages,
            [
                BlockStage::Queue,
                BlockStage::GetRequest,
                BlockStage::Plug,
                BlockStage::Insert,
                BlockStage::Unplug { requests: 1, timer: false },
                BlockStage::Issue,
                BlockStage::Complete { error: 0 },
                BlockStage::Queue,
                BlockStage::Remap { from: DiskId(1), sector: 0 },
                BlockStage::Split { at: 67 },
                BlockStage::Issue,
            ]
        );
        let queue = records[0];
        assert_eq!((queue.at, queue.pid, queue.cpu, queue.sector, queue.sectors), (Time(1_000), 697, 1, 2048, 8));
        assert_eq!((queue.op, queue.flags), (Operation::Write, BlockFlags::SYNC));
        assert_eq!(records[6].response, Some(Span(100_000)));
        assert!(records[7].flags.has(BlockFlags::FLUSH_BEFORE.with(BlockFlags::DURABLE)));
        assert_eq!((records[10].op, records[10].sectors), (Operation::Flush, 0));
        assert_eq!(about.processes.name(697), Some(Comm::new(b"jbd2/sda1")));
        assert!(about.allows_closed_loop());
    }

    #[test]
    fn damaged_lines_are_left_out_and_counted() {
        let text = format!(
            "{TEXT}  8,0 1 1 -0.1 697 Q WS 2048 + 8 [x]\n  8,0 1 1 0.2 697 ZZ WS 2048 + 8 [x]\n  8,0 1 1 0.2 697 Q N 0 \
                + 8 [x]\n  8,0 1 1 0.2 697 Q W 18446744073709551615 + 8 [x]\n  8,0 1 1 0.2 697 Q WS 20"
        );
        let (records, about) = read_text(&text);
        assert_eq!(records.len(), 11);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!(count(Repair::ImpossibleTime), 1);
        assert_eq!(count(Repair::UnreadableEvent), 1);
        assert_eq!(count(Repair::OtherCommand), 1);
        assert_eq!(count(Repair::ImpossibleExtent), 2, "the last line lost its length");
    }
}
