//! Which format a file has and what separates its fields: by its name and its first line.

use std::path::Path;

use memchr::memchr_iter;

use crate::{Format, LoadError, LoadOptions};

/// Refuses files that would be misread rather than refused later.
pub(crate) fn refuse_other_formats(path: &Path, options: &LoadOptions, head: &[u8]) -> Result<(), LoadError> {
    let by_content = match head {
        [b'P', b'A', b'R', b'1', ..] => Some("Parquet"),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some("Arrow"),
        [b'B', b'Z', b'h', ..] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Some("xz"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        head if head.starts_with(b"%%MatrixMarket") => Some("Matrix Market"),
        head if head.starts_with(b"<?xml") => Some("XML"),
        head if is_binary(head) => Some("binary data"),
        _ => None,
    };
    let by_name = match NamedFormat::of(path) {
        NamedFormat::Foreign(what) => Some(what),
        _ => None,
    };
    match by_content.or(by_name.filter(|_| options.format.is_none())) {
        Some(what) => Err(LoadError::Unsupported {
            path: path.to_owned(),
            what: format!(
                "{what} is not read here: convert it to CSV or an edge list in UTF-8 (.gz and .zst are fine)"
            ),
        }),
        None => Ok(()),
    }
}

/// Whether so many of the first bytes are zero as of numbers of a fixed width, or of text in other encodings. A line or two with such bytes
/// are bad lines.
fn is_binary(head: &[u8]) -> bool {
    const LOOKED_AT_BYTES: usize = 4096;
    const ZEROS_MIN: usize = 64;
    let start = &head[..head.len().min(LOOKED_AT_BYTES)];
    let zeros = memchr_iter(0, start).count();
    zeros >= ZEROS_MIN && zeros > start.len() / 5
}

/// What the name of a file says of its format, by its ending, that of a compression aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFormat {
    /// A format of edges as text.
    Edges(Format),
    /// A format that is neither read nor written here, by its name.
    Foreign(&'static str),
    /// Nothing.
    Unknown,
}

impl NamedFormat {
    /// What the name of this file says.
    ///
    /// ```
    /// use evergraph_load::{Format, NamedFormat};
    ///
    /// assert_eq!(NamedFormat::of("edges.CSV.gz".as_ref()), NamedFormat::Edges(Format::Csv));
    /// assert_eq!(NamedFormat::of("edges.parquet".as_ref()), NamedFormat::Foreign("Parquet"));
    /// ```
    pub fn of(path: &Path) -> Self {
        match extension(path).as_str() {
            "csv" => NamedFormat::Edges(Format::Csv),
            "tsv" | "tab" => NamedFormat::Edges(Format::Tsv),
            "txt" | "el" | "edges" | "edgelist" => NamedFormat::Edges(Format::EdgeList),
            "parquet" => NamedFormat::Foreign("Parquet"),
            "arrow" | "feather" | "ipc" => NamedFormat::Foreign("Arrow"),
            "mtx" => NamedFormat::Foreign("Matrix Market"),
            "graphml" | "gexf" => NamedFormat::Foreign("XML"),
            "json" | "jsonl" | "ndjson" => NamedFormat::Foreign("JSON"),
            "bz2" => NamedFormat::Foreign("bzip2"),
            "xz" => NamedFormat::Foreign("xz"),
            "zip" => NamedFormat::Foreign("zip"),
            _ => NamedFormat::Unknown,
        }
    }
}

/// The extension in lower case, without that of the compression.
fn extension(path: &Path) -> String {
    let of = |path: &Path| {
        path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
    };
    match of(path).as_str() {
        "gz" | "gzip" | "zst" | "zstd" => {
            path.file_stem().map(|stem| of(Path::new(stem))).unwrap_or_default()
        }
        extension => extension.to_owned(),
    }
}

/// The format and delimiter; what the options leave open follows the name, then the first line.
pub(crate) fn detect(path: &Path, options: &LoadOptions, text: &[u8]) -> (Format, Option<u8>) {
    if let Some(delimiter) = options.delimiter {
        let by_delimiter = if delimiter == b'\t' { Format::Tsv } else { Format::Csv };
        return (options.format.unwrap_or(by_delimiter), Some(delimiter));
    }
    // What is called text may hold any of them.
    let named = match NamedFormat::of(path) {
        NamedFormat::Edges(Format::EdgeList) | NamedFormat::Foreign(_) | NamedFormat::Unknown => None,
        NamedFormat::Edges(format) => Some(format),
    };
    let is_table = options.format.or(named).is_some_and(|format| format != Format::EdgeList);
    let separators = separators(first_line(text, is_table));
    match (options.format, named) {
        (Some(Format::EdgeList), _) => (Format::EdgeList, None),
        (Some(Format::Tsv), _) => (Format::Tsv, Some(b'\t')),
        (Some(Format::Csv), _) => (Format::Csv, most_frequent(&separators).or(Some(b','))),
        (None, Some(Format::Tsv)) if separators.is_empty() || separators.contains(&b'\t') => {
            (Format::Tsv, Some(b'\t'))
        }
        (None, Some(Format::Csv)) if separators.is_empty() => (Format::Csv, Some(b',')),
        (None, Some(Format::Csv)) => match most_frequent(&separators) {
            Some(separator) => (Format::Csv, Some(separator)),
            None => (Format::EdgeList, None),
        },
        (None, _) => match separators.first() {
            None | Some(b' ' | b'\t') => (Format::EdgeList, None),
            Some(separator) => (Format::Csv, Some(*separator)),
        },
    }
}

/// The first line that is not empty and no comment. In a table where all lines begin like one they are none.
fn first_line(text: &[u8], is_table: bool) -> &[u8] {
    let mut lines =
        text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
    let is_comment = |line: &&[u8]| line[0] == b'#' || !is_table && line[0] == b'%';
    let first = lines.clone().next().filter(|_| is_table);
    lines.find(|line| !is_comment(line)).or(first).unwrap_or_default()
}

/// The separators of a line in order, outside quotes. Blanks before another separator belong to that.
fn separators(line: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut quoted = false;
    let mut after_blank = false;
    for byte in line {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b' ' if after_blank => {}
            b' ' => found.push(b' '),
            b',' | b';' | b'|' | b'\t' => {
                if after_blank {
                    found.pop();
                }
                found.push(*byte);
            }
            _ => {}
        }
        after_blank = *byte == b' ' && !quoted;
    }
    found
}

/// The most frequent separator but blanks; the more usual one of two that are as frequent.
fn most_frequent(separators: &[u8]) -> Option<u8> {
    let count = |wanted: u8| separators.iter().filter(|separator| **separator == wanted).count();
    // `max_by_key` gives the last of equals.
    [b'|', b'\t', b';', b',']
        .into_iter()
        .max_by_key(|separator| count(*separator))
        .filter(|best| count(*best) > 0)
}

/// Refuses a delimiter that cannot be told from something else.
pub(crate) fn check_delimiter(path: &Path, format: Format, delimiter: Option<u8>) -> Result<(), LoadError> {
    let fail = |reason: &str| {
        let reason = reason.to_owned();
        Err(LoadError::Option { path: path.to_owned(), option: "delimiter", reason })
    };
    match delimiter {
        Some(b'\n' | b'\r' | 0) => fail("a line end or NUL cannot separate fields"),
        Some(b'"') if format != Format::EdgeList => fail("a quote cannot separate fields"),
        Some(b'#' | b'%') if format == Format::EdgeList => fail("it starts comments in an edge list"),
        Some(0x80..) => fail("it must be an ASCII character"),
        _ => Ok(()),
    }
}
