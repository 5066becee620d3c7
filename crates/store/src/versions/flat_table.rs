//! A vertex table laid out for whole-graph work: the pages of one version, in order, each found in one step.
//!
//! ```text
//!  vertex ─► pages[vertex / 64] ─► cells of a leaf of the version, or a copy of them: [vertex % 64] ─► list
//! ```
//!
//! Leaves that an archive or a load has written lie end to end, and of these only the places are noted: a pointer for 64 vertices, little
//! even beside one pass over the vertices. Those that commits have copied since lie anywhere in memory, which each pass would wait for
//! again: their cells are copied side by side, once.
//!
//! Invariants: `owner` keeps alive the pages and every byte their entries reach; a cell without a value is the empty
//! list.
#![allow(unsafe_code)]

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use evergraph_disk::Pass;
use evergraph_segment::Segment;
use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::lists::adjacency::{AHEAD, CHUNK_MAX, ChunkRef, tag};
use crate::lists::entry::Entry;
use crate::lists::neighbors::Neighbors;
use crate::lists::paged_array::{LEAF_CELLS, Leaf, PagedArray};
use crate::system::pool::in_pool;
use crate::system::prefetch::prefetch;

/// The entries of 64 vertices.
pub(crate) type Page = [Entry; LEAF_CELLS as usize];

pub(crate) static EMPTY_PAGE: Page = [Entry::EMPTY; LEAF_CELLS as usize];

/// Leaves that begin so near behind the one before lie end to end with it.
const STRIDE_MAX: usize = 2 * size_of::<Leaf<Entry>>();

/// One in so many vertices is in a sample.
pub(crate) const SAMPLED_OF: VertexId = 8;

/// So many pages are worth a parallel task to copy.
const PAGES_PER_TASK: usize = 1 << 9;

/// Lists this far apart are asked for together: to read what is between them costs less than to ask twice.
const GAP_BYTES: usize = 1 << 13;

/// How many cache lines of a list a pass asks for, and how much of the first run of a list in chunks.
const START_LINES: usize = 4;
const RUN_BYTES: usize = 4 * CHUNK_MAX;

/// The list of each vertex id, and whatever keeps the lists alive.
#[derive(Clone)]
pub struct FlatTable {
    pages: Arc<[&'static Page]>,
    len: usize,
    /// Segments that lists lie in, if whoever passes over them is to ask for what comes next.
    cold: Arc<[Arc<Segment>]>,
    _owner: Arc<dyn Any + Send + Sync>,
}

/// How much of a table a pass reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Most lists, in the order of vertices.
    Most,
    /// Some lists here and there.
    Some,
}

/// A pass over lists of which some are not in memory ([`FlatTable::pass`]). All it does are hints to the system.
pub struct ListPass<'t> {
    table: &'t FlatTable,
    /// For each cold segment, whether it is read in large pieces meanwhile.
    in_pieces: Vec<Option<Pass>>,
}

impl ListPass<'_> {
    /// Has the system fetch the lists of these vertices, which ascend, without waiting for them. Lists that lie side by side
    /// are asked for together; those in memory not at all, nor those that fill half of the place they lie in, if the pass
    /// reads in large pieces.
    pub fn will_need(&self, vertices: impl Iterator<Item = VertexId>) {
        let mut places: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.table.cold.len()];
        self.table.for_each_place(vertices, |position, place| places[position].push(place));
        for ((segment, in_pieces), places) in self.table.cold.iter().zip(&self.in_pieces).zip(places) {
            let start = places.iter().map(|place| place.start).min().unwrap_or(0);
            let end = places.iter().map(|place| place.end).max().unwrap_or(0);
            let wanted: usize = places.iter().map(|place| place.len()).sum();
            if in_pieces.is_none() || 2 * wanted < end - start {
                places.into_iter().for_each(|place| segment.will_need(place));
            }
        }
    }

    /// Tells the system that the lists of these vertices, which ascend, will not be read again soon.
    pub fn release(&self, vertices: impl Iterator<Item = VertexId>) {
        self.table.for_each_place(vertices, |position, place| match &self.in_pieces[position] {
            Some(pass) => pass.release(place),
            None => self.table.cold[position].release(place),
        });
    }
}

