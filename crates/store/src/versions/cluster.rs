//! Clusters: blocks in which the lists of a range of vertices lie end to end, in the order of vertices, as in a CSR.
//!
//! ```text
//!  cell of the range ─► [entries | next][list of 0][list of 1]…  ─► [entries | 0][list of 700]…
//! ```
//!
//! A batch that changes much of a range makes one in its commit, each block by a thread ([`range_edit`](super::range_edit)); of what
//! small commits have scattered since a store without files makes one by itself, in one block ([`recluster`](crate::upkeep::recluster)).
//!
//! Invariants: a run in a cluster is one of a vertex of its range, and is tagged as if it lay in a segment: it goes with its
//! cluster, not with its list. A cluster goes as a whole, once no list lies in it: with the commit or archive that writes what is left of it elsewhere.
#![allow(unsafe_code)]

use std::iter::successors;

use evergraph_types::VertexId;

use crate::lists::heap::{Block, Changes};
use crate::lists::paged_array::{LEAF_CELLS, Leaf};
use crate::versions::version::Adjacency;

/// How many vertices have their lists in one cluster.
pub(crate) const CLUSTER_VERTICES: u32 = 1 << 14;

/// What each block begins with.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    /// How many entries it was written with.
    entries: u64,
    next: Option<Block>,
}

/// Before the lists.
pub(crate) const HEAD_BYTES: usize = size_of::<Head>();

/// The range that a vertex is in.
pub(crate) fn range_of(vertex: VertexId) -> u32 {
    vertex / CLUSTER_VERTICES
}

/// The first vertices of the leaves of a range.
pub(crate) fn leaf_bases(range: u32) -> impl Iterator<Item = VertexId> + Clone {
    let first = range * CLUSTER_VERTICES;
    (0..CLUSTER_VERTICES).step_by(LEAF_CELLS as usize).map(move |offset| first + offset)
}

/// A cluster, by its first block. As a block it is plain data: who holds one must know, by the version it came from, that it is alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster(Block);

impl Cluster {
    /// Makes one of these blocks, whose lists ascend, with the numbers of entries in them; `None` of none. Nobody else has seen them.
    pub(crate) fn link(blocks: &[(Block, u64)]) -> Option<Self> {
        let mut next = None;
        for &(block, entries) in blocks.iter().rev() {
            // SAFETY: every block of a cluster begins with room for the head, and this one is the caller's.
            unsafe { block.pointer().cast::<Head>().write(Head { entries, next }) };
            next = Some(block);
        }
        next.map(Cluster)
    }

    /// The cluster that the cell of a range tells of.
    pub(crate) fn of(cell: u64) -> Self {
        // SAFETY: the cells of clusters are the addresses of blocks.
        Cluster(unsafe { Block::from_pointer(cell as *const u8) })
    }

    /// What is in the cell of its range.
    pub(crate) fn cell(self) -> u64 {
        self.0.pointer() as u64
    }

    fn heads(self) -> impl Iterator<Item = (Block, Head)> {
        // SAFETY: it is alive with the version that the caller has it from, and so are the blocks that are linked to it.
        let head = |block: Block| (block, unsafe { block.pointer().cast::<Head>().read() });
        successors(Some(head(self.0)), move |(_, before)| before.next.map(head))
    }

    /// Its blocks.
    pub(crate) fn blocks(self) -> impl Iterator<Item = Block> {
        self.heads().map(|(block, _)| block)
    }

    /// How many entries it was written with.
    pub(crate) fn entries(self) -> u64 {
        self.heads().map(|(_, head)| head.entries).sum()
    }
}

impl Adjacency {
    /// Sets the clusters of ranges, which ascend, in place of those they have.
    pub(crate) fn set_clusters(&mut self, clusters: &[(u32, Option<Cluster>)], changes: &mut Changes) {
        let old = clusters.iter().filter_map(|(range, _)| self.clusters.get(*range));
        old.flat_map(|cell| Cluster::of(cell).blocks()).for_each(|block| changes.retire(block));
        let set = |_, leaf: &mut Leaf<u64>, clusters: &[(u32, Option<Cluster>)], _: &mut Changes| {
            clusters.iter().for_each(|(range, cluster)| leaf.set(*range, cluster.map(Cluster::cell)));
        };
        self.clusters = self.clusters.edit(clusters, &|cluster| cluster.0, &set, changes);
        if clusters.iter().all(|(_, cluster)| cluster.is_none()) && !self.has_clusters() {
            std::mem::take(&mut self.clusters).for_each_page(&mut |page| changes.retire(page));
        }
    }

    fn has_clusters(&self) -> bool {
        let mut found = false;
        self.clusters.for_each_leaf(&mut |_, leaf| found |= leaf.occupied != 0);
        found
    }

    /// Lets go of the clusters of those of these ranges of which no list lies there any more.
    pub(crate) fn release_clusters(&mut self, ranges: impl Iterator<Item = u32>, changes: &mut Changes) {
        let is_empty = |range: &u32| {
            self.clusters.get(*range).is_some_and(|cell| !self.reaches(*range, Cluster::of(cell)))
        };
        let empty: Vec<(u32, Option<Cluster>)> = ranges.filter(is_empty).map(|range| (range, None)).collect();
        if !empty.is_empty() {
            self.set_clusters(&empty, changes);
        }
    }

    /// Whether a list of a range lies in a cluster.
    fn reaches(&self, range: u32, cluster: Cluster) -> bool {
        // SAFETY: it is alive with the version that the lists are of.
        let place = |block: Block| unsafe { (block.pointer() as usize, block.payload_bytes()) };
        let mut places: Vec<(usize, usize)> = cluster.blocks().map(place).collect();
        places.sort_unstable();
        let lies_there = |address: usize| {
            let before = places.partition_point(|place| place.0 <= address);
            places[..before].last().is_some_and(|(start, bytes)| address - start < *bytes)
        };
        // Lists are moved out in their order: those that are left are the last.
        let bases: Vec<VertexId> = leaf_bases(range).collect();
        let leaves = bases.into_iter().rev().filter_map(|base| self.table.leaf(base));
        leaves.flat_map(|leaf| leaf.cells).any(|entry| {
            let mut single = None;
            // SAFETY: as above.
            let runs = unsafe { entry.runs(&mut single) };
            runs.iter().any(|run| run.is_mapped() && lies_there(run.pointer() as usize))
        })
    }

    /// What clusters take, dead parts included.
    pub(crate) fn cluster_bytes(&self) -> u64 {
        let mut bytes = 0;
        self.clusters.for_each_leaf(&mut |_, leaf| {
            let cells = leaf.cells.iter().filter(|cell| **cell != 0);
            let blocks = cells.flat_map(|cell| Cluster::of(*cell).blocks());
            // SAFETY: clusters are alive with the version that the lists are of.
            bytes += blocks.map(|block| unsafe { block.payload_bytes() } as u64).sum::<u64>();
        });
        bytes
    }
}
