//! Property values between Python and Rust: `None`, `bool`, `int`, `float`, `str`, `bytes`, `date` and `datetime`, lists
//! of them, and the scalars and one-dimensional arrays of numpy that are like them.
//!
//! A `datetime` with a time zone keeps its instant; one without is taken as UTC. They come back in UTC.

use evergraph::{PropertyType, SchemaError, Value};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt, PyList,
    PyString, PyTuple, PyTzInfo, PyTzInfoAccess,
};

use crate::error::Raise;
use crate::key::{shown_number, type_name};
use crate::times::times_of;

const DAY_SECONDS: i64 = 86_400;
const SECOND_MICROS: i64 = 1_000_000;
/// What Python calls 1970-01-01, counting days from the year 1.
const EPOCH_ORDINAL: i64 = 719_163;

/// The value that a Python object is.
///
/// # Errors
/// `OverflowError`, of the digits, for an integer that no type holds: the caller knows what it was to be.
pub(crate) fn value_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match scalar_of(object)? {
        Some(value) => Ok(value),
        None => list_of(object),
    }
}

/// The items of what [`scalar_of`] calls a list. It looks at no list among them: one may hold itself.
fn list_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let items = match is_list(object) {
        true => object.try_iter()?,
        false => object.call_method0("tolist")?.try_iter()?,
    };
    let item = |item: PyResult<Bound<'_, PyAny>>| {
        let nested = || PyTypeError::new_err("a list of lists cannot be stored");
        scalar_of(&item?)?.ok_or_else(nested)
    };
    items.map(item).collect::<PyResult<Vec<Value>>>().map(Value::List)
}

fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()
}

/// A scalar, of Python or of numpy; none for a list or an array.
fn scalar_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Some(value) = plain_of(object)? {
        return Ok(Some(value));
    }
    if is_list(object) {
        return Ok(None);
    }
    let unfit = || {
        PyTypeError::new_err(format!(
            "a value is None, bool, int, float, str, bytes, date, datetime or a list of them, not {}",
            type_name(object)
        ))
    };
    let Ok((dimensions, kind)) = shape_of(object) else {
        return if is_pandas_na(object)? { Ok(Some(Value::Null)) } else { Err(unfit()) };
    };
    match (dimensions, kind.as_str()) {
        (1, "b" | "i" | "u" | "f" | "U" | "T" | "O") => Ok(None),
        (0, "M") => {
            let array = object.py().import("numpy")?.call_method1("atleast_1d", (object,))?;
            times_of(&array, |_| String::new()).map(|column| Some(column.get(0)))
        }
        // As Python has it, which is None where it is masked. That of a longdouble is a longdouble again.
        (0, "b" | "i" | "u" | "f" | "U" | "T" | "S") => {
            plain_of(&object.call_method0("tolist")?)?.map(Some).ok_or_else(unfit)
        }
        _ => Err(unfit()),
    }
}

/// Whether it is `pandas.NA`, of which there is one; nothing is imported to find out.
fn is_pandas_na(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = object.py().import("sys")?.getattr("modules")?;
    let pandas = modules.call_method1("get", ("pandas",))?;
    Ok(!pandas.is_none() && pandas.getattr("NA").is_ok_and(|na| na.is(object)))
}

/// The dimensions of what is like an array of numpy, `tolist` included, and the kind of its dtype.
fn shape_of(object: &Bound<'_, PyAny>) -> PyResult<(usize, String)> {
    object.getattr("tolist")?;
    let dimensions = object.getattr("ndim")?.extract()?;
    Ok((dimensions, object.getattr("dtype")?.getattr("kind")?.extract()?))
}

/// A scalar of a type of Python's own; none for everything else.
fn plain_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if object.is_none() {
        return Ok(Some(Value::Null));
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Some(Value::Bool(flag.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        return match (object.extract::<u64>(), object.extract::<i64>()) {
            (Ok(number), _) => Ok(Some(Value::unsigned(number))),
            (_, Ok(number)) => Ok(Some(Value::Int(number))),
            _ => Err(PyOverflowError::new_err(shown_number(object))),
        };
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Some(Value::Float(number.value())));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(Value::Text(text.to_str()?.to_owned())));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(Value::Bytes(bytes.as_bytes().to_vec())));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Some(Value::Bytes(bytes.to_vec())));
    }
    // A datetime is a date to Python.
    if let Ok(time) = object.cast::<PyDateTime>() {
        return time_of(time).map(Some);
    }
    if let Ok(date) = object.cast::<PyDate>() {
        let days: i64 = date.call_method0("toordinal")?.extract()?;
        return Ok(Some(Value::Date((days - EPOCH_ORDINAL) as i32)));
    }
    Ok(None)
}

