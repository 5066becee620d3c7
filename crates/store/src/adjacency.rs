//! Neighbor lists as readers see them: the entry of a vertex table, flat lists and chunked lists.
//!
//! ```text
//!  Entry, 16 bytes:  address: u64 | degree: u32 | kind: u8, chunk count: u24
//!
//!  flat    ──► [neighbor: u32 × degree][columns, if the edges carry any]
//!  chunked ──► [ChunkRef × chunk count] ──► each a flat run of at most CHUNK_MAX neighbors
//!
//!  address:  bit 0 = in a mapped segment;       bit 1 = columns follow the neighbors
//!            bit 63 = in the pack of its leaf;  bit 62 = a heap block with room behind the neighbors
//!            neither 0 nor 63 = a heap block of its own
//!  kind:     bit 0 set = chunked;  bit 1 set = flat, and [`AHEAD`] more words after the list can be read
//! ```
//!
//! Invariants: lists of `simple` edge types ascend strictly, lists of `multi` types are in order of arrival; a
//! chunked list has at least two chunks, none empty; everything an entry reaches stays as it is while a version
//! that holds the entry is alive.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::ControlFlow;

use evergraph_types::VertexId;

use crate::fragment::ColumnArea;

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
    /// Its first neighbor.
    pub(crate) first: VertexId,
}

const MAPPED: u64 = 1;
const COLUMNS: u64 = 2;
const PACKED: u64 = 1 << 63;
const GROWS: u64 = 1 << 62;
const TAGS: u64 = MAPPED | COLUMNS | PACKED | GROWS;
const CHUNKED: u32 = 1;
const READABLE_AHEAD: u32 = 2;

/// How many places beyond a neighbor [`Neighbors::for_each_ahead`] looks. It takes about as long to get there as memory
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

    /// The run as words, columns included.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    pub(crate) unsafe fn words<'a>(self) -> &'a [u32] {
        // SAFETY: the area of the run is alive by contract.
        let words = unsafe { self.columns() }.map_or(self.len as usize, |area| area.block_bytes() / 4);
        // SAFETY: the run takes so many words from its pointer on, 4-byte aligned, immutable while alive; with
        // columns it takes a multiple of 8 bytes.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), words) }
    }

    /// A run in the pack of its leaf. Its `first` is not filled in.
    pub(crate) fn packed(pointer: *const u8, len: usize) -> Self {
        ChunkRef { address: pointer as u64 | PACKED, len: len as u32, first: 0 }
    }

    /// A run in a block that has room behind it.
    pub(crate) fn growing(pointer: *const u8, len: usize, first: VertexId) -> Self {
        ChunkRef { address: pointer as u64 | GROWS, len: len as u32, first }
    }

    /// Whether the run is a heap block of its own, which goes when the run does.
    pub(crate) fn is_block(self) -> bool {
        self.address & (MAPPED | PACKED) == 0
    }

    /// Whether the run lies in the pack of its leaf.
    pub(crate) fn is_packed(self) -> bool {
        self.address & PACKED != 0
    }

    /// Whether the run is a block with room behind the neighbors.
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

    /// The neighbors of the run.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    pub(crate) unsafe fn neighbors<'a>(self) -> &'a [VertexId] {
        // SAFETY: the run has `len` neighbors from its pointer on, 4-byte aligned, immutable while alive.
        unsafe { std::slice::from_raw_parts(self.pointer().cast(), self.len as usize) }
    }

    /// The columns that follow the neighbors, if any.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    pub(crate) unsafe fn columns<'a>(self) -> Option<ColumnArea<'a>> {
        // SAFETY: the tag says a column area follows the neighbors, 8-byte aligned.
        self.has_columns().then(|| unsafe { ColumnArea::after(self.pointer(), self.len as usize) })
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
        Entry { address: run.address, degree: run.len, kind: 0 }
    }

    /// A flat list in a segment, after which the segment has at least [`AHEAD`] more words.
    pub(crate) fn flat_with_more(run: ChunkRef) -> Self {
        Entry { kind: READABLE_AHEAD, ..Entry::flat(run) }
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

    /// The run of a flat list. Its `first` is not filled in.
    pub(crate) fn run(self) -> ChunkRef {
        debug_assert!(!self.is_chunked());
        ChunkRef { address: self.address, len: self.degree, first: 0 }
    }

    /// The list for reading.
    ///
    /// # Safety
    /// The version the entry belongs to stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn neighbors<'a>(self) -> Neighbors<'a> {
        if self.is_chunked() {
            // SAFETY: by contract.
            let list = List::Chunked(unsafe { self.directory() }, self.degree, PhantomData);
            return Neighbors { list, ahead: false };
        }
        // Whether a list is empty is as good as random, so nothing branches on it.
        let pointer = if self.degree == 0 { NOTHING.as_ptr() } else { self.pointer().cast() };
        let ahead = (self.kind & READABLE_AHEAD != 0) | (self.degree == 0);
        // SAFETY: the list has `degree` neighbors from its pointer on, 4-byte aligned, alive by contract.
        let list = List::Flat(unsafe { std::slice::from_raw_parts(pointer, self.degree as usize) });
        Neighbors { list, ahead }
    }
}

