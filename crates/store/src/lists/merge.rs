//! From a vertex's old neighbor list and its changes to the new list: only the runs that change are rewritten.
//!
//! `simple` lists ascend, so each change belongs to one run, found by the runs' first neighbors. `multi` lists are
//! in order of arrival: additions go to the end, and a delete drops every earlier edge to that neighbor.
//!
//! Invariant: the old list is never written to; blocks the new list does not share with it are retired.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use evergraph_types::{EdgeTypeId, Property, PropertyType, VertexId};

use crate::lists::adjacency::{CHUNK_MAX, ChunkRef, as_bytes, tag};
use crate::lists::compression::{COMPRESSED_MAX, Coding, RunBuffer, SLACK_BYTES, compress};
use crate::lists::entry::Entry;
use crate::lists::fragment::{ColumnDraft, encode_run};
use crate::lists::heap::{Block, Changes, Pair};
use crate::lists::plain_columns::{given_columns, run_bytes, write_cells, write_columns};
use crate::options::ListFormat;
use crate::system::prefetch::prefetch;
use crate::versions::version::Version;
use crate::write_sets::ops::EdgeOps;

/// Runs whose properties take more bytes than this are cut in two, down to single rows: what an upsert copies stays
/// small, and offsets fit 32 bits.
const RUN_BYTES_MAX: usize = 1 << 20;

/// One change to one list: the edge operation `row`, seen from `vertex`.
pub(crate) trait Delta: Copy + Send + Sync {
    /// Whether changes of this kind are plain additions without properties.
    const PLAIN: bool;
    /// What a row of the operations does to the list of `vertex`.
    fn new(ops: &EdgeOps, vertex: VertexId, neighbor: VertexId, row: usize) -> Self;
    /// What changes are sorted by: the vertex in the upper half. Those of the same rank keep their order.
    fn rank(&self) -> u64;
    /// Whose list changes.
    fn vertex(&self) -> VertexId;
    /// The other end.
    fn neighbor(&self) -> VertexId;
    /// The operation's row in its [`EdgeOps`].
    fn row(&self) -> usize;
    /// Whether that deletes.
    fn is_delete(&self) -> bool;
}

/// A change with its operation. To `simple` lists it sorts by vertex and neighbor, to `multi` lists (`ARRIVAL`) by the vertex
/// alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowDelta<const ARRIVAL: bool> {
    vertex: VertexId,
    neighbor: VertexId,
    row: u32,
    is_delete: bool,
}

impl<const ARRIVAL: bool> Delta for RowDelta<ARRIVAL> {
    const PLAIN: bool = false;
    #[inline]
    fn new(ops: &EdgeOps, vertex: VertexId, neighbor: VertexId, row: usize) -> Self {
        RowDelta { vertex, neighbor, row: row as u32, is_delete: ops.is_delete(row) }
    }
    #[inline]
    fn rank(&self) -> u64 {
        u64::from(self.vertex) << 32 | u64::from(if ARRIVAL { 0 } else { self.neighbor })
    }
    fn vertex(&self) -> VertexId {
        self.vertex
    }
    fn neighbor(&self) -> VertexId {
        self.neighbor
    }
    fn row(&self) -> usize {
        self.row as usize
    }
    fn is_delete(&self) -> bool {
        self.is_delete
    }
}

/// An addition without properties: vertex and neighbor in one word; sorted as [`RowDelta`] is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainDelta<const ARRIVAL: bool>(u64);

impl<const ARRIVAL: bool> PlainDelta<ARRIVAL> {
    #[inline]
    pub(crate) fn of(vertex: VertexId, neighbor: VertexId) -> Self {
        PlainDelta(u64::from(vertex) << 32 | u64::from(neighbor))
    }
}

impl<const ARRIVAL: bool> Delta for PlainDelta<ARRIVAL> {
    const PLAIN: bool = true;
    #[inline]
    fn new(_: &EdgeOps, vertex: VertexId, neighbor: VertexId, _: usize) -> Self {
        PlainDelta::of(vertex, neighbor)
    }
    #[inline]
    fn rank(&self) -> u64 {
        if ARRIVAL { self.0 >> 32 << 32 } else { self.0 }
    }
    #[inline]
    fn vertex(&self) -> VertexId {
        (self.0 >> 32) as VertexId
    }
    #[inline]
    fn neighbor(&self) -> VertexId {
        self.0 as VertexId
    }
    fn row(&self) -> usize {
        0
    }
    fn is_delete(&self) -> bool {
        false
    }
}

/// What the lists of one edge type and direction are like, and the operations their changes refer to.
#[derive(Clone, Copy)]
pub(crate) struct Policy<'a> {
    pub(crate) multi: bool,
    /// Whether lists are written in few bits. The neighbors of `multi` lists are only when they are archived, for until then
    /// they grow in place; columns are at once.
    pub(crate) compact: bool,
    pub(crate) properties: &'a [Property],
    pub(crate) ops: &'a EdgeOps,
}

