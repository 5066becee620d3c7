//! The list of one vertex as it grows beyond what memory is to hold: rows are merged into it some at a time, and what no later
//! row can change is written and given up.
//!
//! ```text
//!                         rows ─► merge_runs
//!                                   ▲    │
//!  written ◄─ settled runs │ runs the rows reach │ runs to come
//!             ────────────────── in the order of the list ──────────────────►
//! ```
//!
//! Rows come in the order of the list: by neighbor to `simple` types, so that runs before the one that the next row falls into
//! are settled; in order of arrival to `multi` types, so that all runs but the last are. Old runs stay where they are until
//! rows reach them.
//!
//! Invariants: every run of the list is written once, in order; the blocks of those that were merged here are freed by whoever
//! takes them out.

use evergraph_types::{EdgeTypeId, VertexId};

use crate::files::list_parts::Sizes;
use crate::files::list_pieces::{Growth, ListSink};
use crate::files::rows::ListSections;
use crate::lists::adjacency::ChunkRef;
use crate::lists::compression::RunBuffer;
use crate::lists::entry::Entry;
use crate::lists::heap::Changes;
use crate::lists::merge::{Delta, Policy, RowDelta, merge_runs, runs_of};
use crate::lists::sort::{Ends, sorted_deltas};
use crate::versions::version::Version;
use crate::write_sets::ops::EdgeOps;

/// About so many words of rows, and of runs that these reach, are merged at a time: a run is soon written.
const WORDS_PER_STEP: usize = 1 << 16;

/// A list under way.
pub(crate) struct LongList<'a> {
    version: &'a Version,
    sink: &'a ListSink<'a>,
    sections: ListSections,
    vertex: VertexId,
    sizes: Sizes<'a>,
    words_per_step: usize,
    /// Runs that are not written, the next one last.
    rest: Vec<ChunkRef>,
    changes: Changes,
}

impl<'a> LongList<'a> {
    /// The list of a vertex as it is in the version. About `words` may be merged at a time.
    pub(crate) fn new(
        version: &'a Version,
        sink: &'a ListSink<'a>,
        sections: ListSections,
        (vertex, entry): (VertexId, Option<Entry>),
        words: usize,
    ) -> Self {
        let mut rest = Vec::new();
        runs_of(entry.unwrap_or(Entry::EMPTY), &mut rest);
        rest.reverse();
        LongList {
            version,
            sink,
            sections,
            vertex,
            sizes: Sizes::of(version, sections.lists.owner),
            words_per_step: words.min(WORDS_PER_STEP),
            rest,
            changes: Changes::new(version.sequence),
        }
    }

    /// Whose list it is.
    pub(crate) fn vertex(&self) -> VertexId {
        self.vertex
    }

    fn edge_type(&self) -> EdgeTypeId {
        self.sections.lists.owner
    }

    fn is_multi(&self) -> bool {
        self.version.schema.edge_types[usize::from(self.edge_type())].options.multi
    }

    /// Merges rows into the list, which come after all those before.
    pub(crate) fn extend(&mut self, rows: &EdgeOps) -> Growth {
        if self.is_multi() { self.extend_as::<true>(rows) } else { self.extend_as::<false>(rows) }
    }

    fn extend_as<const ARRIVAL: bool>(&mut self, rows: &EdgeOps) -> Growth {
        let policy = Policy::of(self.version, self.edge_type(), rows);
        let ends = Ends { from: &rows.src, to: &rows.dst, symmetric: false };
        let deltas = sorted_deltas(ends, |vertex, neighbor, row| {
            RowDelta::<ARRIVAL>::new(rows, vertex, neighbor, row)
        });
        let words_per_row = rows.bytes_per_row().div_ceil(size_of::<u32>());
        let mut growth = Growth::default();
        let mut rest = &deltas[..];
        while let Some(next) = rest.first() {
            self.write(self.reached_by(next.neighbor()).saturating_sub(1));
            let (step, others) = rest.split_at(self.step(rest, words_per_row));
            growth.add(self.merge(step, policy));
            rest = others;
        }
        growth
    }

