//! `goodness conform`: compares the simulator with the running kernel.

use crate::failure::{Failure, exit};
use crate::watching::Watching;
use crate::words::{self, quoted};
use crate::{output, play};
use clap::Args;
use goodness::conform::{Decisions, Scenario, Told};
use goodness::play::Part;
use goodness::{OpenOptions, PolicySpec, Progress, Work, own_policy};
use goodness_core::Span;
use goodness_play::{PlayClass, Played};
use goodness_report::atomic;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Simulate a scenario, play it on the running kernel, and compare the two.
///
/// The same file is simulated and played by real threads. CPU shares, context switches and wake-up latencies are
/// compared task by task. Without -p, the running kernel's scheduler is compared with its model. With --live, a policy
/// is loaded into the kernel by `goodness live` and compared with itself in the simulator.
///
/// The simulated machine has the play's number of CPUs, the kernel's HZ and no costs, unless --machine gives them
/// (`goodness calibrate`). Under a loaded policy, a context switch costs the median decision latency.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taskset -c 1 goodness conform examples/02-nice.toml -d 5s         this kernel's scheduler on CPU 1
  sudo goodness conform examples/02-nice.toml -p o1 --live          the O(1) scheduler, simulated and alive
  scripts/conformance                                               the table of docs/fidelity.md, in guests
An idle machine is needed: what else runs takes CPU time that the simulator knows nothing of.
Exit codes: 0 all agrees within the bounds printed, 1 not all, 2 it cannot be played here (the sentence says \
what to do).")]
pub struct Conform {
    /// An experiment (.toml), an rt-app file (.json), or a built-in workload.
    input: String,
    /// The policy to simulate, and with --live to load. By default the running kernel's own.
    #[arg(short, long, value_name = "POLICY[:KEY=VAL,…]")]
    policy: Option<String>,
    /// Play under `goodness live POLICY` instead of the kernel's own scheduler (root, sched_ext).
    #[arg(long, requires = "policy")]
    live: bool,
    /// Duration including warm-up. Default: the file's own.
    #[arg(short, long, value_name = "TIME")]
    duration: Option<String>,
    /// Simulated machine with costs: a file from `goodness calibrate`. CPUs and HZ are those of the play.
    #[arg(long)]
    machine: Option<String>,
    /// Number of simulations. They differ in tick phase, start order (within 100 µs) and initial CPUs, which are random
    /// in a play. The play is compared with their range.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON (schema goodness.conform/1); `-` for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Conform {
    /// Plays, simulates, compares and prints.
    ///
    /// # Errors
    /// As `goodness play` and `goodness run`.
    pub fn run(&self) -> Result<u8, Failure> {
        output::check(&self.input, &[(&self.json, "--json")])?;
        let duration = self.duration.as_deref().map(play::length).transpose()?;
        let watching = Watching::new();
        let watch = |progress: Progress| watching.tell(progress);
        let work = goodness::open(&self.input, &OpenOptions::default(), &watch)?;
        let policy = self.policy()?;
        let (played, decisions) =
            if self.live { self.play_live(&policy)? } else { (self.play(&work, duration)?, None) };
        if let Some(signal) = played.interrupted_by {
            return Err(Failure::other(format!("the play was ended by signal {signal}; nothing was compared")));
        }
        let scenario = Scenario {
            work: &work,
            policy: policy.clone(),
            duration,
            costs_of: self.machine.clone(),
            seed: self.seed,
            runs: self.runs,
        };
        let said = |refusal| words::failure(&refusal, &quoted(&self.input));
        let found = scenario.against(played, decisions, &watch).map_err(said)?;
        let told = Told {
            input: &self.input,
            policy: &policy,
            is_live: self.live,
            seed: self.seed,
            runs: self.runs,
            found: &found,
        };
        let document = format!("{:#}\n", told.document());
        if let Some(path) = self.file() {
            atomic::write(path, document.as_bytes()).map_err(Failure::other)?;
        }
        if self.json.is_some() && self.file().is_none() {
            say!("{}", document.trim_end());
        } else {
            say!("{}", told.text(output::columns()).trim_end());
        }
        Ok(if found.agreement.holds() { exit::OK } else { exit::FAILURE })
    }

