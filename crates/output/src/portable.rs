//! A folder on systems without Unix' owners and modes.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The writing user; without meaning on this system.
#[derive(Clone, Copy, Debug)]
pub struct Writer;

impl Writer {
    /// This process.
    pub fn here() -> Writer {
        Writer
    }
}

/// User who may have planted a link: always none here.
pub fn planted_by(_: &Metadata, _: &Path) -> Option<u32> {
    None
}

/// Checks a special file: always allowed here.
///
/// # Errors
/// None.
pub fn may_fill(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// A folder.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Opens it.
    ///
    /// # Errors
    /// None.
    pub fn open(path: &Path, _: Writer) -> io::Result<Folder> {
        Ok(Folder(path.to_path_buf()))
    }

    /// Creates the file `name`.
    ///
    /// # Errors
    /// The name exists.
    pub fn make(&self, name: &OsStr, _: u32) -> io::Result<File> {
        File::create_new(self.0.join(name))
    }

    /// True if a file `name` exists and can be replaced.
    ///
    /// # Errors
    /// `name` is not a regular file.
    pub fn replaces(&self, name: &OsStr) -> io::Result<bool> {
        match fs::metadata(self.0.join(name)) {
            Ok(found) if !found.is_file() => Err(io::Error::other("it exists and is not an ordinary file")),
            found => Ok(found.is_ok()),
        }
    }

    /// Renames `file`, now called `temporary`, to `name`.
    ///
    /// # Errors
    /// The system's error.
    pub fn publish(&self, file: &File, temporary: &OsStr, name: &OsStr) -> io::Result<()> {
        file.sync_all()?;
        fs::rename(self.0.join(temporary), self.0.join(name))
    }

    /// Removes `name`. A missing name is not an error.
    pub fn remove(&self, name: &OsStr) {
        let _ = fs::remove_file(self.0.join(name));
    }
}
