//! Cgroups that exist for as long as a command.

use crate::{Action, Restore, Undo};
use goodness_sys::cgroup::lists;
use std::fs;
use std::io;
use std::path::Path;

impl Restore {
    /// Enables the cpu controller for the groups below `root`, of a hierarchy of version 2. Dropping the returned value
    /// disables it; `None` if it was enabled.
    ///
    /// # Errors
    /// The kernel's error, with the file, or the command that owns the controller.
    pub fn cpu_controller(&self, root: &Path) -> io::Result<Option<Undo>> {
        let control = root.join("cgroup.subtree_control");
        // Owned even if it is enabled: the command that enabled it could disable it meanwhile.
        self.own(&control)?;
        if lists(&control, "cpu") {
            return Ok(None);
        }
        let undo = self.before(&Action::Put { file: control.clone(), value: "-cpu".into(), written: None })?;
        fs::write(&control, "+cpu").map_err(|why| named(&control, &why))?;
        Ok(Some(undo))
    }

    /// Creates the cgroup `at`. Dropping the returned value kills its processes and removes it.
    ///
    /// # Errors
    /// The kernel's error, with the folder.
    pub fn cgroup(&self, at: &Path) -> io::Result<Undo> {
        let undo = self.before(&Action::Cgroup(at.to_path_buf()))?;
        fs::create_dir(at).map_err(|why| named(at, &why))?;
        Ok(undo)
    }
}

fn named(at: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", at.display()))
}
