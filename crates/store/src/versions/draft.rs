//! The draft of the next version: write sets applied one after the other to what will be published as one root.
//!
//! ```text
//!  operations ─► changes per list, both directions ─► sorted by vertex ─► vertex table edit, in parallel by vertex
//!                (vertex, neighbor, row)              range: edit_leaf for each leaf, no locks
//! ```
//!
//! Invariant: the version the draft started from is never written to; until `finish`, nobody else sees the draft.
#![allow(unsafe_code)]

use std::sync::Arc;

use evergraph_types::{
    CellValue, Direction, EdgeTypeId, PropertyId, Schema, Sequence, Value, VertexId, VertexTypeId,
};
use rayon::prelude::*;

use crate::commits::batch::ResolvedBatch;
use crate::keys::dictionary::Dictionary;
use crate::lists::entry::Entry;
use crate::lists::heap::{Block, Changes};
use crate::lists::leaf_edit::{edit_leaf, lists_of};
use crate::lists::merge::{Delta, PlainDelta, Policy, RowDelta};
use crate::lists::paged_array::{LEAF_CELLS, Leaf, PagedArray};
use crate::lists::sort::{Ends, sorted_deltas};
use crate::system::pool::{PARALLEL_ROWS, in_pool};
use crate::system::prefetch::prefetch;
use crate::upkeep::watch::Watch;
use crate::versions::guide::Mapped;
use crate::versions::range_edit::edit_ranges;
use crate::versions::turned::TurnedLists;
use crate::versions::version::{Adjacency, EdgeTables, Version, block_of_text, for_each_column_block};
use crate::write_sets::ops::{EdgeOps, VertexPut, WriteSet};

/// As many changes of a leaf are worth asking for its lists when it is edited, not before.
const DENSE_CHANGES: usize = 8;
/// Whoever watches is asked at one leaf of so many.
const LEAVES_ASKED: VertexId = if cfg!(debug_assertions) { 1 } else { 64 };

/// The next version while it is made.
pub(crate) struct Draft {
    pub(crate) version: Version,
    pub(crate) changes: Changes,
    /// The commit that its blocks are born with, which is that of the version unless others came before.
    born: Sequence,
    /// Vertex puts, endpoint marks and edge operations are gathered here until a vertex delete, a schema change or
    /// `finish` needs them applied, so that a group of small transactions is applied at once.
    pending_edges: Vec<(EdgeTypeId, EdgeOps)>,
    pending_vertices: Vec<VertexPut>,
}

impl Draft {
    /// A draft that starts as `base`, will be published as `sequence` and finds its keys in `dictionary`.
    pub(crate) fn new(
        base: &Version,
        dictionary: Arc<Dictionary>,
        sequence: Sequence,
        time_micros: i64,
    ) -> Self {
        let version = Version {
            origin: base.origin,
            sequence,
            time_micros,
            schema: base.schema.clone(),
            id_bound: base.id_bound,
            vertices: base.vertices,
            num_vertices: base.num_vertices,
            columns: base.columns.clone(),
            edges: base.edges.clone(),
            dictionary,
            catalog: base.catalog.clone(),
            segments: base.segments.clone(),
            format: base.format,
            reclaimer: base.reclaimer.clone(),
            turned: TurnedLists::default(),
            has_retired: false,
        };
        let changes = Changes::new(sequence);
        Draft { version, changes, born: sequence, pending_edges: Vec::new(), pending_vertices: Vec::new() }
    }

    /// Applies one write set after those before it. Its new keys are in the dictionary already.
    pub(crate) fn apply(&mut self, writes: WriteSet) {
        if let Some(schema) = writes.schema {
            self.flush();
            self.set_schema(schema);
        }
        if let Some(keys) = &writes.new_keys {
            let bound = writes.first_new_id + keys.len() as VertexId;
            self.version.id_bound = self.version.id_bound.max(bound);
        }
        if !writes.vertex_deletes.is_empty() {
            self.flush();
            self.delete_vertices(writes.vertex_deletes);
        }
        if !writes.items.is_empty() {
            Arc::make_mut(&mut self.version.catalog).apply(writes.items);
        }
        self.pending_vertices.extend(writes.vertex_puts);
        for (edge_type, ops) in writes.edges {
            match self.pending_edges.iter_mut().find(|(pending, _)| *pending == edge_type) {
                Some((_, pending)) => {
                    let properties =
                        &self.version.schema.edge_types[usize::from(edge_type)].options.properties;
                    pending.extend(ops, |property| properties[usize::from(property)].kind);
                }
                None => self.pending_edges.push((edge_type, ops)),
            }
        }
    }

