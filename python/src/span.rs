//! Spans of time as users write them, read by the parser of the command line.

use evergraph::load::{SPAN_UNITS, parse_span};
use pyo3::prelude::*;

/// The seconds of a text such as `5s`; `None` if it is no number from 0 with a unit.
#[pyfunction]
pub(crate) fn span_seconds(text: &str) -> Option<f64> {
    let has_unit = text.trim_end().ends_with(|last: char| last.is_ascii_alphabetic());
    parse_span(text).ok().filter(|&seconds| has_unit && seconds >= 0.0)
}

/// The units there are.
#[pyfunction]
pub(crate) fn span_units() -> Vec<&'static str> {
    SPAN_UNITS.map(|(name, _)| name).to_vec()
}
