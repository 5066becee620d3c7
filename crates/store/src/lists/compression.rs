//! Runs of neighbors in few bits: differences, packed in blocks that are each as wide as their largest, eight at a time.
//!
//! ```text
//!  base: u32 │ width: u8 × blocks │ block │ block │ … │ zeros to a multiple of 4
//!
//!  ascending runs:  base = the first neighbor, then for each of the others how far it lies behind the one before, less 1
//!  other runs:      base = the least neighbor, then for each how far it lies above that; bit 7 of the first width set
//!
//!  block:  8 numbers of `width` bits (the last block fewer), the first in the lowest bits
//! ```
//!
//! Eight numbers take `width` whole bytes, so that one shuffle and one shift bring them into place (Lemire and Boytsov,
//! "Decoding billions of integers per second through vectorization", 2015, has the idea of packing by blocks and of adding up
//! differences in registers). Where the processor cannot, a loop does the same. Short blocks keep the few large differences
//! of a list from making all its numbers wide, and take no longer to decode than long ones.
//!
//! Invariants: a compressed run has at least two neighbors and at most [`COMPRESSED_MAX`], takes less room than the neighbors as
//! they are, no width is above [`WIDTH_MAX`], and [`SLACK_BYTES`] after it can be read.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use evergraph_types::VertexId;

use crate::lists::adjacency::CHUNK_MAX;
use crate::lists::bits::{packed_bytes, width_of};

/// The longest run, of a list so long that its directory would otherwise be much of what a change copies.
pub(crate) const COMPRESSED_MAX: usize = 1024;
/// Numbers that share a width and are brought into place at a time.
pub(crate) const BLOCK: usize = 8;
/// Blocks that are decoded at a time where reading may end early.
const BLOCKS_AT_A_TIME: usize = 4;
/// A number of so many bits lies in four bytes, wherever in a byte it begins.
const WIDTH_MAX: u32 = 25;
/// The bits of a byte of widths that tell of the width.
const WIDTH: u8 = 0x1f;
/// How far decoding may read beyond the end of a run.
pub(crate) const SLACK_BYTES: usize = 32;
/// Set in the first width of a run that does not ascend.
const UNORDERED: u8 = 0x80;
const BASE_BYTES: usize = 4;
/// How many bytes the packing of a block writes at the most.
const PACKED_MAX: usize = WIDTH_MAX as usize / 2 + size_of::<u128>();

/// Bytes of a run of so many before it turned out too long: every number as wide as can be, a width for each block, room to pack in.
const fn encoded_max(len: usize) -> usize {
    BASE_BYTES + len.div_ceil(BLOCK) * (1 + WIDTH_MAX as usize) + PACKED_MAX
}

/// How the neighbors of a run may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As they are.
    Plain,
    /// In few bits, where that takes less room.
    Compressed {
        /// Whether they ascend strictly.
        ascending: bool,
    },
}

/// Room to decode a run in.
pub(crate) struct RunBuffer([MaybeUninit<VertexId>; COMPRESSED_MAX + BLOCK]);

impl RunBuffer {
    /// Room for one run.
    #[inline]
    pub(crate) fn new() -> Self {
        RunBuffer([MaybeUninit::uninit(); COMPRESSED_MAX + BLOCK])
    }

    fn start(&mut self) -> *mut VertexId {
        self.0.as_mut_ptr().cast()
    }
}

/// A compressed run that is being read, a block at a time.
pub(crate) struct Decoder {
    widths: *const u8,
    block: *const u8,
    /// Neighbors that are not decoded yet.
    left: usize,
    /// The neighbor before the next one, or the least.
    base: VertexId,
    ascending: bool,
    is_fresh: bool,
}

impl Decoder {
    /// Reads the run of `len` neighbors at `run`.
    ///
    /// # Safety
    /// There is a compressed run of that length, with [`SLACK_BYTES`] behind it, which stays as it is while the decoder
    /// is in use.
    #[inline]
    pub(crate) unsafe fn new(run: *const u8, len: usize) -> Self {
        // SAFETY: a run begins with its base and has at least one width.
        let (base, widths) = unsafe { (run.cast::<u32>().read_unaligned(), run.add(BASE_BYTES)) };
        // SAFETY: as above.
        let ascending = unsafe { widths.read() } & UNORDERED == 0;
        let numbers = len - usize::from(ascending);
        // SAFETY: the blocks follow the widths.
        let block = unsafe { widths.add(numbers.div_ceil(BLOCK)) };
        Decoder { widths, block, left: len, base, ascending, is_fresh: true }
    }

