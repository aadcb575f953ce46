//! fio's iolog, versions 2 and 3 (`write_iolog`, `read_iolog`).
//!
//! ```text
//! fio version 2 iolog          fio version 3 iolog
//! /dev/sda add                 0 /dev/sda add
//! /dev/sda read 4096 512       17 /dev/sda read 4096 512        (µs since the start)
//! /dev/sda wait 250 0          waits have no place here
//! ```
//!
//! A wait names the µs since the wait before it; below 100 fio does not wait. Names
//! below `/dev` are disks. All other files lie on one disk, each 4 GiB behind the one before: the log has no places.

use super::fields::{exactly, whole, words};
use super::format::{BlockFormat, Reads};
use super::record::{BlockFlags, BlockRecord, Extent};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use goodness_core::{DiskId, Operation, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "fio-iolog",
    summary: "fio iolog, versions 2 and 3",
    carries: Carries { stages: false, completions: false, processes: false, flags: false },
    how_to_record: "fio --write_iolog=FILE JOBFILE",
    from_first: false,
    reads: Reads::Text {
        recognises,
        make: || Box::new(Iolog { version: Version::Unknown, now: 0, files: Vec::new() }),
    },
};

/// Name of the disk of all files.
const FILES: &[u8] = b"files";
/// Room of each file there. A choice: 16 files fit onto a flash drive; what is beyond lies in the next one's room.
const FILE_ROOM: u64 = 4 << 30;
/// Most files of a log.
const FILES_MAX: usize = 1 << 12;
/// Waits below this many µs are none.
const WAIT_MIN_US: u64 = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Unknown,
    Two,
    Three,
}

struct Iolog {
    version: Version,
    /// Version 2: current time from the waits so far, in ns.
    now: u64,
    /// Names of the files that lie on one disk, by their place there.
    files: Vec<Vec<u8>>,
}

fn recognises(line: &[u8]) -> bool {
    (line.starts_with(b"fio version ") && line.ends_with(b" iolog")) || is_version_1(line)
}

/// `direction,offset,length`.
fn is_version_1(line: &[u8]) -> bool {
    let fields = exactly::<3>(line.split(|b| *b == b','));
    fields.is_some_and(|f| matches!(f[0], b"0" | b"1" | b"2") && whole(f[1]).is_some() && whole(f[2]).is_some())
}

impl TextFormat for Iolog {
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        if self.version == Version::Unknown {
            return self.first(line).map(|()| None);
        }
        let mut words = words(line);
        let mut at = self.now;
        if self.version == Version::Three {
            at = time(words.next().unwrap_or_default())?;
        }
        let (file, action) = (words.next(), words.next());
        let (Some(file), Some(action)) = (file, action) else { return Err(Fault::Left(Repair::UnreadableLine)) };
        if matches!(action, b"add" | b"open" | b"close") {
            return self.place(cx, file).map(|_| None);
        }
        let Some([offset, length]) = exactly(words) else { return Err(Fault::Left(Repair::UnreadableLine)) };
        if action == b"wait" {
            return self.wait(offset).map(|()| None);
        }
        let place = self.place(cx, file)?;
        io(cx, at, place, action, [offset, length]).map(Some)
    }
}

impl Iolog {
    /// The line that names the version.
    fn first(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.version = match line {
            b"fio version 2 iolog" => Version::Two,
            b"fio version 3 iolog" => Version::Three,
            other if other.starts_with(b"fio version ") => {
                let what = format!(
                    "this is {}, and versions 2 and 3 are read; write it again with another fio",
                    String::from_utf8_lossy(&other[..other.len().min(40)])
                );
                return Err(Fault::Refused(what));
            }
            other if is_version_1(other) => {
                let what = "this is a fio iolog of version 1, which names no file and no time and which fio itself no \
                            longer reads; write it again with fio 2 or later (--write_iolog)";
                return Err(Fault::Refused(what.into()));
            }
            _ => return Err(Fault::Left(Repair::UnreadableLine)),
        };
        Ok(())
    }

    /// The disk of `file`, and the byte at which it begins there.
    fn place(&mut self, cx: &mut LineContext, file: &[u8]) -> Result<(DiskId, u64), Fault> {
        if file.starts_with(b"/dev/") {
            return cx.disk(file).map(|disk| (disk, 0));
        }
        let number = match self.files.iter().position(|known| known == file) {
            Some(number) => number,
            None if self.files.len() == FILES_MAX => return Err(Fault::Left(Repair::UnreadableLine)),
            None => {
                self.files.push(file.to_vec());
                self.files.len() - 1
            }
        };
        cx.disk(FILES).map(|disk| (disk, number as u64 * FILE_ROOM))
    }

    fn wait(&mut self, us: &[u8]) -> Result<(), Fault> {
        if self.version == Version::Three {
            return Err(Fault::Left(Repair::UnreadableLine));
        }
        let us = whole(us).ok_or(Fault::Left(Repair::UnreadableLine))?;
        if us >= WAIT_MIN_US {
            let later = us.checked_mul(1_000).and_then(|ns| self.now.checked_add(ns));
            self.now = later.ok_or(Fault::Left(Repair::ImpossibleTime))?;
        }
        Ok(())
    }
}

