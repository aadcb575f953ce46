//! Cgroups of the recorded tasks: their weight, quota and CPUs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use goodness_sys::cpu_list::CpuList;
use serde_json::{Value, json};

use super::attributes::Attributes;
use super::machine::trimmed;

/// Facts about one group at one time. `None` where its hierarchy does not have them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// `cpu.weight`; cgroup version 2.
    pub weight: Option<u64>,
    /// `cpu.shares`; cgroup version 1.
    pub shares: Option<u64>,
    /// CPU time that the group may use in a period, in µs; `None` for no limit.
    pub quota_us: Option<u64>,
    /// The period, in µs.
    pub period_us: Option<u64>,
    /// CPUs of its cpuset.
    pub cpus: Option<Vec<u32>>,
}

impl Group {
    fn value(&self) -> Value {
        json!({
            "weight": self.weight,
            "shares": self.shares,
            "quota_us": self.quota_us,
            "period_us": self.period_us,
            "cpus": self.cpus,
        })
    }
}

/// A group at its first reading and, if that differs, at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Readings {
    first: Group,
    last: Option<Group>,
}

/// All groups of a recording, by path; the root group has no facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    found: BTreeMap<String, Readings>,
}

impl Groups {
    /// Reads the groups of a thread with these attributes, and the groups around them, unless they are known.
    pub fn note(&mut self, attributes: &Attributes) {
        for path in [&attributes.cgroup, &attributes.cpuset].into_iter().flatten() {
            for path in with_ancestors(path) {
                if !self.found.contains_key(path) {
                    let first = read(path);
                    self.found.insert(path.to_string(), Readings { first, last: None });
                }
            }
        }
    }

    /// Adds the groups of `others` that are missing here.
    pub fn merge(&mut self, others: Groups) {
        for (path, readings) in others.found {
            self.found.entry(path).or_insert(readings);
        }
    }

    /// Reads all groups again, at the end of the recording. A removed group keeps its values.
    pub fn look_again(&mut self) {
        for (path, readings) in &mut self.found {
            let now = read(path);
            readings.last = Some(now).filter(|now| *now != Group::default() && *now != readings.first);
        }
    }

    /// Each group as a JSON object, with its path as `shown` gives it.
    pub fn lines<'a>(&'a self, shown: impl Fn(&str) -> String + 'a) -> impl Iterator<Item = Value> + 'a {
        self.found.iter().map(move |(path, readings)| {
            let mut value = readings.first.value();
            value["path"] = json!(shown(path));
            if let Some(last) = &readings.last {
                value["at_end"] = last.value();
            }
            value
        })
    }

    /// Anonymous names for all groups, which show only their nesting: `/g1/g2`.
    pub fn aliases(&self) -> BTreeMap<String, String> {
        let mut aliases = BTreeMap::from([("/".to_string(), "/".to_string())]);
        // A group comes after its parent, because its path extends the parent's.
        for (number, path) in self.found.keys().enumerate() {
            let around = path.rsplit_once('/').and_then(|(around, _)| aliases.get(around)).cloned().unwrap_or_default();
            aliases.insert(path.clone(), format!("{around}/g{}", number + 1));
        }
        aliases
    }
}

/// `/a/b` → `/a/b`, `/a`; nothing for the root.
fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0)).filter(|path| path.len() > 1)
}

fn read(path: &str) -> Group {
    let folder = |controller| mount_of(controller).map(|root| root.join(path.trim_start_matches('/')));
    let mut group = Group::default();
    if let Some(cpu) = folder("cpu") {
        let number = |file: &str| trimmed(cpu.join(file)).and_then(|text| text.parse::<i64>().ok());
        group.weight = number("cpu.weight").and_then(|weight| u64::try_from(weight).ok());
        group.shares = number("cpu.shares").and_then(|shares| u64::try_from(shares).ok());
        (group.quota_us, group.period_us) = match trimmed(cpu.join("cpu.max")) {
            Some(text) => parse_max(&text),
            None => {
                let positive = |file| number(file).and_then(|value| u64::try_from(value).ok());
                (positive("cpu.cfs_quota_us"), positive("cpu.cfs_period_us"))
            }
        };
    }
    if let Some(cpuset) = folder("cpuset") {
        let files = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
        let text = files.iter().find_map(|file| trimmed(cpuset.join(file)));
        group.cpus = text.and_then(|text| text.parse::<CpuList>().ok()).map(|list| list.0);
    }
    group
}

/// Parses `cpu.max`: `max 100000` or `50000 100000`.
fn parse_max(text: &str) -> (Option<u64>, Option<u64>) {
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    (words.next().flatten(), words.next().flatten())
}

/// The root folder of the hierarchy with `controller`: version 1 if that has it, else version 2.
fn mount_of(controller: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields: Vec<Vec<&str>> = mounts.lines().map(|line| line.split_whitespace().collect()).collect();
    let has = |fields: &&Vec<&str>| {
        fields.len() > 3 && fields[2] == "cgroup" && fields[3].split(',').any(|option| option == controller)
    };
    let unified = || fields.iter().find(|fields| fields.len() > 3 && fields[2] == "cgroup2");
    fields.iter().find(has).or_else(unified).map(|fields| Path::new(fields[1]).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_number_or_absent() {
        assert_eq!(parse_max("50000 100000"), (Some(50_000), Some(100_000)));
        assert_eq!(parse_max("max 100000"), (None, Some(100_000)));
        assert_eq!(parse_max(""), (None, None));
    }

    #[test]
    fn the_groups_around_a_group_are_noted_and_the_root_is_not() {
        assert_eq!(with_ancestors("/a/b").collect::<Vec<_>>(), ["/a/b", "/a"]);
        assert_eq!(with_ancestors("/").count(), 0);
        let mut groups = Groups::default();
        groups.note(&Attributes { cgroup: Some("/no/such".into()), ..Attributes::default() });
        groups.look_again();
        let shown: Vec<Value> = groups.lines(str::to_string).collect();
        assert_eq!(shown.len(), 2);
        assert_eq!((&shown[1]["path"], shown[1].get("at_end")), (&json!("/no/such"), None));
        assert_eq!(groups.aliases()["/no/such"], "/g1/g2");
    }
}
