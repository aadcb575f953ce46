//! `goodness live`: a policy decides for real threads of this machine.

use crate::failure::{Failure, exit};
use crate::output;
use clap::{Args, Subcommand};
use goodness::PolicySpec;
use goodness_core::Span;
use goodness_sched_ext::{End, LiveError, Options, Replayed, Request, Status};
use goodness_sys::cpu_list::CpuList;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Schedule real threads of this machine with a policy (sched_ext; root; Linux).
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
  sudo goodness live o1 --log o1.live -- ./server            write down every event and decision
  goodness live replay o1.live                               do they follow from the policy? exit 1 if not
  sudo goodness live status                                  another terminal: shares and decision latency
  sudo goodness live stop

Exit codes: the command's own with a command; else 0 ended as asked, 1 the policy failed or decides otherwise than \
its log,
2 it cannot run live here (the sentence says what to do), or nothing runs live.
What a policy sees of a kernel, and what differs from the simulator: docs/live.md"
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
    /// Write the results as JSON; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
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
    /// Print it as JSON, once.
    #[arg(long)]
    json: bool,
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
            None => self.begin(self.policy.as_deref().unwrap_or_default()),
        }
    }

    fn begin(&self, policy: &str) -> Result<u8, Failure> {
        let spec = PolicySpec::parse(policy).map_err(Failure::usage)?;
        if let Some(path) = self.json.as_deref().filter(|path| path.as_os_str() != "-") {
            output::check_file(path)?;
        }
        let options = Options {
            policy: spec.name.into(),
            settings: spec.settings.clone(),
            cpus: self.cpus.clone().map(|CpuList(cpus)| cpus),
            seed: self.seed,
            command: self.command.clone(),
            pids: self.pid.clone(),
            duration: self.duration.as_deref().map(|text| length("--duration", text)).transpose()?,
            poll: self.poll.as_deref().map(|text| length("--poll", text)).transpose()?,
            log: self.log.clone(),
            ..Options::default()
        };
        let waits = self.command.is_empty();
        let begun = |status: &Status| {
            let cpus = listed(&status.cpus);
            eprintln!("{spec} decides on CPU {cpus}; the daemon has CPU {} (seed {})", status.daemon_cpu, self.seed);
            if waits {
                eprintln!("end it with Ctrl-C or `goodness live stop`; look at it with `goodness live status`");
            }
        };
        let mut begun = begun;
        let outcome = goodness_sched_ext::live(&options, &mut begun).map_err(failure)?;
        match &self.json {
            Some(path) => write_json(path, &outcome.status)?,
            None => eprint!("{}", table(&outcome.status)),
        }
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
    let Replayed { policy, inputs, decisions, .. } = found;
    say!("{policy} decides the same: {decisions} of {decisions} commands on {inputs} inputs");
    if found.is_cut {
        say!("the log is cut off; what is missing was not compared");
    }
    Ok(exit::OK)
}

fn write_json(path: &Path, status: &Status) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(status).map_err(|why| Failure::other(why.to_string()))?;
    if path.as_os_str() == "-" {
        say!("{text}");
        return Ok(());
    }
    goodness_report::atomic::write(path, (text + "\n").as_bytes()).map_err(Failure::usage)
}

fn failure(error: LiveError) -> Failure {
    Failure { sentence: error.to_string(), code: error.exit_code() }
}

fn length(option: &str, text: &str) -> Result<Duration, Failure> {
    Span::parse(text).map(|span| Duration::from_nanos(span.0)).map_err(|e| Failure::usage(format!("{option}: {e}")))
}

fn listed(cpus: &[u16]) -> String {
    cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

impl Watching {
    fn run(&self) -> Result<u8, Failure> {
        let mut shown = false;
        loop {
            let status = match goodness_sched_ext::ask(goodness_sched_ext::SOCKET.as_ref(), Request::Status) {
                Ok(status) => status,
                // It ended while we looked on.
                Err(LiveError::NothingLive) if shown => return Ok(exit::OK),
                Err(LiveError::NothingLive) if goodness_sched_ext::loaded().is_some() => {
                    let name = goodness_sched_ext::loaded().unwrap_or_default();
                    return Err(Failure::other(format!("the scheduler \"{name}\" is loaded, but it is none of ours")));
                }
                Err(error) => return Err(failure(error)),
            };
            if self.json {
                write_json("-".as_ref(), &status)?;
                return Ok(exit::OK);
            }
            let terminal = console::Term::stdout();
            if !terminal.is_term() || self.once {
                say!("{}", table(&status).trim_end());
                return Ok(exit::OK);
            }
            let _ = terminal.clear_screen();
            say!("{}\n\nCtrl-C leaves; the policy goes on.", table(&status).trim_end());
            shown = true;
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

/// Most tasks listed; the rest is counted.
const TASKS_SHOWN: usize = 30;

/// The status as a table.
fn table(status: &Status) -> String {
    let settings: Vec<String> = status.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut text = format!(
        "{} ({}) on CPU {}, for {}\n{} decisions, {} events, {} commands came too late\n",
        status.policy,
        settings.join(","),
        listed(&status.cpus),
        goodness_sched_ext::shown(status.elapsed_ns),
        status.decisions,
        status.events,
        status.outdated,
    );
    if let Some(latency) = status.decision_latency {
        let [p50, p99, max] = [latency.p50_ns, latency.p99_ns, latency.max_ns].map(goodness_sched_ext::shown);
        text += &format!("from event to decision in the kernel: p50 {p50}, p99 {p99}, longest {max}\n");
    }
    let mut tasks: Vec<&goodness_sched_ext::TaskTally> = status.tasks.iter().collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.cpu_time_ns));
    if !tasks.is_empty() {
        text += "\n   thread  name              nice   share   CPU time     turns   wake-ups\n";
    }
    for task in tasks.iter().take(TASKS_SHOWN) {
        text += &format!(
            "{:>9}  {:<16}  {:>4}  {:>5.1}%  {:>9}  {:>8}  {:>9}{}\n",
            task.pid,
            goodness_report::figure::printable(&task.name),
            task.nice,
            goodness_sched_ext::share(task, &status.tasks),
            goodness_sched_ext::shown(task.cpu_time_ns),
            task.turns,
            task.wakeups,
            if task.is_gone { "  ended" } else { "" },
        );
    }
    if let more @ 1.. = tasks.len().saturating_sub(TASKS_SHOWN) {
        text += &format!("           and {more} more\n");
    }
    text
}
