//! PageRank by pulling: a vertex adds up what its in-neighbors hand out, so that nobody writes to another's score.
//!
//! ```text
//! score(u) = (1 - d)/n + d * sum of score(v)/out_degree(v) over in-neighbors v of u
//! ```
//!
//! As in the GAP suite, vertices without out-edges keep what they have: it leaves the system instead of being spread.
//! [`pagerank`] lets new scores be seen within the iteration that made them (Gauss-Seidel), which is what GAPBS
//! times; [`pagerank_jacobi`] lets them be seen in the next one.
//!
//! Invariant: an iteration reads every in-list once, in order; only the in-neighbors' shares are read at random.

use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::Graph;
use crate::csr::ByNeighbor;

/// A floating-point number that scores are kept in: `f32`, as in GAPBS, or `f64`.
pub trait Score:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Sum
    + Into<f64>
{
    /// A place for one score that all threads may read and write.
    type Shared: Send + Sync;
    /// The nearest to a double.
    fn nearest(value: f64) -> Self;
    /// Puts a score into a new shared place.
    fn share(self) -> Self::Shared;
    /// Reads a shared place.
    fn load(shared: &Self::Shared) -> Self;
    /// Writes a shared place.
    fn store(self, shared: &Self::Shared);
}

macro_rules! score {
    ($float:ty, $shared:ty) => {
        impl Score for $float {
            type Shared = $shared;
            fn nearest(value: f64) -> Self {
                value as $float
            }
            fn share(self) -> $shared {
                <$shared>::new(self.to_bits())
            }
            #[inline]
            fn load(shared: &$shared) -> Self {
                <$float>::from_bits(shared.load(Relaxed))
            }
            #[inline]
            fn store(self, shared: &$shared) {
                shared.store(self.to_bits(), Relaxed);
            }
        }
    };
}
score!(f32, AtomicU32);
score!(f64, AtomicU64);

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRankOptions {
    /// The share of a score that follows edges.
    pub damping: f64,
    /// The most iterations.
    pub max_iterations: usize,
    /// Stop after an iteration that changed all scores together by less; 0 never does.
    pub tolerance: f64,
}

impl Default for PageRankOptions {
    /// As GAPBS runs it: damping 0.85, 20 iterations, tolerance 1e-4.
    fn default() -> Self {
        PageRankOptions { damping: 0.85, max_iterations: 20, tolerance: 1e-4 }
    }
}

impl PageRankOptions {
    /// Exactly so many iterations.
    pub fn iterations(count: usize) -> Self {
        PageRankOptions { max_iterations: count, tolerance: 0.0, ..Self::default() }
    }
}

/// Scores and how they were reached.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRank<F> {
    /// The score of each vertex.
    pub scores: Vec<F>,
    /// How many iterations were done.
    pub iterations: usize,
    /// By how much the last iteration changed all scores together.
    pub change: f64,
}

/// Vertices a task works on at a time.
const BLOCK: usize = 1 << 14;

/// PageRank with scores updated in place. With more than one thread the last digits depend on the timing.
pub fn pagerank<F: Score>(graph: &Graph, options: PageRankOptions) -> PageRank<F> {
    let degree = |vertex| F::nearest(graph.out().degree(vertex) as f64);
    let initial = F::nearest(1.0 / graph.num_vertices() as f64);
    let vertices = (0..graph.num_vertices() as u32).into_par_iter();
    let shares: Vec<F::Shared> = vertices.map(|vertex| (initial / degree(vertex)).share()).collect();
    iterate(graph, options, |scores| {
        let shares_of = ByNeighbor::new(graph.incoming(), &shares);
        let publish = |vertex: u32, score: F| (score / degree(vertex)).store(&shares[vertex as usize]);
        pull(&shares_of, options.damping, scores, F::load, publish)
    })
}

/// PageRank in which an iteration sees only the scores of the one before. The same on any number of threads.
pub fn pagerank_jacobi<F: Score>(graph: &Graph, options: PageRankOptions) -> PageRank<F> {
    let mut shares = vec![F::nearest(0.0); graph.num_vertices()];
    iterate(graph, options, |scores| {
        let ends = graph.out().offsets().par_windows(2);
        shares.par_iter_mut().zip(&*scores).zip(ends).with_min_len(BLOCK).for_each(
            |((share, &score), ends)| {
                *share = score / F::nearest((ends[1] - ends[0]) as f64);
            },
        );
        let shares_of = ByNeighbor::new(graph.incoming(), &shares);
        pull(&shares_of, options.damping, scores, |&share| share, |_, _| {})
    })
}

/// Runs `iteration` on the scores until it says that it changed them by less than the tolerance.
fn iterate<F: Score>(
    graph: &Graph,
    options: PageRankOptions,
    mut iteration: impl FnMut(&mut [F]) -> f64,
) -> PageRank<F> {
    let mut scores = vec![F::nearest(1.0 / graph.num_vertices() as f64); graph.num_vertices()];
    let mut change = f64::INFINITY;
    for done in 0..options.max_iterations {
        change = iteration(&mut scores);
        if change < options.tolerance {
            return PageRank { scores, iterations: done + 1, change };
        }
    }
    PageRank { scores, iterations: options.max_iterations, change }
}

/// One iteration: sets every score from the total of its in-neighbors' shares, publishes it, and adds up the changes.
fn pull<F: Score, T: Sync>(
    shares: &ByNeighbor<T>,
    damping: f64,
    scores: &mut [F],
    read: impl Fn(&T) -> F + Sync,
    publish: impl Fn(u32, F) + Sync,
) -> f64 {
    let base = F::nearest((1.0 - damping) / scores.len() as f64);
    let damping = F::nearest(damping);
    let pull_block = |(block, scores): (usize, &mut [F])| {
        let first = block * BLOCK;
        let mut change = 0.0;
        let lists = shares.of(first..first + scores.len());
        for ((vertex, score), list) in (first as u32..).zip(scores).zip(lists) {
            let new = base + damping * list.map(&read).sum();
            change += (new - *score).into().abs();
            *score = new;
            publish(vertex, new);
        }
        change
    };
    scores.par_chunks_mut(BLOCK).enumerate().map(pull_block).sum()
}

/// By how much one more serial iteration, pushed along out-edges, would change all scores together: near the
/// tolerance if they are PageRank.
pub fn pagerank_residual<F: Score>(graph: &Graph, scores: &[F], damping: f64) -> f64 {
    let mut totals = vec![0.0; graph.num_vertices()];
    for (vertex, &score) in (0..).zip(scores) {
        let neighbors = graph.out().neighbors(vertex);
        for &neighbor in neighbors {
            totals[neighbor as usize] += score.into() / neighbors.len() as f64;
        }
    }
    let base = (1.0 - damping) / graph.num_vertices() as f64;
    totals.iter().zip(scores).map(|(total, &score)| (base + damping * total - score.into()).abs()).sum()
}
