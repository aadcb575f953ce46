//! The I/O of one job in order: operation, offset, size, and earliest time.
//!
//! Departures from fio: a sequential I/O that would cross the end is shortened; the rest of a file behind its last
//! whole block is not used.

use super::io::{FioIo, FioOp, Pause};
use super::job::{Arrivals, Direction, FioJob, Sizes};
use super::region::Region;
use super::verifying::Verifying;
use goodness_core::{Rng, Seed, Span};

/// Random seed without `randseed`: any number would do.
const SEED: Seed = Seed(0x8989);

/// Random number streams of a job.
#[derive(Clone, Debug)]
struct Draws {
    place: Rng,
    direction: Rng,
    size: Rng,
    gap: Rng,
}

impl Draws {
    fn new(job: &FioJob, run: Seed) -> Draws {
        let chance = job.chance;
        let base = |repeats: bool| match chance.seed {
            Some(seed) => Seed(seed),
            None if repeats => SEED,
            None => run,
        };
        let number = u64::from(job.number);
        let other = |name: &str| base(chance.all_repeats).stream(name, number).rng();
        Draws {
            place: base(chance.places_repeat || chance.all_repeats).stream("fio-places", number).rng(),
            direction: other("fio-directions"),
            size: other("fio-sizes"),
            gap: other("fio-gaps"),
        }
    }
}

/// The next step, if it need not be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// The write behind a trim.
    Write {
        file: usize,
        offset: u64,
        bytes: u64,
    },
    Sync(FioOp, usize),
}

/// The I/O of one job. It ends when all is done. A `time_based` job never ends by itself; the caller must enforce
/// `runtime`.
#[derive(Clone, Debug)]
pub struct FioStream {
    job: FioJob,
    regions: Vec<Region>,
    block: u64,
    draws: Draws,
    /// Bytes and I/Os to go; `None` for no end.
    bytes_left: Option<u64>,
    ios_left: Option<u64>,
    turn: usize,
    /// I/Os to come before a random job draws a new place.
    onward: u64,
    pending: [Option<Pending>; 3],
    writes: u64,
    verifying: Verifying,
    /// I/Os since the last pause.
    since_pause: u64,
    /// Bytes and I/Os allowed by the rates so far, and the time of the next one under Poisson arrivals.
    paced: [(u64, u64, Span); 3],
    ended: bool,
}

impl FioStream {
    /// The stream of `job` on files or devices of `bytes` bytes each. `run` is the random seed of the run, for jobs
    /// whose random numbers do not repeat.
    ///
    /// # Errors
    /// The job does not fit onto the files, as a sentence.
    pub fn new(job: &FioJob, bytes: &[u64], run: Seed) -> Result<FioStream, String> {
        if bytes.len() != job.files.len() || bytes.is_empty() {
            return Err(format!(
                "job {}: it has {} files, and {} sizes are given",
                job.name,
                job.files.len(),
                bytes.len()
            ));
        }
        let block = job.block();
        if let Some(replay) = &job.replay
            && let Some(at) = (0..bytes.len()).find(|at| replay.ends[*at] > bytes[*at])
        {
            let (file, end, bytes) = (&replay.files[at], replay.ends[at], bytes[at]);
            return Err(format!(
                "job {}: its log needs {end} bytes of {file}, which has {bytes}; name a larger disk with --device, or \
                 write replay_scale",
                job.name
            ));
        }
        let bytes = if job.replay.is_some() { &[] } else { bytes };
        let regions = bytes.iter().map(|bytes| Region::new(job, block, *bytes)).collect::<Result<Vec<_>, _>>()?;
        let part = |region: &Region| if job.uses_again() { region.size } else { region.len };
        let once = regions.iter().fold(0u64, |sum, region| sum.saturating_add(part(region)));
        let total = job.io_size.map_or(once, |amount| amount.of(once)).saturating_mul(job.loops);
        Ok(FioStream {
            draws: Draws::new(job, run),
            bytes_left: Some(total).filter(|_| !job.time_based),
            ios_left: job.number_ios.filter(|_| !job.time_based).map(|ios| ios.saturating_mul(job.loops)),
            job: job.clone(),
            regions,
            block,
            turn: 0,
            onward: 0,
            pending: [None; 3],
            writes: 0,
            verifying: Verifying::new(job.verify, job.draws_used()),
            since_pause: 0,
            paced: [(0, 0, Span::ZERO); 3],
            ended: false,
        })
    }

