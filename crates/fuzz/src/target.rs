//! The list of targets.

use crate::contents::{self, fuzz_segment_content};
use crate::files::{
    self, fuzz_commits, fuzz_cursor, fuzz_log, fuzz_manifest, fuzz_manifest_content, fuzz_segment,
};
use crate::names::{self, fuzz_name};
use crate::text::{self, fuzz_cell, fuzz_gzip, fuzz_text, fuzz_time, fuzz_zstd};
use crate::views::{self, fuzz_handler, fuzz_predicate, fuzz_view};

/// Something that reads bytes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its program in `fuzz/`.
    pub name: &'static str,
    /// Reads the bytes; panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Bytes that are in order, to begin from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "log", run: fuzz_log, seeds: || files::numbered("log") },
    Target { name: "segment", run: fuzz_segment, seeds: || files::numbered("segments") },
    Target { name: "segment_content", run: fuzz_segment_content, seeds: contents::segments },
    Target { name: "manifest", run: fuzz_manifest, seeds: || files::seeds("MANIFEST") },
    Target { name: "manifest_content", run: fuzz_manifest_content, seeds: files::manifest_contents },
    Target { name: "cursor", run: fuzz_cursor, seeds: || files::seeds("cursors") },
    Target { name: "commits", run: fuzz_commits, seeds: files::payloads },
    Target { name: "text", run: fuzz_text, seeds: text::texts },
    Target { name: "cell", run: fuzz_cell, seeds: text::cells },
    Target { name: "time", run: fuzz_time, seeds: text::times },
    Target { name: "gzip", run: fuzz_gzip, seeds: text::gzipped },
    Target { name: "zstd", run: fuzz_zstd, seeds: text::zstandard },
    Target { name: "name", run: fuzz_name, seeds: names::names },
    Target { name: "predicate", run: fuzz_predicate, seeds: views::predicates },
    Target { name: "view", run: fuzz_view, seeds: views::definitions },
    Target { name: "handler", run: fuzz_handler, seeds: views::handler_items },
];
