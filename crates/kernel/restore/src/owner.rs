//! One owner for each changed resource: whoever changes it first keeps it until its process, and its guard, are gone.
//!
//! Two commands that save and set the same file would each believe the other's value to be the original. So a change
//! is preceded by a line `0 own RESOURCE` in the journal, and the journal is locked (flock) for as long as its process or its
//! guard lives: death of both, SIGKILL included, gives the resource free. Looking for an owner and becoming one happens
//! under a lock of the journals' folder.
//!
//! What a dead owner has left of a resource is undone before somebody else may change it.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use goodness_sys as sys;

use super::stale::find_in;
use super::{journal, process_start};

/// How long a dead owner's guard, or whoever undoes what it left, may take; and how long others may look for owners.
const GRACE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// A living process that owns resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its program and first argument, as in `goodness race`.
    pub command: String,
    /// When it started its journal, in seconds since 1970.
    pub since: i64,
    /// Its process id.
    pub process: u32,
    /// What it owns.
    pub resources: Vec<PathBuf>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` since {} (process {})", self.command, sys::local_time(self.since), self.process)
    }
}

/// Calls `write` while nobody else can become the owner of `resource`, if nobody is; returns what a dead owner had left of
/// it and could not be undone, as sentences.
///
/// # Errors
/// Somebody else owns it, and the sentence names who; or what `write` reports.
pub fn claim(folder: &Path, resource: &Path, mut write: impl FnMut() -> io::Result<()>) -> io::Result<Vec<String>> {
    let begun = Instant::now();
    loop {
        let turn = take_turn(folder)?;
        let told = undo_left(folder, resource)?;
        let owner = owners(folder).into_iter().find(|owner| owner.resources.iter().any(|it| it == resource));
        match owner {
            None => return write().map(|()| told),
            // Its guard is about to undo what it left.
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

/// The lock of the folder, under which owners are looked for; held until it is dropped.
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

/// Undoes what dead owners have left of `resource`.
fn undo_left(folder: &Path, resource: &Path) -> io::Result<Vec<String>> {
    let mut told = Vec::new();
    for left in find_in(folder).into_iter().filter(|left| left.changes().iter().any(|it| it == resource)) {
        let journal = left.path().to_path_buf();
        told.extend(left.undo());
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

/// The living processes with journals in `folder`, and what they own.
pub fn owners(folder: &Path) -> Vec<Owner> {
    let living = journal::opened(folder).into_iter().filter(|(_, file)| file.try_lock().is_err());
    let read = living.filter_map(|(_, file)| journal::read(&file));
    read.map(|contents| {
        let resources = contents.resources();
        Owner { command: contents.command, since: contents.since, process: contents.pid, resources }
    })
    .collect()
}
