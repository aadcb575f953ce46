//! `goodness manual`, hidden and not in ordinary builds: man pages and shell completions, generated from the command
//! line's definition.

use crate::failure::{Failure, exit};
use clap::Args;
use clap_complete::Shell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Write man pages and completions of bash, zsh and fish to a folder, laid out as below /usr.
#[derive(Args)]
pub struct Manual {
    /// Folder to write below.
    folder: PathBuf,
}

/// Folders of completions by shell, below /usr.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions/goodness"),
    (Shell::Zsh, "share/zsh/site-functions/_goodness"),
    (Shell::Fish, "share/fish/vendor_completions.d/goodness.fish"),
];

impl Manual {
    /// Writes all pages of `command` and its completions.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub fn run(&self, command: clap::Command) -> Result<u8, Failure> {
        self.write(command)
            .map_err(|why| Failure::other(format!("{} cannot be written: {why}", self.folder.display())))?;
        Ok(exit::OK)
    }

    fn write(&self, mut command: clap::Command) -> io::Result<()> {
        for (shell, place) in COMPLETIONS {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "goodness", &mut script);
            write(&self.folder.join(place), &script)?;
        }
        let pages = self.folder.join("share/man/man1");
        fs::create_dir_all(&pages)?;
        clap_mangen::generate_to(command, pages)
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, bytes)
}
