//! PageRank: the share of time a random surfer spends at each vertex, plain or personalized.
//!
//! Method: power iteration, each vertex pulling from its in-neighbors (Page, Brin, Motwani, Winograd, "The PageRank
//! Citation Ranking", Stanford 1999; kernel as in Beamer et al., "The GAP Benchmark Suite", arXiv 1508.03619).
//! Semantics are those of `networkx.pagerank`: with `p` the personalization, or 1/N for every vertex,
//!
//! ```text
//!   x' = alpha * (sum over in-edges u->v of x[u] / outdegree[u]  +  dangling * p[v])  +  (1 - alpha) * p[v]
//!   dangling = sum of x[u] over vertices without out-edges;     stops when  sum |x' - x| < N * tol
//! ```
//!
//! Parallel edges count each; an edge of a symmetric view counts in both directions. Complexity: O(V + E) per iteration.
//! Weighted edges are for `weighted_pagerank.rs`.
//!
//! Invariant: scores of existing vertices add up to 1 (up to rounding), others are 0; sums are taken range by range in
//! a fixed order, so the result does not depend on the number of threads.

use std::hint::select_unpredictable;
use std::ops::Range;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::control::ensure;
use crate::engine::gather::{GATHERED, Gather};
use crate::engine::matrix::{largest, near_one};
use crate::engine::parallel::{filled, for_each, in_pool, try_map};
use crate::engine::weights::{Weight, weighted_lists};
use crate::ranking::weighted_pagerank;
use crate::registry::{
    Algorithm, Argument, Arguments, CONVERGED, Check, ERROR, Field, ITERATIONS, Kind, OPTIONAL_WEIGHT,
    Outcome, Scalar, TOLERANCE, VertexColumn, invalid, invalid_at,
};
use crate::{AlgorithmError, Control};

/// The arguments of [`pagerank`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRankOptions {
    /// The chance that the surfer follows an edge rather than jump; 0 to 1.
    pub alpha: f64,
    /// Where the surfer jumps to, and from vertices without out-edges: a weight per vertex id, brought to sum 1.
    /// Uniform if absent.
    pub personalization: Option<Vec<f64>>,
    /// The most iterations.
    pub max_iter: u32,
    /// Converged when the scores change by less than this per vertex on average.
    pub tol: f64,
    /// What the first iteration starts from: a weight per vertex id, brought to sum 1. Uniform if absent.
    pub nstart: Option<Vec<f64>>,
    /// What an edge weighs, from 0: out-edges are followed in proportion. 1 by default.
    pub weight: Weight,
    /// Where the surfer goes from vertices without out-edges: a weight per vertex id, brought to sum 1. As
    /// `personalization` if absent.
    pub dangling: Option<Vec<f64>>,
}

impl Default for PageRankOptions {
    fn default() -> Self {
        PageRankOptions {
            alpha: 0.85,
            personalization: None,
            max_iter: 100,
            tol: 1e-6,
            nstart: None,
            weight: Weight::One,
            dangling: None,
        }
    }
}

impl PageRankOptions {
    pub(crate) fn of(arguments: &Arguments) -> Self {
        let default = Self::default();
        PageRankOptions {
            alpha: arguments.float("alpha").unwrap_or(default.alpha),
            personalization: arguments.weights("personalization").map(<[f64]>::to_vec),
            max_iter: arguments.count("max_iter").unwrap_or(default.max_iter),
            tol: arguments.float("tol").unwrap_or(default.tol),
            nstart: arguments.weights("nstart").map(<[f64]>::to_vec),
            weight: arguments.optional_weight(),
            dangling: arguments.weights("dangling").map(<[f64]>::to_vec),
        }
    }
}

/// What [`pagerank`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRank {
    /// The score of each vertex id; 0 where there is no vertex.
    pub scores: Vec<f64>,
    /// How many iterations were done.
    pub iterations: u32,
    /// The L1 change of the last iteration; infinite if there was none.
    pub error: f64,
    /// Whether the error fell below N * tol.
    pub converged: bool,
}

