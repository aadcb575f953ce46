//! Reads one file of blktrace records; skips damaged parts.

use super::blktrace::{BlktraceVersion, ByteOrder, HEADER_MAX, Header, Meaning, magic, meaning, order_of};
use super::record::BlockRecord;
use super::source::About;
use crate::compress::Input;
use crate::error::TraceError;
use crate::repairs::Repair;
use std::io::{self, Read};

/// Buffer size: fits the longest header, the longest payload, and the magic of the next record.
const BUFFER: usize = 1 << 17;
const _: () = assert!(BUFFER > HEADER_MAX + u16::MAX as usize + 4);

/// Most pairs of device and CPU whose sequence numbers are checked.
const FOLLOWED_MAX: usize = 4096;

/// A larger step in the sequence numbers is damage, not loss.
const LOSS_MAX: u32 = 1 << 20;

/// A record with its sort key among the records of other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequenced {
    pub record: BlockRecord,
    pub sequence: u32,
}

/// One open file.
pub(crate) struct BlktraceFile<'a> {
    from: Input<'a>,
    order: ByteOrder,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    /// Byte of the file at `start`.
    pub offset: u64,
    /// True if the bytes at `start` lie in a damaged stretch.
    in_damage: bool,
    /// The last sequence number of each device and CPU, and which was used last.
    sequences: Vec<(u32, u32, u32)>,
    last: usize,
    damaged: u64,
}

impl<'a> BlktraceFile<'a> {
    /// A file whose first bytes are `head`, which `from` still contains.
    ///
    /// # Errors
    /// An unsupported version.
    pub fn new(from: Input<'a>, head: &[u8]) -> Result<BlktraceFile<'a>, TraceError> {
        let order = order_of(head).unwrap_or(ByteOrder::Little);
        if let Some(Err(version)) = magic(head, order) {
            let what = format!("these are blktrace records of version {version}, and versions 7 and 8 are read");
            return Err(TraceError::Refused { path: from.name, place: "byte 0".into(), what });
        }
        Ok(BlktraceFile {
            from,
            order,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            at_end: false,
            offset: 0,
            in_damage: false,
            sequences: Vec::new(),
            last: 0,
            damaged: 0,
        })
    }

    pub fn name(&self) -> &str {
        &self.from.name
    }

    /// The next record, `None` at the end.
    pub fn next(&mut self, about: &mut About) -> Option<Sequenced> {
        loop {
            self.need(HEADER_MAX, about);
            let held = &self.buffer[self.start..self.end];
            let Some(Ok(version)) = magic(held, self.order) else {
                if held.len() < 4 {
                    self.finish(about);
                    return None;
                }
                self.pass_damage(about);
                continue;
            };
            if held.len() < version.len() {
                self.finish(about);
                return None;
            }
            let header = Header::decode(held, version, self.order);
            if !header.is_plausible() {
                self.pass_damage(about);
                continue;
            }
            self.in_damage = false;
            if let Some(sequenced) = self.record(&header, version, about) {
                return Some(sequenced);
            }
        }
    }

    /// The record of a header at `start`, which is consumed.
    #[inline]
    fn record(&mut self, header: &Header, version: BlktraceVersion, about: &mut About) -> Option<Sequenced> {
        let len = version.len() + usize::from(header.payload);
        if header.payload > 0 || self.end - self.start < len + 4 {
            self.need(len + 4, about);
        }
        let held = &self.buffer[self.start..self.end];
        let is_cut = held.len() < len;
        let is_followed = is_cut || held.len() < len + 4 || matches!(magic(&held[len..], self.order), Some(Ok(_)));
        let payload = if is_cut { &[][..] } else { &held[version.len()..len] };
        let meaning = if is_cut { Meaning::Notice } else { meaning(header, payload, about) };
        // A wrong length must not swallow the records that it covers.
        let consumed = if is_cut || !is_followed { version.len() } else { len };
        if is_cut {
            // The rest is the beginning of a payload.
            self.finish(about);
        } else {
            self.consume(consumed);
            self.follow(header, about);
        }
        match meaning {
            Meaning::Event(record) => Some(Sequenced { record, sequence: header.sequence }),
            Meaning::Notice => None,
            Meaning::Left(kind) => {
                about.repairs.add(kind, 1, 0);
                None
            }
        }
    }

    /// Counts the records that are missing before this one.
    #[inline]
    fn follow(&mut self, header: &Header, about: &mut About) {
        if header.is_notice() {
            return;
        }
        let is_same = |s: &(u32, u32, u32)| s.0 == header.device && s.1 == header.cpu;
        if !self.sequences.get(self.last).is_some_and(is_same) {
            match self.sequences.iter().position(is_same) {
                Some(at) => self.last = at,
                None if self.sequences.len() >= FOLLOWED_MAX => return,
                None => {
                    self.last = self.sequences.len();
                    self.sequences.push((header.device, header.cpu, header.sequence));
                    return;
                }
            }
        }
        let last = &mut self.sequences[self.last].2;
        let step = header.sequence.wrapping_sub(*last);
        if step > 0 && step <= LOSS_MAX {
            about.repairs.add(Repair::LostEvents, u64::from(step - 1), 0);
        }
        if step < 1 << 31 {
            *last = header.sequence;
        }
    }

    fn consume(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
    }

    /// Skips to the next possible magic, and counts each damaged part once.
    #[cold]
    fn pass_damage(&mut self, about: &mut About) {
        if !self.in_damage {
            self.in_damage = true;
            self.damaged += 1;
            about.repairs.add(Repair::DamagedBytes, 1, 0);
            if self.damaged == 1 {
                let (name, at) = (self.name().to_owned(), self.offset);
                about
                    .warnings
                    .push(format!("{name}, byte {at}: here are no blktrace records, some bytes were passed over"));
            }
        }
        let held = &self.buffer[self.start..self.end];
        let is_magic = |at: &usize| matches!(magic(&held[*at..], self.order), Some(Ok(_)));
        let next = (1..held.len()).find(is_magic);
        // The last three bytes may be the beginning of a magic.
        let len = next.unwrap_or(held.len().saturating_sub(3).max(1));
        self.consume(len);
    }

    /// Handles the end of the file, where an incomplete record may be left.
    fn finish(&mut self, about: &mut About) {
        let left = self.end - self.start;
        if left > 0 && !self.in_damage {
            about.repairs.add(Repair::TruncatedEnd, 1, 0);
            about.warnings.push(format!("{}, byte {}: the file ends within a record", self.name(), self.offset));
        }
        self.consume(left);
    }

    /// Tries to have `len` bytes in the buffer.
    #[inline]
    fn need(&mut self, len: usize, about: &mut About) {
        if self.end - self.start < len && !self.at_end {
            self.fill(len, about);
        }
    }

    fn fill(&mut self, len: usize, about: &mut About) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < len && !self.at_end {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.at_end = true;
                    about.repairs.add(Repair::TruncatedEnd, 1, 0);
                    let at = self.offset + self.end as u64;
                    about.warnings.push(format!("reading {} stopped at byte {at}: {e}", self.name()));
                }
            }
        }
    }
}
