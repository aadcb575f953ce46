//! The play under a policy that `goodness live` loads into the kernel.

use super::Decisions;
use crate::refusal::Refusal;
use crate::spec::PolicySpec;
use goodness_core::Span;
use goodness_play::Played;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Exit code of the program for bad usage.
const USAGE: i32 = 2;

/// A play under a policy that the program loads for it.
pub struct Loaded<'a> {
    /// File of the program `goodness`.
    pub program: PathBuf,
    /// The policy to load.
    pub policy: &'a PolicySpec,
    /// The work, as typed.
    pub input: &'a str,
    /// Random seed of the play.
    pub seed: u64,
    /// Duration as typed, if not the work's own.
    pub duration: Option<&'a str>,
}

impl Loaded<'_> {
    /// Plays under the policy. Also returns the decision latency. `say` gets the lines that the program prints besides
    /// its result.
    ///
    /// # Errors
    /// As `goodness live` and `goodness play`.
    pub fn play(&self, say: &mut dyn FnMut(&str)) -> Result<(Played, Option<Decisions>), Refusal> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Refusal::failed(format!("{what}: {error}"));
        let folder = tempfile::tempdir().map_err(|error| failed("no scratch folder", &error))?;
        let (played, status) = (folder.path().join("played.json"), folder.path().join("status.json"));
        let mut command = Command::new(&self.program);
        let cpus = governed()?;
        command.args(["live", &self.policy.to_string(), "--cpus", &cpus, "--json"]).arg(&status);
        command.arg("--").arg(&self.program).arg("play").arg(self.input).args(["--cpus", &cpus]);
        command.args(["--seed", &self.seed.to_string(), "--json"]).arg(&played);
        command.args(self.duration.iter().flat_map(|duration| ["-d", duration]));
        let ended = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output);
        self.pass_on(&ended.map_err(|error| failed("`goodness live` cannot be started", &error))?, say)?;
        let read = |path: &Path| -> Result<Value, Refusal> {
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

    /// Passes on what `goodness live` printed besides its result; its error and exit code become this play's.
    fn pass_on(&self, live: &Output, say: &mut dyn FnMut(&str)) -> Result<(), Refusal> {
        let said = String::from_utf8_lossy(&live.stderr);
        let (errors, rest): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with("error: "));
        rest.into_iter().for_each(say);
        if live.status.success() {
            return Ok(());
        }
        let why: Vec<&str> = errors.iter().map(|line| line.trim_start_matches("error: ")).collect();
        match why[..] {
            [] => Err(Refusal::failed(format!("`goodness live {}` failed ({})", self.policy, live.status))),
            _ if live.status.code() == Some(USAGE) => Err(Refusal::usage(why.join(" "))),
            _ => Err(Refusal::failed(why.join(" "))),
        }
    }
}

/// CPUs of a loaded policy: all this process may use except the first, which is the daemon's.
fn governed() -> Result<String, Refusal> {
    let cpus: Vec<String> = goodness_play::playable_cpus().iter().skip(1).map(|cpu| cpu.0.to_string()).collect();
    match cpus.is_empty() {
        true => Err(Refusal::usage("--live needs two CPUs: the daemon has one, the policy the others")),
        false => Ok(cpus.join(",")),
    }
}
