//! The workspace of a run: a private folder, and the attributes of started processes.

use crate::role::Role;
use goodness_restore::{Action, Restore, Undo, process_start};
use goodness_sys::process::Conditions;
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Private folder and start conditions of a run.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    disks: RefCell<Vec<String>>,
    server: Conditions,
    client: Conditions,
    /// Without cgroups, each started process is recorded here.
    restore: Option<Restore>,
    started: RefCell<Vec<Undo>>,
}

impl Workspace {
    /// A workspace with its files in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Workspace {
        Workspace {
            folder,
            disks: RefCell::default(),
            server: Conditions::default(),
            client: Conditions::default(),
            restore: None,
            started: RefCell::default(),
        }
    }

    /// The private folder, for the load's configuration, data, sockets and logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Registers `device` (such as `loop64`) as made by the load for this race, so that arms may set its I/O scheduler.
    pub fn add_disk(&self, device: &str) {
        self.disks.borrow_mut().push(device.to_string());
    }

    /// The disks created for this race.
    #[must_use]
    pub fn disks(&self) -> Vec<String> {
        self.disks.borrow().clone()
    }

    /// Starts later processes of `role` under `conditions`.
    pub fn set(&mut self, role: Role, conditions: Conditions) {
        match role {
            Role::Server => self.server = conditions,
            Role::Client => self.client = conditions,
        }
    }

    /// Journals later processes without a cgroup in `restore`.
    pub fn note_with(&mut self, restore: &Restore) {
        self.restore = Some(restore.clone());
    }

    /// Stops the remaining processes that were started without a cgroup.
    pub fn stop_all(&mut self) {
        self.started.borrow_mut().clear();
    }

    /// Starts `command` under the arm's conditions for its `role`.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(&self, role: Role, command: &mut Command) -> io::Result<Child> {
        let conditions = match role {
            Role::Server => &self.server,
            Role::Client => &self.client,
        };
        conditions.apply(command)?;
        let mut child = command.spawn()?;
        if let Some(restore) = self.restore.as_ref().filter(|_| conditions.groups.is_empty()) {
            let started = process_start(child.id()).unwrap_or_default();
            match restore.before(&Action::Group { leader: child.id(), started }) {
                Ok(undo) => self.started.borrow_mut().push(undo),
                Err(why) => {
                    // A process that cannot be journalled must not run: nothing would stop it.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(why);
                }
            }
        }
        Ok(child)
    }
}