impl FlatTable {
    /// The ids below `len` of a table that `owner` keeps alive.
    ///
    /// # Safety
    /// `owner` keeps alive the table's pages and everything their entries reach.
    pub(crate) unsafe fn new(
        table: &PagedArray<Entry>,
        len: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let mut pages = vec![&EMPTY_PAGE; len.div_ceil(LEAF_CELLS as usize)];
        table.for_each_leaf(&mut |base, leaf| {
            if let Some(place) = pages.get_mut((base / LEAF_CELLS) as usize) {
                // SAFETY: the owner keeps the leaf alive; it is given out only while `self` is borrowed.
                *place = unsafe { &*std::ptr::from_ref(&leaf.cells) };
            }
        });
        let copies = copy_scattered(&mut pages);
        FlatTable { pages: pages.into(), len, cold: Arc::default(), _owner: Arc::new((owner, copies)) }
    }

    /// The same, with those of the segments its lists lie in that are not in memory.
    pub(crate) fn with_segments(self, segments: &[Arc<Segment>]) -> Self {
        FlatTable { cold: segments.iter().filter(|segment| segment.is_cold()).cloned().collect(), ..self }
    }

    /// Whether lists are on disk rather than in memory, so that it pays to say which will be read next.
    #[inline]
    pub fn is_cold(&self) -> bool {
        !self.cold.is_empty()
    }

