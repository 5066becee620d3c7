//! Columns of property values, typed and nullable, as they travel from input to fragments.
//!
//! Invariant: `validity`, where present, is as long as the values; a null row still has a (zero, empty) value.

use crate::{PropertyType, Value};

/// Strings laid end to end: string `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TextValues {
    /// One more than there are strings, from 0, ascending.
    pub offsets: Vec<u64>,
    /// The UTF-8 bytes.
    pub bytes: Vec<u8>,
}

impl Default for TextValues {
    fn default() -> Self {
        TextValues { offsets: vec![0], bytes: Vec::new() }
    }
}

impl TextValues {
    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one string.
    pub fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.offsets.push(self.bytes.len() as u64);
    }

    /// The string at `row`; empty where the bytes are no UTF-8, which `push` rules out.
    pub fn get(&self, row: usize) -> &str {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        std::str::from_utf8(&self.bytes[range]).unwrap_or("")
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// The values of a column, by type.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Booleans.
    Bool(Vec<bool>),
    /// 64-bit integers.
    Int64(Vec<i64>),
    /// Doubles.
    Float64(Vec<f64>),
    /// Strings.
    String(TextValues),
    /// Microseconds since 1970-01-01 UTC.
    Timestamp(Vec<i64>),
}

/// A typed column with optional nulls.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The values, nulls included as zero or empty.
    pub values: ColumnValues,
    /// `false` where the row is null; absent when no row is.
    pub validity: Option<Vec<bool>>,
}

impl Column {
    /// An empty column of this type.
    pub fn new(kind: PropertyType) -> Self {
        let values = match kind {
            PropertyType::Bool => ColumnValues::Bool(Vec::new()),
            PropertyType::Int64 => ColumnValues::Int64(Vec::new()),
            PropertyType::Float64 => ColumnValues::Float64(Vec::new()),
            PropertyType::String => ColumnValues::String(TextValues::default()),
            PropertyType::Timestamp => ColumnValues::Timestamp(Vec::new()),
        };
        Column { values, validity: None }
    }

    /// The type of the column.
    pub fn property_type(&self) -> PropertyType {
        match self.values {
            ColumnValues::Bool(_) => PropertyType::Bool,
            ColumnValues::Int64(_) => PropertyType::Int64,
            ColumnValues::Float64(_) => PropertyType::Float64,
            ColumnValues::String(_) => PropertyType::String,
            ColumnValues::Timestamp(_) => PropertyType::Timestamp,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            ColumnValues::Bool(values) => values.len(),
            ColumnValues::Int64(values) | ColumnValues::Timestamp(values) => values.len(),
            ColumnValues::Float64(values) => values.len(),
            ColumnValues::String(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the row is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|validity| !validity[row])
    }

    /// The value at `row`.
    pub fn get(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.values {
            ColumnValues::Bool(values) => Value::Bool(values[row]),
            ColumnValues::Int64(values) => Value::Int(values[row]),
            ColumnValues::Float64(values) => Value::Float(values[row]),
            ColumnValues::String(values) => Value::Text(values.get(row).to_owned()),
            ColumnValues::Timestamp(values) => Value::Timestamp(values[row]),
        }
    }

    /// Appends a value, coerced to the column's type as [`Value::coerce`] allows; hands it back if it does not fit.
    pub fn push(&mut self, value: Value) -> Result<(), Value> {
        let value = value.coerce(self.property_type())?;
        match (&mut self.values, &value) {
            (ColumnValues::Bool(values), Value::Bool(flag)) => values.push(*flag),
            (ColumnValues::Int64(values), Value::Int(number)) => values.push(*number),
            (ColumnValues::Float64(values), Value::Float(number)) => values.push(*number),
            (ColumnValues::String(values), Value::Text(text)) => values.push(text),
            (ColumnValues::Timestamp(values), Value::Timestamp(micros)) => values.push(*micros),
            _ => {
                self.push_nulls(1);
                return Ok(());
            }
        }
        if let Some(validity) = &mut self.validity {
            validity.push(true);
        }
        Ok(())
    }

    /// Appends so many nulls.
    pub fn push_nulls(&mut self, count: usize) {
        let (rows, total) = (self.len(), self.len() + count);
        if count == 0 {
            return;
        }
        match &mut self.values {
            ColumnValues::Bool(values) => values.resize(total, false),
            ColumnValues::Int64(values) | ColumnValues::Timestamp(values) => values.resize(total, 0),
            ColumnValues::Float64(values) => values.resize(total, 0.0),
            ColumnValues::String(values) => values.offsets.resize(total + 1, values.bytes.len() as u64),
        }
        self.validity.get_or_insert_with(|| vec![true; rows]).resize(total, false);
    }
}
