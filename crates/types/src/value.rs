//! Property values and their types.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a property column. The names are those of Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PropertyType {
    /// `true` or `false`.
    Bool,
    /// Signed 64-bit integer.
    Int64,
    /// IEEE 754 double.
    Float64,
    /// UTF-8 string.
    String,
    /// Microseconds since 1970-01-01 UTC.
    Timestamp,
}

impl PropertyType {
    /// Every type, in the order of their codes on disk.
    pub const ALL: [PropertyType; 5] = [
        PropertyType::Bool,
        PropertyType::Int64,
        PropertyType::Float64,
        PropertyType::String,
        PropertyType::Timestamp,
    ];

    /// The name users write: `bool`, `int64`, `float64`, `string`, `timestamp`.
    pub fn name(self) -> &'static str {
        match self {
            PropertyType::Bool => "bool",
            PropertyType::Int64 => "int64",
            PropertyType::Float64 => "float64",
            PropertyType::String => "string",
            PropertyType::Timestamp => "timestamp",
        }
    }

    /// The type of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The code on disk: the position in [`PropertyType::ALL`].
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The type of this code on disk, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The most bytes one string may have, as a value or as a key: the parts of a neighbor list then fit the 32-bit offsets
/// of the format.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// One property value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// A string.
    Text(String),
    /// Microseconds since 1970-01-01 UTC.
    Timestamp(i64),
}

impl Value {
    /// The type this value has by itself; `None` for null, which fits every type.
    pub fn property_type(&self) -> Option<PropertyType> {
        match self {
            Value::Null => None,
            Value::Bool(_) => Some(PropertyType::Bool),
            Value::Int(_) => Some(PropertyType::Int64),
            Value::Float(_) => Some(PropertyType::Float64),
            Value::Text(_) => Some(PropertyType::String),
            Value::Timestamp(_) => Some(PropertyType::Timestamp),
        }
    }

    /// This value as the column type `wanted`, where that loses nothing: null fits all, an integer fits a float
    /// column while it is exact, and a timestamp column (as microseconds). Otherwise the value is handed back.
    pub fn coerce(self, wanted: PropertyType) -> Result<Value, Value> {
        const EXACT: i64 = 1 << 53;
        match (self, wanted) {
            (Value::Null, _) => Ok(Value::Null),
            (Value::Int(number), PropertyType::Float64) if (-EXACT..=EXACT).contains(&number) => {
                Ok(Value::Float(number as f64))
            }
            (Value::Int(number), PropertyType::Timestamp) => Ok(Value::Timestamp(number)),
            (value, wanted) if value.property_type() == Some(wanted) => Ok(value),
            (value, _) => Err(value),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(flag) => write!(f, "{flag}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Timestamp(micros) => write!(f, "{micros} us"),
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
