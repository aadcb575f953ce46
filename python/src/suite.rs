//! Suites: comparisons on unlike inputs, ranked together.

use crate::comparison::Comparison;
use crate::error::{exception, failure, usage};
use crate::table::Table;
use goodness::suite;
use goodness_report::atomic;
use goodness_report::suite::Suite as Ranked;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The same arms on several unlike inputs: the cost of each on each, and over all.
#[pyclass(frozen, module = "goodness")]
pub struct Suite {
    suite: Ranked,
    /// The call that makes it again.
    call: String,
}

/// The inputs of the suite called `name`, and the policies that are compared where none is named.
#[pyfunction]
pub fn suite_inputs(name: &str) -> PyResult<(Vec<&'static str>, Vec<&'static str>)> {
    let found = suite::find(name).map_err(|refusal| exception(&refusal, None))?;
    Ok((found.inputs.to_vec(), suite::ARMS.to_vec()))
}

/// Ranks finished comparisons together, one on each input.
#[pyfunction]
pub fn ranked_together(name: &str, comparisons: Vec<PyRef<Comparison>>, call: String) -> PyResult<Suite> {
    let reports = comparisons.iter().map(|it| it.report.clone()).collect();
    Ok(Suite { suite: Ranked::of(name, reports).map_err(usage)?, call })
}

#[pymethods]
impl Suite {
    /// The answer in a sentence.
    #[getter]
    fn conclusion(&self) -> String {
        self.suite.conclusion()
    }

    /// True if a verdict over all inputs is open.
    #[getter]
    fn is_undecided(&self) -> bool {
        self.suite.is_undecided()
    }

    /// The cost of each arm on each input, then on all.
    #[getter]
    fn costs(&self) -> Table {
        Table::of(self.suite.costs())
    }

    /// Writes a self-contained page.
    fn report(&self, path: PathBuf) -> PyResult<()> {
        atomic::write(&path, self.suite.page(&self.call).as_bytes()).map_err(failure)
    }

    /// As JSON (schema goodness.suite/1).
    fn to_json(&self) -> String {
        self.suite.json()
    }

    fn __repr__(&self) -> String {
        self.suite.text(80, false).trim_end().to_string()
    }
}
