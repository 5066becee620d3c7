//! PageRank: the time of an iteration, of as many on both sides, in single precision as GAPBS has it.
//!
//! What GAPBS calls PageRank lets the scores of vertices without out-edges leak away and gives a share to vertices
//! without any edges. Both change all other scores by the same factor, so that the scores agree once they are brought
//! to the same sum: the system `x = (1 - d)/n + d A x` has the same solution as that with the leak paid back evenly,
//! up to a factor. That is compared at the fixed point, outside the times.

use evergraph::algorithms::{self, Control, PageRankOptions};
use evergraph_yardstick as yardstick;

use super::report::{Bar, Row};
use super::subjects::Subjects;
use super::timing::{in_turns, time};
use crate::error::CommandError;

const ITERATIONS: u32 = 10;
const TURNS_PER_REPEAT: usize = 3;
/// Small enough never to end the iterations early, large enough for single precision.
const TOLERANCE: f64 = 1e-10;
/// Iterations after which both sides are at the fixed point: what is left of the start is 0.85^80.
const ITERATIONS_TO_END: u32 = 80;
/// How far the sums of scores may be apart.
const DIFFERENCE: f64 = 1e-4;

/// Measures.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let flat = evergraph::GraphView::flat(&subjects.snapshot);
    let options = PageRankOptions { max_iter: ITERATIONS, tol: TOLERANCE, ..PageRankOptions::default() };
    let their_options = yardstick::PageRankOptions::iterations(ITERATIONS as usize);
    let pair = in_turns::<CommandError>(
        repeats * TURNS_PER_REPEAT,
        || {
            let (seconds, found) = time(|| algorithms::pagerank(&*flat, &options, &Control::new()));
            Ok(seconds / f64::from(found?.iterations.max(1)))
        },
        || {
            let (seconds, found) = time(|| yardstick::pagerank::<f32>(&subjects.yardstick, their_options));
            Ok(seconds / found.iterations.max(1) as f64)
        },
    )?;
    let difference = difference(subjects)?;
    let what = format!("scores differ by {difference:.1e} in all");
    let row = Row::times("pagerank, an iteration", pair).bar(Bar::Ratio(1.3));
    Ok(vec![row.agreement(difference <= DIFFERENCE, what)])
}

/// The L1 difference of the scores at the fixed point, brought to sum 1 over the vertices of the store.
fn difference(subjects: &Subjects) -> Result<f64, CommandError> {
    let options = PageRankOptions { max_iter: ITERATIONS_TO_END, tol: 0.0, ..PageRankOptions::default() };
    let ours = algorithms::pagerank(&subjects.snapshot, &options, &Control::new())?.scores;
    let their_options = yardstick::PageRankOptions::iterations(ITERATIONS_TO_END as usize);
    let theirs = yardstick::pagerank::<f64>(&subjects.yardstick, their_options).scores;
    let pairs: Vec<(f64, f64)> =
        subjects.vertices().map(|(id, number)| (ours[id as usize], theirs[number as usize])).collect();
    let (our_sum, their_sum) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    Ok(pairs.iter().map(|(ours, theirs)| (ours / our_sum - theirs / their_sum).abs()).sum())
}