    /// The finished version and what making it did to the heap.
    pub(crate) fn finish(mut self) -> (Version, Changes) {
        self.flush();
        (self.version, self.changes)
    }

    /// Has it published as a later commit than it was made for, after others that were made of `base`, too.
    pub(crate) fn postpone(&mut self, base: &Version, sequence: Sequence, time_micros: i64) {
        let version = &mut self.version;
        let commits = sequence - version.sequence;
        (version.sequence, version.time_micros) = (sequence, time_micros);
        if commits == 0 {
            return;
        }
        // SAFETY: nobody but the draft reaches the leaves that it does not share with its base.
        unsafe {
            version.vertices.postpone_changes(&base.vertices, commits);
            for (number, column) in version.columns.iter_mut().enumerate() {
                column.postpone_changes(&base.columns.get(number).copied().unwrap_or_default(), commits);
            }
            for (number, tables) in version.edges.iter_mut().enumerate() {
                let before = base.edges.get(number).copied().unwrap_or_default();
                tables.out.table.postpone_changes(&before.out.table, commits);
                tables.reverse.table.postpone_changes(&before.reverse.table, commits);
            }
        }
    }

    /// Gives up a draft, and frees what it allocated.
    pub(crate) fn discard(self) {
        let born = self.born;
        let (version, changes) = self.finish();
        let mut blocks = changes.retired;
        version.for_each_block(&mut |block| blocks.push(block));
        version.reclaimer.allocated(changes.allocated_bytes);
        version.reclaimer.discard(born, blocks);
    }

    /// Edges of a type and vertices as they are now, to tell what one write set changed.
    pub(crate) fn counts(&mut self, edge_type: EdgeTypeId) -> (u64, u64) {
        self.flush();
        (self.version.num_edges(edge_type), self.version.num_vertices)
    }

    /// Whether the edges of a batch can be merged into the lists while these are archived: a simple type without
    /// properties.
    pub(crate) fn takes_bulk(&self, batch: &ResolvedBatch) -> bool {
        let schema = batch.writes.schema.as_ref().unwrap_or(&self.version.schema);
        let kind = schema.edge_types.get(usize::from(batch.edge_type));
        !batch.delete && kind.is_some_and(|kind| !kind.options.multi && kind.properties().next().is_none())
    }

    /// Applies what is pending.
    pub(crate) fn flush(&mut self) {
        self.flush_watched(None);
    }

    /// Applies what is pending; lists are left out once whoever watches says no.
    pub(crate) fn flush_watched(&mut self, watch: Option<&Watch<'_>>) {
        let puts = std::mem::take(&mut self.pending_vertices);
        if !puts.is_empty() {
            self.put_vertices(puts);
        }
        for (edge_type, ops) in std::mem::take(&mut self.pending_edges) {
            self.apply_edges(edge_type, &ops, watch);
        }
    }

    /// Sets the schema: makes tables and columns for what is new in it, and empties those of what was dropped, whose items go, too.
    pub(crate) fn set_schema(&mut self, schema: Schema) {
        let Draft { version, changes, .. } = self;
        version.edges.resize_with(schema.edge_types.len(), EdgeTables::default);
        version.columns.resize_with(schema.vertex_properties.len(), PagedArray::default);
        let tables = (0..).zip(version.edges.iter_mut()).zip(&schema.edge_types);
        for ((edge_type, tables), _) in tables.filter(|(_, kind)| kind.is_dropped()) {
            version.catalog.forget_edge_type(edge_type);
            for adjacency in [&mut tables.out, &mut tables.reverse] {
                std::mem::take(adjacency).for_each_block(&mut |block| changes.retire(block));
            }
        }
        for (column, property) in version.columns.iter_mut().zip(&schema.vertex_properties) {
            if property.is_dropped() {
                let column = std::mem::take(column);
                for_each_column_block(&column, property.kind, &mut |block| changes.retire(block));
            }
        }
        version.schema = Arc::new(schema);
    }

