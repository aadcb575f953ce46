//! The cgroup hierarchies of this machine.

use crate::filesystem::is_writable;
use std::fs;
use std::path::{Path, PathBuf};

/// Cgroup hierarchies in which groups can be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// The root of version 2.
    pub unified: Option<PathBuf>,
    /// The root of version 1's cpu hierarchy.
    pub cpu: Option<PathBuf>,
}

impl Hierarchies {
    /// The hierarchies of this machine that this user may use.
    #[must_use]
    pub fn find() -> Hierarchies {
        let found = Hierarchies::of(&fs::read_to_string("/proc/self/mounts").unwrap_or_default());
        let may = |root: &PathBuf| is_writable(root);
        Hierarchies { unified: found.unified.filter(may), cpu: found.cpu.filter(may) }
    }

    fn of(mounts: &str) -> Hierarchies {
        let mut found = Hierarchies::default();
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, at, kind, options, ..] = fields[..] else { continue };
            let root = || Some(PathBuf::from(at.replace("\\040", " ")));
            match kind {
                "cgroup2" if found.unified.is_none() => found.unified = root(),
                "cgroup" if options.split(',').any(|option| option == "cpu") => found.cpu = root(),
                _ => {}
            }
        }
        found
    }

    /// True if the cpu controller is enabled for groups of version 2 already.
    #[must_use]
    pub fn unified_has_cpu(&self) -> bool {
        self.unified.as_deref().is_some_and(|root| lists(&root.join("cgroup.subtree_control"), "cpu"))
    }

    /// The hierarchy for weights; `None` if there is none.
    #[must_use]
    pub fn weights(&self) -> Option<Weights> {
        match (&self.unified, &self.cpu) {
            (Some(root), _) if lists(&root.join("cgroup.controllers"), "cpu") => Some(Weights::Version2),
            (_, Some(_)) => Some(Weights::Version1),
            _ => None,
        }
    }

    /// Description in one sentence, for `doctor` and the start of a race.
    #[must_use]
    pub fn describe(&self) -> String {
        match (&self.unified, self.weights()) {
            (Some(_), Some(Weights::Version2)) => "cgroup version 2 with weights".into(),
            (Some(_), Some(Weights::Version1)) => "cgroup version 2, weights through version 1's cpu hierarchy".into(),
            (Some(_), None) => "cgroup version 2 without the cpu controller: no weights".into(),
            (None, Some(_)) => "cgroup version 1's cpu hierarchy; processes are stopped one by one".into(),
            (None, None) => {
                "no cgroups that this user may make: processes are stopped by their groups, and there are no weights"
                    .into()
            }
        }
    }
}

/// Cgroup version that supports weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// `cpu.weight`.
    Version2,
    /// `cpu.shares`.
    Version1,
}

/// True if the words of `file` include `word`.
#[must_use]
pub fn lists(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|listed| listed == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_among_the_mounts() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
                      cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 \
                      0\nx\n";
        let found = Hierarchies::of(mounts);
        assert_eq!(found.cpu, Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct")));
        assert_eq!(found.unified, Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(Hierarchies::of("").describe().split(':').next(), Some("no cgroups that this user may make"));
    }
}
