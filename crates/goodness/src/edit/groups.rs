//! Edits of task groups: `web.cpu_weight=50`, `web.cpu_max=50ms/100ms`, `backup.cpu_idle=1`. A cgroup of a recording is
//! meant by its path, or by the last name of that, with its suffix or without: `/system.slice/web.service`, `web`.

use super::{cpus, matches, number, wrong};
use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_core::{CpuSet, Group, GroupId, IoLimit, Quota, Workload};
use goodness_work::container;

/// Keys of a group that an edit can set.
const KEYS: [&str; 8] =
    ["cpu_weight", "cpu_max", "cpu_request", "cpu_limit", "cpu_idle", "cpuset", "io_max", "io_weight"];
/// Keys that people may try, with what they should write.
const OTHER: [(&str, &str); 2] = [("quota", "write cpu_max=50ms/100ms"), ("cpus", "write cpuset=0-1")];

/// A change of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupChange {
    Weight(u64),
    Max(Option<Quota>),
    Idle(bool),
    Cpus(CpuSet),
    Io(IoLimit),
    IoWeight(Option<u64>),
}

impl GroupChange {
    /// The change that `key` and `value` make; `None` if `key` is none of a group.
    pub fn parse(text: &str, key: &str, value: &str) -> Result<Option<GroupChange>, Refusal> {
        if let Some((_, remedy)) = OTHER.iter().find(|(other, _)| *other == key) {
            return Err(wrong(text, &format!("a group has no key \"{key}\"")).remedy(*remedy));
        }
        Ok(match key {
            "cpu_weight" | "weight" => {
                Group::weight_of(number(text, value, 1, 10_000)?.into()).map(GroupChange::Weight)
            }
            "cpu_max" => Some(GroupChange::Max(Quota::parse(value).map_err(|why| wrong(text, &why))?)),
            "cpu_request" => Group::weight_of(container::cpu_weight(milli(text, value)?)).map(GroupChange::Weight),
            "cpu_limit" => Some(GroupChange::Max(container::cpu_max(milli(text, value)?))),
            "io_max" => Some(GroupChange::Io(IoLimit::parse(value).map_err(|why| wrong(text, &why))?)),
            "io_weight" if value == "none" => Some(GroupChange::IoWeight(None)),
            "io_weight" => {
                let weight = number(text, value, 1, Group::IO_WEIGHT_MAX as u32)?;
                Some(GroupChange::IoWeight(Some(weight.into())))
            }
            "cpuset" if value == "all" => Some(GroupChange::Cpus(CpuSet::All)),
            "cpuset" => Some(GroupChange::Cpus(CpuSet::of(&cpus(text, value)?))),
            "cpu_idle" => Some(GroupChange::Idle(number(text, value, 0, 1)? == 1)),
            _ => None,
        })
    }

    /// Changes `group`.
    pub fn set(&self, group: &mut Group) {
        match self {
            GroupChange::Weight(weight) => group.weight = *weight,
            GroupChange::Max(quota) => group.quota = *quota,
            GroupChange::Idle(is_idle) => group.set_idle(*is_idle),
            GroupChange::Cpus(cpus) => group.cpus = cpus.clone(),
            GroupChange::Io(limit) => group.io_max = Some(*limit).filter(|it| *it != IoLimit::NONE),
            GroupChange::IoWeight(weight) => group.io_weight = *weight,
        }
    }

