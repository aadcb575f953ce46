//! blktrace's binary records, versions 7 (48 bytes) and 8 (64 bytes), in either byte order.
//!
//! Source: `linux/blktrace_api.h` and the fact sheet on block I/O, section 13. The header of version 8 is known from
//! its posting of 2025; its zone events are skipped and counted.

use super::disks::DeviceNumber;
use super::format::{BlockFormat, Reads};
use super::record::{BlockFlags, BlockRecord, BlockStage, Extent};
use super::source::About;
use super::source::Carries;
use crate::repairs::Repair;
use goodness_core::{DiskId, Operation, SECTOR_BYTES, Time};

pub(crate) const FORMAT: BlockFormat = BlockFormat {
    name: "blktrace",
    summary: "blktrace's binary files, one for each CPU, versions 7 and 8",
    carries: Carries { stages: true, completions: true, processes: true, flags: true },
    how_to_record: "blktrace -d DEVICE",
    from_first: true,
    reads: Reads::Blktrace,
};

/// The magic number without the version in its lowest byte.
pub(crate) const MAGIC: u32 = 0x6561_7400;
/// The longest header.
pub(crate) const HEADER_MAX: usize = 64;
/// Bits of an action below the categories.
const CATEGORY_SHIFT: u32 = 16;

/// Categories of an action, as bits above [`CATEGORY_SHIFT`].
pub(crate) mod category {
    pub const READ: u64 = 1;
    pub const WRITE: u64 = 1 << 1;
    pub const FLUSH: u64 = 1 << 2;
    pub const SYNC: u64 = 1 << 3;
    pub const QUEUE: u64 = 1 << 4;
    pub const REQUEUE: u64 = 1 << 5;
    pub const ISSUE: u64 = 1 << 6;
    pub const COMPLETE: u64 = 1 << 7;
    pub const PC: u64 = 1 << 9;
    pub const NOTIFY: u64 = 1 << 10;
    pub const AHEAD: u64 = 1 << 11;
    pub const META: u64 = 1 << 12;
    pub const DISCARD: u64 = 1 << 13;
    pub const FUA: u64 = 1 << 15;
}

/// Flag: eight bytes with a cgroup id precede the rest of the payload.
const CGROUP: u64 = 1 << 8;

/// Byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest first.
    Little,
    /// The highest first.
    Big,
}

/// Layout of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlktraceVersion {
    /// 48 bytes, since 2006.
    Seven,
    /// 64 bytes, posted in 2025.
    Eight,
}

impl BlktraceVersion {
    /// Bytes of a header.
    pub(crate) const fn len(self) -> usize {
        match self {
            BlktraceVersion::Seven => 48,
            BlktraceVersion::Eight => HEADER_MAX,
        }
    }

    /// The number in the magic.
    pub(crate) const fn number(self) -> u32 {
        match self {
            BlktraceVersion::Seven => 7,
            BlktraceVersion::Eight => 8,
        }
    }
}

/// The version in four bytes with this byte order, or the unsupported version number.
pub(crate) fn magic(bytes: &[u8], order: ByteOrder) -> Option<Result<BlktraceVersion, u32>> {
    let word = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    let word = match order {
        ByteOrder::Little => u32::from_le(word),
        ByteOrder::Big => u32::from_be(word),
    };
    (word & !0xff == MAGIC).then_some(match word & 0xff {
        7 => Ok(BlktraceVersion::Seven),
        8 => Ok(BlktraceVersion::Eight),
        other => Err(other),
    })
}

/// The order of the first magic in `head`.
pub(crate) fn order_of(head: &[u8]) -> Option<ByteOrder> {
    let order = |at: usize| {
        let is = |order| magic(&head[at..], order).is_some_and(|version| version.is_ok() || at == 0);
        [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| is(*order))
    };
    (0..head.len()).find_map(order)
}