fn time_of(time: &Bound<'_, PyDateTime>) -> PyResult<Value> {
    // Only pandas.NaT, "not a time", differs from itself.
    if time.ne(time)? {
        return Ok(Value::Null);
    }
    let py = time.py();
    let aware = if time.get_tzinfo().is_some() {
        time.as_any().clone()
    } else {
        let fields = PyDict::new(py);
        fields.set_item("tzinfo", PyTzInfo::utc(py)?)?;
        time.call_method("replace", (), Some(&fields))?
    };
    let since = aware.sub(epoch(py)?)?;
    let since = since.cast::<PyDelta>()?;
    let seconds = i64::from(since.get_days()) * DAY_SECONDS + i64::from(since.get_seconds());
    Ok(Value::Timestamp(seconds * SECOND_MICROS + i64::from(since.get_microseconds())))
}

/// A value as a Python object.
///
/// A time outside the years 1 to 9999, which Python's `date` and `datetime` cannot hold, is a `numpy.datetime64`.
pub(crate) fn value_to_python<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
        Value::Int(number) => PyInt::new(py, number).into_any(),
        Value::UInt(number) => PyInt::new(py, number).into_any(),
        Value::Float(number) => PyFloat::new(py, number).into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
        Value::Date(days) => date_to_python(py, days)?,
        Value::List(items) => {
            let items: PyResult<Vec<_>> = items.into_iter().map(|item| value_to_python(py, item)).collect();
            PyList::new(py, items?)?.into_any()
        }
        Value::Text(text) => PyString::new(py, &text).into_any(),
        Value::Timestamp(micros) => time_to_python(py, micros)?,
    })
}

/// A day as a `date`.
pub(crate) fn date_to_python<'py>(py: Python<'py>, days: i32) -> PyResult<Bound<'py, PyAny>> {
    let ordinal = i64::from(days) + EPOCH_ORDINAL;
    let date = py.get_type::<PyDate>().call_method1("fromordinal", (ordinal,));
    date.or_else(|_| far_time(py, days.into(), "D"))
}

/// An instant as a `datetime` in UTC.
pub(crate) fn time_to_python<'py>(py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
    let (seconds, rest) = (micros.div_euclid(SECOND_MICROS), micros.rem_euclid(SECOND_MICROS));
    let (days, seconds) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    // All three fit 32 bits: 2^63 microseconds are 1.1e8 days.
    let since = PyDelta::new(py, days as i32, seconds as i32, rest as i32, false)?;
    epoch(py)?.add(since).or_else(|_| far_time(py, micros, "us"))
}

/// A time that Python has no year for.
fn far_time<'py>(py: Python<'py>, since_epoch: i64, unit: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("numpy")?.call_method1("datetime64", (since_epoch, unit))
}

fn epoch(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyAny>> {
        let utc = PyTzInfo::utc(py)?;
        Ok(PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&utc))?.into_any().unbind())
    };
    Ok(EPOCH.get_or_try_init(py, make)?.bind(py))
}

/// Properties given as keyword arguments, in order. `kind_of` tells the type of a property of the owner, if there is one.
pub(crate) fn properties_of(
    properties: &Bound<'_, PyDict>,
    owner: &str,
    kind_of: impl Fn(&str) -> Option<PropertyType>,
) -> PyResult<Vec<(String, Value)>> {
    let named = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        match value_of(&value) {
            Ok(value) => Ok((name, value)),
            Err(error) => Err(value_error(&error, owner, &name, kind_of(&name), value.py()).unwrap_or(error)),
        }
    };
    properties.iter().map(named).collect()
}

/// The error of [`value_of`] as that of a property; none if it is another one.
pub(crate) fn value_error(
    error: &PyErr,
    owner: &str,
    name: &str,
    expected: Option<PropertyType>,
    py: Python<'_>,
) -> Option<PyErr> {
    let told = error.value(py).to_string();
    if !error.is_instance_of::<PyOverflowError>(py) {
        let message = format!("property {name:?}: {told}");
        return match () {
            () if error.is_instance_of::<PyTypeError>(py) => Some(PyTypeError::new_err(message)),
            () if error.is_instance_of::<PyValueError>(py) => Some(PyValueError::new_err(message)),
            () => None,
        };
    }
    let Some(expected) = expected else {
        return Some(PyValueError::new_err(format!("property {name:?}: {}", out_of_range(&told))));
    };
    let (owner, name, found) = (owner.to_owned(), name.to_owned(), Value::misfit_integer(&told, expected));
    Some(SchemaError::PropertyType { owner, name, row: None, expected, found }.raise(py))
}

/// What is said of an integer that no type holds.
pub(crate) fn out_of_range(digits: &str) -> String {
    format!("{digits} is out of the range of int64 and uint64: -2^63 to 2^64 - 1")
}

/// The same, borrowed as the store takes them.
pub(crate) fn borrowed(properties: &[(String, Value)]) -> Vec<(&str, Value)> {
    properties.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

/// Properties as a `dict`.
pub(crate) fn properties_to_python<'py>(
    py: Python<'py>,
    properties: Vec<(String, Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in properties {
        dict.set_item(name, value_to_python(py, value)?)?;
    }
    Ok(dict)
}
