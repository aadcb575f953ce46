//! Parameters of a drive, and the settings that can change them.

use super::geometry::{Order, Zone};
use super::mechanics::Mechanics;
use super::queue::Policy;
use super::seek::{Curve, smooth};
use goodness_core::Span;

/// Command overhead after a read and after a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Overhead after a read.
    pub after_read: Span,
    /// Overhead after a write.
    pub after_write: Span,
}

impl Overhead {
    /// From nanoseconds.
    #[must_use]
    pub const fn ns(after_read: u64, after_write: u64) -> Overhead {
        Overhead { after_read: Span(after_read), after_write: Span(after_write) }
    }
}

/// Extent of idle read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// This many sectors past the request, at most a segment.
    Sectors(u32),
    /// To the end of the track that follows the request; one track more if the segment began before that track.
    Track,
}

/// A drive.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Surfaces.
    pub heads: u32,
    /// Order of surfaces.
    pub order: Order,
    /// Zones from the outside in.
    pub zones: Vec<Zone>,
    /// Capacity in sectors, if less than the zones hold.
    pub sectors: u64,
    /// Picoseconds of a revolution.
    pub revolution_ps: u64,
    /// Seek curve.
    pub curve: Curve,
    /// Time to select another head.
    pub head_switch: Span,
    /// Additional time before a write if the arm moved or the head changed.
    pub write_settle: Span,
    /// Time of a sector on the bus.
    pub bus: Span,
    /// From a read's arrival to its first sector on the bus, when it is in the buffer.
    pub read_hit: Overhead,
    /// From a read's arrival to the arm's start, otherwise.
    pub read_miss: Overhead,
    /// From a write's arrival to its first sector on the bus, when it may complete early.
    pub write_hit: Overhead,
    /// The same when it may not.
    pub write_miss: Overhead,
    /// Read segments; 0 for no cache.
    pub segments: u32,
    /// Sectors of a segment.
    pub segment_sectors: u32,
    /// Extent of read-ahead.
    pub read_ahead: ReadAhead,
    /// True if it keeps sectors that pass before the request on its track.
    pub free_blocks: bool,
    /// True if an access starts at any sector of the request (zero-latency access).
    pub zero_latency: bool,
    /// Counts a read as a hit if its first sector is the next to pass, so that sequential reading does not stop.
    pub near_hits: bool,
    /// Write extents that may wait in the buffer after completion; 0: every write waits for the media.
    pub write_extents: u32,
    /// True if reads are served from written data.
    pub hits_on_writes: bool,
    /// True if the arm may leave for the next command during the last bus transfer.
    pub preseek: bool,
    /// Queue depth.
    pub depth: u32,
    /// Order in which it serves them.
    pub policy: Policy,
    /// Age from which every second command served is the oldest.
    pub age_limit: Span,
    /// Largest transfer, in sectors.
    pub sectors_max: u32,
    /// Published fit of the seek curve by two formulas, if any.
    pub two_formulas: Option<Curve>,
}

/// Picoseconds of a revolution at `rpm`.
#[must_use]
pub const fn revolution_ps(rpm: u64) -> u64 {
    (60_000_000_000_000 + rpm / 2) / rpm
}

goodness_core::choices! {
    /// Seek curve: the preset's table (`table`), the table without outliers (`smooth`), the two formulas of Ruemmler
    /// and Wilkes, or Lee's three points from the table.
    pub enum CurveKind { Table = "table", Smooth = "smooth", RuemmlerWilkes = "ruemmler-wilkes", Lee = "lee" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Keep read data in the buffer; without it there is no read-ahead either.
        cache: Option<bool> = None;
        /// Complete writes when they are in the buffer.
        write_cache: Option<bool> = None;
        /// Read ahead while idle.
        read_ahead: Option<bool> = None;
        /// Keep sectors that pass before a request on its track.
        free_blocks: Option<bool> = None;
        /// Start an access at any sector of the request (zero-latency access).
        zero_latency: Option<bool> = None;
        /// Count a read as a hit if its first sector is the next to pass.
        near_hits: Option<bool> = None;
        /// Let the arm leave during the last bus transfer.
        preseek: Option<bool> = None;
        /// Queue depth.
        depth: Option<u64> = None, in 1 => 4096;
        /// Order in which it serves them.
        policy: Option<Policy> = None;
        /// Age from which every second command served is the oldest.
        age_limit: Option<Span> = None, in Span::ZERO => Span::from_s(3600);
        /// Seek curve.
        seek: CurveKind = CurveKind::Table;
        /// Time of a sector on the bus.
        bus: Option<Span> = None, in Span::ZERO => Span::from_ms(10);
        /// Time more before a write, whenever arm or head changed.
        write_settle: Option<Span> = None, in Span::ZERO => Span::from_ms(100);
    }
}

