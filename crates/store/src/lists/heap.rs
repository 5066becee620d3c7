//! The heap of immutable blocks: pages of vertex tables, fragments and chunk directories.
//!
//! ```text
//!  pointer - 8          pointer
//!  ├ bytes/8: u32 ┼ born: u32 ┤ payload, 8-byte aligned, never changed once anybody sees its version
//! ```
//!
//! A block that lies in pages of its own (`pages.rs`) has bit 31 of the first word set, and the number of these in the others.
//!
//! Invariant: a block is written by the one commit that allocates it, and by later ones only while nobody but their draft
//! reaches it ([`Changes::owned_after`]); it becomes reachable by the publish of its first
//! commit, is *retired* by the commit that replaces it, and is freed once no version from its birth to its
//! retirement is alive; what commits retire beside a load that may reach it is kept back for that ([`Branch`](crate::commits::branch::Branch)).
//! No reference count per block: [`Reclaimer`](crate::versions::reclaim::Reclaimer) decides by version.
//! `born` is the low half of the sequence of the commit that allocated it.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use evergraph_types::VertexId;

use crate::lists::merge::Scratch;
use crate::lists::pages::{self, PAGE_BYTES, PAGES_BYTES_MIN};
use crate::lists::spares::Spares;
use crate::system::prefetch::prefetch;

const HEADER_BYTES: usize = 8;
const ALIGN: usize = 8;
/// Of the first word of a header: the block lies in pages of its own.
const IN_PAGES: u32 = 1 << 31;

/// The address of a block's payload. Plain data: who holds one must know, by the version it came from, that the
/// block is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(NonNull<u8>);

// SAFETY: a `Block` is an address; what may be done through it, and when, is governed by the versions (see above).
unsafe impl Send for Block {}
// SAFETY: as for Send; payloads are immutable once published.
unsafe impl Sync for Block {}

impl Block {
    /// Payloads are multiples of so many bytes.
    pub(crate) const UNIT_BYTES: usize = ALIGN;

    /// A new block of at least `bytes`, contents undefined.
    pub(crate) fn allocate(bytes: usize, born: u32) -> Self {
        let units = bytes.div_ceil(ALIGN).max(1);
        let layout = layout_of(units);
        if units >= IN_PAGES as usize {
            // The header has no room for it.
            handle_alloc_error(layout);
        }
        // SAFETY: the layout has a non-zero size.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: the block has room for header and payload and is aligned for both.
        unsafe { Block::at(base, units as u32, born) }
    }

    /// As [`Block::allocate`], for one that stays: in pages of its own if it is large and the system gives any.
    pub(crate) fn allocate_to_stay(bytes: usize, born: u32) -> Self {
        let size = Self::footprint_of(bytes);
        let count = size.div_ceil(PAGE_BYTES);
        let is_large = size >= PAGES_BYTES_MIN && count < IN_PAGES as usize;
        match is_large.then(|| pages::allocate(count)).flatten() {
            // SAFETY: as above.
            Some(base) => unsafe { Block::at(base, count as u32 | IN_PAGES, born) },
            None => Block::allocate(bytes, born),
        }
    }

    /// The block in this memory, its header written.
    ///
    /// # Safety
    /// The memory has room for the header and so many units, and is aligned for both.
    unsafe fn at(base: NonNull<u8>, word: u32, born: u32) -> Self {
        // SAFETY: by contract.
        unsafe {
            base.cast::<[u32; 2]>().write([word, born]);
            Block(base.add(HEADER_BYTES))
        }
    }

    /// The block whose payload starts at `pointer`.
    ///
    /// # Safety
    /// `pointer` came from [`Block::pointer`].
    pub(crate) unsafe fn from_pointer(pointer: *const u8) -> Self {
        // SAFETY: a block's pointer is never null.
        Block(unsafe { NonNull::new_unchecked(pointer.cast_mut()) })
    }

    /// The payload.
    pub(crate) fn pointer(self) -> *mut u8 {
        self.0.as_ptr()
    }

    /// Asks the processor for the header.
    pub(crate) fn prefetch(self) {
        prefetch(self.0.as_ptr().wrapping_sub(HEADER_BYTES), 1);
    }

    /// Bytes the block takes, header included.
    ///
    /// # Safety
    /// The block is alive.
    pub(crate) unsafe fn footprint(self) -> usize {
        // SAFETY: alive by contract.
        match unsafe { self.pages() } {
            Ok(count) => count * PAGE_BYTES,
            Err(units) => layout_of(units).size(),
        }
    }

