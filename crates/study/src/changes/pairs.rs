//! The pairs of the suite.

use goodness::{Contender, PolicySpec, change_kinds, own_policy};
use serde::Deserialize;

/// Tick rate of every guest.
const GUEST_HZ: f64 = 250.0;

/// A load, recorded without a change, and the changes that were made to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Name of the recording.
    pub name: String,
    /// The load: a file of `loads`.
    pub load: String,
    /// CPUs of the guest.
    pub cpus: u32,
    /// Kernel series.
    pub kernel: String,
    /// The changes, as arms.
    pub changes: Vec<String>,
}

/// A base and one change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Name of the base.
    pub base: String,
    /// The change, as an arm.
    pub arm: String,
    /// Its place among the changes of the base, from 1.
    pub number: usize,
    /// The kind of the change, which has an error of its own.
    pub kind: &'static str,
    /// True if the base or the changed machine has several CPUs.
    pub on_several_cpus: bool,
}

impl Base {
    /// Its pairs.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair> {
        let pair = |(at, arm): (usize, &String)| {
            let kind = self.kind(arm);
            Pair {
                base: self.name.clone(),
                arm: arm.clone(),
                number: at + 1,
                kind,
                on_several_cpus: self.cpus > 1 || kind == "cpus",
            }
        };
        self.changes.iter().enumerate().map(pair).collect()
    }

    /// The kind of the change `arm`: of several, that of the first.
    ///
    /// # Panics
    /// An arm that changes nothing or cannot be read; the suite's own file is at fault.
    #[must_use]
    pub fn kind(&self, arm: &str) -> &'static str {
        let own = PolicySpec::parse(own_policy(&self.kernel).expect("a kernel with a policy")).expect("a policy");
        let changed = Contender::arm(arm, &own).unwrap_or_else(|why| panic!("arm \"{arm}\" in pairs.toml: {why}"));
        let kinds = change_kinds(&Contender::policy(own), &changed);
        kinds.first().unwrap_or_else(|| panic!("arm \"{arm}\" in pairs.toml is of no kind"))
    }
}

impl Pair {
    /// True if the model was built without a look at the effect of the change: every second one is kept unseen.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        self.number.is_multiple_of(2)
    }

    /// By how much all times of the changed recording are stretched, so that the guest's own tick is the changed one.
    ///
    /// # Panics
    /// A tick rate that is no number; the suite's own file is at fault.
    #[must_use]
    pub fn stretch(&self) -> f64 {
        let hz = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("arm \"{}\": no number", self.arm));
        self.arm.strip_prefix("hz=").map_or(1.0, |text| hz(text) / GUEST_HZ)
    }

    /// Name of the changed recording.
    #[must_use]
    pub fn recording(&self) -> String {
        format!("{}.{:02}", self.base, self.number)
    }
}

/// The bases in the text of `pairs.toml`.
///
/// # Errors
/// The file is invalid.
pub fn bases(text: &str) -> Result<Vec<Base>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        base: Vec<Base>,
    }
    toml::from_str::<File>(text).map(|file| file.base).map_err(|why| why.to_string())
}
