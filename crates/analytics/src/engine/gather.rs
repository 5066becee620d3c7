//! Sums over neighbor lists of what is known of each neighbor: the inner loop of every algorithm that pulls numbers.
//!
//! ```text
//!  lists of a range ─► end to end, with hints ──────────────────────────► values of neighbors, those behind asked for ─► sums
//!                  └─► compressed, or apart ─► copied, some at a time ──►
//! ```
//!
//! What it waits for is memory. Within a long list the processor sees the next neighbors coming by itself, but only to the end of
//! a page, so lists that lie end to end are asked for a page ahead (0.87 of the time of an iteration of PageRank on a Kronecker graph of
//! 2^20 vertices). And it guesses wrong where short lists end and then has to begin anew, so values some way ahead are asked for
//! explicitly (0.75). Of a compressed list nothing tells what is ahead, and so it is worth being decoded beforehand, with those
//! behind it (0.8).
//!
//! Invariant: numbers are added in an order that follows from the list alone, whatever pieces it lies in: in the order of the
//! list, every other one by itself, and in that of a hub block by block. So a sum over it is the same to the last bit in memory and on
//! disk.

use std::iter;
use std::ops::Range;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, Hinted, Neighbors};

use crate::engine::parallel::map;
use crate::engine::prefetch::prefetch_place;
use crate::engine::ranges::{HUB_DEGREE, HUB_PIECE, split_list};
use crate::{AlgorithmError, Control, Ranges};

/// How many places ahead a value is asked for: the way there takes about as long as it takes to come, from a cache or from memory.
const NEAR: usize = 32;
const FAR: usize = 96;

/// Values of more bytes than this come from memory.
const CACHED_BYTES: usize = 1 << 23;

/// So many neighbors are copied before they are summed over: they stay in the second-level cache.
const COPIED: usize = 1 << 13;

/// Vertices that gather before what they gathered is looked at: few enough for it to stay in the first-level cache.
pub(crate) const GATHERED: usize = 256;

/// Lists that vertices gather over, many times.
pub(crate) struct Gather {
    table: FlatTable,
    ranges: Ranges,
    /// Whether many lists of a range give no hints, for they are compressed or not in memory.
    unhinted: Vec<bool>,
}

impl Gather {
    /// Over the lists of a direction.
    pub(crate) fn over(
        view: &FlatView,
        direction: Direction,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        let ranges = Ranges::by_edges(view, direction);
        let table = view.table(direction).end_to_end(|| control.check())?;
        let unhinted = map(ranges.iter(), |range| is_unhinted(&table, range));
        Ok(Gather { table, ranges, unhinted })
    }

    /// The lists.
    pub(crate) fn table(&self) -> &FlatTable {
        &self.table
    }

    /// The ranges that are passed over in parallel.
    pub(crate) fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// One pass: sums up what `number` makes of the values of the neighbors of each vertex, and calls `finish` with what it keeps of
    /// the range, some vertices, their sums and their items in `into`. Gives what it kept of each range.
    ///
    /// # Panics
    /// If a neighbor has no value, or a vertex no item.
    pub(crate) fn pass<T: Sync, I: Send, R: Default + Send>(
        &self,
        control: &Control,
        values: &[T],
        number: impl Fn(&T) -> f64 + Copy + Sync,
        into: &mut [I],
        finish: impl Fn(&mut R, Range<VertexId>, &[f64], &mut [I]) + Sync,
    ) -> Result<Vec<R>, AlgorithmError> {
        let pieces = self.ranges.split_mut(into).into_iter().zip(&self.unhinted);
        self.ranges.try_map_with(control, pieces, |range, (into, unhinted)| {
            let (mut sums, mut copies, mut kept) = ([0.0; GATHERED], Copies::default(), R::default());
            let mut end = range.start;
            for into in into.chunks_mut(GATHERED) {
                let vertices = end..end + into.len() as VertexId;
                end = vertices.end;
                let sums = &mut sums[..into.len()];
                match unhinted {
                    true => {
                        let lists = self.table.lists_ahead(vertices.clone());
                        sums_over_copies(lists, values, number, sums, &mut copies);
                    }
                    false => sums_over(self.table.lists(vertices.clone()), values, number, sums),
                }
                finish(&mut kept, vertices, sums, into);
            }
            Ok(kept)
        })
    }
}

/// Whether more than an eighth of the neighbors of these vertices are in lists that give no hints, as far as a sample tells.
fn is_unhinted(table: &FlatTable, range: Range<VertexId>) -> bool {
    let (mut all, mut unhinted) = (0, 0);
    for list in table.samples(range).flatten() {
        all += list.len();
        unhinted += if list.has_hints() { 0 } else { list.len() };
    }
    unhinted > all / 8
}

