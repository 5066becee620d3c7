//! The `evergraph` command, as the Python package installs it.

use std::ffi::OsString;
use std::io::Write;

use pyo3::prelude::*;

/// Runs the command line `args`, the program's name first, and returns its exit code.
#[pyfunction]
pub(crate) fn run_cli(args: Vec<OsString>) -> PyResult<i32> {
    let _ = args;
    writeln!(std::io::stdout(), "evergraph {}", env!("CARGO_PKG_VERSION"))?;
    Ok(0)
}