    /// Writes what is left of the list.
    pub(crate) fn finish(mut self) {
        self.write(self.rest.len());
    }

    /// Of the runs that are not written, how many rows up to this neighbor reach or pass.
    fn reached_by(&self, neighbor: VertexId) -> usize {
        let beyond = if self.is_multi() { 0 } else { self.rest.partition_point(|run| run.first > neighbor) };
        self.rest.len() - beyond
    }

    /// How many of the rows to merge at once; the first run that is not written is the one that the first of them reaches.
    fn step<D: Delta>(&self, rows: &[D], words_per_row: usize) -> usize {
        let (mut words, mut reached) = (0, 0);
        for (at, row) in rows.iter().enumerate() {
            let before = std::mem::replace(&mut reached, self.reached_by(row.neighbor()));
            if let Some(place) = self.rest.len().checked_sub(reached.max(1))
                && (at == 0 || reached > before)
            {
                words += self.sizes.of_run(self.rest[place]);
            }
            words += words_per_row;
            if at > 0 && words > self.words_per_step {
                return at;
            }
        }
        rows.len()
    }

    fn merge<D: Delta>(&mut self, rows: &[D], policy: Policy<'_>) -> Growth {
        let Some(last) = rows.last() else { return Growth::default() };
        let reached = self.take(self.reached_by(last.neighbor()).max(1));
        let mut merged = Vec::with_capacity(reached.len() + 1);
        let mut scratch = std::mem::take(&mut self.changes.scratch);
        merge_runs(&reached, rows, policy, &mut scratch, &mut self.changes, &mut merged);
        self.changes.scratch = scratch;
        let len = |runs: &[ChunkRef]| runs.iter().map(|run| u64::from(run.len)).sum::<u64>();
        let mut growth = Growth { entries: len(&merged) - len(&reached), loops: 0 };
        if rows.iter().any(|row| row.neighbor() == self.vertex) {
            growth.loops = self.loops_in(&merged) - self.loops_in(&reached);
        }
        self.rest.extend(merged.into_iter().rev());
        self.version.reclaimer.allocated(std::mem::take(&mut self.changes.allocated_bytes));
        let replaced = std::mem::take(&mut self.changes.retired);
        self.version.reclaimer.discard(self.version.sequence, replaced);
        growth
    }

    /// Takes out the next so many runs, as far as there are.
    fn take(&mut self, count: usize) -> Vec<ChunkRef> {
        let mut runs = self.rest.split_off(self.rest.len().saturating_sub(count));
        runs.reverse();
        runs
    }

    fn loops_in(&self, runs: &[ChunkRef]) -> u64 {
        let loops_of = |run: &ChunkRef| {
            let mut buffer = RunBuffer::new();
            let neighbors = self.version.run_neighbors(*run, &mut buffer).iter();
            neighbors.filter(|neighbor| **neighbor == self.vertex).count() as u64
        };
        runs.iter().map(loops_of).sum()
    }

    /// Writes the next so many runs, and frees those of them that were made here.
    fn write(&mut self, count: usize) {
        let runs = self.take(count);
        // Whether later rows will have properties is not known yet.
        let has_columns =
            !self.version.schema.edge_types[usize::from(self.edge_type())].options.properties.is_empty();
        self.sink.write_runs(self.sections, self.vertex, &runs, has_columns);
        self.free(&runs);
    }

    /// Frees those of the runs that were made here.
    fn free(&self, runs: &[ChunkRef]) {
        let blocks = runs.iter().filter_map(|run| run.block()).collect();
        self.version.reclaimer.discard(self.version.sequence, blocks);
    }
}

impl Drop for LongList<'_> {
    fn drop(&mut self) {
        self.free(&self.rest);
    }
}
