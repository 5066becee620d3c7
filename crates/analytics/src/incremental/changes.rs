//! What turned one view into the next.
//!
//! Invariant: with `inserted` added to the lists of the view before, and `deleted` taken away, there are exactly those of
//! the view after: parallel edges count each, and an edge of a symmetric view comes once, either way round; one of a
//! symmetric type in a view that shows directed types, too, comes as the two entries of lists that it is. Only whoever
//! says so gets [repeats](super::takes_repeats): among `inserted`, edges that were there.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use rayon::prelude::*;

use crate::engine::parallel::map;

/// Two ends of an edge.
pub(super) type Edge = (VertexId, VertexId);

/// Fewer edges, or vertices, than this are looked up by one task.
pub(super) const EDGES_AT_A_TIME: usize = 1 << 10;

/// The difference of two views, as incremental algorithms take it. Made once for all of them, and used again.
///
/// ```
/// use evergraph_analytics::incremental::Changes;
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
/// let after = FlatView::from_edges(4, &[(0, 1), (3, 1)], false);
/// let changes = Changes::between(&before, &after, [(3, 1), (1, 2), (0, 1)], [3]);
/// assert_eq!((changes.inserted, changes.deleted), (vec![(3, 1)], vec![(1, 2)]));
/// assert_eq!((changes.rewritten, changes.appeared), (vec![(0, 1)], vec![3]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Edges of the view after that are not in the one before.
    pub inserted: Vec<Edge>,
    /// Edges of the view before that are not in the one after.
    pub deleted: Vec<Edge>,
    /// Edges that were and are there, whose properties may have changed: for algorithms with weights.
    pub rewritten: Vec<Edge>,
    /// Vertices of the view after only.
    pub appeared: Vec<VertexId>,
    /// Vertices of the view before only. Their edges are among the deleted ones.
    pub vanished: Vec<VertexId>,
}

impl Changes {
    /// What changed, given the edges and vertices that were written: put or deleted, once or more, whether it changed
    /// anything or not. Other edges and vertices must be the same in both views.
    ///
    /// Takes the time to look up each edge twice, which in lists that do not ascend is to scan the shorter one of
    /// its ends.
    pub fn between(
        before: &dyn GraphView,
        after: &dyn GraphView,
        edges: impl IntoIterator<Item = Edge>,
        vertices: impl IntoIterator<Item = VertexId>,
    ) -> Self {
        Self::looked_up(before, after, edges, vertices, false)
    }

    /// As [`Changes::between`] where each edge was put and nothing was deleted: edges of lists that ascend are looked up
    /// once, in the view before.
    pub fn of_puts(
        before: &dyn GraphView,
        after: &dyn GraphView,
        edges: impl IntoIterator<Item = Edge>,
        vertices: impl IntoIterator<Item = VertexId>,
    ) -> Self {
        let is_there = after.flat().is_sorted() && !after.is_mixed();
        Self::looked_up(before, after, edges, vertices, is_there)
    }

    /// `is_there`: each edge is in the view after, once.
    fn looked_up(
        before: &dyn GraphView,
        after: &dyn GraphView,
        edges: impl IntoIterator<Item = Edge>,
        vertices: impl IntoIterator<Item = VertexId>,
        is_there: bool,
    ) -> Self {
        let mut changes = Changes::default();
        changes.extend_vertices(before, after, vertices);
        let symmetric = after.is_symmetric();
        let turned = |(src, dst): Edge| if symmetric && src > dst { (dst, src) } else { (src, dst) };
        let mut edges: Vec<Edge> = edges.into_iter().map(turned).collect();
        if after.is_mixed() {
            // Nothing tells which of them are symmetric.
            edges.extend_from_within(..);
            let half = edges.len() / 2;
            edges[half..].iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
        }
        edges.par_sort_unstable();
        edges.dedup();
        let (before, after) = (before.flat(), after.flat());
        let count_after = |edge| if is_there { 1 } else { multiplicity(&after, edge) };
        let counts = map(edges.chunks(EDGES_AT_A_TIME), |edges| {
            let counts = edges.iter().map(|&edge| [multiplicity(&before, edge), count_after(edge)]);
            counts.collect::<Vec<[usize; 2]>>()
        });
        for (&edge, [was, is]) in edges.iter().zip(counts.into_iter().flatten()) {
            (is..was).for_each(|_| changes.deleted.push(edge));
            (was..is).for_each(|_| changes.inserted.push(edge));
            if was.min(is) > 0 {
                changes.rewritten.push(edge);
            }
        }
        changes
    }

