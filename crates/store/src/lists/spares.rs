//! Freed blocks that the next small commit takes instead of new ones: it copies pages of the sizes that the one before gave
//! up, and those are near the processor, where a block from the allocator is not.
//!
//! Invariants: nobody reaches a spare; at most [`SPARE_BYTES_MAX`] are kept.
#![allow(unsafe_code)]

use crate::lists::heap::Block;

/// Payloads of these sizes are kept, in bytes: smaller ones the allocator has at hand, larger ones are not pages or runs.
const PAYLOADS: std::ops::RangeInclusive<usize> = 128..=2048;
/// How many of one size: a vertex put to three columns takes nine pages of one.
const EACH_MAX: usize = 16;
/// When more are kept than this, all are freed: what they were may not be asked for again.
const SPARE_BYTES_MAX: usize = 1 << 20;

/// Blocks of several sizes, the last one freed at hand first.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    /// By units of 8 bytes; nothing before the first block is kept.
    stacks: Vec<Vec<Block>>,
    bytes: usize,
}

impl Spares {
    /// Bytes of all of them, headers included.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps a block instead of freeing it, if it is of a size that may be asked for again; gives it back if not.
    ///
    /// # Safety
    /// The block is alive and no version that can reach it is.
    pub(crate) unsafe fn keep(&mut self, block: Block) -> Result<usize, Block> {
        // SAFETY: alive by contract.
        let (payload, footprint) = unsafe { (block.payload_bytes(), block.footprint()) };
        // A tool that looks for reads of freed memory is to see them freed.
        if !PAYLOADS.contains(&payload) || cfg!(miri) {
            return Err(block);
        }
        if self.bytes + footprint > SPARE_BYTES_MAX {
            *self = Spares::default();
        }
        if self.stacks.is_empty() {
            self.stacks.resize_with(*PAYLOADS.end() / Block::UNIT_BYTES + 1, Vec::new);
        }
        let stack = &mut self.stacks[payload / Block::UNIT_BYTES];
        if stack.len() == EACH_MAX {
            return Err(block);
        }
        // SAFETY: nobody reaches it.
        unsafe { block.spoil() };
        stack.push(block);
        self.bytes += footprint;
        Ok(footprint)
    }

    /// A block with a payload of so many bytes, rounded up to units, if there is one.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Block> {
        let block = self.stacks.get_mut(bytes.div_ceil(Block::UNIT_BYTES))?.pop()?;
        // SAFETY: a spare is not freed.
        self.bytes -= unsafe { block.footprint() };
        Some(block)
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        for block in self.stacks.iter().flatten() {
            // SAFETY: spares are alive, and nobody reaches them.
            unsafe { block.free() };
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    /// Keeps a new block of so many bytes; tells whether it was kept.
    fn keep(spares: &mut Spares, bytes: usize) -> bool {
        // SAFETY: just allocated.
        unsafe { spares.keep(Block::allocate(bytes, 1)).map_err(|block| block.free()).is_ok() }
    }

    #[test]
    fn the_last_block_of_a_size_comes_first_and_once() {
        let mut spares = Spares::default();
        assert_eq!(spares.take(560), None);
        let blocks = [560, 560, 2048].map(|bytes| Block::allocate(bytes, 1));
        // SAFETY: just allocated.
        blocks.iter().for_each(|block| assert!(unsafe { spares.keep(*block) }.is_ok()));
        assert_eq!(spares.bytes(), 568 + 568 + 2056);
        assert_eq!(
            [553, 552, 560, 560, 2041].map(|bytes| spares.take(bytes)),
            [Some(blocks[1]), None, Some(blocks[0]), None, Some(blocks[2])]
        );
        assert_eq!(spares.bytes(), 0);
        // SAFETY: nobody else has them.
        blocks.iter().for_each(|block| assert!(unsafe { block.free() } > 0));
    }

    #[test]
    fn few_are_kept() {
        let mut spares = Spares::default();
        assert_eq!([120, 128, 2048, 2056].map(|bytes| keep(&mut spares, bytes)), [false, true, true, false]);
        assert_eq!((0..EACH_MAX).filter(|_| keep(&mut spares, 2048)).count(), EACH_MAX - 1);
        for bytes in (128..=2048).cycle().step_by(24).take(2000) {
            keep(&mut spares, bytes);
            assert!(spares.bytes() <= SPARE_BYTES_MAX);
        }
    }
}
