//! Edge properties beside the neighbors of a run: parallel columns in one block.
//!
//! ```text
//!  [neighbor: u32 × rows, or a compressed run of them] pad to 8
//!  area: block bytes: u32 | columns: u32
//!        per column: property: u16 | type: u8 | has nulls: u8 | offset from the area: u32
//!        per column, each part padded to 8:
//!          [validity: 1 bit × rows, least significant first]   if it has nulls
//!          fixed width: cells of 1, 2, 4 or 8 bytes × rows
//!          variable width: end offsets u32 × (rows + 1), then the bytes
//! ```
//!
//! Invariant: a property without a column is null in every row.
#![allow(unsafe_code)]

use evergraph_types::{Cells, Column, Property, PropertyId, PropertyType, Value};

/// The column area of a run, for reading.
#[derive(Clone, Copy)]
pub(crate) struct ColumnArea<'a> {
    bytes: &'a [u8],
    rows: usize,
}

/// One column of a run.
#[derive(Clone, Copy)]
pub(crate) struct ColumnSlice<'a> {
    kind: PropertyType,
    validity: Option<&'a [u8]>,
    values: &'a [u8],
    rows: usize,
}

/// Rounds up to a multiple of 8.
pub(crate) fn pad8(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes)
}

impl<'a> ColumnArea<'a> {
    /// The area after the neighbors of `rows` edges at `pointer`, which take so many bytes.
    ///
    /// # Safety
    /// The run was written with columns and stays alive for `'a`.
    pub(crate) unsafe fn after(pointer: *const u8, neighbor_bytes: usize, rows: usize) -> Self {
        let start = pad8(neighbor_bytes);
        // SAFETY: the area begins with the length of the whole block, which is all readable.
        let bytes = unsafe {
            let area = pointer.add(start);
            let total = area.cast::<u32>().read() as usize;
            std::slice::from_raw_parts(area, total - start)
        };
        ColumnArea { bytes, rows }
    }

    /// The bytes of the whole run, neighbors included.
    pub(crate) fn block_bytes(&self) -> usize {
        read_u32(self.bytes, 0) as usize
    }

    /// Writes these columns behind neighbors that are given as they lie in memory; tells that there are columns.
    pub(crate) fn behind(&self, run: &[u32], out: &mut Vec<u8>) -> bool {
        out.extend(run.iter().flat_map(|word| word.to_le_bytes()));
        out.resize(pad8(out.len()), 0);
        let total = (out.len() + self.bytes.len()) as u32;
        out.extend_from_slice(&total.to_le_bytes());
        out.extend_from_slice(&self.bytes[4..]);
        true
    }

    /// Writes the run again without the columns of properties that were dropped; tells whether any is left.
    pub(crate) fn without_dropped(&self, run: &[u32], properties: &[Property], out: &mut Vec<u8>) -> bool {
        let live = (0..).zip(properties).filter(|(_, property)| !property.is_dropped());
        let drafts = live.filter_map(|(id, property)| {
            let column = self.column(id)?;
            let mut draft = ColumnDraft::new(id, property.kind);
            (0..self.rows).for_each(|row| draft.push_slice(&column, row));
            Some(draft)
        });
        encode_run(run, &drafts.collect::<Vec<_>>(), out)
    }

    /// The column of a property, unless it is null throughout.
    pub(crate) fn column(&self, property: PropertyId) -> Option<ColumnSlice<'a>> {
        let columns = read_u32(self.bytes, 4) as usize;
        let descriptors = self.bytes.get(8..8 + 8 * columns)?.chunks_exact(8);
        let descriptor =
            descriptors.into_iter().find(|column| u16::from_le_bytes([column[0], column[1]]) == property)?;
        let kind = PropertyType::from_code(descriptor[2])?;
        let data = self.bytes.get(read_u32(descriptor, 4) as usize..)?;
        let validity_bytes = if descriptor[3] != 0 { pad8(self.rows.div_ceil(8)) } else { 0 };
        let (validity, values) = data.split_at_checked(validity_bytes)?;
        let validity = (descriptor[3] != 0).then_some(validity);
        Some(ColumnSlice { kind, validity, values, rows: self.rows })
    }
}

