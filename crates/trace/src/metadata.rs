//! Metadata of a trace: header lines, and the JSON of `docs/recording-format.md`.

use goodness_core::CPUS_MAX;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Reads `null` as the type's default: in a recording it means "could not be read".
fn lenient<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// Facts about the machine and the recording. `None` or empty where the trace does not contain them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metadata {
    /// Registered name of the format.
    pub format: &'static str,
    /// CPUs of the machine: as in the header, and at least one more than the highest number in a line, wake-up or
    /// migration.
    pub cpus: u32,
    /// The recording's own description, for files of `goodness record`.
    pub recording: Option<Header>,
    /// Attributes of tasks in order of thread ids, for files of `goodness record`.
    pub attributes: Vec<Attributes>,
    /// Cgroups of tasks, for files of `goodness record`.
    pub groups: Vec<Group>,
    /// `uname -r` of the recorded machine.
    pub kernel: Option<String>,
    /// Entries in the ring buffer according to ftrace.
    pub entries_in_buffer: Option<u64>,
    /// Entries ever written to the ring buffer according to ftrace.
    pub entries_written: Option<u64>,
    /// True if lines carry the flags column, which separates interrupts from tasks.
    pub has_flags: bool,
}

impl Metadata {
    /// The machine has at least `cpus` CPUs.
    pub(crate) fn raise_cpus(&mut self, cpus: u64) {
        self.cpus = self.cpus.max(cpus.min(CPUS_MAX as u64) as u32);
    }

    /// Timer interrupts per second, if known. An impossible value in the header (0, or more than 100 000) counts as
    /// unknown.
    #[must_use]
    pub fn hz(&self) -> Option<u32> {
        self.recording.as_ref().and_then(|r| r.kernel.hz).filter(|hz| (1..=100_000).contains(hz))
    }

    /// Thread ids of the recorded workload; empty when the trace selects none.
    #[must_use]
    pub fn members(&self) -> &[u32] {
        self.recording.as_ref().map_or(&[], |r| &r.members)
    }

    /// Leaves what is true of the trace from `begin` on, in ns: attributes as of that time, and losses unknown.
    pub(crate) fn cut(&mut self, begin: u64) {
        self.attributes.iter_mut().for_each(|task| task.begin_at(begin));
        self.recording.iter_mut().for_each(|header| header.lost.clear());
    }

    /// Attributes of the last owner of thread id `pid`.
    #[must_use]
    pub fn attributes_of(&self, pid: u32) -> Option<&Attributes> {
        let after = self.attributes.partition_point(|a| a.pid <= pid);
        self.attributes[..after].last().filter(|a| a.pid == pid)
    }
}

/// The `recording` object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Program and version that recorded.
    #[serde(deserialize_with = "lenient")]
    pub tool: String,
    /// The kernel.
    #[serde(deserialize_with = "lenient")]
    pub kernel: Kernel,
    /// The CPUs.
    #[serde(deserialize_with = "lenient")]
    pub cpus: Cpus,
    /// Trace clock.
    #[serde(deserialize_with = "lenient")]
    pub clock: String,
    /// The recorded window.
    #[serde(deserialize_with = "lenient")]
    pub time: Window,
    /// Reason recording stopped.
    #[serde(deserialize_with = "lenient")]
    pub stopped_by: String,
    /// True if names of tasks outside the recorded command were replaced.
    #[serde(deserialize_with = "lenient")]
    pub anonymized: bool,
    /// The recorded command.
    pub command: Option<Command>,
    /// Thread ids of the command's or the selected servers' trees.
    #[serde(deserialize_with = "lenient")]
    pub members: Vec<u32>,
    /// Events switched on.
    #[serde(deserialize_with = "lenient")]
    pub events: Vec<String>,
    /// Loss per CPU.
    #[serde(deserialize_with = "lenient")]
    pub lost: Vec<LostOnCpu>,
    /// Time the hypervisor and interrupts kept from tasks, per CPU.
    #[serde(deserialize_with = "lenient")]
    pub steal: Vec<Steal>,
    /// `sched_autogroup_enabled`.
    pub autogroup: Option<u8>,
    /// True if all members shared one session and one cpu cgroup.
    pub same_group: Option<bool>,
    /// TCP connections of the command's and the selected servers' processes.
    #[serde(deserialize_with = "lenient")]
    pub connections: Vec<Connections>,
    /// Path below debugfs or `/proc/sys` → text.
    #[serde(deserialize_with = "lenient")]
    pub tunables: BTreeMap<String, String>,
    /// Facts that could not be read, with reasons.
    #[serde(deserialize_with = "lenient")]
    pub unreadable: Vec<Unreadable>,
}

