//! The values of one column of a run: as they are, or, in compact areas, in fewer bits where that takes less room.
//!
//! ```text
//!  plain       fixed width:     cell × rows
//!              variable width:  end: u32 × (rows + 1), the first 0 │ bytes
//!  packed      fixed width:     width: u8 │ base: a cell │ how far each value lies above the base: width bits × rows
//!  dictionary  variable width:  width: u8 │ strings, less 1: u8 │ which string: width bits × rows │ end: u16 × strings │ bytes
//! ```
//!
//! Packed values are cells modulo 2^bits, so that the base is the least in the order that needs fewer bits, signed or not,
//! and reading knows of neither: base and number are added up. Nulls have the number 0.
//!
//! Invariants: each form gives the value of a row without looking at other rows; a form that takes no less room than the
//! plain one is not written.

use std::mem::MaybeUninit;
use std::ops::Range;

use evergraph_types::Cells;
use hashbrown::HashMap;

use crate::lists::bits::{Numbers, WIDTH_MAX, append, mask_of, packed_bytes, width_of};

/// Strings of a dictionary, at most.
const STRINGS_MAX: usize = 1 << 8;

/// How the values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Plain,
    /// As how far they lie above the least.
    Packed,
    /// As positions among those that there are.
    Dictionary,
}

impl Form {
    /// The number that stands for it in files.
    pub(crate) fn code(self) -> u8 {
        match self {
            Form::Plain => 0,
            Form::Packed => 1,
            Form::Dictionary => 2,
        }
    }

    /// The form of this number, if there is one.
    #[inline]
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        [Form::Plain, Form::Packed, Form::Dictionary].get(usize::from(code)).copied()
    }
}

/// The values of a column, for reading. One shape for all forms, whose fields differ in meaning only, so that it is made in registers,
/// wherever it goes.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    form: Form,
    /// The bytes of a cell, if all have as many; else 0.
    width: u8,
    /// Cells, plain or packed, as how far each lies above the base; or the positions of strings in a dictionary; or the ends of plain
    /// strings, the first of which is the start of the first.
    numbers: Numbers<'a>,
    /// What is added to the numbers of cells, modulo the bits of a cell.
    base: u64,
    /// Where the ends of the strings of a dictionary begin, and the bytes of strings.
    ends: u32,
    heap: u32,
}

impl<'a> Values<'a> {
    /// The values of fixed width, `width`, at the start of `bytes`.
    #[inline]
    pub(crate) fn fixed(form: Form, width: usize, bytes: &'a [u8]) -> Option<Self> {
        let cell_width = width as u8;
        let cells = |numbers, base| Values { form, width: cell_width, numbers, base, ends: 0, heap: 0 };
        if form == Form::Plain {
            return Some(cells(Numbers::of_cells(bytes, cell_width), 0));
        }
        let (&bits, rest) = bytes.split_first()?;
        let (base, numbers) = rest.split_at_checked(width)?;
        Some(cells(Numbers::new(numbers, bits)?, cell(base)))
    }

    /// The values of variable width of so many rows at the start of `bytes`; plain strings begin after `ends_bytes`.
    #[inline]
    pub(crate) fn variable(form: Form, rows: usize, ends_bytes: usize, bytes: &'a [u8]) -> Option<Self> {
        let strings = |numbers, ends: usize, heap: usize| {
            let (ends, heap) = (ends as u32, heap as u32);
            Values { form, width: 0, numbers, base: 0, ends, heap }
        };
        if form == Form::Plain {
            return (ends_bytes <= bytes.len()).then(|| strings(Numbers::of_cells(bytes, 4), 0, ends_bytes));
        }
        let (&[bits, last], rest) = bytes.split_first_chunk()?;
        let positions = Numbers::new(rest, bits)?;
        let ends = packed_bytes(rows, bits.into());
        let heap = ends + 2 * (usize::from(last) + 1);
        (heap <= rest.len()).then(|| strings(positions, ends, heap))
    }

    /// Whether all values take as many bytes.
    #[inline]
    fn is_fixed(&self) -> bool {
        self.width > 0
    }

    /// Whether there is a value for each of so many rows; where `is_text`, whether all of them are text.
    pub(crate) fn is_whole(&self, rows: usize, is_text: bool) -> bool {
        if self.is_fixed() {
            return self.numbers.holds(rows);
        }
        let (before, strings) = self.numbers.bytes().split_at(self.heap as usize);
        if self.form == Form::Plain {
            let ends = before.chunks_exact(4).map(|end| cell(end) as usize).take(rows + 1);
            return ends.len() == rows + 1 && are_strings(ends, strings, is_text);
        }
        let ends = &before[self.ends as usize..];
        let is_there = |row| 2 * (self.numbers.get(row) as usize) < ends.len();
        let ends = ends.chunks_exact(2).map(|end| cell(end) as usize);
        self.numbers.holds(rows)
            && (0..rows).all(is_there)
            && are_strings(std::iter::once(0).chain(ends), strings, is_text)
    }

