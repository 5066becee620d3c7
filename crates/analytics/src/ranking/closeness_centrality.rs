//! Closeness centrality: how near a vertex is to those that reach it.
//!
//! Method: the reciprocal of the mean distance (Freeman, "Centrality in social networks", Social Networks 1, 1979), by
//! breadth-first searches against the edges from 64 vertices at a time (`multi_bfs.rs`), batches in parallel. Semantics are
//! those of `networkx.closeness_centrality`: with `r` vertices that reach v, itself included, of N in all,
//!
//! ```text
//!   closeness(v) = (r - 1) / (sum of their distances to v)  *  (r - 1) / (N - 1)
//!                                                              only if wf_improved (Wasserman, Faust 1994, p. 201)
//! ```
//!
//! Complexity: O(V (V + E) / 64) when searches overlap, as they do in graphs of small diameter. Where edges have lengths,
//! Dijkstra's algorithm from each vertex, in parallel: O(V (V + E) log V).
//!
//! Invariant: sums of distances are whole numbers or taken the nearest first, so the result does not depend on threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::bitmap::bits;
use crate::engine::control::{ensure, require_sources};
use crate::engine::parallel::{in_pool, try_map};
use crate::engine::per_thread::PerThread;
use crate::engine::weights::{Sign, Weight, WeightedTable, sums_too_large};
use crate::paths::dijkstra::Dijkstra;
use crate::paths::multi_bfs::{MultiBfs, SEARCHES};
use crate::paths::sssp::dijkstra;
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, VertexColumn, invalid};
use crate::{AlgorithmError, Control, SsspOptions, UNREACHED};

/// The argument that names the lengths of edges.
const DISTANCE: &str = "distance";

/// The arguments of [`closeness_centrality`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosenessOptions {
    /// Of these vertices only, of none if there are none; of all if absent.
    pub u: Option<Vec<VertexId>>,
    /// What the length of an edge is, from 0; 1 by default.
    pub distance: Weight,
    /// Scale by the share of vertices that reach the vertex.
    pub wf_improved: bool,
}

impl Default for ClosenessOptions {
    fn default() -> Self {
        ClosenessOptions { u: None, distance: Weight::One, wf_improved: true }
    }
}

/// The closeness of each vertex id; not a number for those that were not asked for.
///
/// ```
/// use evergraph_analytics::{ClosenessOptions, Control, closeness_centrality};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(3, &[(0, 1), (1, 2)], true);
/// let scores = closeness_centrality(&path, &ClosenessOptions::default(), &Control::new())?;
/// assert_eq!(scores, [2.0 / 3.0, 1.0, 2.0 / 3.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn closeness_centrality(
    view: &dyn GraphView,
    options: &ClosenessOptions,
    control: &Control,
) -> Result<Vec<f64>, AlgorithmError> {
    require_sources(view, options.u.as_deref().unwrap_or_default())?;
    in_pool(|| {
        let vertices = asked_for(view, options);
        control.check()?;
        control.progress(0, vertices.len() as u64);
        let sums = match options.distance.lists(view)? {
            None => sums_by_hops(view, &vertices, control)?,
            Some(_) => sums_by_distance(view, &options.distance, &vertices, control)?,
        };
        let mut scores = vec![f64::NAN; view.id_bound() as usize];
        for (&vertex, (count, sum)) in vertices.iter().zip(sums) {
            let score = closeness(count, sum, view.num_vertices(), options);
            if sum.is_infinite() {
                return Err(sums_too_large(DISTANCE));
            }
            if score.is_infinite() {
                let why =
                    "distances are so small that their reciprocals are beyond all numbers; scale them up";
                return Err(invalid(DISTANCE, why.to_owned()));
            }
            scores[vertex as usize] = score;
        }
        Ok(scores)
    })
}

/// How many others reach each vertex, and the sum of their distances in hops.
fn sums_by_hops(
    view: &dyn GraphView,
    vertices: &[VertexId],
    control: &Control,
) -> Result<Vec<(u64, f64)>, AlgorithmError> {
    let flat = view.flat();
    let searches = PerThread::new(|| MultiBfs::new(&flat));
    let (done, total) = (AtomicU64::new(0), vertices.len() as u64);
    let batches = try_map(control, vertices.chunks(SEARCHES), |batch| {
        let mut sums = [(0u64, 0u64); SEARCHES];
        searches.with(|search| {
            search.run(&flat, Direction::In, (batch, UNREACHED), control, |level, _, reached_by| {
                for search in bits(reached_by) {
                    let (count, sum) = &mut sums[search as usize];
                    (*count, *sum) = (*count + 1, *sum + u64::from(level));
                }
            })
        })?;
        let size = batch.len() as u64;
        control.progress(done.fetch_add(size, Relaxed) + size, total);
        Ok(sums.iter().take(batch.len()).map(|&(count, sum)| (count, sum as f64)).collect::<Vec<_>>())
    });
    Ok(batches?.concat())
}

