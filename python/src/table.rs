//! Tables on their way out: record batches and their columns, as Arrow capsules, numpy arrays and Python values.
//!
//! Invariant: nothing is copied that numpy can read as it is: numbers and times without nulls share memory.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyCapsule, PyList, PyString, PyTuple};

use crate::capsule::{array_capsules, borrowed_numpy, stream_capsule, table_capsules};
use crate::value::{date_to_python, time_to_python};

/// A table: columns of one length.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Table {
    pub(crate) batch: RecordBatch,
}

impl Table {
    /// A table of these columns.
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Table { batch }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn column(&self, index: usize) -> PyResult<Column> {
        let array = self.batch.columns().get(index);
        let array = array.ok_or_else(|| PyIndexError::new_err(format!("there is no column {index}")))?;
        Ok(Column { array: array.clone(), field: self.batch.schema().fields()[index].clone() })
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave casting to the consumer, and this one does.
        let _ = requested_schema;
        stream_capsule(py, &self.batch)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        table_capsules(py, &self.batch)
    }
}

/// A column of a table.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Column {
    pub(crate) array: ArrayRef,
    pub(crate) field: FieldRef,
}

#[pymethods]
impl Column {
    #[getter]
    fn name(&self) -> &str {
        self.field.name()
    }

    /// The type, by the names the schema uses.
    #[getter]
    fn type_name(&self) -> String {
        type_name(self.field.data_type())
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn value<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if row >= self.array.len() {
            let message = format!("there is no row {row}: column {:?} has {}", self.name(), self.array.len());
            return Err(PyIndexError::new_err(message));
        }
        value_at(py, &self.array, row)
    }

    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values: PyResult<Vec<_>> =
            (0..self.array.len()).map(|row| value_at(py, &self.array, row)).collect();
        PyList::new(py, values?)
    }

    /// Of each row, whether it is null.
    fn nulls<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, (0..self.array.len()).map(|row| self.array.is_null(row)))
    }

    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_numpy(py, &self.array)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        array_capsules(py, &self.array, &self.field)
    }
}

fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "bool".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 => "string".to_owned(),
        DataType::Binary | DataType::LargeBinary => "bytes".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Timestamp(..) => "timestamp".to_owned(),
        DataType::List(item) | DataType::LargeList(item) => format!("list<{}>", type_name(item.data_type())),
        other => other.to_string().to_lowercase(),
    }
}

fn unknown(kind: &DataType) -> PyErr {
    PyTypeError::new_err(format!("columns of type {kind} have no Python value"))
}

/// The value of a row that exists.
fn value_at<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! number {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(row).into_bound_py_any(py)?
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => PyBool::new(py, array.as_boolean().value(row)).to_owned().into_any(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(row)).into_any(),
        DataType::LargeBinary => PyBytes::new(py, array.as_binary::<i64>().value(row)).into_any(),
        DataType::Date32 => date_to_python(py, array.as_primitive::<Date32Type>().value(row))?,
        DataType::List(_) => list_to_python(py, &array.as_list::<i32>().value(row))?,
        DataType::LargeList(_) => list_to_python(py, &array.as_list::<i64>().value(row))?,
        DataType::Utf8 => PyString::new(py, array.as_string::<i32>().value(row)).into_any(),
        DataType::LargeUtf8 => PyString::new(py, array.as_string::<i64>().value(row)).into_any(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            time_to_python(py, array.as_primitive::<TimestampMicrosecondType>().value(row))?
        }
        other => return Err(unknown(other)),
    })
}

fn list_to_python<'py>(py: Python<'py>, items: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let values: PyResult<Vec<_>> = (0..items.len()).map(|row| value_at(py, items, row)).collect();
    Ok(PyList::new(py, values?)?.into_any())
}

