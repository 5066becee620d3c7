//! Values as text, by their type, and back: what a declared column reads and what an export writes.
//!
//! ```text
//!  bool         true, false in any case           bytes        hexadecimal digits, two a byte
//!  integers     decimal digits with a sign        date         2024-01-02, or the number of days
//!  floats       1.5, 1e9, inf, nan                timestamp    ISO 8601, or the number of microseconds
//!  list<T>      [1, null, 3]; items that are no numbers or truth values in quotes, as in JSON
//! ```
//!
//! Strings that are no items of a list are not quoted here: how they are depends on the format of the file.
//!
//! Invariant: what `write_value` writes, `read_value` reads back equal.

use std::io::Write;

use evergraph_types::{CellValue, DateText, PropertyType, ScalarType, TimeText, Value};

use crate::number::{parse_bool, parse_float, parse_int};
use crate::time::{parse_date, parse_timestamp};

/// The bits of a value of fixed width; `None` if the text is none of this type, or out of its range. A time and a date
/// may be a bare number where `numbers`.
pub(crate) fn read_bits(text: &[u8], scalar: ScalarType, numbers: bool) -> Option<u64> {
    let bare = || parse_int(text).ok().filter(|_| numbers);
    Some(match scalar {
        ScalarType::Bool => u64::from(parse_bool(text)?),
        ScalarType::Int64 => parse_int(text).ok()? as u64,
        ScalarType::Float64 => parse_float(text)?.to_bits(),
        ScalarType::Float32 => u64::from(parse_single(text)?.to_bits()),
        ScalarType::Timestamp => parse_timestamp(text).or_else(bare)? as u64,
        ScalarType::Date => u64::from(i32::try_from(parse_date(text).or_else(bare)?).ok()? as u32),
        ScalarType::UInt64 => match parse_int(text) {
            Ok(number) => u64::try_from(number).ok()?,
            Err(_) => std::str::from_utf8(text).ok()?.parse().ok()?,
        },
        ScalarType::String | ScalarType::Bytes => return None,
        _ => {
            let kind = PropertyType::scalar(scalar);
            let number = Value::Int(parse_int(text).ok()?).coerce(kind).ok()?;
            match number.cell(kind)? {
                CellValue::Bits(bits) => bits,
                CellValue::Bytes(_) => return None,
            }
        }
    })
}

/// A value of variable width other than a string, as its cell.
pub(crate) fn read_bytes(text: &[u8], kind: PropertyType) -> Option<Vec<u8>> {
    let value = match kind.item() {
        Some(item) => Value::List(read_list(text, item)?),
        None if kind == PropertyType::Bytes => return read_hexadecimal(text),
        None => return None,
    };
    match value.cell(kind)? {
        CellValue::Bytes(bytes) => Some(bytes.into_owned()),
        CellValue::Bits(_) => None,
    }
}

/// A number too large for a single, but not infinite itself, is none.
fn parse_single(text: &[u8]) -> Option<f32> {
    let single: f32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (single.is_finite() || !parse_float(text)?.is_finite()).then_some(single)
}

fn read_hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

fn read_list(text: &[u8], item: ScalarType) -> Option<Vec<Value>> {
    let mut rest = skip_blanks(text.strip_prefix(b"[")?);
    let mut items = Vec::new();
    if rest == b"]" {
        return Some(items);
    }
    loop {
        let (value, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => {
                let (text, after) = unquote(quoted)?;
                (read_item(&text, item)?, after)
            }
            None => {
                let end = rest.iter().position(|byte| matches!(byte, b',' | b']'))?;
                let (word, after) = rest.split_at(end);
                let word = word.trim_ascii_end();
                let is_null = word == b"null";
                // A string must be in quotes, or `null` could not be told from nothing.
                let bare = item.width().is_some().then(|| read_item(word, item));
                (if is_null { Value::Null } else { bare.flatten()? }, after)
            }
        };
        items.push(value);
        rest = match skip_blanks(after).split_first()? {
            (b',', rest) => skip_blanks(rest),
            (b']', []) => return Some(items),
            _ => return None,
        };
    }
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

fn read_item(text: &[u8], item: ScalarType) -> Option<Value> {
    match item {
        ScalarType::String => Some(Value::Text(std::str::from_utf8(text).ok()?.to_owned())),
        ScalarType::Bytes => read_hexadecimal(text).map(Value::Bytes),
        item => read_bits(text, item, true).map(|bits| Value::of_bits(PropertyType::scalar(item), bits)),
    }
}

/// The text up to the closing quote, and what follows that.
fn unquote(quoted: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut text = Vec::new();
    let mut rest = quoted;
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((text, rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                match escaped {
                    b'"' | b'\\' | b'/' => text.push(escaped),
                    b'n' => text.push(b'\n'),
                    b'r' => text.push(b'\r'),
                    b't' => text.push(b'\t'),
                    b'u' => {
                        let (digits, after) = rest.split_at_checked(4)?;
                        let [high, low] = read_hexadecimal(digits)?[..] else { return None };
                        let character = char::from_u32(u32::from(high) << 8 | u32::from(low))?;
                        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                        rest = after;
                    }
                    _ => return None,
                }
            }
            byte => text.push(byte),
        }
    }
}

