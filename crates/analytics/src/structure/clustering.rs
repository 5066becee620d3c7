//! Clustering coefficients: how many of the pairs of neighbors of a vertex are neighbors themselves.
//!
//! ```text
//!  undirected   2 T / (d (d - 1))                      T triangles at the vertex, d neighbors (Watts, Strogatz 1998)
//!  directed     T' / (d' (d' - 1) - 2 r)               clustering: T' directed triangles, d' edges in and out, r pairs
//!                                                      of opposite ones (Fagiolo, Phys. Rev. E 76, 2007, section III)
//!               edges among neighbors / (d (d - 1))    local_clustering_coefficient: LDBC Graphalytics (arXiv
//!                                                      2011.15028, section 2.3.4), neighbors in either direction
//! ```
//!
//! Method: every triangle is met once, from its vertex u of highest rank through its next v, by lists oriented to lower
//! ranks (Latapy, TCS 407, 2008, section 3.1), kept as blocks of bits (`oriented.rs`); the common part of the lists of u and v
//! are the third vertices w. Which edges have an opposite one is a second bitmap. Complexity: O(E sqrt(E)).
//!
//! By weight: `weighted_clustering.rs`. Parallel edges and self-loops do not matter. Vertices with fewer than two neighbors have coefficient 0.
//!
//! Invariant: tallies are whole numbers, so the result does not depend on the number of threads.

use std::collections::{BTreeSet, HashMap};
use std::ops::{ControlFlow, Range};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::bitmap::bits;
use crate::engine::control::{ensure, require_sources};
use crate::engine::oriented::{BLOCK_BITS, Oriented};
use crate::engine::parallel::{ITEMS_PER_TASK, in_pool, map, try_map};
use crate::engine::per_thread::PerThread;
use crate::engine::weights::Weight;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, OPTIONAL_WEIGHT, Outcome, Scalar, VertexColumn,
};
use crate::structure::weighted_clustering::{self, weighted_clustering};
use crate::{AlgorithmError, Control, Ranges};

/// Steps in a range: well below a millisecond.
const STEPS_PER_RANGE: usize = 1 << 15;

/// Which definition of a coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// That of `networkx.clustering`: directed triangles count by their directions.
    NetworkX,
    /// That of LDBC Graphalytics: edges among the neighbors in either direction.
    Graphalytics,
}

/// What [`clustering`] and [`local_clustering_coefficient`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// The coefficient of each vertex id, from 0 to 1; 0 where there is no vertex.
    pub coefficients: Vec<f64>,
    /// Their mean over all vertices: `networkx.average_clustering`.
    pub average: f64,
}

/// The clustering coefficients as NetworkX defines them.
///
/// ```
/// use evergraph_analytics::{Control, clustering};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
/// let result = clustering(&view, &Control::new())?;
/// assert_eq!(result.coefficients, [1.0, 1.0, 1.0 / 3.0, 0.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn clustering(view: &dyn GraphView, control: &Control) -> Result<Clustering, AlgorithmError> {
    in_pool(|| coefficients(view, Definition::NetworkX, control))
}

/// The same of some vertices alone, by the lists of their neighbors: O(the sum of these) per vertex. The others have no
/// number, and the average is that of the ones asked for.
///
/// ```
/// use evergraph_analytics::{Control, clustering::clustering_of};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
/// let result = clustering_of(&view, &[2, 0], &Control::new())?;
/// assert_eq!((result.coefficients[2], result.average), (1.0 / 3.0, 2.0 / 3.0));
/// assert!(result.coefficients[1].is_nan());
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn clustering_of(
    view: &dyn GraphView,
    nodes: &[VertexId],
    control: &Control,
) -> Result<Clustering, AlgorithmError> {
    require_sources(view, nodes)?;
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    control.check()?;
    control.progress(0, nodes.len() as u64);
    let found = in_pool(|| try_map(control, &nodes, |&vertex| coefficient_of(view, vertex, control)))?;
    control.progress(nodes.len() as u64, nodes.len() as u64);
    Ok(Clustering::of_nodes(view, nodes.into_iter().zip(found)))
}