impl<'a> Policy<'a> {
    /// What the lists of an edge type are like in a version, and operations on them.
    pub(crate) fn of(version: &'a Version, edge_type: EdgeTypeId, ops: &'a EdgeOps) -> Self {
        let options = &version.schema.edge_types[usize::from(edge_type)].options;
        let compact = version.format == ListFormat::Compact;
        Policy { multi: options.multi, compact, properties: &options.properties, ops }
    }

    /// How runs are written.
    pub(crate) fn coding(&self) -> Coding {
        if self.compact && !self.multi { Coding::Compressed { ascending: true } } else { Coding::Plain }
    }

    /// The longest run that is written to a list of this length.
    #[inline]
    fn run_max(&self, len: usize) -> usize {
        // Columns take fewest bits in short runs.
        let is_short = self.compact && !self.properties.is_empty();
        if is_short { CHUNK_MAX } else { run_max(len, self.coding()) }
    }
}

/// Buffers reused from list to list.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) neighbors: Vec<VertexId>,
    picks: Vec<Pick>,
    /// Where the rows begin that were gathered last: in which of the picks, and how many rows are in those before it.
    gathered: (usize, usize),
    /// The lists of a leaf that are packed, one after the other.
    pub(crate) pack: Vec<VertexId>,
    pub(crate) words: Vec<u32>,
    runs: Vec<ChunkRef>,
    pub(crate) new_runs: Vec<ChunkRef>,
    drafts: Vec<ColumnDraft>,
    bytes: Vec<u8>,
}

impl Scratch {
    /// The buffers for the next commit, unless a long list or large values have made them large.
    pub(crate) fn kept(self) -> Self {
        let Scratch { neighbors, pack, drafts, bytes, .. } = &self;
        let cells: usize = drafts.iter().map(ColumnDraft::capacity_bytes).sum();
        let held =
            size_of::<VertexId>() * (neighbors.capacity() + pack.capacity()) + cells + bytes.capacity();
        if held > RUN_BYTES_MAX { Scratch::default() } else { self }
    }
}

/// Where rows of a new run come from.
#[derive(Clone, Debug)]
enum Pick {
    /// Rows of the old run, as they are.
    Kept(Range<usize>),
    /// One row: of the old run, if it has it, overlaid by these changes.
    Changed { old: Option<usize>, by: Range<usize> },
}

impl Pick {
    fn rows(&self) -> usize {
        match self {
            Pick::Kept(rows) => rows.len(),
            Pick::Changed { .. } => 1,
        }
    }
}

/// What of picks, the first of which begins with row `start`, is among these rows.
fn picks_of(picks: &[Pick], start: usize, rows: Range<usize>) -> impl Iterator<Item = Pick> {
    let mut end = start;
    let begun = picks.iter().map_while(move |pick| {
        let start = end;
        end += pick.rows();
        (start < rows.end).then(|| (pick, start.max(rows.start) - start, end.min(rows.end) - start))
    });
    begun.filter(|(_, from, to)| from < to).map(|(pick, from, to)| match pick {
        Pick::Kept(kept) => Pick::Kept(kept.start + from..kept.start + to),
        changed => changed.clone(),
    })
}

/// The new list of the vertex of `deltas`, which are all its changes in order.
pub(crate) fn merge_list<D: Delta>(
    old: Entry,
    deltas: &[D],
    policy: Policy<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
) -> Entry {
    let mut short = std::mem::take(&mut scratch.runs);
    let mut new_runs = std::mem::take(&mut scratch.new_runs);
    short.clear();
    new_runs.clear();
    // SAFETY: the version being edited is alive.
    let runs = unsafe { runs_in(old, &mut short) };
    merge_runs(runs, deltas, policy, scratch, changes, &mut new_runs);
    let entry = entry_of(&new_runs, old, changes);
    scratch.runs = short;
    scratch.new_runs = new_runs;
    entry
}

/// Appends the runs of a list with changes merged in, which are all to these, in order. Of a list of a `simple` type it may be
/// some of the runs, those that the changes fall into among them; of a `multi` type the last ones, if nothing is deleted.
#[inline]
pub(crate) fn merge_runs<D: Delta>(
    runs: &[ChunkRef],
    deltas: &[D],
    policy: Policy<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
    out: &mut Vec<ChunkRef>,
) {
    let len = runs.iter().map(|run| run.len as usize).sum::<usize>() + deltas.len();
    let run_max = policy.run_max(len);
    let mut merge = ListMerge { deltas, policy, run_max, scratch, changes, out };
    if policy.multi { merge.arrivals(runs) } else { merge.sorted(runs) }
}

