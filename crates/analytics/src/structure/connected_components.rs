//! Connected components, weak ones on a directed view: which vertices hang together.
//!
//! Method: Afforest (Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling",
//! IPDPS 2018, section IV). A parallel union-find first links each vertex with its first neighbor, then with its second.
//! That joins most of the largest component, which is then recognized by sampling, and only vertices outside it look at
//! the rest of their edges, until they are in it too; an edge between the two sides is seen from the outside. Complexity:
//! O(V + E) at worst, usually O(V).
//!
//! ```text
//!  labels[v] <= v always, a tree with its smallest vertex as root:   link hooks the larger root under the smaller,
//!  compress makes every label a root
//! ```
//!
//! Invariant: labels only ever fall, and a root is the smallest vertex of its tree; so at the end the label of a
//! vertex is the smallest id of its component, whatever the threads did in between.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView, Neighbors};

use crate::engine::control::ensure;
use crate::engine::parallel::{for_each, in_pool, map};
use crate::engine::prefetch::prefetch_place;
use crate::engine::ranges::{HUB_DEGREE, split_list};
use crate::registry::{Algorithm, Arguments, Check, Field, Outcome, Scalar, VertexColumn};
use crate::{AlgorithmError, Control, NO_VERTEX, Ranges};

/// How many vertices ahead of its own the sampling asks for what the table says of one, and for a list.
const ENTRIES_AHEAD: VertexId = 64;
const LISTS_AHEAD: VertexId = 32;

/// How many vertices ahead a pass asks for the labels that it will look at.
const LABELS_AHEAD: VertexId = 16;

/// Vertices drawn to find the largest component.
const SAMPLES: u32 = 1024;

/// What [`connected_components`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// The smallest id in the component of each vertex; [`NO_VERTEX`] where there is no vertex.
    pub labels: Vec<VertexId>,
    /// How many components there are.
    pub count: u64,
}

impl Components {
    /// Every component as its label and how many vertices it has, the largest first, ties by label.
    pub fn sizes(&self) -> Vec<(VertexId, u64)> {
        let mut sizes = vec![0u64; self.labels.len()];
        for &label in self.labels.iter().filter(|&&label| label != NO_VERTEX) {
            sizes[label as usize] += 1;
        }
        let mut sizes: Vec<(VertexId, u64)> = (0..).zip(sizes).filter(|&(_, size)| size > 0).collect();
        sizes.sort_by_key(|&(label, size)| (std::cmp::Reverse(size), label));
        sizes
    }
}

/// The weakly connected components: directions of edges do not matter.
///
/// ```
/// use evergraph_analytics::{Control, connected_components};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(5, &[(1, 0), (3, 4)], false);
/// let components = connected_components(&view, &Control::new())?;
/// assert_eq!(components.labels, [0, 0, 2, 3, 3]);
/// assert_eq!(components.count, 3);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn connected_components(view: &dyn GraphView, control: &Control) -> Result<Components, AlgorithmError> {
    in_pool(|| components(&view.flat(), control))
}

fn components(flat: &FlatView, control: &Control) -> Result<Components, AlgorithmError> {
    let labels: Vec<AtomicU32> = (0..flat.id_bound()).map(AtomicU32::new).collect();
    let ranges = Ranges::by_vertices(flat.id_bound());
    let mut seconds = vec![0; labels.len()];
    for_each(control, ranges.iter().zip(ranges.split_mut(&mut seconds)), |(range, seconds)| {
        link_first(flat, &labels, range, seconds);
    })?;
    compress(&labels, &ranges, control)?;
    ranges.for_each(control, |range| link_seconds(&labels, &seconds, range))?;
    compress(&labels, &ranges, control)?;
    control.progress(1, 2);
    let largest = most_frequent(&labels);
    ranges.for_each(control, |range| link_rest(flat, &labels, largest, range))?;
    compress(&labels, &ranges, control)?;
    control.progress(2, 2);
    Ok(finish(flat, &ranges, labels))
}