/// The coefficient of one vertex as NetworkX defines it: its neighbors are marked, and their lists are searched for marks.
fn coefficient_of(view: &dyn GraphView, vertex: VertexId, control: &Control) -> Result<f64, AlgorithmError> {
    let around = ways_of(view, vertex);
    let (mut triangles, mut list) = (0, Vec::new());
    for (&one, &one_ways) in &around {
        control.check()?;
        list.clear();
        view.for_each_slice(Direction::Out, one, &mut |slice| {
            list.extend(slice.iter().filter(|&&other| other != one && around.contains_key(&other)));
            ControlFlow::Continue(())
        });
        list.sort_unstable();
        list.dedup();
        triangles += match view.is_symmetric() {
            true => list.len() as u64,
            false => list.iter().map(|other| one_ways * around[other]).sum(),
        };
    }
    let mutual = around.values().filter(|&&ways| ways == 2).count() as u64;
    let tally = Tally {
        // Each triangle was met from both of its other vertices.
        triangles: if view.is_symmetric() { triangles / 2 } else { triangles },
        neighbors: around.len() as u64,
        mutual,
    };
    Ok(tally.coefficient(view.is_symmetric(), Definition::NetworkX))
}

/// The clustering coefficients as LDBC Graphalytics defines them; on a symmetric view, those of [`clustering`].
///
/// ```
/// use evergraph_analytics::{Control, local_clustering_coefficient};
/// use evergraph_view::FlatView;
///
/// let view = FlatView::from_edges(3, &[(0, 1), (1, 2), (0, 2)], false);
/// let result = local_clustering_coefficient(&view, &Control::new())?;
/// assert_eq!(result.coefficients, [0.5, 0.5, 0.5]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn local_clustering_coefficient(
    view: &dyn GraphView,
    control: &Control,
) -> Result<Clustering, AlgorithmError> {
    in_pool(|| coefficients(view, Definition::Graphalytics, control))
}

/// What is counted at a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Triangles, each by what the definition makes of it.
    triangles: u64,
    /// Neighbors in either direction.
    neighbors: u64,
    /// Neighbors in both.
    mutual: u64,
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally {
            triangles: self.triangles + other.triangles,
            neighbors: self.neighbors + other.neighbors,
            mutual: self.mutual + other.mutual,
        }
    }

    fn coefficient(self, symmetric: bool, definition: Definition) -> f64 {
        let triangles = if symmetric { 2 * self.triangles } else { self.triangles };
        let pairs = match (symmetric, definition) {
            (false, Definition::NetworkX) => directed_pairs(self.neighbors, self.mutual),
            _ => ordered_pairs(self.neighbors),
        };
        if triangles == 0 { 0.0 } else { triangles as f64 / pairs as f64 }
    }
}

/// How many ordered pairs there are of so many.
pub(crate) fn ordered_pairs(neighbors: u64) -> u64 {
    neighbors * neighbors.saturating_sub(1)
}

/// How many ordered pairs there are of edges in and out, without those of opposite ones.
pub(crate) fn directed_pairs(neighbors: u64, mutual: u64) -> u64 {
    ordered_pairs(neighbors + mutual) - 2 * mutual
}

fn coefficients(
    view: &dyn GraphView,
    definition: Definition,
    control: &Control,
) -> Result<Clustering, AlgorithmError> {
    let flat = view.flat();
    let graph = Oriented::new(&flat, control)?;
    control.progress(1, 3);
    let mutual = if flat.is_symmetric() { None } else { Some(mutual_bits(&flat, &graph, control)?) };
    control.progress(2, 3);
    let rule = match (&mutual, definition) {
        (None, _) => Rule::Plain,
        (Some(mutual), Definition::Graphalytics) => Rule::Opposite(mutual),
        (Some(mutual), Definition::NetworkX) => Rule::Product(mutual),
    };
    let tallies = tally(&graph, rule, control)?;
    let mut coefficients = vec![0.0; flat.id_bound() as usize];
    for (&vertex, tally) in graph.order().iter().zip(tallies) {
        coefficients[vertex as usize] = tally.coefficient(flat.is_symmetric(), definition);
    }
    control.progress(3, 3);
    // A sum of nothing is -0.
    let average = (coefficients.iter().sum::<f64>() + 0.0) / (flat.num_vertices().max(1) as f64);
    Ok(Clustering { coefficients, average })
}

