//! Single-source shortest paths: the least total weight of a path from the nearest source to every vertex.
//!
//! Method: delta-stepping (Meyer and Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of
//! Algorithms 49, 2003, section 2), light and heavy edges alike as in the GAP Benchmark Suite (arXiv 1508.03619).
//! The loop is in `delta_stepping.rs`, what it runs on in `lengths.rs`.
//!
//! Complexity: O(V + E) expected work on random weights, at worst that of Bellman-Ford; with weights of 1 for all edges it
//! is a breadth-first search.
//!
//! Invariant: distances only fall, and at the end `d[v] = min(d[u] + w(u, v))` in floating point. That has one solution,
//! so the result is that of Dijkstra's algorithm to the last bit, whatever the threads and `delta`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::{ensure, require_sources};
use crate::engine::lengths::{LengthTable, Lengths};
use crate::engine::parallel::in_pool;
use crate::engine::weights::{Sign, Weight, WeightedTable, require_reached};
use crate::paths::delta_stepping::delta_stepping;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, REVERSE, Scalar, VertexColumn, WEIGHT,
    invalid,
};
use crate::{AlgorithmError, BfsOptions, Control, UNREACHED, bfs};

/// The arguments of [`sssp`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SsspOptions {
    /// What an edge weighs; from 0.
    pub weight: Weight,
    /// Against the edges of a directed view.
    pub reverse: bool,
    /// Vertices farther than this are not reached.
    pub cutoff: Option<f64>,
    /// The width of a bucket, a matter of speed alone; chosen by the weights if absent.
    pub delta: Option<f64>,
}

impl SsspOptions {
    pub(crate) fn of(arguments: &Arguments) -> Self {
        SsspOptions {
            weight: arguments.weight(),
            reverse: arguments.flag("reverse").unwrap_or_default(),
            cutoff: arguments.float("cutoff"),
            delta: arguments.float("delta"),
        }
    }

    pub(crate) fn check(&self) -> Result<(), AlgorithmError> {
        if self.delta.is_some_and(|delta| !(delta > 0.0 && delta.is_finite())) {
            return Err(invalid("delta", "it is the width of a bucket, a number above 0".to_owned()));
        }
        if self.cutoff.is_some_and(|cutoff| cutoff.is_nan() || cutoff < 0.0) {
            return Err(invalid("cutoff", "it is a distance, a number from 0".to_owned()));
        }
        Ok(())
    }

    pub(crate) fn direction(&self) -> Direction {
        if self.reverse { Direction::In } else { Direction::Out }
    }

    pub(crate) fn cutoff(&self) -> f64 {
        self.cutoff.unwrap_or(f64::MAX)
    }
}

/// What [`sssp`] found, by vertex id.
#[derive(Clone, Debug, PartialEq)]
pub struct Sssp {
    /// The distance from the nearest source; infinite where there is no path.
    pub distances: Vec<f64>,
    /// How many vertices were reached, sources included.
    pub reached: u64,
}

/// The distance of every vertex from the nearest of `sources`.
///
/// ```
/// use evergraph_analytics::{Control, SsspOptions, sssp};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_weighted_edges(4, &[(0, 1, 5.0), (0, 2, 1.0), (2, 1, 1.5)], false);
/// let result = sssp(&view, &[0], &SsspOptions::default(), &Control::new())?;
/// assert_eq!(result.distances, [0.0, 2.5, 1.0, f64::INFINITY]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn sssp(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &SsspOptions,
    control: &Control,
) -> Result<Sssp, AlgorithmError> {
    require_sources(view, sources)?;
    options.check()?;
    if options.weight.lists(view)?.is_none() {
        return unweighted(view, sources, options, control);
    }
    in_pool(|| {
        let flat = view.flat();
        let lengths = Lengths::of(view, &flat, &options.weight, options.direction(), control)?;
        let width = options.delta.unwrap_or(lengths.usual_delta);
        let (bound, cutoff) = (view.num_vertices(), options.cutoff());
        let found = match &lengths.table {
            LengthTable::Whole(table) => delta_stepping(table, sources, width, cutoff, bound, control)?,
            LengthTable::Real(table) => delta_stepping(table, sources, width, cutoff, bound, control)?,
        };
        let distances = match found {
            Some(distances) => distances,
            // Distances may be beyond 32 bits where lengths are not.
            None => {
                let (weight, direction) = (&options.weight, options.direction());
                let table = WeightedTable::new(view, &flat, weight, direction, Sign::NotNegative, control)?;
                delta_stepping(&table, sources, width, cutoff, bound, control)?.unwrap_or_default()
            }
        };
        let reached = distances.iter().filter(|distance| distance.is_finite()).count() as u64;
        if cutoff >= f64::MAX {
            require_reached(view, (sources, options.reverse), lengths.largest, reached, control)?;
        }
        Ok(Sssp { distances, reached })
    })
}

