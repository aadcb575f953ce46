//! CPU share of the scheduler by number of runnable tasks: P. Ezolt's question of 1999, for this machine's kernel.
//! Apache serves increasing numbers of connections while a profile is taken.

use super::apache::{self, Apache};
use super::profile::{self, PERF, Profile};
use super::{About, Load, Registered};
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::parameter::Counts;
use crate::subprocess::Launcher;
use crate::sweep::swept;
use crate::workspace::Workspace;
use goodness_core::{Seed, Span, tunables};

tunables! {
    pub struct Settings {
        /// Numbers of connections to test in turn in each run; they are appended to the names of the measures.
        sweep: Counts = Counts(vec![4, 32, 128]);
        /// Mean time between a reply and the next request of a connection.
        think: Span = Span::ZERO, in Span::ZERO => Span::from_s(60);
        /// Time before anything is counted.
        warmup: Span = Span::from_s(1), in Span::from_ms(10) => Span::from_s(600);
        /// Time that is counted, for each number of connections.
        duration: Span = Span::from_s(4), in Span::from_ms(500) => Span::from_s(600);
    }
}

/// Apache and perf.
#[derive(Debug)]
pub struct SchedulerShare {
    settings: Settings,
    apache: Apache,
}

impl Registered for SchedulerShare {
    const ABOUT: About = About {
        name: "scheduler-share",
        summary: "The share of CPU time in the kernel's scheduler while Apache serves more and more connections.",
        needs: &[apache::APACHE, PERF],
        measures: &[],
    };
    type Settings = Settings;

    fn new(settings: Settings, launcher: Launcher) -> Result<Self, LoadError> {
        let Settings { sweep, think, warmup, duration } = settings.clone();
        if sweep.0.is_empty() {
            return Err(LoadError("scheduler-share: sweep names no number of connections".into()));
        }
        let asked = apache::Settings { sweep, think, warmup, duration, workers: 1024, ..apache::Settings::default() };
        Ok(SchedulerShare { settings, apache: Apache::new("prefork", asked, launcher)? })
    }
}

impl Load for SchedulerShare {
    fn check(&self) -> Result<(), LoadError> {
        super::for_root("scheduler-share takes a profile of the kernel, which")?;
        self.apache.check()
    }

    fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError> {
        PERF.find()?;
        self.apache.prepare(workspace)
    }

    fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let Settings { sweep, warmup, duration, .. } = self.settings.clone();
        swept(&sweep, 0, |connections| {
            self.apache.during(workspace, connections, |apache| {
                let profile = Profile::start(workspace, warmup, duration)?;
                let (runnable, measured) = std::thread::scope(|scope| {
                    let runnable = scope.spawn(|| profile::runnable(warmup, duration));
                    let measured = apache.drive(workspace, seed);
                    (runnable.join().unwrap_or(0.0), measured)
                });
                let shares = profile.read(workspace, duration)?;
                let mut all = measured?;
                all.retain(|measure| measure.name == "throughput");
                all.push(Measure::new("scheduler_share", "1", Better::Lower, shares.scheduler));
                all.push(Measure::new("idle_share", "1", Better::Lower, shares.idle));
                all.push(Measure::new("runqueue_length_mean", "1", Better::Lower, runnable));
                Ok(all)
            })
        })
    }
}
