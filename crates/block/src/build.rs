//! A disk behind an elevator named at run time.

use crate::disk::Disk;
use crate::layer::{Queue, QueueOptions, queue_facts};
use goodness_core::{Device, MadeElevator};

/// A disk of `device` behind the elevator that `text` names: `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
///
/// # Errors
/// A sentence: an unknown name or key (the nearest is named), a value of the wrong kind or out of range.
///
/// ```
/// use goodness_block::{Disk, QueueOptions, by_name};
/// use goodness_core::Seed;
/// let device = || goodness_device::by_name("null", Seed(1)).unwrap();
/// let disk = by_name("noop:merge=last", &QueueOptions::default(), device()).unwrap();
/// assert_eq!(disk.facts().requests, 128);
/// assert!(by_name("nop", &QueueOptions::default(), device()).err().unwrap().contains("\"noop\""));
/// ```
pub fn by_name(text: &str, options: &QueueOptions, device: Box<dyn Device>) -> Result<Box<dyn Disk>, String> {
    by_name_around(text, options, device, |made| made)
}

/// As [`by_name`], behind the elevator that `around` makes of that one.
///
/// # Errors
/// As [`by_name`].
pub fn by_name_around(
    text: &str,
    options: &QueueOptions,
    device: Box<dyn Device>,
    around: impl FnOnce(MadeElevator) -> MadeElevator,
) -> Result<Box<dyn Disk>, String> {
    let (entry, typed) = goodness_elevators::parse(text)?;
    let facts = queue_facts(entry.about.layer, options, &*device);
    let made = (entry.make)(facts, options.requests, &typed, options.seed);
    let made = made.map_err(|why| format!("elevator {}: {why}", entry.about.name))?;
    Ok(Box::new(Queue::new(around(made), options, device)))
}