/// How far ahead values are asked for.
#[inline]
fn ahead_in<T>(values: &[T]) -> usize {
    if size_of_val(values) <= CACHED_BYTES { NEAR } else { FAR }
}

/// What a list adds up to: numbers at even places and those at odd ones by themselves, so that an addition need not wait for the one
/// before it.
#[derive(Clone, Copy, Default)]
struct Sum {
    next: f64,
    other: f64,
}

impl Sum {
    /// With one number more.
    #[inline]
    fn plus(self, number: f64) -> Self {
        Sum { next: self.other, other: self.next + number }
    }

    /// Whichever of the two comes first.
    #[inline]
    fn total(self) -> f64 {
        self.next + self.other
    }
}

/// What `number` makes of the value of a neighbor; the value at the hint is asked for.
#[inline]
fn fetch<T>(values: &[T], number: &impl Fn(&T) -> f64, (neighbor, hint): (VertexId, u32)) -> f64 {
    prefetch_place(values, hint);
    number(&values[neighbor as usize])
}

#[inline]
fn sum_over_hinted<T>(hinted: Hinted<'_>, values: &[T], number: &impl Fn(&T) -> f64) -> f64 {
    let fetch = |hinted| fetch(values, number, hinted);
    let two = |sum: Sum, [one, other]: [_; 2]| sum.plus(fetch(one)).plus(fetch(other));
    hinted.fold_pairs(Sum::default(), two, |sum, last| sum.plus(fetch(last))).total()
}

/// The sum of what `number` makes of the value of each neighbor.
///
/// # Panics
/// If a neighbor has no value.
#[inline]
pub(crate) fn sum_over<T: Sync>(list: Neighbors<'_>, values: &[T], number: impl Fn(&T) -> f64 + Sync) -> f64 {
    match list.hinted(ahead_in(values)).filter(|_| list.len() < HUB_DEGREE) {
        Some(hinted) => sum_over_hinted(hinted, values, &number),
        None => sum_over_others(list, values, number),
    }
}

/// By itself, so that the sum of a list that gives hints stays in registers, and so does what describes that list.
#[cold]
#[inline(never)]
fn sum_over_others<T: Sync>(list: Neighbors<'_>, values: &[T], number: impl Fn(&T) -> f64 + Sync) -> f64 {
    if list.len() >= HUB_DEGREE {
        return sum_over_hub(list, values, number);
    }
    let fetch = |neighbor, hint| fetch(values, &number, (neighbor, hint));
    list.fold_ahead(ahead_in(values), Sum::default(), |sum, neighbor, hint| sum.plus(fetch(neighbor, hint)))
        .total()
}

/// The sum over each list, in order, of as many as there is room for; a function of its own, so that nothing but what this loop needs
/// lies between the end of one list and the start of the next, where the processor guesses wrong.
///
/// # Panics
/// As [`sum_over`].
#[inline(never)]
fn sums_over<'a, T: Sync>(
    lists: impl Iterator<Item = Neighbors<'a>>,
    values: &[T],
    number: impl Fn(&T) -> f64 + Copy + Sync,
    sums: &mut [f64],
) {
    let mut sums = sums.iter_mut();
    lists.for_each(|list| {
        if let Some(sum) = sums.next() {
            *sum = sum_over(list, values, number);
        }
    });
}

/// As [`sums_over`], for lists that give no hints, since they are compressed or lie apart: some at a time are copied end to end, to `copies`,
/// and then each hints at what later ones need.
///
/// # Panics
/// As [`sum_over`].
#[inline(never)]
fn sums_over_copies<'a, T: Sync>(
    lists: impl Iterator<Item = Neighbors<'a>>,
    values: &[T],
    number: impl Fn(&T) -> f64 + Copy + Sync,
    sums: &mut [f64],
    copies: &mut Copies,
) {
    let mut sums = sums.iter_mut();
    for list in lists {
        if list.len() < HUB_DEGREE {
            copies.push(list);
            if copies.neighbors.len() < COPIED {
                continue;
            }
        }
        copies.sum_up(values, number, &mut sums);
        if list.len() >= HUB_DEGREE
            && let Some(sum) = sums.next()
        {
            *sum = sum_over_hub(list, values, number);
        }
    }
    copies.sum_up(values, number, &mut sums);
}

/// Lists copied end to end; empty between calls, but for the room.
#[derive(Default)]
struct Copies {
    neighbors: Vec<VertexId>,
    lens: Vec<usize>,
}

impl Copies {
    fn push(&mut self, list: Neighbors<'_>) {
        list.append_to(&mut self.neighbors);
        self.lens.push(list.len());
    }

