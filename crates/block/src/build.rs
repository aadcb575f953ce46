//! A disk behind an elevator named at run time.

use crate::disk::Disk;
use crate::layer::{Queue, QueueOptions};
use goodness_core::registry::suggest;
use goodness_core::tunable::pairs;
use goodness_core::{Device, ElevatorVisitor, RegisteredElevator, Tunables};

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
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    let settings = pairs(settings).map_err(|e| format!("elevator {name}: {e}"))?;
    let build = Build { settings, options, device };
    goodness_io::with_elevator(name, build).unwrap_or_else(|| {
        let names = goodness_io::ALL.iter().map(|about| about.name);
        Err(format!("there is no elevator \"{name}\"; {}", suggest(name, names)))
    })
}

struct Build<'a> {
    settings: Vec<(String, String)>,
    options: &'a QueueOptions,
    device: Box<dyn Device>,
}

impl ElevatorVisitor for Build<'_> {
    type Output = Result<Box<dyn Disk>, String>;

    fn visit<E: RegisteredElevator + 'static>(self) -> Self::Output {
        let made = E::Settings::made(&self.settings);
        let settings = made.map_err(|e| format!("elevator {}: {e}", E::ABOUT.name))?;
        Ok(Box::new(Queue::<E>::new(settings, self.options, self.device)))
    }
}
