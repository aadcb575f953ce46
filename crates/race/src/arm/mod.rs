//! Arms: kernel settings during a load. One kind of setting per file; the list is here.
//!
//! Settings of processes are applied between fork and exec, so that all child processes inherit them. System-wide
//! settings are written before each run and restored after it.

mod class;
mod cpus;
mod elevator;
mod environment;
mod group;
mod knob;
mod live;
mod nice;
mod slice;

use crate::role::Role;
use goodness_restore::{Restore, Undo};
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::process::Conditions;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A value in a race file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// In quotes.
    Text(String),
    /// A whole number.
    Number(i64),
    /// `true` or `false`.
    Flag(bool),
    /// An inline table.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// As typed, without quotes.
    #[must_use]
    pub fn typed(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Table(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{key} = {}", value.typed()));
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Changes of an arm to the machine for one run. Undone in reverse order on drop.
#[derive(Debug)]
pub struct MachineChanges<'a> {
    /// Journal for undoing changes.
    pub restore: &'a Restore,
    /// Disks created for the race.
    pub disks: Vec<String>,
    /// Files of a cgroup to write once it exists: name in version 2, name in version 1, value.
    pub group: Vec<GroupFile>,
    /// Changes to undo after the run.
    pub undo: Vec<Undo>,
    /// Daemons that hold a policy in the kernel during the run.
    pub daemons: Vec<live::LiveDaemon>,
}

/// A value for a file of the cpu controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFile {
    /// In version 2: name and value.
    pub version2: (&'static str, String),
    /// In version 1.
    pub version1: (&'static str, String),
}

impl<'a> MachineChanges<'a> {
    /// No changes yet.
    #[must_use]
    pub fn new(restore: &'a Restore, disks: Vec<String>) -> MachineChanges<'a> {
        MachineChanges { restore, disks, group: Vec::new(), undo: Vec::new(), daemons: Vec::new() }
    }

    /// Writes `value` to a kernel file until the end of the run, and verifies it.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn put(&mut self, file: &Path, value: &str) -> Result<(), String> {
        let refused = |why: &dyn fmt::Display| format!("{} does not take \"{value}\": {why}", file.display());
        self.undo.push(self.restore.put(file, value).map_err(|why| match why.kind() {
            // The error names the file and the owner itself.
            ErrorKind::ResourceBusy => why.to_string(),
            _ => refused(&why),
        })?);
        let now = std::fs::read_to_string(file).map_err(|why| refused(&why))?;
        let now = goodness_restore::chosen(&now);
        if now == value { Ok(()) } else { Err(refused(&format!("it says \"{now}\" afterwards"))) }
    }
}

impl Drop for MachineChanges<'_> {
    fn drop(&mut self) {
        self.daemons.clear();
        while let Some(undo) = self.undo.pop() {
            undo.now();
        }
    }
}

/// One setting of an arm.
pub trait Setting: fmt::Debug {
    /// Description as a sentence without a full stop: `nice 10`, `write 0 to /proc/sys/…`.
    fn describe(&self) -> String;

    /// Checks that it can be set on this machine, as far as possible without setting it.
    ///
    /// # Errors
    /// Reason and remedy.
    fn check(&self, at: &Hierarchies) -> Result<(), String>;

    /// Adds its attribute of processes, if it is one.
    fn condition(&self, conditions: &mut Conditions) {
        let _ = conditions;
    }

    /// The policy it loads, if any. That schedules all processes of the load, whatever the arm applies to.
    fn policy(&self) -> Option<&str> {
        None
    }

    /// Applies the setting if it is one of the machine.
    ///
    /// # Errors
    /// The kernel refused it.
    fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        let _ = changes;
        Ok(())
    }

    /// True if processes have to be in groups of the cpu controller for it.
    fn needs_weights(&self) -> bool {
        false
    }

    /// True if it acts between sessions, and only outside groups of the cpu controller.
    fn is_of_sessions(&self) -> bool {
        false
    }
}

/// A kind of setting: a key of `[[arm]]`.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The key.
    pub key: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Example of its syntax.
    pub example: &'static str,
    /// Reads its value.
    read: fn(&Value) -> Result<Box<dyn Setting>, String>,
}

/// Every kind, in alphabetical order.
pub const ALL: &[Kind] = &[
    knob::AUTOGROUP,
    knob::BASE_SLICE,
    class::KIND,
    cpus::KIND,
    elevator::KIND,
    environment::KIND,
    group::IDLE,
    live::KIND,
    nice::KIND,
    knob::PREEMPT,
    slice::KIND,
    group::WEIGHT,
];

