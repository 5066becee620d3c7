//! A graph oriented by rank, the form in which triangles are found: every edge points to its end of lower rank.
//!
//! ```text
//!  rank      by degree, 0 the vertex with the most edges (ties by id); vertices without edges have none.
//!            By id where degrees are even: then an order by degree gains nothing, and costs a random read an edge
//!  list of u the ranks r < u that u has an edge with:   4 7 33 40 70 900       with 64 hubs:
//!            blocks, of hubs, 32 ranks in 8 bytes:      [word 0, bits 4 7] [word 1, bits 1 8]
//!            singles, the other ranks, 4 bytes each:    70 900
//!  hub row   of a hub v: the same list as plain words 0..=v/32, so that a word is found in one step
//! ```
//!
//! Directions, parallel edges and self loops are gone: this is the simple undirected graph below the view.
//!
//! Invariant: blocks ascend by word, singles ascend, and no block is empty. The lengths of the lists that edges point to
//! add up to at most E sqrt(2 E): by degree no list is longer than sqrt(2 E), because that many vertices of at least the
//! same degree are all there can be, and even degrees are at most 2 sqrt(2 E) at the mean end of an edge.

use std::ops::Range;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use rayon::prelude::*;

use crate::engine::parallel::{map, try_map, vertex_blocks};
use crate::engine::prefetch::{prefetch, prefetch_place};
use crate::{AlgorithmError, Control, Ranges};

/// Ranks per block.
pub(crate) const BLOCK_BITS: u32 = u32::BITS;

/// Edges whose ends are ranked by one task.
const EDGES_PER_TASK: usize = 1 << 16;

/// How many lists ahead of its own the ranking asks for.
const LISTS_AHEAD: usize = 8;

/// How many edges ahead a reader asks for the list an edge points to, and as many again for where it lies.
const EDGES_AHEAD: usize = 16;

/// Degrees are even if the mean degree of the ends of edges is at most so many times that of vertices.
const EVEN: f64 = 2.0;

/// Neighbors with ranks `word * 32 + bit` for each set bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The rank of bit 0, divided by 32.
    pub(crate) word: u32,
    /// Which of the 32 ranks are in the list.
    pub(crate) bits: u32,
}

impl Block {
    /// The block of one rank.
    #[inline]
    fn single(rank: VertexId) -> Self {
        Block { word: rank / BLOCK_BITS, bits: 1 << (rank % BLOCK_BITS) }
    }
}

/// Where a list lies: blocks, of two words each, and then singles.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    blocks: u32,
    singles: u32,
}

impl Place {
    #[inline]
    fn singles(self) -> usize {
        self.start + 2 * self.blocks as usize
    }

    #[inline]
    fn words(self) -> Range<usize> {
        self.start..self.singles() + self.singles as usize
    }
}

/// The oriented graph.
pub(crate) struct Oriented {
    order: Vec<VertexId>,
    num_hubs: VertexId,
    places: Vec<Place>,
    words: Vec<u32>,
    hub_rows: Vec<Box<[u32]>>,
}

impl Oriented {
    /// Orients the undirected simple graph of a view. All lists are blocks: every vertex is taken for a hub.
    pub(crate) fn new(view: &FlatView, control: &Control) -> Result<Self, AlgorithmError> {
        Self::with_hubs(view, VertexId::MAX, &Degrees::of(view), control)
    }

    /// The same with hub rows: so many that they take at most half the memory of singles, one for each edge.
    pub(crate) fn with_hub_rows(view: &FlatView, control: &Control) -> Result<Self, AlgorithmError> {
        let degrees = Degrees::of(view);
        let mut graph = Self::with_hubs(view, degrees.num_rows(view.num_vertices()), &degrees, control)?;
        let rows = try_map(control, 0..graph.num_hubs, |rank| {
            let mut row = vec![0; (rank / BLOCK_BITS + 1) as usize].into_boxed_slice();
            graph.parts(rank).0.for_each(|block| row[block.word as usize] = block.bits);
            Ok(row)
        });
        graph.hub_rows = rows?;
        Ok(graph)
    }

