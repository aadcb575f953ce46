//! ssd: the flash model with the parameters of [`Settings::ssd`], which names their sources.

use crate::flash::{Settings, make, tunables};
use crate::registry::DeviceKind;

/// The registry's entry.
pub(crate) const KIND: DeviceKind = DeviceKind {
    name: "ssd",
    summary: "A SATA flash drive: one queue of 32 commands.",
    source: "MQSim, default parameters; specs section 12",
    tunables: || tunables(&Settings::ssd()),
    make: |typed, seed| make(Settings::ssd(), typed, seed),
};
