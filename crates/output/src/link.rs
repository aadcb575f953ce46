//! Resolves a path to a file, following trusted links only.

use std::fs;
use std::path::{Path, PathBuf};

use super::folder;

/// Links followed one after another at most, as Linux does.
const LINKS_MAX: usize = 40;

/// The target of `path` after following links, whether or not it exists.
///
/// # Errors
/// The links form a cycle, or another user may have put one there; a sentence.
pub fn target(path: &Path) -> Result<PathBuf, String> {
    let mut at = path.to_path_buf();
    for _ in 0..=LINKS_MAX {
        let Ok(link) = fs::symlink_metadata(&at) else { break };
        // A link's target is relative to its folder, unless it is an absolute path.
        let Ok(next) = fs::read_link(&at) else { break };
        let folder = at.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Some(user) = folder::planted_by(&link, folder) {
            return Err(format!(
                "{} is a link that user {user} has put into a folder that others may write to; name the file itself, \
                 or one in a folder of your own",
                at.display()
            ));
        }
        at = folder.join(next);
    }
    if fs::symlink_metadata(&at).is_ok_and(|found| found.is_symlink()) {
        return Err(format!("{} is a link that leads to no end; remove it, or name another file", path.display()));
    }
    // Opening the target reports any error.
    Ok(fs::canonicalize(&at).unwrap_or(at))
}

/// True if the path is a special file: a device, a pipe, a socket.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
