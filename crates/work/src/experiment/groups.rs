//! Task groups of an experiment file. Their keys: `keys.rs`.

use super::Reading;
use super::keys::GROUP;
use crate::container;
use crate::soundness::GROUPS_MAX;
use goodness_core::spelling::suggest;
use goodness_core::{Group, GroupId, Groups, IoLimit, Quota};
use toml::{Table, Value};

impl Reading<'_> {
    /// The groups of the file, in its order.
    pub(super) fn groups(&self, table: &Table, has_disks: bool) -> Result<Groups, String> {
        let mut groups = Groups::default();
        for (number, table) in self.tables(table, "group")?.into_iter().enumerate() {
            self.enter("[[group]]", number);
            let group = self.group_of(table, &groups)?;
            let needs_disk = [
                ("io_max", group.io_max.is_some(), "it limits block I/O"),
                ("io_weight", group.io_weight.is_some(), "it shares a disk"),
            ];
            if let Some((key, _, what)) = needs_disk.iter().find(|(_, is_set, _)| *is_set && !has_disks) {
                return Err(self.wrong(key, &format!("{what}, and there is no [[disk]]; add one or leave it out")));
            }
            if groups.named(&group.name).is_some() {
                return Err(self.wrong("name", &format!("there are two groups \"{}\"; rename one", group.name)));
            }
            if groups.count() > GROUPS_MAX {
                return Err(self.wrong("name", &format!("{GROUPS_MAX} groups are the most of a run")));
            }
            groups.add(group);
        }
        self.section.set(0);
        Ok(groups)
    }

    fn group_of(&self, table: &Table, groups: &Groups) -> Result<Group, String> {
        self.known(table, GROUP)?;
        let name = table.get("name").ok_or_else(|| self.wrong("group", "it needs a name, such as name = \"web\""))?;
        let name = self.name(name)?;
        if name.trim().is_empty() {
            return Err(self.wrong("name", "a group's name has a letter at least, such as name = \"web\""));
        }
        let parent = match table.get("parent") {
            Some(value) => self.group("parent", value, groups)?,
            None => GroupId::ROOT,
        };
        let mut group = Group::new(name, parent);
        if let Some(value) = table.get("cpu_weight") {
            let weight = self.integer("cpu_weight", value, 1, 10_000)? as u64;
            group.weight = Group::weight_of(weight).unwrap_or(Group::WEIGHT);
        }
        if let Some(milli) = self.container(table, "cpu_request", "cpu_weight")? {
            group.weight = Group::weight_of(container::cpu_weight(milli)).unwrap_or(Group::WEIGHT);
        }
        if let Some(value) = table.get("cpu_idle") {
            let is_idle = value.as_bool().ok_or_else(|| self.wrong("cpu_idle", "write true or false"))?;
            if is_idle && let Some(key) = ["cpu_weight", "cpu_request"].iter().find(|key| table.contains_key(**key)) {
                return Err(self.wrong(key, "an idle group has no weight; leave one of the two out"));
            }
            group.set_idle(is_idle);
        }
        group.quota = self.quota(table)?;
        if let Some(value) = table.get("io_max") {
            let limit = IoLimit::parse(self.text("io_max", value)?).map_err(|why| self.wrong("io_max", &why))?;
            group.io_max = Some(limit).filter(|it| *it != IoLimit::NONE);
        }
        if let Some(value) = table.get("io_weight") {
            group.io_weight = Some(self.integer("io_weight", value, 1, Group::IO_WEIGHT_MAX as i64)? as u64);
        }
        if let Some(value) = table.get("cpuset") {
            group.cpus = self.cpus("cpuset", value)?;
        }
        Ok(group)
    }

    /// The thousandths of a CPU under `key`, which may not stand beside `other`.
    fn container(&self, table: &Table, key: &str, other: &str) -> Result<Option<u64>, String> {
        let Some(value) = table.get(key) else { return Ok(None) };
        if table.contains_key(other) {
            return Err(self.wrong(key, &format!("{other} says the same; leave one of the two out")));
        }
        container::milli_cpus(self.text(key, value)?).map(Some).map_err(|why| self.wrong(key, &why))
    }

    fn quota(&self, table: &Table) -> Result<Option<Quota>, String> {
        let burst = table.get("cpu_max_burst").map(|value| self.span("cpu_max_burst", value)).transpose()?;
        let quota = match table.get("cpu_max") {
            Some(value) => Quota::parse(self.text("cpu_max", value)?).map_err(|why| self.wrong("cpu_max", &why))?,
            None => self.container(table, "cpu_limit", "cpu_max")?.and_then(container::cpu_max),
        };
        match (quota, burst) {
            (None, Some(_)) => Err(self.wrong("cpu_max_burst", "it needs a cpu_max, such as \"50ms/100ms\"")),
            (Some(quota), Some(burst)) => {
                quota.with_burst(burst).map(Some).map_err(|why| self.wrong("cpu_max_burst", &why))
            }
            (quota, None) => Ok(quota),
        }
    }

    /// The group that `key` names.
    pub(super) fn group(&self, key: &str, value: &Value, groups: &Groups) -> Result<GroupId, String> {
        let name = self.text(key, value)?;
        let known = || groups.iter().map(|(_, group)| group.name.as_str());
        groups.named(name).ok_or_else(|| {
            let why = match groups.is_flat() {
                true => "add [[group]] with this name".to_string(),
                false => suggest(name, known()),
            };
            self.wrong(key, &format!("there is no group \"{name}\"; {why}"))
        })
    }
}
