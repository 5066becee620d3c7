//! The entry of a vertex table: a neighbor list in one word.
//!
//! ```text
//!  Entry, 8 bytes:   words: 13 bits │ tags and address: 51 bits, as those of a ChunkRef
//!
//!  0              ──► no neighbors
//!  flat           ──► the run; words = its length
//!  forgetting     ──► the run; words = how many neighbors before it were forgotten: 6 bits │ its length: 7 bits
//!  by a directory ──► [degree: u32 | chunk count: u32][ChunkRef × chunk count]; words = how many those are
//!
//!  tags:  compressed │ more  = forgetting, by a directory if shared as well
//! ```
//!
//! Nearly all lists of a graph are short, and what the word says of them is all there is to say. A list has a directory if it
//! lies in several runs, or if its length, or what it has forgotten, takes more bits than there are.
//!
//! Invariants: the word is 0 if, and only if, the list is empty; a directory is a heap block that belongs to its list, and
//! has at least one chunk; a list that fits the word has none.
#![allow(unsafe_code)]

use evergraph_types::VertexId;

use crate::lists::adjacency::{
    AHEAD, CHUNK_MAX, COLUMNS, COMPRESSED, ChunkRef, MORE, RUN_START, SECOND, SHARED, TAGS_END, place_of,
    pointer_of,
};
use crate::lists::neighbors::Neighbors;
use crate::system::prefetch::{LINE, prefetch};

/// What empty lists point to, and can be read after them.
static NOTHING: [VertexId; AHEAD] = [0; AHEAD];

/// The longest list of one run that needs no directory.
const WORDS_MAX: u32 = (1 << (u64::BITS - TAGS_END)) - 1;
/// The longest one that has forgotten neighbors, and how many these may be.
const LEFT_MAX: u32 = (1 << LEFT_BITS) - 1;
const FORGOTTEN_MAX: u32 = WORDS_MAX >> LEFT_BITS;
const LEFT_BITS: u32 = 7;

/// Compressed runs have no more words after them that are known of, so that both tags together say something else.
const FORGETTING: u64 = COMPRESSED | MORE;
const BY_DIRECTORY: u64 = FORGETTING | SHARED;

/// The head of one vertex's neighbor list, as it lies in a vertex table. Meaningless without the version it
/// belongs to: read it through [`FlatTable`](crate::FlatTable) or a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Entry(u64);

const _: () = assert!(size_of::<Entry>() == 8);

/// What a directory begins with.
#[repr(C)]
struct DirectoryHead {
    degree: u32,
    chunks: u32,
}

const HEAD_BYTES: usize = size_of::<DirectoryHead>();

impl Entry {
    /// A list without neighbors.
    pub(crate) const EMPTY: Entry = Entry(0);

    /// A list of one run, or none if the run is empty; `None` if it takes a directory.
    #[inline]
    pub(crate) fn flat(run: ChunkRef) -> Option<Self> {
        let (tags, words) = match run.forgotten() {
            _ if run.len == 0 => return Some(Entry::EMPTY),
            0 if run.len <= WORDS_MAX => (run.address, run.len),
            1..=FORGOTTEN_MAX if run.len <= LEFT_MAX => {
                (run.address | FORGETTING, run.forgotten() << LEFT_BITS | run.len)
            }
            _ => return None,
        };
        Some(Entry(tags | u64::from(words) << TAGS_END))
    }

    /// A short list in a pack, of which what lies before `end` can be read.
    #[inline]
    pub(crate) fn packed(place: *const u8, len: usize, compressed: bool, end: *const u8) -> Self {
        debug_assert!(len <= CHUNK_MAX);
        let tags = SHARED | SECOND | if compressed { COMPRESSED } else { 0 };
        Entry(place_of(place) | tags | (len as u64) << TAGS_END).moved(0, end)
    }

