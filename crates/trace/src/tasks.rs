//! Tasks of a trace: one entry for each owner of a thread id, numbered by first appearance.

use goodness_core::{TaskId, Time};
use std::borrow::Cow;
use std::fmt;

/// Largest thread id of Linux (`PID_MAX_LIMIT`).
pub const PID_MAX: u32 = 1 << 22;

/// Name changes kept per task. Further ones are only counted, so that memory stays bounded.
const RENAMES_KEPT: u32 = 16;

/// A task name as in the kernel: cut to 15 bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Comm([u8; 16]);

impl Comm {
    /// The first 15 bytes of `name`; NUL bytes become `?`.
    #[inline]
    #[must_use]
    pub fn new(name: &[u8]) -> Comm {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(name.iter().take(15)) {
            *to = if *from == 0 { b'?' } else { *from };
        }
        Comm(bytes)
    }

    /// The name's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let len = self.0.iter().position(|b| *b == 0).unwrap_or(16);
        &self.0[..len]
    }

    /// The name as text; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// True if the name is unknown.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text())
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// One task: one owner of a thread id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The thread id in the trace.
    pub pid: u32,
    /// Process id, if known.
    pub tgid: Option<u32>,
    /// Last known name; empty if the trace has none.
    pub comm: Comm,
    /// Parent, if the trace contains the fork and the parent is not the idle task.
    pub parent: Option<TaskId>,
    /// True if the trace shows its fork or its first wake-up.
    pub born: bool,
    /// Time of its first appearance.
    pub first_seen: Time,
    /// End, from `sched_process_exit` or its last switch.
    pub ended: Option<Time>,
    /// Number of name changes.
    pub renames: u32,
}

/// All tasks of a recording, by [`TaskId`]. The idle tasks are not among them.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    entries: Vec<Entry>,
    /// Task number + 1 of the present owner of each thread id; 0 for none.
    owner: Vec<u32>,
    renames: Vec<(TaskId, Time, Comm)>,
}

impl Tasks {
    /// Number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &Entry)> {
        self.entries.iter().enumerate().map(|(i, e)| (TaskId(i as u32), e))
    }

    /// The entry of `task`, if that is a number of this recording.
    #[must_use]
    pub fn get(&self, task: TaskId) -> Option<&Entry> {
        self.entries.get(task.index())
    }

    /// The last task that had thread id `pid`.
    #[must_use]
    pub fn owner(&self, pid: u32) -> Option<TaskId> {
        self.owner.get(pid as usize).and_then(|n| n.checked_sub(1)).map(TaskId)
    }

    /// Name changes in order of time: task, time, new name. At most 16 per task.
    #[must_use]
    pub fn renames(&self) -> &[(TaskId, Time, Comm)] {
        &self.renames
    }

    /// The entry of `task`, to be changed.
    pub(crate) fn entry(&mut self, task: TaskId) -> &mut Entry {
        &mut self.entries[task.index()]
    }

    /// A new life of thread id `pid`, which it owns from now on. `pid` is below [`PID_MAX`].
    pub(crate) fn begin(&mut self, pid: u32, comm: Comm, at: Time) -> TaskId {
        let task = TaskId(self.entries.len() as u32);
        self.entries.push(Entry {
            pid,
            tgid: None,
            comm,
            parent: None,
            born: false,
            first_seen: at,
            ended: None,
            renames: 0,
        });
        self.give(pid, Some(task));
        task
    }

    /// Sets the owner of `pid`.
    pub(crate) fn give(&mut self, pid: u32, task: Option<TaskId>) {
        let slot = pid as usize;
        if slot >= self.owner.len() {
            self.owner.resize(slot + 1, 0);
        }
        self.owner[slot] = task.map_or(0, |t| t.0 + 1);
        if let Some(task) = task {
            self.entries[task.index()].pid = pid;
        }
    }

    /// Learns the name of `task`.
    #[inline]
    pub(crate) fn name(&mut self, task: TaskId, comm: Comm, at: Time) {
        let entry = &mut self.entries[task.index()];
        if entry.comm == comm || comm.is_empty() {
            return;
        }
        if !entry.comm.is_empty() {
            entry.renames += 1;
            if entry.renames <= RENAMES_KEPT {
                self.renames.push((task, at, comm));
            }
        }
        entry.comm = comm;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_id_can_have_several_lives() {
        let mut tasks = Tasks::default();
        let first = tasks.begin(7, Comm::new(b"a"), Time(1));
        let second = tasks.begin(7, Comm::new(b"b"), Time(2));
        assert_ne!(first, second);
        assert_eq!(tasks.owner(7), Some(second));
        assert_eq!(tasks.owner(8), None);
        assert_eq!(tasks.get(first).map(|e| e.comm.to_string()).as_deref(), Some("a"));
    }

    #[test]
    fn name_changes_are_kept_up_to_a_bound() {
        let mut tasks = Tasks::default();
        let task = tasks.begin(7, Comm::default(), Time(1));
        for n in 0..100u64 {
            tasks.name(task, Comm::new(n.to_string().as_bytes()), Time(n));
        }
        assert_eq!(tasks.renames().len(), 16);
        assert_eq!(tasks.get(task).map(|e| e.renames), Some(99));
        assert_eq!(tasks.get(task).map(|e| e.comm.to_string()).as_deref(), Some("99"));
    }

    #[test]
    fn a_long_name_is_cut_where_the_kernel_cuts() {
        assert_eq!(Comm::new(b"pool_workqueue_release").to_string(), "pool_workqueue_");
    }
}
