//! Edges as rows: columns of ends and properties, for the edges of one type in the lists of some vertices.
//!
//! Invariant: all columns have a row for each edge, in the order of vertices and then of their lists.

use std::ops::Range;

use evergraph_store::Run;
use evergraph_types::{Column, Direction, EdgeTypeId, PropertyId, VertexId};
use rayon::prelude::*;

use crate::edge_layout::EdgeLayout;
use crate::selection::Selection;

/// Vertices that one task makes rows of.
const VERTICES_PER_TASK: u32 = 1 << 12;

/// Edges of one type as rows, ends as ids.
#[derive(Debug)]
pub(crate) struct EdgeRows {
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) src: Vec<VertexId>,
    pub(crate) dst: Vec<VertexId>,
    /// One for each column of the layout.
    pub(crate) columns: Vec<Column>,
    /// The property of each column, if the edge type has it.
    properties: Vec<Option<PropertyId>>,
    /// Which rows of a run are wanted; a buffer.
    wanted: Vec<usize>,
}

impl EdgeRows {
    pub(crate) fn new(layout: &EdgeLayout, edge_type: EdgeTypeId) -> Self {
        EdgeRows {
            edge_type,
            src: Vec::new(),
            dst: Vec::new(),
            columns: layout.properties.iter().map(|column| Column::new(column.kind)).collect(),
            properties: layout.properties.iter().map(|column| column.property(edge_type)).collect(),
            wanted: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.src.len()
    }

    /// Appends the edges of a vertex in one direction.
    pub(crate) fn push_vertex(&mut self, selection: &Selection, direction: Direction, vertex: VertexId) {
        selection.for_each_run(self.edge_type, direction, vertex, |run, rows| {
            let neighbors = run.neighbors();
            let (near, far) = match direction {
                Direction::Out => (&mut self.src, &mut self.dst),
                Direction::In => (&mut self.dst, &mut self.src),
            };
            match rows {
                None => far.extend_from_slice(neighbors),
                Some(rows) => far.extend(rows.iter().map(|&row| neighbors[row])),
            }
            near.resize(far.len(), vertex);
            match rows {
                None => self.push_properties(run, 0..neighbors.len()),
                Some(rows) => self.push_properties(run, rows.iter().copied()),
            }
        });
    }

    /// Appends the edges of a vertex to itself and to vertices of larger ids: of a symmetric type, those that count
    /// for this vertex.
    fn push_half(&mut self, selection: &Selection, vertex: VertexId) {
        let mut wanted = std::mem::take(&mut self.wanted);
        selection.for_each_run(self.edge_type, Direction::Out, vertex, |run, rows| {
            let neighbors = run.neighbors();
            let counts = |row: &usize| neighbors[*row] >= vertex;
            wanted.clear();
            match rows {
                None => wanted.extend((0..neighbors.len()).filter(counts)),
                Some(rows) => wanted.extend(rows.iter().copied().filter(counts)),
            }
            self.dst.extend(wanted.iter().map(|&row| neighbors[row]));
            self.src.resize(self.dst.len(), vertex);
            self.push_properties(run, wanted.iter().copied());
        });
        self.wanted = wanted;
    }

    fn push_properties(&mut self, run: Run<'_>, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        for (column, property) in self.columns.iter_mut().zip(&self.properties) {
            match property {
                Some(property) => run.copy_rows(*property, rows.clone(), column),
                None => column.push_nulls(rows.len()),
            }
        }
    }
}

/// Every edge of the selected types once, in the order of edge types, source ids and lists. Each part comes of a
/// range of vertices.
pub(crate) fn all_edge_rows(selection: &Selection, layout: &EdgeLayout) -> Vec<EdgeRows> {
    edge_ranges(selection)
        .into_par_iter()
        .with_max_len(1)
        .map(|(edge_type, range)| edge_rows(selection, layout, edge_type, range))
        .collect()
}

/// The parts that [`all_edge_rows`] has.
pub(crate) fn edge_ranges(selection: &Selection) -> Vec<(EdgeTypeId, Range<VertexId>)> {
    let bound = selection.version.id_bound();
    let starts = || (0..bound.max(1)).step_by(VERTICES_PER_TASK as usize);
    let range = |start: VertexId| start..bound.min(start.saturating_add(VERTICES_PER_TASK));
    let edge_types = selection.edge_types.iter();
    edge_types.flat_map(|&edge_type| starts().map(move |start| (edge_type, range(start)))).collect()
}

/// The edges of one type whose source, or for a symmetric type whose end of smaller id, is in the range.
pub(crate) fn edge_rows(
    selection: &Selection,
    layout: &EdgeLayout,
    edge_type: EdgeTypeId,
    range: Range<VertexId>,
) -> EdgeRows {
    let kind = selection.version.schema().edge_types.get(usize::from(edge_type));
    let symmetric = kind.is_some_and(|kind| kind.options.symmetric);
    let mut rows = EdgeRows::new(layout, edge_type);
    for vertex in range {
        if symmetric {
            rows.push_half(selection, vertex);
        } else {
            rows.push_vertex(selection, Direction::Out, vertex);
        }
    }
    rows
}
