//! femu: the flash model with the parameters of [`Settings::femu`], which names their sources.

use crate::flash::{Settings, make, tunables};
use crate::registry::DeviceKind;

/// The registry's entry.
pub(crate) const KIND: DeviceKind = DeviceKind {
    name: "femu",
    summary: "A flash drive as FEMU emulates one: no write buffer, no cost but that of flash.",
    source: "FEMU, black-box mode; specs section 12",
    tunables: || tunables(&Settings::femu()),
    make: |typed, seed| make(Settings::femu(), typed, seed),
};
