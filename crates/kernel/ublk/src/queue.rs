//! The queue of a ublk device: fetches requests from the kernel, has the elevator order them, moves the bytes with
//! io_uring, and commits the results. One thread with one ring does all of it.

use super::abi::{self, Descriptor, QueueBody};
use super::backing::Backing;
use super::host::{Answer, Host, bytes, lock};
use super::memory::{Buffers, Descriptors};
use super::transfers::{Step, Tag, Transfers};
use goodness_core::{Io, Operation, RequestId, Submitter, Time};
use goodness_sys::{monotonic_ns, thread_cpu_ns};
use io_uring::{IoUring, opcode, squeue, types};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

/// Largest request of the disk, in sectors: the largest request of the layer (`specs section 2.1`).
pub const SECTORS_MAX: u32 = 1024;

/// In the high half of an operation's number: a command of a tag.
const OF_TAG: u64 = 1 << 32;
/// A transfer of a request.
const OF_REQUEST: u64 = 2 << 32;

/// Resources used by the server, readable while it runs.
#[derive(Debug, Default)]
pub struct Spent {
    /// Nanoseconds in the elevator and the layer around it.
    pub adapter_ns: AtomicU64,
    /// Flushes that arrived.
    pub flushes: AtomicU64,
    /// Writes that must be durable before they are acknowledged.
    pub durable: AtomicU64,
    /// CPU time of the thread in nanoseconds, set when it ends.
    pub cpu_ns: AtomicU64,
    /// The thread, while it runs.
    pub thread: AtomicU64,
}

/// State of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// The kernel has it.
    Fetching,
    /// We serve it.
    Served,
    /// The device is being removed.
    Gone,
}

/// One queue and its server.
pub struct Queue {
    // First, so that it is dropped before the memory of its operations.
    ring: IoUring,
    device: File,
    descriptors: Descriptors,
    buffers: Buffers,
    host: Host,
    backing: Arc<Backing>,
    transfers: Transfers,
    tags: Vec<Tag>,
    stands: Vec<Stand>,
    sectors: Vec<u32>,
    arrived: Vec<Io>,
    /// Completions from the kernel: number and result.
    heard: Vec<(u64, i32)>,
    /// Requests handed out in this round.
    begun: Vec<RequestId>,
    answers: Vec<Answer>,
    epoch: u64,
    spent: Arc<Spent>,
}

impl Queue {
    /// The queue of the opened character device. One thread must make and serve it, because the kernel accepts
    /// a tag only from the thread that fetched it.
    ///
    /// # Errors
    /// No memory or no io_uring.
    pub fn new(
        device: File,
        tags: u16,
        depth: u32,
        host: Host,
        backing: Arc<Backing>,
        spent: Arc<Spent>,
    ) -> io::Result<Queue> {
        let count = usize::from(tags);
        let entries = (2 * (u32::from(tags) + depth)).next_power_of_two().max(64);
        Ok(Queue {
            descriptors: Descriptors::new(&device, tags)?,
            buffers: Buffers::new(count, bytes(SECTORS_MAX))?,
            ring: ring(entries)?,
            device,
            host,
            backing,
            transfers: Transfers::default(),
            tags: vec![Tag::default(); count],
            stands: vec![Stand::Fetching; count],
            sectors: vec![0; count],
            arrived: Vec::with_capacity(count),
            heard: Vec::with_capacity(2 * count),
            begun: Vec::with_capacity(count),
            answers: Vec::with_capacity(count),
            epoch: monotonic_ns(),
            spent,
        })
    }