/// Writes a value that is neither null nor a string. Writing to memory does not fail.
pub(crate) fn write_value(out: &mut Vec<u8>, kind: PropertyType, value: &Value) {
    let written = match value {
        Value::Int(number) => {
            out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
            Ok(())
        }
        Value::Float(number) if single(kind) => write!(out, "{:?}", *number as f32),
        Value::Float(number) => write!(out, "{number:?}"),
        Value::Date(days) => write!(out, "{}", DateText(*days)),
        Value::Timestamp(micros) => write!(out, "{}", TimeText(*micros)),
        Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
        Value::List(items) => {
            out.push(b'[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write_item(out, kind, item);
            }
            out.push(b']');
            Ok(())
        }
        other => write!(out, "{other}"),
    };
    debug_assert!(written.is_ok());
}

fn single(kind: PropertyType) -> bool {
    kind.item().or(kind.as_scalar()) == Some(ScalarType::Float32)
}

fn write_item(out: &mut Vec<u8>, kind: PropertyType, item: &Value) {
    match item {
        Value::Text(text) => {
            out.push(b'"');
            for byte in text.bytes() {
                match byte {
                    b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                    b'\n' => out.extend_from_slice(b"\\n"),
                    b'\r' => out.extend_from_slice(b"\\r"),
                    b'\t' => out.extend_from_slice(b"\\t"),
                    0..0x20 => {
                        let _ = write!(out, "\\u{byte:04x}");
                    }
                    byte => out.push(byte),
                }
            }
            out.push(b'"');
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
            write_value(out, kind, item);
        }
        other => {
            out.push(b'"');
            write_value(out, kind, other);
            out.push(b'"');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_out_of_range_or_no_value_is_refused() {
        for (text, scalar) in [
            ("128", ScalarType::Int8),
            ("-129", ScalarType::Int8),
            ("-1", ScalarType::UInt8),
            ("65536", ScalarType::UInt16),
            ("2147483648", ScalarType::Int32),
            ("18446744073709551616", ScalarType::UInt64),
            ("1e39", ScalarType::Float32),
            ("2024-02-30", ScalarType::Date),
            ("2147483648", ScalarType::Date),
            ("2", ScalarType::Bool),
        ] {
            assert_eq!(read_bits(text.as_bytes(), scalar, true), None, "{text} as {scalar:?}");
        }
        assert_eq!(read_bits(b"inf", ScalarType::Float32, true), Some(f32::INFINITY.to_bits().into()));
        assert_eq!(read_bits(b"18446744073709551615", ScalarType::UInt64, true), Some(u64::MAX));
        assert_eq!(read_bits(b"-0", ScalarType::UInt64, true), Some(0));
        let list = PropertyType::list(ScalarType::Int8);
        for text in ["", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[300]", "[1]x", "1", "[\"1"] {
            assert_eq!(read_bytes(text.as_bytes(), list), None, "{text}");
        }
        assert_eq!(
            read_bytes(b"[null]", PropertyType::list(ScalarType::String)).map(|cell| cell.len()),
            Some(9)
        );
        assert_eq!(read_bytes(b"[x]", PropertyType::list(ScalarType::String)), None);
        assert_eq!(read_bytes(b"abc", PropertyType::Bytes), None);
    }
}
