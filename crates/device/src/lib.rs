//! Models of devices. The list below is the registry: command line, contract tests, benchmarks and docs find a device
//! through it.
//!
//! ```
//! use goodness_core::{Device, Seed};
//! let disk = goodness_device::by_name("null:latency=100us,depth=4", Seed(1)).unwrap();
//! assert_eq!(disk.facts().depth, 4);
//! assert!(goodness_device::by_name("nul", Seed(1)).err().unwrap().contains("\"null\""));
//! ```

mod femu;
pub mod flash;
mod null;
mod nvme;
pub mod recorded;
pub mod registry;
mod ssd;

pub use flash::Flash;
pub use null::Null;
pub use recorded::{Recorded, Service};
pub use registry::{DeviceKind, by_name};

/// Every device that can be made by name, in order of name.
pub static DEVICES: &[DeviceKind] = &[femu::KIND, null::KIND, nvme::KIND, ssd::KIND];