    /// Serves until the device is removed. Sends on `ready` once it can take requests.
    ///
    /// # Errors
    /// An error of io_uring itself. Errors of the backing are returned to the requests.
    pub fn serve(mut self, ready: &mpsc::Sender<()>) -> io::Result<()> {
        self.spent.thread.store(goodness_sys::thread_id() as u64, Ordering::Relaxed);
        for tag in 0..self.tags.len() {
            self.command(tag, abi::FETCH, 0)?;
        }
        self.ring.submit()?;
        // There may be no listener; then the message does not matter.
        let _ = ready.send(());
        while self.stands.iter().any(|stand| *stand != Stand::Gone) || self.host.unfinished() > 0 {
            self.wait()?;
            self.round()?;
        }
        self.spent.cpu_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        self.spent.thread.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn now(&self) -> Time {
        Time(monotonic_ns() - self.epoch)
    }

    /// Submits prepared entries and waits for a completion or an elevator timer.
    fn wait(&mut self) -> io::Result<()> {
        let result = match self.host.next_event() {
            None => self.ring.submit_and_wait(1),
            Some(at) => {
                let remaining = at.since(self.now().min(at)).ns();
                let remaining =
                    types::Timespec::new().sec(remaining / 1_000_000_000).nsec((remaining % 1_000_000_000) as u32);
                self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&remaining))
            }
        };
        match result {
            Err(why) if !matches!(why.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {
                Err(why)
            }
            _ => Ok(()),
        }
    }

    /// Handles the completions, runs the elevator and prepares the next entries.
    fn round(&mut self) -> io::Result<()> {
        let mut heard = std::mem::take(&mut self.heard);
        heard.extend(self.ring.completion().map(|answer| (answer.user_data(), answer.result())));
        let before = monotonic_ns();
        for (number, result) in heard.drain(..) {
            match number & !u64::from(u32::MAX) {
                OF_TAG => self.tag_heard(number as u32 as usize, result)?,
                _ => self.request_heard(RequestId(number as u32), result)?,
            }
        }
        self.heard = heard;
        let now = self.now();
        if !self.arrived.is_empty() {
            self.host.arrive(now, &self.arrived);
            self.arrived.clear();
        }
        self.host.advance(now);
        let (tags, buffers, transfers, begun) = (&self.tags, &self.buffers, &mut self.transfers, &mut self.begun);
        self.host.hand_out(|transfer| {
            transfers.begin(transfer, tags, buffers);
            begun.push(transfer.request);
        });
        self.answers.extend(self.host.answers());
        self.spent.adapter_ns.fetch_add(monotonic_ns() - before, Ordering::Relaxed);
        while let Some(request) = self.begun.pop() {
            self.submit(request)?;
        }
        self.answer()
    }

    /// Handles the end of a fetch command: a new request, or removal of the device.
    fn tag_heard(&mut self, tag: usize, result: i32) -> io::Result<()> {
        match result {
            0 => {
                self.stands[tag] = Stand::Served;
                let asked = self.descriptors.of(tag);
                match self.read(tag, &asked) {
                    Some(io) => self.arrived.push(io),
                    None => {
                        self.stands[tag] = Stand::Fetching;
                        self.command(tag, abi::COMMIT_AND_FETCH, -libc::EOPNOTSUPP)?;
                    }
                }
            }
            abi::ABORTED => self.stands[tag] = Stand::Gone,
            // The kernel takes no more commands for the tag. This server ends, so that another can serve its request.
            error => return Err(io::Error::from_raw_os_error(error.abs())),
        }
        Ok(())
    }

    /// Decodes the request of `tag` as an I/O; `None` for an operation we did not offer.
    ///
    /// ublk reports neither the submitting process nor whether a write is waited for. So all I/O has one submitter;
    /// reads and durable writes are synchronous, other writes are not.
    fn read(&mut self, tag: usize, asked: &Descriptor) -> Option<Io> {
        let (sector, sectors, durable) = (asked.sector, asked.sectors, asked.has(abi::IO_FUA));
        self.tags[tag] = Tag { sector, keeps_space: asked.op() == abi::OP_WRITE_ZEROES && asked.has(abi::IO_NOUNMAP) };
        self.sectors[tag] = sectors;
        let io = Io { tag: tag as u64, ..Io::read(Submitter(0), sector, sectors) };
        let io = match asked.op() {
            abi::OP_READ => io,
            abi::OP_WRITE => Io { op: Operation::Write, sync: durable, durable, ..io },
            abi::OP_FLUSH => Io { op: Operation::Flush, sector: 0, sectors: 0, mergeable: false, ..io },
            abi::OP_DISCARD | abi::OP_WRITE_ZEROES => {
                Io { op: Operation::Discard, sync: false, mergeable: false, ..io }
            }
            _ => return None,
        };
        self.spent.flushes.fetch_add(u64::from(io.op == Operation::Flush), Ordering::Relaxed);
        self.spent.durable.fetch_add(u64::from(io.durable), Ordering::Relaxed);
        io.fits(self.backing.sectors).then_some(io)
    }

