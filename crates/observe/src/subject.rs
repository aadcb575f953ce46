//! Facts about a task that observers need and no event carries.

use goodness_core::{Class, CpuSet, Nice, TaskSpec, Workload};

/// Facts about a task. An undescribed task created during the run inherits from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// True if it is part of the judged workload, false if it is competing load.
    pub judged: bool,
    /// Requested class.
    pub class: Class,
    /// Initial nice; later changes are not seen.
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
    /// The facts about a task of a workload.
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
