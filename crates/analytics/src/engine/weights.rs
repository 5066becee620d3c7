//! Weights of edges for whole-graph work: the lists of a view with a number beside each neighbor, laid out once per run.
//!
//! ```text
//!  offsets    0      2             5      the list of vertex v is offsets[v]..offsets[v + 1]
//!  neighbors  3  7   1   4   4
//!  weights    .5 2.  1.  1.  3.           a property of the edges; 1 where an edge has none
//! ```
//!
//! Invariant: weights are finite, and not negative where the algorithm asked for that.

use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView, WeightError, WeightedList, WeightedLists};

use crate::engine::matrix::near_one;
use crate::engine::parallel::{for_each, try_map, vertex_blocks};
use crate::registry::{WEIGHT, invalid, unfit_property};
use crate::{AlgorithmError, BfsOptions, Control, Ranges, bfs};

/// Which property of edges is their weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// The property called `weight` where there is one, else every edge weighs 1: the default of NetworkX.
    #[default]
    Usual,
    /// Every edge weighs 1.
    One,
    /// The property of this name, which must exist. An edge that has no value weighs 1.
    Property(String),
}

impl Weight {
    /// The lists of a view with these weights; `None` if every edge weighs 1.
    pub(crate) fn lists<'a>(
        &self,
        view: &'a dyn GraphView,
    ) -> Result<Option<Box<dyn WeightedLists + 'a>>, AlgorithmError> {
        let wanted = match self {
            Weight::One => return Ok(None),
            Weight::Usual => view.weighted_lists(WEIGHT.name),
            Weight::Property(property) => view.weighted_lists(property),
        };
        match wanted {
            Ok(lists) => Ok(Some(lists)),
            Err(WeightError::UnknownProperty { .. }) if *self == Weight::Usual => Ok(None),
            Err(error) => Err(unfit_property(WEIGHT.name, &error)),
        }
    }
}

impl Weight {
    /// The same for a part of the view: its edge types may all lack the property, and then its edges weigh 1.
    pub(crate) fn of_part(&self, part: &dyn GraphView) -> Weight {
        match self {
            Weight::Property(property) if part.weighted_lists(property).is_err() => Weight::One,
            _ => self.clone(),
        }
    }
}

/// Which weights an algorithm can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Finite ones.
    Any,
    /// Finite ones from 0.
    NotNegative,
    /// Finite ones above 0.
    Positive,
}

/// The lists of one direction with weights.
#[derive(Debug)]
pub struct WeightedTable {
    offsets: Vec<usize>,
    neighbors: Vec<VertexId>,
    weights: Vec<f64>,
}

impl WeightedTable {
    /// Lays out the lists of `view`, whose flat view is `flat`, in parallel.
    pub fn new(
        view: &dyn GraphView,
        flat: &FlatView,
        weight: &Weight,
        direction: Direction,
        sign: Sign,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        let table = flat.table(direction);
        let ends = (0..table.len() as VertexId).scan(0, |end, vertex| {
            *end += table.degree(vertex);
            Some(*end)
        });
        let offsets: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let entries = offsets[table.len()];
        let mut laid_out =
            WeightedTable { offsets, neighbors: vec![0; entries], weights: vec![0.0; entries] };
        let ranges = Ranges::by_edges(flat, direction);
        let lists = weight.lists(view)?;
        try_map(control, laid_out.split(&ranges), |mut piece| match &lists {
            Some(lists) => piece.fill(&**lists, direction, sign),
            None => {
                piece.fill_unweighted(flat, direction);
                Ok(())
            }
        })?;
        Ok(laid_out)
    }

