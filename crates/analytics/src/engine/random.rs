//! Random numbers from a seed: the same on every machine, and any of them without those before it.
//!
//! Method: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 14).
//!
//! Invariant: a number depends on the seed and its position alone, never on threads.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The stream number `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Random { state: hash(seed, stream) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number from 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `bound`, which is not 0; biased by less than `bound` in 2^64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A random number for an item, the same whenever it is asked.
pub(crate) fn hash(seed: u64, item: u64) -> u64 {
    mix(mix(seed.wrapping_add(STEP)).wrapping_add(item.wrapping_mul(STEP)))
}

/// `count` of the numbers below `bound`, each as likely as any other, ascending (Floyd's method: Bentley, Floyd, "A sample
/// of brilliance", CACM 30, 1987).
pub(crate) fn sample(bound: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed, 0);
    let mut chosen = std::collections::BTreeSet::new();
    for last in bound.saturating_sub(count)..bound {
        let pick = random.below(last + 1);
        if !chosen.insert(pick) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_distinct_and_cover_the_range() {
        assert_eq!(sample(5, 5, 1), [0, 1, 2, 3, 4]);
        assert_eq!(sample(5, 9, 1), [0, 1, 2, 3, 4]);
        assert!(sample(0, 3, 1).is_empty());
        let mut seen = [0u32; 10];
        for seed in 0..3000 {
            let chosen = sample(10, 3, seed);
            assert_eq!(chosen.len(), 3);
            chosen.iter().for_each(|&item| seen[item as usize] += 1);
        }
        assert!(seen.iter().all(|&times| (800..1000).contains(&times)), "{seen:?}");
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let mut random = Random::new(7, 3);
        let mut seen = [0u32; 3];
        (0..30_000).for_each(|_| seen[random.below(3) as usize] += 1);
        assert!(seen.iter().all(|&times| (9_700..10_300).contains(&times)), "{seen:?}");
    }
}
