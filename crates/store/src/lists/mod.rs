//! Neighbor lists in memory, from blocks of the heap to what reads a list and what makes a new one of an old one.
//!
//! ```text
//!  heap, pages, spares ─► compression, fragment, column_values ─► adjacency ─► entry ─► paged_array: a table of entries
//!  changes ─► sort ─► leaf_edit ─► merge, growth ─► new entries           entry ─► neighbors, apart: reading them
//! ```

pub(crate) mod adjacency;
pub(crate) mod apart;
pub(crate) mod bits;
pub(crate) mod column_values;
pub(crate) mod compression;
pub(crate) mod entry;
pub(crate) mod fragment;
pub(crate) mod growth;
pub(crate) mod heap;
pub(crate) mod leaf_edit;
pub(crate) mod merge;
pub(crate) mod neighbors;
pub(crate) mod paged_array;
pub(crate) mod pages;
pub(crate) mod plain_columns;
pub(crate) mod sort;
pub(crate) mod spares;