    /// The sum over each, in the next places there are.
    fn sum_up<'s, T: Sync>(
        &mut self,
        values: &[T],
        number: impl Fn(&T) -> f64,
        sums: &mut impl Iterator<Item = &'s mut f64>,
    ) {
        let ahead = ahead_in(values);
        let end = self.neighbors.last().copied().unwrap_or(0);
        self.neighbors.extend(iter::repeat_n(end, ahead));
        let mut rest = &self.neighbors[..];
        for (len, sum) in self.lens.drain(..).zip(sums) {
            *sum = sum_over_hinted(Hinted::new(&rest[..len], &rest[ahead..]), values, &number);
            rest = &rest[len..];
        }
        self.neighbors.clear();
    }
}

/// Block by block, in parallel: blocks are of one length, so that they begin and end within the parts of the list.
#[cold]
#[inline(never)]
fn sum_over_hub<T: Sync>(list: Neighbors<'_>, values: &[T], number: impl Fn(&T) -> f64 + Sync) -> f64 {
    let mut end = 0;
    let parts = split_list(list).into_iter().map(|part| {
        let start = end;
        end += part.len();
        (start, part)
    });
    let parts: Vec<(usize, Neighbors<'_>)> = parts.collect();
    let sum_block = |block: usize| {
        let block = block * HUB_PIECE..(block + 1) * HUB_PIECE;
        let first = parts.partition_point(|(start, part)| start + part.len() <= block.start);
        let mut sum = Sum::default();
        for (start, part) in parts[first..].iter().take_while(|(start, _)| *start < block.end) {
            let mut place = *start;
            part.for_each_slice(|slice| {
                let within = |end: usize| end.clamp(place, place + slice.len()) - place;
                let own = &slice[within(block.start)..within(block.end)];
                sum = own.iter().fold(sum, |sum, &neighbor| sum.plus(number(&values[neighbor as usize])));
                place += slice.len();
            });
        }
        sum.total()
    };
    map(0..list.len().div_ceil(HUB_PIECE), sum_block).iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_view::FlatTable;

    #[test]
    fn a_sum_is_the_same_in_whatever_pieces_a_list_lies() {
        let long = HUB_DEGREE + 5 * HUB_PIECE + 77;
        let values: Vec<f64> = (0..long).map(|vertex| 1.0 / (vertex as f64 * 1.7 + 0.3)).collect();
        for len in [5, HUB_DEGREE - 1, HUB_DEGREE, long] {
            let neighbors: Vec<u32> = (0..len as u32).rev().collect();
            let sum = |table: FlatTable| sum_over(table.neighbors(0), &values, |value| *value);
            let offsets = [0, len as u64];
            let flat = sum(FlatTable::from_csr(&offsets, neighbors.clone()));
            let exact: f64 = values[..len].iter().rev().sum();
            assert!((flat - exact).abs() < 1e-9, "{flat} and {exact}");
            for chunk_len in [3, 256, HUB_PIECE, HUB_PIECE + 1, 3 * HUB_PIECE] {
                let chunked = sum(FlatTable::from_csr_chunked(&offsets, neighbors.clone(), chunk_len));
                assert_eq!(chunked.to_bits(), flat.to_bits(), "{len} neighbors in chunks of {chunk_len}");
            }
        }
    }

    #[test]
    fn sums_over_copies_are_those_over_the_lists() {
        let lens = [0, 5, 3000, HUB_DEGREE + 9, 0, 7, COPIED + 1, HUB_DEGREE - 1, 1, 0];
        let bound = 1 << 18;
        let values: Vec<f64> = (0..bound).map(|vertex| 1.0 / (f64::from(vertex) * 1.7 + 0.3)).collect();
        let neighbors =
            lens.iter().flat_map(|&len| (0..len).map(|place| (place * 40_503 % bound as usize) as u32));
        let neighbors: Vec<u32> = neighbors.collect();
        let offsets: Vec<u64> = iter::once(0)
            .chain(lens.iter().scan(0, |end, len| {
                *end += *len as u64;
                Some(*end)
            }))
            .collect();
        let lists = 0..lens.len() as u32;
        let (mut expected, mut copied) = ([-1.0; 12], [-1.0; 12]);
        let flat = FlatTable::from_csr(&offsets, neighbors.clone());
        sums_over(flat.lists(lists.clone()), &values, |value| *value, &mut expected);
        let chunked = FlatTable::from_csr_chunked(&offsets, neighbors, 256);
        let mut copies = Copies::default();
        // Twice, for nothing is left of the first time.
        for _ in 0..2 {
            sums_over_copies(chunked.lists(lists.clone()), &values, |value| *value, &mut copied, &mut copies);
            assert_eq!(copied.map(f64::to_bits), expected.map(f64::to_bits));
        }
    }
}
