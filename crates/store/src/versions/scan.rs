//! Reads of a version column by column: the runs of a list with the properties of its edges, and vertex properties
//! by ranges of ids. What tables are made from.
//!
//! Invariant: a run is handed out only while its version is borrowed.
#![allow(unsafe_code)]

use std::ops::Range;

use evergraph_types::{Cells, Column, Direction, EdgeTypeId, PropertyId, Value, VertexId, VertexTypeId};

use crate::lists::adjacency::{ChunkRef, RUN_START};
use crate::lists::apart::apart;
use crate::lists::compression::RunBuffer;
use crate::lists::entry::Entry;
use crate::lists::fragment::{ColumnArea, RunColumn};
use crate::lists::paged_array::{LEAF_CELLS, Leaf};
use crate::system::prefetch::prefetch;
use crate::versions::version::Version;

/// Neighbors that lie side by side, and the properties of their edges.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    neighbors: &'a [VertexId],
    /// The columns, from the row of the first neighbor on.
    columns: Option<ColumnArea<'a>>,
}

impl<'a> Run<'a> {
    /// A run whose neighbors are decoded into the buffer if they are compressed.
    ///
    /// # Safety
    /// The version the run belongs to stays alive for `'a`.
    #[inline]
    pub(crate) unsafe fn new(run: ChunkRef, buffer: &'a mut RunBuffer) -> Self {
        // SAFETY: by contract.
        let (neighbors, columns) = unsafe { (run.read(buffer), run.columns()) };
        Run { neighbors, columns: columns.map(|area| area.starting_at(run.forgotten() as usize)) }
    }

    /// A row of this run as seen from its other end: `neighbor` in place of the one it has.
    pub(crate) fn row(&self, neighbor: &'a [VertexId], row: usize) -> Self {
        Run { neighbors: neighbor, columns: self.columns.map(|area| area.starting_at(row)) }
    }

    /// The neighbors; row `i` of the run is the edge to neighbor `i`.
    pub fn neighbors(&self) -> &'a [VertexId] {
        self.neighbors
    }

    /// A property of the edge in row `row`; null if it has none.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn value(&self, property: PropertyId, row: usize) -> Value {
        self.column(property).map_or(Value::Null, |column| column.value(row))
    }

    /// A property of all edges of the run, unless it is null throughout: for reading many rows.
    #[inline]
    pub fn column(&self, property: PropertyId) -> Option<RunColumn<'a>> {
        self.columns.as_ref()?.column(property)
    }

    /// Appends a property of the edges in these rows to a column of the property's type.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn copy_rows(
        &self,
        property: PropertyId,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
        into: &mut Column,
    ) {
        let Some(column) = self.column(property) else { return into.push_nulls(rows.len()) };
        let start = into.len();
        let nulls = rows.clone().any(|row| column.is_null(row));
        column.copy_cells(rows.clone(), into.cells_mut());
        if nulls || into.validity.is_some() {
            let validity = into.validity.get_or_insert_with(|| vec![true; start]);
            validity.extend(rows.map(|row| !column.is_null(row)));
        }
    }
}

/// Asks the processor for a run whose columns are going to be read.
#[inline]
fn ask_for_columns(run: ChunkRef) {
    if run.has_columns() {
        prefetch(run.pointer(), RUN_START);
    }
}

