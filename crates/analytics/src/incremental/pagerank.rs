//! PageRank that follows a graph, to the same tolerance as the batch twin.
//!
//! Method: the Gauss-Southwell method on residuals (Ohsaka, Maehara, Kawarabayashi, "Efficient PageRank Tracking in Evolving
//! Networks", KDD 2015, section 3), with the change of an edge in O(1) (Zhang, Lofgren, Goel, "Approximate
//! Personalized PageRank on Dynamic Graphs", KDD 2016, section 3.1). Where dangling vertices jump like all others, scores
//! are the solution of `y = alpha P^T y + 1` brought to sum 1 (Del Corso, Gulli, Romani, "Fast PageRank Computation via a
//! Sparse Linear System", 2005), which does not know how many vertices there are: a new one disturbs no other.
//!
//! ```text
//!  rank y[v], residual r[v]:   r = 1 + alpha P^T y - y
//!  push v       y[v] += r[v];  each out-neighbor's r += alpha r[v] / degree;  r[v] = 0
//!  an edge more at u, of degree d:   y[u] is scaled by (d + 1) / d, so that what u hands to each of its old
//!                                    neighbors stays, r[u] takes the difference, and the new neighbor's r what it gets
//! ```
//!
//! Where much is to be pushed, whole passes do it, each as fast as an iteration of the batch twin. Complexity: O(1) a
//! change, and O(sum of |r| d / (tol (1 - alpha))) for the pushes, with `d` the mean degree.
//!
//! Invariant: the equation of `r` holds, up to rounding; after an update every `|r[v]|` is at most `tol` times the sum of
//! ranks, so that scores miss the equation of PageRank by at most N * tol (L1), as those of the batch twin do.

use std::collections::VecDeque;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use super::Changes;
use crate::engine::gather::Gather;
use crate::engine::parallel::{in_pool, map};
use crate::registry::invalid;
use crate::{AlgorithmError, Control, PageRank, PageRankOptions, Weight};

/// Pushes cost about this many times the edges that a pass costs: they go one by one, to places anywhere.
const PUSH_COST: u64 = 4;

/// PageRank that follows a graph.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalPageRank};
/// use evergraph_analytics::{Control, PageRankOptions};
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(3, &[(1, 0), (2, 0)], false);
/// let mut ranks = IncrementalPageRank::new(&before, &PageRankOptions::default(), &Control::new())?;
/// let after = FlatView::from_edges(3, &[(1, 2), (0, 2)], false);
/// ranks.update(&after, &Changes::between(&before, &after, [(1, 0), (2, 0), (1, 2), (0, 2)], []))?;
/// assert!(ranks.score(2) > ranks.score(0));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalPageRank {
    alpha: f64,
    tol: f64,
    vertices: Vec<Vertex>,
    /// The sum of ranks.
    total: f64,
    /// Vertices whose residual may be too large.
    queue: VecDeque<VertexId>,
    /// Whole passes that the last update took.
    passes: u32,
}

/// What is known of a vertex, in one place since it is used together.
#[derive(Clone, Copy, Debug, Default)]
struct Vertex {
    rank: f64,
    residual: f64,
    /// The number of out-edges.
    degree: u32,
    is_queued: bool,
}

impl IncrementalPageRank {
    /// Ranks a view, to follow it from there.
    ///
    /// # Errors
    /// [`AlgorithmError::InvalidArgument`] where the batch twin gives it, for an `alpha` of 1, a tolerance of 0 and a
    /// argument that treats vertices or edges unlike, which incremental PageRank does not take; [`AlgorithmError::Cancelled`].
    pub fn new(
        view: &dyn GraphView,
        options: &PageRankOptions,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        if !(0.0..1.0).contains(&options.alpha) {
            return Err(invalid("alpha", format!("{} is not from 0 to below 1", options.alpha)));
        }
        if !(options.tol > 0.0 && options.tol.is_finite()) {
            return Err(invalid("tol", format!("{} is not above 0", options.tol)));
        }
        let refused = [
            ("personalization", options.personalization.is_some()),
            ("dangling", options.dangling.is_some()),
            ("nstart", options.nstart.is_some()),
            ("weight", options.weight != Weight::One),
        ];
        if let Some((name, _)) = refused.into_iter().find(|(_, given)| *given) {
            let why = "incremental PageRank treats all vertices and all edges alike; leave it out";
            return Err(invalid(name, why.to_owned()));
        }
        let flat = view.flat();
        let start = |vertex| Vertex {
            residual: f64::from(u8::from(flat.has_vertex(vertex))),
            degree: flat.table(Direction::Out).degree(vertex) as u32,
            ..Vertex::default()
        };
        let vertices = (0..flat.id_bound()).map(start).collect();
        let (alpha, tol) = (options.alpha, options.tol);
        let mut ranks =
            IncrementalPageRank { alpha, tol, vertices, total: 0.0, queue: VecDeque::new(), passes: 0 };
        in_pool(|| ranks.pass(&flat, control))?;
        ranks.settle(&flat, control)?;
        Ok(ranks)
    }

