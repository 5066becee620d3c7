//! Runs with plain columns, of fixed width and without nulls, written straight to where they lie: what most edges with properties are,
//! and what others are put together from drafts for ([`fragment`](crate::lists::fragment) draws either).
//!
//! Invariant: a run is written as [`encode_run`](crate::lists::fragment::encode_run) would, but for room behind its rows.

use std::mem::MaybeUninit;

use evergraph_types::{Cells, PropertyId, PropertyType, VertexId};

use crate::lists::column_values::Form;
use crate::lists::fragment::pad8;
use crate::lists::merge::Policy;

/// A column whose cells all have so many bytes, none of them null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainColumn {
    pub(crate) property: PropertyId,
    pub(crate) kind: PropertyType,
    pub(crate) width: usize,
}

impl PlainColumn {
    /// What its descriptor begins with.
    pub(crate) fn head(self) -> [u8; 4] {
        let [low, high] = self.property.to_le_bytes();
        [low, high, self.kind.code(), Form::Plain.code() << 1]
    }
}

/// The properties that each operation gives, in the order of columns, with their values by row of the operations; `None` if some
/// operations do not give the same, if columns are not written plain, or if a property has no fixed width.
pub(crate) fn given_columns<'a>(
    policy: Policy<'a>,
) -> Option<impl Iterator<Item = (PlainColumn, &'a Cells)> + Clone> {
    let Policy { ops, properties, compact, .. } = policy;
    let is_plain = !compact
        && ops.columns.iter().all(|column| {
            let is_whole = column.given.is_none() && column.values.validity.is_none();
            is_whole && column.values.cells().width().is_some()
        });
    let live = (0..).zip(properties).filter(|(_, property)| !property.is_dropped());
    is_plain.then(|| {
        live.filter_map(|(id, property)| {
            let cells = ops.column(id)?.values.cells();
            Some((PlainColumn { property: id, kind: property.kind, width: cells.width()? }, cells))
        })
    })
}

/// The bytes of a run with these columns and places for so many rows.
pub(crate) fn run_bytes(places: usize, columns: impl Iterator<Item = PlainColumn>) -> usize {
    let cells = columns.map(|column| 8 + pad8(column.width * places));
    pad8(size_of::<VertexId>() * places) + 8 + cells.sum::<usize>()
}

/// Writes the columns of a run with places for so many rows; `fill` is to write the cells of each to its places.
///
/// # Panics
/// If the run has less room than [`run_bytes`].
pub(crate) fn write_columns<'a>(
    run: &mut [MaybeUninit<u8>],
    places: usize,
    columns: impl Iterator<Item = (PlainColumn, &'a Cells)> + Clone,
    mut fill: impl FnMut(PlainColumn, &'a Cells, &mut [MaybeUninit<u8>]),
) {
    let zero = MaybeUninit::new(0);
    let (neighbors, number) = (size_of::<VertexId>() * places, columns.clone().count());
    run[neighbors..pad8(neighbors)].fill(zero);
    let total = run_bytes(places, columns.clone().map(|(column, _)| column));
    let (head, mut rest) = run[pad8(neighbors)..total].split_at_mut(8 + 8 * number);
    let mut offset = head.len();
    let (counts, descriptors) = head.split_at_mut(8);
    counts[..4].write_copy_of_slice(&(total as u32).to_le_bytes());
    counts[4..].write_copy_of_slice(&(number as u32).to_le_bytes());
    for ((column, cells), descriptor) in columns.zip(descriptors.as_chunks_mut::<8>().0) {
        descriptor[..4].write_copy_of_slice(&column.head());
        descriptor[4..].write_copy_of_slice(&(offset as u32).to_le_bytes());
        let (own, others) = rest.split_at_mut(pad8(column.width * places));
        offset += own.len();
        let (own, padding) = own.split_at_mut(column.width * places);
        padding.fill(zero);
        fill(column, cells, own);
        rest = others;
    }
}

/// Writes these rows of cells to places one after the other.
#[inline]
pub(crate) fn write_cells(cells: &Cells, rows: impl Iterator<Item = usize>, places: &mut [MaybeUninit<u8>]) {
    #[inline]
    fn write<const WIDTH: usize>(places: &mut [MaybeUninit<u8>], given: impl Iterator<Item = [u8; WIDTH]>) {
        for (place, cell) in places.as_chunks_mut::<WIDTH>().0.iter_mut().zip(given) {
            place.write_copy_of_slice(&cell);
        }
    }
    match cells {
        Cells::One(values) => write(places, rows.map(|row| values[row].to_le_bytes())),
        Cells::Two(values) => write(places, rows.map(|row| values[row].to_le_bytes())),
        Cells::Four(values) => write(places, rows.map(|row| values[row].to_le_bytes())),
        Cells::Eight(values) => write(places, rows.map(|row| values[row].to_le_bytes())),
        Cells::Variable(_) => unreachable!("a plain column is of fixed width"),
    }
}
