//! Shortest path between two vertices, without a look at the rest of the graph.
//!
//! Method: two searches that meet, one from the source along the edges and one from the target against them (Pohl,
//! "Bi-directional search", Machine Intelligence 6, 1971): breadth first, the smaller frontier first, where every edge
//! weighs 1; Dijkstra's algorithm, the nearer vertex first, otherwise. Lists are read where they lie in the view, no flat
//! view is made. Complexity: O(edges near both ends), at worst O((V + E) log E).
//!
//! ```text
//!   source --->---->  *  <----<--- target       with weights: over when  nearest + nearest >= best meeting
//! ```
//!
//! Invariant: `reached` of a side holds a path to each of its vertices, and the best meeting is on both sides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{GraphView, WeightedList, WeightedLists};
use hashbrown::HashMap;

use crate::engine::control::{ensure, require_sources};
use crate::engine::weights::{Sign, Weight, check, sums_too_large};
use crate::paths::sssp::dijkstra;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, OPTIONAL_WEIGHT, Outcome, Scalar, VertexColumn,
    WEIGHT,
};
use crate::{AlgorithmError, Control, NO_VERTEX, SsspOptions, VerifyError};

/// Vertices expanded between two looks at [`Control`].
const VERTICES_PER_CHECK: u64 = 64;

/// A path and its total weight.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortestPath {
    /// The vertices from the source to the target, both included.
    pub vertices: Vec<VertexId>,
    /// The sum of the weights of its edges.
    pub length: f64,
}

/// A path of least total weight from `source` to `target`; `None` if there is no path.
///
/// ```
/// use evergraph_analytics::{Control, Weight, shortest_path};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_weighted_edges(3, &[(0, 2, 5.0), (0, 1, 1.0), (1, 2, 1.5)], false);
/// let hops = shortest_path(&view, 0, 2, &Weight::One, &Control::new())?.expect("a path");
/// assert_eq!((hops.vertices, hops.length), (vec![0, 2], 1.0));
/// let path = shortest_path(&view, 0, 2, &Weight::Usual, &Control::new())?.expect("a path");
/// assert_eq!((path.vertices, path.length), (vec![0, 1, 2], 2.5));
/// assert_eq!(shortest_path(&view, 2, 0, &Weight::One, &Control::new())?, None);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn shortest_path(
    view: &dyn GraphView,
    source: VertexId,
    target: VertexId,
    weight: &Weight,
    control: &Control,
) -> Result<Option<ShortestPath>, AlgorithmError> {
    require_sources(view, &[source, target])?;
    control.check()?;
    control.progress(0, view.num_vertices());
    if source == target {
        return Ok(Some(ShortestPath { vertices: vec![source], length: 0.0 }));
    }
    let sides = || [Side::new(Direction::Out, source), Side::new(Direction::In, target)];
    let Some(lists) = weight.lists(view)? else { return by_hops(view, sides(), control) };
    match by_weight(view, &*lists, sides(), control)? {
        // Some path may be longer than any number says.
        Found::Overflow if by_hops(view, sides(), control)?.is_some() => Err(sums_too_large(WEIGHT.name)),
        Found::Path(path) => Ok(Some(path)),
        Found::Overflow | Found::Nothing => Ok(None),
    }
}

/// How a vertex was reached.
#[derive(Clone, Copy, Debug)]
struct Step {
    distance: f64,
    /// The vertex before, seen from the side's start; none for the start.
    from: VertexId,
    weight: f64,
}

/// One of the two searches.
struct Side {
    direction: Direction,
    reached: HashMap<VertexId, Step>,
    frontier: Vec<VertexId>,
    /// Distances as bits, which are in their order; with weights only.
    queue: BinaryHeap<Reverse<(u64, VertexId)>>,
}

impl Side {
    fn new(direction: Direction, start: VertexId) -> Self {
        let step = Step { distance: 0.0, from: NO_VERTEX, weight: 0.0 };
        Side {
            direction,
            reached: HashMap::from_iter([(start, step)]),
            frontier: vec![start],
            queue: BinaryHeap::from([Reverse((0, start))]),
        }
    }

    /// The distance of the nearest vertex that waits.
    fn nearest(&self) -> f64 {
        self.queue.peek().map_or(f64::INFINITY, |Reverse((bits, _))| f64::from_bits(*bits))
    }

