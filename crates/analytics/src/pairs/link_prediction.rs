//! Measures of pairs of vertices by the neighbors they share: how likely an edge between them is.
//!
//! Method: Liben-Nowell, Kleinberg, "The Link-Prediction Problem for Social Networks", J. ASIST 58, 2007, section 3. The
//! sorted lists of the two ends are merged, pairs in parallel; no flat view is made. Complexity: O(d log d) per pair.
//!
//! ```text
//!  common_neighbors         |N(u) & N(v)|, less u and v        jaccard_coefficient        that / |N(u) | N(v)|
//!  adamic_adar_index        sum of 1 / ln(degree(w)) of them   resource_allocation_index  sum of 1 / degree(w)
//!  preferential_attachment  degree(u) * degree(v)
//! ```
//!
//! Neighbors are those of the simple undirected graph below the view. As in NetworkX a self-loop makes a vertex its own
//! neighbor and adds 2 to its degree.
//!
//! Invariant: sums are taken in the order of ids.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::{ensure, require_sources};
use crate::engine::incident::directions;
use crate::engine::parallel::{in_pool, try_map};
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, VertexColumn, invalid};
use crate::{AlgorithmError, Control};

/// Pairs measured between two looks at [`Control`].
const PAIRS_PER_TASK: usize = 16;

/// What is measured of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// How many neighbors they share.
    CommonNeighbors,
    /// The shared ones among all neighbors of either (Jaccard 1901).
    Jaccard,
    /// Shared neighbors count the more the fewer neighbors they have (Adamic, Adar, Social Networks 25, 2003).
    AdamicAdar,
    /// The same, falling faster (Zhou, Lue, Zhang, Eur. Phys. J. B 71, 2009).
    ResourceAllocation,
    /// The product of the degrees (Barabasi, Albert 1999).
    PreferentialAttachment,
}

/// A measure of each pair.
///
/// ```
/// use evergraph_analytics::{Control, Measure, link_prediction};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 1), (0, 2), (3, 1), (3, 2)], true);
/// let scores = link_prediction(&view, &[(0, 3), (0, 1)], Measure::Jaccard, &Control::new())?;
/// assert_eq!(scores, [1.0, 0.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn link_prediction(
    view: &dyn GraphView,
    pairs: &[(VertexId, VertexId)],
    measure: Measure,
    control: &Control,
) -> Result<Vec<f64>, AlgorithmError> {
    pairs.iter().try_for_each(|&(u, v)| require_sources(view, &[u, v]))?;
    control.check()?;
    control.progress(0, pairs.len() as u64);
    let scores = in_pool(|| {
        let pieces = try_map(control, pairs.chunks(PAIRS_PER_TASK), |pairs| {
            let mut lists = Lists::default();
            Ok(pairs.iter().map(|&pair| lists.score(view, measure, pair)).collect::<Vec<f64>>())
        });
        pieces.map(|scores| scores.concat())
    })?;
    control.progress(pairs.len() as u64, pairs.len() as u64);
    Ok(scores)
}

/// All pairs of vertices without an edge between them, the smaller id first, in order: what NetworkX measures unless it is
/// told otherwise. More than [`MOST_PAIRS`] are an error.
///
/// ```
/// use evergraph_analytics::{Control, link_prediction::non_edges};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 1), (2, 0), (2, 2), (3, 1)], false);
/// assert_eq!(non_edges(&view, &Control::new())?, [(0, 3), (1, 2), (2, 3)]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn non_edges(
    view: &dyn GraphView,
    control: &Control,
) -> Result<Vec<(VertexId, VertexId)>, AlgorithmError> {
    let vertices: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
    let all = vertices.len() as u64 * (vertices.len() as u64).saturating_sub(1) / 2;
    // Edges that are no loops take pairs away, so that this finds out early what cannot fit.
    let least = all.saturating_sub(view.num_edges());
    let too_many = || {
        let why = format!(
            "without pairs, all that have no edge are measured, and these are more than {MOST_PAIRS}; name the pairs"
        );
        invalid("u", why)
    };
    if least > MOST_PAIRS as u64 {
        return Err(too_many());
    }
    let (mut pairs, mut list) = (Vec::new(), Vec::new());
    for (position, &u) in vertices.iter().enumerate() {
        control.check()?;
        read(view, u, &mut list);
        let others = vertices[position + 1..].iter().copied();
        pairs.extend(others.filter(|v| list.binary_search(v).is_err()).map(|v| (u, v)));
        if pairs.len() > MOST_PAIRS {
            return Err(too_many());
        }
    }
    Ok(pairs)
}

/// The most pairs that are measured without having been named.
pub const MOST_PAIRS: usize = 10_000_000;

/// Lists of one pair after the other.
#[derive(Default)]
struct Lists {
    left: Vec<VertexId>,
    right: Vec<VertexId>,
    other: Vec<VertexId>,
    common: Vec<VertexId>,
}

impl Lists {
    fn score(&mut self, view: &dyn GraphView, measure: Measure, (u, v): (VertexId, VertexId)) -> f64 {
        read(view, u, &mut self.left);
        read(view, v, &mut self.right);
        if measure == Measure::PreferentialAttachment {
            return degree(u, &self.left) * degree(v, &self.right);
        }
        self.common.clear();
        let shared = self.left.iter().filter(|neighbor| self.right.binary_search(neighbor).is_ok());
        self.common.extend(shared);
        let union = self.left.len() + self.right.len() - self.common.len();
        self.common.retain(|&neighbor| neighbor != u && neighbor != v);
        let mut degrees = self.common.iter().map(|&neighbor| {
            read(view, neighbor, &mut self.other);
            degree(neighbor, &self.other)
        });
        match measure {
            Measure::Jaccard if union == 0 => 0.0,
            Measure::Jaccard => self.common.len() as f64 / union as f64,
            Measure::AdamicAdar => degrees.fold(0.0, |sum, degree| sum + 1.0 / degree.ln()),
            Measure::ResourceAllocation => degrees.fold(0.0, |sum, degree| sum + 1.0 / degree),
            _ => degrees.by_ref().count() as f64,
        }
    }
}