/// Processes an arm applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum To {
    /// The servers.
    #[default]
    Server,
    /// The clients.
    Client,
    /// Both.
    All,
}

impl To {
    /// The words for it in race files.
    pub const WORDS: [(&'static str, To); 3] = [("server", To::Server), ("client", To::Client), ("all", To::All)];

    /// True if `role` is meant.
    #[must_use]
    pub fn means(self, role: Role) -> bool {
        matches!((self, role), (To::All, _) | (To::Server, Role::Server) | (To::Client, Role::Client))
    }
}

/// One arm of a race.
#[derive(Debug)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Processes it applies to.
    pub to: To,
    /// Settings in alphabetical order of their keys.
    pub settings: Vec<Box<dyn Setting>>,
}

impl Arm {
    /// Its settings as one sentence.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.settings.is_empty() {
            return "the machine as it is".into();
        }
        let all: Vec<String> = self.settings.iter().map(|setting| setting.describe()).collect();
        let whom = match self.to {
            To::Server => "",
            To::Client => " (clients)",
            To::All => " (servers and clients)",
        };
        all.join(", ") + whom
    }

    /// True if it can be set on this machine.
    ///
    /// # Errors
    /// The reason it cannot, with the arm's name.
    pub fn check(&self, at: &Hierarchies, weights: bool) -> Result<(), String> {
        let grouped = weights || at.unified_has_cpu();
        for setting in &self.settings {
            let lost = (grouped && setting.is_of_sessions()).then(|| {
                "it acts only outside of groups of the cpu controller, and the processes of this race run in such \
                    groups"
                    .to_string()
            });
            let answer = lost.map_or_else(|| setting.check(at), Err);
            answer.map_err(|why| format!("arm \"{}\": {}: {why}", self.name, setting.describe()))?;
        }
        // Attributes of a process depend on each other, so they are tried together.
        self.try_out().map_err(|why| format!("arm \"{}\": {}: {why}", self.name, self.describe()))
    }

    fn try_out(&self) -> Result<(), String> {
        let mut together = Conditions::default();
        self.settings.iter().for_each(|setting| setting.condition(&mut together));
        if together == Conditions::default() { Ok(()) } else { together.try_out() }
    }

    /// The policy in charge, if it is not the kernel's own.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.settings.iter().find_map(|setting| setting.policy())
    }

    /// Attributes for processes of `role`.
    #[must_use]
    pub fn conditions(&self, role: Role) -> Conditions {
        let mut asked = Conditions::default();
        let meant = self.settings.iter().filter(|setting| self.to.means(role) || setting.policy().is_some());
        meant.for_each(|setting| setting.condition(&mut asked));
        asked
    }

    /// Applies its changes to the machine and records them in `changes`.
    ///
    /// # Errors
    /// The kernel's error, with the arm's name.
    pub fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        for setting in &self.settings {
            setting.apply(changes).map_err(|why| format!("arm \"{}\": {why}", self.name))?;
        }
        Ok(())
    }
}

/// Reads the setting `key` of an arm.
///
/// # Errors
/// An unknown key with the nearest, or what is wrong with the value.
pub fn read(key: &str, value: &Value) -> Result<Box<dyn Setting>, String> {
    let Some(kind) = ALL.iter().find(|kind| kind.key == key) else {
        let known = ALL.iter().map(|kind| kind.key).chain(["name", "to"]);
        return Err(format!("an arm has no \"{key}\"; {}", goodness_core::spelling::suggest(key, known)));
    };
    (kind.read)(value).map_err(|why| format!("{key} = {}: {why}; write for example {}", value.typed(), kind.example))
}

/// Checks that a kernel setting can be written; `missing` explains a missing file.
///
/// # Errors
/// Reason.
pub fn writable(file: &Path, missing: &str) -> Result<(), String> {
    match std::fs::OpenOptions::new().write(true).open(file) {
        Ok(_) => Ok(()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("{} is not there; {missing}", file.display()))
        }
        Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
            let whom = if rustix::process::geteuid().is_root() {
                "even by root: the kernel is locked down"
            } else {
                "by this user; run as root"
            };
            Err(format!("{} may not be written {whom}", file.display()))
        }
        Err(why) => Err(format!("{} cannot be written: {why}", file.display())),
    }
}

/// The path of a file below another.
fn below(folder: &str, file: &str) -> PathBuf {
    Path::new(folder).join(file)
}
