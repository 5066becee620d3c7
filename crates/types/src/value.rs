//! Property values, what fits which type, and values as cells.
//!
//! Invariant: a number has one form: `UInt` holds only what `Int` cannot, so that equal numbers are equal values.

use std::borrow::Cow;
use std::fmt;

use crate::list::{decode_list, encode_list};
use crate::{DateText, PropertyType, ScalarType, TimeText, shown};

/// The most bytes a cell of variable width may have, as a value or as a key: the parts of a neighbor list then fit the
/// 32-bit offsets of the format.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// One property value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond the 64-bit signed ones. [`Value::unsigned`] makes the right one.
    UInt(u64),
    /// A float.
    Float(f64),
    /// A string.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 UTC.
    Timestamp(i64),
    /// Scalars and nulls.
    List(Vec<Value>),
}

/// A value as it is kept, given its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellValue<'a> {
    /// The bits of a cell of fixed width, those above its width zero.
    Bits(u64),
    /// The bytes of a cell of variable width.
    Bytes(Cow<'a, [u8]>),
}

impl Value {
    /// An unsigned integer.
    pub fn unsigned(number: u64) -> Value {
        i64::try_from(number).map_or(Value::UInt(number), Value::Int)
    }

    /// A time as a number that goes on with it: microseconds since 1970-01-01 UTC, or the integer that it is. `None` for
    /// what is no time. What is beyond 64 bits with a sign, as a day may be in microseconds, is the last of them, or the first.
    ///
    /// ```
    /// use evergraph_types::Value;
    ///
    /// assert_eq!(Value::Date(1).time(), Some(86_400_000_000));
    /// assert_eq!(Value::Date(i32::MAX).time(), Some(i64::MAX));
    /// assert_eq!(Value::UInt(u64::MAX).time(), Some(i64::MAX));
    /// ```
    pub fn time(&self) -> Option<i64> {
        match *self {
            Value::Int(time) | Value::Timestamp(time) => Some(time),
            Value::UInt(time) => Some(i64::try_from(time).unwrap_or(i64::MAX)),
            Value::Date(days) => Some(i64::from(days).saturating_mul(MICROS_PER_DAY)),
            _ => None,
        }
    }

    /// The type this value has by itself; `None` for null, which fits every type. A list has the type of its items,
    /// and is one of strings if they have none or do not agree.
    pub fn property_type(&self) -> Option<PropertyType> {
        Some(match self {
            Value::Null => return None,
            Value::Bool(_) => PropertyType::Bool,
            Value::Int(_) => PropertyType::Int64,
            Value::UInt(_) => PropertyType::UInt64,
            Value::Float(_) => PropertyType::Float64,
            Value::Text(_) => PropertyType::String,
            Value::Bytes(_) => PropertyType::Bytes,
            Value::Date(_) => PropertyType::Date,
            Value::Timestamp(_) => PropertyType::Timestamp,
            Value::List(items) => {
                let kinds = items.iter().filter_map(Value::property_type);
                let agreed = kinds.map(Some).reduce(|left, right| left?.common(right?)).flatten();
                PropertyType::list(agreed.and_then(PropertyType::as_scalar).unwrap_or(ScalarType::String))
            }
        })
    }

    /// The type that this value gives a property which has none yet: [`Value::property_type`], but none for a list of nothing but
    /// nulls, which fits lists of every type.
    ///
    /// ```
    /// use evergraph_types::{PropertyType, Value};
    ///
    /// assert_eq!(Value::from(1).type_told(), Some(PropertyType::Int64));
    /// assert_eq!(Value::List(vec![Value::Null]).type_told(), None);
    /// ```
    pub fn type_told(&self) -> Option<PropertyType> {
        match self {
            Value::List(items) if items.iter().all(|item| *item == Value::Null) => None,
            value => value.property_type(),
        }
    }

