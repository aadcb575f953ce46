//! The function that tunes.

use crate::error::usage;
use crate::table::Table;
use crate::waiting::{self, Cancel};
use crate::work::{Opened, Work};
use goodness::RUNS_MAX;
use goodness::tune::{Effort, Guard, Objective, Space, Tuning as Question};
use goodness_report::atomic;
use goodness_report::tune::{self as answer, Tuning as Tuned};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Results of a tuning: what to set, what it gains, and how sure that is.
#[pyclass(frozen, module = "goodness")]
pub struct Tuning {
    tuned: Tuned,
    call: String,
}

/// Searches settings of knobs on works. The package gives defaults.
#[pyfunction]
#[pyo3(signature = (works, *, over, policy, elevator, minimise, maximise, keep, runs, seed))]
#[expect(clippy::too_many_arguments, reason = "the keywords of the call")]
pub fn tune(
    py: Python,
    works: Vec<PyRef<Work>>,
    over: Vec<String>,
    policy: Option<String>,
    elevator: Option<String>,
    minimise: Option<String>,
    maximise: Option<String>,
    keep: Vec<String>,
    runs: u32,
    seed: u64,
) -> PyResult<Tuning> {
    if !(2..=RUNS_MAX).contains(&runs) {
        return Err(usage(format!("runs={runs} is outside 2 ..= {RUNS_MAX}")));
    }
    let works: Vec<Arc<Opened>> = works.iter().map(|work| Arc::clone(&work.0)).collect();
    let Some(first) = works.first().cloned() else { return Err(usage("there is no work to tune for; name one")) };
    let calls: Vec<&str> = works.iter().map(|work| work.call.as_str()).collect();
    let call = format!("goodness.tune([{}], over={over:?}, runs={runs}, seed={seed})", calls.join(", "));
    let input = first.call.clone();
    waiting::run(py, &input, Cancel::default(), move |watch| {
        let objective = match (&minimise, &maximise) {
            (Some(metric), _) => Objective::minimise(metric)?,
            (None, Some(metric)) => Objective::maximise(metric)?,
            (None, None) => Objective::usual(&first.work),
        };
        let question = Question {
            inputs: works.iter().map(|work| (work.text.clone(), &work.work)).collect(),
            space: Space::of(&over, first.work.default_contender(policy.as_deref(), elevator.as_deref())?)?,
            objective,
            guards: keep.iter().map(|text| Guard::parse(text)).collect::<Result<_, _>>()?,
            seed,
            effort: Effort { held_out: runs, ..Effort::default() },
        };
        let mut tuned = question.run(watch)?;
        tuned.goodness.commit = goodness_cli::COMMIT.map(str::to_string);
        Ok(Tuning { tuned, call })
    })
}

#[pymethods]
impl Tuning {
    /// The answer in one to three sentences.
    #[getter]
    fn conclusion(&self) -> &str {
        &self.tuned.headline
    }

    /// The setting to take, as an arm; None if nothing is better than the default.
    #[getter]
    fn best(&self) -> Option<&str> {
        self.tuned.best.as_deref()
    }

    /// True if neither a better setting nor that there is none is shown, or the replay is untrusted.
    #[getter]
    fn is_undecided(&self) -> bool {
        self.tuned.is_undecided()
    }

    /// Commands that apply the best setting and take it back.
    #[getter]
    fn commands(&self) -> String {
        self.tuned.commands()
    }

    /// Every candidate of the search, then the finalists with their final score.
    #[getter]
    fn candidates(&self) -> Table {
        Table::of(answer::candidates(&self.tuned))
    }

    /// The race that confirms the best setting, as text of a file; None if there is none.
    #[getter]
    fn race(&self) -> Option<&str> {
        self.tuned.race.as_ref()?.file.as_deref()
    }

    /// Writes a self-contained page.
    fn report(&self, path: PathBuf) -> PyResult<()> {
        let page = answer::page(&self.tuned, &self.call);
        atomic::write(&path, page.as_bytes()).map_err(crate::error::failure)
    }

    /// As JSON (schema goodness.tune/1), that of the command line.
    fn to_json(&self) -> String {
        self.tuned.json()
    }

    fn __repr__(&self) -> String {
        answer::text(&self.tuned, 80, false).trim_end().to_string()
    }
}
