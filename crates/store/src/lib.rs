//! The store: everything between a transaction and the version its readers see.

mod adjacency;
mod codec;
mod dictionary;
mod draft;
mod error;
mod flat_table;
mod fragment;
mod heap;
mod key_range;
mod merge;
mod ops;
mod paged_array;
mod reclaim;
mod scan;
mod schema_change;
mod sort;
mod version;

pub use adjacency::{CHUNK_MAX, Neighbors};
pub use flat_table::FlatTable;
pub use error::{CommitError, OpenError, WriteError};
pub use scan::Run;
pub use version::Version;
