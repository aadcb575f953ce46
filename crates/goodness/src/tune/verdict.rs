//! The verdict: finalists against the default on runs that the search did not see.

use super::objective::{Bound, Guard, Kept, Objective};
use super::race::{MARGIN, change};
use crate::change_error::is_unresolved;
use crate::contender::Contender;
use crate::plan::Plan;
use crate::progress::Watch;
use crate::recordings;
use crate::refusal::Refusal;
use crate::report::Circumstances;
use crate::runs::Runs;
use crate::work::Work;
use goodness_report::Report;
use goodness_report::model::{Details, Sampling};
use goodness_report::tune::{Answer, Finalist, Kept as KeptWord, Score, Standing};
use goodness_stats::compare::Verdict;
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::summary::mean;
use goodness_stats::{Confidence, Interval, measured_pairs};

/// The runs of a final score.
pub(crate) struct Final<'a> {
    /// Names of the inputs, and their work.
    pub inputs: &'a [(String, &'a Work)],
    pub seed: u64,
    /// The first replication.
    pub first: u32,
    pub runs: u32,
}

/// The scores of the default and the finalists.
pub(crate) struct Scored {
    pub report: Report,
    pub finalists: Vec<Finalist>,
}

impl Final<'_> {
    /// Runs the contenders, of which the first is the default, and judges the others.
    ///
    /// # Errors
    /// A fault or a violation, with its run; cancellation; recordings that are not of one load.
    pub fn score(
        &self,
        contenders: &[Contender],
        (objective, guards): (Objective, &[Guard]),
        watch: &Watch,
    ) -> Result<Scored, Refusal> {
        let names: Vec<String> = self.inputs.iter().map(|(name, _)| name.clone()).collect();
        let open = |name: &str| Ok::<&Work, Refusal>(self.inputs.iter().find(|it| it.0 == name).expect("it is one").1);
        let (runs, input, details) = recordings::of_one_load(&names, open, |_, work| {
            let (seed, first) = (self.seed, self.first);
            Plan { seed, first, runs: self.runs, ..Plan::of(work, contenders.to_vec()) }.run(watch)
        })?;
        if let Some((again, found)) = runs.violation() {
            return Err(Refusal::violated(format!("{}: {}", found.checker, found.sentence)).again(again.clone()));
        }
        let details = Details { ranked_by: Some(objective.metric.name.into()), ..details };
        let again = |again: &crate::Again| again.to_string();
        let report = runs.report(Circumstances { input, details, commit: None, again: &again });
        let finalists = (1..runs.arms.len()).map(|arm| finalist(&runs, &report, arm, (objective, guards))).collect();
        Ok(Scored { report, finalists })
    }
}

/// The score of the default.
pub(crate) fn reference(report: &Report, objective: Objective) -> Score {
    report
        .policies
        .first()
        .and_then(|it| it.metric(objective.metric.name))
        .map_or(Score::default(), |it| Score { value: it.value, ci95: it.ci95 })
}

fn finalist(runs: &Runs, report: &Report, arm: usize, (objective, guards): (Objective, &[Guard])) -> Finalist {
    let metric = objective.metric;
    let summary = report.policies[arm].metric(metric.name);
    let versus = summary.and_then(|it| it.vs_reference);
    let error = Some(runs.resolution(&runs.arms[arm], metric)).filter(|it| *it > 0.0);
    let kept: Vec<Kept> = guards.iter().map(|guard| holds(runs, arm, guard)).collect();
    Finalist {
        arm: runs.arms[arm].contender.beside(&runs.arms[0].contender),
        score: summary.map_or(Score::default(), |it| Score { value: it.value, ci95: it.ci95 }),
        ratio: versus.and_then(|it| it.ratio),
        ratio_ci95: versus.and_then(|it| it.ci95),
        error,
        standing: standing(runs, arm, objective, versus.map(|it| it.verdict).unwrap_or_default(), &kept),
        guards: kept.into_iter().map(word).collect(),
    }
}

