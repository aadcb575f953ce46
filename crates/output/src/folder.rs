//! An open folder, whose files cannot be moved elsewhere between check and use; and the users to trust in it.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};

/// Mode bits: writable by group or others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Mode bit: only owners can remove names.
const STICKY: u32 = 0o1000;
const PERMISSIONS: u32 = 0o777;

/// The writing user, and the user it acts for.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// The effective user.
    pub user: u32,
    /// User and group of the caller of `sudo`.
    pub caller: Option<(u32, u32)>,
}

impl Writer {
    /// This process.
    pub fn here() -> Writer {
        let user = rustix::process::geteuid().as_raw();
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        // Without root the variables prove nothing: the running user may have set them.
        let caller = if user == 0 { number("SUDO_UID").zip(number("SUDO_GID")) } else { None };
        Writer { user, caller }
    }

    fn is_root(self) -> bool {
        self.user == 0
    }

    /// True if only this user and root can create names in a folder of this owner and mode.
    fn alone(self, owner: u32, mode: u32) -> bool {
        (owner == self.user || owner == 0) && mode & WRITABLE_BY_OTHERS == 0
    }

    /// True if a link of user `owner` may be an attack, in a folder owned by `folder.0` with mode `folder.1`. As in the
    /// kernel, another user's link in a shared folder without sticky bit is followed, unless we are root.
    fn distrusts_link(self, owner: u32, folder: (u32, u32)) -> bool {
        let is_trusted = owner == self.user || owner == 0;
        !is_trusted && !self.alone(folder.0, folder.1) && (self.is_root() || folder.1 & STICKY != 0)
    }

    /// True if a file of user `owner` may have been planted there for root to fill.
    fn distrusts_file(self, owner: u32, folder: (u32, u32)) -> bool {
        let is_trusted = owner == self.user || self.caller.is_some_and(|caller| caller.0 == owner);
        self.is_root() && !is_trusted && !self.alone(folder.0, folder.1)
    }
}

/// The user who may have planted `link` in `folder`; `None` when the link can be trusted.
pub fn planted_by(link: &Metadata, folder: &Path) -> Option<u32> {
    let folder = std::fs::metadata(folder).ok()?;
    Writer::here().distrusts_link(link.uid(), (folder.uid(), folder.mode())).then(|| link.uid())
}

/// Refuses, as root, to write to a pipe or similar that another user may have put into `folder`.
///
/// # Errors
/// Names the owner.
pub fn may_fill(special: &Path, folder: &Path) -> io::Result<()> {
    let (found, folder) = (std::fs::metadata(special)?, std::fs::metadata(folder)?);
    let is_distrusted = Writer::here().distrusts_file(found.uid(), (folder.uid(), folder.mode()));
    if is_distrusted { Err(somebody_elses(found.uid())) } else { Ok(()) }
}

fn somebody_elses(user: u32) -> io::Error {
    io::Error::other(format!("it belongs to user {user}, in a folder that others may write to"))
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    open: OwnedFd,
    writer: Writer,
}

impl Folder {
    /// Opens the folder.
    ///
    /// # Errors
    /// The error of open(2).
    pub fn open(path: &Path, writer: Writer) -> io::Result<Folder> {
        let open = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Folder { open, writer })
    }

    /// Creates the file `name`.
    ///
    /// # Errors
    /// The name exists, or the error of open(2).
    pub fn make(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(fs::openat(&self.open, name, flags, Mode::from_raw_mode(mode))?))
    }

    fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// True if a file `name` exists and would be replaced.
    ///
    /// # Errors
    /// It is not a regular file, or root would fill another user's file.
    pub fn replaces(&self, name: &OsStr) -> io::Result<bool> {
        let Some(found) = self.look(name)? else { return Ok(false) };
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it exists and is not an ordinary file"));
        }
        let folder = fs::fstat(&self.open)?;
        if self.writer.distrusts_file(found.st_uid, (folder.st_uid, folder.st_mode)) {
            return Err(somebody_elses(found.st_uid));
        }
        Ok(true)
    }

    /// Renames `file`, now called `temporary`, to `name`, with mode and owner of the file it replaces; a new file
    /// belongs to the user who called `sudo`. Synced to disk on return.
    ///
    /// # Errors
    /// The system's error, or the reason the name cannot be replaced.
    pub fn publish(&self, file: &File, temporary: &OsStr, name: &OsStr) -> io::Result<()> {
        self.replaces(name)?;
        let replaced = self.look(name)?;
        let owner = replaced.as_ref().map(|old| (old.st_uid, old.st_gid)).or(self.writer.caller);
        if let Some((user, group)) = owner.filter(|_| self.writer.is_root()) {
            // A file system without owners has none to keep.
            let _ = fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        }
        if let Some(old) = replaced {
            fs::fchmod(file, Mode::from_raw_mode(old.st_mode & PERMISSIONS))?;
        }
        file.sync_all()?;
        fs::renameat(&self.open, temporary, &self.open, name)?;
        // The name is durable only once the folder is synced; not every file system supports that.
        let _ = fs::fsync(&self.open);
        Ok(())
    }

    /// Removes `name`. A missing name is not an error.
    pub fn remove(&self, name: &OsStr) {
        let _ = fs::unlinkat(&self.open, name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Writer = Writer { user: 0, caller: Some((1000, 1000)) };
    const USER: Writer = Writer { user: 1000, caller: None };
    /// Owner and mode.
    const TMP: (u32, u32) = (0, 0o1777);
    const HOME: (u32, u32) = (1000, 0o755);
    const TEAM: (u32, u32) = (0, 0o2775);

    #[test]
    fn a_link_is_followed_only_where_nobody_else_can_have_planted_it() {
        assert!(ROOT.distrusts_link(1001, TMP) && USER.distrusts_link(1001, TMP));
        assert!(!ROOT.distrusts_link(0, TMP) && !USER.distrusts_link(1000, TMP) && !USER.distrusts_link(0, TMP));
        assert!(ROOT.distrusts_link(1001, TEAM) && !USER.distrusts_link(1001, TEAM));
        assert!(!ROOT.distrusts_link(1001, (0, 0o755)), "root's own folder");
        assert!(ROOT.distrusts_link(1000, HOME), "a user's home is a folder that the user may write to");
        assert!(!USER.distrusts_link(1000, HOME));
    }

    #[test]
    fn root_fills_only_files_of_its_own_and_its_callers_in_shared_folders() {
        assert!(ROOT.distrusts_file(1001, TMP) && ROOT.distrusts_file(1001, HOME));
        assert!(
            !ROOT.distrusts_file(1000, TMP) && !ROOT.distrusts_file(0, TMP) && !ROOT.distrusts_file(1001, (0, 0o755))
        );
        assert!(!USER.distrusts_file(1001, TMP), "the kernel decides for users");
    }
}
