//! Neighbor lists as they lie in memory: the entry of a vertex table, flat lists and chunked lists.
//!
//! ```text
//!  Entry, 16 bytes:  address: u64 | degree: u32 | kind: u8, chunk count: u24
//!
//!  flat    ──► [neighbor: u32 × degree, or a compressed run][columns, if the edges carry any]
//!  chunked ──► [ChunkRef × chunk count] ──► each a flat run of at most CHUNK_MAX neighbors
//!
//!  address:  bit 0 = in a mapped segment;       bit 1 = columns follow the neighbors
//!            bit 63 = in the pack of its leaf;  bit 62 = in a heap block with room behind the neighbors
//!            bit 61 = a compressed run;         neither 0 nor 63 = a heap block of its own
//!            bit 60 = [`AHEAD`] more words after the run can be read, in its segment or pack
//!            bit 59 = neighbors before the run were forgotten
//!  kind:     bit 0 set = chunked;  bit 2 set = flat and compressed
//!            in place of the chunk count: how many neighbors before a flat list were forgotten
//! ```
//!
//! Invariants: lists of `simple` edge types ascend strictly, lists of `multi` types are in order of arrival; a
//! chunked list has at least two chunks, none empty; everything an entry reaches stays as it is while a version
//! that holds the entry is alive.
#![allow(unsafe_code)]

use evergraph_types::VertexId;

use crate::compression::{Decoder, RunBuffer, bytes_of_run};
use crate::fragment::ColumnArea;
use crate::heap::Block;
use crate::neighbors::Neighbors;
use crate::prefetch::prefetch;

/// The longest run a chunk, or a flat list in memory, of a `simple` edge type may have.
pub const CHUNK_MAX: usize = 256;

/// What empty lists point to, and can be read after them.
static NOTHING: [VertexId; AHEAD] = [0; AHEAD];

/// The head of one vertex's neighbor list, as it lies in a vertex table. Meaningless without the version it
/// belongs to: read it through [`FlatTable`](crate::FlatTable) or a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) address: u64,
    pub(crate) degree: u32,
    kind: u32,
}

const _: () = assert!(size_of::<Entry>() == 16);

/// A run of neighbors: a whole flat list or one chunk of a chunked list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct ChunkRef {
    /// Where the run lies, with the two tag bits.
    pub(crate) address: u64,
    /// How many neighbors it has.
    pub(crate) len: u32,
    /// Its first neighbor, of a `simple` type; how many neighbors before it were forgotten, if any were.
    pub(crate) first: VertexId,
}

const MAPPED: u64 = 1;
const COLUMNS: u64 = 2;
const PACKED: u64 = 1 << 63;
const GROWS: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;
const HAS_MORE: u64 = 1 << 60;
const FORGETS: u64 = 1 << 59;
const TAGS: u64 = MAPPED | COLUMNS | PACKED | GROWS | COMPRESSED | HAS_MORE | FORGETS;
const CHUNKED: u32 = 1;
const FLAT_COMPRESSED: u32 = 4;

/// So many neighbors forgotten are no reason to write a run again, and so many more than twice those that are left.
const FORGOTTEN_MIN: u32 = 16;

/// An entry has room to say that fewer than so many are forgotten.
const FORGOTTEN_MAX: u32 = 1 << 24;

/// How many places beyond a neighbor [`Neighbors::hinted`] looks. It takes about as long to get there as memory
/// takes to answer.
pub(crate) const AHEAD: usize = 96;

/// An address with its tags.
pub(crate) fn tag(pointer: *const u8, mapped: bool, columns: bool) -> u64 {
    pointer as u64 | if mapped { MAPPED } else { 0 } | if columns { COLUMNS } else { 0 }
}

#[cfg(target_endian = "big")]
compile_error!("neighbor lists are mapped from little-endian files");

impl ChunkRef {
    /// A run in a segment.
    pub(crate) fn mapped(pointer: u64, columns: bool, len: u32, first: VertexId) -> Self {
        ChunkRef { address: tag(pointer as *const u8, true, columns), len, first }
    }

    /// The same run, noted as compressed or not.
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

