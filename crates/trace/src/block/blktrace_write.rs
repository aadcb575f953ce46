//! Writes blktrace's binary format, version 7 or 8, in either byte order.

use super::blktrace::{BlktraceVersion, ByteOrder, MAGIC, category};
use super::disks::{DeviceNumber, Disks};
use super::record::{BlockFlags, BlockRecord, BlockStage};
use goodness_core::{DiskId, Operation, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Major number for disks known only by name, from Linux' range for local use.
const LOCAL_MAJOR: u32 = 240;

/// Writes one file of blktrace records. The format has no response times: they follow from issue and completion.
pub struct BlktraceWriter<W: Write> {
    to: W,
    version: BlktraceVersion,
    order: ByteOrder,
    /// The last sequence number of each device and CPU.
    sequences: BTreeMap<(u32, u32), u32>,
    bytes: Vec<u8>,
}

impl<W: Write> BlktraceWriter<W> {
    /// A writer of this layout.
    pub fn new(to: W, version: BlktraceVersion, order: ByteOrder) -> BlktraceWriter<W> {
        BlktraceWriter { to, version, order, sequences: BTreeMap::new(), bytes: Vec::with_capacity(128) }
    }

    /// Writes a record. `disks` supplies the device numbers; a disk without one gets major 240 and its own number.
    ///
    /// # Errors
    /// The writer's error, or a record of 4 GiB or more, which the format cannot represent.
    pub fn write(&mut self, record: &BlockRecord, disks: &Disks) -> io::Result<()> {
        let bytes = u64::from(record.sectors) * SECTOR_BYTES;
        let bytes = u32::try_from(bytes).map_err(|_| io::Error::other("blktrace holds no request of 4 GiB or more"))?;
        let (event, category, error) = action(record.stage);
        let action = event | (category | categories(record)) << 16;
        let payload = payload(record, disks);
        let (device, cpu) = (number(record.disk, disks), u32::from(record.cpu));
        let sequence = self.sequences.entry((device, cpu)).or_insert(0);
        *sequence = sequence.wrapping_add(1);
        let header = Fields {
            sequence: *sequence,
            time: record.at.ns(),
            sector: record.sector,
            bytes,
            action,
            pid: record.pid,
            device,
            cpu,
            error,
        };
        self.put(&header, &payload)
    }

    /// Writes the name of process `pid`.
    ///
    /// # Errors
    /// The error of the write.
    pub fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        let mut payload = [0; 16];
        let len = name.len().min(15);
        payload[..len].copy_from_slice(&name.as_bytes()[..len]);
        self.put(&Fields { action: category::NOTIFY << 16, pid, ..Fields::default() }, &payload)
    }

    /// Flushes, and returns the underlying writer.
    ///
    /// # Errors
    /// The error of the flush.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }

    fn put(&mut self, fields: &Fields, payload: &[u8]) -> io::Result<()> {
        self.bytes.clear();
        self.u32(MAGIC | self.version.number());
        self.u32(fields.sequence);
        self.u64(fields.time);
        self.u64(fields.sector);
        self.u32(fields.bytes);
        match self.version {
            BlktraceVersion::Seven => {
                self.u32(fields.action as u32);
                self.u32(fields.pid);
            }
            BlktraceVersion::Eight => {
                self.u32(fields.pid);
                self.u64(fields.action);
            }
        }
        self.u32(fields.device);
        self.u32(fields.cpu);
        self.u16(fields.error);
        self.u16(payload.len() as u16);
        self.bytes.resize(self.version.len(), 0);
        self.bytes.extend_from_slice(payload);
        self.to.write_all(&self.bytes)
    }

    fn u16(&mut self, value: u16) {
        let bytes = if self.order == ByteOrder::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.bytes.extend_from_slice(&bytes);
    }

    fn u32(&mut self, value: u32) {
        let bytes = if self.order == ByteOrder::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.bytes.extend_from_slice(&bytes);
    }

    fn u64(&mut self, value: u64) {
        let bytes = if self.order == ByteOrder::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.bytes.extend_from_slice(&bytes);
    }
}

#[derive(Default)]
struct Fields {
    sequence: u32,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    pid: u32,
    device: u32,
    cpu: u32,
    error: u16,
}

/// Event, category and error of a stage.
const fn action(stage: BlockStage) -> (u64, u64, u16) {
    match stage {
        BlockStage::Queue => (1, category::QUEUE, 0),
        BlockStage::BackMerge => (2, category::QUEUE, 0),
        BlockStage::FrontMerge => (3, category::QUEUE, 0),
        BlockStage::GetRequest => (4, category::QUEUE, 0),
        BlockStage::Sleep => (5, category::QUEUE, 0),
        BlockStage::Requeue => (6, category::REQUEUE, 0),
        BlockStage::Issue => (7, category::ISSUE, 0),
        BlockStage::Complete { error } => (8, category::COMPLETE, error.wrapping_neg()),
        BlockStage::Plug => (9, category::QUEUE, 0),
        BlockStage::Unplug { timer, .. } => (if timer { 11 } else { 10 }, category::QUEUE, 0),
        BlockStage::Insert => (12, category::QUEUE, 0),
        BlockStage::Split { .. } => (13, 0, 0),
        BlockStage::Bounce => (14, 0, 0),
        BlockStage::Remap { .. } => (15, category::QUEUE, 0),
        BlockStage::Abort => (16, category::QUEUE, 0),
    }
}

fn categories(record: &BlockRecord) -> u64 {
    if matches!(record.stage, BlockStage::Plug | BlockStage::Unplug { .. }) {
        return 0;
    }
    let op = match record.op {
        Operation::Read => category::READ,
        Operation::Write => category::WRITE,
        Operation::Discard => category::WRITE | category::DISCARD,
        Operation::Flush => category::WRITE | category::FLUSH,
    };
    let marks = [
        (BlockFlags::SYNC, category::SYNC),
        (BlockFlags::META, category::META),
        (BlockFlags::DURABLE, category::FUA),
        (BlockFlags::READ_AHEAD, category::AHEAD),
        (BlockFlags::FLUSH_BEFORE, category::FLUSH),
    ];
    marks.into_iter().filter(|(flag, _)| record.flags.has(*flag)).fold(op, |all, (_, bit)| all | bit)
}

fn number(disk: DiskId, disks: &Disks) -> u32 {
    let local = DeviceNumber { major: LOCAL_MAJOR, minor: disk.0.into() };
    let number = disks.number(disk).unwrap_or(local);
    number.major << 20 | (number.minor & 0xf_ffff)
}

/// The data after the header; always big-endian.
fn payload(record: &BlockRecord, disks: &Disks) -> Vec<u8> {
    match record.stage {
        BlockStage::Unplug { requests, .. } => requests.to_be_bytes().to_vec(),
        BlockStage::Split { at } => at.to_be_bytes().to_vec(),
        BlockStage::Remap { from, sector } => {
            let devices = u64::from(number(from, disks)) << 32 | u64::from(number(record.disk, disks));
            [devices.to_be_bytes(), sector.to_be_bytes()].concat()
        }
        _ => Vec::new(),
    }
}
