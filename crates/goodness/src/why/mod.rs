//! Why is it late: the longest latencies of a recording or of a simulated run, what each was spent on, and the same
//! added up.

mod account;
mod check;
mod names;
mod placements;
mod profile;
mod recorded;
mod rules;
mod run;
mod simulated;

use crate::open::{OpenOptions, is_block_trace, is_recording, open};
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::spec::PolicySpec;
use account::Account;
use goodness_core::{Span, Time};
use goodness_observe::blame::{Lateness, Of};
use goodness_report::why::{SCHEMA, Why};

pub use goodness_observe::blame::Of as Latencies;
pub use recorded::why_recorded;
pub use run::Explained;
pub use simulated::{check_blame, why_simulated};

/// The run to simulate, where one is.
#[derive(Clone, Debug, Default)]
pub struct Simulated {
    /// Policy as typed; `None` for that of the recording, else eevdf.
    pub policy: Option<String>,
    /// Elevator as typed.
    pub elevator: Option<String>,
    /// Edits as typed.
    pub arm: Option<String>,
    /// Random seed.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u32,
}

/// Explains the latencies of `input`: of a recording as it is, unless a `run` of it is to be simulated; of anything
/// else those of a run.
///
/// # Errors
/// As [`why_recorded`] and [`why_simulated`].
pub fn why(
    input: &str,
    mut options: OpenOptions,
    run: &Simulated,
    question: &Question,
    watch: &Watch,
) -> Result<Why, Refusal> {
    let is_asked = options.is_of_a_run() || run.policy.is_some() || run.elevator.is_some() || run.arm.is_some();
    let is_recording = is_recording(input);
    if is_recording && !is_asked && !question.profile {
        let told = why_recorded(input, &options, question, watch);
        if told.is_ok() || !is_block_trace(input, watch) {
            return told;
        }
    }
    // Whom it is about is a matter of the recording, or else of the run.
    let judge = if is_recording { Vec::new() } else { std::mem::take(&mut options.judge) };
    let work = open(input, &options, watch)?;
    let policy = run.policy.as_deref().map_or_else(|| work.standard_policy(), PolicySpec::parse)?;
    let contender = work.arm(run.arm.as_deref(), &policy, run.elevator.as_deref())?;
    let Simulated { seed, replication, .. } = *run;
    why_simulated(Explained { work: &work, contender: &contender, seed, replication, judge: &judge }, question, watch)
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// What a latency is; `None` for requests where there are any, else I/Os if the elevator is open, else waits of
    /// tasks that sleep, else waits of all.
    pub of: Option<Of>,
    /// Only latencies under way at this time, on the clock of the recording or the run.
    pub at: Option<Time>,
    /// Latencies that are shown one by one.
    pub worst: usize,
    /// Causes that are checked by simulating the run without them, at most.
    pub checks: usize,
    /// True if the run is simulated with less CPU time of each kind of tasks.
    pub profile: bool,
}

impl Default for Question {
    fn default() -> Question {
        Question { of: None, at: None, worst: 10, checks: 3, profile: false }
    }
}

impl Question {
    /// Refuses to explain nothing, of what lasted from `begin` to `end`.
    fn check(&self, found: &Lateness, (begin, end): (Time, Time)) -> Result<(), Refusal> {
        match self.at {
            Some(at) if found.count == 0 => {
                let what = format!("nothing was late at {}: no latency was under way", Span(at.ns()));
                let [begin, end] = [begin, end].map(|it| Span(it.0));
                Err(Refusal::usage(what).remedy(format!("name a time between {begin} and {end}, on its own clock")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to explain requests or I/Os of an `input` that has none; `count` tells the latencies of other kinds.
    fn check_kind(
        &self,
        input: &str,
        found: &Lateness,
        count: impl Fn(&Question) -> Result<u64, Refusal>,
    ) -> Result<(), Refusal> {
        let Some(of @ (Of::Requests | Of::Io)) = self.of.filter(|_| found.count == 0 && self.at.is_none()) else {
            return Ok(());
        };
        let mut others: Vec<&str> = Vec::new();
        for (other, typed) in Of::NAMES.into_iter().filter(|(other, _)| *other != of) {
            if count(&Question { of: Some(other), ..*self })? > 0 {
                others.push(typed);
            }
        }
        let what = format!("{input}: the judged tasks have no {}", name(of));
        Err(match others.split_last() {
            None => Refusal::usage(format!("{what}, and wait for no CPU")),
            Some((only, [])) => Refusal::usage(what).remedy(format!("ask for {only}")),
            Some((last, others)) => Refusal::usage(what).remedy(format!("ask for {} or {last}", others.join(", "))),
        })
    }
}

/// The answer without checks.
fn report(input: &str, (of, whom): (Of, String), found: &Lateness, account: &Account) -> Why {
    let mean = found.total.0.checked_div(found.count);
    Why {
        schema: SCHEMA.into(),
        input: input.into(),
        policy: None,
        seed: None,
        of: name(of).into(),
        whom,
        count: found.count,
        mean_ns: mean,
        p99_ns: found.p99.map(|span| span.0),
        worst_ns: found.tail.first().map(|late| late.span().0),
        tail: account.tail(found),
        worst: account.worst(),
        checks: Vec::new(),
        profile: Vec::new(),
        doubts: Vec::new(),
        notes: Vec::new(),
    }
}

/// What a latency is, in words.
fn name(of: Of) -> &'static str {
    match of {
        Of::Wakeups => "wake-ups",
        Of::Waits | Of::All => "waits",
        Of::Requests => "requests",
        Of::Io => "I/Os",
    }
}
