//! Edge properties beside the neighbors of a run: parallel columns in one block.
//!
//! ```text
//!  [neighbor: u32 × rows, or a compressed run of them] pad to 8
//!  area: block bytes: u32 | columns: u31 | compact: u1
//!        per column: property: u16 | type: u8 | has nulls: u1, form: u7 | offset from the area: u32
//!        per column, in a compact area side by side, in others each part padded to 8:
//!          [validity: 1 bit × rows, least significant first]   if it has nulls
//!          values, in the form that `column_values.rs` draws; in areas that are not compact the plain one
//! ```
//!
//! An area may have places for more rows than there are: of plain columns of fixed width without nulls, whose cells a later commit
//! writes (`growth.rs`) while others read those before.
//!
//! Invariants: a property without a column is null in every row; either kind of area is read whatever the format of the
//! store; no reference is made to a cell that is not a row's yet.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::AtomicU8;

use evergraph_types::{Cells, Column, Property, PropertyId, PropertyType, Value};

use crate::lists::adjacency::as_bytes;
use crate::lists::column_values::{Form, Values, push_cell, push_text, write_dictionary, write_packed};
use crate::lists::plain_columns::PlainColumn;

/// Set in the number of columns of a compact area.
const COMPACT: u32 = 1 << 31;
/// Set beside the form of a column that has nulls.
const HAS_NULLS: u8 = 1;

/// The column area of a run, for reading.
#[derive(Clone, Copy)]
pub(crate) struct ColumnArea<'a> {
    /// What is no row's yet may be written to.
    bytes: &'a [AtomicU8],
    rows: usize,
    /// For how many rows there is room.
    places: usize,
    /// The row that readers call the first.
    first_row: usize,
}

/// One property of the edges of a run.
#[derive(Clone, Copy)]
pub struct RunColumn<'a> {
    kind: PropertyType,
    validity: Option<&'a [u8]>,
    values: Values<'a>,
    /// The row that readers call the first, and how many there are before and after it.
    first_row: u32,
    rows: u32,
}

/// Rounds up to a multiple of 8.
pub(crate) fn pad8(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}

/// Where a part of so many bytes ends in an area.
fn part_end(bytes: usize, compact: bool) -> usize {
    if compact { bytes } else { pad8(bytes) }
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes)
}

