//! Runs of neighbors as they lie in memory: a whole flat list, or one chunk of a list that has several or says more of itself
//! than an [`Entry`](crate::lists::entry::Entry) has room for.
//!
//! ```text
//!  run  ──► [neighbor: u32 × length, or a compressed run][columns, if the edges carry any]
//!
//!  address:  bits 2 to 47, the others being tags:
//!            bit 0 = [`SHARED`]: in a mapped segment or in the pack of its leaf, else in a heap block of its own
//!            bit 1 = columns follow the neighbors
//!            bit 48 = [`SECOND`]: of the shared, in the pack; of the others, with room behind the neighbors
//!            bit 49 = [`MORE`]: of the shared, [`AHEAD`] more words after the run can be read;
//!                     of the others, neighbors before the run were forgotten
//!            bit 50 = a compressed run; it has no [`MORE`]
//! ```
//!
//! Invariants: lists of `simple` edge types ascend strictly, lists of `multi` types are in order of arrival; no run is empty;
//! everything a run reaches stays as it is while a version that holds the run is alive.
#![allow(unsafe_code)]

use evergraph_types::VertexId;

use crate::lists::compression::{Decoder, RunBuffer, bytes_of_run};
use crate::lists::fragment::ColumnArea;
use crate::lists::growth::{head_bytes, places_of};
use crate::lists::heap::Block;

/// The longest flat list in memory of a `simple` edge type, and the longest chunk but for those of very long lists.
pub(crate) const CHUNK_MAX: usize = 256;

/// A run of neighbors: a whole flat list or one chunk of a chunked list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ChunkRef {
    /// Where the run lies, with its tags.
    pub(crate) address: u64,
    /// How many neighbors it has.
    pub(crate) len: u32,
    /// Its first neighbor, of a `simple` type; how many neighbors before it were forgotten, if any were.
    pub(crate) first: VertexId,
}

/// In a mapped segment or in the pack of its leaf.
pub(crate) const SHARED: u64 = 1;
pub(crate) const COLUMNS: u64 = 2;
/// Of a run that is [`SHARED`], that it is in the pack; of others, that there is room behind it.
pub(crate) const SECOND: u64 = 1 << ADDRESS_BITS;
/// Of a run that is [`SHARED`], that [`AHEAD`] more words after it can be read; of others, that neighbors before it were forgotten.
pub(crate) const MORE: u64 = SECOND << 1;
pub(crate) const COMPRESSED: u64 = SECOND << 2;
/// All tags lie below this bit.
pub(crate) const TAGS_END: u32 = ADDRESS_BITS + 3;

/// As many bits as an address in user space has, on every processor this runs on.
const ADDRESS_BITS: u32 = 48;
/// The bits of an address; what it leads to is 4-byte aligned.
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 4;

/// So many neighbors forgotten are no reason to write a run again, and so many more than twice those that are left.
const FORGOTTEN_MIN: u32 = 16;

/// How many places beyond a neighbor [`Neighbors::hinted`](crate::Neighbors::hinted) looks. It takes about as long to get there as memory
/// takes to answer.
pub(crate) const AHEAD: usize = 96;

/// So many bytes of a run with columns are asked for at once: one of few edges lies in several lines of memory, and only the first
/// tells which come next.
pub(crate) const RUN_START: usize = 512;

/// An address with its tags.
pub(crate) fn tag(pointer: *const u8, mapped: bool, columns: bool) -> u64 {
    place_of(pointer) | if mapped { SHARED } else { 0 } | if columns { COLUMNS } else { 0 }
}

/// An address without tags.
///
/// # Panics
/// If it takes more bits than an address in user space has, or is not aligned.
pub(crate) fn place_of(pointer: *const u8) -> u64 {
    let place = pointer as u64;
    assert!(place & !ADDRESS == 0, "{place:x} is no address of neighbors");
    place
}

/// What an address with tags leads to.
#[inline]
pub(crate) fn pointer_of(tagged: u64) -> *const u8 {
    (tagged & ADDRESS) as *const u8
}

#[cfg(target_endian = "big")]
compile_error!("neighbor lists are mapped from little-endian files");

