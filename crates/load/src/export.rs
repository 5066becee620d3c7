//! Batches to text, the inverse of reading.
//!
//! Invariant: what is written reads back equal, given the same format, delimiter, key kind and property types. What a
//! format has no way to write so is an error, never something else.

use std::borrow::Borrow;
use std::io::Write;

use evergraph_types::{Column, EdgeBatch, KeyColumn, PropertyType};
use memchr::{memchr, memchr3};

use crate::literal::write_value;
use crate::{ExportError, Format};

/// How to write edges.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The format.
    pub format: Format,
    /// The byte between fields; a comma in CSV, a tab else.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns; where `None` in CSV and TSV it does.
    pub header: Option<bool>,
    /// The name of the column of source keys.
    pub src: String,
    /// The name of the column of destination keys.
    pub dst: String,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            format: Format::Csv,
            delimiter: None,
            header: None,
            src: "src".to_owned(),
            dst: "dst".to_owned(),
        }
    }
}

/// Writes edges as text, one a line, and returns how many. All batches must have the same property columns. Times are
/// written in ISO 8601, doubles with as many digits as it takes to read the same double back.
///
/// ```
/// use evergraph_load::{WriteOptions, write_edges};
/// use evergraph_types::{EdgeBatch, KeyColumn};
///
/// let batch = EdgeBatch { src: KeyColumn::Int(vec![1, 2]), dst: KeyColumn::Int(vec![2, 3]), columns: Vec::new() };
/// let mut out = Vec::new();
/// write_edges(&mut out, [batch], &WriteOptions::default())?;
/// assert_eq!(out, b"src,dst\n1,2\n2,3\n");
/// # Ok::<(), evergraph_load::ExportError>(())
/// ```
///
/// # Errors
///
/// Any [`ExportError`]; what came before it may have been written.
pub fn write_edges<B: Borrow<EdgeBatch>>(
    out: &mut dyn Write,
    batches: impl IntoIterator<Item = B>,
    options: &WriteOptions,
) -> Result<u64, ExportError> {
    let mut writer = Writer::new(out, options)?;
    let mut columns: Option<Vec<String>> = None;
    for batch in batches {
        let batch = batch.borrow();
        let found: Vec<String> = batch.columns.iter().map(|(name, _)| name.clone()).collect();
        match &columns {
            Some(expected) if *expected != found => {
                return Err(ExportError::Columns { expected: expected.clone(), found });
            }
            Some(_) => {}
            None => {
                writer.header(&found)?;
                columns = Some(found);
            }
        }
        writer.batch(batch)?;
    }
    if columns.is_none() {
        writer.header(&[])?;
    }
    writer.flush()?;
    Ok(writer.rows)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    options: &'a WriteOptions,
    delimiter: u8,
    buffer: Vec<u8>,
    rows: u64,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut dyn Write, options: &'a WriteOptions) -> Result<Self, ExportError> {
        let usual = if options.format == Format::Csv { b',' } else { b'\t' };
        let delimiter = options.delimiter.unwrap_or(usual);
        // Letters, digits, signs and points are part of values.
        let usable = matches!(delimiter, b'\t' | b' '..=b'~')
            && !delimiter.is_ascii_alphanumeric()
            && !matches!(delimiter, b'"' | b'#' | b'%' | b'+' | b'-' | b'.' | b':');
        if !usable {
            let delimiter = char::from(delimiter);
            return Err(ExportError::Delimiter { delimiter, format: options.format });
        }
        Ok(Writer { out, options, delimiter, buffer: Vec::new(), rows: 0 })
    }

    fn header(&mut self, names: &[String]) -> Result<(), ExportError> {
        if !self.options.header.unwrap_or(self.options.format != Format::EdgeList) {
            return Ok(());
        }
        let ends = [&self.options.src, &self.options.dst];
        for (position, name) in ends.into_iter().chain(names).enumerate() {
            if position > 0 {
                self.buffer.push(self.delimiter);
            }
            self.text(name).map_err(|reason| ExportError::Unrepresentable {
                row: None,
                column: name.clone(),
                reason,
                format: self.options.format,
            })?;
        }
        self.buffer.push(b'\n');
        Ok(())
    }

    fn batch(&mut self, batch: &EdgeBatch) -> Result<(), ExportError> {
        const FLUSHED_BYTES: usize = 64 << 10;
        check_lengths(batch)?;
        for row in 0..batch.len() {
            self.key(&batch.src, row).map_err(|reason| self.unrepresentable(&self.options.src, reason))?;
            self.buffer.push(self.delimiter);
            self.key(&batch.dst, row).map_err(|reason| self.unrepresentable(&self.options.dst, reason))?;
            for (name, column) in &batch.columns {
                self.buffer.push(self.delimiter);
                self.value(column, row).map_err(|reason| self.unrepresentable(name, reason))?;
            }
            self.buffer.push(b'\n');
            self.rows += 1;
            if self.buffer.len() >= FLUSHED_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn unrepresentable(&self, column: &str, reason: &'static str) -> ExportError {
        let (row, format) = (Some(self.rows), self.options.format);
        ExportError::Unrepresentable { row, column: column.to_owned(), reason, format }
    }

    fn key(&mut self, keys: &KeyColumn, row: usize) -> Result<(), &'static str> {
        match keys {
            KeyColumn::Int(keys) => self.integer(keys[row]),
            KeyColumn::Text(keys) if keys.get(row).is_empty() => {
                return Err("an empty key cannot be written");
            }
            KeyColumn::Text(keys) => return self.text(keys.get(row)),
        }
        Ok(())
    }

    fn value(&mut self, column: &Column, row: usize) -> Result<(), &'static str> {
        if column.is_null(row) {
            let written = self.options.format != Format::EdgeList;
            return if written { Ok(()) } else { Err("a missing value cannot be written") };
        }
        let kind = column.property_type();
        match column.cells().texts() {
            None => write_value(&mut self.buffer, kind, &column.get(row)),
            Some(texts) if kind == PropertyType::String => return self.text(texts.get(row)),
            Some(_) => {
                let mut text = Vec::new();
                write_value(&mut text, kind, &column.get(row));
                // It is made of strings and ASCII.
                return self.text(std::str::from_utf8(&text).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn integer(&mut self, number: i64) {
        self.buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn text(&mut self, text: &str) -> Result<(), &'static str> {
        let bytes = text.as_bytes();
        if memchr(0, bytes).is_some() {
            return Err("a NUL character cannot be written");
        }
        if self.options.format == Format::EdgeList {
            return self.word(bytes);
        }
        // Beyond what must be quoted, blanks at the ends are, which other readers may drop, and so is a byte order mark.
        let quoted = memchr3(self.delimiter, b'"', b'\n', bytes).is_some()
            || memchr(b'\r', bytes).is_some()
            || text.is_empty()
            || text.starts_with('\u{feff}')
            || text.trim().len() < text.len();
        if !quoted {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.buffer.push(b'"');
        for (position, part) in bytes.split(|byte| *byte == b'"').enumerate() {
            if position > 0 {
                self.buffer.extend_from_slice(b"\"\"");
            }
            self.buffer.extend_from_slice(part);
        }
        self.buffer.push(b'"');
        Ok(())
    }

    /// Text in a format that has no quotes.
    fn word(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let line_start = self.buffer.last().is_none_or(|byte| *byte == b'\n');
        let mark = "\u{feff}".as_bytes();
        if bytes.is_empty() {
            return Err("an empty string cannot be written");
        }
        if bytes.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n') || *byte == self.delimiter) {
            return Err("blanks, line ends and the delimiter cannot be written");
        }
        if line_start && (matches!(bytes[0], b'#' | b'%') || bytes.starts_with(mark)) {
            return Err("a line cannot start like a comment");
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }
}

fn check_lengths(batch: &EdgeBatch) -> Result<(), ExportError> {
    let expected = batch.src.len();
    let lengths = batch.columns.iter().map(|(name, column)| (name.as_str(), column.len()));
    match lengths.chain([("dst", batch.dst.len())]).find(|(_, found)| *found != expected) {
        Some((column, found)) => Err(ExportError::Length { column: column.to_owned(), expected, found }),
        None => Ok(()),
    }
}
