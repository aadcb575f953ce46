//! Loads by name: real servers with clients, and benchmarks.
//!
//! A load keeps everything it needs in the private folder of its workspace: configuration, data, sockets, logs. It uses
//! only programs and modules of installed servers, and listens on 127.0.0.1 or in that folder only.

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

/// A real server with clients, or a benchmark, that can be run repeatedly on this machine.
pub trait Load {
    /// Checks that this machine and user can run it, apart from the programs it always needs. Nothing has been created
    /// yet.
    ///
    /// # Errors
    /// The missing part, and the remedy.
    fn check(&self) -> Result<(), LoadError> {
        Ok(())
    }

    /// Creates what every run needs (data, configuration). Called once per race, before the first run.
    ///
    /// # Errors
    /// A missing program (named with its package), or an error of creating the data.
    fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError>;

    /// One run: starts the servers through `workspace`, waits for them, warms them up, measures, and stops them.
    /// Nothing keeps running afterwards, even after an error.
    ///
    /// # Errors
    /// Servers that do not start or reply, clients that fail; with the last output of the program.
    fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError>;
}

/// Checks that `load`, made as `name`, can run here: programs are installed and the user is permitted.
///
/// # Errors
/// A sentence with the remedy.
pub fn possible(name: &str, load: &dyn Load) -> Result<(), LoadError> {
    let about = ALL.iter().find(|about| about.name == name);
    about.map_or(&[][..], |about| about.needs).iter().try_for_each(|program| program.find().map(drop))?;
    load.check()
}

/// Refuses `what` unless the user is root.
fn for_root(what: &str) -> Result<(), LoadError> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(LoadError(format!("{what} needs root; run the same command with `sudo`"))),
    }
}

/// Description of a load.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The registered name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Programs that must be installed.
    pub needs: &'static [Program],
    /// Main measures; a run gives more.
    pub measures: &'static [&'static str],
}

/// A load that can be created by name.
trait Registered: Load + Sized + 'static {
    /// Description.
    const ABOUT: About;
    /// Its parameters.
    type Settings: Tunables;

    /// The load with these settings.
    ///
    /// # Errors
    /// Settings that do not go together.
    fn new(settings: Self::Settings, launcher: Launcher) -> Result<Self, LoadError>;
}

/// Declares the registry of loads by name.
macro_rules! loads {
    ($($Load:ty),+ $(,)?) => {
        /// Everything registered, in the order of the registry.
        pub const ALL: &[&About] = &[$(&<$Load as Registered>::ABOUT),+];

        /// The tunables of load `name`; `None` if there is no such load.
        #[must_use]
        pub fn tunables_of(name: &str) -> Option<&'static [Tunable]> {
            $(if name == <$Load as Registered>::ABOUT.name {
                return Some(<<$Load as Registered>::Settings as Tunables>::spec());
            })+
            None
        }

        /// Checks that the load called `name` accepts the parameters `typed`.
        ///
        /// # Errors
        /// As for [`make`].
        pub fn check(name: &str, typed: &[(String, String)], launcher: &Launcher) -> Result<(), LoadError> {
            make(name, typed, launcher).map(|_| ())
        }

        /// Makes the load called `name` with the parameters `typed`. `launcher` starts its subprocesses.
        ///
        /// # Errors
        /// Unknown names (the nearest is named), values out of range, or settings that exclude each other.
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
