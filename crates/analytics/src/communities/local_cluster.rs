//! Local cluster: a set of vertices around a seed that few edges leave, without a look at the rest of the graph.
//!
//! Method: PageRank-Nibble (Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006, sections 3
//! and 5): an approximate personalized PageRank by pushes, then the best prefix of the vertices by score per degree.
//!
//! ```text
//!  push(v), while residual[v] >= epsilon * degree(v):
//!      score[v] += alpha * residual[v];   half of the rest stays, half is spread over the neighbors
//!  sweep: cut(S) / min(volume(S), volume of the others) is least       the conductance
//! ```
//!
//! Complexity: O(1 / (epsilon * alpha)), whatever the size of the graph; one thread. Edges of both directions count,
//! parallel ones each, symmetric ones once; a self-loop has both ends at its vertex.
//!
//! Invariant: the exact PageRank of a vertex exceeds its score by at most epsilon times its degree.

use std::collections::VecDeque;

use evergraph_types::VertexId;
use evergraph_view::GraphView;
use hashbrown::{HashMap, HashSet};

use crate::engine::control::{ensure, require_sources};
use crate::engine::incident::Incident;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Scalar, VertexColumn, invalid,
};
use crate::{AlgorithmError, Control};

/// Pushes between two looks at [`Control`].
const PUSHES_PER_CHECK: u64 = 1 << 8;

/// The arguments of [`local_cluster`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalClusterOptions {
    /// The chance to return to the seed at each step; above 0, below 1. Larger stays nearer.
    pub alpha: f64,
    /// What may be left unspread per edge of a vertex; above 0. Smaller looks farther.
    pub epsilon: f64,
}

impl Default for LocalClusterOptions {
    fn default() -> Self {
        LocalClusterOptions { alpha: 0.15, epsilon: 1e-6 }
    }
}

/// What [`local_cluster`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalCluster {
    /// The vertices that have a score, the largest score per degree first.
    pub vertices: Vec<VertexId>,
    /// The approximate personalized PageRank of each.
    pub scores: Vec<f64>,
    /// How many of them, from the first on, are the cluster.
    pub size: usize,
    /// The edges that leave the cluster, of the edge ends in it or outside, whichever are fewer; infinite if one has none.
    pub conductance: f64,
}

impl LocalCluster {
    /// The cluster.
    pub fn members(&self) -> &[VertexId] {
        &self.vertices[..self.size]
    }
}

/// A cluster around `seed`.
///
/// ```
/// use evergraph_analytics::{Control, LocalClusterOptions, local_cluster};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
/// let view = FlatView::from_edges(6, &edges, true);
/// let cluster = local_cluster(&view, 0, &LocalClusterOptions::default(), &Control::new())?;
/// let mut members = cluster.members().to_vec();
/// members.sort();
/// assert_eq!((members, cluster.conductance), (vec![0, 1, 2], 1.0 / 7.0));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn local_cluster(
    view: &dyn GraphView,
    seed: VertexId,
    options: &LocalClusterOptions,
    control: &Control,
) -> Result<LocalCluster, AlgorithmError> {
    require_sources(view, &[seed])?;
    if !(options.alpha > 0.0 && options.alpha < 1.0) {
        return Err(invalid("alpha", format!("{} is not above 0 and below 1", options.alpha)));
    }
    require_epsilon(options.epsilon)?;
    control.check()?;
    control.progress(0, 0);
    let edges = Incident::new(view);
    let scores = approximate(&edges, seed, options, control)?;
    let result = cluster_of(&edges, scores);
    let done = control.status().done.max(1);
    control.progress(done, done);
    Ok(result)
}

/// What is not spread any more is what a vertex holds less of per edge: a number above 0.
pub(crate) fn require_epsilon(epsilon: f64) -> Result<(), AlgorithmError> {
    match epsilon > 0.0 && epsilon.is_finite() {
        true => Ok(()),
        false => Err(invalid("epsilon", format!("{epsilon} is not a number above 0"))),
    }
}

/// The cluster that scores make: the prefix of least conductance of the vertices by score per degree.
pub(crate) fn cluster_of(
    edges: &Incident<'_>,
    scores: impl IntoIterator<Item = (VertexId, f64)>,
) -> LocalCluster {
    let degree = |vertex| edges.ends(vertex).len() as f64;
    let ranked = scores.into_iter().map(|(vertex, score)| (score / degree(vertex).max(1.0), vertex, score));
    let mut ranked: Vec<(f64, VertexId, f64)> = ranked.collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let vertices: Vec<VertexId> = ranked.iter().map(|&(_, vertex, _)| vertex).collect();
    let (size, conductance) = sweep(edges, &vertices);
    LocalCluster { vertices, scores: ranked.iter().map(|&(.., score)| score).collect(), size, conductance }
}

