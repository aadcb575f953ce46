//! One owner per changed resource: the first process to change it keeps it until the process and its guard are gone.
//!
//! Without this, two commands that save and set the same file would each take the other's value for the original. So a
//! line `0 own RESOURCE` goes to the journal before a change. The journal is locked (flock) while its process or guard
//! lives, so the death of both frees the resource. Claims are serialised by a lock on the journals' folder.
//!
//! A resource left changed by a dead owner is restored before anyone else may change it.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use goodness_sys as sys;

use super::journal::{self, Found};
use super::{process_start, stale};

/// Time limit for the guard of a dead owner, or another restorer, to finish, and for others to check ownership.
const GRACE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// A living process that owns resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its program and first argument, as in `goodness race`.
    pub command: String,
    /// Start of its journal, in seconds since 1970.
    pub since: i64,
    /// Its process id.
    pub process: u32,
    /// Resources it owns.
    pub resources: Vec<PathBuf>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` since {} (process {})", self.command, sys::local_time(self.since), self.process)
    }
}

/// Calls `write` if `resource` has no owner, under the lock. Returns changes of a dead owner that could not be undone,
/// as sentences.
///
/// # Errors
/// Another process owns it (named in the error), or the error of `write`.
pub fn claim(folder: &Path, resource: &Path, mut write: impl FnMut() -> io::Result<()>) -> io::Result<Vec<String>> {
    let begun = Instant::now();
    loop {
        let turn = take_turn(folder)?;
        let Found { stale, in_use } = Found::of(folder);
        let told = undo_left(stale, resource)?;
        let owner = owners(in_use).into_iter().find(|owner| owner.resources.iter().any(|it| it == resource));
        match owner {
            None => return write().map(|()| told),
            // Its guard is about to undo its changes.
            Some(owner) if process_start(owner.process).is_none() && begun.elapsed() < GRACE => {}
            Some(owner) => return Err(io::Error::new(io::ErrorKind::ResourceBusy, refusal(resource, &owner))),
        }
        drop(turn);
        std::thread::sleep(PAUSE);
    }
}

fn refusal(resource: &Path, owner: &Owner) -> String {
    format!("{} is in use by {owner}; wait until that ends, or end it, and try again", resource.display())
}

/// Locks the folder for an ownership check. Dropping the file unlocks it.
fn take_turn(folder: &Path) -> io::Result<File> {
    let turn = File::open(folder)?;
    let begun = Instant::now();
    while turn.try_lock().is_err() {
        if begun.elapsed() > 2 * GRACE {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("{} stays locked", folder.display())));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(turn)
}

/// Undoes the changes that the owners of `stale` journals left on `resource`.
fn undo_left(stale: Vec<(PathBuf, File)>, resource: &Path) -> io::Result<Vec<String>> {
    let mut told = Vec::new();
    for stale in stale::read(stale).into_iter().filter(|stale| stale.changes().iter().any(|it| it == resource)) {
        let journal = stale.path().to_path_buf();
        told.extend(stale.undo());
        if journal.exists() {
            let why = format!(
                "{} is as a killed command left it, and that cannot be undone; `goodness doctor` says more",
                resource.display()
            );
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
    }
    Ok(told)
}

/// The processes of the journals `in_use`, and the resources they own.
pub fn owners(in_use: Vec<(PathBuf, File)>) -> Vec<Owner> {
    let read = in_use.into_iter().filter_map(|(_, file)| journal::read(&file));
    read.map(|contents| {
        let resources = contents.resources();
        Owner { command: contents.command, since: contents.since, process: contents.pid, resources }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_that_dies_while_another_looks_is_still_an_owner() {
        let scratch = tempfile::tempdir().expect("scratch");
        let mut journal = journal::Journal::make(scratch.path()).expect("made");
        journal.publish().expect("published");
        journal.append(&journal::own_line(Path::new("/a"))).expect("written");
        let found = Found::of(scratch.path());
        drop(journal);
        assert!(found.stale.is_empty());
        assert_eq!(owners(found.in_use)[0].resources, [PathBuf::from("/a")]);
        let found = Found::of(scratch.path());
        assert_eq!((found.stale.len(), found.in_use.len()), (1, 0));
    }
}