/// PageRank by power iteration. Stops at `max_iter` without an error; `converged` then says `false`.
///
/// ```
/// use evergraph_analytics::{Control, PageRankOptions, pagerank};
/// use evergraph_view::FlatView;
///
/// let star = FlatView::from_edges(3, &[(1, 0), (2, 0)], false);
/// let result = pagerank(&star, &PageRankOptions::default(), &Control::new())?;
/// assert!(result.converged && result.scores[0] > result.scores[1]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn pagerank(
    view: &dyn GraphView,
    options: &PageRankOptions,
    control: &Control,
) -> Result<PageRank, AlgorithmError> {
    check(view, options)?;
    if is_general(view, options)? {
        return in_pool(|| weighted_pagerank::iterate(view, options, control));
    }
    let flat = view.flat();
    in_pool(|| match fits_single_precision(flat.num_vertices(), options.tol) {
        true => iterate::<f32>(&flat, options, control),
        false => iterate::<f64>(&flat, options, control),
    })
}

/// Whether there is more to do than the loops of this file can.
fn is_general(view: &dyn GraphView, options: &PageRankOptions) -> Result<bool, AlgorithmError> {
    Ok(options.nstart.is_some() || options.dangling.is_some() || options.weight.lists(view)?.is_some())
}

fn iterate<S: Share>(
    view: &FlatView,
    options: &PageRankOptions,
    control: &Control,
) -> Result<PageRank, AlgorithmError> {
    let vertices = view.num_vertices() as f64;
    let threshold = vertices * options.tol;
    // Scaled, so that their sum can be divided by however small they are.
    let weights = options.personalization.as_deref().map(|weights| {
        let by = near_one(largest(weights));
        weights.iter().map(|weight| weight * by).collect::<Vec<f64>>()
    });
    let weights = weights.as_deref();
    let total_weight = weights.map_or(vertices, |weights| weights.iter().sum());
    let alpha = options.alpha;
    let mut state = State::<S>::new(view, control)?;
    let (mut iterations, mut error) = (0, f64::INFINITY);
    while iterations < options.max_iter && error >= threshold && vertices > 0.0 {
        let jump = (alpha * state.dangling + (1.0 - alpha)) / total_weight;
        error = match weights {
            None => state.advance(control, move |_, sum| alpha * sum + jump),
            Some(weights) => {
                state.advance(control, move |vertex, sum| alpha * sum + jump * weights[vertex as usize])
            }
        }?;
        iterations += 1;
        control.progress(u64::from(iterations), u64::from(options.max_iter));
    }
    let converged = error < threshold || vertices == 0.0;
    Ok(PageRank { scores: state.scores(control)?, iterations, error, converged })
}

/// How much rounding to 32 bits moves a number, relative to it.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// Whether shares may be kept in 32 bits between iterations: they take half the cache, and an iteration on a Kronecker
/// graph of 2^20 vertices 0.85 of the time, or half where others use the cache too. Sums are taken in 64 bits.
///
/// Rounding moves a share by at most 2^-24 of itself, so the scores, which add up to 1, move by at most 2^-24 (6e-8) in
/// one iteration (L1) and 1 / (1 - alpha) times that in all. That is let pass where an iteration of it is at most a
/// hundredth of what the tolerance lets pass, and on graphs whose shares do not fit the second-level cache anyway.
fn fits_single_precision(vertices: u64, tol: f64) -> bool {
    vertices >= 1 << 17 && vertices as f64 * tol >= 100.0 * ROUNDING
}

fn check(view: &dyn GraphView, options: &PageRankOptions) -> Result<(), AlgorithmError> {
    let invalid = |name, why| Err(invalid(name, why));
    if !(0.0..=1.0).contains(&options.alpha) {
        return invalid("alpha", format!("{} is not between 0 and 1", options.alpha));
    }
    if options.tol.is_nan() || options.tol < 0.0 {
        return invalid("tol", format!("{} is not 0 or above", options.tol));
    }
    let vectors = [
        ("personalization", &options.personalization),
        ("nstart", &options.nstart),
        ("dangling", &options.dangling),
    ];
    let given = vectors.into_iter().filter_map(|(name, weights)| Some((name, weights.as_deref()?)));
    given.into_iter().try_for_each(|(name, weights)| check_weights(view, name, weights))
}