/// The longest run that is written of a list this long: a change copies a run and the directory of all, about as many words of each
/// where lists are so long that this matters. Compressed runs are shorter, for a search decodes half of one.
#[inline]
pub(crate) fn run_max(len: usize, coding: Coding) -> usize {
    let most = match coding {
        Coding::Plain => len.isqrt(),
        Coding::Compressed { .. } => (len.isqrt() / 4).min(COMPRESSED_MAX),
    };
    most.max(CHUNK_MAX)
}

/// The entry over these runs, which lie elsewhere, in place of the list's old one: with a directory, unless there is one run at
/// the most of which a word can tell.
pub(crate) fn entry_of(runs: &[ChunkRef], old: Entry, changes: &mut Changes) -> Entry {
    // SAFETY: a directory is a heap block.
    let directory = old.has_directory().then(|| unsafe { Block::from_pointer(old.pointer()) });
    let flat = match runs {
        [] => Some(Entry::EMPTY),
        [run] => Entry::flat(*run),
        _ => None,
    };
    if let Some(entry) = flat {
        directory.into_iter().for_each(|directory| changes.retire(directory));
        return entry;
    }
    let directory = changes.rewrite(directory, Entry::directory_bytes(runs.len()));
    // SAFETY: the block has the room, and only this draft reaches it.
    unsafe { Entry::by_directory(directory.pointer(), runs) }
}

/// The runs of a list with their first neighbors known (the least, of a compressed run of a `multi` type), unless they can grow
/// or have forgotten some. A long flat list is cut into its parts.
pub(crate) fn runs_of(entry: Entry, runs: &mut Vec<ChunkRef>) {
    // SAFETY: the version being edited is alive.
    let Some(run) = (unsafe { entry.only_run() }) else {
        if entry.has_directory() {
            // SAFETY: as above.
            runs.extend_from_slice(unsafe { entry.directory() });
        }
        return;
    };
    if run.grows() || run.forgotten() > 0 {
        return runs.push(run);
    }
    // SAFETY: the version being edited is alive.
    let first = unsafe { run.front() };
    for_each_part(ChunkRef { first, ..run }, |part| runs.push(part));
}

/// A long plain run of a segment or cluster in parts, as a list of its own is; another, or a block, which `multi` lists grow in, as it is.
fn for_each_part(run: ChunkRef, mut visit: impl FnMut(ChunkRef)) {
    if run.len as usize <= CHUNK_MAX || run.is_block() || !run.has_parts() {
        return visit(run);
    }
    // SAFETY: the version being edited is alive, and the run is not compressed.
    let neighbors = unsafe { run.neighbors() };
    let most = run_max(neighbors.len(), Coding::Plain);
    for (position, part) in neighbors.chunks(most).enumerate() {
        visit(run.part(position * most, part.len(), part[0]));
    }
}

/// What [`runs_of`] gives, where it lies if that is in a directory, else in the buffer, which is empty.
///
/// # Safety
/// The version the entry belongs to stays alive as long as the result.
pub(crate) unsafe fn runs_in(entry: Entry, short: &mut Vec<ChunkRef>) -> &[ChunkRef] {
    // SAFETY: alive by contract.
    if entry.has_directory() && unsafe { entry.only_run() }.is_none() {
        // SAFETY: as above.
        return unsafe { entry.directory() };
    }
    runs_of(entry, short);
    short
}

/// The heap blocks a list owns.
pub(crate) fn for_each_block(entry: Entry, visit: &mut dyn FnMut(Block)) {
    let mut visit_run = |run: &ChunkRef| run.block().into_iter().for_each(&mut *visit);
    if entry.has_directory() {
        // SAFETY: the caller's version is alive.
        unsafe { entry.directory() }.iter().for_each(&mut visit_run);
        // SAFETY: a directory is a heap block.
        visit(unsafe { Block::from_pointer(entry.pointer()) });
    } else if !entry.is_empty() {
        visit_run(&entry.run());
    }
}

/// Writes a run again, without properties or with them, less the rows for which `is_gone`; none may be left.
pub(crate) fn without_rows(
    run: ChunkRef,
    is_gone: impl Fn(usize) -> bool,
    policy: Policy<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
    out: &mut Vec<ChunkRef>,
) {
    // SAFETY: the version being edited is alive.
    let neighbors = unsafe { run.neighbors() };
    let run_max = run.len as usize;
    let mut merge = ListMerge::<PlainDelta<true>> { deltas: &[], policy, run_max, scratch, changes, out };
    merge.start_run();
    for (row, &neighbor) in neighbors.iter().enumerate().filter(|(row, _)| !is_gone(*row)) {
        merge.keep(&[neighbor], run.forgotten() as usize + row);
    }
    merge.emit(Some(run));
}

struct ListMerge<'a, D> {
    deltas: &'a [D],
    policy: Policy<'a>,
    /// The longest run that is written.
    run_max: usize,
    scratch: &'a mut Scratch,
    changes: &'a mut Changes,
    out: &'a mut Vec<ChunkRef>,
}