impl Clustering {
    /// Of some vertices alone: the others have no number.
    fn of_nodes(view: &dyn GraphView, found: impl ExactSizeIterator<Item = (VertexId, f64)>) -> Clustering {
        let mut coefficients = vec![f64::NAN; view.id_bound() as usize];
        let (count, mut sum) = (found.len(), 0.0);
        for (vertex, coefficient) in found {
            coefficients[vertex as usize] = coefficient;
            sum += coefficient;
        }
        Clustering { coefficients, average: sum / count.max(1) as f64 }
    }
}

/// For every block of the oriented lists, which of its edges go both ways.
fn mutual_bits(flat: &FlatView, graph: &Oriented, control: &Control) -> Result<Vec<u32>, AlgorithmError> {
    let mut ranks = vec![0; flat.id_bound() as usize];
    graph.order().iter().zip(0..).for_each(|(&vertex, rank)| ranks[vertex as usize] = rank);
    let words = graph.len().div_ceil(BLOCK_BITS) as usize;
    let marks = PerThread::new(|| [vec![0u32; words], vec![0u32; words]]);
    let cost = |rank: VertexId| flat.out_neighbors(graph.order()[rank as usize]).len() + 4;
    let pieces = Ranges::by_cost(graph.len(), STEPS_PER_RANGE, cost).map(control, |range| {
        marks.with(|[out, reverse]| {
            let mut piece = Vec::new();
            for rank in range {
                for (direction, row) in [(Direction::Out, &mut *out), (Direction::In, &mut *reverse)] {
                    let list = flat.neighbors(direction, graph.order()[rank as usize]);
                    let lower = list.iter().map(|other| ranks[other as usize]).filter(|&other| other < rank);
                    lower.for_each(|other| row[(other / BLOCK_BITS) as usize] |= 1 << (other % BLOCK_BITS));
                }
                for block in graph.blocks(rank) {
                    let word = block.word as usize;
                    piece.push(std::mem::take(&mut out[word]) & std::mem::take(&mut reverse[word]));
                }
            }
            piece
        })
    })?;
    Ok(pieces.concat())
}