impl ChunkRef {
    /// A run in a segment.
    pub(crate) fn mapped(pointer: u64, columns: bool, len: u32, first: VertexId) -> Self {
        ChunkRef { address: tag(pointer as *const u8, true, columns), len, first }
    }

    /// The same run, noted as compressed or not.
    #[inline]
    pub(crate) fn compressed(self, compressed: bool) -> Self {
        ChunkRef { address: self.address | if compressed { COMPRESSED } else { 0 }, ..self }
    }

    /// Whether the neighbors are compressed.
    pub(crate) fn is_compressed(self) -> bool {
        self.address & COMPRESSED != 0
    }

    /// The bytes of the neighbors.
    ///
    /// # Safety
    /// The version the run belongs to is alive.
    unsafe fn neighbor_bytes(self) -> usize {
        match self.is_compressed() {
            // SAFETY: the tag says so; what is written as a compressed run has slack behind it.
            true => unsafe { bytes_of_run(self.pointer(), self.len as usize) },
            false => 4 * self.len as usize,
        }
    }

    /// The bytes of the run, columns included, and, where it has columns, room.
    ///
    /// # Safety
    /// The version the run belongs to is alive.
    pub(crate) unsafe fn bytes(self) -> usize {
        // SAFETY: alive by contract.
        unsafe { self.columns().map_or_else(|| self.neighbor_bytes(), |area| area.block_bytes()) }
    }

