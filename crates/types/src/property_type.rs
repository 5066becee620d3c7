//! The types of properties: what a value is, and how wide its cell is.
//!
//! ```text
//!  type             cell
//!  bool             1 byte, 0 or 1            ┐
//!  int8 ... int64   1, 2, 4, 8 bytes, signed  │ fixed width: a cell is a number of bits, and everything below the
//!  uint8 ... uint64 1, 2, 4, 8 bytes          │ types of values (columns, runs of edges, the log, Arrow buffers)
//!  float32, float64 4, 8 bytes, IEEE 754      │ only asks for the width
//!  date             4 bytes, days             │
//!  timestamp        8 bytes, microseconds     ┘
//!  string, bytes    the bytes                 ┐ variable width: a cell is a byte string
//!  list of any      list.rs draws it          ┘
//! ```
//!
//! Invariant: what depends on more than the width of a type is in this crate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a value that is no list. The names are those of Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
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
    /// Signed 8-bit integer.
    Int8,
    /// Signed 16-bit integer.
    Int16,
    /// Signed 32-bit integer.
    Int32,
    /// Unsigned 8-bit integer.
    UInt8,
    /// Unsigned 16-bit integer.
    UInt16,
    /// Unsigned 32-bit integer.
    UInt32,
    /// Unsigned 64-bit integer.
    UInt64,
    /// IEEE 754 single.
    Float32,
    /// Any bytes.
    Bytes,
    /// Days since 1970-01-01.
    Date,
}

impl ScalarType {
    /// Every type, in the order of their codes on disk.
    pub const ALL: [ScalarType; 15] = [
        ScalarType::Bool,
        ScalarType::Int64,
        ScalarType::Float64,
        ScalarType::String,
        ScalarType::Timestamp,
        ScalarType::Int8,
        ScalarType::Int16,
        ScalarType::Int32,
        ScalarType::UInt8,
        ScalarType::UInt16,
        ScalarType::UInt32,
        ScalarType::UInt64,
        ScalarType::Float32,
        ScalarType::Bytes,
        ScalarType::Date,
    ];

    /// The name, the name of a list of it, and the bytes of a cell (0 where they vary).
    #[inline]
    fn describe(self) -> (&'static str, &'static str, usize) {
        match self {
            ScalarType::Bool => ("bool", "list<bool>", 1),
            ScalarType::Int64 => ("int64", "list<int64>", 8),
            ScalarType::Float64 => ("float64", "list<float64>", 8),
            ScalarType::String => ("string", "list<string>", 0),
            ScalarType::Timestamp => ("timestamp", "list<timestamp>", 8),
            ScalarType::Int8 => ("int8", "list<int8>", 1),
            ScalarType::Int16 => ("int16", "list<int16>", 2),
            ScalarType::Int32 => ("int32", "list<int32>", 4),
            ScalarType::UInt8 => ("uint8", "list<uint8>", 1),
            ScalarType::UInt16 => ("uint16", "list<uint16>", 2),
            ScalarType::UInt32 => ("uint32", "list<uint32>", 4),
            ScalarType::UInt64 => ("uint64", "list<uint64>", 8),
            ScalarType::Float32 => ("float32", "list<float32>", 4),
            ScalarType::Bytes => ("bytes", "list<bytes>", 0),
            ScalarType::Date => ("date", "list<date>", 4),
        }
    }

    /// The bytes of a cell; `None` where they vary.
    #[inline]
    pub fn width(self) -> Option<usize> {
        Some(self.describe().2).filter(|&width| width > 0)
    }

    /// The least and greatest value of an integer type; `None` for other types.
    pub fn integer_range(self) -> Option<(i64, u64)> {
        Some(match self {
            ScalarType::Int8 => (i8::MIN.into(), i8::MAX as u64),
            ScalarType::Int16 => (i16::MIN.into(), i16::MAX as u64),
            ScalarType::Int32 => (i32::MIN.into(), i32::MAX as u64),
            ScalarType::Int64 => (i64::MIN, i64::MAX as u64),
            ScalarType::UInt8 => (0, u8::MAX.into()),
            ScalarType::UInt16 => (0, u16::MAX.into()),
            ScalarType::UInt32 => (0, u32::MAX.into()),
            ScalarType::UInt64 => (0, u64::MAX),
            _ => return None,
        })
    }

    /// Whether it is an integer or a float.
    pub fn is_number(self) -> bool {
        self.is_float() || self.integer_range().is_some()
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        matches!(self, ScalarType::Float32 | ScalarType::Float64)
    }
}

/// The type of a property: a scalar or a list of scalars.
///
/// ```
/// use evergraph_types::PropertyType;
///
/// assert_eq!(PropertyType::from_name("int32"), Some(PropertyType::Int32));
/// assert_eq!(PropertyType::from_name("list<float32>").map(|kind| kind.to_string()), Some("list<float32>".to_owned()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PropertyType {
    scalar: ScalarType,
    list: bool,
}

/// The bit of a code on disk that says that it is a list.
const LIST_CODE: u8 = 1 << 7;

