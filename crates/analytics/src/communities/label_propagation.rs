//! Label propagation: communities as labels that spread from neighbor to neighbor.
//!
//! Method: CDLP of LDBC Graphalytics (arXiv 2011.15028, section 2.3.3), the synchronous and deterministic form of Raghavan,
//! Albert, Kumara, "Near linear time algorithm to detect community structures in large-scale networks", Phys. Rev. E 76,
//! 2007. Each vertex begins with a label of its own; in each iteration all take the label that most of their neighbors had
//! before, the smallest of several. Of directed edges neighbors of both directions count, those of both twice; parallel
//! edges count each, symmetric ones once.
//!
//! ```text
//!  few neighbors    their labels sorted:  3 3 5 7 7   ─► runs, longest first, then smallest label: 3
//!  many neighbors   a counter for each label, those used set back to 0 afterwards
//! ```
//!
//! Complexity: O(V + E) per iteration. Labels are vertex ids, so "smallest" means the vertex that came to the store first.
//!
//! Invariant: an iteration reads only labels of the one before, so that the result does not depend on threads.

use std::collections::BTreeMap;

use evergraph_types::VertexId;
use evergraph_view::GraphView;

use crate::engine::control::ensure;
use crate::engine::incident::{FlatIncident, Incident};
use crate::engine::parallel::in_pool;
use crate::engine::per_thread::PerThread;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, ITERATIONS, Kind, Outcome, Scalar, VertexColumn,
};
use crate::{AlgorithmError, Control, NO_VERTEX, Ranges};

/// Lists with more labels than this are counted instead of sorted.
const SORTED: usize = 48;

/// What a vertex without edges costs, in edges.
const VERTEX_COST: usize = 4;

/// Edges in a range.
const EDGES_PER_RANGE: usize = 1 << 16;

/// How many iterations there are by default, as is common for Graphalytics.
const MAX_ITER: u32 = 10;

/// What [`label_propagation`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The label of each vertex id: a vertex, in the community or not, that stands for it; [`NO_VERTEX`] where there is no vertex.
    pub labels: Vec<VertexId>,
    /// How many labels are in use.
    pub communities: u64,
    /// How many iterations were done.
    pub iterations: u32,
    /// Whether the last one changed no label, so that more would not either.
    pub converged: bool,
}

/// Communities by at most `max_iter` iterations of label propagation.
///
/// ```
/// use evergraph_analytics::{Control, label_propagation};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
/// let result = label_propagation(&FlatView::from_edges(6, &edges, true), 10, &Control::new())?;
/// assert_eq!(result.labels, [0, 0, 0, 2, 2, 2]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn label_propagation(
    view: &dyn GraphView,
    max_iter: u32,
    control: &Control,
) -> Result<Labels, AlgorithmError> {
    in_pool(|| {
        let edges = FlatIncident::new(view);
        let flat = edges.flat();
        let own = |vertex| if flat.has_vertex(vertex) { vertex } else { NO_VERTEX };
        let mut labels: Vec<VertexId> = (0..flat.id_bound()).map(own).collect();
        let mut next = labels.clone();
        let cost = |vertex| edges.degree(vertex) + VERTEX_COST;
        let ranges = Ranges::by_cost(flat.id_bound(), EDGES_PER_RANGE, cost);
        let counters = PerThread::new(|| Counter::new(flat.id_bound()));
        let (mut iterations, mut converged) = (0, false);
        control.check()?;
        control.progress(0, u64::from(max_iter));
        while iterations < max_iter && !converged {
            let changed = ranges.try_map_with(control, ranges.split_mut(&mut next), |range, next| {
                Ok(counters.with(|counter| {
                    range.zip(next).fold(false, |changed, (vertex, next)| {
                        *next = counter.most_frequent(&edges, &labels, vertex);
                        changed | (*next != labels[vertex as usize])
                    })
                }))
            });
            converged = !changed?.contains(&true);
            std::mem::swap(&mut labels, &mut next);
            iterations += 1;
            control.progress(u64::from(iterations), u64::from(max_iter));
        }
        let communities = count_communities(&labels);
        Ok(Labels { labels, communities, iterations, converged })
    })
}

fn count_communities(labels: &[VertexId]) -> u64 {
    let mut used = vec![false; labels.len()];
    labels.iter().filter(|&&label| label != NO_VERTEX).for_each(|&label| used[label as usize] = true);
    used.iter().filter(|&&used| used).count() as u64
}

/// What one thread counts labels with.
struct Counter {
    few: Vec<VertexId>,
    /// By label; all 0 between two vertices.
    counts: Vec<u32>,
}

impl Counter {
    fn new(bound: VertexId) -> Self {
        Counter { few: Vec::with_capacity(SORTED), counts: vec![0; bound as usize] }
    }