#[derive(Clone, Copy)]
enum List<'a> {
    Flat(&'a [VertexId]),
    Chunked(&'a [ChunkRef], u32, PhantomData<&'a [VertexId]>),
}

/// The neighbors of one vertex in one direction, borrowed from a version.
#[derive(Clone, Copy)]
pub struct Neighbors<'a> {
    list: List<'a>,
    /// Whether [`AHEAD`] more words can be read after a flat list.
    ahead: bool,
}

impl<'a> Neighbors<'a> {
    /// A list that lies in one slice.
    pub fn from_slice(neighbors: &'a [VertexId]) -> Self {
        Neighbors { list: List::Flat(neighbors), ahead: false }
    }

    /// The number of neighbors (of edges: parallel edges count each).
    #[inline]
    pub fn len(&self) -> usize {
        match self.list {
            List::Flat(neighbors) => neighbors.len(),
            List::Chunked(_, degree, _) => degree as usize,
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole list, where it lies in one piece.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [VertexId]> {
        match self.list {
            List::Flat(neighbors) => Some(neighbors),
            List::Chunked(..) => None,
        }
    }

    /// Calls `visit` with each contiguous piece in order: the way to scan a list at memory speed.
    #[inline]
    pub fn for_each_slice(&self, mut visit: impl FnMut(&[VertexId])) {
        match self.list {
            List::Flat(neighbors) => visit(neighbors),
            List::Chunked(chunks, ..) => {
                for chunk in chunks {
                    // SAFETY: the directory is borrowed from a live version, and so are its chunks.
                    visit(unsafe { chunk.neighbors() });
                }
            }
        }
    }

    /// The first neighbors, up to `count` of them; fewer, but at least one, where the list lies in pieces.
    #[inline]
    pub fn head(&self, count: usize) -> &'a [VertexId] {
        let first = match self.list {
            List::Flat(neighbors) => neighbors,
            // SAFETY: the directory is borrowed from a live version, and so are its chunks; it has at least two.
            List::Chunked(chunks, ..) => unsafe { chunks[0].neighbors::<'a>() },
        };
        &first[..count.min(first.len())]
    }

    /// The first two neighbors as hints of what to fetch: any numbers where there are fewer, for looking would take longer
    /// than guessing.
    #[inline]
    pub fn head_hints(&self) -> [u32; 2] {
        match self.list {
            // By its address, for the pointer of a slice may not be used beyond the slice.
            // SAFETY: the list has more words than these after it, in the same mapping.
            List::Flat(list) if self.ahead => unsafe { (list.as_ptr() as usize as *const [u32; 2]).read() },
            _ => match *self.head(2) {
                [first, second] => [first, second],
                [first] => [first; 2],
                _ => [0; 2],
            },
        }
    }

    /// Calls `visit` with each neighbor in order and a hint: a number found some places farther on in memory. Lists of a
    /// segment lie end to end, so it mostly is a neighbor that a later list is going to name, in time for what is known
    /// of it to be fetched. But it can be any number at all, and must not change a result.
    #[inline]
    pub fn for_each_ahead(&self, mut visit: impl FnMut(VertexId, u32)) {
        match self.list {
            List::Flat(neighbors) if self.ahead => {
                // By its address, for the pointer of a slice may not be used beyond the slice.
                let start = neighbors.as_ptr() as usize as *const u32;
                for (place, &neighbor) in neighbors.iter().enumerate() {
                    // SAFETY: the list has as many words after it, in the same mapping.
                    visit(neighbor, unsafe { start.add(place + AHEAD).read() });
                }
            }
            _ => self.for_each_slice(|slice| {
                let later = slice.iter().skip(AHEAD).chain(slice.last().into_iter().cycle());
                slice.iter().zip(later).for_each(|(&neighbor, &hint)| visit(neighbor, hint));
            }),
        }
    }

    /// The contiguous pieces in order.
    pub fn slices(&self) -> impl Iterator<Item = &'a [VertexId]> + use<'a> {
        let (flat, chunks): (Option<&'a [VertexId]>, &'a [ChunkRef]) = match self.list {
            List::Flat(neighbors) => (Some(neighbors), &[]),
            List::Chunked(chunks, ..) => (None, chunks),
        };
        // SAFETY: the directory is borrowed from a live version, and so are its chunks.
        flat.into_iter().chain(chunks.iter().map(|chunk| unsafe { chunk.neighbors::<'a>() }))
    }

    /// Calls `visit` with each neighbor in order until it breaks.
    #[inline]
    pub fn try_for_each<B>(&self, mut visit: impl FnMut(VertexId) -> ControlFlow<B>) -> ControlFlow<B> {
        match self.list {
            List::Flat(neighbors) => {
                for &neighbor in neighbors {
                    visit(neighbor)?;
                }
            }
            List::Chunked(chunks, ..) => {
                for chunk in chunks {
                    // SAFETY: the directory is borrowed from a live version, and so are its chunks.
                    for &neighbor in unsafe { chunk.neighbors::<'a>() } {
                        visit(neighbor)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The neighbors one by one.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + use<'a> {
        let (flat, chunks): (&'a [VertexId], &'a [ChunkRef]) = match self.list {
            List::Flat(neighbors) => (neighbors, &[]),
            List::Chunked(chunks, ..) => (&[], chunks),
        };
        // SAFETY: the directory is borrowed from a live version, and so are its chunks.
        flat.iter().chain(chunks.iter().flat_map(|chunk| unsafe { chunk.neighbors::<'a>() })).copied()
    }

    /// Whether `neighbor` is in a list that ascends (`simple` edge types).
    pub fn contains_sorted(&self, neighbor: VertexId) -> bool {
        match self.list {
            List::Flat(neighbors) => neighbors.binary_search(&neighbor).is_ok(),
            List::Chunked(chunks, ..) => {
                let position = chunks.partition_point(|chunk| chunk.first <= neighbor);
                position.checked_sub(1).is_some_and(|position| {
                    // SAFETY: the directory is borrowed from a live version, and so are its chunks.
                    unsafe { chunks[position].neighbors() }.binary_search(&neighbor).is_ok()
                })
            }
        }
    }

    /// All neighbors, copied.
    pub fn to_vec(&self) -> Vec<VertexId> {
        let mut neighbors = Vec::with_capacity(self.len());
        self.for_each_slice(|slice| neighbors.extend_from_slice(slice));
        neighbors
    }
}

impl std::fmt::Debug for Neighbors<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