    fn distance(&self, vertex: VertexId) -> Option<f64> {
        self.reached.get(&vertex).map(|step| step.distance)
    }

    /// The steps from a vertex back to the start.
    fn steps(&self, vertex: VertexId) -> impl Iterator<Item = (VertexId, Step)> + '_ {
        let step = |vertex: VertexId| self.reached.get(&vertex).map(|&step| (vertex, step));
        std::iter::successors(step(vertex), move |(_, last)| step(last.from))
    }
}

fn by_hops(
    view: &dyn GraphView,
    mut sides: [Side; 2],
    control: &Control,
) -> Result<Option<ShortestPath>, AlgorithmError> {
    let mut expanded = 0;
    while sides.iter().all(|side| !side.frontier.is_empty()) {
        if sides[1].frontier.len() < sides[0].frontier.len() {
            sides.swap(0, 1);
        }
        let [side, other] = &mut sides;
        let frontier = std::mem::take(&mut side.frontier);
        for vertex in frontier {
            expanded += 1;
            report(view, expanded, control)?;
            if let Some(meeting) = expand(view, side, other, vertex) {
                return Ok(Some(join(sides, meeting)));
            }
        }
    }
    Ok(None)
}

/// Reaches the neighbors of a vertex; gives the first that the other side has reached too.
fn expand(view: &dyn GraphView, side: &mut Side, other: &Side, vertex: VertexId) -> Option<VertexId> {
    let distance = side.distance(vertex)? + 1.0;
    let mut meeting = None;
    view.for_each_slice(side.direction, vertex, &mut |slice| {
        for &neighbor in slice {
            if side.reached.contains_key(&neighbor) {
                continue;
            }
            side.reached.insert(neighbor, Step { distance, from: vertex, weight: 1.0 });
            side.frontier.push(neighbor);
            if other.reached.contains_key(&neighbor) {
                meeting = Some(neighbor);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    meeting
}

/// How a search by weight ended.
enum Found {
    Path(ShortestPath),
    Nothing,
    /// No path, and weights of some paths add up to infinity.
    Overflow,
}

fn by_weight(
    view: &dyn GraphView,
    lists: &dyn WeightedLists,
    mut sides: [Side; 2],
    control: &Control,
) -> Result<Found, AlgorithmError> {
    let (mut best, mut meeting, mut is_over) = (f64::INFINITY, None, false);
    let (mut list, mut expanded) = (WeightedList::default(), 0);
    while sides[0].nearest() + sides[1].nearest() < best {
        if sides[1].nearest() < sides[0].nearest() {
            sides.swap(0, 1);
        }
        let [side, other] = &mut sides;
        let Some(Reverse((bits, vertex))) = side.queue.pop() else { break };
        let near = f64::from_bits(bits);
        if side.distance(vertex).is_some_and(|distance| distance < near) {
            continue;
        }
        expanded += 1;
        report(view, expanded, control)?;
        list.clear();
        lists.append(side.direction, vertex, &mut list);
        check(vertex, side.direction, &list, Sign::NotNegative)?;
        for (neighbor, weight) in list.iter() {
            let distance = near + weight;
            is_over |= distance.is_infinite();
            if side.distance(neighbor).is_some_and(|known| known <= distance) || distance.is_infinite() {
                continue;
            }
            side.reached.insert(neighbor, Step { distance, from: vertex, weight });
            side.queue.push(Reverse((distance.to_bits(), neighbor)));
            let Some(rest) = other.distance(neighbor) else { continue };
            let total = distance + rest;
            is_over |= total.is_infinite();
            if total < best {
                (best, meeting) = (total, Some(neighbor));
            }
        }
    }
    // Both sides may go on, but not to a path whose length is a number.
    is_over |= sides.iter().all(|side| !side.queue.is_empty());
    Ok(match meeting {
        Some(meeting) => Found::Path(join(sides, meeting)),
        None if is_over => Found::Overflow,
        None => Found::Nothing,
    })
}

fn report(view: &dyn GraphView, expanded: u64, control: &Control) -> Result<(), AlgorithmError> {
    if expanded.is_multiple_of(VERTICES_PER_CHECK) {
        control.check()?;
        control.progress(expanded, view.num_vertices());
    }
    Ok(())
}

/// The path through the vertex where the sides met; its length added up from the source on.
fn join(mut sides: [Side; 2], meeting: VertexId) -> ShortestPath {
    sides.sort_by_key(|side| side.direction != Direction::Out);
    let [forward, backward] = sides;
    let mut vertices: Vec<VertexId> = forward.steps(meeting).map(|(vertex, _)| vertex).collect();
    vertices.reverse();
    let start = forward.distance(meeting).unwrap_or_default();
    let steps = || backward.steps(meeting).filter(|(_, step)| step.from != NO_VERTEX);
    vertices.extend(steps().map(|(_, step)| step.from));
    ShortestPath { vertices, length: steps().fold(start, |sum, (_, step)| sum + step.weight) }
}

/// Checks a path against Dijkstra's algorithm from the source alone, and its edges against the lists:
/// O((V + E) log E). Sums may differ by rounding.
pub fn verify(
    view: &dyn GraphView,
    source: VertexId,
    target: VertexId,
    weight: &Weight,
    result: Option<&ShortestPath>,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let options = SsspOptions { weight: weight.clone(), ..SsspOptions::default() };
    let distances = dijkstra(view, &[source], &options)?;
    let wanted = distances.get(target as usize).copied().unwrap_or(f64::INFINITY);
    let Some(result) = result else {
        return ensure(wanted.is_infinite(), || format!("no path, but there is one of length {wanted}"));
    };
    let agrees = |found: f64| (found - wanted).abs() <= 1e-9 * wanted;
    ensure(agrees(result.length), || format!("length {}, {wanted} expected", result.length))?;
    let ends = (result.vertices.first(), result.vertices.last());
    ensure(ends == (Some(&source), Some(&target)), || format!("the path has the ends {ends:?}"))?;
    let lists = weight.lists(view)?;
    let mut sum = 0.0;
    for pair in result.vertices.windows(2) {
        control.check()?;
        let least = lightest_edge(view, lists.as_deref(), pair[0], pair[1]);
        sum +=
            least.ok_or_else(|| VerifyError { what: format!("no edge from {} to {}", pair[0], pair[1]) })?;
    }
    ensure(agrees(sum), || format!("the edges of the path add up to {sum}, {wanted} expected"))
}

fn lightest_edge(
    view: &dyn GraphView,
    lists: Option<&(dyn WeightedLists + '_)>,
    src: VertexId,
    dst: VertexId,
) -> Option<f64> {
    let mut list = WeightedList::default();
    match lists {
        Some(lists) => lists.append(Direction::Out, src, &mut list),
        None => view.for_each_slice(Direction::Out, src, &mut |slice| {
            list.neighbors.extend_from_slice(slice);
            list.weights.resize(list.neighbors.len(), 1.0);
            ControlFlow::Continue(())
        }),
    }
    list.iter().filter(|(neighbor, _)| *neighbor == dst).map(|(_, weight)| weight).reduce(f64::min)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "shortest_path",
    summary: "A path of least total weight from one vertex to another",
    complexity: "O(V + E), with weights O((V + E) log E); usually only what is near both ends",
    source: "Pohl: Bi-directional search, Machine Intelligence 6, 1971; Dijkstra 1959 with weights",
    arguments: &[
        Argument::required("source", Kind::Vertex, "where the path begins"),
        Argument::required("target", Kind::Vertex, "where it ends"),
        OPTIONAL_WEIGHT,
    ],
    results: &[
        Field {
            name: "vertex",
            summary: "the vertices of the path in order; that there is none is an error",
        },
        Field { name: "length", summary: "the total weight of its edges" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let (source, target) = (arguments.vertex("source")?, arguments.vertex("target")?);
    let weight = arguments.optional_weight();
    let result = shortest_path(view, source, target, &weight, control)?;
    if check == Check::Verify {
        verify(view, source, target, &weight, result.as_ref(), control)?;
    }
    let path = result.ok_or(AlgorithmError::NoPath { from: source, to: target })?;
    Ok(Outcome::listed(
        vec![("vertex", VertexColumn::Vertices(path.vertices))],
        vec![("length", Scalar::Float(path.length))],
    ))
}
