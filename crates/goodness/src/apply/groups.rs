//! Commands for cgroups: properties of systemd's units, until the next boot, and files of version 2 for other groups.

use crate::edit::groups::{GroupChange, UNITS, is_meant};
use goodness_core::{CpuId, CpuSet, Group, Groups, IoLimit, Quota};
use goodness_report::model::Application;

/// Adds the commands for `change` of all groups that `whom` means, on a machine of `cpus` CPUs. `None` if there
/// are none, or if one could not be taken back.
pub(super) fn commands(
    whom: &str,
    change: &GroupChange,
    (groups, cpus): (&Groups, u32),
    commands: &mut Application,
) -> Option<()> {
    let mut meant = groups.iter().map(|(_, group)| group).filter(|group| is_meant(whom, &group.name)).peekable();
    meant.peek()?;
    for former in meant {
        let mut group = former.clone();
        change.set(&mut group);
        let [apply, undo] = [set(&group, change, cpus)?, set(former, change, cpus)?];
        commands.add(apply, undo);
    }
    Some(())
}

/// The first group of those that `whom` means whose name is neither a path of a cgroup nor a unit of systemd.
pub(super) fn without_cgroup<'a>(whom: &str, groups: &'a Groups) -> Option<&'a str> {
    let is_cgroup = |name: &str| name.contains('/') || UNITS.iter().any(|unit| name.ends_with(unit));
    let mut meant = groups.iter().map(|(_, group)| group.name.as_str()).filter(|name| is_meant(whom, name));
    meant.find(|name| !is_cgroup(name))
}

/// The command that gives `group` the value that it has of what `change` is about.
fn set(group: &Group, change: &GroupChange, cpus: u32) -> Option<String> {
    // An autogroup has no file of its own: only its tasks name it.
    if group.name.starts_with('/') {
        return None;
    }
    // A quote would end the shell's word.
    if group.name.contains(|letter: char| letter == '\'' || letter.is_control()) {
        return None;
    }
    let last = group.name.rsplit('/').next()?;
    // The units of a user's manager are unknown to that of the system.
    let is_of_user = group.name.contains("user@") && !last.starts_with("user@");
    match !is_of_user && UNITS.iter().any(|unit| last.ends_with(unit)) {
        true => {
            let properties = properties(group, change, cpus)?;
            Some(format!("sudo systemctl set-property --runtime '{last}' {properties}"))
        }
        false => {
            let (file, value) = file(group, change, cpus)?;
            Some(format!("echo {value} | sudo tee '/sys/fs/cgroup/{}/{file}'", group.name))
        }
    }
}

/// Properties of a unit.
fn properties(group: &Group, change: &GroupChange, cpus: u32) -> Option<String> {
    match change {
        GroupChange::Cpus(_) => Some(format!("AllowedCPUs={}", list(&group.cpus, cpus))),
        GroupChange::Max(_) => match group.quota {
            None => Some("CPUQuota= CPUQuotaPeriodSec=".into()),
            Some(quota) => {
                let period = quota.period.0 / 1000;
                Some(format!("CPUQuota={}% CPUQuotaPeriodSec={period}us", percent(quota)?))
            }
        },
        GroupChange::Io(_) => Some(bandwidths(&group.io_max.unwrap_or_default())),
        // Without a value it is reset to the default.
        GroupChange::IoWeight(_) => {
            Some(format!("IOWeight={}", group.io_weight.map_or(String::new(), |it| unit_io_weight(it).to_string())))
        }
        GroupChange::Weight(_) | GroupChange::Idle(_) if group.is_idle => Some("CPUWeight=idle".into()),
        GroupChange::Weight(_) | GroupChange::Idle(_) => Some(format!("CPUWeight={}", cpu_weight(group)?)),
    }
}

/// The weight of a unit that gives `io.bfq.weight` this value: both are 100 by default, and above that systemd maps
/// 100..=10000 to 100..=1000.
fn unit_io_weight(weight: u64) -> u64 {
    if weight <= Group::IO_WEIGHT { weight } else { Group::IO_WEIGHT + (weight - Group::IO_WEIGHT) * 11 }
}

/// A limit of I/O as properties of a unit.
fn bandwidths(limit: &IoLimit) -> String {
    let parts = [
        ("IOReadBandwidthMax", limit.read_bytes),
        ("IOWriteBandwidthMax", limit.written_bytes),
        ("IOReadIOPSMax", limit.reads),
        ("IOWriteIOPSMax", limit.writes),
    ];
    let property = |(name, value): (&str, Option<u64>)| {
        format!("'{name}=/dev/DISK {}'", value.map_or("infinity".into(), |value| value.to_string()))
    };
    parts.map(property).join(" ")
}

