//! Core numbers: the largest k such that a vertex is in a subgraph whose vertices all have degree k or more.
//!
//! Method: peeling in parallel by ordered buckets (Dhulipala, Blelloch, Shun, "Julienne", SPAA 2017, section 4.1): all
//! vertices of least degree go at once, which lowers the degrees of their neighbors and moves them to other
//! [`Buckets`]. Complexity: O(V + E) work, as many rounds as there are layers.
//!
//! Degrees count edges of both directions, parallel ones each, symmetric ones once, and no self-loops, as `networkx.core_number` does for
//! graphs without parallel edges.
//!
//! Invariant: a vertex that is peeled has its final number; the degree of any other counts its edges to vertices that are
//! not peeled.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;

use crate::engine::buckets::Buckets;
use crate::engine::control::ensure;
use crate::engine::incident::{FlatIncident, Incident};
use crate::engine::parallel::{in_pool, map, try_map};
use crate::registry::{Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Scalar, VertexColumn};
use crate::{AlgorithmError, Control, Ranges};

/// The number of a vertex that is not peeled yet.
const WAITING: u32 = u32::MAX;

/// Vertices of a round that are worth a task of their own.
const VERTICES_PER_TASK: usize = 64;

/// What [`core_number`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreNumbers {
    /// The core number of each vertex id; 0 where there is no vertex.
    pub numbers: Vec<u32>,
    /// The largest: the degeneracy of the graph.
    pub largest: u32,
}

impl CoreNumbers {
    /// The vertices of the `k`-core of the view that the numbers are of, ascending.
    pub fn k_core(&self, view: &dyn GraphView, k: u32) -> Vec<VertexId> {
        let ids = (0..view.id_bound()).zip(&self.numbers);
        ids.filter(|&(id, &number)| number >= k && view.has_vertex(id)).map(|(id, _)| id).collect()
    }
}

/// The core number of every vertex.
///
/// ```
/// use evergraph_analytics::{Control, core_number};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
/// let cores = core_number(&view, &Control::new())?;
/// assert_eq!(cores.numbers, [2, 2, 2, 1]);
/// assert_eq!(cores.k_core(&view, 2), [0, 1, 2]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn core_number(view: &dyn GraphView, control: &Control) -> Result<CoreNumbers, AlgorithmError> {
    in_pool(|| {
        let mut peeling = Peeling::new(FlatIncident::new(view), control)?;
        peeling.run(control)?;
        Ok(peeling.finish())
    })
}

struct Peeling {
    edges: FlatIncident,
    degrees: Vec<AtomicU32>,
    numbers: Vec<AtomicU32>,
    /// The last round in which a neighbor of the vertex was peeled.
    touched: Vec<AtomicU32>,
    buckets: Buckets,
}

impl Peeling {
    fn new(edges: FlatIncident, control: &Control) -> Result<Self, AlgorithmError> {
        let flat = edges.flat();
        let bound = flat.id_bound() as usize;
        let array = |value| vec![value; bound].into_iter().map(AtomicU32::new).collect();
        let degrees: Vec<AtomicU32> = array(0);
        let buckets = Buckets::new();
        let sort = |range: Range<VertexId>| {
            buckets.with(|own| {
                for vertex in range.filter(|&vertex| flat.has_vertex(vertex)) {
                    let others = |list: evergraph_view::Neighbors<'_>| {
                        list.iter().filter(|&neighbor| neighbor != vertex).count() as u32
                    };
                    let degree = edges.lists(vertex).map(others).sum();
                    degrees[vertex as usize].store(degree, Relaxed);
                    own.push(u64::from(degree), vertex);
                }
            })
        };
        Ranges::by_edges(flat, Direction::Out).for_each(control, sort)?;
        Ok(Peeling { edges, degrees, numbers: array(WAITING), touched: array(0), buckets })
    }

    fn run(&mut self, control: &Control) -> Result<(), AlgorithmError> {
        let (mut peeled, vertices) = (0, self.edges.flat().num_vertices());
        let mut rounds = 0..u32::MAX;
        let mut layer = Vec::new();
        while let (Some(level), Some(round)) = (self.buckets.pop(&mut layer), rounds.next()) {
            control.check()?;
            layer.retain(|&vertex| self.is_waiting(vertex));
            layer.iter().for_each(|&vertex| self.numbers[vertex as usize].store(level as u32, Relaxed));
            self.peel(level, round + 1, &layer, control)?;
            peeled += layer.len() as u64;
            control.progress(peeled, vertices);
        }
        Ok(())
    }

    fn is_waiting(&self, vertex: VertexId) -> bool {
        self.numbers[vertex as usize].load(Relaxed) == WAITING
    }

    /// Lowers the degrees of the neighbors of a layer, then moves each of those that wait to its bucket.
    fn peel(
        &self,
        level: u64,
        round: u32,
        layer: &[VertexId],
        control: &Control,
    ) -> Result<(), AlgorithmError> {
        let touched = try_map(control, layer.chunks(VERTICES_PER_TASK), |vertices| {
            let mut touched = Vec::new();
            vertices.iter().for_each(|&vertex| self.touch_neighbors(vertex, round, &mut touched));
            Ok(touched)
        });
        map(touched?, |vertices| {
            self.buckets.with(|own| {
                for vertex in vertices {
                    own.push(level.max(u64::from(self.degrees[vertex as usize].load(Relaxed))), vertex);
                }
            });
        });
        Ok(())
    }

    /// Appends the neighbors that wait and that no other vertex of the layer has touched before.
    fn touch_neighbors(&self, vertex: VertexId, round: u32, touched: &mut Vec<VertexId>) {
        for list in self.edges.lists(vertex) {
            for neighbor in list.iter() {
                if self.is_waiting(neighbor) {
                    self.degrees[neighbor as usize].fetch_sub(1, Relaxed);
                    let stamp = &self.touched[neighbor as usize];
                    if stamp.load(Relaxed) != round && stamp.swap(round, Relaxed) != round {
                        touched.push(neighbor);
                    }
                }
            }
        }
    }

    fn finish(self) -> CoreNumbers {
        let number = |number: AtomicU32| Some(number.into_inner()).filter(|&number| number != WAITING);
        let numbers: Vec<u32> = self.numbers.into_iter().map(|cell| number(cell).unwrap_or(0)).collect();
        let largest = numbers.iter().copied().max().unwrap_or(0);
        CoreNumbers { numbers, largest }
    }
}

