//! Columns of edges on their way in: whatever Python calls a column, as the columns of a batch.
//!
//! ```text
//!  list, tuple ───────────────────────────────► one value at a time ─┐
//!  Arrow, polars, pandas ─► C data interface ─► arrow.rs ────────────┼─► Column ─► KeyColumn (keys)
//!  numpy ─┬► bool, int, float ────────────────► as they are ─────────┤
//!         ├► datetime64 ─► times.rs ──────────────────────────────────┤
//!         ├► two dimensions ─► a list a row ───► one row at a time ───┤
//!         └► str, bytes, object ─► tolist() ───► one value at a time ─┘
//! ```

use arrow_array::Array;
use evergraph::{Cells, Column, EdgeBatch, EdgeType, KeyColumn, PropertyType, SchemaError, Value, shown};
use numpy::{Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::arrow::column_of_chunks;
use crate::capsule::import_chunks;
use crate::error::Raise;
use crate::gate::copying;
use crate::key::type_name;
use crate::times::times_of;
use crate::value::{out_of_range, value_of};

/// A column as far as it tells its type.
pub(crate) enum Given {
    Typed(Column),
    /// Nulls and lists of nothing else, whatever type they are of.
    Open(Vec<Value>),
}

impl Given {
    fn len(&self) -> usize {
        match self {
            Given::Typed(column) => column.len(),
            Given::Open(values) => values.len(),
        }
    }

    /// As a property of edges; none if it is not there and all is null, which declares nothing. A strict store is to
    /// refuse it even then.
    fn fit(
        self,
        owner: Option<&EdgeType>,
        edge_type: &str,
        name: &str,
        is_strict: bool,
    ) -> Result<Option<Column>, SchemaError> {
        let values = match self {
            Given::Typed(column) => return Ok(Some(column)),
            Given::Open(values) => values,
        };
        let (owner_name, name_text) = (edge_type.to_owned(), name.to_owned());
        let Some((_, property)) = owner.and_then(|owner| owner.property(name)) else {
            let list = values.iter().find(|value| **value != Value::Null);
            return match list.map(shown) {
                // The store, which refuses the name, sees nulls of some type.
                _ if is_strict => Ok(Some(nulls(values.len()))),
                Some(found) => Err(SchemaError::Untyped { owner: owner_name, name: name_text, found }),
                None => Ok(None),
            };
        };
        let mut column = Column::new(property.kind);
        for (row, value) in values.into_iter().enumerate() {
            column.push(value).map_err(|value| SchemaError::PropertyType {
                owner: edge_type.to_owned(),
                name: name.to_owned(),
                row: Some(row),
                expected: property.kind,
                found: value.misfit(property.kind),
            })?;
        }
        Ok(Some(column))
    }
}

/// Nulls of a type that does not matter.
fn nulls(count: usize) -> Column {
    let mut column = Column::new(PropertyType::Bool);
    column.push_nulls(count);
    column
}

/// The edges that two columns of keys are.
pub(crate) fn ends_of(src: &Bound<'_, PyAny>, dst: &Bound<'_, PyAny>) -> PyResult<EdgeBatch> {
    let (src, dst) = (keys_of("src", src)?, keys_of("dst", dst)?);
    let batch = EdgeBatch { src, dst, columns: Vec::new() };
    check_length("dst", batch.dst.len(), batch.len())?;
    Ok(batch)
}

/// The edges that two columns of keys and any number of property columns are; `owner` is their type, if there is one.
pub(crate) fn batch_of(
    src: &Bound<'_, PyAny>,
    dst: &Bound<'_, PyAny>,
    columns: &Bound<'_, PyDict>,
    (edge_type, owner): (&str, Option<&EdgeType>),
    is_strict: bool,
) -> PyResult<EdgeBatch> {
    let mut batch = ends_of(src, dst)?;
    for (name, column) in columns {
        let name: String = name.extract()?;
        let given = column_of(&name, &column)?;
        check_length(&name, given.len(), batch.len())?;
        let column = given.fit(owner, edge_type, &name, is_strict).map_err(|error| error.raise(src.py()))?;
        batch.columns.extend(column.map(|column| (name, column)));
    }
    Ok(batch)
}

fn check_length(name: &str, found: usize, expected: usize) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    let rows = if found == 1 { "row" } else { "rows" };
    let message =
        format!("column {name:?} has {found} {rows}, but src has {expected}: give one for each edge");
    Err(PyValueError::new_err(message))
}