    /// The next neighbors, some blocks of them; none at the end.
    #[inline]
    pub(crate) fn next<'b>(&mut self, buffer: &'b mut RunBuffer) -> &'b [VertexId] {
        self.take(buffer, BLOCKS_AT_A_TIME)
    }

    /// All neighbors that are left.
    #[inline]
    pub(crate) fn rest<'b>(&mut self, buffer: &'b mut RunBuffer) -> &'b [VertexId] {
        self.take(buffer, usize::MAX)
    }

    /// Appends all neighbors that are left.
    #[inline]
    pub(crate) fn append_to(mut self, out: &mut Vec<VertexId>) {
        out.reserve(self.left + BLOCK);
        let end = out.spare_capacity_mut().as_mut_ptr().cast();
        // SAFETY: there is room for them and a block more, and so many are written.
        unsafe {
            let count = self.write(end, usize::MAX);
            out.set_len(out.len() + count);
        }
    }

    #[inline]
    fn take<'b>(&mut self, buffer: &'b mut RunBuffer, blocks: usize) -> &'b [VertexId] {
        let start = buffer.start();
        // SAFETY: a run has at most `COMPRESSED_MAX` neighbors, and the buffer has room for a block more; so many are written.
        unsafe {
            let count = self.write(start, blocks);
            std::slice::from_raw_parts(start, count)
        }
    }

    /// Writes the next neighbors, so many blocks of them at the most, and tells how many.
    ///
    /// # Safety
    /// There is room for as many as are left and a block more at `out`.
    #[inline]
    unsafe fn write(&mut self, out: *mut VertexId, blocks: usize) -> usize {
        let mut count = 0;
        if self.is_fresh && self.ascending {
            // SAFETY: there is room for one.
            unsafe { out.write(self.base) };
            count = 1;
            self.left -= 1;
        }
        self.is_fresh = false;
        let numbers = self.left.min(blocks.saturating_mul(BLOCK));
        // SAFETY: there is room by contract; the numbers and their widths are there by the contract of `new`.
        unsafe { self.unpack(numbers, out.add(count)) };
        self.left -= numbers;
        count + numbers
    }

    /// # Safety
    /// There are so many numbers, and room for them and a block more at `out`.
    #[inline]
    unsafe fn unpack(&mut self, numbers: usize, out: *mut VertexId) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2; the rest by contract.
            return unsafe { wide::unpack(self, numbers, out) };
        }
        // SAFETY: by contract.
        unsafe { self.unpack_slowly(numbers, out) }
    }

    /// # Safety
    /// As for `unpack`.
    unsafe fn unpack_slowly(&mut self, numbers: usize, out: *mut VertexId) {
        let mut done = 0;
        while done < numbers {
            let count = BLOCK.min(numbers - done);
            let width = self.next_width();
            let mask = (1u64 << width) - 1;
            for index in 0..count {
                let bit = index * width;
                // SAFETY: the number begins in this byte of the block, and eight bytes can be read from there on.
                let bits = unsafe { self.block.add(bit / 8).cast::<u64>().read_unaligned() };
                let number = (u64::from_le(bits) >> (bit % 8) & mask) as u32;
                let neighbor = self.base.wrapping_add(number).wrapping_add(u32::from(self.ascending));
                self.base = if self.ascending { neighbor } else { self.base };
                // SAFETY: there is room by contract.
                unsafe { out.add(done + index).write(neighbor) };
            }
            self.end_block(count, width);
            done += count;
        }
    }

    #[inline]
    fn next_width(&mut self) -> usize {
        // SAFETY: there is a width for each block that is left.
        unsafe {
            let width = self.widths.read() & WIDTH;
            self.widths = self.widths.add(1);
            usize::from(width)
        }
    }

    #[inline]
    fn end_block(&mut self, count: usize, width: usize) {
        // SAFETY: a block takes so many bytes.
        self.block = unsafe { self.block.add((count * width).div_ceil(8)) };
    }
}