    /// The bits of a cell of fixed width; 0 for one of variable width.
    #[inline]
    pub(crate) fn bits(&self, row: usize) -> u64 {
        // Of variable width it has no bits.
        self.base.wrapping_add(self.numbers.get(row)) & cell_mask(self.width.into())
    }

    /// The bytes of cells of fixed width, if they lie there as they are.
    fn plain_cells(&self) -> Option<&'a [u8]> {
        let is_plain = self.base == 0 && self.numbers.width() == 8 * u32::from(self.width);
        (self.is_fixed() && is_plain).then(|| self.numbers.bytes())
    }

    /// Appends the values of these rows, none of them null, as plain ones; of variable width, with where each ends.
    pub(crate) fn push_rows(&self, rows: Range<usize>, cells: &mut Vec<u8>, ends: &mut Vec<u32>) {
        let (width, bytes) = (usize::from(self.width), self.numbers.bytes());
        if self.is_fixed() {
            return match self.plain_cells() {
                Some(bytes) => cells.extend_from_slice(&bytes[width * rows.start..width * rows.end]),
                None => rows.for_each(|row| push_cell(self.bits(row), width, cells)),
            };
        }
        if self.form != Form::Plain {
            return rows.for_each(|row| push_text(self.bytes(row), cells, ends));
        }
        let mut bounds = bytes[4 * rows.start..4 * rows.end + 4].chunks_exact(4).map(cell_of_4);
        let start = bounds.next().unwrap_or(0);
        let moved = (cells.len() as u32).wrapping_sub(start);
        let before = ends.len();
        ends.extend(bounds.map(|end| end.wrapping_add(moved)));
        let end = ends[before..].last().map_or(start, |end| end.wrapping_sub(moved));
        cells.extend_from_slice(&bytes[self.heap as usize..][start as usize..end as usize]);
    }

    /// Writes the cells of fixed width of the rows from this one on, as many as there are places.
    pub(crate) fn write_cells(&self, row: usize, places: &mut [MaybeUninit<u8>]) {
        let width = usize::from(self.width);
        if let Some(bytes) = self.plain_cells() {
            places.write_copy_of_slice(&bytes[width * row..][..places.len()]);
            return;
        }
        for (row, place) in (row..).zip(places.chunks_exact_mut(width)) {
            place.write_copy_of_slice(&self.bits(row).to_le_bytes()[..width]);
        }
    }

    /// The bytes of a cell of variable width; none for one of fixed width.
    #[inline]
    pub(crate) fn bytes(&self, row: usize) -> &'a [u8] {
        let bytes = self.numbers.bytes();
        if self.is_fixed() {
            return &[];
        }
        let bounds = if self.form == Form::Plain {
            let bounds = cell(&bytes[4 * row..4 * row + 8]);
            bounds as u32 as usize..(bounds >> 32) as usize
        } else {
            let at = 2 * self.numbers.get(row) as usize;
            let end = |at: usize| cell(&bytes[self.ends as usize..][at..at + 2]) as usize;
            (if at == 0 { 0 } else { end(at - 2) })..end(at)
        };
        &bytes[self.heap as usize..][bounds]
    }

    /// Appends the cells of these rows to those of a column of the same type; where `is_null`, zero or empty ones.
    pub(crate) fn copy_cells(
        &self,
        rows: impl Iterator<Item = usize>,
        is_null: impl Fn(usize) -> bool,
        into: &mut Cells,
    ) {
        if !self.is_fixed() {
            let Some(texts) = into.texts_mut() else { return };
            return rows.for_each(|row| texts.push_bytes(if is_null(row) { &[] } else { self.bytes(row) }));
        }
        match self.plain_cells() {
            Some(bytes) => into.extend_rows_from_le(bytes, rows),
            None => into.extend_bits(rows.map(|row| if is_null(row) { 0 } else { self.bits(row) })),
        }
    }
}