impl<'a> ColumnArea<'a> {
    /// The area after the neighbors of `rows` edges at `pointer`, which take so many bytes; it has room for so many rows.
    ///
    /// # Safety
    /// The run was written with columns and stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn after(
        pointer: *const u8,
        neighbor_bytes: usize,
        rows: usize,
        places: usize,
    ) -> Self {
        let start = pad8(neighbor_bytes);
        // SAFETY: the area begins with the length of the whole block, which is all readable.
        let bytes = unsafe {
            let area = pointer.add(start);
            let total = area.cast::<u32>().read() as usize;
            std::slice::from_raw_parts(area.cast(), total - start)
        };
        ColumnArea { bytes, rows, places, first_row: 0 }
    }

    /// The area that these bytes are, of so many rows.
    pub(crate) fn of(bytes: &'a [u8], rows: usize) -> Self {
        // SAFETY: the same memory, which nobody writes to.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) };
        ColumnArea { bytes, rows, places: rows, first_row: 0 }
    }

    /// These bytes, of what does not change any more.
    #[inline]
    fn part(&self, range: Range<usize>) -> Option<&'a [u8]> {
        let part = self.bytes.get(range)?;
        // SAFETY: the same memory, which nobody writes to from here on.
        Some(unsafe { std::slice::from_raw_parts(part.as_ptr().cast(), part.len()) })
    }

    #[inline]
    fn word(&self, at: usize) -> u32 {
        self.part(at..at + 4).map_or(0, |bytes| read_u32(bytes, 0))
    }

    /// Whether there is room for more rows.
    #[inline]
    fn has_room(&self) -> bool {
        self.places > self.rows
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether these are all columns, plain and without nulls.
    pub(crate) fn has_just(&self, columns: impl Iterator<Item = PlainColumn>) -> bool {
        let own = self.descriptors().unwrap_or_default().iter().map(|descriptor| &descriptor[..4]);
        own.eq(columns.map(|column| column.head()))
    }

    /// The places for cells of the column at this position, which is a plain one, from a row on.
    ///
    /// # Safety
    /// Nobody else reaches these.
    pub(crate) unsafe fn cells_from(&self, position: usize, row: usize) -> Option<&'a mut [MaybeUninit<u8>]> {
        let descriptor = self.descriptors()?.get(position)?;
        let (start, width) =
            (read_u32(descriptor, 4) as usize, PropertyType::from_code(descriptor[2])?.width()?);
        let cells = self.bytes.get(start + width * row..start + width * self.places)?;
        // SAFETY: the same memory, by contract only the caller's.
        Some(unsafe { std::slice::from_raw_parts_mut(cells.as_ptr().cast_mut().cast(), cells.len()) })
    }

    /// The area as seen from a row on, which is the first then.
    pub(crate) fn starting_at(self, row: usize) -> Self {
        ColumnArea { first_row: self.first_row + row, ..self }
    }

    /// Whether each column is of the type of its property and has a value for every row, and strings are text, as readers take
    /// for granted.
    pub(crate) fn is_whole(&self, properties: &[Property]) -> bool {
        let is_whole = |descriptor: &[u8; 8]| {
            let property = properties.get(usize::from(property_of(descriptor)));
            let (Some(property), Some(column)) = (property, self.slice(descriptor)) else { return false };
            (property.is_dropped() || property.kind == column.kind)
                && column.values.is_whole(self.rows, column.kind == PropertyType::String)
        };
        self.descriptors().is_some_and(|columns| columns.iter().all(is_whole))
    }

    /// The bytes of the whole run, neighbors included.
    pub(crate) fn block_bytes(&self) -> usize {
        self.word(0) as usize
    }

    /// Whether values are written in few bits where that takes less room.
    #[inline]
    pub(crate) fn is_compact(&self) -> bool {
        self.word(4) & COMPACT != 0
    }

    /// Writes the run again, compact or not, without the columns of properties that were dropped; tells whether any is left.
    pub(crate) fn rewritten(
        &self,
        run: &[u32],
        properties: &[Property],
        compact: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let live = (0..).zip(properties).filter(|(_, property)| !property.is_dropped());
        let drafts = live.filter_map(|(id, property)| {
            let column = self.column(id)?;
            let mut draft = ColumnDraft::new(id, property.kind);
            draft.push_rows(Some(&column), 0..self.rows);
            Some(draft)
        });
        encode_run(run, &drafts.collect::<Vec<_>>(), compact, out)
    }

    /// The column of a property, unless it is null throughout.
    #[inline]
    pub(crate) fn column(&self, property: PropertyId) -> Option<RunColumn<'a>> {
        let descriptors = self.descriptors()?;
        let is_wanted = |column: &&[u8; 8]| property_of(column) == property;
        // Where no property before it is null throughout, it lies in its place.
        let in_place = descriptors.get(usize::from(property)).filter(is_wanted);
        self.slice(in_place.or_else(|| descriptors.iter().find(is_wanted))?)
    }

    #[inline]
    fn descriptors(&self) -> Option<&'a [[u8; 8]]> {
        let columns = (self.word(4) & !COMPACT) as usize;
        Some(self.part(8..8 + 8 * columns)?.as_chunks::<8>().0)
    }

    /// The column that a descriptor tells of.
    #[inline]
    fn slice(&self, descriptor: &[u8; 8]) -> Option<RunColumn<'a>> {
        let kind = PropertyType::from_code(descriptor[2])?;
        let (has_nulls, form) = (descriptor[3] & HAS_NULLS != 0, Form::from_code(descriptor[3] >> 1)?);
        let start = read_u32(descriptor, 4) as usize;
        let end = match kind.width() {
            // Behind the last row others may write.
            Some(width) if self.has_room() => start + width * self.rows,
            _ => self.bytes.len(),
        };
        let data = self.part(start..end)?;
        let compact = self.is_compact();
        let validity_bytes = if has_nulls { part_end(self.rows.div_ceil(8), compact) } else { 0 };
        let (validity, values) = data.split_at_checked(validity_bytes)?;
        let values = match kind.width() {
            Some(width) => Values::fixed(form, width, values)?,
            None => Values::variable(form, self.rows, part_end(4 * (self.rows + 1), compact), values)?,
        };
        let validity = has_nulls.then_some(validity);
        Some(RunColumn { kind, validity, values, first_row: self.first_row as u32, rows: self.rows as u32 })
    }
}

