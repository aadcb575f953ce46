//! Facts about tasks from `/proc`: scheduling attributes, processes and parents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::attributes::{Attributes, cgroup_of, policy_name};
use super::groups::Groups;

/// Flag of a kernel thread in `/proc/*/stat` (`PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Point in time at which a task's attributes were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Seen {
    /// Alive when recording began.
    Start,
    /// Read during or after the recording.
    Later,
    /// Never read; its values are its creator's, and those of calls.
    Inherited,
    /// Seen in events only.
    Events,
}

/// One task as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Process.
    pub tgid: i32,
    /// Parent process.
    pub parent: i32,
    /// Name, not necessarily UTF-8.
    pub comm: Vec<u8>,
    /// True if it is a kernel thread.
    pub kernel: bool,
    /// Scheduling attributes.
    pub attributes: Attributes,
    /// Time of the first reading.
    pub seen: Seen,
    /// True if it had ended, but was not reaped, at the last reading: its cgroup is no longer its own then.
    pub zombie: bool,
    /// True if the last reading was at the end of the recording.
    pub at_end: bool,
}

impl Task {
    /// Reads thread `tid` of process `tgid`; `None` if it has ended.
    pub fn read(tgid: i32, tid: i32, seen: Seen) -> Option<Self> {
        let stat = fs::read(format!("/proc/{tgid}/task/{tid}/stat")).ok()?;
        let mut task = parse_stat(&stat, tgid, seen)?;
        task.attributes.complete(tid);
        Some(task)
    }

    /// Reads the thread of this id, whatever its process.
    pub fn read_thread(tid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        Self::read(tgid, tid, Seen::Later)
    }
}

/// All tasks looked at so far, by thread id.
#[derive(Debug, Default)]
pub struct Census {
    /// Tasks by id; later observations replace earlier ones.
    pub tasks: BTreeMap<i32, Task>,
    groups: BTreeSet<String>,
}

impl Census {
    /// Reads all tasks of the system.
    pub fn look_at_all(&mut self, seen: Seen) {
        for tgid in numbered(Path::new("/proc")) {
            self.look_at(tgid, seen);
        }
    }

    /// Reads process `tgid` and its descendants, and records their scheduling groups. Returns the processes found.
    pub fn look_at_tree(&mut self, tgid: i32, seen: Seen) -> Vec<i32> {
        let met = descendants(tgid);
        for process in &met {
            self.look_at(*process, seen);
            self.note_group(*process);
        }
        met
    }

    /// Records the scheduling group of process `pid`.
    pub fn note_group(&mut self, pid: i32) {
        self.groups.extend(scheduling_group(pid));
    }

    fn look_at(&mut self, tgid: i32, seen: Seen) {
        for tid in numbered(&Path::new("/proc").join(tgid.to_string()).join("task")) {
            if let Some(task) = Task::read(tgid, tid, seen) {
                self.keep(tid, task);
            }
        }
    }

    /// Reads all tasks of the system at the end of the recording.
    pub fn look_at_the_end(&mut self) {
        let mut end = Census::default();
        end.look_at_all(Seen::Later);
        for (tid, task) in end.tasks {
            self.keep(tid, Task { at_end: true, ..task });
        }
    }

    /// Keeps `task` as an observation of thread `tid`, unless there is one already.
    pub fn keep_if_unknown(&mut self, tid: i32, task: &Task) {
        self.tasks.entry(tid).or_insert_with(|| task.clone());
    }

    /// Keeps `task` as the latest observation of thread `tid`.
    pub fn keep(&mut self, tid: i32, mut task: Task) {
        if let Some(before) = self.tasks.get(&tid).filter(|before| before.tgid == task.tgid) {
            task.seen = before.seen;
            task.attributes.affinity = task.attributes.affinity.or_else(|| before.attributes.affinity.clone());
        }
        self.tasks.insert(tid, task);
    }

