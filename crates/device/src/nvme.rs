//! nvme: the flash model with the parameters of [`Settings::nvme`], which names their sources.

use crate::flash::{Settings, make, tunables};
use crate::registry::DeviceKind;

/// The registry's entry.
pub(crate) const KIND: DeviceKind = DeviceKind {
    name: "nvme",
    summary: "A PCIe flash drive with several hardware queues.",
    source: "NVMeVirt, profile \"Samsung 970 Pro\"; specs section 12",
    tunables: || tunables(&Settings::nvme()),
    make: |typed, seed| make(Settings::nvme(), typed, seed),
};
