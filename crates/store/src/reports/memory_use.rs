//! What the memory of a store is used for.
//!
//! Blocks of the heap are counted as they are allocated and freed. How many of them are pages is told by the inner pages
//! of the paged arrays, one word for each 64 vertices, so that asking costs little; what is left is fragments.
//!
//! Invariant: the parts add up to [`MemoryUse::total_bytes`], and each byte is in one part.

use std::sync::Arc;

use evergraph_segment::Segment;

use crate::lists::paged_array::{Cell, PagedArray};
use crate::reports::disk_use::DiskUse;
use crate::store::Inner;
use crate::versions::version::{Version, for_each_column_block};

/// Bytes in memory by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Pages of vertex tables and of the vertices themselves, and guides to what segments hold of them.
    pub vertex_table_bytes: u64,
    /// Neighbor lists on the heap, edge properties included, with their chunk directories.
    pub fragment_bytes: u64,
    /// Vertex properties on the heap.
    pub column_bytes: u64,
    /// Blocks on the heap that only older versions reach, which somebody still holds or which are about to be freed, and the lists of them.
    pub retired_bytes: u64,
    /// Freed blocks that the next small commit takes instead of new ones, at most a megabyte.
    pub spare_bytes: u64,
    /// Keys and the index of them.
    pub dictionary_bytes: u64,
    /// Named items beside the graph.
    pub catalog_bytes: u64,
    /// Lists made for types that keep none in the in direction, since they were asked for.
    pub turned_bytes: u64,
    /// What versions of the past have on the heap: those asked for last, and those that somebody holds.
    pub history_bytes: u64,
    /// Mapped segments, which are in memory as far as they were read and the system has room; they can be dropped at any
    /// time. Of a store without files that keeps history they lie in memory; others without files have none.
    pub segment_bytes: u64,
    /// As that, of segments that only versions reach which somebody holds; of a store without files, of all that history needs.
    pub older_segment_bytes: u64,
    /// The log of a store without files, which keeps it in memory, with room for what comes next.
    pub log_bytes: u64,
}

impl MemoryUse {
    /// All parts together.
    pub fn total_bytes(&self) -> u64 {
        self.heap_bytes() + self.segment_bytes + self.older_segment_bytes
    }

    /// All that is not mapped from files.
    pub fn heap_bytes(&self) -> u64 {
        self.vertex_table_bytes
            + self.fragment_bytes
            + self.column_bytes
            + self.retired_bytes
            + self.spare_bytes
            + self.dictionary_bytes
            + self.catalog_bytes
            + self.turned_bytes
            + self.history_bytes
            + self.log_bytes
    }

    /// The parts by name, in the order of their fields.
    pub fn parts(&self) -> [(&'static str, u64); 12] {
        [
            ("vertex table", self.vertex_table_bytes),
            ("fragments", self.fragment_bytes),
            ("columns", self.column_bytes),
            ("retired", self.retired_bytes),
            ("spare", self.spare_bytes),
            ("dictionary", self.dictionary_bytes),
            ("catalog", self.catalog_bytes),
            ("turned lists", self.turned_bytes),
            ("history", self.history_bytes),
            ("segments", self.segment_bytes),
            ("older segments", self.older_segment_bytes),
            ("log", self.log_bytes),
        ]
    }

    /// `files` is what the files of the store take, and `log_bytes` what the log of one that has none takes.
    pub(crate) fn of(inner: &Inner, version: &Version, files: &DiskUse, log_bytes: u64) -> Self {
        let mut column_bytes = 0;
        for (column, property) in version.columns.iter().zip(&version.schema().vertex_properties) {
            column_bytes += match property.kind.width() {
                Some(_) => pages(column),
                None => {
                    let mut bytes = 0;
                    for_each_column_block(column, property.kind, &mut |block| {
                        bytes += version.footprint(block)
                    });
                    bytes
                }
            };
        }
        let tables = version.edges.iter().flat_map(|tables| [&tables.out.table, &tables.reverse.table]);
        let page_bytes = pages(&version.vertices) + tables.map(pages).sum::<usize>();
        let retired_bytes = inner.reclaimer.retired_bytes();
        let live = inner.reclaimer.live_bytes();
        let fragment_bytes = live.saturating_sub(page_bytes + column_bytes + retired_bytes);
        let bytes_of = |segments: &[Arc<Segment>]| segments.iter().map(|segment| segment.bytes()).sum();
        let segment_bytes = bytes_of(&version.segments);
        let (older_segment_bytes, log_bytes) = match &inner.home {
            None => (0, log_bytes),
            Some(home) if home.is_in_memory => {
                let log_bytes = files.log_bytes + files.log_room_bytes;
                ((files.total_bytes() - log_bytes).saturating_sub(segment_bytes), log_bytes)
            }
            Some(home) => {
                let open: u64 = bytes_of(&home.open_segments());
                (open.saturating_sub(segment_bytes), 0)
            }
        };
        MemoryUse {
            vertex_table_bytes: (page_bytes + version.segments.guide_bytes()) as u64,
            fragment_bytes: fragment_bytes as u64,
            column_bytes: column_bytes as u64,
            retired_bytes: (retired_bytes + inner.reclaimer.list_bytes()) as u64,
            spare_bytes: inner.reclaimer.spare_bytes() as u64,
            dictionary_bytes: version.dictionary.bytes() as u64,
            catalog_bytes: version.catalog.bytes() as u64,
            turned_bytes: version.turned.bytes() as u64,
            history_bytes: inner.history_bytes() as u64,
            segment_bytes,
            older_segment_bytes,
            log_bytes,
        }
    }
}

fn pages<T: Cell>(array: &PagedArray<T>) -> usize {
    array.page_bytes()
}
