//! The vertices at most k hops away, without a look at the rest of the graph.
//!
//! Method: a breadth-first search level by level over the lists of the view as they lie; no flat view is made, so that it
//! answers at once on any snapshot. The first level is a sorted list; from the second on a bitmap tells what was seen.
//! Complexity: O(edges within k - 1 hops).
//!
//! Invariant: vertices come by distance, then by id.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::{ensure, require_sources};
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, REVERSE, Scalar, VertexColumn,
};
use crate::{AlgorithmError, Bitmap, Control};

/// Vertices expanded between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 8;

/// What [`k_hop`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KHop {
    /// The vertices, the source first.
    pub vertices: Vec<VertexId>,
    /// The hops to each.
    pub distances: Vec<u32>,
}

impl KHop {
    fn push_level(&mut self, distance: u32, mut level: Vec<VertexId>) -> Vec<VertexId> {
        level.sort_unstable();
        self.vertices.extend_from_slice(&level);
        self.distances.resize(self.vertices.len(), distance);
        level
    }
}

/// The vertices at most `k` hops from `source` along the edges of a direction.
///
/// ```
/// use evergraph_analytics::{Control, k_hop};
/// use evergraph_types::Direction;
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 2), (0, 1), (2, 3)], false);
/// let near = k_hop(&view, 0, 1, Direction::Out, &Control::new())?;
/// assert_eq!((near.vertices, near.distances), (vec![0, 1, 2], vec![0, 1, 1]));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn k_hop(
    view: &dyn GraphView,
    source: VertexId,
    k: u32,
    direction: Direction,
    control: &Control,
) -> Result<KHop, AlgorithmError> {
    require_sources(view, &[source])?;
    control.check()?;
    control.progress(0, u64::from(k));
    let mut found = KHop { vertices: vec![source], distances: vec![0] };
    if k == 0 {
        return Ok(found);
    }
    let mut level = Vec::with_capacity(view.degree(direction, source));
    view.for_each_slice(direction, source, &mut |slice| {
        level.extend(slice.iter().copied().filter(|&neighbor| neighbor != source));
        ControlFlow::Continue(())
    });
    level.sort_unstable();
    level.dedup();
    level = found.push_level(1, level);
    if k == 1 {
        return Ok(found);
    }
    let mut seen = Bitmap::empty(view.id_bound());
    found.vertices.iter().for_each(|&vertex| seen.insert(vertex));
    for distance in 2..=k {
        let mut next = Vec::new();
        for (position, &vertex) in level.iter().enumerate() {
            if position.is_multiple_of(VERTICES_PER_CHECK) {
                control.check()?;
            }
            view.for_each_slice(direction, vertex, &mut |slice| {
                for &neighbor in slice {
                    if !seen.contains(neighbor) {
                        seen.insert(neighbor);
                        next.push(neighbor);
                    }
                }
                ControlFlow::Continue(())
            });
        }
        level = found.push_level(distance, next);
        control.progress(u64::from(distance), u64::from(k));
        if level.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Checks a result by relaxing the edges of all vertices `k` times: O(k (V + E)).
pub fn verify(
    view: &dyn GraphView,
    source: VertexId,
    k: u32,
    direction: Direction,
    result: &KHop,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut expected = BTreeMap::from([(source, 0)]);
    for distance in 1..=k {
        control.check()?;
        let before = expected.clone();
        for &vertex in before.keys() {
            view.for_each_slice(direction, vertex, &mut |slice| {
                slice.iter().for_each(|&neighbor| _ = expected.entry(neighbor).or_insert(distance));
                ControlFlow::Continue(())
            });
        }
        if before.len() == expected.len() {
            break;
        }
    }
    let mut expected: Vec<(u32, VertexId)> =
        expected.into_iter().map(|(vertex, distance)| (distance, vertex)).collect();
    expected.sort_unstable();
    ensure(result.vertices.len() == expected.len() && result.distances.len() == expected.len(), || {
        format!("{} vertices, {} expected", result.vertices.len(), expected.len())
    })?;
    for ((&vertex, &distance), wanted) in result.vertices.iter().zip(&result.distances).zip(expected) {
        control.check()?;
        ensure((distance, vertex) == wanted, || {
            format!("vertex {vertex} at distance {distance}, (distance, vertex) {wanted:?} expected")
        })?;
    }
    Ok(())
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "k_hop",
    summary: "The vertices at most k hops away",
    complexity: "O(edges within k - 1 hops)",
    source: "breadth-first search over the lists as they lie; as networkx.ego_graph",
    arguments: &[
        Argument::required("source", Kind::Vertex, "the vertex to start from"),
        Argument::optional("k", Kind::Count, "1", "how many hops"),
        REVERSE,
    ],
    results: &[
        Field { name: "vertex", summary: "the vertices, the nearest first, then by id" },
        Field { name: "distance", summary: "hops from the source" },
        Field { name: "vertices", summary: "how many they are, the source included" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let (source, k) = (arguments.vertex("source")?, arguments.count("k").unwrap_or(1));
    let direction = if arguments.flag("reverse") == Some(true) { Direction::In } else { Direction::Out };
    let result = k_hop(view, source, k, direction, control)?;
    if check == Check::Verify {
        verify(view, source, k, direction, &result, control)?;
    }
    let count = result.vertices.len() as u64;
    Ok(Outcome::listed(
        vec![
            ("vertex", VertexColumn::Vertices(result.vertices)),
            ("distance", VertexColumn::Counts(result.distances)),
        ],
        vec![("vertices", Scalar::Count(count))],
    ))
}
