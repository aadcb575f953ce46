//! Arms that change less than their names say.

use crate::runs::{Arm, Runs};
use goodness_report::model::Sampling;

impl Runs {
    /// Sentences on arms that add CPUs which the judged tasks may not use, and on those that change no value.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let Some((first, others)) = self.arms.split_first() else { return Vec::new() };
        if self.sampling == Sampling::Arms {
            return Vec::new();
        }
        let is_equal = |arm: &&Arm| self.confined(arm).is_none() && is_unchanged(arm, first);
        let equal: Vec<String> = others.iter().filter(is_equal).map(|arm| self.name(arm)).collect();
        let confined = others.iter().filter_map(|arm| self.confined(arm));
        let of_first = self.name(first);
        let equal = match equal.as_slice() {
            [] => None,
            [one] => Some(format!("{one} changes nothing here: all its values are those of {of_first}.")),
            all => Some(format!("{}: none changes anything here, all values are those of {of_first}.", all.join(", "))),
        };
        confined.chain(equal).collect()
    }

    /// The sentence of an arm with a number of CPUs that the recorded affinities leave unused.
    fn confined(&self, arm: &Arm) -> Option<String> {
        let edits = &arm.contender.edits;
        let cpus = edits.iter().rev().find_map(|edit| edit.cpus())?;
        let is_confined = self.cpus < self.machine.cpus.min(cpus);
        let is_moved = edits.iter().any(|edit| edit.kind() == "affinity");
        (is_confined && !is_moved).then(|| {
            let arm = self.name(arm);
            format!(
                "{arm}: the judged tasks use {} of the {cpus} CPUs, as recorded; to let them use all: --arm '{arm} \
                 *.affinity=0-{}'.",
                self.cpus,
                cpus - 1
            )
        })
    }
}

/// True if `arm` is another than `first`, of the same policy and elevator, and all its values are those of `first`.
fn is_unchanged(arm: &Arm, first: &Arm) -> bool {
    let (own, other) = (&arm.contender, &first.contender);
    let is_change = own != other && own.policy.name == other.policy.name && own.elevator == other.elevator;
    is_change && arm.by_input.is_empty() && arm.values == first.values
}
