//! Parses a policy or an elevator: `eevdf:kernel=6.12,base_slice=3ms`, `bfq:low_latency=off`.

use crate::own::Own;
use crate::refusal::{Refusal, See};
use goodness_core::spelling::suggest;
use goodness_core::{Machine, MadePolicy, PolicyEntry, Seed, tunable};
use std::fmt;

/// Settings as typed: names and values.
type Settings = Vec<(String, String)>;

/// A registry of named things with tunables.
pub trait Registry: Default {
    /// The kind of its entries: `policy`.
    const ONE: &'static str;
    /// The list of all its entries, or of the settings of one.
    fn see(name: Option<&'static str>) -> See;
    /// The registered names.
    fn names() -> Vec<&'static str>;
    /// All tunables of the registered `name`, with `settings` applied.
    ///
    /// # Errors
    /// The first invalid setting, as a sentence without the name.
    fn values(&self, name: &str, settings: &Settings) -> Result<Vec<(&'static str, String)>, String>;
}

/// The registry of CPU policies, or one of the caller's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(Option<Own>);

/// The registry of elevators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elevators;

/// A registered name with checked settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec<R> {
    /// Registered name.
    pub name: &'static str,
    /// Settings that differ from the defaults, as typed.
    pub settings: Vec<(String, String)>,
    registry: R,
}

/// A policy as typed.
pub type PolicySpec = Spec<Policies>;
/// An elevator as typed.
pub type ElevatorSpec = Spec<Elevators>;

impl<R: Registry> Spec<R> {
    /// Reads and checks what was typed.
    ///
    /// # Errors
    /// Unknown name or tunable (the nearest is named), a value of the wrong kind or out of range.
    pub fn parse(text: &str) -> Result<Spec<R>, Refusal> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let names = R::names();
        let Some(name) = names.iter().find(|known| **known == name) else {
            let near = suggest(name, names);
            return Err(Refusal::usage(format!("there is no {} \"{name}\"", R::ONE)).remedy(near).see(R::see(None)));
        };
        let settings =
            tunable::pairs(rest).map_err(|why| Refusal::usage(why.to_string()).at(format!("{} {name}", R::ONE)))?;
        let spec = Spec { name, settings, registry: R::default() };
        spec.values()?;
        Ok(spec)
    }

    /// Reads and checks several; `all` means every registered one.
    ///
    /// # Errors
    /// As [`Spec::parse`].
    pub fn all(typed: &[String]) -> Result<Vec<Spec<R>>, Refusal> {
        let names = typed.iter().flat_map(|text| match text.as_str() {
            "all" => R::names(),
            one => vec![one],
        });
        names.map(Spec::parse).collect()
    }

    /// All tunables with their effective values.
    ///
    /// # Errors
    /// As [`Spec::parse`].
    pub fn values(&self) -> Result<Vec<(&'static str, String)>, Refusal> {
        self.registry
            .values(self.name, &self.settings)
            .map_err(|why| Refusal::usage(why).at(self.name).see(R::see(Some(self.name))))
    }
}

impl<R: Registry + Clone + PartialEq> Spec<R> {
    /// This one as a change of `recorded`: where both are of one name, the recorded settings stay that it does not
    /// name. Naming the kernel takes that kernel's defaults.
    #[must_use]
    pub fn over(mut self, recorded: &Spec<R>) -> Spec<R> {
        let is_set = |name: &str| self.settings.iter().any(|(set, _)| set == name);
        if self.name == recorded.name && !is_set("kernel") {
            let kept: Settings = recorded.settings.iter().filter(|(name, _)| !is_set(name)).cloned().collect();
            self.settings.splice(0..0, kept);
        }
        self
    }

    /// The opposite of [`Spec::over`]: without the settings that `recorded` has, too.
    pub(crate) fn beside(&self, recorded: &Spec<R>) -> Spec<R> {
        let is_new = |setting: &&(String, String)| !recorded.settings.contains(setting);
        let settings = self.settings.iter().filter(is_new).cloned().collect();
        let short = Spec { settings, ..self.clone() };
        if short.clone().over(recorded) == *self { short } else { self.clone() }
    }
}

impl PolicySpec {
    /// A policy of the caller's own.
    #[must_use]
    pub fn own(policy: Own) -> PolicySpec {
        PolicySpec { name: policy.entry().about.name, settings: Vec::new(), registry: Policies(Some(policy)) }
    }

