//! The fence: memory shared with other Python packages, over Arrow's C data interface and as numpy arrays.
//!
//! ```text
//!  __arrow_c_array__  ──► (schema, array) ─┐                                ┌─► stream_capsule, array_capsules
//!                                          ├─► checked ─► ArrayRef ─► ... ──┤
//!  __arrow_c_stream__ ──► stream ──────────┘                                └─► borrowed_numpy: the same bytes,
//!                                                                               read-only
//! ```
//!
//! Invariant: what is imported has exactly one owner here (it is moved out of its capsule) and was checked; what is lent
//! to numpy is kept alive by the array's base object and cannot be written.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchIterator, StructArray, make_array,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, SchemaRef};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// The chunks of a column that another package offers over the C data interface; `None` if it offers none.
pub(crate) fn import_chunks(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        return Ok(Some(vec![take_array(&schema, &array)?]));
    }
    if object.hasattr("__arrow_c_stream__")? {
        let stream = object.call_method0("__arrow_c_stream__")?;
        return take_chunks(take_stream(stream.cast()?)?).map(Some);
    }
    Ok(None)
}

fn take_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<ArrayRef> {
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds a structure of the C data interface. Moving it out leaves an empty one,
    // so that the capsule does not release it too; no other thread has it, since the method made it for this call.
    let (schema, array) =
        unsafe { (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr())) };
    if array.is_released() {
        return Err(PyValueError::new_err("the Arrow array was already taken by someone else"));
    }
    checked_array(array, &DataType::try_from(&schema).map_err(refused)?)
}

/// All arrays of a stream.
fn take_chunks(mut stream: FFI_ArrowArrayStream) -> PyResult<Vec<ArrayRef>> {
    let (Some(get_schema), Some(get_next)) = (stream.get_schema(), stream.get_next()) else {
        return Err(PyValueError::new_err("the Arrow stream was already taken by someone else"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is whole, since it has its functions, and the schema is for it to write.
    if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
        return Err(stream_failed(&mut stream));
    }
    let kind = DataType::try_from(&schema).map_err(refused)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above, for an array.
        if unsafe { get_next(&raw mut stream, &raw mut array) } != 0 {
            return Err(stream_failed(&mut stream));
        }
        if array.is_released() {
            return Ok(chunks);
        }
        chunks.push(checked_array(array, &kind)?);
    }
}

/// What a stream says of its last call, which failed.
fn stream_failed(stream: &mut FFI_ArrowArrayStream) -> PyErr {
    // SAFETY: the last call of the stream failed, so that it may be asked why. What it says is a string until the next
    // call, or null.
    let told = stream.get_last_error().and_then(|get_last_error| unsafe {
        let told = get_last_error(stream);
        (!told.is_null()).then(|| CStr::from_ptr(told).to_string_lossy().into_owned())
    });
    refused(ArrowError::CDataInterface(told.unwrap_or_else(|| "the stream failed".to_owned())))
}

/// An array of this type. Nothing in it is trusted but the lengths of its buffers, which the interface does not tell:
/// text that is no UTF-8, say, would be stored, and fail whoever reads it.
fn checked_array(array: FFI_ArrowArray, kind: &DataType) -> PyResult<ArrayRef> {
    let import_kind = import_kind(kind);
    let is_same = import_kind == *kind;
    // SAFETY: the producer promises that the data agrees with the interface.
    let data = unsafe { from_ffi_and_data_type(array, import_kind) }.map_err(refused)?;
    let data = if is_same { data } else { with_nulls(data, kind).map_err(invalid)? };
    data.validate_full().map_err(invalid)?;
    Ok(make_array(data))
}

/// The type to import what is of type `kind` as. The import takes no buffers of an array of nulls, but polars gives it
/// one, of the validity, as Arrow did at first: as of an empty struct, there may be one.
fn import_kind(kind: &DataType) -> DataType {
    let field = |field: &FieldRef| -> FieldRef {
        Arc::new(field.as_ref().clone().with_data_type(import_kind(field.data_type())))
    };
    match kind {
        DataType::Null => DataType::Struct(Fields::empty()),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item), *length),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(import_kind(values)))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        other => other.clone(),
    }
}

/// What was imported as [`import_kind`] of `kind`, as `kind`.
fn with_nulls(data: ArrayData, kind: &DataType) -> Result<ArrayData, ArrowError> {
    let kinds: Vec<&DataType> = match kind {
        DataType::Null => return Ok(ArrayData::new_null(kind, data.len())),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            vec![item.data_type()]
        }
        DataType::Dictionary(_, values) => vec![values],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => return Ok(data),
    };
    let children = data.child_data().iter().zip(kinds);
    let children = children.map(|(child, kind)| with_nulls(child.clone(), kind)).collect::<Result<_, _>>()?;
    data.into_builder().data_type(kind.clone()).child_data(children).build()
}

fn take_stream(stream: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let stream = stream.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: as above, for a stream.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) })
}

fn refused(error: ArrowError) -> PyErr {
    PyTypeError::new_err(format!("the Arrow data cannot be read: {error}"))
}

fn invalid(error: ArrowError) -> PyErr {
    let told = match error {
        ArrowError::InvalidArgumentError(told) => told,
        error => error.to_string(),
    };
    PyValueError::new_err(format!("the Arrow data is not valid: {told}"))
}

/// A table as a capsule that holds a stream of one batch.
pub(crate) fn stream_capsule<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let schema: SchemaRef = batch.schema();
    let reader = RecordBatchIterator::new([Ok(batch.clone())], schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// A table as the pair of capsules of a struct array.
pub(crate) fn table_capsules<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyTuple>> {
    let array: ArrayRef = Arc::new(StructArray::from(batch.clone()));
    let field = Field::new_struct("", batch.schema().fields().clone(), false);
    array_capsules(py, &array, &field)
}

/// A column as the pair of capsules `__arrow_c_array__` gives.
pub(crate) fn array_capsules<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    field: &Field,
) -> PyResult<Bound<'py, PyTuple>> {
    let failed = |error: ArrowError| PyValueError::new_err(error.to_string());
    let (data, _) = to_ffi(&array.to_data()).map_err(failed)?;
    let schema = FFI_ArrowSchema::try_from(field).map_err(failed)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    PyTuple::new(py, [schema, PyCapsule::new_with_value(py, data, ARRAY)?])
}

/// Keeps the buffers of an array alive for as long as numpy uses them.
#[pyclass(frozen, module = "evergraph._native")]
struct Owner {
    _array: ArrayRef,
}

/// The values of an array as a numpy array over the same memory, read-only. Nulls are the caller's business.
pub(crate) fn borrowed_numpy<'py, T>(
    py: Python<'py>,
    array: &PrimitiveArray<T>,
) -> PyResult<Bound<'py, PyArray1<T::Native>>>
where
    T: ArrowPrimitiveType,
    T::Native: Element,
{
    let owner = Bound::new(py, Owner { _array: Arc::new(array.clone()) })?;
    // SAFETY: the owner, which numpy keeps as the base of the new array, holds the buffer that the values lie in, and
    // Arrow buffers are neither moved nor changed.
    let lent =
        unsafe { PyArray1::borrow_from_array(&ArrayView1::from(&array.values()[..]), owner.into_any()) };
    Ok((*lent.try_readwrite()?.make_nonwriteable()).clone())
}
