//! The tasks of a recording: their roles, their names, and which names may be published.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::event::{Event, TaskRef, What};
use super::tasks::Census;
use super::text::Names;

/// The parent of all kernel threads.
const KTHREADD: i32 = 2;
/// Kernel threads whose full name describes only kernel machinery and is safe to publish.
const MACHINERY: [&str; 19] = [
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "cpuhp/",
    "idle_inject/",
    "rcu",
    "kthreadd",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "ksmd",
    "kauditd",
    "khungtaskd",
    "oom_reaper",
    "writeback",
    "watchdog",
    "ktimers/",
    "irq_work/",
    "pool_workqueue",
];

/// Reason a task is in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Belongs to the recorded command's tree.
    Command,
    /// Belongs to the tree of a server that was selected.
    Selected,
    /// A kernel thread.
    Kernel,
    /// Any other task that ran.
    Other,
}

/// Treatment of strangers' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Names as recorded.
    Open,
    /// Strangers become `other-N`.
    Anonymous,
}

/// All tasks of a recording. Usage: [`note`](Self::note) every event once, [name the strangers](Self::name_strangers),
/// [`rewind`](Self::rewind), then walk again with [`learn_names`](Self::learn_names).
#[derive(Debug)]
pub struct Participants {
    command: BTreeSet<i32>,
    selected: BTreeSet<i32>,
    kernel: BTreeSet<i32>,
    privacy: Privacy,
    /// In the order of first appearance.
    met: Vec<i32>,
    aliases: HashMap<i32, Vec<u8>>,
    names: HashMap<i32, Vec<u8>>,
    /// Times each task was switched to.
    pub switches: BTreeMap<i32, u64>,
}

impl Participants {
    /// Starts from the tasks in `/proc`, the command's process and the threads of selected servers.
    pub fn new(census: &Census, command: Option<i32>, selected: BTreeSet<i32>, privacy: Privacy) -> Self {
        let kernel = census.tasks.iter().filter(|(_, task)| task.kernel).map(|(tid, _)| *tid);
        Self {
            command: command.into_iter().collect(),
            selected,
            kernel: kernel.chain([KTHREADD]).collect(),
            privacy,
            met: Vec::new(),
            aliases: HashMap::new(),
            names: HashMap::new(),
            switches: BTreeMap::new(),
        }
    }

    /// Records all tasks that `event` names; a child gets its parent's role.
    pub fn note(&mut self, event: &Event) {
        self.appear(event.pid);
        match event.what {
            What::Switch { prev, next, .. } => {
                self.appear(prev.pid);
                self.appear(next.pid);
                *self.switches.entry(next.pid).or_default() += 1;
            }
            What::Fork { parent, child } => {
                self.appear(child.pid);
                for set in [&mut self.command, &mut self.selected, &mut self.kernel] {
                    if set.contains(&parent.pid) {
                        set.insert(child.pid);
                    }
                }
            }
            What::Wake { task, .. } | What::Exit { task, .. } | What::Migrate { task, .. } => self.appear(task.pid),
            What::Exec { .. } | What::Call { .. } | What::Block { .. } => {}
        }
    }

    fn appear(&mut self, pid: i32) {
        if let std::collections::btree_map::Entry::Vacant(e) = self.switches.entry(pid) {
            e.insert(0);
            self.met.push(pid);
        }
    }

    /// Assigns aliases to the strangers. Call it after every event has been met.
    pub fn name_strangers(&mut self, census: &Census) {
        for pid in self.met.iter().chain(census.tasks.keys()).copied().collect::<Vec<_>>() {
            let stranger = pid != 0 && self.role(pid) == Role::Other;
            if stranger && !self.aliases.contains_key(&pid) {
                let alias = format!("other-{}", self.aliases.len() + 1);
                self.aliases.insert(pid, alias.into_bytes());
            }
        }
    }

    /// Restores the names at the start of the recording, for another pass over the events.
    pub fn rewind(&mut self, census: &Census) {
        self.names.clear();
        for (tid, task) in &census.tasks {
            if task.seen == super::tasks::Seen::Start {
                self.name(*tid, &task.comm);
            }
        }
    }

    /// Keeps the names that `event` teaches, for the lines that follow.
    pub fn learn_names(&mut self, event: &Event) {
        let mut keep = |task: TaskRef| self.name(task.pid, task.comm);
        match event.what {
            What::Switch { prev, next, .. } => {
                keep(prev);
                keep(next);
            }
            What::Wake { task, .. } | What::Exit { task, .. } | What::Migrate { task, .. } => keep(task),
            What::Fork { parent, child } => {
                keep(parent);
                keep(child);
            }
            What::Exec { file, pid, .. } => {
                let base = file.rsplit(|&byte| byte == b'/').next().unwrap_or(file);
                self.name(pid, &base[..base.len().min(15)]);
            }
            What::Call { .. } | What::Block { .. } => {}
        }
    }

