//! fio's iolog, versions 2 and 3 (`write_iolog`, `read_iolog`).
//!
//! ```text
//! fio version 2 iolog          fio version 3 iolog
//! /dev/sda add                 0 /dev/sda add
//! /dev/sda read 4096 512       17 /dev/sda read 4096 512        (µs since the start)
//! /dev/sda wait 250 0          waits have no place here
//! ```
//!
//! A wait names the µs since the wait before it, and below 100 it is none, as fio's manual says; fio 3.33 itself waits
//! until so many ms after the start. As a block trace, names below `/dev` are disks. All other files lie on one disk,
//! each 4 GiB behind the one before: the log has no places. [`read_iolog`] gives files and bytes as the log has them.

use super::fields::{exactly, whole, words};
use super::format::{BlockFormat, Reads};
use super::record::{BlockFlags, BlockRecord, Extent};
use super::source::Carries;
use super::text::{Fault, LineContext, TextFormat};
use crate::repairs::Repair;
use goodness_core::{DiskId, Operation, Span, Time};
use std::collections::BTreeMap;

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "fio-iolog",
    summary: "fio iolog, versions 2 and 3",
    carries: Carries { stages: false, completions: false, processes: false, flags: false },
    how_to_record: "fio --write_iolog=FILE JOBFILE",
    from_first: false,
    reads: Reads::Text { recognises, make: || Box::new(Iolog { log: Log::new(), rooms: Vec::new() }) },
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

/// One I/O of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IologIo {
    /// Earliest time, since the start of the job.
    pub at: Span,
    /// Index of its file.
    pub file: usize,
    /// Operation.
    pub op: Operation,
    /// True for a flush of the data alone (`datasync`).
    pub of_data: bool,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Number of bytes; 0 for a flush.
    pub bytes: u64,
}

/// A log as fio replays it (`read_iolog`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IologFiles {
    /// Names, in the order in which the log has them.
    pub files: Vec<String>,
    /// I/Os in their order.
    pub ios: Vec<IologIo>,
}

/// Reads a whole log; errors name it as `name`.
///
/// # Errors
/// One sentence with file, line and fault: unlike a trace of a machine, a job has no lines that may be left out.
pub fn read_iolog(name: &str, text: &str) -> Result<IologFiles, String> {
    let (mut log, mut ios) = (Log::new(), Vec::new());
    for (line, number) in text.lines().zip(1..) {
        let step = log.line(line.as_bytes()).and_then(|step| match step {
            Step::Io(io) if io.op != Operation::Flush && Extent::of_bytes(io.offset, io.bytes).is_none() => {
                Err(Fault::Left(Repair::ImpossibleExtent))
            }
            step => Ok(step),
        });
        match step {
            Ok(Step::Io(io)) => ios.push(io),
            Ok(Step::Nothing | Step::File(_)) => {}
            Err(fault) => return Err(format!("{name}, line {number}: {}", sentence(fault))),
        }
    }
    if ios.is_empty() {
        return Err(format!("{name}: there is no I/O in this log; write one with fio --write_iolog=FILE JOBFILE"));
    }
    let files = log.files.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(IologFiles { files, ios })
}

fn sentence(fault: Fault) -> String {
    let why = match fault {
        Fault::Refused(why) => return why,
        Fault::Left(Repair::ImpossibleTime) => "the time is negative or too large",
        Fault::Left(Repair::ImpossibleExtent) => "the I/O has no bytes, or ends beyond any disk",
        Fault::Left(_) => {
            "no line of an iolog; write FILE read|write|trim|sync OFFSET BYTES, in version 3 a time before it"
        }
    };
    why.into()
}

/// Meaning of a line.
enum Step {
    Nothing,
    /// The file is named, opened or closed.
    File(usize),
    Io(IologIo),
}

/// The lines of a log so far.
struct Log {
    version: Version,
    /// Version 2: current time from the waits so far, in ns.
    now: u64,
    files: Vec<Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, usize>,
}

/// A log as a block trace.
struct Iolog {
    log: Log,
    /// For each file of the log: the disk, and the byte at which it begins there, once it was needed.
    rooms: Vec<Option<(DiskId, u64)>>,
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
        match self.log.line(line)? {
            Step::Nothing => Ok(None),
            Step::File(file) => self.room(cx, file).map(|_| None),
            Step::Io(io) => {
                let room = self.room(cx, io.file)?;
                record(cx, room, io).map(Some)
            }
        }
    }
}

impl Iolog {
    /// The disk of the file, and the byte at which it begins there.
    fn room(&mut self, cx: &mut LineContext, file: usize) -> Result<(DiskId, u64), Fault> {
        if let Some(Some(known)) = self.rooms.get(file) {
            return Ok(*known);
        }
        let (before, name) = (&self.log.files[..file], &self.log.files[file]);
        let room = if is_device(name) {
            (cx.disk(name)?, 0)
        } else {
            let others = before.iter().filter(|name| !is_device(name)).count();
            (cx.disk(FILES)?, others as u64 * FILE_ROOM)
        };
        self.rooms.resize(self.log.files.len(), None);
        self.rooms[file] = Some(room);
        Ok(room)
    }
}