/// A column as numpy has it. With nulls: numbers become float64 with NaN, times NaT, the rest objects with `None`.
fn to_numpy<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! shared {
        ($kind:ty) => {
            borrowed_numpy(py, array.as_primitive::<$kind>())?.into_any()
        };
    }
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => return times_to_numpy(py, array),
        DataType::Date32 => return dates_to_numpy(py, array),
        _ => {}
    }
    if array.null_count() > 0 {
        return nullable_to_numpy(py, array);
    }
    Ok(match array.data_type() {
        DataType::Boolean => {
            PyArray1::from_vec(py, array.as_boolean().values().iter().collect::<Vec<bool>>()).into_any()
        }
        DataType::Int8 => shared!(Int8Type),
        DataType::Int16 => shared!(Int16Type),
        DataType::Int32 => shared!(Int32Type),
        DataType::Int64 => shared!(Int64Type),
        DataType::UInt8 => shared!(UInt8Type),
        DataType::UInt16 => shared!(UInt16Type),
        DataType::UInt32 => shared!(UInt32Type),
        DataType::UInt64 => shared!(UInt64Type),
        DataType::Float32 => shared!(Float32Type),
        DataType::Float64 => shared!(Float64Type),
        _ => objects_to_numpy(py, array)?,
    })
}

/// Days, which numpy keeps in 64 bits.
fn dates_to_numpy<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let days = array.as_primitive::<Date32Type>().iter().map(|day| day.map_or(i64::MIN, i64::from));
    PyArray1::from_vec(py, days.collect()).call_method1("view", ("datetime64[D]",))
}

fn times_to_numpy<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let times = array.as_primitive::<TimestampMicrosecondType>();
    let micros = if times.null_count() == 0 {
        borrowed_numpy(py, times)?
    } else {
        PyArray1::from_vec(py, times.iter().map(|micros| micros.unwrap_or(i64::MIN)).collect())
    };
    micros.call_method1("view", ("datetime64[us]",))
}

fn nullable_to_numpy<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! floats {
        ($kind:ty) => {
            array
                .as_primitive::<$kind>()
                .iter()
                .map(|value| value.map_or(f64::NAN, |value| value as f64))
                .collect()
        };
    }
    let floats: Vec<f64> = match array.data_type() {
        DataType::Int8 => floats!(Int8Type),
        DataType::Int16 => floats!(Int16Type),
        DataType::Int32 => floats!(Int32Type),
        DataType::Int64 => floats!(Int64Type),
        DataType::UInt8 => floats!(UInt8Type),
        DataType::UInt16 => floats!(UInt16Type),
        DataType::UInt32 => floats!(UInt32Type),
        DataType::UInt64 => floats!(UInt64Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        _ => return objects_to_numpy(py, array),
    };
    Ok(PyArray1::from_vec(py, floats).into_any())
}

fn objects_to_numpy<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let values: PyResult<Vec<Py<PyAny>>> =
        (0..array.len()).map(|row| Ok(value_at(py, array, row)?.unbind())).collect();
    Ok(PyArray1::from_vec(py, values?).into_any())
}

/// These rows of a table of keys and numbers, in this order.
///
/// # Panics
/// If there is no such row.
pub(crate) fn take(batch: &RecordBatch, rows: &[usize]) -> RecordBatch {
    let rows: Vec<Option<usize>> = rows.iter().copied().map(Some).collect();
    let columns = batch.columns().iter().map(|array| take_values(array, &rows)).collect();
    RecordBatch::try_new(batch.schema(), columns).expect("rows of a table have its types")
}

/// These values of an array of keys or numbers, null where there is no row.
///
/// # Panics
/// If there is no such row.
pub(crate) fn take_values(array: &ArrayRef, rows: &[Option<usize>]) -> ArrayRef {
    fn pick<A: ArrayAccessor, B: FromIterator<Option<A::Item>>>(array: A, rows: &[Option<usize>]) -> B {
        let value = |row: usize| array.is_valid(row).then(|| array.value(row));
        rows.iter().map(|row| row.and_then(value)).collect()
    }
    match array.data_type() {
        DataType::Float64 => Arc::new(pick::<_, Float64Array>(array.as_primitive::<Float64Type>(), rows)),
        DataType::Utf8 => Arc::new(pick::<_, StringArray>(array.as_string::<i32>(), rows)),
        DataType::LargeUtf8 => Arc::new(pick::<_, LargeStringArray>(array.as_string::<i64>(), rows)),
        _ => Arc::new(pick::<_, Int64Array>(array.as_primitive::<Int64Type>(), rows)),
    }
}
