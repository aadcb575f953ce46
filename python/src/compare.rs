//! The function that compares.

use crate::comparison::Comparison;
use crate::error::usage;
use crate::policy;
use crate::question::{Named, Question};
use crate::waiting::{self, Cancel};
use crate::work::{Opened, Work};
use goodness::RUNS_MAX;
use pyo3::prelude::*;
use std::sync::Arc;

/// Compares arms, or policies and elevators, on works. The package gives defaults.
#[pyfunction]
#[pyo3(signature = (works, *, arms, policies, elevators, field, as_arms, runs, first, seed, rank_by))]
#[expect(clippy::too_many_arguments, reason = "the keywords of the call")]
pub fn compare(
    py: Python,
    works: Vec<PyRef<Work>>,
    arms: Vec<(String, Option<Py<PyAny>>)>,
    policies: Vec<(String, Option<Py<PyAny>>)>,
    elevators: Vec<String>,
    field: Option<&str>,
    as_arms: bool,
    runs: u32,
    first: u32,
    seed: u64,
    rank_by: Option<String>,
) -> PyResult<Comparison> {
    if runs == 0 || runs > RUNS_MAX || first > RUNS_MAX {
        return Err(usage(format!("runs={runs}, first={first}: runs is in 1 ..= {RUNS_MAX}, first at most that")));
    }
    let field = field.map(str::parse).transpose().map_err(|near: String| usage(format!("field={field:?}: {near}")))?;
    let works: Vec<Arc<Opened>> = works.iter().map(|work| Arc::clone(&work.0)).collect();
    let input = works.first().map(|work| work.call.clone()).unwrap_or_default();
    let cancel = Cancel::default();
    let [arms, policies] = [arms, policies].map(|given| named(py, given, &cancel));
    let (arms, policies) = (arms?, policies?);
    let question = Question {
        works,
        arms,
        policies,
        elevators,
        field,
        as_arms,
        runs,
        first,
        seed,
        rank_by,
        cancel: cancel.clone(),
    };
    let comparison = waiting::run(py, &input, cancel, move |watch| {
        let (report, contenders) = question.answer(watch)?;
        Ok(Comparison { report, contenders, question })
    })?;
    comparison.refuse_violations(py)
}

/// Texts with the policies behind them.
fn named(py: Python, given: Vec<(String, Option<Py<PyAny>>)>, cancel: &Cancel) -> PyResult<Vec<Named>> {
    let one = |(text, class): (String, Option<Py<PyAny>>)| {
        let own = class.map(|class| policy::own(class.bind(py), cancel)).transpose()?;
        Ok(Named { text, own })
    };
    given.into_iter().map(one).collect()
}
