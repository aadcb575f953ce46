//! Published results, reproduced.

use crate::error::{failure, usage};
use crate::table::Table;
use crate::waiting::{self, Cancel};
use goodness::{Progress, RUNS_MAX, Refusal, Watch};
use goodness_core::spelling::suggest;
use goodness_report::atomic;
use goodness_report::text::Extent;
use goodness_study::{Conducting, CustomStudy, Published, STUDIES, Study};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Results of a study beside the published ones.
#[pyclass(frozen, module = "goodness", name = "Study")]
pub struct Results {
    text: String,
    document: String,
    page: String,
    rows: goodness_table::Table,
}

/// Conducts a study: a built-in one, or that of a file or folder.
#[pyfunction]
#[pyo3(signature = (name, *, runs, seed, quick))]
pub fn study(py: Python, name: String, runs: Option<u32>, seed: u64, quick: bool) -> PyResult<Results> {
    if runs.is_some_and(|runs| !(2..=RUNS_MAX).contains(&runs)) {
        return Err(usage(format!("runs is in 2 ..= {RUNS_MAX}")));
    }
    let how = Conducting { runs, seed, quick, timing: false };
    waiting::run(py, "", Cancel::default(), move |watch| find(&name, how, watch))
}

fn find(name: &str, how: Conducting, watch: &Watch) -> Result<Results, Refusal> {
    if let Some(study) = goodness_study::find(name) {
        let published = Published::read(study.name, study.published).map_err(Refusal::failed)?;
        return conduct(study, &published, (name, how), watch);
    }
    if !Path::new(name).exists() && !name.ends_with(".toml") {
        let near = suggest(name, STUDIES.iter().map(|study| study.name));
        let refusal = Refusal::usage(format!("there is no study \"{name}\""));
        return Err(refusal.remedy(format!("{near}, or name a file or folder that exists")));
    }
    let custom = CustomStudy::open(name).map_err(Refusal::usage)?;
    let run = |lab: &goodness_study::Lab| custom.conduct(lab);
    conduct(&custom.study(&run), &custom.published, (name, how), watch)
}

fn conduct(
    study: &Study,
    published: &Published,
    (name, how): (&str, Conducting),
    watch: &Watch,
) -> Result<Results, Refusal> {
    let tell = |done| watch(Progress::Simulated { done, of: done });
    let conducted = how.conduct(study, published, &tell).map_err(Refusal::violated)?;
    let (runs, seed) = (how.runs_of(study), how.seed);
    let quick = if how.quick { ", quick=True" } else { "" };
    let call = format!("goodness.study({name:?}, runs={runs}, seed={seed}{quick})");
    let document = serde_json::to_string_pretty(&conducted.document()).expect("plain values serialise");
    let rows = goodness_study::table(std::slice::from_ref(&conducted));
    Ok(Results { text: conducted.text(Extent::Answer, 80), document, page: conducted.page(&call), rows })
}

#[pymethods]
impl Results {
    /// The results as dictionaries and lists (schema goodness.study/1).
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (&self.document,))
    }

    /// Published numbers beside simulated ones.
    #[getter]
    fn rows(&self) -> Table {
        Table::of(self.rows.clone())
    }

    /// The results as JSON.
    fn to_json(&self) -> String {
        format!("{}\n", self.document)
    }

    /// Writes a self-contained page.
    fn report(&self, path: PathBuf) -> PyResult<()> {
        atomic::write(&path, self.page.as_bytes()).map_err(failure)
    }

    fn __repr__(&self) -> &str {
        self.text.trim_end()
    }
}
