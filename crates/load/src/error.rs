//! Everything that can go wrong between a file and its edges, by what the caller can do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::Format;

/// A file that could not be read as edges. Nothing of it was used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be opened or looked at.
    #[error("{path}: cannot be opened: {source}", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file has no line with an edge.
    #[error("{path}: there is no edge in this file", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The first line that is no edge.
    #[error("{path}:{line}:{column}: {reason}, in {text:?}; mend the line, or skip bad lines with on_error=\"skip\"",
        path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The byte in the line, from 1.
        column: u32,
        /// What is wrong.
        reason: String,
        /// The start of the line.
        text: String,
    },
    /// A column that was asked for is not there.
    #[error("{path}: there is no column {wanted}; there are {found:?}", path = path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        wanted: String,
        /// The columns there are, by name or, without a header, by position.
        found: Vec<String>,
    },
    /// The compressed file is damaged or cut off.
    #[error("{path}: cannot be decompressed {from} (near compressed byte {offset}): {source}; \
        the file is damaged or incomplete, get it again", path = path.display(),
        from = match line { 0 => "from its start".to_owned(), line => format!("beyond line {line}") })]
    Decompress {
        /// The file.
        path: PathBuf,
        /// About where in the compressed file: so many bytes had been read.
        offset: u64,
        /// The last line that could be read in whole, from 1; 0 if none could.
        line: u64,
        /// What the decompressor says.
        source: io::Error,
    },
    /// A kind of file that is not read yet.
    #[error("{path}: {what}", path = path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is and what to do.
        what: String,
    },
    /// Options that contradict each other or this file.
    #[error("{path}: {option}: {reason}", path = path.display())]
    Option {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// What a file begins with is not what it was when it was read up to some place.
    #[error("{path}: the first {offset} bytes are not those that were loaded from a file of this name into this edge type; \
        if it is another file, load it without resume or under another name", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The place, in bytes as they are when decompressed.
        offset: u64,
    },
    /// The last line that was loaded had no end, and more was written behind it since.
    #[error("{path}: its last line was loaded without an end, up to byte {offset}, and more was written behind it since, \
        so that it may be another edge now; write what is new to a file of its own, and load that", path = path.display())]
    Unended {
        /// The file.
        path: PathBuf,
        /// The place, in bytes as they are when decompressed.
        offset: u64,
    },
    /// [`Progress`](crate::Progress) said stop.
    #[error("{path}: reading was cancelled", path = path.display())]
    Cancelled {
        /// The file.
        path: PathBuf,
    },
}

/// Edges that could not be written as text.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The output failed.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
    /// A value that the format has no way to write so that it reads back.
    #[error("{place}, column {column:?}: {reason} in format {format}{advice}",
        place = match row { Some(row) => format!("edge {row} (counted from 0)"), None => "the header".to_owned() },
        advice = if *format == Format::EdgeList { "; csv can write more" } else { "" })]
    Unrepresentable {
        /// The edge, from 0 over all batches; none if it is the header.
        row: Option<u64>,
        /// The column.
        column: String,
        /// What about the value.
        reason: &'static str,
        /// The format asked for.
        format: Format,
    },
    /// A batch with other columns than the first one.
    #[error("a batch has the columns {found:?}, but the first one has {expected:?}")]
    Columns {
        /// The property columns of the first batch.
        expected: Vec<String>,
        /// Those of this one.
        found: Vec<String>,
    },
    /// A batch with columns of different lengths.
    #[error("column {column:?} has {found} rows where the source keys have {expected}")]
    Length {
        /// The column.
        column: String,
        /// The rows of the source keys.
        expected: usize,
        /// Its own.
        found: usize,
    },
    /// A delimiter that cannot separate fields.
    #[error("{delimiter:?} cannot be the delimiter of format {format}")]
    Delimiter {
        /// The byte as a character.
        delimiter: char,
        /// The format.
        format: Format,
    },
}