/// The first edge of each vertex of a range. The other end of the second one is put down, or the vertex where there is none: once
/// labels are roots again, most of these edges join nothing, and lists, which are farther away than labels, are looked at once.
///
/// What the vertices to come need is asked for in two steps, first their lists and then the labels of the neighbors that the
/// lists name.
fn link_first(flat: &FlatView, labels: &[AtomicU32], range: Range<VertexId>, seconds: &mut [VertexId]) {
    let table = flat.table(Direction::Out);
    for (vertex, second) in range.zip(seconds) {
        table.prefetch_entry(vertex.saturating_add(ENTRIES_AHEAD));
        table.prefetch_list(vertex.saturating_add(LISTS_AHEAD), 1);
        let later = vertex.saturating_add(LABELS_AHEAD);
        if (later as usize) < table.len() {
            prefetch_place(labels, table.neighbors(later).head_hints()[0]);
        }
        let head = table.neighbors(vertex).head();
        head.first().into_iter().for_each(|&first| link(labels, vertex, first));
        *second = head.get(1).copied().unwrap_or(vertex);
    }
}

/// The second edge of each vertex of a range.
fn link_seconds(labels: &[AtomicU32], seconds: &[VertexId], range: Range<VertexId>) {
    for vertex in range {
        let later = seconds.get(vertex as usize + LABELS_AHEAD as usize);
        later.into_iter().for_each(|&later| prefetch_place(labels, later));
        link(labels, vertex, seconds[vertex as usize]);
    }
}

fn finish(view: &FlatView, ranges: &Ranges, labels: Vec<AtomicU32>) -> Components {
    let mut labels: Vec<VertexId> = labels.into_iter().map(AtomicU32::into_inner).collect();
    let counts = map(ranges.iter().zip(ranges.split_mut(&mut labels)), |(range, labels)| {
        let mut count = 0;
        for (vertex, label) in range.zip(labels) {
            *label = if view.has_vertex(vertex) { *label } else { NO_VERTEX };
            count += u64::from(*label == vertex);
        }
        count
    });
    Components { labels, count: counts.iter().sum() }
}

/// Joins the trees of two vertices.
#[inline]
fn link(labels: &[AtomicU32], left: VertexId, right: VertexId) {
    let label = |vertex: VertexId| labels[vertex as usize].load(Relaxed);
    let (mut left, mut right) = (label(left), label(right));
    while left != right {
        let (low, high) = (left.min(right), left.max(right));
        let above = label(high);
        if above == low {
            return;
        }
        // Only a root may be hooked, or the tree above it would be lost.
        if above == high && labels[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
            return;
        }
        (left, right) = (label(label(high)), label(low));
    }
}

/// The edges of the vertices of a range that were not sampled, as far as they are outside the largest component. Once a
/// vertex has come into it, its other edges are left to their other ends: either these are in it too, or they still look
/// at all their edges.
fn link_rest(flat: &FlatView, labels: &[AtomicU32], largest: VertexId, range: Range<VertexId>) {
    let is_outside = |vertex: &VertexId| labels[*vertex as usize].load(Relaxed) != largest;
    let is_linked = |&vertex: &VertexId| {
        flat.table(Direction::Out).degree(vertex) + flat.table(Direction::In).degree(vertex) > 0
    };
    let outside: Vec<VertexId> = range.filter(is_outside).filter(is_linked).collect();
    for (index, &vertex) in outside.iter().enumerate() {
        if let Some(&later) = outside.get(index + LABELS_AHEAD as usize) {
            flat.table(Direction::In).prefetch_list(later, 1);
        }
        let out = flat.out_neighbors(vertex);
        if out.len() > out.head().len() {
            link_list(labels, largest, vertex, out);
        }
        if !flat.is_symmetric() && is_outside(&vertex) {
            link_list(labels, largest, vertex, flat.in_neighbors(vertex));
        }
    }
}

