//! Drives that were not measured. Their seek curve is the Cheetah 9LP's, scaled by the ratio of the mean seeks;
//! rotation and sustained rates give the sectors per track (rule of specs/io-schedulers.md section 11.5). The
//! data-sheet values are from memory; the specs mark them as to be confirmed with the product manuals.

use super::cheetah_9lp;
use crate::hdd::geometry::{Order, Zone};
use crate::hdd::parameters::{Overhead, Parameters, ReadAhead, revolution_ps};
use crate::hdd::queue::Policy;
use crate::hdd::seek::{Curve, SeekTimes, smooth};
use goodness_core::{SECTOR_BYTES, Span};

/// Values of a data sheet.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// Revolutions per minute.
    pub rpm: u64,
    /// Surfaces.
    pub heads: u32,
    /// Capacity in sectors.
    pub sectors: u64,
    /// Mean seek before a read, microseconds.
    pub seek_us: u64,
    /// Extra seek time before a write, microseconds.
    pub write_us: u64,
    /// Time to select another head, microseconds.
    pub head_switch_us: u64,
    /// Sustained rate of the outermost and innermost zone, bytes a second.
    pub rates: (u64, u64),
    /// Time of a sector on the bus, nanoseconds.
    pub bus_ns: u64,
    /// Read segments and their sectors.
    pub segments: (u32, u32),
    /// Writes that may complete early.
    pub write_extents: u32,
    /// Queue depth.
    pub depth: u32,
    /// Largest transfer in sectors.
    pub sectors_max: u32,
}

/// 10 000 rpm, one disc, buffer of 8 MB with 6877 KiB of cache. Ultra320: 1.6 us per sector. Servers of the time ran
/// such drives with the write cache off.
pub const SCSI_10K_36GB: Sheet = Sheet {
    rpm: 10_000,
    heads: 2,
    sectors: 71_687_372,
    seek_us: 4_700,
    write_us: 600,
    head_switch_us: 400,
    rates: (70_000_000, 38_000_000),
    bus_ns: 1_600,
    segments: (16, 859),
    write_extents: 0,
    depth: 64,
    sectors_max: 1024,
};

/// 15 000 rpm, two discs; buffer and bus as above.
pub const SCSI_15K_36GB: Sheet = Sheet {
    rpm: 15_000,
    heads: 4,
    seek_us: 3_550,
    write_us: 400,
    head_switch_us: 300,
    rates: (95_000_000, 50_000_000),
    ..SCSI_10K_36GB
};

/// 7200 rpm, 4 TB: 32 commands (NCQ), 6 Gbit/s, write cache on.
pub const SATA_7200_4TB: Sheet = Sheet {
    rpm: 7_200,
    heads: 6,
    sectors: 7_814_037_168,
    seek_us: 8_500,
    write_us: 1_000,
    head_switch_us: 800,
    rates: (210_000_000, 100_000_000),
    bus_ns: 930,
    segments: (32, 4096),
    write_extents: 64,
    depth: 32,
    sectors_max: 2560,
};

const ZONES: u64 = 16;
/// Cylinders of the curve that is scaled.
const SHAPE_CYLINDERS: u64 = 6962;

impl Sheet {
    /// The drive.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let shape = cheetah_9lp::parameters();
        let revolution = revolution_ps(self.rpm);
        let zones = self.zones(revolution);
        let cylinders = u64::from(zones.last().map_or(0, |zone| zone.last)) + 1;
        let overhead = |us: u64| Overhead::ns(us * 1000, us * 1000);
        Parameters {
            heads: self.heads,
            order: Order::Serpentine,
            zones,
            sectors: self.sectors,
            revolution_ps: revolution,
            curve: Curve::Table(self.seeks(&shape, cylinders)),
            head_switch: Span::from_us(self.head_switch_us),
            write_settle: Span::from_us(self.write_us),
            bus: Span(self.bus_ns),
            read_hit: overhead(100),
            read_miss: overhead(150),
            write_hit: overhead(100),
            write_miss: overhead(150),
            segments: self.segments.0,
            segment_sectors: self.segments.1,
            read_ahead: ReadAhead::Sectors(self.segments.1),
            free_blocks: false,
            zero_latency: true,
            near_hits: true,
            write_extents: self.write_extents,
            hits_on_writes: true,
            preseek: true,
            depth: self.depth,
            policy: Policy::Sptf,
            age_limit: Span::from_s(1),
            sectors_max: self.sectors_max,
            two_formulas: None,
        }
    }

    /// Time in microseconds that the skew must cover: a move to the next track or cylinder before a write, plus a
    /// tenth.
    fn skew_us(&self) -> u64 {
        (self.shortest_seek_us().max(self.head_switch_us) + self.write_us) * 11 / 10
    }

    /// The scaled curve's shortest seek, microseconds.
    fn shortest_seek_us(&self) -> u64 {
        let shape = cheetah_9lp::parameters();
        let Curve::Table(points) = &shape.curve else { unreachable!("the published drives have tables") };
        let mean = SeekTimes::new(&shape.curve, SHAPE_CYLINDERS as u32).mean();
        points.first().map_or(0, |point| u64::from(point.1) * self.seek_us * 1000 / mean.ns())
    }

    /// Zones of equally many cylinders, from the fast outside to the slow inside. Each track's sectors follow from the
    /// sustained rate, as a track takes one revolution plus the skew.
    fn zones(&self, revolution: u64) -> Vec<Zone> {
        let track_ns = revolution / 1000 + self.skew_us() * 1000;
        let sectors = |rate: u64| rate * track_ns / 1_000_000_000 / SECTOR_BYTES;
        let (outer, inner) = (sectors(self.rates.0), sectors(self.rates.1));
        let of_zone = |zone: u64| outer - (outer - inner) * zone / (ZONES - 1);
        let per_cylinder: u64 = (0..ZONES).map(|zone| of_zone(zone) * u64::from(self.heads)).sum();
        let cylinders = self.sectors.div_ceil(per_cylinder) as u32;
        let zone = |zone: u64| {
            let sectors = of_zone(zone) as u32;
            let skew = (self.skew_us() * 1_000_000 * u64::from(sectors)).div_ceil(revolution) as u32;
            let first = zone as u32 * cylinders;
            let last = first + cylinders - 1;
            Zone { first, last, sectors, track_skew: skew, cylinder_skew: skew, unused_front: 0, spares: 0 }
        };
        (0..ZONES).map(zone).collect()
    }

    /// The published curve without outliers, stretched over `cylinders` and scaled to this mean.
    fn seeks(&self, shape: &Parameters, cylinders: u64) -> Vec<(u32, u32)> {
        let Curve::Table(points) = &shape.curve else { unreachable!("the published drives have tables") };
        let points = smooth(points);
        let mean = SeekTimes::new(&Curve::Table(points.clone()), SHAPE_CYLINDERS as u32).mean();
        let scaled = |(at, point): (usize, &(u32, u32))| {
            let distance = if at == 0 { 1 } else { (u64::from(point.0) * cylinders / SHAPE_CYLINDERS).max(2) };
            (distance as u32, (u64::from(point.1) * self.seek_us * 1000 / mean.ns()) as u32)
        };
        points.iter().enumerate().map(scaled).collect()
    }
}