/// The `cpu.weight` of a group; `None` if none is exactly its weight.
fn cpu_weight(group: &Group) -> Option<u64> {
    Some(group.cpu_weight()).filter(|it| Group::weight_of(*it) == Some(group.weight))
}

/// A quota in percent of a CPU, of which systemd reads two decimals.
fn percent(quota: Quota) -> Option<String> {
    let hundredths = quota.quota.0 * 10_000 / quota.period.0;
    let is_exact = hundredths * quota.period.0 == quota.quota.0 * 10_000;
    is_exact.then(|| match hundredths % 100 {
        0 => format!("{}", hundredths / 100),
        rest => format!("{}.{rest:02}", hundredths / 100),
    })
}

/// A set of CPUs as the kernel has it, `0-1,3`; nothing for all of them.
fn list(set: &CpuSet, cpus: u32) -> String {
    let has = |cpu: u32| *set != CpuSet::All && cpu < cpus && set.contains(CpuId(cpu));
    let firsts = (0..cpus).filter(|cpu| has(*cpu) && (*cpu == 0 || !has(cpu - 1)));
    let range = |first: u32| match (first..).take_while(|cpu| has(*cpu)).last() {
        Some(last) if last > first => format!("{first}-{last}"),
        _ => first.to_string(),
    };
    firsts.map(range).collect::<Vec<_>>().join(",")
}

