//! The edges of a vertex whatever their direction, each stored edge once at either end.
//!
//! ```text
//!                       lists in out direction        lists in the other direction
//!  symmetric edges      at both ends                  at both ends again             ◄─ left out
//!  directed edges       at the source                 at the destination             GraphView::one_way
//! ```
//!
//! Invariant: what a symmetric edge counts for does not depend on which other edge types a view shows.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView, Neighbors};

/// The directions whose lists together hold every edge, for whoever does not count: where a view shows symmetric and
/// directed types, an edge of the former is in the lists of both. [`Incident`] has each once.
pub(crate) fn directions(view: &dyn GraphView) -> &'static [Direction] {
    if view.is_symmetric() { &[Direction::Out] } else { &[Direction::Out, Direction::In] }
}

/// The edges of each vertex of a view.
pub(crate) struct Incident<'a> {
    view: &'a dyn GraphView,
    pub(crate) one_way: Option<Arc<dyn GraphView>>,
}

impl<'a> Incident<'a> {
    pub(crate) fn new(view: &'a dyn GraphView) -> Self {
        Incident { view, one_way: view.one_way() }
    }

    /// The ends of all edges of the view.
    pub(crate) fn all_ends(&self) -> u64 {
        2 * self.view.num_edges()
    }

    /// The number of edges; a loop of a directed type counts twice, one of a symmetric type once.
    pub(crate) fn degree(&self, vertex: VertexId) -> usize {
        let reverse = self.one_way.as_ref().map_or(0, |part| part.degree(Direction::In, vertex));
        self.view.degree(Direction::Out, vertex) + reverse
    }

    /// Calls `visit` with the other end of each edge; loops come as [`Incident::degree`] counts them.
    pub(crate) fn for_each(&self, vertex: VertexId, mut visit: impl FnMut(VertexId)) {
        let mut visit_all = |slice: &[VertexId]| {
            slice.iter().for_each(|&neighbor| visit(neighbor));
            ControlFlow::Continue(())
        };
        self.view.for_each_slice(Direction::Out, vertex, &mut visit_all);
        if let Some(part) = &self.one_way {
            part.for_each_slice(Direction::In, vertex, &mut visit_all);
        }
    }

    /// The other ends of all edges, a loop of either type twice.
    pub(crate) fn ends(&self, vertex: VertexId) -> Vec<VertexId> {
        // Any loop is in a list of out direction once.
        let mut list = Vec::new();
        self.view.for_each_slice(Direction::Out, vertex, &mut |slice| {
            list.extend(
                slice.iter().flat_map(|&other| std::iter::repeat_n(other, 1 + usize::from(other == vertex))),
            );
            ControlFlow::Continue(())
        });
        if let Some(part) = &self.one_way {
            part.for_each_slice(Direction::In, vertex, &mut |slice| {
                list.extend(slice.iter().filter(|&&other| other != vertex));
                ControlFlow::Continue(())
            });
        }
        list
    }
}

/// The same for whole-graph work.
pub(crate) struct FlatIncident {
    out: Arc<FlatView>,
    one_way: Option<Arc<FlatView>>,
}

impl FlatIncident {
    pub(crate) fn new(view: &dyn GraphView) -> Self {
        FlatIncident { out: view.flat(), one_way: view.one_way().map(|part| part.flat()) }
    }

    /// The whole view.
    pub(crate) fn flat(&self) -> &FlatView {
        &self.out
    }

    /// As [`Incident::degree`].
    #[inline]
    pub(crate) fn degree(&self, vertex: VertexId) -> usize {
        let reverse = self.one_way.as_ref().map_or(0, |part| part.table(Direction::In).degree(vertex));
        self.out.table(Direction::Out).degree(vertex) + reverse
    }

    /// As [`Incident::ends`] are many.
    pub(crate) fn num_ends(&self, vertex: VertexId) -> usize {
        let mut loops = self.lists(vertex).map(|list| list.iter().filter(|&other| other == vertex).count());
        let (out, reverse) = (loops.next().unwrap_or(0), loops.next().unwrap_or(0));
        self.degree(vertex) + out - reverse
    }

    /// As [`Incident::for_each`].
    #[inline]
    pub(crate) fn for_each(&self, vertex: VertexId, mut visit: impl FnMut(VertexId)) {
        for list in self.lists(vertex) {
            list.for_each_slice(|slice| slice.iter().for_each(|&neighbor| visit(neighbor)));
        }
    }

    /// The lists of a vertex.
    #[inline]
    pub(crate) fn lists(&self, vertex: VertexId) -> impl Iterator<Item = Neighbors<'_>> {
        let reverse = self.one_way.as_ref().map(|part| part.in_neighbors(vertex));
        std::iter::once(self.out.out_neighbors(vertex)).chain(reverse)
    }
}
