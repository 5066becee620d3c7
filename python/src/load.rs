//! Loading a file: what Python says about it as load options, and the report.

use evergraph::load::{ColumnRef, Format, LoadOptions, OnError, PropertySpec};
use evergraph::{LoadReport as Inner, LoadRequest, PropertyType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyMapping, PyString, PyTuple};

use crate::algorithm::text_of;
use crate::key::type_name;
use crate::schema::{key_kind, property_type};

/// How to load a file, from the keyword arguments that were given: `format`, `delimiter`, `header`, `src`, `dst`,
/// `properties`, `keys`, `on_error`, `max_rejects`, `resume`.
pub(crate) fn load_request(edge_type: String, options: &Bound<'_, PyDict>) -> PyResult<LoadRequest> {
    let given = |name: &str| Ok::<_, PyErr>(options.get_item(name)?.filter(|value| !value.is_none()));
    let text = |name: &str| given(name)?.map(|value| text_of(name, &value)).transpose();
    let mut wanted = LoadOptions {
        format: text("format")?.map(|name| format_of(&name)).transpose()?,
        delimiter: text("delimiter")?.map(|text| delimiter_of(&text)).transpose()?,
        header: given("header")?.map(|value| value.extract()).transpose()?,
        src: given("src")?.map(|value| column_ref(&value)).transpose()?,
        dst: given("dst")?.map(|value| column_ref(&value)).transpose()?,
        properties: given("properties")?.map(|value| property_specs(&value)).transpose()?,
        keys: text("keys")?.map(|name| key_kind(&name)).transpose()?,
        ..LoadOptions::default()
    };
    if let Some(name) = text("on_error")? {
        wanted.on_error = match name.as_str() {
            "raise" => OnError::Raise,
            "skip" => OnError::Skip,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "on_error: {name:?} is none of \"raise\", \"skip\""
                )));
            }
        };
    }
    if let Some(kept) = given("max_rejects")? {
        wanted.max_rejects_kept = kept.extract()?;
    }
    let resume = given("resume")?.map(|value| value.extract()).transpose()?.unwrap_or_default();
    Ok(LoadRequest { edge_type, options: wanted, resume, ..LoadRequest::default() })
}

fn format_of(name: &str) -> PyResult<Format> {
    let wrong =
        || PyValueError::new_err(format!("format: {name:?} is none of \"edgelist\", \"csv\", \"tsv\""));
    Format::from_name(name).ok_or_else(wrong)
}

fn delimiter_of(text: &str) -> PyResult<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(PyValueError::new_err(format!("delimiter: {text:?} is not one ASCII character"))),
    }
}

/// A column by name or by position from 0.
fn column_ref(value: &Bound<'_, PyAny>) -> PyResult<ColumnRef> {
    if let Ok(name) = value.cast::<PyString>() {
        return Ok(ColumnRef::Name(name.to_str()?.to_owned()));
    }
    value.extract().map(ColumnRef::Index).map_err(|_| {
        PyTypeError::new_err(format!("a column is a name or a position from 0, not {}", type_name(value)))
    })
}

/// Property columns: `["amount"]`, `{"amount": "float64"}` or `{"amount": (column, type or None)}`.
fn property_specs(value: &Bound<'_, PyAny>) -> PyResult<Vec<PropertySpec>> {
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let items = mapping.items()?;
        let spec = |item: Bound<'_, PyAny>| {
            let (name, wanted): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            property_spec(property_name(&name)?, &wanted)
        };
        return items.iter().map(spec).collect();
    }
    let wrong =
        |what: &str| PyTypeError::new_err(format!("properties are a list of names or a dict, not {what}"));
    if value.is_instance_of::<PyString>() {
        return Err(wrong("a single str"));
    }
    let named = |name: PyResult<Bound<'_, PyAny>>| {
        let name = property_name(&name?)?;
        Ok(PropertySpec { column: ColumnRef::Name(name.clone()), name, kind: None })
    };
    value.try_iter().map_err(|_| wrong(&type_name(value)))?.map(named).collect()
}

fn property_name(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| {
        PyTypeError::new_err(format!("properties: a property is named by a str, not {}", type_name(value)))
    })
}

fn property_spec(name: String, wanted: &Bound<'_, PyAny>) -> PyResult<PropertySpec> {
    let kind_of = |kind: Option<String>| kind.map(|kind| property_type(&kind)).transpose();
    if wanted.is_instance_of::<PyString>() || wanted.is_none() {
        let kind: Option<PropertyType> = kind_of(wanted.extract()?)?;
        return Ok(PropertySpec { column: ColumnRef::Name(name.clone()), name, kind });
    }
    let Ok(pair) = wanted.cast::<PyTuple>() else {
        return Err(PyTypeError::new_err(format!(
            "property {name:?} is given as a type or as a pair of column and type, not as {}",
            type_name(wanted)
        )));
    };
    let (column, kind) = pair.extract::<(Bound<'_, PyAny>, Option<String>)>().map_err(|_| {
        PyTypeError::new_err(format!(
            "property {name:?} is given as a pair of column and type, not as {pair}"
        ))
    })?;
    Ok(PropertySpec { column: column_ref(&column)?, name, kind: kind_of(kind)? })
}

/// What a load did.
#[pyclass(frozen, get_all, module = "evergraph._native")]
pub(crate) struct LoadReport {
    edges: u64,
    vertices: u64,
    lines: u64,
    resumed_lines: u64,
    version: u64,
    seconds: f64,
    rejected: u64,
    /// The first rejected lines: (line, column, reason, text).
    rejects: Vec<(u64, u32, String, String)>,
}

impl LoadReport {
    pub(crate) fn new(inner: Inner) -> Self {
        let kept = inner.rejects.kept.into_iter();
        LoadReport {
            edges: inner.edges,
            vertices: inner.vertices,
            lines: inner.lines,
            resumed_lines: inner.resumed_lines,
            version: inner.sequence,
            seconds: inner.seconds,
            rejected: inner.rejects.count,
            rejects: kept.map(|reject| (reject.line, reject.column, reject.reason, reject.text)).collect(),
        }
    }
}
