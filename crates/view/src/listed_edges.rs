//! Edges that somebody lists, from the log or a difference of versions, as a table like that of all edges.
//!
//! ```text
//!  src | dst | type | one column per property | version | time        `version` and `time` where commits are told
//! ```
//!
//! `version` is `UInt64`, `time` is `Timestamp(Microsecond, "UTC")`; where a property has taken such a name, the column is
//! `commit.version` or `commit.time`.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use evergraph_store::Version;
use evergraph_types::{
    Column, EdgeType, EdgeTypeId, PropertyId, PropertyType, Sequence, TextValues, VertexId,
};

use crate::Snapshot;
use crate::arrays::{NamedArray, column_array, key_array, record_batch, text_array};
use crate::edge_layout::{DST, EdgeLayout, SRC, TYPE};
use crate::tables::keys_of;

/// Edges of one type. All lists that are not empty have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedEdges {
    /// The type.
    pub edge_type: EdgeTypeId,
    /// The source by row.
    pub src: Vec<VertexId>,
    /// The destination by row.
    pub dst: Vec<VertexId>,
    /// The properties there are; the others are null.
    pub columns: Vec<(PropertyId, Column)>,
    /// The commit by row; empty if that is not told.
    pub sequences: Vec<Sequence>,
    /// When that commit was made, in microseconds since 1970-01-01 UTC; empty if that is not told.
    pub times_micros: Vec<i64>,
}

impl Snapshot {
    /// Edges that commits put or deleted as a table, with the keys and names of this snapshot, which knows all of them.
    /// Types that are not selected are left out.
    pub fn listed_edges(&self, parts: &[ListedEdges]) -> RecordBatch {
        let selection = self.selection();
        let types: Vec<(EdgeTypeId, &EdgeType)> = selection.edge_types().collect();
        let is_selected = |part: &&ListedEdges| selection.edge_types.contains(&part.edge_type);
        listed_table(&types, self.whole(), &parts.iter().filter(is_selected).collect::<Vec<_>>(), true)
    }
}

/// Edges of these types as a table, with the keys of a version; `tells_commits` says whether there are columns of those.
pub(crate) fn listed_table(
    types: &[(EdgeTypeId, &EdgeType)],
    version: &Version,
    parts: &[&ListedEdges],
    tells_commits: bool,
) -> RecordBatch {
    let layout = EdgeLayout::of_types(types);
    let keys = |ends: fn(&ListedEdges) -> &Vec<VertexId>| {
        key_array(keys_of(version, parts.iter().flat_map(|part| ends(part).iter().copied())))
    };
    let mut columns: Vec<NamedArray> = vec![
        (SRC.to_owned(), keys(|part| &part.src), false),
        (DST.to_owned(), keys(|part| &part.dst), false),
    ];
    if layout.has_type {
        let mut names = TextValues::default();
        for part in parts {
            let kind = types.iter().find(|(id, _)| *id == part.edge_type);
            part.src.iter().for_each(|_| names.push(kind.map_or("", |(_, kind)| kind.name.as_str())));
        }
        columns.push((TYPE.to_owned(), text_array(&[&names], None), false));
    }
    for column in &layout.properties {
        let values = parts.iter().map(|part| {
            let property = column.property(part.edge_type);
            let given = part.columns.iter().find(|(given, _)| Some(*given) == property);
            given.map_or_else(|| nulls(column.kind, part.src.len()), |(_, values)| values.clone())
        });
        let values: Vec<Column> = values.collect();
        let array = column_array(column.kind, &values.iter().collect::<Vec<_>>());
        columns.push((column.name.clone(), array, true));
    }
    if tells_commits {
        let sequences: Vec<Sequence> = parts.iter().flat_map(|part| part.sequences.clone()).collect();
        let times: Vec<i64> = parts.iter().flat_map(|part| part.times_micros.clone()).collect();
        let told = [
            ("version", Arc::new(UInt64Array::from(sequences)) as ArrayRef),
            ("time", column_array(PropertyType::Timestamp, &[&Column::timestamps(times)])),
        ];
        for (name, array) in told {
            let is_taken = columns.iter().any(|(taken, ..)| taken == name);
            let name = if is_taken { format!("commit.{name}") } else { name.to_owned() };
            columns.push((name, array, false));
        }
    }
    record_batch(columns)
}

fn nulls(kind: PropertyType, rows: usize) -> Column {
    let mut column = Column::new(kind);
    column.push_nulls(rows);
    column
}