/// What a triangle counts at its vertices.
#[derive(Clone, Copy)]
enum Rule<'a> {
    /// 1.
    Plain,
    /// As many as the edge between the other two has directions.
    Opposite(&'a [u32]),
    /// The product of the directions of its edges.
    Product(&'a [u32]),
}

/// The lists of one vertex as rows of words, and what is counted on this thread.
struct Scratch {
    row: Vec<u32>,
    mutual_row: Vec<u32>,
    tallies: Vec<Tally>,
}

/// The tallies by rank.
fn tally(graph: &Oriented, rule: Rule<'_>, control: &Control) -> Result<Vec<Tally>, AlgorithmError> {
    let words = graph.len().div_ceil(BLOCK_BITS) as usize;
    let scratch = PerThread::new(|| Scratch {
        row: vec![0; words],
        mutual_row: vec![0; words],
        tallies: vec![Tally::default(); graph.len() as usize],
    });
    let steps = |rank| graph.blocks(rank).len().pow(2) / 2 + 16;
    Ranges::by_cost(graph.len(), STEPS_PER_RANGE, steps)
        .for_each(control, |range| scratch.with(|scratch| scratch.tally_range(graph, rule, range)))?;
    let mut total = vec![Tally::default(); graph.len() as usize];
    for scratch in scratch.into_inner() {
        map(total.chunks_mut(ITEMS_PER_TASK).zip(scratch.tallies.chunks(ITEMS_PER_TASK)), |(total, part)| {
            total.iter_mut().zip(part).for_each(|(total, part)| *total = total.plus(*part));
        });
    }
    Ok(total)
}

impl Scratch {
    fn tally_range(&mut self, graph: &Oriented, rule: Rule<'_>, range: Range<VertexId>) {
        for rank in range {
            let list = graph.blocks(rank);
            let mutual = match rule {
                Rule::Plain => None,
                Rule::Opposite(mutual) | Rule::Product(mutual) => Some(&mutual[graph.bounds(rank)]),
            };
            for (position, block) in list.clone().enumerate() {
                self.row[block.word as usize] = block.bits;
                self.mutual_row[block.word as usize] = mutual.map_or(0, |mutual| mutual[position]);
            }
            for block in list.clone() {
                for bit in bits(u64::from(block.bits)) {
                    let two_ways = self.mutual_row[block.word as usize] >> bit & 1;
                    self.tally_edge(graph, rule, rank, block.word * BLOCK_BITS + bit, two_ways);
                }
            }
            list.for_each(|block| self.row[block.word as usize] = 0);
        }
    }

    /// The edge from `u` to the lower `v`, and the triangles it makes with still lower vertices.
    fn tally_edge(&mut self, graph: &Oriented, rule: Rule<'_>, u: VertexId, v: VertexId, two_ways: u32) {
        let (mut at_u, mut at_v) = (0, 0);
        let ways = u64::from(1 + two_ways);
        let Scratch { row, mutual_row, tallies } = self;
        let blocks = graph.blocks(v).zip(graph.bounds(v));
        let shared = blocks.map(|(block, at)| (block.word, row[block.word as usize] & block.bits, at));
        for (word, common, at) in shared.filter(|(_, common, _)| *common != 0) {
            let count = |bits: u32| u64::from((common & bits).count_ones());
            let lowest = word * BLOCK_BITS;
            let thirds = bits(u64::from(common)).map(|bit| (bit, (lowest + bit) as usize));
            let u_mutual = mutual_row[word as usize];
            match rule {
                Rule::Plain => {
                    at_u += count(common);
                    at_v += count(common);
                    thirds.for_each(|(_, w)| tallies[w].triangles += 1);
                }
                Rule::Opposite(mutual) => {
                    at_u += count(common) + count(mutual[at]);
                    at_v += count(common) + count(u_mutual);
                    thirds.for_each(|(_, w)| tallies[w].triangles += ways);
                }
                Rule::Product(mutual) => {
                    let v_mutual = mutual[at];
                    for (bit, w) in thirds {
                        let product = ways << (u_mutual >> bit & 1) << (v_mutual >> bit & 1);
                        tallies[w].triangles += product;
                        at_u += product;
                    }
                    at_v = at_u;
                }
            }
        }
        for (end, triangles) in [(u, at_u), (v, at_v)] {
            let edge = Tally { triangles, neighbors: 1, mutual: u64::from(two_ways) };
            tallies[end as usize] = tallies[end as usize].plus(edge);
        }
    }
}

/// Checks the result for some vertices against that for all of them: O(E sqrt(E)).
pub fn verify_of(
    view: &dyn GraphView,
    nodes: &[VertexId],
    result: &Clustering,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let all = clustering(view, &control.of_part())?;
    ensure(result.coefficients.len() == all.coefficients.len(), || {
        format!("{} values", result.coefficients.len())
    })?;
    let mut sum = 0.0;
    let nodes: BTreeSet<VertexId> = nodes.iter().copied().collect();
    for (&found, (vertex, &wanted)) in result.coefficients.iter().zip((0..).zip(&all.coefficients)) {
        control.check()?;
        let asked = nodes.contains(&vertex);
        sum += if asked { wanted } else { 0.0 };
        let right = if asked { found == wanted } else { found.is_nan() };
        ensure(right, || format!("vertex {vertex} has {found}, {wanted} expected"))?;
    }
    let average = sum / nodes.len().max(1) as f64;
    ensure((result.average - average).abs() <= 1e-9, || {
        format!("average {}, {average} expected", result.average)
    })
}

/// Checks a result pair by pair of neighbors: O(sum of d^2).
pub fn verify(
    view: &dyn GraphView,
    definition: Definition,
    result: &Clustering,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let bound = view.id_bound();
    ensure(result.coefficients.len() == bound as usize, || format!("{} values", result.coefficients.len()))?;
    let ways: Vec<HashMap<VertexId, u64>> = (0..bound).map(|vertex| ways_of(view, vertex)).collect();
    let mut sum = 0.0;
    for (vertex, neighbors) in ways.iter().enumerate() {
        control.check()?;
        let (mut triangles, mut pairs) = (0, 0);
        for (&one, one_ways) in neighbors {
            control.check()?;
            for (&other, other_ways) in neighbors.iter().filter(|&(&other, _)| other != one) {
                let between = ways[one as usize].get(&other).copied().unwrap_or(0);
                // Pairs come in both orders, so this is twice the triangles.
                triangles += match (view.is_symmetric(), definition) {
                    (true, _) => between.min(1) * 2,
                    (false, Definition::Graphalytics) => between,
                    (false, Definition::NetworkX) => between * one_ways * other_ways,
                };
                pairs += match (view.is_symmetric(), definition) {
                    (false, Definition::NetworkX) => 2 * one_ways * other_ways,
                    _ => 2,
                };
            }
        }
        let wanted = if triangles == 0 { 0.0 } else { triangles as f64 / pairs as f64 };
        let found = result.coefficients[vertex];
        ensure((found - wanted).abs() <= 1e-12, || {
            format!("vertex {vertex} has {found}, {wanted} expected")
        })?;
        sum += wanted;
    }
    let average = sum / view.num_vertices().max(1) as f64;
    ensure((result.average - average).abs() <= 1e-9, || {
        format!("average {}, {average} expected", result.average)
    })
}

/// The neighbors of a vertex, each with the number of directions of the edges to it.
fn ways_of(view: &dyn GraphView, vertex: VertexId) -> HashMap<VertexId, u64> {
    let mut found: HashMap<VertexId, u64> = HashMap::new();
    for (direction, flag) in [(Direction::Out, 1), (Direction::In, 2)] {
        view.for_each_slice(direction, vertex, &mut |slice| {
            for &neighbor in slice.iter().filter(|&&neighbor| neighbor != vertex) {
                *found.entry(neighbor).or_default() |= flag;
            }
            ControlFlow::Continue(())
        });
    }
    found.values_mut().for_each(|flags| *flags = u64::from(flags.count_ones()));
    found
}

const RESULTS: &[Field] = &[
    Field { name: "coefficient", summary: "from 0, no two neighbors are neighbors, to 1, all are" },
    Field { name: "average", summary: "the mean over these vertices" },
];

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "clustering",
    summary: "How many of the pairs of neighbors of a vertex are neighbors themselves",
    complexity: "O(E sqrt(E))",
    source: "Latapy: Main-memory triangle computations, TCS 407, 2008, section 3.1; directed: Fagiolo, Phys. Rev. E 76, \
             2007; by weight: Onnela et al., Phys. Rev. E 71, 2005; as networkx.clustering",
    arguments: &[
        Argument::optional("nodes", Kind::Vertices, "all", "of these vertices only"),
        OPTIONAL_WEIGHT,
    ],
    results: RESULTS,
    run: |view, arguments, check, control| {
        let weight = arguments.optional_weight();
        match arguments.optional_vertices("nodes") {
            nodes if weight.lists(view)?.is_some() => run_by_weight(view, nodes, &weight, check, control),
            Some(nodes) => run_of(view, nodes, check, control),
            None => run(view, Definition::NetworkX, check, control),
        }
    },
};

