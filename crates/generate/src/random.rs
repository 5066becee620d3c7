//! The random numbers: xoshiro256++, seeded afresh for each block from (seed, stream), so that every block can be
//! drawn by itself. Written out here because the graphs of a seed must stay the same over the years, which no
//! random number crate promises across versions.
//!
//! Blackman, Vigna: "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4), 2021.

/// A stream of 64-bit random numbers.
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of this number under this seed; streams are independent for all practical purposes.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut counter = mix(seed) ^ mix(stream.wrapping_add(0xA076_1D64_78BD_642F));
        let state = std::array::from_fn(|_| {
            counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
            mix(counter)
        });
        Random { state }
    }

    /// The next number.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// A number below `bound`, by multiplication; the bias is at most `bound` in 2^64, far below what any graph shows.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// The finalizer of SplitMix64: a bijection that spreads every input bit over all output bits.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
