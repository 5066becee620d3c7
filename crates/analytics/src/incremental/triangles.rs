//! The triangle count, as a graph changes.
//!
//! Method: every triangle with an edge that went is taken off on the view before, every one with an edge that came is
//! added on the view after, each at the first of its changed edges. Changed edges are taken together by their end of
//! higher degree, whose list is marked once:
//!
//! ```text
//!  hub a:  marks of a's list         edge a-b: entries of b's list that are marked, less those whose
//!          ▏1 · 1 1 · · 1▕           triangle has a changed edge that came earlier
//! ```
//!
//! Complexity: the degrees of the lower ends of the changed edges, plus for each higher end its degree, or a search in
//! its list for each entry of the lower ends where that is less.
//!
//! Invariant: the count is that of the simple undirected graph below the view last seen, which is kept to compare with; it
//! shares all that did not change with the next one.

use std::sync::Arc;

use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use hashbrown::HashMap;

use super::Changes;
use super::changes::multiplicity;
use crate::engine::incident::directions;
use crate::{AlgorithmError, Control, triangle_count};

/// A search in a list costs about as much as so many entries of a scan.
const SEARCH_COST: usize = 16;

/// Two ends of an edge, the one of higher degree first.
type Edge = (VertexId, VertexId);

/// The triangle count that follows a graph; directions, parallel edges and self-loops do not matter.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalTriangles};
/// use evergraph_analytics::Control;
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0)], false);
/// let mut triangles = IncrementalTriangles::new(&before, &Control::new())?;
/// let after = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0), (3, 0), (3, 1)], false);
/// triangles.update(&after, &Changes::between(&before, &after, [(3, 0), (3, 1)], []))?;
/// assert_eq!(triangles.count(), 2);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalTriangles {
    count: u64,
    before: Arc<FlatView>,
    /// All clear between updates.
    marks: Vec<bool>,
    list: Vec<VertexId>,
}

impl IncrementalTriangles {
    /// Counts the triangles of a view, to follow it from there.
    ///
    /// # Errors
    /// [`AlgorithmError::Cancelled`].
    pub fn new(view: &dyn GraphView, control: &Control) -> Result<Self, AlgorithmError> {
        let count = triangle_count(view, control)?;
        Ok(IncrementalTriangles { count, before: view.flat(), marks: Vec::new(), list: Vec::new() })
    }

    /// Follows the changes to the view after them.
    ///
    /// # Errors
    /// None at present.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        let (before, after) = (self.before.clone(), view.flat());
        let is_pair = |&(src, dst): &Edge| src != dst;
        let ordered = |(src, dst): Edge| (src.max(dst), src.min(dst));
        let changed = changes.inserted.iter().chain(&changes.deleted).copied();
        let mut pairs: Vec<Edge> = changed.filter(is_pair).map(ordered).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for pair in pairs {
            match (are_neighbors(&before, pair), are_neighbors(&after, pair)) {
                (true, false) => gone.push(pair),
                (false, true) => come.push(pair),
                _ => {}
            }
        }
        self.marks
            .resize(self.marks.len().max(after.id_bound() as usize).max(before.id_bound() as usize), false);
        self.count -= self.triangles_with(&before, gone);
        self.count += self.triangles_with(&after, come);
        self.before = after;
        Ok(())
    }

    /// How many triangles there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The triangles of a view that have one of these edges or more.
    fn triangles_with(&mut self, view: &FlatView, pairs: Vec<Edge>) -> u64 {
        let by_degree = |(left, right): Edge| match degree(view, left) >= degree(view, right) {
            true => (left, right),
            false => (right, left),
        };
        let mut edges: Vec<Edge> = pairs.into_iter().map(by_degree).collect();
        edges.sort_unstable();
        let ordered = |left: VertexId, right: VertexId| (left.max(right), left.min(right));
        let places: HashMap<Edge, usize> =
            edges.iter().zip(0..).map(|(&(high, low), place)| (ordered(high, low), place)).collect();
        let (mut count, mut place) = (0, 0);
        for group in edges.chunk_by(|left, right| left.0 == right.0) {
            let high = group.first().map_or(0, |&(high, _)| high);
            let entries: usize = group.iter().map(|&(_, low)| degree(view, low)).sum();
            let is_searched = view.is_sorted() && entries * SEARCH_COST < degree(view, high);
            if !is_searched {
                self.mark(view, high, true);
            }
            for &(_, low) in group {
                let came_earlier =
                    |end, third| places.get(&ordered(end, third)).is_some_and(|&other| other < place);
                neighbors_once(view, low, &mut self.list);
                let third = self.list.iter().filter(|&&third| third != low && third != high);
                let common = third.filter(|&&third| match is_searched {
                    true => are_neighbors(view, (high, third)),
                    false => self.marks[third as usize],
                });
                count +=
                    common.filter(|&&third| !came_earlier(high, third) && !came_earlier(low, third)).count();
                place += 1;
            }
            if !is_searched {
                self.mark(view, high, false);
            }
        }
        count as u64
    }

    fn mark(&mut self, view: &FlatView, vertex: VertexId, mark: bool) {
        for &direction in directions(view) {
            view.neighbors(direction, vertex).for_each_slice(|slice| {
                slice.iter().for_each(|&neighbor| self.marks[neighbor as usize] = mark);
            });
        }
    }
}

fn degree(view: &FlatView, vertex: VertexId) -> usize {
    directions(view).iter().map(|&direction| view.table(direction).degree(vertex)).sum()
}

fn are_neighbors(view: &FlatView, (left, right): Edge) -> bool {
    multiplicity(view, (left, right)) > 0 || (!view.is_symmetric() && multiplicity(view, (right, left)) > 0)
}

/// The neighbors of a vertex in either direction, each once.
fn neighbors_once(view: &FlatView, vertex: VertexId, list: &mut Vec<VertexId>) {
    list.clear();
    for &direction in directions(view) {
        view.neighbors(direction, vertex).for_each_slice(|slice| list.extend_from_slice(slice));
    }
    if !(view.is_sorted() && view.is_symmetric()) {
        list.sort_unstable();
        list.dedup();
    }
}
