//! Sweeps: the folder of one, which only its driver writes, and the pure computation of cells, which may be elsewhere.

use crate::error::{exception, failure, usage};
use crate::notebook;
use crate::table::Table;
use crate::waiting::{self, Cancel};
use goodness::{Progress, Refusal};
use goodness_sweep::{Cell, Cells, Computer, Definition, Finished, Folder, Part, Summary, cell, folder, local};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of a sweep, opened by its only writer.
#[pyclass(frozen, module = "goodness", name = "SweepFolder")]
pub struct SweepFolder {
    /// Empty when it was finished, and while this process computes.
    folder: Mutex<Option<Folder>>,
    definition: Definition,
    cells: Arc<Cells>,
    file: PathBuf,
    path: PathBuf,
}

impl SweepFolder {
    fn with<T>(&self, act: impl FnOnce(&mut Folder) -> Result<T, Refusal>) -> PyResult<T> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder.as_mut().ok_or_else(|| usage("the sweep is finished, or being computed"))?;
        act(folder).map_err(|refusal| exception(&refusal, None))
    }

    fn take(&self) -> PyResult<Folder> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        folder.take().ok_or_else(|| usage("the sweep is finished, or being computed"))
    }
}

#[pymethods]
impl SweepFolder {
    /// Opens the folder of the sweep that `file` defines.
    #[new]
    #[pyo3(signature = (file, folder=None, part="1/1"))]
    fn new(file: PathBuf, folder: Option<PathBuf>, part: &str) -> PyResult<SweepFolder> {
        let part = Part::parse(part).map_err(usage)?;
        let open = || {
            let definition = Definition::open(&file)?;
            let cells = Arc::new(Cells::of(&definition)?);
            let path = folder.unwrap_or_else(|| file.with_extension(""));
            let folder = Mutex::new(Some(Folder::open(&path, Arc::clone(&cells), part)?));
            Ok(SweepFolder { folder, definition, cells, file, path })
        };
        open().map_err(|refusal: Refusal| exception(&refusal, None))
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Number of cells.
    fn __len__(&self) -> usize {
        self.cells.all.len()
    }

    /// Places of the cells that are to be computed.
    fn missing(&self) -> PyResult<Vec<usize>> {
        self.with(|folder| Ok(folder.missing()))
    }

    /// The cells at `places`, as lines of JSON.
    fn cells<'py>(&self, py: Python<'py>, places: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        let cells = places.into_iter().map(|place| self.cells.all.get(place));
        let cells: Option<Vec<&Cell>> = cells.collect();
        Ok(PyBytes::new(py, &lines(&cells.ok_or_else(|| usage("there is no such cell"))?)))
    }

    /// The files that inputs and machines name.
    fn files(&self) -> Vec<String> {
        cell::files(&self.cells)
    }

    /// Takes computed cells, as lines of JSON. They are on disk when this returns.
    fn accept(&self, py: Python, finished: Vec<u8>) -> PyResult<()> {
        py.detach(|| {
            let finished = read(&finished)?;
            self.with(|folder| folder.accept(finished))
        })
    }

    /// Computes what is missing on the cores of this machine.
    fn run(&self, py: Python) -> PyResult<()> {
        let mut folder = self.take()?;
        let (folder, result) = waiting::run(py, "", Cancel::default(), move |watch| {
            let mut tell = |done: usize, of: usize| watch(Progress::Simulated { done: done as u64, of: of as u64 });
            let result = local::run(&mut folder, &mut tell);
            Ok((folder, result))
        })?;
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
        result.map_err(|refusal| exception(&refusal, None))
    }

    /// The summary of what is there.
    fn summary(&self, py: Python) -> PyResult<SweepSummary> {
        let title = self.file.file_stem().unwrap_or_default().to_string_lossy();
        let call = format!("goodness.sweep({:?})", self.file);
        let summary = py.detach(|| {
            let values = folder::values(&self.path, Some(&self.definition.metric))?;
            let summary = Summary::of(&self.definition, &values)?;
            Ok(SweepSummary { page: summary.page(&title, &call), summary })
        });
        summary.map_err(|refusal: Refusal| exception(&refusal, None))
    }

    /// Ends the sweep. Returns the cells that failed: the arm, the input and the sentence of each.
    fn finish(&self, py: Python) -> PyResult<Vec<(String, String, String)>> {
        let folder = self.take()?;
        let failed = py.detach(|| folder.finish()).map_err(|refusal| exception(&refusal, None))?;
        Ok(failed.into_iter().map(|(cell, why)| (cell.arm, cell.input, why)).collect())
    }
}

/// What a sweep found.
#[pyclass(frozen, module = "goodness")]
pub struct SweepSummary {
    summary: Summary,
    /// The summary as a self-contained page.
    #[pyo3(get)]
    page: String,
}

#[pymethods]
impl SweepSummary {
    /// The summary as JSON (schema goodness.sweep/1).
    fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.summary).expect("plain values serialise")
    }

    /// The main effects.
    #[getter]
    fn effects(&self) -> Table {
        Table::of(self.summary.effects_table())
    }

    /// The metric of each arm along the axes.
    #[getter]
    fn responses(&self) -> Table {
        Table::of(self.summary.responses_table())
    }

    /// The places of the phase diagram.
    #[getter]
    fn places(&self) -> Table {
        Table::of(self.summary.places_table())
    }

    /// The answer, the effects and the phase diagram.
    fn to_text(&self) -> String {
        self.summary.text(notebook::WIDTH)
    }

    /// The metric of each arm over both parameters of the diagram.
    fn surfaces(&self) -> String {
        self.summary.surfaces_text(notebook::WIDTH).trim().to_string()
    }
}

/// A computer with the threads that it may use, for cells whose files are where the paths say.
type Kept = (HashMap<String, PathBuf>, Computer, rayon::ThreadPool);

thread_local! {
    /// Kept from call to call: opening a recording takes longer than many a cell.
    static COMPUTER: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Computes cells, lines of JSON, one after the other on this thread alone. `files` says where the files are that
/// inputs and machines name.
#[pyfunction]
pub fn compute_cells<'py>(
    py: Python<'py>,
    cells: Vec<u8>,
    files: HashMap<String, PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let cells: Vec<Cell> = read(&cells)?;
    let mut finished = Vec::new();
    for cell in cells {
        finished.push(py.detach(|| compute(&cell, &files))?);
        py.check_signals()?;
    }
    Ok(PyBytes::new(py, &lines(&finished)))
}

fn compute(cell: &Cell, files: &HashMap<String, PathBuf>) -> PyResult<Finished> {
    COMPUTER.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(known, ..)| known != files) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            let pool = pool.or_else(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build());
            let pool = pool.map_err(|why| failure(format!("a thread cannot be started: {why}")))?;
            *kept = Some((files.clone(), Computer::with_files(files.clone()), pool));
        }
        let (_, computer, pool) = kept.as_mut().expect("just made");
        Ok(pool.install(|| computer.compute(cell)))
    })
}

fn lines<T: serde::Serialize>(values: &[T]) -> Vec<u8> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, value).expect("plain values serialise");
        text.push(b'\n');
    }
    text
}

fn read<T: serde::de::DeserializeOwned>(text: &[u8]) -> PyResult<Vec<T>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parsed = lines.map(|line| serde_json::from_slice(line).map_err(|why| usage(format!("no cell: {why}"))));
    parsed.collect()
}