#[expect(non_upper_case_globals, reason = "they are used as the variants of an enum are")]
#[allow(missing_docs, reason = "ScalarType documents them")]
impl PropertyType {
    pub const Bool: Self = Self::scalar(ScalarType::Bool);
    pub const Int8: Self = Self::scalar(ScalarType::Int8);
    pub const Int16: Self = Self::scalar(ScalarType::Int16);
    pub const Int32: Self = Self::scalar(ScalarType::Int32);
    pub const Int64: Self = Self::scalar(ScalarType::Int64);
    pub const UInt8: Self = Self::scalar(ScalarType::UInt8);
    pub const UInt16: Self = Self::scalar(ScalarType::UInt16);
    pub const UInt32: Self = Self::scalar(ScalarType::UInt32);
    pub const UInt64: Self = Self::scalar(ScalarType::UInt64);
    pub const Float32: Self = Self::scalar(ScalarType::Float32);
    pub const Float64: Self = Self::scalar(ScalarType::Float64);
    pub const String: Self = Self::scalar(ScalarType::String);
    pub const Bytes: Self = Self::scalar(ScalarType::Bytes);
    pub const Date: Self = Self::scalar(ScalarType::Date);
    pub const Timestamp: Self = Self::scalar(ScalarType::Timestamp);
}

impl PropertyType {
    /// Every type, scalars first, in the order of their codes on disk.
    pub const ALL: [PropertyType; 30] = {
        let mut all = [PropertyType::Bool; 30];
        let mut at = 0;
        while at < ScalarType::ALL.len() {
            all[at] = PropertyType::scalar(ScalarType::ALL[at]);
            all[at + ScalarType::ALL.len()] = PropertyType::list(ScalarType::ALL[at]);
            at += 1;
        }
        all
    };

    /// A scalar type as the type of a property.
    pub const fn scalar(scalar: ScalarType) -> Self {
        PropertyType { scalar, list: false }
    }

    /// The type of lists of such scalars.
    pub const fn list(item: ScalarType) -> Self {
        PropertyType { scalar: item, list: true }
    }

    /// The scalar type, if it is one.
    #[inline]
    pub fn as_scalar(self) -> Option<ScalarType> {
        Some(self.scalar).filter(|_| !self.list)
    }

    /// The type of the items, if it is a list.
    pub fn item(self) -> Option<ScalarType> {
        Some(self.scalar).filter(|_| self.list)
    }

    /// The name users write, as `int32` and `list<int32>`.
    pub fn name(self) -> &'static str {
        let (name, list_name, _) = self.scalar.describe();
        if self.list { list_name } else { name }
    }

    /// The type of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The names of all types, as messages list them.
    pub fn known_names() -> String {
        let scalars = ScalarType::ALL.map(|scalar| PropertyType::scalar(scalar).name());
        format!("{}, and list<T> of each", scalars.join(", "))
    }

    /// The bytes of a cell; `None` where they vary.
    #[inline]
    pub fn width(self) -> Option<usize> {
        self.as_scalar().and_then(ScalarType::width)
    }

    /// Whether it is an integer or a float.
    pub fn is_number(self) -> bool {
        self.as_scalar().is_some_and(ScalarType::is_number)
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        self.as_scalar().is_some_and(ScalarType::is_float)
    }

    /// The type that holds the values of both: of two that are alike that, `float64` of integers and floats, `uint64` of
    /// `int64` and `uint64`, whose negative numbers do not fit; of lists the list of what holds the items.
    pub fn common(self, other: PropertyType) -> Option<PropertyType> {
        let scalar = match (self.scalar, other.scalar) {
            _ if self.list != other.list => return None,
            (one, two) if one == two => one,
            (ScalarType::Int64, ScalarType::UInt64) | (ScalarType::UInt64, ScalarType::Int64) => {
                ScalarType::UInt64
            }
            (one, two) if one.is_number() && two.is_number() => ScalarType::Float64,
            _ => return None,
        };
        Some(PropertyType { scalar, ..self })
    }

    /// The code on disk: the position in [`ScalarType::ALL`], and bit 7 for lists.
    pub fn code(self) -> u8 {
        self.scalar as u8 | if self.list { LIST_CODE } else { 0 }
    }

    /// The type of this code on disk, if there is one.
    #[inline]
    pub fn from_code(code: u8) -> Option<Self> {
        let scalar = *ScalarType::ALL.get(usize::from(code & !LIST_CODE))?;
        Some(PropertyType { scalar, list: code & LIST_CODE != 0 })
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<PropertyType> for String {
    fn from(kind: PropertyType) -> Self {
        kind.name().to_owned()
    }
}

impl TryFrom<String> for PropertyType {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        PropertyType::from_name(&name).ok_or_else(|| format!("{name:?} is no property type"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_lead_back() {
        for kind in PropertyType::ALL {
            assert_eq!(PropertyType::from_name(kind.name()), Some(kind));
            assert_eq!(PropertyType::from_code(kind.code()), Some(kind));
        }
        for (position, scalar) in ScalarType::ALL.into_iter().enumerate() {
            assert_eq!(scalar as usize, position);
        }
        assert_eq!(PropertyType::from_code(15), None);
    }
}