/// A column of vertex keys.
pub(crate) fn keys_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<KeyColumn> {
    let column = match column_of(name, object)? {
        Given::Typed(column) => column,
        Given::Open(values) => {
            let row = values.iter().position(|value| *value != Value::Null);
            return match (values.is_empty(), row) {
                (true, _) => Ok(KeyColumn::Int(Vec::new())),
                (_, None) => Err(null_key(name, 0)),
                (_, Some(row)) => Err(PyTypeError::new_err(format!(
                    "column {name:?}, row {row}: vertex keys are integers or strings, not lists"
                ))),
            };
        }
    };
    if let Some(row) = column.validity.as_ref().and_then(|validity| validity.iter().position(|valid| !valid))
    {
        return Err(null_key(name, row));
    }
    if column.is_empty() {
        return Ok(KeyColumn::Int(Vec::new()));
    }
    let bytes = column.len() * size_of::<i64>();
    copying(object.py(), bytes, || column.into_keys()).map_err(|column| match column.property_type() {
        PropertyType::UInt64 => PyValueError::new_err(format!(
            "column {name:?}: a vertex key is out of the range of int64: -2^63 to 2^63 - 1"
        )),
        kind => {
            PyTypeError::new_err(format!("column {name:?}: vertex keys are integers or strings, not {kind}"))
        }
    })
}

fn null_key(name: &str, row: usize) -> PyErr {
    PyValueError::new_err(format!("column {name:?}, row {row}: a vertex key cannot be null"))
}

/// A column of property values.
fn column_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Given> {
    let column = if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        of_values(object)
    } else {
        of_array(object)
    };
    // The same error, with the name of the column in front.
    column.map_err(|error| {
        let py = object.py();
        let message = format!("column {name:?}: {}", error.value(py));
        if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(message)
        } else if error.is_instance_of::<PyValueError>(py) {
            PyValueError::new_err(message)
        } else {
            error
        }
    })
}

fn of_array(object: &Bound<'_, PyAny>) -> PyResult<Given> {
    let py = object.py();
    match import_chunks(object) {
        // As polars gives its objects: their addresses as bytes.
        Ok(Some(_)) if object.getattr("dtype").is_ok_and(|dtype| dtype.to_string() == "Object") => {
            return Err(PyTypeError::new_err(
                "a column of Python objects cannot be stored: cast it, or give a list",
            ));
        }
        Ok(Some(chunks)) => {
            let bytes = chunks.iter().map(|chunk| chunk.get_array_memory_size()).sum();
            return copying(py, bytes, || column_of_chunks(&chunks));
        }
        Ok(None) => {}
        // pandas offers the interface whether or not pyarrow, which it needs for it, is there.
        Err(error) if error.is_instance_of::<PyImportError>(py) => {}
        Err(error) => return Err(error),
    }
    if let Some(given) = of_nullable(object)? {
        return Ok(given);
    }
    if object.hasattr("__array__")? {
        let array = match is_masked(object)? {
            true => object.clone(),
            false => py.import("numpy")?.call_method1("asarray", (object,))?,
        };
        let array: &Bound<'_, PyUntypedArray> = array.cast()?;
        return match (array.ndim(), array.dtype().kind()) {
            (1, b'O' | b'U' | b'T' | b'S') => of_values(&array.call_method0("tolist")?),
            _ => of_numpy(array).map(Given::Typed),
        };
    }
    if object.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a column is wanted, not a single str"));
    }
    match object.try_iter() {
        Ok(items) => of_values(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.as_any()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a column is a numpy array, an Arrow, pandas or polars column, or a list, not {}",
            type_name(object)
        ))),
    }
}

/// The column of what pandas does not keep as numpy has it, if there are nulls in it: as an array of numpy these would be NaN, and
/// integers doubles.
fn of_nullable(object: &Bound<'_, PyAny>) -> PyResult<Option<Given>> {
    let numpy = object.py().import("numpy")?;
    let Ok(dtype) = object.getattr("dtype") else { return Ok(None) };
    if dtype.is_instance(&numpy.getattr("dtype")?)? || !object.hasattr("isna")? {
        return Ok(None);
    }
    let is_null = numpy.call_method1("asarray", (object.call_method0("isna")?, "bool"))?;
    if !is_null.call_method0("any")?.is_truthy()? {
        return Ok(None);
    }
    let cells = dtype.getattr("numpy_dtype").ok().filter(|dtype| {
        let kind = dtype.getattr("kind").and_then(|kind| kind.extract::<String>());
        kind.is_ok_and(|kind| "biuf".contains(&kind))
    });
    let Some(cells) = cells else {
        let values = numpy.call_method1("array", (object, "object"))?;
        values.set_item(is_null, object.py().None())?;
        return of_values(&values.call_method0("tolist")?).map(Some);
    };
    let (filled, masked) = (PyDict::new(object.py()), PyDict::new(object.py()));
    filled.set_item("dtype", cells)?;
    filled.set_item("na_value", 0)?;
    masked.set_item("mask", is_null)?;
    let values = object.call_method("to_numpy", (), Some(&filled))?;
    let values = numpy.getattr("ma")?.call_method("array", (values,), Some(&masked))?;
    of_numpy(values.cast()?).map(|column| Some(Given::Typed(column)))
}

