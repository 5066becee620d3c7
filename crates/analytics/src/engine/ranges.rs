//! Ranges of vertices with about equally much work each: how whole-graph passes are spread over threads.
//!
//! ```text
//!  vertices  0 ......... 64k ......... 128k ...      segments of a fixed width, cut in parallel
//!  ranges    |--|-----|--|---|--------|-|--|         each within the budget, unless one vertex is not
//! ```
//!
//! A hub with more edges than a range should have is not cut here: whoever walks its list splits it with
//! [`split_list`] and joins in the same pool.
//!
//! Invariant: the cuts depend on the graph alone, never on the number of threads, so that a sum taken range by range
//! and added up in order of the ranges is the same to the last bit on any machine.

use std::ops::Range;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, GraphView, Neighbors, Reads};

use crate::engine::fetch::FetchAhead;
use crate::engine::parallel::{blocks, map, try_map};
use crate::{AlgorithmError, Control};

/// Edges in a range: a few tenths of a millisecond of work, hundreds of ranges on a graph worth running in parallel.
const EDGES_PER_RANGE: usize = 1 << 16;

/// Vertices in a range that goes by vertices.
const VERTICES_PER_RANGE: usize = 1 << 12;

/// What a vertex without edges costs, in edges.
const VERTEX_COST: usize = 2;

/// The vertices that are cut into ranges by one task.
const SEGMENT: usize = 1 << 16;

/// Lists longer than this are split over threads.
pub(crate) const HUB_DEGREE: usize = 1 << 17;

/// Neighbors in a piece of a hub's list that one task walks.
pub(crate) const HUB_PIECE: usize = 1 << 14;

/// Consecutive ranges of vertices, covering all ids from 0 to the bound.
#[derive(Clone, Debug)]
pub struct Ranges {
    cuts: Vec<VertexId>,
    /// The lists that a pass over the ranges reads, where they are not in memory.
    cold: Option<FlatTable>,
}

impl Ranges {
    /// Ranges with about equally many edges in one direction.
    pub fn by_edges(view: &FlatView, direction: Direction) -> Self {
        let table = view.table(direction);
        let cost = |vertex| table.degree(vertex) + VERTEX_COST;
        let cold = table.is_cold().then(|| table.clone());
        Ranges { cold, ..Self::by_cost(view.id_bound(), EDGES_PER_RANGE, cost) }
    }

    /// Ranges that cost at most `budget` each, unless one vertex costs more.
    pub fn by_cost(bound: VertexId, budget: usize, cost: impl Fn(VertexId) -> usize + Sync) -> Self {
        let segments = map(blocks(bound as usize, SEGMENT), |segment| {
            let (mut cuts, mut spent) = (vec![segment.start as VertexId], 0);
            for vertex in segment {
                let own = cost(vertex as VertexId);
                if spent > 0 && spent + own > budget {
                    cuts.push(vertex as VertexId);
                    spent = 0;
                }
                spent += own;
            }
            cuts
        });
        let mut cuts = segments.concat();
        cuts.push(bound);
        Ranges { cuts, cold: None }
    }

    /// Ranges with equally many vertices, whatever their edges: for work that is the same at every vertex.
    pub fn by_vertices(bound: VertexId) -> Self {
        Ranges { cuts: (0..bound).step_by(VERTICES_PER_RANGE).chain([bound]).collect(), cold: None }
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<VertexId>> + '_ {
        self.cuts.windows(2).map(|cut| cut[0]..cut[1])
    }

    /// Calls `visit` with every range, in parallel, until the caller cancels.
    pub fn for_each(
        &self,
        control: &Control,
        visit: impl Fn(Range<VertexId>) + Sync,
    ) -> Result<(), AlgorithmError> {
        self.map(control, visit).map(drop)
    }

    /// Calls `visit` with every range and gives the results in order of the ranges.
    pub fn map<R: Send>(
        &self,
        control: &Control,
        visit: impl Fn(Range<VertexId>) -> R + Sync,
    ) -> Result<Vec<R>, AlgorithmError> {
        self.try_map_with(control, std::iter::repeat(()), |range, ()| Ok(visit(range)))
    }

    /// Calls `visit` with every range and the item that belongs to it, in parallel, until one fails or the caller cancels. Lists that
    /// are not in memory are read in large pieces, or asked for before their range comes.
    pub(crate) fn try_map_with<I: Send, R: Send>(
        &self,
        control: &Control,
        items: impl IntoIterator<Item = I>,
        visit: impl Fn(Range<VertexId>, I) -> Result<R, AlgorithmError> + Sync,
    ) -> Result<Vec<R>, AlgorithmError> {
        let ahead = self.cold.as_ref();
        let ahead = ahead.and_then(|table| FetchAhead::new(table, self.cuts.len() - 1, Reads::Most));
        try_map(control, self.iter().zip(items).enumerate(), |(position, (range, item))| {
            ahead.iter().for_each(|ahead| self.fetch(ahead, position));
            visit(range, item)
        })
    }

    /// Asks for what comes behind a range.
    fn fetch(&self, ahead: &FetchAhead<'_>, position: usize) {
        ahead.at(position, |range| self.cuts[range]..self.cuts[range + 1], |_| true);
    }

    /// An array with one item per vertex, cut where the ranges are.
    ///
    /// # Panics
    /// If the array does not have one item per vertex.
    pub fn split_mut<'a, T>(&self, mut items: &'a mut [T]) -> Vec<&'a mut [T]> {
        assert_eq!(self.cuts.last().map(|&bound| bound as usize), Some(items.len()), "one item per vertex");
        let mut pieces = Vec::with_capacity(self.cuts.len());
        for cut in self.cuts.windows(2) {
            let (piece, rest) = items.split_at_mut((cut[1] - cut[0]) as usize);
            pieces.push(piece);
            items = rest;
        }
        pieces
    }
}

/// The list of a hub in parts that can be worked on in parallel, in order.
pub(crate) fn split_list(list: Neighbors<'_>) -> Vec<Neighbors<'_>> {
    list.split(HUB_PIECE)
}