impl<D: Delta> ListMerge<'_, D> {
    fn sorted(&mut self, runs: &[ChunkRef]) {
        if runs.is_empty() {
            return self.sorted_run(None, 0..self.deltas.len());
        }
        // The run that the change `from` belongs to, which is not before `done`.
        let deltas = self.deltas;
        let run_of = |from: usize, done: usize| {
            let neighbor = deltas[from].neighbor();
            done + runs[done..].partition_point(|run| run.first <= neighbor).saturating_sub(1)
        };
        let (mut from, mut done) = (0, 0);
        let mut position = run_of(0, 0);
        while from < deltas.len() {
            self.out.extend_from_slice(&runs[done..position]);
            let to = match runs.get(position + 1) {
                Some(next) => from + deltas[from..].partition_point(|delta| delta.neighbor() < next.first),
                None => deltas.len(),
            };
            let current = position;
            if to < deltas.len() {
                position = run_of(to, current + 1);
                prefetch(runs[position].pointer(), 4 * runs[position].len as usize);
            }
            self.sorted_run(Some(runs[current]), from..to);
            (from, done) = (to, current + 1);
        }
        self.out.extend_from_slice(&runs[done..]);
    }

    /// Merges changes `range` into one run.
    fn sorted_run(&mut self, run: Option<ChunkRef>, range: Range<usize>) {
        let mut buffer = RunBuffer::new();
        // SAFETY: the version being edited is alive.
        let old = run.map_or(&[][..], |run| unsafe { run.read(&mut buffer) });
        self.start_run();
        let deltas = &self.deltas[range.clone()];
        if self.is_plain(run) {
            let found = &mut self.changes.found;
            merge_into(old, deltas, found, &mut self.scratch.neighbors);
            return self.emit(run);
        }
        let mut next = 0;
        let mut at = range.start;
        while at < range.end {
            let neighbor = self.deltas[at].neighbor();
            let kept = next..next + count_below(&old[next..], neighbor);
            next = kept.end;
            self.keep(&old[kept.clone()], kept.start);
            let start = at;
            while at < range.end && self.deltas[at].neighbor() == neighbor {
                at += 1;
            }
            let existing = (old.get(next) == Some(&neighbor)).then_some(next);
            next += usize::from(existing.is_some());
            self.upsert(neighbor, existing, start..at);
        }
        self.keep(&old[next..], next);
        self.emit(run);
    }

    /// Whether neither the run nor the changes have properties.
    fn is_plain(&self, run: Option<ChunkRef>) -> bool {
        self.policy.ops.columns.is_empty() && !run.is_some_and(ChunkRef::has_columns)
    }

    /// Takes over rows of the run that is written again from `first` on, which is counted with those that it has forgotten.
    fn keep(&mut self, neighbors: &[VertexId], first: usize) {
        self.scratch.neighbors.extend_from_slice(neighbors);
        let rows = first..first + neighbors.len();
        match self.scratch.picks.last_mut() {
            Some(Pick::Kept(kept)) if kept.end == rows.start => kept.end = rows.end,
            _ => self.scratch.picks.push(Pick::Kept(rows)),
        }
    }

    /// These changes all concern the edge to `neighbor`: the last delete among them hides what was before.
    fn upsert(&mut self, neighbor: VertexId, existing: Option<usize>, changes: Range<usize>) {
        let group = &self.deltas[changes.clone()];
        if !is_there_after(existing.is_some(), group, &mut self.changes.found) {
            return;
        }
        let (old, by) = match changes.clone().rev().find(|at| self.deltas[*at].is_delete()) {
            Some(at) => (None, at + 1..changes.end),
            None => (existing, changes),
        };
        self.scratch.neighbors.push(neighbor);
        self.scratch.picks.push(Pick::Changed { old, by });
    }

    fn arrivals(&mut self, runs: &[ChunkRef]) {
        let mut deletes: Vec<(VertexId, usize)> = self
            .deltas
            .iter()
            .filter(|delta| delta.is_delete())
            .map(|delta| (delta.neighbor(), delta.row()))
            .collect();
        deletes.sort_unstable();
        let deleted_at = |neighbor: VertexId| {
            let end = deletes.partition_point(|delete| delete.0 <= neighbor);
            end.checked_sub(1).map(|last| deletes[last]).filter(|last| last.0 == neighbor).map(|last| last.1)
        };
        // What was appended to came as a whole: a delete is to write only the part again that it is in.
        let mut parts = Vec::with_capacity(runs.len());
        runs.iter().for_each(|run| for_each_part(*run, |part| parts.push(part)));
        for (position, run) in parts.iter().enumerate() {
            let last = position + 1 == parts.len();
            let mut buffer = RunBuffer::new();
            // SAFETY: the version being edited is alive.
            let neighbors = unsafe { run.read(&mut buffer) };
            let shrinks =
                !deletes.is_empty() && neighbors.iter().any(|&neighbor| deleted_at(neighbor).is_some());
            let is_kept = !shrinks && (!last || neighbors.len() >= CHUNK_MAX);
            if is_kept {
                self.out.push(*run);
                if last {
                    self.start_run();
                    self.append_arrivals(&deleted_at);
                    self.emit(None);
                }
                continue;
            }
            self.start_run();
            let first = run.forgotten() as usize;
            if shrinks {
                let rows = (first..).zip(neighbors.chunks(1));
                let kept = rows.filter(|(_, neighbor)| deleted_at(neighbor[0]).is_none());
                kept.for_each(|(row, neighbor)| self.keep(neighbor, row));
            } else {
                self.keep(neighbors, first);
            }
            if last {
                self.append_arrivals(&deleted_at);
            }
            self.emit(Some(*run));
        }
        if runs.is_empty() {
            self.start_run();
            self.append_arrivals(&deleted_at);
            self.emit(None);
        }
    }

    fn start_run(&mut self) {
        self.scratch.neighbors.clear();
        self.scratch.picks.clear();
        self.scratch.gathered = (0, 0);
    }

    fn append_arrivals(&mut self, deleted_at: &dyn Fn(VertexId) -> Option<usize>) {
        for (at, delta) in self.deltas.iter().enumerate() {
            let dropped = deleted_at(delta.neighbor()).is_some_and(|delete| delete >= delta.row());
            if !dropped {
                self.scratch.neighbors.push(delta.neighbor());
                self.scratch.picks.push(Pick::Changed { old: None, by: at..at + 1 });
            }
        }
    }

    /// Writes the rows gathered in the scratch as new runs in place of `old`.
    fn emit(&mut self, old: Option<ChunkRef>) {
        let is_plain = self.is_plain(old);
        let rows = self.scratch.neighbors.len();
        let pieces = rows.div_ceil(self.run_max);
        let block = old.and_then(ChunkRef::block);
        let mut reused = block.filter(|_| pieces == 1);
        if reused.is_none() {
            block.into_iter().for_each(|block| self.changes.retire(block));
        }
        for piece in 0..pieces {
            let range = rows * piece / pieces..rows * (piece + 1) / pieces;
            if is_plain {
                let Scratch { neighbors, words, .. } = &mut *self.scratch;
                let (neighbors, coding) = (&neighbors[range], self.policy.coding());
                self.out.push(write_run(neighbors, coding, words, reused.take(), self.changes));
            } else {
                self.write_with_columns(old, range, reused.take());
            }
        }
    }

    /// Writes these rows as one run, or as several if their properties take much room, in place of a run in this block.
    fn write_with_columns(&mut self, old: Option<ChunkRef>, rows: Range<usize>, block: Option<Block>) {
        self.skip_to(rows.start);
        if self.write_plain_columns(old, rows.clone(), block) {
            return;
        }
        if self.gather(old, rows.clone()) > RUN_BYTES_MAX && rows.len() > 1 {
            block.into_iter().for_each(|block| self.changes.retire(block));
            let middle = rows.start + rows.len() / 2;
            self.write_with_columns(old, rows.start..middle, None);
            return self.write_with_columns(old, middle..rows.end, None);
        }
        let Scratch { neighbors, drafts, bytes, words, .. } = &mut *self.scratch;
        let neighbors = &neighbors[rows];
        let compressed = code(neighbors, self.policy.coding(), words);
        let columns = encode_run(words, drafts, self.policy.compact, bytes);
        let block = write_block(bytes, if compressed { SLACK_BYTES } else { 0 }, block, self.changes);
        let address = tag(block.pointer(), false, columns);
        let run = ChunkRef { address, len: neighbors.len() as u32, first: neighbors[0] };
        self.out.push(run.compressed(compressed));
    }

    /// Passes by the picks of rows before this one. None of these calls names one before that of the last call, so that the picks of a
    /// long list are walked once, and not for each of its runs.
    fn skip_to(&mut self, row: usize) {
        let Scratch { picks, gathered: (first, before), .. } = &mut *self.scratch;
        while let Some(pick) = picks.get(*first).filter(|pick| *before + pick.rows() <= row) {
            *before += pick.rows();
            *first += 1;
        }
    }

    /// Writes these rows as one run straight to its block, if its columns are plain ones that every change gives, and no others; tells
    /// whether it did.
    fn write_plain_columns(
        &mut self,
        old: Option<ChunkRef>,
        rows: Range<usize>,
        block: Option<Block>,
    ) -> bool {
        // What is written in place is read meanwhile.
        let is_copied = self.changes.owned_after.is_none();
        let Some(columns) = given_columns(self.policy).filter(|_| is_copied) else { return false };
        let shape = columns.clone().map(|(column, _)| column);
        // SAFETY: the version being edited is alive.
        let area = old.and_then(|run| unsafe { run.columns() });
        let suits = match old {
            Some(_) => area.is_some_and(|area| area.has_just(shape.clone())),
            None => shape.clone().next().is_some(),
        };
        let bytes = run_bytes(rows.len(), shape.clone());
        if !suits || bytes > RUN_BYTES_MAX {
            return false;
        }
        let block = self.changes.rewrite(block, bytes);
        let Scratch { picks, gathered: (first, before), neighbors, .. } = &*self.scratch;
        let neighbors = &neighbors[rows.clone()];
        let address = tag(block.pointer(), false, true);
        let run = ChunkRef { address, len: rows.len() as u32, first: neighbors[0] };
        // SAFETY: the new block has room for the run, and nobody else reaches it.
        let room = unsafe {
            block.pointer().cast::<VertexId>().copy_from_nonoverlapping(neighbors.as_ptr(), neighbors.len());
            std::slice::from_raw_parts_mut(block.pointer().cast(), bytes)
        };
        write_columns(room, rows.len(), columns, |column, cells, mut places| {
            let old = area.and_then(|area| area.column(column.property));
            for pick in picks_of(&picks[*first..], *before, rows.clone()) {
                let (here, rest) = places.split_at_mut(column.width * pick.rows());
                match (pick, old) {
                    (Pick::Kept(kept), Some(old)) => old.write_cells(kept.start, here),
                    (Pick::Kept(_), None) => unreachable!("rows are kept of an old run only"),
                    (Pick::Changed { by, .. }, _) => {
                        let given = by.last().map(|at| self.deltas[at].row());
                        write_cells(cells, given.into_iter(), here);
                    }
                }
                places = rest;
            }
        });
        self.out.push(run);
        true
    }

    /// Puts the columns of these rows into the drafts; tells about how many bytes they take.
    fn gather(&mut self, old: Option<ChunkRef>, rows: Range<usize>) -> usize {
        // SAFETY: the version being edited is alive.
        let area = old.and_then(|run| unsafe { run.columns() });
        let Scratch { picks, gathered: (first, before), drafts, .. } = &mut *self.scratch;
        let live = (0..).zip(self.policy.properties).filter(|(_, property)| !property.is_dropped());
        drafts.resize_with(live.clone().count(), || ColumnDraft::new(0, PropertyType::Bool));
        for (draft, (id, property)) in drafts.iter_mut().zip(live) {
            draft.restart(id, property.kind);
            let old = area.and_then(|area| area.column(id));
            let new = self.policy.ops.column(id);
            for pick in picks_of(&picks[*first..], *before, rows.clone()) {
                match pick {
                    Pick::Kept(kept) => draft.push_rows(old.as_ref(), kept),
                    Pick::Changed { old: row, by } => {
                        let given = new.and_then(|column| {
                            let mut rows = by.rev().map(|at| self.deltas[at].row());
                            rows.find(|&row| column.is_given(row)).map(|row| (column, row))
                        });
                        match (given, row) {
                            (Some((column, row)), _) => draft.push_column(&column.values, row),
                            (None, Some(row)) => draft.push_rows(old.as_ref(), row..row + 1),
                            (None, None) => draft.push_null(),
                        }
                    }
                }
            }
        }
        drafts.iter().map(ColumnDraft::bytes).sum()
    }
}

