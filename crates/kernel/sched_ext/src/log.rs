//! The log of a live run: all input of the adapter and all its decisions. Replaying the input with the same policy must
//! give the same decisions.
//!
//! The first line is JSON ([`Header`]) and names the kinds of record. A record is its number in one byte, then its
//! fields as LEB128 numbers. Times are differences to the previous one, zigzag-encoded because CPU clocks may be
//! slightly out of order. The decisions on an input follow it. A truncated log is read up to its end.

use super::command::{Command, Order};
use super::error::LiveError;
use super::event::{Input, KernelEvent, Kind};
use super::host::Setting;
use goodness_core::{Cpu, Machine, Seed, Span, Time};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Name and version of the format.
pub const FORMAT: &str = "goodness.live-log/1";
const TIMER: u8 = 0x10;
const GRANT: u8 = 0x20;
const PREEMPT: u8 = 0x21;
/// Bytes collected before they are handed to the thread that writes.
const BLOCK: usize = 64 << 10;
/// Blocks that may wait to be written: 16 MiB.
const BLOCKS: usize = 256;
/// Longest log read.
const LONGEST: u64 = 4 << 30;

/// One CPU of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LoggedCpu {
    kernel: u16,
    core: u32,
    cache: u32,
    node: u32,
    capacity: u32,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format and its version.
    pub format: String,
    /// The policy's registered name.
    pub policy: String,
    /// Settings that differ from the defaults.
    pub settings: Vec<(String, String)>,
    seed: u64,
    epoch: u64,
    hz: u32,
    cpus: Vec<LoggedCpu>,
    /// The numbers of the records and their fields.
    records: Vec<(u8, String)>,
}

impl Header {
    /// The header of a run.
    #[must_use]
    pub fn new(policy: &str, settings: &[(String, String)], setting: &Setting) -> Header {
        let cpus = setting.machine.cpu_ids().zip(&setting.cpus).map(|(cpu, kernel)| {
            let Cpu { core, cache, node, capacity } = *setting.machine.cpu(cpu);
            LoggedCpu { kernel: *kernel, core, cache, node, capacity }
        });
        let fields = "at ran mask key pid tgid turn other cpu on flags nice";
        let mut records: Vec<(u8, String)> =
            Kind::ALL.iter().map(|kind| (*kind as u8, format!("{}: {fields}", kind.name()))).collect();
        records.push((TIMER, "timer: at".into()));
        records.push((GRANT, "decided, grant: key pid turn cpu slice+1".into()));
        records.push((PREEMPT, "decided, preempt: key pid turn cpu".into()));
        Header {
            format: FORMAT.into(),
            policy: policy.into(),
            settings: settings.to_vec(),
            seed: setting.seed.0,
            epoch: setting.epoch.0,
            hz: setting.machine.hz,
            cpus: cpus.collect(),
            records,
        }
    }

    /// Start of the run on the kernel's clock, in ns.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Parameters of the run.
    ///
    /// # Errors
    /// An impossible machine.
    pub fn setting(&self) -> Result<Setting, String> {
        let cpu = |c: &LoggedCpu| Cpu { core: c.core, cache: c.cache, node: c.node, capacity: c.capacity };
        let machine = Machine::new("live", self.cpus.iter().map(cpu).collect(), self.hz)?;
        let cpus: Vec<u16> = self.cpus.iter().map(|cpu| cpu.kernel).collect();
        if cpus.len() > 64 || cpus.iter().any(|cpu| *cpu > 63) {
            return Err("a live policy has CPUs below 64 only".into());
        }
        Ok(Setting { machine, cpus, epoch: Time(self.epoch), seed: Seed(self.seed) })
    }
}

/// Writes a log in a thread of its own, so that decisions do not wait for the file.
pub struct LogWriter {
    path: PathBuf,
    block: Vec<u8>,
    last: u64,
    sender: Option<SyncSender<Vec<u8>>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
}

