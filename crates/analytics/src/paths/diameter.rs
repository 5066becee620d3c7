//! Diameter estimate: a pair of vertices as far from each other as could be found.
//!
//! Method: sweeps (Magnien, Latapy, Habib, "Fast computation of empirically tight bounds for the diameter of massive
//! graphs", J. Experimental Algorithmics 13, 2009, section 2; directed: Broder et al. 2000). A breadth-first search from
//! the vertex of largest degree ends at a vertex far away, from where the next one goes, against the edges every other time
//! in a directed view. Real graphs rarely have longer shortest paths than a few sweeps find. Complexity: O(V + E) per sweep.
//!
//! Distances that do not exist do not count: on a graph that does not hang together this is the diameter of the part
//! that the sweeps see.
//!
//! Invariant: the estimate is the distance from `source` to `target`, and so never more than the diameter.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use hashbrown::HashSet;

use crate::engine::control::ensure;
use crate::engine::parallel::{filter_vertices, in_pool, map, vertex_blocks};
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Scalar, VertexColumn};
use crate::{AlgorithmError, Bfs, BfsOptions, Control, UNREACHED, bfs};

/// How many sweeps there are by default.
const SWEEPS: u32 = 4;

/// Two vertices and their distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diameter {
    /// The length of the shortest path between the two.
    pub lower_bound: u32,
    /// Where it begins and ends; `None` if there is no vertex.
    pub ends: Option<(VertexId, VertexId)>,
}

/// A lower bound of the largest distance between two vertices by some sweeps.
///
/// ```
/// use evergraph_analytics::{Control, diameter};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3)], true);
/// let found = diameter(&path, 4, &Control::new())?;
/// assert_eq!((found.lower_bound, found.ends), (3, Some((3, 0))));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn diameter(view: &dyn GraphView, sweeps: u32, control: &Control) -> Result<Diameter, AlgorithmError> {
    in_pool(|| {
        let flat = view.flat();
        control.check()?;
        control.progress(0, u64::from(sweeps));
        let Some(mut start) = busiest(&flat) else { return Ok(Diameter::default()) };
        let mut best = Diameter { lower_bound: 0, ends: Some((start, start)) };
        let mut swept = HashSet::new();
        for sweep in 0..sweeps {
            let reverse = sweep % 2 == 1 && !flat.is_symmetric();
            // From here on everything would come again.
            if !swept.insert((start, reverse)) {
                break;
            }
            let options = BfsOptions { reverse, depth_limit: None };
            let found = bfs(&*flat, &[start], &options, &control.of_part())?;
            control.check()?;
            let end = farthest(&flat, &found, start);
            if found.depth > best.lower_bound {
                let ends = if reverse { (end, start) } else { (start, end) };
                best = Diameter { lower_bound: found.depth, ends: Some(ends) };
            }
            start = end;
            control.progress(u64::from(sweep) + 1, u64::from(sweeps));
        }
        control.progress(u64::from(sweeps), u64::from(sweeps));
        Ok(best)
    })
}

fn degree(flat: &FlatView, vertex: VertexId) -> usize {
    flat.table(Direction::Out).degree(vertex) + flat.table(Direction::In).degree(vertex)
}

/// The vertex of largest degree, the first of several.
fn busiest(flat: &FlatView) -> Option<VertexId> {
    let busier = |&vertex: &VertexId| (degree(flat, vertex), std::cmp::Reverse(vertex));
    let blocks = map(vertex_blocks(flat.id_bound()), |block| {
        block.filter(|&vertex| flat.has_vertex(vertex)).max_by_key(busier)
    });
    blocks.into_iter().flatten().max_by_key(busier)
}

/// Of the vertices of the last level the one of smallest degree: it is more likely at the rim.
fn farthest(flat: &FlatView, found: &Bfs, start: VertexId) -> VertexId {
    let last = filter_vertices(flat.id_bound(), |vertex| found.distances[vertex as usize] == found.depth);
    last.into_iter().min_by_key(|&vertex| (degree(flat, vertex), vertex)).unwrap_or(start)
}

/// Checks that the two vertices have that distance: O(V + E).
pub fn verify(view: &dyn GraphView, result: &Diameter, control: &Control) -> Result<(), AlgorithmError> {
    let Some((source, target)) = result.ends else {
        return ensure(view.num_vertices() == 0 && result.lower_bound == 0, || "no ends".to_owned());
    };
    let options = BfsOptions::default();
    let found = bfs(view, &[source], &options, &control.of_part())?;
    crate::paths::bfs::verify(view, &[source], &options, &found, control)?;
    let distance = found.distances.get(target as usize).copied().unwrap_or(UNREACHED);
    ensure(distance == result.lower_bound, || {
        format!("{source} and {target} are at distance {distance}, not {}", result.lower_bound)
    })
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "diameter",
    summary: "A lower bound of the largest distance between two vertices, usually tight",
    complexity: "O(V + E) per sweep",
    source: "Magnien, Latapy, Habib: Fast computation of empirically tight bounds for the diameter of massive graphs, \
             JEA 13, 2009, section 2",
    arguments: &[Argument::optional("sweeps", Kind::Count, "4", "how many searches")],
    results: &[
        Field { name: "vertex", summary: "the two ends of the longest shortest path found" },
        Field { name: "lower_bound", summary: "its length in hops" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = diameter(view, arguments.count("sweeps").unwrap_or(SWEEPS), control)?;
    if check == Check::Verify {
        verify(view, &result, control)?;
    }
    let ends = result.ends.map_or(Vec::new(), |(source, target)| vec![source, target]);
    Ok(Outcome::listed(
        vec![("vertex", VertexColumn::Vertices(ends))],
        vec![("lower_bound", Scalar::Count(result.lower_bound.into()))],
    ))
}
