//! The changes of a commit in order: split by ranges of vertices, then each range sorted in the cache.
//!
//! ```text
//!  rows ─► blocks, one per thread: count by range ─► places ─► scatter ─► range: radix sort by the bits that differ
//! ```
//!
//! Rows that ascend by vertex are cut where they are, and ranges that are in order are left so: one pass each tells, which ends at
//! the first row that does not.
//!
//! The pass that splits (GraphOne's edge sharding, FAST 2019, section 5.2) reads the rows in order and writes to a
//! few hundred places; what it leaves fits the second-level cache. Small commits skip it.
//!
//! Invariant: changes of the same rank keep the order of their rows.

use std::ops::Range;

use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::lists::merge::Delta;
use crate::system::parallel::parallel_map;

/// Below this many rows a plain sort is as fast.
const RADIX_MIN: usize = 1 << 14;
/// About this many changes make a range.
const DELTAS_PER_RANGE: usize = 1 << 13;
/// More ranges than this would outrun the translation buffer.
const MAX_RANGES: usize = 1 << 10;
/// Ranges are sorted by so many bits at a time at the most: those in which the vertices of a range differ when a million edges come
/// together. A counter for each is half of the nearest cache.
const DIGIT_BITS_MAX: u32 = 13;
/// Ranges are sorted by so many tasks for each thread, each with room to work in of its own.
const TASKS_PER_THREAD: usize = 4;
/// In a range of fewer changes a plain sort is as fast.
const RADIX_RANGE_MIN: usize = 1 << 9;

/// Both ends of some edges, as changes to lists of the first end; if symmetric, of either.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub(crate) from: &'a [VertexId],
    pub(crate) to: &'a [VertexId],
    pub(crate) symmetric: bool,
}

impl Ends<'_> {
    /// Calls `visit` with vertex, neighbor and row of each change of these rows.
    #[inline]
    fn for_each(&self, rows: Range<usize>, mut visit: impl FnMut(VertexId, VertexId, usize)) {
        let ends = self.from[rows.clone()].iter().zip(&self.to[rows.clone()]);
        for (row, (&from, &to)) in rows.zip(ends) {
            visit(from, to, row);
            if self.symmetric && from != to {
                visit(to, from, row);
            }
        }
    }
}

/// The changes in order, `make` giving each from vertex, neighbor and row.
pub(crate) fn sorted_deltas<D: Delta>(
    ends: Ends<'_>,
    make: impl Fn(VertexId, VertexId, usize) -> D + Sync,
) -> Vec<D> {
    let rows = ends.from.len();
    if rows < RADIX_MIN {
        let mut deltas = Vec::with_capacity(rows * (1 + usize::from(ends.symmetric)));
        ends.for_each(0..rows, |vertex, neighbor, row| deltas.push(make(vertex, neighbor, row)));
        if !deltas.is_sorted_by_key(Delta::rank) {
            deltas.sort_by_key(Delta::rank);
        }
        return deltas;
    }
    let mut split =
        if !ends.symmetric && ends.from.is_sorted() { cut(ends, make) } else { scattered(ends, make) };
    let mut ranges = split.ranges_mut();
    let per_task = ranges.len().div_ceil(TASKS_PER_THREAD * rayon::current_num_threads()).max(1);
    parallel_map(ranges.chunks_mut(per_task), |ranges| {
        let mut spare = Vec::new();
        ranges.iter_mut().for_each(|range| sort_range(range, &mut spare));
    });
    split.deltas
}

/// The changes of rows that ascend by vertex, in ranges of whole lists.
fn cut<D: Delta>(ends: Ends<'_>, make: impl Fn(VertexId, VertexId, usize) -> D + Sync) -> Split<D> {
    let rows = ends.from.len();
    let delta = |row: usize| make(ends.from[row], ends.to[row], row);
    let deltas = (0..rows).into_par_iter().with_min_len(DELTAS_PER_RANGE).map(delta).collect();
    let mut starts = vec![0];
    while let Some(last) = starts.last().map(|start| start + DELTAS_PER_RANGE).filter(|end| *end < rows) {
        starts.push(last + ends.from[last..].partition_point(|vertex| *vertex == ends.from[last]));
    }
    starts.extend((starts.last() != Some(&rows)).then_some(rows));
    Split { deltas, starts }
}