/// TCP connections of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Connections {
    /// The process.
    pub pid: u32,
    /// The most that were established at a time.
    pub established: u32,
}

/// The recorded kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Kernel {
    /// `uname -r`.
    #[serde(deserialize_with = "lenient")]
    pub release: String,
    /// `uname -m`.
    #[serde(deserialize_with = "lenient")]
    pub machine: String,
    /// `CONFIG_HZ`.
    pub hz: Option<u32>,
    /// Preemption mode in force.
    pub preempt: Option<String>,
    /// Configuration facts, name without `CONFIG_`.
    #[serde(deserialize_with = "lenient")]
    pub config: BTreeMap<String, String>,
}

/// The recorded CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cpus {
    /// Those that were online.
    #[serde(deserialize_with = "lenient")]
    pub online: Vec<u32>,
    /// Their neighbourhoods.
    #[serde(deserialize_with = "lenient")]
    pub topology: Vec<Neighbourhood>,
}

/// Topology of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Neighbourhood {
    /// Its number.
    pub cpu: u32,
    /// Memory node.
    pub node: Option<u32>,
    /// Package.
    pub package: Option<u32>,
    /// Core.
    pub core: Option<u32>,
    /// CPUs that share the core, itself included.
    pub smt: Option<Vec<u32>>,
    /// CPUs that share the last-level cache, itself included.
    pub llc: Option<Vec<u32>>,
}

/// The recorded window, ns on the trace clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Window {
    /// Start.
    pub start_ns: Option<u64>,
    /// End.
    pub end_ns: Option<u64>,
    /// Unix time of the start, s.
    pub started_at: Option<u64>,
}

/// The recorded command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Command {
    /// Base name.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    /// Arguments; absent when anonymised.
    pub arguments: Option<Vec<String>>,
    /// Its thread id.
    pub pid: Option<u32>,
    /// CPUs the recorder confined it to.
    pub confined_to: Option<Vec<u32>>,
    /// Its exit status or signal.
    pub exit: Option<serde_json::Value>,
}

/// Events the kernel lost on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LostOnCpu {
    /// CPU.
    pub cpu: u32,
    /// Overwritten before they were read.
    pub overrun: Option<u64>,
    /// Not written for lack of room.
    pub dropped: Option<u64>,
    /// Lost to nested writers.
    pub commit_overrun: Option<u64>,
}

/// Time kept from the tasks of one CPU over the recording, in ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steal {
    /// CPU.
    pub cpu: u32,
    /// By the hypervisor.
    pub steal_ns: Option<u64>,
    /// Idle.
    pub idle_ns: Option<u64>,
    /// In hard interrupts.
    pub irq_ns: Option<u64>,
    /// In soft interrupts.
    pub softirq_ns: Option<u64>,
}

/// Something the recorder could not read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Unreadable {
    /// Path.
    pub what: String,
    /// Reason.
    pub why: String,
}

