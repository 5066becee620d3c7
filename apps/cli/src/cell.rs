//! One value of a result, as JSON, as CSV and for people.

use std::fmt;

use evergraph::Key;
use evergraph::algorithms::Scalar;
use serde::{Serialize, Serializer};

use crate::units;

/// One value of a vertex or of the whole graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Null,
    Flag(bool),
    Count(u64),
    Float(f64),
    Number(i64),
    Text(String),
}

impl Cell {
    /// As a machine reads it.
    pub(crate) fn plain(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Count(number) => number.to_string(),
            Cell::Float(number) => number.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }

    /// As a field of CSV.
    pub(crate) fn quoted(&self) -> String {
        let text = self.plain();
        let needed = text.contains([',', '"', '\n', '\r']) || text.trim().len() < text.len();
        if needed { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
    }

    /// As people read it.
    pub(crate) fn pretty(&self) -> String {
        match self {
            Cell::Null => "-".to_owned(),
            Cell::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Cell::Count(number) => units::count(*number),
            Cell::Float(number) if *number == 0.0 || number.abs() >= 1e-4 => format!("{number:.6}"),
            Cell::Float(number) => format!("{number:.4e}"),
            Cell::Number(_) | Cell::Text(_) => self.plain(),
        }
    }
}

impl From<Scalar> for Cell {
    fn from(value: Scalar) -> Self {
        match value {
            Scalar::Flag(flag) => Cell::Flag(flag),
            Scalar::Count(number) => Cell::Count(number),
            Scalar::Float(number) => Cell::Float(number),
        }
    }
}

impl From<Key> for Cell {
    fn from(key: Key) -> Self {
        match key {
            Key::Int(number) => Cell::Number(number),
            Key::Text(text) => Cell::Text(text),
        }
    }
}

/// A key: a string or a number for machines; for people, in a line of several fields, a string is quoted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyCell(pub(crate) Key);

impl Serialize for KeyCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Cell::from(self.0.clone()).serialize(serializer)
    }
}

impl fmt::Display for KeyCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
