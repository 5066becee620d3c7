//! The schema between Python and Rust: names of types, and the options of edge and vertex types.

use evergraph::{EdgeTypeOptions, KeyKind, Property, PropertyType};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The property type of this name.
pub(crate) fn property_type(name: &str) -> PyResult<PropertyType> {
    PropertyType::from_name(name).ok_or_else(|| {
        let known = PropertyType::known_names();
        PyValueError::new_err(format!("{name:?} is no property type; there are {known}"))
    })
}

/// The kind of keys of this name.
pub(crate) fn key_kind(name: &str) -> PyResult<KeyKind> {
    let kinds = [KeyKind::Int64, KeyKind::Text, KeyKind::Dense];
    kinds.into_iter().find(|kind| kind.to_string() == name).ok_or_else(|| {
        PyValueError::new_err(format!("{name:?} is no kind of vertex keys; there are int64, string, dense"))
    })
}

/// Properties as `{name: type}`, in order.
pub(crate) fn vertex_properties(properties: &Bound<'_, PyDict>) -> PyResult<Vec<(String, PropertyType)>> {
    let pair = |(name, kind): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Ok((name.extract()?, property_type(&kind.extract::<String>()?)?))
    };
    properties.iter().map(pair).collect()
}

/// The options of an edge type.
pub(crate) fn edge_type_options(
    properties: &Bound<'_, PyDict>,
    multi: bool,
    symmetric: bool,
    time: Option<String>,
) -> PyResult<EdgeTypeOptions> {
    let properties = vertex_properties(properties)?;
    let properties = properties.into_iter().map(|(name, kind)| Property { name, kind }).collect();
    Ok(EdgeTypeOptions { multi, symmetric, time, properties })
}