    /// Replaces the mapped files.
    pub(crate) fn set_segments(&mut self, segments: Arc<Mapped>) {
        self.version.segments = segments;
    }

    fn apply_edges(&mut self, edge_type: EdgeTypeId, ops: &EdgeOps, watch: Option<&Watch<'_>>) {
        if ops.len() < PARALLEL_ROWS {
            self.merge_edges(edge_type, ops, watch);
        } else {
            in_pool(|| self.merge_edges(edge_type, ops, watch));
        }
    }

    /// Merges operations, and makes vertices of the endpoints that are none yet.
    fn merge_edges(&mut self, edge_type: EdgeTypeId, ops: &EdgeOps, watch: Option<&Watch<'_>>) {
        let schema = self.version.schema.clone();
        let options = &schema.edge_types[usize::from(edge_type)].options;
        for direction in [Direction::Out, Direction::In] {
            let (from, to) =
                if direction == Direction::Out { (&ops.src, &ops.dst) } else { (&ops.dst, &ops.src) };
            if direction == Direction::In && options.symmetric {
                continue;
            }
            if direction == Direction::In && !options.reverse {
                self.mark_destinations(ops);
                continue;
            }
            let ends = Ends { from, to, symmetric: options.symmetric };
            let tables = &self.version.edges[usize::from(edge_type)];
            let lists = if direction == Direction::Out { tables.out } else { tables.reverse };
            // The lists of one direction tell what was there.
            let found = self.changes.found.take_if(|_| direction == Direction::In);
            let merged = merge_rows(&self.version, edge_type, lists, ends, ops, &mut self.changes, watch);
            self.changes.found = self.changes.found.take().or(found);
            let tables = &mut self.version.edges[usize::from(edge_type)];
            *tables.side_mut(direction) = merged;
            // A vertex with edges of the type in either direction is there already.
            let newcomers = std::mem::take(&mut self.changes.newcomers);
            self.mark_ids(&newcomers);
            watch.into_iter().for_each(|watch| watch.advance(ops.len() as u64));
        }
    }

    /// Makes vertices of the destinations of the edges put: no lists of theirs are written that would tell.
    fn mark_destinations(&mut self, ops: &EdgeOps) {
        let put = (0..).zip(&ops.dst).filter(|(row, _)| !ops.is_delete(*row));
        let mut ends: Vec<VertexId> = put.map(|(_, &vertex)| vertex).collect();
        ends.sort_unstable();
        ends.dedup();
        self.mark_ids(&ends);
    }

    /// Makes vertices of the ids that are none yet. They ascend.
    pub(crate) fn mark_ids(&mut self, ids: &[VertexId]) {
        let vertices = self.version.vertices;
        let is_missing = |vertex: &VertexId| vertices.get(*vertex).is_none();
        let missing: Vec<VertexId> = match ids.len() {
            0..PARALLEL_ROWS => ids.iter().copied().filter(is_missing).collect(),
            _ => in_pool(|| ids.par_iter().with_min_len(PARALLEL_ROWS).copied().filter(is_missing).collect()),
        };
        let Some(&last) = missing.last() else { return };
        self.version.id_bound = self.version.id_bound.max(last + 1);
        self.version.num_vertices += missing.len() as u64;
        let mark = |_, leaf: &mut Leaf<VertexTypeId>, missing: &[VertexId], _: &mut Changes| {
            missing.iter().for_each(|&vertex| leaf.set(vertex, Some(0)));
        };
        self.version.vertices = vertices.edit(&missing, &|&vertex| vertex, &mark, &mut self.changes);
    }

