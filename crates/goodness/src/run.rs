//! One replication in full.

use crate::device_error::FittedDisk;
use goodness_core::{Class, CpuSet, Groups, Remarked, Task};
use goodness_observe::{ByFifth, Checked, Measured};
use goodness_report::Timeline;
use goodness_sim::Outcome;

/// Result of one replication of one contender.
pub struct RunResult {
    /// Metrics.
    pub measured: Measured,
    /// Results of the checkers.
    pub checked: Checked,
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// Wall-clock time of the run in ns, if requested.
    pub wall_ns: Option<u64>,
    /// The schedule, if requested.
    pub timeline: Option<Timeline>,
    /// CPU time by task and fifth of the recorded window, in the run that is compared with a recording.
    pub fifths: Option<Vec<ByFifth>>,
    /// The tasks by number.
    pub tasks: Vec<Named>,
    /// The groups of the tasks.
    pub groups: Groups,
    /// Remarks of the work.
    pub remarks: Remarked,
    /// Features that policy and elevator ignore: groups, reservations, weights of groups, throttling of write-back.
    pub unheeded: Vec<String>,
    /// Disks whose devices were fitted to real ones.
    pub fitted: Vec<FittedDisk>,
    /// Models of the disks, each once.
    pub devices: Vec<String>,
}

/// Name and number of a task, for display.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name; not unique.
    pub name: String,
    /// Thread id in the recording, else the task's number in the run, from 1.
    pub id: u64,
    /// Nice at the start; `None` for real-time tasks.
    pub nice: Option<i64>,
    /// Priority as Linux's traces write it.
    pub priority: u32,
    /// Class at the start.
    pub class: Class,
    /// CPUs that it may use at the start.
    pub affinity: CpuSet,
    /// Number that tasks of one process share, if it is known.
    pub process: Option<u32>,
}

impl Named {
    /// `task` under this name and number.
    pub(crate) fn of(name: &str, id: u64, task: &Task) -> Named {
        Named {
            name: name.into(),
            id,
            process: task.address_space,
            class: task.class,
            affinity: task.affinity.clone(),
            nice: (!task.class.is_realtime()).then(|| task.nice.get()),
            priority: match task.class.is_realtime() {
                true => 99u32.saturating_sub(task.rt_priority.into()),
                false => 100 + task.nice.index() as u32,
            },
        }
    }
}
