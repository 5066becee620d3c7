//! The one trait over every window on the data: snapshots, sliding windows, named subgraphs.
//!
//! Invariant: a view never changes. Everything is asked by dense vertex id; keys are translated at the edge of the
//! system. Ids at and above `id_bound` do not exist, and below it there may be gaps (deleted vertices).

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_types::{Direction, VertexId};

use crate::{FlatView, WeightError, WeightedLists};

/// A consistent, immutable view of a graph.
pub trait GraphView: Send + Sync {
    /// One past the largest vertex id.
    fn id_bound(&self) -> VertexId;

    /// The number of vertices.
    fn num_vertices(&self) -> u64;

    /// The number of edges. An edge of a symmetric type counts once.
    fn num_edges(&self) -> u64;

    /// Whether every edge holds in both directions, so that the lists of both directions are the same.
    fn is_symmetric(&self) -> bool;

    /// Whether there are edge types of both sorts: some whose edges hold in both directions, and some in one.
    fn is_mixed(&self) -> bool;

    /// The edges that hold in one direction only, as a view of the same vertices; `None` if [all hold in
    /// both](GraphView::is_symmetric). Lists in out direction, with those of this part in the other, have every edge once
    /// at each of its ends, also where edges of both sorts are seen together; a self-loop of this part comes twice.
    fn one_way(&self) -> Option<Arc<dyn GraphView>>;

    /// Whether the vertex exists.
    fn has_vertex(&self, vertex: VertexId) -> bool;

    /// The number of edges of a vertex in one direction; 0 for a vertex that does not exist.
    fn degree(&self, direction: Direction, vertex: VertexId) -> usize;

    /// Calls `visit` with the neighbors of a vertex, piece by piece, until it breaks. Nothing for a vertex that
    /// does not exist. For point queries; whole-graph work uses [`GraphView::flat`].
    fn for_each_slice(
        &self,
        direction: Direction,
        vertex: VertexId,
        visit: &mut dyn FnMut(&[VertexId]) -> ControlFlow<()>,
    );

    /// The lists with a property of edges as their weight, 1 or what the list says where an edge has none.
    ///
    /// # Errors
    /// If there are edge types, but none has the property, or if the property of one is not a number.
    fn weighted_lists(&self, property: &str) -> Result<Box<dyn WeightedLists + '_>, WeightError>;

    /// The property of edges that is their time, if the edge types agree on one.
    fn time_property(&self) -> Option<String> {
        None
    }

    /// The view flattened for whole-graph work: built once per view, then shared.
    fn flat(&self) -> Arc<FlatView>;
}
