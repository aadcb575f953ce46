//! Groups of recorded tasks: a cgroup with its path, weight and limit as they were when the recording began, or an
//! autogroup with its nice value.
//!
//! Source: docs/specs/groups-locks.md sections 1.1 and 1.6. A cgroup without the cpu controller is none: its tasks
//! compete in the one around it. An autogroup counts for tasks in no cgroup.
//!
//! Left out: weights and limits that changed during the recording.

use goodness_core::{CpuId, CpuSet, Group, GroupId, Groups, Nice, Quota, Span};
use goodness_trace::{Attributes, Change, Recording};

/// The groups of a recording, made when the first task is in them.
pub(crate) struct RecordedGroups<'a> {
    recording: &'a Recording,
    /// True if the kernel made a group of each session.
    has_autogroups: bool,
    groups: Groups,
}

/// Facts that decide the group of a task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place<'a> {
    cgroup: Option<&'a str>,
    autogroup: Option<u32>,
    autogroup_nice: Option<i8>,
}

impl<'a> Place<'a> {
    /// The place of a task when the recording first saw it.
    pub fn first(facts: &'a Attributes) -> Place<'a> {
        let stated =
            Place { cgroup: facts.cgroup.as_deref(), autogroup: facts.autogroup, autogroup_nice: facts.autogroup_nice };
        facts.changes.first().map_or(stated, |change| stated.after(change))
    }

    /// The place after `change`.
    pub fn after(self, change: &'a Change) -> Place<'a> {
        Place {
            cgroup: change.cgroup.as_deref().or(self.cgroup),
            autogroup: change.autogroup.or(self.autogroup),
            autogroup_nice: change.autogroup_nice.or(self.autogroup_nice),
        }
    }
}

impl<'a> RecordedGroups<'a> {
    /// The groups of `recording`; none yet.
    pub fn of(recording: &'a Recording) -> RecordedGroups<'a> {
        let header = recording.metadata.recording.as_ref();
        let has_autogroups = header.and_then(|header| header.autogroup) == Some(1);
        RecordedGroups { recording, has_autogroups, groups: Groups::default() }
    }

    /// The group of a task at `place`.
    pub fn at(&mut self, place: Place) -> GroupId {
        match place.cgroup.map_or(GroupId::ROOT, |path| self.cgroup(path)) {
            GroupId::ROOT if self.has_autogroups => self.autogroup(place),
            group => group,
        }
    }

    /// The groups that were asked for.
    pub fn finish(self) -> Groups {
        self.groups
    }

    /// The group of `path`, made with those around it if it is new.
    fn cgroup(&mut self, path: &str) -> GroupId {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return GroupId::ROOT;
        }
        if let Some(known) = self.groups.named(path) {
            return known;
        }
        let around = path.rsplit_once('/').map_or("", |(around, _)| around);
        let parent = self.cgroup(around);
        let facts = self.recording.metadata.groups.iter().find(|it| it.path.trim_matches('/') == path);
        match facts {
            Some(facts) if facts.weight.is_none() && facts.shares.is_none() => parent,
            facts => {
                let cpus = facts.and_then(|it| it.cpus.as_deref()).map_or(CpuSet::All, |list| self.cpuset(list));
                self.groups.add(Group { cpus, ..stated(path, parent, facts) })
            }
        }
    }

    /// A recorded cpuset; one that names every CPU of the machine confines nothing.
    fn cpuset(&self, list: &[u32]) -> CpuSet {
        let all = (0..self.recording.metadata.cpus).all(|cpu| list.contains(&cpu));
        if all { CpuSet::All } else { CpuSet::of(&list.iter().copied().map(CpuId).collect::<Vec<_>>()) }
    }

    /// The autogroup of a task in the root group, by the name that `/proc` shows. That of number 0 is the root group.
    fn autogroup(&mut self, place: Place) -> GroupId {
        let Some(number) = place.autogroup.filter(|number| *number != 0) else { return GroupId::ROOT };
        let name = format!("/autogroup-{number}");
        self.groups.named(&name).unwrap_or_else(|| {
            let nice = place.autogroup_nice.and_then(|nice| Nice::new(nice.into())).unwrap_or_default();
            self.groups.add(Group { weight: Group::weight_of_nice(nice), ..Group::new(&name, GroupId::ROOT) })
        })
    }
}

/// The group of `path` with its recorded weight and limit. A weight of 0 is that of an idle group.
fn stated(path: &str, parent: GroupId, facts: Option<&goodness_trace::Group>) -> Group {
    let mut group = Group::new(path, parent);
    let Some(facts) = facts else { return group };
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

    fn recording(autogroup: u8) -> Recording {
        let group = |path: &str, weight, quota_us| goodness_trace::Group {
            path: path.into(),
            weight,
            quota_us,
            period_us: Some(100_000),
            ..goodness_trace::Group::default()
        };
        let mut recording = Recording::default();
        recording.metadata.recording =
            Some(goodness_trace::Header { autogroup: Some(autogroup), ..Default::default() });
        recording.metadata.groups = vec![
            group("/site", Some(50), None),
            group("/site/web", Some(200), Some(20_000)),
            group("/low", Some(0), None),
            group("/bare", None, None),
            group("/bare/inner", None, None),
        ];
        recording
    }

    fn at(cgroup: &'static str) -> Place<'static> {
        Place { cgroup: Some(cgroup), autogroup: Some(7), autogroup_nice: Some(5) }
    }

    #[test]
    fn tasks_are_in_their_cgroups_with_weight_and_limit() {
        let recording = recording(0);
        let mut found = RecordedGroups::of(&recording);
        let of_tasks =
            ["/site/web", "/", "/low", "/site/web", "/unknown", "/bare/inner"].map(|path| found.at(at(path)));
        let [site, web, low, unknown] = [1, 2, 3, 4].map(GroupId);
        let root = GroupId::ROOT;
        assert_eq!(of_tasks, [web, root, low, web, unknown, root], "the last has no cpu controller");
        let groups = found.finish();
        let facts: Vec<_> = groups.iter().map(|(_, it)| (it.name.as_str(), it.parent, it.weight)).collect();
        assert_eq!(facts, [("site", root, 512), ("site/web", site, 2048), ("low", root, 3), ("unknown", root, 1024)]);
        assert_eq!(groups[web].quota, Quota::parse("20ms/100ms").expect("a limit"));
        assert!(groups[low].is_idle && !groups[web].is_idle && groups[site].quota.is_none());
    }

    #[test]
    fn a_recorded_cpuset_confines_unless_it_names_every_cpu() {
        let mut recording = recording(0);
        recording.metadata.cpus = 3;
        recording.metadata.groups[0].cpus = Some(vec![0, 1, 2]);
        recording.metadata.groups[1].cpus = Some(vec![1, 2]);
        let mut found = RecordedGroups::of(&recording);
        found.at(at("/site/web"));
        let groups = found.finish();
        let cpus: Vec<_> = groups.iter().map(|(_, it)| it.cpus.clone()).collect();
        assert_eq!(cpus, [CpuSet::All, CpuSet::Small(0b110)]);
    }

    #[test]
    fn sessions_are_groups_where_autogroups_are_on_and_no_cgroup_counts() {
        let recording = recording(1);
        let mut found = RecordedGroups::of(&recording);
        let of_init = Place { autogroup: Some(0), ..at("/") };
        let of_tasks = [at("/"), at("/bare"), at("/site"), of_init].map(|place| found.at(place));
        assert_eq!(of_tasks, [GroupId(1), GroupId(1), GroupId(2), GroupId::ROOT]);
        let groups = found.finish();
        let facts: Vec<_> = groups.iter().map(|(_, it)| (it.name.as_str(), it.weight)).collect();
        assert_eq!(facts, [("/autogroup-7", 335), ("site", 512)], "nice 5 weighs 335");
    }

    #[test]
    fn a_place_changes_in_what_a_change_names() {
        let attributes = Attributes { cgroup: Some("/low".into()), autogroup: Some(3), ..Attributes::default() };
        let moved = Change { cgroup: Some("/site".into()), ..Change::default() };
        let now = Place::first(&attributes).after(&moved);
        assert_eq!((now.cgroup, now.autogroup), (Some("/site"), Some(3)));
    }
}
