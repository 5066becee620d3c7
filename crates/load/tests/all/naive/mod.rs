//! The oracle: a reader that goes record by record, byte by byte, over a file in memory, without blocks, guesses or
//! speed. It says what a file holds and what is wrong with it.

use evergraph_load::{ColumnRef, Format, LoadOptions, OnError, PropertySpec};
use evergraph_types::{DateText, KeyKind, MAX_VERTICES, PropertyType, TimeText};

/// A field, its quotes and doubled quotes removed.
#[derive(Clone, Debug)]
struct Field {
    text: Vec<u8>,
    /// Of its first byte, inside the quotes.
    at: usize,
    /// Of the first byte after it, outside the quotes.
    end: usize,
    quoted: bool,
}

/// Where and why a line is bad.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bad {
    pub(crate) line: u64,
    pub(crate) column: u32,
    /// A word of the reason.
    pub(crate) word: &'static str,
}

/// What a file holds; keys and values as text to compare.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Expected {
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) bad: Vec<Bad>,
    pub(crate) missing_column: bool,
    /// Where a carriage return in the first record is why columns are missing.
    pub(crate) carriage_return: Option<Bad>,
    pub(crate) lines: u64,
}

type Fault = (usize, &'static str);

struct Record {
    fields: Result<Vec<Field>, Fault>,
    start: usize,
}

/// Reads a file as [`LoadOptions`] say: format, columns by index, header or not must be given.
pub(crate) fn read(file: &[u8], options: &LoadOptions) -> Expected {
    let bytes = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let end = |column: &Option<ColumnRef>, usual| column.as_ref().map_or(usual, position);
    let (src, dst) = (end(&options.src, 0), end(&options.dst, 1));
    let specs = options.properties.clone().unwrap_or_default();
    let mut records = without_comments(records(bytes, options), options);
    let first_fault = records.first().and_then(|record| record.fields.as_ref().err().copied());
    let mut expected = Expected { lines: lines(bytes), ..Expected::default() };
    let used = specs.iter().map(index).chain([src, dst]).max().unwrap_or(0);
    let count = |record: &Record| record.fields.as_ref().map_or(0, Vec::len);
    let fields = if options.header == Some(true) {
        (!records.is_empty()).then(|| count(&records.remove(0))).filter(|count| *count > used)
    } else {
        records.iter().take(64).map(count).find(|count| *count > used)
    };
    let Some(fields) = fields else {
        expected.missing_column = true;
        let fault = first_fault.filter(|(_, word)| *word == "carriage return");
        expected.carriage_return = fault.map(|fault| place(bytes, fault));
        return expected;
    };
    let mut rows = Vec::new();
    for record in records {
        let row = record.fields.and_then(|row| {
            check(&row, record.start, fields, &[src, dst], &specs, options.keys).map(|()| row)
        });
        match row {
            Ok(row) => rows.push(row),
            Err(fault) => {
                expected.bad.push(place(bytes, fault));
                if options.on_error == OnError::Raise {
                    return expected;
                }
            }
        }
    }
    let int_keys = rows.iter().all(|row| [src, dst].iter().all(|key| int(&row[*key].text).is_some()));
    let keys = options.keys.unwrap_or(if int_keys { KeyKind::Int64 } else { KeyKind::Text });
    let kinds: Vec<PropertyType> =
        specs.iter().map(|spec| spec.kind.unwrap_or_else(|| infer(&rows, index(spec)))).collect();
    for row in rows {
        let mut shown: Vec<String> = [src, dst].iter().map(|position| key(&row[*position], keys)).collect();
        shown.extend(specs.iter().zip(&kinds).map(|(spec, kind)| value(&row[index(spec)], *kind)));
        expected.rows.push(shown);
    }
    expected
}

/// Without what stands above a table, line by line with a `#`.
fn without_comments(records: Vec<Record>, options: &LoadOptions) -> Vec<Record> {
    let count = |record: &Record| record.fields.as_ref().map_or(0, Vec::len);
    let is_marked = |record: &Record| {
        record.fields.as_ref().is_ok_and(|row| !row[0].quoted && trim(&row[0].text).starts_with(b"#"))
    };
    if options.format == Some(Format::EdgeList) || records.iter().take(64).all(is_marked) {
        return records;
    }
    let is_comment = |record: &&Record| {
        let mut others = records.iter().take(64).filter(|other| !is_marked(other));
        is_marked(record) && others.all(|other| count(other) != count(record))
    };
    let comments = records.iter().take(64).take_while(is_comment).count();
    records.into_iter().skip(comments).collect()
}

fn lines(bytes: &[u8]) -> u64 {
    let newlines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    newlines + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

fn index(spec: &PropertySpec) -> usize {
    position(&spec.column)
}

fn position(column: &ColumnRef) -> usize {
    match column {
        ColumnRef::Index(index) => *index,
        ColumnRef::Name(_) => unreachable!("the oracle takes columns by index"),
    }
}

fn place(bytes: &[u8], (at, word): Fault) -> Bad {
    let before = &bytes[..at];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    Bad { line, column: (at - line_start) as u32 + 1, word }
}

fn records(bytes: &[u8], options: &LoadOptions) -> Vec<Record> {
    let limit = options.line_limit_bytes;
    let edge_list = options.format == Some(Format::EdgeList);
    let delimiter = match options.format {
        Some(Format::Tsv) => Some(b'\t'),
        Some(Format::Csv) => Some(options.delimiter.unwrap_or(b',')),
        _ => options.delimiter,
    };
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end);
        let next = (end + 1).min(bytes.len());
        let line = &bytes[at..end];
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r') && Some(*byte) != delimiter;
        let first = line.iter().find(|byte| !is_blank(byte));
        let nothing = first.is_none() || (edge_list && matches!(first, Some(b'#' | b'%')));
        let bare = bare_return(&bytes[..(at + limit + 1).min(bytes.len())], at, end);
        let is_comment = first.is_some_and(|byte| edge_list && matches!(byte, b'#' | b'%'));
        if nothing && line.len() <= limit && !(is_comment && bare.is_some()) {
            at = next;
            continue;
        }
        if edge_list {
            let fields = match bare {
                Some(bare) => Err((bare, "carriage return")),
                None if line.len() > limit => Err((at, "longer")),
                None => Ok(split(line, at, delimiter)),
            };
            records.push(Record { fields, start: at });
            at = next;
            continue;
        }
        match quoted_record(bytes, at, limit, delimiter.unwrap_or(b',')) {
            Ok((fields, end)) => {
                records.push(Record { fields: Ok(fields), start: at });
                at = end;
            }
            Err(fault) => {
                records.push(Record { fields: Err(fault), start: at });
                at = next;
            }
        }
    }
    records
}