/// The changes of rows in any order, in ranges of vertices.
fn scattered<D: Delta>(ends: Ends<'_>, make: impl Fn(VertexId, VertexId, usize) -> D + Sync) -> Split<D> {
    let rows = ends.from.len();
    let largest = |ids: &[VertexId]| {
        let largest = parallel_map(ids.chunks(RADIX_MIN), |ids| ids.iter().copied().max());
        largest.into_iter().flatten().max().unwrap_or(0)
    };
    let bound = if ends.symmetric { largest(ends.from).max(largest(ends.to)) } else { largest(ends.from) };
    let ranges = (rows / DELTAS_PER_RANGE).next_power_of_two().min(MAX_RANGES);
    let shift = (u32::BITS - bound.leading_zeros()).saturating_sub(ranges.ilog2());
    split(ends, shift, (bound >> shift) as usize + 1, make)
}

struct Split<D> {
    deltas: Vec<D>,
    starts: Vec<usize>,
}

impl<D: Send> Split<D> {
    fn ranges_mut(&mut self) -> Vec<&mut [D]> {
        let mut rest = self.deltas.as_mut_slice();
        let mut ranges = Vec::with_capacity(self.starts.len());
        for bounds in self.starts.windows(2) {
            let (range, tail) = rest.split_at_mut(bounds[1] - bounds[0]);
            ranges.push(range);
            rest = tail;
        }
        ranges
    }
}

/// The changes grouped by `vertex >> shift`, in the order of rows within each range.
fn split<D: Delta>(
    ends: Ends<'_>,
    shift: u32,
    ranges: usize,
    make: impl Fn(VertexId, VertexId, usize) -> D + Sync,
) -> Split<D> {
    // One task per thread and block: each counts its block, then writes to places no other task writes to.
    let rows = ends.from.len();
    let step = rows.div_ceil(rayon::current_num_threads()).max(1);
    let blocks: Vec<Range<usize>> =
        (0..rows).step_by(step).map(|start| start..rows.min(start + step)).collect();
    let counts = parallel_map(&blocks, |rows| {
        let mut counts = vec![0; ranges];
        ends.for_each(rows.clone(), |vertex, _, _| counts[(vertex >> shift) as usize] += 1);
        counts
    });
    let mut starts = Vec::with_capacity(ranges + 1);
    let mut places = vec![vec![0; ranges]; counts.len()];
    let mut next = 0;
    for range in 0..ranges {
        starts.push(next);
        for (places, counts) in places.iter_mut().zip(&counts) {
            places[range] = next;
            next += counts[range];
        }
    }
    starts.push(next);
    let work = blocks.into_iter().zip(places).collect();
    let deltas = scatter(ends, work, next, &|vertex| (vertex >> shift) as usize, make);
    Split { deltas, starts }
}

#[allow(unsafe_code)]
fn scatter<D: Delta>(
    ends: Ends<'_>,
    work: Vec<(Range<usize>, Vec<usize>)>,
    total: usize,
    range_of: &(impl Fn(VertexId) -> usize + Sync),
    make: impl Fn(VertexId, VertexId, usize) -> D + Sync,
) -> Vec<D> {
    struct Target<D>(*mut D);
    // SAFETY: tasks write through the pointer to disjoint places (below).
    unsafe impl<D: Send> Sync for Target<D> {}
    let mut sorted: Vec<D> = Vec::with_capacity(total);
    let target = Target(sorted.as_mut_ptr());
    parallel_map(work, |(rows, mut places)| {
        let target = &target;
        ends.for_each(rows, |vertex, neighbor, row| {
            let place = &mut places[range_of(vertex)];
            // SAFETY: the counts gave each change of each block a place of its own below `total`.
            unsafe { target.0.add(*place).write(make(vertex, neighbor, row)) };
            *place += 1;
        });
    });
    // SAFETY: the places are 0..total, each written once.
    unsafe { sorted.set_len(total) };
    sorted
}

