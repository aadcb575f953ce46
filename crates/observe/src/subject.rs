//! Facts about a task that observers need and no event carries.

use goodness_core::{Class, CpuSet, Nice, TaskSpec, Workload};

/// Facts about a task. An undescribed task created during the run inherits from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// True if it is part of the judged workload, false if it is competing load.
    pub judged: bool,
    /// Requested class.
    pub class: Class,
    /// Initial nice.
    pub nice: Nice,
    /// CPUs it may use at first.
    pub affinity: CpuSet,
    /// True if weights and limits of task groups count, not its weight alone.
    pub is_grouped: bool,
}

impl Default for Subject {
    fn default() -> Self {
        let (class, nice, affinity) = (Class::Normal, Nice::ZERO, CpuSet::All);
        Subject { judged: true, class, nice, affinity, is_grouped: false }
    }
}

impl Subject {
    /// The facts about a task of a workload without groups.
    #[must_use]
    pub fn of(spec: &TaskSpec) -> Subject {
        Subject {
            judged: spec.judged,
            class: spec.task.class,
            nice: spec.task.nice,
            affinity: spec.task.affinity.clone(),
            is_grouped: false,
        }
    }

    /// The subjects of a workload, in the order of its tasks.
    #[must_use]
    pub fn all(workload: &Workload) -> Vec<Subject> {
        let is_grouped = !workload.groups.is_flat();
        workload.tasks.iter().map(|spec| Subject { is_grouped, ..Subject::of(spec) }).collect()
    }
}
