//! A seeded permutation of the numbers below 2^bits that is computed, not stored.
//!
//! Each round adds a key, multiplies by an odd key and folds the upper half of the bits onto the lower, all modulo
//! 2^bits. Invariant: each of the three steps can be undone, so the whole is a bijection for any keys.
//!
//! ```text
//!   x ─► x + k ─► x * odd ─► x ^ (x >> half) ─► next round
//!        undone by   undone by      undone from the
//!        - k         the inverse    top bit down
//! ```

use crate::random::Random;

const ROUNDS: usize = 4;

/// A bijection on `0..2^bits`.
pub(crate) struct Permutation {
    mask: u64,
    half: u32,
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// The permutation that `random` leads to; `bits` at most 63.
    pub(crate) fn new(bits: u32, random: &mut Random) -> Self {
        let keys = std::array::from_fn(|_| (random.next(), random.next() | 1));
        Permutation { mask: (1 << bits) - 1, half: bits.div_ceil(2), keys }
    }

    /// Where `value`, below 2^bits, goes.
    #[inline]
    pub(crate) fn apply(&self, mut value: u64) -> u64 {
        for (offset, odd) in self.keys {
            value = value.wrapping_add(offset).wrapping_mul(odd) & self.mask;
            value ^= value >> self.half;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_bijection_at_every_width_and_seed() {
        // Width 0 shifts by 0 and would cancel itself out, which is right: its only value is 0.
        for bits in 0..=16 {
            for seed in 0..3 {
                let permutation = Permutation::new(bits, &mut Random::new(seed, 0));
                let mut seen = vec![false; 1 << bits];
                for value in 0..1 << bits {
                    let image = permutation.apply(value) as usize;
                    assert!(
                        !std::mem::replace(&mut seen[image], true),
                        "bits {bits} seed {seed} value {value}"
                    );
                }
            }
        }
    }

    #[test]
    fn scatters_neighbors_and_powers_of_two() {
        // Kronecker hubs are numbers with few bits set; their images must not cluster in any sixteenth of the range.
        let bits = 20;
        let permutation = Permutation::new(bits, &mut Random::new(7, 0));
        let mut counts = [0u32; 16];
        let values = (0..1u64 << bits).filter(|value| value.count_ones() <= 3).chain(0..1000);
        let total =
            values.map(|value| counts[(permutation.apply(value) >> (bits - 4)) as usize] += 1).count();
        let expected = total as f64 / 16.0;
        for count in counts {
            assert!((f64::from(count) - expected).abs() < 6.0 * expected.sqrt(), "{counts:?}");
        }
    }
}
