//! Bellman-Ford: shortest paths from the nearest source along edges of any weight, negative ones too.
//!
//! Method: rounds of relaxing the edges of all vertices that came nearer in the round before (Bellman, "On a Routing
//! Problem", Quarterly of Applied Mathematics 16, 1958; as an `edge_map`: Ligra, PPoPP 2013, section 5). A cycle of
//! negative weight shows in the tree of parents, which is looked at whenever a graph's worth of edges has been relaxed
//! (Cherkassky, Goldberg, "Negative-cycle detection algorithms", Mathematical Programming 85, 1999, section 4).
//!
//! ```text
//!  round    frozen[u]  the distances of the frontier as the round begins
//!           d[v] = min(d[v], frozen[u] + w)      over the edges u -> v of the frontier
//!           parent[v] = the smallest u that gave d[v] its value
//! ```
//!
//! Complexity: O(E) per round, at most V rounds, usually few.
//!
//! Invariant: after a round, distances and parents depend on the graph alone, not on threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::{ensure, require_sources};
use crate::engine::matrix::largest;
use crate::engine::parallel::in_pool;
use crate::engine::weights::{Sign, Weight, WeightedTable, require_reached, weighted_lists};
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Scalar, VertexColumn, WEIGHT,
};
use crate::{AlgorithmError, Control, NO_VERTEX, VertexSubset, vertex_map, weighted_edge_map};

/// What [`bellman_ford`] found, by vertex id.
#[derive(Clone, Debug, PartialEq)]
pub struct BellmanFord {
    /// The distance from the nearest source; infinite where there is no path.
    pub distances: Vec<f64>,
    /// The vertex before on a shortest path; a source's is itself; [`NO_VERTEX`] where there is no path.
    pub parents: Vec<VertexId>,
    /// How many vertices were reached, sources included.
    pub reached: u64,
}

/// The distance of every vertex from the nearest of `sources`. A cycle of negative weight that they reach is an error.
///
/// ```
/// use evergraph_analytics::{AlgorithmError, Control, Weight, bellman_ford};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1, 4.0), (0, 2, 1.0), (1, 2, -5.0)];
/// let view = FlatView::from_weighted_edges(3, &edges, false);
/// let result = bellman_ford(&view, &[0], &Weight::Usual, &Control::new())?;
/// assert_eq!((result.distances, result.parents), (vec![0.0, 4.0, -1.0], vec![0, 0, 1]));
/// let view = FlatView::from_weighted_edges(2, &[(0, 1, 1.0), (1, 0, -2.0)], false);
/// let result = bellman_ford(&view, &[0], &Weight::Usual, &Control::new());
/// assert_eq!(result, Err(AlgorithmError::NegativeCycle { vertex: 0 }));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn bellman_ford(
    view: &dyn GraphView,
    sources: &[VertexId],
    weight: &Weight,
    control: &Control,
) -> Result<BellmanFord, AlgorithmError> {
    require_sources(view, sources)?;
    in_pool(|| {
        let flat = view.flat();
        let table = WeightedTable::new(view, &flat, weight, Direction::Out, Sign::Any, control)?;
        let mut search = Search::new(&table, sources);
        search.run(
            VertexSubset::from_ids(view.id_bound(), sources.to_vec()),
            view.num_vertices(),
            control,
        )?;
        let found = search.finish();
        require_reached(view, (sources, false), largest(table.weights()), found.reached, control)?;
        Ok(found)
    })
}

/// Numbers in the order of these keys, so that the least is found by `fetch_min`.
fn key(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 0 { bits ^ 1 << 63 } else { !bits }
}

fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key })
}

struct Search<'a> {
    table: &'a WeightedTable,
    /// Distances as keys.
    distances: Vec<AtomicU64>,
    /// The distances of the frontier as the round began.
    frozen: Vec<AtomicU64>,
    parents: Vec<AtomicU32>,
    /// The last round in which a vertex came nearer.
    rounds: Vec<AtomicU32>,
    /// A vertex with an edge of negative weight to itself, or one that is nearer than any number says.
    loops: AtomicU32,
}