    /// The run as words, columns included; none of it is forgotten.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    pub(crate) unsafe fn words<'a>(self) -> &'a [u32] {
        debug_assert!(!self.has_columns() || self.forgotten() == 0);
        // SAFETY: the area of the run is alive by contract.
        let area = unsafe { self.columns() };
        // SAFETY: alive by contract.
        let words = area.map_or_else(|| unsafe { self.neighbor_bytes() }, |area| area.block_bytes()) / 4;
        // SAFETY: the run takes so many words from its pointer on, 4-byte aligned, immutable while alive; with
        // columns it takes a multiple of 8 bytes.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), words) }
    }

    /// A run in the pack of its leaf. Its `first` is not filled in.
    pub(crate) fn packed(pointer: *const u8, len: usize) -> Self {
        ChunkRef { address: pointer as u64 | PACKED, len: len as u32, first: 0 }
    }

    /// A run with room behind it, in the block that [`growth`](crate::growth) draws.
    pub(crate) fn growing(block: Block, len: usize) -> Self {
        ChunkRef { address: (block.pointer() as u64 + 4) | GROWS, len: len as u32, first: 0 }
    }

    /// The run of a `multi` type without its first `count` neighbors, which stay in its block; `None` if the run is in none, or if
    /// so many would be forgotten that it is better written again.
    pub(crate) fn forgetting(self, count: u32) -> Option<Self> {
        let (forgotten, left) = (self.forgotten() + count, self.len - count);
        let is_kept = self.is_block() && !self.is_compressed() && forgotten < FORGOTTEN_MAX;
        (is_kept && forgotten <= 2 * left + FORGOTTEN_MIN).then(|| {
            let address = (self.address + 4 * u64::from(count)) | FORGETS;
            ChunkRef { address, len: left, first: forgotten }
        })
    }

    /// How many neighbors before the run were forgotten.
    pub(crate) fn forgotten(self) -> u32 {
        if self.address & FORGETS != 0 { self.first } else { 0 }
    }

    /// The same run, of which is known that [`AHEAD`] more words can be read after it, in its segment or pack.
    pub(crate) fn with_more(self, has_more: bool) -> Self {
        ChunkRef { address: self.address | if has_more { HAS_MORE } else { 0 }, ..self }
    }

    /// Whether [`AHEAD`] more words can be read after the run.
    #[inline]
    pub(crate) fn has_more(self) -> bool {
        self.address & HAS_MORE != 0
    }

    /// Whether the run is a heap block of its own, which goes when the run does.
    pub(crate) fn is_block(self) -> bool {
        self.address & (MAPPED | PACKED) == 0
    }

    /// Whether the run lies in the pack of its leaf.
    pub(crate) fn is_packed(self) -> bool {
        self.address & PACKED != 0
    }

    /// The heap block that the run lies in, which goes when the run does.
    pub(crate) fn block(self) -> Option<Block> {
        let mark = if self.grows() { 4 } else { 0 };
        // SAFETY: a run in no segment or pack lies in a block of its own, behind the mark and what was forgotten.
        self.is_block().then(|| unsafe { Block::from_pointer(self.before_forgotten().sub(mark)) })
    }

    /// Where the run began before neighbors were forgotten.
    fn before_forgotten(self) -> *const u8 {
        self.pointer().wrapping_sub(4 * self.forgotten() as usize)
    }

    /// Whether the run is in a block with room behind the neighbors.
    pub(crate) fn grows(self) -> bool {
        self.address & GROWS != 0
    }

    /// Whether the run lies in a segment.
    pub(crate) fn is_mapped(self) -> bool {
        self.address & MAPPED != 0
    }

    pub(crate) fn pointer(self) -> *const u8 {
        (self.address & !TAGS) as *const u8
    }

    pub(crate) fn has_columns(self) -> bool {
        self.address & COLUMNS != 0
    }

    /// The part `start..start + len` of a run that has no columns.
    pub(crate) fn part(self, start: usize, len: usize, first: VertexId) -> Self {
        debug_assert!(!self.has_columns());
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
    pub(crate) unsafe fn columns<'a>(self) -> Option<ColumnArea<'a>> {
        let forgotten = self.forgotten() as usize;
        // SAFETY: the tag says a column area follows the neighbors, 8-byte aligned.
        self.has_columns().then(|| unsafe {
            let bytes = 4 * forgotten + self.neighbor_bytes();
            ColumnArea::after(self.before_forgotten(), bytes, forgotten + self.len as usize)
        })
    }
}

