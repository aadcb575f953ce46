//! From a recording to a story: who the tasks were, and which events matter.

use super::story::{Character, Origin, Sighting, Story, What, Who};
use goodness_core::{Class, CpuId, CpuSet, Nice, Task, TaskId};
use goodness_trace::{Attributes, Context, Recording, Wake, What as Recorded};
use std::collections::BTreeMap;

/// Names of kernel threads, for traces that do not say who is one: they end in these or go on with `/`.
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

/// Kernel priority of nice 0.
const PRIO_OF_NICE_ZERO: i16 = 120;

impl Story {
    /// The story that `recording` tells.
    #[must_use]
    pub fn of(recording: &Recording) -> Story {
        let mut telling = Telling {
            recording,
            // Old and filtered traces have no wakings; then the wake-up itself must name the cause.
            has_wakings: recording.records.iter().any(|r| matches!(r.what, Recorded::Waking(_))),
            prio: vec![None; recording.tasks.len()],
            first_prio: vec![PRIO_OF_NICE_ZERO; recording.tasks.len()],
            sightings: Vec::with_capacity(recording.records.len()),
        };
        for record in &recording.records {
            telling.tell(record);
        }
        let highest = recording.records.iter().map(|r| r.cpu.index() + 1).max().unwrap_or(1);
        Story {
            name: recording.name.clone(),
            cast: cast(recording, &telling.first_prio),
            sightings: telling.sightings,
            cpus: highest.max(recording.metadata.cpus as usize),
            end: recording.end(),
            hz: recording.metadata.hz(),
        }
    }
}

struct Telling<'a> {
    recording: &'a Recording,
    has_wakings: bool,
    /// Kernel priority last seen of each task.
    prio: Vec<Option<i16>>,
    /// Kernel priority first seen of each task.
    first_prio: Vec<i16>,
    sightings: Vec<Sighting>,
}

impl Telling<'_> {
    fn tell(&mut self, record: &goodness_trace::Record) {
        let mut say = |what| self.sightings.push(Sighting { at: record.at, cpu: record.cpu, what });
        match record.what {
            Recorded::Switch { prev, next, left, prev_prio, next_prio } => {
                say(What::Switch { prev: prev.map(who), off: left.off(), next: next.map(who) });
                self.prio(record, prev, prev_prio);
                self.prio(record, next, next_prio);
            }
            Recorded::Waking(wake) => {
                say(waking(wake));
                self.prio(record, Some(wake.task), wake.prio);
            }
            Recorded::Wakeup(wake) => {
                if !self.has_wakings {
                    say(waking(wake));
                }
                say(What::Woken { task: who(wake.task), on: wake.target });
            }
            Recorded::WakeupNew(wake) => {
                let parent = self.recording.tasks.get(wake.task).and_then(|e| e.parent).or(wake.current);
                say(What::Fork { parent: parent.map(who), child: who(wake.task) });
                say(What::Woken { task: who(wake.task), on: wake.target });
                self.prio(record, Some(wake.task), wake.prio);
            }
            Recorded::Fork { parent, child } => say(What::Fork { parent: parent.map(who), child: who(child) }),
            Recorded::Exit { task } => say(What::Exit { task: who(task) }),
            Recorded::Lost { .. } => say(What::Lost),
            Recorded::Exec { .. } | Recorded::Migrate { .. } => {}
        }
    }

    /// Notes the priority of a task, and a change of its nice.
    fn prio(&mut self, record: &goodness_trace::Record, task: Option<TaskId>, prio: i16) {
        let Some(task) = task else { return };
        match self.prio[task.index()].replace(prio) {
            None => self.first_prio[task.index()] = prio,
            // Below 100 the task was lent a real-time priority for a while; its nice is what it was.
            Some(before) if before != prio && prio >= 100 => {
                let what = What::Nice { task: who(task), nice: nice(prio).get() as i8 };
                self.sightings.push(Sighting { at: record.at, cpu: record.cpu, what });
            }
            Some(_) => {}
        }
    }
}

fn who(task: TaskId) -> Who {
    Who(task.0)
}

fn nice(prio: i16) -> Nice {
    Nice::new(i64::from(prio - PRIO_OF_NICE_ZERO)).unwrap_or_default()
}

fn waking(wake: Wake) -> What {
    let origin = match wake.context {
        Context::Task => Origin::Task,
        // Without flags nothing tells an interrupt from a task: evidence decides, as for soft interrupts.
        Context::SoftIrq | Context::Unknown => Origin::Soft,
        Context::HardIrq => Origin::Hard,
    };
    What::Waking { task: who(wake.task), by: wake.current.map(who), origin }
}

fn cast(recording: &Recording, first_prio: &[i16]) -> Vec<Character> {
    let members: std::collections::BTreeSet<u32> = recording.metadata.members().iter().copied().collect();
    let mut parties = BTreeMap::new();
    let mut cast: Vec<Character> = Vec::with_capacity(recording.tasks.len());
    for (task, entry) in recording.tasks.iter() {
        let facts = recording.metadata.attributes_of(entry.pid);
        let name = if entry.comm.is_empty() { format!("pid {}", entry.pid) } else { entry.comm.to_string() };
        let tgid = facts.and_then(|f| f.tgid).or(entry.tgid);
        let is_kernel = facts.map_or_else(|| is_kernel_thread(&name), |f| f.role == "kernel");
        let program = tgid.and_then(|t| recording.tasks.owner(t)).and_then(|t| recording.tasks.get(t));
        let program = program.map_or_else(|| name.clone(), |leader| leader.comm.to_string());
        let next = parties.len() as u32;
        let mut spec = class_of(facts, first_prio[task.index()]);
        spec.address_space = (!is_kernel).then(|| tgid.unwrap_or(entry.pid));
        let is_member = members.contains(&entry.pid);
        spec.affinity = facts
            .and_then(|f| f.affinity.as_deref())
            .map_or_else(|| inherited_affinity(recording, entry.parent, is_member, &cast), set_of);
        cast.push(Character {
            name,
            pid: entry.pid,
            task: spec,
            party: *parties.entry(program).or_insert(next),
            judged: if members.is_empty() { !is_kernel } else { is_member },
        });
    }
    cast
}

fn is_kernel_thread(name: &str) -> bool {
    KERNEL_THREADS.iter().any(|k| name.strip_prefix(k).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Class and priority: as first seen in the events, where they show; else as the header says.
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
        task.nice = nice(prio);
    }
    task
}

/// The affinity of a task that came and went between two looks: its parent's, or the recorded command's.
fn inherited_affinity(recording: &Recording, parent: Option<TaskId>, is_member: bool, cast: &[Character]) -> CpuSet {
    if let Some(parent) = parent.and_then(|p| cast.get(p.index())) {
        return parent.task.affinity.clone();
    }
    let command = recording.metadata.recording.as_ref().and_then(|r| r.command.as_ref());
    match command.and_then(|c| c.confined_to.as_deref()) {
        Some(list) if is_member => set_of(list),
        _ => CpuSet::All,
    }
}

fn set_of(list: &[u32]) -> CpuSet {
    if list.is_empty() { CpuSet::All } else { CpuSet::of(&list.iter().map(|c| CpuId(*c)).collect::<Vec<_>>()) }
}
