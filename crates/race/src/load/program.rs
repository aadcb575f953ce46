//! External programs that loads need: their paths, and what to install if missing.

use crate::load_error::LoadError;
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
    /// Finds the program.
    ///
    /// # Errors
    /// It is not installed, and how to install it.
    pub fn find(&self) -> Result<PathBuf, LoadError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(MORE_FOLDERS.iter().map(PathBuf::from));
        let found = folders.map(|folder| folder.join(self.name)).find(|file| is_program(file));
        found.ok_or_else(|| {
            let Program { name, package } = self;
            LoadError(format!("{name} is not installed; install it with `apt install {package}`"))
        })
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
}
