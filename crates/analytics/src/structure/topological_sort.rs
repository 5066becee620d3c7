//! Topological order of a graph without cycles, or a cycle of one that has some.
//!
//! Method: peeling vertices without edges in, generation by generation (Kahn, "Topological sorting of large networks", CACM
//! 5, 1962), each in parallel. Where nothing can be peeled any more, every vertex left has one before it that is left too,
//! and a walk against the edges must come back to itself: a cycle. Complexity: O(V + E).
//!
//! ```text
//!  0 ──► 1 ──► 3      generations  0 2 | 1 | 3        as networkx.topological_generations
//!  2 ──────────┘      order        0 2 1 3            by generation, then by id
//! ```
//!
//! A symmetric view has an edge back for every edge, and so an order only if it has no edges. [`find_cycle`] follows
//! directions as well.
//!
//! Invariant: every edge leads from an earlier generation to a later one.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use rayon::prelude::*;

use crate::engine::control::{ensure, require_sources};
use crate::engine::parallel::{filter_vertices, in_pool, of_vertices, try_map};
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Scalar, VertexColumn};
use crate::{AlgorithmError, BfsOptions, Control, UNREACHED, bfs};

/// Vertices peeled by one task.
const VERTICES_PER_TASK: usize = 1 << 8;

/// What [`topological_sort`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologicalOrder {
    /// The vertices so that every edge leads forward.
    pub vertices: Vec<VertexId>,
    /// The generation of each: the length of the longest path to it.
    pub generations: Vec<u32>,
}

/// An order in which every edge leads forward; an error that names a vertex of a cycle if there is one.
///
/// ```
/// use evergraph_analytics::{Control, topological_sort};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(2, 3), (0, 1), (1, 3)], false);
/// let order = topological_sort(&view, &Control::new())?;
/// assert_eq!((order.vertices, order.generations), (vec![0, 2, 1, 3], vec![0, 0, 1, 2]));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn topological_sort(view: &dyn GraphView, control: &Control) -> Result<TopologicalOrder, AlgorithmError> {
    let peeled = in_pool(|| peel(&view.flat(), None, control))?;
    match peeled.cycle.first() {
        Some(&vertex) => Err(AlgorithmError::Cyclic { vertex }),
        None => Ok(peeled.order),
    }
}

/// A cycle along the edges: each vertex has an edge to the next and the last to the first. `None` if there is none; with
/// sources, none that they reach.
///
/// ```
/// use evergraph_analytics::{Control, find_cycle};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 1), (2, 3)], false);
/// assert_eq!(find_cycle(&view, None, &Control::new())?, Some(vec![1, 2]));
/// assert_eq!(find_cycle(&view, Some(&[3]), &Control::new())?, None);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn find_cycle(
    view: &dyn GraphView,
    sources: Option<&[VertexId]>,
    control: &Control,
) -> Result<Option<Vec<VertexId>>, AlgorithmError> {
    require_sources(view, sources.unwrap_or_default())?;
    let reach = |sources| bfs(view, sources, &BfsOptions::default(), &control.of_part());
    let hops = sources.map(reach).transpose()?.map(|found| found.distances);
    let peeled = in_pool(|| peel(&view.flat(), hops.as_deref(), control))?;
    Ok(Some(peeled.cycle).filter(|cycle| !cycle.is_empty()))
}

struct Peeled {
    order: TopologicalOrder,
    cycle: Vec<VertexId>,
}