impl<'a> Search<'a> {
    fn new(table: &'a WeightedTable, sources: &[VertexId]) -> Self {
        let numbers = |of: u64| (0..table.id_bound()).map(|_| AtomicU64::new(of)).collect::<Vec<_>>();
        let counts = |of: u32| (0..table.id_bound()).map(|_| AtomicU32::new(of)).collect::<Vec<_>>();
        let search = Search {
            table,
            distances: numbers(key(f64::INFINITY)),
            frozen: numbers(0),
            parents: counts(NO_VERTEX),
            rounds: counts(0),
            loops: AtomicU32::new(NO_VERTEX),
        };
        for &source in sources {
            search.distances[source as usize].store(key(0.0), Relaxed);
            search.parents[source as usize].store(source, Relaxed);
        }
        search
    }

    fn run(
        &mut self,
        mut frontier: VertexSubset,
        vertices: u64,
        control: &Control,
    ) -> Result<(), AlgorithmError> {
        control.check()?;
        control.progress(0, 0);
        let (mut round, mut since_check) = (0, 0);
        while !frontier.is_empty() {
            round += 1;
            let last = frontier;
            frontier = self.relax(&last, round, control)?;
            let negative_loop = self.loops.load(Relaxed);
            if negative_loop != NO_VERTEX {
                return Err(AlgorithmError::NegativeCycle { vertex: negative_loop });
            }
            since_check += frontier.len() as u64;
            if since_check >= vertices || u64::from(round) >= vertices {
                since_check = 0;
                self.check_tree(control)?;
            }
            // Paths have fewer edges than there are vertices.
            if let Some(&vertex) = frontier.ids().iter().min().filter(|_| u64::from(round) > vertices) {
                return Err(AlgorithmError::NegativeCycle { vertex });
            }
            // There may be as many rounds as vertices, and are usually a few.
            control.progress(u64::from(round), 0);
        }
        let rounds = u64::from(round).max(1);
        control.progress(rounds, rounds);
        Ok(())
    }

    /// One round; gives the vertices that came nearer.
    fn relax(
        &self,
        frontier: &VertexSubset,
        round: u32,
        control: &Control,
    ) -> Result<VertexSubset, AlgorithmError> {
        vertex_map(frontier, control, |vertex| {
            let distance = self.distances[vertex as usize].load(Relaxed);
            self.frozen[vertex as usize].store(distance, Relaxed);
        })?;
        let far = |src: VertexId, weight: f64| number(self.frozen[src as usize].load(Relaxed)) + weight;
        let reach = |src: VertexId, dst: VertexId, weight: f64| {
            let far = far(src, weight);
            let distance = &self.distances[dst as usize];
            if far == f64::INFINITY
                || key(far) >= distance.load(Relaxed)
                || key(far) >= distance.fetch_min(key(far), Relaxed)
            {
                return false;
            }
            if src == dst || far == f64::NEG_INFINITY {
                self.loops.fetch_min(src, Relaxed);
            }
            self.rounds[dst as usize].swap(round, Relaxed) != round
        };
        let nearer = weighted_edge_map(self.table, frontier, reach, control)?;
        vertex_map(&nearer, control, |vertex| self.parents[vertex as usize].store(NO_VERTEX, Relaxed))?;
        let adopt = |src: VertexId, dst: VertexId, weight: f64| {
            let came_nearer = self.rounds[dst as usize].load(Relaxed) == round;
            if came_nearer && key(far(src, weight)) == self.distances[dst as usize].load(Relaxed) {
                self.parents[dst as usize].fetch_min(src, Relaxed);
            }
            false
        };
        weighted_edge_map(self.table, frontier, adopt, control)?;
        Ok(nearer)
    }

    /// Follows parents from every vertex; a cycle of them has negative weight.
    fn check_tree(&self, control: &Control) -> Result<(), AlgorithmError> {
        let mut seen_from = vec![NO_VERTEX; self.parents.len()];
        for start in 0..self.parents.len() as VertexId {
            if start.is_multiple_of(1 << 16) {
                control.check()?;
            }
            let mut vertex = start;
            while vertex != NO_VERTEX && seen_from[vertex as usize] == NO_VERTEX {
                seen_from[vertex as usize] = start;
                let parent = self.parents[vertex as usize].load(Relaxed);
                vertex = if parent == vertex { NO_VERTEX } else { parent };
            }
            if vertex != NO_VERTEX && seen_from[vertex as usize] == start {
                return Err(AlgorithmError::NegativeCycle { vertex });
            }
        }
        Ok(())
    }

