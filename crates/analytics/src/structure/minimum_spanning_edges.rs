//! Minimum spanning forest: the lightest edges that hang everything together which hangs together.
//!
//! Method: Borůvka's rounds (Borůvka 1926; Nešetřil, Milková, Nešetřilová, "Otakar Borůvka on minimum spanning tree
//! problem", Discrete Mathematics 233, 2001), in parallel: every component takes the first of the edges that leave it, and
//! components that are joined become one. Threads settle which edge is the first by comparing and swapping.
//!
//! ```text
//!  order     edges by (weight, u, v), and parallel ones by position
//!  a round   best[c] = the first edge with one end in c
//!            c hooks onto the other end's component; of two that chose the same edge the smaller stays a root
//!            labels jump to their roots; edges inside a component are dropped
//! ```
//!
//! Directions of edges and self-loops do not matter; of parallel edges the lightest counts. Complexity:
//! O(E log V).
//!
//! Invariant: edges come in a strict order, so there is one forest; it is that of Kruskal's algorithm, whatever the
//! threads.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::ensure;
use crate::engine::parallel::{filter_vertices, for_each, in_pool, map, try_map, vertex_blocks};
use crate::engine::sort::sorted;
use crate::engine::weights::{Sign, Weight, WeightedTable, weighted_lists};
use crate::registry::{Algorithm, Arguments, Check, Field, Outcome, Scalar, VertexColumn, WEIGHT};
use crate::{AlgorithmError, Control, Ranges};

/// An edge between two vertices, the smaller id first.
type Edge = (f64, VertexId, VertexId);

/// Items that are worth a task of their own.
const ITEMS_PER_TASK: usize = 1 << 12;

/// What [`minimum_spanning_edges`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanningForest {
    /// Its edges with their weights, the lightest first; of each the smaller id first.
    pub edges: Vec<(VertexId, VertexId, f64)>,
    /// The sum of their weights.
    pub total: f64,
}

/// The edges of a minimum spanning forest.
///
/// ```
/// use evergraph_analytics::{Control, Weight, minimum_spanning_edges};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0), (3, 4, 1.0)];
/// let view = FlatView::from_weighted_edges(5, &edges, true);
/// let forest = minimum_spanning_edges(&view, &Weight::Usual, &Control::new())?;
/// assert_eq!((forest.edges, forest.total), (vec![(0, 1, 1.0), (3, 4, 1.0), (1, 2, 2.0)], 4.0));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn minimum_spanning_edges(
    view: &dyn GraphView,
    weight: &Weight,
    control: &Control,
) -> Result<SpanningForest, AlgorithmError> {
    in_pool(|| {
        let edges = all_edges(view, weight, control)?;
        let forest = Forest::new(view.id_bound(), &edges);
        // Positions of the edges that lead from one component to another.
        let mut open: Vec<u64> = (0..edges.len() as u64).collect();
        let mut taken: Vec<u64> = Vec::new();
        let most = view.num_vertices();
        control.check()?;
        control.progress(0, most);
        while !open.is_empty() {
            taken.extend(forest.round(&open, control)?);
            let pieces = try_map(control, open.chunks(ITEMS_PER_TASK), |positions| {
                Ok(positions.iter().copied().filter(|&at| forest.leads_out(at)).collect::<Vec<u64>>())
            });
            open = pieces?.concat();
            control.progress(taken.len() as u64, most);
        }
        let taken = taken.into_iter().map(|at| edges[at as usize]).collect();
        let taken = sorted(taken, compare, control)?;
        let edges: Vec<_> = taken.into_iter().map(|(weight, low, high)| (low, high, weight)).collect();
        // A sum of nothing is -0.
        let total = edges.iter().map(|(_, _, weight)| weight).sum::<f64>() + 0.0;
        Ok(SpanningForest { edges, total })
    })
}