/// Scores by pushes, in the order in which vertices have come to hold too much.
fn approximate(
    edges: &Incident<'_>,
    seed: VertexId,
    options: &LocalClusterOptions,
    control: &Control,
) -> Result<HashMap<VertexId, f64>, AlgorithmError> {
    let mut scores: HashMap<VertexId, f64> = HashMap::from_iter([(seed, 0.0)]);
    let mut residuals: HashMap<VertexId, f64> = HashMap::from_iter([(seed, 1.0)]);
    let mut queued: HashSet<VertexId> = HashSet::from_iter([seed]);
    let (mut queue, mut pushes) = (VecDeque::from([seed]), 0u64);
    while let Some(vertex) = queue.pop_front() {
        queued.remove(&vertex);
        let list = edges.ends(vertex);
        if list.is_empty() {
            // The walk cannot leave: all of it ends here.
            scores.insert(vertex, residuals.remove(&vertex).unwrap_or_default());
            continue;
        }
        while residuals[&vertex] >= options.epsilon * list.len() as f64 {
            pushes += 1;
            if pushes.is_multiple_of(PUSHES_PER_CHECK) {
                control.check()?;
                // Usually far fewer than what bounds them.
                control.progress(pushes, 0);
            }
            let residual = residuals[&vertex];
            *scores.entry(vertex).or_default() += options.alpha * residual;
            let rest = (1.0 - options.alpha) * residual / 2.0;
            residuals.insert(vertex, rest);
            let share = rest / list.len() as f64;
            for &neighbor in &list {
                let residual = residuals.entry(neighbor).or_default();
                *residual += share;
                // Without a look at its list, which may have loops that count once more.
                let holds_much = *residual >= options.epsilon * edges.degree(neighbor) as f64;
                if holds_much && neighbor != vertex && queued.insert(neighbor) {
                    queue.push_back(neighbor);
                }
            }
        }
    }
    Ok(scores)
}

/// The prefix of least conductance, and that.
fn sweep(edges: &Incident<'_>, order: &[VertexId]) -> (usize, f64) {
    let total = edges.all_ends() as f64;
    let mut inside: HashSet<VertexId> = HashSet::new();
    let (mut cut, mut volume) = (0.0, 0.0);
    let mut best = (order.len().min(1), f64::INFINITY);
    for (position, &vertex) in order.iter().enumerate() {
        for neighbor in edges.ends(vertex) {
            volume += 1.0;
            cut += match inside.contains(&neighbor) {
                true => -1.0,
                false if neighbor == vertex => 0.0,
                false => 1.0,
            };
        }
        inside.insert(vertex);
        let smaller = f64::min(volume, total - volume);
        if smaller > 0.0 && cut / smaller < best.1 {
            best = (position + 1, cut / smaller);
        }
    }
    best
}

/// Checks the scores against the exact personalized PageRank by power iteration, and the cluster against the conductance
/// of every prefix, each counted anew: O((V + E) log(1 / epsilon) / alpha + vertices^2).
pub fn verify(
    view: &dyn GraphView,
    seed: VertexId,
    options: &LocalClusterOptions,
    result: &LocalCluster,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let edges = Incident::new(view);
    let lists: Vec<Vec<VertexId>> = (0..view.id_bound()).map(|vertex| edges.ends(vertex)).collect();
    let exact = exact_scores(&lists, seed, options.alpha, control)?;
    verify_scores(result, &exact, |vertex| options.epsilon * lists[vertex].len() as f64, control)?;
    verify_sweep(&lists, result, control)
}

/// Checks that scores are the exact ones, less at most what each vertex allows.
pub(crate) fn verify_scores(
    result: &LocalCluster,
    exact: &[f64],
    allowed: impl Fn(usize) -> f64,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut scores = vec![0.0; exact.len()];
    for (&vertex, &score) in result.vertices.iter().zip(&result.scores) {
        control.check()?;
        scores[vertex as usize] = score;
    }
    for (vertex, (&found, &wanted)) in scores.iter().zip(exact).enumerate() {
        control.check()?;
        let allowed = allowed(vertex) + 1e-9;
        ensure((-1e-9..=allowed).contains(&(wanted - found)), || {
            format!("vertex {vertex} has score {found}, {wanted} less at most {allowed:e} expected")
        })?;
    }
    Ok(())
}

