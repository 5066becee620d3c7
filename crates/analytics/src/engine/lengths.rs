//! Lengths of edges for shortest paths: laid out once for each flat view and then shared, in 32-bit whole numbers where that
//! is exact.
//!
//! ```text
//!  offsets   0            2                   5      the list of vertex v is offsets[v]..offsets[v + 1]
//!  edges     (3, 5)(7, 2) (1, 1)(4, 1)(4, 30)        neighbor and length side by side: one cache line gives both
//! ```
//!
//! Most weights that users have are counts, minutes or meters. Whole numbers take two thirds of the memory, and sums of
//! them are those of 64-bit floating point, so the distances are the same.
//!
//! Invariant: lengths are finite and not negative.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::matrix::largest;
use crate::engine::parallel::{ITEMS_PER_TASK, map};
use crate::engine::prefetch::prefetch_lines;
use crate::engine::weights::{Sign, Weight, WeightedTable};
use crate::{AlgorithmError, Control};

/// Lines of memory of a list that are asked for ahead.
const LINES_AHEAD: usize = 4;

/// The lengths of the edges of a view in one direction.
#[derive(Debug)]
pub(crate) struct Lengths {
    pub(crate) table: LengthTable,
    /// The mean length by the mean degree: a bucket of delta-stepping then holds about one edge of each vertex in it, which
    /// is the width that the analysis for random weights asks for (Meyer and Sanders, section 4). Of a Kronecker graph of
    /// degree 32 and lengths up to 255, 169 million edges are relaxed from four sources so, 140 million in buckets half as
    /// wide and 231 million in twice as wide ones.
    pub(crate) usual_delta: f64,
    /// The largest length.
    pub(crate) largest: f64,
}

/// In one of two ways.
#[derive(Debug)]
pub(crate) enum LengthTable {
    /// All are whole numbers of 32 bits.
    Whole(WholeTable),
    /// Some are not.
    Real(WeightedTable),
}

impl Lengths {
    /// Of the view whose flat view is `flat`: as they were laid out before, or laid out now.
    pub(crate) fn of(
        view: &dyn GraphView,
        flat: &FlatView,
        weight: &Weight,
        direction: Direction,
        control: &Control,
    ) -> Result<Arc<Self>, AlgorithmError> {
        let name = format!("lengths {weight:?} {direction:?}");
        flat.derived(&name, || {
            let table = WeightedTable::new(view, flat, weight, direction, Sign::NotNegative, control)?;
            let weights = table.weights();
            let is_whole = |&weight: &f64| f64::from(weight as u32) == weight;
            let pieces = map(weights.chunks(ITEMS_PER_TASK), |piece| {
                (piece.iter().sum::<f64>(), piece.iter().all(is_whole))
            });
            let (entries, largest) = (weights.len() as f64, largest(weights));
            let sum: f64 = pieces.iter().map(|(sum, _)| sum).sum();
            let delta = sum / entries * (f64::from(table.id_bound()) / entries);
            let usual_delta = if delta > 0.0 && delta.is_finite() { delta } else { 1.0 };
            let table = match pieces.iter().all(|&(_, is_whole)| is_whole) {
                true => LengthTable::Whole(WholeTable::new(&table)),
                false => LengthTable::Real(table),
            };
            Ok(Lengths { table, usual_delta, largest })
        })
    }
}

/// Neighbors and whole lengths, end to end.
#[derive(Debug)]
pub(crate) struct WholeTable {
    offsets: Vec<usize>,
    edges: Vec<(VertexId, u32)>,
}

impl WholeTable {
    fn new(table: &WeightedTable) -> Self {
        let offsets = table.offsets().to_vec();
        let pieces = table.neighbors().chunks(ITEMS_PER_TASK).zip(table.weights().chunks(ITEMS_PER_TASK));
        let edges = map(pieces, |(neighbors, weights)| {
            let edges = neighbors.iter().zip(weights);
            edges.map(|(&neighbor, &weight)| (neighbor, weight as u32)).collect::<Vec<_>>()
        });
        WholeTable { offsets, edges: edges.concat() }
    }

