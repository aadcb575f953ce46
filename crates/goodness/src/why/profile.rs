//! The causal profile: what would less CPU time of each kind of tasks change?

use super::Question;
use super::check::changed;
use super::run::{Explained, Found, names};
use crate::edit::Edit;
use crate::parallel::each_job;
use crate::refusal::Refusal;
use goodness_core::TaskId;
use goodness_report::why::Lever;
use std::cmp::Reverse;

/// By how much CPU time is shortened, in percent.
const STEPS: [u32; 3] = [5, 10, 25];
/// Kinds of tasks that are tried: those that use most CPU time. A choice.
const KINDS: usize = 6;

/// Simulates `run` with less CPU time for each of the kinds of tasks that use most of it; what shortens the 99th
/// percentile most comes first.
///
/// # Errors
/// As [`crate::Plan::run`].
pub(super) fn profile(run: Explained, found: &Found) -> Result<Vec<Lever>, Refusal> {
    let kinds = busiest(run)?;
    let jobs: Vec<(&str, u32)> = kinds.iter().flat_map(|kind| STEPS.map(|step| (kind.as_str(), step))).collect();
    let question = Question { of: Some(found.of), at: None, worst: 0, checks: 0, profile: false };
    let levers = each_job(&jobs, |(kind, step)| {
        let contender = changed(run.contender, &Edit::computes(kind, 100 - step));
        let less = Explained { contender: &contender, ..run }.find(&question)?;
        let change = |with: f64, without: f64| (with > 0.0).then(|| without / with - 1.0);
        let p99 = |found: &Found| found.lateness.p99.map(|span| span.0 as f64);
        let rate = |found: &Found| found.served as f64 / found.length.0.max(1) as f64;
        Ok(Lever {
            what: (*kind).into(),
            less: f64::from(*step) / 100.0,
            p99: p99(found).zip(p99(&less)).and_then(|(with, without)| change(with, without)),
            throughput: change(rate(found), rate(&less)),
        })
    });
    let mut levers: Vec<Lever> = levers.into_iter().collect::<Result<_, Refusal>>()?;
    levers.sort_by(|a, b| a.p99.unwrap_or(0.0).total_cmp(&b.p99.unwrap_or(0.0)));
    Ok(levers)
}

/// The kinds of tasks that use most CPU time.
fn busiest(run: Explained) -> Result<Vec<String>, Refusal> {
    let (plan, ready) = (run.plan(), run.ready()?);
    let names = names(&ready);
    let measured = plan.run_first(ready, crate::simulation::Beside::default())?.measured;
    let mut used = std::collections::BTreeMap::<u32, u64>::new();
    for task in &measured.tasks {
        *used.entry(names.kind(TaskId(task.task.0))).or_default() += task.cpu_time.0;
    }
    let mut kinds: Vec<(u32, u64)> = used.into_iter().filter(|(_, time)| *time > 0).collect();
    kinds.sort_by_key(|(kind, time)| (Reverse(*time), *kind));
    Ok(kinds.into_iter().take(KINDS).map(|(kind, _)| names.of_kind(kind).to_string()).collect())
}
