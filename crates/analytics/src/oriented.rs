//! A graph oriented by degree, the form in which triangles are found: every edge points from the end with the lower
//! degree to the one with the higher, and lists are bitmaps in blocks.
//!
//! ```text
//!  rank      0 is the vertex with the most edges (ties by id); vertices without edges have no rank
//!  list of u the ranks r < u that u has an edge with:   4 7 33 40 900   as blocks of 32 ranks
//!            [word 0, bits 4 7] [word 1, bits 1 8] [word 28, bit 4]          8 bytes each
//!  hub row   of a low rank v: the same list as plain words 0..=v/32, so that a word is found in one step
//! ```
//!
//! Directions, parallel edges and self loops are gone: this is the simple undirected graph below the view.
//!
//! Invariant: the blocks of a list ascend by word, none is empty; a list is no longer than sqrt(2 E), because that many
//! vertices of at least the same degree are all there can be.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use rayon::prelude::*;

use crate::{AlgorithmError, Control, Ranges};

/// Ranks per block.
pub(crate) const BLOCK_BITS: u32 = u32::BITS;

/// Edges whose ends are ranked by one task.
const EDGES_PER_TASK: usize = 1 << 16;

/// How many lists ahead of its own the ranking asks for.
const LISTS_AHEAD: usize = 8;

/// Neighbors with ranks `word * 32 + bit` for each set bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The rank of bit 0, divided by 32.
    pub(crate) word: u32,
    /// Which of the 32 ranks are in the list.
    pub(crate) bits: u32,
}

/// The oriented graph.
pub(crate) struct Oriented {
    order: Vec<VertexId>,
    starts: Vec<usize>,
    blocks: Vec<Block>,
    hub_rows: Vec<Box<[u32]>>,
}

impl Oriented {
    /// Orients the undirected simple graph of a view.
    pub(crate) fn new(view: &FlatView, control: &Control) -> Result<Self, AlgorithmError> {
        let order = by_degree(view);
        control.check()?;
        let mut ranks = vec![0; view.id_bound() as usize];
        order.iter().zip(0..).for_each(|(&vertex, rank)| ranks[vertex as usize] = rank);
        control.check()?;
        let ranges = Ranges::by_cost(order.len() as VertexId, EDGES_PER_TASK, |rank| {
            degree(view, order[rank as usize])
        });
        let pieces = ranges.map(control, |range| {
            let mut piece = Piece::default();
            for rank in range {
                if let Some(&later) = order.get(rank as usize + LISTS_AHEAD) {
                    view.table(Direction::Out).prefetch_list(later, 1);
                }
                piece.push(view, &ranks, order[rank as usize], rank);
            }
            piece
        })?;
        let mut starts = vec![0];
        let mut blocks = Vec::with_capacity(pieces.iter().map(|piece| piece.blocks.len()).sum());
        for piece in pieces {
            starts.extend(piece.ends.iter().map(|&end| blocks.len() + end));
            blocks.extend_from_slice(&piece.blocks);
        }
        Ok(Oriented { order, starts, blocks, hub_rows: Vec::new() })
    }

    /// With hub rows, which take up to half the memory again.
    pub(crate) fn with_hub_rows(mut self, control: &Control) -> Result<Self, AlgorithmError> {
        self.hub_rows = self.expand_hubs(control)?;
        Ok(self)
    }

    /// The number of ranks.
    pub(crate) fn len(&self) -> VertexId {
        (self.starts.len() - 1) as VertexId
    }

    /// The vertices in the order of ranks; those without edges have none.
    pub(crate) fn order(&self) -> &[VertexId] {
        &self.order
    }

    /// Where the blocks of a list are among those of all lists.
    pub(crate) fn bounds(&self, rank: VertexId) -> std::ops::Range<usize> {
        self.starts[rank as usize]..self.starts[rank as usize + 1]
    }

    /// The neighbors of lower rank.
    #[inline]
    pub(crate) fn list(&self, rank: VertexId) -> &[Block] {
        &self.blocks[self.starts[rank as usize]..self.starts[rank as usize + 1]]
    }

    /// The first rank that is no hub; a multiple of [`BLOCK_BITS`] unless all are hubs.
    pub(crate) fn num_hubs(&self) -> VertexId {
        self.hub_rows.len() as VertexId
    }

    /// The list of a hub as words.
    #[inline]
    pub(crate) fn hub_row(&self, rank: VertexId) -> &[u32] {
        &self.hub_rows[rank as usize]
    }

    /// Rows for so many hubs that they take at most half the memory of the blocks: h rows take h^2 / 16 bytes.
    fn expand_hubs(&self, control: &Control) -> Result<Vec<Box<[u32]>>, AlgorithmError> {
        let budget = (8.0 * (self.blocks.len() as f64).sqrt()) as VertexId;
        let hubs = (budget / BLOCK_BITS * BLOCK_BITS).min(self.len());
        let rows = (0..hubs).into_par_iter().with_min_len(64).map(|rank| {
            control.check()?;
            let mut row = vec![0; (rank / BLOCK_BITS + 1) as usize].into_boxed_slice();
            self.list(rank).iter().for_each(|block| row[block.word as usize] = block.bits);
            Ok(row)
        });
        rows.collect()
    }
}

/// The vertices that have edges, most edges first, ties by id.
fn by_degree(view: &FlatView) -> Vec<VertexId> {
    let keys = (0..view.id_bound()).into_par_iter().filter_map(|vertex| {
        let degree = degree(view, vertex);
        (degree > 0).then_some((std::cmp::Reverse(degree), vertex))
    });
    let mut keys: Vec<_> = keys.collect();
    keys.par_sort_unstable();
    keys.into_iter().map(|(_, vertex)| vertex).collect()
}

/// Entries in the lists of a vertex; what it is precisely does not matter for an order.
fn degree(view: &FlatView, vertex: VertexId) -> usize {
    let out = view.table(Direction::Out).degree(vertex);
    if view.is_symmetric() { out } else { out + view.table(Direction::In).degree(vertex) }
}

/// The lists of consecutive ranks.
#[derive(Default)]
struct Piece {
    blocks: Vec<Block>,
    /// Where each list ends in `blocks`.
    ends: Vec<usize>,
    lower: Vec<VertexId>,
}

impl Piece {
    fn push(&mut self, view: &FlatView, ranks: &[VertexId], vertex: VertexId, rank: VertexId) {
        self.lower.clear();
        self.append_lower(view, Direction::Out, ranks, vertex, rank);
        if !view.is_symmetric() {
            self.append_lower(view, Direction::In, ranks, vertex, rank);
        }
        self.lower.sort_unstable();
        for word in self.lower.chunk_by(|left, right| left / BLOCK_BITS == right / BLOCK_BITS) {
            let bits = word.iter().fold(0, |bits, rank| bits | 1 << (rank % BLOCK_BITS));
            self.blocks.push(Block { word: word[0] / BLOCK_BITS, bits });
        }
        self.ends.push(self.blocks.len());
    }

    fn append_lower(
        &mut self,
        view: &FlatView,
        direction: Direction,
        ranks: &[VertexId],
        vertex: VertexId,
        rank: VertexId,
    ) {
        view.neighbors(direction, vertex).for_each_slice(|slice| {
            let mut kept = self.lower.len();
            self.lower.resize(kept + slice.len(), 0);
            for &neighbor in slice {
                // Whether a neighbor is lower is as good as random, so it is written first and then kept or not.
                let other = ranks[neighbor as usize];
                self.lower[kept] = other;
                kept += usize::from(other < rank);
            }
            self.lower.truncate(kept);
        });
    }
}