    fn file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// The requested policy, else the running kernel's own.
    fn policy(&self) -> Result<PolicySpec, Failure> {
        match &self.policy {
            Some(text) => Ok(PolicySpec::parse(text)?),
            None => {
                let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
                let own = own_policy(&release).ok_or_else(|| {
                    Failure::usage("which scheduler this kernel has is not known; name the policy with -p")
                })?;
                Ok(PolicySpec::parse(own)?)
            }
        }
    }

    fn play(&self, work: &Work, duration: Option<Span>) -> Result<Played, Failure> {
        Part { seed: self.seed, duration, class: PlayClass::Inherited, cpus: None }.play(work).map_err(Failure::from)
    }

    /// Plays under the policy, loaded into the kernel. Also returns the decision latency.
    fn play_live(&self, policy: &PolicySpec) -> Result<(Played, Option<Decisions>), Failure> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Failure::other(format!("{what}: {error}"));
        let folder = tempfile::tempdir().map_err(|error| failed("no scratch folder", &error))?;
        let (played, status) = (folder.path().join("played.json"), folder.path().join("status.json"));
        let program = std::env::current_exe().map_err(|error| failed("this program's file is not known", &error))?;
        let mut command = Command::new(&program);
        let cpus = governed()?;
        command.args(["live", &policy.to_string(), "--cpus", &cpus, "--json"]).arg(&status).arg("--").arg(&program);
        command.arg("play").arg(&self.input).args(["--cpus", &cpus]);
        command.args(["--seed", &self.seed.to_string(), "--json"]).arg(&played);
        command.args(self.duration.iter().flat_map(|duration| ["-d", duration]));
        let ended = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let ended = ended.spawn().and_then(std::process::Child::wait_with_output);
        told(policy, &ended.map_err(|error| failed("`goodness live` cannot be started", &error))?)?;
        let read = |path: &Path| -> Result<Value, Failure> {
            let text = std::fs::read_to_string(path).map_err(|error| failed("the play left no results", &error))?;
            serde_json::from_str(&text).map_err(|error| failed("the play's results cannot be read", &error))
        };
        let document = read(&played)?;
        let played = serde_json::from_value(document["played"].clone());
        let played = played.map_err(|error| failed("the play's results cannot be read", &error))?;
        let latency = &read(&status)?["decision_latency"];
        let took = |key: &str| latency[key].as_u64().map(Span);
        Ok((played, took("p50_ns").zip(took("p99_ns")).map(|(p50, p99)| Decisions { p50, p99 })))
    }
}

/// CPUs of a loaded policy: all this command may use except the first, which is the daemon's.
fn governed() -> Result<String, Failure> {
    let cpus: Vec<String> = goodness_play::playable_cpus().iter().skip(1).map(|cpu| cpu.0.to_string()).collect();
    match cpus.is_empty() {
        true => Err(Failure::usage("--live needs two CPUs: the daemon has one, the policy the others")),
        false => Ok(cpus.join(",")),
    }
}

/// Passes on what `goodness live` printed besides its result; its error and exit code become this command's.
fn told(policy: &PolicySpec, live: &Output) -> Result<(), Failure> {
    let said = String::from_utf8_lossy(&live.stderr);
    let (errors, rest): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with("error: "));
    rest.iter().for_each(|line| eprintln!("{line}"));
    if live.status.success() {
        return Ok(());
    }
    let why: Vec<&str> = errors.iter().map(|line| line.trim_start_matches("error: ")).collect();
    match why[..] {
        [] => Err(Failure::other(format!("`goodness live {policy}` failed ({})", live.status))),
        _ if live.status.code() == Some(i32::from(exit::USAGE)) => Err(Failure::usage(why.join(" "))),
        _ => Err(Failure::other(why.join(" "))),
    }
}
