//! The first look at a file: which format, which delimiter, is there a header, which columns, which types.
//!
//! Order of decisions, each using the ones before it; what the options say is never questioned:
//!
//! ```text
//!  name, first line ──► format, delimiter ──► first rows ──► comments? ──► header? ──► columns ──► types of a sample ──► Plan
//! ```

use std::path::Path;

use memchr::{memchr_iter, memrchr};

use crate::block::{Stop, parse_block};
use crate::cell::{Text, classify, trim};
use crate::columns::Columns;
use crate::fault::{Fault, Place, clip};
use crate::format::{check_delimiter, detect, refuse_other_formats};
use crate::number::{NotInt, parse_int};
use crate::plan::{Plan, Widen};
use crate::split::{Dialect, Field, Split};
use crate::{ColumnRef, Format, LoadError, LoadOptions, OnError};

/// What the first look found.
#[derive(Debug)]
pub(crate) struct Sniffed {
    pub(crate) plan: Plan,
    pub(crate) format: Format,
    pub(crate) header: Option<Vec<String>>,
    /// Where in the file the records start, after a byte order mark, comments and the header.
    pub(crate) start: usize,
    /// The lines before them.
    pub(crate) lines: u64,
    /// What the sample refuted, lines counted from `start`.
    pub(crate) widened: Widen,
}

/// A record of the sample.
struct Row {
    next: usize,
    fields: Vec<Field>,
    count: usize,
    fault: Option<Place>,
}

const SAMPLE_BYTES: usize = 256 << 10;
const MAX_COLUMNS: usize = 1 << 16;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Looks at the first bytes of a file; `None` if they hold no record and there are more.
pub(crate) fn sniff(
    path: &Path,
    options: &LoadOptions,
    head: &[u8],
    complete: bool,
) -> Result<Option<Sniffed>, LoadError> {
    refuse_other_formats(path, options, head)?;
    let mark = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let text = &head[mark..];
    let (format, delimiter) = detect(path, options, text);
    check_delimiter(path, format, delimiter)?;
    let dialect = Dialect {
        delimiter,
        quotes: format != Format::EdgeList,
        comments: format == Format::EdgeList,
        limit_bytes: options.line_limit_bytes,
    };
    let sampled = sample_rows(&dialect, text, complete);
    let (comments, rows) =
        sampled.split_at(if dialect.comments { 0 } else { leading_comments(text, &sampled) });
    let Some(first) = rows.first() else {
        return if complete { Err(LoadError::Empty { path: path.to_owned() }) } else { Ok(None) };
    };
    let header = match has_header(options, format, text, rows) {
        true => Some(names(path, text, first)?),
        false => None,
    };
    let before = if header.is_some() { Some(first) } else { comments.last() };
    let start = before.map_or(0, |row| row.next);
    let counts: Vec<usize> = rows.iter().map(|row| row.count).collect();
    let plan = Columns { path, header: header.as_deref(), counts: &counts }.plan(options, dialect);
    let mut plan = plan.map_err(|error| explained(error, path, text, first))?;
    // Small blocks are asked for by tests; a sample as small lets them see guesses refuted.
    let sample_bytes = options.block_bytes.min(SAMPLE_BYTES);
    let widened = sample_types(&mut plan, &text[start..], sample_bytes, complete);
    let lines = count_lines(&text[..start]);
    Ok(Some(Sniffed { plan, format, header, start: mark + start, lines, widened }))
}

fn count_lines(text: &[u8]) -> u64 {
    let unfinished = text.last().is_some_and(|byte| *byte != b'\n');
    memchr_iter(b'\n', text).count() as u64 + u64::from(unfinished)
}

/// The first records; bad ones among them are left to the parser.
fn sample_rows(dialect: &Dialect, text: &[u8], complete: bool) -> Vec<Row> {
    const ROWS: usize = 64;
    let mut rows = Vec::new();
    let mut start = 0;
    while start < text.len() && rows.len() < ROWS {
        let mut fields = Vec::new();
        let (next, count, fault) = match dialect.split(text, start, complete, &mut fields, MAX_COLUMNS) {
            Split::Blank { next } => {
                start = next;
                continue;
            }
            Split::Row { next, count, .. } => (next, count, None),
            Split::Bad { place, next } => (next, 0, Some(place)),
            Split::Endless { place } => (text.len(), 0, Some(place)),
            Split::Incomplete => break,
        };
        rows.push(Row { next, fields, count, fault });
        start = next;
    }
    rows
}