    fn with_hubs(
        view: &FlatView,
        most_hubs: VertexId,
        degrees: &Degrees,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        if degrees.are_even(view.num_vertices()) {
            let order = (0..view.id_bound()).collect();
            return Self::ranked(view, order, most_hubs, |vertex| vertex, control);
        }
        let order = by_degree(view);
        control.check()?;
        let mut ranks = vec![0; view.id_bound() as usize];
        order.iter().zip(0..).for_each(|(&vertex, rank)| ranks[vertex as usize] = rank);
        control.check()?;
        Self::ranked(view, order, most_hubs, |vertex| ranks[vertex as usize], control)
    }

    fn ranked(
        view: &FlatView,
        order: Vec<VertexId>,
        most_hubs: VertexId,
        rank_of: impl Fn(VertexId) -> VertexId + Sync,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        let num_hubs = most_hubs.min(order.len() as VertexId);
        let cost = |rank: VertexId| degree(view, order[rank as usize]);
        let ranges = Ranges::by_cost(order.len() as VertexId, EDGES_PER_TASK, cost);
        let pieces = ranges.map(control, |range| {
            let mut piece = Piece::default();
            for rank in range {
                if let Some(&later) = order.get(rank as usize + LISTS_AHEAD) {
                    view.table(Direction::Out).prefetch_list(later, 1);
                }
                piece.push(view, &rank_of, order[rank as usize], rank, num_hubs);
            }
            piece
        })?;
        let mut places = Vec::with_capacity(order.len());
        let mut words = Vec::with_capacity(pieces.iter().map(|piece| piece.words.len()).sum());
        for piece in pieces {
            let moved = |place: Place| Place { start: words.len() + place.start, ..place };
            places.extend(piece.places.into_iter().map(moved));
            words.extend(piece.words);
        }
        Ok(Oriented { order, num_hubs, places, words, hub_rows: Vec::new() })
    }

    /// The number of ranks.
    pub(crate) fn len(&self) -> VertexId {
        self.order.len() as VertexId
    }

    /// The vertices in the order of ranks; by degree, those without edges have none.
    pub(crate) fn order(&self) -> &[VertexId] {
        &self.order
    }

    /// The neighbors of lower rank: the hubs as blocks, and the others.
    #[inline]
    pub(crate) fn parts(
        &self,
        rank: VertexId,
    ) -> (impl ExactSizeIterator<Item = Block> + Clone, &[VertexId]) {
        let place = self.places[rank as usize];
        let (blocks, singles) = self.words[place.words()].split_at(place.singles() - place.start);
        (blocks.as_chunks().0.iter().map(|&[word, bits]| Block { word, bits }), singles)
    }

    /// All of them as blocks, singles as blocks of their own.
    #[inline]
    pub(crate) fn list(&self, rank: VertexId) -> impl Iterator<Item = Block> {
        let (blocks, singles) = self.parts(rank);
        blocks.chain(singles.iter().map(|&single| Block::single(single)))
    }

    /// The blocks alone.
    #[inline]
    pub(crate) fn blocks(&self, rank: VertexId) -> impl ExactSizeIterator<Item = Block> + Clone {
        self.parts(rank).0
    }

    /// Where they are among the blocks of all lists, if there are no singles.
    #[inline]
    pub(crate) fn bounds(&self, rank: VertexId) -> Range<usize> {
        let Place { start, blocks, .. } = self.places[rank as usize];
        start / 2..start / 2 + blocks as usize
    }

    /// Asks for the list that a later edge points to: the one some way behind the single at `position` of `rank`. The
    /// words there are mostly singles; one that is not is asked for in vain.
    #[inline]
    pub(crate) fn prefetch_ahead(&self, rank: VertexId, position: usize) {
        let ahead = self.places[rank as usize].singles() + position + EDGES_AHEAD;
        if let Some(&farther) = self.words.get(ahead + EDGES_AHEAD) {
            prefetch_place(&self.places, farther);
        }
        if let Some(later) = self.words.get(ahead).and_then(|&rank| self.places.get(rank as usize)) {
            // What lies between the ends is near.
            let words = later.words();
            prefetch(&self.words[words.start..]);
            prefetch(&self.words[words.end..]);
        }
    }

    /// The list of a hub as words.
    #[inline]
    pub(crate) fn hub_row(&self, rank: VertexId) -> &[u32] {
        &self.hub_rows[rank as usize]
    }
}

