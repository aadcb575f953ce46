//! The command `goodness` inside the interpreter.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command line `arguments` and returns its exit code. `starts` are the words that start the command again.
/// Once per process.
#[pyfunction]
pub fn command(py: Python, arguments: Vec<OsString>, starts: Vec<OsString>) -> u8 {
    #[cfg(target_os = "linux")]
    goodness_sys::program::runs_inside(starts, arguments.clone());
    #[cfg(not(target_os = "linux"))]
    drop(starts);
    py.detach(|| goodness_cli::main(arguments))
}
