//! Vertices and edges as Arrow tables, and edges as batches of text export.
//!
//! ```text
//!  vertices   id | type | one column per property          `type` if the schema has vertex types
//!  edges      src | dst | type | one column per property   `type` if more than one edge type is selected
//! ```
//!
//! `id`, `src` and `dst` are `Int64` or `Utf8` by the kind of keys, `type` is `Utf8`, times are
//! `Timestamp(Microsecond, "UTC")`; any string column beyond 2 GiB is `LargeUtf8`.

use std::ops::Range;

use arrow_array::RecordBatch;
use evergraph_store::Version;
use evergraph_types::{
    Column, Direction, EdgeBatch, EdgeTypeId, Key, KeyColumn, KeyKind, PropertyId, PropertyType, Schema,
    TextValues, VertexId, VertexTypeId,
};
use rayon::prelude::*;

use crate::arrays::{NamedArray, column_array, key_array, record_batch, text_array};
use crate::edge_layout::{DST, EdgeLayout, SRC, TYPE};
use crate::edge_rows::{EdgeRows, all_edge_rows};
use crate::gather::VALUES_FOR_POOL;
use crate::key_table::KeyTable;
use crate::selection::Selection;

/// The column of vertex keys.
const ID: &str = "id";
/// Ids whose properties one task reads.
const IDS_PER_TASK: usize = 1 << 14;

/// All vertices.
pub(crate) fn vertex_table(selection: &Selection) -> RecordBatch {
    let version = &selection.version;
    let schema = version.schema();
    let ids = selection.vertex_ids();
    let parts: Vec<&[VertexId]> = ids.chunks(IDS_PER_TASK).collect();
    let mut columns = vec![(ID.to_owned(), KeyTable::new(version).array(&parts), false)];
    let ranges: Vec<_> = (0..version.id_bound())
        .step_by(IDS_PER_TASK)
        .map(|start| start..start.saturating_add(IDS_PER_TASK as VertexId))
        .collect();
    if schema.live_vertex_types().next().is_some() {
        let types = ranges.par_iter().map(|range| {
            shown_rows(selection, range, type_names(schema, &version.vertex_types(range.clone())))
        });
        let types: Vec<Column> = types.collect();
        let types: Vec<&Column> = types.iter().collect();
        columns.push((TYPE.to_owned(), column_array(PropertyType::String, &types), true));
    }
    for (id, property) in schema.live_vertex_properties() {
        let parts = ranges.par_iter().filter_map(|range| {
            Some(shown_rows(selection, range, version.vertex_column(id, range.clone())?))
        });
        let parts: Vec<Column> = parts.collect();
        let array = column_array(property.kind, &parts.iter().collect::<Vec<_>>());
        columns.push((vertex_column_name(schema, id), array, true));
    }
    record_batch(columns)
}

/// Of a column with a row for each vertex of a range, the rows of those that are shown.
fn shown_rows(selection: &Selection, range: &Range<VertexId>, column: Column) -> Column {
    let Some(confinement) = &selection.confinement else { return column };
    let end = range.end.min(selection.version.id_bound());
    let vertices = (range.start..end).filter(|&id| selection.version.has_vertex(id));
    let shown = vertices.enumerate().filter(|&(_, id)| confinement.vertices().contains(id));
    column.pick(shown.map(|(row, _)| row))
}

/// A property's own name, or `vertex.<name>` where that is taken.
fn vertex_column_name(schema: &Schema, id: PropertyId) -> String {
    let mut name = schema.vertex_properties[usize::from(id)].name.clone();
    let reserved = |name: &str| name == ID || name == TYPE && schema.live_vertex_types().next().is_some();
    if reserved(&name) {
        name = format!("vertex.{name}");
        while schema.vertex_property(&name).is_some() {
            name = format!("vertex.{name}");
        }
    }
    name
}

fn type_names(schema: &Schema, types: &[VertexTypeId]) -> Column {
    let mut names = TextValues::default();
    types.iter().for_each(|&id| names.push(schema.vertex_type_name(id).unwrap_or_default()));
    let validity: Vec<bool> = types.iter().map(|&id| schema.vertex_type_name(id).is_some()).collect();
    let validity = Some(validity).filter(|validity| validity.contains(&false));
    Column::from(names).with_validity(validity)
}

