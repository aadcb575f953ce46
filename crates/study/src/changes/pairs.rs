//! The pairs of the suite.

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
    /// True if the base or the changed machine has several CPUs.
    pub on_several_cpus: bool,
}

/// Kinds of changes, which share an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nice of tasks.
    Nice,
    /// Class of tasks.
    Class,
    /// Requested slice of tasks.
    Slice,
    /// CPUs of tasks.
    Affinity,
    /// Slice of all tasks.
    BaseSlice,
    /// Number of CPUs.
    Cpus,
    /// Another kernel's scheduler.
    Kernel,
    /// Tasks that compute, added beside the load.
    Load,
    /// Weight or limit of a task group.
    Group,
    /// Tick rate.
    Hz,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 10] = [
        Kind::Nice,
        Kind::Class,
        Kind::Slice,
        Kind::Affinity,
        Kind::BaseSlice,
        Kind::Cpus,
        Kind::Kernel,
        Kind::Load,
        Kind::Group,
        Kind::Hz,
    ];

    /// Name in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nice => "nice",
            Kind::Class => "class",
            Kind::Slice => "slice",
            Kind::Affinity => "affinity",
            Kind::BaseSlice => "base_slice",
            Kind::Cpus => "cpus",
            Kind::Kernel => "kernel",
            Kind::Load => "load",
            Kind::Group => "group",
            Kind::Hz => "hz",
        }
    }

    /// The kind of the change `arm`.
    ///
    /// # Panics
    /// An arm of no kind; the suite's own file is at fault.
    #[must_use]
    pub fn of(arm: &str) -> Kind {
        let has = |part: &str| arm.contains(part);
        match arm {
            _ if arm.starts_with("hz=") => Kind::Hz,
            _ if has("hogs=") => Kind::Load,
            _ if has(".cpu_") => Kind::Group,
            _ if has(":kernel=") => Kind::Kernel,
            _ if has(":base_slice=") => Kind::BaseSlice,
            _ if has("cpus=") => Kind::Cpus,
            _ if has(".affinity=") => Kind::Affinity,
            _ if has(".slice=") => Kind::Slice,
            _ if has(".class=") => Kind::Class,
            _ if has(".nice=") => Kind::Nice,
            _ => panic!("arm \"{arm}\" in pairs.toml is of no kind"),
        }
    }
}

impl Base {
    /// Its pairs.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair> {
        let pair = |(at, arm): (usize, &String)| Pair {
            base: self.name.clone(),
            arm: arm.clone(),
            number: at + 1,
            on_several_cpus: self.cpus > 1 || Kind::of(arm) == Kind::Cpus,
        };
        self.changes.iter().enumerate().map(pair).collect()
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