/// The same by the lengths of edges, added up the nearest first.
fn sums_by_distance(
    view: &dyn GraphView,
    distance: &Weight,
    vertices: &[VertexId],
    control: &Control,
) -> Result<Vec<(u64, f64)>, AlgorithmError> {
    let flat = view.flat();
    let table = WeightedTable::new(view, &flat, distance, Direction::In, Sign::NotNegative, control)?;
    let searches = PerThread::new(|| Dijkstra::new(table.id_bound(), DISTANCE));
    let (done, total) = (AtomicU64::new(0), vertices.len() as u64);
    try_map(control, vertices, |&vertex| {
        let add = |order: &[VertexId], distances: &[f64]| {
            let sum = order.iter().map(|&other| distances[other as usize]).sum();
            (order.len() as u64 - 1, sum)
        };
        let sums = searches.with(|search| search.run(&table, vertex, control, add))?;
        control.progress(done.fetch_add(1, Relaxed) + 1, total);
        Ok(sums)
    })
}

fn asked_for(view: &dyn GraphView, options: &ClosenessOptions) -> Vec<VertexId> {
    let all = || (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
    options.u.clone().unwrap_or_else(all)
}

/// From how many others reach the vertex, and their distances.
fn closeness(count: u64, sum: f64, vertices: u64, options: &ClosenessOptions) -> f64 {
    if sum == 0.0 {
        return 0.0;
    }
    let plain = count as f64 / sum;
    if options.wf_improved { plain * (count as f64 / (vertices - 1) as f64) } else { plain }
}

/// Checks scores against one run of Dijkstra's algorithm for each vertex: O(V (V + E) log V). Sums may differ by rounding.
pub fn verify(
    view: &dyn GraphView,
    options: &ClosenessOptions,
    result: &[f64],
    control: &Control,
) -> Result<(), AlgorithmError> {
    ensure(result.len() == view.id_bound() as usize, || format!("{} scores", result.len()))?;
    let mut expected = vec![f64::NAN; result.len()];
    let search = SsspOptions { weight: options.distance.clone(), reverse: true, ..SsspOptions::default() };
    for vertex in asked_for(view, options) {
        control.check()?;
        let distances = dijkstra(view, &[vertex], &search);
        let distances = distances?;
        let reached = distances.iter().filter(|distance| distance.is_finite());
        let (count, sum) = (reached.clone().count() as u64 - 1, reached.sum());
        expected[vertex as usize] = closeness(count, sum, view.num_vertices(), options);
    }
    for (vertex, (found, wanted)) in result.iter().zip(&expected).enumerate() {
        control.check()?;
        let agrees = (found - wanted).abs() <= 1e-12 * wanted || (found.is_nan() && wanted.is_nan());
        ensure(agrees, || format!("vertex {vertex} has {found}, {wanted} expected"))?;
    }
    Ok(())
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "closeness_centrality",
    summary: "How near a vertex is to those that reach it",
    complexity: "O(V (V + E)), 64 vertices at a time; with distances O(V (V + E) log V)",
    source: "Freeman: Centrality in social networks, Social Networks 1, 1979; Then et al.: The More the Merrier, PVLDB \
             8(4), 2014, section 3; as networkx.closeness_centrality",
    arguments: &[
        Argument::optional("u", Kind::Vertices, "all", "of these vertices only"),
        Argument::optional(
            DISTANCE,
            Kind::Text,
            "none: every edge is 1 long",
            "the property of edges that is their length, from 0; 1 where an edge has none",
        ),
        Argument::optional(
            "wf_improved",
            Kind::Flag,
            "true",
            "scale by the share of vertices that reach the vertex",
        ),
    ],
    results: &[Field {
        name: "closeness",
        summary: "the reciprocal of the mean distance, scaled; not a number for vertices that were not asked for",
    }],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let options = ClosenessOptions {
        u: arguments.optional_vertices("u").map(<[VertexId]>::to_vec),
        distance: arguments.weight_named(DISTANCE),
        wf_improved: arguments.flag("wf_improved").unwrap_or(true),
    };
    let result = closeness_centrality(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(Outcome::by_vertex(vec![("closeness", VertexColumn::Floats(result))], Vec::new()))
}
