//! Times of two sides taken in turns, so that whatever else the machine does meets both.

use std::hint::black_box;
use std::time::Instant;

/// Median seconds of both sides, and how they compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) ours: f64,
    pub(super) theirs: f64,
    /// The median over the turns of ours by theirs: a turn is short, so what slows the machine slows both sides of it.
    pub(super) ratio: f64,
}

/// Seconds and the result. The result is dropped by the caller, outside the time.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed().as_secs_f64(), result)
}

/// So much memory is taken, and kept, before every turn: as much as an array with 4 bytes for each of a million vertices.
const TAKEN_BYTES: usize = 4 << 20;

/// Runs both sides so many times in turns. What they allocate comes to lie in another place each time: how fast memory is read at random
/// depends on where it lies, on a virtual machine by a quarter, and the allocator would give each side the same pieces in all turns.
pub(super) fn in_turns<E>(
    repeats: usize,
    mut ours: impl FnMut() -> Result<f64, E>,
    mut theirs: impl FnMut() -> Result<f64, E>,
) -> Result<Pair, E> {
    let mut times = (Vec::with_capacity(repeats), Vec::with_capacity(repeats));
    let mut taken = Vec::with_capacity(repeats);
    for repeat in 0..repeats {
        taken.push(black_box(Vec::<u8>::with_capacity(TAKEN_BYTES)));
        // Who comes first changes, for the second finds other caches than the first.
        if repeat % 2 == 0 {
            times.0.push(ours()?);
            times.1.push(theirs()?);
        } else {
            times.1.push(theirs()?);
            times.0.push(ours()?);
        }
    }
    let ratios = times.0.iter().zip(&times.1).map(|(ours, theirs)| ours / theirs).collect();
    Ok(Pair { ours: median(times.0), theirs: median(times.1), ratio: median(ratios) })
}

/// The middle value; the lower of two. Infinite if there is none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 1.0);
        assert_eq!(median(Vec::new()), f64::INFINITY);
    }

    #[test]
    fn turns_are_compared_with_each_other() {
        let mut ours = [1.0, 2.0, 30.0].into_iter();
        let mut theirs = [2.0, 4.0, 15.0].into_iter();
        let pair = in_turns(3, || ours.next().ok_or(()), || theirs.next().ok_or(()));
        assert_eq!(pair, Ok(Pair { ours: 2.0, theirs: 4.0, ratio: 0.5 }));
    }
}