    /// Its line in the registry.
    ///
    /// # Panics
    /// Never: the name was checked when the specification was read.
    #[must_use]
    pub fn entry(&self) -> &'static PolicyEntry {
        match &self.registry {
            Policies(Some(own)) => own.entry(),
            Policies(None) => goodness_policies::entry(self.name).expect("a checked name is registered"),
        }
    }

    /// The policy for `machine` in a run with `seed`.
    ///
    /// # Panics
    /// Never: the settings were checked when the specification was read.
    #[must_use]
    pub fn make(&self, machine: &Machine, seed: Seed) -> MadePolicy {
        if let Policies(Some(own)) = &self.registry {
            return own.made(machine, seed);
        }
        (self.entry().make)(machine, &self.settings, seed).expect("settings were checked when they were read")
    }
}

impl<R> fmt::Display for Spec<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for (index, (key, value)) in self.settings.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl Registry for Policies {
    const ONE: &'static str = "policy";
    fn see(name: Option<&'static str>) -> See {
        See::Policies(name)
    }
    fn names() -> Vec<&'static str> {
        goodness_policies::ALL.iter().map(|about| about.name).collect()
    }
    fn values(&self, name: &str, settings: &Settings) -> Result<Vec<(&'static str, String)>, String> {
        if let Policies(Some(_)) = self {
            return Ok(Vec::new());
        }
        let entry = goodness_policies::entry(name).expect("a checked name is registered");
        (entry.values)(settings).map_err(|e| e.to_string())
    }
}

impl Registry for Elevators {
    const ONE: &'static str = "elevator";
    fn see(name: Option<&'static str>) -> See {
        See::Elevators(name)
    }
    fn names() -> Vec<&'static str> {
        goodness_elevators::ALL.iter().map(|about| about.name).collect()
    }
    fn values(&self, name: &str, settings: &Settings) -> Result<Vec<(&'static str, String)>, String> {
        let entry = goodness_elevators::entry(name).expect("a checked name is registered");
        (entry.values)(settings).map_err(|e| e.to_string())
    }
}

/// Rejects invalid policies and elevators before a long input is read.
///
/// # Errors
/// The first such name or setting.
pub fn check_names<'a>(
    policies: impl IntoIterator<Item = &'a String>,
    elevators: impl IntoIterator<Item = &'a String>,
) -> Result<(), Refusal> {
    policies.into_iter().try_for_each(|text| PolicySpec::parse(text).map(drop))?;
    elevators.into_iter().try_for_each(|text| ElevatorSpec::parse(text).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_printed_as_typed() {
        let spec = PolicySpec::parse("rr:timeslice=2ms").unwrap();
        assert_eq!((spec.name, spec.to_string().as_str()), ("rr", "rr:timeslice=2ms"));
        assert_eq!(spec.values().unwrap(), [("timeslice", "2ms".to_string())]);
        let spec = ElevatorSpec::parse("noop:merge=last").unwrap();
        assert_eq!(spec.values().unwrap(), [("merge", "last".to_string())]);
    }

    #[test]
    fn all_stands_for_every_elevator_and_an_unknown_one_is_refused() {
        let typed = ["all", "bfq:low_latency=off"].map(String::from);
        let names = ElevatorSpec::all(&typed).map(|specs| specs.len()).ok();
        assert_eq!(names, Some(goodness_elevators::ALL.len() + 1));
        assert!(ElevatorSpec::all(&["nop".into()]).is_err());
    }

    #[test]
    fn a_wrong_name_or_setting_is_refused_with_the_nearest_one() {
        let sentence = |text: &str| PolicySpec::parse(text).unwrap_err().to_string();
        assert!(sentence("ffio").contains("nearest is \"fifo\""));
        assert!(sentence("rr:timeslise=2ms").contains("nearest is \"timeslice\""));
        assert!(sentence("rr:timeslice=2h").contains("outside"));
        assert!(sentence("rr:timeslice=2d").contains("not a unit"));
        assert!(sentence("rr:timeslice=2ms,timeslice=3ms").contains("\"timeslice\" is given twice"));
        assert!(sentence("banana").contains("is spelled like it"));
        assert!(sentence("rr:timeslice=1h0s").contains("unit"));
        assert!(sentence("rr:timeslice").contains("KEY=VALUE"));
        assert!(sentence("rr:timeslice=20s").contains("outside"));
        let elevator = |text: &str| ElevatorSpec::parse(text).unwrap_err().to_string();
        assert!(elevator("nop").contains("nearest is \"noop\""));
        assert!(elevator("noop:merge=always").contains("last, hash"));
        assert_eq!(ElevatorSpec::parse("rr").unwrap_err().see, Some(See::Elevators(None)));
    }
}