/// The `task` object: attributes of the last owner of a thread id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Attributes {
    /// Thread id.
    pub pid: u32,
    /// Process.
    pub tgid: Option<u32>,
    /// Parent process.
    pub parent: Option<u32>,
    /// Last known name.
    #[serde(deserialize_with = "lenient")]
    pub comm: String,
    /// `command`, `selected`, `kernel` or `other`.
    #[serde(deserialize_with = "lenient")]
    pub role: String,
    /// `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext`.
    pub policy: Option<String>,
    /// −20 … +19.
    pub nice: Option<i8>,
    /// 1 … 99; 0 for tasks that are not real time.
    pub rt_priority: Option<u8>,
    /// CPUs it may use.
    pub affinity: Option<Vec<u32>>,
    /// Slice in the fair classes, in ns.
    pub slice_ns: Option<u64>,
    /// Path of its cgroup in the hierarchy of the cpu controller.
    pub cgroup: Option<String>,
    /// Number of its autogroup.
    pub autogroup: Option<u32>,
    /// Nice value of its autogroup.
    pub autogroup_nice: Option<i8>,
    /// Its attributes at the start, then each change, in order of time; empty if nothing changed.
    #[serde(deserialize_with = "lenient")]
    pub changes: Vec<Change>,
    /// `start`, `later`, `inherited` or `events`.
    #[serde(deserialize_with = "lenient")]
    pub seen: String,
    /// Times it was switched to.
    #[serde(deserialize_with = "lenient")]
    pub switches: u64,
}

impl Attributes {
    /// Makes the changes before `begin` part of the attributes at the start.
    fn begin_at(&mut self, begin: u64) {
        let Some((first, later)) = self.changes.split_first_mut() else { return };
        let past = later.partition_point(|change| change.at_ns <= begin);
        later[..past].iter_mut().for_each(|change| first.follow(std::mem::take(change)));
        self.changes.drain(1..=past);
    }
}

impl Change {
    /// Becomes the attributes after `change`.
    fn follow(&mut self, change: Change) {
        let Change { at_ns, policy, nice, rt_priority, affinity, slice_ns, cgroup, autogroup, autogroup_nice } = change;
        *self = Change {
            at_ns,
            policy: policy.or(self.policy.take()),
            nice: nice.or(self.nice),
            rt_priority: rt_priority.or(self.rt_priority),
            affinity: affinity.or(self.affinity.take()),
            slice_ns: slice_ns.or(self.slice_ns),
            cgroup: cgroup.or(self.cgroup.take()),
            autogroup: autogroup.or(self.autogroup),
            autogroup_nice: autogroup_nice.or(self.autogroup_nice),
        };
    }
}

/// Attributes of a task from one time on. The first entry of a task has all of them, later ones those that changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Change {
    /// Time on the trace clock.
    pub at_ns: u64,
    /// As in [`Attributes`].
    pub policy: Option<String>,
    /// −20 … +19.
    pub nice: Option<i8>,
    /// 1 … 99; 0 for tasks that are not real time.
    pub rt_priority: Option<u8>,
    /// CPUs it may use.
    pub affinity: Option<Vec<u32>>,
    /// Slice in the fair classes, in ns.
    pub slice_ns: Option<u64>,
    /// Path of its cgroup.
    pub cgroup: Option<String>,
    /// Number of its autogroup.
    pub autogroup: Option<u32>,
    /// Nice value of its autogroup.
    pub autogroup_nice: Option<i8>,
}

/// The `group` object: a cgroup. `None` where its hierarchy does not have a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Group {
    /// Its path, as tasks name it.
    #[serde(deserialize_with = "lenient")]
    pub path: String,
    /// `cpu.weight`; cgroup version 2.
    pub weight: Option<u64>,
    /// `cpu.shares`; cgroup version 1.
    pub shares: Option<u64>,
    /// CPU time that it may use in a period, µs; `None` for no limit.
    pub quota_us: Option<u64>,
    /// The period, µs.
    pub period_us: Option<u64>,
    /// CPUs of its cpuset.
    pub cpus: Option<Vec<u32>>,
    /// The same at the end of the recording, if that was different.
    pub at_end: Option<Box<Group>>,
}

/// One `# goodness:` line; unknown kinds are skipped.
#[derive(Deserialize)]
pub(crate) struct HeaderLine {
    /// The description.
    pub recording: Option<Header>,
    /// A task's attributes.
    pub task: Option<Attributes>,
    /// A cgroup.
    pub group: Option<Group>,
}
