//! DiskSim's `validate` trace: the responses of a real drive to one request after the other.
//!
//! ```text
//! W Hit    4583176   4    663.00000  45422.00000
//! R/W hint block blocks  response µs  gap µs
//! ```
//!
//! The gap is taken from the completion to the next request (an inference: in a published file 24 gaps are shorter
//! than the response before them, and the drive had one request at a time). Whether the drive's cache was hit is
//! the recorder's guess and is left out.

use super::fields::{decimal, exactly, whole, words};
use super::format::{BlockFormat, Reads};
use super::record::{BlockRecord, BlockStage, Extent};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use goodness_core::{Operation, Span, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "disksim-validate",
    summary: "DiskSim's validation trace, with measured response times",
    carries: Carries { stages: false, completions: true, processes: false, flags: false },
    how_to_record: "published with DiskSim 4.0",
    from_first: false,
    reads: Reads::Text { recognises, make: || Box::new(Validate { now: 0 }) },
};

struct Validate {
    /// Arrival of the next request, in ns.
    now: u64,
}

fn operation(word: &[u8]) -> Option<Operation> {
    match word {
        b"R" => Some(Operation::Read),
        b"W" => Some(Operation::Write),
        _ => None,
    }
}

fn recognises(line: &[u8]) -> bool {
    exactly(words(line)).is_some_and(|[op, hint, block, _, _, _]| {
        operation(op).is_some() && matches!(hint, b"Hit" | b"Miss") && whole(block).is_some()
    })
}

impl TextFormat for Validate {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let unreadable = || Fault::Left(Repair::UnreadableLine);
        let [op, _, block, blocks, response, gap] = exactly(words(line)).ok_or_else(unreadable)?;
        let op = operation(op).ok_or_else(unreadable)?;
        let (response, gap) = (decimal(response, 3)?, decimal(gap, 3)?);
        let (Some(block), Some(blocks)) = (whole(block), whole(blocks)) else { return Err(unreadable()) };
        let at = self.now;
        let next = at.checked_add(response).and_then(|end| end.checked_add(gap));
        self.now = next.ok_or(Fault::Left(Repair::ImpossibleTime))?;
        let disk = cx.disk(b"disk0")?;
        let extent = cx.extent(Extent::of_sectors(block, blocks))?;
        let record = BlockRecord::queue(Time(at), disk, op, extent.sector, extent.sectors);
        Ok(Some(BlockRecord { stage: BlockStage::Issue, response: Some(Span(response)), ..record }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::*;
    use goodness_core::DiskId;

    #[test]
    fn the_gap_counts_from_the_completion() {
        let (records, about) = read_text("W Hit    100   4    663.00000  45422.00000\nR Miss 200 12 6657.5 10\n");
        let first = BlockRecord::queue(Time(0), DiskId(0), Operation::Write, 100, 4);
        let second = BlockRecord::queue(Time(46_085_000), DiskId(0), Operation::Read, 200, 12);
        let issued = |record, ns| BlockRecord { stage: BlockStage::Issue, response: Some(Span(ns)), ..record };
        assert_eq!(records, [issued(first, 663_000), issued(second, 6_657_500)]);
        assert!(about.allows_closed_loop() && about.repairs.is_empty());
    }

    #[test]
    fn damaged_lines_are_counted_by_kind() {
        let (records, about) =
            read_text("W Hit 100 4 663 45422\nW Hit 100 4 -1 5\nW Hit 1 0 1 1\nX Hit 1 1 1 1\nW Hit 100 4 1 1e30\n");
        assert_eq!(records.len(), 1);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!((count(Repair::ImpossibleTime), count(Repair::ImpossibleExtent)), (2, 1));
        assert_eq!(count(Repair::UnreadableLine), 1);
    }
}
