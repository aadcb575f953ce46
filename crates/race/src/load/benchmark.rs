//! The built-in benchmarks as loads: each is one subprocess, which counts as the server.

use super::process::Process;
use super::{About, Load, Registered};
use crate::benchmarks::{hackbench, schbench, yields};
use crate::load_error::LoadError;
use crate::measure::Measure;
use crate::role::Role;
use crate::subprocess::{self, Launcher};
use crate::workspace::Workspace;
use goodness_core::{Seed, Tunables};
use std::time::Duration;

/// Grace period after the planned duration of a benchmark.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A load that runs the benchmark of its name as a subprocess.
#[derive(Debug)]
pub struct BenchmarkLoad<S> {
    settings: S,
    launcher: Launcher,
}

/// The benchmark with these settings.
trait Benchmark: Tunables + 'static {
    const ABOUT: About;
    /// Expected duration, as far as known.
    fn length(&self) -> Duration;
}

impl<S: Benchmark> Registered for BenchmarkLoad<S> {
    const ABOUT: About = S::ABOUT;
    type Settings = S;

    fn new(settings: S, launcher: Launcher) -> Result<Self, LoadError> {
        Ok(BenchmarkLoad { settings, launcher })
    }
}

impl<S: Benchmark> Load for BenchmarkLoad<S> {
    fn prepare(&mut self, _workspace: &Workspace) -> Result<(), LoadError> {
        Ok(())
    }

    fn run(&mut self, workspace: &Workspace, _seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let name = S::ABOUT.name;
        let mut command = self.launcher.command(name, &self.settings);
        let process = Process::start(workspace, Role::Server, name, &mut command, None)?;
        subprocess::measures(&process.finish(self.settings.length() + TIMEOUT)?)
    }
}

impl Benchmark for hackbench::Settings {
    const ABOUT: About = About {
        name: "hackbench",
        summary: "Groups of senders and receivers pass small messages through pipes or sockets, until all have passed.",
        needs: &[],
        measures: &["completion_time"],
    };

    fn length(&self) -> Duration {
        // A message takes microseconds; a hundred are a slow machine under a debugger.
        Duration::from_micros(100 * self.groups * self.fds * self.fds * self.loops)
    }
}

impl Benchmark for schbench::Settings {
    const ABOUT: About = About {
        name: "schbench",
        summary: "Workers are woken by message threads, sleep for a moment, compute, and ask to be woken again.",
        needs: &[],
        measures: &["throughput", "wakeup_latency_p50", "wakeup_latency_p99", "request_latency_p99"],
    };

    fn length(&self) -> Duration {
        Duration::from_nanos(self.warmup.ns() + self.duration.ns() + self.sleep.ns() + self.work.ns() * self.workers)
    }
}

impl Benchmark for yields::Settings {
    const ABOUT: About = About {
        name: "yield",
        summary: "Processes or threads only call sched_yield, or are created and end at once.",
        needs: &[],
        measures: &[],
    };

    fn length(&self) -> Duration {
        let points = self.sweep.0.len().max(1) as u64;
        let most = self.sweep.0.last().copied().unwrap_or(self.tasks);
        Duration::from_nanos(points * 2 * (self.duration.ns() + most * 1_000_000))
    }
}