    fn put_vertices(&mut self, mut puts: Vec<VertexPut>) {
        puts.sort_by_key(|put| put.vertex);
        let vertices = self.version.vertices;
        let new = puts
            .chunk_by(|left, right| left.vertex == right.vertex)
            .filter(|group| vertices.get(group[0].vertex).is_none())
            .count();
        self.version.num_vertices += new as u64;
        let bound = puts.last().map_or(0, |put| put.vertex + 1);
        self.version.id_bound = self.version.id_bound.max(bound);
        // Most puts change properties only: pages are copied for those that make or label a vertex.
        let labels: Vec<(VertexId, Option<VertexTypeId>)> = puts
            .iter()
            .filter(|put| put.label.is_some() || vertices.get(put.vertex).is_none())
            .map(|put| (put.vertex, put.label))
            .collect();
        self.version.vertices = vertices.edit(
            &labels,
            &|put| put.0,
            &|_, leaf, labels, _| {
                for &(vertex, label) in labels {
                    let label = label.or(leaf.get(vertex)).unwrap_or(0);
                    leaf.set(vertex, Some(label));
                }
            },
            &mut self.changes,
        );
        for property in 0..self.version.columns.len() {
            let cells: Vec<(VertexId, &Value)> = puts
                .iter()
                .flat_map(|put| put.properties.iter().map(move |(id, value)| (put.vertex, *id, value)))
                .filter(|(_, id, _)| usize::from(*id) == property)
                .map(|(vertex, _, value)| (vertex, value))
                .collect();
            self.set_cells(property as PropertyId, &cells);
        }
    }

    /// Sets cells of a vertex property column, null to empty them; `cells` ascend by vertex.
    fn set_cells(&mut self, property: PropertyId, cells: &[(VertexId, &Value)]) {
        let kind = self.version.schema.vertex_properties[usize::from(property)].kind;
        let column = &mut self.version.columns[usize::from(property)];
        *column = column.edit(
            cells,
            &|cell| cell.0,
            &|_, leaf, cells, changes| {
                for &(vertex, value) in cells {
                    if kind.width().is_none() {
                        let old = leaf.get(vertex).and_then(block_of_text);
                        old.into_iter().for_each(|old| {
                            // What it says of itself is asked when the commit is published.
                            old.prefetch();
                            changes.retire(old);
                        });
                    }
                    let cell = value.cell(kind).map(|cell| match cell {
                        CellValue::Bits(bits) => bits,
                        CellValue::Bytes(bytes) => write_text(&bytes, changes),
                    });
                    leaf.set(vertex, cell);
                }
            },
            &mut self.changes,
        );
    }

    /// Deletes vertices with every edge and property they have.
    fn delete_vertices(&mut self, mut vertices: Vec<VertexId>) {
        vertices.sort_unstable();
        vertices.dedup();
        vertices.retain(|&vertex| self.version.has_vertex(vertex));
        for edge_type in 0..self.version.edges.len() as EdgeTypeId {
            let ops = self.version.deletes_of(edge_type, &vertices);
            self.apply_edges(edge_type, &ops, None);
        }
        for property in 0..self.version.columns.len() {
            let cells: Vec<_> = vertices.iter().map(|&vertex| (vertex, &Value::Null)).collect();
            self.set_cells(property as PropertyId, &cells);
        }
        self.version.num_vertices -= vertices.len() as u64;
        self.version.vertices = self.version.vertices.edit(
            &vertices,
            &|&vertex| vertex,
            &|_, leaf, vertices, _| vertices.iter().for_each(|&vertex| leaf.set(vertex, None)),
            &mut self.changes,
        );
    }
}

/// A new block of bytes, as a cell.
fn write_text(text: &[u8], changes: &mut Changes) -> u64 {
    let block: Block = changes.allocate(4 + text.len());
    // SAFETY: the new block has room for the length and the bytes.
    unsafe {
        block.pointer().cast::<u32>().write(text.len() as u32);
        block.pointer().add(4).copy_from_nonoverlapping(text.as_ptr(), text.len());
    }
    block.pointer() as u64
}

