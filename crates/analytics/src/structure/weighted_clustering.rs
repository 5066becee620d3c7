//! Clustering coefficients by weight: a triangle counts by the geometric mean of the weights of its edges.
//!
//! ```text
//!  s(u, v)      cube root of w(u, v) over the largest weight; of a directed view, of both edges added up, where they are
//!  t(u)         sum over triangles u, v, w of s(u, v) s(v, w) s(w, u)
//!  undirected   2 t / (d (d - 1))               d neighbors (Onnela et al., Phys. Rev. E 71, 2005, equation 9)
//!  directed     t / (d' (d' - 1) - 2 r)         d' edges in and out, r pairs of opposite ones (Fagiolo, Phys. Rev. E 76, 2007, section IV)
//! ```
//!
//! As `networkx.clustering` with a weight. Parallel edges weigh as much as all of them together; self-loops only count for the largest weight.
//! Where no edge weighs anything, coefficients are 0.
//!
//! Method: edges point to their end of lower degree, and each triangle is met once, from its highest end: the list of that is laid out by
//! vertex, and the lists of its lower neighbors look themselves up in it (Latapy, TCS 407, 2008). Complexity: O(E sqrt(E)).
//!
//! Invariant: triangles are added up as whole numbers of 2^-80, so the result does not depend on the number of threads.

use std::collections::HashMap;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::control::ensure;
use crate::engine::parallel::{in_pool, of_vertices, try_map, vertex_blocks};
use crate::engine::per_thread::PerThread;
use crate::engine::weights::{Sign, Weight, WeightedTable, weighted_lists_in};
use crate::structure::clustering::{Clustering, directed_pairs, ordered_pairs};
use crate::{AlgorithmError, Control, Ranges};

/// Steps in a range: well below a millisecond.
const STEPS_PER_RANGE: usize = 1 << 15;

/// Bits after the point of a sum of triangles. A triangle counts at most 8, and a vertex has at most 2^43 of them in memory.
const FRACTION_BITS: i32 = 80;

/// The clustering coefficients by weight, as NetworkX defines them.
///
/// # Errors
/// If the view has no such property, or a weight is negative or not finite.
///
/// ```
/// use evergraph_analytics::{Control, Weight, weighted_clustering};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 0.125), (2, 3, 1.0)];
/// let view = FlatView::from_weighted_edges(4, &edges, true);
/// let result = weighted_clustering(&view, &Weight::Usual, &Control::new())?;
/// assert_eq!(result.coefficients, [0.5, 0.5, 0.5 / 3.0, 0.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn weighted_clustering(
    view: &dyn GraphView,
    weight: &Weight,
    control: &Control,
) -> Result<Clustering, AlgorithmError> {
    in_pool(|| {
        let graph = Sides::new(view, weight, control)?;
        control.progress(1, 2);
        let sums = graph.triangles(control)?;
        let coefficient = |(vertex, sum)| graph.coefficient(vertex, sum);
        let coefficients: Vec<f64> = sums.into_iter().enumerate().map(coefficient).collect();
        // A sum of nothing is -0.
        let average = (coefficients.iter().sum::<f64>() + 0.0) / (view.num_vertices().max(1) as f64);
        control.progress(2, 2);
        Ok(Clustering { coefficients, average })
    })
}

/// The sides that triangles can have.
struct Sides {
    symmetric: bool,
    /// Of each vertex the neighbors of lower degree, or of lower id where that is the same, with `s`.
    lower: Vec<Vec<(VertexId, f64)>>,
    /// Neighbors, and how many of them in both directions.
    counts: Vec<(u64, u64)>,
}