/// Checks a result by peeling one vertex at a time, from stacks by degree: O(V + E).
pub fn verify(view: &dyn GraphView, result: &CoreNumbers, control: &Control) -> Result<(), AlgorithmError> {
    let (bound, incident) = (view.id_bound(), Incident::new(view));
    let neighbors = |vertex: VertexId| -> Vec<VertexId> {
        let mut list = incident.ends(vertex);
        list.retain(|&neighbor| neighbor != vertex);
        list
    };
    let mut degrees: Vec<usize> = (0..bound).map(|vertex| neighbors(vertex).len()).collect();
    let mut stacks = vec![Vec::new(); degrees.iter().max().map_or(0, |most| most + 1)];
    (0..bound).for_each(|vertex| stacks[degrees[vertex as usize]].push(vertex));
    let mut expected = vec![WAITING; bound as usize];
    let mut level = 0;
    while level < stacks.len() {
        control.check()?;
        let Some(vertex) = stacks[level].pop() else {
            level += 1;
            continue;
        };
        if expected[vertex as usize] != WAITING {
            continue;
        }
        expected[vertex as usize] = level as u32;
        for neighbor in neighbors(vertex) {
            if expected[neighbor as usize] == WAITING {
                degrees[neighbor as usize] -= 1;
                stacks[degrees[neighbor as usize].max(level)].push(neighbor);
            }
        }
    }
    ensure(result.numbers.len() == expected.len(), || format!("{} numbers", result.numbers.len()))?;
    for (vertex, (&found, &wanted)) in result.numbers.iter().zip(&expected).enumerate() {
        control.check()?;
        ensure(found == wanted, || format!("vertex {vertex} has core number {found}, {wanted} expected"))?;
    }
    let largest = expected.into_iter().max().unwrap_or(0);
    ensure(result.largest == largest, || format!("largest {}, {largest} expected", result.largest))
}

const SOURCE: &str = "Dhulipala, Blelloch, Shun: Julienne, SPAA 2017, section 4.1";

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "core_number",
    summary: "The largest k of a subgraph of degrees k or more that the vertex is in",
    complexity: "O(V + E)",
    source: SOURCE,
    arguments: &[],
    results: &[
        Field { name: "core", summary: "the core number; directions and self-loops aside" },
        Field { name: "largest", summary: "the largest core number" },
    ],
    run,
};

/// The same, as the vertices of one core.
pub(crate) static K_CORE: Algorithm = Algorithm {
    name: "k_core",
    summary: "The vertices of the largest subgraph of degrees k or more",
    complexity: "O(V + E)",
    source: SOURCE,
    arguments: &[Argument::optional("k", Kind::Count, "the largest there is", "the least degree")],
    results: &[
        Field { name: "vertex", summary: "the vertices of the core" },
        Field { name: "k", summary: "the least degree asked for" },
        Field { name: "vertices", summary: "how many they are" },
    ],
    run: run_k_core,
};

fn checked(view: &dyn GraphView, check: Check, control: &Control) -> Result<CoreNumbers, AlgorithmError> {
    let result = core_number(view, control)?;
    if check == Check::Verify {
        verify(view, &result, control)?;
    }
    Ok(result)
}

fn run(
    view: &dyn GraphView,
    _arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    checked(view, check, control).map(Outcome::from)
}

impl From<CoreNumbers> for Outcome {
    fn from(result: CoreNumbers) -> Self {
        Outcome::by_vertex(
            vec![("core", VertexColumn::Counts(result.numbers))],
            vec![("largest", Scalar::Count(result.largest.into()))],
        )
    }
}

fn run_k_core(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = checked(view, check, control)?;
    let k = arguments.count("k").unwrap_or(result.largest);
    let vertices = result.k_core(view, k);
    let count = vertices.len() as u64;
    Ok(Outcome::listed(
        vec![("vertex", VertexColumn::Vertices(vertices))],
        vec![("k", Scalar::Count(k.into())), ("vertices", Scalar::Count(count))],
    ))
}