/// True if `head` starts with a record, or is binary and contains one.
pub(crate) fn recognises(head: &[u8]) -> bool {
    let first = |order| magic(head, order).is_some();
    first(ByteOrder::Little) || first(ByteOrder::Big) || (head.contains(&0) && order_of(head).is_some())
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub version: BlktraceVersion,
    pub sequence: u32,
    pub time: u64,
    pub sector: u64,
    pub bytes: u32,
    pub action: u64,
    pub pid: u32,
    pub device: u32,
    pub cpu: u32,
    pub error: u16,
    pub payload: u16,
}

macro_rules! number {
    ($type:ty, $bytes:expr, $at:expr, $order:expr) => {{
        let bytes: [u8; size_of::<$type>()] = $bytes[$at..$at + size_of::<$type>()].try_into().expect("as many bytes");
        match $order {
            ByteOrder::Little => <$type>::from_le_bytes(bytes),
            ByteOrder::Big => <$type>::from_be_bytes(bytes),
        }
    }};
}

impl Header {
    /// Decodes the header at the start of `bytes`, which must hold at least the length of its version.
    #[inline]
    pub fn decode(bytes: &[u8], version: BlktraceVersion, order: ByteOrder) -> Header {
        // Positions of action, pid, device, CPU, error and payload.
        let (action, pid, device) = match version {
            BlktraceVersion::Seven => (u64::from(number!(u32, bytes, 28, order)), 32, 36),
            BlktraceVersion::Eight => (number!(u64, bytes, 32, order), 28, 40),
        };
        Header {
            version,
            sequence: number!(u32, bytes, 4, order),
            time: number!(u64, bytes, 8, order),
            sector: number!(u64, bytes, 16, order),
            bytes: number!(u32, bytes, 24, order),
            action,
            pid: number!(u32, bytes, pid, order),
            device: number!(u32, bytes, device, order),
            cpu: number!(u32, bytes, device + 4, order),
            error: number!(u16, bytes, device + 8, order),
            payload: number!(u16, bytes, device + 10, order),
        }
    }

    /// Kind of event: the low bits without the cgroup flag.
    pub const fn event(&self) -> u64 {
        self.action & 0xffff & !CGROUP
    }

    pub const fn categories(&self) -> u64 {
        self.action >> CATEGORY_SHIFT
    }

    pub const fn is_notice(&self) -> bool {
        self.categories() & category::NOTIFY != 0
    }

    /// True if a header with the right magic is plausible; values no kernel writes are junk.
    pub const fn is_plausible(&self) -> bool {
        self.event() <= 31 && self.cpu <= 0xffff
    }

    pub const fn device(&self) -> DeviceNumber {
        DeviceNumber { major: self.device >> 20, minor: self.device & 0xf_ffff }
    }
}

/// Meaning of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Something happened to block I/O.
    Event(BlockRecord),
    /// A notice: process name, wall clock, or message.
    Notice,
    /// It cannot be used.
    Left(Repair),
}

/// Decodes a record with this header and payload.
pub(crate) fn meaning(header: &Header, payload: &[u8], about: &mut About) -> Meaning {
    let payload = if header.action & CGROUP != 0 { payload.get(8..).unwrap_or_default() } else { payload };
    if header.is_notice() {
        if header.event() == 0 {
            let end = payload.iter().position(|b| *b == 0).unwrap_or(payload.len());
            about.processes.note(header.pid, &payload[..end]);
        }
        return Meaning::Notice;
    }
    if header.time > i64::MAX as u64 {
        return Meaning::Left(Repair::ImpossibleTime);
    }
    let Some(disk) = about.disks.numbered(header.device()) else { return Meaning::Left(Repair::TooManyDisks) };
    let stage = match stage(header, payload, about) {
        Ok(Some(stage)) => stage,
        Ok(None) => return Meaning::Notice,
        Err(kind) => return Meaning::Left(kind),
    };
    match record(header, disk, stage) {
        Ok((record, is_exact)) => {
            about.repairs.add(Repair::PartialSector, u64::from(!is_exact), 0);
            Meaning::Event(record)
        }
        Err(kind) => Meaning::Left(kind),
    }
}

