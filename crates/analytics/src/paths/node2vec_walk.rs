//! Random walks that remember where they came from: node2vec's, between breadth and depth.
//!
//! Method: second-order walks (Grover, Leskovec, "node2vec: Scalable Feature Learning for Networks", KDD 2016, section
//! 3.2) by rejection (Yang, Zhang, Chen, et al., "KnightKing", SOSP 2019, section 4.2), so that nothing is kept per edge
//! and vertex it was reached from:
//!
//! ```text
//!  from t to v, and on to x with a chance of  w(v, x) * bias
//!                                             bias = 1/p  if x = t        drawn apart where it is the largest
//!                                                    1    if t has an edge to x
//!                                                    1/q  otherwise
//! ```
//!
//! A step that is rejected too often is drawn from its exact chances. Parallel edges count each. Complexity: O(log degree)
//! expected per step, for usual p and q.
//!
//! Invariant: each walk has its own stream of random numbers, so that walks depend on the seed and not on threads.

use std::sync::Arc;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView, Neighbors};

use crate::engine::control::ensure;
use crate::engine::matrix::near_one;
use crate::engine::random::Random;
use crate::engine::weights::{Sign, Weight, WeightedTable, weighted_lists};
use crate::paths::random_walk::{outcome, verify_walks, walk_all};
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, WEIGHT, invalid};
use crate::{AlgorithmError, Control};

/// Draws of a step before its exact chances are worked out.
const MOST_DRAWS: usize = 64;

/// The arguments of [`node2vec_walks`]; the defaults are those of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Node2vecOptions {
    /// Steps of a walk.
    pub length: u32,
    /// Walks from each source.
    pub walks: u32,
    /// Large to keep a walk from going back at once.
    pub p: f64,
    /// Large to keep a walk near where it is, small to make it go far.
    pub q: f64,
    /// What an edge weighs; from 0.
    pub weight: Weight,
    /// Where random numbers begin.
    pub seed: u64,
}

impl Default for Node2vecOptions {
    fn default() -> Self {
        Node2vecOptions { length: 80, walks: 10, p: 1.0, q: 1.0, weight: Weight::Usual, seed: 0 }
    }
}

/// Walks from each of `sources` in turn, all walks of one before those of the next. A walk begins with its source.
///
/// ```
/// use evergraph_analytics::{Control, Node2vecOptions, node2vec_walks};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
/// let options = Node2vecOptions { walks: 1, ..Node2vecOptions::default() };
/// assert_eq!(node2vec_walks(&path, &[0, 2], &options, &Control::new())?, [vec![0, 1, 2], vec![2]]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn node2vec_walks(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &Node2vecOptions,
    control: &Control,
) -> Result<Vec<Vec<VertexId>>, AlgorithmError> {
    for (name, value) in [("p", options.p), ("q", options.q)] {
        let inverse = 1.0 / value;
        if !(value > 0.0 && inverse > 0.0 && inverse.is_finite()) {
            return Err(invalid(name, format!("{value} is not a number above 0")));
        }
    }
    let prepare = |control: &Control| Lists::new(view, &options.weight, control);
    let step = |lists: &Lists, (before, vertex): (Option<VertexId>, VertexId), random: &mut Random| {
        let list = lists.list(vertex);
        match before {
            None => list.at(random.unit() * list.total()).filter(|_| list.total() > 0.0),
            Some(before) => next(lists, &list, before, options, random),
        }
    };
    let shape = (options.walks, options.length, options.seed);
    walk_all(view, sources, shape, control, prepare, step)
}

/// The lists to draw from; all ascend strictly.
enum Lists {
    /// As they lie in the view; every edge weighs 1.
    Plain(Arc<FlatView>),
    /// With weights, and with the sums of those up to each entry.
    Weighted(WeightedTable, Vec<f64>),
}

/// The list of one vertex.
enum List<'a> {
    Plain(Neighbors<'a>),
    Weighted(&'a [VertexId], &'a [f64], &'a [f64]),
}

impl Lists {
    fn new(view: &dyn GraphView, weight: &Weight, control: &Control) -> Result<Self, AlgorithmError> {
        let flat = view.flat();
        if flat.is_sorted() && weight.lists(view)?.is_none() {
            return Ok(Lists::Plain(flat));
        }
        let mut table = WeightedTable::new(view, &flat, weight, Direction::Out, Sign::NotNegative, control)?;
        // Only proportions within a list count, and near 1 their sums and products are numbers.
        let scales = table.scales(control)?;
        table.scale(control, |vertex, _| scales[vertex as usize])?;
        let table = table.merged(control, |left, right| left + right)?;
        let sums = table.running_sums(control)?;
        Ok(Lists::Weighted(table, sums))
    }

    fn list(&self, vertex: VertexId) -> List<'_> {
        match self {
            Lists::Plain(flat) => List::Plain(flat.out_neighbors(vertex)),
            Lists::Weighted(table, sums) => {
                let (neighbors, weights) = table.list(vertex);
                List::Weighted(neighbors, weights, table.part(vertex, sums))
            }
        }
    }
}

