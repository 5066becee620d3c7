//! The draft of the next version: write sets applied one after the other to what will be published as one root.
//!
//! ```text
//!  operations ─► changes per list, both directions ─► sorted by vertex ─► vertex table edit, in parallel by vertex
//!                (vertex, neighbor, row)              range: merge_list for each vertex, no locks
//! ```
//!
//! Invariant: the version the draft started from is never written to; until `finish`, nobody else sees the draft.
#![allow(unsafe_code)]

use std::sync::Arc;

use evergraph_segment::Segment;
use evergraph_types::{CellValue, EdgeTypeId, PropertyId, Schema, Sequence, Value, VertexId, VertexTypeId};
use rayon::prelude::*;

use crate::adjacency::Entry;
use crate::batch::ResolvedBatch;
use crate::dictionary::Dictionary;
use crate::heap::{Block, Changes};
use crate::merge::{Delta, PlainDelta, Policy, RowDelta, merge_list};
use crate::ops::{EdgeOps, VertexPut, WriteSet};
use crate::paged_array::PagedArray;
use crate::pool::{PARALLEL_ROWS, in_pool};
use crate::sort::sort_deltas;
use crate::turned::TurnedLists;
use crate::version::{Adjacency, EdgeTables, Version, block_of_text, for_each_column_block};

