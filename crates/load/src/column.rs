//! A property column of one block while it grows, and the agreement of all blocks on its type.
//!
//! Invariant: an inferred column never loses what a wider type would have shown. Integers may become doubles, and a
//! column of nulls anything, in place; every other change of type means that the text must be read again as strings,
//! which the owner of the block does ([`ColumnBuilder::admits`], [`settle`]).

use evergraph_types::{Column, ColumnValues, PropertyType, TextValues};

use crate::cell::{Cell, join};

/// The values of one property in one block.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    /// The type of the values so far; `None` while all are null.
    kind: Option<PropertyType>,
    column: Column,
    /// Some null would be text in a string column.
    blanks: bool,
}

impl ColumnBuilder {
    /// An empty column of the type known or guessed so far, with room for `rows`.
    pub(crate) fn new(kind: Option<PropertyType>, rows: usize) -> Self {
        let mut column = Column::new(kind.unwrap_or(PropertyType::String));
        reserve(&mut column, rows);
        ColumnBuilder { kind, column, blanks: false }
    }

    /// What is known of the type.
    pub(crate) fn kind(&self) -> Option<PropertyType> {
        self.kind
    }

    /// Whether the value can be pushed without reading earlier ones again.
    pub(crate) fn admits(&self, cell: &Cell) -> bool {
        match (self.kind, cell.kind()) {
            (_, None) => true,
            (None, Some(PropertyType::String)) => !self.blanks,
            (None, Some(_)) => true,
            (Some(PropertyType::Int64), Some(PropertyType::Float64)) => true,
            (Some(kind), Some(other)) => kind == other,
        }
    }

    /// The values, if they are integers without nulls: what the fast path can append to.
    pub(crate) fn plain_integers(&mut self) -> Option<&mut Vec<i64>> {
        match (&mut self.column.values, self.kind) {
            (ColumnValues::Int64(values), Some(PropertyType::Int64)) => {
                Some(values).filter(|_| self.column.validity.is_none())
            }
            _ => None,
        }
    }

    /// Appends a value that is admitted.
    pub(crate) fn push(&mut self, cell: &Cell) {
        self.blanks |= matches!(cell, Cell::Blank);
        let kind = join(self.kind, cell.kind());
        if kind != self.kind {
            self.retype(kind);
        }
        let rows = self.column.len();
        match (&mut self.column.values, cell) {
            (ColumnValues::Bool(values), Cell::Bool(flag)) => values.push(*flag),
            (ColumnValues::Int64(values), Cell::Int(number)) => values.push(*number),
            (ColumnValues::Float64(values), Cell::Float(number)) => values.push(*number),
            (ColumnValues::Timestamp(values), Cell::Timestamp(micros)) => values.push(*micros),
            (ColumnValues::String(values), Cell::Text(text)) => text.push_to(values),
            (values, _) => {
                push_default(values);
                self.column.validity.get_or_insert_with(|| vec![true; rows]).push(false);
                return;
            }
        }
        if let Some(validity) = &mut self.column.validity {
            validity.push(true);
        }
    }

    fn retype(&mut self, kind: Option<PropertyType>) {
        let column = std::mem::replace(&mut self.column, Column::new(PropertyType::Int64));
        self.column = convert(column, kind.unwrap_or(PropertyType::String));
        self.kind = kind;
    }

    /// The column as one of `kind`, which holds all values of the file.
    pub(crate) fn finish(self, kind: PropertyType) -> Column {
        if self.kind == Some(kind) { self.column } else { convert(self.column, kind) }
    }
}

/// The type all blocks of a column agree on, or `None` if that is string and some block did not keep its text.
pub(crate) fn settle<'a>(blocks: impl Iterator<Item = &'a ColumnBuilder> + Clone) -> Option<PropertyType> {
    let kind =
        blocks.clone().fold(None, |kind, block| join(kind, block.kind)).unwrap_or(PropertyType::String);
    let mut blocks = blocks;
    let kept_text = |block: &ColumnBuilder| match block.kind {
        None => !block.blanks,
        Some(of_block) => of_block == PropertyType::String,
    };
    (kind != PropertyType::String || blocks.all(kept_text)).then_some(kind)
}

/// Integers to doubles; from any other type all values are null and stay so.
fn convert(column: Column, kind: PropertyType) -> Column {
    let rows = column.len();
    let values = match (column.values, kind) {
        (ColumnValues::Int64(values), PropertyType::Float64) => {
            ColumnValues::Float64(values.into_iter().map(|number| number as f64).collect())
        }
        (_, PropertyType::Bool) => ColumnValues::Bool(vec![false; rows]),
        (_, PropertyType::Int64) => ColumnValues::Int64(vec![0; rows]),
        (_, PropertyType::Float64) => ColumnValues::Float64(vec![0.0; rows]),
        (_, PropertyType::Timestamp) => ColumnValues::Timestamp(vec![0; rows]),
        (_, PropertyType::String) => {
            ColumnValues::String(TextValues { offsets: vec![0; rows + 1], bytes: Vec::new() })
        }
    };
    Column { values, validity: column.validity }
}

fn push_default(values: &mut ColumnValues) {
    match values {
        ColumnValues::Bool(values) => values.push(false),
        ColumnValues::Int64(values) | ColumnValues::Timestamp(values) => values.push(0),
        ColumnValues::Float64(values) => values.push(0.0),
        ColumnValues::String(values) => values.push(""),
    }
}

fn reserve(column: &mut Column, rows: usize) {
    match &mut column.values {
        ColumnValues::Bool(values) => values.reserve(rows),
        ColumnValues::Int64(values) | ColumnValues::Timestamp(values) => values.reserve(rows),
        ColumnValues::Float64(values) => values.reserve(rows),
        ColumnValues::String(values) => values.offsets.reserve(rows),
    }
}