    /// Follows the changes to the view after them.
    ///
    /// # Errors
    /// None at present.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        let bound = (view.id_bound() as usize).max(self.vertices.len());
        self.vertices.resize(bound, Vertex::default());
        for &vertex in &changes.appeared {
            self.vertices[vertex as usize].residual += 1.0;
            self.enqueue(vertex);
        }
        // Insertions first: a degree of 0 on the way would lose what the vertex hands to its neighbors.
        Changes::entries(&changes.inserted, view).for_each(|(src, dst)| self.insert(src, dst));
        Changes::entries(&changes.deleted, view).for_each(|(src, dst)| self.delete(src, dst));
        for &vertex in &changes.vanished {
            let gone = &mut self.vertices[vertex as usize];
            self.total -= gone.rank;
            (gone.rank, gone.residual) = (0.0, 0.0);
        }
        self.passes = 0;
        self.settle(&view.flat(), &Control::new())
    }

    /// The score of a vertex; 0 where there is none.
    pub fn score(&self, vertex: VertexId) -> f64 {
        self.vertices.get(vertex as usize).map_or(0.0, |vertex| vertex.rank / self.total)
    }

    /// The result as that of [`pagerank`](crate::pagerank()): O(V). `iterations` are the whole passes of the last update.
    pub fn result(&self) -> PageRank {
        let of_total = |sum: f64| if self.total > 0.0 { sum / self.total } else { 0.0 };
        let error = of_total(self.vertices.iter().map(|vertex| vertex.residual.abs()).sum());
        let scores = self.vertices.iter().map(|vertex| of_total(vertex.rank)).collect();
        PageRank { scores, iterations: self.passes, error, converged: true }
    }

    fn insert(&mut self, src: VertexId, dst: VertexId) {
        let source = &mut self.vertices[src as usize];
        let before = f64::from(source.degree);
        source.degree += 1;
        let share = if before > 0.0 {
            let share = source.rank / before;
            source.rank += share;
            source.residual -= share;
            self.total += share;
            share
        } else {
            source.rank
        };
        self.vertices[dst as usize].residual += self.alpha * share;
        self.enqueue(src);
        self.enqueue(dst);
    }

    fn delete(&mut self, src: VertexId, dst: VertexId) {
        let source = &mut self.vertices[src as usize];
        let share = source.rank / f64::from(source.degree.max(1));
        source.degree = source.degree.saturating_sub(1);
        if source.degree > 0 {
            source.rank -= share;
            source.residual += share;
            self.total -= share;
        }
        self.vertices[dst as usize].residual -= self.alpha * share;
        self.enqueue(src);
        self.enqueue(dst);
    }

    #[inline]
    fn enqueue(&mut self, vertex: VertexId) {
        let state = &mut self.vertices[vertex as usize];
        if !std::mem::replace(&mut state.is_queued, true) {
            self.queue.push_back(vertex);
        }
    }

    /// Pushes until every residual is small enough, by whole passes while that is cheaper.
    fn settle(&mut self, flat: &FlatView, control: &Control) -> Result<(), AlgorithmError> {
        let budget = (flat.num_entries() + u64::from(flat.id_bound())) / PUSH_COST;
        let mut spent = 0;
        while let Some(vertex) = self.queue.pop_front() {
            let state = &mut self.vertices[vertex as usize];
            state.is_queued = false;
            let allowed = self.tol * self.total;
            if state.residual.abs() <= allowed {
                continue;
            }
            let residual = std::mem::take(&mut state.residual);
            state.rank += residual;
            self.total += residual;
            let share = self.alpha * residual / f64::from(state.degree.max(1));
            spent += 1 + u64::from(state.degree);
            flat.out_neighbors(vertex).for_each_slice(|slice| {
                for &neighbor in slice {
                    let state = &mut self.vertices[neighbor as usize];
                    state.residual += share;
                    if !state.is_queued && state.residual.abs() > allowed {
                        state.is_queued = true;
                        self.queue.push_back(neighbor);
                    }
                }
            });
            if spent > budget {
                spent = 0;
                control.check()?;
                in_pool(|| self.pass(flat, control))?;
            }
        }
        Ok(())
    }

    /// Pushes every vertex at once, as often as more than a few have to be; queues what is left.
    fn pass(&mut self, flat: &FlatView, control: &Control) -> Result<(), AlgorithmError> {
        let gather = Gather::over(flat, Direction::In, control)?;
        let (alpha, few) = (self.alpha, u64::from(flat.id_bound()) / PUSH_COST / 4);
        self.vertices.resize(self.vertices.len().max(flat.id_bound() as usize), Vertex::default());
        loop {
            let vertices = &mut self.vertices[..flat.id_bound() as usize];
            let share = |vertex: &mut Vertex| {
                vertex.rank += vertex.residual;
                alpha * vertex.residual / f64::from(vertex.degree.max(1))
            };
            let shares = map(gather.ranges().split_mut(vertices), |vertices| {
                vertices.iter_mut().map(share).collect::<Vec<f64>>()
            });
            let shares = shares.concat();
            self.passes += 1;
            let finish = |total: &mut f64, _, sums: &[f64], vertices: &mut [Vertex]| {
                for (vertex, sum) in vertices.iter_mut().zip(sums) {
                    vertex.residual = *sum;
                    *total += vertex.rank;
                }
            };
            self.total = gather.pass(control, &shares, |share| *share, vertices, finish)?.iter().sum();
            let allowed = self.tol * self.total;
            let large = |vertex: &&Vertex| vertex.residual.abs() > allowed;
            if self.vertices.iter().filter(large).count() as u64 <= few {
                break;
            }
        }
        self.queue.clear();
        let allowed = self.tol * self.total;
        for (id, vertex) in (0..).zip(&mut self.vertices) {
            vertex.is_queued = vertex.residual.abs() > allowed;
            if vertex.is_queued {
                self.queue.push_back(id);
            }
        }
        Ok(())
    }
}
