//! Breadth-first search that follows a graph: hops from the nearest source, and a tree of shortest paths.
//!
//! Method and invariant: those of [`paths`](super::paths), with every edge one hop long. GraphOne (Kumar and Huang, FAST
//! 2019, section 6) streams insertions into a search the same way; here edges also go.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use super::Changes;
use super::paths::{Lengths, PathTree};
use crate::engine::control::require_sources;
use crate::{AlgorithmError, Bfs, BfsOptions, Control, NO_VERTEX, UNREACHED, bfs};

/// A breadth-first search that follows a graph.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalBfs};
/// use evergraph_analytics::{BfsOptions, Control, UNREACHED};
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(4, &[(0, 1), (1, 2)], false);
/// let mut search = IncrementalBfs::new(&before, &[0], &BfsOptions::default(), &Control::new())?;
/// assert_eq!(search.distances(), [0, 1, 2, UNREACHED]);
///
/// let after = FlatView::from_edges(4, &[(0, 1), (0, 3), (3, 2)], false);
/// search.update(&after, &Changes::between(&before, &after, [(1, 2), (0, 3), (3, 2)], []))?;
/// assert_eq!(search.distances(), [0, 1, 2, 1]);
/// assert_eq!(search.result().parents, [0, 0, 3, 0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalBfs {
    tree: PathTree<u32>,
}

impl IncrementalBfs {
    /// Searches a view, to follow it from there.
    ///
    /// # Errors
    /// Those of [`bfs()`].
    pub fn new(
        view: &dyn GraphView,
        sources: &[VertexId],
        options: &BfsOptions,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        require_sources(view, sources)?;
        let Bfs { parents, distances, .. } = bfs(view, sources, options, control)?;
        let mut tree = PathTree::new(sources, options.direction(), [0, options.depth_limit(), UNREACHED]);
        (tree.parents, tree.distances) = (parents, distances);
        Ok(IncrementalBfs { tree })
    }

    /// Follows the changes to the view after them. A source that is not in the view reaches nothing until it is back.
    ///
    /// # Errors
    /// None at present.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        self.tree.update(view, &mut Hops(view.flat()), changes)
    }

    /// Hops from the nearest source by vertex id; [`UNREACHED`] where there is no path.
    pub fn distances(&self) -> &[u32] {
        &self.tree.distances
    }

    /// The result as that of [`bfs()`], copied. A parent is one of the neighbors one hop nearer, not always the smallest.
    pub fn result(&self) -> Bfs {
        let (distances, parents) = (self.tree.distances.clone(), self.tree.parents.clone());
        let reached = distances.iter().filter(|&&distance| distance != UNREACHED);
        let depth = reached.clone().max().copied().unwrap_or(0);
        Bfs { reached: reached.count() as u64, depth, parents, distances }
    }

    /// The vertices from the nearest source to `target`, both included; `None` if there is no path.
    pub fn path(&self, target: VertexId) -> Option<Vec<VertexId>> {
        let mut path = vec![target];
        let mut vertex = target;
        loop {
            match *self.tree.parents.get(vertex as usize)? {
                NO_VERTEX => return None,
                parent if parent == vertex => break,
                parent => vertex = parent,
            }
            path.push(vertex);
        }
        path.reverse();
        Some(path)
    }
}

/// Every edge is one hop.
struct Hops(Arc<FlatView>);

impl Lengths for Hops {
    type Distance = u32;
    type Length = ();

    const SHORTEST: () = ();

    #[inline]
    fn for_each(
        &mut self,
        direction: Direction,
        vertex: VertexId,
        mut visit: impl FnMut(VertexId, ()) -> ControlFlow<()>,
    ) -> Result<(), AlgorithmError> {
        let _ = self.0.neighbors(direction, vertex).try_for_each(|neighbor| visit(neighbor, ()));
        Ok(())
    }

    #[inline]
    fn length(&mut self, _: Direction, _: VertexId, _: VertexId) -> Result<Option<()>, AlgorithmError> {
        Ok(Some(()))
    }

    #[inline]
    fn add(distance: u32, (): ()) -> u32 {
        distance + 1
    }
}
