//! A field as a value: keys and property values, with the rules by which types are inferred.
//!
//! Inference is a join over the values of a column:
//!
//! ```text
//!  int64 ─► uint64 ─► float64 ─► string    uint64 if none is negative, float64 if it holds every integer exactly
//!                  bool, timestamp ─►      with anything else
//! ```
//!
//! A value can be read once it is known not to lose anything by that.

use evergraph_types::{KeyKind, MAX_TEXT_BYTES, MAX_VERTICES, PropertyType, TextValues};
use memchr::memchr;

use crate::fault::{Fault, Place, clip};
use crate::literal::{read_bits, read_bytes};
use crate::number::{NotInt, is_inexact, parse_int, plain_digits};
use crate::scan::is_plain_text;
use crate::split::Field;

/// A value of a property column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// Nothing, in a column of any type.
    Null,
    /// Nothing but blanks or a pair of quotes: null, but text if the column turns out to be a string column.
    Blank,
    /// A value of fixed width, and its type.
    Bits(PropertyType, u64),
    Text(Text<'a>),
    /// Bytes or a list, as a cell, and its type.
    Bytes(PropertyType, Vec<u8>),
}

/// Text as it stands in the file: UTF-8 without NUL, with doubled quotes where `escaped`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> Text<'a> {
    /// The text of a field, if it is text.
    pub(crate) fn read(data: &'a [u8], field: &Field) -> Result<Self, Place> {
        let text = Text { raw: &data[field.start..field.end], escaped: field.escaped };
        if text.raw.len() > MAX_TEXT_BYTES {
            check_width(field, text.to_bytes().len())?;
        }
        if is_plain_text(text.raw) {
            return Ok(text);
        }
        if let Some(at) = memchr(0, text.raw) {
            return Err(Place::new(field.start + at, Fault::Nul));
        }
        match std::str::from_utf8(text.raw) {
            Ok(_) => Ok(text),
            Err(error) => Err(Place::new(field.start + error.valid_up_to(), Fault::NotUtf8)),
        }
    }

    /// Appends the text, without the doubling.
    pub(crate) fn push_to(&self, values: &mut TextValues) {
        let mut raw = self.raw;
        while let Some(quote) = memchr(b'"', raw).filter(|_| self.escaped) {
            let (before, after) = raw.split_at(quote + 1);
            values.bytes.extend_from_slice(before);
            raw = after.get(1..).unwrap_or_default();
        }
        values.bytes.extend_from_slice(raw);
        values.offsets.push(values.bytes.len() as u64);
    }

    /// The text without the doubling.
    pub(crate) fn to_text(self) -> String {
        let mut values = TextValues::default();
        self.push_to(&mut values);
        values.get(0).to_owned()
    }

    /// The same of bytes that may be no text.
    fn to_bytes(self) -> Vec<u8> {
        let mut values = TextValues::default();
        self.push_to(&mut values);
        values.bytes
    }
}

/// Whether a store keeps a cell of so many bytes.
fn check_width(field: &Field, found: usize) -> Result<(), Place> {
    if found <= MAX_TEXT_BYTES { Ok(()) } else { Err(Place::new(field.start, Fault::TooWide { found })) }
}

impl Cell<'_> {
    /// The type of the value; `None` where it is null.
    pub(crate) fn kind(&self) -> Option<PropertyType> {
        match self {
            Cell::Null | Cell::Blank => None,
            Cell::Bits(kind, _) | Cell::Bytes(kind, _) => Some(*kind),
            Cell::Text(_) => Some(PropertyType::String),
        }
    }
}

/// The value of a field in a column of which `guess` is what is known so far; of the guessed type if it can be.
pub(crate) fn read_inferred<'a>(
    data: &'a [u8],
    field: &Field,
    guess: Option<PropertyType>,
) -> Result<Cell<'a>, Place> {
    let bytes = trim(&data[field.start..field.end]);
    if guess == Some(PropertyType::String) {
        return read_text(data, field);
    }
    if bytes.is_empty() {
        return Ok(if is_missing(field) { Cell::Null } else { Cell::Blank });
    }
    if let Some(cell) = guess.and_then(|kind| read_as(bytes, kind, false)) {
        return Ok(cell);
    }
    match classify(bytes) {
        Some(cell) => Ok(cell),
        None => Text::read(data, field).map(Cell::Text),
    }
}

