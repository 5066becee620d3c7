//! What a store holds and how it is, as plain Python values; `evergraph/_stats.py` gives them a face.

use evergraph::Stats;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Statistics by name.
pub(crate) fn stats_to_python<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let edge_types = PyDict::new(py);
    for kind in &stats.edge_types {
        edge_types.set_item(&kind.name, kind.edges)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("version", stats.sequence)?;
    dict.set_item("num_vertices", stats.num_vertices)?;
    dict.set_item("num_edges", stats.num_edges)?;
    dict.set_item("edge_types", edge_types)?;
    dict.set_item("durability", stats.durability.name())?;
    dict.set_item("memory_bytes", stats.memory_bytes)?;
    dict.set_item("dictionary_bytes", stats.dictionary_bytes)?;
    dict.set_item("log_bytes", stats.log_bytes)?;
    dict.set_item("segments", stats.segments)?;
    dict.set_item("segment_bytes", stats.segment_bytes)?;
    dict.set_item("disk_bytes", stats.disk_bytes)?;
    Ok(dict)
}
