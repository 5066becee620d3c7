//! Columns in pieces to Arrow arrays, in parallel where they are long.
//!
//! Strings become `Utf8` while the bytes of a column fit its 32-bit offsets (2 GiB), and `LargeUtf8` beyond.

use std::sync::Arc;

use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{
    ArrayRef, BooleanArray, GenericByteArray, Int64Array, LargeListArray, ListArray, RecordBatch, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use evergraph_types::{Cells, Column, KeyColumn, PropertyType, ScalarType, TextValues, Value};

use crate::gather::fill_pieces;

/// A column of a table: its name, its values and whether they may be null.
pub(crate) type NamedArray = (String, ArrayRef, bool);

/// A table of columns of the same length.
pub(crate) fn record_batch(columns: Vec<NamedArray>) -> RecordBatch {
    let field = |(name, array, nullable): &NamedArray| Field::new(name, array.data_type().clone(), *nullable);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array, _)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of one table have the same rows")
}

/// Keys as an array of `Int64` or strings, without nulls.
pub(crate) fn key_array(keys: KeyColumn) -> ArrayRef {
    match keys {
        KeyColumn::Int(keys) => Arc::new(Int64Array::from(keys)),
        KeyColumn::Text(keys) => text_array(&[&keys], None),
    }
}

/// The Arrow type of columns of a property type.
pub(crate) fn data_type(kind: PropertyType) -> DataType {
    if let Some(item) = kind.item() {
        return DataType::List(Arc::new(item_field(PropertyType::scalar(item))));
    }
    match kind.as_scalar().unwrap_or(ScalarType::Bool) {
        ScalarType::Bool => DataType::Boolean,
        ScalarType::Int8 => DataType::Int8,
        ScalarType::Int16 => DataType::Int16,
        ScalarType::Int32 => DataType::Int32,
        ScalarType::Int64 => DataType::Int64,
        ScalarType::UInt8 => DataType::UInt8,
        ScalarType::UInt16 => DataType::UInt16,
        ScalarType::UInt32 => DataType::UInt32,
        ScalarType::UInt64 => DataType::UInt64,
        ScalarType::Float32 => DataType::Float32,
        ScalarType::Float64 => DataType::Float64,
        ScalarType::String => DataType::Utf8,
        ScalarType::Bytes => DataType::Binary,
        ScalarType::Date => DataType::Date32,
        ScalarType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

fn item_field(kind: PropertyType) -> Field {
    Field::new_list_field(data_type(kind), true)
}

/// Pieces of a column of this type, laid end to end.
pub(crate) fn column_array(kind: PropertyType, parts: &[&Column]) -> ArrayRef {
    let nulls = nulls_of(parts);
    let cells: Vec<&Cells> = parts.iter().map(|part| part.cells()).collect();
    if kind.width().is_none() {
        let texts: Vec<&TextValues> = cells.iter().filter_map(|cells| cells.texts()).collect();
        return match kind {
            PropertyType::String => text_array(&texts, nulls),
            PropertyType::Bytes => byte_array::<BinaryType, LargeBinaryType>(&texts, nulls),
            _ => list_array(kind, parts, nulls),
        };
    }
    let rows = cells.iter().map(|cells| cells.len()).sum();
    let buffer = buffer_of(&cells);
    if kind == PropertyType::Bool {
        let flags = BooleanBuffer::collect_bool(rows, |row| buffer[row] != 0);
        return Arc::new(BooleanArray::new(flags, nulls));
    }
    let data = ArrayData::builder(data_type(kind)).len(rows).nulls(nulls).add_buffer(buffer);
    make_array(data.build().expect("the cells are as wide as the values of the type"))
}

/// Cells of one fixed width, laid end to end.
fn buffer_of(parts: &[&Cells]) -> Buffer {
    macro_rules! of_width {
        ($width:ident) => {{
            let mut slices = Vec::with_capacity(parts.len());
            for part in parts {
                if let Cells::$width(values) = part {
                    slices.push(values.as_slice());
                }
            }
            Buffer::from_vec(concat(&slices))
        }};
    }
    match parts.first() {
        // Nothing, aligned for values of any width.
        None | Some(Cells::Variable(_)) => Buffer::from_vec(Vec::<u64>::new()),
        Some(Cells::One(_)) => of_width!(One),
        Some(Cells::Two(_)) => of_width!(Two),
        Some(Cells::Four(_)) => of_width!(Four),
        Some(Cells::Eight(_)) => of_width!(Eight),
    }
}

/// Lists: their items as a column of their own, and where each list ends in it.
fn list_array(kind: PropertyType, parts: &[&Column], nulls: Option<NullBuffer>) -> ArrayRef {
    let item = PropertyType::scalar(kind.item().unwrap_or(ScalarType::Bool));
    let mut items = Column::new(item);
    let mut ends = vec![0i64];
    for part in parts {
        for row in 0..part.len() {
            if let Value::List(values) = part.get(row) {
                // What was encoded as an item of this type fits it.
                values.into_iter().for_each(|value| drop(items.push(value)));
            }
            ends.push(items.len() as i64);
        }
    }
    let field = Arc::new(item_field(item));
    let values = column_array(item, &[&items]);
    let wrong = "the ends of the lists ascend up to the number of items";
    if let Ok(last) = i32::try_from(items.len()) {
        debug_assert!(last >= 0);
        let ends: Vec<i32> = ends.into_iter().map(|end| end as i32).collect();
        let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
        return Arc::new(ListArray::try_new(field, ends, values, nulls).expect(wrong));
    }
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    Arc::new(LargeListArray::try_new(field, ends, values, nulls).expect(wrong))
}

/// Pieces of a column of strings, laid end to end.
pub(crate) fn text_array(parts: &[&TextValues], nulls: Option<NullBuffer>) -> ArrayRef {
    byte_array::<Utf8Type, LargeUtf8Type>(parts, nulls)
}

/// Byte strings in pieces, laid end to end: with 32-bit offsets if these reach.
fn byte_array<N: ByteArrayType<Offset = i32>, W: ByteArrayType<Offset = i64>>(
    parts: &[&TextValues],
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let total: usize = parts.iter().map(|part| part.bytes.len()).sum();
    if i32::try_from(total).is_ok() {
        Arc::new(byte_array_of::<N>(parts, nulls))
    } else {
        Arc::new(byte_array_of::<W>(parts, nulls))
    }
}

fn byte_array_of<T: ByteArrayType>(parts: &[&TextValues], nulls: Option<NullBuffer>) -> GenericByteArray<T> {
    let mut offsets = vec![T::Offset::usize_as(0); 1 + parts.iter().map(|part| part.len()).sum::<usize>()];
    let starts = parts.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.bytes.len())));
    let placed: Vec<(&TextValues, usize)> = parts.iter().copied().zip(starts).collect();
    fill_pieces(
        &mut offsets[1..],
        &placed,
        |(part, _)| part.len(),
        |piece, (part, start)| {
            let ends = part.offsets[1..].iter();
            piece.iter_mut().zip(ends).for_each(|(to, &end)| *to = T::Offset::usize_as(start + end as usize));
        },
    );
    let bytes = concat(&parts.iter().map(|part| part.bytes.as_slice()).collect::<Vec<_>>());
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    GenericByteArray::try_new(offsets, Buffer::from_vec(bytes), nulls)
        .expect("strings are UTF-8 and their offsets ascend")
}