    #[inline]
    fn list(&self, vertex: VertexId) -> &[(VertexId, u32)] {
        &self.edges[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
}

/// What delta-stepping needs of a table: its lists, and the arithmetic of its distances.
pub(crate) trait LengthLists: Sync {
    /// A length or a distance.
    type Length: Copy + PartialOrd + Send + Sync;
    /// A distance that all threads may lower.
    type Place: Send + Sync;

    /// No way.
    const ZERO: Self::Length;

    /// One past the largest vertex id.
    fn id_bound(&self) -> VertexId;
    /// The length of a list.
    fn degree(&self, vertex: VertexId) -> usize;
    /// Asks for the memory of a list.
    fn prefetch(&self, vertex: VertexId);
    /// A part of a list.
    fn edges(&self, vertex: VertexId, part: Range<usize>) -> impl Iterator<Item = (VertexId, Self::Length)>;
    /// The ends in a part of a list.
    #[inline]
    fn ends(&self, vertex: VertexId, part: Range<usize>) -> impl Iterator<Item = VertexId> {
        self.edges(vertex, part).map(|(end, _)| end)
    }
    /// A place at the largest distance.
    fn unreached() -> Self::Place;
    /// The distance at a place.
    fn load(place: &Self::Place) -> Self::Length;
    /// Lowers the distance at a place; whether it was larger.
    fn lower(place: &Self::Place, distance: Self::Length) -> bool;
    /// A way and one more edge; `None` if that is beyond all numbers.
    fn sum(near: Self::Length, length: Self::Length) -> Option<Self::Length>;
    /// A distance that was reached.
    fn to_f64(distance: Self::Length) -> f64;
    /// The distance at a place; infinite if it was not reached.
    fn finish(place: &Self::Place) -> f64;
}

impl LengthLists for WholeTable {
    type Length = u32;
    type Place = AtomicU32;

    const ZERO: u32 = 0;

    fn id_bound(&self) -> VertexId {
        (self.offsets.len() - 1) as VertexId
    }

    #[inline]
    fn degree(&self, vertex: VertexId) -> usize {
        self.list(vertex).len()
    }

    #[inline]
    fn prefetch(&self, vertex: VertexId) {
        prefetch_lines(self.list(vertex), LINES_AHEAD);
    }

    #[inline]
    fn edges(&self, vertex: VertexId, part: Range<usize>) -> impl Iterator<Item = (VertexId, u32)> {
        self.list(vertex)[part].iter().copied()
    }

    fn unreached() -> AtomicU32 {
        AtomicU32::new(u32::MAX)
    }

    #[inline]
    fn load(place: &AtomicU32) -> u32 {
        place.load(Relaxed)
    }

    #[inline]
    fn lower(place: &AtomicU32, distance: u32) -> bool {
        distance < place.fetch_min(distance, Relaxed)
    }

    #[inline]
    fn sum(near: u32, length: u32) -> Option<u32> {
        near.checked_add(length).filter(|&far| far != u32::MAX)
    }

    #[inline]
    fn to_f64(distance: u32) -> f64 {
        f64::from(distance)
    }

    fn finish(place: &AtomicU32) -> f64 {
        match place.load(Relaxed) {
            u32::MAX => f64::INFINITY,
            distance => f64::from(distance),
        }
    }
}

/// Distances are kept as the bits of numbers from 0, which are in the order of the numbers.
impl LengthLists for WeightedTable {
    type Length = f64;
    type Place = AtomicU64;

    const ZERO: f64 = 0.0;

    fn unreached() -> AtomicU64 {
        AtomicU64::new(f64::INFINITY.to_bits())
    }

    #[inline]
    fn load(place: &AtomicU64) -> f64 {
        f64::from_bits(place.load(Relaxed))
    }

    #[inline]
    fn lower(place: &AtomicU64, distance: f64) -> bool {
        distance.to_bits() < place.fetch_min(distance.to_bits(), Relaxed)
    }

    #[inline]
    fn sum(near: f64, length: f64) -> Option<f64> {
        Some(near + length)
    }

    #[inline]
    fn to_f64(distance: f64) -> f64 {
        distance
    }

    fn finish(place: &AtomicU64) -> f64 {
        f64::from_bits(place.load(Relaxed))
    }

    fn id_bound(&self) -> VertexId {
        WeightedTable::id_bound(self)
    }

    #[inline]
    fn degree(&self, vertex: VertexId) -> usize {
        WeightedTable::degree(self, vertex)
    }

    #[inline]
    fn prefetch(&self, vertex: VertexId) {
        let (neighbors, weights) = self.list(vertex);
        prefetch_lines(neighbors, LINES_AHEAD / 2);
        prefetch_lines(weights, LINES_AHEAD);
    }

    #[inline]
    fn edges(&self, vertex: VertexId, part: Range<usize>) -> impl Iterator<Item = (VertexId, f64)> {
        let (neighbors, weights) = self.list(vertex);
        neighbors[part.clone()].iter().copied().zip(weights[part].iter().copied())
    }
}