/// All edges of the selected types.
pub(crate) fn edge_table(selection: &Selection) -> RecordBatch {
    let layout = EdgeLayout::new(selection);
    let parts = all_edge_rows(selection, &layout);
    let keys = KeyTable::new(&selection.version);
    let src = keys.array(&parts.iter().map(|part| part.src.as_slice()).collect::<Vec<_>>());
    let dst = keys.array(&parts.iter().map(|part| part.dst.as_slice()).collect::<Vec<_>>());
    let mut columns = vec![(SRC.to_owned(), src, false), (DST.to_owned(), dst, false)];
    columns.extend(other_columns(selection, &layout, &parts));
    record_batch(columns)
}

/// The edges of one vertex, of some of the selected types.
pub(crate) fn edges_of(
    selection: &Selection,
    edge_types: &[EdgeTypeId],
    direction: Direction,
    vertex: VertexId,
) -> RecordBatch {
    let layout = EdgeLayout::new(selection);
    let rows = |&edge_type| {
        let mut rows = EdgeRows::new(&layout, edge_type);
        rows.push_vertex(selection, direction, vertex);
        rows
    };
    let parts: Vec<EdgeRows> = edge_types.iter().map(rows).collect();
    let src = keys_of(&selection.version, parts.iter().flat_map(|part| part.src.iter().copied()));
    let dst = keys_of(&selection.version, parts.iter().flat_map(|part| part.dst.iter().copied()));
    let mut columns = vec![(SRC.to_owned(), key_array(src), false), (DST.to_owned(), key_array(dst), false)];
    columns.extend(other_columns(selection, &layout, &parts));
    record_batch(columns)
}

/// The columns of type and properties.
fn other_columns(selection: &Selection, layout: &EdgeLayout, parts: &[EdgeRows]) -> Vec<NamedArray> {
    let mut columns = Vec::new();
    if layout.has_type {
        let column = |part| type_column(selection, part);
        let names: Vec<TextValues> = if parts.iter().map(EdgeRows::len).sum::<usize>() < VALUES_FOR_POOL {
            parts.iter().map(column).collect()
        } else {
            parts.par_iter().map(column).collect()
        };
        columns.push((TYPE.to_owned(), text_array(&names.iter().collect::<Vec<_>>(), None), false));
    }
    for (position, column) in layout.properties.iter().enumerate() {
        let values: Vec<&Column> = parts.iter().map(|part| &part.columns[position]).collect();
        columns.push((column.name.clone(), column_array(column.kind, &values), true));
    }
    columns
}

fn type_column(selection: &Selection, part: &EdgeRows) -> TextValues {
    let kind = selection.version.schema().edge_types.get(usize::from(part.edge_type));
    let name = kind.map_or("", |kind| kind.name.as_str());
    let bytes = name.repeat(part.len()).into_bytes();
    TextValues { offsets: (0..=part.len()).map(|row| (row * name.len()) as u64).collect(), bytes }
}

/// Rows as a batch: the type column, if there is one, before the properties.
pub(crate) fn edge_batch(
    selection: &Selection,
    layout: &EdgeLayout,
    keys: &KeyTable,
    rows: EdgeRows,
) -> EdgeBatch {
    let types = layout.has_type.then(|| (TYPE.to_owned(), Column::from(type_column(selection, &rows))));
    let (src, dst) = (keys.column(&rows.src), keys.column(&rows.dst));
    let names = layout.properties.iter().map(|column| column.name.clone());
    EdgeBatch { src, dst, columns: types.into_iter().chain(names.zip(rows.columns)).collect() }
}

/// The keys of a few ids, looked up one by one.
pub(crate) fn keys_of(version: &Version, ids: impl Iterator<Item = VertexId>) -> KeyColumn {
    let keys = ids.map(|id| version.key(id));
    if version.schema().key_kind != Some(KeyKind::Text) {
        let numbers = keys.filter_map(|key| if let Key::Int(number) = key { Some(number) } else { None });
        return KeyColumn::Int(numbers.collect());
    }
    let mut texts = TextValues::default();
    keys.for_each(|key| {
        if let Key::Text(text) = key {
            texts.push(&text)
        }
    });
    KeyColumn::Text(texts)
}
