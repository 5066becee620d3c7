//! Lists of a store without files brought together again, in the order of vertices, after commits have scattered them.
//!
//! ```text
//!  range of vertices ─► cluster:    [list of 0][list of 1][list of 2]…   one block, as in a CSR
//!                    └► elsewhere:  what was changed since, in packs and blocks of its own
//! ```
//!
//! A range is written when more than a part of it lies elsewhere or is dead in its cluster. Each byte that commits write is so
//! copied a bounded number of times, and no more than a part of a cluster is lost to lists that have moved out. A range is
//! written while no commit is made and published by itself, so that nothing changes meanwhile, a commit waits for one range at
//! the most, and old and new lists of one range alone are there at once. Older versions keep the clusters they reach. Where
//! everything is written, each processor takes a range, and what was said of one holds of so many.
//!
//! Invariants: a run in a cluster is one of a vertex of its range, and is tagged as if it lay in a segment: it goes with its
//! cluster, not with its list. What lists say stays the same.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use evergraph_types::{Direction, EdgeTypeId, VertexId};
use parking_lot::MutexGuard;
use rayon::prelude::*;

use crate::compression::SLACK_BYTES;
use crate::draft::Draft;
use crate::entry::Entry;
use crate::error::CommitError;
use crate::heap::{Block, Changes};
use crate::install::Area;
use crate::leaf_edit::release_pack;
use crate::list_pieces::{Piece, Selected};
use crate::merge::for_each_block;
use crate::paged_array::{LEAF_CELLS, Leaf};
use crate::pool::in_pool;
use crate::store::Inner;
use crate::version::{Adjacency, Version};

/// How many vertices have their lists in one cluster.
const CLUSTER_VERTICES: u32 = 1 << 14;

/// Before the lists, a cluster says how many entries it was written with.
const HEAD_BYTES: usize = size_of::<u64>();

/// Which ranges are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gather {
    /// All.
    Everything,
    /// Those of which more than one part in so many lies elsewhere or is dead.
    Scattered(u64),
}

impl Gather {
    /// How many ranges are written at once: whoever asks for everything waits for it, and what goes on beside other work
    /// leaves the processors to that.
    fn at_once(self) -> usize {
        match self {
            Gather::Everything => in_pool(rayon::current_num_threads),
            Gather::Scattered(_) => 1,
        }
    }
}

/// What is written while nothing else goes on: a range is written again for each eighth of it that changes, at most.
pub(crate) const AT_REST: Gather = Gather::Scattered(8);

/// What is written while commits go on: for each half.
pub(crate) const UNDER_LOAD: Gather = Gather::Scattered(2);

/// The lists of an edge type in one direction.
type Place = (EdgeTypeId, Direction);

/// Writes what is to be written, as long as `goes_on`; tells whether all of it was.
pub(crate) fn gather(inner: &Inner, wanted: Gather, goes_on: impl Fn() -> bool) -> Result<bool, CommitError> {
    let _one_at_a_time = inner.gathering.lock();
    if inner.is_closed.load(Ordering::Acquire) {
        return Err(CommitError::Closed);
    }
    let before = inner.reclaimer.written_bytes();
    let mut own_bytes = 0;
    let tables = inner.current.load().edges.len() as EdgeTypeId;
    for place in (0..tables).flat_map(|kind| [(kind, Direction::Out), (kind, Direction::In)]) {
        let mut from = 0;
        loop {
            // No version is held while its ranges are written, so that what is replaced is freed at once.
            let next = next_ranges(&inner.current.load(), place, from, wanted);
            let Some(last) = next.last() else { break };
            if !goes_on() {
                return Ok(false);
            }
            own_bytes += gather_ranges(inner, place, &next)?;
            from = last + 1;
        }
    }
    inner.gathered_bytes.store(before + own_bytes, Ordering::Relaxed);
    Ok(true)
}

/// The next ranges from one on, which are to be written at once.
fn next_ranges(version: &Version, place: Place, from: u32, wanted: Gather) -> Vec<u32> {
    let Some(lists) = lists_of(version, place).filter(|lists| !lists.is_empty()) else { return Vec::new() };
    let is_wanted = |range: &u32| {
        let spread = Spread::of(lists, *range);
        match wanted {
            Gather::Everything => spread.entries + spread.clustered > 0,
            Gather::Scattered(parts) => spread.is_scattered(parts),
        }
    };
    let ranges = from..version.id_bound.div_ceil(CLUSTER_VERTICES);
    ranges.filter(is_wanted).take(wanted.at_once()).collect()
}

