//! Moves pages out of the kernel's buffers and merges them into one stream of events.
//!
//! Pages stay in the kernel while there is room, so a short recording is read only after it has ended and costs the
//! recorded work nothing but the trace points. Once a buffer is half full, its pages go to an unnamed temporary file
//! per CPU.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use super::error::RecordError;
use super::pages::{self, Layout, Lost, Page};
use super::tracefs::Instance;

/// The buffer of one CPU and the file its pages go to.
#[derive(Debug)]
struct CpuBuffer {
    cpu: u32,
    raw: File,
    spool: File,
    bytes: u64,
}

/// All buffers of a recording.
#[derive(Debug)]
pub struct Drain {
    buffers: Vec<CpuBuffer>,
    layout: Layout,
}

impl Drain {
    /// Opens the buffers of `cpus`. Their pages go to unnamed files in `folder`.
    ///
    /// # Errors
    /// [`RecordError::Drain`] naming the CPU.
    pub fn open(instance: &Instance, cpus: &[u32], folder: &Path) -> Result<Self, RecordError> {
        let open = |&cpu: &u32| -> Result<CpuBuffer, RecordError> {
            let failed = |source| RecordError::Drain { cpu, source };
            let raw = instance.open_raw(cpu).map_err(failed)?;
            let spool = tempfile::tempfile_in(folder).map_err(failed)?;
            Ok(CpuBuffer { cpu, raw, spool, bytes: 0 })
        };
        Ok(Self { buffers: cpus.iter().map(open).collect::<Result<_, _>>()?, layout: instance.layout })
    }

    /// File descriptors to poll. Each becomes readable when its buffer is half full.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.buffers.iter().map(|buffer| buffer.raw.as_raw_fd()).collect()
    }

    /// Moves the pages available in the buffers at these positions (see [`descriptors`](Self::descriptors)).
    ///
    /// # Errors
    /// [`RecordError::Drain`] naming the CPU.
    pub fn take(&mut self, which: impl Iterator<Item = usize>) -> Result<(), RecordError> {
        let mut page = vec![0u8; self.layout.page_size];
        for at in which {
            let buffer = &mut self.buffers[at];
            let cpu = buffer.cpu;
            buffer.empty_into_spool(&mut page).map_err(|source| RecordError::Drain { cpu, source })?;
        }
        Ok(())
    }

    /// Moves the remaining pages of all buffers and closes the kernel's files.
    ///
    /// # Errors
    /// [`RecordError::Drain`] naming the CPU.
    pub fn finish(mut self) -> Result<Spools, RecordError> {
        self.take(0..self.buffers.len())?;
        let files = self.buffers.into_iter().map(|buffer| (buffer.cpu, buffer.spool)).collect();
        Ok(Spools { files, layout: self.layout })
    }

    /// Bytes taken out of the kernel so far.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }
}

