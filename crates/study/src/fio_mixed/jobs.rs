//! The four jobs, each with a fixed number of I/Os in flight.

use goodness_block::{Arrival, Outcome, Source};
use goodness_core::storage::VolumeId;
use goodness_core::{Io, Rng, Span, Submitter, Time};
use std::collections::VecDeque;

/// One job.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Name in the published numbers.
    pub name: &'static str,
    /// True if it reads.
    pub reads: bool,
    /// Sectors per I/O.
    pub sectors: u32,
    /// I/Os in flight.
    pub depth: u32,
}

/// The jobs of the study.
pub const JOBS: [Job; 4] = [
    Job { name: "reads-1", reads: true, sectors: 8, depth: 1 },
    Job { name: "reads-16", reads: true, sectors: 8, depth: 16 },
    Job { name: "writes-64k", reads: false, sectors: 128, depth: 8 },
    Job { name: "writes-4", reads: false, sectors: 8, depth: 4 },
];

/// CPUs of the measured machines; job n stays on CPU n modulo this.
pub const CPUS: u16 = 2;

/// All jobs running until `until`. Each is one thread: while it sleeps for a free request, it submits nothing.
pub struct Load {
    sectors: u64,
    pause: Span,
    until: Time,
    rng: Rng,
    /// By job: earliest time of each free slot's next I/O, in order.
    free: [VecDeque<Time>; JOBS.len()],
    /// By job: the time from which its thread is free to submit.
    idle: [Time; JOBS.len()],
    /// By job: the piece for which it sleeps.
    asleep: [Option<u64>; JOBS.len()],
    /// By tag: job and submission time.
    asked: Vec<(usize, Time)>,
    /// By job: how long each of its pieces took.
    pub latencies: [Vec<u64>; JOBS.len()],
}

impl Load {
    /// The load on a disk of `sectors` sectors. A job submits its next I/O `pause` after a completion: two system
    /// calls, one of which submits. The jobs start within one pause; if they started together on a device with constant
    /// times, they would stay in step forever.
    pub fn new(sectors: u64, pause: Span, until: Time, mut rng: Rng) -> Load {
        let idle = JOBS.map(|_| Time(rng.below(pause.0.max(1))));
        Load {
            sectors,
            pause,
            until,
            rng,
            free: JOBS.map(|about| VecDeque::from(vec![Time::ZERO; about.depth as usize])),
            idle,
            asleep: Default::default(),
            asked: Vec::new(),
            latencies: Default::default(),
        }
    }

    /// Time a job needs to submit an I/O.
    fn call(&self) -> Span {
        Span(self.pause.0 / 2)
    }

    /// Next submission: time and job.
    fn next(&self) -> Option<(Time, usize)> {
        let awake = (0..JOBS.len()).filter(|job| self.asleep[*job].is_none());
        awake.filter_map(|job| Some(((*self.free[job].front()?).max(self.idle[job]), job))).min()
    }
}

impl Source for Load {
    fn next_arrival(&self) -> Time {
        self.next().map_or(Time::NEVER, |(at, _)| at)
    }

    fn arrive(&mut self, now: Time, ios: &mut Vec<Io>) -> Arrival {
        if let Some((_, job)) = self.next() {
            self.free[job].pop_front();
            self.idle[job] = now + self.call();
            let (about, submitter) = (JOBS[job], Submitter(job as u32));
            let sector = self.rng.below(self.sectors / u64::from(about.sectors)) * u64::from(about.sectors);
            let io = if about.reads {
                Io::read(submitter, sector, about.sectors)
            } else {
                Io::sync_write(submitter, sector, about.sectors)
            };
            ios.push(Io { tag: self.asked.len() as u64, cpu: job as u16 % CPUS, ..io });
            self.asked.push((job, now));
        }
        Arrival { volume: VolumeId(0), waits: true }
    }

    fn told(&mut self, now: Time, outcome: Outcome) {
        match outcome {
            Outcome::Waiting { tag } => self.asleep[self.asked[tag as usize].0] = Some(tag),
            Outcome::Admitted { tag } => {
                let job = self.asked[tag as usize].0;
                self.asleep[job] = None;
                self.idle[job] = now + self.call();
            }
            Outcome::Done { tag } => {
                let (job, asked) = self.asked[tag as usize];
                self.latencies[job].push(now.since(asked).0);
                if now < self.until {
                    self.free[job].push_back(now + self.pause);
                }
            }
        }
    }
}