    /// This value as the column type `wanted`. What is exact stays exact:
    ///
    /// - null fits all;
    /// - an integer fits the integer types that hold it, a float column while it is exact there, a timestamp column as
    ///   microseconds and a date column as days;
    /// - a float fits both float types; for `float32` it is rounded to the nearest, and refused if it is finite and
    ///   beyond the range. NaN is a value, not null;
    /// - a date fits a timestamp column, as its midnight in UTC, if that has microseconds of 64 bits;
    /// - a list fits if its items do.
    ///
    /// Otherwise the value is handed back.
    pub fn coerce(self, wanted: PropertyType) -> Result<Value, Value> {
        match (self, wanted.item()) {
            (Value::Null, _) => Ok(Value::Null),
            (Value::List(items), Some(item)) => {
                let wanted = PropertyType::scalar(item);
                let fits = |value: &Value| value.clone().coerce(wanted);
                let coerced: Result<Vec<Value>, Value> = items.iter().map(fits).collect();
                coerced.map(Value::List).map_err(|_| Value::List(items))
            }
            (value, Some(_)) => Err(value),
            (value, None) => value.coerce_scalar(wanted.as_scalar().unwrap_or(ScalarType::Bool)),
        }
    }

    fn coerce_scalar(self, wanted: ScalarType) -> Result<Value, Value> {
        const EXACT: i64 = 1 << 53;
        const EXACT_SINGLE: i64 = 1 << 24;
        match (&self, wanted) {
            (&Value::Int(number), ScalarType::Float64) if (-EXACT..=EXACT).contains(&number) => {
                Ok(Value::Float(number as f64))
            }
            (&Value::Int(number), ScalarType::Float32)
                if (-EXACT_SINGLE..=EXACT_SINGLE).contains(&number) =>
            {
                Ok(Value::Float(number as f64))
            }
            (&Value::Int(number), ScalarType::Timestamp) => Ok(Value::Timestamp(number)),
            (&Value::Int(days), ScalarType::Date) => i32::try_from(days).map(Value::Date).map_err(|_| self),
            (&Value::Date(days), ScalarType::Timestamp) => {
                i64::from(days).checked_mul(MICROS_PER_DAY).map(Value::Timestamp).ok_or(self)
            }
            (&Value::Int(number), _) => match wanted.integer_range() {
                Some((least, greatest)) if number >= least && (number < 0 || number as u64 <= greatest) => {
                    Ok(self)
                }
                _ => Err(self),
            },
            (&Value::UInt(number), ScalarType::UInt64) => Ok(Value::unsigned(number)),
            (&Value::UInt(number), _) => match i64::try_from(number) {
                Ok(number) => Value::Int(number).coerce_scalar(wanted),
                Err(_) => Err(self),
            },
            (&Value::Float(number), ScalarType::Float32) => {
                let single = number as f32;
                if single.is_finite() || !number.is_finite() {
                    Ok(Value::Float(single.into()))
                } else {
                    Err(self)
                }
            }
            _ if self.property_type() == Some(PropertyType::scalar(wanted)) => Ok(self),
            _ => Err(self),
        }
    }

    /// The value in words, for a message that says that it does not fit `wanted`: with the reason, where it is a number and a
    /// number is wanted.
    pub fn misfit(&self, wanted: PropertyType) -> String {
        let told = shown(self);
        let why = match (self, wanted.item()) {
            (Value::List(items), Some(item)) => {
                let kind = PropertyType::scalar(item);
                let odd = items.iter().find(|value| (*value).clone().coerce(kind).is_err());
                odd.map(|odd| format!("with {} among its items", odd.misfit(kind)))
            }
            _ => wanted.as_scalar().and_then(|scalar| self.why_not(scalar)),
        };
        why.map_or(told.clone(), |why| format!("{told}, {why},"))
    }

    /// An integer in words, for a message that says that it does not fit `wanted`: one that is too large for any value, too.
    pub fn misfit_integer(digits: &str, wanted: PropertyType) -> String {
        let why = wanted.as_scalar().and_then(|scalar| Value::Int(0).why_not(scalar));
        why.map_or(shown(digits), |why| format!("{}, {why},", shown(digits)))
    }

