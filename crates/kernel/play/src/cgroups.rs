//! Cgroups of a play: a threaded one for each group of the workload, below one for the process.
//!
//! CPUs of a cpuset are those of its threads' affinities here, because the CPUs of a play have other numbers.
//!
//! They are removed when the play ends, however it ends; see `goodness_restore`.

use goodness_core::{CpuSet, CpuStat, Group, GroupId, Groups, Span};
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
    /// Names of the groups with a limit, and their folders.
    limited: Vec<(String, PathBuf)>,
    groups: Groups,
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
            limited: Vec::new(),
            groups: groups.clone(),
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
            if group.quota.is_some() {
                made.limited.push((group.name.clone(), folder));
            }
        }
        Ok(made)
    }

    /// Figures of the limits of groups so far, by name. The kernel's figures are in µs.
    pub fn cpu_stats(&self) -> Vec<(String, CpuStat)> {
        let stat = |(name, folder): &(String, PathBuf)| {
            let text = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
            (name.clone(), cpu_stat(&text))
        };
        self.limited.iter().map(stat).collect()
    }

    /// The CPUs that a thread of `group` may use which asks for `own`.
    pub fn confine(&self, own: &CpuSet, group: GroupId) -> CpuSet {
        self.groups.confine(own, group)
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

/// The figures of a limit in the text of `cpu.stat`.
fn cpu_stat(text: &str) -> CpuStat {
    let figure = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok());
        value.unwrap_or_default()
    };
    CpuStat {
        periods: figure("nr_periods"),
        throttled_periods: figure("nr_throttled"),
        throttled: Span::from_us(figure("throttled_usec")),
        bursts: figure("nr_bursts"),
        burst: Span::from_us(figure("burst_usec")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_limit_are_found_by_their_whole_names() {
        let text = "usage_usec 9\nnr_periods 20\nnr_throttled 19\nthrottled_usec 1500\nnr_bursts 2\nburst_usec 70\n";
        let throttled = Span::from_us(1_500);
        let expected = CpuStat { periods: 20, throttled_periods: 19, throttled, bursts: 2, burst: Span::from_us(70) };
        assert_eq!(cpu_stat(text), expected);
        assert_eq!(cpu_stat("usage_usec 9\n"), CpuStat::default());
    }
}
