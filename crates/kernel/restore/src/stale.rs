//! Finds and undoes changes left by processes that died together with their guards.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::action::Action;
use super::undo::{End, Since, undo};
use super::{chosen, journal, line::Parts};

/// Message for a journal this program cannot undo.
const NEWER: &str = "a journal of a newer goodness; run that one's `goodness doctor --restore`";

/// Message for a change not undone because someone else has changed the setting since.
pub fn left_alone(action: &Action) -> Option<String> {
    let Action::Put { file, value, written: Some(written) } = action else { return None };
    let found = chosen(&fs::read_to_string(file).ok()?);
    (found != *value && found != *written).then(|| {
        format!(
            "leave {} at \"{found}\": this is neither what was written to it (\"{written}\") nor what it held before \
             (\"{value}\"), so someone else has changed it since",
            file.display()
        )
    })
}

/// The journal of a dead process. It stays locked for the life of this value, so that only one process undoes it.
#[derive(Debug)]
pub struct StaleJournal {
    path: PathBuf,
    file: File,
    contents: Option<journal::Contents>,
}

impl StaleJournal {
    /// The journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process that left the journal; `None` when it died before its first change.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.contents.as_ref().map(|contents| contents.pid)
    }

    fn since(&self) -> Since {
        let same = self.contents.as_ref().is_some_and(|contents| contents.boot == journal::boot());
        if same { Since::SameBoot } else { Since::Reboot }
    }

    /// The resources that it changed.
    pub(super) fn changes(&self) -> Vec<PathBuf> {
        self.contents.as_ref().map(journal::Contents::resources).unwrap_or_default()
    }

    /// The changes to undo, in order, as sentences.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let lines = self.contents.iter().flat_map(|contents| contents.lines.iter().rev());
        let told = lines.map(|line| match Action::read(line) {
            Some((_, action)) => left_alone(&action).unwrap_or_else(|| action.to_string()),
            None => {
                let mut shown = String::new();
                let _ = write!(shown, "a line that this version does not know: {}", String::from_utf8_lossy(line));
                shown
            }
        });
        told.chain(self.is_newer().then(|| NEWER.to_string())).collect()
    }

    fn is_newer(&self) -> bool {
        self.contents.as_ref().is_some_and(journal::is_newer)
    }

    /// Undoes the changes, last first. Returns failures as sentences; they stay in the journal. Settings that someone
    /// else has changed since are returned too, once.
    #[must_use]
    pub fn undo(mut self) -> Vec<String> {
        if self.is_newer() {
            return vec![NEWER.to_string()];
        }
        let since = self.since();
        let (mut stuck, mut told) = (false, Vec::new());
        for line in self.contents.iter().flat_map(|contents| contents.lines.iter().rev()) {
            let action = Action::read(line).map(|(_, action)| action);
            let foreign = action.as_ref().and_then(left_alone);
            let said = action.map(|action| action.to_string());
            let end = undo(line, since);
            match end {
                End::Undone => {}
                End::LeftAlone => told.extend(foreign.or(said)),
                End::Stuck => told.push(said.unwrap_or_else(|| String::from_utf8_lossy(line).into_owned())),
            }
            stuck |= end == End::Stuck;
            if let Some(parts) = Parts::of(line).filter(|_| end != End::Stuck) {
                // If the note is lost, the change is undone once more.
                let _ = writeln!(self.file, "{} done", parts.number);
            }
        }
        if !stuck {
            let _ = fs::remove_file(&self.path);
        }
        told
    }
}

/// Leftovers of dead processes of this user, from all journal folders.
#[must_use]
pub fn find() -> Vec<StaleJournal> {
    folders().iter().flat_map(|folder| find_in(folder)).collect()
}

/// The folders of journals.
pub fn folders() -> Vec<PathBuf> {
    let mut folders = vec![journal::folder(), journal::fleeting()];
    folders.dedup();
    folders
}

/// Leftovers of dead processes in `folder`.
#[must_use]
pub fn find_in(folder: &Path) -> Vec<StaleJournal> {
    read(journal::Found::of(folder).stale)
}

/// Reads journals that are locked.
pub fn read(stale: Vec<(PathBuf, File)>) -> Vec<StaleJournal> {
    let read_one = |(path, file): (PathBuf, File)| StaleJournal { contents: journal::read(&file), path, file };
    stale.into_iter().map(read_one).collect()
}
