//! Explains the latencies of a simulated run, and checks the explanation by more runs.

use super::Question;
use super::check::{check, joined};
use super::profile::profile;
use super::run::{Explained, answer};
use crate::parallel::{Counted, each_watched, untold};
use crate::progress::Watch;
use crate::refusal::Refusal;
use goodness_report::why::{Check, LockPart, Part, Why};

/// Least part of the longest latencies that is worth a check. A choice.
const LEAST: f64 = 0.05;
/// Locks that are checked beside the causes, at most. A choice.
const LOCKS: usize = 1;

/// Explains the latencies of a simulated run.
///
/// # Errors
/// As [`crate::Plan::run`]; a run in which nothing was late at the time asked about.
pub fn why_simulated(run: Explained, question: &Question, watch: &Watch) -> Result<Why, Refusal> {
    let counted = Counted::new(watch, 2);
    let found = counted.run(|told| run.find(question, told))?;
    let mut why = counted.run(|told| answer(run, question, &found, told))?;
    // The runs without a cause have no latencies at the same time to compare with.
    let checks = if question.at.is_some() { 0 } else { question.checks };
    let locks: Vec<Part> = why.tail.locks.iter().map(LockPart::part).collect();
    let causes = joined(&why.tail.parts, run);
    let suspects = |parts, most| Vec::from_iter(worth_a_check(parts, most));
    let suspects = [suspects(&causes, checks), suspects(&locks, LOCKS.min(checks))].concat();
    why.checks = each_watched(&suspects, watch, |part, told| check(run, &found, part, told))?;
    if question.profile {
        why.profile = profile(run, found.of, watch)?;
    }
    Ok(why)
}

/// The first `most` of `parts` that are large enough.
fn worth_a_check(parts: &[Part], most: usize) -> impl Iterator<Item = &Part> {
    parts.iter().filter(|part| part.share >= LEAST).take(most)
}

/// Checks a blame: `part` of the longest latencies of `run`, which [`why_simulated`] found or somebody suspects.
///
/// # Errors
/// As [`why_simulated`].
pub fn check_blame(run: Explained, question: &Question, part: &Part) -> Result<Check, Refusal> {
    Ok(check(run, &run.find(question, &untold)?, part, &untold))
}
