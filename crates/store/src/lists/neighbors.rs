//! A neighbor list for reading, however it lies in memory: in one slice, in chunks, compressed.
//!
//! Compressed runs are decoded into a buffer of one run on the stack while they are read, so that no list is copied.
//!
//! Invariant: whoever makes a list from chunks keeps them and their directory alive for `'a`.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::ControlFlow;

use evergraph_types::VertexId;

use crate::lists::adjacency::{AHEAD, ChunkRef};
use crate::lists::compression::{BLOCK, RunBuffer};
use crate::system::prefetch::{LINE, prefetch};

/// As many neighbors as a cache line holds.
const LINE_NEIGHBORS: usize = LINE / size_of::<VertexId>();

/// As many neighbors as a page of memory holds. A processor sees what is read in order coming by itself, but only to the end of a page.
const PAGE_NEIGHBORS: usize = 4096 / size_of::<VertexId>();

#[derive(Clone, Copy)]
enum List<'a> {
    Flat(&'a [VertexId]),
    Chunked(&'a [ChunkRef], u32),
    Compressed(ChunkRef, PhantomData<&'a [VertexId]>),
}

/// The neighbors of one vertex in one direction, borrowed from a version.
#[derive(Clone, Copy)]
pub struct Neighbors<'a> {
    list: List<'a>,
    /// Whether [`AHEAD`] more words can be read after a flat list.
    ahead: bool,
}

/// Neighbors that lie end to end, each with a hint: a vertex of which something is worth fetching meanwhile.
#[derive(Clone, Copy)]
pub struct Hinted<'a> {
    neighbors: &'a [VertexId],
    /// As many words as there are neighbors.
    hints: *const u32,
}

impl<'a> Hinted<'a> {
    /// Some neighbors with hints that are at hand.
    ///
    /// # Panics
    /// If there are fewer hints.
    #[inline]
    pub fn new(neighbors: &'a [VertexId], hints: &'a [u32]) -> Self {
        Hinted { neighbors, hints: hints[..neighbors.len()].as_ptr() }
    }

    /// The hints are the words so many places ahead.
    ///
    /// # Safety
    /// As many words can be read after the run.
    #[inline]
    unsafe fn ahead(run: &'a [VertexId], ahead: usize) -> Self {
        // By its address, for the pointer of a slice may not be used beyond the slice.
        Hinted { neighbors: run, hints: (run.as_ptr() as usize + size_of::<u32>() * ahead) as *const u32 }
    }

    /// Each neighbor in order, with its hint.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (VertexId, u32)> + use<'a> {
        // SAFETY: the hint of the place.
        self.neighbors
            .iter()
            .enumerate()
            .map(move |(place, &neighbor)| (neighbor, unsafe { self.hint(place) }))
    }

    /// Takes a state through the neighbors in order, two at a time and then one if their number is odd. What lies a page behind them is
    /// asked for, since it is going to be read in a pass over many lists.
    #[inline]
    pub fn fold_pairs<S>(
        self,
        mut state: S,
        two: impl Fn(S, [(VertexId, u32); 2]) -> S,
        one: impl FnOnce(S, (VertexId, u32)) -> S,
    ) -> S {
        let (pairs, last) = self.neighbors.as_chunks::<2>();
        for (pair, neighbors) in pairs.iter().enumerate() {
            prefetch(self.neighbors.as_ptr().wrapping_add(2 * pair + PAGE_NEIGHBORS).cast(), 1);
            // SAFETY: the hints of the two.
            let hints = unsafe { [self.hint(2 * pair), self.hint(2 * pair + 1)] };
            state = two(state, [(neighbors[0], hints[0]), (neighbors[1], hints[1])]);
        }
        match last {
            // SAFETY: the last hint.
            [last] => one(state, (*last, unsafe { self.hint(self.neighbors.len() - 1) })),
            _ => state,
        }
    }

    /// # Safety
    /// There is a neighbor at this place.
    #[inline]
    unsafe fn hint(self, place: usize) -> u32 {
        // SAFETY: there are as many hints as neighbors, and they are read while the neighbors are borrowed.
        unsafe { self.hints.add(place).read() }
    }
}

/// The first neighbors of a list, two at the most.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    neighbors: [VertexId; 2],
    len: usize,
}

impl std::ops::Deref for Head {
    type Target = [VertexId];

    #[inline]
    fn deref(&self) -> &[VertexId] {
        &self.neighbors[..self.len]
    }
}

impl Head {
    #[inline]
    fn of(list: &[VertexId]) -> Self {
        match *list {
            [first, second, ..] => Head { neighbors: [first, second], len: 2 },
            [first] => Head { neighbors: [first; 2], len: 1 },
            [] => Head { neighbors: [0; 2], len: 0 },
        }
    }
}