/// Writes `old`, which ascends, to the front of `out` with the changes made, none of which gives properties; tells how long that
/// is. There is to be room for all that may come.
pub(crate) fn merge_plain<D: Delta>(
    old: &[VertexId],
    deltas: &[D],
    found: &mut Option<Vec<Pair>>,
    out: &mut [MaybeUninit<VertexId>],
) -> usize {
    let (mut next, mut at, mut len) = (0, 0, 0);
    while at < deltas.len() {
        let neighbor = deltas[at].neighbor();
        let kept = count_below(&old[next..], neighbor);
        out[len..len + kept].write_copy_of_slice(&old[next..next + kept]);
        len += kept;
        next += kept;
        let was_there = old.get(next) == Some(&neighbor);
        next += usize::from(was_there);
        let same = deltas[at..].iter().take_while(|delta| delta.neighbor() == neighbor).count();
        if is_there_after(was_there, &deltas[at..at + same], found) {
            out[len].write(neighbor);
            len += 1;
        }
        at += same;
    }
    let rest = &old[next..];
    out[len..len + rest.len()].write_copy_of_slice(rest);
    len + rest.len()
}

/// As [`merge_plain`], into a buffer in place of what it holds.
pub(crate) fn merge_into<D: Delta>(
    old: &[VertexId],
    deltas: &[D],
    found: &mut Option<Vec<Pair>>,
    buffer: &mut Vec<VertexId>,
) {
    buffer.clear();
    buffer.reserve(old.len() + deltas.len());
    let len = merge_plain(old, deltas, found, buffer.spare_capacity_mut());
    // SAFETY: so many were written.
    unsafe { buffer.set_len(len) };
}