    /// Changes the groups that `whom` means.
    pub fn apply(&self, text: &str, whom: &str, work: &mut Workload) -> Result<(), Refusal> {
        if matches!(self, GroupChange::Cpus(_)) {
            free(work);
        }
        if matches!(self, GroupChange::Io(_) | GroupChange::IoWeight(_)) && work.storage.disks.is_empty() {
            return Err(wrong(text, "the work has no disk").remedy("limit or share I/O where there is a [[disk]]"));
        }
        let groups = &mut work.groups;
        let meant: Vec<GroupId> =
            groups.iter().filter(|(_, group)| is_meant(whom, &group.name)).map(|(id, _)| id).collect();
        for id in &meant {
            let group = groups.edit(*id);
            if group.is_idle && matches!(self, GroupChange::Weight(_)) {
                let remedy = format!("write {whom}.cpu_idle=0 first");
                return Err(wrong(text, "an idle group has no weight").remedy(remedy));
            }
            self.set(group);
        }
        match meant.is_empty() {
            false => Ok(()),
            true if groups.is_flat() => {
                let remedy =
                    "files with [[group]] have, and recordings of tasks in cgroups; change the nice of tasks instead";
                Err(wrong(text, "the work has no groups").remedy(remedy))
            }
            true => {
                let names = groups.iter().map(|(_, group)| group.name.as_str());
                Err(wrong(text, &format!("no group is called \"{whom}\"")).remedy(suggest(whom, names)))
            }
        }
    }
}

/// Thousandths of a CPU.
fn milli(text: &str, value: &str) -> Result<u64, Refusal> {
    container::milli_cpus(value).map_err(|why| wrong(text, &why))
}

/// Tasks that may use exactly what their group may are taken to ask for nothing, as recorded ones do, whose affinity
/// contains the cpuset: they follow a change of it.
fn free(work: &mut Workload) {
    for spec in &mut work.tasks {
        if spec.task.affinity == work.groups.cpus(spec.task.group) {
            spec.task.affinity = CpuSet::All;
        }
    }
}

/// Endings of systemd's groups.
pub(crate) const UNITS: [&str; 3] = [".service", ".slice", ".scope"];

/// True if `whom` means the group of this name.
pub(crate) fn is_meant(whom: &str, name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let stem = UNITS.iter().find_map(|unit| last.strip_suffix(unit)).unwrap_or(last);
    let whom = whom.strip_prefix('/').unwrap_or(whom);
    [name, last, stem].iter().any(|it| matches(whom, it))
}