fn nulls_of(parts: &[&Column]) -> Option<NullBuffer> {
    parts.iter().any(|part| part.validity.is_some()).then(|| {
        let mut valid = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            match &part.validity {
                Some(validity) => valid.extend_from_slice(validity),
                None => valid.resize(valid.len() + part.len(), true),
            }
        }
        NullBuffer::from(valid)
    })
}

/// Slices end to end, copied in parallel if they are long.
pub(crate) fn concat<T: Copy + Default + Send + Sync>(parts: &[&[T]]) -> Vec<T> {
    let mut whole = vec![T::default(); parts.iter().map(|part| part.len()).sum()];
    fill_pieces(&mut whole, parts, |part| part.len(), |piece, part| piece.copy_from_slice(part));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_read_the_same_with_offsets_of_either_width() {
        let parts: Vec<TextValues> = [&["a", "", "bcé"][..], &[], &["", "d"]]
            .iter()
            .map(|texts| {
                let mut values = TextValues::default();
                texts.iter().for_each(|text| values.push(text));
                values
            })
            .collect();
        let parts: Vec<&TextValues> = parts.iter().collect();
        let nulls = Some(NullBuffer::from(vec![true, false, true, true, false]));
        let expected = [Some("a"), None, Some("bcé"), Some(""), None];
        let narrow = byte_array_of::<Utf8Type>(&parts, nulls.clone());
        let wide = byte_array_of::<LargeUtf8Type>(&parts, nulls);
        assert_eq!(narrow.iter().collect::<Vec<_>>(), expected);
        assert_eq!(wide.iter().collect::<Vec<_>>(), expected);
    }
}
