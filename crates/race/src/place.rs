//! Where a run happens: a private folder, and the conditions under which its processes start.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// What a process is to the load. An arm applies to the servers unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What is being scheduled.
    Server,
    /// What drives and measures it.
    Client,
}

/// The surroundings of one run.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    disks: RefCell<Vec<String>>,
}

impl Place {
    /// A place whose files live in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Place {
        Place { folder, disks: RefCell::new(Vec::new()) }
    }

    /// The private folder: configuration, data, sockets and logs of the load all live here.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says that `device` (as in `loop64`) was made by the load for this race, so that arms may set its I/O scheduler.
    pub fn add_disk(&self, device: &str) {
        self.disks.borrow_mut().push(device.to_string());
    }

    /// The disks that were made for this race.
    #[must_use]
    pub fn disks(&self) -> Vec<String> {
        self.disks.borrow().clone()
    }

    /// Starts `command` under the conditions of the arm for its `role`.
    ///
    /// # Errors
    /// What starting the process reports.
    pub fn start(&self, role: Role, command: &mut Command) -> io::Result<Child> {
        let _ = role;
        command.spawn()
    }
}
