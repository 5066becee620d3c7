//! Maximal independent set: vertices of which no two are neighbors, and to which none can be added.
//!
//! Method: the greedy choice in a random order, in parallel (Blelloch, Fineman, Shun, "Greedy Sequential Maximal
//! Independent Set and Matching are Parallel on Average", SPAA 2012, section 3): a vertex joins once all its neighbors
//! that come before it are out. Complexity: O((V + E) log V) expected work, O(log^2 V) rounds.
//!
//! ```text
//!  order by hash(seed, id)    v: waiting ──► in     no neighbor before it waits, none is in
//!                                       └──► out    a neighbor is in
//! ```
//!
//! Vertices that were asked for are in from the start, and their neighbors out. Directions of edges and self-loops do not
//! matter.
//!
//! Invariant: a state that is not "waiting" is final, and it is the one that a loop over the vertices in that order would
//! give; so the result depends on the seed and not on threads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::control::{ensure, require_sources};
use crate::engine::incident::directions;
use crate::engine::parallel::{filter_vertices, in_pool, try_map};
use crate::engine::random::hash;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, Scalar, VertexColumn,
};
use crate::{AlgorithmError, Control};

const WAITING: u8 = 0;
const IN: u8 = 1;
const OUT: u8 = 2;

/// Vertices that are worth a task of their own.
const VERTICES_PER_TASK: usize = 1 << 10;

/// A maximal independent set that has `nodes`, ascending.
///
/// ```
/// use evergraph_analytics::{Control, maximal_independent_set};
/// use evergraph_view::FlatView;
///
/// let star = FlatView::from_edges(4, &[(0, 1), (0, 2), (0, 3)], true);
/// let set = maximal_independent_set(&star, &[2], 1, &Control::new())?;
/// assert_eq!(set, [1, 2, 3]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn maximal_independent_set(
    view: &dyn GraphView,
    nodes: &[VertexId],
    seed: u64,
    control: &Control,
) -> Result<Vec<VertexId>, AlgorithmError> {
    require_sources(view, nodes)?;
    in_pool(|| {
        let flat = view.flat();
        let states = vec![WAITING; flat.id_bound() as usize].into_iter().map(AtomicU8::new).collect();
        let choice = Choice { flat: &flat, seed, states };
        choice.settle(nodes)?;
        let is_open = |vertex: VertexId| {
            flat.has_vertex(vertex) && choice.states[vertex as usize].load(Relaxed) == WAITING
        };
        let mut waiting = filter_vertices(flat.id_bound(), is_open);
        let vertices = flat.num_vertices();
        control.check()?;
        control.progress(vertices - waiting.len() as u64, vertices);
        while !waiting.is_empty() {
            let is_left = |vertex: &VertexId| choice.decide(*vertex) == WAITING;
            let left = try_map(control, waiting.chunks(VERTICES_PER_TASK), |vertices| {
                Ok(vertices.iter().copied().filter(is_left).collect::<Vec<_>>())
            });
            waiting = left?.concat();
            control.progress(vertices - waiting.len() as u64, vertices);
        }
        Ok(filter_vertices(flat.id_bound(), |vertex| choice.states[vertex as usize].load(Relaxed) == IN))
    })
}

/// The place of a vertex in the order.
fn rank(seed: u64, vertex: VertexId) -> (u64, VertexId) {
    (hash(seed, u64::from(vertex)), vertex)
}

struct Choice<'a> {
    flat: &'a FlatView,
    seed: u64,
    states: Vec<AtomicU8>,
}

impl Choice<'_> {
    /// Lets vertices in whatever their place in the order.
    fn settle(&self, nodes: &[VertexId]) -> Result<(), AlgorithmError> {
        nodes.iter().for_each(|&node| self.states[node as usize].store(IN, Relaxed));
        for &node in nodes {
            let meet = |neighbor: VertexId| {
                if neighbor != node && self.states[neighbor as usize].swap(OUT, Relaxed) == IN {
                    return ControlFlow::Break(neighbor);
                }
                ControlFlow::Continue(())
            };
            if let ControlFlow::Break(other) = self.try_for_each_neighbor(node, meet) {
                return Err(AlgorithmError::NotIndependent { node, other });
            }
        }
        Ok(())
    }

    fn try_for_each_neighbor<B>(
        &self,
        vertex: VertexId,
        mut visit: impl FnMut(VertexId) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut lists = directions(self.flat).iter().map(|&direction| self.flat.neighbors(direction, vertex));
        lists.try_for_each(|list| list.try_for_each(&mut visit))
    }

    /// The state of a vertex that waited, by those of its neighbors.
    fn decide(&self, vertex: VertexId) -> u8 {
        let own = rank(self.seed, vertex);
        let mut state = IN;
        let look = |neighbor: VertexId| {
            if neighbor == vertex {
                return ControlFlow::Continue(());
            }
            match self.states[neighbor as usize].load(Relaxed) {
                IN => {
                    state = OUT;
                    return ControlFlow::Break(());
                }
                WAITING if rank(self.seed, neighbor) < own => state = WAITING,
                _ => {}
            }
            ControlFlow::Continue(())
        };
        let flow = self.try_for_each_neighbor(vertex, look);
        debug_assert!(flow.is_continue() || state == OUT, "it looks at all neighbors but where one is in");
        self.states[vertex as usize].store(state, Relaxed);
        state
    }
}

/// Checks a set against the loop that it stands for: O(V log V + E).
pub fn verify(
    view: &dyn GraphView,
    nodes: &[VertexId],
    seed: u64,
    result: &[VertexId],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut order: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
    let nodes: BTreeSet<VertexId> = nodes.iter().copied().collect();
    order.sort_by_key(|&vertex| (!nodes.contains(&vertex), rank(seed, vertex)));
    let mut blocked = vec![false; view.id_bound() as usize];
    let mut expected = Vec::new();
    for vertex in order {
        control.check()?;
        if blocked[vertex as usize] {
            continue;
        }
        expected.push(vertex);
        for direction in [Direction::Out, Direction::In] {
            view.for_each_slice(direction, vertex, &mut |slice| {
                slice.iter().for_each(|&neighbor| blocked[neighbor as usize] = true);
                ControlFlow::Continue(())
            });
        }
    }
    expected.sort_unstable();
    ensure(result == expected, || {
        let differ = result.iter().zip(&expected).find(|(found, wanted)| found != wanted);
        format!("{} members, {} expected; the first that differ: {differ:?}", result.len(), expected.len())
    })
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "maximal_independent_set",
    summary: "Vertices of which no two are neighbors, and to which none can be added",
    complexity: "O((V + E) log V) expected",
    source: "Blelloch, Fineman, Shun: Greedy Sequential Maximal Independent Set and Matching are Parallel on Average, \
             SPAA 2012, section 3",
    arguments: &[
        Argument::optional("nodes", Kind::Vertices, "none", "vertices that the set must have"),
        SEED,
    ],
    results: &[
        Field { name: "vertex", summary: "the members" },
        Field { name: "vertices", summary: "how many they are" },
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
    let nodes = arguments.vertices("nodes");
    let result = maximal_independent_set(view, nodes, seed, control)?;
    if check == Check::Verify {
        verify(view, nodes, seed, &result, control)?;
    }
    let count = result.len() as u64;
    Ok(Outcome::listed(
        vec![("vertex", VertexColumn::Vertices(result))],
        vec![("vertices", Scalar::Count(count))],
    ))
}