/// Eight numbers at a time, on processors that have AVX2.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{BLOCK, Decoder, VertexId, WIDTH, WIDTH_MAX};

    /// Where the numbers of a block of some width are.
    #[repr(C, align(32))]
    struct Places {
        /// Which four bytes each number begins in: numbers 0 to 3 from the first byte of a block on, numbers 4 to 7 from the byte
        /// that number 4 begins in.
        bytes: [u8; 32],
        /// At which bit of these.
        bits: [u32; BLOCK],
        /// The bits of a number.
        mask: [u32; BLOCK],
    }

    /// By width; as many as there are values of [`WIDTH`].
    static PLACES: [Places; WIDTH as usize + 1] = {
        let mut places = [const { Places { bytes: [0; 32], bits: [0; BLOCK], mask: [0; BLOCK] } }; _];
        let mut width = 0;
        while width <= WIDTH_MAX as usize {
            let place = &mut places[width];
            let mut number = 0;
            while number < BLOCK {
                let from = if number < 4 { 0 } else { width / 2 * 8 };
                let bit = number * width - from;
                place.bits[number] = (bit % 8) as u32;
                place.mask[number] = (1 << width) - 1;
                let mut byte = 0;
                while byte < 4 {
                    place.bytes[4 * number + byte] = (bit / 8 + byte) as u8;
                    byte += 1;
                }
                number += 1;
            }
            width += 1;
        }
        places
    };

    /// # Safety
    /// As for `Decoder::unpack`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn unpack(decoder: &mut Decoder, numbers: usize, out: *mut VertexId) {
        // SAFETY: by contract.
        unsafe {
            match decoder.ascending {
                true => unpack_blocks::<true>(decoder, numbers, out),
                false => unpack_blocks::<false>(decoder, numbers, out),
            }
        }
    }

    /// # Safety
    /// As for `Decoder::unpack`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn unpack_blocks<const ASCENDING: bool>(
        decoder: &mut Decoder,
        numbers: usize,
        mut out: *mut VertexId,
    ) {
        let ramp = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
        let mut base = _mm256_set1_epi32(decoder.base as i32);
        for _ in 0..numbers.div_ceil(BLOCK) {
            let width = decoder.next_width();
            let Places { bytes, bits, mask } = &PLACES[width];
            // SAFETY: the tables are as wide as what is loaded, and aligned.
            let [bytes, bits, mask] = unsafe {
                [bytes.as_ptr().cast(), bits.as_ptr().cast(), mask.as_ptr().cast()]
                    .map(|row| _mm256_load_si256(row))
            };
            // SAFETY: the block begins here, and as many bytes as are loaded can be read beyond the run's end.
            let loaded = unsafe {
                let low = _mm_loadu_si128(decoder.block.cast());
                let high = _mm_loadu_si128(decoder.block.add(width / 2).cast());
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
            };
            // Nothing is read behind a block of fewer numbers.
            decoder.block = decoder.block.wrapping_add(width);
            let shifted = _mm256_srlv_epi32(_mm256_shuffle_epi8(loaded, bytes), bits);
            let mut numbers = _mm256_and_si256(shifted, mask);
            if ASCENDING {
                numbers = _mm256_add_epi32(numbers, _mm256_slli_si256::<4>(numbers));
                numbers = _mm256_add_epi32(numbers, _mm256_slli_si256::<8>(numbers));
                let low = _mm256_permute2x128_si256::<0x08>(numbers, numbers);
                numbers = _mm256_add_epi32(numbers, _mm256_shuffle_epi32::<0xff>(low));
                base = _mm256_add_epi32(base, ramp);
            }
            let neighbors = _mm256_add_epi32(numbers, base);
            if ASCENDING {
                base = _mm256_permutevar8x32_epi32(neighbors, _mm256_set1_epi32(7));
            }
            // SAFETY: there is room for whole blocks by contract.
            unsafe {
                _mm256_storeu_si256(out.cast(), neighbors);
                out = out.add(BLOCK);
            }
        }
        decoder.base = _mm256_extract_epi32::<0>(base) as VertexId;
    }
}

/// Appends a run of neighbors in few bits; tells whether it did, for it does not where that would take no less room.
pub(crate) fn compress(neighbors: &[VertexId], ascending: bool, out: &mut Vec<u32>) -> bool {
    let len = neighbors.len();
    if !(2..=COMPRESSED_MAX).contains(&len) {
        return false;
    }
    // Most are short, and all of the room is cleared.
    if len <= CHUNK_MAX {
        return compress_in(neighbors, ascending, &mut [0; CHUNK_MAX], &mut [0; encoded_max(CHUNK_MAX)], out);
    }
    let (numbers, bytes) = (&mut [0; COMPRESSED_MAX], &mut [0; encoded_max(COMPRESSED_MAX)]);
    compress_in(neighbors, ascending, numbers, bytes, out)
}

