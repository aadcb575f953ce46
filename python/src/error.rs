//! Errors of the library as Python's exceptions, with the sentences of the command line in Python's terms.

use goodness::{Again, Kind, Refusal, See};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception of `refusal`; `input` is the expression that opens the work, if there is one.
pub fn exception(refusal: &Refusal, input: Option<&str>) -> PyErr {
    let class = match refusal.kind {
        Kind::Usage => "UsageError",
        Kind::Violated => "Violation",
        Kind::Failed | Kind::Cancelled => "Failure",
    };
    let mut sentence = refusal.to_string();
    if let Some(list) = refusal.see {
        sentence = format!("{} See {}.", ended(&sentence), see(list));
    }
    let reproduce = refusal.again.as_ref().zip(input).map(|(again, input)| reproduce(input, again));
    if let Some(call) = &reproduce {
        sentence = format!("{} Reproduce: {call}", ended(&sentence));
    }
    let facts = [
        ("place", refusal.place.as_deref().map(str::to_string)),
        ("remedy", refusal.remedy.clone()),
        ("reproduce", reproduce),
    ];
    Python::attach(|py| made(py, class, &sentence, &facts).unwrap_or_else(|error| error))
}

/// The exception of bad use of this module.
pub fn usage(sentence: impl Into<String>) -> PyErr {
    exception(&Refusal::usage(sentence), None)
}

/// The exception of something that failed.
pub fn failure(sentence: impl Into<String>) -> PyErr {
    exception(&Refusal::failed(sentence), None)
}

/// The exception of a violated rule.
pub fn violation(sentence: impl Into<String>) -> PyErr {
    exception(&Refusal::violated(sentence), None)
}

fn made(py: Python, class: &str, sentence: &str, facts: &[(&str, Option<String>)]) -> PyResult<PyErr> {
    let arguments = PyDict::new(py);
    for (name, value) in facts {
        arguments.set_item(name, value)?;
    }
    let class = py.import("goodness._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((sentence,), Some(&arguments))?))
}

/// The call that does a run again.
pub fn reproduce(input: &str, again: &Again) -> String {
    let Again { policy, elevator, edits, seed, replication } = again;
    // A policy that is not registered is a class of the caller's.
    let is_class = goodness::PolicySpec::parse(policy).is_err();
    let arms = match edits.is_empty() {
        true if is_class => format!("policies=[{policy}]"),
        false if is_class => format!("arms=[goodness.arm({policy}, {:?})]", edits.join(" ")),
        true => format!("policies=[{policy:?}]"),
        false => format!("arms=[{:?}]", format!("{policy} {}", edits.join(" "))),
    };
    let elevator = elevator.as_ref().map_or_else(String::new, |it| format!(", elevators=[{it:?}]"));
    format!("goodness.compare({input}, {arms}{elevator}, seed={seed}, first={replication}, runs=1)")
}

/// The call that lists valid names.
fn see(list: See) -> String {
    let of = |list: &str, name: Option<&str>| name.map_or(format!("{list}()"), |name| format!("{list}({name:?})"));
    let call = match list {
        See::WorkloadsAndRecordings => return "goodness.workloads() and goodness.recordings()".into(),
        See::Policies(name) => of("policies", name),
        See::Elevators(name) => of("elevators", name),
        See::Workloads(name) => of("workloads", name),
        See::Machines => "machines()".into(),
        See::Metrics => "metrics()".into(),
        See::Formats => "formats()".into(),
    };
    format!("goodness.{call}")
}

/// `text` with a full stop, unless it ends a sentence already.
fn ended(text: &str) -> String {
    if text.ends_with(['.', '?', '!']) { text.to_string() } else { format!("{text}.") }
}
