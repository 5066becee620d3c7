//! Nibble: a cluster around a seed by a random walk that is cut off where little of it is left.
//!
//! Method: Spielman, Teng, "A Local Clustering Algorithm for Massive Graphs and Its Application to Nearly Linear Time Graph
//! Partitioning", SIAM J. Computing 42, 2013, section 3; with the walk run to its last step and one sweep of that, as in
//! Shun, Roosta-Khorasani, Fountoulakis, Mahoney, "Parallel Local Graph Clustering", VLDB 2016, section 3.2.
//!
//! ```text
//!  a step, for every v with mass[v] >= epsilon * degree(v):       what others hold is dropped
//!      half of mass[v] stays, half is spread over the neighbors
//!  then the sweep of `local_cluster` over mass[v] / degree(v)
//! ```
//!
//! Complexity: O(steps / epsilon), whatever the size of the graph; one thread. Edges count as in
//! [`local_cluster`](crate::local_cluster()).
//!
//! Invariant: sums are taken in the order of ids, so that what is dropped does not depend on the run.

use evergraph_types::VertexId;
use evergraph_view::GraphView;
use hashbrown::HashMap;

use crate::communities::local_cluster::{
    CONDUCTANCE, MEMBERS, SIZE, cluster_of, outcome, require_epsilon, verify_scores, verify_sweep,
};
use crate::engine::control::require_sources;
use crate::engine::incident::Incident;
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome};
use crate::{AlgorithmError, Control, LocalCluster};

/// Vertices spread between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 8;

/// The arguments of [`nibble`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NibbleOptions {
    /// The steps of the walk. More look farther.
    pub steps: u32,
    /// What a vertex must hold per edge to go on; above 0. Smaller looks farther.
    pub epsilon: f64,
}

impl Default for NibbleOptions {
    fn default() -> Self {
        NibbleOptions { steps: 20, epsilon: 1e-6 }
    }
}

/// A cluster around `seed`; the scores are what the walk leaves at each vertex.
///
/// ```
/// use evergraph_analytics::{Control, NibbleOptions, nibble};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
/// let view = FlatView::from_edges(6, &edges, true);
/// let cluster = nibble(&view, 0, &NibbleOptions { steps: 5, epsilon: 1e-6 }, &Control::new())?;
/// let mut members = cluster.members().to_vec();
/// members.sort();
/// assert_eq!((members, cluster.conductance), (vec![0, 1, 2], 1.0 / 7.0));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn nibble(
    view: &dyn GraphView,
    seed: VertexId,
    options: &NibbleOptions,
    control: &Control,
) -> Result<LocalCluster, AlgorithmError> {
    require_sources(view, &[seed])?;
    require_epsilon(options.epsilon)?;
    let edges = Incident::new(view);
    let total = u64::from(options.steps) + 1;
    let mut mass = vec![(seed, 1.0)];
    for step in 0..options.steps {
        control.check()?;
        control.progress(u64::from(step), total);
        let next = spread(&edges, &mass, options.epsilon, control)?;
        if next.is_empty() {
            break;
        }
        mass = next;
    }
    control.check()?;
    let result = cluster_of(&edges, mass);
    control.progress(total, total);
    Ok(result)
}

/// One step from vertices in the order of ids, to such; none if all hold too little.
fn spread(
    edges: &Incident<'_>,
    mass: &[(VertexId, f64)],
    epsilon: f64,
    control: &Control,
) -> Result<Vec<(VertexId, f64)>, AlgorithmError> {
    let mut next: HashMap<VertexId, f64> = HashMap::new();
    for (position, &(vertex, held)) in mass.iter().enumerate() {
        if position.is_multiple_of(VERTICES_PER_CHECK) {
            control.check()?;
        }
        let list = edges.ends(vertex);
        if held < epsilon * list.len() as f64 {
            continue;
        }
        // Where the walk cannot leave, all of it stays.
        *next.entry(vertex).or_default() += if list.is_empty() { held } else { held / 2.0 };
        let share = held / 2.0 / list.len() as f64;
        list.iter().for_each(|&neighbor| *next.entry(neighbor).or_default() += share);
    }
    let mut next: Vec<(VertexId, f64)> = next.into_iter().collect();
    next.sort_unstable_by_key(|&(vertex, _)| vertex);
    Ok(next)
}

/// Checks the scores against the same walk over all vertices, and the cluster against the conductance of every prefix:
/// O(steps * (V + E) + vertices^2).
pub fn verify(
    view: &dyn GraphView,
    seed: VertexId,
    options: &NibbleOptions,
    result: &LocalCluster,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let edges = Incident::new(view);
    let lists: Vec<Vec<VertexId>> = (0..view.id_bound()).map(|vertex| edges.ends(vertex)).collect();
    let mut mass = vec![0.0; lists.len()];
    mass[seed as usize] = 1.0;
    for _ in 0..options.steps {
        control.check()?;
        let mut next = vec![0.0; lists.len()];
        for (vertex, list) in lists.iter().enumerate() {
            let held: f64 = mass[vertex];
            if held == 0.0 || held < options.epsilon * list.len() as f64 {
                continue;
            }
            next[vertex] += if list.is_empty() { held } else { held / 2.0 };
            list.iter().for_each(|&neighbor| next[neighbor as usize] += held / 2.0 / list.len() as f64);
        }
        if next.iter().all(|&held| held == 0.0) {
            break;
        }
        mass = next;
    }
    verify_scores(result, &mass, |_| 0.0, control)?;
    verify_sweep(&lists, result, control)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "nibble",
    summary: "Vertices around a seed that few edges leave, by a random walk of some steps",
    complexity: "O(steps / epsilon)",
    source: "Spielman, Teng: A Local Clustering Algorithm for Massive Graphs and Its Application to Nearly Linear Time \
             Graph Partitioning, SIAM J. Computing 42, 2013, section 3; Shun, Roosta-Khorasani, Fountoulakis, Mahoney: \
             Parallel Local Graph Clustering, VLDB 2016, section 3.2",
    arguments: &[
        Argument::required("source", Kind::Vertex, "the seed"),
        Argument::optional("steps", Kind::Count, "20", "the steps of the walk; more look farther"),
        Argument::optional(
            "epsilon",
            Kind::Float,
            "1e-6",
            "what a vertex must hold per edge for the walk to go on from it; smaller looks farther",
        ),
    ],
    results: &[
        MEMBERS,
        Field { name: "score", summary: "what the last step of the walk leaves at the vertex" },
        SIZE,
        CONDUCTANCE,
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let seed = arguments.vertex("source")?;
    let default = NibbleOptions::default();
    let options = NibbleOptions {
        steps: arguments.count("steps").unwrap_or(default.steps),
        epsilon: arguments.float("epsilon").unwrap_or(default.epsilon),
    };
    let result = nibble(view, seed, &options, control)?;
    if check == Check::Verify {
        verify(view, seed, &options, &result, control)?;
    }
    Ok(outcome(result))
}
