//! Tasks of a recording: class, nice, affinity and program of each.

use crate::attributes::{AttributeChange, Stated, set_of};
use crate::groups::RecordedGroups;
use crate::priority::nice_of;
use goodness_core::{Class, CpuSet, GroupId, Groups, Task, TaskId};
use goodness_trace::{Attributes, Recording};
use std::collections::{BTreeMap, BTreeSet};

/// Names of kernel threads, for traces that do not mark them: names that end in these or continue with `/`.
const KERNEL_THREADS: [&str; 12] = [
    "kworker",
    "ksoftirqd",
    "migration",
    "rcu_preempt",
    "rcu_sched",
    "rcuog",
    "rcuop",
    "kthreadd",
    "kcompactd0",
    "khugepaged",
    "kswapd0",
    "kauditd",
];

/// Relation of a task to the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It belongs to the command that was recorded.
    Command,
    /// It belongs to a server that ran before and was selected.
    Selected,
    /// Neither, or unknown.
    #[default]
    Other,
}

/// Attributes of a task in the recording.
#[derive(Clone, Debug)]
pub struct Participant {
    /// Name for people.
    pub name: String,
    /// Its thread id on the recorded machine; may be reused by another task.
    pub pid: u32,
    /// Class, nice, affinity and group; `address_space` is `None` for kernel threads.
    pub task: Task,
    /// Tasks with equal numbers belong to one program: a process group, or equal names if groups are unknown.
    pub program: u32,
    /// Parent, if the recording contains the fork.
    pub parent: Option<TaskId>,
    /// True if it is part of the judged workload.
    pub judged: bool,
    /// Its relation to the recording.
    pub role: Role,
    /// Changes of class, nice, affinity and group, if the recording follows them.
    pub changes: Vec<AttributeChange>,
}

/// The tasks of `recording`, by number, and their groups. `first_prio` is the first kernel priority seen of each.
pub(crate) fn participants(recording: &Recording, first_prio: &[i16]) -> (Vec<Participant>, Groups) {
    let members: BTreeSet<u32> = recording.metadata.members().iter().copied().collect();
    let mut programs = BTreeMap::new();
    let (stated, mut groups) = (Stated::of(recording), RecordedGroups::of(recording));
    let mut found: Vec<Participant> = Vec::with_capacity(recording.tasks.len());
    for (task, entry) in recording.tasks.iter() {
        let facts = recording.metadata.attributes_of(entry.pid);
        let name = if entry.comm.is_empty() { format!("pid {}", entry.pid) } else { entry.comm.to_string() };
        let tgid = facts.and_then(|f| f.tgid).or(entry.tgid);
        let is_kernel = facts.map_or_else(|| is_kernel_thread(&name), |f| f.role == "kernel");
        let leader = tgid.and_then(|t| recording.tasks.owner(t)).and_then(|t| recording.tasks.get(t));
        let program = leader.map_or_else(|| name.clone(), |leader| leader.comm.to_string());
        let next = programs.len() as u32;
        let mut spec = class_of(facts, first_prio[task.index()]);
        spec.address_space = (!is_kernel).then(|| tgid.unwrap_or(entry.pid));
        let is_member = members.contains(&entry.pid);
        spec.affinity = facts
            .and_then(|f| f.affinity.as_deref())
            .map_or_else(|| inherited_affinity(recording, entry.parent, is_member, &found), set_of);
        spec.group = parent_of(&found, entry.parent).filter(|_| !is_kernel).map_or(GroupId::ROOT, |it| it.task.group);
        let changes = stated.begin(task, entry.pid, &mut spec, &mut groups);
        found.push(Participant {
            name,
            pid: entry.pid,
            task: spec,
            program: *programs.entry(program).or_insert(next),
            parent: entry.parent,
            judged: if members.is_empty() { !is_kernel } else { is_member },
            role: facts.map_or(Role::Other, |f| role_of(&f.role)),
            changes,
        });
    }
    (found, groups.finish())
}

fn parent_of(before: &[Participant], parent: Option<TaskId>) -> Option<&Participant> {
    before.get(parent?.index())
}

fn role_of(role: &str) -> Role {
    match role {
        "command" => Role::Command,
        "selected" => Role::Selected,
        _ => Role::Other,
    }
}

fn is_kernel_thread(name: &str) -> bool {
    KERNEL_THREADS.iter().any(|k| name.strip_prefix(k).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Class and priority: the first seen in events, else from the header.
fn class_of(facts: Option<&Attributes>, prio: i16) -> Task {
    let mut task = Task::default();
    let policy = facts.and_then(|f| f.policy.as_deref());
    if prio < 100 {
        task.class = if policy == Some("rr") { Class::RoundRobin } else { Class::Fifo };
        // −1 is a deadline task: it outranks all others, as does real-time priority 99.
        task.rt_priority = (99 - prio.max(0)).clamp(1, 99) as u8;
    } else {
        task.class = match policy {
            Some("batch") => Class::Batch,
            Some("idle") => Class::Idle,
            _ => Class::Normal,
        };
        task.nice = nice_of(prio);
    }
    task
}

/// Affinity of a task that started and ended between two readings of `/proc`: its parent's, or the recorded command's.
fn inherited_affinity(
    recording: &Recording,
    parent: Option<TaskId>,
    is_member: bool,
    before: &[Participant],
) -> CpuSet {
    if let Some(parent) = parent_of(before, parent) {
        return parent.task.affinity.clone();
    }
    let command = recording.metadata.recording.as_ref().and_then(|r| r.command.as_ref());
    match command.and_then(|c| c.confined_to.as_deref()) {
        Some(list) if is_member => set_of(list),
        _ => CpuSet::All,
    }
}
