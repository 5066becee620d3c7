//! Number keys in bulk. Most graphs number their vertices from a small range; then a bitmap finds the distinct keys
//! and an array maps them, both many times faster than hashing.

use std::sync::atomic::{AtomicU64, Ordering};

use evergraph_types::VertexId;
use rayon::prelude::*;

/// A range is small if it has at most this many numbers for each key given, ...
const NUMBERS_PER_KEY: u64 = 4;
/// ... and at least a bitmap of this many numbers is always affordable.
const ALWAYS_SMALL: u64 = 1 << 20;

/// The least and greatest number, and how many numbers there are.
fn range_of(slices: &[&[i64]]) -> Option<(i64, i64, u64)> {
    let bounds = |numbers: &[i64]| {
        numbers
            .iter()
            .fold((i64::MAX, i64::MIN), |(least, most), &number| (least.min(number), most.max(number)))
    };
    let (least, most) = slices
        .par_iter()
        .map(|numbers| bounds(numbers))
        .reduce(|| (i64::MAX, i64::MIN), |left, right| (left.0.min(right.0), left.1.max(right.1)));
    let count = slices.iter().map(|numbers| numbers.len() as u64).sum();
    (least <= most).then_some((least, most, count))
}

/// The size of the range if it is small.
fn small_range(slices: &[&[i64]]) -> Option<(i64, usize)> {
    let (least, most, count) = range_of(slices)?;
    let size = most.abs_diff(least).checked_add(1)?;
    (size <= (NUMBERS_PER_KEY * count).max(ALWAYS_SMALL)).then_some((least, size as usize))
}

/// The distinct numbers, ascending.
pub(crate) fn distinct_numbers(slices: &[&[i64]]) -> Vec<i64> {
    let Some((least, size)) = small_range(slices) else { return distinct_by_sorting(slices) };
    let bitmap: Vec<AtomicU64> = (0..size.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    slices.par_iter().for_each(|numbers| {
        for number in *numbers {
            let position = number.abs_diff(least) as usize;
            let (word, bit) = (&bitmap[position / 64], 1 << (position % 64));
            // Most numbers were seen before: reading first keeps the cache line shared.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    });
    let mut distinct = Vec::new();
    for (position, word) in bitmap.into_iter().enumerate() {
        let mut word = word.into_inner();
        while word != 0 {
            distinct
                .push(least.wrapping_add_unsigned((position * 64) as u64 + u64::from(word.trailing_zeros())));
            word &= word - 1;
        }
    }
    distinct
}

fn distinct_by_sorting(slices: &[&[i64]]) -> Vec<i64> {
    let mut parts: Vec<Vec<i64>> = slices
        .par_iter()
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

/// An array from number to id over a small range.
pub(crate) struct DirectMap {
    least: i64,
    ids: Vec<VertexId>,
}

impl DirectMap {
    /// A map for all numbers in the slices, `id_of` each; `None` if the range is not small.
    pub(crate) fn build(slices: &[&[i64]], id_of: impl Fn(i64) -> Option<VertexId> + Sync) -> Option<Self> {
        let (least, size) = small_range(slices)?;
        // A few keys are looked up one by one faster than a map is made.
        if slices.iter().map(|numbers| numbers.len()).sum::<usize>() < size {
            return None;
        }
        let id =
            |position: usize| id_of(least.wrapping_add_unsigned(position as u64)).unwrap_or(VertexId::MAX);
        let ids = (0..size).into_par_iter().with_min_len(1 << 12).map(id).collect();
        Some(DirectMap { least, ids })
    }

    /// The id of one of the numbers the map was built for; `VertexId::MAX` if it has none.
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
        fn a_direct_map_answers_as_the_function(numbers in prop::collection::vec(-3000i64..3000, 1..200)) {
            let id_of = |number: i64| (number % 3 == 0).then_some((number + 3000) as VertexId);
            let many: Vec<i64> = numbers.iter().cycle().take(10_000).copied().collect();
            let map = DirectMap::build(&[&many], id_of).unwrap();
            for number in numbers {
                prop_assert_eq!(map.get(number), id_of(number).unwrap_or(VertexId::MAX));
            }
        }
    }
}
