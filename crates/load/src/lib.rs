//! Text edge files to [`EdgeBatch`](evergraph_types::EdgeBatch)es, in parallel, and back.
//!
//! The way of a file, in the order of the modules:
//!
//! ```text
//!  source ──► sniff ──► plan ──► read: windows ──► block: records ──► column: typed columns ──► ParsedEdges
//!  mmap or    format,   columns  cut into blocks   split, cell,        one batch per block,
//!  inflate    header    wanted   at line ends      number, time        in file order
//! ```
//!
//! Whatever the block size, the number of threads and the compression, the result is that of one reader going line
//! by line: the same edges in the same order, the same first error, the same rejects.

mod block;
mod cell;
mod column;
mod columns;
mod error;
mod export;
mod fault;
mod format;
mod guess;
mod literal;
mod map;
mod number;
mod options;
mod parsed;
mod parts;
mod plain;
mod plan;
mod read;
mod scan;
mod sniff;
mod source;
mod span;
mod split;
mod time;

pub use error::{ExportError, LoadError};
pub use evergraph_types::{NoProgress, Progress};
pub use export::{WriteOptions, write_edges};
pub use format::NamedFormat;
pub use options::{ColumnRef, Format, LoadOptions, OnError, PropertySpec};
pub use parsed::{ParsedEdges, PartsSummary, Place, Reject, Rejects};
pub use parts::{Survey, read_edges_in_parts, survey};
pub use read::read_edges;
pub use span::{SPAN_UNITS, SpanError, parse_span};
pub use time::parse_timestamp;
