//! Number keys in bulk. Most graphs number their vertices from a small range; then a bitmap finds the distinct keys
//! and an array maps them, both many times faster than hashing.

use std::sync::atomic::{AtomicU64, Ordering};

use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::lists::bits::set_bits;
use crate::system::pool::{PARALLEL_ROWS, items_per_task};

/// A range is small if it has at most this many numbers for each key given, ...
const NUMBERS_PER_KEY: u64 = 4;
/// ... and at least a bitmap of this many numbers is always affordable, unless the keys are few.
const ALWAYS_SMALL: u64 = 1 << 20;

/// A task looks at so many numbers.
const NUMBERS_PER_TASK: usize = 1 << 15;

/// Many numbers in parallel, few by the thread that has them.
fn in_parallel<'a, T: Sync>(slices: &'a [&'a [T]]) -> impl IndexedParallelIterator<Item = &'a &'a [T]> {
    slices.par_iter().with_min_len(items_per_task(slices.iter().map(|slice| slice.len()).sum()))
}

/// The least and greatest number, and how many numbers there are.
fn range_of(slices: &[&[i64]]) -> Option<(i64, i64, u64)> {
    let bounds = |numbers: &[i64]| {
        numbers
            .iter()
            .fold((i64::MAX, i64::MIN), |(least, most), &number| (least.min(number), most.max(number)))
    };
    let (least, most) = in_parallel(slices)
        .flat_map(|numbers| numbers.par_chunks(NUMBERS_PER_TASK))
        .map(bounds)
        .reduce(|| (i64::MAX, i64::MIN), |left, right| (left.0.min(right.0), left.1.max(right.1)));
    let count = slices.iter().map(|numbers| numbers.len() as u64).sum();
    (least <= most).then_some((least, most, count))
}

/// The size of the range if it is small.
fn small_range(slices: &[&[i64]]) -> Option<(i64, usize)> {
    let (least, most, count) = range_of(slices)?;
    let size = most.abs_diff(least).checked_add(1)?;
    let affordable = if count < PARALLEL_ROWS as u64 { 0 } else { ALWAYS_SMALL };
    (size <= (NUMBERS_PER_KEY * count).max(affordable)).then_some((least, size as usize))
}

/// Whether the numbers lie so close together that arrays over their range serve better than hashing.
pub(crate) fn lie_close(slices: &[&[i64]]) -> bool {
    range_of(slices).is_some_and(|(least, most, count)| most.abs_diff(least) < NUMBERS_PER_KEY * count)
}

/// The distinct numbers, ascending.
pub(crate) fn distinct_numbers(slices: &[&[i64]]) -> Vec<i64> {
    let Some((least, size)) = small_range(slices) else { return distinct_by_sorting(slices) };
    let bitmap = Bitmap::new(size);
    in_parallel(slices).for_each(|numbers| {
        numbers.iter().for_each(|number| bitmap.set(number.abs_diff(least) as usize));
    });
    bitmap.positions().map(|position| least.wrapping_add_unsigned(position as u64)).collect()
}

fn distinct_by_sorting(slices: &[&[i64]]) -> Vec<i64> {
    let mut parts: Vec<Vec<i64>> = in_parallel(slices)
        .map(|numbers| {
            let mut own = numbers.to_vec();
            own.sort_unstable();
            own.dedup();
            own
        })
        .collect();
    let mut distinct = parts.pop().unwrap_or_default();
    distinct.extend(parts.into_iter().flatten());
    distinct.par_sort_unstable();
    distinct.dedup();
    distinct
}

/// The distinct ids, ascending.
pub(crate) fn distinct_ids(slices: &[&[VertexId]]) -> Vec<VertexId> {
    let most = in_parallel(slices).filter_map(|ids| ids.iter().max()).max();
    let bitmap = Bitmap::new(most.map_or(0, |&most| most as usize + 1));
    in_parallel(slices).for_each(|ids| ids.iter().for_each(|&id| bitmap.set(id as usize)));
    bitmap.positions().map(|position| position as VertexId).collect()
}

/// A set of small numbers that threads add to at once.
struct Bitmap(Vec<AtomicU64>);

impl Bitmap {
    fn new(size: usize) -> Self {
        Bitmap((0..size.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    fn set(&self, position: usize) {
        let (word, bit) = (&self.0[position / 64], 1 << (position % 64));
        // Most numbers were seen before: reading first keeps the cache line shared.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The numbers in it, ascending.
    fn positions(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(position, word)| {
            set_bits(word.into_inner()).map(move |bit| position * 64 + bit as usize)
        })
    }
}

/// An array from number to id over a small range.
pub(crate) struct DirectMap {
    least: i64,
    ids: Vec<VertexId>,
}

impl DirectMap {
    /// A map from ascending numbers to their ids; `None` if an array over their range is not worth it for as many
    /// keys as were `given`.
    pub(crate) fn new(numbers: &[i64], ids: &[VertexId], given: usize) -> Option<Self> {
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        let size = usize::try_from(most.abs_diff(least)).ok()?.checked_add(1)?;
        if size > given {
            return None;
        }
        let mut map = DirectMap { least, ids: vec![VertexId::MAX; size] };
        for (&number, &id) in numbers.iter().zip(ids) {
            map.ids[number.abs_diff(least) as usize] = id;
        }
        Some(map)
    }

    /// The id of one of the numbers the map was made of.
    #[inline]
    pub(crate) fn get(&self, number: i64) -> VertexId {
        self.ids[number.abs_diff(self.least) as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distinct_numbers_are_those_of_a_set(
            parts in prop::collection::vec(prop::collection::vec(prop_oneof![-50i64..50, any::<i64>()], 0..50), 0..5))
        {
            let slices: Vec<&[i64]> = parts.iter().map(Vec::as_slice).collect();
            let expected: std::collections::BTreeSet<i64> = parts.iter().flatten().copied().collect();
            prop_assert_eq!(distinct_numbers(&slices), expected.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn a_direct_map_gives_each_number_its_id(numbers in prop::collection::btree_set(-3000i64..3000, 1..200)) {
            let numbers: Vec<i64> = numbers.into_iter().collect();
            let ids: Vec<VertexId> = (0..numbers.len() as VertexId).map(|rank| rank * 7).collect();
            let map = DirectMap::new(&numbers, &ids, 10_000).unwrap();
            prop_assert!(numbers.iter().zip(&ids).all(|(&number, &id)| map.get(number) == id));
        }
    }
}
