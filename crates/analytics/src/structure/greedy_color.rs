//! Greedy coloring: numbers for vertices such that neighbors have different ones.
//!
//! Method: the loop that gives each vertex in an order the smallest color that none of its neighbors has yet, in
//! parallel: a vertex is colored once all its neighbors that come before it are (Jones, Plassmann, "A Parallel Graph
//! Coloring Heuristic", SIAM J. Scientific Computing 14, 1993; orders as in Hasenplaugh, Kaler, Schardl, Leiserson,
//! "Ordering heuristics for parallel graph coloring", SPAA 2014). Complexity: O(V log V + E) work.
//!
//! ```text
//!  waits[v]   how many entries of v's lists come before v and have no color
//!  a round    color all v of the frontier; every neighbor after it waits for one less; who waits for none is next
//! ```
//!
//! Orders: `largest_first`, by degree and then by id, which is that of `networkx.greedy_color`; `smallest_last`, in which
//! each vertex has the least degree among those up to it, so that there are at most one more colors than the largest core
//! number (Matula, Beck, "Smallest-last ordering and clustering and graph coloring algorithms", J. ACM 30, 1983);
//! `random_sequential`, by a seed. Directions of edges and self-loops do not matter.
//!
//! Invariant: a color is final, and it is the one that the loop would give; so the result does not depend on threads.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::control::ensure;
use crate::engine::incident::{FlatIncident, Incident};
use crate::engine::parallel::{filter_vertices, in_pool, try_map};
use crate::engine::per_thread::PerThread;
use crate::engine::random::hash;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, Scalar, VertexColumn, invalid,
};
use crate::{AlgorithmError, Control, Ranges};

/// No color: of a vertex that does not exist, or not yet.
const NO_COLOR: u32 = u32::MAX;

/// Vertices that are worth a task of their own.
const VERTICES_PER_TASK: usize = 1 << 8;

/// Vertices and edges that are looked at one after the other between two looks at [`Control`]: some milliseconds.
const STEPS_PER_CHECK: u32 = 1 << 14;

/// In which order vertices take their colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorOrder {
    /// Vertices of larger degree first, of equal ones those of smaller id.
    #[default]
    LargestFirst,
    /// Last the vertex of least degree, before it the one that has the least degree without that, and so on; of equal ones
    /// the smaller id later.
    SmallestLast,
    /// At random, from a seed.
    RandomSequential {
        /// Where random numbers begin.
        seed: u64,
    },
}

/// What [`greedy_color`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloring {
    /// The color of each vertex id, from 0; `u32::MAX` where there is no vertex.
    pub colors: Vec<u32>,
    /// How many colors are used.
    pub count: u32,
}

/// A coloring of the vertices.
///
/// ```
/// use evergraph_analytics::{ColorOrder, Control, greedy_color};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3)], true);
/// let found = greedy_color(&path, ColorOrder::LargestFirst, &Control::new())?;
/// assert_eq!((found.colors, found.count), (vec![1, 0, 1, 0], 2));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn greedy_color(
    view: &dyn GraphView,
    order: ColorOrder,
    control: &Control,
) -> Result<Coloring, AlgorithmError> {
    in_pool(|| {
        let edges = FlatIncident::new(view);
        let flat = edges.flat();
        let search = Search::new(&edges, order, control)?;
        let mut colored = 0;
        let is_free = |vertex| flat.has_vertex(vertex) && search.waits[vertex as usize].load(Relaxed) == 0;
        let mut frontier = filter_vertices(flat.id_bound(), is_free);
        control.check()?;
        control.progress(0, flat.num_vertices());
        while !frontier.is_empty() {
            let next = try_map(control, frontier.chunks(VERTICES_PER_TASK), |vertices| {
                let mut next = Vec::new();
                vertices.iter().for_each(|&vertex| search.color(vertex));
                vertices.iter().for_each(|&vertex| search.release(vertex, &mut next));
                Ok(next)
            })?;
            colored += frontier.len() as u64;
            frontier = next.concat();
            control.progress(colored, flat.num_vertices());
        }
        let colors: Vec<u32> = search.colors.into_iter().map(AtomicU32::into_inner).collect();
        let used = colors.iter().filter(|&&color| color != NO_COLOR).max();
        let count = used.map_or(0, |&largest| largest + 1);
        Ok(Coloring { colors, count })
    })
}