fn compare(left: &Edge, right: &Edge) -> Ordering {
    left.0.total_cmp(&right.0).then((left.1, left.2).cmp(&(right.1, right.2)))
}

/// Every edge between two vertices once.
fn all_edges(view: &dyn GraphView, weight: &Weight, control: &Control) -> Result<Vec<Edge>, AlgorithmError> {
    let flat = view.flat();
    let table = WeightedTable::new(view, &flat, weight, Direction::Out, Sign::Any, control)?;
    let is_symmetric = flat.is_symmetric();
    let pieces = Ranges::by_edges(&flat, Direction::Out).map(control, |range| {
        let edges =
            range.flat_map(|vertex| table.edges(vertex).map(move |(other, weight)| (vertex, other, weight)));
        let wanted = edges.filter(|&(src, dst, _)| src < dst || (src > dst && !is_symmetric));
        wanted.map(|(src, dst, weight)| (weight, src.min(dst), src.max(dst))).collect::<Vec<Edge>>()
    })?;
    Ok(pieces.concat())
}

/// Components, each named by one of its vertices.
struct Forest<'a> {
    edges: &'a [Edge],
    labels: Vec<AtomicU32>,
    /// Of each component the position of the first edge that leaves it.
    best: Vec<AtomicU64>,
}

const NO_EDGE: u64 = u64::MAX;

impl<'a> Forest<'a> {
    fn new(bound: VertexId, edges: &'a [Edge]) -> Self {
        let labels = (0..bound).map(AtomicU32::new).collect();
        Forest { edges, labels, best: (0..bound).map(|_| AtomicU64::new(NO_EDGE)).collect() }
    }

    fn label(&self, vertex: VertexId) -> VertexId {
        self.labels[vertex as usize].load(Relaxed)
    }

    fn leads_out(&self, at: u64) -> bool {
        let (_, low, high) = self.edges[at as usize];
        self.label(low) != self.label(high)
    }

    /// Whether one edge comes before another.
    fn is_before(&self, one: u64, other: u64) -> bool {
        compare(&self.edges[one as usize], &self.edges[other as usize]).then(one.cmp(&other)).is_lt()
    }

    /// Makes an edge the first that leaves a component, unless that is another.
    fn propose(&self, component: VertexId, at: u64) {
        let best = &self.best[component as usize];
        let mut known = best.load(Relaxed);
        while known == NO_EDGE || self.is_before(at, known) {
            match best.compare_exchange_weak(known, at, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(changed) => known = changed,
            }
        }
    }

    /// Joins components over their first edges; gives the positions of those.
    fn round(&self, open: &[u64], control: &Control) -> Result<Vec<u64>, AlgorithmError> {
        map(self.best.chunks(ITEMS_PER_TASK), |best| {
            best.iter().for_each(|best| best.store(NO_EDGE, Relaxed))
        });
        for_each(control, open.chunks(ITEMS_PER_TASK), |positions| {
            for &at in positions {
                let (_, low, high) = self.edges[at as usize];
                let (one, other) = (self.label(low), self.label(high));
                if one != other {
                    self.propose(one, at);
                    self.propose(other, at);
                }
            }
        })?;
        let vertices = self.labels.len() as VertexId;
        let roots = filter_vertices(vertices, |vertex| self.best[vertex as usize].load(Relaxed) != NO_EDGE);
        let hook = |&root: &VertexId| {
            let at = self.best[root as usize].load(Relaxed);
            let (_, low, high) = self.edges[at as usize];
            let (one, other) = (self.label(low), self.label(high));
            let target = if one == root { other } else { one };
            // Only two that chose the same edge can choose each other, for edges are in a strict order.
            let is_mutual = self.best[target as usize].load(Relaxed) == at;
            (!(is_mutual && root < target)).then_some((root, target, at))
        };
        let hooks =
            map(roots.chunks(ITEMS_PER_TASK), |roots| roots.iter().filter_map(hook).collect::<Vec<_>>());
        let hooks: Vec<(VertexId, VertexId, u64)> = hooks.concat();
        hooks.iter().for_each(|&(root, target, _)| self.labels[root as usize].store(target, Relaxed));
        self.jump(control)?;
        Ok(hooks.into_iter().map(|(_, _, at)| at).collect())
    }

