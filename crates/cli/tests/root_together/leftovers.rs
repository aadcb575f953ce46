//! Leftovers of commands on a machine: settings, and what carries their process ids or descends from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Variable in the environment of the commands, and so of all that they start.
pub const MARK: &str = "GOODNESS_TOGETHER_COMMAND";
const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";
/// Settings of a disk's queue.
const QUEUE: [&str; 4] = ["scheduler", "nr_requests", "read_ahead_kb", "wbt_lat_usec"];

/// Settings with their values, and what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers(BTreeMap<String, String>);

impl Leftovers {
    /// Settings of the machine and of `disk`, and what there is of processes `ids`.
    pub fn of(disk: &str, ids: &[u32]) -> Leftovers {
        let mut found = Leftovers::default();
        let queue = Path::new("/sys/block").join(disk).join("queue");
        let files = QUEUE.iter().map(|name| queue.join(name)).chain([PathBuf::from(AUTOGROUP)]);
        for file in files {
            found.add(file.display().to_string(), fs::read_to_string(&file).unwrap_or_default());
        }
        for path in folders().into_iter().flat_map(|folder| goodness_sys::listed(&folder)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_of(&name, ids) {
                found.add(path.display().to_string(), String::new());
            }
        }
        for mount in fs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines() {
            if is_of(mount, ids) {
                found.add(mount.to_string(), String::new());
            }
        }
        found.loop_devices(ids);
        found.processes();
        found
    }

    fn add(&mut self, what: String, value: String) {
        self.0.insert(what, value);
    }

    fn loop_devices(&mut self, ids: &[u32]) {
        for disk in goodness_sys::listed(Path::new("/sys/block")) {
            let image = fs::read_to_string(disk.join("loop/backing_file")).unwrap_or_default();
            if is_of(&image, ids) {
                self.add(disk.display().to_string(), image);
            }
        }
    }

    /// Processes that carry the mark and live.
    fn processes(&mut self) {
        let marked = format!("{MARK}=1");
        for process in goodness_sys::listed(Path::new("/proc")) {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|it| it == marked.as_bytes()) {
                let line = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
                self.add(process.display().to_string(), line.replace('\0', " "));
            }
        }
    }

    /// The differences from `before`.
    pub fn beyond(&self, before: &Leftovers) -> Vec<String> {
        let differs = |(what, value): &(&String, &String)| before.0.get(*what) != Some(*value);
        self.0.iter().filter(differs).map(|(what, value)| format!("{what}: {}", value.trim())).collect()
    }
}

/// Folders where commands make things: of the kernel, of journals, for private files.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["/var/tmp", "/run/goodness", "/run/goodness/journal"].map(PathBuf::from).into();
    folders.push(goodness_restore::folder());
    folders.push("/sys/kernel/tracing/instances".into());
    // Cgroups are made below the roots of hierarchies, or below the group of whoever starts the command.
    for hierarchy in
        std::iter::once(PathBuf::from("/sys/fs/cgroup")).chain(goodness_sys::listed("/sys/fs/cgroup".as_ref()))
    {
        folders.extend(goodness_sys::listed(&hierarchy).into_iter().filter(|path| path.is_dir()));
        folders.push(hierarchy);
    }
    folders
}

/// True if `text` names something of one of the processes: `goodness-ID` and no further digit.
fn is_of(text: &str, ids: &[u32]) -> bool {
    text.split("goodness-").skip(1).any(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[..digits].parse().is_ok_and(|id: u32| ids.contains(&id))
    })
}
