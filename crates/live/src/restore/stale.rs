//! What processes have left that died together with their guards, and undoing it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::action::Action;
use super::undo::{Since, undo};
use super::{journal, line::Parts};

/// A journal whose process is dead. It is locked for as long as this lives, so that nobody else undoes it too.
#[derive(Debug)]
pub struct Left {
    path: PathBuf,
    file: File,
    contents: Option<journal::Contents>,
}

impl Left {
    /// The journal.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process that left it; `None` when it died before it had changed anything.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        self.contents.as_ref().map(|contents| contents.pid)
    }

    fn since(&self) -> Since {
        let same = self.contents.as_ref().is_some_and(|contents| contents.boot == journal::boot());
        if same { Since::SameBoot } else { Since::Reboot }
    }

    /// What is to be undone, in the order in which it will be, as sentences.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let lines = self.contents.iter().flat_map(|contents| contents.lines.iter().rev());
        let told = lines.map(|line| match Action::read(line) {
            Some((_, action)) => action.to_string(),
            None => {
                let mut shown = String::new();
                let _ = write!(shown, "a line that this version does not know: {}", String::from_utf8_lossy(line));
                shown
            }
        });
        told.collect()
    }

    /// Undoes it, last change first. What could not be undone stays in the journal and is returned as sentences.
    #[must_use]
    pub fn undo(mut self) -> Vec<String> {
        let since = self.since();
        let mut stuck = Vec::new();
        for line in self.contents.iter().flat_map(|contents| contents.lines.iter().rev()) {
            let said = Action::read(line).map(|(_, action)| action.to_string());
            if !undo(line, since) {
                stuck.push(said.unwrap_or_else(|| String::from_utf8_lossy(line).into_owned()));
            } else if let Some(parts) = Parts::of(line) {
                // Lost, it is undone once more.
                let _ = writeln!(self.file, "{} done", parts.number);
            }
        }
        if stuck.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
        stuck
    }
}

/// What dead processes of this user have left in any of the places where journals are kept.
#[must_use]
pub fn find() -> Vec<Left> {
    let mut folders = vec![journal::folder(), journal::fleeting()];
    folders.dedup();
    folders.iter().flat_map(|folder| find_in(folder)).collect()
}

/// What dead processes have left in `folder`.
#[must_use]
pub fn find_in(folder: &Path) -> Vec<Left> {
    let left = |(path, file): (PathBuf, File)| Left { contents: journal::read(&file), path, file };
    journal::stale(folder).into_iter().map(left).collect()
}