/// Which property a descriptor tells of.
fn property_of(descriptor: &[u8; 8]) -> PropertyId {
    u16::from_le_bytes([descriptor[0], descriptor[1]])
}

impl<'a> RunColumn<'a> {
    /// Where row `row` lies among all rows, unless its value is null.
    #[inline]
    fn place(&self, row: usize) -> Option<usize> {
        let place = self.first_row as usize + row;
        (!self.is_null_at(place)).then_some(place)
    }

    #[inline]
    fn is_null_at(&self, place: usize) -> bool {
        self.validity.is_some_and(|validity| validity[place / 8] >> (place % 8) & 1 == 0)
    }

    /// Whether the value in row `row` is null.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.place(row).is_none()
    }

    /// The bits of the value in row `row` of a column of fixed width, as [`Value::of_bits`] takes them; `None` if it is
    /// null.
    ///
    /// # Panics
    /// If there is no such row; it may give any value instead.
    #[inline]
    pub fn bits(&self, row: usize) -> Option<u64> {
        self.place(row).map(|place| self.values.bits(place))
    }

    /// The bytes of the value in row `row` of a column of strings or bytes; `None` if it is null.
    ///
    /// # Panics
    /// If there is no such row; it may give any value instead.
    #[inline]
    pub fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        self.place(row).map(|place| self.values.bytes(place))
    }

    /// The text in row `row` of a column of strings; `None` if it is null, or the column is one of another type.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn text(&self, row: usize) -> Option<&'a str> {
        assert!(row < (self.rows - self.first_row) as usize, "there is no row {row}");
        let text = self.bytes(row).filter(|_| self.kind == PropertyType::String)?;
        // SAFETY: of a row that is there: strings are written from text, and those of a file are looked at before they are
        // read (`is_whole`).
        Some(unsafe { std::str::from_utf8_unchecked(text) })
    }

    /// The value in row `row`.
    ///
    /// # Panics
    /// If there is no such row; it may give any value instead.
    pub fn value(&self, row: usize) -> Value {
        let value = match self.kind.width() {
            None => self.bytes(row).and_then(|bytes| Value::of_bytes(self.kind, bytes)),
            Some(_) => self.bits(row).map(|bits| Value::of_bits(self.kind, bits)),
        };
        value.unwrap_or(Value::Null)
    }

    /// Appends the cells of these rows to those of a column of the same type; of nulls zero or empty ones.
    pub(crate) fn copy_cells(&self, rows: impl Iterator<Item = usize>, into: &mut Cells) {
        let places = rows.map(|row| self.first_row as usize + row);
        match self.validity {
            None => self.values.copy_cells(places, |_| false, into),
            Some(_) => self.values.copy_cells(places, |place| self.is_null_at(place), into),
        }
    }

    /// Writes the cells of the rows from this one on, as many as there are places; the column is of fixed width and has no nulls.
    pub(crate) fn write_cells(&self, row: usize, places: &mut [MaybeUninit<u8>]) {
        self.values.write_cells(self.first_row as usize + row, places);
    }

    /// Whether row `row` has the value that a row of another column of the property has, to the bit.
    pub(crate) fn is_same(&self, row: usize, other: &Self, other_row: usize) -> bool {
        match self.kind.width() {
            None => self.bytes(row) == other.bytes(other_row),
            Some(_) => self.bits(row) == other.bits(other_row),
        }
    }
}

/// A column of a run while it is put together.
#[derive(Debug)]
pub(crate) struct ColumnDraft {
    property: PropertyId,
    kind: PropertyType,
    valid: Vec<bool>,
    nulls: usize,
    /// The cells one after the other, as they lie in an area that is not compact; those of nulls zero or empty.
    cells: Vec<u8>,
    /// Where each cell of variable width ends.
    ends: Vec<u32>,
}

