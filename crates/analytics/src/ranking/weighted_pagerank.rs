//! PageRank in its general form: weighted edges, a vector to start from, and a place of its own for what dangles.
//!
//! Method: that of `pagerank.rs`, in 64 bits, with a vertex handing its score to its out-neighbors in proportion to the
//! weights of the edges. A vertex whose weights add up to 0 dangles, as in NetworkX. Where the weights of some vertex are so
//! large or so small that sums of them say nothing, those of each vertex are scaled by a power of two: only proportions
//! count.
//!
//! Invariant: as in `pagerank.rs`.

use evergraph_types::Direction;
use evergraph_view::GraphView;

use crate::engine::matrix::{Matrix, distance, is_extreme, sum};
use crate::engine::parallel::{ITEMS_PER_TASK, map};
use crate::engine::weights::Sign;
use crate::{AlgorithmError, Control, PageRank, PageRankOptions};

/// Iterates as the options say, which have been checked.
pub(crate) fn iterate(
    view: &dyn GraphView,
    options: &PageRankOptions,
    control: &Control,
) -> Result<PageRank, AlgorithmError> {
    let flat = view.flat();
    let vertices = view.num_vertices() as f64;
    let matrix =
        |direction| Matrix::new(view, &flat, direction, (&options.weight, Sign::NotNegative), control);
    let (degrees, scales) = degrees(matrix(Direction::Out)?, control)?;
    let mut matrix = matrix(Direction::In)?;
    if let Some(scales) = scales {
        matrix.scale_columns(&scales, control)?;
    }
    let uniform =
        || (0..view.id_bound()).map(|vertex| f64::from(u8::from(view.has_vertex(vertex)))).collect();
    let shares = |weights: &Option<Vec<f64>>| proportions(weights.clone().unwrap_or_else(uniform));
    let jump = shares(&options.personalization);
    let dangling =
        options.dangling.as_ref().map_or_else(|| jump.clone(), |weights| proportions(weights.clone()));
    let mut scores = shares(&options.nstart);
    let (mut handed, mut next) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
    let (mut iterations, mut error) = (0, f64::INFINITY);
    let threshold = vertices * options.tol;
    while iterations < options.max_iter && error >= threshold && vertices > 0.0 {
        let dangles = |at: usize| if degrees[at] == 0.0 { scores[at] } else { 0.0 };
        let lost = sum(scores.len(), dangles);
        let part = |(score, degree): (&f64, &f64)| if *degree == 0.0 { 0.0 } else { score / degree };
        let known = scores.chunks(ITEMS_PER_TASK).zip(degrees.chunks(ITEMS_PER_TASK));
        map(handed.chunks_mut(ITEMS_PER_TASK).zip(known), |(handed, (scores, degrees))| {
            let known = scores.iter().zip(degrees);
            handed.iter_mut().zip(known).for_each(|(handed, known)| *handed = part(known));
        });
        matrix.times(&handed, &mut next, control, |vertex, gathered| {
            let at = vertex as usize;
            options.alpha * (gathered + lost * dangling[at]) + (1.0 - options.alpha) * jump[at]
        })?;
        error = distance(&next, &scores);
        std::mem::swap(&mut scores, &mut next);
        iterations += 1;
        control.progress(u64::from(iterations), u64::from(options.max_iter));
    }
    let converged = error < threshold || vertices == 0.0;
    Ok(PageRank { scores, iterations, error, converged })
}

/// The sum of the weights of each vertex, and what its weights were multiplied by if they had to be.
fn degrees(mut matrix: Matrix, control: &Control) -> Result<(Vec<f64>, Option<Vec<f64>>), AlgorithmError> {
    let degrees = matrix.row_sums(control)?;
    if !degrees.iter().copied().any(is_extreme) {
        return Ok((degrees, None));
    }
    let scales = matrix.row_scales(control)?;
    matrix.scale_rows(&scales, control)?;
    Ok((matrix.row_sums(control)?, Some(scales)))
}

/// Brought to sum 1; zeros stay what they are.
pub(crate) fn proportions(mut weights: Vec<f64>) -> Vec<f64> {
    let total = sum(weights.len(), |at| weights[at]);
    if total > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= total);
    }
    weights
}