    /// The label that most neighbors of a vertex have, the smallest of several; its own without neighbors.
    fn most_frequent(&mut self, edges: &FlatIncident, labels: &[VertexId], vertex: VertexId) -> VertexId {
        let lists = || edges.lists(vertex);
        let own = labels[vertex as usize];
        if edges.degree(vertex) > SORTED {
            return self
                .by_counting(|visit| lists().for_each(|list| list.iter().for_each(&mut *visit)), labels);
        }
        self.few.clear();
        lists().for_each(|list| self.few.extend(list.iter().map(|neighbor| labels[neighbor as usize])));
        self.few.sort_unstable();
        let (mut best, mut most) = (own, 0);
        for run in self.few.chunk_by(|left, right| left == right) {
            if run.len() > most {
                (best, most) = (run[0], run.len());
            }
        }
        best
    }

    fn by_counting(
        &mut self,
        for_each_neighbor: impl Fn(&mut dyn FnMut(VertexId)),
        labels: &[VertexId],
    ) -> VertexId {
        let counts = &mut self.counts;
        let (mut best, mut most) = (NO_VERTEX, 0);
        for_each_neighbor(&mut |neighbor| {
            let label = labels[neighbor as usize];
            let count = &mut counts[label as usize];
            *count += 1;
            if *count > most || (*count == most && label < best) {
                (best, most) = (label, *count);
            }
        });
        for_each_neighbor(&mut |neighbor| counts[labels[neighbor as usize] as usize] = 0);
        best
    }
}

/// Checks a result by counting with a map, one vertex at a time: O(iterations * E log E).
pub fn verify(
    view: &dyn GraphView,
    max_iter: u32,
    result: &Labels,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let own = |vertex| if view.has_vertex(vertex) { vertex } else { NO_VERTEX };
    let mut labels: Vec<VertexId> = (0..view.id_bound()).map(own).collect();
    let (mut changed, incident) = (true, Incident::new(view));
    for iteration in 0..result.iterations {
        control.check()?;
        ensure(changed, || format!("{iteration} iterations were enough"))?;
        let next: Vec<VertexId> =
            (0..view.id_bound()).map(|vertex| label_by_map(&incident, &labels, vertex)).collect();
        changed = next != labels;
        labels = next;
    }
    ensure(result.labels.len() == labels.len(), || format!("{} labels", result.labels.len()))?;
    for (vertex, (&found, &wanted)) in result.labels.iter().zip(&labels).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} has label {found}, {wanted} expected"))?;
    }
    let converged = result.iterations > 0 && !changed;
    ensure(result.converged == converged, || format!("converged is {}", result.converged))?;
    ensure(converged || result.iterations == max_iter, || {
        format!("it stopped after {} iterations", result.iterations)
    })?;
    labels.retain(|&label| label != NO_VERTEX);
    labels.sort_unstable();
    labels.dedup();
    ensure(result.communities == labels.len() as u64, || {
        format!("{} communities, {} expected", result.communities, labels.len())
    })
}

fn label_by_map(incident: &Incident<'_>, labels: &[VertexId], vertex: VertexId) -> VertexId {
    let mut counts: BTreeMap<VertexId, u64> = BTreeMap::new();
    incident.for_each(vertex, |neighbor| *counts.entry(labels[neighbor as usize]).or_default() += 1);
    let most = counts.values().max();
    let first = counts.iter().find(|(_, count)| Some(*count) == most);
    first.map_or(labels[vertex as usize], |(&label, _)| label)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "label_propagation",
    summary: "Communities as labels that spread from neighbor to neighbor",
    complexity: "O(V + E) per iteration",
    source: "The LDBC Graphalytics Benchmark, arXiv 2011.15028, section 2.3.3 (CDLP); Raghavan, Albert, Kumara, \
             Phys. Rev. E 76, 2007",
    arguments: &[Argument::optional("max_iter", Kind::Count, "10", "the most iterations")],
    results: &[
        Field { name: "label", summary: "a vertex that stands for the community" },
        Field { name: "communities", summary: "how many labels are in use" },
        ITERATIONS,
        Field { name: "converged", summary: "whether the last one changed nothing" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let max_iter = arguments.count("max_iter").unwrap_or(MAX_ITER);
    let result = label_propagation(view, max_iter, control)?;
    if check == Check::Verify {
        verify(view, max_iter, &result, control)?;
    }
    Ok(Outcome::by_vertex(
        vec![("label", VertexColumn::Vertices(result.labels))],
        vec![
            ("communities", Scalar::Count(result.communities)),
            ("iterations", Scalar::Count(result.iterations.into())),
            ("converged", Scalar::Flag(result.converged)),
        ],
    ))
}
