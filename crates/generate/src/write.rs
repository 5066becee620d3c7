//! Graphs written to a file or pipe while they are drawn. Compression is the writer's business: wrap it.
//!
//! | format | bytes of the edge 3 → 14 |
//! |---|---|
//! | [`Format::EdgeList`] | `3 14\n` |
//! | [`Format::Csv`] | `3,14\n`, with the header `src,dst\n` before all if asked for |
//! | [`Format::Pairs32`] | `03 00 00 00 0E 00 00 00`: two little-endian 32-bit numbers; no header, 8 bytes an edge |
//!
//! Invariant: the bytes depend on model, seed and format alone, and memory on the number of threads alone.

use std::io::{self, Write};
use std::ops::ControlFlow;

use thiserror::Error;

use crate::{Edge, Generator, ModelError};

/// How edges are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of two decimal numbers with a space between, as SNAP and GAPBS read them.
    EdgeList,
    /// Lines of two decimal numbers with a comma between.
    Csv {
        /// Begin with the line `src,dst`.
        header: bool,
    },
    /// Pairs of little-endian 32-bit numbers.
    Pairs32,
}

/// Why a graph was not written to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The graph does not fit the format.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The writer failed.
    #[error("writing failed after {edges} edges: {source}")]
    Write {
        /// How many edges were handed to the writer before.
        edges: u64,
        /// What the writer said.
        source: io::Error,
    },
    /// The progress callback asked to stop.
    #[error("cancelled after {edges} edges; the output is incomplete")]
    Cancelled {
        /// How many edges had been written.
        edges: u64,
    },
}

/// Writes all edges of `generator` and flushes. After each block `progress` learns how many edges are done; when it
/// answers `Break`, writing ends with [`WriteError::Cancelled`].
///
/// ```
/// use std::ops::ControlFlow;
/// use evergraph_generate::{ErdosRenyi, Format, Generator, Model, write};
///
/// let model = Model::ErdosRenyi(ErdosRenyi { vertices: 10, edges: 3 });
/// let mut text = Vec::new();
/// write(&Generator::new(model, 1)?, Format::EdgeList, &mut text, &|_edges| ControlFlow::Continue(()))?;
/// assert_eq!(String::from_utf8(text)?.lines().count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    generator: &Generator,
    format: Format,
    writer: &mut dyn Write,
    progress: &dyn Fn(u64) -> ControlFlow<()>,
) -> Result<(), WriteError> {
    if format == Format::Pairs32 {
        generator.require_32_bits()?;
    }
    if format == (Format::Csv { header: true }) {
        writer.write_all(b"src,dst\n").map_err(|source| WriteError::Write { edges: 0, source })?;
    }
    let mut edges = 0;
    generator.map_blocks(
        |block| (block.len() as u64, encode(block, format)),
        |(count, bytes)| {
            writer.write_all(&bytes).map_err(|source| WriteError::Write { edges, source })?;
            edges += count;
            match progress(edges) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(WriteError::Cancelled { edges }),
            }
        },
    )?;
    writer.flush().map_err(|source| WriteError::Write { edges, source })
}

fn encode(edges: &[Edge], format: Format) -> Vec<u8> {
    match format {
        Format::EdgeList => lines(edges, b' '),
        Format::Csv { .. } => lines(edges, b','),
        Format::Pairs32 => {
            edges.iter().flat_map(|&(src, dst)| (u64::from(src as u32) | dst << 32).to_le_bytes()).collect()
        }
    }
}

fn lines(edges: &[Edge], separator: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(edges.len() * 16);
    let mut digits = itoa::Buffer::new();
    for &(src, dst) in edges {
        bytes.extend_from_slice(digits.format(src).as_bytes());
        bytes.push(separator);
        bytes.extend_from_slice(digits.format(dst).as_bytes());
        bytes.push(b'\n');
    }
    bytes
}