    fn name(&mut self, pid: i32, comm: &[u8]) {
        if pid != 0 && self.names.get(&pid).is_none_or(|known| known != comm) {
            self.names.insert(pid, comm.to_vec());
        }
    }

    /// The role of `pid`.
    pub fn role(&self, pid: i32) -> Role {
        if self.command.contains(&pid) {
            Role::Command
        } else if self.selected.contains(&pid) {
            Role::Selected
        } else if self.kernel.contains(&pid) {
            Role::Kernel
        } else {
            Role::Other
        }
    }

    /// Every thread that belongs to the command or a selected server, ascending.
    pub fn members(&self) -> Vec<i32> {
        self.command.union(&self.selected).copied().collect()
    }

    /// All tasks met in events, ascending, without the idle task.
    pub fn all(&self) -> impl Iterator<Item = i32> {
        self.switches.keys().copied().filter(|&pid| pid != 0)
    }
}

impl Names for Participants {
    fn shown<'a>(&'a self, pid: i32, comm: &'a [u8]) -> &'a [u8] {
        match (self.privacy, self.role(pid)) {
            (Privacy::Anonymous, Role::Other) if pid != 0 => self.aliases.get(&pid).map_or(b"other", Vec::as_slice),
            (Privacy::Anonymous, Role::Kernel) => machinery(comm),
            _ => comm,
        }
    }

    fn current(&self, pid: i32) -> &[u8] {
        match self.names.get(&pid) {
            _ if pid == 0 => b"<idle>",
            Some(comm) => self.shown(pid, comm),
            None => self.shown(pid, b"<...>"),
        }
    }
}

/// A kernel thread's name without parts that may identify disks, file systems or devices. Known machinery keeps its
/// name and number up to the second `/`; other names are cut before the first `/`.
fn machinery(comm: &[u8]) -> &[u8] {
    let kept = if MACHINERY.iter().any(|start| comm.starts_with(start.as_bytes())) { 2 } else { 1 };
    let end = comm.iter().enumerate().filter(|(_, byte)| **byte == b'/').nth(kept - 1);
    end.map_or(comm, |(at, _)| &comm[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: i32, comm: &'static [u8]) -> TaskRef<'static> {
        TaskRef { comm, pid, prio: 120 }
    }

    fn fork(parent: i32, child: i32) -> Event<'static> {
        let what = What::Fork { parent: task(parent, b"p"), child: task(child, b"c") };
        Event { pid: parent, flags: 0, depth: 0, what }
    }

    fn switch(prev: TaskRef<'static>, next: TaskRef<'static>) -> Event<'static> {
        Event { pid: prev.pid, flags: 0, depth: 0, what: What::Switch { prev, state: 1, next } }
    }

    fn participants(privacy: Privacy) -> Participants {
        let events = [
            switch(task(0, b"swapper/0"), task(70, b"mail-of-bob")),
            fork(10, 11),
            fork(11, 12),
            fork(KTHREADD, 13),
            switch(task(70, b"mail-of-bob"), task(71, b"tax")),
        ];
        let census = Census::default();
        let mut participants = Participants::new(&census, Some(10), BTreeSet::from([20]), privacy);
        events.iter().for_each(|event| participants.note(event));
        participants.name_strangers(&census);
        participants.rewind(&census);
        events.iter().for_each(|event| participants.learn_names(event));
        participants
    }

    #[test]
    fn a_child_belongs_where_its_parent_does() {
        let participants = participants(Privacy::Open);
        assert_eq!(participants.members(), [10, 11, 12, 20]);
        assert_eq!(
            [11, 20, 13, 70].map(|pid| participants.role(pid)),
            [Role::Command, Role::Selected, Role::Kernel, Role::Other]
        );
    }

    #[test]
    fn strangers_lose_their_names_by_first_appearance_and_members_keep_theirs() {
        let participants = participants(Privacy::Anonymous);
        assert_eq!(participants.shown(70, b"mail-of-bob"), b"other-1");
        assert_eq!(participants.current(71), b"other-2");
        assert_eq!(participants.shown(12, b"ab"), b"ab");
        assert_eq!(participants.current(0), b"<idle>");
    }

    #[test]
    fn kernel_threads_keep_machinery_but_not_device_names() {
        let participants = participants(Privacy::Anonymous);
        assert_eq!(participants.shown(13, b"kworker/1:2"), b"kworker/1:2");
        assert_eq!(participants.shown(13, b"jbd2/bobs-disk-8"), b"jbd2");
        assert_eq!(participants.shown(13, b"kworker/R-xfs-buf/bobs-disk"), b"kworker/R-xfs-buf");
    }

    #[test]
    fn nobody_is_renamed_unless_asked() {
        let participants = participants(Privacy::Open);
        assert_eq!(participants.shown(70, b"mail-of-bob"), b"mail-of-bob");
        assert_eq!(participants.current(70), b"mail-of-bob");
        assert_eq!(participants.current(999), b"<...>");
        assert_eq!(participants.switches[&70], 1);
    }
}