    /// Why a number is none of a type of numbers, or a day no time, given that it is not.
    fn why_not(&self, wanted: ScalarType) -> Option<String> {
        let is_integer = matches!(self, Value::Int(_) | Value::UInt(_));
        Some(match (wanted, wanted.integer_range()) {
            (_, Some((least, greatest))) if is_integer => format!("which is not from {least} to {greatest}"),
            (ScalarType::Date | ScalarType::Timestamp, _) | (_, Some(_))
                if matches!(self, Value::Float(_)) =>
            {
                "which is a float".to_owned()
            }
            (ScalarType::Float64, _) if is_integer => {
                "which is beyond 2^53, where a float64 is not exact".to_owned()
            }
            (ScalarType::Float32, _) if is_integer => {
                "which is beyond 2^24, where a float32 is not exact".to_owned()
            }
            (ScalarType::Float32, _) if matches!(self, Value::Float(_)) => {
                format!("which is not from -{0:e} to {0:e}", f32::MAX)
            }
            (ScalarType::Date, _) if is_integer => "which is too many days from 1970-01-01".to_owned(),
            (ScalarType::Timestamp, _) if matches!(self, Value::Date(_)) => {
                "whose microseconds since 1970-01-01 are beyond 2^63".to_owned()
            }
            _ => return None,
        })
    }

    /// The cell of a value that [`Value::coerce`] has made fit `kind`; `None` for null.
    pub fn cell(&self, kind: PropertyType) -> Option<CellValue<'_>> {
        let width = kind.width().unwrap_or(8);
        let truncated = |bits: u64| CellValue::Bits(bits & (u64::MAX >> (64 - 8 * width)));
        Some(match self {
            Value::Null => return None,
            Value::Bool(flag) => CellValue::Bits(u64::from(*flag)),
            Value::Int(number) | Value::Timestamp(number) => truncated(*number as u64),
            Value::UInt(number) => CellValue::Bits(*number),
            Value::Date(days) => CellValue::Bits(u64::from(*days as u32)),
            Value::Float(number) if kind == PropertyType::Float32 => {
                CellValue::Bits(u64::from((*number as f32).to_bits()))
            }
            Value::Float(number) => CellValue::Bits(number.to_bits()),
            Value::Text(text) => CellValue::Bytes(Cow::Borrowed(text.as_bytes())),
            Value::Bytes(bytes) => CellValue::Bytes(Cow::Borrowed(bytes)),
            Value::List(items) => CellValue::Bytes(Cow::Owned(encode_list(kind.item()?, items))),
        })
    }

    /// The value of a cell of fixed width; null for types of variable width.
    pub fn of_bits(kind: PropertyType, bits: u64) -> Value {
        let Some(scalar) = kind.as_scalar() else { return Value::Null };
        match scalar {
            ScalarType::Bool => Value::Bool(bits != 0),
            ScalarType::Int8 => Value::Int((bits as i8).into()),
            ScalarType::Int16 => Value::Int((bits as i16).into()),
            ScalarType::Int32 => Value::Int((bits as i32).into()),
            ScalarType::Int64 => Value::Int(bits as i64),
            ScalarType::UInt8 => Value::Int((bits as u8).into()),
            ScalarType::UInt16 => Value::Int((bits as u16).into()),
            ScalarType::UInt32 => Value::Int((bits as u32).into()),
            ScalarType::UInt64 => Value::unsigned(bits),
            ScalarType::Float32 => Value::Float(f32::from_bits(bits as u32).into()),
            ScalarType::Float64 => Value::Float(f64::from_bits(bits)),
            ScalarType::Date => Value::Date(bits as i32),
            ScalarType::Timestamp => Value::Timestamp(bits as i64),
            ScalarType::String | ScalarType::Bytes => Value::Null,
        }
    }

    /// The value of a cell of variable width; `None` if the bytes are none of this type.
    pub fn of_bytes(kind: PropertyType, bytes: &[u8]) -> Option<Value> {
        match (kind.item(), kind) {
            (Some(item), _) => decode_list(item, bytes).map(Value::List),
            (None, PropertyType::String) => Some(Value::Text(std::str::from_utf8(bytes).ok()?.to_owned())),
            (None, PropertyType::Bytes) => Some(Value::Bytes(bytes.to_vec())),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(flag) => write!(f, "{flag}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::UInt(number) => write!(f, "{number}"),
            // With a point or an exponent, so that it is not taken for an integer.
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Bytes(bytes) if bytes.len() == 1 => f.write_str("1 byte"),
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::Date(days) => write!(f, "{}", DateText(*days)),
            Value::Timestamp(micros) => write!(f, "{}", TimeText(*micros)),
            Value::List(items) => {
                f.write_str("[")?;
                for (position, item) in items.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Float(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}
