//! A finished comparison.

use crate::error::{failure, usage, violation};
use crate::figure::Figure;
use crate::notebook;
use crate::question::Question;
use crate::table::Table;
use crate::waiting;
use goodness::{Contender, Plan, Timelines};
use goodness_report::text::Extent;
use goodness_report::{Report, Timeline, atomic, citation, html, json, tables, text};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Slices of a schedule.
const SCHEDULE_SLICES: usize = 2_000_000;
/// Slices of each arm's first run that a page keeps.
const PAGE_SLICES: usize = 400_000;

/// Results of a comparison: who is better, by how much, and how sure that is.
#[pyclass(frozen, module = "goodness")]
pub struct Comparison {
    pub report: Report,
    pub contenders: Vec<Contender>,
    pub question: Question,
}

impl Comparison {
    /// The comparison, unless a checker found an impossible run.
    pub fn refuse_violations(self, py: Python) -> PyResult<Comparison> {
        let Some(found) = self.report.policies.iter().flat_map(|it| &it.violations).next() else { return Ok(self) };
        let error = violation(format!("{}: {} Reproduce: {}", found.checker, found.message, found.reproduce));
        error.value(py).setattr("comparison", self.into_pyobject(py)?)?;
        Err(error)
    }

    /// Schedules of run `first` of `contenders`, simulated again.
    fn timelines(&self, py: Python, contenders: Vec<Contender>, first: u32, slices: usize) -> PyResult<Vec<Timeline>> {
        let work = std::sync::Arc::clone(self.question.simulated()?);
        let question = self.question.clone();
        let call = work.call.clone();
        waiting::run(py, &call, self.question.cancel.clone(), move |watch| {
            let timelines = Timelines { slices, with_queues: false };
            let plan = question.plan(&work.work, contenders);
            let mut runs = Plan { first, timelines, recorded: None, ..plan }.run(watch)?;
            Ok(runs.take_timelines())
        })
    }

    /// The place of an arm, by its label or its number.
    fn place(&self, arm: &Bound<PyAny>) -> PyResult<usize> {
        let labels = self.report.labels();
        let named = arm.extract::<String>().ok();
        let place = match &named {
            Some(name) => labels.iter().position(|label| label == name),
            None => arm.extract::<usize>().ok().filter(|place| *place < labels.len()),
        };
        place.ok_or_else(|| usage(format!("there is no arm {arm}; the arms are {}", labels.join(", "))))
    }
}

#[pymethods]
impl Comparison {
    /// The answer in a sentence or two.
    #[getter]
    fn conclusion(&self) -> String {
        self.report.conclusion()
    }

    /// Labels of the arms; the reference is the first.
    #[getter]
    fn arms(&self) -> Vec<String> {
        self.report.labels()
    }

    /// Label of the best arm, if one is better than the reference.
    #[getter]
    fn winner(&self) -> Option<String> {
        let winner = self.report.winner()?;
        let place = self.report.policies.iter().position(|it| std::ptr::eq(it, winner))?;
        self.report.labels().into_iter().nth(place)
    }

    /// The metric that ranks.
    #[getter]
    fn ranked_by(&self) -> Option<&str> {
        self.report.ranked_by()
    }

    /// True if a verdict in the metric that ranks is inconclusive, or cannot be trusted.
    #[getter]
    fn is_undecided(&self) -> bool {
        self.report.is_undecided()
    }

    /// Commands that apply the winner to the recorded machine and take it back; empty without any.
    #[getter]
    fn commands(&self) -> String {
        self.report.commands()
    }

    /// Every value of every run.
    #[getter]
    fn runs(&self) -> Table {
        Table::of(tables::runs(&self.report))
    }

    /// Every metric of every arm, with intervals and verdicts.
    #[getter]
    fn metrics(&self) -> Table {
        Table::of(tables::metrics(&self.report))
    }

    /// The metric that ranks, of every arm, best first.
    #[getter]
    fn ranking(&self) -> Table {
        Table::of(tables::ranking(&self.report))
    }

    /// The tasks of each arm's first run.
    #[getter]
    fn tasks(&self) -> Table {
        Table::of(tables::tasks(&self.report))
    }

    /// The requests of each run: number, throughput and latencies. Empty for work without requests.
    #[getter]
    fn requests(&self) -> Table {
        Table::of(tables::requests(&self.report))
    }

    /// The groups with a limit in each arm's first run, as `cpu.stat` has them.
    #[getter]
    fn groups(&self) -> Table {
        Table::of(tables::groups(&self.report))
    }

    /// Points of the distributions of all runs together.
    #[getter]
    fn distributions(&self) -> Table {
        Table::of(tables::distributions(&self.report))
    }

    /// Who ran where and when in one run of an arm, simulated again. Of several recordings, the first.
    #[pyo3(signature = (arm, run=0))]
    fn schedule(&self, py: Python, arm: &Bound<PyAny>, run: u32) -> PyResult<Table> {
        self.question.simulated()?;
        let contender = self.contenders[self.place(arm)?].clone();
        let made = self.timelines(py, vec![contender], run, SCHEDULE_SLICES)?;
        let timeline = made.first().ok_or_else(|| failure("the simulation kept no schedule"))?;
        Ok(Table::of(tables::schedule(timeline)))
    }

    /// Writes a self-contained page, with the schedules of each arm's first run.
    fn report(&self, py: Python, path: PathBuf) -> PyResult<()> {
        atomic::check(&path).map_err(usage)?;
        let timelines = match self.question.simulated() {
            Ok(_) => self.timelines(py, self.contenders.clone(), self.question.first, PAGE_SLICES)?,
            Err(_) => Vec::new(),
        };
        atomic::write(&path, html::render(&self.report, &timelines).as_bytes()).map_err(failure)
    }

    /// The report as JSON: that of the command line, but for the command.
    fn to_json(&self) -> String {
        json::render(&self.report)
    }

    /// The report as dictionaries and lists (schema goodness.report/1).
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// A figure for print: ranking, distribution or runs.
    fn figure(&self, name: &str) -> PyResult<Figure> {
        Figure::of(&self.report, name)
    }

    /// What a paper needs to cite the result.
    fn citation(&self) -> String {
        citation::text(&self.report)
    }

    fn __repr__(&self) -> String {
        text::render(&self.report, Extent::Answer, notebook::WIDTH, false).trim_end().to_string()
    }

    fn _repr_html_(&self) -> String {
        notebook::comparison(&self.report)
    }
}