impl LogWriter {
    /// Creates or replaces the log at `path`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<LogWriter, LiveError> {
        let failed = |why: String| LiveError::Log { path: path.into(), why };
        let mut file = goodness_output::create(path).map_err(failed)?;
        let line = serde_json::to_string(header).map_err(|why| failed(why.to_string()))?;
        writeln!(file, "{line}").map_err(|why| failed(why.to_string()))?;
        let (sender, blocks) = sync_channel::<Vec<u8>>(BLOCKS);
        let writer = std::thread::spawn(move || blocks.iter().try_for_each(|block| file.write_all(&block)));
        Ok(LogWriter {
            path: path.into(),
            block: Vec::with_capacity(BLOCK + 1024),
            last: header.epoch,
            sender: Some(sender),
            writer: Some(writer),
        })
    }

    /// Appends an input and the resulting commands.
    ///
    /// # Errors
    /// The file cannot be written, or not fast enough.
    pub fn add(&mut self, input: &Input, commands: &[Command]) -> Result<(), LiveError> {
        write_input(&mut self.block, &mut self.last, input);
        for command in commands {
            write_command(&mut self.block, command);
        }
        if self.block.len() < BLOCK {
            return Ok(());
        }
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<(), LiveError> {
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK + 1024));
        let Some(sender) = &self.sender else { return Ok(()) };
        sender.try_send(block).map_err(|_| LiveError::Log {
            path: self.path.clone(),
            why: "cannot be written as fast as things happen; is its disk full?".into(),
        })
    }

    /// Flushes and closes the log.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), LiveError> {
        self.hand_over()?;
        self.sender = None;
        let failed = |why: String| LiveError::Log { path: self.path.clone(), why };
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.join().map_err(|_| failed("writing it failed".into()))?.map_err(|why| failed(why.to_string()))
    }
}

fn write_number(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    (value.wrapping_shl(1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn write_input(to: &mut Vec<u8>, last: &mut u64, input: &Input) {
    let (number, at) = match input {
        Input::Kernel(event) => (event.kind as u8, event.at.0),
        Input::Timer(at) => (TIMER, at.0),
    };
    to.push(number);
    write_number(to, zigzag(at.wrapping_sub(std::mem::replace(last, at)) as i64));
    if let Input::Kernel(e) = input {
        let words = [e.key, e.pid, e.tgid, e.turn, e.other].map(u64::from);
        let shorts = [e.cpu, e.on, e.flags].map(u64::from);
        for value in [e.ran, e.mask].into_iter().chain(words).chain(shorts).chain([zigzag(i64::from(e.nice))]) {
            write_number(to, value);
        }
    }
}

fn write_command(to: &mut Vec<u8>, command: &Command) {
    let (number, slice) = match command.order {
        Order::Grant { slice } => (GRANT, Some(slice.map_or(0, |span| span.0.saturating_add(1)))),
        Order::Preempt => (PREEMPT, None),
    };
    to.push(number);
    let fields = [u64::from(command.key), u64::from(command.pid), u64::from(command.turn), u64::from(command.cpu)];
    for value in fields.into_iter().chain(slice) {
        write_number(to, value);
    }
}

/// A record of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Input of the adapter.
    Input(Input),
    /// Decision on the previous input.
    Decided(Command),
}

/// A log that was read.
pub struct Log {
    /// The first line.
    pub header: Header,
    bytes: Vec<u8>,
}

impl Log {
    /// Reads the log at `path`.
    ///
    /// # Errors
    /// It cannot be read or is not a log.
    pub fn read(path: &Path) -> Result<Log, LiveError> {
        let failed = |why: String| LiveError::Log { path: path.into(), why };
        let found = std::fs::metadata(path).map_err(|why| failed(why.to_string()))?;
        // A pipe or a device may be endless.
        if !found.is_file() {
            return Err(failed("is no ordinary file; name one that `goodness live --log` wrote".into()));
        }
        let size = found.len();
        if size > LONGEST {
            return Err(failed(format!("{size} bytes are more than the {LONGEST} that are read")));
        }
        Log::of(std::fs::read(path).map_err(|why| failed(why.to_string()))?).map_err(failed)
    }

    /// The log in `bytes`.
    ///
    /// # Errors
    /// A sentence when it is none.
    pub fn of(mut bytes: Vec<u8>) -> Result<Log, String> {
        let none = || format!("is no log of a live run: its first line is not the JSON of \"{FORMAT}\"");
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(none)?;
        let header: Header = serde_json::from_slice(&bytes[..end]).map_err(|_| none())?;
        if header.format != FORMAT {
            return Err(format!("has the format \"{}\"; this version reads \"{FORMAT}\"", header.format));
        }
        bytes.drain(..=end);
        Ok(Log { header, bytes })
    }

    /// True if the last record is incomplete or unknown.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let mut records = self.records();
        records.by_ref().for_each(drop);
        records.is_strange
    }

    /// The records, up to the truncation of the log.
    pub fn records(&self) -> Records<'_> {
        Records { rest: &self.bytes, last: self.header.epoch, is_strange: false }
    }
}

