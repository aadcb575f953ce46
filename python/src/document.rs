//! Results as Python's own values.

use pyo3::prelude::*;

/// As dictionaries and lists.
pub fn loads<'py>(py: Python<'py>, json: String) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