    /// The next I/O of the log that the job replays.
    fn logged(&mut self) -> Option<FioIo> {
        let io = *self.job.replay.as_ref()?.ios.get(self.turn)?;
        self.turn += 1;
        let moves = io.bytes > 0;
        Some(FioIo { pause: if moves { self.pause() } else { None }, ..io })
    }

    /// Next file, round robin among the unfinished ones. When all are finished, a new round starts.
    fn file(&mut self) -> usize {
        let count = self.regions.len();
        for step in 0..count {
            let at = (self.turn + step) % count;
            if self.regions[at].moved < self.regions[at].len {
                self.turn = (at + 1) % count;
                return at;
            }
        }
        for region in &mut self.regions {
            if self.job.uses_again() {
                region.moved = 0;
            } else {
                region.begin();
            }
        }
        self.turn = 1 % count;
        0
    }

    /// Direction: 0 read, 1 write, 2 trim.
    fn way(&mut self) -> usize {
        match self.job.pattern.direction {
            Direction::Read => 0,
            Direction::Write => 1,
            Direction::Trim | Direction::TrimWrite => 2,
            Direction::Mixed => usize::from(self.draws.direction.below(100) >= self.job.read_percent.into()),
        }
    }

    fn size(&mut self, way: usize) -> u64 {
        match &self.job.sizes[way] {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range(low, high) => low * self.draws.size.within(1, high / low),
            Sizes::Split(shares) => {
                let sum = shares.iter().map(|share| u64::from(share.weight)).sum();
                let mut drawn = self.draws.size.below(sum);
                let mut found = shares.iter().filter(|share| {
                    let is_it = drawn < u64::from(share.weight);
                    drawn = drawn.saturating_sub(share.weight.into());
                    is_it
                });
                found.next().map_or(self.block, |share| share.bytes)
            }
        }
    }

    /// The next I/O; `None` if the file has no more in this round.
    fn drawn(&mut self) -> Option<FioIo> {
        let (file, way) = (self.file(), self.way());
        let skip = self.job.pattern.number;
        if !self.job.pattern.random && self.regions[file].is_at_end(way, skip) {
            self.end_round(file);
            return None;
        }
        let wanted = self.size(way);
        let (at, bytes) = if self.job.pattern.random {
            self.random(file, way, wanted)
        } else {
            self.regions[file].sequential(way, wanted, self.block, skip)
        };
        self.regions[file].moved = self.regions[file].moved.saturating_add(bytes);
        self.bytes_left = self.bytes_left.map(|left| left.saturating_sub(bytes));
        let offset = self.regions[file].start + at;
        if self.job.pattern.direction == Direction::TrimWrite {
            self.pending[0] = Some(Pending::Write { file, offset, bytes });
        }
        Some(self.done(way, file, offset, bytes))
    }

    /// Counts an I/O of a random job; true if it has a new place. As in fio, those of all files and directions count
    /// for `:N`, and the write behind a trim does.
    fn is_new(&mut self) -> bool {
        let is_new = self.onward == 0;
        self.onward = if is_new { self.job.pattern.number.max(1) as u64 - 1 } else { self.onward - 1 };
        is_new
    }

    /// Offset and size of an I/O of a random job.
    fn random(&mut self, file: usize, way: usize, wanted: u64) -> (u64, u64) {
        let is_new = self.is_new();
        let percent = u64::from(self.job.onward.new_percent[way]);
        let goes_on = if is_new {
            (percent < 100 && self.draws.place.below(100) >= percent).then_some(false)
        } else {
            Some(self.job.onward.repeats)
        };
        let region = &mut self.regions[file];
        let onward = goes_on.and_then(|repeats| region.onward(way, wanted, self.block, repeats));
        onward.unwrap_or_else(|| region.random(way, wanted, self.block, &mut self.draws.place))
    }

    /// All is written: as in fio, no I/O is under way when reading begins.
    fn verify_all(&mut self) -> Option<FioIo> {
        if self.verifying.end() {
            return Some(FioIo::bare(FioOp::Drain, 0));
        }
        self.read_again()
    }

    /// The next read of what was written, if it is time for one.
    fn read_again(&mut self) -> Option<FioIo> {
        let (file, offset, bytes) = self.verifying.next()?;
        Some(FioIo { op: FioOp::Read, file: file as usize, offset, bytes, due: None, pause: None })
    }

