//! The trace format of the Storage Performance Council, revision 1.0.1, as used by UMass' Financial and WebSearch.
//!
//! ```text
//! 0,20941264,8192,W,0.551706
//! unit, block, bytes, operation, seconds, optional further fields
//! ```
//!
//! Blocks are of 512 bytes, as in those traces. A unit is a disk, `asu0` and so on.

use super::fields::{decimal, small, whole};
use super::format::{BlockFormat, Reads};
use super::record::{BlockRecord, Extent};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use goodness_core::{Operation, SECTOR_BYTES, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "spc",
    summary: "trace format of the Storage Performance Council (UMass Financial, WebSearch)",
    carries: Carries { stages: false, completions: false, processes: false, flags: false },
    how_to_record: "the traces are published in UMass' trace repository",
    from_first: false,
    reads: Reads::Text { recognises, make: || Box::new(Spc) },
};

struct Spc;

/// The five fields that must be there.
fn fields(line: &[u8]) -> Option<[&[u8]; 5]> {
    let mut fields = line.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let mut next = || fields.next();
    Some([next()?, next()?, next()?, next()?, next()?])
}

fn operation(word: &[u8]) -> Option<Operation> {
    match word {
        b"R" | b"r" => Some(Operation::Read),
        b"W" | b"w" => Some(Operation::Write),
        _ => None,
    }
}

fn recognises(line: &[u8]) -> bool {
    fields(line).is_some_and(|f| operation(f[3]).is_some() && small(f[0]).is_some() && whole(f[1]).is_some())
}

impl TextFormat for Spc {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let unreadable = || Fault::Left(Repair::UnreadableLine);
        let [unit, block, bytes, op, seconds] = fields(line).ok_or_else(unreadable)?;
        let op = operation(op).ok_or_else(unreadable)?;
        let at = decimal(seconds, 9)?;
        let (Some(unit), Some(block), Some(bytes)) = (small(unit), whole(block), whole(bytes)) else {
            return Err(unreadable());
        };
        let disk = cx.disk(format!("asu{unit}").as_bytes())?;
        let extent = block.checked_mul(SECTOR_BYTES).and_then(|offset| Extent::of_bytes(offset, bytes));
        let extent = cx.extent(extent)?;
        Ok(Some(BlockRecord::queue(Time(at), disk, op, extent.sector, extent.sectors)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::*;
    use goodness_core::DiskId;

    #[test]
    fn white_space_and_further_fields_are_allowed() {
        let (records, about) = read_text("0,20,8192,W,0.551706\n 1 , 40 , 513 , r , 0.6 , more , 3\n");
        assert_eq!(
            records,
            [
                BlockRecord::queue(Time(551_706_000), DiskId(0), Operation::Write, 20, 16),
                BlockRecord::queue(Time(600_000_000), DiskId(1), Operation::Read, 40, 2),
            ]
        );
        assert_eq!(about.repairs.of(Repair::PartialSector).count, 1);
        assert_eq!(about.disks.name(DiskId(1)), Some("asu1"));
    }

    #[test]
    fn damaged_lines_are_counted_by_kind() {
        let (records, about) =
            read_text("0,20,512,W,0.5\n0,20,512,W,-1\n0,20,512,X,1\n0,18446744073709551615,512,W,1\n0,20,512,W,1e99\n");
        assert_eq!(records.len(), 1);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!((count(Repair::ImpossibleTime), count(Repair::ImpossibleExtent)), (2, 1));
        assert_eq!(count(Repair::UnreadableLine), 1);
    }
}