impl Sides {
    fn new(view: &dyn GraphView, weight: &Weight, control: &Control) -> Result<Self, AlgorithmError> {
        let flat = view.flat();
        let out = table(view, &flat, weight, Direction::Out, control)?;
        let reverse = match flat.is_symmetric() {
            true => None,
            false => Some(table(view, &flat, weight, Direction::In, control)?),
        };
        let largest = out.weights().iter().copied().fold(0.0, f64::max);
        let side = |weight: f64| if largest > 0.0 { (weight / largest).cbrt() } else { 0.0 };
        let list_of = |vertex| {
            let mut list: Vec<(VertexId, u32, f64)> = Vec::new();
            let edges = out.edges(vertex).chain(reverse.iter().flat_map(|table| table.edges(vertex)));
            let others = edges.filter(|(other, _)| *other != vertex);
            list.extend(others.map(|(other, weight)| (other, 1, side(weight))));
            list.sort_unstable_by_key(|(other, ..)| *other);
            // Of at most two directions, whose sum does not depend on their order.
            list.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    (kept.1, kept.2) = (kept.1 + next.1, kept.2 + next.2);
                }
                same
            });
            list
        };
        let lists = try_map(control, vertex_blocks(flat.id_bound()), |block| {
            Ok(block.map(list_of).collect::<Vec<_>>())
        });
        let lists: Vec<Vec<_>> = lists?.into_iter().flatten().collect();
        let rank = |vertex: VertexId| (lists[vertex as usize].len(), vertex);
        let lower = of_vertices(flat.id_bound(), |vertex| {
            let lower = lists[vertex as usize].iter().filter(|(other, ..)| rank(*other) < rank(vertex));
            lower.map(|&(other, _, side)| (other, side)).collect()
        });
        let mutual = |list: &[(VertexId, u32, f64)]| list.iter().filter(|(_, ways, _)| *ways == 2).count();
        let counts = lists.iter().map(|list| (list.len() as u64, mutual(list) as u64)).collect();
        Ok(Sides { symmetric: flat.is_symmetric(), lower, counts })
    }

    /// What the triangles of each vertex count.
    fn triangles(&self, control: &Control) -> Result<Vec<u128>, AlgorithmError> {
        let bound = self.lower.len();
        let scratch = PerThread::new(|| (vec![0.0; bound], vec![0u128; bound]));
        let steps = |vertex: VertexId| {
            let list = &self.lower[vertex as usize];
            list.iter().map(|(other, _)| self.lower[*other as usize].len() + 1).sum::<usize>() + 4
        };
        Ranges::by_cost(bound as VertexId, STEPS_PER_RANGE, steps).for_each(control, |range| {
            scratch
                .with(|(row, sums)| range.for_each(|vertex| self.triangles_from(vertex as usize, row, sums)));
        })?;
        let mut total = vec![0; bound];
        for (_, sums) in scratch.into_inner() {
            total.iter_mut().zip(sums).for_each(|(total, part)| *total += part);
        }
        Ok(total)
    }

    /// The triangles whose highest end is `u`. `row` is all 0, before and after.
    fn triangles_from(&self, u: usize, row: &mut [f64], sums: &mut [u128]) {
        self.lower[u].iter().for_each(|&(v, side)| row[v as usize] = side);
        for &(v, u_to_v) in &self.lower[u] {
            for &(w, v_to_w) in &self.lower[v as usize] {
                let triangle = fixed(row[w as usize] * v_to_w * u_to_v);
                for end in [u, v as usize, w as usize] {
                    sums[end] += triangle;
                }
            }
        }
        self.lower[u].iter().for_each(|&(v, _)| row[v as usize] = 0.0);
    }

    fn coefficient(&self, vertex: usize, triangles: u128) -> f64 {
        let (neighbors, mutual) = self.counts[vertex];
        let triangles = triangles as f64 * 2f64.powi(-FRACTION_BITS);
        let (triangles, pairs) = match self.symmetric {
            true => (2.0 * triangles, ordered_pairs(neighbors)),
            false => (triangles, directed_pairs(neighbors, mutual)),
        };
        if triangles == 0.0 { 0.0 } else { triangles / pairs as f64 }
    }
}

fn fixed(number: f64) -> u128 {
    (number * 2f64.powi(FRACTION_BITS)) as u128
}

/// The lists of one direction, parallel edges as one.
fn table(
    view: &dyn GraphView,
    flat: &FlatView,
    weight: &Weight,
    direction: Direction,
    control: &Control,
) -> Result<WeightedTable, AlgorithmError> {
    let lists = WeightedTable::new(view, flat, weight, direction, Sign::NotNegative, control)?;
    lists.merged(control, |one, other| one + other)
}

/// Checks coefficients pair by pair of neighbors: O(sum of d^2).
pub fn verify(
    view: &dyn GraphView,
    weight: &Weight,
    result: &Clustering,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let lists = |direction| -> Result<Vec<HashMap<VertexId, f64>>, AlgorithmError> {
        let sum = |list: Vec<(VertexId, f64)>| {
            let mut sums = HashMap::new();
            list.into_iter().for_each(|(other, weight)| *sums.entry(other).or_default() += weight);
            sums
        };
        Ok(weighted_lists_in(view, weight, direction)?.into_iter().map(sum).collect())
    };
    let mut directions = vec![lists(Direction::Out)?];
    let largest = directions[0].iter().flat_map(HashMap::values).copied().fold(0.0, f64::max);
    if !view.is_symmetric() {
        directions.push(lists(Direction::In)?);
    }
    let side = |one: usize, other: VertexId| -> f64 {
        let weights = directions.iter().filter_map(|lists| lists[one].get(&other));
        weights.map(|weight| if largest > 0.0 { (weight / largest).cbrt() } else { 0.0 }).sum()
    };
    let bound = view.id_bound() as usize;
    ensure(result.coefficients.len() == bound, || format!("{} values", result.coefficients.len()))?;
    let mut sum = 0.0;
    for vertex in 0..bound {
        control.check()?;
        let ends = directions.iter().flat_map(|lists| lists[vertex].keys()).copied();
        let mut neighbors: Vec<VertexId> = ends.filter(|&other| other as usize != vertex).collect();
        neighbors.sort_unstable();
        let mut distinct = neighbors.clone();
        distinct.dedup();
        let (edges, mutual) = (neighbors.len() as f64, (neighbors.len() - distinct.len()) as f64);
        let mut triangles = 0.0;
        for &one in &distinct {
            control.check()?;
            let others = distinct.iter().filter(|&&other| other != one);
            triangles += others
                .map(|&other| side(vertex, one) * side(one as usize, other) * side(vertex, other))
                .sum::<f64>();
        }
        let pairs = edges * (edges - 1.0) - 2.0 * mutual;
        let pairs = if view.is_symmetric() { pairs } else { 2.0 * pairs };
        let wanted = if triangles == 0.0 { 0.0 } else { triangles / pairs };
        let found = result.coefficients[vertex];
        ensure((found - wanted).abs() <= 1e-9, || format!("vertex {vertex} has {found}, {wanted} expected"))?;
        sum += wanted;
    }
    let average = sum / view.num_vertices().max(1) as f64;
    ensure((result.average - average).abs() <= 1e-9, || {
        format!("average {}, {average} expected", result.average)
    })
}