    /// Begins a pass over lists of which some are not in memory.
    pub fn pass(&self, reads: Reads) -> ListPass<'_> {
        let pass = |segment: &Arc<Segment>| (reads == Reads::Most).then(|| segment.pass()).flatten();
        ListPass { table: self, in_pieces: self.cold.iter().map(pass).collect() }
    }

    /// Calls `visit` with the places where lists of these vertices lie in cold segments, those side by side as one, and
    /// with the position of the segment among them.
    fn for_each_place(
        &self,
        vertices: impl Iterator<Item = VertexId>,
        mut visit: impl FnMut(usize, Range<usize>),
    ) {
        let mut wanted: Vec<Range<usize>> = vec![0..0; self.cold.len()];
        let mut want = |run: ChunkRef| {
            let address = run.pointer() as usize;
            let places = self.cold.iter().zip(&mut wanted).enumerate();
            for (position, (segment, wanted)) in places.filter(|_| run.is_mapped()) {
                let Some(start) = address.checked_sub(segment.data().as_ptr() as usize) else { continue };
                if start >= segment.data().len() {
                    continue;
                }
                let end = start + 4 * run.len as usize;
                if wanted.start == wanted.end {
                    *wanted = start..end;
                } else if start < wanted.start || start > wanted.end + GAP_BYTES {
                    visit(position, std::mem::replace(wanted, start..end));
                } else {
                    wanted.end = wanted.end.max(end);
                }
            }
        };
        for vertex in vertices {
            let mut single = None;
            // SAFETY: the owner keeps the lists alive as long as `self` is borrowed.
            unsafe { self.entry(vertex).runs(&mut single) }.iter().for_each(|run| want(*run));
        }
        let last = wanted.into_iter().enumerate().filter(|(_, wanted)| !wanted.is_empty());
        last.for_each(|(position, wanted)| visit(position, wanted));
    }

    /// A table over plain arrays: the neighbors of vertex `v` are `neighbors[offsets[v]..offsets[v + 1]]`.
    ///
    /// # Panics
    /// If the offsets do not ascend from 0 to `neighbors.len()`, or a list is longer than 2^32 - 1.
    pub fn from_csr(offsets: &[u64], neighbors: Vec<VertexId>) -> Self {
        Self::from_csr_chunked(offsets, neighbors, usize::MAX)
    }

    /// As [`FlatTable::from_csr`], with lists of more than `chunk_len` neighbors chunked, as a store keeps them in
    /// memory: for algorithms to be tested and measured on that shape.
    ///
    /// # Panics
    /// As [`FlatTable::from_csr`], and if `chunk_len` is 0.
    pub fn from_csr_chunked(offsets: &[u64], mut neighbors: Vec<VertexId>, chunk_len: usize) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.last() == Some(&(neighbors.len() as u64)), "offsets");
        neighbors.resize(neighbors.len() + AHEAD, 0);
        let mut directories: Vec<Vec<u64>> = Vec::new();
        let entries = offsets.windows(2).map(|bounds| {
            let list = &neighbors[bounds[0] as usize..bounds[1] as usize];
            match list.len() <= chunk_len {
                true => entry_of(list, &mut directories),
                false => by_directory(&list.chunks(chunk_len).map(run).collect::<Vec<_>>(), &mut directories),
            }
        });
        let mut pages: Vec<Page> = vec![EMPTY_PAGE; offsets.len().div_ceil(LEAF_CELLS as usize)];
        let cells = pages.as_flattened_mut().iter_mut();
        cells.zip(entries).for_each(|(cell, entry)| *cell = entry);
        // SAFETY: the owner keeps the pages where they are.
        let places = pages.iter().map(|page| unsafe { &*std::ptr::from_ref(page) }).collect();
        FlatTable {
            pages: places,
            len: offsets.len() - 1,
            cold: Arc::default(),
            _owner: Arc::new((pages, directories, neighbors)),
        }
    }

    /// One past the largest vertex id.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no vertex id.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of neighbors of `vertex`.
    ///
    /// # Panics
    /// If `vertex` is 64 or more beyond [`FlatTable::len`]; before that there are none.
    #[inline]
    pub fn degree(&self, vertex: VertexId) -> usize {
        // SAFETY: the owner keeps directories alive as long as `self` is borrowed.
        unsafe { self.entry(vertex).degree() as usize }
    }

    /// Whether `vertex` has neighbors.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    #[inline]
    pub fn has_neighbors(&self, vertex: VertexId) -> bool {
        !self.entry(vertex).is_empty()
    }

    /// The neighbors of `vertex`.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    #[inline]
    pub fn neighbors(&self, vertex: VertexId) -> Neighbors<'_> {
        // SAFETY: the owner keeps the lists alive as long as `self` is borrowed.
        unsafe { self.entry(vertex).neighbors() }
    }

    /// The neighbors of each vertex of a range, in order: the way to pass over many.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    #[inline]
    pub fn lists(&self, range: Range<VertexId>) -> impl Iterator<Item = Neighbors<'_>> {
        // SAFETY: the owner keeps the lists alive as long as `self` is borrowed.
        self.entries::<false>(range).map(|entry| unsafe { entry.neighbors() })
    }

    /// As [`FlatTable::lists`], where lists lie anywhere: with each page of 64 vertices the lists of the next are asked for.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    #[inline]
    pub fn lists_ahead(&self, range: Range<VertexId>) -> impl Iterator<Item = Neighbors<'_>> {
        // SAFETY: the owner keeps the lists alive as long as `self` is borrowed.
        self.entries::<true>(range).map(|entry| unsafe { entry.neighbors() })
    }

    /// The lists of 64 vertices in a row, then again of 64 some way behind, in order: enough to tell how the lists of a range lie.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    pub fn samples(
        &self,
        range: Range<VertexId>,
    ) -> impl Iterator<Item = impl Iterator<Item = Neighbors<'_>>> {
        let first = range.clone().step_by((SAMPLED_OF * LEAF_CELLS) as usize);
        first.map(move |first| self.lists(first..range.end.min(first.saturating_add(LEAF_CELLS))))
    }

    /// The number of neighbors of each vertex of a range, in order.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    #[inline]
    pub fn degrees(&self, range: Range<VertexId>) -> impl Iterator<Item = usize> {
        // SAFETY: the owner keeps directories alive as long as `self` is borrowed.
        self.entries::<false>(range).map(|entry| unsafe { entry.degree() as usize })
    }

    /// Asks the processor for the entry of a vertex: pages that a commit has copied lie anywhere in memory. Nothing for a
    /// vertex out of range, here and below.
    #[inline]
    pub fn prefetch_entry(&self, vertex: VertexId) {
        if let Some(page) = self.page(vertex) {
            prefetch(std::ptr::from_ref(&page[(vertex % LEAF_CELLS) as usize]).cast(), 1);
        }
    }

    /// Asks for all entries of the page of a vertex.
    #[inline]
    pub fn prefetch_page(&self, vertex: VertexId) {
        if let Some(page) = self.page(vertex) {
            prefetch(page.as_ptr().cast(), size_of_val(page));
        }
    }

    /// Asks for the start of a list, or of its directory, whole cache lines up to so many bytes. That takes a look at the entry.
    #[inline]
    pub fn prefetch_list(&self, vertex: VertexId, bytes_max: usize) {
        if let Some(page) = self.page(vertex) {
            let entry = page[(vertex % LEAF_CELLS) as usize];
            prefetch(entry.pointer(), bytes_max.min(4 * entry.words()));
        }
    }

    /// Whether a list lies in runs that a directory lists.
    ///
    /// # Panics
    /// As [`FlatTable::degree`].
    #[inline]
    pub fn is_in_runs(&self, vertex: VertexId) -> bool {
        self.entry(vertex).has_directory()
    }

    /// Asks for the first line of a list that lies in runs, once its directory has come.
    ///
    /// # Panics
    /// As [`FlatTable::degree`], and if there is no directory.
    #[inline]
    pub fn prefetch_run(&self, vertex: VertexId) {
        // SAFETY: the owner keeps the directories alive as long as `self` is borrowed.
        prefetch(unsafe { self.entry(vertex).directory() }[0].pointer(), 1);
    }

    /// The pages, in order.
    pub(crate) fn pages(&self) -> &[&'static Page] {
        &self.pages
    }

    /// The same with other pages, which `owner` keeps alive with what their entries reach beyond that of this table.
    pub(crate) fn with_pages(&self, pages: Vec<&'static Page>, owner: Arc<dyn Any + Send + Sync>) -> Self {
        FlatTable { pages: pages.into(), _owner: Arc::new((self._owner.clone(), owner)), ..self.clone() }
    }

    #[inline]
    fn page(&self, vertex: VertexId) -> Option<&'static Page> {
        self.pages.get((vertex / LEAF_CELLS) as usize).copied()
    }

    pub(crate) fn entries<const ASKS: bool>(&self, range: Range<VertexId>) -> Entries<'_, ASKS> {
        Entries { pages: &self.pages, cells: [].iter(), next: range.start, end: range.end }
    }

    #[inline]
    fn entry(&self, vertex: VertexId) -> Entry {
        self.pages[(vertex / LEAF_CELLS) as usize][(vertex % LEAF_CELLS) as usize]
    }
}

