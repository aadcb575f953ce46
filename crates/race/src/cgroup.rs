//! Cgroups of a run: one for servers, one for clients, to stop all processes at once, measure CPU time and set weights.
//!
//! In cgroup version 2 (also if mounted as `unified` beside version 1), `cgroup.kill` stops all at once. Weights need
//! the cpu controller of version 2 or 1. The groups are created below the root of their hierarchy, anew for each run.
//!
//! A group of the cpu controller is scheduled as one entity, and autogroups only act outside of such groups. So groups
//! in version 1's cpu hierarchy are created only if an arm sets a weight, and then for all arms.

use crate::role::Role;
use goodness_restore::{Action, MARK, Restore, Undo};
use std::fs;
use std::io;
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
        let may = |root: &PathBuf| rustix::fs::access(root, rustix::fs::Access::WRITE_OK).is_ok();
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

fn lists(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|listed| listed == word))
}

/// The cgroups of one role in one run. Dropping it kills their processes and removes them.
#[derive(Debug)]
pub struct RoleCgroups {
    // In this order: what runs is stopped through the first.
    undo: Vec<Undo>,
    groups: Vec<PathBuf>,
    weighed: Option<PathBuf>,
}

impl RoleCgroups {
    /// Creates the groups of `role`; with `weights` also those of the cpu controller.
    ///
    /// # Errors
    /// The kernel's error, with the folder.
    pub fn make(at: &Hierarchies, role: Role, weights: bool, restore: &Restore) -> io::Result<RoleCgroups> {
        let mut made = RoleCgroups { undo: Vec::new(), groups: Vec::new(), weighed: None };
        let name = format!("{MARK}{}-{}", std::process::id(), role.name());
        let v2 = at.weights() == Some(Weights::Version2);
        if let Some(root) = &at.unified {
            let control = root.join("cgroup.subtree_control");
            if weights && v2 {
                // Also when it is on already: whoever turned it on would turn it off under this race.
                restore.own(&control)?;
                if !lists(&control, "cpu") {
                    let off = Action::Put { file: control.clone(), value: "-cpu".into(), written: None };
                    made.undo.push(restore.before(&off)?);
                    fs::write(&control, "+cpu").map_err(|why| named(&control, &why))?;
                }
            }
            made.group(&root.join(&name), restore)?;
            made.weighed = (weights && v2).then(|| root.join(&name));
        }
        let needs_cpu = at.unified.is_none() || (weights && !v2);
        if let Some(root) = at.cpu.as_ref().filter(|_| needs_cpu) {
            made.group(&root.join(&name), restore)?;
            made.weighed = Some(root.join(&name));
        }
        Ok(made)
    }

    fn group(&mut self, at: &Path, restore: &Restore) -> io::Result<()> {
        self.undo.push(restore.before(&Action::Cgroup(at.to_path_buf()))?);
        fs::create_dir(at).map_err(|why| named(at, &why))?;
        self.groups.push(at.to_path_buf());
        Ok(())
    }

    /// The folders of the groups.
    #[must_use]
    pub fn groups(&self) -> &[PathBuf] {
        &self.groups
    }

    /// Folder of the group that has the weight.
    #[must_use]
    pub fn weighed(&self) -> Option<&Path> {
        self.weighed.as_deref()
    }

    /// CPU time of its processes in ns; `None` if no group reports it.
    #[must_use]
    pub fn used_ns(&self) -> Option<u64> {
        self.groups.iter().find_map(|group| {
            let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            line.trim().parse::<u64>().ok().map(|us| us * 1000)
        })
    }
}

impl Drop for RoleCgroups {
    fn drop(&mut self) {
        // Last made, first undone; the rule of the controller goes after its groups.
        while let Some(undo) = self.undo.pop() {
            undo.now();
        }
    }
}

fn named(at: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", at.display()))
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
