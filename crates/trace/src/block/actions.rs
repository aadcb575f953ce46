//! Parts common to blkparse output and the kernel's text: action, letters, and the fields after them.

use super::disks::DeviceNumber;
use super::fields::{small, whole, words};
use super::record::{BlockFlags, BlockRecord, BlockStage, Extent};
use super::rwbs::{Letters, letters};
use super::text::{Fault, LineContext};
use crate::repairs::Repair;
use crate::scan::split_last;
use goodness_core::{DiskId, Operation, Time};

/// Process, CPU and time of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    pub at: u64,
    pub pid: u32,
    pub cpu: u16,
}

/// Parses `8,0` or `8:0`.
pub(crate) fn device(text: &[u8]) -> Option<DeviceNumber> {
    let at = text.iter().position(|b| matches!(b, b',' | b':'))?;
    Some(DeviceNumber { major: small(&text[..at])?, minor: small(&text[at + 1..])? })
}

/// Fields after the letters: `sector + sectors`, a second address, a bracket, a number after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail<'a> {
    pub sector: u64,
    pub sectors: u64,
    /// After `/`: the sector of a split.
    pub cut: Option<u64>,
    /// After `<-`: the origin of a remap.
    pub from: Option<(DeviceNumber, u64)>,
    /// Text in the bracket: a name or an error number.
    pub bracket: &'a [u8],
    /// Behind the bracket.
    pub behind: u64,
}

impl<'a> Tail<'a> {
    /// Parses the text after the letters. Names may contain brackets, so the last opening bracket at the start of a
    /// word counts.
    pub fn read(text: &'a [u8]) -> Option<Tail<'a>> {
        let text = text.trim_ascii();
        let mut tail = Tail::default();
        let mut front = text;
        if let Some(open) = bracket_of(text) {
            let (inside, behind) = split_last(&text[open + 1..], b"]")?;
            tail.bracket = inside;
            tail.behind = if behind.trim_ascii().is_empty() { 0 } else { whole(behind.trim_ascii())? };
            front = &text[..open];
        }
        tail.numbers(front)?;
        Some(tail)
    }

    fn numbers(&mut self, text: &[u8]) -> Option<()> {
        let mut words = words(text);
        let Some(first) = words.next() else { return Some(()) };
        self.sector = whole(first)?;
        while let Some(word) = words.next() {
            match word {
                b"+" => self.sectors = whole(words.next()?)?,
                b"/" => self.cut = Some(whole(words.next()?)?),
                b"<-" => {
                    let from = words.next()?.strip_prefix(b"(")?.strip_suffix(b")")?;
                    self.from = Some((device(from)?, whole(words.next()?)?));
                }
                // The time since an earlier action (`-t`), the priority (since Linux 6.9), and unknown fields.
                _ => {}
            }
        }
        Some(())
    }

    /// The error number in the bracket, without its sign.
    fn error(&self) -> u16 {
        let digits = self.bracket.strip_prefix(b"-").unwrap_or(self.bracket);
        small(digits).and_then(|n| u16::try_from(n).ok()).unwrap_or(0)
    }
}

/// Position of the last bracket that starts a word.
fn bracket_of(text: &[u8]) -> Option<usize> {
    let begins_word = |at: usize| at == 0 || text[at - 1] == b' ';
    // Numbers come first, then the name, which may contain anything: the first such bracket starts the name.
    (0..text.len()).find(|at| text[*at] == b'[' && begins_word(*at))
}

/// An action with its disk and letters.
pub(crate) struct Action<'a> {
    pub front: Front,
    pub disk: DeviceNumber,
    pub letters: &'a [u8],
    pub stage: Stage,
    pub tail: Tail<'a>,
}

/// A stage whose details are in the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A complete record.
    Plain(BlockStage),
    /// A completion, with its error in the bracket.
    Complete,
    /// With the number of requests behind the bracket.
    Unplug {
        timer: bool,
    },
    Split,
    Remap,
}

/// The stage of blkparse's action letters. `None`: unknown action; `Some(None)`: an action that does not concern a
/// request.
pub(crate) fn stage_of(action: &[u8]) -> Option<Option<Stage>> {
    Some(Some(match action {
        b"Q" => Stage::Plain(BlockStage::Queue),
        b"G" => Stage::Plain(BlockStage::GetRequest),
        b"S" => Stage::Plain(BlockStage::Sleep),
        b"M" => Stage::Plain(BlockStage::BackMerge),
        b"F" => Stage::Plain(BlockStage::FrontMerge),
        b"I" => Stage::Plain(BlockStage::Insert),
        b"D" => Stage::Plain(BlockStage::Issue),
        b"R" => Stage::Plain(BlockStage::Requeue),
        b"B" => Stage::Plain(BlockStage::Bounce),
        b"a" => Stage::Plain(BlockStage::Abort),
        b"P" => Stage::Plain(BlockStage::Plug),
        b"C" => Stage::Complete,
        b"U" | b"UI" => Stage::Unplug { timer: false },
        b"UT" => Stage::Unplug { timer: true },
        b"X" => Stage::Split,
        b"A" => Stage::Remap,
        b"m" => return Some(None),
        _ => return None,
    }))
}