/// Peels all vertices, or those that have hops from a source: their edges lead to others that have.
fn peel(flat: &FlatView, hops: Option<&[u32]>, control: &Control) -> Result<Peeled, AlgorithmError> {
    let within = |vertex: VertexId| hops.is_none_or(|hops| hops[vertex as usize] != UNREACHED);
    let degree = |vertex| match hops {
        None => flat.table(Direction::In).degree(vertex),
        Some(_) if !within(vertex) => 0,
        Some(_) => flat.in_neighbors(vertex).iter().filter(|&before| within(before)).count(),
    };
    let waits_for = of_vertices(flat.id_bound(), |vertex| AtomicU32::new(degree(vertex) as u32));
    let is_free = |vertex: VertexId| waits_for[vertex as usize].load(Relaxed) == 0;
    let free = |vertex| flat.has_vertex(vertex) && within(vertex) && is_free(vertex);
    let mut generation = filter_vertices(flat.id_bound(), free);
    let mut order = TopologicalOrder::default();
    control.check()?;
    control.progress(0, flat.num_vertices());
    for number in 0.. {
        order.vertices.extend_from_slice(&generation);
        order.generations.resize(order.vertices.len(), number);
        let pieces = try_map(control, generation.chunks(VERTICES_PER_TASK), |vertices| {
            let mut freed = Vec::new();
            for &vertex in vertices {
                flat.out_neighbors(vertex).for_each_slice(|slice| {
                    let last = |dst: &VertexId| waits_for[*dst as usize].fetch_sub(1, Relaxed) == 1;
                    freed.extend(slice.iter().copied().filter(last));
                });
            }
            Ok(freed)
        })?;
        generation = pieces.concat();
        generation.par_sort_unstable();
        control.progress(order.vertices.len() as u64, flat.num_vertices());
        if generation.is_empty() {
            break;
        }
    }
    let start = (0..flat.id_bound()).find(|&vertex| !is_free(vertex));
    let cycle = start.map_or(Vec::new(), |start| cycle_before(flat, start, is_free));
    Ok(Peeled { order, cycle })
}

/// The cycle that a walk against the edges ends in, of vertices that could not be peeled, from its smallest on.
fn cycle_before(flat: &FlatView, start: VertexId, is_free: impl Fn(VertexId) -> bool) -> Vec<VertexId> {
    let mut steps = vec![u32::MAX; flat.id_bound() as usize];
    let (mut walk, mut vertex) = (Vec::new(), start);
    while steps[vertex as usize] == u32::MAX {
        steps[vertex as usize] = walk.len() as u32;
        walk.push(vertex);
        let before = flat.in_neighbors(vertex).iter().find(|&before| !is_free(before));
        let Some(before) = before else { return Vec::new() };
        vertex = before;
    }
    let mut cycle = walk.split_off(steps[vertex as usize] as usize);
    cycle.reverse();
    let smallest = (0..cycle.len()).min_by_key(|&position| cycle[position]).unwrap_or(0);
    cycle.rotate_left(smallest);
    cycle
}

/// Checks an order edge by edge: every generation is one more than the largest before it. O(V + E).
pub fn verify(
    view: &dyn GraphView,
    result: &TopologicalOrder,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut generations = vec![None; view.id_bound() as usize];
    for (&vertex, &generation) in result.vertices.iter().zip(&result.generations) {
        control.check()?;
        ensure(view.has_vertex(vertex), || format!("there is no vertex {vertex}"))?;
        let known = generations[vertex as usize].replace(generation);
        ensure(known.is_none(), || format!("vertex {vertex} comes twice"))?;
    }
    ensure(result.vertices.len() as u64 == view.num_vertices(), || {
        format!("{} vertices of {}", result.vertices.len(), view.num_vertices())
    })?;
    for (&vertex, &generation) in result.vertices.iter().zip(&result.generations) {
        control.check()?;
        let mut wanted = 0;
        view.for_each_slice(Direction::In, vertex, &mut |slice| {
            let before = slice.iter().filter_map(|&before| generations[before as usize]).max();
            wanted = wanted.max(before.map_or(0, |before| before + 1));
            ControlFlow::Continue(())
        });
        ensure(generation == wanted, || format!("vertex {vertex} is in {generation}, {wanted} expected"))?;
    }
    let order: Vec<_> = result.generations.iter().zip(&result.vertices).collect();
    ensure(order.is_sorted(), || "the vertices are not in the order of generations and ids".to_owned())
}