impl ColumnDraft {
    pub(crate) fn new(property: PropertyId, kind: PropertyType) -> Self {
        ColumnDraft { property, kind, valid: Vec::new(), nulls: 0, cells: Vec::new(), ends: Vec::new() }
    }

    /// Begins anew with no row, of another property perhaps; the buffers stay.
    pub(crate) fn restart(&mut self, property: PropertyId, kind: PropertyType) {
        let ColumnDraft { valid, cells, ends, .. } = self;
        valid.clear();
        cells.clear();
        ends.clear();
        (self.property, self.kind, self.nulls) = (property, kind, 0);
    }

    pub(crate) fn push_null(&mut self) {
        self.push(false, 0, &[]);
    }

    /// Appends rows of an older run; nulls if it has no column of the property.
    pub(crate) fn push_rows(&mut self, column: Option<&RunColumn<'_>>, rows: Range<usize>) {
        let Some(column) = column else { return rows.for_each(|_| self.push_null()) };
        if column.validity.is_none() {
            self.valid.resize(self.valid.len() + rows.len(), true);
            let first_row = column.first_row as usize;
            let places = first_row + rows.start..first_row + rows.end;
            return column.values.push_rows(places, &mut self.cells, &mut self.ends);
        }
        for row in rows {
            let (bits, bytes) = (column.bits(row), column.bytes(row));
            self.push(!column.is_null(row), bits.unwrap_or_default(), bytes.unwrap_or_default());
        }
    }

    /// Appends row `row` of an incoming column of the same type.
    pub(crate) fn push_column(&mut self, column: &Column, row: usize) {
        match column.cells() {
            _ if column.is_null(row) => self.push_null(),
            Cells::Variable(texts) => self.push(true, 0, texts.get_bytes(row)),
            cells => self.push(true, cells.bits(row), &[]),
        }
    }

    fn push(&mut self, valid: bool, bits: u64, text: &[u8]) {
        self.valid.push(valid);
        self.nulls += usize::from(!valid);
        match self.kind.width() {
            Some(width) => push_cell(bits, width, &mut self.cells),
            None => push_text(text, &mut self.cells, &mut self.ends),
        }
    }

    /// About how many bytes the column takes.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.len() + 4 * self.ends.len()
    }

    /// How many bytes it takes in an area at the most: with its descriptor, its parts padded.
    fn room(&self) -> usize {
        8 + pad8(self.valid.len().div_ceil(8)) + pad8(4 * (self.ends.len() + 1)) + pad8(self.cells.len())
    }

    /// Bytes of the buffer of cells.
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.cells.capacity()
    }

    fn has_nulls(&self) -> bool {
        self.nulls > 0
    }

    fn is_all_null(&self) -> bool {
        self.nulls == self.valid.len()
    }

    /// Appends the column; tells the form of its values.
    fn encode(&self, compact: bool, out: &mut Vec<u8>) -> Form {
        let pad = |out: &mut Vec<u8>| out.resize(part_end(out.len(), compact), 0);
        if self.has_nulls() {
            let start = out.len();
            out.resize(start + self.valid.len().div_ceil(8), 0);
            for (row, _) in self.valid.iter().enumerate().filter(|(_, valid)| **valid) {
                out[start + row / 8] |= 1 << (row % 8);
            }
            pad(out);
        }
        let form = match self.kind.width() {
            Some(width)
                if compact && !self.kind.is_float() && write_packed(&self.cells, &self.valid, width, out) =>
            {
                Form::Packed
            }
            None if compact && write_dictionary(&self.ends, &self.cells, &self.valid, out) => {
                Form::Dictionary
            }
            width => {
                if width.is_none() {
                    out.extend_from_slice(&0u32.to_le_bytes());
                    out.extend_from_slice(as_bytes(&self.ends));
                    pad(out);
                }
                out.extend_from_slice(&self.cells);
                Form::Plain
            }
        };
        pad(out);
        form
    }
}