/// The vertices that have edges, most edges first, ties by id.
fn by_degree(view: &FlatView) -> Vec<VertexId> {
    let key = |vertex| {
        let degree = degree(view, vertex);
        (degree > 0).then_some((std::cmp::Reverse(degree), vertex))
    };
    let keys = map(vertex_blocks(view.id_bound()), |block| block.filter_map(key).collect::<Vec<_>>());
    let mut keys = keys.concat();
    keys.par_sort_unstable();
    keys.into_iter().map(|(_, vertex)| vertex).collect()
}

/// Entries in the lists of a vertex; what it is precisely does not matter for an order.
fn degree(view: &FlatView, vertex: VertexId) -> usize {
    let out = view.table(Direction::Out).degree(vertex);
    if view.is_symmetric() { out } else { out + view.table(Direction::In).degree(vertex) }
}

/// What decides how vertices are ranked.
#[derive(Default)]
struct Degrees {
    sum: u64,
    squares: u128,
}

impl Degrees {
    fn of(view: &FlatView) -> Self {
        let plus = |one: Self, other: Self| Degrees {
            sum: one.sum + other.sum,
            squares: one.squares + other.squares,
        };
        let of_vertex = |vertex| {
            let sum = degree(view, vertex) as u64;
            Degrees { sum, squares: u128::from(sum).pow(2) }
        };
        let blocks =
            map(vertex_blocks(view.id_bound()), |block| block.map(of_vertex).fold(Degrees::default(), plus));
        blocks.into_iter().fold(Degrees::default(), plus)
    }

    /// Whether the mean degree of the ends of edges is near that of vertices.
    fn are_even(&self, vertices: u64) -> bool {
        self.squares as f64 * vertices as f64 <= EVEN * (self.sum as f64).powi(2)
    }

    /// How many rows take half the memory of singles, as h rows take h^2 / 16 bytes; none where degrees are even.
    fn num_rows(&self, vertices: u64) -> VertexId {
        if self.are_even(vertices) {
            return 0;
        }
        let edges = self.sum as f64 / 2.0;
        (32.0 * edges).sqrt() as VertexId / BLOCK_BITS * BLOCK_BITS
    }
}

/// The lists of consecutive ranks.
#[derive(Default)]
struct Piece {
    places: Vec<Place>,
    words: Vec<u32>,
    lower: Vec<VertexId>,
}

impl Piece {
    fn push(
        &mut self,
        view: &FlatView,
        rank_of: impl Fn(VertexId) -> VertexId,
        vertex: VertexId,
        rank: VertexId,
        num_hubs: VertexId,
    ) {
        self.lower.clear();
        self.append_lower(view, Direction::Out, &rank_of, vertex, rank);
        if !view.is_symmetric() {
            self.append_lower(view, Direction::In, &rank_of, vertex, rank);
        }
        if !self.lower.is_sorted_by(|left, right| left < right) {
            self.lower.sort_unstable();
            self.lower.dedup();
        }
        let (hubs, singles) = self.lower.split_at(self.lower.partition_point(|&rank| rank < num_hubs));
        let start = self.words.len();
        for word in hubs.chunk_by(|left, right| left / BLOCK_BITS == right / BLOCK_BITS) {
            let bits = word.iter().fold(0, |bits, rank| bits | 1 << (rank % BLOCK_BITS));
            self.words.extend([word[0] / BLOCK_BITS, bits]);
        }
        let blocks = ((self.words.len() - start) / 2) as u32;
        self.words.extend_from_slice(singles);
        self.places.push(Place { start, blocks, singles: singles.len() as u32 });
    }

    fn append_lower(
        &mut self,
        view: &FlatView,
        direction: Direction,
        rank_of: impl Fn(VertexId) -> VertexId,
        vertex: VertexId,
        rank: VertexId,
    ) {
        view.neighbors(direction, vertex).for_each_slice(|slice| {
            let mut kept = self.lower.len();
            self.lower.resize(kept + slice.len(), 0);
            for &neighbor in slice {
                // Whether a neighbor is lower is as good as random, so it is written first and then kept or not.
                let other = rank_of(neighbor);
                self.lower[kept] = other;
                kept += usize::from(other < rank);
            }
            self.lower.truncate(kept);
        });
    }
}