/// The value of a field in a column of declared type.
pub(crate) fn read_declared<'a>(
    data: &'a [u8],
    field: &Field,
    kind: PropertyType,
    property: &str,
) -> Result<Cell<'a>, Place> {
    if kind == PropertyType::String {
        return read_text(data, field);
    }
    let bytes = trim(&data[field.start..field.end]);
    if bytes.is_empty() && (is_missing(field) || kind != PropertyType::Bytes) {
        return Ok(Cell::Null);
    }
    let unquoted = if field.escaped { Text { raw: bytes, escaped: true }.to_text() } else { String::new() };
    let text = if field.escaped { unquoted.as_bytes() } else { bytes };
    match read_as(text, kind, true) {
        Some(Cell::Bytes(kind, cell)) => check_width(field, cell.len()).map(|()| Cell::Bytes(kind, cell)),
        Some(cell) => Ok(cell),
        None => {
            let fault = Fault::Value { property: property.to_owned(), kind, text: clip(bytes) };
            Err(Place::new(field.start, fault))
        }
    }
}

/// The narrowest type but string that takes the value.
pub(crate) fn classify(bytes: &[u8]) -> Option<Cell<'static>> {
    const NARROWEST_FIRST: [PropertyType; 5] = [
        PropertyType::Int64,
        PropertyType::UInt64,
        PropertyType::Float64,
        PropertyType::Bool,
        PropertyType::Timestamp,
    ];
    NARROWEST_FIRST.into_iter().find_map(|kind| read_as(bytes, kind, false))
}

/// Times and dates may be bare numbers, and doubles integers that they do not hold exactly, if the type is declared.
fn read_as(bytes: &[u8], kind: PropertyType, declared: bool) -> Option<Cell<'static>> {
    if kind == PropertyType::Float64 && !declared && is_inexact(bytes) {
        return None;
    }
    match kind.as_scalar().filter(|scalar| scalar.width().is_some()) {
        Some(scalar) => read_bits(bytes, scalar, declared).map(|bits| Cell::Bits(kind, bits)),
        None => read_bytes(bytes, kind).map(|cell| Cell::Bytes(kind, cell)),
    }
}

fn read_text<'a>(data: &'a [u8], field: &Field) -> Result<Cell<'a>, Place> {
    if is_missing(field) { Ok(Cell::Null) } else { Text::read(data, field).map(Cell::Text) }
}

/// No byte and no quotes either: a missing value, unlike `""`, which is an empty string.
fn is_missing(field: &Field) -> bool {
    field.start == field.end && !field.quoted
}

/// An integer key of this kind.
pub(crate) fn read_int_key(data: &[u8], field: &Field, kind: KeyKind) -> Result<i64, Place> {
    if let Some((number, next)) = plain_digits(data, field.start)
        && next == field.end
        && (kind != KeyKind::Dense || number < MAX_VERTICES)
    {
        return Ok(number as i64);
    }
    let bytes = trim(&data[field.start..field.end]);
    let fault = match parse_int(bytes) {
        Ok(number) if kind != KeyKind::Dense || is_dense(number) => return Ok(number),
        Ok(_) => Fault::DenseRange { text: clip(bytes) },
        Err(NotInt::Range) if kind == KeyKind::Dense => Fault::DenseRange { text: clip(bytes) },
        Err(NotInt::Range) => Fault::IntRange { text: clip(bytes) },
        Err(NotInt::Text) if bytes.is_empty() => Fault::EmptyKey,
        Err(NotInt::Text) => Fault::NotInt { text: clip(bytes) },
    };
    Err(Place::new(field.start, fault))
}

fn is_dense(number: i64) -> bool {
    u64::try_from(number).is_ok_and(|id| id < MAX_VERTICES)
}

/// A string key.
pub(crate) fn read_text_key<'a>(data: &'a [u8], field: &Field) -> Result<Text<'a>, Place> {
    if field.start == field.end {
        return Err(Place::new(field.start - usize::from(field.quoted), Fault::EmptyKey));
    }
    Text::read(data, field)
}

/// Without blanks at both ends. Numbers may stand among blanks; strings keep theirs.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes;
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}