impl Parameters {
    /// With `settings` applied.
    ///
    /// # Errors
    /// A sentence when the drive has no such seek curve, or for read-ahead without a cache.
    pub fn with(mut self, settings: &Settings) -> Result<Parameters, String> {
        self.curve = self.curve_of(settings.seek)?;
        if settings.cache == Some(false) {
            (self.segments, self.read_ahead) = (0, ReadAhead::None);
        }
        if settings.read_ahead == Some(true) && self.segments == 0 {
            return Err("read_ahead=on needs a cache to read into; write cache=on, or leave it out".into());
        }
        match settings.write_cache {
            Some(false) => self.write_extents = 0,
            Some(true) if self.write_extents == 0 => self.write_extents = 32,
            _ => {}
        }
        match settings.read_ahead {
            Some(false) => self.read_ahead = ReadAhead::None,
            Some(true) if self.read_ahead == ReadAhead::None => {
                self.read_ahead = ReadAhead::Sectors(self.segment_sectors)
            }
            _ => {}
        }
        self.free_blocks = settings.free_blocks.unwrap_or(self.free_blocks) && self.segments > 0;
        self.zero_latency = settings.zero_latency.unwrap_or(self.zero_latency);
        self.near_hits = settings.near_hits.unwrap_or(self.near_hits);
        self.preseek = settings.preseek.unwrap_or(self.preseek);
        self.depth = settings.depth.map_or(self.depth, |depth| depth as u32);
        self.policy = settings.policy.unwrap_or(self.policy);
        self.age_limit = settings.age_limit.unwrap_or(self.age_limit);
        self.bus = settings.bus.unwrap_or(self.bus);
        self.write_settle = settings.write_settle.unwrap_or(self.write_settle);
        Ok(self)
    }

    /// Time to serve a full queue of the largest commands, each at the other end of the disk. Early writes wait beside
    /// the queue; a quarter of them is enough for a limit of which flushes may take several.
    pub(super) fn full_queue(&self, mechanics: &Mechanics) -> Span {
        let seek =
            mechanics.seeks.ns(mechanics.geometry.cylinders() - 1) + self.head_switch.ns() + self.write_settle.ns();
        let slots = self.zones.iter().map(|zone| zone.sectors).min().unwrap_or(1).max(1);
        let turns = 2 + u64::from(self.sectors_max.div_ceil(slots));
        let bus = self.bus.ns() * u64::from(self.sectors_max);
        let access = seek + turns * (self.revolution_ps / 1000) + bus;
        let commands = self.depth.max(self.write_extents.div_ceil(4));
        Span(access.saturating_mul(commands.into()))
    }

    /// The value of each `auto` setting for this drive, as it would be typed.
    #[must_use]
    pub fn values(&self) -> Settings {
        Settings {
            cache: Some(self.segments > 0),
            write_cache: Some(self.write_extents > 0),
            read_ahead: Some(self.read_ahead != ReadAhead::None),
            free_blocks: Some(self.free_blocks),
            zero_latency: Some(self.zero_latency),
            near_hits: Some(self.near_hits),
            preseek: Some(self.preseek),
            depth: Some(u64::from(self.depth)),
            policy: Some(self.policy),
            age_limit: Some(self.age_limit),
            seek: CurveKind::Table,
            bus: Some(self.bus),
            write_settle: Some(self.write_settle),
        }
    }

    fn curve_of(&self, kind: CurveKind) -> Result<Curve, String> {
        let Curve::Table(points) = &self.curve else {
            return if kind == CurveKind::Table { Ok(self.curve.clone()) } else { Err("it has no seek table".into()) };
        };
        match kind {
            CurveKind::Table => Ok(self.curve.clone()),
            CurveKind::Smooth => Ok(Curve::Table(smooth(points))),
            CurveKind::RuemmlerWilkes => self.two_formulas.clone().ok_or_else(|| {
                "no fit of two formulas was published for it; write seek=table, seek=smooth or seek=lee".into()
            }),
            CurveKind::Lee => {
                let cylinders = self.zones.last().map_or(2, |zone| zone.last + 1);
                let ms = |us: u32| f64::from(us) / 1000.0;
                let smoothed = smooth(points);
                let mean = super::seek::SeekTimes::new(&Curve::Table(points.clone()), cylinders).mean();
                let ends = smoothed.first().zip(smoothed.last()).ok_or("it has no seek table")?;
                Ok(Curve::ThreePoint { min: ms(ends.0.1), avg: mean.ns() as f64 / 1e6, max: ms(ends.1.1) })
            }
        }
    }
}
