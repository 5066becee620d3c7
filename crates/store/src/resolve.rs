//! From what callers wrote, in keys and handles, to write sets in ids. Runs in the committer, which alone gives out
//! ids.
//!
//! Invariant: `bound` is one past the last id given out, published or not; new keys of one request get ids that
//! follow each other, for batches in the order of the keys.

use std::sync::Arc;

use evergraph_types::{
    EdgeBatch, EdgeTypeId, Key, KeyColumn, KeyKind, KeyRef, MAX_VERTICES, Schema, SchemaError, VertexId,
};
use hashbrown::HashSet;
use rayon::prelude::*;

use crate::dictionary::Dictionary;
use crate::ops::{EdgeOps, OpColumn, VertexPut, WriteSet};
use crate::schema_change::{check_key, check_property, ensure_edge_type, infer_key_kind};
use crate::transaction::{Handle, Writes, base_id, id_of};
use crate::version::Version;

/// Edges to put or delete at once, in parts of one shape.
#[derive(Debug)]
pub(crate) struct BatchWrites {
    pub(crate) edge_type: String,
    pub(crate) parts: Vec<EdgeBatch>,
    pub(crate) delete: bool,
}

/// The state that ids and schema have reached, ahead of what is published.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) schema: Arc<Schema>,
    pub(crate) dictionary: Arc<Dictionary>,
    pub(crate) bound: VertexId,
    /// The kind of keys the store was opened for, if the caller said so.
    pub(crate) wanted_kind: Option<KeyKind>,
}

impl Resolver {
    /// The state of a version.
    pub(crate) fn of(version: &Version, wanted_kind: Option<KeyKind>) -> Self {
        Resolver {
            schema: version.schema.clone(),
            dictionary: version.dictionary.clone(),
            bound: version.id_bound,
            wanted_kind,
        }
    }

    /// Takes in a write set read back from the log.
    /// Tells whether it fits what was read before.
    pub(crate) fn replay(&mut self, writes: &WriteSet) -> bool {
        if let Some(schema) = &writes.schema {
            if !extends(schema, &self.schema) {
                return false;
            }
            self.set_schema(schema.clone());
        }
        if let Some(keys) = &writes.new_keys {
            let fits = writes.first_new_id == self.bound && self.check_room(keys.len()).is_ok();
            if !fits
                || check_keys(&self.schema, self.schema.key_kind.unwrap_or(KeyKind::Dense), keys).is_err()
            {
                return false;
            }
            self.add_keys(writes.first_new_id, keys);
        }
        self.fits(writes)
    }

    /// Whether all ids and columns of the writes are known.
    fn fits(&self, writes: &WriteSet) -> bool {
        let dense = self.schema.key_kind == Some(KeyKind::Dense);
        let is_id = |id: &VertexId| dense || *id < self.bound;
        let properties = &self.schema.vertex_properties;
        writes.vertex_deletes.iter().all(is_id)
            && writes.vertex_puts.iter().all(|put| {
                is_id(&put.vertex) && put.properties.iter().all(|(id, _)| usize::from(*id) < properties.len())
            })
            && writes.edges.iter().all(|(edge_type, ops)| {
                let kind = self.schema.edge_types.get(usize::from(*edge_type));
                kind.is_some_and(|kind| {
                    ops.columns.iter().all(|column| {
                        let property = kind.options.properties.get(usize::from(column.property));
                        property.is_some_and(|property| property.kind == column.values.property_type())
                    })
                }) && ops.src.iter().chain(&ops.dst).all(is_id)
            })
    }

    /// Gives the ids from `first` on to `keys`.
    pub(crate) fn add_keys(&mut self, first: VertexId, keys: &KeyColumn) {
        self.bound = first + keys.len() as VertexId;
        self.dictionary.reserve(self.bound);
        (0..keys.len()).for_each(|row| self.dictionary.add(first + row as VertexId, keys.get(row)));
    }

    fn set_schema(&mut self, schema: Schema) {
        if let (None, Some(kind)) = (self.schema.key_kind, schema.key_kind) {
            self.dictionary = Arc::new(Dictionary::new(kind));
        }
        self.schema = Arc::new(schema);
    }

