//! Sorting the changes of a commit by vertex: one radix pass into ranges of vertices, then each range by itself.
//!
//! The pass that splits (GraphOne's edge sharding, FAST 2019, section 5.2) touches memory once in order; what it
//! leaves fits the cache. Small batches skip it.

use rayon::prelude::*;

use crate::merge::Delta;

/// Below this a plain sort is as fast.
const RADIX_MIN: usize = 1 << 16;
/// Ranges aimed at: enough to balance threads and to fit a range of a large batch in the cache.
const RANGES: usize = 512;

/// The changes in order.
pub(crate) fn sort_deltas<D: Delta>(mut deltas: Vec<D>) -> Vec<D> {
    if deltas.len() < RADIX_MIN {
        if !deltas.is_sorted() {
            deltas.sort_unstable();
        }
        return deltas;
    }
    if deltas.par_windows(2).with_min_len(1 << 14).all(|pair| pair[0] <= pair[1]) {
        return deltas;
    }
    let largest = deltas.par_iter().with_min_len(1 << 14).map(|delta| delta.vertex()).max().unwrap_or(0);
    let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(RANGES.trailing_zeros());
    let mut sorted = split(&deltas, |delta| (delta.vertex() >> shift) as usize);
    drop(deltas);
    sorted.ranges_mut().for_each(|range| range.sort_unstable());
    sorted.items
}

struct Split<D> {
    items: Vec<D>,
    starts: Vec<usize>,
}

impl<D: Send> Split<D> {
    fn ranges_mut(&mut self) -> impl ParallelIterator<Item = &mut [D]> {
        let mut rest = self.items.as_mut_slice();
        let mut ranges = Vec::with_capacity(RANGES);
        for bounds in self.starts.windows(2) {
            let (range, tail) = rest.split_at_mut(bounds[1] - bounds[0]);
            ranges.push(range);
            rest = tail;
        }
        ranges.into_par_iter()
    }
}

/// The items grouped by range, in order within each.
fn split<D: Delta>(items: &[D], range_of: impl Fn(&D) -> usize + Sync) -> Split<D> {
    // One task per thread and block: each counts its block, then writes to places no other task writes to.
    let block = items.len().div_ceil(rayon::current_num_threads()).max(1);
    let counts: Vec<Vec<usize>> = items
        .par_chunks(block)
        .map(|items| {
            let mut counts = vec![0; RANGES + 1];
            items.iter().for_each(|item| counts[range_of(item)] += 1);
            counts
        })
        .collect();
    let mut starts = Vec::with_capacity(RANGES + 2);
    let mut places = vec![vec![0; RANGES + 1]; counts.len()];
    let mut next = 0;
    for range in 0..=RANGES {
        starts.push(next);
        for (places, counts) in places.iter_mut().zip(&counts) {
            places[range] = next;
            next += counts[range];
        }
    }
    starts.push(next);
    let mut sorted: Vec<D> = Vec::with_capacity(items.len());
    scatter(items, block, places, &range_of, &mut sorted);
    Split { items: sorted, starts }
}

#[allow(unsafe_code)]
fn scatter<D: Delta>(
    items: &[D],
    block: usize,
    places: Vec<Vec<usize>>,
    range_of: &(impl Fn(&D) -> usize + Sync),
    sorted: &mut Vec<D>,
) {
    struct Target<D>(*mut D);
    // SAFETY: tasks write through the pointer to disjoint places (below).
    unsafe impl<D: Send> Sync for Target<D> {}
    let target = Target(sorted.as_mut_ptr());
    items.par_chunks(block).zip(places).for_each(|(items, mut places)| {
        let target = &target;
        for item in items {
            let place = &mut places[range_of(item)];
            // SAFETY: the counts gave each item of each block a place of its own within the capacity.
            unsafe { target.0.add(*place).write(*item) };
            *place += 1;
        }
    });
    // SAFETY: the places are 0..items.len(), each written once.
    unsafe { sorted.set_len(items.len()) };
}
