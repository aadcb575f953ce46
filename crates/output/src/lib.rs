//! Writes files atomically, and safely in shared folders.
//!
//! A file is written under a temporary name in its folder, synced, and then renamed. It keeps the mode and owner of the
//! file it replaces. As root, in a folder others may write to, links and files of other users are neither followed nor
//! replaced; a new file belongs to the user who called `sudo`.

mod check;
#[cfg_attr(not(unix), path = "portable.rs")]
mod folder;
mod link;
pub mod page_name;
mod pending;

pub use check::{check, check_all, check_kind};
pub use link::{is_special, target};
pub use pending::{Access, Pending};

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file through `fill`. On any error, an older file of that name stays unchanged and no partial file is left.
/// Links are followed, even to a file that does not exist yet. A special file (a pipe, `/dev/null`) is written to and
/// never replaced.
///
/// # Errors
/// A sentence with the path, the reason and the remedy.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("{} is a directory; name a file in it, for example {0}/report", path.display()));
    }
    let target = target(path)?;
    if is_special(path) {
        return fill_special(path, &target, fill).map_err(|e| sentence(path, &e));
    }
    let written = Pending::create(&target, &hidden(path, &target)?, Access::Usual).and_then(|mut pending| {
        let mut out = io::BufWriter::new(pending.file());
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        pending.finish()
    });
    written.map_err(|e| sentence(path, &e))
}

/// Like [`write_with`], from bytes in memory.
///
/// # Errors
/// As [`write_with`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    write_with(path, |out| out.write_all(bytes))
}

/// Creates an empty file to write to while open, such as a log. Links, owners and modes are treated as in
/// [`write_with`].
///
/// # Errors
/// As [`write_with`].
pub fn create(path: &Path) -> Result<File, String> {
    let target = target(path)?;
    if is_special(path) {
        return open_special(path, &target).map_err(|e| sentence(path, &e));
    }
    let made = Pending::create(&target, &hidden(path, &target)?, Access::Usual).and_then(Pending::go_on);
    made.map_err(|e| sentence(path, &e))
}

/// A hidden name beside `target`, different for each process.
fn hidden(path: &Path, target: &Path) -> Result<OsString, String> {
    let name = target.file_name().ok_or_else(|| {
        format!("\"{}\" does not name a file; write for example goodness-report.html", path.display())
    })?;
    Ok(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()).into())
}

fn fill_special(path: &Path, target: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(open_special(path, target)?);
    fill(&mut out)?;
    out.flush()
}

fn open_special(path: &Path, target: &Path) -> io::Result<File> {
    folder::may_fill(path, target.parent().unwrap_or(Path::new("/")))?;
    File::options().write(true).open(path)
}

fn sentence(path: &Path, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "create its directory first, or name another",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "name a directory that you may write to",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or name a file on another disk",
        io::ErrorKind::AlreadyExists => "another goodness seems to write the same file; wait for it or name another",
        _ => "name another file",
    };
    format!("cannot write {}: {error}; {remedy}", path.display())
}

#[cfg(test)]
mod tests;