/// The same, in room for so many, all zero.
#[inline]
fn compress_in(
    neighbors: &[VertexId],
    ascending: bool,
    numbers: &mut [u32],
    bytes: &mut [u8],
    out: &mut Vec<u32>,
) -> bool {
    let (base, count) = if ascending {
        let pairs = neighbors.iter().zip(&neighbors[1..]);
        numbers.iter_mut().zip(pairs).for_each(|(number, (before, after))| *number = after - before - 1);
        (neighbors[0], neighbors.len() - 1)
    } else {
        let least = neighbors.iter().copied().min().unwrap_or(0);
        numbers.iter_mut().zip(neighbors).for_each(|(number, neighbor)| *number = neighbor - least);
        (least, neighbors.len())
    };
    bytes[..BASE_BYTES].copy_from_slice(&base.to_le_bytes());
    let blocks = count.div_ceil(BLOCK);
    let mut end = BASE_BYTES + blocks;
    // What a last block lacks is zeros.
    for (block, numbers) in numbers.as_chunks().0[..blocks].iter().enumerate() {
        let width = width_of(numbers.iter().fold(0, |all, number| all | number).into());
        if width > WIDTH_MAX {
            return false;
        }
        bytes[BASE_BYTES + block] = width as u8;
        pack_block(numbers, width, &mut bytes[end..]);
        end += packed_bytes(BLOCK.min(count - BLOCK * block), width);
    }
    if !ascending {
        bytes[BASE_BYTES] |= UNORDERED;
    }
    let words = end.div_ceil(4);
    if words >= neighbors.len() {
        return false;
    }
    out.extend(bytes[..4 * words].as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)));
    true
}

/// Writes a block, two numbers at a time, then four: less depends on what was before than number by number. Up to [`PACKED_MAX`] bytes are
/// written.
#[inline]
fn pack_block(numbers: &[u32; BLOCK], width: u32, out: &mut [u8]) {
    let two = |first: usize| u64::from(numbers[first]) | u64::from(numbers[first + 1]) << width;
    // In two words, from this bit of the first on.
    let four = |first: usize, bit: u32| {
        let (low, high) = (two(first), two(first + 2));
        let (from, left) = (bit + 2 * width, u64::BITS - 1 - bit);
        [low << bit | high << from, low >> 1 >> left | high >> 1 >> (u64::BITS - 1 - from)]
    };
    let first = four(0, 0);
    // Number 4 begins in this byte, or in the middle of it.
    let middle = (width / 2) as usize;
    let mut second = four(4, width % 2 * 4);
    second[0] |= first[usize::from(middle >= 8)] >> (8 * middle % 64);
    for (at, words) in [(0, first), (middle, second)] {
        out[at..at + 8].copy_from_slice(&words[0].to_le_bytes());
        out[at + 8..at + 16].copy_from_slice(&words[1].to_le_bytes());
    }
}

/// The bytes of the compressed run of `len` neighbors at the start of `bytes`, which may end behind its widths; `None` if
/// there is none.
pub(crate) fn compressed_bytes(bytes: &[u8], len: usize) -> Option<usize> {
    if !(2..=COMPRESSED_MAX).contains(&len) {
        return None;
    }
    let ascending = bytes.get(BASE_BYTES)? & UNORDERED == 0;
    let numbers = len - usize::from(ascending);
    let widths = bytes.get(BASE_BYTES..BASE_BYTES + numbers.div_ceil(BLOCK))?;
    let mut total = BASE_BYTES + widths.len();
    for (block, width) in widths.iter().enumerate() {
        let width = if block == 0 { width & !UNORDERED } else { *width };
        if u32::from(width) > WIDTH_MAX {
            return None;
        }
        total += (BLOCK.min(numbers - BLOCK * block) * usize::from(width)).div_ceil(8);
    }
    Some(total.next_multiple_of(4))
}