    /// A list in a pack once that was moved by so many bytes.
    #[inline]
    pub(crate) fn moved(self, by: u64, end: *const u8) -> Self {
        let place = (self.pointer() as u64).wrapping_add(by);
        let read_ahead = place.wrapping_add((size_of::<VertexId>() * (self.words() + AHEAD)) as u64);
        let has_more = (self.0 & COMPRESSED == 0) & (read_ahead <= end as u64);
        Entry((self.0 & !MORE).wrapping_add(by) | (MORE * u64::from(has_more)))
    }

    /// The bytes of a directory of so many chunks.
    pub(crate) fn directory_bytes(chunks: usize) -> usize {
        HEAD_BYTES + size_of::<ChunkRef>() * chunks
    }

    /// A list of these runs, with its directory, which is written, at `directory`.
    ///
    /// # Safety
    /// There is room for the directory, aligned to 8 bytes, which nobody reads meanwhile.
    pub(crate) unsafe fn by_directory(directory: *mut u8, runs: &[ChunkRef]) -> Self {
        let degree: usize = runs.iter().map(|run| run.len as usize).sum();
        let head = DirectoryHead { degree: degree as u32, chunks: runs.len() as u32 };
        // SAFETY: by contract.
        unsafe {
            directory.cast::<DirectoryHead>().write(head);
            directory.add(HEAD_BYTES).cast::<ChunkRef>().copy_from_nonoverlapping(runs.as_ptr(), runs.len());
        }
        let words = (Entry::directory_bytes(runs.len()) / size_of::<u32>()).min(WORDS_MAX as usize);
        Entry(place_of(directory) | BY_DIRECTORY | (words as u64) << TAGS_END)
    }

    /// Whether there are no neighbors.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the list has a directory.
    #[inline]
    pub(crate) fn has_directory(self) -> bool {
        self.0 & BY_DIRECTORY == BY_DIRECTORY
    }

    /// Whether neighbors before the run were forgotten, if that is all there is.
    #[inline]
    fn forgets(self) -> bool {
        self.0 & BY_DIRECTORY == FORGETTING
    }

    /// The directory's block address, or where the run lies.
    #[inline]
    pub(crate) fn pointer(self) -> *const u8 {
        pointer_of(self.0)
    }

    /// How many words lie there, if they are few; at least as many as are read first.
    #[inline]
    pub(crate) fn words(self) -> usize {
        (self.0 >> TAGS_END) as usize
    }

    /// The length of a list of a `simple` type in memory, if it is so short, and without properties, that a pack may take it; else 0.
    /// A leaf has all kinds, as good as random, so nothing branches on them.
    #[inline]
    pub(crate) fn packable(self) -> usize {
        debug_assert!(!self.forgets());
        let is_mapped = self.0 & (SHARED | SECOND) == SHARED;
        let has_columns = self.0 & COLUMNS != 0;
        let is_other = self.has_directory() | is_mapped | has_columns | (self.words() > CHUNK_MAX);
        std::hint::select_unpredictable(is_other, 0, self.words())
    }

    /// Whether a list without a directory lies in a pack, and is not compressed.
    #[inline]
    pub(crate) fn is_packed_plain(self) -> bool {
        self.0 & (SHARED | SECOND | COMPRESSED) == SHARED | SECOND
    }