/// The first carriage return of a line that something else than a line feed follows.
fn bare_return(seen: &[u8], start: usize, end: usize) -> Option<usize> {
    (start..end)
        .find(|&at| seen.get(at) == Some(&b'\r') && seen.get(at + 1).is_some_and(|byte| *byte != b'\n'))
}

/// The fields of a line without quotes.
fn split(line: &[u8], start: usize, delimiter: Option<u8>) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut field_start = 0;
    for at in 0..=line.len() {
        let ends = match (line.get(at), delimiter) {
            (None, _) => true,
            (Some(byte), Some(delimiter)) => *byte == delimiter,
            (Some(byte), None) => matches!(byte, b' ' | b'\t' | b'\r'),
        };
        if !ends {
            continue;
        }
        let mut end = at;
        if at == line.len() && delimiter.is_some() && end > field_start && line[end - 1] == b'\r' {
            end -= 1;
        }
        if delimiter.is_some() || end > field_start {
            let text = line[field_start..end].to_vec();
            fields.push(Field { text, at: start + field_start, end: start + end, quoted: false });
        }
        field_start = at + 1;
    }
    fields
}

/// The fields of a record in which they may be quoted, and where the next one starts.
fn quoted_record(
    bytes: &[u8],
    start: usize,
    limit: usize,
    delimiter: u8,
) -> Result<(Vec<Field>, usize), Fault> {
    let horizon = (start + limit + 1).min(bytes.len());
    let seen = &bytes[..horizon];
    let too_long = horizon - start > limit;
    let mut fields = Vec::new();
    let mut at = start;
    loop {
        let field_start = at;
        let mut text = Vec::new();
        let quoted = seen.get(at) == Some(&b'"');
        if quoted {
            at += 1;
            loop {
                match (seen.get(at), seen.get(at + 1)) {
                    (None, _) => return Err((field_start, "not closed")),
                    (Some(b'"'), Some(b'"')) => {
                        text.push(b'"');
                        at += 2;
                    }
                    (Some(b'"'), _) => break,
                    (Some(byte), _) => {
                        text.push(*byte);
                        at += 1;
                    }
                }
            }
            at += 1;
        } else {
            while let Some(byte) = seen.get(at).filter(|byte| **byte != delimiter && **byte != b'\n') {
                if *byte == b'\r' && seen.get(at + 1).is_some_and(|next| *next != b'\n') {
                    return Err((at, "carriage return"));
                }
                text.push(*byte);
                at += 1;
            }
        }
        let mut end = at;
        if !quoted && seen.get(at) != Some(&delimiter) && text.last() == Some(&b'\r') {
            text.pop();
            end -= 1;
        }
        if quoted && seen.get(at) == Some(&b'\r') && matches!(seen.get(at + 1), None | Some(b'\n')) {
            at += 1;
        }
        fields.push(Field { text, at: field_start + usize::from(quoted), end, quoted });
        match seen.get(at) {
            Some(b'\n') => return Ok((fields, at + 1)),
            Some(byte) if *byte == delimiter => at += 1,
            None if too_long => return Err((start, "longer")),
            None => return Ok((fields, at)),
            Some(b'\r') => return Err((at, "carriage return")),
            Some(_) => return Err((at, "closing quote")),
        }
    }
}