/// The bytes of the compressed run of `len` neighbors at `run`.
///
/// # Safety
/// There is one, with [`SLACK_BYTES`] behind it.
pub(crate) unsafe fn bytes_of_run(run: *const u8, len: usize) -> usize {
    // SAFETY: the widths of a run lie within it and the slack behind it.
    let head = unsafe { std::slice::from_raw_parts(run, BASE_BYTES + len.div_ceil(BLOCK)) };
    compressed_bytes(head, len).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A run as it lies in memory, slack included.
    fn encoded(neighbors: &[VertexId], ascending: bool) -> Option<Vec<u32>> {
        let mut words = vec![7];
        let done = compress(neighbors, ascending, &mut words);
        assert_eq!(words.remove(0), 7);
        assert_eq!(done, !words.is_empty());
        let bytes = 4 * words.len();
        words.extend([u32::MAX; SLACK_BYTES / 4]);
        // SAFETY: the run was just written, with slack.
        done.then(|| assert_eq!(unsafe { bytes_of_run(words.as_ptr().cast(), neighbors.len()) }, bytes));
        done.then_some(words)
    }

    fn check(neighbors: &[VertexId], ascending: bool) {
        let Some(words) = encoded(neighbors, ascending) else { return };
        let mut buffer = RunBuffer::new();
        // SAFETY: the run was written with slack, here and below.
        let decoder = || unsafe { Decoder::new(words.as_ptr().cast(), neighbors.len()) };
        assert_eq!(decoder().rest(&mut buffer), neighbors);
        let (mut found, mut blocks) = (Vec::new(), decoder());
        while let block @ [_, ..] = blocks.next(&mut buffer) {
            found.extend_from_slice(block);
        }
        assert_eq!(found, neighbors);
        let mut slow = decoder();
        let skipped = usize::from(slow.ascending);
        // SAFETY: the buffer has room for a run.
        unsafe {
            slow.unpack_slowly(neighbors.len() - skipped, buffer.start());
            let found = std::slice::from_raw_parts(buffer.start(), neighbors.len() - skipped);
            assert_eq!(found, &neighbors[skipped..]);
        }
    }

    /// Gaps that are mostly small, or of any width.
    fn gaps() -> impl Strategy<Value = Vec<u32>> {
        let gap = (0u32..30).prop_flat_map(|bits| 0..1u32 << bits);
        let small = prop_oneof![20 => 0u32..9, 1 => 0u32..5000];
        prop_oneof![prop::collection::vec(gap, 0..40), prop::collection::vec(small, 0..COMPRESSED_MAX + 2)]
    }

    proptest! {
        #[test]
        fn runs_read_as_they_were_written(first in any::<u32>(), gaps in gaps()) {
            let total: u64 = gaps.iter().map(|&gap| u64::from(gap) + 1).sum();
            let first = (u64::from(first)).min(u64::from(u32::MAX) - total.min(u64::from(u32::MAX))) as u32;
            let ascending: Vec<u32> = std::iter::once(first)
                .chain(gaps.iter().scan(first, |last, gap| {
                    *last = last.checked_add(*gap)?.checked_add(1)?;
                    Some(*last)
                }))
                .collect();
            check(&ascending, true);
            check(&gaps, false);
        }

        #[test]
        fn no_bytes_make_it_read_beyond_what_was_checked(
            bytes in prop::collection::vec(any::<u8>(), 0..64), len in 0usize..300)
        {
            if let Some(total) = compressed_bytes(&bytes, len) {
                let mut words = vec![0u32; total.max(bytes.len()).div_ceil(4) + SLACK_BYTES / 4];
                for (word, part) in words.iter_mut().zip(bytes.chunks(4)) {
                    let mut four = [0; 4];
                    four[..part.len()].copy_from_slice(part);
                    *word = u32::from_le_bytes(four);
                }
                // SAFETY: the words hold the run and the slack.
                let mut decoder = unsafe { Decoder::new(words.as_ptr().cast(), len) };
                prop_assert_eq!(decoder.rest(&mut RunBuffer::new()).len(), len);
            }
        }
    }

    #[test]
    fn every_width_is_read_back() {
        for width in 0..=WIDTH_MAX {
            for len in [2, 8, 9, 32, 33, 34, 255, 256] {
                let gap = |index: u32| {
                    if index.is_multiple_of(3) { (1 << width) - 1 } else { index % (1 << width) }
                };
                let ascending: Vec<u32> = (0..len)
                    .scan(0u32, |last, index| {
                        *last = last.wrapping_add(gap(index).min(1 << 23)).wrapping_add(1);
                        Some(*last)
                    })
                    .collect();
                check(&ascending, true);
                check(&(0..len).map(gap).collect::<Vec<_>>(), false);
            }
        }
    }

    #[test]
    fn what_would_not_be_smaller_stays_as_it_is() {
        assert!(encoded(&[5], true).is_none());
        assert!(encoded(&[0, 1 << 30, 1 << 31], true).is_none());
        assert_eq!(
            encoded(&(10..266).collect::<Vec<_>>(), true).map(|words| words.len()),
            Some(1 + 8 + SLACK_BYTES / 4)
        );
    }
}
