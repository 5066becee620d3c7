//! Times of two sides taken in turns, so that whatever else the machine does meets both.

use std::hint::black_box;
use std::time::Instant;

/// Median seconds of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) ours: f64,
    pub(super) theirs: f64,
}

/// Seconds and the result. The result is dropped by the caller, outside the time.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed().as_secs_f64(), result)
}

/// Runs both sides so many times in turns.
pub(super) fn in_turns<E>(
    repeats: usize,
    mut ours: impl FnMut() -> Result<f64, E>,
    mut theirs: impl FnMut() -> Result<f64, E>,
) -> Result<Pair, E> {
    let mut times = (Vec::with_capacity(repeats), Vec::with_capacity(repeats));
    for repeat in 0..repeats {
        // Who comes first changes, for the second finds other caches than the first.
        if repeat % 2 == 0 {
            times.0.push(ours()?);
            times.1.push(theirs()?);
        } else {
            times.1.push(theirs()?);
            times.0.push(ours()?);
        }
    }
    Ok(Pair { ours: median(times.0), theirs: median(times.1) })
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
    fn both_sides_have_as_many_turns() {
        let (mut ours, mut theirs) = (0.0, 10.0);
        let pair = in_turns::<()>(
            3,
            || {
                ours += 1.0;
                Ok(ours)
            },
            || {
                theirs += 1.0;
                Ok(theirs)
            },
        );
        assert_eq!(pair, Ok(Pair { ours: 2.0, theirs: 12.0 }));
    }
}
