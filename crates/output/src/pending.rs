//! A file in the making, under a temporary name in the folder it is meant for.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{Folder, Writer};

/// Access to a new file. A replaced file's mode is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// As the user's umask allows.
    Usual,
    /// Readable by its owner only.
    Private,
}

/// A temporary file. Dropped unfinished, it is removed.
#[derive(Debug)]
pub struct Pending {
    folder: Folder,
    file: File,
    temporary: OsString,
    name: OsString,
    path: PathBuf,
    finished: bool,
}

impl Pending {
    /// Creates the file `temporary`, to be renamed to `target`, which is not a link.
    ///
    /// # Errors
    /// `target` names no file or may not be replaced, or the temporary file cannot be created.
    pub fn create(target: &Path, temporary: &OsStr, access: Access) -> io::Result<Pending> {
        Pending::create_for(Writer::here(), target, temporary, access)
    }

    pub(crate) fn create_for(writer: Writer, target: &Path, temporary: &OsStr, access: Access) -> io::Result<Pending> {
        let name = target.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let parent = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = Folder::open(parent, writer)?;
        // What it replaces may be more private than a new file; it gets that file's mode at the end.
        let is_private = folder.replaces(name)? || access == Access::Private;
        let mode = if is_private { 0o600 } else { 0o666 };
        let file = folder.make(temporary, mode)?;
        let (temporary, name) = (temporary.to_os_string(), name.to_os_string());
        Ok(Pending { folder, file, path: parent.join(&temporary), temporary, name, finished: false })
    }

    /// The file, to be filled.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Path until it is finished.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames it to its final name.
    ///
    /// # Errors
    /// The system's error; an older file of that name stays unchanged.
    pub fn finish(mut self) -> io::Result<()> {
        self.publish()
    }

    fn publish(&mut self) -> io::Result<()> {
        self.folder.publish(&self.file, &self.temporary, &self.name)?;
        self.finished = true;
        Ok(())
    }

    /// Renames it to its final name and keeps it open for writing.
    ///
    /// # Errors
    /// As [`Pending::finish`].
    pub fn go_on(mut self) -> io::Result<File> {
        self.publish()?;
        self.file.try_clone()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.finished {
            self.folder.remove(&self.temporary);
        }
    }
}