/// The neighbors of a vertex in either direction, ascending, each once.
fn read(view: &dyn GraphView, vertex: VertexId, list: &mut Vec<VertexId>) {
    list.clear();
    for &direction in directions(view) {
        view.for_each_slice(direction, vertex, &mut |slice| {
            list.extend_from_slice(slice);
            ControlFlow::Continue(())
        });
    }
    list.sort();
    list.dedup();
}

fn degree(vertex: VertexId, neighbors: &[VertexId]) -> f64 {
    (neighbors.len() + usize::from(neighbors.binary_search(&vertex).is_ok())) as f64
}

/// Checks scores against set operations: O(d log d) per pair.
pub fn verify(
    view: &dyn GraphView,
    pairs: &[(VertexId, VertexId)],
    measure: Measure,
    result: &[f64],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let neighbors = |vertex: VertexId| {
        let mut set = BTreeSet::new();
        for direction in [Direction::Out, Direction::In] {
            view.for_each_slice(direction, vertex, &mut |slice| {
                set.extend(slice);
                ControlFlow::Continue(())
            });
        }
        set
    };
    let degree = |vertex: VertexId| {
        let set = neighbors(vertex);
        (set.len() + usize::from(set.contains(&vertex))) as f64
    };
    ensure(result.len() == pairs.len(), || format!("{} scores of {} pairs", result.len(), pairs.len()))?;
    for (&(u, v), &found) in pairs.iter().zip(result) {
        control.check()?;
        let (of_u, of_v) = (neighbors(u), neighbors(v));
        let common: Vec<VertexId> =
            of_u.intersection(&of_v).copied().filter(|&neighbor| neighbor != u && neighbor != v).collect();
        let wanted = match measure {
            Measure::CommonNeighbors => common.len() as f64,
            Measure::Jaccard => common.len() as f64 / of_u.union(&of_v).count().max(1) as f64,
            Measure::AdamicAdar => common.iter().fold(0.0, |sum, &other| sum + 1.0 / degree(other).ln()),
            Measure::ResourceAllocation => common.iter().fold(0.0, |sum, &other| sum + 1.0 / degree(other)),
            Measure::PreferentialAttachment => degree(u) * degree(v),
        };
        ensure(found == wanted, || format!("the pair {u}, {v} has {found}, {wanted} expected"))?;
    }
    Ok(())
}

const SOURCE: &str = "Liben-Nowell, Kleinberg: The Link-Prediction Problem for Social Networks, J. ASIST 58, 2007, \
                      section 3; as NetworkX";

const ARGUMENTS: &[Argument] = &[
    Argument::optional(
        "u",
        Kind::Vertices,
        "all pairs without an edge, at most ten million",
        "the first vertex of each pair",
    ),
    Argument::optional(
        "v",
        Kind::Vertices,
        "all pairs without an edge, at most ten million",
        "the second vertex of each pair, in the same order",
    ),
];

const RESULTS: &[Field] = &[
    Field { name: "u", summary: "the first vertex" },
    Field { name: "v", summary: "the second vertex" },
    Field { name: "score", summary: "the measure of the pair" },
];

macro_rules! entries {
    ($($entry:ident $name:literal $measure:ident $summary:literal;)*) => {$(
        #[doc = $summary]
        pub(crate) static $entry: Algorithm = Algorithm {
            name: $name,
            summary: $summary,
            complexity: "O(d log d) per pair with d neighbors",
            source: SOURCE,
            arguments: ARGUMENTS,
            results: RESULTS,
            run: |view, arguments, check, control| run(view, Measure::$measure, arguments, check, control),
        };
    )*};
}

entries! {
    COMMON_NEIGHBORS "common_neighbors" CommonNeighbors "How many neighbors two vertices share";
    JACCARD "jaccard_coefficient" Jaccard "The neighbors two vertices share, of all neighbors of either";
    ADAMIC_ADAR "adamic_adar_index" AdamicAdar "The neighbors two vertices share, each by 1 / ln(degree)";
    RESOURCE_ALLOCATION "resource_allocation_index" ResourceAllocation
        "The neighbors two vertices share, each by 1 / degree";
    PREFERENTIAL_ATTACHMENT "preferential_attachment" PreferentialAttachment
        "The product of the degrees of two vertices";
}

fn run(
    view: &dyn GraphView,
    measure: Measure,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let pairs = match (arguments.optional_vertices("u"), arguments.optional_vertices("v")) {
        (None, None) => non_edges(view, control)?,
        (first, second) => {
            let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
            if first.len() != second.len() {
                return Err(invalid("v", format!("{} vertices for {} in u", second.len(), first.len())));
            }
            first.iter().copied().zip(second.iter().copied()).collect()
        }
    };
    let result = link_prediction(view, &pairs, measure, control)?;
    if check == Check::Verify {
        verify(view, &pairs, measure, &result, control)?;
    }
    Ok(Outcome::listed(
        vec![
            ("u", VertexColumn::Vertices(pairs.iter().map(|&(u, _)| u).collect())),
            ("v", VertexColumn::Vertices(pairs.iter().map(|&(_, v)| v).collect())),
            ("score", VertexColumn::Floats(result)),
        ],
        Vec::new(),
    ))
}
