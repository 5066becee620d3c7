//! Degrees of all vertices, and what they are like as a whole.
//!
//! Method: one pass over the lengths of lists, in parallel; self-loops are counted in a second. Complexity: O(V + E).
//!
//! Degrees are those of `networkx` for edges other than loops: in and out edges of directed types together, those of
//! symmetric types once, parallel edges each. A self-loop of a directed type counts as one out and one in, and one of a
//! symmetric type as one entry.
//!
//! Invariant: means are quotients of whole numbers, so the result does not depend on threads.

use evergraph_types::Direction;
use evergraph_view::GraphView;
use rayon::prelude::*;

use crate::engine::control::ensure;
use crate::engine::incident::{FlatIncident, Incident};
use crate::engine::parallel::{in_pool, of_vertices};
use crate::registry::{Algorithm, Arguments, Check, Field, Outcome, Scalar, VertexColumn};
use crate::{AlgorithmError, Control, Ranges};

/// What [`degree_statistics`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DegreeStatistics {
    /// The degree of each vertex id; 0 where there is no vertex.
    pub degrees: Vec<u32>,
    /// The mean over all vertices.
    pub mean: f64,
    /// The smallest.
    pub smallest: u32,
    /// The degree that half of the vertices do not exceed.
    pub median: u32,
    /// The largest.
    pub largest: u32,
    /// Vertices of degree 0.
    pub isolated: u64,
    /// Edges from a vertex to itself.
    pub self_loops: u64,
}

/// The degrees and their statistics.
///
/// ```
/// use evergraph_analytics::{Control, degree_statistics};
/// use evergraph_view::FlatView;
///
/// let star = FlatView::from_edges(5, &[(0, 1), (0, 2), (0, 3)], false);
/// let found = degree_statistics(&star, &Control::new())?;
/// assert_eq!(found.degrees, [3, 1, 1, 1, 0]);
/// assert_eq!((found.mean, found.median, found.isolated), (1.2, 1, 1));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn degree_statistics(
    view: &dyn GraphView,
    control: &Control,
) -> Result<DegreeStatistics, AlgorithmError> {
    in_pool(|| {
        let edges = FlatIncident::new(view);
        let flat = edges.flat();
        let degree = |vertex| edges.degree(vertex) as u32;
        let degrees = of_vertices(flat.id_bound(), degree);
        control.progress(1, 2);
        let loops = Ranges::by_edges(flat, Direction::Out).map(control, |range| {
            range
                .map(|vertex| flat.out_neighbors(vertex).iter().filter(|&other| other == vertex).count())
                .sum::<usize>()
        })?;
        control.progress(2, 2);
        let existing = (0..flat.id_bound()).zip(&degrees).filter(|(vertex, _)| flat.has_vertex(*vertex));
        let of_existing = existing.map(|(_, degree)| *degree).collect();
        Ok(summary(degrees, of_existing, loops.iter().sum::<usize>() as u64))
    })
}

/// The statistics of degrees, given those of all ids and those of the vertices that exist.
pub(crate) fn summary(degrees: Vec<u32>, mut of_existing: Vec<u32>, self_loops: u64) -> DegreeStatistics {
    of_existing.par_sort_unstable();
    let sorted = of_existing;
    let total: u64 = sorted.iter().map(|&degree| u64::from(degree)).sum();
    DegreeStatistics {
        mean: total as f64 / sorted.len().max(1) as f64,
        smallest: sorted.first().copied().unwrap_or(0),
        median: sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0),
        largest: sorted.last().copied().unwrap_or(0),
        isolated: sorted.partition_point(|&degree| degree == 0) as u64,
        self_loops,
        degrees,
    }
}

/// Checks statistics entry by entry of every list: O(V + E).
pub fn verify(
    view: &dyn GraphView,
    result: &DegreeStatistics,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut expected = DegreeStatistics::default();
    let mut existing = Vec::new();
    let incident = Incident::new(view);
    for vertex in 0..view.id_bound() {
        control.check()?;
        let mut degree = 0;
        incident.for_each(vertex, |_| degree += 1);
        expected.degrees.push(degree);
        expected.self_loops +=
            incident.ends(vertex).iter().filter(|&&other| other == vertex).count() as u64 / 2;
        existing.extend(view.has_vertex(vertex).then(|| expected.degrees[vertex as usize]));
    }
    existing.sort_unstable();
    expected.mean =
        existing.iter().map(|&degree| f64::from(degree)).sum::<f64>() / existing.len().max(1) as f64;
    expected.isolated = existing.iter().filter(|&&degree| degree == 0).count() as u64;
    if let (Some(&smallest), Some(&largest)) = (existing.first(), existing.last()) {
        (expected.smallest, expected.largest) = (smallest, largest);
        expected.median = existing[(existing.len() - 1) / 2];
    }
    ensure(result.degrees == expected.degrees, || "a degree is wrong".to_owned())?;
    ensure(*result == expected, || {
        let (found, wanted) = (DegreeStatistics { degrees: Vec::new(), ..result.clone() }, &expected);
        format!("{found:?}, mean {} and {} loops expected", wanted.mean, wanted.self_loops)
    })
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "degree_statistics",
    summary: "The degrees of all vertices, and what they are like as a whole",
    complexity: "O(V + E)",
    source: "one pass over the lists",
    arguments: &[],
    results: &[
        Field { name: "degree", summary: "edges of the vertex, in both directions together" },
        Field { name: "mean", summary: "the mean degree" },
        Field { name: "smallest", summary: "the smallest degree" },
        Field { name: "median", summary: "the degree that half of the vertices do not exceed" },
        Field { name: "largest", summary: "the largest degree" },
        Field { name: "isolated", summary: "vertices without edges" },
        Field { name: "self_loops", summary: "edges from a vertex to itself" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    _arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = degree_statistics(view, control)?;
    if check == Check::Verify {
        verify(view, &result, control)?;
    }
    Ok(result.into())
}

impl From<DegreeStatistics> for Outcome {
    fn from(result: DegreeStatistics) -> Self {
        Outcome::by_vertex(
            vec![("degree", VertexColumn::Counts(result.degrees))],
            vec![
                ("mean", Scalar::Float(result.mean)),
                ("smallest", Scalar::Count(result.smallest.into())),
                ("median", Scalar::Count(result.median.into())),
                ("largest", Scalar::Count(result.largest.into())),
                ("isolated", Scalar::Count(result.isolated)),
                ("self_loops", Scalar::Count(result.self_loops)),
            ],
        )
    }
}
