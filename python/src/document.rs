//! Results as documents: text that is byte for byte that of the command line, and Python's own values.

use pyo3::prelude::*;
use serde::Serialize;

/// As JSON.
pub fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("plain values serialise") + "\n"
}

/// As dictionaries and lists.
pub fn loads<'py>(py: Python<'py>, json: String) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
