//! Maximal matching: edges of which no two share an end, and to which none can be added.
//!
//! Method: the greedy choice in a random order of the edges, in parallel (Blelloch, Fineman, Shun, "Greedy Sequential
//! Maximal Independent Set and Matching are Parallel on Average", SPAA 2012, section 4): each vertex looks for the first
//! of its edges whose other end is free; where two vertices choose each other, the edge is taken.
//!
//! ```text
//!  order by hash(seed, edge)      choice[v] = the free neighbor over the first edge of v that still can be taken
//!                                 choice[u] = v and choice[v] = u:  u - v is in the matching
//! ```
//!
//! Complexity: O(E log V) expected work, O(log^2 V) rounds. Directions of edges, parallel ones and self-loops do not
//! matter.
//!
//! Invariant: the edges taken are those that a loop over the edges in that order would take; so the result depends on the
//! seed and not on threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::control::ensure;
use crate::engine::parallel::{filter_vertices, in_pool, map, try_map};
use crate::engine::random::hash;
use crate::registry::{Algorithm, Arguments, Check, Field, Outcome, SEED, Scalar, VertexColumn};
use crate::{AlgorithmError, Control, NO_VERTEX};

/// Vertices that are worth a task of their own.
const VERTICES_PER_TASK: usize = 1 << 9;

/// A maximal matching: pairs of vertices, the smaller id first, ascending.
///
/// ```
/// use evergraph_analytics::{Control, maximal_matching};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3)], true);
/// let matching = maximal_matching(&path, 1, &Control::new())?;
/// assert!(matching == [(0, 1), (2, 3)] || matching == [(1, 2)]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn maximal_matching(
    view: &dyn GraphView,
    seed: u64,
    control: &Control,
) -> Result<Vec<(VertexId, VertexId)>, AlgorithmError> {
    in_pool(|| {
        let flat = view.flat();
        let none = || (0..flat.id_bound()).map(|_| AtomicU32::new(NO_VERTEX)).collect();
        let search = Search { flat: &flat, seed, choices: none(), partners: none() };
        let mut waiting = filter_vertices(flat.id_bound(), |vertex| flat.has_vertex(vertex));
        let vertices = waiting.len() as u64;
        control.check()?;
        control.progress(0, vertices);
        while !waiting.is_empty() {
            // Who has no edge left to choose is out.
            let chosen = try_map(control, waiting.chunks(VERTICES_PER_TASK), |vertices| {
                Ok(vertices.iter().copied().filter(|&vertex| search.choose(vertex)).collect::<Vec<_>>())
            });
            let left = map(chosen?, |vertices| {
                vertices.into_iter().filter(|&vertex| !search.join(vertex)).collect::<Vec<_>>()
            });
            waiting = left.concat();
            control.progress(vertices - waiting.len() as u64, vertices);
        }
        let pair = |vertex: VertexId| {
            let partner = search.partners[vertex as usize].load(Relaxed);
            (partner != NO_VERTEX && vertex < partner).then_some((vertex, partner))
        };
        Ok((0..flat.id_bound()).filter_map(pair).collect())
    })
}

/// The place of an edge in the order.
fn rank(seed: u64, one: VertexId, other: VertexId) -> (u64, VertexId, VertexId) {
    let (low, high) = (one.min(other), one.max(other));
    (hash(seed, u64::from(low) << 32 | u64::from(high)), low, high)
}

struct Search<'a> {
    flat: &'a FlatView,
    seed: u64,
    choices: Vec<AtomicU32>,
    partners: Vec<AtomicU32>,
}

impl Search<'_> {
    /// Chooses the first edge to a free neighbor; tells whether there is one.
    fn choose(&self, vertex: VertexId) -> bool {
        let (mut first, mut choice) = (None, NO_VERTEX);
        let mut look = |slice: &[VertexId]| {
            for &neighbor in slice.iter().filter(|&&neighbor| neighbor != vertex) {
                if self.partners[neighbor as usize].load(Relaxed) != NO_VERTEX {
                    continue;
                }
                let rank = rank(self.seed, vertex, neighbor);
                if first.is_none_or(|first| rank < first) {
                    (first, choice) = (Some(rank), neighbor);
                }
            }
        };
        self.flat.out_neighbors(vertex).for_each_slice(&mut look);
        if !self.flat.is_symmetric() {
            self.flat.in_neighbors(vertex).for_each_slice(&mut look);
        }
        self.choices[vertex as usize].store(choice, Relaxed);
        choice != NO_VERTEX
    }

    /// Takes the edge if both ends have chosen it. The other end does the same.
    fn join(&self, vertex: VertexId) -> bool {
        let choice = self.choices[vertex as usize].load(Relaxed);
        let is_mutual = self.choices[choice as usize].load(Relaxed) == vertex;
        if is_mutual {
            self.partners[vertex as usize].store(choice, Relaxed);
        }
        is_mutual
    }
}

/// Checks a matching against the loop that it stands for: O(E log E).
pub fn verify(
    view: &dyn GraphView,
    seed: u64,
    result: &[(VertexId, VertexId)],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut edges = Vec::new();
    for vertex in 0..view.id_bound() {
        control.check()?;
        view.for_each_slice(Direction::Out, vertex, &mut |slice| {
            let others = slice.iter().filter(|&&neighbor| neighbor != vertex);
            edges.extend(others.map(|&neighbor| rank(seed, vertex, neighbor)));
            ControlFlow::Continue(())
        });
    }
    edges.sort_unstable();
    let mut is_free = vec![true; view.id_bound() as usize];
    let mut expected = Vec::new();
    for (_, low, high) in edges {
        control.check()?;
        if is_free[low as usize] && is_free[high as usize] {
            is_free[low as usize] = false;
            is_free[high as usize] = false;
            expected.push((low, high));
        }
    }
    expected.sort_unstable();
    ensure(result == expected, || {
        let differ = result.iter().zip(&expected).find(|(found, wanted)| found != wanted);
        format!("{} edges, {} expected; the first that differ: {differ:?}", result.len(), expected.len())
    })
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "maximal_matching",
    summary: "Edges of which no two share an end, and to which none can be added",
    complexity: "O(E log V) expected",
    source: "Blelloch, Fineman, Shun: Greedy Sequential Maximal Independent Set and Matching are Parallel on Average, \
             SPAA 2012, section 4",
    arguments: &[SEED],
    results: &[
        Field { name: "u", summary: "one end of the edge" },
        Field { name: "v", summary: "the other end" },
        Field { name: "edges", summary: "how many they are" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let seed = arguments.seed(SEED.name).unwrap_or_default();
    let result = maximal_matching(view, seed, control)?;
    if check == Check::Verify {
        verify(view, seed, &result, control)?;
    }
    let count = result.len() as u64;
    let (low, high) = result.into_iter().unzip();
    Ok(Outcome::listed(
        vec![("u", VertexColumn::Vertices(low)), ("v", VertexColumn::Vertices(high))],
        vec![("edges", Scalar::Count(count))],
    ))
}
