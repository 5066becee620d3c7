//! The store: everything between a transaction and the version its readers see.

mod adjacency;
mod flat_table;
mod fragment;
mod heap;

pub use adjacency::{CHUNK_MAX, Neighbors};
pub use flat_table::FlatTable;
