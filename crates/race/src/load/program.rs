//! External programs that loads need: their paths, and what to install if missing.

use crate::load_error::LoadError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A program and the package that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name, as in `apache2`.
    pub name: &'static str,
    /// The package of Debian and its descendants.
    pub package: &'static str,
}

/// Folders of servers that are not on ordinary users' paths.
const MORE_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

impl Program {
    /// Finds the program: in the absolute folders of `PATH`, then in those of servers. A relative or empty folder there
    /// means the current one, where anybody may have put a program of that name.
    ///
    /// # Errors
    /// It is not installed, and how to install it.
    pub fn find(&self) -> Result<PathBuf, LoadError> {
        self.find_in(&std::env::var_os("PATH").unwrap_or_default()).ok_or_else(|| {
            let Program { name, package } = self;
            LoadError(format!("{name} is not installed; install it with `apt install {package}`"))
        })
    }

    fn find_in(&self, path: &OsStr) -> Option<PathBuf> {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let folders = folders.chain(MORE_FOLDERS.iter().map(PathBuf::from));
        folders.map(|folder| folder.join(self.name)).find(|file| is_program(file))
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let why = Program { name: "no-such-program", package: "no-such-package" }.find().unwrap_err().0;
        assert!(
            why.contains("no-such-program is not installed") && why.contains("apt install no-such-package"),
            "{why}"
        );
        assert!(Program { name: "sh", package: "dash" }.find().is_ok());
    }

    #[test]
    fn programs_of_relative_folders_are_not_found() {
        let here = std::env::current_dir().unwrap();
        let folder = tempfile::tempdir_in(&here).unwrap();
        let sh = Program { name: "goodness-test-sh", package: "none" };
        std::os::unix::fs::symlink("/bin/sh", folder.path().join(sh.name)).unwrap();
        let relative = folder.path().strip_prefix(&here).unwrap();
        assert_eq!(sh.find_in(relative.as_os_str()), None);
        assert!(sh.find_in(folder.path().as_os_str()).is_some(), "its whole path is fine");
    }
}