/// The lists of a type and direction with operations merged in; `ends` are those of the operations. Once whoever watches says
/// no, lists stay as they were.
pub(crate) fn merge_rows(
    version: &Version,
    edge_type: EdgeTypeId,
    lists: Adjacency,
    ends: Ends<'_>,
    ops: &EdgeOps,
    changes: &mut Changes,
    watch: Option<&Watch<'_>>,
) -> Adjacency {
    let policy = Policy::of(version, edge_type, ops);
    match (ops.is_plain(), policy.multi) {
        (true, false) => merge_as::<PlainDelta<false>>(lists, ends, policy, changes, watch),
        (true, true) => merge_as::<PlainDelta<true>>(lists, ends, policy, changes, watch),
        (false, false) => merge_as::<RowDelta<false>>(lists, ends, policy, changes, watch),
        (false, true) => merge_as::<RowDelta<true>>(lists, ends, policy, changes, watch),
    }
}

/// As [`merge_rows`], with changes of one kind.
fn merge_as<D: Delta>(
    lists: Adjacency,
    ends: Ends<'_>,
    policy: Policy<'_>,
    changes: &mut Changes,
    watch: Option<&Watch<'_>>,
) -> Adjacency {
    let deltas = sorted_deltas(ends, |vertex, neighbor, row| D::new(policy.ops, vertex, neighbor, row));
    let is_stopped =
        |watch: &Watch<'_>, base: VertexId| match (base / LEAF_CELLS).is_multiple_of(LEAVES_ASKED) {
            true => !watch.goes_on(),
            false => watch.is_stopped(),
        };
    let mut lists = lists;
    let goes_on = || watch.is_none_or(|watch| watch.goes_on());
    let rest = edit_ranges(&mut lists, &deltas, policy, changes, goes_on);
    let few = rest.as_deref().unwrap_or(&deltas);
    let edited = edit_lists(lists, few, changes, |base, leaf, deltas, changes| {
        if !watch.is_some_and(|watch| is_stopped(watch, base)) {
            edit_leaf(leaf, base, deltas, policy, changes);
        }
    });
    if rest.is_some() {
        changes.newcomers.sort_unstable();
    }
    edited
}

/// The lists after these changes, which are sorted, `edit` changing those of a leaf.
pub(crate) fn edit_lists<D: Delta>(
    lists: Adjacency,
    deltas: &[D],
    changes: &mut Changes,
    edit: impl Fn(VertexId, &mut Leaf<Entry>, &[D], &mut Changes) + Sync,
) -> Adjacency {
    (changes.entries, changes.loops) = (0, 0);
    let ask = |deltas: &[D]| prefetch_lists(&lists.table, deltas);
    let table = lists.table.edit_asked(deltas, &|delta| delta.vertex(), &ask, &edit, changes);
    let entries = lists.entries.saturating_add_signed(changes.entries);
    let loops = lists.loops.saturating_add_signed(changes.loops);
    Adjacency { table, entries, loops, ..lists }
}

/// Asks the processor for what these changes read: for all leaves, then the lists that these tell of, then the runs in these.
/// Where a leaf has many changes, its lists are left to [`edit_leaf`].
fn prefetch_lists<D: Delta>(table: &PagedArray<Entry>, deltas: &[D]) {
    table.prefetch_leaves(deltas, &|delta| delta.vertex());
    let leaf_of = |delta: &D| delta.vertex() / LEAF_CELLS;
    let leaves = deltas.chunk_by(|left, right| leaf_of(left) == leaf_of(right)).count();
    if deltas.len() >= DENSE_CHANGES * leaves {
        return;
    }
    let entry_of = |list: &[D]| table.cell(list[0].vertex()).unwrap_or(Entry::EMPTY);
    lists_of(deltas).for_each(|list| entry_of(list).prefetch());
    for list in lists_of(deltas) {
        let entry = entry_of(list);
        if entry.has_directory() {
            for delta in list {
                // SAFETY: the version being edited is alive.
                let run = unsafe { entry.run_around(delta.neighbor()) };
                run.into_iter().for_each(|run| prefetch(run.pointer(), 4 * run.len as usize));
            }
        }
    }
}