    fn split(&mut self, ranges: &Ranges) -> Vec<Piece<'_>> {
        let (mut neighbors, mut weights) = (&mut self.neighbors[..], &mut self.weights[..]);
        let mut pieces = Vec::new();
        for vertices in ranges.iter() {
            let len = self.offsets[vertices.end as usize] - self.offsets[vertices.start as usize];
            let (own_neighbors, own_weights);
            (own_neighbors, neighbors) = neighbors.split_at_mut(len);
            (own_weights, weights) = weights.split_at_mut(len);
            pieces.push(Piece { vertices, neighbors: own_neighbors, weights: own_weights });
        }
        pieces
    }

    /// The neighbors of a vertex and the weights of the edges to them.
    #[inline]
    pub fn list(&self, vertex: VertexId) -> (&[VertexId], &[f64]) {
        let list = self.offsets[vertex as usize]..self.offsets[vertex as usize + 1];
        (&self.neighbors[list.clone()], &self.weights[list])
    }

    /// The neighbors of a vertex, each with the weight of the edge to it.
    #[inline]
    pub fn edges(&self, vertex: VertexId) -> impl Iterator<Item = (VertexId, f64)> + '_ {
        let (neighbors, weights) = self.list(vertex);
        neighbors.iter().copied().zip(weights.iter().copied())
    }

    /// The length of a list.
    #[inline]
    pub fn degree(&self, vertex: VertexId) -> usize {
        self.offsets[vertex as usize + 1] - self.offsets[vertex as usize]
    }

    /// The same with lists that ascend and each neighbor once, the weights of parallel edges combined.
    pub(crate) fn merged(
        self,
        control: &Control,
        combine: impl Fn(f64, f64) -> f64 + Sync,
    ) -> Result<Self, AlgorithmError> {
        let pieces = try_map(control, vertex_blocks(self.id_bound()), |vertices| {
            let (mut edges, mut lengths) =
                (Vec::<(VertexId, f64)>::new(), Vec::with_capacity(vertices.len()));
            for vertex in vertices {
                let start = edges.len();
                edges.extend(self.edges(vertex));
                edges[start..]
                    .sort_unstable_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
                let mut kept = start;
                for at in start..edges.len() {
                    if kept > start && edges[kept - 1].0 == edges[at].0 {
                        edges[kept - 1].1 = combine(edges[kept - 1].1, edges[at].1);
                    } else {
                        edges[kept] = edges[at];
                        kept += 1;
                    }
                }
                edges.truncate(kept);
                lengths.push(kept - start);
            }
            Ok((edges, lengths))
        })?;
        let (mut offsets, mut neighbors, mut weights) = (vec![0], Vec::new(), Vec::new());
        for (edges, lengths) in pieces {
            let mut end = neighbors.len();
            offsets.extend(lengths.into_iter().map(|length| {
                end += length;
                end
            }));
            neighbors.extend(edges.iter().map(|(neighbor, _)| neighbor));
            weights.extend(edges.iter().map(|(_, weight)| weight));
        }
        Ok(WeightedTable { offsets, neighbors, weights })
    }

    /// For each list the power of two that brings its largest weight to about 1.
    pub(crate) fn scales(&self, control: &Control) -> Result<Vec<f64>, AlgorithmError> {
        let pieces = try_map(control, vertex_blocks(self.id_bound()), |vertices| {
            let largest = |vertex| self.list(vertex).1.iter().copied().fold(0.0, f64::max);
            Ok(vertices.map(|vertex| near_one(largest(vertex))).collect::<Vec<f64>>())
        });
        Ok(pieces?.concat())
    }

    /// Multiplies the weight of each entry by what its list and its neighbor say.
    pub(crate) fn scale(
        &mut self,
        control: &Control,
        by: impl Fn(VertexId, VertexId) -> f64 + Sync,
    ) -> Result<(), AlgorithmError> {
        let (offsets, mut neighbors, mut weights) =
            (&self.offsets, &self.neighbors[..], &mut self.weights[..]);
        let mut pieces = Vec::new();
        for vertices in vertex_blocks((offsets.len() - 1) as VertexId) {
            let len = offsets[vertices.end as usize] - offsets[vertices.start as usize];
            let (own_neighbors, own_weights);
            (own_neighbors, neighbors) = neighbors.split_at(len);
            (own_weights, weights) = weights.split_at_mut(len);
            pieces.push((vertices, own_neighbors, own_weights));
        }
        for_each(control, pieces, |(vertices, neighbors, weights)| {
            let mut entries = weights.iter_mut().zip(neighbors);
            for vertex in vertices {
                let degree = offsets[vertex as usize + 1] - offsets[vertex as usize];
                let list = entries.by_ref().take(degree);
                list.for_each(|(weight, &neighbor)| *weight *= by(vertex, neighbor));
            }
        })
    }

    /// One past the largest vertex id.
    pub fn id_bound(&self) -> VertexId {
        (self.offsets.len() - 1) as VertexId
    }

    /// Where each list begins, and at the end the number of all entries.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// All lists end to end.
    pub(crate) fn neighbors(&self) -> &[VertexId] {
        &self.neighbors
    }

    /// The part of an array with one item for each entry that belongs to a vertex.
    pub(crate) fn part<'a>(&self, vertex: VertexId, items: &'a [f64]) -> &'a [f64] {
        &items[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }

    /// For each entry the sum of the weights of its list up to it.
    pub(crate) fn running_sums(&self, control: &Control) -> Result<Vec<f64>, AlgorithmError> {
        let pieces = try_map(control, vertex_blocks(self.id_bound()), |vertices| {
            let sums = vertices.flat_map(|vertex| {
                self.list(vertex).1.iter().scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
            });
            Ok(sums.collect::<Vec<f64>>())
        });
        Ok(pieces?.concat())
    }

    /// The weights of all entries.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// The lists of a range of vertices, to be filled.
