//! A property column of one block while it grows, and the agreement of all blocks on its type.
//!
//! Invariant: an inferred column never loses what a wider type would have shown. Integers may become unsigned ones, or doubles
//! that are equal to them, and a column of nulls anything, in place; every other change of type means that the text must be read
//! again as strings, which the owner of the block does ([`ColumnBuilder::admits`], [`settle`]).

use evergraph_types::{Cells, Column, PropertyType};

use crate::cell::Cell;
use crate::guess::{Guess, recoded};

/// The values of one property in one block.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    /// The type of the values so far; `None` while all are null.
    kind: Option<PropertyType>,
    column: Column,
    /// Some null would be text in a string column.
    blanks: bool,
    /// What was known of values that were dropped.
    dropped: Guess,
}

impl ColumnBuilder {
    /// An empty column of the type known or guessed so far, with room for `rows`.
    pub(crate) fn new(kind: Option<PropertyType>, rows: usize) -> Self {
        let mut column = Column::new(kind.unwrap_or(PropertyType::String));
        column.cells_mut().reserve(rows);
        ColumnBuilder { kind, column, blanks: false, dropped: Guess::default() }
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
            (Some(kind), Some(other)) => kind == other || self.joined(cell) != Some(PropertyType::String),
        }
    }

    /// What is known of the type, and of the integers in it: looks at all of them.
    fn guess(&self) -> Guess {
        self.dropped.join(Guess::of_column(self.kind, &self.column))
    }

    /// The type of the column with a value of another type.
    fn joined(&self, cell: &Cell) -> Option<PropertyType> {
        let of_cell = match cell {
            Cell::Bits(kind, bits) => Guess::of_bits(*kind, *bits),
            cell => Guess::of_kind(cell.kind()),
        };
        self.guess().join(of_cell).kind
    }

    /// The values, if they are integers without nulls: what the fast path can append to.
    pub(crate) fn plain_integers(&mut self) -> Option<&mut Vec<u64>> {
        let plain = self.kind == Some(PropertyType::Int64) && self.column.validity.is_none();
        match self.column.cells_mut() {
            Cells::Eight(values) if plain => Some(values),
            _ => None,
        }
    }

    /// Appends a value that is admitted.
    pub(crate) fn push(&mut self, cell: &Cell) {
        self.blanks |= matches!(cell, Cell::Blank);
        if cell.kind().is_some_and(|kind| self.kind != Some(kind)) {
            self.retype(self.joined(cell));
        }
        match cell {
            Cell::Bits(kind, bits) => {
                let to = self.column.property_type();
                self.column.push_bits(recoded(*bits, *kind, to));
            }
            Cell::Bytes(_, bytes) => self.column.push_bytes(bytes),
            Cell::Text(text) => {
                if let Some(texts) = self.column.cells_mut().texts_mut() {
                    text.push_to(texts);
                }
                self.column.validity.iter_mut().for_each(|validity| validity.push(true));
            }
            Cell::Null | Cell::Blank => self.column.push_nulls(1),
        }
    }

    fn retype(&mut self, kind: Option<PropertyType>) {
        let column = std::mem::replace(&mut self.column, Column::new(PropertyType::Int64));
        self.column = convert(column, kind.unwrap_or(PropertyType::String));
        self.kind = kind;
    }

    /// Drops the values; what is known of their type stays.
    pub(crate) fn forget(&mut self) {
        self.dropped = self.guess();
        self.column = Column::new(self.column.property_type());
    }

    /// The column as one of `kind`, which holds all values of the file.
    pub(crate) fn finish(self, kind: PropertyType) -> Column {
        if self.kind == Some(kind) { self.column } else { convert(self.column, kind) }
    }
}

/// The type all blocks of a column agree on, or `None` if that is string and some block did not keep its text.
pub(crate) fn settle<'a>(blocks: impl Iterator<Item = &'a ColumnBuilder> + Clone) -> Option<PropertyType> {
    let mut kinds = blocks.clone().filter_map(|block| block.kind);
    let first = kinds.next();
    let kind = match kinds.all(|kind| Some(kind) == first) {
        true => first,
        false => blocks.clone().map(ColumnBuilder::guess).fold(Guess::default(), Guess::join).kind,
    };
    let kind = kind.unwrap_or(PropertyType::String);
    let mut blocks = blocks;
    let kept_text = |block: &ColumnBuilder| match block.kind {
        None => !block.blanks,
        Some(of_block) => of_block == PropertyType::String,
    };
    (kind != PropertyType::String || blocks.all(kept_text)).then_some(kind)
}

/// Numbers to a type that holds them; from any other type all values are null and stay so.
fn convert(column: Column, kind: PropertyType) -> Column {
    let rows = column.len();
    let (from, cells, validity) = column.into_parts();
    if let Cells::Eight(bits) = cells
        && from.is_number()
        && kind.is_number()
    {
        let cells = Cells::Eight(bits.into_iter().map(|bits| recoded(bits, from, kind)).collect());
        if let Some(column) = Column::of_cells(kind, cells) {
            return column.with_validity(validity);
        }
    }
    let mut column = Column::new(kind);
    column.push_nulls(rows);
    column
}
