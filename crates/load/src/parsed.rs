//! What a read gives back: the edges, and the lines that were no edges.

use evergraph_types::{EdgeBatch, KeyKind};

use crate::Format;

/// The edges of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParsedEdges {
    /// The edges in file order, one batch per parsed block; no batch is empty and all have the same columns.
    pub parts: Vec<EdgeBatch>,
    /// How many lines the file has, comments, header and blank lines included.
    pub lines: u64,
    /// The lines left out, with [`OnError::Skip`](crate::OnError::Skip).
    pub rejects: Rejects,
    /// The kind of the keys, as declared or inferred.
    pub keys: KeyKind,
    /// The first key that is no int64, where that made the kind of keys string by inference.
    pub not_numeric: Option<Reject>,
    /// The format the file was read as.
    pub format: Format,
    /// The names in its header, if it has one.
    pub header: Option<Vec<String>>,
}

impl ParsedEdges {
    /// The number of edges.
    pub fn edges(&self) -> u64 {
        self.parts.iter().map(|part| part.len() as u64).sum()
    }
}

/// A place in a file between two lines, up to which it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// The bytes before it; of a compressed file, as they are when decompressed.
    pub offset: u64,
    /// The lines before it.
    pub lines: u64,
    /// A checksum of the bytes before it.
    pub checksum: u64,
}

/// What [`read_edges_in_parts`](crate::read_edges_in_parts) tells of a file besides its edges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PartsSummary {
    /// Where the file ends.
    pub end: Place,
    /// The lines left out, with [`OnError::Skip`](crate::OnError::Skip), behind the place the reading began from.
    pub rejects: Rejects,
    /// The first key that is no int64, where that made the kind of keys string by inference.
    pub not_numeric: Option<Reject>,
    /// The format the file was read as.
    pub format: Format,
}

/// The lines of a file that were left out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rejects {
    /// How many there are.
    pub count: u64,
    /// The first of them, in file order.
    pub kept: Vec<Reject>,
}

/// A line that is no edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The line, counted from 1.
    pub line: u64,
    /// The byte in the line where the trouble starts, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub reason: String,
    /// The start of the line; bytes that are no text are replaced.
    pub text: String,
}

impl Reject {
    /// The same, counted from a start that many lines earlier.
    pub(crate) fn moved(self, lines: u64) -> Self {
        Reject { line: self.line + lines, ..self }
    }
}