/// Whether every value is as the options want it, whatever is inferred.
fn check(
    row: &[Field],
    start: usize,
    fields: usize,
    keys: &[usize],
    specs: &[PropertySpec],
    kind: Option<KeyKind>,
) -> Result<(), Fault> {
    if row.len() > fields {
        let extra = &row[fields];
        return Err((extra.at - usize::from(extra.quoted), "expected"));
    }
    if row.len() < fields {
        return Err((row.last().map_or(start, |last| last.end), "expected"));
    }
    for key in keys {
        let field = &row[*key];
        match kind {
            None | Some(KeyKind::Text) if field.text.is_empty() => {
                return Err((field.at - usize::from(field.quoted), "empty"));
            }
            None | Some(KeyKind::Text) => check_text(field)?,
            Some(KeyKind::Int64) if int(&field.text).is_none() => return Err((field.at, "key")),
            Some(KeyKind::Dense) if int(&field.text).is_none_or(|id| id < 0 || id as u64 >= MAX_VERTICES) => {
                return Err((field.at, "key"));
            }
            Some(_) => {}
        }
    }
    for spec in specs {
        let field = &row[index(spec)];
        let trimmed = trim(&field.text);
        match spec.kind {
            None | Some(PropertyType::String) => check_text(field)?,
            Some(_) if trimmed.is_empty() => {}
            Some(kind) if typed(trimmed, kind, true).is_none() => return Err((field.at, "property")),
            Some(_) => {}
        }
    }
    Ok(())
}

/// The place is that in the raw text, in which quotes are doubled.
fn check_text(field: &Field) -> Result<(), Fault> {
    let raw_at = |at: usize| {
        field.at + at + field.text[..at].iter().filter(|byte| field.quoted && **byte == b'"').count()
    };
    if let Some(at) = field.text.iter().position(|byte| *byte == 0) {
        return Err((raw_at(at), "NUL"));
    }
    match std::str::from_utf8(&field.text) {
        Ok(_) => Ok(()),
        Err(error) => Err((raw_at(error.valid_up_to()), "UTF-8")),
    }
}

fn trim(text: &[u8]) -> &[u8] {
    let kept = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let start = text.iter().position(kept).unwrap_or(text.len());
    let end = text.iter().rposition(kept).map_or(start, |last| last + 1);
    &text[start..end]
}

fn parse<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(trim(text)).ok()?.parse().ok()
}

fn int(text: &[u8]) -> Option<i64> {
    parse(text)
}