impl CpuBuffer {
    /// Reads pages into the spool. A partly filled page is padded with zeros, so that all pages have one size.
    fn empty_into_spool(&mut self, page: &mut [u8]) -> io::Result<()> {
        loop {
            match self.raw.read(page) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    page[length..].fill(0);
                    self.spool.write_all(page)?;
                    self.bytes += page.len() as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The pages of a finished recording; can be walked several times.
#[derive(Debug)]
pub struct Spools {
    files: Vec<(u32, File)>,
    layout: Layout,
}

/// One record of a walk, in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// One event's bytes.
    Event {
        /// Nanoseconds on the trace clock.
        time_ns: u64,
        /// CPU that logged it.
        cpu: u32,
        /// The event's bytes as recorded.
        bytes: &'a [u8],
    },
    /// Events missing here on one CPU.
    Lost {
        /// The CPU.
        cpu: u32,
        /// Number of events lost.
        lost: Lost,
    },
}

/// Pages read back from one spool.
struct Reel<'a> {
    cpu: u32,
    file: BufReader<&'a File>,
    bytes: Vec<u8>,
    page: Page,
    next: usize,
    lost: Option<Lost>,
}

impl Reel<'_> {
    /// The time of the next event, loading pages as needed. `None` at the end.
    fn peek(&mut self, layout: &Layout) -> io::Result<Option<u64>> {
        while self.next == self.page.events.len() {
            match self.file.read_exact(&mut self.bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            // A damaged tail is a loss before whatever this CPU logged next.
            let damaged = std::mem::take(&mut self.page.damaged);
            pages::split(layout, &self.bytes, &mut self.page);
            self.next = 0;
            let lost = self.page.lost.or(damaged.then_some(Lost::Unknown));
            self.lost = self.lost.or(lost);
        }
        Ok(Some(self.page.events[self.next].time_ns))
    }
}

impl Spools {
    /// Passes every event to `visit`, merged over CPUs by time; ties go by CPU number.
    ///
    /// # Errors
    /// [`RecordError::Drain`] when a temporary file cannot be read, or the error of `visit`.
    pub fn walk(&mut self, mut visit: impl FnMut(Record) -> Result<(), RecordError>) -> Result<(), RecordError> {
        let layout = self.layout;
        let mut reels = Vec::new();
        let mut heads = BinaryHeap::new();
        for (cpu, file) in &mut self.files {
            let failed = |source| RecordError::Drain { cpu: *cpu, source };
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let file = BufReader::with_capacity(1 << 18, &*file);
            let bytes = vec![0; layout.page_size];
            let mut reel = Reel { cpu: *cpu, file, bytes, page: Page::default(), next: 0, lost: None };
            if let Some(time) = reel.peek(&layout).map_err(failed)? {
                heads.push(Reverse((time, reels.len())));
            }
            reels.push(reel);
        }
        while let Some(Reverse((time_ns, at))) = heads.pop() {
            let reel = &mut reels[at];
            let cpu = reel.cpu;
            if let Some(lost) = reel.lost.take() {
                visit(Record::Lost { cpu, lost })?;
            }
            let event = reel.page.events[reel.next];
            visit(Record::Event { time_ns, cpu, bytes: &reel.bytes[event.start..event.end] })?;
            reel.next += 1;
            if let Some(time) = reel.peek(&layout).map_err(|source| RecordError::Drain { cpu, source })? {
                heads.push(Reverse((time, at)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:112;\tsigned:0;\n";

    /// A page at `time` with one four-byte event for each delta; `flags` go into the commit word.
    fn page(time: u64, flags: u64, deltas: &[u32]) -> Vec<u8> {
        let mut bytes = time.to_ne_bytes().to_vec();
        bytes.extend(((deltas.len() as u64 * 8) | flags).to_ne_bytes());
        for delta in deltas {
            let head = if cfg!(target_endian = "little") { 1 | delta << 5 } else { 1 << 27 | delta };
            bytes.extend(head.to_ne_bytes());
            bytes.extend(delta.to_ne_bytes());
        }
        bytes.resize(128, 0);
        bytes
    }

    fn spool(pages: &[Vec<u8>]) -> File {
        let mut file = tempfile::tempfile().expect("scratch");
        pages.iter().for_each(|page| file.write_all(page).expect("scratch"));
        file
    }

    fn walked(spools: &mut Spools) -> Vec<String> {
        let mut seen = Vec::new();
        let visit = |record: Record| {
            seen.push(match record {
                Record::Event { time_ns, cpu, .. } => format!("{time_ns}@{cpu}"),
                Record::Lost { cpu, lost } => format!("{lost:?}@{cpu}"),
            });
            Ok(())
        };
        spools.walk(visit).expect("readable");
        seen
    }

    #[test]
    fn events_of_all_cpus_come_in_order_of_time_and_losses_where_they_happened() {
        let zero = spool(&[page(10, 0, &[0, 5]), page(40, 1 << 31, &[0])]);
        let one = spool(&[page(5, 0, &[5, 2, 20]), page(0, 0, &[])]);
        let layout = Layout::parse(HEADER_PAGE).expect("good");
        let mut spools = Spools { files: vec![(0, zero), (1, one)], layout };
        let expected = ["10@0", "10@1", "12@1", "15@0", "32@1", "Unknown@0", "40@0"];
        assert_eq!(walked(&mut spools), expected);
        assert_eq!(walked(&mut spools), expected, "a second walk sees the same");
    }
}
