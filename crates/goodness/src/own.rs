//! A policy that is not registered: the caller of the library makes it.

use goodness_core::{About, CpuPolicy, Machine, MadePolicy, PolicyEntry, Seed, TunableError};
use std::fmt;
use std::sync::Arc;

/// Makes the policy for a machine in a run with a seed.
type Make = dyn Fn(&Machine, Seed) -> Box<dyn CpuPolicy> + Send + Sync;

/// A policy of the caller's own. It has no settings; clones are the same policy.
#[derive(Clone)]
pub struct Own {
    entry: &'static PolicyEntry,
    make: Arc<Make>,
}

impl Own {
    /// A policy that `make` makes for each run, the same for the same arguments; `entry` is from [`Own::described`].
    #[must_use]
    pub fn new(
        entry: &'static PolicyEntry,
        make: impl Fn(&Machine, Seed) -> Box<dyn CpuPolicy> + Send + Sync + 'static,
    ) -> Own {
        Own { entry, make: Arc::new(make) }
    }

    /// The description of a policy, as the registry would have it.
    #[must_use]
    pub const fn described(about: &'static About) -> PolicyEntry {
        PolicyEntry {
            about,
            watchdog: None,
            has_groups: false,
            has_reservations: false,
            tunables: || &[],
            values: |_| Ok(Vec::new()),
            make: |_, _, _| Err(TunableError("a policy of the caller's own is made by its caller".into())),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.entry.about.name
    }

    pub(crate) fn entry(&self) -> &'static PolicyEntry {
        self.entry
    }

    /// The policy in a run on `machine` with `seed`.
    #[must_use]
    pub fn made(&self, machine: &Machine, seed: Seed) -> MadePolicy {
        MadePolicy { about: self.entry.about, policy: (self.make)(machine, seed) }
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Own) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl Eq for Own {}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Own({})", self.entry.about.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contender, OpenOptions, Plan, PolicySpec, open, unwatched};

    /// The registered round robin under another name.
    fn mine() -> Own {
        let about = About { name: "mine", ..*goodness_policies::entry("rr").unwrap().about };
        let entry = Box::leak(Box::new(Own::described(Box::leak(Box::new(about)))));
        Own::new(entry, |machine, seed| PolicySpec::parse("rr").unwrap().make(machine, seed).policy)
    }

    #[test]
    fn a_policy_of_the_callers_own_runs_like_a_registered_one() {
        let work = open("mixed:duration=300ms", &OpenOptions::default(), &unwatched).unwrap();
        let policies = [PolicySpec::parse("rr").unwrap(), PolicySpec::own(mine())];
        let runs = Plan { runs: 2, ..Plan::of(&work, Contender::cross(&policies, &[])) }.run(&unwatched).unwrap();
        let [rr, own] = &runs.arms[..] else { panic!("two arms") };
        assert_eq!((own.label().as_str(), own.decisions), ("mine", rr.decisions));
        assert_eq!(rr.values("wakeup_latency_mean"), own.values("wakeup_latency_mean"));
        assert_eq!(own.contender.policy.values().unwrap(), []);
        assert_ne!(PolicySpec::own(mine()), PolicySpec::own(mine()), "each is its own");
    }
}