    /// The id a handle has by now, if any.
    pub(crate) fn known_id(&self, handle: Handle, new_keys: &[Key]) -> Option<VertexId> {
        base_id(handle).or_else(|| {
            let key = &new_keys[crate::transaction::new_position(handle)];
            self.lookup(key.as_ref())
        })
    }

    fn lookup(&self, key: KeyRef<'_>) -> Option<VertexId> {
        let dense = self.schema.key_kind == Some(KeyKind::Dense);
        self.dictionary.lookup(key).filter(|&id| dense || id < self.bound)
    }

    /// The schema a transaction's writes need: the newer of its own and the current one. `None` if both changed.
    pub(crate) fn reconcile(&self, writes: &Writes) -> Option<Option<Schema>> {
        if !writes.schema_changed || extends(&self.schema, &writes.schema) {
            Some(None)
        } else if extends(&writes.schema, &self.schema) {
            Some(Some((*writes.schema).clone()))
        } else {
            None
        }
    }

    /// The write set of a transaction whose schema was reconciled. After an error nothing has changed.
    pub(crate) fn resolve_writes(
        &mut self,
        writes: Writes,
        schema: Option<Schema>,
    ) -> Result<WriteSet, SchemaError> {
        let wanted = schema.as_ref().unwrap_or(&self.schema);
        writes.new_keys.iter().try_for_each(|key| check_key(wanted, key.as_ref()))?;
        self.check_room(writes.new_keys.len())?;
        if let Some(schema) = &schema {
            self.set_schema(schema.clone());
        }
        let first_new_id = self.bound;
        let mut ids = Vec::with_capacity(writes.new_keys.len());
        let mut new_keys = Vec::new();
        for key in writes.new_keys {
            if let Some(id) = self.lookup(key.as_ref()) {
                ids.push(id);
            } else {
                self.dictionary.add(self.bound, key.as_ref());
                ids.push(self.bound);
                self.bound += 1;
                new_keys.push(key);
            }
        }
        let vertex_deletes = writes.vertices.iter().filter(|(_, write)| write.delete);
        let vertex_deletes = vertex_deletes.map(|(handle, _)| id_of(*handle, &ids)).collect();
        let vertex_puts = writes
            .vertices
            .into_iter()
            .filter_map(|(handle, write)| {
                let (label, properties) = write.put?;
                Some(VertexPut { vertex: id_of(handle, &ids), label, properties })
            })
            .collect();
        let mut edges = Vec::new();
        for (edge_type, all) in writes.edges.into_iter().enumerate() {
            let properties = &self.schema.edge_types[edge_type].options.properties;
            let mut ops = EdgeOps::default();
            for write in all.writes.into_iter().filter(|write| !write.dead) {
                let (src, dst) = (id_of(write.src, &ids), id_of(write.dst, &ids));
                let kind = |property| properties[usize::from(property)].kind;
                ops.push(src, dst, write.delete, &write.properties, kind);
            }
            if ops.len() > 0 {
                edges.push((edge_type as EdgeTypeId, ops));
            }
        }
        let new_keys = (!new_keys.is_empty()).then(|| KeyColumn::from_keys(new_keys)).flatten();
        Ok(WriteSet { schema, new_keys, first_new_id, vertex_deletes, vertex_puts, edges })
    }

    /// The write set of a batch. After an error nothing has changed.
    pub(crate) fn resolve_batch(&mut self, batch: BatchWrites) -> Result<WriteSet, SchemaError> {
        let before = (self.schema.clone(), self.dictionary.clone());
        let resolved = self.try_resolve_batch(batch);
        if resolved.is_err() {
            // Keys are added last, when nothing can fail any more.
            (self.schema, self.dictionary) = before;
        }
        resolved
    }

