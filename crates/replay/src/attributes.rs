//! Scheduling attributes of tasks as a recording states them: initial values and changes, and those that a replay does
//! not follow yet.

use crate::groups::{Place, RecordedGroups};
use crate::program::Instruction;
use goodness_core::{Class, CpuId, CpuSet, GroupId, Nice, Span, Task, TaskId, Time};
use goodness_trace::{Attributes, Change, Group, Recording, SchedEvent};
use std::collections::{BTreeMap, BTreeSet};

/// A change of a task's attributes. `None` for unchanged ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// Time.
    pub at: Time,
    /// Class and real-time priority.
    pub class: Option<(Class, u8)>,
    /// Nice.
    pub nice: Option<Nice>,
    /// CPUs it may use.
    pub affinity: Option<CpuSet>,
    /// Group.
    pub group: Option<GroupId>,
}

/// Attributes of the tasks of a recording.
pub(crate) struct Stated<'a> {
    recording: &'a Recording,
    /// The default slice of a task.
    default_slice: Option<u64>,
    /// Time at which each task executed its first program.
    executed: BTreeMap<TaskId, Time>,
}

impl<'a> Stated<'a> {
    /// The attributes that `recording` states.
    pub fn of(recording: &'a Recording) -> Stated<'a> {
        let mut executed = BTreeMap::new();
        for record in &recording.records {
            if let SchedEvent::Exec { task, .. } = record.event {
                executed.entry(task).or_insert(record.at);
            }
        }
        Stated { recording, default_slice: default_slice(recording), executed }
    }

    /// The attributes of `task`, which had thread id `pid`. They are those of the id's last owner.
    fn attributes(&self, task: TaskId, pid: u32) -> Option<&'a Attributes> {
        let is_last = self.recording.tasks.owner(pid) == Some(task);
        self.recording.metadata.attributes_of(pid).filter(|_| is_last)
    }

    /// Puts the initial attributes of `task` into `spec`, and returns the later changes. If the recording does not
    /// follow changes, `spec` is left as the events show it. A kernel thread stays in the root group.
    pub fn begin(&self, task: TaskId, pid: u32, spec: &mut Task, groups: &mut RecordedGroups) -> Vec<AttributeChange> {
        let Some(facts) = self.attributes(task, pid) else { return Vec::new() };
        let slice = facts.changes.iter().rev().find_map(|change| change.slice_ns);
        let slice = slice.or(facts.slice_ns).filter(|slice| Some(*slice) != self.default_slice);
        spec.slice = slice.filter(|_| self.default_slice.is_some()).map(Span);
        let mut changes = self.changes(task, facts, spec);
        if spec.address_space.is_some() {
            self.move_between(groups, task, facts, spec, &mut changes);
        }
        changes
    }

    /// Time until which changes are those of the start: a launcher sets attributes between fork and exec.
    fn start(&self, task: TaskId) -> Time {
        self.executed.get(&task).copied().unwrap_or(Time::ZERO)
    }

    /// Puts the task's first group into `spec`, and its moves to others among its `changes`.
    fn move_between(
        &self,
        groups: &mut RecordedGroups,
        task: TaskId,
        facts: &Attributes,
        spec: &mut Task,
        changes: &mut Vec<AttributeChange>,
    ) {
        let mut place = Place::first(facts);
        spec.group = groups.at(place);
        let mut now = spec.group;
        for change in facts.changes.iter().skip(1) {
            place = place.after(change);
            let (at, group) = (Time(change.at_ns), groups.at(place));
            if at <= self.start(task) {
                spec.group = group;
            } else if group != now {
                changes.push(AttributeChange { at, group: Some(group), ..AttributeChange::default() });
            }
            now = group;
        }
    }

    fn changes(&self, task: TaskId, facts: &Attributes, spec: &mut Task) -> Vec<AttributeChange> {
        let Some((first, later)) = facts.changes.split_first() else { return Vec::new() };
        let mut known = State::default();
        let start = self.start(task);
        let (launch, later) = later.split_at(later.partition_point(|change| Time(change.at_ns) <= start));
        for change in std::iter::once(first).chain(launch) {
            let began = known.change(change);
            if let Some((class, priority)) = began.class {
                (spec.class, spec.rt_priority) = (class, priority);
            }
            spec.nice = began.nice.unwrap_or(spec.nice);
            spec.affinity = began.affinity.unwrap_or_else(|| spec.affinity.clone());
        }
        later.iter().map(|change| known.change(change)).filter(AttributeChange::is_one).collect()
    }
}

