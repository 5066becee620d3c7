//! Least distances by weights of edges that follow a graph.
//!
//! Method: that of [`paths`](super::paths).
//!
//! Invariant: distances are kept as the bits of numbers from 0, which are in the order of the numbers; they are those of
//! the batch twin to the last bit, since `d[v] = min(d[u] + w(u, v))` has one solution in floating point.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView, WeightedList, WeightedLists};

use super::Changes;
use super::paths::{Lengths, PathTree};
use crate::engine::control::require_sources;
use crate::engine::weights::{Sign, check};
use crate::{AlgorithmError, Sssp, SsspOptions};

/// The distance of a vertex that is not reached: above that of every number.
const NEVER: u64 = u64::MAX;

/// Single-source shortest paths that follow a graph.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalSssp};
/// use evergraph_analytics::SsspOptions;
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_weighted_edges(3, &[(0, 1, 5.0), (0, 2, 1.0)], false);
/// let mut search = IncrementalSssp::new(&before, &[0], &SsspOptions::default())?;
/// let after = FlatView::from_weighted_edges(3, &[(0, 1, 5.0), (0, 2, 1.0), (2, 1, 1.5)], false);
/// search.update(&after, &Changes::between(&before, &after, [(2, 1)], []))?;
/// assert_eq!(search.result().distances, [0.0, 2.5, 1.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalSssp {
    tree: PathTree<u64>,
    options: SsspOptions,
}

impl IncrementalSssp {
    /// Searches a view, to follow it from there. The width of buckets among the options means nothing here.
    ///
    /// # Errors
    /// Those of [`sssp`](crate::sssp()).
    pub fn new(
        view: &dyn GraphView,
        sources: &[VertexId],
        options: &SsspOptions,
    ) -> Result<Self, AlgorithmError> {
        require_sources(view, sources)?;
        options.check()?;
        let limits = [0, options.cutoff().to_bits(), NEVER];
        let tree = PathTree::new(sources, options.direction(), limits);
        let mut search = IncrementalSssp { tree, options: options.clone() };
        let mut weighted = Weighted::new(view, &search.options)?;
        (0..view.id_bound()).try_for_each(|vertex| {
            weighted.for_each(Direction::Out, vertex, |_, _| ControlFlow::Break(()))
        })?;
        search.tree.update(view, &mut weighted, &Changes::default())?;
        Ok(search)
    }

    /// Follows the changes to the view after them. A source that is not in the view reaches nothing until it is back.
    ///
    /// # Errors
    /// [`AlgorithmError::NegativeWeight`] and [`AlgorithmError::NotFinite`] for an edge of a vertex that was looked at. The
    /// state is of no use then: make it anew once the weight is right.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        let mut weighted = Weighted::new(view, &self.options)?;
        for edges in [&changes.inserted, &changes.rewritten] {
            for &(src, dst) in edges {
                weighted.length(Direction::Out, src, dst)?;
            }
        }
        self.tree.update(view, &mut weighted, changes)
    }

    /// The distance of a vertex; infinite where there is no path.
    pub fn distance(&self, vertex: VertexId) -> f64 {
        self.tree.distances.get(vertex as usize).map_or(f64::INFINITY, |&bits| number(bits))
    }

    /// The result as that of [`sssp`](crate::sssp()), copied.
    pub fn result(&self) -> Sssp {
        let distances: Vec<f64> = self.tree.distances.iter().map(|&bits| number(bits)).collect();
        let reached = distances.iter().filter(|distance| distance.is_finite()).count() as u64;
        Sssp { distances, reached }
    }
}

fn number(bits: u64) -> f64 {
    if bits == NEVER { f64::INFINITY } else { f64::from_bits(bits) }
}

/// The lists of a view with weights, vertex by vertex.
struct Weighted<'a> {
    flat: Arc<FlatView>,
    /// `None` if every edge weighs 1.
    lists: Option<Box<dyn WeightedLists + 'a>>,
    list: WeightedList,
}

impl<'a> Weighted<'a> {
    fn new(view: &'a dyn GraphView, options: &SsspOptions) -> Result<Self, AlgorithmError> {
        Ok(Weighted { flat: view.flat(), lists: options.weight.lists(view)?, list: WeightedList::default() })
    }
}

impl Lengths for Weighted<'_> {
    type Distance = u64;
    type Length = f64;

    const SHORTEST: f64 = 0.0;

    fn for_each(
        &mut self,
        direction: Direction,
        vertex: VertexId,
        mut visit: impl FnMut(VertexId, f64) -> ControlFlow<()>,
    ) -> Result<(), AlgorithmError> {
        let Some(lists) = &self.lists else {
            let neighbors = self.flat.neighbors(direction, vertex);
            let _ = neighbors.try_for_each(|neighbor| visit(neighbor, 1.0));
            return Ok(());
        };
        self.list.clear();
        lists.append(direction, vertex, &mut self.list);
        check(vertex, direction, &self.list, Sign::NotNegative)?;
        let _ = self.list.iter().try_for_each(|(neighbor, weight)| visit(neighbor, weight));
        Ok(())
    }

    fn length(
        &mut self,
        direction: Direction,
        near: VertexId,
        far: VertexId,
    ) -> Result<Option<f64>, AlgorithmError> {
        let back = direction.reverse();
        let of_near = self.flat.neighbors(direction, near).len() <= self.flat.neighbors(back, far).len();
        let (from, wanted, direction) = if of_near { (near, far, direction) } else { (far, near, back) };
        let mut least = None;
        self.for_each(direction, from, |neighbor, weight| {
            if neighbor == wanted && least.is_none_or(|least| weight < least) {
                least = Some(weight);
            }
            ControlFlow::Continue(())
        })?;
        Ok(least)
    }

    #[inline]
    fn add(distance: u64, length: f64) -> u64 {
        (f64::from_bits(distance) + length).to_bits()
    }
}