struct Search<'a> {
    edges: &'a FlatIncident,
    /// The place of each vertex in the order: smaller ones come before.
    ranks: Vec<(u64, VertexId)>,
    waits: Vec<AtomicU32>,
    colors: Vec<AtomicU32>,
    /// The colors of the neighbors of the vertex at hand.
    taken: PerThread<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(edges: &'a FlatIncident, order: ColorOrder, control: &Control) -> Result<Self, AlgorithmError> {
        let flat = edges.flat();
        let bound = flat.id_bound();
        let ranges = Ranges::by_edges(flat, Direction::Out);
        let ranks = match order {
            ColorOrder::SmallestLast => smallest_last(edges, control)?,
            _ => {
                let rank = |vertex| (rank(edges, order, vertex), vertex);
                ranges.map(control, |range| range.map(rank).collect::<Vec<_>>())?.concat()
            }
        };
        let unset = |of| (0..bound).map(|_| AtomicU32::new(of)).collect::<Vec<_>>();
        let search = Search {
            edges,
            ranks,
            waits: unset(0),
            colors: unset(NO_COLOR),
            taken: PerThread::new(Vec::new),
        };
        ranges.for_each(control, |range| {
            for vertex in range {
                let mut before = 0;
                search
                    .edges
                    .for_each(vertex, |neighbor| before += u32::from(search.is_before(neighbor, vertex)));
                search.waits[vertex as usize].store(before, Relaxed);
            }
        })?;
        Ok(search)
    }

    fn is_before(&self, one: VertexId, other: VertexId) -> bool {
        self.ranks[one as usize] < self.ranks[other as usize]
    }

    /// Gives a vertex the smallest color that no neighbor before it has.
    fn color(&self, vertex: VertexId) {
        let smallest = self.taken.with(|taken| {
            taken.clear();
            self.edges.for_each(vertex, |neighbor| {
                if self.is_before(neighbor, vertex) {
                    taken.push(self.colors[neighbor as usize].load(Relaxed));
                }
            });
            taken.sort_unstable();
            taken.dedup();
            (0..)
                .zip(taken.iter())
                .find(|(color, taken)| color != *taken)
                .map_or(taken.len() as u32, |it| it.0)
        });
        self.colors[vertex as usize].store(smallest, Relaxed);
    }

    /// Tells the neighbors after a vertex that it has a color; collects those that wait for no other.
    fn release(&self, vertex: VertexId, next: &mut Vec<VertexId>) {
        self.edges.for_each(vertex, |neighbor| {
            if self.is_before(vertex, neighbor) && self.waits[neighbor as usize].fetch_sub(1, Relaxed) == 1 {
                next.push(neighbor);
            }
        });
    }
}

/// The places of vertices that are taken out by their least degree, the first one last. On this thread: each choice
/// follows from the one before.
fn smallest_last(edges: &FlatIncident, control: &Control) -> Result<Vec<(u64, VertexId)>, AlgorithmError> {
    let flat = edges.flat();
    let mut ranks: Vec<(u64, VertexId)> = (0..flat.id_bound()).map(|vertex| (0, vertex)).collect();
    let others = |vertex| {
        let mut others = 0;
        edges.for_each(vertex, |neighbor| others += u32::from(neighbor != vertex));
        others
    };
    let ranges = Ranges::by_edges(flat, Direction::Out);
    let mut degrees = ranges.map(control, |range| range.map(others).collect::<Vec<_>>())?.concat();
    let vertices = (0..flat.id_bound()).filter(|&vertex| flat.has_vertex(vertex));
    let mut heap: BinaryHeap<_> =
        vertices.map(|vertex| Reverse((degrees[vertex as usize], vertex))).collect();
    let (mut left, mut steps) = (flat.num_vertices(), 0);
    while let Some(Reverse((degree, vertex))) = heap.pop() {
        steps += 1;
        // Whoever has lost a neighbor is in the heap once more; whoever is out has no degree.
        if degree == degrees[vertex as usize] {
            degrees[vertex as usize] = GONE;
            ranks[vertex as usize].0 = left;
            left -= 1;
            edges.for_each(vertex, |neighbor| {
                steps += 1;
                let degree = &mut degrees[neighbor as usize];
                if *degree != GONE {
                    *degree -= 1;
                    heap.push(Reverse((*degree, neighbor)));
                }
            });
        }
        if steps >= STEPS_PER_CHECK {
            steps = 0;
            control.check()?;
        }
    }
    Ok(ranks)
}

/// The degree of a vertex that has been taken out.
const GONE: u32 = u32::MAX;