/// The edges of a list, until its vertex is in the largest component.
fn link_list(labels: &[AtomicU32], largest: VertexId, vertex: VertexId, list: Neighbors<'_>) {
    let visit = |neighbor: VertexId| {
        link(labels, vertex, neighbor);
        let is_in = labels[vertex as usize].load(Relaxed) == largest;
        if is_in { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    if list.len() < HUB_DEGREE {
        let _ = list.try_for_each(visit);
    } else {
        map(split_list(list), |piece| {
            let _ = piece.try_for_each(visit);
        });
    }
}

/// Points every vertex at the root of its tree.
fn compress(labels: &[AtomicU32], ranges: &Ranges, control: &Control) -> Result<(), AlgorithmError> {
    let label = |vertex: VertexId| labels[vertex as usize].load(Relaxed);
    ranges.for_each(control, |range| {
        for vertex in range {
            let later = labels.get(vertex as usize + LABELS_AHEAD as usize);
            later.into_iter().for_each(|later| prefetch_place(labels, later.load(Relaxed)));
            let mut root = label(vertex);
            while root != label(root) {
                root = label(root);
            }
            labels[vertex as usize].store(root, Relaxed);
        }
    })
}

/// The most frequent label of a sample spread evenly over all vertices; any label would do, this one saves most work.
fn most_frequent(labels: &[AtomicU32]) -> VertexId {
    let step = (labels.len() / SAMPLES as usize).max(1);
    let mut sample: Vec<VertexId> = labels.iter().step_by(step).map(|label| label.load(Relaxed)).collect();
    sample.sort_unstable();
    let runs = sample.chunk_by(|left, right| left == right);
    runs.max_by_key(|run| run.len()).map_or(NO_VERTEX, |run| run[0])
}

/// Checks a result against a search from each vertex that has no label yet, in ascending order: O(V + E).
pub fn verify(view: &dyn GraphView, result: &Components, control: &Control) -> Result<(), AlgorithmError> {
    let mut expected = vec![NO_VERTEX; view.id_bound() as usize];
    let mut count = 0;
    for start in (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)) {
        control.check()?;
        if expected[start as usize] == NO_VERTEX {
            count += 1;
            spread(view, start, &mut expected);
        }
    }
    ensure(result.labels.len() == expected.len(), || {
        format!("{} labels, {} expected", result.labels.len(), expected.len())
    })?;
    for (vertex, (found, wanted)) in result.labels.iter().zip(&expected).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} is in component {found}, {wanted} expected"))?;
    }
    ensure(result.count == count, || format!("{} components, {count} expected", result.count))
}

fn spread(view: &dyn GraphView, start: VertexId, labels: &mut [VertexId]) {
    let mut stack = vec![start];
    labels[start as usize] = start;
    while let Some(vertex) = stack.pop() {
        for direction in [Direction::Out, Direction::In] {
            view.for_each_slice(direction, vertex, &mut |slice| {
                for &neighbor in slice {
                    if labels[neighbor as usize] == NO_VERTEX {
                        labels[neighbor as usize] = start;
                        stack.push(neighbor);
                    }
                }
                ControlFlow::Continue(())
            });
        }
    }
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "connected_components",
    summary: "Which vertices hang together, whatever the direction of edges",
    complexity: "O(V + E), usually O(V)",
    source: "Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling, \
             IPDPS 2018, section IV",
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
    let result = connected_components(view, control)?;
    if check == Check::Verify {
        verify(view, &result, control)?;
    }
    Ok(result.into())
}

impl From<Components> for Outcome {
    fn from(result: Components) -> Self {
        let largest = result.sizes().first().map_or(0, |&(_, size)| size);
        Outcome::by_vertex(
            vec![("component", VertexColumn::Vertices(result.labels))],
            vec![("components", Scalar::Count(result.count)), ("largest", Scalar::Count(largest))],
        )
    }
}
