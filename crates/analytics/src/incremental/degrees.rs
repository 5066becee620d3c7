//! Degrees that follow a graph.
//!
//! Invariant: `degrees[v]` is what [`degree_statistics`](mod@crate::degree_statistics) counts.

use evergraph_types::VertexId;
use evergraph_view::GraphView;

use super::{Changes, TopK};
use crate::engine::incident::Incident;
use crate::ranking::degree_statistics::{DegreeStatistics, degree_statistics, summary};
use crate::{AlgorithmError, Control};

/// Degrees that follow a graph.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalDegrees};
/// use evergraph_analytics::Control;
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(3, &[(0, 1)], false);
/// let mut degrees = IncrementalDegrees::new(&before, &Control::new())?;
/// let after = FlatView::from_edges(3, &[(0, 1), (0, 2)], false);
/// degrees.update(&after, &Changes::between(&before, &after, [(0, 2)], []))?;
/// assert_eq!(degrees.degrees(), [2, 1, 1]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalDegrees {
    degrees: Vec<u32>,
    exists: Vec<bool>,
    self_loops: u64,
    /// Those of the largest degrees, once somebody has asked for them.
    top: Option<TopK>,
}

impl IncrementalDegrees {
    /// Counts the entries of a view, to follow it from there.
    ///
    /// # Errors
    /// Those of [`degree_statistics`](crate::degree_statistics()).
    pub fn new(view: &dyn GraphView, control: &Control) -> Result<Self, AlgorithmError> {
        let DegreeStatistics { degrees, self_loops, .. } = degree_statistics(view, control)?;
        let exists = (0..view.id_bound()).map(|vertex| view.has_vertex(vertex)).collect();
        Ok(IncrementalDegrees { degrees, exists, self_loops, top: None })
    }

    /// Follows the changes to the view after them.
    ///
    /// # Errors
    /// None at present.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        let bound = (view.id_bound() as usize).max(self.degrees.len());
        self.degrees.resize(bound, 0);
        self.exists.resize(bound, false);
        changes.appeared.iter().for_each(|&vertex| self.exists[vertex as usize] = true);
        changes.vanished.iter().for_each(|&vertex| self.exists[vertex as usize] = false);
        // Wrapping, for a degree may pass below 0 on the way to where it ends.
        let edges = [(&changes.inserted, 1u32), (&changes.deleted, 1u32.wrapping_neg())];
        for (edges, step) in edges {
            for &(src, dst) in edges {
                let mut count = |vertex: VertexId| {
                    let degree = &mut self.degrees[vertex as usize];
                    *degree = degree.wrapping_add(step);
                };
                count(src);
                if src != dst || !view.is_symmetric() {
                    count(dst);
                }
                if src == dst {
                    self.self_loops = self.self_loops.wrapping_add_signed(i64::from(step as i32));
                }
            }
        }
        if view.is_mixed() {
            // A symmetric edge is two entries of lists there and counts once; two directed ones may have taken its place.
            let edges = Incident::new(view);
            let written = changes.inserted.iter().chain(&changes.deleted).chain(&changes.rewritten);
            for vertex in written.flat_map(|&(src, dst)| [src, dst]) {
                self.degrees[vertex as usize] = edges.degree(vertex) as u32;
            }
        }
        if let Some(mut top) = self.top.take() {
            let edges = changes.inserted.iter().chain(&changes.deleted).chain(&changes.rewritten);
            let ends = edges.flat_map(|&(src, dst)| [src, dst]);
            let vertices = changes.appeared.iter().chain(&changes.vanished).copied();
            top.update(bound as VertexId, |vertex| self.score(vertex), ends.chain(vertices));
            self.top = Some(top);
        }
        Ok(())
    }

    /// The vertices of the largest degrees, the largest first, ties by id. From the first time on they are followed, for
    /// as many as that, at a cost in proportion to the changes.
    pub fn top(&mut self, count: usize) -> Vec<(VertexId, u32)> {
        let top = match self.top.take().filter(|top| top.k() >= count) {
            Some(top) => top,
            None => TopK::new(count, self.degrees.len() as VertexId, |vertex| self.score(vertex)),
        };
        let largest = top.result().into_iter().take(count);
        let largest = largest.map(|(vertex, degree)| (vertex, degree as u32)).collect();
        self.top = Some(top);
        largest
    }

    fn score(&self, vertex: VertexId) -> Option<f64> {
        self.exists[vertex as usize].then(|| f64::from(self.degrees[vertex as usize]))
    }

    /// The degree of each vertex id; 0 where there is no vertex.
    pub fn degrees(&self) -> &[u32] {
        &self.degrees
    }

    /// The degrees and their statistics, as those of [`degree_statistics`](crate::degree_statistics()): O(V log V).
    pub fn result(&self) -> DegreeStatistics {
        let existing = self.degrees.iter().zip(&self.exists).filter(|&(_, &exists)| exists);
        let sorted = existing.map(|(&degree, _)| degree).collect();
        summary(self.degrees.clone(), sorted, self.self_loops)
    }
}