/// The stage; `None` for a driver's own data.
fn stage(header: &Header, payload: &[u8], about: &mut About) -> Result<Option<BlockStage>, Repair> {
    // Payloads are big-endian whatever the machine.
    let word = |at: usize| payload.get(at..at + 8).map(|b| u64::from_be_bytes(b.try_into().expect("eight bytes")));
    Ok(Some(match header.event() {
        1 => BlockStage::Queue,
        2 => BlockStage::BackMerge,
        3 => BlockStage::FrontMerge,
        4 => BlockStage::GetRequest,
        5 => BlockStage::Sleep,
        6 => BlockStage::Requeue,
        7 => BlockStage::Issue,
        8 => BlockStage::Complete { error: negated(header.error) },
        9 => BlockStage::Plug,
        event @ (10 | 11) => BlockStage::Unplug { requests: word(0).unwrap_or(0), timer: event == 11 },
        12 => BlockStage::Insert,
        13 => BlockStage::Split { at: word(0).ok_or(Repair::UnreadableEvent)? },
        14 => BlockStage::Bounce,
        15 => {
            let (devices, sector) = word(0).zip(word(8)).ok_or(Repair::UnreadableEvent)?;
            let from = (devices >> 32) as u32;
            let from = DeviceNumber { major: from >> 20, minor: from & 0xf_ffff };
            BlockStage::Remap { from: about.disks.numbered(from).ok_or(Repair::TooManyDisks)?, sector }
        }
        16 => BlockStage::Abort,
        17 => return Ok(None),
        _ => return Err(Repair::OtherCommand),
    }))
}

/// Errors are negative numbers in 16 bits; old kernels wrote them without sign.
const fn negated(error: u16) -> u16 {
    if error > 0x7fff { error.wrapping_neg() } else { error }
}

/// The record, and whether its bytes are whole sectors.
fn record(header: &Header, disk: DiskId, stage: BlockStage) -> Result<(BlockRecord, bool), Repair> {
    let categories = header.categories();
    let has = |bits: u64| categories & bits != 0;
    let cpu = header.cpu as u16;
    let outline = BlockRecord {
        stage,
        pid: header.pid,
        cpu,
        ..BlockRecord::queue(Time(header.time), disk, Operation::Read, 0, 0)
    };
    if matches!(stage, BlockStage::Plug | BlockStage::Unplug { .. }) {
        return Ok((outline, true));
    }
    if has(category::PC) {
        return Err(Repair::OtherCommand);
    }
    let flags = BlockFlags::NONE
        .with_if(has(category::SYNC), BlockFlags::SYNC)
        .with_if(has(category::META), BlockFlags::META)
        .with_if(has(category::FUA), BlockFlags::DURABLE)
        .with_if(has(category::AHEAD), BlockFlags::READ_AHEAD);
    if header.bytes == 0 {
        let bare = BlockRecord { flags, ..outline };
        return match stage {
            _ if has(category::FLUSH) => Ok((BlockRecord { op: Operation::Flush, ..bare }, true)),
            BlockStage::Sleep => Ok((bare, true)),
            _ => Err(Repair::ImpossibleExtent),
        };
    }
    let op = if has(category::DISCARD) {
        Operation::Discard
    } else if has(category::WRITE) {
        Operation::Write
    } else {
        Operation::Read
    };
    let bytes = u64::from(header.bytes);
    let extent = Extent::of_sectors(header.sector, bytes.div_ceil(SECTOR_BYTES)).ok_or(Repair::ImpossibleExtent)?;
    let flags = flags.with_if(has(category::FLUSH), BlockFlags::FLUSH_BEFORE);
    let record = BlockRecord { op, flags, sector: extent.sector, sectors: extent.sectors, ..outline };
    Ok((record, bytes.is_multiple_of(SECTOR_BYTES)))
}
