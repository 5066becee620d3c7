//! What a transaction asks for, resolved to ids: the unit that is validated, logged, applied and replayed.
//!
//! Order within one write set: the schema as it becomes, vertex deletes (with every edge the vertex had before),
//! vertex puts, edge operations by row.

use std::borrow::Cow;

use evergraph_types::{
    Column, EdgeTypeId, KeyColumn, PropertyId, PropertyType, Schema, Value, VertexId, VertexTypeId,
};

use hashbrown::HashMap;

use crate::loads::staged::bytes_of_column;
use crate::versions::version::Version;
use crate::write_sets::catalog::ItemChange;

/// What both ends of a row take.
const ENDS_BYTES: usize = 2 * size_of::<VertexId>();

/// A property column of edge operations. A row that does not give the property leaves it as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct OpColumn {
    /// Which one.
    pub property: PropertyId,
    /// Its values by row.
    pub values: Column,
    /// `false` where the row does not give the property; absent where all rows do.
    pub given: Option<Vec<bool>>,
}

impl OpColumn {
    /// Whether the row gives the property.
    pub fn is_given(&self, row: usize) -> bool {
        self.given.as_ref().is_none_or(|given| given[row])
    }
}

/// Puts and deletes of edges of one type, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeOps {
    /// The source by row.
    pub src: Vec<VertexId>,
    /// The destination by row.
    pub dst: Vec<VertexId>,
    /// `true` where the row deletes; absent where none does.
    pub deletes: Option<Vec<bool>>,
    /// The properties that any row gives.
    pub columns: Vec<OpColumn>,
}

impl EdgeOps {
    /// The number of operations.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// Whether the row deletes.
    pub fn is_delete(&self, row: usize) -> bool {
        self.deletes.as_ref().is_some_and(|deletes| deletes[row])
    }

    /// The column of a property.
    pub fn column(&self, property: PropertyId) -> Option<&OpColumn> {
        self.columns.iter().find(|column| column.property == property)
    }

    /// The types of the properties that any row gives.
    fn column_types(&self) -> HashMap<PropertyId, PropertyType> {
        self.columns.iter().map(|column| (column.property, column.values.property_type())).collect()
    }

    /// Whether every row puts an edge without properties.
    pub(crate) fn is_plain(&self) -> bool {
        self.deletes.is_none() && self.columns.is_empty()
    }

    /// About how many bytes a row takes.
    pub(crate) fn bytes_per_row(&self) -> usize {
        bytes_per_row(&self.columns)
    }

    /// These rows.
    pub(crate) fn pick(&self, rows: impl Iterator<Item = usize> + Clone) -> EdgeOps {
        EdgeOps {
            src: rows.clone().map(|row| self.src[row]).collect(),
            dst: rows.clone().map(|row| self.dst[row]).collect(),
            deletes: self.deletes.as_ref().map(|deletes| rows.clone().map(|row| deletes[row]).collect()),
            columns: self.columns.iter().map(|column| column.pick(rows.clone())).collect(),
        }
    }

    /// Appends one operation. The values have the types `property_type` tells.
    pub(crate) fn push(
        &mut self,
        src: VertexId,
        dst: VertexId,
        delete: bool,
        properties: &[(PropertyId, Value)],
        property_type: impl Fn(PropertyId) -> PropertyType,
    ) {
        let row = self.len();
        self.src.push(src);
        self.dst.push(dst);
        if delete && self.deletes.is_none() {
            self.deletes = Some(vec![false; row]);
        }
        if let Some(deletes) = &mut self.deletes {
            deletes.push(delete);
        }
        for (property, _) in properties {
            if self.column(*property).is_none() {
                self.columns.push(OpColumn::absent(*property, property_type(*property), row));
            }
        }
        for column in &mut self.columns {
            let value = properties.iter().find(|(property, _)| *property == column.property);
            column.push(value.map(|(_, value)| value));
        }
    }

    /// Drops the rows for which `keep` is false. Only for operations without properties.
    pub(crate) fn keep_rows(&mut self, keep: &[bool]) {
        debug_assert!(self.columns.is_empty());
        let retain = |ids: &mut Vec<VertexId>| {
            let mut keep = keep.iter();
            ids.retain(|_| keep.next() == Some(&true));
        };
        retain(&mut self.src);
        retain(&mut self.dst);
        if let Some(deletes) = &mut self.deletes {
            deletes.truncate(self.src.len());
        }
    }

