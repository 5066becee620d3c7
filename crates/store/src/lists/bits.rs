//! Numbers of so many bits each, side by side, the first in the lowest bits; and which bits of a word are set.
//!
//! ```text
//!  width 5:  │ 0 0 0 0 0 1 1 1 │ 1 1 2 2 2 2 2 3 │ …     a number begins in byte index × width / 8
//! ```
//!
//! Invariant: a number of at most [`WIDTH_MAX`] bits lies in eight bytes, wherever in a byte it begins, so that one load, one
//! shift and one mask read it; so does one of 64 bits, since each of them begins with a byte.

/// The widest number that is packed.
pub(crate) const WIDTH_MAX: u32 = 56;
/// How many bytes [`pack`] may write beyond those of the numbers.
pub(crate) const PACK_SLACK: usize = 8;

/// The positions of the bits of a word that are set, ascending.
#[inline]
pub(crate) fn set_bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit)
    })
}

/// The bits that numbers up to `greatest` need.
pub(crate) fn width_of(greatest: u64) -> u32 {
    u64::BITS - greatest.leading_zeros()
}

/// The bytes of so many numbers.
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// The greatest number of so many bits, 64 at the most.
#[inline]
pub(crate) fn mask_of(width: u32) -> u64 {
    u64::MAX.unbounded_shr(u64::BITS - width)
}

/// Writes numbers of so many bits, at most [`WIDTH_MAX`], to the start of `out`, which has room for them and [`PACK_SLACK`] more;
/// gives the bytes they take.
#[inline]
pub(crate) fn pack(numbers: impl Iterator<Item = u64>, width: u32, out: &mut [u8]) -> usize {
    let (mut bits, mut held, mut at) = (0u64, 0, 0);
    for number in numbers {
        bits |= number << held;
        out[at..at + 8].copy_from_slice(&bits.to_le_bytes());
        held += width;
        at += (held / 8) as usize;
        bits >>= held / 8 * 8;
        held %= 8;
    }
    at + usize::from(held > 0)
}

/// Appends numbers of so many bits, at most [`WIDTH_MAX`].
pub(crate) fn append(numbers: impl ExactSizeIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + packed_bytes(numbers.len(), width) + PACK_SLACK, 0);
    let bytes = pack(numbers, width, &mut out[start..]);
    out.truncate(start + bytes);
}

/// Numbers of the same width, for reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<'a> {
    bytes: &'a [u8],
    width: u8,
}

impl<'a> Numbers<'a> {
    /// The numbers at the start of `bytes`, which may go on behind them; `None` if none are so wide.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], width: u8) -> Option<Self> {
        (u32::from(width) <= WIDTH_MAX).then_some(Numbers { bytes, width })
    }

    /// Cells of 1, 2, 4 or 8 bytes as numbers.
    #[inline]
    pub(crate) fn of_cells(bytes: &'a [u8], cell_bytes: u8) -> Self {
        Numbers { bytes, width: 8 * cell_bytes }
    }

    /// The bytes, from the first number on.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The bits of a number.
    #[inline]
    pub(crate) fn width(self) -> u32 {
        self.width.into()
    }

    /// Whether there are so many.
    pub(crate) fn holds(self, count: usize) -> bool {
        packed_bytes(count, self.width()) <= self.bytes.len()
    }

    /// The number at `index`; zero where the bytes end before it.
    #[inline]
    pub(crate) fn get(self, index: usize) -> u64 {
        let bit = index * usize::from(self.width);
        let bytes = self.bytes.get(bit / 8..).unwrap_or_default();
        let word = bytes.first_chunk().map_or_else(|| last_word(bytes), |word| u64::from_le_bytes(*word));
        word >> (bit % 8) & mask_of(self.width())
    }
}

/// Fewer than eight bytes, with zeros behind them.
#[cold]
fn last_word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is packed is read again, at each place, whatever lies behind it, and takes the bytes it says.
        #[test]
        fn numbers_come_back(
            width in 0..=WIDTH_MAX,
            numbers in prop::collection::vec(any::<u64>(), 0..80),
            behind in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            let numbers: Vec<u64> = numbers.into_iter().map(|number| number & mask_of(width)).collect();
            let mut bytes = vec![0xff; 3];
            append(numbers.iter().copied(), width, &mut bytes);
            prop_assert_eq!(bytes.len(), 3 + packed_bytes(numbers.len(), width));
            bytes.extend(behind);
            let read = Numbers::new(&bytes[3..], width as u8).expect("a width there is");
            for (index, number) in numbers.iter().enumerate() {
                prop_assert_eq!(read.get(index), *number);
            }
            prop_assert!(numbers.iter().all(|number| width_of(*number) <= width));
        }
    }

    #[test]
    fn cells_are_numbers_to_the_last_of_them() {
        let bytes: Vec<u8> = (1..=24).collect();
        for width in [1, 2, 4, 8] {
            let numbers = Numbers::of_cells(&bytes, width);
            for (index, cell) in bytes.chunks(width.into()).enumerate() {
                let expected = cell.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
                assert_eq!(numbers.get(index), expected, "number {index} of {width} bytes");
            }
        }
    }

    #[test]
    fn a_width_that_never_is_is_refused() {
        assert!(Numbers::new(&[0; 8], WIDTH_MAX as u8).is_some());
        assert!(Numbers::new(&[0; 8], WIDTH_MAX as u8 + 1).is_none());
        assert!(Numbers::new(&[0; 8], u8::MAX).is_none());
    }
}