impl Version {
    /// Calls `visit` with each run of a vertex's neighbor list, in list order.
    pub fn for_each_run(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        mut visit: impl FnMut(Run<'_>),
    ) {
        if !self.keeps_lists(edge_type, direction) {
            return self.for_each_turned_run(edge_type, vertex, &mut visit);
        }
        self.ask_for_list(edge_type, direction, vertex);
        self.for_each_run_of(self.entry(edge_type, direction, vertex), visit);
    }

    /// Calls `visit` with each edge from `src` to `dst`, as a run and a row of it, in list order.
    pub fn for_each_edge_between(
        &self,
        edge_type: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        mut visit: impl FnMut(Run<'_>, usize),
    ) {
        let multi =
            self.schema().edge_types.get(usize::from(edge_type)).is_some_and(|kind| kind.options.multi);
        self.ask_for_list(edge_type, Direction::Out, src);
        let out = self.entry(edge_type, Direction::Out, src);
        if !multi {
            return self.with_run_around(out, dst, |run| {
                if let Ok(row) = run.neighbors.binary_search(&dst) {
                    visit(run, row);
                }
            });
        }
        // Parallel edges have the same order in both lists; the shorter one is scanned.
        let reverse = self
            .keeps_lists(edge_type, Direction::In)
            .then(|| self.entry(edge_type, Direction::In, dst))
            .filter(|reverse| self.degree_of(*reverse) < self.degree_of(out));
        let (list, wanted) = reverse.map_or((out, dst), |reverse| (reverse, src));
        self.for_each_run_of(list, |run| {
            let rows = run.neighbors.iter().enumerate();
            rows.filter(|(_, neighbor)| **neighbor == wanted).for_each(|(row, _)| visit(run, row));
        });
    }

    /// Calls `visit` with the one run of an ascending list of this version that may hold `wanted`.
    fn with_run_around(&self, list: Entry, wanted: VertexId, visit: impl FnOnce(Run<'_>)) {
        // SAFETY: an entry of this version, which is borrowed.
        let chunk = unsafe { list.run_around(wanted) };
        if let Some(chunk) = chunk {
            ask_for_columns(chunk);
            let mut buffer = RunBuffer::new();
            // SAFETY: as above.
            visit(unsafe { Run::new(chunk, &mut buffer) });
        }
    }

    /// Calls `visit` with each run of a list of this version.
    fn for_each_run_of(&self, entry: Entry, mut visit: impl FnMut(Run<'_>)) {
        let mut visit = |run: ChunkRef| {
            ask_for_columns(run);
            let mut buffer = RunBuffer::new();
            // SAFETY: a run of an entry of this version, which is borrowed.
            visit(unsafe { Run::new(run, &mut buffer) });
        };
        match entry.has_directory() {
            // SAFETY: an entry of this version, which is borrowed.
            true => unsafe { entry.directory() }.iter().copied().for_each(visit),
            false if entry.is_empty() => (),
            false => visit(entry.run()),
        }
    }

    /// What a vertex's out list does not share with that of another version, and what that one does not share with it;
    /// compressed runs are decoded into the buffers.
    pub(crate) fn runs_apart<'a>(
        &'a self,
        other: &'a Version,
        edge_type: EdgeTypeId,
        vertex: VertexId,
        buffers: &'a mut Vec<RunBuffer>,
        other_buffers: &'a mut Vec<RunBuffer>,
    ) -> (Vec<Run<'a>>, Vec<Run<'a>>) {
        let list = |version: &Version| version.entry(edge_type, Direction::Out, vertex);
        let [mut single, mut other_single] = [None, None];
        // SAFETY: entries of these versions, which are borrowed.
        let (own, others) = unsafe { (list(self).runs(&mut single), list(other).runs(&mut other_single)) };
        let (own, others) = apart(own, others);
        let read = |runs: Vec<ChunkRef>, buffers: &'a mut Vec<RunBuffer>| -> Vec<Run<'a>> {
            buffers.resize_with(runs.len(), RunBuffer::new);
            // SAFETY: parts of runs of these versions, which are borrowed for `'a`.
            runs.into_iter().zip(buffers).map(|(run, buffer)| unsafe { Run::new(run, buffer) }).collect()
        };
        (read(own, buffers), read(others, other_buffers))
    }

    /// A property of the vertices of a range of ids, in order; ids that are no vertices have no row.
    pub fn vertex_column(&self, property: PropertyId, range: Range<VertexId>) -> Option<Column> {
        let kind = self.schema().vertex_properties.get(usize::from(property))?.kind;
        let cells = self.columns.get(usize::from(property))?;
        let mut column = Column::new(kind);
        self.for_each_page(range, |base, vertices, rows| {
            let leaf = cells.leaf(base);
            let is_full = vertices.occupied == u64::MAX && rows.len() == LEAF_CELLS as usize;
            if let (Some(leaf), None) =
                (leaf.filter(|leaf| is_full && leaf.occupied == u64::MAX), &column.validity)
                && let Cells::Eight(bits) = column.cells_mut()
            {
                return bits.extend_from_slice(&leaf.cells);
            }
            for id in rows.filter(|&id| vertices.get(id).is_some()) {
                match leaf.and_then(|leaf| leaf.get(id)) {
                    None => column.push_nulls(1),
                    Some(cell) if kind.width().is_none() => column.push_bytes(self.text(cell)),
                    Some(cell) => column.push_bits(cell),
                }
            }
        });
        Some(column)
    }

    /// The vertices of a range of ids, ascending.
    pub fn vertex_ids_in(&self, range: Range<VertexId>) -> Vec<VertexId> {
        let mut ids = Vec::with_capacity(range.len());
        self.for_each_page(range, |_, vertices, rows| {
            if vertices.occupied == u64::MAX {
                ids.extend(rows);
            } else {
                ids.extend(rows.filter(|&id| vertices.get(id).is_some()));
            }
        });
        ids
    }

    /// The types of the vertices of a range of ids, in order; ids that are no vertices have no row.
    pub fn vertex_types(&self, range: Range<VertexId>) -> Vec<VertexTypeId> {
        let mut types = Vec::with_capacity(range.len());
        self.for_each_page(range, |_, vertices, rows| types.extend(rows.filter_map(|id| vertices.get(id))));
        types
    }

    /// Calls `visit` with the vertex page of each part of a range of ids.
    fn for_each_page(
        &self,
        range: Range<VertexId>,
        mut visit: impl FnMut(VertexId, &Leaf<VertexTypeId>, Range<VertexId>),
    ) {
        let end = range.end.min(self.id_bound());
        let mut start = range.start;
        while start < end {
            let base = start - start % LEAF_CELLS;
            let next = end.min(base.saturating_add(LEAF_CELLS));
            if let Some(leaf) = self.vertices.leaf(base) {
                visit(base, leaf, start..next);
            }
            start = next;
        }
    }
}
