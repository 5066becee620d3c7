//! The rows of a spilled load merged with the old lists, in steps that memory has room for.
//!
//! ```text
//!  rows of a range of vertices ─┬► some vertices, their rows and old lists are few bytes  ─► merged at once, written
//!  selected lists ──────────────┘
//!                               └► one vertex, its rows or its old list are more          ─┐
//!  rows of a part of one list ────────────────────────────────────────────────────────────┴► LongList, which stays open
//! ```
//!
//! Invariants: lists are written in the order of vertices; the list that is open is the last one that rows came to, and is
//! finished before the next one is begun.

use std::ops::Range;

use evergraph_segment::SegmentError;
use evergraph_types::{Direction, VertexId};

use crate::commits::batch::EndIds;
use crate::files::list_parts::{Selected, Sizes};
use crate::files::list_pieces::{Growth, ListSink};
use crate::files::rows::ListSections;
use crate::lists::heap::Changes;
use crate::lists::sort::Ends;
use crate::loads::additions::{Additions, Side};
use crate::loads::long_list::LongList;
use crate::loads::spill::{Place, Spilled, first_of, vertex_of};
use crate::upkeep::watch::Watch;
use crate::versions::draft::merge_rows;
use crate::versions::version::{Adjacency, Version};
use crate::write_sets::ops::EdgeOps;

/// The lists of one edge type and direction while rows are merged into them.
pub(crate) struct SpillMerge<'a> {
    version: &'a Version,
    sink: &'a ListSink<'a>,
    sections: ListSections,
    before: Adjacency,
    sizes: Sizes<'a>,
    /// About so many words of rows and old lists are merged at a time.
    words_at_a_time: usize,
    /// Lists to write, with rows or without, that are to come.
    selected: &'a [Selected],
    open: Option<LongList<'a>>,
    growth: Growth,
}

/// Rows, by their position in the order of vertices, and selected lists that are merged at once.
#[derive(Default)]
struct Step {
    rows: Range<usize>,
    lists: Range<usize>,
    words: usize,
}

impl<'a> SpillMerge<'a> {
    /// Nothing is merged yet. About `bytes` of rows and old lists are to be merged at a time.
    pub(crate) fn new(
        version: &'a Version,
        sink: &'a ListSink<'a>,
        sections: ListSections,
        before: Adjacency,
        selected: &'a [Selected],
        bytes: u64,
    ) -> Self {
        let words_at_a_time = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
        let sizes = Sizes::of(version, sections.lists.owner);
        let growth = Growth::default();
        SpillMerge { version, sink, sections, before, sizes, words_at_a_time, selected, open: None, growth }
    }

    /// Merges all rows of a direction, as long as it goes on; tells how the lists have grown.
    pub(crate) fn merge(
        mut self,
        spilled: &Spilled,
        direction: Direction,
        watch: &Watch<'_>,
    ) -> Result<Growth, SegmentError> {
        let edge_type = usize::from(self.sections.lists.owner);
        let properties = &self.version.schema.edge_types[edge_type].options.properties;
        self.sink.begin(self.sections);
        let (ranges, total) = (spilled.ranges(direction, self.version.id_bound), spilled.rows());
        let mut merged = 0;
        for (number, places) in (1..).zip(&ranges) {
            if !watch.goes_on() {
                break;
            }
            let rows = spilled.read(direction, places, |property| properties[usize::from(property)].kind)?;
            let end = self.selected.partition_point(|list| first_of(list.0) < places.end);
            let selected;
            (selected, self.selected) = self.selected.split_at(end);
            match is_part_of_list(places) {
                // The list is written whether it was selected or not.
                true => rows.src.first().into_iter().for_each(|&vertex| self.extend(vertex, &rows)),
                false => self.merge_lists(rows, selected),
            }
            let done = total * number / ranges.len() as u64;
            watch.advance(done - std::mem::replace(&mut merged, done));
        }
        self.finish_open();
        self.sink.end(self.sections);
        Ok(self.growth)
    }

