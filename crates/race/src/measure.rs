//! Names and units of what a race measures.

use crate::engine::Measured;

/// A measure of a sweep: what is behind its name is the number of connections, threads or contexts.
#[must_use]
pub fn swept(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('_').filter(|(_, end)| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The unit as figures know it.
#[must_use]
pub fn unit(measured: &Measured) -> &'static str {
    if measured.unit == "1" { "ratio" } else { measured.unit }
}
