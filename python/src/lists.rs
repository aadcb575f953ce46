//! Lists of what there is.

use crate::error::{exception, failure};
use goodness::catalogue;
use pyo3::prelude::*;

/// The list called `list` as JSON, or its entry called `name`.
#[pyfunction]
#[pyo3(signature = (list, name=None))]
pub fn listed(list: &str, name: Option<&str>) -> PyResult<String> {
    let entries = match list {
        "policies" => catalogue::policies(),
        "elevators" => catalogue::elevators(),
        "devices" => catalogue::devices(),
        "metrics" => catalogue::metrics(),
        "workloads" => catalogue::workloads(),
        "machines" => catalogue::machines(),
        "formats" => catalogue::formats(),
        "recordings" => catalogue::recordings(),
        "studies" => goodness_study::catalogue(),
        _ => return Err(failure(format!("there is no list {list}"))),
    };
    match name {
        None => Ok(serde_json::Value::Array(entries).to_string()),
        Some(name) => {
            let entry = catalogue::entry(&entries, name).map_err(|refusal| exception(&refusal, None))?;
            Ok(entry.to_string())
        }
    }
}
