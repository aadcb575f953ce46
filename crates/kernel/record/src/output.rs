//! The output file: compressed by its extension, and visible only once complete.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::RecordError;
use super::pack::Packer;
use goodness_output::{Access, Pending};
use goodness_restore::MARK;

/// A temporary file beside its destination. Dropped unfinished, it is removed.
#[derive(Debug)]
pub struct Output {
    unfinished: Pending,
    /// Final path.
    path: PathBuf,
}

impl Output {
    /// Checks that `path` can be written and creates a temporary file beside it.
    ///
    /// A new recording is readable by its owner only (under `sudo`, the calling user), because it names all running
    /// programs. A recording that replaces a file keeps that file's mode and owner.
    ///
    /// # Errors
    /// [`RecordError::Output`] with the reason.
    pub fn prepare(path: &Path) -> Result<Self, RecordError> {
        let refuse = |reason: String| RecordError::Output { path: path.to_path_buf(), reason };
        static MADE: AtomicU32 = AtomicU32::new(0);
        // A link is followed, so that the rename replaces what it points at and not the link.
        let target = goodness_output::target(path).map_err(refuse)?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{MARK}{}-{number}.part", std::process::id());
        let made = Pending::create(&target, name.as_ref(), Access::Private);
        let unfinished = made.map_err(|error| refuse(in_words(folder, &error)))?;
        Ok(Self { unfinished, path: target })
    }

    /// Path of the temporary file, for the journal.
    pub fn unfinished(&self) -> &Path {
        self.unfinished.path()
    }

    /// The file in terms of ownership: two recordings cannot be written to it at a time.
    pub fn resource(&self) -> PathBuf {
        let folder = self.folder().canonicalize().unwrap_or_else(|_| self.folder().to_path_buf());
        folder.join(self.path.file_name().unwrap_or_default())
    }

    /// The folder both files are in.
    pub fn folder(&self) -> &Path {
        self.unfinished.path().parent().unwrap_or(Path::new("."))
    }

    /// Has `write` fill the file through the compressor, syncs it and renames it to its final path. Returns its size in
    /// bytes.
    ///
    /// # Errors
    /// [`RecordError::Output`], or the error of `write`.
    pub fn finish(mut self, write: impl FnOnce(&mut dyn Write) -> Result<(), RecordError>) -> Result<u64, RecordError> {
        let path = self.path.clone();
        let failed = |error: io::Error| RecordError::Output { path: path.clone(), reason: error.to_string() };
        let file = self.unfinished.file();
        let mut packed = Packer::new(&self.path, &mut *file);
        write(&mut packed)?;
        packed.finish().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        self.unfinished.finish().map_err(failed)?;
        Ok(bytes)
    }
}

fn in_words(folder: &Path, error: &io::Error) -> String {
    let (is_there, folder) = (folder.is_dir(), folder.display());
    match error.kind() {
        // As in /proc: the folder exists, but no file can be created in it.
        io::ErrorKind::NotFound if is_there => format!("no file can be made in {folder}; name one in another folder"),
        io::ErrorKind::NotFound => format!("the folder {folder} does not exist"),
        io::ErrorKind::NotADirectory => format!("{folder} is not a folder"),
        io::ErrorKind::Other => error.to_string(),
        io::ErrorKind::ReadOnlyFilesystem => format!("{folder} is on a read-only file system"),
        _ => format!("no file can be made in {folder} ({error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown};

    fn write_whole(out: &mut dyn Write) -> Result<(), RecordError> {
        out.write_all(b"whole").expect("room");
        Ok(())
    }

    fn reason(path: &Path) -> String {
        Output::prepare(path).expect_err("must be refused").to_string()
    }

    #[test]
    fn an_impossible_place_is_refused_before_anything_is_recorded() {
        let scratch = tempfile::tempdir().expect("scratch");
        assert!(reason(&scratch.path().join("no/where.gz")).contains("does not exist"));
        assert!(reason(scratch.path()).contains("not an ordinary file"));
        assert!(reason(Path::new("/proc/x.gz")).contains("no file can be made in /proc"));
        assert!(reason(Path::new("/dev/null")).contains("not an ordinary file"));
        assert_eq!(fs::read_dir(scratch.path()).expect("scratch").count(), 0);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let scratch = tempfile::tempdir().expect("scratch");
        let path = scratch.path().join("a.ftrace.gz");
        fs::write(&path, "old").expect("scratch");
        let output = Output::prepare(&path).expect("writable");
        let stop = || RecordError::Interrupted { path: path.clone(), signal: 2 };
        let result = output.finish(|out| {
            out.write_all(b"half").expect("room");
            Err(stop())
        });
        assert!(result.is_err());
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(fs::read_dir(scratch.path()).expect("scratch").count(), 1);
    }

    #[test]
    fn a_new_recording_is_private_and_one_that_replaces_another_is_as_readable_as_that() {
        let scratch = tempfile::tempdir().expect("scratch");
        let path = scratch.path().join("a.gz");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        for expected in [0o600, 0o644] {
            let output = Output::prepare(&path).expect("writable");
            assert_eq!(mode(output.unfinished()), 0o600);
            output.finish(write_whole).expect("finished");
            assert_eq!(mode(&path), expected);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("scratch");
        }
    }

    #[test]
    fn a_link_that_another_user_planted_is_refused_before_anything_is_recorded() {
        let (scratch, secret) =
            (tempfile::tempdir().expect("scratch"), tempfile::NamedTempFile::new().expect("scratch"));
        let link = scratch.path().join("a.gz");
        std::os::unix::fs::symlink(secret.path(), &link).expect("scratch");
        if lchown(&link, Some(12345), None).is_err() {
            return eprintln!("SKIPPED: another user's link: needs root");
        }
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o1777)).expect("scratch");
        assert!(reason(&link).contains("a link that user 12345 has put"), "{}", reason(&link));
    }

    #[test]
    fn every_way_to_write_a_path_is_one_resource() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (folder, link) = (scratch.path().join("a"), scratch.path().join("b"));
        fs::create_dir(&folder).expect("scratch");
        std::os::unix::fs::symlink(&folder, &link).expect("scratch");
        let resource = |path: PathBuf| Output::prepare(&path).expect("writable").resource();
        assert_eq!(resource(folder.join("x.gz")), resource(link.join("x.gz")));
        assert_eq!(resource(folder.join("x.gz")), resource(folder.join("../a/x.gz")));
        assert_ne!(resource(folder.join("x.gz")), resource(folder.join("y.gz")));
    }

    #[test]
    fn a_finished_file_replaces_the_target_of_a_link() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (path, link) = (scratch.path().join("a.gz"), scratch.path().join("link.gz"));
        fs::write(&path, "old").expect("scratch");
        std::os::unix::fs::symlink(&path, &link).expect("scratch");
        let output = Output::prepare(&link).expect("writable");
        output.finish(write_whole).expect("finished");
        assert_ne!(fs::read(&path).expect("there"), b"old");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    }
}