impl Action<'_> {
    /// The record of it.
    pub fn record(&self, cx: &mut LineContext) -> Result<BlockRecord, Fault> {
        let disk = numbered(cx, self.disk)?;
        let (mut record, is_plug) = self.outline(disk);
        if is_plug {
            return Ok(record);
        }
        let Letters { op, flags } = letters(self.letters).ok_or(Fault::Left(Repair::UnreadableEvent))?;
        let op = op.ok_or(Fault::Left(Repair::OtherCommand))?;
        record.stage = self.stage(cx)?;
        place(&mut record, op, flags, self.tail.sector, self.tail.sectors)?;
        Ok(record)
    }

    /// The record without operation and sector, and whether it needs none.
    fn outline(&self, disk: DiskId) -> (BlockRecord, bool) {
        let stage = match self.stage {
            Stage::Plain(stage) => stage,
            Stage::Unplug { timer } => BlockStage::Unplug { requests: self.tail.behind, timer },
            Stage::Complete | Stage::Split | Stage::Remap => BlockStage::Queue,
        };
        let record = BlockRecord {
            stage,
            pid: self.front.pid,
            cpu: self.front.cpu,
            ..BlockRecord::queue(Time(self.front.at), disk, Operation::Read, 0, 0)
        };
        (record, matches!(stage, BlockStage::Plug | BlockStage::Unplug { .. }))
    }

    fn stage(&self, cx: &mut LineContext) -> Result<BlockStage, Fault> {
        let unreadable = Fault::Left(Repair::UnreadableEvent);
        Ok(match self.stage {
            Stage::Plain(stage) => stage,
            Stage::Unplug { timer } => BlockStage::Unplug { requests: self.tail.behind, timer },
            Stage::Complete => BlockStage::Complete { error: self.tail.error() },
            Stage::Split => BlockStage::Split { at: self.tail.cut.ok_or(unreadable)? },
            Stage::Remap => {
                let (from, sector) = self.tail.from.ok_or(unreadable)?;
                BlockStage::Remap { from: numbered(cx, from)?, sector }
            }
        })
    }
}

/// The disk of this number.
pub(crate) fn numbered(cx: &mut LineContext, number: DeviceNumber) -> Result<DiskId, Fault> {
    cx.about.disks.numbered(number).ok_or(Fault::Left(Repair::TooManyDisks))
}

/// Fills operation and place of a record. Without sectors it is a flush, or an event that lists none (a split, a
/// sleep).
pub(crate) fn place(
    record: &mut BlockRecord,
    op: Operation,
    flags: BlockFlags,
    sector: u64,
    sectors: u64,
) -> Result<(), Fault> {
    (record.op, record.flags) = (op, flags);
    if sectors == 0 {
        let is_flush = op == Operation::Flush || flags.has(BlockFlags::FLUSH_BEFORE);
        if is_flush {
            record.op = Operation::Flush;
            return Ok(());
        }
        if matches!(record.stage, BlockStage::Split { .. } | BlockStage::Sleep) {
            record.sector = sector;
            return Ok(());
        }
    }
    let extent = Extent::of_sectors(sector, sectors).ok_or(Fault::Left(Repair::ImpossibleExtent))?;
    // A flush with sectors is a write that flushes first.
    if op == Operation::Flush {
        (record.op, record.flags) = (Operation::Write, flags.with(BlockFlags::FLUSH_BEFORE));
    }
    (record.sector, record.sectors) = (extent.sector, extent.sectors);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_behind_the_letters_are_told_apart() {
        let plain = Tail { sector: 8, sectors: 16, bracket: b"dd", ..Tail::default() };
        assert_eq!(Tail::read(b"8 + 16 [dd]"), Some(plain));
        assert_eq!(Tail::read(b" 8 + 16 (   1234) [dd]"), Some(plain));
        assert_eq!(Tail::read(b"8 + 16 be,0,4 [dd]"), Some(plain));
        assert_eq!(Tail::read(b"8 + 16 [a [b] c]"), Some(Tail { bracket: b"a [b] c", ..plain }));
        assert_eq!(Tail::read(b"8 + 16 [-5]").map(|t| t.error()), Some(5));
        assert_eq!(Tail::read(b"[dd] 3"), Some(Tail { bracket: b"dd", behind: 3, ..Tail::default() }));
        assert_eq!(Tail::read(b"8 / 12 [dd]").and_then(|t| t.cut), Some(12));
        let from = (DeviceNumber { major: 8, minor: 1 }, 99);
        assert_eq!(Tail::read(b"8 + 16 <- (8,1) 99").and_then(|t| t.from), Some(from));
        for wrong in ["8 + [dd]", "x", "8 + 16 <- 8,1 99", "8 + 16 [dd", "8 + 16 [dd] x"] {
            assert_eq!(Tail::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
