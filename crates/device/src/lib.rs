//! Models of devices. The list below is the registry: command line, contract tests, benchmarks and docs find a device
//! through it.
//!
//! ```
//! use goodness_core::{Device, Seed};
//! let disk = goodness_device::by_name("null:latency=100us,depth=4", Seed(1)).unwrap();
//! assert_eq!(disk.facts().depth, 4);
//! assert!(goodness_device::by_name("nul", Seed(1)).err().unwrap().contains("\"null\""));
//! ```

mod dilated;
mod femu;
pub mod fitted;
pub mod flash;
pub mod hdd;
mod null;
mod nvme;
pub mod pace;
pub mod recorded;
pub mod registry;
mod ssd;

use hdd::presets;

pub use dilated::Dilated;
pub use fitted::Fitted;
pub use flash::Flash;
pub use hdd::Hdd;
pub use null::Null;
pub use recorded::{Recorded, Service};
pub use registry::{DeviceKind, by_name};

/// Every device that can be made by name, in order of name.
pub static DEVICES: &[DeviceKind] = &[
    presets::ATLAS_10K,
    presets::CHEETAH_4LP,
    presets::CHEETAH_9LP,
    femu::KIND,
    presets::IBM_18ES,
    null::KIND,
    nvme::KIND,
    presets::SATA_7200_4TB,
    presets::SCSI_10K_36GB,
    presets::SCSI_15K_36GB,
    ssd::KIND,
];
