//! Lists of scalars as byte strings: the cells of list columns.
//!
//! ```text
//!  number of items: u32, the top bit set if some are null
//!  [validity: 1 bit × items, least significant first, set = not null]      if some are null
//!  fixed width:     cells, little endian, end to end
//!  variable width:  end offsets: u32 × items, then the bytes
//! ```
//!
//! Invariant: `decode_list` gives `None` for bytes that `encode_list` does not make the length of.

use crate::value::CellValue;
use crate::{PropertyType, ScalarType, Value};

const HAS_NULLS: u32 = 1 << 31;

/// The cell of a list whose items fit `item`.
pub(crate) fn encode_list(item: ScalarType, items: &[Value]) -> Vec<u8> {
    let kind = PropertyType::scalar(item);
    let nulls = items.contains(&Value::Null);
    let count = items.len() as u32 | if nulls { HAS_NULLS } else { 0 };
    let mut out = count.to_le_bytes().to_vec();
    if nulls {
        let start = out.len();
        out.resize(start + items.len().div_ceil(8), 0);
        for (row, _) in items.iter().enumerate().filter(|(_, value)| **value != Value::Null) {
            out[start + row / 8] |= 1 << (row % 8);
        }
    }
    if let Some(width) = item.width() {
        for value in items {
            let bits = if let Some(CellValue::Bits(bits)) = value.cell(kind) { bits } else { 0 };
            out.extend_from_slice(&bits.to_le_bytes()[..width]);
        }
        return out;
    }
    let mut bytes = Vec::new();
    for value in items {
        if let Some(CellValue::Bytes(cell)) = value.cell(kind) {
            bytes.extend_from_slice(&cell);
        }
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    }
    out.append(&mut bytes);
    out
}

/// The items of a list; `None` if the bytes are no list of such items.
pub(crate) fn decode_list(item: ScalarType, cell: &[u8]) -> Option<Vec<Value>> {
    let kind = PropertyType::scalar(item);
    let (count, rest) = cell.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count);
    let rows = (count & !HAS_NULLS) as usize;
    let validity_bytes = if count & HAS_NULLS == 0 { 0 } else { rows.div_ceil(8) };
    let (validity, cells) = rest.split_at_checked(validity_bytes)?;
    let is_valid = |row: usize| validity.is_empty() || validity[row / 8] >> (row % 8) & 1 == 1;
    let items = match item.width() {
        Some(width) => {
            if cells.len() != width.checked_mul(rows)? {
                return None;
            }
            let value = |(row, cell): (usize, &[u8])| {
                if is_valid(row) { Value::of_bits(kind, bits_of(cell)) } else { Value::Null }
            };
            cells.chunks_exact(width).enumerate().map(value).collect()
        }
        None => {
            let (ends, bytes) = cells.split_at_checked(rows.checked_mul(4)?)?;
            let mut start = 0;
            let mut items = Vec::with_capacity(rows);
            for (row, end) in ends.chunks_exact(4).enumerate() {
                let end = bits_of(end) as usize;
                let cell = bytes.get(start..end)?;
                items.push(if is_valid(row) { Value::of_bytes(kind, cell)? } else { Value::Null });
                start = end;
            }
            if start != bytes.len() {
                return None;
            }
            items
        }
    };
    Some(items)
}

/// At most eight little-endian bytes as a number.
fn bits_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}