/// The same by another definition.
pub(crate) static LOCAL: Algorithm = Algorithm {
    name: "local_clustering_coefficient",
    summary: "How many of the edges that there could be among the neighbors of a vertex there are",
    complexity: "O(E sqrt(E))",
    source: "The LDBC Graphalytics Benchmark, arXiv 2011.15028, section 2.3.4 (LCC)",
    arguments: &[],
    results: RESULTS,
    run: |view, _: &Arguments, check, control| run(view, Definition::Graphalytics, check, control),
};

fn run(
    view: &dyn GraphView,
    definition: Definition,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = in_pool(|| coefficients(view, definition, control))?;
    if check == Check::Verify {
        verify(view, definition, &result, control)?;
    }
    Ok(outcome(result))
}

fn run_of(
    view: &dyn GraphView,
    nodes: &[VertexId],
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let result = clustering_of(view, nodes, control)?;
    if check == Check::Verify {
        verify_of(view, nodes, &result, control)?;
    }
    Ok(outcome(result))
}

fn run_by_weight(
    view: &dyn GraphView,
    nodes: Option<&[VertexId]>,
    weight: &Weight,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    nodes.map_or(Ok(()), |nodes| require_sources(view, nodes))?;
    let result = weighted_clustering(view, weight, control)?;
    if check == Check::Verify {
        weighted_clustering::verify(view, weight, &result, control)?;
    }
    Ok(outcome(match nodes {
        Some(nodes) => {
            let nodes: BTreeSet<VertexId> = nodes.iter().copied().collect();
            let of = |vertex: VertexId| (vertex, result.coefficients[vertex as usize]);
            Clustering::of_nodes(view, nodes.into_iter().map(of))
        }
        None => result,
    }))
}

fn outcome(result: Clustering) -> Outcome {
    Outcome::by_vertex(
        vec![("coefficient", VertexColumn::Floats(result.coefficients))],
        vec![("average", Scalar::Float(result.average))],
    )
}
