//! The CSV of MSR Cambridge (36 volumes of 13 servers, one week of 2007; Narayanan and others, FAST 2008).
//!
//! ```text
//! 128166372003061629,usr,0,Read,7014609920,24576,41286
//! time              ,host,disk,type,offset,bytes,response
//! ```
//!
//! Times are ticks of 100 ns since the year 1601; the records' times count from the first. A disk's name is
//! `host.disk`.

use super::fields::{decimal, exactly, whole};
use super::format::{BlockFormat, Reads};
use super::record::{BlockRecord, Extent};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use goodness_core::{Operation, Span, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "msr",
    summary: "CSV of the MSR Cambridge traces",
    carries: Carries { stages: false, completions: true, processes: false, flags: false },
    how_to_record: "the traces are published by SNIA's IOTTA repository",
    from_first: true,
    reads: Reads::Text { recognises, make: || Box::new(Msr { name: Vec::new() }) },
};

/// Length of a tick in ns.
const TICK: u64 = 100;

struct Msr {
    /// The disk's name, rebuilt for each line.
    name: Vec<u8>,
}

fn fields(line: &[u8]) -> Option<[&[u8]; 7]> {
    exactly(line.split(|b| *b == b',')).map(|fields: [&[u8]; 7]| fields.map(<[u8]>::trim_ascii))
}

fn operation(word: &[u8]) -> Option<Operation> {
    match word {
        b"Read" => Some(Operation::Read),
        b"Write" => Some(Operation::Write),
        _ => None,
    }
}

fn recognises(line: &[u8]) -> bool {
    fields(line).is_some_and(|f| operation(f[3]).is_some() && whole(f[2]).is_some()) || is_heading(line)
}

/// The file has no heading, but copies of it do.
fn is_heading(line: &[u8]) -> bool {
    line.starts_with(b"Timestamp,Hostname,")
}

impl TextFormat for Msr {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        if line.trim_ascii().is_empty() || is_heading(line) {
            return Ok(None);
        }
        let unreadable = || Fault::Left(Repair::UnreadableLine);
        let [time, host, disk, kind, offset, bytes, response] = fields(line).ok_or_else(unreadable)?;
        let op = operation(kind).ok_or_else(unreadable)?;
        let (at, response) = (ticks(time)?, ticks(response)?);
        let (Some(offset), Some(bytes)) = (whole(offset), whole(bytes)) else { return Err(unreadable()) };
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.push(b'.');
        self.name.extend_from_slice(disk);
        let disk = cx.disk(&self.name)?;
        let extent = cx.extent(Extent::of_bytes(offset, bytes))?;
        let record = BlockRecord::queue(Time(at), disk, op, extent.sector, extent.sectors);
        Ok(Some(BlockRecord { response: Some(Span(response)), ..record }))
    }
}

/// Ticks into ns.
fn ticks(text: &[u8]) -> Result<u64, Fault> {
    decimal(text, 0)?.checked_mul(TICK).ok_or(Fault::Left(Repair::ImpossibleTime))
}

#[cfg(test)]
mod tests {
    use super::super::read_text;
    use super::*;
    use goodness_core::DiskId;

    #[test]
    fn ticks_count_from_the_first_record_and_responses_are_kept() {
        let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                    128166372003061629,usr,0,Read,4096,1024,41286\n\
                    128166372003061639,usr,1,Write,0,512,7\n";
        let (records, about) = read_text(text);
        let first = BlockRecord::queue(Time(0), DiskId(0), Operation::Read, 8, 2);
        let second = BlockRecord::queue(Time(1_000), DiskId(1), Operation::Write, 0, 1);
        assert_eq!(
            records,
            [
                BlockRecord { response: Some(Span(4_128_600)), ..first },
                BlockRecord { response: Some(Span(700)), ..second }
            ]
        );
        assert_eq!(about.disks.name(DiskId(1)), Some("usr.1"));
        assert!(about.repairs.is_empty() && about.allows_closed_loop());
    }

    #[test]
    fn a_record_earlier_than_the_first_is_put_before_it() {
        let text = "128166372003061639,usr,0,Read,4096,1024,1\n128166372003061629,usr,0,Write,0,512,1\n";
        let (records, about) = read_text(text);
        assert_eq!(
            records.iter().map(|r| (r.at, r.op)).collect::<Vec<_>>(),
            [(Time(0), Operation::Write), (Time(1_000), Operation::Read)]
        );
        assert_eq!(about.repairs.of(Repair::OutOfOrder).count, 1);
    }

    #[test]
    fn damaged_lines_are_counted_by_kind() {
        let text = "1000,usr,0,Read,4096,1024,1\n-5,usr,0,Read,0,512,1\n5,usr,0,Read,0,0,1\n5,usr,0,Reed,0,512,1\n\
                    18446744073709551615,usr,0,Read,0,512,1\n1001,usr,0,Read,4095,1024,1\n";
        let (records, about) = read_text(text);
        assert_eq!(records.len(), 2);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!((count(Repair::ImpossibleTime), count(Repair::ImpossibleExtent)), (2, 1));
        assert_eq!((count(Repair::UnreadableLine), count(Repair::PartialSector)), (1, 1));
    }
}