    /// Appends a delete.
    pub(crate) fn push_delete(&mut self, src: VertexId, dst: VertexId) {
        self.push(src, dst, true, &[], |_| PropertyType::Bool);
    }

    /// Appends all operations of `other`.
    pub(crate) fn extend(&mut self, other: EdgeOps, property_type: impl Fn(PropertyId) -> PropertyType) {
        if self.is_empty() {
            *self = other;
            return;
        }
        if self.gives_the_same(&other) {
            self.src.extend(other.src);
            self.dst.extend(other.dst);
            self.columns.iter_mut().zip(other.columns).for_each(|(own, other)| own.extend(other));
            return;
        }
        for row in 0..other.len() {
            let given = other.columns.iter().filter(|column| column.is_given(row));
            let properties: Vec<_> = given.map(|column| (column.property, column.values.get(row))).collect();
            self.push(other.src[row], other.dst[row], other.is_delete(row), &properties, &property_type);
        }
    }

    /// Whether both only put edges, and give the same properties.
    fn gives_the_same(&self, other: &EdgeOps) -> bool {
        fn properties(ops: &EdgeOps) -> impl Iterator<Item = PropertyId> {
            ops.columns.iter().map(|column| column.property)
        }
        self.deletes.is_none() && other.deletes.is_none() && properties(self).eq(properties(other))
    }
}

/// About how many bytes a row with these columns takes.
pub(crate) fn bytes_per_row(columns: &[OpColumn]) -> usize {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let bytes: usize = columns.iter().map(|column| bytes_of_column(&column.values)).sum();
    ENDS_BYTES + bytes / rows.max(1)
}

impl OpColumn {
    /// These rows of the column.
    pub(crate) fn pick(&self, rows: impl Iterator<Item = usize> + Clone) -> OpColumn {
        OpColumn {
            property: self.property,
            values: self.values.pick(rows.clone()),
            given: self.given.as_ref().map(|given| rows.map(|row| given[row]).collect()),
        }
    }

    /// Appends the rows of another column of the property.
    fn extend(&mut self, other: OpColumn) {
        let (rows, more) = (self.values.len(), other.values.len());
        if self.given.is_some() || other.given.is_some() {
            let given = self.given.get_or_insert_with(|| vec![true; rows]);
            given.extend(other.given.unwrap_or_else(|| vec![true; more]));
        }
        let fits = self.values.append(&other.values);
        debug_assert!(fits.is_ok(), "columns of a property are of one type");
    }

    /// A column of `rows` rows that give nothing.
    fn absent(property: PropertyId, kind: PropertyType, rows: usize) -> Self {
        let mut column = OpColumn { property, values: Column::new(kind), given: None };
        (0..rows).for_each(|_| column.push(None));
        column
    }

    /// Appends `rows` rows: those of `column`, or nothing given. Hands back the first row and value that does not fit.
    pub(crate) fn append(&mut self, column: Option<&Column>, rows: usize) -> Result<(), (usize, Value)> {
        match column {
            Some(column)
                if self.values.is_empty() && self.values.property_type() == column.property_type() =>
            {
                self.values = column.clone();
            }
            Some(column) => {
                self.values.append(column)?;
                self.given.iter_mut().for_each(|given| given.resize(given.len() + rows, true));
            }
            None => (0..rows).for_each(|_| self.push(None)),
        }
        Ok(())
    }

    fn push(&mut self, value: Option<&Value>) {
        let rows = self.values.len();
        let given = value.is_some();
        if !given && self.given.is_none() {
            self.given = Some(vec![true; rows]);
        }
        if let Some(all) = &mut self.given {
            all.push(given);
        }
        self.values.push_coerced(value.unwrap_or(&Value::Null));
    }
}

/// A vertex to create or change.
#[derive(Clone, Debug, PartialEq)]
pub struct VertexPut {
    /// Which one.
    pub vertex: VertexId,
    /// The type to set; `None` leaves it (a new vertex has none: 0).
    pub label: Option<VertexTypeId>,
    /// The properties to set; the others are left.
    pub properties: Vec<(PropertyId, Value)>,
}

