//! Strongly connected components: vertices that reach each other along the edges.
//!
//! Method: trimming, forward and backward search from one vertex, and Tarjan's algorithm for what is left (Slota,
//! Rajamanickam, Madduri, "BFS and Coloring-Based Parallel Algorithms for Strongly Connected Components and Related
//! Problems", IPDPS 2014, section III; Tarjan, SIAM J. Comput. 1, 1972).
//!
//! ```text
//!  1. trim      a vertex without edges in, or without edges out, is alone          parallel, a few rounds
//!  2. giant     reached from the pivot and reaching it: one component              two searches, parallel
//!  3. the rest  Tarjan, over the vertices not assigned yet                         one thread
//! ```
//!
//! Real graphs have one giant component and many single vertices, so that little is left for the last step. Complexity:
//! O(V + E). A symmetric view is handed to [`connected_components()`].
//!
//! Invariant: the label of a vertex is the smallest id of its component.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::control::ensure;
use crate::engine::parallel::{filter_vertices, in_pool, map, vertex_blocks};
use crate::registry::{Algorithm, Arguments, Check, Field, Outcome, Scalar, VertexColumn};
use crate::{
    AlgorithmError, Components, Control, EdgeFunction, NO_VERTEX, Ranges, VertexSubset, Way,
    connected_components, edge_map,
};

/// Rounds of trimming; what they leave is cheap for Tarjan.
const TRIMS: u32 = 3;

/// Vertices that Tarjan visits between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 12;

/// The strongly connected components.
///
/// ```
/// use evergraph_analytics::{Control, strongly_connected_components};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 2), (2, 1), (1, 0), (2, 3)], false);
/// let components = strongly_connected_components(&view, &Control::new())?;
/// assert_eq!((components.labels, components.count), (vec![0, 0, 0, 3], 2));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn strongly_connected_components(
    view: &dyn GraphView,
    control: &Control,
) -> Result<Components, AlgorithmError> {
    if view.is_symmetric() {
        return connected_components(view, control);
    }
    in_pool(|| {
        let flat = view.flat();
        let unassigned = vec![NO_VERTEX; flat.id_bound() as usize];
        let labels: Vec<AtomicU32> = unassigned.into_iter().map(AtomicU32::new).collect();
        for _ in 0..TRIMS {
            if trim(&flat, &labels, control)? == 0 {
                break;
            }
        }
        control.progress(1, 3);
        assign_giant(&flat, &labels, control)?;
        control.progress(2, 3);
        let mut labels: Vec<VertexId> = labels.into_iter().map(AtomicU32::into_inner).collect();
        assign_rest(&flat, &mut labels, control)?;
        control.progress(3, 3);
        let roots = (0..).zip(&labels).filter(|(vertex, label)| *vertex == **label);
        let count = roots.count() as u64;
        Ok(Components { labels, count })
    })
}

fn is_assigned(labels: &[AtomicU32], vertex: VertexId) -> bool {
    labels[vertex as usize].load(Relaxed) != NO_VERTEX
}

