//! The function that compares two sides: where they part first, and what follows.

use crate::call::Call;
use crate::comparison::Comparison;
use crate::document;
use crate::error::{failure, reproduce, usage, violation};
use crate::notebook;
use crate::table::Table;
use crate::waiting::{self, Cancel};
use crate::work::{Opened, Work};
use goodness::diff::{self, Asked};
use goodness::{Plan, RUNS_MAX, Refusal, recordings};
use goodness_report::Report;
use goodness_report::atomic;
use goodness_report::diff::gate::Condition;
use goodness_report::diff::{self as answer, Diff};
use goodness_report::json;
use goodness_report::text::Extent;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The differences of one side from another.
#[pyclass(frozen, module = "goodness")]
pub struct Difference {
    diff: Diff,
    /// The expression that makes it again.
    call: String,
}

impl Difference {
    /// The finished comparison with the answers to its conditions.
    fn of(mut diff: Diff, conditions: &[Condition], call: String) -> Difference {
        diff.goodness.commit = goodness_cli::COMMIT.map(str::to_string);
        diff.gates = conditions.iter().map(|it| it.decide(&diff)).collect();
        Difference { diff, call }
    }
}

fn conditions(texts: &[String]) -> PyResult<Vec<Condition>> {
    texts.iter().map(|text| Condition::parse(text).map_err(|why| usage(format!("fail_if: {why}")))).collect()
}

/// Compares two arms on one work.
#[pyfunction]
#[pyo3(signature = (work, *, policies, arms, elevators, runs, seed, fail_if))]
#[expect(clippy::too_many_arguments, reason = "the keywords of the call")]
pub fn diff_arms(
    py: Python,
    work: PyRef<Work>,
    policies: Vec<String>,
    arms: Vec<String>,
    elevators: Vec<String>,
    runs: u32,
    seed: u64,
    fail_if: Vec<String>,
) -> PyResult<Difference> {
    if runs == 0 || runs > RUNS_MAX {
        return Err(usage(format!("runs={runs} is outside 1 ..= {RUNS_MAX}")));
    }
    let conditions = conditions(&fail_if)?;
    let opened = Arc::clone(&work.0);
    let call = opened.call.clone();
    let again = Call::of("diff", &[&call])
        .with_all("policies", &policies)
        .with_all("arms", &arms)
        .with_all("elevators", &elevators)
        .with("runs", runs, 10)
        .with("seed", seed, 1)
        .with_all("fail_if", &fail_if)
        .with_options(&call, &opened.options)
        .finish();
    let asked = Asked { policies, arms, elevators, is_beside_saved: false };
    let (diff, broken) = waiting::run(py, &call, Cancel::default(), move |watch| {
        goodness::check_names(&asked.policies, &asked.elevators)?;
        let contenders = asked.contenders(&opened.work)?;
        if contenders.len() != 2 {
            let what = format!("a difference has two arms, and here are {}", contenders.len());
            return Err(Refusal::usage(what).remedy("name two policies, or one arm to compare with the unchanged work"));
        }
        let plan = Plan { seed, runs, by_task: true, ..Plan::of(&opened.work, contenders) };
        let (diff, runs) = diff::arms(&plan, &opened.work.about.name, watch)?;
        let broken = runs.violation().map(|(again, found)| {
            format!("{}: {} Reproduce: {}", found.checker, found.sentence, reproduce(&opened.call, again))
        });
        Ok((diff, broken))
    })?;
    match broken {
        Some(sentence) => Err(violation(sentence)),
        None => Ok(Difference::of(diff, &conditions, again)),
    }
}

/// Compares two recordings as they were made.
#[pyfunction]
#[pyo3(signature = (a, b, *, fail_if))]
pub fn diff_recordings(py: Python, a: PyRef<Work>, b: PyRef<Work>, fail_if: Vec<String>) -> PyResult<Difference> {
    let conditions = conditions(&fail_if)?;
    let works: [Arc<Opened>; 2] = [&a, &b].map(|work| Arc::clone(&work.0));
    let call = works[0].call.clone();
    let again = Call::of("diff", &[&call, &works[1].call])
        .with_all("fail_if", &fail_if)
        .with_options(&call, &works[0].options)
        .finish();
    let diff = waiting::run(py, &call, Cancel::default(), move |watch| {
        let [a, b] = &works;
        let open = |name: &str| {
            let work = if name == a.text { a } else { b };
            goodness::open(name, &work.options, watch)
        };
        let (runs, _, _) = recordings::as_arms(&[a.text.clone(), b.text.clone()], open)?;
        Ok(diff::recordings(&runs, [&a.text, &b.text]))
    })?;
    Ok(Difference::of(diff, &conditions, again))
}

