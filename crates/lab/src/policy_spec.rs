//! A policy as typed: `eevdf:kernel=6.12,base_slice=3ms`.

use goodness_core::registry::suggest;
use goodness_core::{Registered, Tunables, Visitor, tunable};
use std::fmt;

/// A registered policy and the settings asked for; checked when made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// Registered name.
    pub name: &'static str,
    /// Settings that differ from the defaults, as typed.
    pub settings: Vec<(String, String)>,
}

impl PolicySpec {
    /// Reads and checks a policy as typed.
    ///
    /// # Errors
    /// Unknown policy or tunable (the nearest is named), a value of the wrong kind or out of range.
    pub fn parse(text: &str) -> Result<PolicySpec, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let about = goodness_cpu::ALL.iter().find(|about| about.name == name).ok_or_else(|| unknown_policy(name))?;
        let settings = tunable::pairs(rest).map_err(|why| format!("policy {name}: {why}"))?;
        let spec = PolicySpec { name: about.name, settings };
        spec.values()?;
        Ok(spec)
    }

    /// All tunables with the values this policy will use.
    ///
    /// # Errors
    /// As [`PolicySpec::parse`].
    pub fn values(&self) -> Result<Vec<(&'static str, String)>, String> {
        self.with(Values { spec: self })
    }

    /// Runs `visitor` with this policy's type.
    pub fn with<V: Visitor>(&self, visitor: V) -> V::Output {
        goodness_cpu::with_policy(self.name, visitor).expect("a checked name is registered")
    }

    /// The settings of policy `P`, this one's type.
    ///
    /// # Panics
    /// When `P` is another policy.
    #[must_use]
    pub fn settings_of<P: Registered>(&self) -> P::Settings {
        self.checked::<P>().expect("settings were checked when they were read")
    }

    fn checked<P: Registered>(&self) -> Result<P::Settings, String> {
        let mut settings = P::Settings::default();
        for (key, value) in &self.settings {
            settings
                .set(key, value)
                .map_err(|e| format!("{}: {e}. See `goodness list policies {}`.", self.name, self.name))?;
        }
        Ok(settings)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for (index, (key, value)) in self.settings.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

struct Values<'a> {
    spec: &'a PolicySpec,
}

impl Visitor for Values<'_> {
    type Output = Result<Vec<(&'static str, String)>, String>;
    fn visit<P: Registered + 'static>(self) -> Self::Output {
        Ok(self.spec.checked::<P>()?.values())
    }
}

fn unknown_policy(name: &str) -> String {
    let near = suggest(name, goodness_cpu::ALL.iter().map(|about| about.name));
    format!("there is no policy \"{name}\"; {near}. See `goodness list policies`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_reads_back_what_it_prints() {
        let spec = PolicySpec::parse("rr:timeslice=2ms").unwrap();
        assert_eq!((spec.name, spec.to_string().as_str()), ("rr", "rr:timeslice=2ms"));
        assert_eq!(spec.values().unwrap(), [("timeslice", "2ms".to_string())]);
    }

    #[test]
    fn a_wrong_policy_or_setting_is_refused_with_the_nearest_one() {
        let sentence = |text: &str| PolicySpec::parse(text).unwrap_err();
        assert!(sentence("ffio").contains("nearest is \"fifo\""));
        assert!(sentence("rr:timeslise=2ms").contains("nearest is \"timeslice\""));
        assert!(sentence("rr:timeslice=2h").contains("outside"));
        assert!(sentence("rr:timeslice=2d").contains("not a unit"));
        assert!(sentence("rr:timeslice=2ms,timeslice=3ms").contains("\"timeslice\" is given twice"));
        assert!(sentence("banana").contains("is spelled like it"));
        assert!(sentence("rr:timeslice=1h0s").contains("unit"));
        assert!(sentence("rr:timeslice").contains("KEY=VALUE"));
        assert!(sentence("rr:timeslice=20s").contains("outside"));
    }
}
