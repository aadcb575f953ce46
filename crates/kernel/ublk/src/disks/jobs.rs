//! A load of jobs that each keep a fixed number of I/O operations in flight, like fio jobs.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use goodness_core::{Rng, Seed};

use goodness_sys::aio::{Piece, Ring};

use super::DiskError;

/// I/O operation of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Either, each as likely.
    Both,
}

/// One job: a thread that visits blocks of the disk in random order, each once per pass.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Operation.
    pub what: What,
    /// Bytes of an I/O: a power of two of at least 512.
    pub bytes: u32,
    /// I/Os in flight.
    pub depth: u32,
    /// I/Os submitted in one call, which plugs them together.
    pub batch: u32,
    /// Number of I/Os of the job.
    pub pieces: u64,
    /// Time after which it ends.
    pub time: Duration,
    /// The CPU to pin it to, if any.
    pub cpu: Option<u32>,
}

/// Result of a job.
#[derive(Clone, Debug)]
pub struct Done {
    /// Thread id of the job, as in the trace.
    pub thread: u32,
    /// I/Os completed.
    pub pieces: u64,
    /// From the common start until the last was done.
    pub time: Duration,
    /// Latency from submission to completion, in order of completion.
    pub latencies: Vec<Duration>,
}

/// Runs `jobs` concurrently on the `device` of `bytes` bytes. The same `seed` gives each job the same operations in the
/// same order. The blocks of different jobs do not overlap.
///
/// # Errors
/// The kernel's error.
///
/// # Panics
/// A job has no depth or no batch, or fewer blocks than its depth.
pub fn run(device: &Path, bytes: u64, jobs: &[Job], seed: Seed) -> Result<Vec<Done>, DiskError> {
    let start = Barrier::new(jobs.len());
    let one = |(number, job): (usize, &Job)| {
        let mine = Places::new(job, bytes, (number, jobs.len()), seed.stream("job", number as u64));
        perform(device, job, mine, &start).map_err(|why| DiskError::new(device, "doing I/O", why))
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = jobs.iter().enumerate().map(|job| scope.spawn(move || one(job))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a job does not panic")).collect()
    })
}

/// The positions of a job's I/Os, in order of use.
struct Places {
    order: Vec<u32>,
    next: usize,
    stride: u64,
    first: u64,
    rng: Rng,
}

impl Places {
    fn new(job: &Job, bytes: u64, (number, jobs): (usize, usize), seed: Seed) -> Places {
        let stride = 2 * u64::from(job.bytes) * jobs as u64;
        let count = u32::try_from(bytes / stride).unwrap_or(u32::MAX);
        assert!(count >= job.depth && job.depth > 0 && job.batch > 0, "{job:?} does not fit {bytes} bytes");
        let mut order: Vec<u32> = (0..count).collect();
        let mut rng = seed.rng();
        rng.shuffle(&mut order);
        Places { order, next: 0, stride, first: 2 * u64::from(job.bytes) * number as u64, rng }
    }

    fn piece(&mut self, slot: usize, what: What, bytes: usize) -> Piece {
        let place = self.order[self.next];
        self.next = (self.next + 1) % self.order.len();
        let reads = match what {
            What::Reads => true,
            What::Writes => false,
            What::Both => self.rng.below(2) == 0,
        };
        Piece { slot, at: slot * bytes, bytes, reads, offset: self.first + u64::from(place) * self.stride }
    }
}

/// Time on the clock of the trace.
fn now() -> Duration {
    Duration::from_nanos(goodness_sys::monotonic_ns())
}

fn perform(device: &Path, job: &Job, mut places: Places, start: &Barrier) -> std::io::Result<Done> {
    let depth = job.depth as usize;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(device);
    let ring = opened.and_then(|file| Ok((Ring::new(file.as_raw_fd(), depth, depth * job.bytes as usize)?, file)));
    let pinned = job.cpu.map_or(Ok(()), |cpu| goodness_sys::pin(&[cpu]));
    // A job that fails still lets the others start.
    start.wait();
    pinned?;
    let (mut ring, _file) = ring?;
    let begin = now();
    let mut free: Vec<usize> = (0..depth).collect();
    let mut sent_at = vec![Duration::ZERO; depth];
    let batch = u64::from(job.batch.min(job.depth));
    let (mut sent, mut pieces) = (0, Vec::with_capacity(depth));
    let mut latencies = Vec::new();
    loop {
        let mut goes_on = sent < job.pieces && now() - begin < job.time;
        while goes_on && free.len() as u64 >= batch {
            let count = batch.min(job.pieces - sent);
            pieces.clear();
            pieces.extend(free.drain(..count as usize).map(|slot| places.piece(slot, job.what, job.bytes as usize)));
            let at = now();
            pieces.iter().for_each(|piece| sent_at[piece.slot] = at);
            ring.submit(&pieces)?;
            sent += count;
            goes_on = sent < job.pieces;
        }
        if free.len() == depth {
            return Ok(Done { thread: goodness_sys::thread_id() as u32, pieces: sent, time: now() - begin, latencies });
        }
        ring.wait(usize::MAX, |slot| {
            latencies.push(now() - sent_at[slot]);
            free.push(slot);
        })?;
    }
}