    /// True if all that the files hold was written, and is to be read again before the next round. As in fio, no round
    /// of a job whose places may repeat ends before the last.
    fn is_round_over(&self) -> bool {
        let has_rounds = self.job.time_based || !self.verifying.is_sorted();
        self.job.verify.is_some() && has_rounds && self.regions.iter().all(|region| region.moved >= region.len)
    }

    /// The round of `file` ends early: gaps have led past its last bytes.
    fn end_round(&mut self, file: usize) {
        let region = &mut self.regions[file];
        let left = region.len.saturating_sub(region.moved);
        self.bytes_left = self.bytes_left.map(|bytes| bytes.saturating_sub(left));
        region.moved = region.len;
    }

    /// Builds an I/O with its due time, and updates the state that depends on it.
    fn done(&mut self, way: usize, file: usize, offset: u64, bytes: u64) -> FioIo {
        if way == 1 {
            self.writes += 1;
            if self.job.verify.is_some() {
                self.verifying.wrote(file, offset, bytes);
            }
            let due = |every: u64| every > 0 && self.writes.is_multiple_of(every);
            if due(self.job.syncs.fsync) {
                self.pending[1] = Some(Pending::Sync(FioOp::Sync, file));
            }
            if due(self.job.syncs.fdatasync) {
                self.pending[2] = Some(Pending::Sync(FioOp::DataSync, file));
            }
        }
        self.ios_left = self.ios_left.map(|left| left.saturating_sub(1));
        let op = [FioOp::Read, FioOp::Write, FioOp::Trim][way];
        let (due, pause) = (self.due(way, bytes), self.pause());
        FioIo { op, file, offset, bytes, due, pause }
    }

    /// Time at which the rate limits allow it.
    fn due(&mut self, way: usize, bytes: u64) -> Option<Span> {
        let (rate, iops) = (self.job.rate[way], self.job.rate_iops[way]);
        if rate == 0 && iops == 0 {
            return None;
        }
        let span = |count: u64, per_second: u64| match per_second {
            0 => 0,
            n => u64::try_from(u128::from(count) * 1_000_000_000 / u128::from(n)).unwrap_or(u64::MAX),
        };
        let (moved, ios, next) = self.paced[way];
        let mut paced = (moved.saturating_add(bytes), ios + 1, next);
        let due = match self.job.arrivals {
            Arrivals::Linear => Span(span(moved, rate).max(span(ios, iops))),
            Arrivals::Poisson => {
                let mean = span(bytes, rate).max(span(1, iops));
                paced.2 = next + Span(self.draws.gap.exponential(mean));
                next
            }
        };
        self.paced[way] = paced;
        Some(due)
    }

    fn pause(&mut self) -> Option<Pause> {
        let think = self.job.think;
        if think.time == Span::ZERO {
            return None;
        }
        self.since_pause += 1;
        if self.since_pause < think.blocks {
            return None;
        }
        self.since_pause = 0;
        Some(Pause { spin: think.spin, sleep: think.time - think.spin })
    }

    /// The fsync of each file at the end.
    fn last_sync(&mut self) -> Option<FioIo> {
        if !self.ended {
            self.ended = true;
            self.turn = 0;
        }
        let writes = self.job.replay.is_some() || self.job.does()[1];
        if !self.job.syncs.at_end || !writes || self.turn >= self.job.files.len() {
            return None;
        }
        self.turn += 1;
        Some(FioIo::bare(FioOp::Sync, self.turn - 1))
    }
}

impl Iterator for FioStream {
    type Item = FioIo;

    fn next(&mut self) -> Option<FioIo> {
        if self.job.replay.is_some() {
            let logged = if self.ended { None } else { self.logged() };
            return logged.or_else(|| self.last_sync());
        }
        if let Some(pending) = self.pending.iter_mut().find_map(Option::take) {
            return Some(match pending {
                Pending::Write { file, offset, bytes } => {
                    self.is_new();
                    self.done(1, file, offset, bytes)
                }
                Pending::Sync(op, file) => FioIo::bare(op, file),
            });
        }
        if let Some(read) = self.read_again() {
            return Some(read);
        }
        while !self.ended && self.bytes_left != Some(0) && self.ios_left != Some(0) {
            if self.is_round_over()
                && let Some(first) = self.verify_all()
            {
                return Some(first);
            }
            if let Some(io) = self.drawn() {
                return Some(io);
            }
        }
        self.verify_all().or_else(|| self.last_sync())
    }
}
