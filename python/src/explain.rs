//! The function that says why something was late.

use crate::call::Call;
use crate::document;
use crate::error::{exception, failure, usage};
use crate::notebook;
use crate::table::Table;
use crate::waiting::{self, Cancel};
use crate::work::{Work, read};
use goodness::Refusal;
use goodness::why::{Latencies, Question, Simulated};
use goodness_core::{Span, Time};
use goodness_report::atomic;
use goodness_report::figure;
use goodness_report::json;
use goodness_report::why::{self as answer, LockPart, Part, Why};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Latencies that a notebook shows.
const SHOWN: usize = 10;

/// Why the longest latencies are long: what each was spent on, and the same added up.
#[pyclass(frozen, module = "goodness")]
pub struct Explanation {
    why: Why,
    /// The expression that makes it again.
    call: String,
}

/// Explains the latencies of a recording or of a simulated run. `work` is opened work, or what opens it, with
/// `options`. The package gives defaults.
#[pyfunction]
#[pyo3(signature = (work, options, *, policy, elevator, arm, of, at, worst, check, profile, seed, replication))]
#[expect(clippy::too_many_arguments, reason = "the keywords of the call")]
pub fn why(
    py: Python,
    work: &Bound<PyAny>,
    options: &Bound<PyDict>,
    policy: Option<String>,
    elevator: Option<String>,
    arm: Option<String>,
    of: Option<String>,
    at: Option<&str>,
    worst: usize,
    check: bool,
    profile: bool,
    seed: u64,
    replication: u32,
) -> PyResult<Explanation> {
    let (text, call, options) = match work.cast::<Work>() {
        Ok(work) => {
            let opened = &work.get().0;
            (opened.text.clone(), opened.call.clone(), opened.options.clone())
        }
        Err(_) => {
            let text: String = work.extract()?;
            (text.clone(), format!("{text:?}"), read(options)?)
        }
    };
    let again = Call::of("why", &[&call])
        .with_some("policy", policy.as_ref())
        .with_some("elevator", elevator.as_ref())
        .with_some("arm", arm.as_ref())
        .with_some("of", of.as_ref())
        .with_some("at", at)
        .with("worst", worst, Question::default().worst)
        .with_flag("check", check, true)
        .with_flag("profile", profile, false)
        .with("seed", seed, 1)
        .with("replication", replication, 0)
        .with_options(&call, &options)
        .finish();
    let checks = if check { Question::default().checks } else { 0 };
    let question = Question { of: latencies(of)?, at: time(at)?, worst, checks, profile };
    let run = Simulated { policy, elevator, arm, seed, replication };
    waiting::run(py, &call, Cancel::default(), move |watch| {
        goodness::check_names(&run.policy, &run.elevator)?;
        goodness::why::why(&text, options, &run, &question, watch).map(|why| Explanation { why, call: again })
    })
}

fn latencies(name: Option<String>) -> PyResult<Option<Latencies>> {
    let Some(name) = name else { return Ok(None) };
    let found = Latencies::named(&name);
    found.map(Some).ok_or_else(|| usage(format!("of={name:?} is not known; write requests, io, waits, wakeups or all")))
}

fn time(at: Option<&str>) -> PyResult<Option<Time>> {
    let span = at.map(Span::parse).transpose();
    let span = span.map_err(|why| exception(&Refusal::usage(why.to_string()).at("at"), None))?;
    Ok(span.map(|span| Time::ZERO + span))
}

#[pymethods]
impl Explanation {
    /// The main cause in one sentence.
    #[getter]
    fn conclusion(&self) -> String {
        answer::headline(&self.why)
    }

    /// Every link of the chains of the longest latencies. The links of a chain sum to its latency.
    #[getter]
    fn segments(&self) -> Table {
        Table::of(answer::tables::links(&self.why))
    }

    /// The longest latencies, longest first.
    #[getter]
    fn latencies(&self) -> Table {
        Table::of(answer::tables::latencies(&self.why))
    }

    /// What the longest 1 % were spent on, then the locks for which they waited, with the checks by simulation.
    #[getter]
    fn causes(&self) -> Table {
        Table::of(answer::tables::causes(&self.why))
    }

    /// Writes a self-contained page, with a picture of each of the longest.
    fn report(&self, path: PathBuf) -> PyResult<()> {
        atomic::write(&path, answer::page(&self.why, &self.call).as_bytes()).map_err(failure)
    }

    /// As JSON (schema goodness.why/1), byte for byte that of the command line.
    fn to_json(&self) -> String {
        json::text(&self.why)
    }

    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document::loads(py, self.to_json())
    }

    fn __str__(&self) -> String {
        self.conclusion()
    }

    fn __repr__(&self) -> String {
        answer::text(&self.why, notebook::WIDTH, false).trim_end().to_string()
    }

    fn _repr_html_(&self) -> String {
        let why = &self.why;
        let share = |share: f64| figure::percent(Some(share));
        let locks: Vec<Part> = why.tail.locks.iter().map(LockPart::part).collect();
        let parts = why.tail.parts.iter().chain(&locks).map(|part| {
            let check = why.checks.iter().find(|it| it.cause == part.cause && it.culprit == part.culprit);
            let verdict = check.map_or_else(String::new, |it| it.verdict.replace('_', " "));
            vec![answer::said(part), share(part.share), figure::time(Some(part.total_ns)), verdict]
        });
        let latencies = why.worst.iter().take(SHOWN).map(|it| {
            let cause = it.longest().map_or_else(String::new, |link| link.cause.replace('_', " "));
            let [at, length] = [it.at_ns, it.length_ns].map(|ns| figure::show(Some(ns as f64), "ns"));
            vec![answer::who(&it.task), at, length, cause]
        });
        let left_out = why.worst.len().saturating_sub(SHOWN);
        let left_out = if left_out > 0 { format!("{left_out} more") } else { String::new() };
        [
            notebook::headline(&answer::headline(why)),
            notebook::table(&["spent on", "share", "time", "checked"], parts, ""),
            notebook::table(&["latency of", "at", "length", "mostly"], latencies, &left_out),
        ]
        .concat()
    }
}