/// Whether strings lie side by side from the start of the heap on, with these bounds.
fn are_strings(bounds: impl Iterator<Item = usize> + Clone, heap: &[u8], is_text: bool) -> bool {
    let ascends = bounds.clone().is_sorted() && bounds.clone().next() == Some(0);
    let Some(bytes) = bounds.clone().last().and_then(|end| heap.get(..end)) else { return false };
    let are_text =
        || std::str::from_utf8(bytes).is_ok_and(|text| bounds.clone().all(|end| text.is_char_boundary(end)));
    ascends && (!is_text || are_text())
}

/// A little-endian number.
///
/// # Panics
/// If it has not 1, 2, 4 or 8 bytes, as all cells have.
#[inline]
fn cell(bytes: &[u8]) -> u64 {
    // By length: copying as many bytes as there happen to be would be a call.
    match *bytes {
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a] => a.into(),
        _ => unreachable!("a cell of {} bytes", bytes.len()),
    }
}

fn cell_of_4(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The bits of a cell of so many bytes.
#[inline]
fn cell_mask(width: usize) -> u64 {
    mask_of(8 * width as u32)
}

/// Appends a cell of `width` bytes as it is.
#[inline]
pub(crate) fn push_cell(bits: u64, width: usize, cells: &mut Vec<u8>) {
    cells.extend_from_slice(&bits.to_le_bytes()[..width]);
}

/// Appends a cell of variable width as it is, and where it ends.
pub(crate) fn push_text(text: &[u8], cells: &mut Vec<u8>, ends: &mut Vec<u32>) {
    cells.extend_from_slice(text);
    ends.push(cells.len() as u32);
}

/// Appends cells of `width` bytes in few bits; tells whether it did, for it does not where that would take no less room.
pub(crate) fn write_packed(cells: &[u8], valid: &[bool], width: usize, out: &mut Vec<u8>) -> bool {
    let bits: Vec<u64> = cells.chunks_exact(width).map(cell).collect();
    let (base, range) = frame(&bits, valid, width);
    let number_width = width_of(range);
    let total = 1 + width + packed_bytes(bits.len(), number_width);
    if number_width > WIDTH_MAX || total >= width * bits.len() {
        return false;
    }
    out.push(number_width as u8);
    push_cell(base, width, out);
    let number =
        |(bits, valid): (&u64, &bool)| if *valid { bits.wrapping_sub(base) & cell_mask(width) } else { 0 };
    append(bits.iter().zip(valid).map(number), number_width, out);
    true
}

/// The least value that is not null, and how far the greatest lies above it, in the order where that is nearer: as
/// unsigned numbers, or as signed ones.
fn frame(bits: &[u64], valid: &[bool], width: usize) -> (u64, u64) {
    let sign = cell_mask(width) ^ cell_mask(width) >> 1;
    let in_order = |flip: u64| {
        let values = || bits.iter().zip(valid).filter(|(_, valid)| **valid).map(|(bits, _)| bits ^ flip);
        let (least, greatest) = (values().min().unwrap_or(flip), values().max().unwrap_or(flip));
        (least ^ flip, greatest - least)
    };
    let (unsigned, signed) = (in_order(0), in_order(sign));
    if signed.1 < unsigned.1 { signed } else { unsigned }
}

/// Appends strings, the one of row `i` from `ends[i - 1]` to `ends[i]`, in a dictionary; tells whether it did, for it does not
/// where that would take no less room.
pub(crate) fn write_dictionary(ends: &[u32], text: &[u8], valid: &[bool], out: &mut Vec<u8>) -> bool {
    let (mut known, mut last, mut heap) = (HashMap::new(), Vec::new(), Vec::new());
    let mut positions = Vec::with_capacity(ends.len());
    let starts = std::iter::once(&0).chain(ends);
    for ((start, end), valid) in starts.zip(ends).zip(valid) {
        if !valid {
            positions.push(0);
            continue;
        }
        let string = &text[*start as usize..*end as usize];
        let next = last.len() as u64;
        let position = *known.entry(string).or_insert(next);
        if position == next {
            heap.extend_from_slice(string);
            let Ok(end) = u16::try_from(heap.len()) else { return false };
            last.push(end);
            if last.len() > STRINGS_MAX {
                return false;
            }
        }
        positions.push(position);
    }
    let width = width_of(last.len().saturating_sub(1) as u64);
    let total = 2 + packed_bytes(positions.len(), width) + 2 * last.len() + heap.len();
    if last.is_empty() || total >= 4 * (ends.len() + 1) + text.len() {
        return false;
    }
    out.extend([width as u8, (last.len() - 1) as u8]);
    append(positions.into_iter(), width, out);
    out.extend(last.iter().flat_map(|end| end.to_le_bytes()));
    out.extend_from_slice(&heap);
    true
}
