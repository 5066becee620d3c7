//! What the caller may say about a file. Everything has a default that looks at the file; what is said explicitly wins.

use std::fmt;

use evergraph_types::{KeyKind, PropertyType};

/// The format of a file of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One edge a line, fields separated by blanks, lines that start with `#` or `%` are comments; no quoting.
    EdgeList,
    /// Comma-separated values (RFC 4180): quoted fields, `""` for a quote inside, line breaks inside quotes.
    Csv,
    /// The same with tabs.
    Tsv,
}

impl Format {
    /// The name users write: `edgelist`, `csv`, `tsv`.
    pub fn name(self) -> &'static str {
        match self {
            Format::EdgeList => "edgelist",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
        }
    }

    /// The format of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        [Format::EdgeList, Format::Csv, Format::Tsv].into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A column of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRef {
    /// By the name in the header.
    Name(String),
    /// By position from 0.
    Index(usize),
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnRef::Name(name) => write!(f, "{name:?}"),
            ColumnRef::Index(index) => write!(f, "number {index} (counted from 0)"),
        }
    }
}

impl From<&str> for ColumnRef {
    fn from(name: &str) -> Self {
        ColumnRef::Name(name.to_owned())
    }
}

impl From<usize> for ColumnRef {
    fn from(index: usize) -> Self {
        ColumnRef::Index(index)
    }
}

/// A column of the file that becomes a property of the edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertySpec {
    /// Where it is in the file.
    pub column: ColumnRef,
    /// The name of the property.
    pub name: String,
    /// Its type; inferred from all values of the file where `None`: the first of int64, uint64, float64, bool and timestamp that
    /// holds them all, else string. A float64 holds an integer if it is equal to it.
    pub kind: Option<PropertyType>,
}

/// What to do with a line that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop with the first bad line of the file; nothing is returned.
    #[default]
    Raise,
    /// Leave it out and report it in [`Rejects`](crate::Rejects).
    Skip,
}

/// How to read a file of edges.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The format; from the file's name and first line where `None`.
    pub format: Option<Format>,
    /// The byte between fields; from the format and the first line where `None`. Blanks in an edge list.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns. Where `None`: it does if columns are asked for by name, or, in CSV
    /// and TSV, if no field of it is a number, truth value or time; in an edge list if it is words over numbers.
    pub header: Option<bool>,
    /// The column of source keys; where `None` the header's `src`, `source` or `from` (with its counterpart), else the first.
    pub src: Option<ColumnRef>,
    /// The column of destination keys; where `None` the header's `dst`, `target` or `to`, else the second.
    pub dst: Option<ColumnRef>,
    /// The property columns; where `None` all other columns of a file with a header, and none without one.
    pub properties: Option<Vec<PropertySpec>>,
    /// The kind of keys; where `None` int64 if every key of the file is one, else string.
    pub keys: Option<KeyKind>,
    /// What to do with a bad line.
    pub on_error: OnError,
    /// How many rejected lines to keep with their text; all are counted.
    pub max_rejects_kept: usize,
    /// How many threads parse; the current rayon pool where `None`.
    pub threads: Option<usize>,
    /// The size of a block that one thread parses at a time, in bytes; each becomes one batch.
    pub block_bytes: usize,
    /// About how many bytes of text to have in memory at once where a file is read part by part, as blocks of all threads together:
    /// blocks are made smaller for that, down to 64 KiB.
    pub window_bytes: Option<u64>,
    /// The longest line (or quoted record) accepted, in bytes.
    pub line_limit_bytes: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            format: None,
            delimiter: None,
            header: None,
            src: None,
            dst: None,
            properties: None,
            keys: None,
            on_error: OnError::Raise,
            max_rejects_kept: 1000,
            threads: None,
            block_bytes: 1 << 20,
            window_bytes: None,
            line_limit_bytes: 64 << 20,
        }
    }
}
