//! HITS: good hubs point to good authorities, and good authorities are pointed to by good hubs.
//!
//! Method: mutual reinforcement (Kleinberg, "Authoritative Sources in a Hyperlinked Environment", J. ACM 46, 1999,
//! section 3), which finds the first singular vectors of the adjacency matrix. Semantics are those of `networkx.hits`:
//!
//! ```text
//!   a[v]  = sum over in-edges u -> v of w(u, v) * h[u]       brought to sum 1
//!   h'[u] = sum over out-edges u -> v of w(u, v) * a[v]      brought to sum 1;     stops when  sum |h' - h| < tol
//! ```
//!
//! Parallel edges count each. Complexity: O(V + E) per iteration.
//!
//! Invariant: scores do not depend on threads; without edges all are 0.

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::ensure;
use crate::engine::matrix::{Matrix, distance, is_extreme, length, near_one, scale, sum};
use crate::engine::parallel::in_pool;
use crate::engine::power_iteration::{check_tol, verify_scores};
use crate::engine::weights::{Sign, Weight, sums_too_large, weighted_lists};
use crate::ranking::pagerank::check_weights;
use crate::ranking::weighted_pagerank::proportions;
use crate::registry::{
    Algorithm, Argument, Arguments, CONVERGED, Check, Field, ITERATIONS, Kind, Outcome, Scalar, VertexColumn,
    WEIGHT,
};
use crate::{AlgorithmError, Control};

/// The arguments of [`hits`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq)]
pub struct HitsOptions {
    /// The most iterations.
    pub max_iter: u32,
    /// Converged when the hub scores change by less than this in all.
    pub tol: f64,
    /// The hub scores to start from, a number from 0 per vertex id; equal if absent.
    pub nstart: Option<Vec<f64>>,
    /// Bring hubs and authorities to sum 1; otherwise authorities have length 1, and hubs are what they gather from them.
    pub normalized: bool,
    /// What an edge weighs; from 0.
    pub weight: Weight,
}

impl Default for HitsOptions {
    fn default() -> Self {
        HitsOptions { max_iter: 100, tol: 1e-8, nstart: None, normalized: true, weight: Weight::Usual }
    }
}

/// What [`hits`] found, by vertex id; 0 where there is no vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Hits {
    /// How well a vertex points.
    pub hubs: Vec<f64>,
    /// How well it is pointed to.
    pub authorities: Vec<f64>,
    /// How many iterations were done.
    pub iterations: u32,
    /// The L1 change of the hub scores in the last iteration; infinite if there was none.
    pub error: f64,
    /// Whether the error fell below the tolerance.
    pub converged: bool,
}

/// Hubs and authorities. Stops at `max_iter` without an error; `converged` then says `false`.
///
/// ```
/// use evergraph_analytics::{Control, HitsOptions, hits};
/// use evergraph_view::FlatView;
///
/// let star = FlatView::from_edges(3, &[(0, 1), (0, 2)], false);
/// let result = hits(&star, &HitsOptions::default(), &Control::new())?;
/// assert_eq!((result.hubs, result.authorities), (vec![1.0, 0.0, 0.0], vec![0.0, 0.5, 0.5]));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn hits(view: &dyn GraphView, options: &HitsOptions, control: &Control) -> Result<Hits, AlgorithmError> {
    check_tol(options.tol)?;
    if let Some(start) = &options.nstart {
        check_weights(view, "nstart", start)?;
    }
    in_pool(|| {
        let flat = view.flat();
        let matrix = |way| Matrix::new(view, &flat, way, (&options.weight, Sign::NotNegative), control);
        let (to_authorities, to_hubs) = (matrix(Direction::In)?, matrix(Direction::Out)?);
        let mut hubs = start(view, options);
        let (mut next, mut authorities) = (hubs.clone(), vec![0.0; hubs.len()]);
        let (mut iterations, mut error) = (0, f64::INFINITY);
        control.check()?;
        control.progress(0, u64::from(options.max_iter));
        while iterations < options.max_iter && error >= options.tol && view.num_vertices() > 0 {
            to_authorities.times(&hubs, &mut authorities, control, |_, sum| sum)?;
            to_sum_one(&mut authorities)?;
            to_hubs.times(&authorities, &mut next, control, |_, sum| sum)?;
            to_sum_one(&mut next)?;
            error = distance(&next, &hubs);
            std::mem::swap(&mut hubs, &mut next);
            iterations += 1;
            control.progress(u64::from(iterations), u64::from(options.max_iter));
        }
        if !options.normalized {
            let norm = length(&authorities);
            scale(&mut authorities, if norm > 0.0 { 1.0 / norm } else { 1.0 });
            to_hubs.times(&authorities, &mut hubs, control, |_, sum| sum)?;
        }
        let converged = error < options.tol || view.num_vertices() == 0;
        Ok(Hits { hubs, authorities, iterations, error, converged })
    })
}