fn lists_of(version: &Version, (edge_type, direction): Place) -> Option<&Adjacency> {
    Some(version.edges.get(usize::from(edge_type))?.side(direction))
}

/// Writes the lists of ranges to a new cluster each and publishes these; gives the bytes they took.
fn gather_ranges(inner: &Inner, (edge_type, direction): Place, ranges: &[u32]) -> Result<u64, CommitError> {
    // A load would not know of what becomes of the lists it began with.
    let committer = inner.committer_without_load();
    if inner.is_closed.load(Ordering::Acquire) {
        return Err(CommitError::Closed);
    }
    let base = inner.current.load_full();
    let mut draft = Draft::new(&base, base.dictionary.clone(), base.sequence, base.time_micros);
    draft.changes.stamp = None;
    if let Some(tables) = draft.version.edges.get_mut(usize::from(edge_type)) {
        let lists = tables.side_mut(direction);
        *lists = write_ranges(&base, edge_type, *lists, ranges, &mut draft.changes);
    }
    let written = draft.changes.allocated_bytes as u64;
    let (version, changes) = draft.finish();
    inner.publish(base, version, changes);
    // Whoever waits to commit comes before the next ranges.
    MutexGuard::unlock_fair(committer);
    Ok(written)
}

/// The lists with those of the ranges, which ascend, in a new cluster each.
fn write_ranges(
    version: &Version,
    edge_type: EdgeTypeId,
    lists: Adjacency,
    ranges: &[u32],
    changes: &mut Changes,
) -> Adjacency {
    let gather = |range: &u32| {
        let mut own = changes.fork();
        (Gathered::of(version, edge_type, &lists, *range, &mut own), own)
    };
    let done: Vec<(Gathered, Changes)> = match ranges {
        // Not in the pool: commits wait meanwhile, and what it has to do is theirs and others'.
        [range] => vec![gather(range)],
        _ => in_pool(|| ranges.par_iter().map(gather).collect()),
    };
    let mut gathered = Vec::with_capacity(done.len());
    for (range, own) in done {
        gathered.push(range);
        changes.join(own);
    }
    let leaves: Vec<VertexId> = gathered.iter().flat_map(|range| range.leaves.iter().copied()).collect();
    let edit = |base: VertexId, leaf: &mut Leaf<Entry>, _: &[VertexId], changes: &mut Changes| {
        let position = gathered.partition_point(|range| range.number < base / CLUSTER_VERTICES);
        gathered[position].point_to(base, leaf, changes);
        release_pack(leaf, changes);
    };
    let table = lists.table.edit(&leaves, &|base| *base, &edit, changes);
    let old = ranges.iter().filter_map(|range| lists.clusters.get(*range));
    old.map(block_of).for_each(|old| changes.retire(old));
    let set = |_, leaf: &mut Leaf<u64>, ranges: &[Gathered], _: &mut Changes| {
        for range in ranges {
            leaf.set(range.number, range.cluster.map(|cluster| cluster.pointer() as u64));
        }
    };
    let clusters = lists.clusters.edit(&gathered, &|range| range.number, &set, changes);
    Adjacency { table, clusters, ..lists }
}

/// The lists of a range in their new cluster.
struct Gathered {
    number: u32,
    /// The leaves with lists, by their first vertices.
    leaves: Vec<VertexId>,
    piece: Piece,
    /// `None` if there are no lists.
    cluster: Option<Block>,
}

impl Gathered {
    fn of(
        version: &Version,
        edge_type: EdgeTypeId,
        lists: &Adjacency,
        number: u32,
        changes: &mut Changes,
    ) -> Self {
        let (mut leaves, mut selected): (Vec<VertexId>, Vec<Selected>) = Default::default();
        for (base, leaf) in leaves_of(lists, number) {
            let before = selected.len();
            let lists =
                (base..=base + (LEAF_CELLS - 1)).filter_map(|vertex| Some((vertex, leaf.get(vertex)?)));
            selected.extend(lists.map(|(vertex, entry)| (vertex, Some(entry))));
            leaves.extend((selected.len() > before).then_some(base));
        }
        let piece = Piece::of(version, edge_type, &selected);
        let cluster = (!selected.is_empty()).then(|| write_cluster(&piece, changes));
        Gathered { number, leaves, piece, cluster }
    }