    /// As [`Changes::between`] where nothing was deleted and every edge put is one more: nothing is looked up. Those that
    /// were there are repeats. Not for views [of both sorts](GraphView::is_mixed).
    pub fn of_insertions(
        before: &dyn GraphView,
        after: &dyn GraphView,
        edges: impl IntoIterator<Item = Edge>,
        vertices: impl IntoIterator<Item = VertexId>,
    ) -> Self {
        let mut changes = Changes { inserted: edges.into_iter().collect(), ..Changes::default() };
        changes.extend_vertices(before, after, vertices);
        changes
    }

    /// As [`Changes::between`], given each copy of an edge that was put in and taken out; edges of symmetric views
    /// with the smaller end first. What was taken out and put in again counts as rewritten.
    pub fn of_copies(
        before: &dyn GraphView,
        after: &dyn GraphView,
        mut inserted: Vec<Edge>,
        mut deleted: Vec<Edge>,
    ) -> Self {
        let mut changes = Changes::default();
        let ends = inserted.iter().chain(&deleted).flat_map(|&(src, dst)| [src, dst]);
        changes.extend_vertices(before, after, ends);
        inserted.par_sort_unstable();
        deleted.par_sort_unstable();
        let mut deleted = deleted.into_iter().peekable();
        for edge in inserted {
            changes.deleted.extend(std::iter::from_fn(|| deleted.next_if(|gone| *gone < edge)));
            match deleted.next_if_eq(&edge) {
                Some(edge) if changes.rewritten.last() != Some(&edge) => changes.rewritten.push(edge),
                Some(_) => {}
                None => changes.inserted.push(edge),
            }
        }
        changes.deleted.extend(deleted);
        // A copy that came may have gone again, or the other way round.
        let views = [before.flat(), after.flat()];
        changes.rewritten.retain(|&edge| views.iter().all(|view| multiplicity(view, edge) > 0));
        changes
    }

    fn extend_vertices(
        &mut self,
        before: &dyn GraphView,
        after: &dyn GraphView,
        vertices: impl IntoIterator<Item = VertexId>,
    ) {
        let vertices: Vec<VertexId> = vertices.into_iter().collect();
        // Most were and are there: few are left to sort.
        let is_change = |vertex: &VertexId| before.has_vertex(*vertex) != after.has_vertex(*vertex);
        let vertices = map(vertices.chunks(EDGES_AT_A_TIME), |vertices| {
            vertices.iter().copied().filter(is_change).collect::<Vec<VertexId>>()
        });
        let mut vertices = vertices.concat();
        vertices.sort_unstable();
        vertices.dedup();
        (self.appeared, self.vanished) = vertices.into_iter().partition(|&vertex| after.has_vertex(vertex));
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty()
            && self.deleted.is_empty()
            && self.rewritten.is_empty()
            && self.appeared.is_empty()
            && self.vanished.is_empty()
    }

    /// Edges as the entries of lists that they are: those of a symmetric view both ways round, a self-loop once.
    pub(crate) fn entries<'a>(
        edges: &'a [Edge],
        view: &dyn GraphView,
    ) -> impl Iterator<Item = Edge> + use<'a> {
        let symmetric = view.is_symmetric();
        edges.iter().flat_map(move |&(src, dst)| {
            let back = (symmetric && src != dst).then_some((dst, src));
            std::iter::once((src, dst)).chain(back)
        })
    }
}

/// How many edges there are from one vertex to another.
pub(crate) fn multiplicity(view: &FlatView, (src, dst): Edge) -> usize {
    if src.max(dst) >= view.id_bound() {
        return 0;
    }
    let (targets, sources) = (view.neighbors(Direction::Out, src), view.neighbors(Direction::In, dst));
    let (list, wanted) = if targets.len() <= sources.len() { (targets, dst) } else { (sources, src) };
    if view.is_sorted() {
        return usize::from(list.contains_sorted(wanted));
    }
    list.iter().filter(|&neighbor| neighbor == wanted).count()
}
