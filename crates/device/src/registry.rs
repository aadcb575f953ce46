//! Devices by name: `NAME` or `NAME:KEY=VALUE,KEY=VALUE`; and by device file: `PATH.toml`.

use crate::{DEVICES, Fitted, fitted};
use goodness_core::spelling::suggest;
use goodness_core::tunable::pairs;
use goodness_core::{Device, Seed, Tunable, Tunables};

/// Makes a device from settings as typed. The error is a sentence.
pub type Make = fn(&[(String, String)], Seed) -> Result<Box<dyn Device>, String>;

/// A device in the registry: a model, or a model with the parameters of one product (a preset).
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    /// The registered name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Source of the model and its parameters.
    pub source: &'static str,
    /// Tunables, with the defaults of this entry.
    pub tunables: fn() -> Vec<Tunable>,
    /// Makes one from settings as typed.
    pub make: Make,
}

/// The device named by `text`, with the settings after the name, or that of a device file. `seed` drives its random
/// choices.
///
/// # Errors
/// An unknown name or key (the nearest is named), or a value of the wrong kind or out of range, as a sentence. A device
/// file that cannot be read.
pub fn by_name(text: &str, seed: Seed) -> Result<Box<dyn Device>, String> {
    if fitted::is_file(text) {
        return Ok(Box::new(Fitted::new(fitted::read(text)?, seed)?));
    }
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    if fitted::is_file(name) {
        return Err(format!("{name} is a device file and takes no settings; leave out \":{settings}\""));
    }
    let kind = kind(name.trim())?;
    let settings = pairs(settings).map_err(|e| format!("device {}: {e}", kind.name))?;
    (kind.make)(&settings, seed).map_err(|e| format!("device {}: {e}", kind.name))
}

/// The registered device called `name`.
///
/// # Errors
/// A sentence that names the nearest.
pub fn kind(name: &str) -> Result<&'static DeviceKind, String> {
    DEVICES.iter().find(|kind| kind.name == name).ok_or_else(|| {
        format!("there is no device \"{name}\"; {}", suggest(name, DEVICES.iter().map(|kind| kind.name)))
    })
}

/// The defaults of `S` overridden by `settings`, as typed.
///
/// # Errors
/// The first invalid setting, as a sentence.
pub fn read<S: Tunables>(settings: &[(String, String)]) -> Result<S, String> {
    S::made(settings).map_err(|e| e.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique_and_every_device_is_made_with_its_defaults() {
        assert!(DEVICES.is_sorted_by(|a, b| a.name < b.name));
        for kind in DEVICES {
            let facts = by_name(kind.name, Seed(1)).unwrap().facts();
            assert!(facts.sectors > 0 && facts.depth > 0 && facts.queues > 0 && facts.sectors_max > 0, "{}", kind.name);
            assert!(kind.summary.ends_with('.') && !kind.source.is_empty(), "{}", kind.name);
            for tunable in (kind.tunables)() {
                if tunable.default != "auto" && !tunable.default.is_empty() {
                    let text = format!("{}:{}={}", kind.name, tunable.name, tunable.default);
                    assert!(by_name(&text, Seed(1)).is_ok(), "the default in {text} cannot be typed");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_made_is_one_sentence_with_the_remedy() {
        let error = |text| by_name(text, Seed(1)).err().unwrap();
        assert!(error("nul").contains("the nearest is \"null\""));
        assert!(error("null:latensy=1ms").contains("the nearest is \"latency\""));
        assert!(error("null:latency=1").contains("device null") && error("null:latency=1").contains("no unit"));
        assert!(error("null:depth").contains("KEY=VALUE"));
        assert!(error("null:depth=0").contains("outside 1"));
        assert!(error("null:depth=1,depth=2").contains("twice"));
        assert!(error("disk.toml:depth=1").contains("disk.toml is a device file and takes no settings"));
    }
}