impl AttributeChange {
    fn is_one(&self) -> bool {
        self.class.is_some() || self.nice.is_some() || self.affinity.is_some()
    }
}

/// Class and priority of a task; a change may name only one of them.
#[derive(Default)]
struct State {
    class: Class,
    priority: u8,
}

impl State {
    fn change(&mut self, change: &Change) -> AttributeChange {
        let before = (self.class, self.priority);
        self.class = change.policy.as_deref().map_or(self.class, class_of);
        self.priority = change.rt_priority.unwrap_or(self.priority).min(99);
        let is_real_time = matches!(self.class, Class::Fifo | Class::RoundRobin);
        let now = (self.class, if is_real_time { self.priority.max(1) } else { 0 });
        AttributeChange {
            at: Time(change.at_ns),
            class: (before != (self.class, self.priority)).then_some(now),
            nice: change.nice.and_then(|nice| Nice::new(nice.into())),
            affinity: change.affinity.as_deref().map(set_of),
            group: None,
        }
    }
}

/// The class of a policy's name in recordings. A deadline task outranks all others, as does real-time priority 99;
/// sched_ext schedules ordinary tasks.
fn class_of(policy: &str) -> Class {
    match policy {
        "fifo" | "deadline" => Class::Fifo,
        "rr" => Class::RoundRobin,
        "batch" => Class::Batch,
        "idle" => Class::Idle,
        _ => Class::Normal,
    }
}

pub(crate) fn set_of(list: &[u32]) -> CpuSet {
    if list.is_empty() { CpuSet::All } else { CpuSet::of(&list.iter().map(|c| CpuId(*c)).collect::<Vec<_>>()) }
}

/// The slice that most tasks of the fair classes have, in ns, if the recording states slices.
#[must_use]
pub fn default_slice(recording: &Recording) -> Option<u64> {
    let mut counts = BTreeMap::<u64, usize>::new();
    for slice in recording.metadata.attributes.iter().filter_map(|it| it.slice_ns) {
        *counts.entry(slice).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(slice, _)| slice)
}

/// Changes of all tasks, handed out in order of time.
pub(crate) struct ChangesAhead {
    /// Last first.
    ahead: Vec<(Time, TaskId, Instruction)>,
    /// The affinities that instructions name.
    pub affinities: Vec<CpuSet>,
}

impl ChangesAhead {
    /// The changes of tasks in the order of their numbers.
    pub fn new<'a>(tasks: impl Iterator<Item = &'a [AttributeChange]>) -> ChangesAhead {
        let mut all = ChangesAhead { ahead: Vec::new(), affinities: Vec::new() };
        for (task, changes) in (0..).map(TaskId).zip(tasks) {
            for change in changes {
                let affinity = change.affinity.as_ref().map(|set| {
                    all.affinities.push(set.clone());
                    Instruction::Affinity(all.affinities.len() as u32 - 1)
                });
                let class = change.class.map(|(class, priority)| Instruction::Class(class, priority));
                let nice = change.nice.map(|nice| Instruction::Nice(nice.get() as i8));
                let group = change.group.map(|group| Instruction::Group(group.0));
                let instructions = [class, nice, affinity, group].into_iter().flatten();
                all.ahead.extend(instructions.map(|instruction| (change.at, task, instruction)));
            }
        }
        all.ahead.sort_by_key(|(at, ..)| *at);
        all.ahead.reverse();
        all
    }

    /// The next change up to `at`.
    pub fn next(&mut self, at: Time) -> Option<(Time, TaskId, Instruction)> {
        self.ahead.pop_if(|(due, ..)| *due <= at)
    }
}

/// Settings of cgroups that a replay does not follow, as sentences.
#[must_use]
pub fn not_followed(recording: &Recording) -> Vec<String> {
    let ran = recording.metadata.attributes.iter().filter(|it| it.switches > 0 && it.role != "kernel");
    let paths: BTreeSet<&str> = ran
        .flat_map(|task| task.changes.iter().filter_map(|it| it.cgroup.as_deref()).chain(task.cgroup.as_deref()))
        .collect();
    let is_busy = |group: &Group| paths.iter().any(|path| *path == group.path || is_inside(path, &group.path));
    let changed = recording.metadata.groups.iter().filter(|group| group.at_end.is_some() && is_busy(group));
    let changed: Vec<&str> = changed.map(|group| group.path.as_str()).collect();
    let sentence = || format!("the replay keeps the first settings of cgroups that changed: {}", changed.join(", "));
    (!changed.is_empty()).then(sentence).into_iter().collect()
}

