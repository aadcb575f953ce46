//! The four jobs, each of which keeps so many pieces of I/O under way.

use goodness_block::{Arrival, Outcome, Source};
use goodness_core::storage::VolumeId;
use goodness_core::{Io, Rng, Span, Submitter, Time};
use std::collections::VecDeque;

/// What a job does.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Name in the published numbers.
    pub name: &'static str,
    /// Whether it reads.
    pub reads: bool,
    /// Sectors of a piece.
    pub sectors: u32,
    /// Pieces under way.
    pub depth: u32,
}

/// The jobs of the study.
pub const JOBS: [Job; 4] = [
    Job { name: "reads-1", reads: true, sectors: 8, depth: 1 },
    Job { name: "reads-16", reads: true, sectors: 8, depth: 16 },
    Job { name: "writes-64k", reads: false, sectors: 128, depth: 8 },
    Job { name: "writes-4", reads: false, sectors: 8, depth: 4 },
];

/// All jobs at work until `until`.
pub struct Load {
    sectors: u64,
    pause: Span,
    until: Time,
    rng: Rng,
    /// Who asks for one more and when; pauses are all alike, so in order.
    due: VecDeque<(Time, usize)>,
    /// By tag: whose it is, and when it was asked for.
    asked: Vec<(usize, Time)>,
    /// By job: how long each of its pieces took.
    pub latencies: [Vec<u64>; JOBS.len()],
}

impl Load {
    /// The load on a disk of `sectors` sectors; a job asks for one more `pause` after one is done.
    pub fn new(sectors: u64, pause: Span, until: Time, rng: Rng) -> Load {
        let all = JOBS.iter().enumerate().flat_map(|(job, about)| (0..about.depth).map(move |_| (Time::ZERO, job)));
        let due = all.collect();
        Load { sectors, pause, until, rng, due, asked: Vec::new(), latencies: Default::default() }
    }
}

impl Source for Load {
    fn next_arrival(&self) -> Time {
        self.due.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn arrive(&mut self, now: Time, ios: &mut Vec<Io>) -> Arrival {
        if let Some((_, job)) = self.due.pop_front() {
            let (about, submitter) = (JOBS[job], Submitter(job as u32));
            let sector = self.rng.below(self.sectors / u64::from(about.sectors)) * u64::from(about.sectors);
            let io = if about.reads {
                Io::read(submitter, sector, about.sectors)
            } else {
                Io::sync_write(submitter, sector, about.sectors)
            };
            ios.push(Io { tag: self.asked.len() as u64, ..io });
            self.asked.push((job, now));
        }
        Arrival { volume: VolumeId(0), waits: true }
    }

    fn told(&mut self, now: Time, outcome: Outcome) {
        let Outcome::Done { tag } = outcome else { return };
        let (job, asked) = self.asked[tag as usize];
        self.latencies[job].push(now.since(asked).0);
        if now < self.until {
            self.due.push_back((now + self.pause, job));
        }
    }
}