/// Assigns the vertices that no other unassigned one leads to, or that lead to none. Gives their number. A vertex that
/// is trimmed early in a round may let others follow in the same round; each is alone all the same.
fn trim(flat: &FlatView, labels: &[AtomicU32], control: &Control) -> Result<u64, AlgorithmError> {
    let leads_on = |direction, vertex| {
        let other = |neighbor| neighbor != vertex && !is_assigned(labels, neighbor);
        let search = flat.neighbors(direction, vertex).try_for_each(|neighbor| match other(neighbor) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        search.is_break()
    };
    let counts = Ranges::by_edges(flat, Direction::Out).map(control, |range| {
        let mut trimmed = 0;
        for vertex in range.filter(|&vertex| flat.has_vertex(vertex) && !is_assigned(labels, vertex)) {
            if !leads_on(Direction::Out, vertex) || !leads_on(Direction::In, vertex) {
                labels[vertex as usize].store(vertex, Relaxed);
                trimmed += 1;
            }
        }
        trimmed
    })?;
    Ok(counts.iter().sum())
}

/// Assigns the component of the unassigned vertex with the most pairs of edges in and out.
fn assign_giant(flat: &FlatView, labels: &[AtomicU32], control: &Control) -> Result<(), AlgorithmError> {
    let pairs = |vertex| {
        let degree = |direction| flat.table(direction).degree(vertex) as u64;
        (degree(Direction::Out) * degree(Direction::In), Reverse(vertex))
    };
    let is_candidate = |vertex| flat.has_vertex(vertex) && !is_assigned(labels, vertex);
    let best = map(vertex_blocks(flat.id_bound()), |block| {
        block.filter(|&vertex| is_candidate(vertex)).map(pairs).max()
    });
    let Some((_, Reverse(pivot))) = best.into_iter().flatten().max() else { return Ok(()) };
    let forward = reach(flat, Direction::Out, pivot, labels, control)?;
    let backward = reach(flat, Direction::In, pivot, labels, control)?;
    let members = filter_vertices(flat.id_bound(), |vertex| {
        forward[vertex as usize].load(Relaxed) && backward[vertex as usize].load(Relaxed)
    });
    let label = members.first().copied().unwrap_or(pivot);
    members.iter().for_each(|&vertex| labels[vertex as usize].store(label, Relaxed));
    Ok(())
}

/// The unassigned vertices that a search from `start` visits.
fn reach(
    flat: &FlatView,
    direction: Direction,
    start: VertexId,
    labels: &[AtomicU32],
    control: &Control,
) -> Result<Vec<AtomicBool>, AlgorithmError> {
    let visited = vec![false; flat.id_bound() as usize].into_iter().map(AtomicBool::new).collect();
    let step = Reach { labels, visited };
    step.visited[start as usize].store(true, Relaxed);
    let mut frontier = VertexSubset::from_ids(flat.id_bound(), vec![start]);
    while !frontier.is_empty() {
        control.check()?;
        frontier = edge_map(flat, direction, Way::Auto, &frontier, &step, control)?;
    }
    Ok(step.visited)
}

struct Reach<'a> {
    labels: &'a [AtomicU32],
    visited: Vec<AtomicBool>,
}

impl EdgeFunction for Reach<'_> {
    const FIRST_ONLY: bool = true;

    fn cond(&self, dst: VertexId) -> bool {
        !self.visited[dst as usize].load(Relaxed) && !is_assigned(self.labels, dst)
    }

    fn pull(&self, _src: VertexId, dst: VertexId) -> bool {
        self.visited[dst as usize].store(true, Relaxed);
        true
    }

    fn push(&self, _src: VertexId, dst: VertexId) -> bool {
        self.cond(dst) && !self.visited[dst as usize].swap(true, Relaxed)
    }
}

/// Tarjan's algorithm over the vertices without a label, with a stack of lists instead of recursion.
fn assign_rest(flat: &FlatView, labels: &mut [VertexId], control: &Control) -> Result<(), AlgorithmError> {
    // `low` is the order of the visit, lowered to that of the earliest vertex on the stack that is reached.
    let mut low = vec![NO_VERTEX; labels.len()];
    let (mut path, mut stack, mut visits) = (Vec::new(), Vec::new(), 0);
    for start in 0..flat.id_bound() {
        if (start as usize).is_multiple_of(VERTICES_PER_CHECK) {
            control.check()?;
        }
        if labels[start as usize] != NO_VERTEX || !flat.has_vertex(start) {
            continue;
        }
        let mut next = Some(start);
        loop {
            if let Some(vertex) = next.take() {
                if (visits as usize).is_multiple_of(VERTICES_PER_CHECK) {
                    control.check()?;
                }
                low[vertex as usize] = visits;
                path.push((vertex, visits, flat.out_neighbors(vertex).iter()));
                stack.push(vertex);
                visits += 1;
            }
            let Some((vertex, order, list)) = path.last_mut() else { break };
            let (vertex, order) = (*vertex, *order);
            let open = |&neighbor: &VertexId| labels[neighbor as usize] == NO_VERTEX;
            if let Some(neighbor) = list.find(open) {
                match low[neighbor as usize] {
                    NO_VERTEX => next = Some(neighbor),
                    reached => low[vertex as usize] = low[vertex as usize].min(reached),
                }
                continue;
            }
            path.pop();
            if let Some((above, ..)) = path.last() {
                low[*above as usize] = low[*above as usize].min(low[vertex as usize]);
            }
            if low[vertex as usize] == order {
                let first = stack.iter().rposition(|&other| other == vertex).unwrap_or(0);
                let label = stack[first..].iter().copied().min().unwrap_or(vertex);
                stack.drain(first..).for_each(|member| labels[member as usize] = label);
            }
        }
    }
    Ok(())
}

