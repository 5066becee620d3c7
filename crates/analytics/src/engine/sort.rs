//! Sorting that can be stopped: pieces in parallel, then merges, with a look at [`Control`] every now and then.
//!
//! ```text
//!  [5 2 9 1 | 7 3 8 4 | 6 0]  ──sort──►  [1 2 5 9 | 3 4 7 8 | 0 6]  ──merge──►  [1 2 3 4 5 7 8 9 | 0 6]  ──►  ...
//! ```
//!
//! Invariant: items that are equal in the order may change places, so the order is strict where that matters.

use std::cmp::Ordering;

use crate::engine::parallel::{for_each, try_map};
use crate::{AlgorithmError, Control};

/// Items that are sorted, or merged, between two looks at the control: a few milliseconds.
const PIECE: usize = 1 << 16;

/// The items in ascending order.
pub(crate) fn sorted<T: Copy + Send + Sync>(
    mut items: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering + Sync,
    control: &Control,
) -> Result<Vec<T>, AlgorithmError> {
    for_each(control, items.chunks_mut(PIECE), |piece| piece.sort_unstable_by(&compare))?;
    let (mut width, mut merged) = (PIECE, items.clone());
    while width < items.len() {
        let runs = items.chunks(2 * width).zip(merged.chunks_mut(2 * width));
        try_map(control, runs, |(runs, into)| {
            let (left, right) = runs.split_at(width.min(runs.len()));
            merge(left, right, into, &compare, control)
        })?;
        std::mem::swap(&mut items, &mut merged);
        width *= 2;
    }
    Ok(items)
}

fn merge<'a, T: Copy>(
    mut left: &'a [T],
    mut right: &'a [T],
    into: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering,
    control: &Control,
) -> Result<(), AlgorithmError> {
    for piece in into.chunks_mut(PIECE) {
        control.check()?;
        for place in piece {
            let from = match (left.first(), right.first()) {
                (Some(one), Some(other)) if compare(other, one).is_lt() => &mut right,
                (None, _) => &mut right,
                _ => &mut left,
            };
            if let Some((first, rest)) = from.split_first() {
                (*place, *from) = (*first, rest);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::hash;

    #[test]
    fn any_length_is_sorted() {
        for length in [0, 1, 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 5 * PIECE + 77, 8 * PIECE] {
            let items: Vec<u64> = (0..length as u64).map(|item| hash(3, item) % 100_000).collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            assert!(sorted(items, u64::cmp, &Control::new()) == Ok(expected), "{length}");
        }
        let control = Control::new();
        control.cancel();
        assert_eq!(sorted(vec![2, 1], i32::cmp, &control), Err(AlgorithmError::Cancelled));
    }
}
