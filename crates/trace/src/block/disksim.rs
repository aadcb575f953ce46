//! DiskSim's ASCII trace: arrival in ms, device, block, blocks, flags in hexadecimal (bit 0: a read).
//!
//! ```text
//! 0.000000 0 1234 8 1
//! ```

use super::fields::{decimal, exactly, small, whole, words};
use super::format::{BlockFormat, Reads};
use super::record::{BlockRecord, Extent};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use goodness_core::{Operation, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "disksim",
    summary: "DiskSim's ASCII trace",
    carries: Carries { stages: false, completions: false, processes: false, flags: false },
    how_to_record: "write one line for each request: arrival in ms, device, block, blocks, flags (1: read)",
    from_first: false,
    reads: Reads::Text { recognises, make: || Box::new(DiskSim) },
};

struct DiskSim;

/// The flag of a read.
const READ: u64 = 1;

fn flags(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    u64::from_str_radix(str::from_utf8(text).ok().filter(|t| !t.starts_with('+'))?, 16).ok()
}

fn recognises(line: &[u8]) -> bool {
    exactly(words(line)).is_some_and(|[at, device, block, blocks, bits]| {
        decimal(at, 6) != Err(Repair::UnreadableLine)
            && small(device).is_some()
            && whole(block).is_some()
            && whole(blocks).is_some()
            && flags(bits).is_some()
    })
}

impl TextFormat for DiskSim {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let unreadable = || Fault::Left(Repair::UnreadableLine);
        let [at, device, block, blocks, bits] = exactly(words(line)).ok_or_else(unreadable)?;
        let at = decimal(at, 6)?;
        let (Some(device), Some(block), Some(blocks), Some(bits)) =
            (small(device), whole(block), whole(blocks), flags(bits))
        else {
            return Err(unreadable());
        };
        let disk = cx.disk(format!("disk{device}").as_bytes())?;
        let extent = cx.extent(Extent::of_sectors(block, blocks))?;
        let op = if bits & READ == 0 { Operation::Write } else { Operation::Read };
        Ok(Some(BlockRecord::queue(Time(at), disk, op, extent.sector, extent.sectors)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::*;
    use goodness_core::DiskId;

    #[test]
    fn five_numbers_are_recognised_and_each_must_be_one() {
        assert!(recognises(b"0.000000 0 1234 8 a1"));
        for line in
            ["x 0 1234 8 1", "0.0 x 1234 8 1", "0.0 0 x 8 1", "0.0 0 1234 x 1", "0.0 0 1234 8 x", "0.0 0 1234 8"]
        {
            assert!(!recognises(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn the_lowest_flag_tells_reads_from_writes() {
        let (records, about) = read_text("0.000000 0 1234 8 1\n  1.25 3 99 16 0\n2 0 5 1 a1\n");
        assert_eq!(
            records,
            [
                BlockRecord::queue(Time(0), DiskId(0), Operation::Read, 1234, 8),
                BlockRecord::queue(Time(1_250_000), DiskId(1), Operation::Write, 99, 16),
                BlockRecord::queue(Time(2_000_000), DiskId(0), Operation::Read, 5, 1),
            ]
        );
        assert_eq!(about.disks.name(DiskId(1)), Some("disk3"));
        assert!(about.repairs.is_empty() && !about.allows_closed_loop());
    }

    #[test]
    fn damaged_lines_are_counted_by_kind() {
        let (records, about) = read_text("0 0 1 8 1\n-1 0 1 8 1\n1 0 1 0 1\n1 0 1 8 g\n1 0 1 8\n");
        assert_eq!(records.len(), 1);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!((count(Repair::ImpossibleTime), count(Repair::ImpossibleExtent)), (1, 1));
        assert_eq!(count(Repair::UnreadableLine), 2);
    }
}
