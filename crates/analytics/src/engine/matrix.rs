//! The adjacency matrix of a view times a vector: the step that all spectral methods repeat.
//!
//! ```text
//!  times(x)[v] = finish(v, sum of w(u, v) * x[u] over the entries u of the list of v)
//!
//!  Direction::In   lists of edges coming in:  x * A,  a vertex gathers from those that point to it
//!  Direction::Out  lists of edges going out:  A * x,  a vertex gathers from those that it points to
//! ```
//!
//! Parallel edges count each. With weights lists are laid out once, and without where they lie apart.
//!
//! Invariant: each sum is taken in the order of its list, a hub's in pieces of a fixed size, so that products do not
//! depend on the number of threads.

use std::hint::select_unpredictable;
use std::sync::Arc;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::gather::Gather;
use crate::engine::parallel::{ITEMS_PER_TASK, blocks, for_each, map};
use crate::engine::ranges::{HUB_DEGREE, HUB_PIECE};
use crate::engine::weights::{Sign, Weight, WeightedTable};
use crate::{AlgorithmError, Control, Ranges};

/// The lists of one direction as rows of a matrix.
pub(crate) struct Matrix {
    flat: Arc<FlatView>,
    rows: Rows,
}

enum Rows {
    /// Lists whose edges weigh 1.
    Plain(Gather),
    Weighted(WeightedTable, Ranges),
}

impl Matrix {
    pub(crate) fn new(
        view: &dyn GraphView,
        flat: &Arc<FlatView>,
        direction: Direction,
        (weight, sign): (&Weight, Sign),
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        let rows = match weight.lists(view)? {
            Some(_) => {
                let table = WeightedTable::new(view, flat, weight, direction, sign, control)?;
                Rows::Weighted(table, Ranges::by_edges(flat, direction))
            }
            None => Rows::Plain(Gather::over(flat, direction, control)?),
        };
        Ok(Matrix { flat: flat.clone(), rows })
    }