struct Piece<'a> {
    vertices: std::ops::Range<VertexId>,
    neighbors: &'a mut [VertexId],
    weights: &'a mut [f64],
}

impl Piece<'_> {
    fn fill(
        &mut self,
        lists: &dyn WeightedLists,
        direction: Direction,
        sign: Sign,
    ) -> Result<(), AlgorithmError> {
        let (mut list, mut at) = (WeightedList::default(), 0);
        for vertex in self.vertices.clone() {
            list.clear();
            lists.append(direction, vertex, &mut list);
            check(vertex, direction, &list, sign)?;
            let end = at + list.neighbors.len();
            self.neighbors[at..end].copy_from_slice(&list.neighbors);
            self.weights[at..end].copy_from_slice(&list.weights);
            at = end;
        }
        Ok(())
    }

    fn fill_unweighted(&mut self, flat: &FlatView, direction: Direction) {
        self.weights.fill(1.0);
        let mut at = 0;
        for vertex in self.vertices.clone() {
            flat.neighbors(direction, vertex).for_each_slice(|slice| {
                self.neighbors[at..at + slice.len()].copy_from_slice(slice);
                at += slice.len();
            });
        }
    }
}

/// The out-lists of a view with weights, one vertex after the other: for verifiers.
pub(crate) fn weighted_lists(
    view: &dyn GraphView,
    weight: &Weight,
) -> Result<Vec<Vec<(VertexId, f64)>>, AlgorithmError> {
    weighted_lists_in(view, weight, Direction::Out)
}

/// The same in either direction.
pub(crate) fn weighted_lists_in(
    view: &dyn GraphView,
    weight: &Weight,
    direction: Direction,
) -> Result<Vec<Vec<(VertexId, f64)>>, AlgorithmError> {
    let lists = weight.lists(view)?;
    let mut list = WeightedList::default();
    let all = (0..view.id_bound()).map(|vertex| {
        list.clear();
        match &lists {
            Some(lists) => lists.append(direction, vertex, &mut list),
            None => view.for_each_slice(direction, vertex, &mut |slice| {
                list.neighbors.extend_from_slice(slice);
                list.weights.resize(list.neighbors.len(), 1.0);
                ControlFlow::Continue(())
            }),
        }
        list.iter().collect()
    });
    Ok(all.collect())
}

/// The error of weights, or whatever the argument names, whose sums are no numbers any more.
pub(crate) fn sums_too_large(argument: &str) -> AlgorithmError {
    invalid(argument, "sums of weights are beyond all numbers; scale them down".to_owned())
}

/// Refuses weights along whose paths sums may be beyond all numbers, `largest` of them by magnitude, if by hops there are
/// more vertices than were `reached`: those that are missing are at no distance that can be told.
pub(crate) fn require_reached(
    view: &dyn GraphView,
    (sources, reverse): (&[VertexId], bool),
    largest: f64,
    reached: u64,
    control: &Control,
) -> Result<(), AlgorithmError> {
    if (largest * view.num_vertices() as f64).is_finite() {
        return Ok(());
    }
    let options = BfsOptions { reverse, depth_limit: None };
    let by_hops = bfs(view, sources, &options, &control.of_part())?.reached;
    if by_hops > reached { Err(sums_too_large(WEIGHT.name)) } else { Ok(()) }
}

/// Refuses weights that the algorithm cannot work with.
pub(crate) fn check(
    vertex: VertexId,
    direction: Direction,
    list: &WeightedList,
    sign: Sign,
) -> Result<(), AlgorithmError> {
    let allowed = |weight: f64| match sign {
        Sign::Any => true,
        Sign::NotNegative => weight >= 0.0,
        Sign::Positive => weight > 0.0,
    };
    let bad = |&(_, weight): &(VertexId, f64)| !weight.is_finite() || !allowed(weight);
    let Some((neighbor, weight)) = list.iter().find(bad) else { return Ok(()) };
    let (src, dst) = match direction {
        Direction::Out => (vertex, neighbor),
        Direction::In => (neighbor, vertex),
    };
    Err(match weight {
        0.0 => AlgorithmError::ZeroWeight { src, dst },
        _ if weight.is_finite() => AlgorithmError::NegativeWeight { src, dst },
        _ => AlgorithmError::NotFinite { src, dst },
    })
}
