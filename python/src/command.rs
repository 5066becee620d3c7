//! The `evergraph` command, as the Python package installs it.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line `args`, the program's name first, and returns its exit code.
#[pyfunction]
pub(crate) fn run_cli(py: Python<'_>, args: Vec<OsString>) -> PyResult<i32> {
    // Started by its own name, so that a virtual environment stays what it is.
    let python: OsString = py.import("sys")?.getattr("executable")?.extract()?;
    let program = [python, "-m".into(), "evergraph".into()];
    Ok(py.detach(|| evergraph_cli::run_as(&program, args)))
}
