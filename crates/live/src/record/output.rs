//! The output file: nobody ever sees half of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::RecordError;
use crate::restore::MARK;

/// A file in the making, beside the place it is meant for. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub struct Output {
    unfinished: NamedTempFile,
    /// Where it goes.
    path: PathBuf,
}

impl Output {
    /// Checks that `path` can be written and makes the unfinished file beside it.
    ///
    /// # Errors
    /// [`RecordError::Output`] with the reason.
    pub fn prepare(path: &Path) -> Result<Self, RecordError> {
        let refuse = |reason: String| RecordError::Output { path: path.to_path_buf(), reason };
        // A link is followed, so that the rename replaces what it points at and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if fs::metadata(&target).is_ok_and(|existing| !existing.is_file()) {
            return Err(refuse("it exists and is not an ordinary file".to_string()));
        }
        if target.file_name().is_none() {
            return Err(refuse("it names no file".to_string()));
        }
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let prefix = format!(".{MARK}{}-", std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).suffix(".part").tempfile_in(folder);
        let unfinished = made.map_err(|error| refuse(in_words(folder, &error)))?;
        Ok(Self { unfinished, path: target })
    }

    /// Where the unfinished file is, for the journal.
    pub fn unfinished(&self) -> &Path {
        self.unfinished.path()
    }

    /// The folder both files are in.
    pub fn folder(&self) -> &Path {
        self.unfinished.path().parent().unwrap_or(Path::new("."))
    }

    /// Lets `write` fill the file through a compressor of the given zstd level, makes it durable and gives it its
    /// name. Returns the bytes it takes.
    ///
    /// # Errors
    /// [`RecordError::Output`], or what `write` returns.
    pub fn finish(
        mut self,
        level: i32,
        write: impl FnOnce(&mut dyn Write) -> Result<(), RecordError>,
    ) -> Result<u64, RecordError> {
        let path = self.path.clone();
        let failed = |error: io::Error| RecordError::Output { path: path.clone(), reason: error.to_string() };
        let file = self.unfinished.as_file_mut();
        let mut packed = zstd::Encoder::new(&mut *file, level).map_err(failed)?;
        packed.include_checksum(true).map_err(failed)?;
        write(&mut packed)?;
        packed.finish().map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        readable_by_all(file).map_err(failed)?;
        let folder = self.folder().to_path_buf();
        self.unfinished.persist(&self.path).map_err(|error| failed(error.error))?;
        // The name itself is durable only once the folder is.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(bytes)
    }
}

/// Temporary files are private; a recording is an ordinary file that other users may analyse.
fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

fn in_words(folder: &Path, error: &io::Error) -> String {
    let (is_there, folder) = (folder.is_dir(), folder.display());
    match error.kind() {
        // As /proc answers: the folder is there, but nothing can be put into it.
        io::ErrorKind::NotFound if is_there => format!("no file can be made in {folder}; name one in another folder"),
        io::ErrorKind::NotFound => format!("the folder {folder} does not exist"),
        io::ErrorKind::NotADirectory => format!("{folder} is not a folder"),
        io::ErrorKind::ReadOnlyFilesystem => format!("{folder} is on a read-only file system"),
        _ => format!("no file can be made in {folder} ({error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> String {
        Output::prepare(path).expect_err("must be refused").to_string()
    }

    #[test]
    fn an_impossible_place_is_refused_before_anything_is_recorded() {
        let scratch = tempfile::tempdir().expect("scratch");
        assert!(reason(&scratch.path().join("no/where.zst")).contains("does not exist"));
        assert!(reason(scratch.path()).contains("not an ordinary file"));
        assert!(reason(Path::new("/proc/x.zst")).contains("no file can be made in /proc"));
        assert!(reason(Path::new("/dev/null")).contains("not an ordinary file"));
        assert_eq!(fs::read_dir(scratch.path()).expect("scratch").count(), 0);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let scratch = tempfile::tempdir().expect("scratch");
        let path = scratch.path().join("a.ftrace.zst");
        fs::write(&path, "old").expect("scratch");
        let output = Output::prepare(&path).expect("writable");
        let stop = || RecordError::Interrupted { path: path.clone(), signal: 2 };
        let result = output.finish(1, |out| {
            out.write_all(b"half").expect("room");
            Err(stop())
        });
        assert!(result.is_err());
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(fs::read_dir(scratch.path()).expect("scratch").count(), 1);
    }

    #[test]
    fn a_finished_file_unpacks_to_what_was_written_through_a_link() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (path, link) = (scratch.path().join("a.zst"), scratch.path().join("link.zst"));
        fs::write(&path, "old").expect("scratch");
        std::os::unix::fs::symlink(&path, &link).expect("scratch");
        let output = Output::prepare(&link).expect("writable");
        output
            .finish(3, |out| {
                out.write_all(b"whole").expect("room");
                Ok(())
            })
            .expect("finished");
        let packed = fs::read(&path).expect("there");
        assert_eq!(zstd::decode_all(packed.as_slice()).expect("whole"), b"whole");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    }
}
