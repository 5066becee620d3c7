//! The edges out of a set of vertices, laid out in arrays: for callers that work on arrays at once rather than edge by
//! edge, as Python does.
//!
//! Invariant: edges come vertex by vertex in the order of the vertices, and in the order of their lists.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{GraphView, WeightedList};

use crate::engine::parallel::try_map;
use crate::engine::weights::{Sign, Weight, check};
use crate::{AlgorithmError, Control};

/// Vertices whose edges one task collects.
const VERTICES_PER_TASK: usize = 1 << 9;

/// Edges as arrays of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeList {
    /// The vertices that were asked for.
    pub sources: Vec<VertexId>,
    /// Where their edges lead; in the direction [`Direction::In`] where they come from.
    pub destinations: Vec<VertexId>,
    /// What the edges weigh; empty if nobody asked.
    pub weights: Vec<f64>,
}

/// The edges of `vertices` in one direction, with their weights if `weight` is given.
///
/// ```
/// use evergraph_analytics::{Control, edge_list};
/// use evergraph_types::Direction;
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(3, &[(0, 1), (0, 2), (1, 2)], false);
/// let edges = edge_list(&view, Direction::In, &[2, 0], None, &Control::new())?;
/// assert_eq!((edges.sources, edges.destinations), (vec![2, 2], vec![0, 1]));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn edge_list(
    view: &dyn GraphView,
    direction: Direction,
    vertices: &[VertexId],
    weight: Option<&Weight>,
    control: &Control,
) -> Result<EdgeList, AlgorithmError> {
    let flat = view.flat();
    let lists = weight.map_or(Ok(None), |weight| weight.lists(view))?;
    let pieces = try_map(control, vertices.chunks(VERTICES_PER_TASK), |vertices| {
        let (mut edges, mut list) = (EdgeList::default(), WeightedList::default());
        for &vertex in vertices {
            list.clear();
            match &lists {
                Some(lists) => {
                    lists.append(direction, vertex, &mut list);
                    check(vertex, direction, &list, Sign::Any)?;
                }
                None => flat
                    .neighbors(direction, vertex)
                    .for_each_slice(|slice| list.neighbors.extend_from_slice(slice)),
            }
            edges.destinations.append(&mut list.neighbors);
            edges.weights.append(&mut list.weights);
            edges.sources.resize(edges.destinations.len(), vertex);
        }
        Ok(edges)
    })?;
    let mut all = EdgeList::default();
    for mut piece in pieces {
        all.sources.append(&mut piece.sources);
        all.destinations.append(&mut piece.destinations);
        all.weights.append(&mut piece.weights);
    }
    if weight.is_some() {
        // Where no edge has a weight, all weigh 1.
        all.weights.resize(all.sources.len(), 1.0);
    }
    Ok(all)
}
