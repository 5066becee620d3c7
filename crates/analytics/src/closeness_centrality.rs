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
//! Complexity: O(V (V + E) / 64) when searches overlap, as they do in graphs of small diameter.
//!
//! Invariant: sums of distances are whole numbers, so the result does not depend on threads.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;
use rayon::prelude::*;

use crate::bitmap::bits;
use crate::control::{ensure, in_pool, require_sources};
use crate::multi_bfs::{MultiBfs, SEARCHES};
use crate::per_thread::PerThread;
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, VertexColumn};
use crate::{AlgorithmError, Control, UNREACHED, VerifyError};

/// The arguments of [`closeness_centrality`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosenessOptions {
    /// Of these vertices only; of all if absent.
    pub u: Option<Vec<VertexId>>,
    /// Scale by the share of vertices that reach the vertex.
    pub wf_improved: bool,
}

impl Default for ClosenessOptions {
    fn default() -> Self {
        ClosenessOptions { u: None, wf_improved: true }
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
        let flat = view.flat();
        let vertices = asked_for(view, options);
        let searches = PerThread::new(|| MultiBfs::new(&flat));
        let (done, total) = (AtomicU64::new(0), vertices.len() as u64);
        control.check()?;
        control.progress(0, total);
        let batches = vertices.par_chunks(SEARCHES).map(|batch| -> Result<Vec<f64>, AlgorithmError> {
            control.check()?;
            let mut sums = [(0u64, 0u64); SEARCHES];
            searches.with(|search| {
                search.run(&flat, Direction::In, batch, control, |level, _, reached_by| {
                    for search in bits(reached_by) {
                        let (count, sum) = &mut sums[search as usize];
                        (*count, *sum) = (*count + 1, *sum + u64::from(level));
                    }
                })
            })?;
            let size = batch.len() as u64;
            control.progress(done.fetch_add(size, Relaxed) + size, total);
            let score = |&(count, sum): &(u64, u64)| closeness(count, sum, view.num_vertices(), options);
            Ok(sums.iter().take(batch.len()).map(score).collect())
        });
        let found = batches.collect::<Result<Vec<_>, _>>()?.concat();
        let mut scores = vec![f64::NAN; view.id_bound() as usize];
        vertices.iter().zip(found).for_each(|(&vertex, score)| scores[vertex as usize] = score);
        Ok(scores)
    })
}

fn asked_for(view: &dyn GraphView, options: &ClosenessOptions) -> Vec<VertexId> {
    let all = || (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
    options.u.clone().unwrap_or_else(all)
}

/// From how many others reach the vertex, and their distances.
fn closeness(count: u64, sum: u64, vertices: u64, options: &ClosenessOptions) -> f64 {
    if sum == 0 {
        return 0.0;
    }
    let plain = count as f64 / sum as f64;
    if options.wf_improved { plain * (count as f64 / (vertices - 1) as f64) } else { plain }
}

/// Checks scores against one search with a queue for each vertex: O(V (V + E)).
pub fn verify(view: &dyn GraphView, options: &ClosenessOptions, result: &[f64]) -> Result<(), VerifyError> {
    ensure(result.len() == view.id_bound() as usize, || format!("{} scores", result.len()))?;
    let mut expected = vec![f64::NAN; result.len()];
    for vertex in asked_for(view, options) {
        let distances = distances_to(view, vertex);
        let others = distances.iter().filter(|&&distance| distance != UNREACHED && distance != 0);
        let sum = others.clone().map(|&distance| u64::from(distance)).sum();
        expected[vertex as usize] = closeness(others.count() as u64, sum, view.num_vertices(), options);
    }
    for (vertex, (found, wanted)) in result.iter().zip(&expected).enumerate() {
        let agrees = found == wanted || (found.is_nan() && wanted.is_nan());
        ensure(agrees, || format!("vertex {vertex} has {found}, {wanted} expected"))?;
    }
    Ok(())
}

fn distances_to(view: &dyn GraphView, target: VertexId) -> Vec<u32> {
    let mut distances = vec![UNREACHED; view.id_bound() as usize];
    distances[target as usize] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(vertex) = queue.pop_front() {
        let next = distances[vertex as usize] + 1;
        view.for_each_slice(Direction::In, vertex, &mut |slice| {
            for &neighbor in slice {
                if distances[neighbor as usize] == UNREACHED {
                    distances[neighbor as usize] = next;
                    queue.push_back(neighbor);
                }
            }
            ControlFlow::Continue(())
        });
    }
    distances
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "closeness_centrality",
    summary: "How near a vertex is to those that reach it",
    complexity: "O(V (V + E)), 64 vertices at a time",
    source: "Freeman: Centrality in social networks, Social Networks 1, 1979; Then et al.: The More the Merrier, PVLDB \
             8(4), 2014, section 3; as networkx.closeness_centrality",
    arguments: &[
        Argument::optional("u", Kind::Vertices, "all", "of these vertices only"),
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
        u: Some(arguments.vertices("u").to_vec()).filter(|vertices| !vertices.is_empty()),
        wf_improved: arguments.flag("wf_improved").unwrap_or(true),
    };
    let result = closeness_centrality(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result)?;
    }
    Ok(Outcome::by_vertex(vec![("closeness", VertexColumn::Floats(result))], Vec::new()))
}
