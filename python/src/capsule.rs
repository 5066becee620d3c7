//! The fence: memory shared with other Python packages, over Arrow's C data interface and as numpy arrays.
//!
//! ```text
//!  __arrow_c_array__  ──► (schema, array) ─┐                     ┌─► stream_capsule, array_capsules
//!                                          ├─► ArrayRef ─► ... ──┤
//!  __arrow_c_stream__ ──► stream ──────────┘                     └─► borrowed_numpy: the same bytes, read-only
//! ```
//!
//! Invariant: what is imported has exactly one owner here (it is moved out of its capsule), and what is lent to numpy
//! is kept alive by the array's base object and cannot be written.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchIterator, StructArray, make_array,
};
use arrow_schema::{ArrowError, Field, SchemaRef};
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
        let reader = ArrayStreamReader::try_new(take_stream(stream.cast()?)?).map_err(refused)?;
        return reader.collect::<Result<_, _>>().map(Some).map_err(refused);
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
    // SAFETY: the producer promises that the data agrees with the interface.
    let data = unsafe { from_ffi(array, &schema) };
    data.map(make_array).map_err(refused)
}

fn take_stream(stream: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let stream = stream.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: as above, for a stream.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) })
}

fn refused(error: ArrowError) -> PyErr {
    PyTypeError::new_err(format!("the Arrow data cannot be read: {error}"))
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
