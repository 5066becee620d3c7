//! Columns of edges on their way in: whatever Python calls a column, as the columns of a batch.
//!
//! ```text
//!  list, tuple ───────────────────────────────► one value at a time ─┐
//!  Arrow, polars, pandas ─► C data interface ─► arrow.rs ────────────┼─► Column ─► KeyColumn (keys)
//!  numpy ─► bool, int, float, datetime64 ─────► as they are ─────────┤
//!        └► str and object ─► tolist() ───────► one value at a time ─┘
//! ```

use evergraph::{Column, ColumnValues, EdgeBatch, KeyColumn, PropertyType, Value};
use numpy::{Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::arrow::column_of_chunks;
use crate::capsule::import_chunks;
use crate::key::type_name;
use crate::value::value_of;

/// The edges that two columns of keys and any number of property columns are.
pub(crate) fn batch_of(
    src: &Bound<'_, PyAny>,
    dst: &Bound<'_, PyAny>,
    columns: Option<&Bound<'_, PyDict>>,
) -> PyResult<EdgeBatch> {
    let (src, dst) = (keys_of("src", src)?, keys_of("dst", dst)?);
    let mut batch = EdgeBatch { src, dst, columns: Vec::new() };
    check_length("dst", batch.dst.len(), batch.len())?;
    for (name, column) in columns.into_iter().flatten() {
        let name: String = name.extract()?;
        let column = column_of(&name, &column)?;
        check_length(&name, column.len(), batch.len())?;
        batch.columns.push((name, column));
    }
    Ok(batch)
}

fn check_length(name: &str, found: usize, expected: usize) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    let message = format!("column {name:?} has {found} rows, but src has {expected}: give one for each edge");
    Err(PyValueError::new_err(message))
}

/// A column of vertex keys.
pub(crate) fn keys_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<KeyColumn> {
    let column = column_of(name, object)?;
    if let Some(row) = column.validity.as_ref().and_then(|validity| validity.iter().position(|valid| !valid))
    {
        return Err(PyValueError::new_err(format!(
            "column {name:?}, row {row}: a vertex key cannot be null"
        )));
    }
    match column.values {
        ColumnValues::Int64(keys) => Ok(KeyColumn::Int(keys)),
        ColumnValues::String(keys) => Ok(KeyColumn::Text(keys)),
        _ if column.is_empty() => Ok(KeyColumn::Int(Vec::new())),
        _ => Err(PyTypeError::new_err(format!(
            "column {name:?}: vertex keys are integers or strings, not {}",
            column.property_type()
        ))),
    }
}

/// A column of property values.
pub(crate) fn column_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Column> {
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

fn of_array(object: &Bound<'_, PyAny>) -> PyResult<Column> {
    let py = object.py();
    match import_chunks(object) {
        Ok(Some(chunks)) => return column_of_chunks(&chunks),
        Ok(None) => {}
        // pandas offers the interface whether or not pyarrow, which it needs for it, is there.
        Err(error) if error.is_instance_of::<PyImportError>(py) => {}
        Err(error) => return Err(error),
    }
    if object.hasattr("__array__")? {
        let array = py.import("numpy")?.call_method1("asarray", (object,))?;
        return of_numpy(array.cast()?);
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

fn of_numpy(array: &Bound<'_, PyUntypedArray>) -> PyResult<Column> {
    if array.ndim() != 1 {
        let message = format!("an array of one dimension is wanted, not of {}", array.ndim());
        return Err(PyValueError::new_err(message));
    }
    let values = match array.dtype().kind() {
        b'b' => ColumnValues::Bool(numbers(array, "bool")?),
        b'i' => ColumnValues::Int64(numbers(array, "int64")?),
        b'u' => ColumnValues::Int64(unsigned(array)?),
        b'f' => ColumnValues::Float64(numbers(array, "float64")?),
        b'M' => {
            let micros = array.call_method1("astype", ("datetime64[us]",))?;
            return Ok(of_instants(numbers(&micros.call_method1("view", ("int64",))?, "int64")?));
        }
        b'O' | b'U' | b'T' => return of_values(&array.call_method0("tolist")?),
        _ => return Err(PyTypeError::new_err(format!("numpy arrays of {} cannot be stored", array.dtype()))),
    };
    Ok(Column { values, validity: None })
}

/// The numbers of an array, brought to the type `T`, which numpy calls `dtype`.
fn numbers<T: Element + Copy>(array: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    let wanted = PyDict::new(array.py());
    wanted.set_item("copy", false)?;
    let array = array.call_method("astype", (dtype,), Some(&wanted))?;
    let array = array
        .cast::<PyArray1<T>>()
        .map_err(|_| PyTypeError::new_err(format!("cannot be read as {dtype}")))?;
    let array = array.try_readonly()?;
    Ok(match array.as_slice() {
        Ok(slice) => slice.to_vec(),
        // Not contiguous.
        Err(_) => array.as_array().iter().copied().collect(),
    })
}

fn unsigned(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<i64>> {
    let numbers: Vec<u64> = numbers(array, "uint64")?;
    let signed = numbers.iter().enumerate().map(|(row, &number)| {
        i64::try_from(number)
            .map_err(|_| PyValueError::new_err(format!("row {row}: {number} is out of the range of int64")))
    });
    signed.collect()
}

/// Times of numpy, which writes "not a time" as the smallest number.
fn of_instants(micros: Vec<i64>) -> Column {
    let nulls = micros.contains(&i64::MIN);
    let validity = nulls.then(|| micros.iter().map(|&micros| micros != i64::MIN).collect());
    let values = micros.into_iter().map(|micros| if micros == i64::MIN { 0 } else { micros }).collect();
    Column { values: ColumnValues::Timestamp(values), validity }
}

/// A list of Python values. Its type is that of its values, floats if there are ints and floats, and strings if
/// there are only nulls.
fn of_values(list: &Bound<'_, PyAny>) -> PyResult<Column> {
    let mut values = Vec::with_capacity(list.len()?);
    let mut kind: Option<PropertyType> = None;
    for (row, item) in list.try_iter()?.enumerate() {
        let at_row = |error: PyErr| {
            let py = list.py();
            if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py) {
                PyValueError::new_err(format!("row {row}: {}", error.value(py)))
            } else {
                error
            }
        };
        let value = value_of(&item?).map_err(at_row)?;
        kind = match (kind, value.property_type()) {
            (Some(PropertyType::Int64), Some(PropertyType::Float64)) => Some(PropertyType::Float64),
            (None, found) => found,
            (kind, _) => kind,
        };
        values.push(value);
    }
    let kind = kind.unwrap_or(if values.is_empty() { PropertyType::Int64 } else { PropertyType::String });
    let mut column = Column::new(kind);
    for (row, value) in values.into_iter().enumerate() {
        column.push(value).map_err(|value: Value| {
            PyTypeError::new_err(format!(
                "row {row}: {value} among values of type {kind}: one type for each column"
            ))
        })?;
    }
    Ok(column)
}
