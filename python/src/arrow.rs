//! Arrow arrays as columns: every Arrow type that has a property type which loses nothing of it.
//!
//! | Arrow | property |
//! |---|---|
//! | boolean, (u)int8 to (u)int64, float32, float64, date32 | the type of the same name |
//! | (large) string, string view, dictionary of them | string |
//! | (large) binary, binary view, binary of fixed size | bytes |
//! | timestamp | timestamp, in microseconds |
//! | date64 | date |
//! | (large) list, list of fixed size | list of the type of its items |
//! | null, list of null | that of the property; nothing, if there is none |

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date64Type, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StructArray};
use arrow_schema::{DataType, TimeUnit};
use evergraph::{Cells, Column, PropertyType, Value, shown};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::column::Given;

const DAY_MILLIS: i64 = 86_400_000;

/// The chunks of a column as one column.
pub(crate) fn column_of_chunks(chunks: &[ArrayRef]) -> PyResult<Given> {
    let Some(first) = chunks.first() else { return Ok(Given::Open(Vec::new())) };
    let mut column = Column::new(property_type(first.data_type())?);
    for chunk in chunks {
        append(&mut column, chunk)?;
    }
    Ok(match is_open(first.data_type()) {
        true => Given::Open((0..column.len()).map(|row| column.get(row)).collect()),
        false => Given::Typed(column),
    })
}

/// Whether it has no values but nulls, and lists of these.
fn is_open(kind: &DataType) -> bool {
    match kind {
        DataType::Null => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type().is_null()
        }
        DataType::Dictionary(_, values) => values.is_null(),
        DataType::Struct(fields) => fields.len() == 1 && is_open(fields[0].data_type()),
        _ => false,
    }
}

