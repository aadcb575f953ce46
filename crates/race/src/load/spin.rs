//! A load without installed programs: a fixed amount of work, timed, with hogs on the same CPUs.

use super::process::Process;
use super::{About, Load, Registered};
use crate::benchmarks::spin::Settings;
use crate::load_error::LoadError;
use crate::measure::Measure;
use crate::role::Role;
use crate::subprocess::{self, Launcher};
use crate::workspace::Workspace;
use goodness_core::Seed;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(600);

/// Work and hogs.
#[derive(Debug)]
pub struct Spin {
    settings: Settings,
    launcher: Launcher,
}

impl Registered for Spin {
    const ABOUT: About = About {
        name: "spin",
        summary: "A fixed amount of computation is timed beside hogs on the same CPUs; it needs nothing installed.",
        needs: &[],
        measures: &["completion_time"],
    };
    type Settings = Settings;

    fn new(settings: Settings, launcher: Launcher) -> Result<Self, LoadError> {
        Ok(Spin { settings, launcher })
    }
}

impl Load for Spin {
    fn prepare(&mut self, _: &Workspace) -> Result<(), LoadError> {
        Ok(())
    }

    fn run(&mut self, workspace: &Workspace, _: Seed) -> Result<Vec<Measure>, LoadError> {
        let hog = |number| {
            let mut command = self.launcher.command("hog", &self.settings);
            Process::start(workspace, Role::Client, &format!("hog-{number}"), &mut command, None)
        };
        let _hogs = (0..self.settings.hogs).map(hog).collect::<Result<Vec<_>, _>>()?;
        let mut command = self.launcher.command("spin", &self.settings);
        let work = Process::start(workspace, Role::Server, "spin", &mut command, None)?;
        subprocess::measures(&work.finish(TIMEOUT)?)
    }
}
