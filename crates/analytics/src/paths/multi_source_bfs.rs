//! Breadth-first searches from several sources, each for itself: hops from every source to what it reaches.
//!
//! Method: 64 searches at a time that share their looks at lists (`multi_bfs.rs`), batches in parallel. Complexity:
//! O(sources (V + E) / 64) when searches overlap, and a row for every pair of source and vertex that it reaches.
//!
//! For the hops from the nearest of several sources there is [`bfs`](crate::bfs()).
//!
//! Invariant: rows go by source in the order given, by distance, and by vertex id.

use evergraph_types::VertexId;
use evergraph_view::GraphView;

use crate::engine::bitmap::bits;
use crate::engine::control::{ensure, require_sources};
use crate::engine::parallel::{in_pool, try_map};
use crate::engine::per_thread::PerThread;
use crate::paths::multi_bfs::{MultiBfs, SEARCHES};
use crate::registry::{
    Algorithm, Argument, Arguments, Check, DEPTH_LIMIT, Field, Kind, Outcome, REVERSE, Scalar, VertexColumn,
    invalid,
};
use crate::{AlgorithmError, BfsOptions, Control, UNREACHED, bfs};

/// What [`multi_source_bfs`] found: a row for each pair of a source and a vertex that it reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiSourceBfs {
    /// The source of each row.
    pub sources: Vec<VertexId>,
    /// The vertex of each row.
    pub vertices: Vec<VertexId>,
    /// The hops between them.
    pub distances: Vec<u32>,
}

/// Breadth-first search from each of `sources`; repeats count once.
///
/// ```
/// use evergraph_analytics::{BfsOptions, Control, multi_source_bfs};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
/// let found = multi_source_bfs(&path, &[1, 0], &BfsOptions::default(), &Control::new())?;
/// assert_eq!(found.sources, [1, 1, 0, 0, 0]);
/// assert_eq!(found.vertices, [1, 2, 0, 1, 2]);
/// assert_eq!(found.distances, [0, 1, 0, 1, 2]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn multi_source_bfs(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &BfsOptions,
    control: &Control,
) -> Result<MultiSourceBfs, AlgorithmError> {
    require_sources(view, sources)?;
    let sources = distinct(sources);
    let (direction, depth_limit) = (options.direction(), options.depth_limit());
    control.check()?;
    control.progress(0, sources.len() as u64);
    in_pool(|| {
        let flat = view.flat();
        let searches = PerThread::new(|| MultiBfs::new(&flat));
        let batches = try_map(control, sources.chunks(SEARCHES), |batch| {
            let mut rows: Vec<Vec<(u32, VertexId)>> = batch.iter().map(|&source| vec![(0, source)]).collect();
            searches.with(|search| {
                search.run(&flat, direction, (batch, depth_limit), control, |level, vertex, reached_by| {
                    bits(reached_by).for_each(|search| rows[search as usize].push((level, vertex)));
                })
            })?;
            rows.iter_mut().for_each(|rows| rows.sort_unstable());
            Ok(rows)
        })?;
        control.progress(sources.len() as u64, sources.len() as u64);
        let total: usize = batches.iter().flatten().map(Vec::len).sum();
        if u32::try_from(total).is_err() {
            let why =
                format!("they reach {total} vertices in all, more than 2^32 - 1; ask for fewer at once");
            return Err(invalid("sources", why));
        }
        let mut result = MultiSourceBfs::default();
        for (&source, rows) in sources.iter().zip(batches.iter().flatten()) {
            result.sources.resize(result.sources.len() + rows.len(), source);
            result.vertices.extend(rows.iter().map(|(_, vertex)| vertex));
            result.distances.extend(rows.iter().map(|(distance, _)| distance));
        }
        Ok(result)
    })
}

/// Each source once, in order.
fn distinct(sources: &[VertexId]) -> Vec<VertexId> {
    let mut seen = hashbrown::HashSet::new();
    sources.iter().copied().filter(|&source| seen.insert(source)).collect()
}

/// Checks rows against one search for each source: O(sources (V + E)).
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &BfsOptions,
    result: &MultiSourceBfs,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut expected = MultiSourceBfs::default();
    for source in distinct(sources) {
        control.check()?;
        let found = bfs(view, &[source], options, &control.of_part());
        let distances = found?.distances;
        let reached = (0..).zip(distances).filter(|(_, distance)| *distance != UNREACHED);
        let mut rows: Vec<(u32, VertexId)> = reached.map(|(vertex, distance)| (distance, vertex)).collect();
        rows.sort_unstable();
        for (distance, vertex) in rows {
            expected.sources.push(source);
            expected.vertices.push(vertex);
            expected.distances.push(distance);
        }
    }
    let (found, wanted) = (result.sources.len(), expected.sources.len());
    ensure(*result == expected, || format!("{found} rows, {wanted} expected, or others"))
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "multi_source_bfs",
    summary: "Hops from each of several sources to every vertex that it reaches",
    complexity: "O(k (V + E)) from k sources, 64 at a time",
    source: "Then et al.: The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014, section 3",
    arguments: &[
        Argument::required("sources", Kind::Vertices, "the vertices to start from"),
        REVERSE,
        DEPTH_LIMIT,
    ],
    results: &[
        Field { name: "source", summary: "where the search began" },
        Field { name: "vertex", summary: "a vertex that it reaches, the nearest first" },
        Field { name: "distance", summary: "the hops between them" },
        Field { name: "pairs", summary: "how many rows there are" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let sources = arguments.vertices("sources");
    let options = BfsOptions::of(arguments);
    let result = multi_source_bfs(view, sources, &options, control)?;
    if check == Check::Verify {
        verify(view, sources, &options, &result, control)?;
    }
    let count = result.sources.len() as u64;
    Ok(Outcome::listed(
        vec![
            ("source", VertexColumn::Vertices(result.sources)),
            ("vertex", VertexColumn::Vertices(result.vertices)),
            ("distance", VertexColumn::Counts(result.distances)),
        ],
        vec![("pairs", Scalar::Count(count))],
    ))
}
