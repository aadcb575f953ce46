//! Edits of disks: `disk.service=75%`, it takes three quarters of the time for everything.

use super::apart::Percent;
use super::{matches, wrong};
use crate::refusal::Refusal;
use goodness_core::Workload;
use goodness_core::spelling::suggest;

/// The key.
pub(super) const KEY: &str = "service";

/// Makes the disks that `whom` means faster or slower.
pub(super) fn apply(text: &str, (whom, service): (&str, Percent), work: &mut Workload) -> Result<(), Refusal> {
    let disks = &mut work.storage.disks;
    if disks.is_empty() {
        return Err(wrong(text, "the work has no disks").remedy("files with [[disk]] have, and traces of block I/O"));
    }
    if !disks.iter().any(|disk| matches(whom, &disk.name)) {
        let near = suggest(whom, disks.iter().map(|disk| disk.name.as_str()));
        return Err(wrong(text, &format!("no disk is called \"{whom}\"")).remedy(near));
    }
    for disk in disks.iter_mut().filter(|disk| matches(whom, &disk.name)) {
        disk.service = service.0;
    }
    Ok(())
}
