//! Ledgers: files beside this one that hold, line by line, what the code came to when they were written. A change that
//! was not meant to change what anybody decides, reads or tells leaves all lines as they are; where they differ, their
//! names say whom the change concerns. Structures are hashed with the names of their fields, so a new field changes
//! lines, too, as does another model error (`fidelity/smp.toml`).
//!
//! ```text
//! cargo test -p goodness --test ledgers
//! BLESS=1 cargo test -p goodness --test ledgers             # where the change is meant
//! TOLD=folder cargo test -p goodness --test ledgers         # the hashed texts as files, to compare with others'
//! ```

#[allow(dead_code, reason = "the swarm draws in ways of its own, too")]
#[path = "../swarm/draw.rs"]
mod draw;
mod drawn;
#[path = "../../../replay/tests/filtering/edits.rs"]
mod edits;
mod kept;
#[allow(dead_code, reason = "the swarm counts what kept all rules")]
#[path = "../swarm/outcome.rs"]
mod outcome;
mod recordings;
mod works;

use goodness::why::{Explained, Question, why_simulated};
use goodness::{Again, Circumstances, Contender, Plan, Progress, Refusal, Report, Work};
use goodness_core::Rng;
use goodness_report::model::{Details, Input};
use goodness_report::why::Why;
use std::fmt::{Debug, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress messages after which a replay or a workload is left.
const LONGEST: u64 = 400;
/// Policies that are drawn: a new one changes no line but its own.
const POLICIES: &str = "\
    beos beosrt bfs bsd4 cfs ctss deadline edf eevdf fifo haiku-2009 haiku-2013 haiku-2pow haiku-affine haiku-fair \
    hrrn linux-2.0 linux-2.2 linux-2.4 lottery mlfq muqss nt4 o1 priority rm rr rsdl scx-bpfland scx-lavd \
    scx-rusty scx-simple sd sjf solaris-ts srtf staircase stride ule";
/// FNV-1a of nothing.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over more bytes.
fn folded(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn told(it: Result<impl Debug, impl ToString>) -> String {
    it.map_or_else(|why| why.to_string(), |it| format!("{it:?}"))
}

/// Any of [`POLICIES`] with some settings.
fn any_policy(rng: &mut Rng) -> String {
    let names: Vec<&str> = POLICIES.split(' ').collect();
    let name = names[rng.below(names.len() as u64) as usize];
    draw::policy_with_settings(rng, name)
}

/// Lets [`LONGEST`] progress messages pass, of at most 1024 events each.
fn patient() -> impl Fn(Progress) -> ControlFlow<()> + Sync {
    let passed = AtomicU64::new(0);
    move |_: Progress| match passed.fetch_add(1, Ordering::Relaxed) < LONGEST {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

/// The report of two runs under the work's standard policy and of two of this arm.
fn reported(work: &Work, arm: Contender) -> Result<Report, Refusal> {
    let arms = work.behind_elevators(vec![Contender::policy(work.standard_policy()?), arm])?;
    let runs = Plan { runs: 2, ..Plan::of(work, arms) }.run(&patient())?;
    if let Some((_, violation)) = runs.violation() {
        panic!("{}: {}", violation.checker, violation.sentence);
    }
    let again = |_: &Again| String::new();
    let (input, details) = (Input::default(), Details::default());
    let mut report = runs.report(Circumstances { input, details, commit: None, again: &again });
    // A release changes no result.
    report.goodness.version.clear();
    Ok(report)
}

/// The causes of long latencies in a run under this arm.
fn explained(work: &Work, arm: Contender, seed: u64) -> Result<Why, Refusal> {
    let contender = work.behind_elevators(vec![arm])?.remove(0);
    let run = Explained { work, contender: &contender, seed, replication: 0, judge: &[] };
    why_simulated(run, &Question { worst: 5, checks: 1, ..Question::default() }, &patient())
}

/// The report of the work's own policy beside this arm, and why latencies are long under each; or the refusals.
fn compared(work: &Work, arm: &str) -> Result<String, Refusal> {
    let own = Contender::policy(work.standard_policy()?);
    let arm = Contender::arm(arm, &own.policy)?;
    let report = told(reported(work, arm.clone()));
    Ok([report, told(explained(work, own, 1)), told(explained(work, arm, 1))].join("\n"))
}

/// Writes the texts of a line into a file of the folder that the environment `TOLD` names.
fn keep(ledger: &str, name: &str, texts: &[String]) {
    if let Some(folder) = std::env::var_os("TOLD") {
        let folder = Path::new(&folder).join(ledger);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        std::fs::write(folder.join(name), texts.join("\n")).expect("the folder can be written to");
    }
}

/// A line: the name, how many texts, and their hash.
fn line(ledger: &str, name: &str, texts: &[String]) -> String {
    keep(ledger, name, texts);
    let hash = texts.iter().fold(EMPTY, |hash, it| folded(hash, it.bytes().chain([0])));
    format!("{name:<28}{:>5} texts  {hash:016x}", texts.len())
}

/// Fails if `found` are not the lines of this ledger, which the environment `BLESS` writes.
fn hold(ledger: &str, found: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/ledgers/{ledger}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found.join("\n") + "\n").expect("the ledger can be written");
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    let mut said: Vec<&str> = held.lines().collect();
    let mut told = String::new();
    for line in found {
        match said.iter().position(|it| it == line) {
            Some(at) => drop(said.remove(at)),
            None => writeln!(told, "now:    {line}").expect("text"),
        }
    }
    said.iter().for_each(|line| writeln!(told, "ledger: {line}").expect("text"));
    assert!(told.is_empty(), "{told}if that is meant: BLESS=1 cargo test -p goodness --test ledgers {ledger}");
}