    fn finish(self) -> BellmanFord {
        let distances: Vec<f64> =
            self.distances.into_iter().map(|distance| number(distance.into_inner())).collect();
        let parents: Vec<VertexId> = self.parents.into_iter().map(AtomicU32::into_inner).collect();
        let reached = parents.iter().filter(|&&parent| parent != NO_VERTEX).count() as u64;
        BellmanFord { distances, parents, reached }
    }
}

/// Checks a result against relaxing all edges until nothing changes, to the last bit, and that each parent gives its
/// child its distance: O(V E).
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    weight: &Weight,
    result: &BellmanFord,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = weighted_lists(view, weight)?;
    let mut distances = vec![f64::INFINITY; lists.len()];
    sources.iter().for_each(|&source| distances[source as usize] = 0.0);
    let mut changed = true;
    for _ in 0..=lists.len() {
        control.check()?;
        changed = false;
        for (vertex, list) in lists.iter().enumerate() {
            for &(neighbor, weight) in list {
                let far = distances[vertex] + weight;
                if far < distances[neighbor as usize] {
                    distances[neighbor as usize] = far;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    ensure(!changed, || "there is a cycle of negative weight".to_owned())?;
    ensure(result.distances.len() == distances.len(), || format!("{} distances", result.distances.len()))?;
    ensure(result.parents.len() == distances.len(), || format!("{} parents", result.parents.len()))?;
    // Whether the edge from the parent gives a vertex its distance.
    let mut is_given = vec![false; distances.len()];
    for (parent, list) in (0..).zip(&lists) {
        control.check()?;
        for &(vertex, weight) in list.iter().filter(|(vertex, _)| result.parents[*vertex as usize] == parent)
        {
            is_given[vertex as usize] |= distances[parent as usize] + weight == distances[vertex as usize];
        }
    }
    for (vertex, (found, wanted)) in result.distances.iter().zip(&distances).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} is at distance {found}, {wanted} expected"))?;
        let parent = result.parents[vertex];
        let is_source = || *wanted == 0.0 && sources.contains(&parent);
        let holds = match wanted.is_finite() {
            false => parent == NO_VERTEX,
            true => is_given[vertex] || (parent as usize == vertex && is_source()),
        };
        ensure(holds, || format!("vertex {vertex} cannot have parent {parent}"))?;
    }
    let reached = distances.iter().filter(|distance| distance.is_finite()).count() as u64;
    ensure(result.reached == reached, || format!("{} reached, {reached} expected", result.reached))
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "bellman_ford",
    summary: "The least total weight of a path from the nearest source to every vertex, weights of any sign",
    complexity: "O(V E) at worst, O(E) per round and usually few rounds",
    source: "Bellman: On a Routing Problem, Quarterly of Applied Mathematics 16, 1958; as \
             networkx.single_source_bellman_ford_path_length",
    arguments: &[Argument::required("source", Kind::Vertices, "the vertices to start from"), WEIGHT],
    results: &[
        Field { name: "distance", summary: "the distance from the nearest source; infinite if not reached" },
        Field { name: "parent", summary: "the vertex before; a source's is itself; null if not reached" },
        Field { name: "reached", summary: "vertices reached, sources included" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let (sources, weight) = (arguments.vertices("source"), arguments.weight());
    let result = bellman_ford(view, sources, &weight, control)?;
    if check == Check::Verify {
        verify(view, sources, &weight, &result, control)?;
    }
    Ok(Outcome::by_vertex(
        vec![
            ("distance", VertexColumn::Floats(result.distances)),
            ("parent", VertexColumn::Vertices(result.parents)),
        ],
        vec![("reached", Scalar::Count(result.reached))],
    ))
}