impl<'a> ColumnSlice<'a> {
    /// Whether the row is null.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.validity.is_some_and(|validity| validity[row / 8] >> (row % 8) & 1 == 0)
    }

    /// The bits of a cell of fixed width.
    pub(crate) fn bits(&self, row: usize) -> u64 {
        let width = self.kind.width().unwrap_or(0);
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(&self.values[width * row..width * (row + 1)]);
        u64::from_le_bytes(bits)
    }

    /// The bytes of a cell of variable width.
    pub(crate) fn bytes(&self, row: usize) -> &'a [u8] {
        let heap = &self.values[pad8(4 * (self.rows + 1))..];
        &heap[read_u32(self.values, 4 * row) as usize..read_u32(self.values, 4 * row + 4) as usize]
    }

    /// Appends the cells of these rows to those of a column of the same type.
    pub(crate) fn copy_cells(&self, rows: impl ExactSizeIterator<Item = usize>, into: &mut Cells) {
        match into {
            Cells::Variable(texts) => rows.for_each(|row| texts.push_bytes(self.bytes(row))),
            cells => cells.extend_rows_from_le(self.values, rows),
        }
    }

    /// The value at `row`.
    pub(crate) fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match self.kind.width() {
            None => Value::of_bytes(self.kind, self.bytes(row)).unwrap_or(Value::Null),
            Some(_) => Value::of_bits(self.kind, self.bits(row)),
        }
    }
}

/// A column of a run while it is put together.
#[derive(Debug)]
pub(crate) struct ColumnDraft {
    property: PropertyId,
    kind: PropertyType,
    valid: Vec<bool>,
    bits: Vec<u64>,
    ends: Vec<u32>,
    text: Vec<u8>,
}

impl ColumnDraft {
    pub(crate) fn new(property: PropertyId, kind: PropertyType) -> Self {
        ColumnDraft {
            property,
            kind,
            valid: Vec::new(),
            bits: Vec::new(),
            ends: Vec::new(),
            text: Vec::new(),
        }
    }

    pub(crate) fn push_null(&mut self) {
        self.push(false, 0, &[]);
    }

    /// Appends row `row` of an older run.
    pub(crate) fn push_slice(&mut self, column: &ColumnSlice<'_>, row: usize) {
        if column.is_null(row) {
            self.push_null();
        } else if self.kind.width().is_none() {
            self.push(true, 0, column.bytes(row));
        } else {
            self.push(true, column.bits(row), &[]);
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
        if self.kind.width().is_none() {
            self.text.extend_from_slice(text);
            self.ends.push(self.text.len() as u32);
        } else {
            self.bits.push(bits);
        }
    }

    /// About how many bytes the column takes.
    pub(crate) fn bytes(&self) -> usize {
        self.kind.width().unwrap_or(0) * self.bits.len() + 4 * self.ends.len() + self.text.len()
    }

    fn has_nulls(&self) -> bool {
        self.valid.contains(&false)
    }

    fn is_all_null(&self) -> bool {
        !self.valid.contains(&true)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if self.has_nulls() {
            let start = out.len();
            out.resize(start + self.valid.len().div_ceil(8), 0);
            for (row, _) in self.valid.iter().enumerate().filter(|(_, valid)| **valid) {
                out[start + row / 8] |= 1 << (row % 8);
            }
            out.resize(pad8(out.len()), 0);
        }
        match self.kind.width() {
            Some(8) => out.extend(self.bits.iter().flat_map(|bits| bits.to_le_bytes())),
            Some(width) => {
                self.bits.iter().for_each(|bits| out.extend_from_slice(&bits.to_le_bytes()[..width]))
            }
            None => {
                out.extend_from_slice(&0u32.to_le_bytes());
                out.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
                out.resize(pad8(out.len()), 0);
                out.extend_from_slice(&self.text);
            }
        }
        out.resize(pad8(out.len()), 0);
    }
}

/// The bytes of a run with columns, its neighbors given as they or their compressed form lie in memory; without any column
/// that is not null throughout, just the neighbors. Tells whether there are columns.
pub(crate) fn encode_run(run: &[u32], columns: &[ColumnDraft], out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend(run.iter().flat_map(|word| word.to_le_bytes()));
    let columns: Vec<&ColumnDraft> = columns.iter().filter(|column| !column.is_all_null()).collect();
    if columns.is_empty() {
        return false;
    }
    out.resize(pad8(out.len()), 0);
    let area = out.len();
    out.resize(area + 8 + 8 * columns.len(), 0);
    out[area + 4..area + 8].copy_from_slice(&(columns.len() as u32).to_le_bytes());
    for (position, column) in columns.iter().enumerate() {
        let at = area + 8 + 8 * position;
        let offset = (out.len() - area) as u32;
        out[at..at + 2].copy_from_slice(&column.property.to_le_bytes());
        out[at + 2] = column.kind.code();
        out[at + 3] = u8::from(column.has_nulls());
        out[at + 4..at + 8].copy_from_slice(&offset.to_le_bytes());
        column.encode(out);
    }
    let total = out.len() as u32;
    out[area..area + 4].copy_from_slice(&total.to_le_bytes());
    true
}