/// Entries of a range of vertices, a leaf page at a time. If it `ASKS`, lists lie anywhere in memory:
///
/// ```text
///   page read        one on                  two on
///   first runs       starts of lists         entries          are asked for when the page is turned
/// ```
pub(crate) struct Entries<'a, const ASKS: bool> {
    pages: &'a [&'static Page],
    /// What is left of the page before `next`.
    cells: std::slice::Iter<'a, Entry>,
    next: VertexId,
    end: VertexId,
}

impl<const ASKS: bool> Entries<'_, ASKS> {
    /// Goes on to the next page, if there is one, and asks for those behind: pages lie anywhere in memory.
    #[inline(never)]
    fn turn_page(&mut self) {
        if self.next >= self.end {
            return;
        }
        let page = (self.next / LEAF_CELLS) as usize;
        if ASKS {
            self.ask_for_lists(page);
        }
        if let Some(beyond) = self.pages.get(page + if ASKS { 2 } else { 1 }) {
            prefetch(beyond.as_ptr().cast(), size_of_val(*beyond));
        }
        let first = self.next % LEAF_CELLS;
        let last = LEAF_CELLS.min(first + (self.end - self.next));
        self.next += last - first;
        self.cells = self.pages[page][first as usize..last as usize].iter();
    }

    /// Asks for the first runs of lists in chunks of this page, whose directories have come, and for the starts of the next
    /// page's lists.
    fn ask_for_lists(&self, page: usize) {
        for entry in self.pages[page].iter().filter(|entry| entry.has_directory()) {
            // SAFETY: the owner keeps the lists alive as long as the table is borrowed.
            let run = unsafe { entry.directory() }[0];
            prefetch(run.pointer(), RUN_BYTES.min(4 * run.len as usize));
        }
        let next = self.pages.get(page + 1).into_iter();
        next.copied().flatten().for_each(|entry| entry.prefetch_lines::<START_LINES>());
    }
}

