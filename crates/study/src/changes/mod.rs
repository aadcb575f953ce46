//! Predicts the effect of real changes on a load from a recording without them, and scores the predictions.
//!
//! `fidelity/changes` holds the pairs: the bases as recordings, the changes as measurements on a real kernel.
//! [`predict`] sees the base alone. [`score`](score::score) compares, by kind of change and by figure.

pub mod figures;
pub mod pairs;
pub mod score;

use figures::{Figures, log_ratio, of_recording, of_run};
use goodness::{Contender, OpenOptions, Plan, Refusal, Work};
use goodness_stats::Confidence;
use goodness_stats::summary::summarise;
use pairs::{Base, Pair};
use score::Case;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the process that plays a load.
const PLAYER: &str = "goodness";
/// Replications of each prediction. A choice: their spread is far below the error.
pub const RUNS: u32 = 8;

/// A predicted figure: the natural logarithm of its ratio, changed over base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Mean over the replications.
    pub log_ratio: f64,
    /// Standard deviation over the replications.
    pub sd: f64,
}

/// Effects by figure.
pub type Effects = BTreeMap<String, Effect>;

/// Opens the recording of `base` in the suite's folder.
///
/// # Errors
/// A recording that is missing or cannot be read.
pub fn open(suite: &Path, base: &Base) -> Result<Work, Refusal> {
    let file = suite.join("recordings").join(format!("{}.ftrace.zst", base.name));
    goodness::open(&file.to_string_lossy(), &OpenOptions::default(), &goodness::unwatched)
}

/// Predicts what each change does to `work`, which is the recorded base; `policy` replaces the recording's own, to see
/// that a wrong one is found out. Changes that cannot be simulated give their refusal.
pub fn predict(work: &Work, pairs: &[Pair], policy: Option<&str>) -> Vec<Result<Effects, Refusal>> {
    pairs.iter().map(|pair| predict_one(work, &pair.arm, policy)).collect()
}

fn predict_one(work: &Work, arm: &str, policy: Option<&str>) -> Result<Effects, Refusal> {
    let recorded = work.recorded.as_ref().ok_or_else(|| Refusal::usage("the base is no recording".to_string()))?;
    let own = policy.map(goodness::PolicySpec::parse).transpose()?.unwrap_or_else(|| recorded.policy.clone());
    let contenders = vec![Contender::policy(own.clone()), Contender::arm(arm, &own)?];
    let plan = Plan { runs: RUNS, recorded: None, may_end_waiting: true, ..Plan::of(work, contenders) };
    let runs = plan.run_each(&goodness::unwatched, |run| Ok(of_run(&run)))?;
    Ok(effects(&runs[0], &runs[1]))
}

/// The effects of paired replications, of the figures that all have.
fn effects(base: &[Figures], changed: &[Figures]) -> Effects {
    let Some(first) = base.first() else { return Effects::new() };
    let effect = |name: &String| {
        let logs: Option<Vec<f64>> =
            base.iter().zip(changed).map(|(b, c)| Some(log_ratio(name, *c.get(name)?, *b.get(name)?))).collect();
        let logs = logs.filter(|logs| logs.iter().all(|log| log.is_finite()))?;
        let summary = summarise(&logs, Confidence::P95)?;
        Some((name.clone(), Effect { log_ratio: summary.mean, sd: summary.sd.unwrap_or_default() }))
    };
    first.keys().filter_map(effect).collect()
}

/// The measured figures of the changed recordings, by name, in the text of `measured.toml`.
///
/// # Errors
/// The file is invalid.
pub fn measured(text: &str) -> Result<BTreeMap<String, Figures>, String> {
    toml::from_str(text).map_err(|why| why.to_string())
}

/// Every prediction from the trusted bases beside what was measured; `policy` as in [`predict`].
///
/// # Errors
/// A base that cannot be opened, a change that cannot be simulated.
pub fn cases(
    suite: &Path,
    bases: &[Base],
    measured: &BTreeMap<String, Figures>,
    policy: Option<&str>,
) -> Result<Vec<Case>, Refusal> {
    let mut cases = Vec::new();
    for base in bases {
        let work = open(suite, base)?;
        if !is_trusted(&work) {
            continue;
        }
        let own = recorded(&work);
        for (pair, predicted) in base.pairs().iter().zip(predict(&work, &base.pairs(), policy)) {
            let predicted = predicted?;
            if let Some(changed) = measured.get(&pair.recording()) {
                cases.extend(score::cases(pair, &own, changed, &predicted));
            }
        }
    }
    Ok(cases)
}

/// True if the recording shows all that a prediction needs.
#[must_use]
pub fn is_trusted(work: &Work) -> bool {
    work.recorded.as_ref().is_some_and(|recorded| recorded.lacks.is_empty())
}

/// Names of the load's tasks in a recorded base: its judged tasks, without the process that plays them.
#[must_use]
pub fn load(work: &Work) -> Vec<String> {
    let tasks = work.recorded.iter().flat_map(|recorded| recorded.tasks());
    let judged = tasks.filter(|(name, task)| task.judged && *name != PLAYER);
    judged.map(|(name, _)| name.to_string()).collect()
}

/// The figures of the recorded base.
#[must_use]
pub fn recorded(work: &Work) -> Figures {
    work.recorded.as_ref().map(of_recording).unwrap_or_default()
}
