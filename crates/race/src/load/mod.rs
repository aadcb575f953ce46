//! Loads: real servers with clients, and benchmarks, by name.
//!
//! A load brings everything it needs into the private folder of its workspace: configuration, data, sockets, logs. It reads
//! nothing of the servers' own installation but programs and modules, and listens on 127.0.0.1 or in that folder only.

mod ab;
mod apache;
mod benchmark;
mod dbload;
mod fio;
mod fio_job;
mod mariadb;
mod mariadb_server;
mod process;
mod profile;
mod program;
mod scheduler_share;
mod spin;
mod sysbench;

pub use program::Program;

use crate::benchmarks::{hackbench, schbench, yields};
use crate::load_error::LoadError;
use crate::measure::Measure;
use crate::subprocess::Launcher;
use crate::workspace::Workspace;
use goodness_core::spelling::suggest;
use goodness_core::{Seed, Tunable, TunableError, Tunables};

/// Something real that can be run again and again on this machine.
pub trait Load {
    /// Whether this machine and this user can run it, programs that every use of it needs aside. Nothing has been made
    /// yet.
    ///
    /// # Errors
    /// What is missing, and the remedy.
    fn check(&self) -> Result<(), LoadError> {
        Ok(())
    }

    /// Makes what every run needs (data, configuration). Called once a race, before the first run.
    ///
    /// # Errors
    /// A program that is missing (named with its package), or what making the data reports.
    fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError>;

    /// One run: starts the servers through `workspace`, waits until they answer, warms them up, drives and measures them,
    /// and stops them. Nothing of it runs afterwards, also when it fails.
    ///
    /// # Errors
    /// Servers that do not start or answer, clients that fail; each with what the program itself printed last.
    fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError>;
}

/// Whether `load`, made by the name `name`, can be run here: its programs are installed, and the user may.
///
/// # Errors
/// A sentence with the remedy.
pub fn possible(name: &str, load: &dyn Load) -> Result<(), LoadError> {
    let about = ALL.iter().find(|about| about.name == name);
    about.map_or(&[][..], |about| about.needs).iter().try_for_each(|program| program.find().map(drop))?;
    load.check()
}

/// Refuses a user who is not root `what`, which is for root.
fn for_root(what: &str) -> Result<(), LoadError> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(LoadError(format!("{what} needs root; run the same command with `sudo`"))),
    }
}

/// What a load says of itself.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The registered name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Programs that must be installed.
    pub needs: &'static [Program],
    /// The measures that say most; a run gives more.
    pub measures: &'static [&'static str],
}

/// A load that can be made by name.
trait Registered: Load + Sized + 'static {
    /// What it says of itself.
    const ABOUT: About;
    /// Its parameters.
    type Settings: Tunables;

    /// The load with these settings.
    ///
    /// # Errors
    /// Settings that do not go together.
    fn new(settings: Self::Settings, launcher: Launcher) -> Result<Self, LoadError>;
}

/// Declares the registry: everything registered, and how to make it by name.
macro_rules! loads {
    ($($Load:ty),+ $(,)?) => {
        /// Everything registered, in the order of the registry.
        pub const ALL: &[&About] = &[$(&<$Load as Registered>::ABOUT),+];

        /// The parameters of the load called `name`; `None` if nothing has that name.
        #[must_use]
        pub fn tunables_of(name: &str) -> Option<&'static [Tunable]> {
            $(if name == <$Load as Registered>::ABOUT.name {
                return Some(<<$Load as Registered>::Settings as Tunables>::spec());
            })+
            None
        }

        /// Whether the load called `name` takes the parameters `typed`.
        ///
        /// # Errors
        /// As for [`make`].
        pub fn check(name: &str, typed: &[(String, String)], launcher: &Launcher) -> Result<(), LoadError> {
            make(name, typed, launcher).map(|_| ())
        }

        /// The load called `name` with the parameters `typed`; `launcher` starts its subprocesses.
        ///
        /// # Errors
        /// Unknown names (the nearest is named), values out of range, or settings that do not go together.
        pub fn make(name: &str, typed: &[(String, String)], launcher: &Launcher) -> Result<Box<dyn Load>, LoadError> {
            $(if name == <$Load as Registered>::ABOUT.name {
                let settings = <$Load as Registered>::Settings::made(typed);
                let settings = settings.map_err(|TunableError(why)| LoadError(format!("load {name}: {why}")))?;
                return Ok(Box::new(<$Load as Registered>::new(settings, launcher.clone())?));
            })+
            let names = ALL.iter().map(|about| about.name);
            Err(LoadError(format!("there is no load \"{name}\"; {}", suggest(name, names))))
        }
    };
}

loads! {
    apache::Event,
    apache::Prefork,
    dbload::DbLoad,
    fio::Fio,
    benchmark::BenchmarkLoad<hackbench::Settings>,
    mariadb::Mariadb,
    scheduler_share::SchedulerShare,
    benchmark::BenchmarkLoad<schbench::Settings>,
    spin::Spin,
    benchmark::BenchmarkLoad<yields::Settings>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_can_be_made_with_its_defaults_and_has_its_own_name() {
        let mut names = std::collections::BTreeSet::new();
        for about in ALL {
            assert!(names.insert(about.name) && about.summary.ends_with('.'));
            let spec = tunables_of(about.name).expect("registered");
            assert!(spec.iter().all(|t| t.doc.ends_with('.')), "{}", about.name);
            let typed: Vec<(String, String)> = spec.iter().map(|t| (t.name.to_string(), t.default.clone())).collect();
            make(about.name, &typed, &Launcher::of("x".into())).map(|_| ()).unwrap();
        }
    }

    #[test]
    fn an_unknown_load_or_parameter_is_answered_with_the_nearest() {
        let launcher = Launcher::of("x".into());
        let why = |name: &str, typed: &[(String, String)]| make(name, typed, &launcher).err().expect("refused").0;
        assert!(why("apache-prefrok", &[]).contains("the nearest is \"apache-prefork\""));
        assert!(why("apache-event", &[("conections".into(), "3".into())]).contains("\"connections\""));
        assert!(tunables_of("apache").is_none());
    }
}