/// Hops are distances where every edge weighs 1.
fn unweighted(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &SsspOptions,
    control: &Control,
) -> Result<Sssp, AlgorithmError> {
    let depth_limit = options.cutoff.map(|cutoff| cutoff as u32);
    let found = bfs(view, sources, &BfsOptions { reverse: options.reverse, depth_limit }, control)?;
    let distance = |&hops: &u32| if hops == UNREACHED { f64::INFINITY } else { f64::from(hops) };
    Ok(Sssp { distances: found.distances.iter().map(distance).collect(), reached: found.reached })
}

/// Checks a result against Dijkstra's algorithm, to the last bit: O((V + E) log E).
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &SsspOptions,
    result: &Sssp,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let expected = dijkstra(view, sources, options)?;
    ensure(result.distances.len() == expected.len(), || format!("{} distances", result.distances.len()))?;
    for (vertex, (found, wanted)) in result.distances.iter().zip(&expected).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} is at distance {found}, {wanted} expected"))?;
    }
    let reached = expected.iter().filter(|distance| distance.is_finite()).count() as u64;
    ensure(result.reached == reached, || format!("{} reached, {reached} expected", result.reached))
}

pub(crate) fn dijkstra(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &SsspOptions,
) -> Result<Vec<f64>, AlgorithmError> {
    let flat = view.flat();
    let (weight, control) = (&options.weight, Control::new());
    let table = WeightedTable::new(view, &flat, weight, options.direction(), Sign::NotNegative, &control)?;
    let mut distances = vec![f64::INFINITY; view.id_bound() as usize];
    sources.iter().for_each(|&source| distances[source as usize] = 0.0);
    // Distances are from 0, so their bits are in the same order.
    let mut queue: BinaryHeap<_> = sources.iter().map(|&source| Reverse((0u64, source))).collect();
    while let Some(Reverse((bits, vertex))) = queue.pop() {
        if bits > distances[vertex as usize].to_bits() {
            continue;
        }
        for (neighbor, weight) in table.edges(vertex) {
            let far = f64::from_bits(bits) + weight;
            if far < distances[neighbor as usize] && far <= options.cutoff() {
                distances[neighbor as usize] = far;
                queue.push(Reverse((far.to_bits(), neighbor)));
            }
        }
    }
    Ok(distances)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "sssp",
    summary: "The least total weight of a path from the nearest source to every vertex",
    complexity: "O(V + E) expected for random weights",
    source: "Meyer, Sanders: Delta-stepping: a parallelizable shortest path algorithm, J. Algorithms 49, 2003, \
             section 2",
    arguments: &[
        Argument::required("source", Kind::Vertices, "the vertices to start from"),
        WEIGHT,
        REVERSE,
        Argument::optional("cutoff", Kind::Float, "none", "do not go farther than this"),
        Argument::optional(
            "delta",
            Kind::Float,
            "by the weights",
            "the width of a bucket, a matter of speed",
        ),
    ],
    results: &[
        Field { name: "distance", summary: "the distance from the nearest source; infinite if not reached" },
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
    let sources = arguments.vertices("source");
    let options = SsspOptions::of(arguments);
    let result = sssp(view, sources, &options, control)?;
    if check == Check::Verify {
        verify(view, sources, &options, &result, control)?;
    }
    Ok(result.into())
}

impl From<Sssp> for Outcome {
    fn from(result: Sssp) -> Self {
        Outcome::by_vertex(
            vec![("distance", VertexColumn::Floats(result.distances))],
            vec![("reached", Scalar::Count(result.reached))],
        )
    }
}
