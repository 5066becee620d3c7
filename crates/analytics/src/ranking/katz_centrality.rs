//! Katz centrality: how many walks lead to a vertex, longer ones counting less.
//!
//! Method: the sum of all powers of the matrix by iteration (Katz, "A New Status Index Derived from Sociometric
//! Analysis", Psychometrika 18, 1953). Semantics are those of `networkx.katz_centrality`:
//!
//! ```text
//!   x'[v] = alpha * sum over in-edges u -> v of w(u, v) * x[u]  +  beta;     stops when  sum |x' - x| < N * tol
//! ```
//!
//! It converges if `alpha` is below the reciprocal of the largest eigenvalue. Parallel edges count each. Complexity:
//! O(V + E) per iteration.
//!
//! Invariant: scores do not depend on threads; normalized ones have length 1.

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::matrix::{Matrix, distance, length, scale};
use crate::engine::parallel::in_pool;
use crate::engine::power_iteration::{PowerIteration, check_tol, verify_iterations, verify_scores};
use crate::engine::weights::{Sign, Weight, weighted_lists};
use crate::registry::{
    Algorithm, Argument, Arguments, CONVERGED, Check, ERROR, Field, ITERATIONS, Kind, OPTIONAL_WEIGHT,
    Outcome, TOLERANCE, invalid, invalid_at,
};
use crate::{AlgorithmError, Control};

/// Iterations, and half of those done, that must have changed the scores more than the one before each for `alpha` to be
/// too large.
const GROWING: u32 = 20;

/// The arguments of [`katz_centrality`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq)]
pub struct KatzOptions {
    /// What each further step of a walk counts.
    pub alpha: f64,
    /// What each vertex has to begin with.
    pub beta: f64,
    /// What each vertex id has to begin with, if they differ; `beta` if absent.
    pub betas: Option<Vec<f64>>,
    /// The most iterations.
    pub max_iter: u32,
    /// Converged when the scores change by less than this per vertex on average.
    pub tol: f64,
    /// What the first iteration starts from, a number per vertex id; 0 if absent.
    pub nstart: Option<Vec<f64>>,
    /// Bring the scores to length 1.
    pub normalized: bool,
    /// What an edge weighs.
    pub weight: Weight,
}

impl Default for KatzOptions {
    fn default() -> Self {
        KatzOptions {
            alpha: 0.1,
            beta: 1.0,
            betas: None,
            max_iter: 1000,
            tol: 1e-6,
            nstart: None,
            normalized: true,
            weight: Weight::One,
        }
    }
}

impl KatzOptions {
    fn beta_of(&self, vertex: VertexId) -> f64 {
        self.betas.as_ref().map_or(self.beta, |betas| betas[vertex as usize])
    }
}

/// Katz centrality. Stops at `max_iter` without an error; `converged` then says `false`. Scores that grow without a limit,
/// because `alpha` is too large, are an error.
///
/// ```
/// use evergraph_analytics::{Control, KatzOptions, katz_centrality};
/// use evergraph_view::FlatView;
///
/// let star = FlatView::from_edges(3, &[(1, 0), (2, 0)], false);
/// let options = KatzOptions { normalized: false, ..KatzOptions::default() };
/// let result = katz_centrality(&star, &options, &Control::new())?;
/// assert_eq!(result.scores, [1.2, 1.0, 1.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn katz_centrality(
    view: &dyn GraphView,
    options: &KatzOptions,
    control: &Control,
) -> Result<PowerIteration, AlgorithmError> {
    check(view, options)?;
    in_pool(|| {
        let flat = view.flat();
        let matrix = Matrix::new(view, &flat, Direction::In, (&options.weight, Sign::Any), control)?;
        let mut scores = start(view, options);
        let mut next = scores.clone();
        let vertices = view.num_vertices();
        let threshold = vertices as f64 * options.tol;
        let (mut iterations, mut error, mut growing) = (0, f64::INFINITY, 0);
        control.check()?;
        control.progress(0, u64::from(options.max_iter));
        while iterations < options.max_iter && error >= threshold && vertices > 0 {
            matrix.times(&scores, &mut next, control, |vertex, sum| {
                options.alpha * sum + options.beta_of(vertex)
            })?;
            let last = std::mem::replace(&mut error, distance(&next, &scores));
            if !error.is_finite() {
                return Err(diverges(options.alpha));
            }
            growing = if error > last { growing + 1 } else { 0 };
            std::mem::swap(&mut scores, &mut next);
            iterations += 1;
            control.progress(u64::from(iterations), u64::from(options.max_iter));
        }
        // Scores that come to a limit change less and less; only at first may they do otherwise.
        if error >= threshold && growing >= GROWING && growing >= iterations / 2 {
            return Err(diverges(options.alpha));
        }
        let norm = length(&scores);
        if options.normalized && norm > 0.0 {
            scale(&mut scores, 1.0 / norm);
        }
        let converged = error < threshold || vertices == 0;
        Ok(PowerIteration { scores, iterations, error, converged })
    })
}

