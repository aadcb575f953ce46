//! Task groups: cgroups with a share of the CPU time, as policies see them.
//!
//! Source: docs/specs/groups-locks.md sections 1.1 and 2.1.

use crate::cpu_set::CpuSet;
use crate::io_limit::IoLimit;
use crate::nice::Nice;
use crate::time::Span;
use std::ops::Index;

/// Number of a group; 0 is the root group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The group of all tasks that are in no other.
    pub const ROOT: GroupId = GroupId(0);

    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A limit on the CPU time of a group (`cpu.max`, `cpu.max.burst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// CPU time per period, of all CPUs together.
    pub quota: Span,
    /// The period.
    pub period: Span,
    /// Unused time that is kept for later periods, at most.
    pub burst: Span,
}

impl Quota {
    /// Period of a quota that names none.
    pub const PERIOD: Span = Span::from_ms(100);

    /// A limit without burst.
    ///
    /// # Errors
    /// A sentence if a value is one that the kernel refuses.
    pub fn new(quota: Span, period: Span) -> Result<Quota, String> {
        if quota < Span::from_ms(1) {
            return Err(format!("a quota is 1ms at least, not {quota}"));
        }
        if !(Span::from_ms(1)..=Span::from_s(1)).contains(&period) {
            return Err(format!("a period is 1ms to 1s, not {period}"));
        }
        Ok(Quota { quota, period, burst: Span::ZERO })
    }

    /// The same limit with this burst.
    ///
    /// # Errors
    /// A sentence if it exceeds the quota.
    pub fn with_burst(self, burst: Span) -> Result<Quota, String> {
        if burst > self.quota {
            return Err(format!("a burst is at most the quota, {}, not {burst}", self.quota));
        }
        Ok(Quota { burst, ..self })
    }

    /// A limit as written: `50ms/100ms`, `50ms` for the usual period, `50000/100000` in µs; `None` for `max`.
    ///
    /// # Errors
    /// A sentence if it is none, or one that the kernel refuses.
    pub fn parse(text: &str) -> Result<Option<Quota>, String> {
        let mut parts = text.split([' ', '/']).filter(|part| !part.is_empty());
        let (quota, period) = (parts.next().unwrap_or_default(), parts.next());
        if parts.next().is_some() {
            return Err(format!("\"{text}\" is no limit; write \"50ms/100ms\" or \"max\""));
        }
        let span = |text: &str| match text.parse() {
            Ok(us) => Ok(Span::from_us(us)),
            Err(_) => Span::parse(text),
        };
        let period = period.map_or(Ok(Quota::PERIOD), span)?;
        if quota == "max" {
            return Ok(None);
        }
        Quota::new(span(quota)?, period).map(Some)
    }
}

/// A group of tasks that shares CPU time with its siblings by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name for people.
    pub name: String,
    /// The group around it.
    pub parent: GroupId,
    /// Weight among its siblings, [`Group::WEIGHT`] by default.
    pub weight: u64,
    /// True if it runs only if nothing else wants to (`cpu.idle`).
    pub is_idle: bool,
    /// Limit of its CPU time.
    pub quota: Option<Quota>,
    /// CPUs that its tasks may use (`cpuset.cpus`), of those that the group around it may.
    pub cpus: CpuSet,
    /// Limit of its block I/O (`io.max`), on each disk.
    pub io_max: Option<IoLimit>,
    /// Weight for I/O among its siblings (`io.bfq.weight`), if it was given one.
    pub io_weight: Option<u64>,
}

impl Group {
    /// Weight of a group that was given none: that of a task of nice 0.
    pub const WEIGHT: u64 = 1024;
    /// Weight of an idle group.
    pub const IDLE_WEIGHT: u64 = 3;
    /// Weight for I/O of a group that was given none.
    pub const IO_WEIGHT: u64 = 100;
    /// The greatest weight for I/O.
    pub const IO_WEIGHT_MAX: u64 = 1000;

    /// A group of the usual weight.
    #[must_use]
    pub fn new(name: &str, parent: GroupId) -> Group {
        let (weight, cpus) = (Group::WEIGHT, CpuSet::All);
        Group { name: name.into(), parent, weight, is_idle: false, quota: None, cpus, io_max: None, io_weight: None }
    }

    /// The weight of a `cpu.weight`, which is in 1..=10000; `None` beyond that.
    #[must_use]
    pub const fn weight_of(cpu_weight: u64) -> Option<u64> {
        if cpu_weight >= 1 && cpu_weight <= 10_000 { Some((cpu_weight * Group::WEIGHT + 50) / 100) } else { None }
    }

    /// The `cpu.weight` that gives this weight, or the nearest.
    #[must_use]
    pub const fn cpu_weight(&self) -> u64 {
        let rounded = (self.weight * 100 + Group::WEIGHT / 2) / Group::WEIGHT;
        if rounded == 0 {
            1
        } else if rounded > 10_000 {
            10_000
        } else {
            rounded
        }
    }

    /// The weight of an autogroup of this nice value: that of a task.
    #[must_use]
    pub const fn weight_of_nice(nice: Nice) -> u64 {
        Nice::WEIGHTS[nice.index()] as u64
    }

    /// The weight of `cpu.shares`, which are cut to 2..=262144.
    #[must_use]
    pub fn weight_of_shares(shares: u64) -> u64 {
        shares.clamp(2, 262_144)
    }

    /// Sets `cpu.idle`. A group that stops being idle has the usual weight.
    pub fn set_idle(&mut self, is_idle: bool) {
        self.weight = match (is_idle, self.is_idle) {
            (true, _) => Group::IDLE_WEIGHT,
            (false, true) => Group::WEIGHT,
            (false, false) => self.weight,
        };
        self.is_idle = is_idle;
    }
}

/// The groups of a run, which do not change while it goes on. A group comes after the one around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(Vec<Group>);

impl Default for Groups {
    fn default() -> Self {
        Groups(vec![Group::new("", GroupId::ROOT)])
    }
}

impl Groups {
    /// Adds a group.
    ///
    /// # Panics
    /// If its parent does not exist.
    pub fn add(&mut self, group: Group) -> GroupId {
        assert!(group.parent.index() < self.0.len(), "the group around \"{}\" exists", group.name);
        self.0.push(group);
        GroupId(self.0.len() as u32 - 1)
    }

    /// Number of groups, the root group included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// True if there is no group but the root group.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.0.len() == 1
    }

    /// The group of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<GroupId> {
        self.iter().find(|(_, group)| group.name == name).map(|(id, _)| id)
    }

    /// The groups other than the root group.
    pub fn iter(&self) -> impl Iterator<Item = (GroupId, &Group)> {
        self.0.iter().enumerate().skip(1).map(|(index, group)| (GroupId(index as u32), group))
    }

    /// True if a group has a weight for I/O.
    #[must_use]
    pub fn weigh_io(&self) -> bool {
        self.0.iter().any(|group| group.io_weight.is_some())
    }

    /// The group to which an elevator attributes I/O of `group`: itself or the nearest around it with the controller
    /// of I/O on. A weight or limit for I/O turns it on for the group, its siblings, those around it, and theirs.
    #[must_use]
    pub fn of_io(&self, mut group: GroupId) -> GroupId {
        while group != GroupId::ROOT && !self.controls_io(group) {
            group = self[group].parent;
        }
        group
    }

    /// True if the I/O controller is on for `group`: it, something beside it, or within these has a weight or
    /// limit for I/O.
    fn controls_io(&self, group: GroupId) -> bool {
        let around = self[group].parent;
        let asks = |it: &&Group| it.io_weight.is_some() || it.io_max.is_some();
        self.0.iter().skip(1).filter(asks).any(|it| {
            let mut outer = it.parent;
            while outer != around && outer != GroupId::ROOT {
                outer = self[outer].parent;
            }
            outer == around
        })
    }

    /// The CPUs that tasks of `group` may use: of its own those that the group around it may use, or all of that one's
    /// if these are none.
    #[must_use]
    pub fn cpus(&self, group: GroupId) -> CpuSet {
        let it = &self[group];
        if group == GroupId::ROOT {
            return it.cpus.clone();
        }
        let around = self.cpus(it.parent);
        it.cpus.and(&around).unwrap_or(around)
    }

    /// The CPUs that a task of `group` may use which asks for `own`; all of the group's if it may not use any of them.
    #[must_use]
    pub fn confine(&self, own: &CpuSet, group: GroupId) -> CpuSet {
        let all = self.cpus(group);
        own.and(&all).unwrap_or(all)
    }

    /// True if a group may not use every CPU.
    #[must_use]
    pub fn has_cpusets(&self) -> bool {
        self.0.iter().any(|group| group.cpus != CpuSet::All)
    }

    /// A group to be changed before the run.
    pub fn edit(&mut self, group: GroupId) -> &mut Group {
        &mut self.0[group.index()]
    }
}

impl Index<GroupId> for Groups {
    type Output = Group;
    fn index(&self, group: GroupId) -> &Group {
        &self.0[group.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T-GRP-1, T-GRP-2: docs/specs/groups-locks.md section 7.
    #[test]
    fn weights_are_the_kernels() {
        let weights = [1, 20, 39, 50, 79, 100, 200, 1_000, 10_000].map(Group::weight_of);
        assert_eq!(weights, [10, 205, 399, 512, 809, 1_024, 2_048, 10_240, 102_400].map(Some));
        assert_eq!([0, 10_001].map(Group::weight_of), [None, None]);
        for cpu_weight in 1..=10_000 {
            let weight = Group::weight_of(cpu_weight).unwrap();
            assert_eq!(Group { weight, ..Group::new("g", GroupId::ROOT) }.cpu_weight(), cpu_weight);
        }
        assert_eq!([1, 2, 1_024, 300_000].map(Group::weight_of_shares), [2, 2, 1_024, 262_144]);
        let mut group = Group { weight: 399, ..Group::new("g", GroupId::ROOT) };
        group.set_idle(true);
        assert_eq!(group.weight, 3);
        group.set_idle(false);
        assert_eq!(group.weight, 1_024, "the old weight is not restored");
    }

    /// T-BW-4: docs/specs/groups-locks.md section 7.
    /// docs/specs/groups-locks.md section 3.
    #[test]
    fn a_task_may_use_what_it_asks_for_and_its_groups_may_or_all_of_its_group() {
        let of = |cpus: &[u32]| CpuSet::of(&cpus.iter().copied().map(crate::CpuId).collect::<Vec<_>>());
        let mut groups = Groups::default();
        let site = groups.add(Group { cpus: of(&[0, 1, 2]), ..Group::new("site", GroupId::ROOT) });
        let web = groups.add(Group { cpus: of(&[2, 3]), ..Group::new("web", site) });
        let astray = groups.add(Group { cpus: of(&[7]), ..Group::new("astray", site) });
        assert_eq!([web, astray].map(|group| groups.cpus(group)), [of(&[2]), of(&[0, 1, 2])]);
        assert_eq!(groups.confine(&of(&[1, 5]), site), of(&[1]));
        assert_eq!(groups.confine(&of(&[5]), site), of(&[0, 1, 2]));
        assert_eq!(groups.confine(&of(&[5]), GroupId::ROOT), of(&[5]));
        assert!(groups.has_cpusets() && !Groups::default().has_cpusets());
    }

    #[test]
    fn io_belongs_to_a_group_where_the_controller_is_on() {
        let mut groups = Groups::default();
        let [a, b] = ["a", "b"].map(|name| groups.add(Group::new(name, GroupId::ROOT)));
        let [a1, a2, b1] = [a, a, b].map(|parent| groups.add(Group::new("within", parent)));
        let all = [a, b, a1, a2, b1];
        let of = |groups: &Groups| all.map(|group| groups.of_io(group));
        assert_eq!(of(&groups), [GroupId::ROOT; 5], "nothing asks for it");
        groups.edit(b).io_weight = Some(100);
        assert_eq!(of(&groups), [a, b, a, a, b], "siblings have it, too; those within do not");
        groups.edit(b).io_weight = None;
        groups.edit(a1).io_max = Some(IoLimit::parse("rbps=1M").unwrap());
        assert_eq!((of(&groups), groups.weigh_io()), ([a, b, a1, a2, b], false), "and those around");
    }

    #[test]
    fn limits_that_the_kernel_refuses_are_refused() {
        let us = Span::from_us;
        assert!(Quota::new(us(900), Quota::PERIOD).is_err());
        assert!(Quota::new(us(1_000), us(1_001_000)).is_err() && Quota::new(us(1_000), us(900)).is_err());
        let quota = Quota::new(us(20_000), Quota::PERIOD).unwrap();
        assert!(quota.with_burst(us(21_000)).is_err() && quota.with_burst(us(20_000)).is_ok());
    }

    #[test]
    fn limits_are_read_as_the_kernel_or_people_write_them() {
        let limit = Quota { quota: Span::from_ms(50), period: Span::from_ms(100), burst: Span::ZERO };
        for text in ["50ms/100ms", "50ms", "50000 100000", "50000/100000"] {
            assert_eq!(Quota::parse(text), Ok(Some(limit)), "{text}");
        }
        assert_eq!(["max", "max 100000"].map(Quota::parse), [Ok(None), Ok(None)]);
        assert!(["", "5", "50ms/100ms/3", "50ms/2s"].iter().all(|text| Quota::parse(text).is_err()));
    }
}