    /// A transfer has moved something.
    fn request_heard(&mut self, request: RequestId, result: i32) -> io::Result<()> {
        match self.transfers.step(request, result) {
            Step::Again => self.submit(request),
            Step::Over(result) => {
                self.host.complete(request, result);
                Ok(())
            }
        }
    }

    /// Commits the completions to the kernel, which frees their tags.
    fn answer(&mut self) -> io::Result<()> {
        while let Some(answer) = self.answers.pop() {
            let tag = answer.tag as usize;
            self.stands[tag] = Stand::Fetching;
            let result = answer.result.map_or_else(|error| -error, |()| bytes(self.sectors[tag]) as i32);
            self.command(tag, abi::COMMIT_AND_FETCH, result)?;
        }
        Ok(())
    }

    /// Prepares a command of `tag`.
    fn command(&mut self, tag: usize, number: u32, result: i32) -> io::Result<()> {
        let address = self.buffers.address(tag, 0, bytes(SECTORS_MAX)) as u64;
        let body = QueueBody { queue: 0, tag: tag as u16, result, address };
        let mut command = [0u8; 16];
        // SAFETY: the body is plain memory of 16 bytes without padding.
        unsafe { command.as_mut_ptr().cast::<QueueBody>().write_unaligned(body) };
        let file = types::Fd(self.device.as_raw_fd());
        let entry = opcode::UringCmd16::new(file, number).cmd(command).build();
        self.push(&entry.user_data(OF_TAG | tag as u64))
    }

    /// Prepares the remaining part of a transfer.
    fn submit(&mut self, request: RequestId) -> io::Result<()> {
        let entry = self.transfers.entry(request, self.backing.file.as_raw_fd());
        self.push(&entry.user_data(OF_REQUEST | u64::from(request.0)))
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: an entry points to buffers and lists of memory. They live as long as this queue, which drops the ring
        // first; lists do not change while their transfer is in flight.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }
}

/// Creates a ring that runs kernel completion work only when this thread waits for it (Linux 6.1), if supported.
fn ring(entries: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    let quick = builder.setup_cqsize(2 * entries).setup_single_issuer().setup_defer_taskrun().build(entries);
    quick.or_else(|_| IoUring::builder().setup_cqsize(2 * entries).build(entries))
}

/// Keeps memory allocation in this thread from waiting for disk writes, which could go to its own disk
/// (`PR_SET_IO_FLUSHER`). If the kernel refuses, a machine that runs out of memory may stall.
pub fn write_for_others() {
    /// From `linux/prctl.h`.
    const PR_SET_IO_FLUSHER: i32 = 57;
    let none: libc::c_ulong = 0;
    // SAFETY: no pointers.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, libc::c_ulong::from(true), none, none, none) };
}

impl Spent {
    /// CPU time of the server's thread so far, in nanoseconds.
    pub fn cpu(&self) -> u64 {
        match self.thread.load(Ordering::Relaxed) {
            0 => self.cpu_ns.load(Ordering::Relaxed),
            thread => {
                let file = format!("/proc/self/task/{thread}/schedstat");
                let text = std::fs::read_to_string(file).unwrap_or_default();
                text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
            }
        }
    }
}

/// Measures from here on; the time is that of the host's events.
pub fn begin_anew(watch: &std::sync::Mutex<super::host::Watch>) {
    let mut watch = lock(watch);
    let (_, now) = watch.window();
    watch.begin_anew(now);
}