    /// Labels every vertex with the root of its tree.
    fn jump(&self, control: &Control) -> Result<(), AlgorithmError> {
        for_each(control, vertex_blocks(self.labels.len() as VertexId), |vertices| {
            for vertex in vertices {
                let mut root = self.label(vertex);
                while root != self.label(root) {
                    root = self.label(root);
                }
                self.labels[vertex as usize].store(root, Relaxed);
            }
        })
    }
}

/// Checks a forest against Kruskal's algorithm, which joins sets along all edges in order: O(E log E).
pub fn verify(
    view: &dyn GraphView,
    weight: &Weight,
    result: &SpanningForest,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = weighted_lists(view, weight)?;
    let ends = |(src, list): (VertexId, &Vec<(VertexId, f64)>)| {
        let edges = list.iter().map(move |&(dst, weight)| (weight, src.min(dst), src.max(dst)));
        edges.collect::<Vec<Edge>>()
    };
    let mut edges: Vec<Edge> = (0..).zip(&lists).flat_map(ends).collect();
    edges.sort_by(compare);
    let mut parents: Vec<VertexId> = (0..view.id_bound()).collect();
    let root = |parents: &mut [VertexId], mut vertex: VertexId| {
        while parents[vertex as usize] != vertex {
            parents[vertex as usize] = parents[parents[vertex as usize] as usize];
            vertex = parents[vertex as usize];
        }
        vertex
    };
    let mut expected = Vec::new();
    for (weight, low, high) in edges {
        control.check()?;
        let (one, other) = (root(&mut parents, low), root(&mut parents, high));
        if one != other {
            parents[one as usize] = other;
            expected.push((low, high, weight));
        }
    }
    ensure(result.edges == expected, || {
        let differ = result.edges.iter().zip(&expected).find(|(found, wanted)| found != wanted);
        let counts = (result.edges.len(), expected.len());
        format!("{} edges, {} expected; the first that differ: {differ:?}", counts.0, counts.1)
    })?;
    let total: f64 = expected.iter().map(|(_, _, weight)| weight).sum();
    ensure(result.total == total, || format!("total {}, {total} expected", result.total))
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "minimum_spanning_edges",
    summary: "A minimum spanning forest: the lightest edges that keep together what hangs together",
    complexity: "O(E log V)",
    source: "Borůvka 1926; Nešetřil, Milková, Nešetřilová: Otakar Borůvka on minimum spanning tree problem, Discrete \
             Mathematics 233, 2001; as networkx.minimum_spanning_edges",
    arguments: &[WEIGHT],
    results: &[
        Field { name: "u", summary: "one end of the edge" },
        Field { name: "v", summary: "the other end" },
        Field { name: "weight", summary: "its weight" },
        Field { name: "edges", summary: "how many they are" },
        Field { name: "total", summary: "the sum of their weights" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let weight = arguments.weight();
    let result = minimum_spanning_edges(view, &weight, control)?;
    if check == Check::Verify {
        verify(view, &weight, &result, control)?;
    }
    let column = |end: fn(&(VertexId, VertexId, f64)) -> VertexId| {
        VertexColumn::Vertices(result.edges.iter().map(end).collect())
    };
    let weights = result.edges.iter().map(|(_, _, weight)| *weight).collect();
    Ok(Outcome::listed(
        vec![
            ("u", column(|edge| edge.0)),
            ("v", column(|edge| edge.1)),
            ("weight", VertexColumn::Floats(weights)),
        ],
        vec![("edges", Scalar::Count(result.edges.len() as u64)), ("total", Scalar::Float(result.total))],
    ))
}