impl<'a> Neighbors<'a> {
    /// A list that lies in one slice.
    #[inline]
    pub fn from_slice(neighbors: &'a [VertexId]) -> Self {
        Neighbors { list: List::Flat(neighbors), ahead: false }
    }

    /// A list that lies in one slice, after which [`AHEAD`] more words can be read if `ahead`.
    #[inline]
    pub(crate) fn flat(neighbors: &'a [VertexId], ahead: bool) -> Self {
        Neighbors { list: List::Flat(neighbors), ahead }
    }

    /// A list of one compressed run.
    ///
    /// # Safety
    /// The run stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn compressed(run: ChunkRef) -> Self {
        Neighbors { list: List::Compressed(run, PhantomData), ahead: false }
    }

    /// A list of so many neighbors in chunks.
    ///
    /// # Safety
    /// The chunks stay alive for `'a`.
    #[inline]
    pub(crate) unsafe fn chunked(chunks: &'a [ChunkRef], degree: u32) -> Self {
        Neighbors { list: List::Chunked(chunks, degree), ahead: false }
    }

    /// The number of neighbors (of edges: parallel edges count each).
    #[inline]
    pub fn len(&self) -> usize {
        match self.list {
            List::Flat(neighbors) => neighbors.len(),
            List::Chunked(_, degree) => degree as usize,
            List::Compressed(run, _) => run.len as usize,
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole list, where it lies in one piece as it is.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [VertexId]> {
        match self.list {
            List::Flat(neighbors) => Some(neighbors),
            _ => None,
        }
    }

    /// Whether a part of the list is compressed.
    pub(crate) fn is_compressed(&self) -> bool {
        self.runs().iter().any(|run| run.is_compressed())
    }

    /// The runs of a list that is not flat.
    #[inline]
    fn runs(&self) -> &[ChunkRef] {
        match &self.list {
            List::Flat(_) => &[],
            List::Chunked(chunks, _) => chunks,
            List::Compressed(run, _) => std::slice::from_ref(run),
        }
    }

    /// Calls `visit` with each contiguous piece in order: the way to scan a list at memory speed.
    #[inline]
    pub fn for_each_slice(&self, mut visit: impl FnMut(&[VertexId])) {
        match self.list {
            List::Flat(neighbors) => visit(neighbors),
            _ => self.for_each_run(visit),
        }
    }

    /// By itself, so that scans of flat lists have no room for a run on their stack.
    #[inline(never)]
    fn for_each_run(&self, mut visit: impl FnMut(&[VertexId])) {
        let mut buffer = RunBuffer::new();
        for (place, run) in self.runs().iter().enumerate() {
            ask_for(self.runs().get(place + 1));
            // SAFETY: the runs of a list are alive while it is.
            visit(unsafe { run.read(&mut buffer) });
        }
    }

    /// Calls `visit` with each contiguous piece in order until it breaks.
    #[inline]
    pub fn try_for_each_slice<B>(
        &self,
        mut visit: impl FnMut(&[VertexId]) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match self.list {
            List::Flat(neighbors) => visit(neighbors),
            _ => self.try_for_each_run(visit),
        }
    }

    #[inline(never)]
    fn try_for_each_run<B>(&self, mut visit: impl FnMut(&[VertexId]) -> ControlFlow<B>) -> ControlFlow<B> {
        let mut buffer = RunBuffer::new();
        for (place, run) in self.runs().iter().enumerate() {
            if run.is_compressed() {
                // SAFETY: the runs of a list are alive while it is.
                let mut decoder = unsafe { run.decoder() };
                while let block @ [_, ..] = decoder.next(&mut buffer) {
                    visit(block)?;
                }
            } else {
                // Most searches end in the first line; only who gets past it needs the next run.
                // SAFETY: as above.
                let neighbors = unsafe { run.neighbors() };
                let (line, rest) = neighbors.split_at(neighbors.len().min(LINE_NEIGHBORS));
                visit(line)?;
                ask_for(self.runs().get(place + 1));
                if !rest.is_empty() {
                    visit(rest)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Calls `visit` with each neighbor in order until it breaks.
    #[inline]
    pub fn try_for_each<B>(&self, mut visit: impl FnMut(VertexId) -> ControlFlow<B>) -> ControlFlow<B> {
        self.try_for_each_slice(|slice| slice.iter().try_for_each(|&neighbor| visit(neighbor)))
    }

    /// The first two neighbors; fewer, but at least one, where the list lies in pieces.
    #[inline]
    pub fn head(&self) -> Head {
        match self.list {
            List::Flat(neighbors) => Head::of(neighbors),
            _ => self.head_of_runs(),
        }
    }

    fn head_of_runs(&self) -> Head {
        if let Some(run) = self.runs().first().filter(|run| !run.is_compressed()) {
            // SAFETY: the runs of a list are alive while it is.
            return Head::of(unsafe { run.neighbors() });
        }
        let mut head = Head::of(&[]);
        let _ = self.try_for_each_slice(|slice| {
            head = Head::of(slice);
            ControlFlow::Break(())
        });
        head
    }

    /// The first two neighbors as hints of what to fetch: any numbers where there are fewer, for looking would take longer
    /// than guessing.
    #[inline]
    pub fn head_hints(&self) -> [u32; 2] {
        match self.list {
            // By its address, for the pointer of a slice may not be used beyond the slice.
            // SAFETY: the list has more words than these after it, in the same block or mapping.
            List::Flat(list) if self.ahead => unsafe { (list.as_ptr() as usize as *const [u32; 2]).read() },
            List::Flat(list) => Head::of(list).neighbors,
            List::Chunked(chunks, _) => [chunks.first().map_or(0, |chunk| chunk.first); 2],
            // SAFETY: the run is alive.
            List::Compressed(run, _) => [unsafe { run.front() }; 2],
        }
    }

    /// Whether [`Neighbors::hinted`] has hints: the list lies among others.
    #[inline]
    pub fn has_hints(&self) -> bool {
        self.ahead && matches!(self.list, List::Flat(_))
    }

    /// The list with hints, where it lies among others: with the numbers found so many places ahead in memory, 96 at the most.
    /// Lists of a segment lie end to end, so a hint mostly is a neighbor that a later list is going to name, in time for what is known of it
    /// to be fetched. But it can be any number at all, and must not change a result.
    #[inline]
    pub fn hinted(&self, ahead: usize) -> Option<Hinted<'a>> {
        match self.list {
            // SAFETY: the list has as many words after it, in the same block or mapping.
            List::Flat(run) if self.has_hints() => Some(unsafe { Hinted::ahead(run, ahead.min(AHEAD)) }),
            _ => None,
        }
    }

    /// Takes a state through the list in order, with a hint for each neighbor as that of [`Neighbors::hinted`], which is
    /// faster where it can be had. Of a piece that does not lie among others, hints are neighbors of the same list.
    pub fn fold_ahead<S>(
        &self,
        ahead: usize,
        mut state: S,
        mut step: impl FnMut(S, VertexId, u32) -> S,
    ) -> S {
        let ahead = ahead.min(AHEAD);
        if let List::Flat(neighbors) = self.list {
            return fold_with_hints((neighbors, &[]), ahead, state, &mut step);
        }
        let mut buffer = RunBuffer::new();
        for (place, &run) in self.runs().iter().enumerate() {
            let next = self.runs().get(place + 1);
            if run.has_more() {
                let next = next.map_or(run.pointer(), |next| next.pointer());
                // SAFETY: the runs of a list are alive while it is, and after this one more words can be read.
                let hinted = unsafe { Hinted::ahead(run.neighbors(), ahead) }.iter().enumerate();
                state = hinted.fold(state, |state, (place, (neighbor, hint))| {
                    prefetch(next.wrapping_add(4 * place), 1);
                    step(state, neighbor, hint)
                });
                continue;
            }
            let next = next.filter(|next| !next.is_compressed());
            // SAFETY: as above.
            let next = next.map_or(&[][..], |next| unsafe { next.neighbors() });
            // SAFETY: as above.
            let run = unsafe { run.read(&mut buffer) };
            state = fold_with_hints((run, next), ahead, state, &mut step);
        }
        state
    }

    /// The list in parts, in order, of at least one piece each and, if pieces are shorter, of at most so many neighbors.
    pub fn split(&self, neighbors_max: usize) -> Vec<Neighbors<'a>> {
        match self.list {
            List::Flat(neighbors) => neighbors.chunks(neighbors_max).map(Neighbors::from_slice).collect(),
            List::Compressed(..) => vec![*self],
            List::Chunked(chunks, _) => {
                let mut parts = Vec::new();
                let (mut start, mut len) = (0, 0);
                for (position, chunk) in chunks.iter().enumerate() {
                    let next = len + chunk.len as usize;
                    if len > 0 && next > neighbors_max {
                        parts.push(Neighbors {
                            list: List::Chunked(&chunks[start..position], len as u32),
                            ahead: false,
                        });
                        (start, len) = (position, chunk.len as usize);
                    } else {
                        len = next;
                    }
                }
                parts.push(Neighbors { list: List::Chunked(&chunks[start..], len as u32), ahead: false });
                parts
            }
        }
    }

    /// The neighbor in this place of the list.
    pub fn get(&self, mut place: usize) -> Option<VertexId> {
        if let List::Flat(neighbors) = self.list {
            return neighbors.get(place).copied();
        }
        for run in self.runs() {
            if place < run.len as usize {
                let mut buffer = RunBuffer::new();
                // SAFETY: the runs of a list are alive while it is.
                return unsafe { run.read(&mut buffer) }.get(place).copied();
            }
            place -= run.len as usize;
        }
        None
    }

    /// The neighbors one by one.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + use<'a> {
        let (flat, chunks, single): (&'a [VertexId], &'a [ChunkRef], Option<ChunkRef>) = match self.list {
            List::Flat(neighbors) => (neighbors, &[], None),
            List::Chunked(chunks, _) => (&[], chunks, None),
            List::Compressed(run, _) => (&[], &[], Some(run)),
        };
        let runs = chunks.iter().copied().chain(single);
        // SAFETY: the runs of a list are alive for `'a`.
        flat.iter().copied().chain(runs.flat_map(|run| unsafe { run.items::<'a>() }))
    }

    /// Whether `neighbor` is in a list that ascends (`simple` edge types).
    pub fn contains_sorted(&self, neighbor: VertexId) -> bool {
        let run = match self.list {
            List::Flat(neighbors) => return neighbors.binary_search(&neighbor).is_ok(),
            List::Compressed(run, _) => run,
            List::Chunked(chunks, _) => {
                match chunks.partition_point(|chunk| chunk.first <= neighbor).checked_sub(1) {
                    Some(position) => chunks[position],
                    None => return false,
                }
            }
        };
        if !run.is_compressed() {
            // SAFETY: the runs of a list are alive while it is.
            return unsafe { run.neighbors() }.binary_search(&neighbor).is_ok();
        }
        // SAFETY: as above.
        let (mut decoder, mut buffer) = (unsafe { run.decoder() }, RunBuffer::new());
        while let block @ [.., last] = decoder.next(&mut buffer) {
            if *last >= neighbor {
                return block.binary_search(&neighbor).is_ok();
            }
        }
        false
    }

    /// All neighbors, copied.
    pub fn to_vec(&self) -> Vec<VertexId> {
        if let List::Flat(neighbors) = self.list {
            return neighbors.to_vec();
        }
        // Compressed runs are written by whole blocks.
        let mut neighbors = Vec::with_capacity(self.len() + BLOCK);
        self.append_runs_to(&mut neighbors);
        neighbors
    }

    /// Appends all neighbors.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<VertexId>) {
        match self.list {
            List::Flat(neighbors) => out.extend_from_slice(neighbors),
            _ => self.append_runs_to(out),
        }
    }

    fn append_runs_to(&self, out: &mut Vec<VertexId>) {
        for (place, run) in self.runs().iter().enumerate() {
            ask_for(self.runs().get(place + 1));
            match run.is_compressed() {
                // SAFETY: the runs of a list are alive while it is.
                true => unsafe { run.decoder() }.append_to(out),
                // SAFETY: as above.
                false => out.extend_from_slice(unsafe { run.neighbors() }),
            }
        }
    }
}

/// Asks the processor for the next run: runs lie anywhere in memory, so that it does not see that one coming.
#[inline]
fn ask_for(next: Option<&ChunkRef>) {
    next.into_iter().for_each(|next| prefetch(next.pointer(), 4 * next.len as usize));
}

/// Each neighbor of a run with the one so many places ahead, be that in the next run; where there is none, with the last there is.
/// While a line of the run is read, one of the next is asked for. How long runs are is as good as random, and a branch that is
/// guessed wrong has the processor forget what it was about to ask for: so this is one loop, and nothing in it branches.
#[inline]
fn fold_with_hints<S>(
    (run, next): (&[VertexId], &[VertexId]),
    ahead: usize,
    mut state: S,
    step: &mut impl FnMut(S, VertexId, u32) -> S,
) -> S {
    let Some(last) = run.len().checked_sub(1) else { return state };
    // Without a next run its only word is the last of this one.
    let next = if next.is_empty() { &run[last..] } else { next };
    for (place, &neighbor) in run.iter().enumerate() {
        prefetch(next.as_ptr().wrapping_add(place).cast(), 1);
        let wanted = place + ahead;
        let beyond = wanted.wrapping_sub(run.len()).min(next.len() - 1);
        let hint = std::hint::select_unpredictable(
            wanted < run.len(),
            run.as_ptr().wrapping_add(wanted),
            next.as_ptr().wrapping_add(beyond),
        );
        // SAFETY: either place lies in its run.
        state = step(state, neighbor, unsafe { hint.read() });
    }
    state
}

impl std::fmt::Debug for Neighbors<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
