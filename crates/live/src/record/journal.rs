//! What a recording has changed, written down so that it can be undone when the recorder was killed.
//!
//! One small JSON file for each running recorder. The watchdog acts on it at once when its recorder dies; should the
//! watchdog be killed too, the next start of any recorder finds the file and cleans up.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::machine::listed;

/// First part of the names of everything recording creates: trace instances, mount points, unfinished files.
pub const MARK: &str = "goodness-";

/// What one recorder has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Process id of the recorder.
    pub pid: u32,
    /// Its start time in ticks since boot, which tells it from a later process with the same id.
    pub started: Option<u64>,
    /// Its trace instance.
    pub instance: PathBuf,
    /// A tracefs it mounted itself, if it did.
    pub mounted: Option<PathBuf>,
    /// The file it writes to until the recording is complete.
    pub unfinished: PathBuf,
}

impl Entry {
    /// Whether the recorder that wrote this still runs.
    fn owner_lives(&self) -> bool {
        process_start(self.pid).is_some_and(|now| self.started.is_none_or(|then| then == now))
    }

    /// Undoes what the entry names, and nothing that does not carry our mark. True when nothing is left of it.
    fn undo(&self) -> bool {
        let ours = |path: &Path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.trim_start_matches('.').starts_with(MARK)
        };
        let mut clean = true;
        if ours(&self.instance) && self.instance.exists() {
            clean &= remove_instance(&self.instance).is_ok();
        }
        if let Some(mounted) = self.mounted.as_deref().filter(|path| ours(path) && path.exists()) {
            // Not mounted any more is as good as unmounted.
            let _ = crate::sys::unmount(mounted);
            clean &= fs::remove_dir(mounted).is_ok();
        }
        if ours(&self.unfinished) && self.unfinished.exists() {
            clean &= fs::remove_file(&self.unfinished).is_ok();
        }
        clean
    }
}

/// An entry on disk; removed on drop, so drop it last.
#[derive(Debug)]
pub struct Journal {
    /// Where it is.
    pub path: PathBuf,
}

impl Journal {
    /// Writes `entry` below `folder`.
    ///
    /// # Errors
    /// What creating the folder or the file reports.
    pub fn write(folder: &Path, name: &str, entry: &Entry) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{name}.json"));
        fs::write(&path, serde_json::to_vec(entry).map_err(io::Error::other)?)?;
        Ok(Self { path })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Gone already is fine; the next start removes what stays.
        let _ = fs::remove_file(&self.path);
    }
}

/// Where journals are kept: memory-backed `/run`, which a reboot clears together with what they describe.
pub fn folder() -> PathBuf {
    let run = Path::new("/run");
    if run.is_dir() { run.join("goodness") } else { std::env::temp_dir().join("goodness-journal") }
}

/// Cleans up after recorders that died without doing so: first by their journals in `folder`, then instances of
/// `tracefs` whose name says they are ours and whose process is gone. Returns what was removed.
pub fn clean_stale(folder: &Path, tracefs: Option<&Path>) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for path in listed(folder) {
        let entry = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Entry>(&text).ok());
        match entry {
            Some(entry) if entry.owner_lives() => {}
            Some(entry) if entry.undo() => {
                let _ = fs::remove_file(&path);
                removed.push(entry.instance);
            }
            // An unreadable journal of a dead recorder names nothing we could undo. One that still cannot be undone
            // stays for the next start.
            Some(_) => {}
            None if owner_named(&path).is_some_and(|pid| process_start(pid).is_some()) => {}
            None => {
                let _ = fs::remove_file(&path);
            }
        }
    }
    for instance in tracefs.map(|root| listed(&root.join("instances"))).unwrap_or_default() {
        let dead = owner_named(&instance).is_some_and(|pid| process_start(pid).is_none());
        if dead && remove_instance(&instance).is_ok() {
            removed.push(instance);
        }
    }
    removed
}

/// Switches an instance off and removes it. The kernel refuses while someone has its files open.
///
/// # Errors
/// What rmdir(2) reports.
pub fn remove_instance(instance: &Path) -> io::Result<()> {
    if let Ok(mut switch) = fs::OpenOptions::new().write(true).open(instance.join("tracing_on")) {
        let _ = switch.write_all(b"0");
    }
    fs::remove_dir(instance)
}

/// When process `pid` started, in ticks since boot; `None` when there is none.
pub fn process_start(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields are counted from behind the name, which may itself hold spaces and parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The process id in a name such as `goodness-812` or `goodness-812-2.json`.
fn owner_named(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix(MARK)?;
    name.split(['-', '.']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this id: it is above the largest the kernel hands out.
    const NOBODY: u32 = 1 << 30;

    fn entry(folder: &Path, pid: u32) -> Entry {
        let instance = folder.join(format!("{MARK}{pid}"));
        let unfinished = folder.join(format!(".{MARK}{pid}.part"));
        fs::create_dir(&instance).expect("scratch folder");
        fs::write(&unfinished, "half").expect("scratch file");
        Entry { pid, started: process_start(pid), instance, mounted: None, unfinished }
    }

    #[test]
    fn what_a_dead_recorder_left_is_undone_at_the_next_start() {
        let scratch = tempfile::tempdir().expect("scratch");
        let left = entry(scratch.path(), NOBODY);
        let folder = scratch.path().join("journal");
        std::mem::forget(Journal::write(&folder, "goodness-1073741824", &left).expect("written"));
        let stuck = left.instance.join("busy");
        fs::create_dir(&stuck).expect("scratch");
        assert!(clean_stale(&folder, None).is_empty());
        assert_eq!(listed(&folder).len(), 1, "what cannot be undone yet stays noted");
        fs::remove_dir(&stuck).expect("scratch");
        assert_eq!(clean_stale(&folder, None), std::slice::from_ref(&left.instance));
        assert!(!left.instance.exists() && !left.unfinished.exists() && listed(&folder).is_empty());
    }

    #[test]
    fn a_living_recorder_is_left_alone() {
        let scratch = tempfile::tempdir().expect("scratch");
        let living = entry(scratch.path(), std::process::id());
        let folder = scratch.path().join("journal");
        let _journal = Journal::write(&folder, "goodness-1", &living).expect("written");
        assert!(clean_stale(&folder, None).is_empty());
        assert!(living.instance.exists() && living.unfinished.exists());
    }

    #[test]
    fn a_reused_process_id_does_not_protect_what_was_left() {
        let scratch = tempfile::tempdir().expect("scratch");
        let mut left = entry(scratch.path(), std::process::id());
        left.started = Some(0);
        assert!(!left.owner_lives());
    }

    #[test]
    fn nothing_without_our_mark_is_ever_removed() {
        let scratch = tempfile::tempdir().expect("scratch");
        let precious = scratch.path().join("precious.txt");
        fs::write(&precious, "keep").expect("scratch");
        let forged = Entry {
            pid: NOBODY,
            started: None,
            instance: scratch.path().to_path_buf(),
            mounted: None,
            unfinished: precious.clone(),
        };
        assert!(forged.undo());
        assert!(precious.exists());
    }

    #[test]
    fn names_tell_their_process() {
        assert_eq!(owner_named(Path::new("/x/goodness-812-2.json")), Some(812));
        assert_eq!(owner_named(Path::new("/x/goodness-812")), Some(812));
        assert_eq!(owner_named(Path::new("/x/trace-812")), None);
    }
}