/// Checks a result by Kosaraju's two searches: O(V + E).
pub fn verify(view: &dyn GraphView, result: &Components, control: &Control) -> Result<(), AlgorithmError> {
    let bound = view.id_bound();
    let mut expected = vec![NO_VERTEX; bound as usize];
    let mut count = 0;
    for &start in finish_order(view).iter().rev() {
        control.check()?;
        if expected[start as usize] != NO_VERTEX {
            continue;
        }
        let (mut members, mut next) = (vec![start], 0);
        expected[start as usize] = start;
        while let Some(&vertex) = members.get(next) {
            next += 1;
            view.for_each_slice(Direction::In, vertex, &mut |slice| {
                for &neighbor in slice {
                    if expected[neighbor as usize] == NO_VERTEX {
                        expected[neighbor as usize] = start;
                        members.push(neighbor);
                    }
                }
                ControlFlow::Continue(())
            });
        }
        let label = members.iter().copied().min().unwrap_or(start);
        members.iter().for_each(|&member| expected[member as usize] = label);
        count += 1;
    }
    ensure(result.labels.len() == expected.len(), || format!("{} labels", result.labels.len()))?;
    for (vertex, (&found, &wanted)) in result.labels.iter().zip(&expected).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} has label {found}, {wanted} expected"))?;
    }
    ensure(result.count == count, || format!("{} components, {count} expected", result.count))
}

/// The vertices in the order in which a depth-first search along the edges leaves them.
fn finish_order(view: &dyn GraphView) -> Vec<VertexId> {
    let mut visited = vec![false; view.id_bound() as usize];
    let (mut order, mut path) = (Vec::new(), Vec::new());
    for start in (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)) {
        if std::mem::replace(&mut visited[start as usize], true) {
            continue;
        }
        path.push((start, list_of(view, start)));
        while let Some((vertex, list)) = path.last_mut() {
            let vertex = *vertex;
            match list.pop() {
                None => {
                    order.push(vertex);
                    path.pop();
                }
                Some(next) if std::mem::replace(&mut visited[next as usize], true) => {}
                Some(next) => path.push((next, list_of(view, next))),
            }
        }
    }
    order
}

fn list_of(view: &dyn GraphView, vertex: VertexId) -> Vec<VertexId> {
    let mut list = Vec::new();
    view.for_each_slice(Direction::Out, vertex, &mut |slice| {
        list.extend_from_slice(slice);
        ControlFlow::Continue(())
    });
    list
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "strongly_connected_components",
    summary: "Which vertices reach each other along the edges",
    complexity: "O(V + E)",
    source: "Slota, Rajamanickam, Madduri: BFS and Coloring-Based Parallel Algorithms for Strongly Connected Components, \
             IPDPS 2014, section III; Tarjan, SIAM J. Comput. 1, 1972",
    arguments: &[],
    results: &[
        Field { name: "component", summary: "the first vertex of its component" },
        Field { name: "components", summary: "how many components there are" },
        Field { name: "largest", summary: "vertices in the largest component" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    _arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = strongly_connected_components(view, control)?;
    if check == Check::Verify {
        verify(view, &result, control)?;
    }
    let largest = result.sizes().first().map_or(0, |&(_, size)| size);
    Ok(Outcome::by_vertex(
        vec![("component", VertexColumn::Vertices(result.labels))],
        vec![("components", Scalar::Count(result.count)), ("largest", Scalar::Count(largest))],
    ))
}
