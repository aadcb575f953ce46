//! The cgroups of recorded tasks as groups: path, weight and limit of each, as they were when the recording began.
//!
//! Left out: moves of a task between cgroups and other values at the end of the recording, and autogroups.

use crate::participants::Participant;
use goodness_core::{Group, GroupId, Groups, Membership, Quota, Span};
use goodness_trace::Recording;

/// The groups of `tasks`, called by their paths without the first slash. Kernel threads are in the root group. `None`
/// if all tasks are.
pub(crate) fn membership<'a>(
    recording: &Recording,
    tasks: impl Iterator<Item = &'a Participant>,
) -> Option<Membership> {
    let mut groups = Groups::default();
    let group_of = |task: &Participant| {
        let stated = recording.metadata.attributes_of(task.pid).filter(|_| task.task.address_space.is_some());
        stated.and_then(|it| it.cgroup.as_deref()).map_or(GroupId::ROOT, |path| enter(recording, &mut groups, path))
    };
    let of_tasks = tasks.map(group_of).collect();
    (!groups.is_flat()).then_some(Membership { groups, of_tasks })
}

/// The group of `path`, made with those around it if it is new.
fn enter(recording: &Recording, groups: &mut Groups, path: &str) -> GroupId {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return GroupId::ROOT;
    }
    if let Some(known) = groups.named(path) {
        return known;
    }
    let around = path.rsplit_once('/').map_or("", |(around, _)| around);
    let parent = enter(recording, groups, around);
    groups.add(stated(recording, path, parent))
}

/// The group of `path` with its recorded weight and limit. A weight of 0 is that of an idle group.
fn stated(recording: &Recording, path: &str, parent: GroupId) -> Group {
    let mut group = Group::new(path, parent);
    let Some(facts) = recording.metadata.groups.iter().find(|it| it.path.trim_matches('/') == path) else {
        return group;
    };
    match (facts.weight, facts.shares) {
        (Some(0), _) => group.set_idle(true),
        (Some(weight), _) => group.weight = Group::weight_of(weight).unwrap_or(Group::WEIGHT),
        (None, Some(shares)) => group.weight = Group::weight_of_shares(shares),
        (None, None) => {}
    }
    let limit =
        facts.quota_us.zip(facts.period_us).map(|(quota, period)| (Span::from_us(quota), Span::from_us(period)));
    group.quota = limit.and_then(|(quota, period)| Quota::new(quota, period).ok());
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::participants::Role;
    use goodness_core::Task;
    use goodness_trace::Attributes;

    fn participant(pid: u32, address_space: Option<u32>) -> Participant {
        let task = Task { address_space, ..Task::default() };
        let (name, changes) = (pid.to_string(), Vec::new());
        Participant { name, pid, task, program: 0, parent: None, judged: true, role: Role::Other, changes }
    }

    fn recording(paths: &[(u32, &str)]) -> Recording {
        let mut recording = Recording::default();
        let of =
            |(pid, path): &(u32, &str)| Attributes { pid: *pid, cgroup: Some((*path).into()), ..Attributes::default() };
        recording.metadata.attributes = paths.iter().map(of).collect();
        let group = |path: &str, weight, quota_us| goodness_trace::Group {
            path: path.into(),
            weight: Some(weight),
            quota_us,
            period_us: Some(100_000),
            ..goodness_trace::Group::default()
        };
        recording.metadata.groups =
            vec![group("/site", 50, None), group("/site/web", 200, Some(20_000)), group("/low", 0, None)];
        recording
    }

    #[test]
    fn tasks_are_in_their_cgroups_with_weight_and_limit() {
        let recording = recording(&[(1, "/site/web"), (2, "/"), (3, "/low"), (4, "/site/web"), (5, "/unknown")]);
        let tasks = [(1, Some(1)), (2, Some(1)), (3, Some(1)), (4, None), (5, Some(1))];
        let tasks = tasks.map(|(pid, space)| participant(pid, space));
        let found = membership(&recording, tasks.iter()).expect("groups");
        let [site, web, low, unknown] = [1, 2, 3, 4].map(GroupId);
        assert_eq!(found.of_tasks, [web, GroupId::ROOT, low, GroupId::ROOT, unknown], "4 is a kernel thread");
        let facts: Vec<_> = found.groups.iter().map(|(_, it)| (it.name.as_str(), it.parent, it.weight)).collect();
        let root = GroupId::ROOT;
        assert_eq!(facts, [("site", root, 512), ("site/web", site, 2048), ("low", root, 3), ("unknown", root, 1024)]);
        assert_eq!(found.groups[web].quota, Quota::parse("20ms/100ms").expect("a limit"));
        assert!(found.groups[low].is_idle && !found.groups[web].is_idle && found.groups[site].quota.is_none());
    }

    /// The control: tasks that are all in the root group have no groups.
    #[test]
    fn tasks_of_the_root_group_have_none() {
        let recording = recording(&[(1, "/"), (2, "/site")]);
        assert_eq!(membership(&recording, [participant(1, Some(1)), participant(2, None)].iter()), None);
    }
}
