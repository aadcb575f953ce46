//! The play under a policy that a second process loads into the kernel.

use super::Decisions;
use crate::play::Part;
use crate::refusal::Refusal;
use crate::spec::PolicySpec;
use crate::work::Work;
use goodness_core::{CpuId, Span};
use goodness_play::{PlayClass, Played};
use goodness_sched_ext::{Launcher, LiveError, LiveProcess, Options, Status};

/// Exit code of a live run for bad usage.
const USAGE: u8 = 2;

/// A play under a policy that is loaded for it.
pub struct Loaded<'a> {
    /// Command that starts the process that runs the policy.
    pub launcher: Launcher,
    /// The policy to load.
    pub policy: &'a PolicySpec,
    /// The work to play.
    pub work: &'a Work,
    /// Random seed of the play and of the policy.
    pub seed: u64,
    /// Duration, if not the work's own.
    pub duration: Option<Span>,
}

impl Loaded<'_> {
    /// Plays under the policy. Also returns the decision latency. Calls `begun` once the policy is loaded.
    ///
    /// # Errors
    /// As a live run and as a play.
    pub fn play(&self, begun: &mut dyn FnMut(&Status)) -> Result<(Played, Option<Decisions>), Refusal> {
        let cpus = governed()?;
        let options = Options {
            policy: self.policy.name.into(),
            settings: self.policy.settings.clone(),
            cpus: Some(cpus.clone()),
            seed: self.seed,
            ..Options::default()
        };
        let live = LiveProcess::begin(&self.launcher, &options).map_err(|why| refusal(&why))?;
        begun(live.status());
        let played = self.play_on(&cpus)?;
        let outcome = live.end();
        // Ctrl-C reaches both processes: then the policy's end is none of its own.
        if played.interrupted_by.is_some() {
            return Ok((played, None));
        }
        let latency = outcome.map_err(|why| refusal(&why))?.status.decision_latency;
        Ok((played, latency.map(|it| Decisions { p50: Span(it.p50_ns), p99: Span(it.p99_ns) })))
    }

    /// Plays in the class of loaded policies, by a thread that leaves the daemon's CPU alone.
    fn play_on(&self, cpus: &[u32]) -> Result<Played, Refusal> {
        let part = Part {
            seed: self.seed,
            duration: self.duration,
            class: PlayClass::Ext,
            cpus: Some(cpus.iter().copied().map(CpuId).collect()),
            edits: Vec::new(),
        };
        let play = || {
            goodness_sys::pin(cpus).map_err(|why| Refusal::failed(format!("the play cannot be confined: {why}")))?;
            part.play(self.work)
        };
        let ended = std::thread::scope(|scope| scope.spawn(play).join());
        ended.unwrap_or_else(|_| Err(Refusal::failed("the play ended by a panic")))
    }
}

/// CPUs of a loaded policy: all this process may use except the first, which is the daemon's.
fn governed() -> Result<Vec<u32>, Refusal> {
    let cpus: Vec<u32> = goodness_play::playable_cpus().iter().skip(1).map(|cpu| cpu.0).collect();
    match cpus.is_empty() {
        true => Err(Refusal::usage("--live needs two CPUs: the daemon has one, the policy the others")),
        false => Ok(cpus),
    }
}

/// An error of the live run.
fn refusal(why: &LiveError) -> Refusal {
    match why.exit_code() {
        USAGE => Refusal::usage(why.to_string()),
        _ => Refusal::failed(why.to_string()),
    }
}
