//! Louvain: communities with many more edges inside than chance would put there.
//!
//! Method: greedy modularity by local moves and aggregation (Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of
//! communities in large networks", J. Stat. Mech. P10008, 2008, section 2). Moves are chosen in parallel, in batches of
//! vertices drawn by the seed, from the state before the batch (Lu, Halappanavar, Kalyanaraman, "Parallel heuristics for
//! scalable community detection", Parallel Computing 47, 2015, section 5); the best state of a level is kept.
//!
//! ```text
//!  level 0   vertices    ── sweeps of moves ──►  communities          modularity
//!  level 1   communities ── sweeps of moves ──►  fewer communities    Q = sum over communities c of
//!   ...      as vertices, with the edges                               inside(c) / 2m - resolution * (degree(c) / 2m)^2
//!            between and inside them added up                         inside(c): twice the weight of edges inside
//! ```
//!
//! Directions of edges do not matter: an edge of a directed view counts as one between its ends. Weights are from 0.
//! Complexity: O(E) per sweep, few sweeps per level and few levels in practice.
//!
//! Invariant: the labels given out are those of the largest modularity met; sums are taken in a fixed order, so they
//! depend on the seed and not on threads.

use evergraph_types::VertexId;
use evergraph_view::GraphView;

use crate::communities::modularity::{Level, name_by_smallest, number, verify_communities};
use crate::engine::parallel::in_pool;
use crate::engine::weights::Weight;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, Scalar, VertexColumn, WEIGHT, invalid,
};
use crate::{AlgorithmError, Control};

/// The arguments of [`louvain`] and [`leiden`](crate::leiden()); names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq)]
pub struct LouvainOptions {
    /// What an edge weighs; from 0.
    pub weight: Weight,
    /// Below 1 for larger communities, above for smaller ones.
    pub resolution: f64,
    /// A level, or a sweep, that gains less modularity than this is the last.
    pub threshold: f64,
    /// The most levels; as many as gain something if absent.
    pub max_level: Option<u32>,
    /// Where random numbers begin.
    pub seed: u64,
}

impl Default for LouvainOptions {
    fn default() -> Self {
        LouvainOptions { weight: Weight::Usual, resolution: 1.0, threshold: 1e-7, max_level: None, seed: 0 }
    }
}

impl LouvainOptions {
    pub(crate) fn from_arguments(arguments: &Arguments) -> Self {
        let default = LouvainOptions::default();
        LouvainOptions {
            weight: arguments.weight(),
            resolution: arguments.float("resolution").unwrap_or(default.resolution),
            threshold: arguments.float("threshold").unwrap_or(default.threshold),
            max_level: arguments.count("max_level"),
            seed: arguments.seed(SEED.name).unwrap_or(default.seed),
        }
    }
}

/// What [`louvain`] and [`leiden`](crate::leiden()) found.
#[derive(Clone, Debug, PartialEq)]
pub struct Communities {
    /// The smallest id in the community of each vertex; [`NO_VERTEX`](crate::NO_VERTEX) where there is no vertex.
    pub labels: Vec<VertexId>,
    /// How many communities there are.
    pub count: u64,
    /// Their modularity; 0 without edges.
    pub modularity: f64,
    /// How many levels gained something.
    pub levels: u32,
}

impl Communities {
    pub(crate) fn into_outcome(self) -> Outcome {
        Outcome::by_vertex(
            vec![("community", VertexColumn::Vertices(self.labels))],
            vec![
                ("communities", Scalar::Count(self.count)),
                ("modularity", Scalar::Float(self.modularity)),
                ("levels", Scalar::Count(self.levels.into())),
            ],
        )
    }
}

/// Communities of large modularity.
///
/// ```
/// use evergraph_analytics::{Control, LouvainOptions, louvain};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
/// let view = FlatView::from_edges(6, &edges, true);
/// let found = louvain(&view, &LouvainOptions::default(), &Control::new())?;
/// assert_eq!((found.labels, found.count), (vec![0, 0, 0, 3, 3, 3], 2));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn louvain(
    view: &dyn GraphView,
    options: &LouvainOptions,
    control: &Control,
) -> Result<Communities, AlgorithmError> {
    check(options)?;
    in_pool(|| {
        let flat = view.flat();
        let mut graph = Level::new(view, &flat, &options.weight, control)?;
        let mut labels: Vec<VertexId> = (0..flat.id_bound()).collect();
        let mut modularity = graph.modularity(&labels, options.resolution);
        let mut levels = 0;
        control.progress(0, 1);
        while options.max_level.is_none_or(|most| levels < most) {
            let (moved, reached) =
                graph.sweep_until_stable(graph.singles(), options, u64::from(levels), control)?;
            if reached - modularity <= options.threshold {
                break;
            }
            let names = number(&moved);
            labels.iter_mut().for_each(|label| *label = names[moved[*label as usize] as usize]);
            graph = graph.aggregate(&moved, &names);
            (modularity, levels) = (reached, levels + 1);
            control.progress(u64::from(levels), u64::from(levels) + 1);
        }
        let (labels, count) = name_by_smallest(&flat, &labels);
        Ok(Communities { labels, count, modularity, levels })
    })
}

pub(crate) fn check(options: &LouvainOptions) -> Result<(), AlgorithmError> {
    if !(options.resolution >= 0.0 && options.resolution.is_finite()) {
        return Err(invalid("resolution", format!("{} is not a number from 0", options.resolution)));
    }
    if !(options.threshold >= 0.0 && options.threshold.is_finite()) {
        return Err(invalid("threshold", format!("{} is not a number from 0", options.threshold)));
    }
    Ok(())
}

/// Checks that labels are those of smallest members, that the modularity is that of its definition, edge by edge, and
/// that it is not below that of single vertices: O(V + E).
pub fn verify(
    view: &dyn GraphView,
    options: &LouvainOptions,
    result: &Communities,
    control: &Control,
) -> Result<(), AlgorithmError> {
    verify_communities(view, options, result, control)
}

/// What is chosen for an algorithm that moves vertices while modularity grows: [`LouvainOptions`].
pub(crate) const LOUVAIN_ARGUMENTS: &[Argument] = &[
    WEIGHT,
    Argument::optional("resolution", Kind::Float, "1", "below 1 for larger communities, above for smaller"),
    Argument::optional("threshold", Kind::Float, "1e-7", "a level that gains less modularity is the last"),
    Argument::optional("max_level", Kind::Count, "none", "the most levels"),
    SEED,
];

/// What such an algorithm tells: [`Communities`].
pub(crate) const COMMUNITY_RESULTS: &[Field] = &[
    Field { name: "community", summary: "the first vertex of its community" },
    Field { name: "communities", summary: "how many there are" },
    Field { name: "modularity", summary: "how much more is inside than chance would put there, at most 1" },
    Field { name: "levels", summary: "how many levels gained something" },
];

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "louvain",
    summary: "Communities with many more edges inside than chance would put there",
    complexity: "O(E) per sweep",
    source: "Blondel, Guillaume, Lambiotte, Lefebvre: Fast unfolding of communities in large networks, J. Stat. Mech. \
             P10008, 2008, section 2; Lu, Halappanavar, Kalyanaraman, Parallel Computing 47, 2015, section 5",
    arguments: LOUVAIN_ARGUMENTS,
    results: COMMUNITY_RESULTS,
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let options = LouvainOptions::from_arguments(arguments);
    let result = louvain(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(result.into_outcome())
}
