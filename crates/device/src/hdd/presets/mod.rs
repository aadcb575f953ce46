//! Drives by name. Four are published and measured, the others are built by a scaling rule from data-sheet values.

pub mod atlas_10k;
pub mod cheetah_4lp;
pub mod cheetah_9lp;
pub mod ibm_18es;
pub mod scaled;

use super::Hdd;
use super::geometry::{Order, Zone};
use super::parameters::{Overhead, Parameters, ReadAhead, Settings};
use super::queue::Policy;
use super::seek::Curve;
use crate::registry::{DeviceKind, read};
use goodness_core::{Device, Span, Tunable, Tunables};

/// Parameters common to the drive files of the four published drives.
struct Published {
    zones: &'static [(u32, u32, u32, u32, u32, u32)],
    /// Unused sectors at the start of the first zone.
    unused_front: u32,
    seeks: &'static [(u32, u32)],
    /// Knee, a, b, c, e of the fit in section 11.3.
    two_formulas: (u32, f64, f64, f64, f64),
    head_switch_us: u64,
    write_settle_us: u64,
    bus_us: u64,
}

impl Published {
    fn parameters(&self) -> Parameters {
        let zone = |(number, z): (usize, &(u32, u32, u32, u32, u32, u32))| Zone {
            first: z.0,
            last: z.1,
            sectors: z.2,
            track_skew: z.3,
            cylinder_skew: z.4,
            unused_front: if number == 0 { self.unused_front } else { 0 },
            spares: z.5,
        };
        let (knee, a, b, c, e) = self.two_formulas;
        Parameters {
            heads: 1,
            order: Order::CylinderFirst,
            zones: self.zones.iter().enumerate().map(zone).collect(),
            sectors: u64::MAX,
            revolution_ps: 0,
            curve: Curve::Table(self.seeks.to_vec()),
            head_switch: Span::from_us(self.head_switch_us),
            write_settle: Span::from_us(self.write_settle_us),
            bus: Span::from_us(self.bus_us),
            read_hit: Overhead::default(),
            read_miss: Overhead::default(),
            write_hit: Overhead::default(),
            write_miss: Overhead::default(),
            segments: 0,
            segment_sectors: 0,
            read_ahead: ReadAhead::None,
            free_blocks: false,
            zero_latency: false,
            near_hits: false,
            write_extents: 0,
            hits_on_writes: true,
            preseek: false,
            depth: 1,
            policy: Policy::Fcfs,
            age_limit: Span::from_s(1),
            sectors_max: 1024,
            two_formulas: Some(Curve::RuemmlerWilkes { knee, a, b, c, e }),
        }
    }
}

fn tunables(parameters: &Parameters) -> Vec<Tunable> {
    let values = parameters.values().values();
    let mut spec = Settings::spec().to_vec();
    for (tunable, (_, value)) in spec.iter_mut().zip(values) {
        tunable.default = value;
    }
    spec
}

fn make(parameters: Parameters, settings: &[(String, String)]) -> Result<Box<dyn Device>, String> {
    Ok(Box::new(Hdd::new(parameters.with(&read(settings)?)?)))
}

const DISKSIM: &str = "drive files of DiskSim 4.0, extracted from the drive; specs/io-schedulers.md section 11.2";

/// Quantum Atlas 10K.
pub(crate) const ATLAS_10K: DeviceKind = DeviceKind {
    name: "atlas-10k",
    summary: "Quantum Atlas 10K, 9 GB, 10 025 rpm, 1999, measured.",
    source: DISKSIM,
    tunables: || tunables(&atlas_10k::parameters()),
    make: |settings, _| make(atlas_10k::parameters(), settings),
};

/// Seagate Cheetah 4LP.
pub(crate) const CHEETAH_4LP: DeviceKind = DeviceKind {
    name: "cheetah-4lp",
    summary: "Seagate Cheetah 4LP, 4.5 GB, 10 033 rpm, 1997, measured.",
    source: DISKSIM,
    tunables: || tunables(&cheetah_4lp::parameters()),
    make: |settings, _| make(cheetah_4lp::parameters(), settings),
};

/// Seagate Cheetah 9LP.
pub(crate) const CHEETAH_9LP: DeviceKind = DeviceKind {
    name: "cheetah-9lp",
    summary: "Seagate Cheetah 9LP, 9 GB, 10 045 rpm, 1998, measured.",
    source: DISKSIM,
    tunables: || tunables(&cheetah_9lp::parameters()),
    make: |settings, _| make(cheetah_9lp::parameters(), settings),
};

/// IBM Ultrastar 18ES.
pub(crate) const IBM_18ES: DeviceKind = DeviceKind {
    name: "ibm-18es",
    summary: "IBM Ultrastar 18ES, 9 GB, 7200 rpm, 1999, measured.",
    source: DISKSIM,
    tunables: || tunables(&ibm_18es::parameters()),
    make: |settings, _| make(ibm_18es::parameters(), settings),
};

/// 7200 rpm, 4 TB.
pub(crate) const SATA_7200_4TB: DeviceKind = DeviceKind {
    name: "sata-7200-4tb",
    summary: "A present-day 7200 rpm SATA disk of 4 TB.",
    source: "data-sheet values from memory, scaled by specs/io-schedulers.md section 11.5; not measured",
    tunables: || tunables(&scaled::SATA_7200_4TB.parameters()),
    make: |settings, _| make(scaled::SATA_7200_4TB.parameters(), settings),
};

/// 10 000 rpm, 36 GB.
pub(crate) const SCSI_10K_36GB: DeviceKind = DeviceKind {
    name: "scsi-10k-36gb",
    summary: "An Ultra320 SCSI disk of 36 GB at 10 000 rpm, 2002 to 2005.",
    source: "data-sheet values from memory, scaled by specs/io-schedulers.md section 11.5; not measured",
    tunables: || tunables(&scaled::SCSI_10K_36GB.parameters()),
    make: |settings, _| make(scaled::SCSI_10K_36GB.parameters(), settings),
};

/// 15 000 rpm, 36 GB.
pub(crate) const SCSI_15K_36GB: DeviceKind = DeviceKind {
    name: "scsi-15k-36gb",
    summary: "An Ultra320 SCSI disk of 36 GB at 15 000 rpm, 2002 to 2005.",
    source: "data-sheet values from memory, scaled by specs/io-schedulers.md section 11.5; not measured",
    tunables: || tunables(&scaled::SCSI_15K_36GB.parameters()),
    make: |settings, _| make(scaled::SCSI_15K_36GB.parameters(), settings),
};