/// The types whose values have one form in every file: all but bytes and lists.
pub(crate) fn types() -> Vec<PropertyType> {
    let plain = |kind: &PropertyType| kind.width().is_some() || *kind == PropertyType::String;
    PropertyType::ALL.into_iter().filter(plain).collect()
}

/// The value as a type would show it.
fn typed(text: &[u8], kind: PropertyType, declared: bool) -> Option<String> {
    match kind {
        PropertyType::Int64 => int(text).map(|number| number.to_string()),
        PropertyType::Float64 => {
            let number = parse::<f64>(text)?;
            let is_exact = parse::<i128>(text).is_none_or(|integer| number as i128 == integer);
            (declared || is_exact).then(|| show_float(number))
        }
        PropertyType::Bool => parse::<bool>(&trim(text).to_ascii_lowercase()).map(|flag| flag.to_string()),
        PropertyType::Timestamp => {
            day(text).or_else(|| int(text).filter(|_| declared)).map(|micros| TimeText(micros).to_string())
        }
        PropertyType::Date => {
            let days =
                day(text).map(|micros| micros / 86_400_000_000).or_else(|| int(text).filter(|_| declared));
            days.and_then(|days| i32::try_from(days).ok()).map(|days| DateText(days).to_string())
        }
        PropertyType::Int8 => parse::<i8>(text).map(|number| number.to_string()),
        PropertyType::Int16 => parse::<i16>(text).map(|number| number.to_string()),
        PropertyType::Int32 => parse::<i32>(text).map(|number| number.to_string()),
        PropertyType::UInt8 => {
            int(text).and_then(|number| u8::try_from(number).ok()).map(|number| number.to_string())
        }
        PropertyType::UInt16 => {
            int(text).and_then(|number| u16::try_from(number).ok()).map(|number| number.to_string())
        }
        PropertyType::UInt32 => {
            int(text).and_then(|number| u32::try_from(number).ok()).map(|number| number.to_string())
        }
        PropertyType::UInt64 => {
            parse::<i128>(text).and_then(|number| u64::try_from(number).ok()).map(|number| number.to_string())
        }
        PropertyType::Float32 => {
            let overflows =
                |single: &f32| single.is_finite() || parse::<f64>(text).is_some_and(f64::is_infinite);
            let single = parse::<f32>(text).filter(|single| single.is_nan() || overflows(single));
            single.map(|number| show_float(number.into()))
        }
        _ => None,
    }
}

/// Only dates of January 1970; the files of the tests have no others.
fn day(text: &[u8]) -> Option<i64> {
    let day: i64 = parse(trim(text).strip_prefix(b"1970-01-")?.first_chunk::<2>()?)?;
    (trim(text).len() == 10 && (1..=31).contains(&day)).then_some((day - 1) * 86_400_000_000)
}

/// Zero has no sign here: where integers became doubles it was lost.
pub(crate) fn show_float(number: f64) -> String {
    if number == 0.0 { "0.0".to_owned() } else { format!("{number:?}") }
}

fn infer(rows: &[Vec<Field>], position: usize) -> PropertyType {
    let values = || rows.iter().map(|row| trim(&row[position].text)).filter(|text| !text.is_empty());
    let narrowest_first = [
        PropertyType::Int64,
        PropertyType::UInt64,
        PropertyType::Float64,
        PropertyType::Bool,
        PropertyType::Timestamp,
    ];
    narrowest_first
        .into_iter()
        .find(|kind| values().next().is_some() && values().all(|text| typed(text, *kind, false).is_some()))
        .unwrap_or(PropertyType::String)
}

fn key(field: &Field, kind: KeyKind) -> String {
    match kind {
        KeyKind::Text => format!("{:?}", String::from_utf8_lossy(&field.text)),
        _ => int(&field.text).map(|number| number.to_string()).unwrap_or_default(),
    }
}

fn value(field: &Field, kind: PropertyType) -> String {
    let nothing = if kind == PropertyType::String {
        field.text.is_empty() && !field.quoted
    } else {
        trim(&field.text).is_empty()
    };
    if nothing {
        return "null".to_owned();
    }
    typed(&field.text, kind, true).unwrap_or_else(|| format!("{:?}", String::from_utf8_lossy(&field.text)))
}