/// Checks a cycle edge by edge; that there is none, by a depth-first search that meets no vertex of its own path: O(V + E).
pub fn verify_cycle(
    view: &dyn GraphView,
    sources: Option<&[VertexId]>,
    result: Option<&[VertexId]>,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let mut reached = vec![sources.is_none(); view.id_bound() as usize];
    let mut stack = sources.unwrap_or_default().to_vec();
    while let Some(vertex) = stack.pop() {
        control.check()?;
        if !std::mem::replace(&mut reached[vertex as usize], true) {
            stack.extend(list_of(view, vertex));
        }
    }
    let Some(cycle) = result else {
        return ensure(!has_cycle(view, &reached), || "no cycle found, but there is one".to_owned());
    };
    let out_of_reach = cycle.iter().find(|&&vertex| !reached[vertex as usize]);
    ensure(out_of_reach.is_none(), || format!("no source reaches {out_of_reach:?}"))?;
    let mut distinct = cycle.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    ensure(!cycle.is_empty() && distinct.len() == cycle.len(), || format!("{cycle:?} is no cycle"))?;
    for (position, &src) in cycle.iter().enumerate() {
        control.check()?;
        let dst = cycle[(position + 1) % cycle.len()];
        ensure(list_of(view, src).contains(&dst), || format!("there is no edge from {src} to {dst}"))?;
    }
    Ok(())
}

fn has_cycle(view: &dyn GraphView, reached: &[bool]) -> bool {
    const ON_PATH: u8 = 1;
    const LEFT: u8 = 2;
    let mut states = vec![0u8; view.id_bound() as usize];
    for start in (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)) {
        if states[start as usize] != 0 || !reached[start as usize] {
            continue;
        }
        states[start as usize] = ON_PATH;
        let mut path = vec![(start, list_of(view, start))];
        while let Some((vertex, list)) = path.last_mut() {
            let vertex = *vertex;
            let Some(next) = list.pop() else {
                states[vertex as usize] = LEFT;
                path.pop();
                continue;
            };
            match states[next as usize] {
                ON_PATH => return true,
                LEFT => {}
                _ => {
                    states[next as usize] = ON_PATH;
                    path.push((next, list_of(view, next)));
                }
            }
        }
    }
    false
}

fn list_of(view: &dyn GraphView, vertex: VertexId) -> Vec<VertexId> {
    let mut list = Vec::new();
    view.for_each_slice(Direction::Out, vertex, &mut |slice| {
        list.extend_from_slice(slice);
        ControlFlow::Continue(())
    });
    list
}

const SOURCE: &str = "Kahn: Topological sorting of large networks, CACM 5, 1962";

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "topological_sort",
    summary: "An order of the vertices in which every edge leads forward",
    complexity: "O(V + E)",
    source: SOURCE,
    arguments: &[],
    results: &[
        Field { name: "vertex", summary: "the vertices in order" },
        Field { name: "generation", summary: "the length of the longest path to the vertex" },
        Field { name: "generations", summary: "how many there are" },
    ],
    run: run_sort,
};

/// The other outcome of the same.
pub(crate) static FIND_CYCLE: Algorithm = Algorithm {
    name: "find_cycle",
    summary: "A cycle along the edges, if there is one",
    complexity: "O(V + E)",
    source: SOURCE,
    arguments: &[Argument::optional(
        "source",
        Kind::Vertices,
        "any vertex",
        "only cycles that these vertices reach",
    )],
    results: &[
        Field { name: "vertex", summary: "the vertices of the cycle in order; none if there is no cycle" },
        Field { name: "is_acyclic", summary: "whether there is no cycle" },
    ],
    run: run_cycle,
};

fn run_sort(
    view: &dyn GraphView,
    _arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = topological_sort(view, control)?;
    if check == Check::Verify {
        verify(view, &result, control)?;
    }
    let count = result.generations.last().map_or(0, |&last| u64::from(last) + 1);
    Ok(Outcome::listed(
        vec![
            ("vertex", VertexColumn::Vertices(result.vertices)),
            ("generation", VertexColumn::Counts(result.generations)),
        ],
        vec![("generations", Scalar::Count(count))],
    ))
}

fn run_cycle(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let sources = arguments.optional_vertices("source");
    let result = find_cycle(view, sources, control)?;
    if check == Check::Verify {
        verify_cycle(view, sources, result.as_deref(), control)?;
    }
    let is_acyclic = result.is_none();
    Ok(Outcome::listed(
        vec![("vertex", VertexColumn::Vertices(result.unwrap_or_default()))],
        vec![("is_acyclic", Scalar::Flag(is_acyclic))],
    ))
}