    fn try_resolve_batch(&mut self, batch: BatchWrites) -> Result<WriteSet, SchemaError> {
        let mut schema = (*self.schema).clone();
        for part in &batch.parts {
            check_part(part)?;
            if let Some(key) = (!part.is_empty()).then(|| part.src.get(0)) {
                infer_key_kind(&mut schema, key, self.wanted_kind)?;
            }
            let columns = part.columns.iter().map(|(name, column)| (name.as_str(), column.property_type()));
            if !batch.delete {
                ensure_edge_type(&mut schema, &batch.edge_type, columns)?;
            }
        }
        let Some(kind) = schema.key_kind else { return Ok(WriteSet::default()) };
        let (edge_type, owner) = schema.require_edge_type(&batch.edge_type)?;
        let columns = batch_columns(owner, &batch.parts)?;
        for keys in batch.parts.iter().flat_map(|part| [&part.src, &part.dst]) {
            check_keys(&schema, kind, keys)?;
        }
        let schema = (schema != *self.schema).then_some(schema);
        if let Some(schema) = &schema {
            self.set_schema(schema.clone());
        }
        let keys: Vec<&KeyColumn> = batch.parts.iter().flat_map(|part| [&part.src, &part.dst]).collect();
        let first_new_id = self.bound;
        let new_keys = if batch.delete { None } else { self.add_batch_keys(&keys)? };
        let (src, dst, keep) = self.map_endpoints(&batch.parts);
        let rows = src.len();
        let mut ops = EdgeOps { src, dst, deletes: batch.delete.then(|| vec![true; rows]), columns };
        if batch.delete {
            // An edge between vertices that do not exist is not there to be deleted.
            ops.keep_rows(&keep);
        }
        let edges = vec![(edge_type, ops)];
        Ok(WriteSet { schema, new_keys, first_new_id, edges, ..WriteSet::default() })
    }

    fn check_room(&self, keys: usize) -> Result<(), SchemaError> {
        if u64::from(self.bound) + keys as u64 <= MAX_VERTICES {
            Ok(())
        } else {
            Err(SchemaError::Limit { what: "vertices", max: MAX_VERTICES })
        }
    }

    /// Gives ids to the keys that have none, ascending by key.
    fn add_batch_keys(&mut self, columns: &[&KeyColumn]) -> Result<Option<KeyColumn>, SchemaError> {
        if matches!(*self.dictionary, Dictionary::Dense) {
            return Ok(None);
        }
        let new = match columns.first() {
            Some(KeyColumn::Int(_)) => KeyColumn::Int(self.new_numbers(columns)),
            _ => KeyColumn::Text(self.new_texts(columns)),
        };
        if new.is_empty() {
            return Ok(None);
        }
        self.check_room(new.len())?;
        self.add_keys(self.bound, &new);
        Ok(Some(new))
    }

    fn new_numbers(&self, columns: &[&KeyColumn]) -> Vec<i64> {
        let slices: Vec<&[i64]> = columns.iter().filter_map(|column| column.as_numbers()).collect();
        let mut numbers = crate::key_range::distinct_numbers(&slices);
        if self.bound > 0 {
            numbers.retain(|&number| self.lookup(KeyRef::Int(number)).is_none());
        }
        numbers
    }

    fn new_texts(&self, columns: &[&KeyColumn]) -> evergraph_types::TextValues {
        let distinct = columns
            .par_iter()
            .filter_map(|column| column.as_texts())
            .map(|texts| texts.iter().filter(|text| self.lookup(KeyRef::Text(text)).is_none()).collect())
            .reduce(HashSet::<&str>::new, |mut left, right| {
                left.extend(right);
                left
            });
        let mut sorted: Vec<&str> = distinct.into_iter().collect();
        sorted.par_sort_unstable();
        let mut texts = evergraph_types::TextValues::default();
        sorted.into_iter().for_each(|text| texts.push(text));
        texts
    }

