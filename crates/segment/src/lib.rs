//! Segments: immutable, checksummed files of sections, written once from front to back and then mapped.
//!
//! This crate knows bytes and where they lie. What the sections hold (neighbor lists, indexes, keys, columns) is
//! the store's business; so is which segments make up a store.

mod error;
mod format;
mod segment;
mod writer;

pub use error::SegmentError;
pub use format::{BLOCK_BYTES, FORMAT_VERSION, SECTION_ALIGNMENT, SectionId, SegmentInfo};
pub use segment::Segment;
pub use writer::SegmentWriter;
