//! Neither reads nor writes starve on drives with a write cache, under any elevator.

mod common;

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name};
use goodness_core::{Io, Operation, Rng, Seed, Submitter, Time};

const MS: u64 = common::MS;
/// The age limit of `sata-7200-4tb`.
const AGE_LIMIT: u64 = 1000 * MS;

/// Location of a stream's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Sequential,
    Random,
}

/// A stream that keeps this many requests of one kind in flight.
#[derive(Clone, Copy, Debug)]
struct Stream {
    op: Operation,
    pattern: Pattern,
    sectors: u32,
    depth: u64,
}

/// Completed requests of a stream, and the longest wait, including requests in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    done: u64,
    longest: u64,
}

const READS: Stream = Stream { op: Operation::Read, pattern: Pattern::Sequential, sectors: 256, depth: 4 };
const WRITES: Stream = Stream { op: Operation::Write, pattern: Pattern::Random, sectors: 8, depth: 32 };

/// A disk under streams that replace each request as it completes.
struct Loaded {
    disk: Box<dyn Disk>,
    streams: Vec<Stream>,
    next: Vec<u64>,
    /// Stream and time of submission, by tag.
    sent: Vec<(usize, u64)>,
    is_done: Vec<bool>,
    served: Vec<Served>,
    rng: Rng,
    out: Out,
}

impl Loaded {
    fn new(elevator: &str, device: &str, streams: &[Stream]) -> Loaded {
        let device = goodness_device::by_name(device, Seed(1)).expect("a device");
        Loaded {
            disk: by_name(elevator, &QueueOptions::default(), device).expect("a disk"),
            streams: streams.to_vec(),
            next: (0..streams.len() as u64).map(|number| number << 24).collect(),
            sent: Vec::new(),
            is_done: Vec::new(),
            served: vec![Served::default(); streams.len()],
            rng: Seed(5).rng(),
            out: Out::default(),
        }
    }

    fn submit(&mut self, now: u64, number: usize) {
        let Stream { op, pattern, sectors, .. } = self.streams[number];
        let size = u64::from(sectors);
        let sector = match pattern {
            Pattern::Sequential => self.next[number],
            Pattern::Random => self.rng.below(self.disk.facts().sectors / size) * size,
        };
        self.next[number] = sector + size;
        let tag = self.sent.len() as u64;
        let io = Io { op, sync: true, tag, ..Io::read(Submitter(number as u32), sector, sectors) };
        self.sent.push((number, now));
        self.is_done.push(false);
        self.disk.submit(Time(now), &[io], &mut self.out);
        self.disk.unplug(Time(now), &mut self.out);
    }

    /// Submits the successor of each request that is done.
    fn replace(&mut self, now: u64) {
        while !self.out.outcomes.is_empty() {
            let outcomes = std::mem::take(&mut self.out.outcomes);
            for outcome in outcomes {
                let Outcome::Done { tag } = outcome else { continue };
                let (number, since) = self.sent[tag as usize];
                self.is_done[tag as usize] = true;
                let served = &mut self.served[number];
                (served.done, served.longest) = (served.done + 1, served.longest.max(now - since));
                self.submit(now, number);
            }
        }
    }

    fn run(mut self, until: u64) -> Vec<Served> {
        for number in 0..self.streams.len() {
            (0..self.streams[number].depth).for_each(|_| self.submit(0, number));
        }
        self.replace(0);
        while self.disk.next_event().0 <= until {
            let now = self.disk.next_event();
            self.disk.advance(now, &mut self.out);
            self.replace(now.0);
        }
        for ((number, since), _) in self.sent.iter().zip(&self.is_done).filter(|(_, is_done)| !**is_done) {
            let served = &mut self.served[*number];
            served.longest = served.longest.max(until - since);
        }
        self.served
    }
}

#[test]
fn sequential_reads_and_random_writes_both_go_on_beside_a_full_write_cache() {
    for about in goodness_elevators::ALL {
        let served = Loaded::new(about.name, "sata-7200-4tb", &[READS, WRITES]).run(4000 * MS);
        let [reads, writes] = served[..] else { panic!("two streams") };
        assert!(4 * reads.done >= reads.done + writes.done, "{}: {reads:?} beside {writes:?}", about.name);
        assert!(reads.longest.max(writes.longest) < 10 * AGE_LIMIT, "{}: {reads:?} beside {writes:?}", about.name);
    }
}