fn property_type(kind: &DataType) -> PyResult<PropertyType> {
    use DataType::*;
    Ok(match kind {
        Boolean => PropertyType::Bool,
        Int8 => PropertyType::Int8,
        Int16 => PropertyType::Int16,
        Int32 => PropertyType::Int32,
        Int64 => PropertyType::Int64,
        UInt8 => PropertyType::UInt8,
        UInt16 => PropertyType::UInt16,
        UInt32 => PropertyType::UInt32,
        UInt64 => PropertyType::UInt64,
        Float32 => PropertyType::Float32,
        Float64 => PropertyType::Float64,
        Utf8 | LargeUtf8 | Utf8View | Null => PropertyType::String,
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => PropertyType::Bytes,
        Timestamp(..) => PropertyType::Timestamp,
        Date32 | Date64 => PropertyType::Date,
        List(item) | LargeList(item) | FixedSizeList(item, _) => {
            match property_type(item.data_type())?.as_scalar() {
                Some(scalar) => PropertyType::list(scalar),
                None => return Err(PyTypeError::new_err("lists of lists cannot be stored")),
            }
        }
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
        Struct(_) => append_struct(column, chunk.as_struct())?,
        Dictionary(..) => append_dictionary(column, chunk)?,
        Null => column.push_nulls(chunk.len()),
        List(_) | LargeList(_) | FixedSizeList(..) => append_lists(column, chunk)?,
        _ => {
            append_nulls(column, chunk);
            append_cells(column, chunk)?;
        }
    }
    Ok(())
}

/// Appends the only column of a table, null too where the table has no row.
fn append_struct(column: &mut Column, chunk: &StructArray) -> PyResult<()> {
    let start = column.len();
    append(column, chunk.column(0))?;
    if let Some(nulls) = chunk.nulls() {
        let rows = column.len();
        let validity = column.validity.get_or_insert_with(|| vec![true; rows]);
        validity[start..].iter_mut().zip(nulls).for_each(|(valid, is_there)| *valid &= is_there);
    }
    Ok(())
}

/// Appends the cells of all rows. Those at nulls are appended too: any does there.
fn append_cells(column: &mut Column, chunk: &ArrayRef) -> PyResult<()> {
    use DataType::*;
    let cells = column.cells_mut();
    match chunk.data_type() {
        Boolean => chunk.as_boolean().values().iter().for_each(|flag| cells.push_bits(flag.into())),
        Utf8 => append_bytes(cells, chunk.as_string::<i32>().iter()),
        LargeUtf8 => append_bytes(cells, chunk.as_string::<i64>().iter()),
        Utf8View => append_bytes(cells, chunk.as_string_view().iter()),
        Binary => append_bytes(cells, chunk.as_binary::<i32>().iter()),
        LargeBinary => append_bytes(cells, chunk.as_binary::<i64>().iter()),
        BinaryView => append_bytes(cells, chunk.as_binary_view().iter()),
        FixedSizeBinary(_) => append_bytes(cells, chunk.as_fixed_size_binary().iter()),
        Timestamp(TimeUnit::Second, _) => {
            convert::<TimestampSecondType>(cells, chunk, |seconds| seconds.checked_mul(1_000_000))?;
        }
        Timestamp(TimeUnit::Millisecond, _) => {
            convert::<TimestampMillisecondType>(cells, chunk, |millis| millis.checked_mul(1_000))?;
        }
        Timestamp(TimeUnit::Nanosecond, _) => {
            convert::<TimestampNanosecondType>(cells, chunk, |nanos| Some(nanos.div_euclid(1_000)))?;
        }
        Date64 => convert::<Date64Type>(cells, chunk, |millis| {
            i32::try_from(millis.div_euclid(DAY_MILLIS)).ok().map(i64::from)
        })?,
        // Every other type has cells as they lie in Arrow's buffer.
        _ => {
            let data = chunk.to_data();
            let width = cells.width().unwrap_or(0);
            let values = data.buffers().first().map_or(&[][..], |buffer| buffer.as_slice());
            let start = data.offset() * width;
            let wanted = values.get(start..start + data.len() * width);
            cells.extend_from_le(wanted.ok_or_else(|| PyValueError::new_err("the Arrow data is cut off"))?);
        }
    }
    Ok(())
}

fn append_bytes<T: AsRef<[u8]>>(cells: &mut Cells, values: impl Iterator<Item = Option<T>>) {
    let Some(texts) = cells.texts_mut() else { return };
    for value in values {
        texts.push_bytes(value.as_ref().map_or(&[], AsRef::as_ref));
    }
}

/// Appends the numbers that a conversion makes; where it fails at a null, 0.
fn convert<T: ArrowPrimitiveType>(
    cells: &mut Cells,
    chunk: &ArrayRef,
    convert: impl Fn(T::Native) -> Option<i64>,
) -> PyResult<()> {
    let array: &PrimitiveArray<T> = chunk.as_primitive();
    for (row, &value) in array.values().iter().enumerate() {
        match convert(value) {
            Some(number) => cells.push_bits(number as u64),
            None if array.is_null(row) => cells.push_bits(0),
            None => {
                let message = format!("row {row}: {value:?} is out of the range of a property");
                return Err(PyValueError::new_err(message));
            }
        }
    }
    Ok(())
}

fn append_lists(column: &mut Column, chunk: &ArrayRef) -> PyResult<()> {
    let list = |row: usize| match chunk.data_type() {
        DataType::List(_) => chunk.as_list::<i32>().value(row),
        DataType::LargeList(_) => chunk.as_list::<i64>().value(row),
        _ => chunk.as_fixed_size_list().value(row),
    };
    let scalar = column.property_type().item().map(PropertyType::scalar);
    for row in 0..chunk.len() {
        if chunk.is_null(row) {
            column.push_nulls(1);
            continue;
        }
        let mut items = Column::new(scalar.unwrap_or(PropertyType::String));
        append(&mut items, &list(row))?;
        push(column, Value::List((0..items.len()).map(|item| items.get(item)).collect()))?;
    }
    Ok(())
}

/// Appends a value of the type of the column.
fn push(column: &mut Column, value: Value) -> PyResult<()> {
    column.push(value).map_err(|value| PyTypeError::new_err(shown(&value)))
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
            push(column, words.get(word))?;
        }
    }
    Ok(())
}