/// Compares two results: finished comparisons, or files of them. `label` chooses an arm that both have.
#[pyfunction]
#[pyo3(signature = (a, b, *, label, fail_if))]
pub fn diff_results(
    py: Python,
    a: &Bound<PyAny>,
    b: &Bound<PyAny>,
    label: Option<String>,
    fail_if: Vec<String>,
) -> PyResult<Difference> {
    let conditions = conditions(&fail_if)?;
    let [a, b] = [result(a)?, result(b)?];
    let name = a.0.clone();
    let [first, second] = [&a, &b].map(|(name, _)| format!("{name:?}"));
    let again = Call::of("diff", &[&first, &second])
        .with_some("policies", label.as_ref().map(|label| [label]))
        .with_all("fail_if", &fail_if)
        .finish();
    let diff = waiting::run(py, &name, Cancel::default(), move |_| {
        let [a, b] = [a, b].map(|(name, saved)| match saved {
            Saved::Made(report) => Ok((name, *report)),
            Saved::File(path) => diff::read(&path).map(|report| (name, report)),
        });
        let ((a, of_a), (b, of_b)) = (a?, b?);
        diff::results((&a, &of_a), (&b, &of_b), label.as_deref())
    })?;
    Ok(Difference::of(diff, &conditions, again))
}

/// A result, here or in a file.
enum Saved {
    Made(Box<Report>),
    File(PathBuf),
}

fn result(given: &Bound<PyAny>) -> PyResult<(String, Saved)> {
    if let Ok(comparison) = given.cast::<Comparison>() {
        let report = Box::new(comparison.get().report.clone());
        return Ok((report.input.name.clone(), Saved::Made(report)));
    }
    let path: PathBuf = given.extract()?;
    Ok((path.display().to_string(), Saved::File(path)))
}

/// True if the file begins as a saved result does.
#[pyfunction]
pub fn is_result(path: PathBuf) -> bool {
    diff::is_result(Path::new(&path))
}

#[pymethods]
impl Difference {
    /// The answer in a sentence or two.
    #[getter]
    fn conclusion(&self) -> String {
        answer::headline(&self.diff)
    }

    /// True if a decision or a metric differs by more than chance explains.
    #[getter]
    fn is_different(&self) -> bool {
        self.diff.verdict == answer::Verdict::Different
    }

    /// The worst answer to the conditions of fail_if: holds, inconclusive or fails; None without any.
    #[getter]
    fn outcome(&self) -> Option<&'static str> {
        self.diff.outcome().map(answer::Outcome::name)
    }

    /// Every metric of both sides, with the change and its interval.
    #[getter]
    fn metrics(&self) -> Table {
        Table::of(answer::table::of_metrics(&self.diff))
    }

    /// The measures of every task of both sides, likewise.
    #[getter]
    fn tasks(&self) -> Table {
        Table::of(answer::table::of_tasks(&self.diff))
    }

    /// Writes a self-contained page, with both schedules on one time axis.
    fn report(&self, path: PathBuf) -> PyResult<()> {
        atomic::write(&path, answer::page::render(&self.diff, &self.call).as_bytes()).map_err(failure)
    }

    /// As JSON (schema goodness.diff/1), byte for byte that of the command line.
    fn to_json(&self) -> String {
        json::text(&self.diff)
    }

    /// The same as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        document::loads(py, self.to_json())
    }

    fn __str__(&self) -> String {
        self.conclusion()
    }

    fn __repr__(&self) -> String {
        answer::text::render(&self.diff, notebook::WIDTH, Extent::Answer).trim_end().to_string()
    }

    fn _repr_html_(&self) -> String {
        let diff = &self.diff;
        let rows = diff.metrics.iter().filter(|it| it.finding.is_different()).map(|it| {
            let [a, b] = [it.a, it.b].map(|value| goodness_report::figure::show(value, &it.unit));
            vec![goodness_report::figure::titled(&it.name), a, b, answer::change(it, diff.kind)]
        });
        let count = diff.metrics.iter().filter(|it| !it.finding.is_different()).count();
        let left_out = if count > 0 { format!("{count} metrics do not differ") } else { String::new() };
        let [a, b] = [&diff.a, &diff.b].map(|side| side.label.as_str());
        notebook::headline(&answer::headline(diff)) + &notebook::table(&["", a, b, "change"], rows, &left_out)
    }
}
