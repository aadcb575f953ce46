//! The fidelity of replays.

use crate::table::Table;
use crate::waiting::{self, Cancel};
use crate::work::Work;
use goodness::{Plan, Refusal};
use goodness_report::model::{Details, Fidelity, FidelityMetric};
use goodness_report::text::Extent;
use goodness_report::{tables, verification};
use pyo3::prelude::*;

/// How closely a replay reproduces its recording.
#[pyclass(frozen, module = "goodness")]
pub struct Verification {
    trace: String,
    fidelity: Fidelity,
    details: Details,
}

/// Replays a recording under the policy that made it.
#[pyfunction]
#[pyo3(signature = (work, *, seed))]
pub fn verify(py: Python, work: PyRef<Work>, seed: u64) -> PyResult<Verification> {
    let opened = std::sync::Arc::clone(&work.0);
    let call = opened.call.clone();
    waiting::run(py, &call, Cancel::default(), move |watch| {
        let trace = opened.text.clone();
        if opened.work.recorded.is_none() {
            return Err(Refusal::usage(format!("\"{trace}\" is not a recording")).remedy("name one"));
        }
        let runs = Plan { seed, ..Plan::of(&opened.work, Vec::new()) }.run(watch)?;
        let fidelity = runs.fidelity.ok_or_else(|| Refusal::failed("the replay states no error"))?;
        Ok(Verification { trace, fidelity, details: opened.work.details.clone() })
    })
}

#[pymethods]
impl Verification {
    /// The policy of the replay.
    #[getter]
    fn policy(&self) -> &str {
        &self.fidelity.policy
    }

    /// True if every metric with a bound keeps it; None if one was not measured and none misses.
    #[getter]
    fn holds(&self) -> Option<bool> {
        let some = |is: fn(&FidelityMetric) -> bool| self.fidelity.metrics.iter().any(is);
        match (some(FidelityMetric::misses_promise), some(FidelityMetric::is_open)) {
            (true, _) => Some(false),
            (false, true) => None,
            (false, false) => Some(true),
        }
    }

    /// Each metric as recorded and as replayed, with its error and bound.
    #[getter]
    fn metrics(&self) -> Table {
        Table::of(tables::fidelity(&[(self.trace.clone(), self.fidelity.clone())]))
    }

    /// As JSON, byte for byte that of the command line.
    fn to_json(&self) -> String {
        let results = [(self.trace.clone(), self.fidelity.clone())];
        goodness_report::json::text(&verification::Document::of(&results))
    }

    fn __repr__(&self) -> String {
        verification::text(&self.trace, &self.fidelity, &self.details, Extent::Answer, 80).trim_end().to_string()
    }
}
