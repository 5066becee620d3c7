//! What a store holds and how it is, as plain Python values; `evergraph/_stats.py` gives them a face.

use std::path::PathBuf;

use evergraph::{CheckReport, Stats};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Statistics by name.
pub(crate) fn stats_to_python<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let edge_types = PyDict::new(py);
    for kind in &stats.edge_types {
        edge_types.set_item(&kind.name, kind.edges)?;
    }
    let memory = PyDict::new(py);
    for (name, bytes) in stats.memory.parts() {
        memory.set_item(name.replace(' ', "_"), bytes)?;
    }
    let disk = PyDict::new(py);
    for (name, bytes) in stats.disk.parts() {
        disk.set_item(name.replace(' ', "_"), bytes)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("version", stats.sequence)?;
    dict.set_item("num_vertices", stats.num_vertices)?;
    dict.set_item("num_edges", stats.num_edges)?;
    dict.set_item("edge_types", edge_types)?;
    dict.set_item("durability", stats.durability.name())?;
    dict.set_item("format", stats.format.name())?;
    dict.set_item("memory_bytes", stats.memory_bytes)?;
    dict.set_item("dictionary_bytes", stats.dictionary_bytes)?;
    dict.set_item("memory", memory)?;
    dict.set_item("allocator_bytes", stats.allocator_bytes)?;
    dict.set_item("log_bytes", stats.log_bytes)?;
    dict.set_item("segments", stats.segments)?;
    dict.set_item("segment_bytes", stats.segment_bytes)?;
    dict.set_item("disk_bytes", stats.disk_bytes)?;
    dict.set_item("disk", disk)?;
    dict.set_item("write_amplification", stats.write_amplification())?;
    dict.set_item("settled", stats.settled)?;
    dict.set_item("failure", stats.failure.as_deref())?;
    Ok(dict)
}

/// The report of a check: (problems as (path, offset, what), counts by name).
pub(crate) fn report_to_python(py: Python<'_>, report: CheckReport) -> PyResult<Bound<'_, PyTuple>> {
    let counts = PyDict::new(py);
    counts.set_item("version", report.sequence)?;
    counts.set_item("num_vertices", report.num_vertices)?;
    counts.set_item("num_edges", report.num_edges)?;
    counts.set_item("segments", report.segments)?;
    counts.set_item("segment_bytes", report.segment_bytes)?;
    counts.set_item("log_records", report.log_records)?;
    counts.set_item("torn_bytes", report.torn_bytes)?;
    let problems: Vec<(PathBuf, Option<u64>, String)> =
        report.problems.into_iter().map(|problem| (problem.path, problem.offset, problem.what)).collect();
    (problems, counts).into_pyobject(py)
}