    /// Merges rows of some vertices, all that there are of these, and writes the selected lists among them.
    fn merge_lists(&mut self, rows: EdgeOps, selected: &[Selected]) {
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        let vertex_at = |order: &[u32], at: usize| order.get(at).map(|&row| rows.src[row as usize]);
        if !rows.src.is_sorted() {
            order.sort_by_key(|&row| rows.src[row as usize]);
        }
        let words_per_row = rows.bytes_per_row().div_ceil(size_of::<u32>());
        let mut step = Step::default();
        loop {
            let (row, list) = (step.rows.end, step.lists.end);
            let next = selected.get(list).map(|list| list.0);
            let Some(vertex) = [vertex_at(&order, row), next].into_iter().flatten().min() else { break };
            let rows_end = row + order[row..].partition_point(|&row| rows.src[row as usize] == vertex);
            let lists_end = list + usize::from(next == Some(vertex));
            let words = words_per_row * (rows_end - row) + self.sizes.of_list(self.before.table.get(vertex));
            if step.words + words > self.words_at_a_time {
                self.merge_step(&rows, &order, selected, step);
                step = Step { rows: row..row, lists: list..list, words: 0 };
            }
            if words > self.words_at_a_time {
                self.extend(vertex, &pick(&rows, &order[row..rows_end]));
                step = Step { rows: rows_end..rows_end, lists: lists_end..lists_end, words: 0 };
            } else {
                (step.rows.end, step.lists.end) = (rows_end, lists_end);
                step.words += words;
            }
        }
        if step.rows == (0..rows.len()) {
            return self.merge_at_once(rows, &selected[step.lists]);
        }
        self.merge_step(&rows, &order, selected, step);
    }

    fn merge_step(&mut self, rows: &EdgeOps, order: &[u32], selected: &[Selected], step: Step) {
        self.merge_at_once(pick(rows, &order[step.rows]), &selected[step.lists]);
    }

    /// Writes lists with rows added to them. These go through the same merge as those of any commit, in pages of their own that
    /// are given up again once the lists are on their way to the segment.
    fn merge_at_once(&mut self, mut rows: EdgeOps, selected: &[Selected]) {
        self.finish_open();
        let Self { version, sink, sections, before, .. } = *self;
        let edge_type = sections.lists.owner;
        if rows.is_empty() {
            sink.write_part::<u32>(sections, &before.table, selected, None);
            return;
        }
        let kind = &version.schema.edge_types[usize::from(edge_type)];
        if !kind.options.multi && kind.properties().next().is_none() {
            let ends = [EndIds { src: rows.src, dst: rows.dst }];
            let split = Additions::<u64>::split(&ends, Side::Source, version.id_bound, None);
            drop(ends);
            return self.growth.add(sink.write_part(sections, &before.table, selected, Some(&split)));
        }
        let mut changes = Changes::new(version.sequence);
        let ends = Ends { from: &rows.src, to: &rows.dst, symmetric: false };
        let after = merge_rows(version, edge_type, before, ends, &rows, &mut changes, None);
        // Where a row was added there is a list.
        let mut vertices = std::mem::take(&mut rows.src);
        drop(rows);
        vertices.extend(selected.iter().map(|list| list.0));
        vertices.sort_unstable();
        vertices.dedup();
        let selected: Vec<Selected> =
            vertices.into_iter().map(|vertex| (vertex, after.table.get(vertex))).collect();
        sink.write_part::<u32>(sections, &after.table, &selected, None);
        let mut blocks = changes.retired;
        after.for_each_block_since(&before, &mut |block| blocks.push(block));
        version.reclaimer.allocated(changes.allocated_bytes);
        version.reclaimer.discard(version.sequence, blocks);
        self.growth
            .add(Growth { entries: after.entries - before.entries, loops: after.loops - before.loops });
    }

    /// Merges rows of one vertex, which may not be all, into its list, which is long.
    fn extend(&mut self, vertex: VertexId, rows: &EdgeOps) {
        if self.open.as_ref().is_none_or(|open| open.vertex() != vertex) {
            self.finish_open();
        }
        let Self { version, sink, sections, before, words_at_a_time, .. } = *self;
        let list = self.open.get_or_insert_with(|| {
            LongList::new(version, sink, sections, (vertex, before.table.get(vertex)), words_at_a_time)
        });
        self.growth.add(list.extend(rows));
    }

    fn finish_open(&mut self) {
        self.open.take().into_iter().for_each(LongList::finish);
    }
}

/// Whether places are of one list that has other places, too.
fn is_part_of_list(places: &Range<Place>) -> bool {
    let is_within = |place: Place| place != first_of(vertex_of(place));
    is_within(places.start) || is_within(places.end)
}

/// Rows in this order.
fn pick(rows: &EdgeOps, order: &[u32]) -> EdgeOps {
    rows.pick(order.iter().map(|&row| row as usize))
}
