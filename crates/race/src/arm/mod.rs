//! Arms: what the kernel is set to while a load runs. One kind of setting a file; the list is here.
//!
//! Settings of processes are applied between fork and exec, so that all the load starts inherits them. Settings of the
//! machine are written before each run and written back after it.

mod class;
mod cpus;
mod elevator;
mod environment;
mod group;
mod knob;
mod live;
mod nice;
mod slice;

use crate::cgroup::Hierarchies;
use crate::role::Role;
use goodness_restore::{Restore, Undo};
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
    /// As it would be typed, without quotes.
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

/// Changes that an arm makes to the machine for one run. Undone in reverse order when dropped.
#[derive(Debug)]
pub struct MachineChanges<'a> {
    /// Notes how changes are undone.
    pub restore: &'a Restore,
    /// Disks made for the race.
    pub disks: Vec<String>,
    /// Files of a cgroup that are written once it is there: name in version 2, in version 1, value for each.
    pub group: Vec<GroupFile>,
    /// What has to be undone after the run.
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

    /// Writes `value` to a file of the kernel until the run is over, and makes sure that the kernel took it.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn put(&mut self, file: &Path, value: &str) -> Result<(), String> {
        let refused = |why: &dyn fmt::Display| format!("{} does not take \"{value}\": {why}", file.display());
        self.undo.push(self.restore.put(file, value).map_err(|why| match why.kind() {
            // Says what and who itself.
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

/// One thing that an arm sets.
pub trait Setting: fmt::Debug {
    /// What it does, as a sentence without a full stop: `nice 10`, `write 0 to /proc/sys/…`.
    fn describe(&self) -> String;

    /// Whether it can be set on this machine, as far as can be told without setting it.
    ///
    /// # Errors
    /// Why not, and what to do about it.
    fn check(&self, at: &Hierarchies) -> Result<(), String>;

    /// What it asks for each process, if it is a setting of processes.
    fn condition(&self, conditions: &mut Conditions) {
        let _ = conditions;
    }

    /// The policy that decides during the run, if it brings one. That governs all processes of the load, whomever the
    /// arm is to.
    fn policy(&self) -> Option<&str> {
        None
    }

    /// Sets it, if it is a setting of the machine.
    ///
    /// # Errors
    /// What the kernel refused.
    fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        let _ = changes;
        Ok(())
    }

    /// Whether processes have to be in groups of the cpu controller for it.
    fn needs_weights(&self) -> bool {
        false
    }

    /// Whether it acts between sessions, and only outside of groups of the cpu controller.
    fn is_of_sessions(&self) -> bool {
        false
    }
}

/// A kind of setting: a key of `[[arm]]`.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The key.
    pub key: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// How it is written.
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

/// To whom an arm applies.
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

    /// Whether `role` is meant.
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
    /// To whom it applies.
    pub to: To,
    /// What it sets, in alphabetical order of the keys.
    pub settings: Vec<Box<dyn Setting>>,
}

impl Arm {
    /// What it sets, as one sentence.
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

    /// Whether it can be set on this machine.
    ///
    /// # Errors
    /// Why not, with the arm's name.
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

    /// The policy that decides, where it is not the kernel's own.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.settings.iter().find_map(|setting| setting.policy())
    }

    /// What it asks for processes of `role`.
    #[must_use]
    pub fn conditions(&self, role: Role) -> Conditions {
        let mut asked = Conditions::default();
        let meant = self.settings.iter().filter(|setting| self.to.means(role) || setting.policy().is_some());
        meant.for_each(|setting| setting.condition(&mut asked));
        asked
    }

    /// Makes its changes to the machine, noted in `changes`.
    ///
    /// # Errors
    /// What the kernel refused, with the arm's name.
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

/// Whether a setting of the kernel can be written; `missing` says what it means when it is not there.
///
/// # Errors
/// Why not.
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
