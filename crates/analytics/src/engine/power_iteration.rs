//! What methods have in common that repeat a step until scores hardly change.
//!
//! Invariant: `converged` says whether the last error was below the threshold.

use crate::engine::control::ensure;
use crate::registry::{Outcome, Scalar, VertexColumn, invalid};
use crate::{AlgorithmError, Control};

/// Scores that were iterated.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerIteration {
    /// The score of each vertex id; 0 where there is no vertex.
    pub scores: Vec<f64>,
    /// How many iterations were done.
    pub iterations: u32,
    /// The L1 change of the last iteration; infinite if there was none.
    pub error: f64,
    /// Whether the error fell below the tolerance.
    pub converged: bool,
}

impl PowerIteration {
    pub(crate) fn into_outcome(self) -> Outcome {
        Outcome::by_vertex(
            vec![("score", VertexColumn::Floats(self.scores))],
            vec![
                ("iterations", Scalar::Count(u64::from(self.iterations))),
                ("error", Scalar::Float(self.error)),
                ("converged", Scalar::Flag(self.converged)),
            ],
        )
    }
}

/// Refuses a tolerance that is none.
pub(crate) fn check_tol(tol: f64) -> Result<(), AlgorithmError> {
    if tol.is_nan() || tol < 0.0 {
        return Err(invalid("tol", format!("{tol} is not 0 or above")));
    }
    Ok(())
}

/// Refuses scores that differ from others by more than rounding.
pub(crate) fn verify_scores(found: &[f64], wanted: &[f64]) -> Result<(), AlgorithmError> {
    ensure(found.len() == wanted.len(), || format!("{} scores", found.len()))?;
    let size = wanted.iter().fold(1.0f64, |size, score| size.max(score.abs()));
    for (vertex, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let agrees = (found - wanted).abs() <= 1e-9 * size;
        ensure(agrees, || format!("vertex {vertex} has {found}, {wanted} expected"))?;
    }
    Ok(())
}

/// Repeats a slow step as often as the result says it was done, checks that it ended where it should, and gives what
/// came out.
pub(crate) fn verify_iterations(
    start: Vec<f64>,
    result: &PowerIteration,
    (vertices, tol, max_iter): (u64, f64, u32),
    step: impl Fn(&[f64]) -> Vec<f64>,
    control: &Control,
) -> Result<Vec<f64>, AlgorithmError> {
    let size = start.iter().map(|score| score.abs()).sum::<f64>().max(1.0);
    let (mut scores, mut error) = (start, f64::INFINITY);
    let threshold = vertices as f64 * tol;
    let allowed = 1e-9 * size;
    for iteration in 0..result.iterations {
        control.check()?;
        ensure(error >= threshold - allowed, || format!("{iteration} iterations were enough"))?;
        let next = step(&scores);
        error = next.iter().zip(&scores).map(|(next, last)| (next - last).abs()).sum();
        scores = next;
    }
    let allowed = 1e-9 * scores.iter().map(|score| score.abs()).sum::<f64>().max(1.0);
    ensure(result.iterations == 0 || (result.error - error).abs() <= allowed, || {
        format!("error {:e}, {error:e} expected", result.error)
    })?;
    let converged = result.error < threshold || vertices == 0;
    ensure(result.converged == converged, || format!("converged is {}", result.converged))?;
    let ended = converged || result.iterations == max_iter;
    ensure(ended, || format!("it stopped after {} iterations", result.iterations))?;
    Ok(scores)
}