/// Sorts by rank: by the bits in which neighbors differ, then by those in which vertices do, each in as few digits of one width as
/// there can be. `spare` is room to work in.
fn sort_range<D: Delta>(range: &mut [D], spare: &mut Vec<D>) {
    let Some(first) = range.first().copied().filter(|_| !range.is_sorted_by_key(Delta::rank)) else { return };
    if range.len() < RADIX_RANGE_MIN {
        return range.sort_by_key(Delta::rank);
    }
    let differing = range.iter().fold(0, |bits, delta| bits | (delta.rank() ^ first.rank()));
    spare.clear();
    spare.resize(range.len(), first);
    let (mut source, mut target) = (range, spare.as_mut_slice());
    let mut is_swapped = false;
    for id in [0, VertexId::BITS] {
        let bits = (differing >> id) as VertexId;
        let (low, end) = (bits.trailing_zeros(), VertexId::BITS - bits.leading_zeros());
        let span = end.saturating_sub(low);
        // No more counters than changes.
        let digits = span.div_ceil(DIGIT_BITS_MAX.min(source.len().ilog2()));
        for digit in 0..digits {
            let width = span.div_ceil(digits);
            sort_by_digit(source, target, id + low + digit * width, width);
            std::mem::swap(&mut source, &mut target);
            is_swapped = !is_swapped;
        }
    }
    if is_swapped {
        target.copy_from_slice(source);
    }
}

/// Brings the changes to `target` in the order of so many bits of their ranks, from `low` on; those in which these are the same keep
/// their order.
fn sort_by_digit<D: Delta>(source: &[D], target: &mut [D], low: u32, width: u32) {
    let digit = |delta: &D| (delta.rank() >> low) as usize & ((1 << width) - 1);
    let mut counters = [0u32; 1 << DIGIT_BITS_MAX];
    let places = &mut counters[..1 << width];
    source.iter().for_each(|delta| places[digit(delta)] += 1);
    let mut next = 0;
    places.iter_mut().for_each(|place| next += std::mem::replace(place, next));
    for delta in source {
        let place = &mut places[digit(delta)];
        target[*place as usize] = *delta;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lists::merge::{PlainDelta, RowDelta};
    use crate::write_sets::ops::EdgeOps;

    /// Random numbers, many rows, from a seed.
    fn ids(rows: usize, bound: u32, seed: u64) -> Vec<VertexId> {
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (((state >> 32) * u64::from(bound)) >> 32) as u32
        };
        (0..rows).map(|_| next()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_order_is_that_of_a_stable_sort(
            rows in prop_oneof![0usize..300, (RADIX_MIN - 2)..(3 * RADIX_MIN)],
            bound in prop_oneof![Just(1u32), 2u32..40, 1000u32..3_000_000, Just(u32::MAX)],
            symmetric: bool, order in 0..3, seed: u64)
        {
            let (mut from, mut to) = (ids(rows, bound, seed), ids(rows, bound, seed ^ 0xFFFF));
            if order > 0 {
                from.sort_unstable();
            }
            if order > 1 {
                let lists = from.chunk_by(|left, right| left == right).map(<[VertexId]>::len);
                let mut rest = &mut to[..];
                lists.for_each(|len| rest.split_off_mut(..len).into_iter().for_each(<[VertexId]>::sort_unstable));
            }
            let ends = Ends { from: &from, to: &to, symmetric };
            let mut all = Vec::new();
            ends.for_each(0..rows, |vertex, neighbor, row| all.push((vertex, neighbor, row as u32)));
            let pair = |vertex, neighbor, _| PlainDelta::<false>::of(vertex, neighbor);
            let found: Vec<u64> = sorted_deltas(ends, pair).iter().map(Delta::rank).collect();
            let mut expected: Vec<u64> =
                all.iter().map(|&(vertex, neighbor, _)| u64::from(vertex) << 32 | u64::from(neighbor)).collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
            let ops = EdgeOps::default();
            let row = |vertex, neighbor, row| RowDelta::<true>::new(&ops, vertex, neighbor, row);
            let found: Vec<_> = sorted_deltas(ends, row)
                .iter()
                .map(|delta| (delta.vertex(), delta.neighbor(), delta.row() as u32))
                .collect();
            all.sort_by_key(|delta| delta.0);
            prop_assert_eq!(found, all);
        }
    }
}