/// How many of the first rows are comments above a table: they begin with `#`, and no row of the sample that does not has as many
/// fields. So neither a header that begins so nor keys that do are taken for comments.
fn leading_comments(text: &[u8], rows: &[Row]) -> usize {
    let is_marked = |row: &Row| {
        let first = row.fields.first().filter(|field| row.fault.is_none() && !field.quoted);
        first.is_some_and(|field| trim(&text[field.start..field.end]).starts_with(b"#"))
    };
    let counts: Vec<usize> = rows.iter().filter(|row| !is_marked(row)).map(|row| row.count).collect();
    let comments = rows.iter().take_while(|row| is_marked(row) && !counts.contains(&row.count)).count();
    if counts.is_empty() { 0 } else { comments }
}

/// Whether the first row names the columns.
fn has_header(options: &LoadOptions, format: Format, text: &[u8], rows: &[Row]) -> bool {
    let by_name = |column: &ColumnRef| matches!(column, ColumnRef::Name(_));
    let properties = options.properties.iter().flatten().map(|property| &property.column);
    if let Some(header) = options.header {
        return header;
    }
    if options.src.iter().chain(&options.dst).chain(properties).any(by_name) {
        return true;
    }
    let value = |field: &Field| trim(&text[field.start..field.end]);
    let Some(first) = rows.first().filter(|row| row.fault.is_none()) else { return false };
    let is_word = |text: &[u8]| classify(text).is_none() && !matches!(parse_int(text), Err(NotInt::Range));
    let words = first.fields.iter().all(|field| is_word(value(field)))
        && first.fields.iter().any(|field| !value(field).is_empty());
    let number = |field: &Field| parse_int(value(field)).is_ok();
    match format {
        Format::EdgeList => rows.get(1).is_some_and(|second| {
            words && second.count == first.count && second.count >= 2 && second.fields[..2].iter().all(number)
        }),
        Format::Csv | Format::Tsv => words,
    }
}

/// Columns are missing because all of the file is one line: that is what is wrong then.
fn explained(error: LoadError, path: &Path, text: &[u8], first: &Row) -> LoadError {
    match (&error, &first.fault) {
        (LoadError::MissingColumn { .. }, Some(place)) if *place.fault == Fault::CarriageReturn => {
            bad_line(path, text, place, place.fault.to_string())
        }
        _ => error,
    }
}

fn bad_line(path: &Path, text: &[u8], place: &Place, reason: String) -> LoadError {
    let before = &text[..place.at];
    let line_start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = text[line_start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    LoadError::Line {
        path: path.to_owned(),
        line: memchr_iter(b'\n', before).count() as u64 + 1,
        column: u32::try_from(place.at - line_start + 1).unwrap_or(u32::MAX),
        reason,
        text: clip(line),
    }
}

/// The names in the header.
fn names(path: &Path, text: &[u8], row: &Row) -> Result<Vec<String>, LoadError> {
    let fail = |place: &Place| bad_line(path, text, place, format!("in the header: {}", place.fault));
    if let Some(place) = &row.fault {
        return Err(fail(place));
    }
    let name = |field: &Field| match Text::read(text, field) {
        Ok(name) if field.quoted => Ok(name.to_text()),
        Ok(name) => Ok(name.to_text().trim().to_owned()),
        Err(place) => Err(fail(&place)),
    };
    row.fields.iter().map(name).collect()
}

/// Parses the start of the file for the types of its columns and the length of its rows.
fn sample_types(plan: &mut Plan, text: &[u8], sample_bytes: usize, complete: bool) -> Widen {
    let sample = text.get(..sample_bytes).unwrap_or(text);
    let complete = complete && sample.len() == text.len();
    let mut widened = Widen::default();
    let mut quiet = Plan { on_error: OnError::Skip, rejects_kept: 0, ..plan.clone() };
    loop {
        let block = parse_block(&quiet, sample, 0, sample.len(), complete);
        if let Stop::Widen(widen) = block.stop {
            quiet.widen(&widen);
            widened.keys = widened.keys.or(widen.keys);
            continue;
        }
        plan.keys = quiet.keys;
        plan.bytes_per_row = block.end.checked_div(block.src.len()).unwrap_or(sample.len()).max(1);
        for (property, column) in plan.properties.iter_mut().zip(&block.columns) {
            property.kind = property.kind.filter(|_| property.declared).or(column.kind());
        }
        return widened;
    }
}