/// Whether these can be brought to sum 1.
pub(crate) fn check_weights(view: &dyn GraphView, name: &str, weights: &[f64]) -> Result<(), AlgorithmError> {
    let invalid = |why| Err(invalid(name, why));
    let invalid_at = |vertex, why| Err(invalid_at(name, vertex, why));
    if weights.len() != view.id_bound() as usize {
        return invalid(format!("{} weights for {} vertex ids", weights.len(), view.id_bound()));
    }
    for (vertex, &weight) in (0..).zip(weights) {
        if !(weight >= 0.0 && weight.is_finite()) {
            return invalid_at(vertex, format!("weight {weight} is not 0 or above"));
        }
        if weight > 0.0 && !view.has_vertex(vertex) {
            return invalid_at(vertex, "the view has no such vertex".to_owned());
        }
    }
    if weights.iter().sum::<f64>().is_infinite() {
        return invalid("the weights add up to infinity; scale them down".to_owned());
    }
    if view.num_vertices() > 0 && weights.iter().all(|&weight| weight == 0.0) {
        return invalid("all weights are 0; give at least one vertex a weight".to_owned());
    }
    Ok(())
}

/// What a vertex hands to each of its out-neighbors, in the precision it is kept in between iterations.
trait Share: Copy + Default + Send + Sync {
    fn from_f64(share: f64) -> Self;
    fn to_f64(&self) -> f64;
}

impl Share for f64 {
    fn from_f64(share: f64) -> Self {
        share
    }

    fn to_f64(&self) -> f64 {
        *self
    }
}

impl Share for f32 {
    fn from_f64(share: f64) -> Self {
        share as f32
    }

    fn to_f64(&self) -> f64 {
        f64::from(*self)
    }
}

/// What one iteration changed: the L1 error and the score of vertices without out-edges.
#[derive(Clone, Copy, Default)]
struct Change {
    error: f64,
    dangling: f64,
}

impl Change {
    fn plus(self, other: &Change) -> Change {
        Change { error: self.error + other.error, dangling: self.dangling + other.dangling }
    }
}

/// The sum, of every fourth number by itself first.
fn sum_of(numbers: &[f64; GATHERED]) -> f64 {
    let (numbers, _) = numbers.as_chunks::<4>();
    let sums =
        numbers.iter().fold([0.0; 4], |sums, numbers| std::array::from_fn(|lane| sums[lane] + numbers[lane]));
    sums.iter().sum()
}

/// What there is between two iterations. Scores are not kept: a score is a share times the number of shares, and each
/// array that a pass has to read or write besides takes room in the cache from the shares.
struct State<S> {
    gather: Gather,
    /// The score of each vertex divided by its out-degree; the score itself where that is 0, for nobody gathers it.
    shares: Vec<S>,
    next_shares: Vec<S>,
    /// The out-degree of each vertex, half of what the table entries take, or [`MISSING`].
    degrees: Vec<u32>,
    /// The score of all vertices without out-edges.
    dangling: f64,
}

/// What stands for the out-degree of an id that is no vertex.
const MISSING: u32 = u32::MAX;

