//! Eigenvector centrality: a vertex matters as much as those that point to it matter together.
//!
//! Method: power iteration with the matrix shifted by one, which converges on bipartite graphs too (Bonacich, "Power and
//! Centrality: A Family of Measures", American J. Sociology 92, 1987; shift as in NetworkX). Semantics are those of
//! `networkx.eigenvector_centrality`:
//!
//! ```text
//!   x'[v] = x[v] + sum over in-edges u -> v of w(u, v) * x[u],  brought to length 1;
//!   stops when  sum |x' - x| < N * tol
//! ```
//!
//! Parallel edges count each. Complexity: O(V + E) per iteration.
//!
//! Invariant: scores have length 1 and do not depend on threads.

use evergraph_types::Direction;
use evergraph_view::GraphView;

use crate::engine::matrix::{Matrix, distance, length, scale};
use crate::engine::parallel::in_pool;
use crate::engine::power_iteration::{PowerIteration, check_tol, verify_iterations, verify_scores};
use crate::engine::weights::{Sign, Weight, sums_too_large, weighted_lists};
use crate::ranking::pagerank::check_weights;
use crate::registry::{
    Algorithm, Argument, Arguments, CONVERGED, Check, ERROR, Field, ITERATIONS, Kind, OPTIONAL_WEIGHT,
    Outcome, TOLERANCE, WEIGHT,
};
use crate::{AlgorithmError, Control};

/// The arguments of [`eigenvector_centrality`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq)]
pub struct EigenvectorOptions {
    /// The most iterations.
    pub max_iter: u32,
    /// Converged when the scores change by less than this per vertex on average.
    pub tol: f64,
    /// What the first iteration starts from, a number from 0 per vertex id; 1 for each vertex if absent.
    pub nstart: Option<Vec<f64>>,
    /// What an edge weighs; from 0.
    pub weight: Weight,
}

impl Default for EigenvectorOptions {
    fn default() -> Self {
        EigenvectorOptions { max_iter: 100, tol: 1e-6, nstart: None, weight: Weight::One }
    }
}

/// Eigenvector centrality. Stops at `max_iter` without an error; `converged` then says `false`.
///
/// ```
/// use evergraph_analytics::{Control, EigenvectorOptions, eigenvector_centrality};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(3, &[(0, 1), (1, 2)], true);
/// let result = eigenvector_centrality(&path, &EigenvectorOptions::default(), &Control::new())?;
/// assert!(result.converged && (result.scores[1] - 0.5f64.sqrt()).abs() < 1e-5);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn eigenvector_centrality(
    view: &dyn GraphView,
    options: &EigenvectorOptions,
    control: &Control,
) -> Result<PowerIteration, AlgorithmError> {
    check_tol(options.tol)?;
    if let Some(start) = &options.nstart {
        check_weights(view, "nstart", start)?;
    }
    in_pool(|| {
        let flat = view.flat();
        let weight = (&options.weight, Sign::NotNegative);
        let matrix = Matrix::new(view, &flat, Direction::In, weight, control)?;
        let mut scores = start(view, options);
        let mut next = scores.clone();
        let vertices = view.num_vertices();
        let threshold = vertices as f64 * options.tol;
        let (mut iterations, mut error) = (0, f64::INFINITY);
        control.check()?;
        control.progress(0, u64::from(options.max_iter));
        while iterations < options.max_iter && error >= threshold && vertices > 0 {
            matrix.times(&scores, &mut next, control, |vertex, sum| scores[vertex as usize] + sum)?;
            let norm = length(&next);
            if !norm.is_finite() {
                return Err(sums_too_large(WEIGHT.name));
            }
            scale(&mut next, if norm > 0.0 { 1.0 / norm } else { 1.0 });
            error = distance(&next, &scores);
            std::mem::swap(&mut scores, &mut next);
            iterations += 1;
            control.progress(u64::from(iterations), u64::from(options.max_iter));
        }
        let converged = error < threshold || vertices == 0;
        Ok(PowerIteration { scores, iterations, error, converged })
    })
}

/// With sum 1, as NetworkX begins.
fn start(view: &dyn GraphView, options: &EigenvectorOptions) -> Vec<f64> {
    let ones = || (0..view.id_bound()).map(|vertex| f64::from(u8::from(view.has_vertex(vertex)))).collect();
    crate::ranking::weighted_pagerank::proportions(options.nstart.clone().unwrap_or_else(ones))
}

/// Checks a result against as many iterations that push each score along the out-edges, one vertex at a time:
/// O(iterations * (V + E)).
pub fn verify(
    view: &dyn GraphView,
    options: &EigenvectorOptions,
    result: &PowerIteration,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = weighted_lists(view, &options.weight);
    let lists = lists?;
    let step = |scores: &[f64]| {
        let mut next = scores.to_vec();
        for (list, score) in lists.iter().zip(scores) {
            list.iter().for_each(|&(neighbor, weight)| next[neighbor as usize] += weight * score);
        }
        // Of parts of the largest, whose squares are numbers.
        let largest = next.iter().copied().fold(0.0, f64::max);
        let squares = next.iter().map(|score| (score / largest).powi(2)).sum::<f64>();
        let norm = if largest > 0.0 { largest * squares.sqrt() } else { 0.0 };
        next.iter().map(|score| if norm > 0.0 { score / norm } else { *score }).collect()
    };
    let limits = (view.num_vertices(), options.tol, options.max_iter);
    let wanted = verify_iterations(start(view, options), result, limits, step, control)?;
    verify_scores(&result.scores, &wanted)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "eigenvector_centrality",
    summary: "How much those that point to a vertex matter together",
    complexity: "O(V + E) per iteration",
    source: "Bonacich: Power and Centrality, American J. Sociology 92, 1987; as networkx.eigenvector_centrality",
    arguments: &[
        Argument::optional("max_iter", Kind::Count, "100", "the most iterations"),
        TOLERANCE,
        Argument::optional(
            "nstart",
            Kind::Weights,
            "1 for each vertex",
            "what the first iteration starts from",
        ),
        OPTIONAL_WEIGHT,
    ],
    results: &[
        Field { name: "score", summary: "the score of the vertex; their squares add up to 1" },
        ITERATIONS,
        ERROR,
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
    let default = EigenvectorOptions::default();
    let options = EigenvectorOptions {
        max_iter: arguments.count("max_iter").unwrap_or(default.max_iter),
        tol: arguments.float("tol").unwrap_or(default.tol),
        nstart: arguments.weights("nstart").map(<[f64]>::to_vec),
        weight: arguments.optional_weight(),
    };
    let result = eigenvector_centrality(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(result.into_outcome())
}
