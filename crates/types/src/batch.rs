//! A batch of edges on its way in: two key columns and property columns of one length.

use std::ops::Range;

use crate::{Column, Key, KeyRef, TextValues};

/// A column of vertex keys.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyColumn {
    /// Numbers.
    Int(Vec<i64>),
    /// Strings.
    Text(TextValues),
}

impl KeyColumn {
    /// The number of keys.
    pub fn len(&self) -> usize {
        match self {
            KeyColumn::Int(keys) => keys.len(),
            KeyColumn::Text(keys) => keys.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key at `row`.
    pub fn get(&self, row: usize) -> KeyRef<'_> {
        match self {
            KeyColumn::Int(keys) => KeyRef::Int(keys[row]),
            KeyColumn::Text(keys) => KeyRef::Text(keys.get(row)),
        }
    }

    /// The numbers, if the keys are numbers.
    pub fn as_numbers(&self) -> Option<&[i64]> {
        match self {
            KeyColumn::Int(keys) => Some(keys),
            KeyColumn::Text(_) => None,
        }
    }

    /// The strings, if the keys are strings.
    pub fn as_texts(&self) -> Option<&TextValues> {
        match self {
            KeyColumn::Int(_) => None,
            KeyColumn::Text(keys) => Some(keys),
        }
    }

    /// The keys of some rows, in order.
    pub fn pick(&self, rows: Range<usize>) -> Self {
        match self {
            KeyColumn::Int(keys) => KeyColumn::Int(keys[rows].to_vec()),
            KeyColumn::Text(keys) => KeyColumn::Text(rows.map(|row| keys.get(row)).collect()),
        }
    }

    /// The keys collected into a column; `None` if numbers and strings are mixed. An empty input gives numbers.
    pub fn from_keys(keys: impl IntoIterator<Item = Key>) -> Option<Self> {
        let mut column = None;
        for key in keys {
            match (column.get_or_insert_with(|| Self::of_kind(&key)), key) {
                (KeyColumn::Int(keys), Key::Int(number)) => keys.push(number),
                (KeyColumn::Text(keys), Key::Text(text)) => keys.push(&text),
                _ => return None,
            }
        }
        Some(column.unwrap_or_else(|| KeyColumn::Int(Vec::new())))
    }

    fn of_kind(key: &Key) -> Self {
        match key {
            Key::Int(_) => KeyColumn::Int(Vec::new()),
            Key::Text(_) => KeyColumn::Text(TextValues::default()),
        }
    }
}

/// Edges to add, all of one type: row `i` is the edge `src[i]` to `dst[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeBatch {
    /// The source of each edge.
    pub src: KeyColumn,
    /// The destination of each edge; as long as `src`.
    pub dst: KeyColumn,
    /// Property columns by name; each as long as `src`.
    pub columns: Vec<(String, Column)>,
}

impl EdgeBatch {
    /// The number of edges.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }
}
