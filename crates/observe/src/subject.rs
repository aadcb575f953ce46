//! What an observer must know of a task that no event tells.

use goodness_core::{Class, CpuSet, Nice, TaskSpec, Workload};

/// A task as observers see it. Tasks created during the run that nobody described take after their parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Whether it belongs to what is being judged; competing load from outside does not.
    pub judged: bool,
    /// Class asked for.
    pub class: Class,
    /// Nice at the start; later changes are not seen.
    pub nice: Nice,
    /// CPUs it may use.
    pub affinity: CpuSet,
}

impl Default for Subject {
    fn default() -> Self {
        Subject { judged: true, class: Class::Normal, nice: Nice::ZERO, affinity: CpuSet::All }
    }
}

impl Subject {
    /// What observers need of one task of a workload.
    #[must_use]
    pub fn of(spec: &TaskSpec) -> Subject {
        Subject {
            judged: spec.judged,
            class: spec.task.class,
            nice: spec.task.nice,
            affinity: spec.task.affinity.clone(),
        }
    }

    /// The subjects of a workload, in the order of its tasks.
    #[must_use]
    pub fn all(workload: &Workload) -> Vec<Subject> {
        workload.tasks.iter().map(Subject::of).collect()
    }
}