/// A file of a cgroup, and its content.
fn file(group: &Group, change: &GroupChange, cpus: u32) -> Option<(&'static str, String)> {
    Some(match change {
        GroupChange::Cpus(_) if group.cpus == CpuSet::All => ("cpuset.cpus", "''".into()),
        GroupChange::Cpus(_) => ("cpuset.cpus", list(&group.cpus, cpus)),
        GroupChange::Max(_) => match group.quota {
            None => ("cpu.max", "max".into()),
            Some(quota) => ("cpu.max", format!("{} {}", quota.quota.0 / 1000, quota.period.0 / 1000)),
        },
        GroupChange::Io(_) => {
            let limit = group.io_max.unwrap_or_default();
            ("io.max", format!("\"$(lsblk -dno MAJ:MIN /dev/DISK) {limit}\""))
        }
        GroupChange::IoWeight(_) => ("io.bfq.weight", group.io_weight.unwrap_or(Group::IO_WEIGHT).to_string()),
        GroupChange::Weight(_) => ("cpu.weight", cpu_weight(group)?.to_string()),
        // Writing 0 leaves the usual weight.
        GroupChange::Idle(_) if group.is_idle || group.weight == Group::WEIGHT => {
            ("cpu.idle", u8::from(group.is_idle).to_string())
        }
        GroupChange::Idle(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Recorded, application, of_groups, without_cgroup};
    use crate::contender::Contender;
    use crate::spec::PolicySpec;
    use goodness_core::{Group, GroupId, Groups, Quota};

    fn recorded() -> Groups {
        let mut groups = Groups::default();
        let slice = groups.add(Group::new("system.slice", GroupId::ROOT));
        groups.add(Group::new("system.slice/web.service", slice));
        let quota = Quota::parse("30ms/100ms").expect("a limit");
        groups.add(Group { quota, weight: 512, ..Group::new("box/a", GroupId::ROOT) });
        groups.add(Group { weight: 1_030, ..Group::new("odd", GroupId::ROOT) });
        groups.add(Group::new("it's", GroupId::ROOT));
        groups.add(Group::new("user.slice/user@1.service/app.slice", GroupId::ROOT));
        groups.add(Group::new("/autogroup-7", GroupId::ROOT));
        groups
    }

    fn one(text: &str) -> Option<(String, String)> {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").expect("a policy");
        let arm = Contender::arm(text, &standard).expect("an arm");
        let recorded = Recorded { cpus: 4, tasks: &[], groups: &recorded() };
        let commands = application(&Contender::policy(standard), &arm, &recorded)?;
        Some((commands.apply.join("; "), commands.undo.join("; ")))
    }

    #[test]
    fn a_group_has_a_command_and_one_that_takes_it_back() {
        let is = |text, apply: &str, undo: &str| assert_eq!(one(text), Some((apply.into(), undo.into())), "{text}");
        let unit = |properties: &str| format!("sudo systemctl set-property --runtime 'web.service' {properties}");
        is("web.cpu_weight=200", &unit("CPUWeight=200"), &unit("CPUWeight=100"));
        is("web.weight=20", &unit("CPUWeight=20"), &unit("CPUWeight=100"));
        is("web.cpu_idle=1", &unit("CPUWeight=idle"), &unit("CPUWeight=100"));
        let reset = unit("CPUQuota= CPUQuotaPeriodSec=");
        is("web.cpu_max=50ms/100ms", &unit("CPUQuota=50% CPUQuotaPeriodSec=100000us"), &reset);
        is("web.cpu_max=5ms/40ms", &unit("CPUQuota=12.50% CPUQuotaPeriodSec=40000us"), &reset);
        let file = |value: &str, file| format!("echo {value} | sudo tee '/sys/fs/cgroup/box/a/{file}'");
        let bandwidth = |read: &str| {
            format!(
                "'IOReadBandwidthMax=/dev/DISK {read}' 'IOWriteBandwidthMax=/dev/DISK infinity' \
                 'IOReadIOPSMax=/dev/DISK infinity' 'IOWriteIOPSMax=/dev/DISK infinity'"
            )
        };
        is("web.io_max=rbps=1K", &unit(&bandwidth("1024")), &unit(&bandwidth("infinity")));
        let max = |read: &str| {
            file(&format!("\"$(lsblk -dno MAJ:MIN /dev/DISK) rbps={read} wbps=max riops=max wiops=max\""), "io.max")
        };
        is("box/a.io_max=rbps=1K", &max("1024"), &max("max"));
        is("web.io_weight=50", &unit("IOWeight=50"), &unit("IOWeight="));
        is("web.io_weight=1000", &unit("IOWeight=10000"), &unit("IOWeight="));
        is("box/a.io_weight=300", &file("300", "io.bfq.weight"), &file("100", "io.bfq.weight"));
        is("box/a.cpu_max=max", &file("max", "cpu.max"), &file("30000 100000", "cpu.max"));
        let (user, _) = one("app.cpu_weight=1").expect("a command");
        assert_eq!(user, "echo 1 | sudo tee '/sys/fs/cgroup/user.slice/user@1.service/app.slice/cpu.weight'");
        is("web.cpuset=0-1,3", &unit("AllowedCPUs=0-1,3"), &unit("AllowedCPUs="));
        is("box/a.cpuset=2", &file("2", "cpuset.cpus"), &file("''", "cpuset.cpus"));
        is("/box/a.cpu_weight=1", &file("1", "cpu.weight"), &file("50", "cpu.weight"));
    }

    /// Groups of an experiment are often mere names.
    #[test]
    fn an_arm_of_an_experiment_has_commands_if_it_changes_cgroups_alone() {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").expect("a policy");
        let (groups, reference) = (recorded(), Contender::policy(standard.clone()));
        let of = |text: &str| {
            let arm = Contender::arm(text, &standard).expect("an arm");
            let recorded = Recorded { cpus: 4, tasks: &[], groups: &groups };
            let commands = of_groups(&reference, &arm, &recorded).map(|it| (it.apply, it.undo));
            (commands, without_cgroup(&reference, &arm, &groups))
        };
        for (text, files) in [("web.io_weight=50", 1), ("box/a.io_max=rbps=1K web.io_weight=50", 2)] {
            let (Some((apply, undo)), None) = of(text) else { panic!("{text}: {:?}", of(text)) };
            assert_eq!((apply.len(), undo.len()), (files, files), "{text}");
        }
        assert_eq!(of("odd.io_weight=50"), (None, Some("odd")));
        assert_eq!(of("web.io_weight=50 odd.io_max=rbps=1K"), (None, Some("odd")));
        assert_eq!(of("web.io_weight=50 hz=100"), (None, None), "another machine");
    }

    /// The control: a weight that no `cpu.weight` gives, an idle group whose weight would be lost, a quota beyond
    /// systemd's decimals, a name that ends the shell's word, and a group that is not there.
    #[test]
    fn what_could_not_be_taken_back_has_no_command() {
        for text in ["odd.cpu_weight=5", "a.cpu_idle=1", "web.cpu_max=1ms/3ms", "it's.cpu_weight=5", "b.cpu_weight=5"] {
            assert_eq!(one(text), None, "{text}");
        }
    }
}