    /// How many pages of its own it has, or, if it has none, how many units.
    ///
    /// # Safety
    /// The block is alive.
    unsafe fn pages(self) -> Result<usize, usize> {
        // SAFETY: the header lies before the payload of every live block.
        let word = unsafe { self.0.sub(HEADER_BYTES).cast::<u32>().read() };
        let count = (word & !IN_PAGES) as usize;
        if word & IN_PAGES == 0 { Err(count) } else { Ok(count) }
    }

    /// What a block of so many bytes takes, header included.
    pub(crate) fn footprint_of(bytes: usize) -> usize {
        layout_of(bytes.div_ceil(ALIGN).max(1)).size()
    }

    /// Bytes of the payload.
    ///
    /// # Safety
    /// The block is alive.
    pub(crate) unsafe fn payload_bytes(self) -> usize {
        // SAFETY: alive by contract.
        unsafe { self.footprint() - HEADER_BYTES }
    }

    /// The commit that allocated the block, modulo 2^32.
    ///
    /// # Safety
    /// The block is alive.
    pub(crate) unsafe fn born(self) -> u32 {
        // SAFETY: the header lies before the payload of every live block.
        let [_, born] = unsafe { self.0.sub(HEADER_BYTES).cast::<[u32; 2]>().read() };
        born
    }

    /// Makes the block one of the commit `born`, contents undefined.
    ///
    /// # Safety
    /// The block is alive, and nobody else reaches it.
    unsafe fn renew(self, born: u32) {
        // SAFETY: the header lies before the payload of every live block; nobody else reaches it.
        unsafe { self.0.sub(HEADER_BYTES).cast::<u32>().add(1).write(born) };
    }

    /// Overwrites the payload in programs that are tested, so that a read of what is given up shows.
    ///
    /// # Safety
    /// The block is alive, and nobody else reaches it.
    pub(crate) unsafe fn spoil(self) {
        if cfg!(debug_assertions) {
            // SAFETY: by contract.
            unsafe { self.0.write_bytes(0xdd, self.payload_bytes()) };
        }
    }

    /// Frees the block and tells how many bytes came back.
    ///
    /// # Safety
    /// The block is alive and no version that can reach it is.
    pub(crate) unsafe fn free(self) -> usize {
        // SAFETY: alive by contract; the layout is the one it was allocated with.
        unsafe {
            let (bytes, base) = (self.footprint(), self.0.sub(HEADER_BYTES));
            self.spoil();
            match self.pages() {
                Ok(count) => pages::free(base, count),
                Err(_) => dealloc(base.as_ptr(), Layout::from_size_align_unchecked(bytes, ALIGN)),
            }
            bytes
        }
    }
}

fn layout_of(units: usize) -> Layout {
    // A block of 2^31 units is 16 GiB: beyond any chunk, page or directory, and far below the layout's limit.
    match Layout::from_size_align(units * ALIGN + HEADER_BYTES, ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!("a block is at most 32 GiB"),
    }
}

/// A commit of an edge or a vertex seldom retires more blocks.
const RETIRED_BY_FEW: usize = 16;

/// Source and destination of an edge.
pub(crate) type Pair = (VertexId, VertexId);

/// What one task of a commit did to the heap: how much it allocated and which blocks it replaced.
#[derive(Default)]
pub(crate) struct Changes {
    /// The low half of the sequence the commit will publish.
    pub(crate) born: u32,
    /// The commit that leaves of paged arrays which are edited note as the last to change them; `None` if what they say
    /// stays the same.
    pub(crate) stamp: Option<u64>,
    /// Blocks born after this commit are reached by nobody but the draft, and are written to where they lie; `None` if every
    /// block that changes is copied.
    pub(crate) owned_after: Option<u32>,
    /// Bytes allocated, headers included.
    pub(crate) allocated_bytes: usize,
    /// Blocks the previous version still reaches and the next one does not.
    pub(crate) retired: Vec<Block>,
    /// List entries added, less those removed, by the edit under way.
    pub(crate) entries: i64,
    /// Of these, from a vertex to itself.
    pub(crate) loops: i64,
    /// Vertices whose list had been empty and is given edges, ascending.
    pub(crate) newcomers: Vec<VertexId>,
    /// Vertices whose list had edges and has none any more.
    pub(crate) emptied: Vec<VertexId>,
    /// Puts that found the edge in a `simple` list, from the vertex whose list it is, if somebody asks for them.
    pub(crate) found: Option<Vec<Pair>>,
    /// Buffers of the task.
    pub(crate) scratch: Scratch,
    /// Freed blocks to take before new ones are allocated.
    pub(crate) spares: Spares,
}