    /// The threads of all processes that `wanted` accepts, and of their descendants. `wanted` gets the process id and
    /// the leading thread.
    pub fn trees(&self, wanted: impl Fn(i32, &Task) -> bool) -> BTreeSet<i32> {
        let leaders = self.tasks.iter().filter(|(tid, task)| **tid == task.tgid);
        let mut processes: BTreeSet<i32> =
            leaders.filter(|(tgid, task)| wanted(**tgid, task)).map(|(tgid, _)| *tgid).collect();
        loop {
            let before = processes.len();
            let children = self.tasks.values().filter(|task| processes.contains(&task.parent));
            let children: Vec<i32> = children.map(|task| task.tgid).collect();
            processes.extend(children);
            if processes.len() == before {
                break;
            }
        }
        self.tasks.iter().filter(|(_, task)| processes.contains(&task.tgid)).map(|(tid, _)| *tid).collect()
    }

    /// The cgroups of all tasks.
    pub fn groups(&self) -> Groups {
        let mut groups = Groups::default();
        self.tasks.values().for_each(|task| groups.note(&task.attributes));
        groups
    }

    /// True if all trees read so far share one scheduling group; `None` if nothing was readable.
    pub fn same_group(&self) -> Option<bool> {
        (!self.groups.is_empty()).then_some(self.groups.len() == 1)
    }
}

/// Process `tgid` and its descendants.
pub fn descendants(tgid: i32) -> Vec<i32> {
    let mut met = vec![tgid];
    let mut next = 0;
    while next < met.len() {
        let process = met[next];
        next += 1;
        for thread in numbered(&Path::new("/proc").join(process.to_string()).join("task")) {
            let children = fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).unwrap_or_default();
            met.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    met
}

/// Parses a `stat` file. Indexes count from behind the name, which may hold spaces and parentheses: field n of
/// proc_pid_stat(5) is index n - 3.
fn parse_stat(stat: &[u8], tgid: i32, seen: Seen) -> Option<Task> {
    let open = stat.iter().position(|&byte| byte == b'(')?;
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let comm = stat.get(open + 1..close)?.to_vec();
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    let flags = fields.get(6)?.parse::<u64>().ok()?;
    Some(Task {
        tgid,
        parent: number(1)? as i32,
        comm,
        kernel: flags & KERNEL_THREAD != 0,
        attributes: Attributes {
            policy: policy_name(number(38)?),
            nice: number(16)? as i32,
            rt_priority: number(37)? as i32,
            ..Attributes::default()
        },
        seen,
        zombie: matches!(fields.first(), Some(&("Z" | "X"))),
        at_end: false,
    })
}

/// The group a process shares CPU time with before its own weight counts: its cpu cgroup, plus its session's autogroup
/// if it is in the root group and autogroups are on.
fn scheduling_group(pid: i32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let cgroup = cgroup_of(&text, "cpu")?;
    let autogroups = super::machine::trimmed(goodness_sys::AUTOGROUP);
    let autogroup = match autogroups.as_deref() {
        Some("1") if cgroup == "/" => super::machine::trimmed(format!("/proc/{pid}/autogroup")),
        _ => None,
    };
    Some(format!("{cgroup} {}", autogroup.unwrap_or_default()))
}

/// Entries of `folder` whose names are numbers.
pub fn numbered(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let mut stat = b"42 (a) b (c)) S 7 42 42 0 -1 2097216".to_vec();
        // Fields 10 to 41: nice is the 19th, the real-time priority the 40th, the policy the 41st.
        for field in 10..=41 {
            let value = match field {
                19 => "-5",
                40 => "50",
                41 => "2",
                _ => "0",
            };
            stat.extend(format!(" {value}").bytes());
        }
        let task = parse_stat(&stat, 42, Seen::Start).expect("a whole line");
        assert_eq!((task.comm.as_slice(), task.parent, task.kernel), (b"a) b (c)".as_slice(), 7, true));
        let found = task.attributes;
        assert_eq!((found.policy, found.nice, found.rt_priority), (Some("rr"), -5, 50));
        assert_eq!(parse_stat(b"42 (half", 42, Seen::Start), None);
    }

    #[test]
    fn this_process_is_found_with_its_affinity() {
        let mut census = Census::default();
        let me = std::process::id() as i32;
        assert!(census.look_at_tree(me, Seen::Start).contains(&me));
        let task = &census.tasks[&me];
        assert_eq!((task.tgid, task.kernel, task.seen), (me, false, Seen::Start));
        assert!(task.attributes.affinity.as_ref().is_some_and(|cpus| !cpus.is_empty()));
        assert!(census.trees(|tgid, _| tgid == me).contains(&me));
    }
}