fn is_inside(group: &str, around: &str) -> bool {
    group.strip_prefix(around).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at_ns: u64) -> Change {
        Change { at_ns, ..Change::default() }
    }

    fn recording(groups: Vec<Group>, tasks: Vec<Attributes>) -> Recording {
        let mut recording = Recording::default();
        (recording.metadata.groups, recording.metadata.attributes) = (groups, tasks);
        recording
    }

    fn in_group(pid: u32, cgroup: &str) -> Attributes {
        Attributes { pid, cgroup: Some(cgroup.into()), switches: 1, slice_ns: Some(3), ..Attributes::default() }
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let mut state = State::default();
        let fifo = Change { policy: Some("fifo".into()), rt_priority: Some(7), ..change(1) };
        assert_eq!(state.change(&fifo).class, Some((Class::Fifo, 7)));
        let higher = Change { rt_priority: Some(9), ..change(2) };
        assert_eq!(state.change(&higher).class, Some((Class::Fifo, 9)));
        let pinned = Change { affinity: Some(vec![1]), ..change(3) };
        let pinned = state.change(&pinned);
        assert_eq!((pinned.class, pinned.affinity), (None, Some(CpuSet::of(&[CpuId(1)]))));
        let other = Change { policy: Some("other".into()), rt_priority: Some(0), nice: Some(4), ..change(4) };
        let other = state.change(&other);
        assert_eq!((other.class, other.nice), (Some((Class::Normal, 0)), Nice::new(4)));
    }

    #[test]
    fn what_a_launcher_sets_before_it_executes_the_program_is_there_from_the_start() {
        let affinity = |at_ns, cpu| Change { affinity: Some(vec![cpu]), ..change(at_ns) };
        let changes = vec![affinity(1, 0), affinity(5, 1), affinity(20, 2)];
        let task = TaskId(0);
        let begin = |executed: Option<Time>| {
            let all =
                recording(Vec::new(), vec![Attributes { pid: 7, changes: changes.clone(), ..Attributes::default() }]);
            let mut spec = Task::default();
            let stated = Stated { executed: executed.map(|at| (task, at)).into_iter().collect(), ..Stated::of(&all) };
            let later = stated.changes(task, &all.metadata.attributes[0], &mut spec);
            (spec.affinity, later.iter().map(|change| change.at.0).collect::<Vec<_>>())
        };
        assert_eq!(begin(None), (CpuSet::of(&[CpuId(0)]), vec![5, 20]), "it executes nothing");
        assert_eq!(begin(Some(Time(10))), (CpuSet::of(&[CpuId(1)]), vec![20]));
    }

    #[test]
    fn changes_come_in_order_of_time_and_not_before_it() {
        let at = |at, nice| AttributeChange { at: Time(at), nice: Nice::new(nice), ..AttributeChange::default() };
        let tasks = [vec![at(5, 1), at(9, 2)], vec![at(7, 3)]];
        let mut ahead = ChangesAhead::new(tasks.iter().map(Vec::as_slice));
        assert_eq!(ahead.next(Time(4)), None);
        let taken: Vec<_> = std::iter::from_fn(|| ahead.next(Time(8))).collect();
        assert_eq!(taken, [(Time(5), TaskId(0), Instruction::Nice(1)), (Time(7), TaskId(1), Instruction::Nice(3))]);
    }

    #[test]
    fn cgroups_whose_settings_changed_are_told_if_somebody_ran_in_them() {
        let group = |path: &str, at_end| Group { path: path.into(), at_end, ..Group::default() };
        let changed = Some(Box::new(group("", None)));
        let groups = vec![group("/a", changed.clone()), group("/a/b", None), group("/idle", changed)];
        let told = not_followed(&recording(groups.clone(), vec![in_group(1, "/a/b"), in_group(2, "/")]));
        assert_eq!(told, ["the replay keeps the first settings of cgroups that changed: /a"]);
        assert!(not_followed(&recording(groups, vec![in_group(2, "/")])).is_empty());
    }

    #[test]
    fn the_slice_of_most_tasks_is_the_default() {
        let own = Attributes { slice_ns: Some(8), ..Attributes::default() };
        let told = recording(Vec::new(), vec![in_group(1, "/"), own, in_group(2, "/")]);
        assert_eq!(default_slice(&told), Some(3));
        assert_eq!(default_slice(&Recording::default()), None);
    }
}
