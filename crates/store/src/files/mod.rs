//! A store on disk: its directory and manifest, opening it, and segments, which an archive writes and which are put into tables
//! again.
//!
//! ```text
//!  archive, backup ─► segment_writer ─► rows, list_pieces, recycled_rows ─► a segment ─► install, guides ─► tables of a draft
//!  open ─► home, manifest ───────────────────────────────────────────────────────────────┘
//! ```

pub(crate) mod archive;
pub(crate) mod backup;
pub(crate) mod guides;
pub(crate) mod home;
pub(crate) mod install;
pub(crate) mod list_parts;
pub(crate) mod list_pieces;
pub(crate) mod manifest;
pub(crate) mod open;
pub(crate) mod recycled_rows;
pub(crate) mod rows;
pub(crate) mod segment_writer;