impl List<'_> {
    /// The weights of all edges.
    fn total(&self) -> f64 {
        match self {
            List::Plain(list) => list.len() as f64,
            List::Weighted(_, _, sums) => sums.last().copied().unwrap_or(0.0),
        }
    }

    /// The weight of the edge to a vertex, if there is one.
    fn weight_to(&self, vertex: VertexId) -> Option<f64> {
        match self {
            List::Plain(list) => list.contains_sorted(vertex).then_some(1.0),
            List::Weighted(neighbors, weights, _) => {
                neighbors.binary_search(&vertex).ok().map(|at| weights[at])
            }
        }
    }

    /// The neighbor where the running sum of weights exceeds this share of the total.
    fn at(&self, sum: f64) -> Option<VertexId> {
        match self {
            List::Plain(list) => list.get((sum as usize).min(list.len().checked_sub(1)?)),
            List::Weighted(neighbors, weights, sums) => {
                let found = sums.partition_point(|&upto| upto <= sum);
                let last = weights.iter().rposition(|&weight| weight > 0.0)?;
                neighbors.get(found.min(last)).copied()
            }
        }
    }

    /// Calls `visit` with every neighbor and the weight of the edge to it.
    fn for_each(&self, mut visit: impl FnMut(VertexId, f64)) {
        match self {
            List::Plain(list) => list.iter().for_each(|neighbor| visit(neighbor, 1.0)),
            List::Weighted(neighbors, weights, _) => {
                neighbors.iter().zip(*weights).for_each(|(&neighbor, &weight)| visit(neighbor, weight));
            }
        }
    }
}

/// The next vertex of a walk that came from `before`.
fn next(
    lists: &Lists,
    list: &List<'_>,
    before: VertexId,
    options: &Node2vecOptions,
    random: &mut Random,
) -> Option<VertexId> {
    let total = list.total();
    if total <= 0.0 {
        return None;
    }
    let (back, far) = (1.0 / options.p, 1.0 / options.q);
    let origin = lists.list(before);
    let bias = |vertex: VertexId| match vertex {
        _ if vertex == before => back,
        _ if origin.weight_to(vertex).is_some() => 1.0,
        _ => far,
    };
    // What going back has above the most that any other edge has is drawn apart. All by a power of two, so that no product
    // is beyond all numbers.
    let by = near_one(back.max(far).max(1.0));
    let (back, most) = (back * by, far.max(1.0) * by);
    let apart = if back > most { list.weight_to(before).unwrap_or(0.0) * (back - most) } else { 0.0 };
    for _ in 0..MOST_DRAWS {
        let draw = random.unit() * (total * most + apart);
        if apart > 0.0 && draw >= total * most {
            return Some(before);
        }
        let vertex = list.at(draw / most)?;
        if random.unit() * most < bias(vertex) * by {
            return Some(vertex);
        }
    }
    exact_step(list, bias, random)
}

/// The next vertex by the chances of all neighbors.
#[cold]
fn exact_step(list: &List<'_>, bias: impl Fn(VertexId) -> f64, random: &mut Random) -> Option<VertexId> {
    let (mut largest, mut total) = (0.0f64, 0.0);
    list.for_each(|vertex, _| largest = largest.max(bias(vertex)));
    // So that a product of two small numbers is one.
    let by = near_one(largest);
    list.for_each(|vertex, weight| total += weight * (bias(vertex) * by));
    let (mut left, mut chosen) = (random.unit() * total, None);
    list.for_each(|vertex, weight| {
        let chance = weight * (bias(vertex) * by);
        if left >= 0.0 && chance > 0.0 {
            chosen = Some(vertex);
            left -= chance;
        }
    });
    chosen
}

/// Checks every step of every walk against the lists: O(V + E + sum of the degrees met).
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &Node2vecOptions,
    result: &[Vec<VertexId>],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = weighted_lists(view, &options.weight);
    let lists = lists?;
    let weight = |from: VertexId, to: VertexId| {
        let edges = lists[from as usize].iter().filter(|(neighbor, _)| *neighbor == to);
        edges.map(|(_, weight)| weight).sum::<f64>()
    };
    let is_end = |vertex: VertexId| lists[vertex as usize].iter().all(|&(_, weight)| weight == 0.0);
    verify_walks(view, sources, (options.walks, options.length), result, is_end, control)?;
    let empty = result.iter().flat_map(|walk| walk.windows(2)).find(|step| weight(step[0], step[1]) == 0.0);
    ensure(empty.is_none(), || format!("step {empty:?} is over an edge of weight 0"))
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "node2vec_walks",
    summary: "Random walks that stay near or go far, as node2vec draws them",
    complexity: "O(steps log degree) expected",
    source: "Grover, Leskovec: node2vec, KDD 2016, section 3.2; Yang, Zhang, Chen et al.: KnightKing, SOSP 2019, \
             section 4.2",
    arguments: &[
        Argument::required("source", Kind::Vertices, "the vertices to start from"),
        Argument::optional("length", Kind::Count, "80", "the steps of a walk"),
        Argument::optional("walks", Kind::Count, "10", "walks from each vertex"),
        Argument::optional("p", Kind::Float, "1.0", "large to keep a walk from going back at once"),
        Argument::optional("q", Kind::Float, "1.0", "large to keep a walk near, small to make it go far"),
        WEIGHT,
        SEED,
    ],
    results: &[
        Field { name: "vertex", summary: "the vertices of all walks, one walk after the other" },
        Field { name: "walk", summary: "the number of the walk, from 0" },
        Field { name: "step", summary: "the steps before it, from 0" },
        Field { name: "walks", summary: "how many walks there are" },
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
    let default = Node2vecOptions::default();
    let options = Node2vecOptions {
        length: arguments.count("length").unwrap_or(default.length),
        walks: arguments.count("walks").unwrap_or(default.walks),
        p: arguments.float("p").unwrap_or(default.p),
        q: arguments.float("q").unwrap_or(default.q),
        weight: arguments.weight(),
        seed: arguments.seed(SEED.name).unwrap_or(default.seed),
    };
    let result = node2vec_walks(view, sources, &options, control)?;
    if check == Check::Verify {
        verify(view, sources, &options, &result, control)?;
    }
    Ok(outcome(&result))
}
