//! `goodness live`: schedules real threads of this machine with a policy.

use crate::failure::{Failure, exit};
use crate::json_option::Json;
use crate::tables::Tables;
use crate::{input, output};
use clap::{Args, Subcommand};
use goodness::PolicySpec;
use goodness_report::json;
use goodness_sched_ext::{End, LiveError, Options, Request, Status, listed, status_table};
use goodness_sys::cpu_list::CpuList;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Schedule real threads of this machine with a policy (root; Linux with sched_ext).
///
/// The policy is the simulator's, unchanged. With a command, the policy schedules the command and all its children, on
/// every CPU but the first, which the daemon uses; the kernel schedules everything else. Without a command, it
/// schedules all threads in class SCHED_EXT (7). However it ends, including kill -9 and hangs, the kernel's own
/// scheduler takes over within seconds.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  sudo goodness live staircase -- make -j8                   a build under a scheduler of 2004
  sudo goodness live rr:timeslice=20ms --pid $(pidof mariadbd) -d 30s
  sudo goodness live o1 --log o1.live -- ./server            log every event and decision
  goodness live replay o1.live                               check the logged decisions
  sudo goodness live status                                  shares and decision latency
  sudo goodness live stop

Exit codes: the command's own with a command; else 0 ended on request, 1 the policy failed, or its decisions differ \
from the log, 2 it cannot run here (the error names the remedy), or nothing runs live.
Differences from the simulator: docs/live.md."
)]
pub struct Live {
    #[command(subcommand)]
    action: Option<Action>,
    /// Policy with settings: NAME[:key=value,…]. See `goodness list policies`.
    #[arg(required = true)]
    policy: Option<String>,
    /// The policy's CPUs, below 64 (all but the first).
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// A process to put under the policy with all its threads; may be repeated.
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// End after this time.
    #[arg(short, long)]
    duration: Option<String>,
    /// Poll for events at least this often (50us): faster decisions in virtual machines, more CPU time.
    #[arg(long, value_name = "SPAN")]
    poll: Option<String>,
    /// Write every event and decision to this file, for `live replay`.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write the results as JSON (schema goodness.live/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    /// Random seed of the policy.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The command to run under the policy.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Subcommand)]
enum Action {
    /// Show the loaded policy, each task's share, and the decision latency.
    Status(Watching),
    /// End the policy that runs live.
    Stop,
    /// Run live as the messages on standard input say.
    #[command(hide = true)]
    Daemon,
    /// Check that the decisions of a log follow from its policy; exit 1 and the first difference if not.
    Replay {
        /// A file that `live --log` wrote.
        log: PathBuf,
    },
}

#[derive(Args)]
struct Watching {
    /// Show it once instead of every second.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    json: Json,
}

impl Live {
    /// Runs it.
    ///
    /// # Errors
    /// No root, no sched_ext, an unknown policy, an invalid decision of the policy, …
    pub fn run(&self) -> Result<u8, Failure> {
        match &self.action {
            Some(Action::Status(watching)) => watching.run(),
            Some(Action::Stop) => {
                let status =
                    goodness_sched_ext::ask(goodness_sched_ext::SOCKET.as_ref(), Request::Stop).map_err(failure)?;
                say!("{} was stopped after {}", status.policy, goodness_sched_ext::shown(status.elapsed_ns));
                Ok(exit::OK)
            }
            Some(Action::Replay { log }) => replay(log),
            Some(Action::Daemon) => goodness_sched_ext::serve().map(|()| exit::OK).map_err(failure),
            None => self.begin(self.policy.as_deref().unwrap_or_default()),
        }
    }

    fn begin(&self, policy: &str) -> Result<u8, Failure> {
        let spec = PolicySpec::parse(policy).map_err(Failure::usage)?;
        output::check_with(&[], &self.tables, &[(&self.json, "--json")])?;
        let options = Options {
            policy: spec.name.into(),
            settings: spec.settings.clone(),
            cpus: self.cpus.clone().map(|CpuList(cpus)| cpus),
            seed: self.seed,
            command: self.command.clone(),
            pids: self.pid.clone(),
            duration: self.duration.as_deref().map(|text| input::length("--duration", text)).transpose()?,
            poll: self.poll.as_deref().map(|text| input::length("--poll", text)).transpose()?,
            log: self.log.clone(),
            ..Options::default()
        };
        let waits = self.command.is_empty();
        let mut announce = |status: &Status| {
            begun(&spec, status, self.seed);
            if waits {
                eprintln!("end it with Ctrl-C or `goodness live stop`; look at it with `goodness live status`");
            }
        };
        let outcome = goodness_sched_ext::live(&options, &mut announce).map_err(failure)?;
        let status = outcome.status.document();
        match &self.json {
            Some(_) if output::is_stdout(&self.json) => output::say_json(&status),
            Some(_) => drop(output::write(output::file(&self.json), || json::text(&status))?),
            None => eprint!("{}", status_table(&outcome.status)),
        }
        self.tables.write(|| std::iter::once(outcome.status.values(self.seed)))?;
        Ok(match outcome.end {
            End::Command(how) => how.status(),
            End::Signal(signal) if !waits => (128 + signal) as u8,
            End::Signal(_) | End::Duration | End::Stopped => exit::OK,
        })
    }
}

fn replay(log: &Path) -> Result<u8, Failure> {
    let found = goodness_sched_ext::replay(log, &mut ()).map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(difference) = found.difference {
        return Err(Failure::other(format!("{}: {} decides otherwise: {difference}", log.display(), found.policy)));
    }
    say!("{found}");
    Ok(exit::OK)
}

/// Says that the policy is loaded.
pub fn begun(spec: &PolicySpec, status: &Status, seed: u64) {
    let cpus = listed(&status.cpus);
    eprintln!("{spec} decides on CPU {cpus}; the daemon has CPU {} (seed {seed})", status.daemon_cpu);
}

pub fn failure(error: LiveError) -> Failure {
    Failure { sentence: error.to_string(), code: error.exit_code() }
}

impl Watching {
    fn run(&self) -> Result<u8, Failure> {
        let mut shown = false;
        loop {
            let status = match goodness_sched_ext::status() {
                Ok(status) => status,
                // The policy ended meanwhile.
                Err(LiveError::NothingLive | LiveError::NotOurs { .. }) if shown => return Ok(exit::OK),
                Err(error) => return Err(failure(error)),
            };
            if self.json.is_asked() {
                self.json.show(&status.document(), |_| status_table(&status))?;
                return Ok(exit::OK);
            }
            let terminal = console::Term::stdout();
            if !terminal.is_term() || self.once {
                say!("{}", status_table(&status).trim_end());
                return Ok(exit::OK);
            }
            let _ = terminal.clear_screen();
            say!("{}\n\nCtrl-C ends this display; the policy continues.", status_table(&status).trim_end());
            shown = true;
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}
