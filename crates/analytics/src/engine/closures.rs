//! [`edge_map`] with closures, for algorithms of one's own: no trait to implement, no vertex to claim.
//!
//! ```text
//!  let next = edge_map_with(&flat, Direction::Out, Way::Auto, &frontier, update, cond, &control)?;
//!
//!  update(src, dst)   visits an edge out of the frontier; true: dst is in the next frontier. Threads may visit edges to
//!                     the same dst at once, so it works on atomics.
//!  cond(dst)          whether edges to dst are (still) of interest
//! ```
//!
//! Invariant: a vertex is in the next frontier once, however often `update` was true for it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::bitmap::WORD_BITS;
use crate::engine::weighted_edge_map::{is_heavy, weighted_pull};
use crate::engine::weights::WeightedTable;
use crate::{AlgorithmError, Control, EdgeFunction, VertexSubset, Way, edge_map, weighted_edge_map};

/// Applies `update` to the edges that leave `frontier` in `direction` to vertices for which `cond` holds; gives the
/// vertices for which it was `true`.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// use evergraph_analytics::{Control, VertexSubset, Way, edge_map_with};
/// use evergraph_types::Direction;
/// use evergraph_view::{FlatView, GraphView};
///
/// // Breadth-first search: the hops from vertex 0.
/// let view = FlatView::from_edges(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], false);
/// let hops: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(u32::MAX)).collect();
/// hops[0].store(0, Relaxed);
/// let mut frontier = VertexSubset::from_ids(view.id_bound(), vec![0]);
/// for level in 1.. {
///     let reach = |_, dst: u32| hops[dst as usize].swap(level, Relaxed) == u32::MAX;
///     let is_new = |dst: u32| hops[dst as usize].load(Relaxed) == u32::MAX;
///     frontier =
///         edge_map_with(&view, Direction::Out, Way::Auto, &frontier, reach, is_new, &Control::new())?;
///     if frontier.is_empty() {
///         break;
///     }
/// }
/// assert_eq!(hops.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>(), [0, 1, 1, 2]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn edge_map_with(
    view: &FlatView,
    direction: Direction,
    way: Way,
    frontier: &VertexSubset,
    update: impl Fn(VertexId, VertexId) -> bool + Sync,
    cond: impl Fn(VertexId) -> bool + Sync,
    control: &Control,
) -> Result<VertexSubset, AlgorithmError> {
    let function = Closures { update, cond, claimed: Claims::new(view.id_bound()) };
    edge_map(view, direction, way, frontier, &function, control)
}

/// The same along the edges of a table with their weights. `against` is the table of the other direction, which may be the
/// same one if the view is symmetric; without it, all is pushed.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// use evergraph_analytics::{Control, Sign, VertexSubset, Way, Weight, WeightedTable, weighted_edge_map_with};
/// use evergraph_types::Direction;
/// use evergraph_view::{FlatView, GraphView};
///
/// // The most that paths from vertex 0 can carry. As bits, numbers from 0 are in the order of their values.
/// let view = FlatView::from_weighted_edges(3, &[(0, 1, 5.0), (1, 2, 3.0), (0, 2, 2.0)], false);
/// let control = Control::new();
/// let lists = |direction| WeightedTable::new(&view, &view, &Weight::Usual, direction, Sign::NotNegative, &control);
/// let (along, against) = (lists(Direction::Out)?, lists(Direction::In)?);
/// let most: Vec<AtomicU64> = [f64::INFINITY, 0.0, 0.0].map(|most: f64| AtomicU64::new(most.to_bits())).into();
/// let carry = |src: u32, dst: u32, weight: f64| {
///     let most_there = f64::from_bits(most[src as usize].load(Relaxed)).min(weight).to_bits();
///     most[dst as usize].fetch_max(most_there, Relaxed) < most_there
/// };
/// let mut frontier = VertexSubset::from_ids(view.id_bound(), vec![0]);
/// while !frontier.is_empty() {
///     frontier =
///         weighted_edge_map_with(&along, Some(&against), Way::Auto, &frontier, carry, |_| true, &control)?;
/// }
/// assert_eq!(f64::from_bits(most[2].load(Relaxed)), 3.0);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn weighted_edge_map_with(
    table: &WeightedTable,
    against: Option<&WeightedTable>,
    way: Way,
    frontier: &VertexSubset,
    update: impl Fn(VertexId, VertexId, f64) -> bool + Sync,
    cond: impl Fn(VertexId) -> bool + Sync,
    control: &Control,
) -> Result<VertexSubset, AlgorithmError> {
    let pulls = way == Way::Pull || (way == Way::Auto && is_heavy(table, frontier));
    if let Some(against) = against.filter(|_| pulls) {
        return weighted_pull(against, &frontier.bitmap(), update, cond, control);
    }
    let claimed = Claims::new(table.id_bound());
    let visit = |src, dst, weight| cond(dst) && update(src, dst, weight) && claimed.claim(dst);
    weighted_edge_map(table, frontier, visit, control)
}

struct Closures<U, C> {
    update: U,
    cond: C,
    claimed: Claims,
}

impl<U, C> EdgeFunction for Closures<U, C>
where
    U: Fn(VertexId, VertexId) -> bool + Sync,
    C: Fn(VertexId) -> bool + Sync,
{
    fn cond(&self, dst: VertexId) -> bool {
        (self.cond)(dst)
    }

    fn pull(&self, src: VertexId, dst: VertexId) -> bool {
        (self.update)(src, dst)
    }

    fn push(&self, src: VertexId, dst: VertexId) -> bool {
        (self.cond)(dst) && (self.update)(src, dst) && self.claimed.claim(dst)
    }
}

/// Vertices that one call has in its next frontier already.
struct Claims(Vec<AtomicU64>);

impl Claims {
    fn new(bound: VertexId) -> Self {
        Claims((0..(bound as usize).div_ceil(WORD_BITS)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Whether nobody has claimed the vertex before.
    fn claim(&self, vertex: VertexId) -> bool {
        let bit = 1 << (vertex as usize % WORD_BITS);
        self.0[vertex as usize / WORD_BITS].fetch_or(bit, Relaxed) & bit == 0
    }
}