/// Words as the bytes they have in memory and, on the little-endian machines this runs on, in files.
pub(crate) fn as_bytes(words: &[u32]) -> &[u8] {
    // SAFETY: the same memory; bytes have no alignment and every bit pattern.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

impl Entry {
    /// A list without neighbors.
    pub(crate) const EMPTY: Entry = Entry { address: 0, degree: 0, kind: 0 };

    /// A flat list.
    pub(crate) fn flat(run: ChunkRef) -> Self {
        let kind = match run.is_compressed() {
            true => FLAT_COMPRESSED,
            false => run.forgotten() << 8,
        };
        Entry { address: run.address, degree: run.len, kind }
    }

    /// A chunked list with its directory at `directory`.
    pub(crate) fn chunked(directory: *const u8, chunks: usize, degree: usize) -> Self {
        Entry { address: directory as u64, degree: degree as u32, kind: CHUNKED | (chunks as u32) << 8 }
    }

    /// Whether the list has a chunk directory.
    pub(crate) fn is_chunked(self) -> bool {
        self.kind & 0xff == CHUNKED
    }

    /// The directory's block address, or the flat list's, tags removed.
    pub(crate) fn pointer(self) -> *const u8 {
        (self.address & !TAGS) as *const u8
    }

    /// The list as runs: one for a flat list, the directory for a chunked one, none for an empty one.
    ///
    /// # Safety
    /// The version the entry belongs to stays alive for `'a`, and `self` lies as long as `'a`.
    pub(crate) unsafe fn directory<'a>(self) -> &'a [ChunkRef] {
        debug_assert!(self.is_chunked());
        // SAFETY: a chunked entry's block holds as many chunk references as the kind word says.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), (self.kind >> 8) as usize) }
    }

    /// The run of a flat list. Its first neighbor is not filled in.
    pub(crate) fn run(self) -> ChunkRef {
        debug_assert!(!self.is_chunked());
        ChunkRef { address: self.address, len: self.degree, first: self.kind >> 8 }
    }

    /// Asks the processor for what a search or a change reads first: lists lie anywhere in memory.
    pub(crate) fn prefetch(self) {
        if self.degree == 0 {
            return;
        }
        if self.is_chunked() {
            return prefetch(self.pointer(), 16 * (self.kind >> 8) as usize);
        }
        let run = self.run();
        run.block().into_iter().for_each(|block| prefetch(block.pointer(), 1));
        prefetch(run.pointer(), if run.has_columns() { 256 } else { 128 });
        prefetch(run.pointer().wrapping_add(4 * run.len as usize), 1);
    }

    /// The run of an ascending list that may hold a neighbor.
    ///
    /// # Safety
    /// The version the entry belongs to is alive.
    pub(crate) unsafe fn run_around(self, neighbor: VertexId) -> Option<ChunkRef> {
        if !self.is_chunked() {
            return (self.degree > 0).then(|| self.run());
        }
        // SAFETY: by contract.
        let runs = unsafe { self.directory() };
        runs[..runs.partition_point(|run| run.first <= neighbor)].last().copied()
    }

    /// The list for reading.
    ///
    /// # Safety
    /// The version the entry belongs to stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn neighbors<'a>(self) -> Neighbors<'a> {
        if self.kind & (CHUNKED | FLAT_COMPRESSED) != 0 {
            return match self.is_chunked() {
                // SAFETY: by contract.
                true => unsafe { Neighbors::chunked(self.directory(), self.degree) },
                // SAFETY: by contract.
                false => unsafe { Neighbors::compressed(self.run()) },
            };
        }
        // Whether a list is empty is as good as random, so nothing branches on it.
        let pointer =
            std::hint::select_unpredictable(self.degree == 0, NOTHING.as_ptr(), self.pointer().cast());
        let ahead = (self.address & HAS_MORE != 0) | (self.degree == 0);
        // SAFETY: the list has `degree` neighbors from its pointer on, 4-byte aligned, alive by contract.
        Neighbors::flat(unsafe { std::slice::from_raw_parts(pointer, self.degree as usize) }, ahead)
    }
}
