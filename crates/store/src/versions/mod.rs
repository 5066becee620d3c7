//! Versions of the graph: how one is drafted and published, what readers see in it, and when what it alone reaches is freed.
//!
//! ```text
//!  draft ─► version ─► current ─► readers: scan, diff, flat_table, turned      reclaim: once nobody is left
//!    └ range_edit, cluster: where much of a range changes
//! ```

pub(crate) mod cluster;
pub(crate) mod current;
#[cfg(test)]
mod current_tests;
pub(crate) mod derived;
pub(crate) mod diff;
pub(crate) mod draft;
pub(crate) mod end_to_end;
pub(crate) mod expiry;
pub(crate) mod flat_table;
pub(crate) mod guide;
pub(crate) mod list_limit;
pub(crate) mod range_edit;
pub(crate) mod reader_slots;
pub(crate) mod reclaim;
#[cfg(test)]
mod reclaim_tests;
pub(crate) mod scan;
pub(crate) mod turned;
pub(crate) mod version;