    /// The run as words, columns included; none of it is forgotten, and it has no columns with room.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    pub(crate) unsafe fn words<'a>(self) -> &'a [u32] {
        debug_assert!(!self.has_columns() || self.forgotten() == 0 && !self.grows());
        // SAFETY: the run takes so many bytes from its pointer on, 4-byte aligned, immutable while alive; with
        // columns it takes a multiple of 8.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), self.bytes() / 4) }
    }

    /// A run with room behind it, in the block that [`growth`](crate::lists::growth) draws.
    pub(crate) fn growing(block: Block, len: usize, columns: bool) -> Self {
        let start = block.pointer().wrapping_add(head_bytes(columns));
        ChunkRef { address: tag(start, false, columns) | SECOND, len: len as u32, first: 0 }
    }

    /// The run of a `multi` type without its first `count` neighbors, which stay in its block; `None` if the run is in none, or if
    /// so many would be forgotten that it is better written again.
    pub(crate) fn forgetting(self, count: u32) -> Option<Self> {
        let (forgotten, left) = (self.forgotten() + count, self.len - count);
        let is_kept = self.is_block() && !self.is_compressed();
        (is_kept && forgotten <= 2 * left + FORGOTTEN_MIN).then(|| {
            let address = (self.address + 4 * u64::from(count)) | MORE;
            ChunkRef { address, len: left, first: forgotten }
        })
    }

    /// How many neighbors before the run were forgotten.
    pub(crate) fn forgotten(self) -> u32 {
        if self.address & (SHARED | MORE) == MORE { self.first } else { 0 }
    }

    /// The same run, of which is known that [`AHEAD`] more words can be read after it, in its segment or pack.
    pub(crate) fn with_more(self, has_more: bool) -> Self {
        debug_assert!(!has_more || !self.is_block() && !self.is_compressed());
        ChunkRef { address: self.address | if has_more { MORE } else { 0 }, ..self }
    }

    /// Whether [`AHEAD`] more words can be read after the run.
    #[inline]
    pub(crate) fn has_more(self) -> bool {
        self.address & (SHARED | MORE) == SHARED | MORE
    }

    /// Whether the run is a heap block of its own, which goes when the run does.
    pub(crate) fn is_block(self) -> bool {
        self.address & SHARED == 0
    }

    /// Whether the run lies in the pack of its leaf.
    pub(crate) fn is_packed(self) -> bool {
        self.address & (SHARED | SECOND) == SHARED | SECOND
    }

    /// The heap block that the run lies in, which goes when the run does.
    pub(crate) fn block(self) -> Option<Block> {
        let head = if self.grows() { head_bytes(self.has_columns()) } else { 0 };
        // SAFETY: a run in no segment or pack lies in a block of its own, behind its head and what was forgotten.
        self.is_block().then(|| unsafe { Block::from_pointer(self.before_forgotten().sub(head)) })
    }

    /// Where the run began before neighbors were forgotten.
    pub(crate) fn before_forgotten(self) -> *const u8 {
        self.pointer().wrapping_sub(4 * self.forgotten() as usize)
    }

    /// Whether the run is in a block with room behind the neighbors.
    pub(crate) fn grows(self) -> bool {
        self.address & (SHARED | SECOND) == SECOND
    }

    /// Whether the run lies in a segment.
    pub(crate) fn is_mapped(self) -> bool {
        self.address & (SHARED | SECOND) == SHARED
    }

    pub(crate) fn pointer(self) -> *const u8 {
        pointer_of(self.address)
    }

    pub(crate) fn has_columns(self) -> bool {
        self.address & COLUMNS != 0
    }

    /// Whether a part of the run is a run.
    pub(crate) fn has_parts(self) -> bool {
        !self.is_compressed() && !self.has_columns()
    }

    /// The part `start..start + len` of a run that has parts.
    pub(crate) fn part(self, start: usize, len: usize, first: VertexId) -> Self {
        debug_assert!(self.has_parts());
        ChunkRef { address: self.address + 4 * start as u64, len: len as u32, first }
    }

    /// The neighbors of the run, decoded into the buffer if they are compressed.
    ///
    /// # Safety
    /// The version the run belongs to stays alive as long as the result.
    #[inline]
    pub(crate) unsafe fn read(self, buffer: &mut RunBuffer) -> &[VertexId] {
        if self.is_compressed() {
            // SAFETY: alive by contract.
            return unsafe { self.decoder() }.rest(buffer);
        }
        // SAFETY: alive by contract, and not compressed.
        unsafe { self.neighbors() }
    }

    /// What reads a compressed run.
    ///
    /// # Safety
    /// The run is compressed, and the version it belongs to is alive while the decoder is in use.
    #[inline]
    pub(crate) unsafe fn decoder(self) -> Decoder {
        debug_assert!(self.is_compressed());
        // SAFETY: by contract; a run has slack behind it.
        unsafe { Decoder::new(self.pointer(), self.len as usize) }
    }

    /// The neighbors one by one.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    pub(crate) unsafe fn items<'a>(self) -> impl Iterator<Item = VertexId> + use<'a> {
        let mut buffer = RunBuffer::new();
        let (plain, decoded): (&'a [VertexId], Vec<VertexId>) = match self.is_compressed() {
            // SAFETY: alive by contract.
            true => (&[], unsafe { self.read(&mut buffer) }.to_vec()),
            // SAFETY: alive by contract, and not compressed.
            false => (unsafe { self.neighbors() }, Vec::new()),
        };
        plain.iter().copied().chain(decoded)
    }

    /// The first neighbor, or, of a compressed run of a `multi` type, the least.
    ///
    /// # Safety
    /// The version the run belongs to is alive.
    pub(crate) unsafe fn front(self) -> VertexId {
        // SAFETY: either kind of run begins with it.
        unsafe { self.pointer().cast::<VertexId>().read() }
    }

    /// The neighbors of a run that is not compressed.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn neighbors<'a>(self) -> &'a [VertexId] {
        debug_assert!(!self.is_compressed());
        // SAFETY: the run has `len` neighbors from its pointer on, 4-byte aligned, immutable while alive.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), self.len as usize) }
    }

    /// The columns that follow the neighbors, if any; those of neighbors that were forgotten come first in them.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn columns<'a>(self) -> Option<ColumnArea<'a>> {
        let (start, forgotten) = (self.before_forgotten(), self.forgotten() as usize);
        let rows = forgotten + self.len as usize;
        // SAFETY: the tag says a column area follows the neighbors, 8-byte aligned; where there is room, behind that for neighbors.
        self.has_columns().then(|| unsafe {
            if self.grows() {
                let places = places_of(start);
                return ColumnArea::after(start, 4 * places, rows, places);
            }
            ColumnArea::after(start, 4 * forgotten + self.neighbor_bytes(), rows, rows)
        })
    }
}

/// Words as the bytes they have in memory and, on the little-endian machines this runs on, in files.
pub(crate) fn as_bytes(words: &[u32]) -> &[u8] {
    // SAFETY: the same memory; bytes have no alignment and every bit pattern.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}
