//! Columns in pieces to Arrow arrays, in parallel where they are long.
//!
//! Strings become `Utf8` while the bytes of a column fit its 32-bit offsets (2 GiB), and `LargeUtf8` beyond.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, GenericStringArray, Int64Array, OffsetSizeTrait, RecordBatch,
    TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{Field, Schema};
use evergraph_types::{Column, ColumnValues, KeyColumn, PropertyType, TextValues};

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

/// Pieces of a column of this type, laid end to end.
pub(crate) fn column_array(kind: PropertyType, parts: &[&Column]) -> ArrayRef {
    let nulls = nulls_of(parts);
    match kind {
        PropertyType::Bool => {
            let flags = concat(&values(parts, |values| match values {
                ColumnValues::Bool(values) => Some(values.as_slice()),
                _ => None,
            }));
            Arc::new(BooleanArray::new(BooleanBuffer::from(flags), nulls))
        }
        PropertyType::Float64 => {
            let numbers = concat(&values(parts, |values| match values {
                ColumnValues::Float64(values) => Some(values.as_slice()),
                _ => None,
            }));
            Arc::new(Float64Array::new(ScalarBuffer::from(numbers), nulls))
        }
        PropertyType::Int64 | PropertyType::Timestamp => {
            let numbers = ScalarBuffer::from(concat(&values(parts, |values| match values {
                ColumnValues::Int64(values) | ColumnValues::Timestamp(values) => Some(values.as_slice()),
                _ => None,
            })));
            if kind == PropertyType::Int64 {
                return Arc::new(Int64Array::new(numbers, nulls));
            }
            Arc::new(TimestampMicrosecondArray::new(numbers, nulls).with_timezone("UTC"))
        }
        PropertyType::String => {
            let texts = values(parts, |values| match values {
                ColumnValues::String(values) => Some(values),
                _ => None,
            });
            text_array(&texts, nulls)
        }
    }
}

/// Pieces of a column of strings, laid end to end.
pub(crate) fn text_array(parts: &[&TextValues], nulls: Option<NullBuffer>) -> ArrayRef {
    let total: usize = parts.iter().map(|part| part.bytes.len()).sum();
    if i32::try_from(total).is_ok() {
        Arc::new(string_array::<i32>(parts, nulls))
    } else {
        Arc::new(string_array::<i64>(parts, nulls))
    }
}

fn string_array<O: OffsetSizeTrait>(
    parts: &[&TextValues],
    nulls: Option<NullBuffer>,
) -> GenericStringArray<O> {
    let mut offsets = vec![O::usize_as(0); 1 + parts.iter().map(|part| part.len()).sum::<usize>()];
    let starts = parts.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.bytes.len())));
    let placed: Vec<(&TextValues, usize)> = parts.iter().copied().zip(starts).collect();
    fill_pieces(
        &mut offsets[1..],
        &placed,
        |(part, _)| part.len(),
        |piece, (part, start)| {
            let ends = part.offsets[1..].iter();
            piece.iter_mut().zip(ends).for_each(|(to, &end)| *to = O::usize_as(start + end as usize));
        },
    );
    let bytes = concat(&parts.iter().map(|part| part.bytes.as_slice()).collect::<Vec<_>>());
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    GenericStringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)
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

fn values<'a, T: ?Sized>(
    parts: &[&'a Column],
    values_of: impl Fn(&'a ColumnValues) -> Option<&'a T>,
) -> Vec<&'a T> {
    parts.iter().filter_map(|part| values_of(&part.values)).collect()
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
        let narrow = string_array::<i32>(&parts, nulls.clone());
        let wide = string_array::<i64>(&parts, nulls);
        assert_eq!(narrow.iter().collect::<Vec<_>>(), expected);
        assert_eq!(wide.iter().collect::<Vec<_>>(), expected);
    }
}