/// Reads records one by one.
pub struct Records<'a> {
    rest: &'a [u8],
    last: u64,
    is_strange: bool,
}

impl Records<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn word(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn short(&mut self) -> Option<u16> {
        self.number()?.try_into().ok()
    }

    fn time(&mut self) -> Option<Time> {
        self.last = self.last.wrapping_add(unzigzag(self.number()?) as u64);
        Some(Time(self.last))
    }

    fn record(&mut self) -> Option<Record> {
        let (number, rest) = self.rest.split_first()?;
        self.rest = rest;
        match *number {
            TIMER => Some(Record::Input(Input::Timer(self.time()?))),
            GRANT | PREEMPT => self.command(*number).map(Record::Decided),
            kind => self.event(Kind::numbered(kind)?).map(|event| Record::Input(Input::Kernel(event))),
        }
    }

    fn command(&mut self, number: u8) -> Option<Command> {
        let (key, pid, turn, cpu) = (self.word()?, self.word()?, self.word()?, self.short()?);
        let order = match number {
            GRANT => Order::Grant { slice: self.number()?.checked_sub(1).map(Span) },
            _ => Order::Preempt,
        };
        Some(Command { order, key, pid, turn, cpu })
    }

    fn event(&mut self, kind: Kind) -> Option<KernelEvent> {
        Some(KernelEvent {
            kind,
            at: self.time()?,
            ran: self.number()?,
            mask: self.number()?,
            key: self.word()?,
            pid: self.word()?,
            tgid: self.word()?,
            turn: self.word()?,
            other: self.word()?,
            cpu: self.short()?,
            on: self.short()?,
            flags: self.short()?,
            nice: unzigzag(self.number()?).try_into().ok()?,
            comm: [0; 16],
        })
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if self.rest.is_empty() {
            return None;
        }
        let record = self.record();
        self.is_strange |= record.is_none();
        if record.is_none() {
            self.rest = &[];
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        let mut setting = Setting::flat(vec![1, 2], 250, 1);
        setting.machine.name = "live".into();
        setting
    }

    fn events() -> Vec<Input> {
        let event = |kind, at, nice| KernelEvent {
            kind,
            at: Time(at),
            ran: 5_000_000_000,
            mask: u64::MAX,
            key: 7,
            pid: 4_000_000,
            tgid: 1,
            turn: u32::MAX,
            other: 0,
            cpu: 3,
            on: 0,
            flags: 129,
            nice,
            comm: [0; 16],
        };
        let kernel = |kind, at, nice| Input::Kernel(event(kind, at, nice));
        vec![kernel(Kind::Created, 1_000, -20), kernel(Kind::Ready, 990, 19), Input::Timer(Time(u64::MAX))]
    }

    fn written() -> (Vec<u8>, Vec<Record>) {
        let header = Header::new("rr", &[], &setting());
        let mut bytes = serde_json::to_vec(&header).unwrap();
        bytes.push(b'\n');
        let (mut last, mut records) = (0, Vec::new());
        let slice = Some(Span(u64::MAX - 1));
        let grant = Command { order: Order::Grant { slice }, key: 7, pid: 9, turn: 3, cpu: 63 };
        for input in events() {
            write_input(&mut bytes, &mut last, &input);
            records.push(Record::Input(input));
            for order in [grant.order, Order::Grant { slice: None }, Order::Preempt] {
                let command = Command { order, ..grant };
                write_command(&mut bytes, &command);
                records.push(Record::Decided(command));
            }
        }
        (bytes, records)
    }

    #[test]
    fn a_log_reads_back_what_was_written() {
        let (bytes, records) = written();
        let log = Log::of(bytes).unwrap();
        assert_eq!(log.header.setting().unwrap(), setting());
        assert_eq!(log.records().collect::<Vec<_>>(), records);
        assert!(!log.is_cut());
    }

    #[test]
    fn a_log_cut_anywhere_is_read_as_far_as_it_goes() {
        let (bytes, records) = written();
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in first..bytes.len() {
            let log = Log::of(bytes[..end].to_vec()).unwrap();
            let read: Vec<Record> = log.records().collect();
            assert_eq!(read, records[..read.len()]);
        }
        assert!(Log::of(bytes[..first - 1].to_vec()).is_err());
        assert!(Log::of(b"{}\n".to_vec()).is_err());
    }
}
