//! Arrow arrays as columns: every Arrow type that has a property type which loses nothing of it.
//!
//! | Arrow | property |
//! |---|---|
//! | boolean | bool |
//! | (u)int8 to (u)int64 | int64 |
//! | float32, float64 | float64 |
//! | (large) string, string view, dictionary of them | string |
//! | timestamp, date | timestamp, in microseconds |
//! | null | string, all null |

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArrayType};
use arrow_schema::{DataType, TimeUnit};
use evergraph::{Column, ColumnValues, PropertyType, TextValues};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

const DAY_MICROS: i64 = 86_400_000_000;

/// The chunks of a column as one column.
pub(crate) fn column_of_chunks(chunks: &[ArrayRef]) -> PyResult<Column> {
    let Some(first) = chunks.first() else { return Ok(Column::new(PropertyType::Int64)) };
    let mut column = Column::new(property_type(first.data_type())?);
    for chunk in chunks {
        append(&mut column, chunk)?;
    }
    Ok(column)
}

fn property_type(kind: &DataType) -> PyResult<PropertyType> {
    use DataType::*;
    Ok(match kind {
        Boolean => PropertyType::Bool,
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => PropertyType::Int64,
        Float32 | Float64 => PropertyType::Float64,
        Utf8 | LargeUtf8 | Utf8View | Null => PropertyType::String,
        Timestamp(..) | Date32 | Date64 => PropertyType::Timestamp,
        Dictionary(_, values) => property_type(values)?,
        Struct(fields) if fields.len() == 1 => property_type(fields[0].data_type())?,
        Struct(fields) => {
            let names: Vec<_> = fields.iter().map(|field| field.name()).collect();
            return Err(PyTypeError::new_err(format!("a column is wanted, not a table of {names:?}")));
        }
        other => {
            return Err(PyTypeError::new_err(format!(
                "Arrow data of type {other} cannot be stored: cast it"
            )));
        }
    })
}

/// Appends a chunk of a type that [`property_type`] knows.
fn append(column: &mut Column, chunk: &ArrayRef) -> PyResult<()> {
    use DataType::*;
    match chunk.data_type() {
        Struct(_) => append(column, chunk.as_struct().column(0))?,
        Dictionary(..) => append_dictionary(column, chunk)?,
        Null => column.push_nulls(chunk.len()),
        _ => {
            append_nulls(column, chunk);
            append_values(column, chunk)?;
        }
    }
    Ok(())
}

fn append_values(column: &mut Column, chunk: &ArrayRef) -> PyResult<()> {
    use DataType::*;
    match (&mut column.values, chunk.data_type()) {
        (ColumnValues::Bool(values), _) => values.extend(chunk.as_boolean().values().iter()),
        (ColumnValues::Float64(values), Float32) => extend::<Float32Type, _>(values, chunk, f64::from),
        (ColumnValues::Float64(values), _) => extend::<Float64Type, _>(values, chunk, |number| number),
        (ColumnValues::String(values), Utf8) => extend_text(values, chunk.as_string::<i32>()),
        (ColumnValues::String(values), LargeUtf8) => extend_text(values, chunk.as_string::<i64>()),
        (ColumnValues::String(values), _) => extend_text(values, chunk.as_string_view()),
        (ColumnValues::Int64(values), kind) => match kind {
            Int8 => extend::<Int8Type, _>(values, chunk, i64::from),
            Int16 => extend::<Int16Type, _>(values, chunk, i64::from),
            Int32 => extend::<Int32Type, _>(values, chunk, i64::from),
            UInt8 => extend::<UInt8Type, _>(values, chunk, i64::from),
            UInt16 => extend::<UInt16Type, _>(values, chunk, i64::from),
            UInt32 => extend::<UInt32Type, _>(values, chunk, i64::from),
            UInt64 => return try_extend::<UInt64Type>(values, chunk, |number| i64::try_from(number).ok()),
            _ => extend::<Int64Type, _>(values, chunk, |number| number),
        },
        (ColumnValues::Timestamp(values), kind) => return append_times(values, chunk, kind),
    }
    Ok(())
}

fn append_times(values: &mut Vec<i64>, chunk: &ArrayRef, kind: &DataType) -> PyResult<()> {
    match kind {
        DataType::Timestamp(TimeUnit::Second, _) => {
            try_extend::<TimestampSecondType>(values, chunk, |seconds| seconds.checked_mul(1_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            try_extend::<TimestampMillisecondType>(values, chunk, |millis| millis.checked_mul(1_000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            extend::<TimestampNanosecondType, _>(values, chunk, |nanos| nanos.div_euclid(1_000));
            Ok(())
        }
        DataType::Date32 => {
            extend::<Date32Type, _>(values, chunk, |days| i64::from(days) * DAY_MICROS);
            Ok(())
        }
        DataType::Date64 => try_extend::<Date64Type>(values, chunk, |millis| millis.checked_mul(1_000)),
        _ => {
            extend::<TimestampMicrosecondType, _>(values, chunk, |micros| micros);
            Ok(())
        }
    }
}

/// Appends all values. Those at nulls are appended too: any value does there.
fn extend<T: ArrowPrimitiveType, V>(values: &mut Vec<V>, chunk: &ArrayRef, convert: impl Fn(T::Native) -> V) {
    values.extend(chunk.as_primitive::<T>().values().iter().map(|&value| convert(value)));
}

/// The same for a conversion that can fail; what fails at a null becomes 0.
fn try_extend<T: ArrowPrimitiveType>(
    values: &mut Vec<i64>,
    chunk: &ArrayRef,
    convert: impl Fn(T::Native) -> Option<i64>,
) -> PyResult<()> {
    let array: &PrimitiveArray<T> = chunk.as_primitive();
    for (row, &value) in array.values().iter().enumerate() {
        match convert(value) {
            Some(number) => values.push(number),
            None if array.is_null(row) => values.push(0),
            None => {
                let message = format!("row {row}: {value:?} is out of the range of int64");
                return Err(PyValueError::new_err(message));
            }
        }
    }
    Ok(())
}

fn extend_text<'a>(values: &mut TextValues, texts: impl StringArrayType<'a>) {
    texts.iter().for_each(|text| values.push(text.unwrap_or_default()));
}

fn append_nulls(column: &mut Column, chunk: &ArrayRef) {
    let rows = column.len();
    match chunk.nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => column.validity.get_or_insert_with(|| vec![true; rows]).extend(nulls.iter()),
        None => column.validity.iter_mut().for_each(|validity| validity.resize(rows + chunk.len(), true)),
    }
}

fn append_dictionary(column: &mut Column, chunk: &ArrayRef) -> PyResult<()> {
    let dictionary = chunk.as_any_dictionary();
    let mut words = Column::new(column.property_type());
    append(&mut words, dictionary.values())?;
    if words.is_empty() {
        column.push_nulls(chunk.len());
        return Ok(());
    }
    for (row, word) in dictionary.normalized_keys().into_iter().enumerate() {
        if dictionary.is_null(row) {
            column.push_nulls(1);
        } else {
            // The words have the type of the column.
            column.push(words.get(word)).map_err(|value| PyTypeError::new_err(value.to_string()))?;
        }
    }
    Ok(())
}