impl Changes {
    /// No change yet, for a commit that will publish `sequence`.
    pub(crate) fn new(sequence: u64) -> Self {
        let retired = Vec::with_capacity(RETIRED_BY_FEW);
        Changes { born: sequence as u32, stamp: Some(sequence), retired, ..Changes::default() }
    }

    /// An empty record for a parallel task of the same commit.
    pub(crate) fn fork(&self) -> Self {
        let Changes { born, stamp, owned_after, .. } = *self;
        let found = self.found.as_ref().map(|_| Vec::new());
        Changes { born, stamp, owned_after, found, ..Changes::default() }
    }

    /// Takes over what a parallel task did.
    pub(crate) fn join(&mut self, other: Changes) {
        self.allocated_bytes += other.allocated_bytes;
        self.retired.extend(other.retired);
        self.entries += other.entries;
        self.loops += other.loops;
        self.newcomers.extend(other.newcomers);
        self.emptied.extend(other.emptied);
        self.found.iter_mut().for_each(|found| found.extend(other.found.iter().flatten()));
    }

    /// A new block of at least `bytes`.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Block {
        let block = match self.spares.take(bytes) {
            Some(spare) => {
                // SAFETY: nobody reaches a spare.
                unsafe { spare.renew(self.born) };
                spare
            }
            None => Block::allocate(bytes, self.born),
        };
        // SAFETY: just allocated.
        self.allocated_bytes += unsafe { block.footprint() };
        block
    }

    /// As [`Changes::allocate`], for a block that no small commit replaces: in pages of its own if it is large.
    pub(crate) fn allocate_to_stay(&mut self, bytes: usize) -> Block {
        let block = Block::allocate_to_stay(bytes, self.born);
        // SAFETY: just allocated.
        self.allocated_bytes += unsafe { block.footprint() };
        block
    }

    /// Frees a block that nobody but the caller has seen.
    pub(crate) fn give_back(&mut self, block: Block) {
        // SAFETY: nobody else reaches it.
        self.allocated_bytes -= unsafe { block.free() };
    }

    /// A block of at least `bytes` in place of `old`, which is alive: that one if it may be written to and is not much too
    /// large, else a new one with so much more room.
    pub(crate) fn replace(&mut self, old: Option<Block>, bytes: usize, room: usize) -> Block {
        // SAFETY: alive by contract.
        let owns = |block: Block| self.owned_after.is_some_and(|last| unsafe { block.born() } > last);
        // SAFETY: as above.
        let suits = |block: &Block| (bytes..=2 * bytes + 64).contains(&unsafe { block.payload_bytes() });
        if let Some(own) = old.filter(|old| owns(*old)).filter(suits) {
            return own;
        }
        old.into_iter().for_each(|old| self.retire(old));
        self.allocate(bytes + room)
    }

    /// A block of at least `bytes` in place of `old`, with room to grow where blocks are written to in place.
    pub(crate) fn rewrite(&mut self, old: Option<Block>, bytes: usize) -> Block {
        let room = if self.owned_after.is_some() { bytes / 4 } else { 0 };
        self.replace(old, bytes, room)
    }

    /// Notes that the next version no longer reaches `block`.
    pub(crate) fn retire(&mut self, block: Block) {
        self.retired.push(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_stay_are_as_any_others() {
        for bytes in [1, 5000, PAGES_BYTES_MIN - HEADER_BYTES, PAGES_BYTES_MIN, 3 * PAGES_BYTES_MIN + 12_345]
        {
            let block = Block::allocate_to_stay(bytes, 7);
            let in_pages = Block::footprint_of(bytes).next_multiple_of(PAGE_BYTES);
            let footprint = match bytes + HEADER_BYTES >= PAGES_BYTES_MIN && cfg!(all(unix, not(miri))) {
                true => in_pages,
                false => Block::footprint_of(bytes),
            };
            // SAFETY: it is alive, has room for so many bytes, and nobody else reaches it.
            unsafe {
                block.pointer().write_bytes(0xab, bytes);
                assert_eq!((block.born(), block.footprint()), (7, footprint));
                block.renew(8);
                assert_eq!((block.born(), block.payload_bytes()), (8, footprint - HEADER_BYTES));
                assert_eq!(block.pointer().add(bytes - 1).read(), 0xab);
                assert_eq!(block.free(), footprint);
            }
        }
    }
}
