//! Vertex keys between Python and Rust: `int` and `str`.

use std::fmt::Display;

use evergraph::{Key, KeyRef, shown};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

/// The key that a Python object is, borrowed from it where it is a string.
pub(crate) fn key_of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<KeyRef<'a>> {
    if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_str().map_err(|error| no_text("a vertex key", &error, object.py()))?;
        return Ok(KeyRef::Text(text));
    }
    // True is an int to Python; as a vertex it is a slip.
    let number = if object.is_instance_of::<PyBool>() { None } else { whole_number(object)? };
    number.map(KeyRef::Int).ok_or_else(|| {
        PyTypeError::new_err(format!("a vertex key is an int or a str, not {}", type_name(object)))
    })
}

/// The number that an `int`, or a number of numpy, is; `None` if it is neither.
pub(crate) fn whole_number(object: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if !object.is_instance_of::<PyInt>() && !object.hasattr("__index__")? {
        return Ok(None);
    }
    match object.extract() {
        Ok(number) => Ok(Some(number)),
        // An array of numpy has __index__ too, and refuses unless it is a single number.
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => Ok(None),
        Err(_) => {
            let shown = shown_number(object);
            Err(PyValueError::new_err(format!("{shown} is out of the range of int64: -2^63 to 2^63 - 1")))
        }
    }
}

/// A number in a message: Python does not write out the digits of all of them.
pub(crate) fn shown_number(object: &Bound<'_, PyAny>) -> String {
    const BITS_SHOWN: u64 = 256;
    let bits = object.call_method0("bit_length").and_then(|bits| bits.extract::<u64>());
    match bits {
        Ok(bits) if bits > BITS_SHOWN => format!("a number of {bits} bits"),
        _ => shown(object),
    }
}

/// The error of a string that is no text, since half of a pair of surrogates has no UTF-8.
pub(crate) fn no_text(what: impl Display, error: &PyErr, py: Python<'_>) -> PyErr {
    PyValueError::new_err(format!("{what}: {}", error.value(py)))
}

/// A key as a Python object.
pub(crate) fn key_to_python<'py>(py: Python<'py>, key: Key) -> Bound<'py, PyAny> {
    match key {
        Key::Int(number) => PyInt::new(py, number).into_any(),
        Key::Text(text) => PyString::new(py, &text).into_any(),
    }
}

/// The type of an object, as messages name it.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().fully_qualified_name().map_or_else(|_| "that".to_owned(), |name| name.to_string())
}
