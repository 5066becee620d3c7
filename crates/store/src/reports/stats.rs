//! What a store holds and takes up, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use evergraph_log::Log;
use evergraph_types::Sequence;

use crate::files::home::Home;
use crate::options::{Durability, ListFormat};
use crate::reports::disk_use::DiskUse;
use crate::reports::memory_use::MemoryUse;
use crate::store::Inner;
use crate::system::allocator::{allocator_bytes, give_back_here};

/// Numbers about an open store. Bytes are those in use now.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The newest commit.
    pub sequence: Sequence,
    /// When it was made, in microseconds since 1970-01-01 UTC.
    pub time_micros: i64,
    /// The number of vertices.
    pub num_vertices: u64,
    /// The number of edges of all types; an edge of a symmetric type counts once.
    pub num_edges: u64,
    /// By edge type.
    pub edge_types: Vec<EdgeTypeStats>,
    /// Bytes of pages and lists on the heap, those included that only old versions reach, or that wait for the next commit.
    pub memory_bytes: u64,
    /// Bytes of the dictionary.
    pub dictionary_bytes: u64,
    /// Everything in memory by purpose.
    pub memory: MemoryUse,
    /// What the allocator of the program and the stores have in memory, for the whole process, if the program has told
    /// ([`use_allocator`](crate::use_allocator)): [`MemoryUse::heap_bytes`] of each open store, what else the program keeps there,
    /// and what is free between blocks, since each thread has pages of its own for each size.
    pub allocator_bytes: Option<u64>,
    /// Bytes of the log, without the room made ahead for what comes next.
    pub log_bytes: u64,
    /// The number of segments.
    pub segments: u64,
    /// Their bytes, mapped into memory.
    pub segment_bytes: u64,
    /// Bytes on disk: all files of the store; 0 in memory.
    pub disk_bytes: u64,
    /// These by purpose.
    pub disk: DiskUse,
    /// Bytes of the segments that were written since the store was opened, by archives, merges and loads …
    pub written_bytes: u64,
    /// … and of these, about those that no segment had held before.
    pub archived_bytes: u64,
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// How neighbor lists are written.
    pub format: ListFormat,
    /// Whether nothing is left to do in the background: archiving, merging, bringing lists together, giving back memory that
    /// was freed. What the store takes of the process's memory is near [`Stats::memory`] then, but for what the allocator keeps
    /// free ([`Stats::allocator_bytes`]).
    pub settled: bool,
    /// Why the store takes no more commits, if one could not be made durable.
    pub failure: Option<String>,
}

/// Numbers about an edge type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EdgeTypeStats {
    /// Its name.
    pub name: String,
    /// The number of edges; an edge of a symmetric type counts once.
    pub edges: u64,
    /// The number of entries in the lists of both directions.
    pub entries: u64,
}

impl Stats {
    /// How often what was archived has been written to segments since the store was opened, on average: once by the archive, the rest by
    /// merges. `None` if nothing was archived. docs/decisions/0010-compression-and-memory.md has the bound.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.archived_bytes > 0).then(|| self.written_bytes as f64 / self.archived_bytes as f64)
    }

    pub(crate) fn of(inner: &Inner) -> Self {
        inner.reclaimer.collect();
        let version = inner.current.load_full();
        let edge_types: Vec<EdgeTypeStats> = version
            .schema
            .live_edge_types()
            .map(|(id, kind)| {
                let tables = &version.edges[usize::from(id)];
                EdgeTypeStats {
                    name: kind.name.clone(),
                    edges: version.num_edges(id),
                    entries: tables.out.entries + tables.reverse.entries,
                }
            })
            .collect();
        let segment_bytes = version.segments.iter().map(|segment| segment.bytes()).sum();
        let committer = inner.committer.lock();
        let log_bytes = match (&committer.log, &inner.home) {
            (Some(log), _) => log.bytes(),
            (None, Some(home)) => home.log_bytes(),
            (None, None) => 0,
        };
        let log_room_bytes = committer.log.as_ref().map_or(0, Log::room_bytes);
        let failure = committer.failure().filter(|_| !inner.is_closed.load(Ordering::Acquire));
        drop(committer);
        let files =
            inner.home.as_ref().map(|home| DiskUse::of(home, &version, log_bytes)).unwrap_or_default();
        let of_home = |bytes: fn(&Home) -> &AtomicU64| {
            inner.home.as_ref().map_or(0, |home| bytes(home).load(Ordering::Relaxed))
        };
        let is_on_disk = inner.home.as_ref().is_some_and(|home| !home.is_in_memory);
        let disk = if is_on_disk { files } else { DiskUse::default() };
        let settled = !inner.options.background || inner.signal.is_settled();
        if settled {
            give_back_here();
        }
        Stats {
            sequence: version.sequence,
            time_micros: version.time_micros,
            num_vertices: version.num_vertices,
            num_edges: edge_types.iter().map(|kind| kind.edges).sum(),
            edge_types,
            memory_bytes: (inner.reclaimer.live_bytes() + inner.reclaimer.spare_bytes()) as u64,
            memory: MemoryUse::of(inner, &version, &files, log_bytes + log_room_bytes),
            allocator_bytes: allocator_bytes(),
            dictionary_bytes: version.dictionary.bytes() as u64,
            log_bytes,
            segments: version.segments.len() as u64,
            segment_bytes,
            disk_bytes: disk.total_bytes(),
            disk,
            written_bytes: of_home(|home| &home.written_bytes),
            archived_bytes: of_home(|home| &home.archived_bytes),
            durability: inner.options.durability,
            format: version.format(),
            settled,
            failure,
        }
    }
}