    /// Lets the entries of a leaf point into the cluster.
    fn point_to(&self, base: VertexId, leaf: &mut Leaf<Entry>, changes: &mut Changes) {
        let area = self.cluster.map_or(Area::EMPTY, |cluster| Area {
            start: cluster.pointer() as u64 + HEAD_BYTES as u64,
            bytes: 4 * self.piece.words.len() as u64,
        });
        let first = self.piece.index.partition_point(|row| row.vertex < base);
        for row in self.piece.index[first..].iter().take_while(|row| row.vertex - base < LEAF_CELLS) {
            let cell = &mut leaf.cells[(row.vertex % LEAF_CELLS) as usize];
            for_each_block(*cell, &mut |block| changes.retire(block));
            *cell = area.entry(row, &self.piece.chunks, changes);
        }
    }
}

/// A new cluster of these lists.
fn write_cluster(piece: &Piece, changes: &mut Changes) -> Block {
    let entries: u64 = piece.index.iter().map(|row| u64::from(row.count)).sum();
    let block = changes.allocate(HEAD_BYTES + size_of_val(&*piece.words) + SLACK_BYTES);
    // SAFETY: the new block has room for the head and the words.
    unsafe {
        block.pointer().cast::<u64>().write(entries);
        let words = block.pointer().add(HEAD_BYTES).cast::<u32>();
        words.copy_from_nonoverlapping(piece.words.as_ptr(), piece.words.len());
    }
    block
}

impl Adjacency {
    /// What clusters take, dead parts included.
    pub(crate) fn cluster_bytes(&self) -> u64 {
        let mut bytes = 0;
        self.clusters.for_each_leaf(&mut |_, leaf| {
            let cells = leaf.cells.iter().filter(|cell| **cell != 0);
            // SAFETY: clusters are alive with the version that the lists are of.
            bytes += cells.map(|cell| unsafe { block_of(*cell).payload_bytes() } as u64).sum::<u64>();
        });
        bytes
    }
}

/// The cluster of a cell.
pub(crate) fn block_of(cell: u64) -> Block {
    // SAFETY: the cells of clusters are the addresses of blocks.
    unsafe { Block::from_pointer(cell as *const u8) }
}

/// The leaves of a range of vertices.
fn leaves_of(lists: &Adjacency, range: u32) -> impl Iterator<Item = (VertexId, &Leaf<Entry>)> {
    let bases = (0..CLUSTER_VERTICES).step_by(LEAF_CELLS as usize);
    let bases = bases.map(move |offset| range * CLUSTER_VERTICES + offset);
    bases.filter_map(|base| Some((base, lists.table.leaf(base)?)))
}

/// Where the entries of a range of vertices lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spread {
    entries: u64,
    /// Of these, outside of the cluster.
    elsewhere: u64,
    /// How many the cluster was written with.
    clustered: u64,
}

impl Spread {
    fn of(lists: &Adjacency, range: u32) -> Self {
        let mut spread = Spread::default();
        for (_, leaf) in leaves_of(lists, range) {
            leaf.cells.iter().for_each(|entry| spread.add(*entry));
        }
        if let Some(cell) = lists.clusters.get(range) {
            // SAFETY: the cluster is alive with the version that the lists are of, and begins with the number.
            spread.clustered = unsafe { block_of(cell).pointer().cast::<u64>().read() };
        }
        spread
    }

    fn add(&mut self, entry: Entry) {
        let mut single = None;
        // SAFETY: the version that the entry is of is alive.
        for run in unsafe { entry.runs(&mut single) } {
            self.entries += u64::from(run.len);
            self.elsewhere += if run.is_mapped() { 0 } else { u64::from(run.len) };
        }
    }

    /// Whether more than one part in so many lies elsewhere or is dead in the cluster.
    fn is_scattered(self, parts: u64) -> bool {
        let dead = self.clustered.saturating_sub(self.entries - self.elsewhere);
        self.elsewhere + dead > self.entries / parts
    }
}