fn check(view: &dyn GraphView, options: &KatzOptions) -> Result<(), AlgorithmError> {
    check_tol(options.tol)?;
    for (name, value) in [("alpha", options.alpha), ("beta", options.beta)] {
        if !value.is_finite() {
            return Err(invalid(name, format!("{value} is not a finite number")));
        }
    }
    for (name, numbers) in [("nstart", &options.nstart), ("beta", &options.betas)] {
        let Some(numbers) = numbers else { continue };
        if numbers.len() != view.id_bound() as usize {
            return Err(invalid(name, "a number for each vertex id is wanted".to_owned()));
        }
        if let Some((vertex, number)) = (0..).zip(numbers).find(|(_, number)| !number.is_finite()) {
            return Err(invalid_at(name, vertex, format!("{number} is not a finite number")));
        }
    }
    Ok(())
}

fn diverges(alpha: f64) -> AlgorithmError {
    let why = format!(
        "with {alpha} the scores grow without a limit; it must be below the reciprocal of the largest eigenvalue of the \
         graph"
    );
    invalid("alpha", why)
}

fn start(view: &dyn GraphView, options: &KatzOptions) -> Vec<f64> {
    options.nstart.clone().unwrap_or_else(|| vec![0.0; view.id_bound() as usize])
}

/// Checks a result against as many iterations that push each score along the out-edges, one vertex at a time:
/// O(iterations * (V + E)).
pub fn verify(
    view: &dyn GraphView,
    options: &KatzOptions,
    result: &PowerIteration,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = weighted_lists(view, &options.weight);
    let lists = lists?;
    let step = |scores: &[f64]| {
        let mut sums = vec![0.0; scores.len()];
        for (list, score) in lists.iter().zip(scores) {
            list.iter().for_each(|&(neighbor, weight)| sums[neighbor as usize] += weight * score);
        }
        let exists = |vertex: usize| view.has_vertex(vertex as VertexId);
        let next = |(vertex, sum): (usize, &f64)| {
            if exists(vertex) { options.alpha * sum + options.beta_of(vertex as VertexId) } else { 0.0 }
        };
        sums.iter().enumerate().map(next).collect()
    };
    let limits = (view.num_vertices(), options.tol, options.max_iter);
    let mut wanted = verify_iterations(start(view, options), result, limits, step, control)?;
    let norm = length(&wanted);
    if options.normalized && norm > 0.0 {
        wanted.iter_mut().for_each(|score| *score /= norm);
    }
    verify_scores(&result.scores, &wanted)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "katz_centrality",
    summary: "How many walks lead to a vertex, longer ones counting less",
    complexity: "O(V + E) per iteration",
    source: "Katz: A New Status Index Derived from Sociometric Analysis, Psychometrika 18, 1953; as \
             networkx.katz_centrality",
    arguments: &[
        Argument::optional(
            "alpha",
            Kind::Float,
            "0.1",
            "what each further step counts; below the reciprocal of the largest eigenvalue",
        ),
        Argument::optional(
            "beta",
            Kind::FloatOrWeights,
            "1.0",
            "what each vertex has to begin with; of numbers by vertex, 0 for those without one",
        ),
        Argument::optional("max_iter", Kind::Count, "1000", "the most iterations"),
        TOLERANCE,
        Argument::optional(
            "nstart",
            Kind::Weights,
            "0 for each vertex",
            "what the first iteration starts from",
        ),
        Argument::optional("normalized", Kind::Flag, "true", "bring the scores to length 1"),
        OPTIONAL_WEIGHT,
    ],
    results: &[Field { name: "score", summary: "the score of the vertex" }, ITERATIONS, ERROR, CONVERGED],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let default = KatzOptions::default();
    let options = KatzOptions {
        alpha: arguments.float("alpha").unwrap_or(default.alpha),
        beta: arguments.float("beta").unwrap_or(default.beta),
        betas: arguments.weights("beta").map(<[f64]>::to_vec),
        max_iter: arguments.count("max_iter").unwrap_or(default.max_iter),
        tol: arguments.float("tol").unwrap_or(default.tol),
        nstart: arguments.weights("nstart").map(<[f64]>::to_vec),
        normalized: arguments.flag("normalized").unwrap_or(default.normalized),
        weight: arguments.optional_weight(),
    };
    let result = katz_centrality(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(result.into_outcome())
}