impl<const ASKS: bool> Iterator for Entries<'_, ASKS> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        if let Some(entry) = self.cells.next() {
            return Some(*entry);
        }
        self.turn_page();
        self.cells.next().copied()
    }

    /// Page by page: what is folded stays in registers from cell to cell.
    #[inline]
    fn fold<B, F: FnMut(B, Entry) -> B>(mut self, init: B, mut step: F) -> B {
        let mut folded = init;
        loop {
            folded = self.cells.by_ref().fold(folded, |folded, entry| step(folded, *entry));
            self.turn_page();
            if self.cells.len() == 0 {
                return folded;
            }
        }
    }
}

/// Has the places of pages that do not lie near behind the one before lead to copies, which lie side by side, and gives these.
fn copy_scattered(pages: &mut [&'static Page]) -> Vec<Page> {
    let place = |page: Option<&&'static Page>| page.map_or(0, |page| page.as_ptr() as usize);
    let mut scattered: Vec<usize> = Vec::new();
    let mut follows = false;
    for at in 0..pages.len() {
        let is_followed = place(pages.get(at + 1)).wrapping_sub(place(pages.get(at))) <= STRIDE_MAX;
        if !follows && !is_followed {
            scattered.push(at);
        }
        follows = is_followed;
    }
    let copies: Vec<Page> = match scattered.len() {
        0..=PAGES_PER_TASK => scattered.iter().map(|&at| *pages[at]).collect(),
        _ => in_pool(|| scattered.par_iter().with_min_len(PAGES_PER_TASK).map(|&at| *pages[at]).collect()),
    };
    for (copy, at) in copies.iter().zip(scattered) {
        // SAFETY: the owner keeps the copies where they are.
        pages[at] = unsafe { &*std::ptr::from_ref(copy) };
    }
    copies
}

/// The entry of a list after which [`AHEAD`] more words can be read; its directory, if it takes one, is put with the others.
pub(crate) fn entry_of(list: &[VertexId], directories: &mut Vec<Vec<u64>>) -> Entry {
    let run = run(list).with_more(true);
    Entry::flat(run).unwrap_or_else(|| by_directory(&[run], directories))
}

fn by_directory(runs: &[ChunkRef], directories: &mut Vec<Vec<u64>>) -> Entry {
    let mut directory = vec![0; Entry::directory_bytes(runs.len()) / size_of::<u64>()];
    // SAFETY: there is room, nobody else knows of it, and whoever keeps the directories keeps it where it is.
    let entry = unsafe { Entry::by_directory(directory.as_mut_ptr().cast(), runs) };
    directories.push(directory);
    entry
}

fn run(list: &[VertexId]) -> ChunkRef {
    let len = u32::try_from(list.len()).unwrap_or_else(|_| panic!("a list is too long"));
    ChunkRef {
        address: tag(list.as_ptr().cast(), true, false),
        len,
        first: list.first().copied().unwrap_or(0),
    }
}

impl std::fmt::Debug for FlatTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FlatTable({} vertices)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_lie_by_themselves_are_copied_and_say_the_same() {
        let page = |number: usize| Entry::packed((4 * number) as *const u8, 1, false, std::ptr::null());
        let end_to_end: Vec<Leaf<Entry>> = (0..2 * PAGES_PER_TASK)
            .map(|number| {
                // SAFETY: zeros are a leaf without values.
                let mut leaf: Leaf<Entry> = unsafe { std::mem::zeroed() };
                leaf.cells = [page(number); LEAF_CELLS as usize];
                leaf
            })
            .collect();
        let place = |number: usize| -> &'static Page {
            // SAFETY: the leaves outlive the test's use of the place.
            unsafe { &*std::ptr::from_ref(&end_to_end[number].cells) }
        };
        // The first half as they lie; the others backwards, each far from its neighbors.
        let half = PAGES_PER_TASK;
        for scattered in [0, 1, 5, half - 1] {
            let order: Vec<usize> =
                (0..half).chain((0..scattered).map(|step| 2 * half - 1 - 3 * step % half)).collect();
            let mut pages: Vec<&Page> = order.iter().map(|&number| place(number)).collect();
            let copies = copy_scattered(&mut pages);
            assert_eq!(copies.len(), scattered);
            for (position, (&now, &number)) in pages.iter().zip(&order).enumerate() {
                assert_eq!(now, &[page(number); LEAF_CELLS as usize]);
                assert_eq!(std::ptr::eq(now, place(number)), position < half);
            }
        }
    }

    /// Where lists of these lengths begin that lie end to end, and where the last one ends.
    fn offsets_of(degrees: impl Iterator<Item = usize>) -> Vec<u64> {
        let ends = degrees.scan(0, |end, degree| {
            *end += degree as u64;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    #[test]
    fn lists_are_the_same_folded_and_one_by_one() {
        let degrees = |range: Range<VertexId>| range.map(|vertex| vertex as usize % 5);
        let offsets = offsets_of(degrees(0..200));
        let table = FlatTable::from_csr(&offsets, (0..offsets[200] as VertexId).collect());
        for range in [0..200, 5..70, 63..65, 64..128, 127..128, 10..10] {
            for taken in 0..=range.len().min(66) {
                let mut lists = table.lists(range.clone());
                let mut found: Vec<usize> = lists.by_ref().take(taken).map(|list| list.len()).collect();
                lists.for_each(|list| found.push(list.len()));
                assert!(degrees(range.clone()).eq(found), "{range:?}, {taken} one by one");
            }
        }
    }

    #[test]
    fn lists_read_the_same_with_hints_in_any_shape() {
        let degrees = [0, 1, 2, 3, 0, 200, 97, 0, 96, 1];
        let offsets = offsets_of(degrees.into_iter());
        let neighbors: Vec<VertexId> = (0..degrees.iter().sum::<usize>() as VertexId).rev().collect();
        for chunk_len in [1, 2, 50, 100, usize::MAX] {
            let table = FlatTable::from_csr_chunked(&offsets, neighbors.clone(), chunk_len);
            for (vertex, bounds) in (0..).zip(offsets.windows(2)) {
                let (list, expected) =
                    (table.neighbors(vertex), &neighbors[bounds[0] as usize..bounds[1] as usize]);
                for ahead in [0, 32, AHEAD, usize::MAX] {
                    let found = list.fold_ahead(ahead, Vec::new(), |mut found, neighbor, _| {
                        found.push(neighbor);
                        found
                    });
                    assert_eq!(found, expected);
                    if let Some(hinted) = list.hinted(ahead) {
                        let pairs = hinted.fold_pairs(
                            Vec::new(),
                            |found, pair| [found, pair.to_vec()].concat(),
                            |found, last| [found, vec![last]].concat(),
                        );
                        assert!(hinted.iter().eq(pairs));
                        assert!(hinted.iter().map(|(neighbor, _)| neighbor).eq(found));
                    }
                }
                let head = list.head();
                assert!(expected.starts_with(&head) && head.is_empty() == expected.is_empty());
                let hints = list.head_hints();
                assert!(head.first().is_none_or(|&first| first == hints[0]));
            }
        }
    }
}