fn of_numpy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Column> {
    let kind = array.dtype().kind();
    match (array.ndim(), kind) {
        (1, _) => {}
        (2, b'b' | b'i' | b'u' | b'f') => return of_rows(array),
        (dimensions, _) => {
            let message = format!("an array of one dimension is wanted, not of {dimensions}");
            return Err(PyValueError::new_err(message));
        }
    }
    let column = match kind {
        b'M' => times_of(array, |row| format!("row {row}: "))?,
        _ => of_cells(array)?,
    };
    without_masked(column, array)
}

/// Whether it is an array of `numpy.ma`, which says of each value whether it is one.
pub(crate) fn is_masked(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(&object.py().import("numpy.ma")?.getattr("MaskedArray")?)
}

/// The column of an array, null where that is masked.
fn without_masked(column: Column, array: &Bound<'_, PyUntypedArray>) -> PyResult<Column> {
    if !is_masked(array)? {
        return Ok(column);
    }
    let mask = array.py().import("numpy.ma")?.call_method1("getmaskarray", (array,))?;
    let mask = words::<u8>(&mask, "uint8")?;
    let validity = mask.iter().enumerate().map(|(row, &masked)| masked == 0 && !column.is_null(row));
    let validity: Vec<bool> = validity.collect();
    Ok(column.with_validity(Some(validity).filter(|validity| validity.contains(&false))))
}

/// The values of an array of one dimension that are cells as they are.
fn of_cells(array: &Bound<'_, PyUntypedArray>) -> PyResult<Column> {
    let dtype = array.dtype();
    let named = PropertyType::from_name(&dtype.getattr("name")?.extract::<String>()?);
    let Some((kind, width)) = named.and_then(|kind| Some((kind, kind.width()?))) else {
        return Err(PyTypeError::new_err(format!("numpy arrays of {dtype} cannot be stored: cast them")));
    };
    let cells = match width {
        1 => Cells::One(words(array, "uint8")?),
        2 => Cells::Two(words(array, "uint16")?),
        4 => Cells::Four(words(array, "uint32")?),
        _ => Cells::Eight(words(array, "uint64")?),
    };
    Column::of_cells(kind, cells).ok_or_else(|| PyTypeError::new_err(format!("cannot read {dtype}")))
}

/// The cells of an array as words of their width, which numpy calls `dtype`.
pub(crate) fn words<T: Element + Copy + Sync>(array: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    // In the byte order of the machine, side by side, before they are looked at as words.
    let native = array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
    let array = array.py().import("numpy")?.call_method1("ascontiguousarray", (array, native))?;
    let array = array.call_method1("view", (dtype,))?;
    let array = array
        .cast::<PyArray1<T>>()
        .map_err(|_| PyTypeError::new_err(format!("cannot be read as {dtype}")))?;
    let array = array.try_readonly()?;
    Ok(match array.as_slice() {
        Ok(slice) => copying(array.py(), size_of_val(slice), || slice.to_vec()),
        Err(_) => array.as_array().iter().copied().collect(),
    })
}

/// The rows of an array of two dimensions, each a list.
fn of_rows(array: &Bound<'_, PyUntypedArray>) -> PyResult<Column> {
    let (rows, items) = (array.shape()[0], array.shape()[1]);
    let flat = of_numpy(array.call_method1("reshape", (-1,))?.cast()?)?;
    let scalar = flat.property_type().as_scalar();
    let kind = scalar.map_or(PropertyType::String, PropertyType::list);
    let mut column = Column::new(kind);
    for row in 0..rows {
        let list = Value::List((row * items..(row + 1) * items).map(|item| flat.get(item)).collect());
        column.push(list).map_err(|value| PyTypeError::new_err(format!("row {row}: {}", shown(&value))))?;
    }
    Ok(column)
}

/// A list of Python values. Its type is that which holds all of them.
fn of_values(list: &Bound<'_, PyAny>) -> PyResult<Given> {
    let mut values = Vec::with_capacity(list.len()?);
    let mut kind: Option<PropertyType> = None;
    for (row, item) in list.try_iter()?.enumerate() {
        let at_row = |error: PyErr| {
            let py = list.py();
            if error.is_instance_of::<PyOverflowError>(py) {
                PyValueError::new_err(format!("row {row}: {}", out_of_range(&error.value(py).to_string())))
            } else if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py) {
                PyValueError::new_err(format!("row {row}: {}", error.value(py)))
            } else {
                error
            }
        };
        let value = value_of(&item?).map_err(at_row)?;
        kind = match (kind, value.type_told()) {
            (Some(kind), Some(found)) => Some(kind.common(found).unwrap_or(kind)),
            (kind, found) => kind.or(found),
        };
        values.push(value);
    }
    let Some(kind) = kind else { return Ok(Given::Open(values)) };
    let mut column = Column::new(kind);
    for (row, value) in values.into_iter().enumerate() {
        column.push(value).map_err(|value: Value| {
            PyTypeError::new_err(format!(
                "row {row}: {} among values of type {kind}: one type for each column",
                value.misfit(kind)
            ))
        })?;
    }
    Ok(Given::Typed(column))
}