fn start(view: &dyn GraphView, options: &HitsOptions) -> Vec<f64> {
    let ones = || (0..view.id_bound()).map(|vertex| f64::from(u8::from(view.has_vertex(vertex)))).collect();
    proportions(options.nstart.clone().unwrap_or_else(ones))
}

/// Leaves a vector of zeros as it is.
fn to_sum_one(vector: &mut [f64]) -> Result<(), AlgorithmError> {
    let mut total = sum(vector.len(), |at| vector[at]);
    if !total.is_finite() {
        return Err(sums_too_large(WEIGHT.name));
    }
    if is_extreme(total) {
        scale(vector, near_one(total));
        total = sum(vector.len(), |at| vector[at]);
    }
    scale(vector, if total > 0.0 { 1.0 / total } else { 1.0 });
    Ok(())
}

/// Checks a result against as many iterations over a list of all edges: O(iterations * (V + E)).
pub fn verify(
    view: &dyn GraphView,
    options: &HitsOptions,
    result: &Hits,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = weighted_lists(view, &options.weight);
    let lists = lists?;
    let edges: Vec<(VertexId, VertexId, f64)> = (0..)
        .zip(&lists)
        .flat_map(|(src, list)| list.iter().map(move |&(dst, weight)| (src, dst, weight)))
        .collect();
    let gather = |from: &[f64], edge: fn(&(VertexId, VertexId, f64)) -> (VertexId, VertexId)| {
        let mut sums = vec![0.0; from.len()];
        for it in &edges {
            let (src, dst) = edge(it);
            sums[dst as usize] += it.2 * from[src as usize];
        }
        sums
    };
    let by_sum = |vector: Vec<f64>| {
        let total: f64 = vector.iter().sum();
        vector.iter().map(|item| if total > 0.0 { item / total } else { *item }).collect::<Vec<f64>>()
    };
    let (mut hubs, mut authorities) = (start(view, options), vec![0.0; view.id_bound() as usize]);
    let mut error = f64::INFINITY;
    for iteration in 0..result.iterations {
        control.check()?;
        ensure(error >= options.tol - 1e-12, || format!("{iteration} iterations were enough"))?;
        authorities = by_sum(gather(&hubs, |&(src, dst, _)| (src, dst)));
        let next = by_sum(gather(&authorities, |&(src, dst, _)| (dst, src)));
        error = next.iter().zip(&hubs).map(|(next, last)| (next - last).abs()).sum();
        hubs = next;
    }
    if !options.normalized {
        let norm = authorities.iter().map(|score| score * score).sum::<f64>().sqrt();
        authorities.iter_mut().for_each(|score| *score /= if norm > 0.0 { norm } else { 1.0 });
        hubs = gather(&authorities, |&(src, dst, _)| (dst, src));
    }
    let converged = result.error < options.tol || view.num_vertices() == 0;
    let ended = converged == result.converged && (converged || result.iterations == options.max_iter);
    ensure(ended, || format!("it stopped after {} iterations, error {}", result.iterations, result.error))?;
    verify_scores(&result.hubs, &hubs)?;
    verify_scores(&result.authorities, &authorities)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "hits",
    summary: "How well a vertex points to others, and how well it is pointed to",
    complexity: "O(V + E) per iteration",
    source: "Kleinberg: Authoritative Sources in a Hyperlinked Environment, J. ACM 46, 1999, section 3; as networkx.hits",
    arguments: &[
        Argument::optional("max_iter", Kind::Count, "100", "the most iterations"),
        Argument::optional(
            "tol",
            Kind::Float,
            "1e-8",
            "converged when hub scores change by less than this in all",
        ),
        Argument::optional("nstart", Kind::Weights, "equal", "the hub scores to start from"),
        Argument::optional("normalized", Kind::Flag, "true", "bring hubs and authorities to sum 1"),
        WEIGHT,
    ],
    results: &[
        Field { name: "hub", summary: "how well the vertex points" },
        Field { name: "authority", summary: "how well it is pointed to" },
        ITERATIONS,
        Field { name: "error", summary: "how much the last iteration changed the hub scores in all" },
        CONVERGED,
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let default = HitsOptions::default();
    let options = HitsOptions {
        max_iter: arguments.count("max_iter").unwrap_or(default.max_iter),
        tol: arguments.float("tol").unwrap_or(default.tol),
        nstart: arguments.weights("nstart").map(<[f64]>::to_vec),
        normalized: arguments.flag("normalized").unwrap_or(default.normalized),
        weight: arguments.weight(),
    };
    let result = hits(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(Outcome::by_vertex(
        vec![
            ("hub", VertexColumn::Floats(result.hubs)),
            ("authority", VertexColumn::Floats(result.authorities)),
        ],
        vec![
            ("iterations", Scalar::Count(u64::from(result.iterations))),
            ("error", Scalar::Float(result.error)),
            ("converged", Scalar::Flag(result.converged)),
        ],
    ))
}