/// The next version while it is made.
pub(crate) struct Draft {
    pub(crate) version: Version,
    pub(crate) changes: Changes,
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
            reclaimer: base.reclaimer.clone(),
            turned: TurnedLists::default(),
        };
        let changes = Changes::new(sequence);
        Draft { version, changes, pending_edges: Vec::new(), pending_vertices: Vec::new() }
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

    /// Gives up a draft that no version has the sequence of, and frees what it allocated.
    pub(crate) fn discard(self) {
        let (version, changes) = self.finish();
        let mut blocks = changes.retired;
        version.for_each_block(&mut |block| blocks.push(block));
        version.reclaimer.allocated(changes.allocated_bytes);
        version.reclaimer.discard(version.sequence, blocks);
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
        let puts = std::mem::take(&mut self.pending_vertices);
        if !puts.is_empty() {
            self.put_vertices(puts);
        }
        for (edge_type, ops) in std::mem::take(&mut self.pending_edges) {
            self.apply_edges(edge_type, &ops);
        }
    }

    /// Sets the schema: makes tables and columns for what is new in it, and empties those of what was dropped.
    pub(crate) fn set_schema(&mut self, schema: Schema) {
        let Draft { version, changes, .. } = self;
        version.edges.resize_with(schema.edge_types.len(), EdgeTables::default);
        version.columns.resize_with(schema.vertex_properties.len(), PagedArray::default);
        for (tables, _) in
            version.edges.iter_mut().zip(&schema.edge_types).filter(|(_, kind)| kind.is_dropped())
        {
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
    pub(crate) fn set_segments(&mut self, segments: Arc<[Arc<Segment>]>) {
        self.version.segments = segments;
    }

    fn apply_edges(&mut self, edge_type: EdgeTypeId, ops: &EdgeOps) {
        if ops.len() < PARALLEL_ROWS {
            self.merge_edges(edge_type, ops);
        } else {
            in_pool(|| self.merge_edges(edge_type, ops));
        }
    }

    fn merge_edges(&mut self, edge_type: EdgeTypeId, ops: &EdgeOps) {
        let options = self.version.schema.edge_types[usize::from(edge_type)].options.clone();
        let policy = Policy { multi: options.multi, properties: &options.properties, ops };
        let tables = &mut self.version.edges[usize::from(edge_type)];
        if ops.is_plain() && !options.multi {
            let out = plain_deltas(&ops.src, &ops.dst, options.symmetric);
            tables.out = edit_lists(tables.out, &out, policy, &mut self.changes);
            let reverse =
                if options.symmetric { Vec::new() } else { plain_deltas(&ops.dst, &ops.src, false) };
            if options.reverse {
                tables.reverse = edit_lists(tables.reverse, &reverse, policy, &mut self.changes);
            }
            self.mark_vertices(&out);
            self.mark_vertices(&reverse);
        } else {
            let out = row_deltas(&ops.src, &ops.dst, options.symmetric, options.multi);
            tables.out = edit_lists(tables.out, &out, policy, &mut self.changes);
            let mut reverse = if options.symmetric {
                Vec::new()
            } else {
                row_deltas(&ops.dst, &ops.src, false, options.multi)
            };
            if options.reverse {
                tables.reverse = edit_lists(tables.reverse, &reverse, policy, &mut self.changes);
            }
            reverse.extend(out);
            reverse.retain(|delta| !ops.is_delete(delta.row()));
            reverse.sort_unstable();
            self.mark_vertices(&reverse);
        }
    }

    /// Makes vertices of the endpoints that are none yet. The changes are sorted by vertex.
    fn mark_vertices<D: Delta>(&mut self, deltas: &[D]) {
        let same = |left: &D, right: &D| left.vertex() == right.vertex();
        let first = |group: &[D]| group[0].vertex();
        let ends: Vec<VertexId> = match deltas.len() {
            0..PARALLEL_ROWS => deltas.chunk_by(same).map(first).collect(),
            _ => in_pool(|| deltas.par_chunk_by(same).map(first).collect()),
        };
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
        let mark =
            |_, leaf: &mut crate::paged_array::Leaf<VertexTypeId>, missing: &[VertexId], _: &mut Changes| {
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
        self.version.vertices = vertices.edit(
            &puts,
            &|put| put.vertex,
            &|_, leaf, puts, _| {
                for put in puts {
                    let label = put.label.or(leaf.get(put.vertex)).unwrap_or(0);
                    leaf.set(put.vertex, Some(label));
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
                        leaf.get(vertex)
                            .and_then(block_of_text)
                            .into_iter()
                            .for_each(|old| changes.retire(old));
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
            self.apply_edges(edge_type, &ops);
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

fn plain_deltas(from: &[VertexId], to: &[VertexId], symmetric: bool) -> Vec<PlainDelta> {
    let delta = |(from, to): (&VertexId, &VertexId)| PlainDelta(u64::from(*from) << 32 | u64::from(*to));
    let mut deltas: Vec<PlainDelta> = Vec::with_capacity(from.len() * (1 + usize::from(symmetric)));
    if from.len() < PARALLEL_ROWS {
        deltas.extend(from.iter().zip(to).map(delta));
        if symmetric {
            deltas.extend(to.iter().zip(from).filter(|(to, from)| to != from).map(delta));
        }
        return sort_deltas(deltas);
    }
    deltas.par_extend(from.par_iter().zip(to).with_min_len(PARALLEL_ROWS).map(delta));
    if symmetric {
        let mirrored = to.par_iter().zip(from).with_min_len(PARALLEL_ROWS);
        deltas.par_extend(mirrored.filter(|(to, from)| to != from).map(delta));
    }
    sort_deltas(deltas)
}

fn row_deltas(from: &[VertexId], to: &[VertexId], symmetric: bool, multi: bool) -> Vec<RowDelta> {
    let delta = |vertex, neighbor, row: usize| {
        let rank = if multi { 0 } else { neighbor };
        RowDelta { vertex, rank, row: row as u32, neighbor }
    };
    let mut deltas = Vec::with_capacity(from.len() * (1 + usize::from(symmetric)));
    for (row, (&from, &to)) in from.iter().zip(to).enumerate() {
        deltas.push(delta(from, to, row));
        if symmetric && from != to {
            deltas.push(delta(to, from, row));
        }
    }
    sort_deltas(deltas)
}

/// The lists after these changes, which are sorted.
fn edit_lists<D: Delta>(
    lists: Adjacency,
    deltas: &[D],
    policy: Policy<'_>,
    changes: &mut Changes,
) -> Adjacency {
    let mut own = changes.fork();
    let table = lists.table.edit(
        deltas,
        &|delta| delta.vertex(),
        &|_, leaf, deltas, changes| {
            let mut scratch = std::mem::take(&mut changes.scratch);
            for group in deltas.chunk_by(|left, right| left.vertex() == right.vertex()) {
                let vertex = group[0].vertex();
                let old = leaf.get(vertex).unwrap_or(Entry::EMPTY);
                let loops = group.iter().any(|delta| delta.neighbor() == vertex);
                let old_loops = if loops { count_loops(old, vertex) } else { 0 };
                let new = merge_list(old, group, policy, &mut scratch, changes);
                changes.entries += i64::from(new.degree) - i64::from(old.degree);
                changes.loops += if loops { count_loops(new, vertex) - old_loops } else { 0 };
                leaf.set(vertex, (new.degree > 0).then_some(new));
            }
            changes.scratch = scratch;
        },
        &mut own,
    );
    let entries = lists.entries.saturating_add_signed(own.entries);
    let loops = lists.loops.saturating_add_signed(own.loops);
    changes.join(own);
    Adjacency { table, entries, loops }
}

fn count_loops(entry: Entry, vertex: VertexId) -> i64 {
    // SAFETY: the list belongs to the draft or to the version it started from, both alive. In a chunked merge some
    // blocks of `entry` may be retired by now, but retired blocks live as long as that version.
    unsafe { entry.neighbors() }.iter().filter(|&neighbor| neighbor == vertex).count() as i64
}
