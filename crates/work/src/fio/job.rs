//! One job with typed options.

use super::distribution::Distribution;
use super::ini::Place;
use super::io::FioOp;
use super::replay::Replay;
use super::units::Amount;
use goodness_core::{IoPriority, Span};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Trims only.
    Trim,
    /// Reads and writes, by `rwmixread`.
    Mixed,
    /// Each block is trimmed, then written.
    TrimWrite,
}

/// `rw`: direction, sequential or random, and the number after the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Direction of the data.
    pub direction: Direction,
    /// Random offsets instead of sequential ones.
    pub random: bool,
    /// Random: sequential I/Os per random offset. Sequential: bytes skipped after each I/O.
    pub number: i64,
}

/// One block size of a job with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Bytes.
    pub bytes: u64,
    /// Weight relative to the sum of all weights.
    pub weight: u32,
}

/// Size of each I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Always the same.
    Fixed(u64),
    /// Even draws between these two, in steps of the smaller.
    Range(u64, u64),
    /// Draws by weight; at least one.
    Split(Vec<Share>),
}

impl Sizes {
    /// The smallest block size; offsets are multiples of it.
    #[must_use]
    pub fn min(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Range(bytes, _) => *bytes,
            Sizes::Split(shares) => shares.iter().map(|share| share.bytes).min().unwrap_or(1),
        }
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) | Sizes::Range(_, bytes) => *bytes,
            Sizes::Split(shares) => shares.iter().map(|share| share.bytes).max().unwrap_or(1),
        }
    }
}

/// Synchronous or asynchronous I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// It waits: read, pread, preadv and the like.
    Sync,
    /// Asynchronous: up to `iodepth` I/Os in flight.
    Async,
}

/// Time at which writes become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Time of the flush.
    Later,
    /// With each write: data and all about the file (O_SYNC).
    Sync,
    /// With each write: the data, and the metadata needed to read it (O_DSYNC).
    DataSync,
}

/// Spacing of I/Os under a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    Linear,
    /// With exponential gaps.
    Poisson,
}

/// I/Os of a random job that have no new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onward {
    /// Share of new places in hundredths, of reads, writes and trims; the other I/Os follow the one before.
    pub new_percent: [u8; 3],
    /// True if the I/Os of `:N` stay at their place; else they go on from there.
    pub repeats: bool,
}

/// Flushes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syncs {
    /// fsync after this many writes; 0 for never.
    pub fsync: u64,
    /// fdatasync after this many writes; 0 for never.
    pub fdatasync: u64,
    /// fsync at the end.
    pub at_end: bool,
}

/// Pauses after I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// Length of the pause; 0 for none.
    pub time: Span,
    /// CPU time in it.
    pub spin: Span,
    /// I/Os between pauses.
    pub blocks: u64,
}

/// Repetition of random numbers in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// `randseed`.
    pub seed: Option<u64>,
    /// Random offsets repeat.
    pub places_repeat: bool,
    /// All other random numbers repeat.
    pub all_repeats: bool,
}

/// One job: one process doing I/O. Clones (`numjobs`) are separate jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioJob {
    /// Its section's name, or `name`.
    pub name: String,
    /// The place of its section.
    pub place: Place,
    /// Index in the list of all jobs, from 0.
    pub number: u32,
    /// Number of the clone of its section, from 0.
    pub clone: u32,
    /// Wave, from 0. Jobs of a wave start when all jobs of the previous wave have ended (`stonewall`).
    pub wave: u32,
    /// Line of the report it belongs to.
    pub group: u32,
    /// Direction and order of the accesses.
    pub pattern: Pattern,
    /// Share of reads of a mixed job, in hundredths.
    pub read_percent: u8,
    /// I/Os of a random job without a new place.
    pub onward: Onward,
    /// Sizes of reads, writes and trims.
    pub sizes: [Sizes; 3],
    /// Files or devices, at least one.
    pub files: Vec<String>,
    /// Size of the files in bytes; `None` for the whole disk.
    pub size: Option<Amount>,
    /// Bytes to transfer, if not the size.
    pub io_size: Option<Amount>,
    /// Number of I/Os after which the job ends.
    pub number_ios: Option<u64>,
    /// Number of passes over all of it.
    pub loops: u64,
    /// Beginning of its part of each file.
    pub offset: Amount,
    /// Offset of each clone relative to the previous one.
    pub offset_increment: Amount,
    /// Synchronous or asynchronous I/O.
    pub engine: Engine,
    /// `iodepth`, without effect where the engine waits for each I/O.
    pub depth: u32,
    /// I/Os per submission.
    pub batch: u32,
    /// Least and largest number of completions per wait.
    pub batch_complete: (u32, u32),
    /// Submit again when the number in flight falls to this.
    pub depth_low: u32,
    /// Past the page cache.
    pub direct: bool,
    /// Time at which writes become durable.
    pub durability: Durability,
    /// Flushes.
    pub syncs: Syncs,
    /// Pauses.
    pub think: Think,
    /// Bytes per second of reads, writes and trims; 0 for no limit.
    pub rate: [u64; 3],
    /// I/Os per second, likewise.
    pub rate_iops: [u64; 3],
    /// Spacing of the I/Os.
    pub arrivals: Arrivals,
    /// I/O priority; `None` to derive it from nice.
    pub priority: Option<IoPriority>,
    /// Time at which it is stopped, from its beginning.
    pub runtime: Option<Span>,
    /// True if it repeats until the end of `runtime`.
    pub time_based: bool,
    /// Part of the beginning that is not measured.
    pub ramp_time: Span,
    /// Time of its beginning within its wave.
    pub start_delay: Span,
    /// Repeatability of random numbers.
    pub chance: Chance,
    /// True if offsets may repeat before all were used.
    pub no_map: bool,
    /// Distribution of random offsets.
    pub distribution: Distribution,
    /// Random offsets are multiples of this; 0 for the smallest size.
    pub align: u64,
    /// Sequential jobs go on behind the gap after so many bytes: the zone, and the gap.
    pub strides: Option<(u64, u64)>,
    /// Written data are read again.
    pub verify: Option<Verify>,
    /// I/Os are submitted by other threads (`io_submit_mode=offload`).
    pub is_offloaded: bool,
    /// The log whose I/O it does in place of its own.
    pub replay: Option<Arc<Replay>>,
    /// Share of the I/Os of its flow.
    pub flow: Option<Flow>,
    /// Jobs that end when it ends.
    pub ends: Ends,
    /// Options by which fio may end it early; here it goes on.
    pub unstopped: BTreeSet<&'static str>,
}