fn is_device(name: &[u8]) -> bool {
    name.starts_with(b"/dev/")
}

impl Log {
    const fn new() -> Log {
        Log { version: Version::Unknown, now: 0, files: Vec::new(), numbers: BTreeMap::new() }
    }

    fn line(&mut self, line: &[u8]) -> Result<Step, Fault> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(Step::Nothing);
        }
        if self.version == Version::Unknown {
            return self.first(line).map(|()| Step::Nothing);
        }
        let mut words = words(line);
        let mut at = self.now;
        if self.version == Version::Three {
            at = time(words.next().unwrap_or_default())?;
        }
        let (file, action) = (words.next(), words.next());
        let (Some(file), Some(action)) = (file, action) else { return Err(Fault::Left(Repair::UnreadableLine)) };
        if matches!(action, b"add" | b"open" | b"close") {
            return self.file(file).map(Step::File);
        }
        let Some([offset, length]) = exactly(words) else { return Err(Fault::Left(Repair::UnreadableLine)) };
        if action == b"wait" {
            return self.wait(offset).map(|()| Step::Nothing);
        }
        let file = self.file(file)?;
        io(Span(at), file, action, [offset, length]).map(Step::Io)
    }

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

    /// Index of the file of this name.
    fn file(&mut self, name: &[u8]) -> Result<usize, Fault> {
        if let Some(known) = self.numbers.get(name) {
            return Ok(*known);
        }
        if self.files.len() == FILES_MAX {
            return Err(Fault::Left(Repair::UnreadableLine));
        }
        self.files.push(name.to_vec());
        self.numbers.insert(name.to_vec(), self.files.len() - 1);
        Ok(self.files.len() - 1)
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

fn io(at: Span, file: usize, action: &[u8], place: [&[u8]; 2]) -> Result<IologIo, Fault> {
    let op = match action {
        b"read" => Operation::Read,
        b"write" => Operation::Write,
        b"trim" => Operation::Discard,
        b"sync" | b"datasync" | b"sync_file_range" => Operation::Flush,
        _ => return Err(Fault::Left(Repair::UnreadableLine)),
    };
    let [Some(offset), Some(bytes)] = place.map(whole) else { return Err(Fault::Left(Repair::UnreadableLine)) };
    let [offset, bytes] = if op == Operation::Flush { [0, 0] } else { [offset, bytes] };
    Ok(IologIo { at, file, op, of_data: action == b"datasync", offset, bytes })
}

fn record(cx: &mut LineContext, (disk, begins): (DiskId, u64), io: IologIo) -> Result<BlockRecord, Fault> {
    let at = Time(io.at.0);
    if io.op == Operation::Flush {
        let flush = BlockRecord::queue(at, disk, io.op, 0, 0);
        return Ok(BlockRecord { flags: BlockFlags::SYNC, ..flush });
    }
    let extent = cx.extent(Extent::of_bytes(io.offset.saturating_add(begins), io.bytes))?;
    Ok(BlockRecord::queue(at, disk, io.op, extent.sector, extent.sectors))
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
    fn a_log_for_a_job_keeps_files_and_bytes() {
        let text = "fio version 2 iolog\nb add\n/dev/sda add\nb open\nb read 5 700\nb wait 300 0\n\
                    /dev/sda datasync 0 0\n/dev/sda write 8192 1\n";
        let log = read_iolog("l", text).expect("a log");
        let read = IologIo { at: Span(0), file: 0, op: Operation::Read, of_data: false, offset: 5, bytes: 700 };
        let at = Span::from_us(300);
        let sync = IologIo { at, file: 1, op: Operation::Flush, of_data: true, offset: 0, bytes: 0 };
        let write = IologIo { at, file: 1, op: Operation::Write, of_data: false, offset: 8192, bytes: 1 };
        assert_eq!(log.ios, [read, sync, write]);
        assert_eq!(log.files, ["b", "/dev/sda"]);
    }

    #[test]
    fn a_log_for_a_job_has_no_line_that_may_be_left_out() {
        let refused = |text: &str| read_iolog("l", &format!("fio version 3 iolog\n{text}")).expect_err(text);
        assert!(refused("0 a open\n5 a read 0\n").starts_with("l, line 3: no line of an iolog; write FILE"));
        assert_eq!(refused("-5 a read 0 4096\n"), "l, line 2: the time is negative or too large");
        assert_eq!(refused("5 a read 0 0\n"), "l, line 2: the I/O has no bytes, or ends beyond any disk");
        assert!(refused("0 a add\n").starts_with("l: there is no I/O"));
        assert!(
            read_iolog("l", "0,4096,512\n")
                .expect_err("old")
                .starts_with("l, line 1: this is a fio iolog of version 1")
        );
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