/// µs since the start, in ns.
fn time(us: &[u8]) -> Result<u64, Fault> {
    if us.starts_with(b"-") {
        return Err(Fault::Left(Repair::ImpossibleTime));
    }
    if us.is_empty() || !us.iter().all(u8::is_ascii_digit) {
        return Err(Fault::Left(Repair::UnreadableLine));
    }
    whole(us).and_then(|us| us.checked_mul(1_000)).ok_or(Fault::Left(Repair::ImpossibleTime))
}

fn io(
    cx: &mut LineContext,
    at: u64,
    (disk, begins): (DiskId, u64),
    action: &[u8],
    place: [&[u8]; 2],
) -> Result<BlockRecord, Fault> {
    let op = match action {
        b"read" => Operation::Read,
        b"write" => Operation::Write,
        b"trim" => Operation::Discard,
        b"sync" | b"datasync" | b"sync_file_range" => Operation::Flush,
        _ => return Err(Fault::Left(Repair::UnreadableLine)),
    };
    let [Some(offset), Some(length)] = place.map(whole) else { return Err(Fault::Left(Repair::UnreadableLine)) };
    if op == Operation::Flush {
        let flush = BlockRecord::queue(Time(at), disk, op, 0, 0);
        return Ok(BlockRecord { flags: BlockFlags::SYNC, ..flush });
    }
    let extent = cx.extent(Extent::of_bytes(offset.saturating_add(begins), length))?;
    Ok(BlockRecord::queue(Time(at), disk, op, extent.sector, extent.sectors))
}

#[cfg(test)]
mod tests {
    use super::super::{read_text, refusal_of};
    use super::*;
    use goodness_core::DiskId;

    #[test]
    fn version_2_takes_its_times_from_the_waits() {
        let text = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 1024\n/dev/sda wait 99 0\n\
                    /dev/sda write 512 512\n/dev/sda wait 100 0\n/dev/sda wait 250 0\n/dev/sdb trim 0 100\n\
                    /dev/sda datasync 0 0\n/dev/sda close\n";
        let (records, about) = read_text(text);
        let read = BlockRecord::queue(Time(0), DiskId(0), Operation::Read, 8, 2);
        let flush = BlockRecord::queue(Time(350_000), DiskId(0), Operation::Flush, 0, 0);
        assert_eq!(
            records,
            [
                read,
                BlockRecord { op: Operation::Write, sector: 1, sectors: 1, ..read },
                BlockRecord::queue(Time(350_000), DiskId(1), Operation::Discard, 0, 1),
                BlockRecord { flags: BlockFlags::SYNC, ..flush },
            ]
        );
        assert_eq!(about.repairs.of(Repair::PartialSector).count, 1);
        assert!(!about.allows_closed_loop() && !about.carries.completions);
        assert_eq!(about.disks.name(DiskId(1)), Some("/dev/sdb"));
    }

    #[test]
    fn version_3_has_a_time_in_microseconds_on_each_line_and_no_waits() {
        let text = "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n17 /dev/sda read 4096 512\n\
                    20 /dev/sda wait 500 0\n-3 /dev/sda read 0 512\n99999999999999999999 /dev/sda read 0 512\n\
                    21 /dev/sda read 0 0\n22 /dev/sda rea";
        let (records, about) = read_text(text);
        assert_eq!(records, [BlockRecord::queue(Time(17_000), DiskId(0), Operation::Read, 8, 1)]);
        let count = |kind| about.repairs.of(kind).count;
        assert_eq!((count(Repair::UnreadableLine), count(Repair::TruncatedEnd)), (1, 1));
        assert_eq!((count(Repair::ImpossibleTime), count(Repair::ImpossibleExtent)), (2, 1));
    }

    #[test]
    fn files_share_one_disk_and_devices_are_disks_of_their_own() {
        let text = "fio version 3 iolog\n0 a.0 add\n0 a.1 add\n1 a.1 read 4096 512\n2 a.0 read 4096 512\n\
                    3 /dev/sda read 4096 512\n";
        let (records, about) = read_text(text);
        let places: Vec<(u16, u64)> = records.iter().map(|record| (record.disk.0, record.sector)).collect();
        assert_eq!(places, [(0, FILE_ROOM / 512 + 8), (0, 8), (1, 8)]);
        let names = [0, 1].map(|disk| about.disks.name(DiskId(disk)));
        assert_eq!(names, [Some("files"), Some("/dev/sda")]);
    }

    #[test]
    fn versions_that_are_not_read_are_named() {
        let sentence = refusal_of("0,4096,512\n1,0,512\n");
        assert!(sentence.starts_with("t, line 1: this is a fio iolog of version 1"), "{sentence}");
        let sentence = refusal_of("fio version 9 iolog\n");
        assert!(sentence.starts_with("t, line 1: this is fio version 9 iolog"), "{sentence}");
        let sentence = refusal_of("fio version 3 iolog\n0 f add\n");
        assert!(sentence.starts_with("t, line 2: no block I/O"), "{sentence}");
    }
}
