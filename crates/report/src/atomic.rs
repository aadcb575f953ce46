//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file through `fill`: into a temporary file of the same directory, to the disk, then under its
/// name. Whatever goes wrong, an older file of that name stays as it was and no half-written one is left.
/// Links are followed, also to where there is no file yet. What is no ordinary file (a pipe, `/dev/null`) is written to and never replaced: renaming
/// over a device would take it from every other program.
///
/// # Errors
/// A sentence with the path, the reason and the remedy.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("{} is a directory; name a file in it, for example {0}/report", path.display()));
    }
    if is_special(path) {
        return fill_special(path, fill).map_err(|e| sentence(path, &e));
    }
    let target = target(path)?;
    let temporary = temporary_name(&target)?;
    let result = fill_and_rename(&target, &temporary, fill);
    if result.is_err() {
        // The rename did not happen, so the temporary file may still be there; if it is not, all is well.
        let _ = std::fs::remove_file(&temporary);
    }
    result.map_err(|e| sentence(path, &e))
}

/// As [`write_with`], from bytes in memory.
///
/// # Errors
/// As [`write_with`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    write_with(path, |out| out.write_all(bytes))
}

/// Links followed one after another at most, as Linux does.
const LINKS_MAX: usize = 40;

/// The file that `path` means: where its links lead, whether or not a file is there yet.
///
/// # Errors
/// A sentence when the links lead round in a circle.
pub fn target(path: &Path) -> Result<PathBuf, String> {
    let mut at = path.to_path_buf();
    for _ in 0..=LINKS_MAX {
        match std::fs::read_link(&at) {
            // What a link says is meant from the folder it is in; an absolute path replaces that.
            Ok(next) => at = at.parent().unwrap_or(Path::new("")).join(next),
            // No link, or nothing: what is wrong with the place, opening it will tell.
            Err(_) => return Ok(std::fs::canonicalize(&at).unwrap_or(at)),
        }
    }
    Err(format!("{} is a link that leads to no end; remove it, or name another file", path.display()))
}

/// Whether something other than a file or a folder has this name: a device, a pipe, a socket.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn fill_special(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut out)?;
    out.flush()
}

fn fill_and_rename(
    path: &Path,
    temporary: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(File::create_new(temporary)?);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    std::fs::rename(temporary, path)
}

/// A hidden name beside `path`, different for each process.
fn temporary_name(path: &Path) -> Result<PathBuf, String> {
    let name = path.file_name().ok_or_else(|| {
        format!("\"{}\" does not name a file; write for example goodness-report.html", path.display())
    })?;
    let hidden = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(hidden))
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
mod tests {
    use super::*;

    fn entries(dir: &Path) -> Vec<String> {
        let names = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_file_replaces_its_predecessor_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(entries(dir.path()), ["report.html"]);
    }

    #[test]
    fn a_failure_half_way_keeps_the_old_file_and_removes_the_half() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.html");
        write(&path, b"old").unwrap();
        let failure = write_with(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the source ran dry"))
        });
        assert!(failure.unwrap_err().contains("the source ran dry"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(dir.path()), ["report.html"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_what_it_names_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("report.html"), dir.path().join("latest"));
        write(&path, b"old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_stays_a_link_and_the_file_is_made_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("latest"), dir.path().join("reports/newest"));
        std::fs::create_dir(dir.path().join("reports")).unwrap();
        std::os::unix::fs::symlink("reports/newest", &first).unwrap();
        std::os::unix::fs::symlink("../report.html", &second).unwrap();
        write(&first, b"new").unwrap();
        assert!([&first, &second].iter().all(|link| std::fs::symlink_metadata(link).unwrap().is_symlink()));
        assert_eq!(std::fs::read(dir.path().join("report.html")).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_circle_are_refused_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        std::os::unix::fs::symlink(&other, &one).unwrap();
        std::os::unix::fs::symlink("one", &other).unwrap();
        assert!(write(&one, b"new").unwrap_err().contains("leads to no end"));
        assert!(std::fs::symlink_metadata(&one).unwrap().is_symlink());
        assert_eq!(entries(dir.path()).len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_ordinary_file_is_written_to_and_not_replaced() {
        // A socket is special as a device is, and harmless to lose should the test fail.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(is_special(&path));
        assert!(write(&path, b"new").unwrap_err().contains("cannot write"));
        assert!(is_special(&path), "the socket was replaced");
    }

    #[test]
    fn a_path_that_cannot_be_written_is_named_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let missing = write(&dir.path().join("no/such/report.html"), b"").unwrap_err();
        assert!(missing.contains("no/such/report.html") && missing.contains("create its directory"), "{missing}");
        assert!(write(dir.path(), b"").unwrap_err().contains("is a directory"));
        assert!(write(Path::new("/"), b"").unwrap_err().contains("is a directory"));
        assert!(write(Path::new(""), b"").unwrap_err().contains("does not name a file"));
    }
}