impl<S: Share> State<S> {
    /// Every vertex has the same score.
    fn new(view: &FlatView, control: &Control) -> Result<Self, AlgorithmError> {
        let none = || filled(S::default(), view.id_bound() as usize);
        let gather = Gather::over(view, Direction::In, control)?;
        let ranges = gather.ranges();
        let (mut shares, mut degrees) = (none(), filled(0, view.id_bound() as usize));
        let start = 1.0 / view.num_vertices().max(1) as f64;
        let places = ranges.iter().zip(ranges.split_mut(&mut shares)).zip(ranges.split_mut(&mut degrees));
        let dangling = try_map(control, places, |((range, shares), degrees)| {
            // Nothing branches on what is as good as random, here and in `State::advance`. With `own` as a third of a `for` loop all
            // before the first iteration takes 9 ms instead of 6.
            let mut own = degrees.iter_mut();
            view.table(Direction::Out).degrees(range.clone()).zip(range).for_each(|(degree, vertex)| {
                if let Some(own) = own.next() {
                    let degree = degree.min(MISSING as usize - 1) as u32;
                    *own = select_unpredictable(view.has_vertex(vertex), degree, MISSING);
                }
            });
            let mut dangling = 0;
            for (share, &degree) in shares.iter_mut().zip(&*degrees) {
                let even = start / f64::from(degree.max(1));
                *share = S::from_f64(if degree == MISSING { 0.0 } else { even });
                dangling += u64::from(degree == 0);
            }
            Ok(dangling)
        })?;
        let dangling = dangling.iter().sum::<u64>() as f64 * start;
        Ok(State { gather, shares, next_shares: none(), degrees, dangling })
    }

    /// Replaces all scores by what `next_score` makes of the sum of the shares that a vertex gathers. Gives the L1 change.
    fn advance(
        &mut self,
        control: &Control,
        next_score: impl Fn(VertexId, f64) -> f64 + Copy + Sync,
    ) -> Result<f64, AlgorithmError> {
        let (shares, degrees) = (&self.shares[..], &self.degrees[..]);
        let finish = |change: &mut Change, vertices: Range<VertexId>, sums: &[f64], next_shares: &mut [S]| {
            // A copy, so that what it refers to stays in registers.
            let score_of = next_score;
            let places = vertices.start as usize..vertices.end as usize;
            let known = shares[places.clone()].iter().zip(&degrees[places]).zip(sums);
            // Which vertices are missing or have no out-edges is as good as random: nothing branches on it, and the totals are taken
            // apart, so that this is done for several vertices at a time.
            let (mut moved, mut lost) = ([0.0; GATHERED], [0.0; GATHERED]);
            let found = next_shares.iter_mut().zip(moved.iter_mut().zip(&mut lost));
            for ((vertex, ((old, &degree), &sum)), (next_share, (moved, lost))) in
                vertices.zip(known).zip(found)
            {
                let score = score_of(vertex, sum);
                let next = if degree == MISSING { 0.0 } else { score };
                let parts = f64::from(degree.max(1));
                *moved = (next - old.to_f64() * parts).abs();
                *lost = if degree == 0 { next } else { 0.0 };
                *next_share = S::from_f64(next / parts);
            }
            change.error += sum_of(&moved);
            change.dangling += sum_of(&lost);
        };
        let changes = self.gather.pass(control, shares, S::to_f64, &mut self.next_shares, finish)?;
        let total = changes.iter().fold(Change::default(), Change::plus);
        self.dangling = total.dangling;
        std::mem::swap(&mut self.shares, &mut self.next_shares);
        Ok(total.error)
    }

    fn scores(&self, control: &Control) -> Result<Vec<f64>, AlgorithmError> {
        let mut scores = filled(0.0, self.shares.len());
        let pieces = self.gather.ranges().iter().zip(self.gather.ranges().split_mut(&mut scores));
        for_each(control, pieces, |(range, scores)| {
            let range = range.start as usize..range.end as usize;
            for ((share, degree), score) in
                self.shares[range.clone()].iter().zip(&self.degrees[range]).zip(scores)
            {
                *score = share.to_f64() * f64::from((*degree).max(1));
            }
        })?;
        Ok(scores)
    }
}