/// When written data are read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// When all is written.
    AtEnd,
    /// After so many writes.
    After(u64),
}

/// Jobs of one flow do I/Os in proportion to their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number of the flow.
    pub id: u64,
    /// Weight.
    pub weight: u64,
    /// Pause of a job that is ahead.
    pub sleep: Span,
}

/// Jobs that end when a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// None.
    Itself,
    /// Those of its wave.
    Wave,
    /// All, of later waves too.
    All,
}

impl FioJob {
    /// A job with fio's defaults.
    #[must_use]
    pub fn new(name: &str, place: Place) -> FioJob {
        FioJob {
            name: name.into(),
            place,
            number: 0,
            clone: 0,
            wave: 0,
            group: 0,
            pattern: Pattern { direction: Direction::Read, random: false, number: 0 },
            read_percent: 50,
            onward: Onward { new_percent: [100; 3], repeats: false },
            sizes: [const { Sizes::Fixed(4096) }; 3],
            files: Vec::new(),
            size: None,
            io_size: None,
            number_ios: None,
            loops: 1,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            engine: Engine::Sync,
            depth: 1,
            batch: 1,
            batch_complete: (1, 1),
            depth_low: 1,
            direct: false,
            durability: Durability::Later,
            syncs: Syncs { fsync: 0, fdatasync: 0, at_end: false },
            think: Think { time: Span::ZERO, spin: Span::ZERO, blocks: 1 },
            rate: [0; 3],
            rate_iops: [0; 3],
            arrivals: Arrivals::Linear,
            priority: None,
            runtime: None,
            time_based: false,
            ramp_time: Span::ZERO,
            start_delay: Span::ZERO,
            chance: Chance { seed: None, places_repeat: true, all_repeats: false },
            no_map: false,
            distribution: Distribution::Uniform,
            align: 0,
            strides: None,
            verify: None,
            is_offloaded: false,
            replay: None,
            flow: None,
            ends: Ends::Itself,
            unstopped: BTreeSet::new(),
        }
    }

    /// Directions used: read, write, trim.
    #[must_use]
    pub const fn does(&self) -> [bool; 3] {
        match self.pattern.direction {
            Direction::Read => [true, false, false],
            Direction::Write => [false, true, false],
            Direction::Trim => [false, false, true],
            Direction::Mixed => [true, true, false],
            Direction::TrimWrite => [false, true, true],
        }
    }

    /// Limit of I/Os in flight.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        match self.engine {
            Engine::Sync => 1,
            Engine::Async => self.depth,
        }
    }

    /// The job does the I/O of a log. As in fio, its own end and its own syncs have no effect then, but for `end_fsync`
    /// where the log writes and does not end with a sync.
    ///
    /// # Errors
    /// It verifies what it writes.
    pub(super) fn does_as_logged(&mut self, replay: Arc<Replay>) -> Result<(), String> {
        if self.verify.is_some() {
            return Err("verify is not honoured with read_iolog; leave one of the two out".into());
        }
        self.files.clone_from(&replay.files);
        self.time_based = false;
        let does = |op: FioOp| replay.ios.iter().any(|io| io.op == op);
        let ends_synced = replay.ios.last().is_some_and(|io| matches!(io.op, FioOp::Sync | FioOp::DataSync));
        self.syncs.at_end &= does(FioOp::Write) && !ends_synced;
        self.replay = Some(replay);
        Ok(())
    }

    /// True if a random job may use a block again before all were used: it ends by its bytes alone.
    pub(super) fn uses_again(&self) -> bool {
        let goes_on = self.pattern.number > 1 || self.onward.new_percent.iter().any(|percent| *percent < 100);
        self.pattern.random && (self.draws_used() || goes_on)
    }

    /// True if each of its I/Os has an earliest time: it ends at the same time under every elevator that keeps up.
    #[must_use]
    pub fn keeps_times(&self) -> bool {
        match &self.replay {
            Some(replay) => replay.ios.iter().any(|io| io.due.is_some()),
            None => self.rate != [0; 3] || self.rate_iops != [0; 3],
        }
    }

    /// True if it is random and draws places that were used before: without the map of used ones.
    #[must_use]
    pub fn draws_used(&self) -> bool {
        self.pattern.random && (self.no_map || self.distribution != Distribution::Uniform)
    }

    /// The smallest block size; random offsets are multiples of it.
    #[must_use]
    pub fn block(&self) -> u64 {
        let used = self.sizes.iter().zip(self.does()).filter(|(_, does)| *does);
        let smallest = used.map(|(sizes, _)| sizes.min()).min().unwrap_or(1);
        if self.pattern.random { smallest.max(self.align) } else { smallest }
    }
}