/// Appends keys, which are of the same kind.
fn append_keys(own: &mut KeyColumn, keys: KeyColumn) {
    match (own, keys) {
        (KeyColumn::Int(own), KeyColumn::Int(keys)) => own.extend(keys),
        (KeyColumn::Text(own), KeyColumn::Text(keys)) => keys.iter().for_each(|key| own.push(key)),
        _ => debug_assert!(false, "a store has keys of one kind"),
    }
}

/// Keys that were given ids which other keys had before.
#[derive(Clone, Debug, PartialEq)]
pub struct Rebound {
    /// The ids, each once.
    pub ids: Vec<VertexId>,
    /// Their keys.
    pub keys: KeyColumn,
}

/// Everything one transaction changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteSet {
    /// The schema, if the transaction changes it.
    pub schema: Option<Schema>,
    /// Keys the dictionary did not hold; their ids follow each other from `first_new_id`.
    pub new_keys: Option<KeyColumn>,
    /// The id of the first of them.
    pub first_new_id: VertexId,
    /// More of them, whose ids other keys had before.
    pub rebound: Option<Rebound>,
    /// Vertices deleted, with every edge they had before.
    pub vertex_deletes: Vec<VertexId>,
    /// Vertices put. The ends of edges put are not named here: they exist from then on.
    pub vertex_puts: Vec<VertexPut>,
    /// Edges put and deleted, by type.
    pub edges: Vec<(EdgeTypeId, EdgeOps)>,
    /// Changes of the catalog.
    pub items: Vec<ItemChange>,
}

impl WriteSet {
    /// The write set with the edges of deleted vertices named as deletes, so that whoever reads it later needs no
    /// version to know them; but for those of edge types that are gone by `schema`. No commit after `base` has touched an edge of these vertices: that would be a conflict.
    pub(crate) fn naming_deleted_edges(&self, base: &Version, schema: &Schema) -> Cow<'_, WriteSet> {
        if self.vertex_deletes.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut named = self.clone();
        let types = schema.live_edge_types().map(|(id, _)| id);
        for edge_type in types.filter(|id| usize::from(*id) < base.edges.len()) {
            let mut ops = base.deletes_of(edge_type, &self.vertex_deletes);
            if ops.is_empty() {
                continue;
            }
            match named.edges.iter_mut().find(|(id, _)| *id == edge_type) {
                Some((_, own)) => {
                    let own_types = own.column_types();
                    ops.extend(std::mem::take(own), |property| own_types[&property]);
                    *own = ops;
                }
                None => named.edges.push((edge_type, ops)),
            }
        }
        Cow::Owned(named)
    }

    /// Takes in the next part of the same commit, which puts and deletes after this one.
    pub(crate) fn extend(&mut self, part: WriteSet) {
        self.schema = part.schema.or(self.schema.take());
        match (&mut self.new_keys, part.new_keys) {
            (_, None) => {}
            (Some(own), Some(keys)) => append_keys(own, keys),
            (own, keys) => (*own, self.first_new_id) = (keys, part.first_new_id),
        }
        match (&mut self.rebound, part.rebound) {
            (_, None) => {}
            (Some(own), Some(Rebound { ids, keys })) => {
                own.ids.extend(ids);
                append_keys(&mut own.keys, keys);
            }
            (own, rebound) => *own = rebound,
        }
        self.vertex_deletes.extend(part.vertex_deletes);
        self.vertex_puts.extend(part.vertex_puts);
        self.items.extend(part.items);
        for (edge_type, ops) in part.edges {
            match self.edges.iter_mut().find(|(own, _)| *own == edge_type) {
                Some((_, own)) => {
                    let types = ops.column_types();
                    own.extend(ops, |property| types[&property]);
                }
                None => self.edges.push((edge_type, ops)),
            }
        }
    }

    /// The number of edge operations.
    pub(crate) fn num_rows(&self) -> u64 {
        self.edges.iter().map(|(_, ops)| ops.len() as u64).sum()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.schema.is_none()
            && self.new_keys.is_none()
            && self.rebound.is_none()
            && self.vertex_deletes.is_empty()
            && self.vertex_puts.is_empty()
            && self.edges.iter().all(|(_, ops)| ops.len() == 0)
            && self.items.is_empty()
    }
}
