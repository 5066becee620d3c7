//! Betweenness where paths are shortest by weight.
//!
//! Method: Brandes' accumulation after Dijkstra's algorithm (Brandes, "A Faster Algorithm for Betweenness Centrality",
//! J. Mathematical Sociology 25, 2001, section 4), sources in parallel. Predecessors are not kept: an edge `u -> v` is on a
//! shortest path if `d[u] + w = d[v]`, and going through the vertices by distance, forward for the paths and backward for
//! the dependencies, meets each such edge once.
//!
//! Of parallel edges the lightest counts. Weights are above 0: over edges of weight 0 the number of shortest paths may be
//! infinite. Complexity: O(sources * (V + E) log V).
//!
//! Invariant: sums are taken in order of distance and of sources, so the result does not depend on threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::parallel::try_map;
use crate::engine::per_thread::PerThread;
use crate::engine::weights::{Sign, Weight, WeightedTable, weighted_lists};
use crate::paths::dijkstra::Dijkstra;
use crate::registry::WEIGHT;
use crate::{AlgorithmError, Control};

/// Sources whose parts are kept at once, by thread.
const SOURCES_PER_THREAD: usize = 4;

/// Vertices gone through between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 12;

/// What depends on the vertices that a source reaches.
type Part = Vec<(VertexId, f64)>;

/// Adds the dependencies of all `sources` to `scores`, not yet scaled.
pub(crate) fn accumulate(
    view: &dyn GraphView,
    weight: &Weight,
    (sources, endpoints): (&[VertexId], bool),
    scores: &mut [f64],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let (done, total) = (AtomicU64::new(0), sources.len() as u64);
    control.progress(0, total);
    let flat = view.flat();
    let table = WeightedTable::new(view, &flat, weight, Direction::Out, Sign::Positive, control)?;
    let table = table.merged(control, f64::min)?;
    let searches = PerThread::new(|| Search::new(table.id_bound()));
    let at_once = SOURCES_PER_THREAD * rayon::current_num_threads();
    for sources_at_once in sources.chunks(at_once) {
        let parts = try_map(control, sources_at_once, |&source| {
            let part = searches.with(|search| search.run(&table, source, endpoints, control))?;
            control.progress(done.fetch_add(1, Relaxed) + 1, total);
            Ok(part)
        })?;
        for part in parts {
            part.into_iter().for_each(|(vertex, dependency)| scores[vertex as usize] += dependency);
        }
    }
    Ok(())
}

/// The memory of one thread; all 0 between two runs.
struct Search {
    dijkstra: Dijkstra,
    paths: Vec<f64>,
    dependencies: Vec<f64>,
    /// One more than the place of a vertex in the order of distance.
    places: Vec<u32>,
}

impl Search {
    fn new(bound: VertexId) -> Self {
        let zeros = || vec![0.0; bound as usize];
        Search {
            dijkstra: Dijkstra::new(bound, WEIGHT.name),
            paths: zeros(),
            dependencies: zeros(),
            places: vec![0; bound as usize],
        }
    }

    fn run(
        &mut self,
        table: &WeightedTable,
        source: VertexId,
        endpoints: bool,
        control: &Control,
    ) -> Result<Part, AlgorithmError> {
        let Search { dijkstra, paths, dependencies, places } = self;
        dijkstra.run(table, source, control, |order, distances| {
            (1..).zip(order).for_each(|(place, &vertex)| places[vertex as usize] = place);
            let (known, distance) = (&places[..], |vertex: VertexId| distances[vertex as usize]);
            let next = |vertex: VertexId| {
                // The second condition fails only where a weight is lost by rounding.
                let on_path = move |&(neighbor, weight): &(VertexId, f64)| {
                    distance(vertex) + weight == distance(neighbor)
                        && known[neighbor as usize] > known[vertex as usize]
                };
                table.edges(vertex).filter(on_path).map(|(neighbor, _)| neighbor as usize)
            };
            paths[source as usize] = 1.0;
            for (at, &vertex) in order.iter().enumerate() {
                if at.is_multiple_of(VERTICES_PER_CHECK) {
                    control.check()?;
                }
                let own = paths[vertex as usize];
                next(vertex).for_each(|neighbor| paths[neighbor] += own);
            }
            for (at, &vertex) in order.iter().enumerate().rev() {
                if at.is_multiple_of(VERTICES_PER_CHECK) {
                    control.check()?;
                }
                let own = paths[vertex as usize];
                let share = |neighbor| own / paths[neighbor] * (1.0 + dependencies[neighbor]);
                dependencies[vertex as usize] = next(vertex).map(share).sum();
            }
            let end = if endpoints { 1.0 } else { 0.0 };
            let others = order.iter().skip(1).map(|&vertex| (vertex, dependencies[vertex as usize] + end));
            let own = (source, end * (order.len() - 1) as f64);
            let part: Part = others.chain([own]).collect();
            for &vertex in order {
                paths[vertex as usize] = 0.0;
                dependencies[vertex as usize] = 0.0;
                places[vertex as usize] = 0;
            }
            Ok(part)
        })?
    }
}

/// The same by Brandes' algorithm as it was published, with lists of predecessors and a search of all vertices for the
/// nearest: O(sources * V^2).
pub(crate) fn accumulate_slowly(
    view: &dyn GraphView,
    weight: &Weight,
    (sources, endpoints): (&[VertexId], bool),
    scores: &mut [f64],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut lists = weighted_lists(view, weight)?;
    for list in &mut lists {
        list.sort_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
        list.dedup_by_key(|(neighbor, _)| *neighbor);
    }
    for &source in sources {
        let mut distances = vec![f64::INFINITY; lists.len()];
        let (mut paths, mut before) = (vec![0.0; lists.len()], vec![Vec::<usize>::new(); lists.len()]);
        let (mut order, mut settled) = (Vec::new(), vec![false; lists.len()]);
        (distances[source as usize], paths[source as usize]) = (0.0, 1.0);
        let waiting = |distances: &[f64], settled: &[bool]| {
            let open = (0..lists.len()).filter(|&vertex| !settled[vertex] && distances[vertex].is_finite());
            open.min_by(|&left, &right| distances[left].total_cmp(&distances[right]))
        };
        while let Some(vertex) = waiting(&distances, &settled) {
            control.check()?;
            settled[vertex] = true;
            order.push(vertex);
            for &(neighbor, weight) in &lists[vertex] {
                let (far, neighbor) = (distances[vertex] + weight, neighbor as usize);
                if far < distances[neighbor] {
                    (distances[neighbor], paths[neighbor]) = (far, paths[vertex]);
                    before[neighbor] = vec![vertex];
                } else if far == distances[neighbor] && !settled[neighbor] {
                    paths[neighbor] += paths[vertex];
                    before[neighbor].push(vertex);
                }
            }
        }
        let mut dependencies = vec![0.0; lists.len()];
        for &vertex in order.iter().rev() {
            for &earlier in &before[vertex] {
                dependencies[earlier] += paths[earlier] / paths[vertex] * (1.0 + dependencies[vertex]);
            }
            if vertex != source as usize {
                scores[vertex] += dependencies[vertex] + f64::from(u8::from(endpoints));
            } else if endpoints {
                scores[vertex] += (order.len() - 1) as f64;
            }
        }
    }
    Ok(())
}
