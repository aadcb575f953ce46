//! Cgroups of a run: one for servers, one for clients, to stop all processes at once, measure CPU time and set weights.
//!
//! In cgroup version 2 (also if mounted as `unified` beside version 1), `cgroup.kill` stops all at once. Weights need
//! the cpu controller of version 2 or 1. The groups are created below the root of their hierarchy, anew for each run.
//!
//! A group of the cpu controller is scheduled as one entity, and autogroups only act outside of such groups. So groups
//! in version 1's cpu hierarchy are created only if an arm sets a weight, and then for all arms.

use crate::role::Role;
use goodness_restore::{MARK, Restore, Undo};
use goodness_sys::cgroup::{Hierarchies, Weights};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
            if weights && v2 {
                made.undo.extend(restore.cpu_controller(root)?);
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
        self.undo.push(restore.cgroup(at)?);
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
