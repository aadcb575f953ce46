//! Arms that change less than their names say.

use crate::edit::{Edit, HOG};
use crate::runs::{Arm, Runs};
use goodness_core::CpuId;
use goodness_report::model::Sampling;

impl Runs {
    /// Sentences on arms that add CPUs which the judged tasks may not use, or load beside those, and on arms that
    /// change no value; where none of all does, that is the answer itself.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let Some((first, others)) = self.arms.split_first() else { return Vec::new() };
        if self.sampling == Sampling::Arms {
            return Vec::new();
        }
        let is_equal = |arm: &&Arm| self.confined(arm).is_none() && is_unchanged(arm, first);
        let equal: Vec<String> = others.iter().filter(is_equal).map(|arm| self.name(arm)).collect();
        let confined = others.iter().filter_map(|arm| self.confined(arm).or_else(|| self.beside(arm)));
        let of_first = self.name(first);
        let equal = match equal.as_slice() {
            all if all.len() == others.len() => None,
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

    /// The sentence of an arm with added load that has the CPUs to itself which the recorded affinities leave unused.
    fn beside(&self, arm: &Arm) -> Option<String> {
        let edits = &arm.contender.edits;
        let hogs = edits.iter().find_map(Edit::hogs)?;
        let used = judged_cpus(arm, self.machine.cpus);
        let is_moved = edits.iter().any(|edit| matches!(edit.kind(), "affinity" | "cpus"));
        let has_room = hogs as usize + used.len() <= self.machine.cpus as usize;
        (has_room && !used.is_empty() && !is_moved).then(|| {
            let arm = self.name(arm);
            let hog = if hogs == 1 { "hog runs" } else { "hogs run" };
            let one = if let [_] = used[..] { "" } else { "s" };
            let used = used.join(",");
            format!(
                "{arm}: the judged tasks may use CPU{one} {used} only, as recorded, and the added {hog} beside them; \
                 to let them share: --arm '{arm} {HOG}.affinity={used}'."
            )
        })
    }
}

/// The CPUs that the judged tasks of `arm` may use, of so many.
fn judged_cpus(arm: &Arm, cpus: u32) -> Vec<String> {
    let judged = arm.first.measured.tasks.iter().filter(|it| it.judged);
    let tasks: Vec<_> = judged.filter_map(|it| arm.first.tasks.get(it.task.index())).collect();
    let is_used = |cpu: &u32| tasks.iter().any(|it| it.affinity.contains(CpuId(*cpu)));
    (0..cpus).filter(is_used).map(|cpu| cpu.to_string()).collect()
}

/// True if `arm` is another than `first`, of the same policy and elevator, and all its values are those of `first`.
fn is_unchanged(arm: &Arm, first: &Arm) -> bool {
    let (own, other) = (&arm.contender, &first.contender);
    let is_change = own != other && own.policy.name == other.policy.name && own.elevator == other.elevator;
    is_change && arm.by_input.is_empty() && arm.values == first.values
}