    /// Writes `finish(vertex, sum)` of every vertex that exists to `into`, and 0 for the other ids; `finish` is called for all.
    pub(crate) fn times(
        &self,
        vector: &[f64],
        into: &mut [f64],
        control: &Control,
        finish: impl Fn(VertexId, f64) -> f64 + Sync,
    ) -> Result<(), AlgorithmError> {
        // Whether a vertex is missing is as good as random, so nothing branches on it.
        let finish =
            |vertex, sum| select_unpredictable(self.flat.has_vertex(vertex), finish(vertex, sum), 0.0);
        match &self.rows {
            Rows::Plain(gather) => {
                let finish = |(): &mut (), vertices, sums: &[f64], into: &mut [f64]| {
                    let sums = Iterator::zip(vertices, sums);
                    into.iter_mut()
                        .zip(sums)
                        .for_each(|(place, (vertex, sum))| *place = finish(vertex, *sum));
                };
                gather.pass(control, vector, |number| *number, into, finish)?;
            }
            Rows::Weighted(table, ranges) => {
                ranges.try_map_with(control, ranges.split_mut(into), |range, into| {
                    for (vertex, place) in range.zip(into) {
                        let (neighbors, weights) = table.list(vertex);
                        *place = finish(vertex, weighted_row(neighbors, weights, vector));
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// The sum of the weights of each row.
    pub(crate) fn row_sums(&self, control: &Control) -> Result<Vec<f64>, AlgorithmError> {
        let mut sums = vec![0.0; self.flat.id_bound() as usize];
        let ranges = match &self.rows {
            Rows::Plain(gather) => gather.ranges(),
            Rows::Weighted(_, ranges) => ranges,
        };
        let pieces = ranges.iter().zip(ranges.split_mut(&mut sums));
        for_each(control, pieces, |(range, sums)| {
            for (vertex, sum) in range.zip(sums) {
                *sum = match &self.rows {
                    Rows::Weighted(table, _) => table.list(vertex).1.iter().sum(),
                    Rows::Plain(gather) => gather.table().degree(vertex) as f64,
                };
            }
        })?;
        Ok(sums)
    }

    /// The powers of two that bring the largest weight of each row to about 1.
    pub(crate) fn row_scales(&self, control: &Control) -> Result<Vec<f64>, AlgorithmError> {
        match &self.rows {
            Rows::Weighted(table, _) => table.scales(control),
            Rows::Plain(gather) => Ok(vec![1.0; gather.table().len()]),
        }
    }

    /// Multiplies each row of weights by a number of its own.
    pub(crate) fn scale_rows(&mut self, by: &[f64], control: &Control) -> Result<(), AlgorithmError> {
        match &mut self.rows {
            Rows::Weighted(table, _) => table.scale(control, |vertex, _| by[vertex as usize]),
            Rows::Plain(_) => Ok(()),
        }
    }

    /// The same for the columns: the weights of all edges to or from a neighbor.
    pub(crate) fn scale_columns(&mut self, by: &[f64], control: &Control) -> Result<(), AlgorithmError> {
        match &mut self.rows {
            Rows::Weighted(table, _) => table.scale(control, |_, neighbor| by[neighbor as usize]),
            Rows::Plain(_) => Ok(()),
        }
    }
}

fn weighted_row(neighbors: &[VertexId], weights: &[f64], vector: &[f64]) -> f64 {
    let sum = |neighbors: &[VertexId], weights: &[f64]| {
        let entries = neighbors.iter().zip(weights);
        entries.fold(0.0, |sum, (&neighbor, weight)| sum + weight * vector[neighbor as usize])
    };
    if neighbors.len() < HUB_DEGREE {
        return sum(neighbors, weights);
    }
    let pieces = neighbors.chunks(HUB_PIECE).zip(weights.chunks(HUB_PIECE));
    map(pieces, |(neighbors, weights)| sum(neighbors, weights)).iter().sum()
}

/// The sum of `term` over all positions, taken piece by piece in a fixed order.
pub(crate) fn sum(len: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    // A sum of nothing is -0.
    map(blocks(len, ITEMS_PER_TASK), |piece| piece.map(&term).sum::<f64>()).iter().sum::<f64>() + 0.0
}

/// The largest magnitude, 0 of nothing.
pub(crate) fn largest(vector: &[f64]) -> f64 {
    let largest = |piece: &[f64]| piece.iter().map(|item| item.abs()).fold(0.0, f64::max);
    largest(&map(vector.chunks(ITEMS_PER_TASK), largest))
}

/// The Euclidean length: scaled first, so that no square overflows.
pub(crate) fn length(vector: &[f64]) -> f64 {
    let largest = largest(vector);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * sum(vector.len(), |at| (vector[at] / largest).powi(2)).sqrt()
}

/// The sum of the magnitudes of differences.
pub(crate) fn distance(left: &[f64], right: &[f64]) -> f64 {
    sum(left.len(), |at| (left[at] - right[at]).abs())
}

/// The power of two that brings a number from 0 to about 1, as far as there is one: what is multiplied by it has the same
/// digits, and can be summed and divided by without leaving the range of numbers.
pub(crate) fn near_one(number: f64) -> f64 {
    let exponent = (number.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    f64::from_bits(((1023 - exponent.clamp(-1022, 1022)) as u64) << 52)
}

/// Whether a sum of numbers from 0 is so large or so small that dividing by it loses digits.
pub(crate) fn is_extreme(sum: f64) -> bool {
    sum != 0.0 && !(1e-290..=1e290).contains(&sum)
}

/// Multiplies every item.
pub(crate) fn scale(vector: &mut [f64], by: f64) {
    map(vector.chunks_mut(ITEMS_PER_TASK), |piece| piece.iter_mut().for_each(|item| *item *= by));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_are_brought_near_one_and_keep_their_digits() {
        for number in [1.0, 1.5, 3e-5, 7e19, f64::MAX, f64::MIN_POSITIVE, 1e-310, 5e-324] {
            let scaled = number * near_one(number);
            assert!((1e-16..4.0).contains(&scaled), "{number:e} became {scaled:e}");
            assert_eq!(scaled / near_one(number), number);
        }
    }
}