    /// Whether the run of a list without a directory is neither compressed nor has properties.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (COMPRESSED | COLUMNS) == 0
    }

    /// Whether blocks go when the list does: its directory, or what its run lies in.
    #[inline]
    pub(crate) fn owns_blocks(self) -> bool {
        !self.is_empty() & (self.has_directory() | self.is_apart())
    }

    /// A list without a directory, plain, once it was copied to a cluster, so many bytes on, where [`AHEAD`] more words can be read after it.
    #[inline]
    pub(crate) fn copied(self, by: u64) -> Self {
        let place = (self.pointer() as u64).wrapping_add(by);
        Entry(place | SHARED | MORE | (self.words() as u64) << TAGS_END)
    }

    /// Whether a list without a directory lies in a block of its own.
    #[inline]
    pub(crate) fn is_apart(self) -> bool {
        self.0 & SHARED == 0
    }

    /// # Safety
    /// The list has a directory, and the version the entry belongs to is alive.
    #[inline]
    unsafe fn head<'a>(self) -> &'a DirectoryHead {
        debug_assert!(self.has_directory());
        // SAFETY: by contract.
        unsafe { &*self.pointer().cast() }
    }

    /// The number of neighbors.
    ///
    /// # Safety
    /// The version the entry belongs to is alive.
    #[inline]
    pub(crate) unsafe fn degree(self) -> u32 {
        let words = self.words() as u32;
        match self.0 & FORGETTING == FORGETTING {
            false => words,
            true if self.forgets() => words & LEFT_MAX,
            // SAFETY: by contract.
            true => unsafe { self.head() }.degree,
        }
    }

    /// The runs of a list that has a directory.
    ///
    /// # Safety
    /// The version the entry belongs to stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn directory<'a>(self) -> &'a [ChunkRef] {
        // SAFETY: by contract; as many chunk references follow the head as it says.
        unsafe {
            let chunks = self.head().chunks as usize;
            std::slice::from_raw_parts(self.pointer().add(HEAD_BYTES).cast(), chunks)
        }
    }

    /// The run of a list without a directory; an empty one if the list is. Its first neighbor is not filled in.
    #[inline]
    pub(crate) fn run(self) -> ChunkRef {
        debug_assert!(!self.has_directory());
        let (address, words) = (self.0 & ((1 << TAGS_END) - 1), self.words() as u32);
        match self.forgets() {
            true => {
                let address = address & !COMPRESSED;
                ChunkRef { address, len: words & LEFT_MAX, first: words >> LEFT_BITS }
            }
            false => ChunkRef { address, len: words, first: 0 },
        }
    }

    /// The runs of a list as they are; one that is in no directory is put here.
    ///
    /// # Safety
    /// The version the entry belongs to stays alive as long as the result.
    pub(crate) unsafe fn runs(self, single: &mut Option<ChunkRef>) -> &[ChunkRef] {
        if self.has_directory() {
            // SAFETY: by contract.
            return unsafe { self.directory() };
        }
        *single = (!self.is_empty()).then(|| self.run());
        single.as_slice()
    }

    /// The run of a list that has only one, with a directory or without.
    ///
    /// # Safety
    /// The version the entry belongs to is alive.
    pub(crate) unsafe fn only_run(self) -> Option<ChunkRef> {
        if !self.has_directory() {
            return (!self.is_empty()).then(|| self.run());
        }
        // SAFETY: by contract.
        match unsafe { self.directory() } {
            [run] => Some(*run),
            _ => None,
        }
    }

    /// Asks the processor for what a search or a change reads first: lists lie anywhere in memory.
    pub(crate) fn prefetch(self) {
        if self.is_empty() {
            return;
        }
        if self.has_directory() {
            return prefetch(self.pointer(), size_of::<u32>() * self.words());
        }
        let run = self.run();
        run.block().into_iter().for_each(|block| prefetch(block.pointer(), 1));
        prefetch(run.pointer(), if run.has_columns() { RUN_START } else { 128 });
        prefetch(run.pointer().wrapping_add(4 * run.len as usize), 1);
    }

    /// Asks for so many lines of a list, or of its directory, the last one again where there are fewer: how many there are, or
    /// whether there is any, is as good as random, so nothing branches on it.
    #[inline]
    pub(crate) fn prefetch_lines<const LINES: usize>(self) {
        let start = std::hint::select_unpredictable(self.is_empty(), NOTHING.as_ptr().cast(), self.pointer());
        let last = (size_of::<VertexId>() * self.words()).saturating_sub(1);
        (0..LINES).for_each(|line| prefetch(start.wrapping_add(last.min(LINE * line)), 1));
    }

    /// The run of an ascending list that may hold a neighbor.
    ///
    /// # Safety
    /// The version the entry belongs to is alive.
    pub(crate) unsafe fn run_around(self, neighbor: VertexId) -> Option<ChunkRef> {
        // SAFETY: by contract.
        if let Some(run) = unsafe { self.only_run() } {
            return Some(run);
        }
        if self.is_empty() {
            return None;
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
        if self.0 & COMPRESSED != 0 {
            if self.has_directory() {
                // SAFETY: by contract.
                let (chunks, degree) = unsafe { (self.directory(), self.head().degree) };
                return match chunks {
                    // SAFETY: by contract; a compressed run fits the word.
                    [run] => Neighbors::flat(unsafe { run.neighbors() }, run.has_more()),
                    // SAFETY: by contract.
                    _ => unsafe { Neighbors::chunked(chunks, degree) },
                };
            }
            return match self.forgets() {
                // SAFETY: by contract; a run that forgets is not compressed.
                true => Neighbors::flat(unsafe { self.run().neighbors() }, false),
                // SAFETY: by contract.
                false => unsafe { Neighbors::compressed(self.run()) },
            };
        }
        // Whether a list is empty is as good as random, so nothing branches on it.
        let is_empty = self.is_empty();
        let pointer = std::hint::select_unpredictable(is_empty, NOTHING.as_ptr(), self.pointer().cast());
        let ahead = (self.0 & (SHARED | MORE) == SHARED | MORE) | is_empty;
        // SAFETY: the list has so many neighbors from its pointer on, 4-byte aligned, alive by contract.
        Neighbors::flat(unsafe { std::slice::from_raw_parts(pointer, self.words()) }, ahead)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs of every kind, at addresses from end to end.
    fn run() -> impl Strategy<Value = ChunkRef> {
        let place = (1u64..1 << 46).prop_map(|words| (4 * words) as *const u8);
        let len = prop_oneof![1..=LEFT_MAX + 1, WORDS_MAX - 1..=WORDS_MAX + 1, 1..=u32::MAX];
        let forgotten = prop_oneof![1..=FORGOTTEN_MAX + 1, 1..=u32::MAX];
        (place, len, forgotten, 0..7, any::<bool>()).prop_map(|(place, len, forgotten, kind, columns)| {
            use crate::lists::adjacency::tag;
            let plain = ChunkRef { address: tag(place, false, columns && kind != 4), len, first: 0 };
            let shared = ChunkRef { address: tag(place, true, columns), ..plain };
            match kind {
                0 => plain,
                1 => plain.compressed(true),
                2 => shared.with_more(true),
                3 => shared.compressed(true),
                4 => ChunkRef { address: plain.address | SECOND, ..plain },
                5 => ChunkRef { address: plain.address | MORE, first: forgotten, ..plain },
                _ => ChunkRef { address: shared.address | SECOND, ..shared },
            }
        })
    }

    proptest! {
        /// What a word says of a list is what was put into it.
        #[test]
        fn a_word_tells_its_run(run in run()) {
            if let Some(entry) = Entry::flat(run) {
                prop_assert_eq!(entry.run(), run);
                prop_assert!(!entry.is_empty() && !entry.has_directory());
                // SAFETY: there is no directory that it could lie in.
                prop_assert_eq!(unsafe { (entry.degree(), entry.only_run()) }, (run.len, Some(run)));
                prop_assert!(entry.words() >= run.len as usize);
            } else {
                prop_assert!(run.len > LEFT_MAX || run.forgotten() > FORGOTTEN_MAX);
            }
        }

        /// What a directory says is what was put into it, whatever the runs are.
        #[test]
        fn a_directory_tells_its_runs(runs in prop::collection::vec(run(), 1..20)) {
            let runs: Vec<ChunkRef> = runs.into_iter().map(|run| ChunkRef { len: run.len >> 5, ..run }).collect();
            let mut room = vec![0u64; Entry::directory_bytes(runs.len()) / 8];
            // SAFETY: there is room, and nobody else reads it.
            unsafe {
                let entry = Entry::by_directory(room.as_mut_ptr().cast(), &runs);
                prop_assert!(entry.has_directory() && !entry.is_empty());
                prop_assert_eq!(entry.directory(), &runs[..]);
                prop_assert_eq!(entry.degree(), runs.iter().map(|run| run.len).sum::<u32>());
                prop_assert_eq!(entry.only_run(), (runs.len() == 1).then(|| runs[0]));
                prop_assert!(size_of::<u32>() * entry.words() >= 16);
            }
        }
    }
}