/// Whether an edge is there after changes to it; notes puts that find it there.
#[inline]
fn is_there_after<D: Delta>(mut is_there: bool, deltas: &[D], found: &mut Option<Vec<Pair>>) -> bool {
    for delta in deltas {
        let is_put = !delta.is_delete();
        if let Some(found) = found.as_mut().filter(|_| is_put && is_there) {
            found.push((delta.vertex(), delta.neighbor()));
        }
        is_there = is_put;
    }
    is_there
}

/// How many neighbors of a list that ascends lie below `bound`, which is expected to be near the front.
#[inline]
fn count_below(list: &[VertexId], bound: VertexId) -> usize {
    const STEP: usize = 8;
    let mut below = 0;
    while let Some(step) = list.get(below..below + STEP) {
        if step[STEP - 1] >= bound {
            return below + step.iter().map(|&neighbor| usize::from(neighbor < bound)).sum::<usize>();
        }
        below += STEP;
    }
    below + list[below..].iter().take_while(|&&neighbor| neighbor < bound).count()
}

/// A run in a block of its own, in place of that of the run it replaces. `words` is room to work in.
#[inline]
pub(crate) fn write_run(
    neighbors: &[VertexId],
    coding: Coding,
    words: &mut Vec<u32>,
    old: Option<Block>,
    changes: &mut Changes,
) -> ChunkRef {
    let compressed = coding != Coding::Plain && code(neighbors, coding, words);
    let (run, slack) = if compressed { (&words[..], SLACK_BYTES) } else { (neighbors, 0) };
    let block = write_block(as_bytes(run), slack, old, changes);
    let address = tag(block.pointer(), false, false);
    ChunkRef { address, len: neighbors.len() as u32, first: neighbors[0] }.compressed(compressed)
}