/// The keys of tasks and groups: for the nearest one.
pub(crate) fn keys<'a>(of_tasks: &'a [&'static str]) -> impl Iterator<Item = &'static str> + 'a {
    of_tasks.iter().copied().chain(KEYS)
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, work};
    use super::is_meant;
    use goodness_core::{CpuSet, Group, GroupId, Groups, Seed, Span, Workload, WorkloadSource};

    fn edited(text: &str) -> Result<Groups, String> {
        let source = goodness_work::models::BuiltIn::parse("sleepers:duration=300ms").unwrap();
        let mut groups = Groups::default();
        let site = groups.add(Group::new("site", GroupId::ROOT));
        for name in ["web-1", "web-2"] {
            groups.add(Group::new(name, site));
        }
        let mut tasks = Workload { groups, ..source.build(Seed(1), 0) };
        let parse = |text| Edit::parse(text).map(|edit| edit.expect("an edit"));
        let edits: Result<Vec<Edit>, _> = text.split(' ').map(parse).collect();
        let done = edits.and_then(|edits| work(&edits, &mut tasks, &source, (1, 1)));
        done.map(|()| tasks.groups).map_err(|why| why.to_string())
    }

    #[test]
    fn an_edit_changes_the_groups_that_it_names() {
        let weights = |groups: &Groups| groups.iter().map(|(_, group)| group.weight).collect::<Vec<_>>();
        assert_eq!(weights(&edited("web-*.cpu_weight=50").unwrap()), [1024, 512, 512]);
        assert_eq!(weights(&edited("web-2.cpu_idle=1").unwrap()), [1024, 1024, 3]);
        let limited = edited("site.cpu_max=50ms/100ms web-1.cpu_max=max").unwrap();
        let quotas: Vec<_> = limited.iter().map(|(_, group)| group.quota.map(|quota| quota.quota)).collect();
        assert_eq!(quotas, [Some(Span::from_ms(50)), None, None]);
    }

    #[test]
    fn requests_and_limits_of_containers_are_weights_and_quotas() {
        let same = |a: &str, b: &str| assert_eq!(edited(a).unwrap(), edited(b).unwrap(), "{a}");
        same("site.cpu_request=500m web-1.cpu_limit=1.5", "site.cpu_weight=59 web-1.cpu_max=150ms/100ms");
        same("site.cpu_limit=0", "site.cpu_max=max");
    }

    #[test]
    fn a_cpuset_is_a_list_of_cpus_or_all() {
        let groups = edited("web-1.cpuset=0,2-3 site.cpuset=0 site.cpuset=all").unwrap();
        let cpus: Vec<_> = groups.iter().map(|(_, group)| group.cpus.clone()).collect();
        assert_eq!(cpus, [CpuSet::All, CpuSet::Small(0b1101), CpuSet::All]);
    }

    #[test]
    fn tasks_that_may_use_what_their_group_may_follow_its_cpuset_and_others_do_not() {
        let source = goodness_work::models::BuiltIn::parse("sleepers:duration=300ms").unwrap();
        let mut tasks = source.build(Seed(1), 0);
        let web = tasks.groups.add(Group { cpus: CpuSet::Small(0b11), ..Group::new("web", GroupId::ROOT) });
        for (spec, affinity) in tasks.tasks.iter_mut().zip([CpuSet::Small(0b11), CpuSet::Small(0b01)]) {
            (spec.task.group, spec.task.affinity) = (web, affinity);
        }
        let edit = Edit::parse("web.cpuset=0-3").unwrap().unwrap();
        work(&[edit], &mut tasks, &source, (4, 4)).unwrap();
        let affinities: Vec<_> = tasks.tasks.iter().take(2).map(|spec| spec.task.affinity.clone()).collect();
        assert_eq!(affinities, [CpuSet::All, CpuSet::Small(0b01)]);
    }

    #[test]
    fn a_cgroup_is_meant_by_its_path_or_its_last_name() {
        let path = "system.slice/web.service";
        for whom in ["/system.slice/web.service", path, "web.service", "web", "w*", "/system.slice/*"] {
            assert!(is_meant(whom, path), "{whom}");
        }
        for whom in ["system", "system.slice", "/web", "service", "eb"] {
            assert_eq!(is_meant(whom, path), whom == "/web", "{whom}");
        }
        assert_eq!(edited("web-1.weight=50").unwrap(), edited("web-1.cpu_weight=50").unwrap());
    }

    #[test]
    fn what_groups_cannot_have_is_refused_with_what_they_could() {
        for (text, part) in [
            ("web.cpu_weight=50", "the nearest is \"web-1\""),
            ("web-1.cpu_weight=0", "from 1 to 10000"),
            ("web-1.cpu_max=500us", "a quota is 1ms at least"),
            ("web-1.cpu_limit=half", "write 250m, 0.5 or 2"),
            ("web-1.quota=3", "write cpu_max"),
            ("web-1.cpus=0", "write cpuset=0-1"),
            ("web-1.cpuset=0-", "is no number"),
            ("web-1.cpu_idle=1 web-1.cpu_weight=5", "an idle group has no weight"),
            ("web-1.cpu_wait=5", "cpu_weight"),
            ("web-1.io_weight=5", "the work has no disk"),
            ("web-1.io_weight=0", "from 1 to 1000"),
        ] {
            let why = edited(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn work_without_groups_says_so() {
        let source = goodness_work::models::BuiltIn::parse("sleepers:duration=300ms").unwrap();
        let edit = Edit::parse("web.cpu_weight=50").unwrap().unwrap();
        let why = work(&[edit], &mut source.build(Seed(1), 0), &source, (1, 1)).unwrap_err().to_string();
        assert!(why.contains("the work has no groups"), "{why}");
    }
}
