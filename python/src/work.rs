//! Opened work.

use crate::error::{exception, usage};
use crate::waiting::{self, Cancel};
use goodness::{Arrivals, BlockEvents, Ends, Excerpt, OpenOptions, Others, Refusal};
use goodness_core::Span;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Work that was opened once and can be compared many times.
#[pyclass(frozen, module = "goodness")]
#[derive(Clone)]
pub struct Work(pub Arc<Opened>);

/// Opened work and what opened it.
pub struct Opened {
    /// As typed.
    pub text: String,
    /// The expression that opens it.
    pub call: String,
    /// Options of opening.
    pub options: OpenOptions,
    /// The work.
    pub work: goodness::Work,
}

#[pymethods]
impl Work {
    /// Name of the file, recording or workload.
    #[getter]
    fn name(&self) -> &str {
        &self.0.text
    }

    /// CPUs of its machine.
    #[getter]
    fn cpus(&self) -> usize {
        self.0.work.machine.cpu_count()
    }

    /// The policy that an arm changes: the recorded one, else the default.
    #[getter]
    fn policy(&self) -> PyResult<String> {
        let standard = self.0.work.standard_policy().map_err(|refusal| exception(&refusal, None))?;
        Ok(standard.to_string())
    }

    /// Sentences about the work, and warnings.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let details = &self.0.work.details;
        details.workload_notes.iter().chain(&details.machine_notes).chain(&details.warnings).cloned().collect()
    }

    fn __repr__(&self) -> &str {
        &self.0.call
    }
}

/// Opens `text`; `call` is the expression that does so. `options` are those of the command line, by name.
#[pyfunction]
#[pyo3(signature = (text, call, is_recording, **options))]
pub fn open_work(
    py: Python,
    text: String,
    call: String,
    is_recording: bool,
    options: Option<&Bound<PyDict>>,
) -> PyResult<Work> {
    let options = options.map_or_else(|| Ok(OpenOptions::default()), read)?;
    let input = call.clone();
    let opened = waiting::run(py, &input, Cancel::default(), move |watch| {
        let open = if is_recording { goodness::open_recording } else { goodness::open };
        let work = open(&text, &options, watch)?;
        Ok(Opened { text, call, options, work })
    })?;
    Ok(Work(Arc::new(opened)))
}

/// The options of opening, by name.
pub fn read(given: &Bound<PyDict>) -> PyResult<OpenOptions> {
    let mut options = OpenOptions::default();
    for (name, value) in given {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let replay = &mut options.replay;
        match name.as_str() {
            "machine" => options.machine = Some(value.extract()?),
            "lenient" => options.lenient = value.extract()?,
            "judge" => options.judge = several(&value)?,
            "fact" => options.fact = several(&value)?,
            "window" => options.window = Excerpt::parse(&value.extract::<String>()?).map_err(usage)?,
            "recorded_by" => options.recorded_by = Some(value.extract()?),
            "device" => options.device = Some(value.extract()?),
            "block_only" => options.block_only = value.extract()?,
            "block_events" => {
                options.block_events = Some(one_of(&name, &value, &EVENTS)?);
            }
            "arrivals" => replay.arrivals = one_of(&name, &value, &ARRIVALS)?,
            "ends" => replay.ends = one_of(&name, &value, &ENDS)?,
            "without_others" => replay.others = if value.extract()? { Others::LeftOut } else { Others::Compete },
            "io_cost" => options.io_cost = Some(span(&name, &value)?),
            _ => return Err(usage(format!("there is no option {name}; leave it out"))),
        }
    }
    Ok(options)
}

const EVENTS: [(&str, BlockEvents); 2] = [("queue", BlockEvents::Queue), ("issue", BlockEvents::Issue)];
const ARRIVALS: [(&str, Arrivals); 2] = [("delays", Arrivals::Delays), ("recorded", Arrivals::Recorded)];
const ENDS: [(&str, Ends); 2] = [("open", Ends::Open), ("recorded", Ends::Recorded)];

/// The value that a word stands for.
fn one_of<T: Copy>(option: &str, value: &Bound<PyAny>, words: &[(&str, T)]) -> PyResult<T> {
    let typed: String = value.extract()?;
    let found = words.iter().find(|(word, _)| *word == typed);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        usage(format!("{option}={typed:?} is not known; write {}", words.join(" or ")))
    })
}

/// One text, or several.
pub fn several(value: &Bound<PyAny>) -> PyResult<Vec<String>> {
    value.extract::<String>().map(|one| vec![one]).or_else(|_| value.extract())
}

fn span(option: &str, value: &Bound<PyAny>) -> PyResult<Span> {
    let typed: String = value.extract()?;
    Span::parse(&typed).map_err(|why| exception(&Refusal::usage(why.to_string()).at(option), None))
}