/// The bytes of a run with columns, its neighbors given as they or their compressed form lie in memory; without any column
/// that is not null throughout, just the neighbors. Tells whether there are columns.
pub(crate) fn encode_run(run: &[u32], columns: &[ColumnDraft], compact: bool, out: &mut Vec<u8>) -> bool {
    let columns = columns.iter().filter(|column| !column.is_all_null());
    let number = columns.clone().count();
    out.clear();
    out.reserve(size_of_val(run) + columns.clone().map(ColumnDraft::room).sum::<usize>() + 3 * 8);
    out.extend_from_slice(as_bytes(run));
    if number == 0 {
        return false;
    }
    out.resize(pad8(out.len()), 0);
    let area = out.len();
    out.resize(area + 8 + 8 * number, 0);
    let number = number as u32 | if compact { COMPACT } else { 0 };
    out[area + 4..area + 8].copy_from_slice(&number.to_le_bytes());
    for (position, column) in columns.enumerate() {
        let at = area + 8 + 8 * position;
        let offset = (out.len() - area) as u32;
        out[at..at + 2].copy_from_slice(&column.property.to_le_bytes());
        out[at + 2] = column.kind.code();
        out[at + 4..at + 8].copy_from_slice(&offset.to_le_bytes());
        let form = column.encode(compact, out);
        let nulls = if column.has_nulls() { HAS_NULLS } else { 0 };
        out[at + 3] = nulls | form.code() << 1;
    }
    out.resize(pad8(out.len()), 0);
    let total = out.len() as u32;
    out[area..area + 4].copy_from_slice(&total.to_le_bytes());
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lists::plain_columns::{run_bytes, write_cells, write_columns};

    /// The cell of each row, as its bytes, or null.
    type Rows = Vec<Option<Vec<u8>>>;

    fn kinds() -> Vec<PropertyType> {
        (0..=u8::MAX).filter_map(PropertyType::from_code).collect()
    }

    /// So many rows of cells that lie near each other, anywhere, or where numbers turn over; of strings, few or many.
    fn rows(kind: PropertyType, count: usize) -> BoxedStrategy<Rows> {
        let cells = match kind.width() {
            Some(width) => {
                let base = prop_oneof![Just(0u64), Just(u64::MAX - 2), any::<u64>()];
                (base, 0..=64u32)
                    .prop_flat_map(move |(base, bits)| {
                        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
                        let cell =
                            move |step: u64| base.wrapping_add(step & mask).to_le_bytes()[..width].to_vec();
                        prop::collection::vec(any::<u64>().prop_map(cell), count)
                    })
                    .boxed()
            }
            None => {
                let string = |most| prop::collection::vec(any::<u8>(), 0..most);
                prop_oneof![
                    prop::collection::vec(string(12), 1..5),
                    prop::collection::vec(string(12), 300),
                    prop::collection::vec(string(70_000), 1..3),
                ]
                .prop_flat_map(move |known| prop::collection::vec(prop::sample::select(known), count))
                .boxed()
            }
        };
        let nulls = prop_oneof![Just(0.0), Just(0.3), Just(0.97), Just(1.0)];
        let is_null =
            nulls.prop_flat_map(move |nulls| prop::collection::vec(prop::bool::weighted(nulls), count));
        (cells, is_null)
            .prop_map(|(cells, is_null)| {
                cells.into_iter().zip(is_null).map(|(cell, is_null)| (!is_null).then_some(cell)).collect()
            })
            .boxed()
    }

    fn columns() -> impl Strategy<Value = Vec<(PropertyType, Rows)>> {
        let count = prop_oneof![Just(1usize), 2..20usize, Just(256), Just(512)];
        count.prop_flat_map(|count| {
            let column = prop::sample::select(kinds())
                .prop_flat_map(move |kind| rows(kind, count).prop_map(move |rows| (kind, rows)));
            prop::collection::vec(column, 1..4)
        })
    }

    fn bits_of(cell: &[u8]) -> u64 {
        cell.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }

    fn draft(property: PropertyId, kind: PropertyType, rows: &Rows) -> ColumnDraft {
        let mut draft = ColumnDraft::new(property, kind);
        for row in rows {
            match row {
                None => draft.push_null(),
                Some(cell) if kind.width().is_none() => draft.push(true, 0, cell),
                Some(cell) => draft.push(true, bits_of(cell), &[]),
            }
        }
        draft
    }

    /// The bytes of a run, at a multiple of 8 as in memory, and where they end.
    fn aligned(bytes: &[u8]) -> Vec<u64> {
        bytes.chunks(8).map(bits_of).collect()
    }

    /// The run as it is written straight to where it lies, if it may be.
    fn plain_run(neighbors: &[u32], columns: &[(PropertyType, Rows)]) -> Option<Vec<u8>> {
        let column = |(property, (kind, rows)): (PropertyId, &(PropertyType, Rows))| {
            let width = kind.width()?;
            let mut cells = Cells::new(Some(width));
            for row in rows {
                cells.push_bits(bits_of(row.as_deref()?));
            }
            Some((PlainColumn { property, kind: *kind, width }, cells))
        };
        let columns: Vec<(PlainColumn, Cells)> = (0..).zip(columns).map(column).collect::<Option<_>>()?;
        let columns = columns.iter().map(|(column, cells)| (*column, cells));
        let places = neighbors.len();
        let bytes = vec![0xdd; run_bytes(places, columns.clone().map(|(column, _)| column))];
        let mut run: Vec<MaybeUninit<u8>> = bytes.into_iter().map(MaybeUninit::new).collect();
        run[..4 * places].write_copy_of_slice(as_bytes(neighbors));
        write_columns(&mut run, places, columns, |_, cells, own| write_cells(cells, 0..places, own));
        // SAFETY: all of it was written.
        Some(unsafe { run.assume_init_ref() }.to_vec())
    }

    fn check(area: ColumnArea<'_>, columns: &[(PropertyType, Rows)]) -> Result<(), TestCaseError> {
        for (property, (kind, rows)) in (0..).zip(columns) {
            let Some(column) = area.column(property) else {
                prop_assert!(rows.iter().all(Option::is_none));
                continue;
            };
            for (row, cell) in rows.iter().enumerate() {
                prop_assert_eq!(column.is_null(row), cell.is_none());
                let (Some(cell), width) = (cell, kind.width()) else { continue };
                let value = match width {
                    None => Value::of_bytes(*kind, cell).unwrap_or(Value::Null),
                    Some(_) => Value::of_bits(*kind, bits_of(cell)),
                };
                // NaN is a value that is not equal to itself.
                prop_assert_eq!(format!("{:?}", column.value(row)), format!("{value:?}"));
                match width {
                    None => prop_assert_eq!(column.bytes(row), Some(&cell[..])),
                    Some(_) => prop_assert_eq!(column.bits(row), Some(bits_of(cell))),
                }
            }
            let picked: Vec<usize> = (0..rows.len()).rev().step_by(3).collect();
            for picked in [(0..rows.len()).collect(), picked] {
                let (mut cells, mut expected) = (Cells::new(kind.width()), Cells::new(kind.width()));
                column.copy_cells(picked.iter().copied(), &mut cells);
                for row in picked {
                    match (&rows[row], expected.texts_mut()) {
                        (cell, Some(texts)) => texts.push_bytes(cell.as_deref().unwrap_or_default()),
                        (cell, None) => expected.push_bits(cell.as_deref().map_or(0, bits_of)),
                    }
                }
                prop_assert_eq!(cells, expected);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Columns of every type read as the rows they were made of, row by row and many at a time, compact or not; compact ones
        /// take no more room, and either is written again as the other. What is written straight to where it lies is the same.
        #[test]
        fn columns_read_as_they_were_given(columns in columns()) {
            let count = columns[0].1.len();
            let neighbors: Vec<u32> = (0..count as u32).collect();
            let drafts: Vec<ColumnDraft> =
                (0..).zip(&columns).map(|(property, (kind, rows))| draft(property, *kind, rows)).collect();
            let properties: Vec<Property> =
                columns.iter().map(|(kind, _)| Property { name: "p".to_owned(), kind: *kind }).collect();
            let (mut fast, mut compact) = (Vec::new(), Vec::new());
            let any = encode_run(&neighbors, &drafts, false, &mut fast);
            prop_assert_eq!(encode_run(&neighbors, &drafts, true, &mut compact), any);
            prop_assert_eq!(any, columns.iter().any(|(_, rows)| rows.iter().any(Option::is_some)));
            prop_assert!(compact.len() <= fast.len());
            prop_assume!(any);
            if let Some(plain) = plain_run(&neighbors, &columns) {
                prop_assert_eq!(&plain, &fast);
            }
            for (bytes, other, is_compact) in [(&fast, &compact, false), (&compact, &fast, true)] {
                let words = aligned(bytes);
                // SAFETY: the run was written with columns and lives as long as the words.
                let area = unsafe { ColumnArea::after(words.as_ptr().cast(), 4 * count, count, count) };
                prop_assert_eq!((area.block_bytes(), area.is_compact()), (bytes.len(), is_compact));
                check(area, &columns)?;
                let mut written = Vec::new();
                prop_assert!(area.rewritten(&neighbors, &properties, is_compact, &mut written));
                prop_assert_eq!(&written, bytes);
                written.clear();
                prop_assert!(area.rewritten(&neighbors, &properties, !is_compact, &mut written));
                prop_assert_eq!(&written, other);
            }
        }
    }

    /// What lies behind the last row may be no text.
    #[test]
    fn there_is_no_text_behind_the_last_row() {
        let rows: Rows = ["a", "bc", "d"].map(|text| Some(text.into())).into();
        for compact in [false, true] {
            let mut bytes = Vec::new();
            assert!(encode_run(&[7, 8, 9], &[draft(0, PropertyType::String, &rows)], compact, &mut bytes));
            let words = aligned(&bytes);
            // SAFETY: the run was written with columns and lives as long as the words.
            let area = unsafe { ColumnArea::after(words.as_ptr().cast(), 12, 3, 3) };
            let column = area.starting_at(1).column(0).expect("it has values");
            assert_eq!((column.text(0), column.text(1)), (Some("bc"), Some("d")));
            for row in [2, 3, usize::MAX] {
                assert!(std::panic::catch_unwind(|| column.text(row)).is_err(), "{row}");
            }
        }
    }

    /// What a run of so many rows takes beside its neighbors, fast and compact.
    fn room(kind: PropertyType, rows: &Rows) -> [usize; 2] {
        let neighbors = vec![0; rows.len()];
        [false, true].map(|compact| {
            let mut bytes = Vec::new();
            encode_run(&neighbors, &[draft(0, kind, rows)], compact, &mut bytes);
            bytes.len() - 4 * rows.len()
        })
    }

    #[test]
    fn near_numbers_times_and_few_strings_take_few_bits() {
        let numbers = |kind: PropertyType, value: &dyn Fn(i64) -> i64| {
            let width = kind.width().expect("numbers");
            room(kind, &(0..256).map(|row| Some(value(row).to_le_bytes()[..width].to_vec())).collect())
        };
        // Of 256 rows: 16 bytes for the area, then 256 cells, or a width, a base and 256 numbers, up to a multiple of 8.
        assert_eq!(
            numbers(PropertyType::Timestamp, &|row| 1_700_000_000_000_000 + 1000 * row),
            [2064, 16 + 592]
        );
        assert_eq!(numbers(PropertyType::Int32, &|row| row % 100 - 50), [1040, 16 + 232]);
        assert_eq!(numbers(PropertyType::Bool, &|row| row % 2), [272, 16 + 40]);
        assert_eq!(numbers(PropertyType::Int64, &|_| -7), [2064, 16 + 16]);
        assert_eq!(numbers(PropertyType::Float64, &|_| 0), [2064, 2064]);
        let strings =
            (0..256).map(|row| Some(["card", "cash", "transfer"][row % 3].as_bytes().to_vec())).collect();
        assert_eq!(room(PropertyType::String, &strings), [16 + 1032 + 1368, 16 + 88]);
    }
}