    /// The ids of all endpoints, and which rows have both.
    fn map_endpoints(&self, parts: &[EdgeBatch]) -> (Vec<VertexId>, Vec<VertexId>, Vec<bool>) {
        let numbers: Vec<&[i64]> = parts
            .iter()
            .flat_map(|part| [&part.src, &part.dst])
            .filter_map(|keys| keys.as_numbers())
            .collect();
        let direct = match *self.dictionary {
            Dictionary::Int(_) => {
                crate::key_range::DirectMap::build(&numbers, |number| self.lookup(KeyRef::Int(number)))
            }
            _ => None,
        };
        let id = |key: KeyRef<'_>| match (&direct, key) {
            (Some(direct), KeyRef::Int(number)) => direct.get(number),
            (_, key) => self.lookup(key).unwrap_or(VertexId::MAX),
        };
        let map = |keys: &KeyColumn| -> Vec<VertexId> {
            match keys.as_numbers() {
                Some(numbers) => numbers.iter().map(|&number| id(KeyRef::Int(number))).collect(),
                None => (0..keys.len()).map(|row| id(keys.get(row))).collect(),
            }
        };
        let mapped: Vec<_> = parts.par_iter().map(|part| (map(&part.src), map(&part.dst))).collect();
        let mut src = Vec::with_capacity(parts.iter().map(EdgeBatch::len).sum());
        let mut dst = Vec::with_capacity(src.capacity());
        for (part_src, part_dst) in mapped {
            src.extend(part_src);
            dst.extend(part_dst);
        }
        let known = |id: VertexId| id != VertexId::MAX;
        let keep = src.par_iter().zip(&dst).with_min_len(1 << 14);
        let keep = keep.map(|(&src, &dst)| known(src) && known(dst)).collect();
        (src, dst, keep)
    }
}

/// Whether every id of `older` means the same in `newer`.
fn extends(newer: &Schema, older: &Schema) -> bool {
    let prefix =
        |newer: &[evergraph_types::Property], older: &[evergraph_types::Property]| newer.starts_with(older);
    (older.key_kind.is_none() || older.key_kind == newer.key_kind)
        && newer.vertex_types.starts_with(&older.vertex_types)
        && prefix(&newer.vertex_properties, &older.vertex_properties)
        && older.edge_types.len() <= newer.edge_types.len()
        && older.edge_types.iter().zip(&newer.edge_types).all(|(older, newer)| {
            let (old, new) = (&older.options, &newer.options);
            older.name == newer.name
                && (old.multi, old.symmetric, &old.time) == (new.multi, new.symmetric, &new.time)
                && prefix(&new.properties, &old.properties)
        })
}

fn check_part(part: &EdgeBatch) -> Result<(), SchemaError> {
    let expected = part.len();
    let lengths = part.columns.iter().map(|(name, column)| (name.as_str(), column.len()));
    for (name, found) in std::iter::once(("dst", part.dst.len())).chain(lengths) {
        if found != expected {
            return Err(SchemaError::ColumnLength { name: name.to_owned(), expected, found });
        }
    }
    Ok(())
}

fn check_keys(schema: &Schema, kind: KeyKind, keys: &KeyColumn) -> Result<(), SchemaError> {
    match (kind, keys) {
        (KeyKind::Int64, KeyColumn::Int(_)) | (KeyKind::Text, KeyColumn::Text(_)) => Ok(()),
        (KeyKind::Dense, KeyColumn::Int(numbers)) => {
            let range = 0..MAX_VERTICES as i64;
            match numbers.iter().find(|number| !range.contains(number)) {
                Some(&number) => check_key(schema, KeyRef::Int(number)),
                None => Ok(()),
            }
        }
        (_, keys) if keys.is_empty() => Ok(()),
        (_, keys) => check_key(schema, keys.get(0)),
    }
}

/// The property columns of all parts one after the other, in the types of the schema.
fn batch_columns(
    owner: &evergraph_types::EdgeType,
    parts: &[EdgeBatch],
) -> Result<Vec<OpColumn>, SchemaError> {
    let mut columns: Vec<OpColumn> = Vec::new();
    for part in parts {
        for (name, _) in &part.columns {
            let (property, kind) = check_property(owner, name)?;
            if !columns.iter().any(|column| column.property == property) {
                let values = evergraph_types::Column::new(kind);
                columns.push(OpColumn { property, values, given: None });
            }
        }
    }
    for part in parts {
        for column in &mut columns {
            let name = &owner.options.properties[usize::from(column.property)].name;
            let given = part.columns.iter().find(|(given, _)| given == name).map(|(_, values)| values);
            column.append(given, part.len()).map_err(|(row, value)| SchemaError::PropertyType {
                owner: owner.name.clone(),
                name: format!("{name} (row {row})"),
                expected: column.values.property_type(),
                found: value.to_string(),
            })?;
        }
    }
    Ok(columns)
}