/// Checks the cluster against the conductance of every prefix, each counted anew.
pub(crate) fn verify_sweep(
    lists: &[Vec<VertexId>],
    result: &LocalCluster,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let conductance = |size: usize| {
        let inside: HashSet<VertexId> = result.vertices[..size].iter().copied().collect();
        let ends = || inside.iter().flat_map(|&vertex| &lists[vertex as usize]);
        let cut = ends().filter(|neighbor| !inside.contains(*neighbor)).count() as f64;
        let all: usize = lists.iter().map(Vec::len).sum();
        let smaller = ends().count().min(all - ends().count()) as f64;
        if smaller > 0.0 { cut / smaller } else { f64::INFINITY }
    };
    ensure((1..=result.vertices.len()).contains(&result.size), || format!("a cluster of {}", result.size))?;
    let found = conductance(result.size);
    ensure(found == result.conductance, || format!("conductance {}, {found} expected", result.conductance))?;
    for size in 1..=result.vertices.len() {
        control.check()?;
        let other = conductance(size);
        ensure(other >= found, || {
            format!(
                "the first {size} vertices have conductance {other}, the first {} have {found}",
                result.size
            )
        })?;
    }
    Ok(())
}

/// The lazy walk's personalized PageRank, until nothing changes that could matter.
fn exact_scores(
    lists: &[Vec<VertexId>],
    seed: VertexId,
    alpha: f64,
    control: &Control,
) -> Result<Vec<f64>, AlgorithmError> {
    let mut scores = vec![0.0; lists.len()];
    let mut residuals = vec![0.0; lists.len()];
    residuals[seed as usize] = 1.0;
    while residuals.iter().sum::<f64>() > 1e-12 {
        control.check()?;
        let mut next = vec![0.0; lists.len()];
        for (vertex, &residual) in residuals.iter().enumerate().filter(|(_, residual)| **residual > 0.0) {
            if lists[vertex].is_empty() {
                scores[vertex] += residual;
                continue;
            }
            scores[vertex] += alpha * residual;
            let rest = (1.0 - alpha) * residual / 2.0;
            next[vertex] += rest;
            let share = rest / lists[vertex].len() as f64;
            lists[vertex].iter().for_each(|&neighbor| next[neighbor as usize] += share);
        }
        residuals = next;
    }
    Ok(scores)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "local_cluster",
    summary: "Vertices around a seed that few edges leave",
    complexity: "O(1 / (epsilon * alpha))",
    source: "Andersen, Chung, Lang: Local Graph Partitioning using PageRank Vectors, FOCS 2006, sections 3 and 5",
    arguments: &[
        Argument::required("source", Kind::Vertex, "the seed"),
        Argument::optional("alpha", Kind::Float, "0.15", "the chance to return to the seed at each step"),
        Argument::optional(
            "epsilon",
            Kind::Float,
            "1e-6",
            "how much may be left unspread; smaller looks farther",
        ),
    ],
    results: &[
        MEMBERS,
        Field { name: "score", summary: "the approximate personalized PageRank" },
        SIZE,
        CONDUCTANCE,
    ],
    run,
};

pub(crate) const MEMBERS: Field =
    Field { name: "vertex", summary: "the members, the nearest to the seed first" };
pub(crate) const SIZE: Field = Field { name: "vertices", summary: "how many members there are" };
pub(crate) const CONDUCTANCE: Field =
    Field { name: "conductance", summary: "the share of their edge ends that lead out" };

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let seed = arguments.vertex("source")?;
    let default = LocalClusterOptions::default();
    let options = LocalClusterOptions {
        alpha: arguments.float("alpha").unwrap_or(default.alpha),
        epsilon: arguments.float("epsilon").unwrap_or(default.epsilon),
    };
    let result = local_cluster(view, seed, &options, control)?;
    if check == Check::Verify {
        verify(view, seed, &options, &result, control)?;
    }
    Ok(outcome(result))
}

/// The members with their scores.
pub(crate) fn outcome(mut result: LocalCluster) -> Outcome {
    result.vertices.truncate(result.size);
    result.scores.truncate(result.size);
    Outcome::listed(
        vec![
            ("vertex", VertexColumn::Vertices(result.vertices)),
            ("score", VertexColumn::Floats(result.scores)),
        ],
        vec![
            ("vertices", Scalar::Count(result.size as u64)),
            ("conductance", Scalar::Float(result.conductance)),
        ],
    )
}
