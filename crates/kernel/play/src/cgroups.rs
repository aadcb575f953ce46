//! Cgroups of a play: a threaded one for each group of the workload, below one for the process.
//!
//! They are removed when the play ends, however it ends; see `goodness_restore`.

use goodness_core::{Group, GroupId, Groups};
use goodness_restore::{MARK, Restore, Undo};
use goodness_sys::cgroup::{Hierarchies, Weights};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroups of a play. Dropping it moves the process back to its own cgroup and removes them.
pub struct Cgroups {
    /// Their removals, in the order of creation.
    undo: Vec<Undo>,
    /// `cgroup.procs` of the process's own cgroup.
    home: PathBuf,
    /// The folder of each group; of the root group that of the process.
    folders: Vec<PathBuf>,
}

impl Cgroups {
    /// Creates the cgroups of `groups` and moves the process into them; `None` if it has none but the root group.
    ///
    /// # Errors
    /// A sentence if this machine has no cgroups of version 2 with a cpu controller, or this user may not make them.
    pub fn make(groups: &Groups) -> Result<Option<Cgroups>, String> {
        if groups.is_flat() {
            return Ok(None);
        }
        let hierarchies = Hierarchies::find();
        let (Some(root), Some(Weights::Version2)) = (&hierarchies.unified, hierarchies.weights()) else {
            return Err("groups need cgroups of version 2 with the cpu controller, and root; run as root, or leave \
                        [[group]] out"
                .into());
        };
        Cgroups::make_below(root, groups).map(Some).map_err(|why| format!("the groups cannot be made: {why}"))
    }

    fn make_below(root: &Path, groups: &Groups) -> io::Result<Cgroups> {
        // The guard is started outside of the cgroups whose processes it kills.
        let restore = Restore::of_this_process()?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let top = root.join(format!("{MARK}{}-play", std::process::id()));
        let mut made = Cgroups {
            undo: restore.cpu_controller(root)?.into_iter().collect(),
            home: root.join(own).join("cgroup.procs"),
            folders: vec![top.clone()],
        };
        made.undo.push(restore.cgroup(&top)?);
        fs::write(top.join("cgroup.procs"), "0")?;
        for (_, group) in groups.iter() {
            let around = &made.folders[group.parent.index()];
            let folder = around.join(group.name.replace('/', "-"));
            made.undo.push(restore.cgroup(&folder)?);
            fs::write(folder.join("cgroup.type"), "threaded")?;
            fs::write(around.join("cgroup.subtree_control"), "+cpu")?;
            made.folders.push(folder.clone());
            configure(&folder, group)?;
        }
        Ok(made)
    }

    /// Moves the calling thread to `group`.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn join(&self, group: GroupId) -> io::Result<()> {
        fs::write(self.folders[group.index()].join("cgroup.threads"), "0")
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        if fs::write(&self.home, "0").is_err() {
            // Removing kills what is inside. The guard does it when this process has ended.
            std::mem::take(&mut self.undo).into_iter().for_each(std::mem::forget);
        }
        while let Some(undo) = self.undo.pop() {
            undo.now();
        }
    }
}

/// Writes the weight and the limit of `group`.
fn configure(folder: &Path, group: &Group) -> io::Result<()> {
    match group.is_idle {
        true => fs::write(folder.join("cpu.idle"), "1")?,
        false => fs::write(folder.join("cpu.weight"), group.cpu_weight().to_string())?,
    }
    let Some(limit) = group.quota else { return Ok(()) };
    fs::write(folder.join("cpu.max"), format!("{} {}", limit.quota.0 / 1_000, limit.period.0 / 1_000))?;
    if limit.burst.0 > 0 {
        fs::write(folder.join("cpu.max.burst"), (limit.burst.0 / 1_000).to_string())?;
    }
    Ok(())
}
