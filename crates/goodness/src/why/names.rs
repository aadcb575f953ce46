//! Names of tasks: of one, and of several that are alike.

use goodness_core::{Groups, LockId, TaskId, TaskSpec};
use goodness_report::why::Who;
use std::collections::{BTreeMap, BTreeSet};

/// Different names with a common beginning that are one kind, whatever the numbers at their ends. A choice.
const ALIKE: usize = 5;

/// Name of what is no task: the kernel, which writes back dirty pages.
const UNKNOWN: &str = "the kernel";

/// The names of the tasks of a run or a recording.
pub(super) struct Names {
    tasks: Vec<Who>,
    /// For each task the place of its kind in `kinds`.
    kind_of: Vec<u32>,
    kinds: Vec<String>,
    /// For each task the group whose limit holds for it.
    limited_by: Vec<Option<String>>,
    /// Likewise of the group whose limit on I/O does: the outermost one.
    io_limited_by: Vec<Option<String>>,
    locks: Vec<String>,
}

impl Names {
    /// Names and numbers, by task.
    pub fn new(tasks: Vec<Who>) -> Names {
        let mut alike: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for task in &tasks {
            alike.entry(stem(&task.name)).or_default().insert(&task.name);
        }
        let mut kinds: Vec<String> = Vec::new();
        let mut places: BTreeMap<String, u32> = BTreeMap::new();
        let mut kind_of = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let stem = stem(&task.name);
            let kind = if are_alike(stem, &alike[stem]) { format!("{stem}*") } else { task.name.clone() };
            let place = *places.entry(kind).or_insert_with_key(|kind| {
                kinds.push(kind.clone());
                kinds.len() as u32 - 1
            });
            kind_of.push(place);
        }
        let nothing = vec![None; tasks.len()];
        Names { limited_by: nothing.clone(), io_limited_by: nothing, tasks, kind_of, kinds, locks: Vec::new() }
    }

    /// Notes the limits of the groups of `tasks`.
    pub fn limited(mut self, tasks: &[TaskSpec], groups: &Groups) -> Names {
        for (limited_by, spec) in self.limited_by.iter_mut().zip(tasks) {
            let mut group = spec.task.group;
            while groups[group].quota.is_none() && group != goodness_core::GroupId::ROOT {
                group = groups[group].parent;
            }
            *limited_by = groups[group].quota.map(|_| groups[group].name.clone());
        }
        for (limited_by, spec) in self.io_limited_by.iter_mut().zip(tasks) {
            let mut group = spec.task.group;
            while group != goodness_core::GroupId::ROOT {
                let name = groups[group].io_max.map(|_| groups[group].name.clone());
                *limited_by = name.or(limited_by.take());
                group = groups[group].parent;
            }
        }
        self
    }

    /// Notes the names of the locks.
    pub fn locked(self, locks: Vec<String>) -> Names {
        Names { locks, ..self }
    }

    /// The name of the lock, which edits understand.
    pub fn lock(&self, lock: LockId) -> &str {
        self.locks.get(lock.0 as usize).map_or(UNKNOWN, String::as_str)
    }

    /// The task.
    pub fn who(&self, task: TaskId) -> Who {
        self.tasks.get(task.index()).cloned().unwrap_or_else(|| Who { name: UNKNOWN.into(), id: 0 })
    }

    /// The kind of the task: its name, or the common beginning of many.
    pub fn kind(&self, task: TaskId) -> u32 {
        self.kind_of.get(task.index()).copied().unwrap_or(u32::MAX)
    }

    /// The name of a kind, which edits understand.
    pub fn of_kind(&self, kind: u32) -> &str {
        self.kinds.get(kind as usize).map_or(UNKNOWN, String::as_str)
    }

    /// The group whose limit on I/O holds for the task.
    pub fn io_limit(&self, task: TaskId) -> Option<&str> {
        self.io_limited_by.get(task.index())?.as_deref()
    }

    /// The group whose limit holds for the task.
    pub fn limit(&self, task: TaskId) -> Option<&str> {
        self.limited_by.get(task.index())?.as_deref()
    }
}

/// A name without the number at its end: `worker-` of `worker-12`, `kworker/` of `kworker/0:1`.
fn stem(name: &str) -> &str {
    if let Some((kworker, _)) = name.split_once('/').filter(|(before, _)| *before == "kworker") {
        return &name[..kworker.len() + 1];
    }
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "" => name,
        stem => stem,
    }
}

/// True if `names`, which begin with `stem`, are many, or numbered without a gap from 0 or 1.
fn are_alike(stem: &str, names: &BTreeSet<&str>) -> bool {
    let numbers: BTreeSet<usize> = names.iter().filter_map(|name| name[stem.len()..].parse().ok()).collect();
    let first = numbers.first().copied().unwrap_or(usize::MAX);
    let is_gapless =
        numbers.len() == names.len() && numbers.iter().copied().eq(first..first.saturating_add(names.len()));
    names.len() >= ALIKE || names.len() > 1 && first <= 1 && is_gapless
}

#[test]
fn names_that_are_numbered_throughout_or_many_are_one_kind() {
    let names = |all: &[&str]| Names::new(all.iter().map(|name| Who { name: (*name).into(), id: 1 }).collect());
    let few = names(&["nice-0", "nice-5", "nice-19"]);
    assert_eq!(few.of_kind(few.kind(TaskId(1))), "nice-5");
    let numbered = names(&["hog-0", "hog-1", "hog"]);
    assert_eq!(
        (numbered.of_kind(numbered.kind(TaskId(1))), numbered.of_kind(numbered.kind(TaskId(2)))),
        ("hog-*", "hog")
    );
    let many = names(&["w-1", "w-2", "w-3", "w-4", "w-12", "x"]);
    assert_eq!((many.of_kind(many.kind(TaskId(4))), many.of_kind(many.kind(TaskId(5)))), ("w-*", "x"));
}