/// The bytes of a run in a block of their own, behind them so many more; in place of the block of the run it replaces.
fn write_block(bytes: &[u8], slack: usize, old: Option<Block>, changes: &mut Changes) -> Block {
    let block = changes.rewrite(old, bytes.len() + slack);
    // SAFETY: the block has room for the bytes.
    unsafe { block.pointer().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    block
}

/// Replaces the words by those of the run; tells whether it was compressed.
fn code(neighbors: &[VertexId], coding: Coding, words: &mut Vec<u32>) -> bool {
    words.clear();
    push_run(neighbors, coding, words)
}

/// A list in as few runs as it fits, about as long as each other.
pub(crate) fn even_runs(list: &[VertexId], coding: Coding) -> impl Iterator<Item = &[VertexId]> {
    let runs = list.len().div_ceil(run_max(list.len(), coding));
    (0..runs).map(move |run| &list[list.len() * run / runs..list.len() * (run + 1) / runs])
}

/// Appends a run to words; tells whether it was compressed.
pub(crate) fn push_run(neighbors: &[VertexId], coding: Coding, words: &mut Vec<u32>) -> bool {
    let compressed = match coding {
        Coding::Plain => false,
        Coding::Compressed { ascending } => compress(neighbors, ascending, words),
    };
    if !compressed {
        words.extend_from_slice(neighbors);
    }
    compressed
}

#[cfg(test)]
mod tests {
    use evergraph_types::{PropertyId, Value};
    use proptest::prelude::*;

    use super::*;
    use crate::lists::growth::append;
    use crate::versions::scan::Run;

    const KINDS: [PropertyType; 3] = [PropertyType::Int64, PropertyType::UInt8, PropertyType::String];

    const NEIGHBORS: VertexId = 600;

    /// An edge: the neighbor, and its properties, which are of these types.
    type Row = (VertexId, [Value; KINDS.len()]);

    /// What is done to a list of some version.
    #[derive(Clone, Debug)]
    enum Step {
        Put(Vec<Row>),
        Delete(VertexId),
        /// Its first run forgets so many.
        Forget(u32),
    }

    /// Rows that give these properties, or null where they say so.
    fn rows(given: [bool; KINDS.len()], nulls: f64) -> impl Strategy<Value = Step> {
        let value = (any::<u8>(), prop::bool::weighted(nulls));
        let row = (0..NEIGHBORS, [value, value, value]).prop_map(move |(neighbor, values)| {
            let value = |at: usize| match (values[at], KINDS[at]) {
                (_, _) if !given[at] => Value::Null,
                ((_, true), _) => Value::Null,
                ((value, _), PropertyType::Int64) => Value::Int(-i64::from(value)),
                ((value, _), PropertyType::UInt8) => Value::Int(value.into()),
                ((value, _), _) => Value::Text(value.to_string()),
            };
            (neighbor, [value(0), value(1), value(2)])
        });
        let count = prop_oneof![6 => 1..8usize, 3 => 8..150usize, 1 => 150..700usize];
        count.prop_flat_map(move |count| prop::collection::vec(row.clone(), count)).prop_map(Step::Put)
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            12 => rows([true, true, false], 0.0),
            2 => rows([true, false, false], 0.0),
            1 => rows([false, false, false], 0.0),
            1 => rows([true, true, false], 0.3),
            1 => rows([true, true, true], 0.0),
            1 => (0..NEIGHBORS).prop_map(Step::Delete),
            1 => (1..20u32).prop_map(Step::Forget),
        ]
    }

    /// The list after a step, with what it should hold. Puts give the properties of which any has a value.
    fn after<const ARRIVAL: bool>(
        (old, expected): &(Entry, Vec<Row>),
        step: &Step,
        compact: bool,
        changes: &mut Changes,
    ) -> (Entry, Vec<Row>) {
        let (old, mut expected) = (*old, expected.clone());
        let properties = KINDS.map(|kind| Property { name: "p".to_owned(), kind });
        let mut ops = EdgeOps::default();
        let kind = |property: PropertyId| KINDS[usize::from(property)];
        match step {
            Step::Put(rows) => {
                let is_given = |at: usize| rows.iter().any(|(_, values)| values[at] != Value::Null);
                for (neighbor, values) in rows {
                    let given = (0..).zip(values.clone()).filter(|(id, _)| is_given(usize::from(*id)));
                    ops.push(0, *neighbor, false, &given.collect::<Vec<_>>(), kind);
                }
                for row @ (neighbor, values) in rows {
                    match expected.iter_mut().find(|(other, _)| !ARRIVAL && other == neighbor) {
                        None => expected.push(row.clone()),
                        Some((_, old)) => {
                            let given = (0..KINDS.len()).filter(|at| is_given(*at));
                            given.for_each(|at| old[at] = values[at].clone());
                        }
                    }
                }
                if !ARRIVAL {
                    expected.sort_by_key(|(neighbor, _)| *neighbor);
                }
            }
            Step::Delete(neighbor) => {
                ops.push_delete(0, *neighbor);
                expected.retain(|(other, _)| other != neighbor);
            }
            Step::Forget(count) => {
                let mut runs = Vec::new();
                runs_of(old, &mut runs);
                let first = runs.first().filter(|run| ARRIVAL && run.len > *count);
                let Some(left) = first.and_then(|run| run.forgetting(*count)) else { return (old, expected) };
                runs[0] = left;
                expected.drain(..*count as usize);
                return (entry_of(&runs, old, changes), expected);
            }
        }
        let policy = Policy { multi: ARRIVAL, compact, properties: &properties, ops: &ops };
        let mut deltas: Vec<RowDelta<ARRIVAL>> =
            (0..ops.len()).map(|row| RowDelta::new(&ops, 0, ops.dst[row], row)).collect();
        deltas.sort_by_key(RowDelta::rank);
        let mut scratch = Scratch::default();
        let new = append(old, &deltas, policy, &mut scratch, changes)
            .unwrap_or_else(|| merge_list(old, &deltas, policy, &mut scratch, changes));
        (new, expected)
    }

    fn read(list: Entry) -> Vec<Row> {
        let mut runs = Vec::new();
        runs_of(list, &mut runs);
        let mut rows = Vec::new();
        for run in runs {
            let mut buffer = RunBuffer::new();
            // SAFETY: nothing is freed before.
            let run = unsafe { Run::new(run, &mut buffer) };
            let values = |row: usize| [0, 1, 2].map(|property| run.value(property, row));
            rows.extend(run.neighbors().iter().enumerate().map(|(row, neighbor)| (*neighbor, values(row))));
        }
        rows
    }

    fn check<const ARRIVAL: bool>(
        steps: &[(Step, bool, prop::sample::Index)],
        compact: bool,
    ) -> Result<(), TestCaseError> {
        let mut changes = Changes::new(1);
        let mut versions = vec![(Entry::EMPTY, Vec::new())];
        for (step, from_last, other) in steps {
            let from = if *from_last { versions.len() - 1 } else { other.index(versions.len()) };
            versions.push(after::<ARRIVAL>(&versions[from], step, compact, &mut changes));
        }
        for (list, expected) in &versions {
            prop_assert_eq!(&read(*list), expected);
        }
        Ok(())
    }

    proptest! {
        /// A list holds what was put into it, with its properties, and goes on to, whatever others make of the same version.
        #[test]
        fn every_version_of_a_list_stays_as_it_is(
            steps in prop::collection::vec(
                (step(), prop::bool::weighted(0.9), any::<prop::sample::Index>()), 1..25),
            multi in any::<bool>(),
            compact in prop::bool::weighted(0.2),
        ) {
            if multi { check::<true>(&steps, compact) } else { check::<false>(&steps, compact) }?;
        }
    }
}