fn word(kept: Kept) -> KeptWord {
    match kept {
        Kept::Yes => KeptWord::Yes,
        Kept::InSimulation => KeptWord::InSimulation,
        Kept::Open => KeptWord::Open,
        Kept::No => KeptWord::No,
    }
}

/// How far an arm keeps a guard: by the interval of its runs, and by that with the error of the prediction.
fn holds(runs: &Runs, arm: usize, guard: &Guard) -> Kept {
    let [from, to] = [0, arm].map(|it| runs.arms[it].values(guard.metric.name));
    let (from, to) = measured_pairs(from, to);
    let Some(interval) = change(&from, &to, guard.bound, Confidence::P95) else { return Kept::Open };
    let held = guard.holds(&interval);
    let is_sure = match runs.prediction_error(&runs.arms[arm], guard.metric) {
        Some(error) => guard.holds(&off_by(&interval, error, guard.bound, &from)) == Kept::Yes,
        None => runs.sampling == Sampling::Runs,
    };
    if held == Kept::Yes && !is_sure { Kept::InSimulation } else { held }
}

/// The interval of a change, wider by the error of the prediction, a factor less 1.
fn off_by(interval: &Interval, error: f64, bound: Bound, from: &[f64]) -> Interval {
    match bound {
        Bound::Ratio(_) => interval.scaled_out(1.0 + error),
        Bound::Difference(_) => {
            let off = error * mean(from).unwrap_or(0.0).abs();
            Interval::new(interval.low - off, interval.high + off)
        }
    }
}

fn standing(runs: &Runs, arm: usize, objective: Objective, verdict: Verdict, kept: &[Kept]) -> Standing {
    let is_kept = |it: &Kept| matches!(it, Kept::Yes | Kept::InSimulation);
    match verdict {
        Verdict::Worse => Standing::Worse,
        Verdict::Same => Standing::Same,
        Verdict::Better if kept.contains(&Kept::No) => Standing::BreaksGuard,
        Verdict::Better if kept.iter().all(is_kept) => Standing::Better,
        Verdict::Better => Standing::Undecided,
        Verdict::Inconclusive if is_below_error(runs, arm, objective) => Standing::BelowError,
        Verdict::Inconclusive => Standing::Undecided,
    }
}

/// True if the runs of an arm show that its gain is below what can be told from none: the error of the prediction, the
/// margin, or what two latencies must differ by.
fn is_below_error(runs: &Runs, arm: usize, objective: Objective) -> bool {
    let metric = objective.metric;
    let (default, arm) = (&runs.arms[0], &runs.arms[arm]);
    let (from, to) = measured_pairs(default.values(metric.name), arm.values(metric.name));
    let is_prediction = runs.sampling != Sampling::Runs;
    if is_prediction && is_unresolved(metric.name, [&from, &to].map(|it| mean(it))) {
        return true;
    }
    let (from, to) = if objective.is_lower() { (from, to) } else { (to, from) };
    let least = MARGIN.max(runs.resolution(arm, metric));
    // As strict as the verdict on all finalists together.
    let level = Confidence::P95.shared_among((runs.arms.len() - 1).max(1));
    let interval = Ratio::of_samples(&from, &to, Pairing::Paired).and_then(|it| it.interval(level));
    interval.is_some_and(|it| it.low >= 1.0 / (1.0 + least))
}

/// The answer, and the finalist that is it: the best of the search among those that are better, so that the final score
/// chooses nothing that it is the score of.
pub(crate) fn answer(finalists: &[Finalist]) -> (Answer, Option<usize>) {
    match finalists.iter().position(|it| it.standing == Standing::Better) {
        Some(best) => (Answer::Found, Some(best)),
        None if finalists.iter().any(|it| it.standing == Standing::Undecided) => (Answer::Undecided, None),
        None => (Answer::Nothing, None),
    }
}
