//! Fuzz targets for everything that is parsed. A target takes any bytes and panics if what is promised of bytes from
//! outside does not hold: a result or a typed error, never a panic, and the same result on every way of reading.
//!
//! `fuzz/` hands them to cargo-fuzz; `tests/short.rs` runs each on mutations of its seeds with every `make test`.
//!
//! Invariant: a target depends on its bytes alone, so that a finding is reproduced by them.

mod contents;
mod files;
mod names;
mod sample;
mod target;
mod text;
mod views;

pub use contents::fuzz_segment_content;
pub use files::{fuzz_commits, fuzz_cursor, fuzz_log, fuzz_manifest, fuzz_manifest_content, fuzz_segment};
pub use names::fuzz_name;
pub use target::{TARGETS, Target};
pub use text::{fuzz_cell, fuzz_gzip, fuzz_text, fuzz_time, fuzz_zstd};
pub use views::{fuzz_handler, fuzz_predicate, fuzz_view};