/// What a vertex is sorted by, before its id; but for [`ColorOrder::SmallestLast`].
fn rank(edges: &FlatIncident, order: ColorOrder, vertex: VertexId) -> u64 {
    match order {
        ColorOrder::RandomSequential { seed } => hash(seed, u64::from(vertex)),
        ColorOrder::LargestFirst | ColorOrder::SmallestLast => u64::MAX - edges.num_ends(vertex) as u64,
    }
}

/// Checks a coloring against the loop that it stands for: O(V log V + E log E).
pub fn verify(
    view: &dyn GraphView,
    order: ColorOrder,
    result: &Coloring,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let edges = FlatIncident::new(view);
    let mut vertices: Vec<VertexId> =
        (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
    match order {
        ColorOrder::SmallestLast => vertices = smallest_last_slowly(view, &vertices, control)?,
        _ => vertices.sort_by_key(|&vertex| (rank(&edges, order, vertex), vertex)),
    }
    let mut expected = vec![NO_COLOR; view.id_bound() as usize];
    let mut count = 0;
    for vertex in vertices {
        control.check()?;
        let mut taken = BTreeSet::new();
        for direction in [Direction::Out, Direction::In] {
            view.for_each_slice(direction, vertex, &mut |slice| {
                taken.extend(slice.iter().map(|&neighbor| expected[neighbor as usize]));
                ControlFlow::Continue(())
            });
        }
        let color = (0..).find(|color| !taken.contains(color)).unwrap_or(NO_COLOR);
        expected[vertex as usize] = color;
        count = count.max(color + 1);
    }
    ensure(result.colors.len() == expected.len(), || format!("{} colors", result.colors.len()))?;
    for (vertex, (found, wanted)) in result.colors.iter().zip(&expected).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} has color {found}, {wanted} expected"))?;
    }
    ensure(result.count == count, || format!("{} colors, {count} expected", result.count))
}

/// The order by a set that is kept sorted: O(E log V).
fn smallest_last_slowly(
    view: &dyn GraphView,
    vertices: &[VertexId],
    control: &Control,
) -> Result<Vec<VertexId>, AlgorithmError> {
    let edges = Incident::new(view);
    let others = |vertex| edges.ends(vertex).into_iter().filter(move |&other| other != vertex);
    let mut degrees: Vec<usize> = (0..view.id_bound()).map(|vertex| others(vertex).count()).collect();
    let mut left: BTreeSet<(usize, VertexId)> =
        vertices.iter().map(|&vertex| (degrees[vertex as usize], vertex)).collect();
    let mut order = Vec::new();
    while let Some((_, vertex)) = left.pop_first() {
        control.check()?;
        order.push(vertex);
        for neighbor in others(vertex) {
            if left.remove(&(degrees[neighbor as usize], neighbor)) {
                degrees[neighbor as usize] -= 1;
                left.insert((degrees[neighbor as usize], neighbor));
            }
        }
    }
    order.reverse();
    Ok(order)
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "greedy_color",
    summary: "Colors for vertices such that neighbors have different ones",
    complexity: "O(V log V + E)",
    source: "Jones, Plassmann: A Parallel Graph Coloring Heuristic, SIAM J. Scientific Computing 14, 1993; as \
             networkx.greedy_color",
    arguments: &[
        Argument::optional(
            "strategy",
            Kind::Text,
            "largest_first",
            "the order in which vertices take their colors: largest_first, smallest_last or random_sequential",
        ),
        SEED,
    ],
    results: &[
        Field { name: "color", summary: "the color of the vertex, from 0" },
        Field { name: "colors", summary: "how many colors are used" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let seed = arguments.seed(SEED.name).unwrap_or_default();
    let order = match arguments.text("strategy").unwrap_or("largest_first") {
        "largest_first" => ColorOrder::LargestFirst,
        "smallest_last" => ColorOrder::SmallestLast,
        "random_sequential" => ColorOrder::RandomSequential { seed },
        other => {
            let why = format!("{other:?} is not largest_first, smallest_last or random_sequential");
            return Err(invalid("strategy", why));
        }
    };
    let result = greedy_color(view, order, control)?;
    if check == Check::Verify {
        verify(view, order, &result, control)?;
    }
    Ok(Outcome::by_vertex(
        vec![("color", VertexColumn::Counts(result.colors))],
        vec![("colors", Scalar::Count(u64::from(result.count)))],
    ))
}