/// Checks a result against as many iterations that push every score along the out-edges, one vertex at a time and in
/// 64 bits throughout: O(iterations * (V + E)).
pub fn verify(
    view: &dyn GraphView,
    options: &PageRankOptions,
    result: &PageRank,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let vertices = view.num_vertices() as f64;
    let lists = weighted_lists(view, &options.weight)?;
    let jump = proportions(view, &options.personalization);
    let lost = if options.dangling.is_some() { proportions(view, &options.dangling) } else { jump.clone() };
    let mut scores = proportions(view, &options.nstart);
    let is_general = is_general(view, options)?;
    let single = fits_single_precision(view.num_vertices(), options.tol) && !is_general;
    let allowed = if single { ROUNDING } else { 1e-13 } * f64::from(result.iterations + 1);
    let mut error = f64::INFINITY;
    for iteration in 0..result.iterations {
        control.check()?;
        ensure(error >= vertices * options.tol - allowed, || format!("{iteration} iterations were enough"))?;
        let next = push_scores(&lists, options.alpha, &jump, &lost, &scores);
        error = distance(&next, &scores);
        scores = next;
    }
    ensure(result.scores.len() == scores.len(), || format!("{} scores", result.scores.len()))?;
    let wrong = distance(&result.scores, &scores);
    ensure(wrong <= allowed, || format!("scores are off by {wrong:e} in all, at most {allowed:e} expected"))?;
    ensure(result.iterations == 0 || (result.error - error).abs() <= 2.0 * allowed, || {
        format!("error {:e}, {error:e} expected", result.error)
    })?;
    let converged = result.error < vertices * options.tol || vertices == 0.0;
    ensure(result.converged == converged, || format!("converged is {}", result.converged))?;
    let ended = converged || result.iterations == options.max_iter;
    ensure(ended, || format!("it stopped after {} iterations", result.iterations))
}

fn proportions(view: &dyn GraphView, weights: &Option<Vec<f64>>) -> Vec<f64> {
    let exists = |vertex| if view.has_vertex(vertex) { 1.0 } else { 0.0 };
    let weights = weights.clone();
    let weights = weights.unwrap_or_else(|| (0..view.id_bound()).map(exists).collect());
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
}

fn push_scores(
    lists: &[Vec<(VertexId, f64)>],
    alpha: f64,
    jump: &[f64],
    lost: &[f64],
    scores: &[f64],
) -> Vec<f64> {
    let mut sums = vec![0.0; scores.len()];
    let mut dangling = 0.0;
    for (list, &score) in lists.iter().zip(scores) {
        // As parts of the largest, weights add up to a number whatever they are.
        let largest = list.iter().map(|&(_, weight)| weight).fold(0.0, f64::max);
        if largest == 0.0 {
            dangling += score;
            continue;
        }
        let total: f64 = list.iter().map(|(_, weight)| weight / largest).sum();
        for &(neighbor, weight) in list {
            sums[neighbor as usize] += score * (weight / largest) / total;
        }
    }
    let places = sums.iter().zip(jump.iter().zip(lost));
    places.map(|(sum, (jump, lost))| alpha * (sum + dangling * lost) + (1.0 - alpha) * jump).collect()
}

fn distance(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).sum()
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "pagerank",
    summary: "The share of time a random surfer spends at each vertex",
    complexity: "O(V + E) per iteration",
    source: "Page, Brin, Motwani, Winograd: The PageRank Citation Ranking, Stanford 1999; as networkx.pagerank",
    arguments: &[
        Argument::optional("alpha", Kind::Float, "0.85", "the chance to follow an edge rather than jump"),
        Argument::optional(
            "personalization",
            Kind::Weights,
            "uniform",
            "where jumps go, and moves from vertices without out-edges unless dangling says otherwise",
        ),
        Argument::optional("max_iter", Kind::Count, "100", "the most iterations"),
        TOLERANCE,
        Argument::optional("nstart", Kind::Weights, "uniform", "what the first iteration starts from"),
        OPTIONAL_WEIGHT,
        Argument::optional(
            "dangling",
            Kind::Weights,
            "as the personalization",
            "where moves from vertices without out-edges go",
        ),
    ],
    results: &[
        Field { name: "score", summary: "the share of the vertex; all add up to 1" },
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
    let options = PageRankOptions::of(arguments);
    let result = pagerank(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(result.into())
}

impl From<PageRank> for Outcome {
    fn from(result: PageRank) -> Self {
        Outcome::by_vertex(
            vec![("score", VertexColumn::Floats(result.scores))],
            vec![
                ("iterations", Scalar::Count(u64::from(result.iterations))),
                ("error", Scalar::Float(result.error)),
                ("converged", Scalar::Flag(result.converged)),
            ],
        )
    }
}
