//! Batches of edges: from columns of keys to ids, in parallel.
//!
//! ```text
//!  key columns ─► distinct keys ─► those without an id get the next ones, ascending by key ─► ids by row
//! ```
//!
//! Invariant: keys are added last, when nothing can fail any more.

use std::ops::Range;

use evergraph_types::{
    EdgeBatch, EdgeType, EdgeTypeId, EdgeTypeOptions, KeyColumn, KeyKind, KeyRef, Schema, SchemaError,
    TextValues, VertexId,
};
use hashbrown::HashSet;
use rayon::prelude::*;

use crate::catalog::ItemChange;
use crate::dictionary::Dictionary;
use crate::key_range::{DirectMap, distinct_ids, distinct_numbers, lie_close};
use crate::ops::{EdgeOps, OpColumn, WriteSet};
use crate::resolve::{Resolver, check_keys};
use crate::schema_change::{
    check_property, check_text_lengths, ensure_edge_type, ensure_edge_type_like, infer_key_kind,
};
use crate::staged::Staged;

/// Edges to put or delete at once, in parts of one shape.
#[derive(Debug)]
pub(crate) struct BatchWrites {
    pub(crate) edge_type: String,
    /// What the edge type must behave like, and how it is made if there is none.
    pub(crate) create: Option<EdgeTypeOptions>,
    pub(crate) parts: Vec<EdgeBatch>,
    /// Edges before those, which were too many for memory.
    pub(crate) staged: Option<Staged>,
    /// Changes of the catalog.
    pub(crate) items: Vec<ItemChange>,
    pub(crate) delete: bool,
}

impl BatchWrites {
    /// The number of edges given.
    pub(crate) fn rows(&self) -> usize {
        let staged = self.staged.as_ref().map_or(0, |staged| staged.rows);
        staged + self.parts.iter().map(EdgeBatch::len).sum::<usize>()
    }
}

/// Larger parts are turned into ids so many rows at a time, to be dropped and sorted piece by piece.
const ROWS_AT_A_TIME: usize = 1 << 16;
/// Up to so many rows the ids of a part lie in one piece.
const ROWS_OF_A_PIECE: usize = 1 << 21;
/// Rows whose keys one task turns into ids.
const ROWS_PER_TASK: usize = 1 << 13;

/// Stands for a key that has no id.
const NO_ID: VertexId = VertexId::MAX;

/// The ids of both ends of some rows.
#[derive(Debug, Default)]
pub(crate) struct EndIds {
    pub(crate) src: Vec<VertexId>,
    pub(crate) dst: Vec<VertexId>,
}

/// A batch in ids.
#[derive(Debug)]
pub(crate) struct ResolvedBatch {
    /// Its schema and new keys, but for the edges.
    pub(crate) writes: WriteSet,
    pub(crate) edge_type: EdgeTypeId,
    /// By part.
    pub(crate) ends: Vec<EndIds>,
    /// The ids of all ends, each once, ascending, where finding out the ids has told them.
    vertices: Option<Vec<VertexId>>,
    pub(crate) columns: Vec<OpColumn>,
    pub(crate) delete: bool,
}

/// Rows with their keys turned into ids.
#[derive(Default)]
struct Mapped {
    new_keys: Option<KeyColumn>,
    ends: Vec<EndIds>,
    vertices: Option<Vec<VertexId>>,
}

impl ResolvedBatch {
    /// The batch as a write set like that of any transaction.
    pub(crate) fn into_write_set(self) -> WriteSet {
        let ResolvedBatch { mut writes, edge_type, ends, columns, delete, vertices: _ } = self;
        let rows = ends.iter().map(|part| part.src.len()).sum::<usize>();
        let mut parts = ends.into_iter();
        let EndIds { src, dst } = parts.next().unwrap_or_default();
        let mut ops = EdgeOps { src, dst, columns, ..EdgeOps::default() };
        ops.src.reserve(rows - ops.src.len());
        ops.dst.reserve(rows - ops.dst.len());
        for part in parts {
            ops.src.extend(part.src);
            ops.dst.extend(part.dst);
        }
        if delete {
            // An edge between vertices that do not exist is not there to be deleted.
            let known = ops.src.iter().zip(&ops.dst).map(|(&src, &dst)| src != NO_ID && dst != NO_ID);
            let keep: Vec<bool> = known.collect();
            ops.keep_rows(&keep);
            ops.deletes = Some(vec![true; ops.len()]);
        }
        writes.edges.push((edge_type, ops));
        writes
    }

    /// The ids of all ends, each once, ascending.
    pub(crate) fn vertices(&mut self) -> Vec<VertexId> {
        if let Some(vertices) = self.vertices.take() {
            return vertices;
        }
        let slices: Vec<&[VertexId]> = self.ends.iter().flat_map(|part| [&*part.src, &*part.dst]).collect();
        distinct_ids(&slices)
    }
}

/// The rows of a part that lie in one piece.
fn pieces_of(part: &EdgeBatch) -> impl Iterator<Item = Range<usize>> + use<> {
    let (rows, step) = match part.len() {
        rows @ 0..=ROWS_OF_A_PIECE => (rows, ROWS_OF_A_PIECE),
        rows => (rows, ROWS_AT_A_TIME),
    };
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}

/// The id of each key of these rows.
fn map_keys(
    keys: &KeyColumn,
    rows: Range<usize>,
    id: &(impl Fn(KeyRef<'_>) -> VertexId + Sync),
) -> Vec<VertexId> {
    match keys.as_numbers().and_then(|numbers| numbers.get(rows.clone())) {
        Some(numbers) => map_in_tasks(numbers, |&number| id(KeyRef::Int(number))),
        None => rows.into_par_iter().with_min_len(ROWS_PER_TASK).map(|row| id(keys.get(row))).collect(),
    }
}

/// What `map` makes of each item; few of them are mapped by the thread that has them.
fn map_in_tasks<T: Sync, U: Send>(items: &[T], map: impl Fn(&T) -> U + Sync + Send) -> Vec<U> {
    match items.len() {
        0..ROWS_PER_TASK => items.iter().map(map).collect(),
        _ => items.par_iter().with_min_len(ROWS_PER_TASK).map(map).collect(),
    }
}

/// The ids of both ends of every row, some rows at a time; a part is dropped as soon as it is done.
fn map_ends(parts: Vec<EdgeBatch>, id: impl Fn(KeyRef<'_>) -> VertexId + Sync) -> Vec<EndIds> {
    let map_part = |part: EdgeBatch| -> Vec<EndIds> {
        let map_rows = |rows: Range<usize>| EndIds {
            src: map_keys(&part.src, rows.clone(), &id),
            dst: map_keys(&part.dst, rows, &id),
        };
        let pieces: Vec<Range<usize>> = pieces_of(&part).collect();
        match &*pieces {
            [rows] => vec![map_rows(rows.clone())],
            _ => pieces.into_par_iter().map(map_rows).collect(),
        }
    };
    if parts.len() == 1 {
        return parts.into_iter().flat_map(map_part).collect();
    }
    parts.into_par_iter().flat_map_iter(map_part).collect()
}

impl Resolver {
    /// A batch in ids. After an error nothing has changed.
    pub(crate) fn resolve_batch(&mut self, batch: BatchWrites) -> Result<ResolvedBatch, SchemaError> {
        let before = (self.schema.clone(), self.dictionary.clone());
        let resolved = self.try_resolve_batch(batch);
        if resolved.is_err() {
            (self.schema, self.dictionary) = before;
        }
        resolved
    }

    /// Whether the parts in memory could be added, without adding them.
    pub(crate) fn check_batch(&self, batch: &BatchWrites) -> Result<(), SchemaError> {
        if batch.parts.is_empty() {
            return Ok(());
        }
        let schema = self.schema_for(batch)?;
        let (_, owner) = schema.require_edge_type(&batch.edge_type)?;
        for part in &batch.parts {
            batch_columns(owner, std::slice::from_ref(part))?;
            if let Some(kind) = schema.key_kind {
                [&part.src, &part.dst].into_iter().try_for_each(|keys| check_keys(&schema, kind, keys))?;
            }
        }
        Ok(())
    }

    fn try_resolve_batch(&mut self, batch: BatchWrites) -> Result<ResolvedBatch, SchemaError> {
        let schema = self.schema_for(&batch)?;
        let BatchWrites { edge_type, parts, delete, items, .. } = batch;
        let (id, owner) = schema.require_edge_type(&edge_type)?;
        let columns = batch_columns(owner, &parts)?;
        if let Some(kind) = schema.key_kind {
            let keys = parts.iter().flat_map(|part| [&part.src, &part.dst]);
            keys.into_iter().try_for_each(|keys| check_keys(&schema, kind, keys))?;
        }
        let schema = (schema != *self.schema).then_some(schema);
        if let Some(schema) = &schema {
            self.set_schema(schema.clone());
        }
        let first_new_id = self.bound;
        let mapped = match *self.dictionary {
            Dictionary::Int(_) => self.map_numbers(parts, delete)?,
            Dictionary::Text(_) if !delete => {
                let new_keys = self.add_texts(&parts)?;
                Mapped { new_keys, ..self.map_by_lookup(parts) }
            }
            Dictionary::Text(_) | Dictionary::Dense => self.map_by_lookup(parts),
        };
        let Mapped { new_keys, ends, vertices } = mapped;
        let writes = WriteSet { schema, new_keys, first_new_id, items, ..WriteSet::default() };
        Ok(ResolvedBatch { writes, edge_type: id, ends, columns, delete, vertices })
    }

    /// The schema with what the batch brings that is new.
    fn schema_for(&self, batch: &BatchWrites) -> Result<Schema, SchemaError> {
        let mut schema = (*self.schema).clone();
        if let Some(options) = &batch.create {
            ensure_edge_type_like(&mut schema, &batch.edge_type, options)?;
        }
        for part in &batch.parts {
            check_shape(part)?;
            // What deletes brings nothing new, not even the kind of keys.
            if !batch.delete {
                if let Some(key) = (!part.is_empty()).then(|| part.src.get(0)) {
                    infer_key_kind(&mut schema, key, self.wanted_kind)?;
                }
                let typed = part.columns.iter().map(|(name, column)| (name.as_str(), column.property_type()));
                ensure_edge_type(&mut schema, &batch.edge_type, typed)?;
            }
        }
        Ok(schema)
    }

    fn map_by_lookup(&self, parts: Vec<EdgeBatch>) -> Mapped {
        let ends = match self.schema.key_kind {
            Some(KeyKind::Dense) => map_ends(parts, |key| match key {
                KeyRef::Int(number) => VertexId::try_from(number).unwrap_or(NO_ID),
                KeyRef::Text(_) => NO_ID,
            }),
            _ => map_ends(parts, |key| self.id_or_none(key)),
        };
        Mapped { ends, ..Mapped::default() }
    }

    fn id_or_none(&self, key: KeyRef<'_>) -> VertexId {
        self.lookup(key).unwrap_or(NO_ID)
    }

    /// Numbers to ids; unless the batch deletes, new numbers get ids.
    fn map_numbers(&mut self, parts: Vec<EdgeBatch>, delete: bool) -> Result<Mapped, SchemaError> {
        let columns = parts.iter().flat_map(|part| [&part.src, &part.dst]);
        let slices: Vec<&[i64]> = columns.filter_map(|column| column.as_numbers()).collect();
        if !lie_close(&slices) {
            return self.map_spread_numbers(parts, delete);
        }
        let given = slices.iter().map(|numbers| numbers.len()).sum();
        let distinct = distinct_numbers(&slices);
        let mut ids: Vec<VertexId> = match self.bound {
            0 => vec![NO_ID; distinct.len()],
            _ => distinct.par_iter().map(|&number| self.id_or_none(KeyRef::Int(number))).collect(),
        };
        let mut new = Vec::new();
        if !delete {
            let missing = ids.iter_mut().zip(&distinct).filter(|(id, _)| **id == NO_ID);
            new.extend(missing.map(|(id, &number)| (id, number)));
        }
        self.check_room(new.len())?;
        let first = self.bound;
        let numbered = new.into_iter().enumerate().map(|(position, (id, number))| {
            *id = first + position as VertexId;
            number
        });
        let new: Vec<i64> = numbered.collect();
        let new_keys = (!new.is_empty()).then_some(KeyColumn::Int(new));
        if let Some(keys) = &new_keys {
            self.add_keys(first, keys);
        }
        let Some(direct) = DirectMap::new(&distinct, &ids, given) else {
            return Ok(Mapped { new_keys, ..self.map_by_lookup(parts) });
        };
        let ends = map_ends(parts, |key| match key {
            KeyRef::Int(number) => direct.get(number),
            KeyRef::Text(_) => NO_ID,
        });
        ids.par_sort_unstable();
        Ok(Mapped { new_keys, ends, vertices: Some(ids) })
    }

    /// Numbers from a wide range to ids: each is looked up, and those found nowhere get ids unless the batch deletes.
    fn map_spread_numbers(&mut self, parts: Vec<EdgeBatch>, delete: bool) -> Result<Mapped, SchemaError> {
        let lookup = |numbers: &[i64]| map_in_tasks(numbers, |&number| self.id_or_none(KeyRef::Int(number)));
        let mut ends = Vec::new();
        for part in &parts {
            for rows in pieces_of(part) {
                let ids = |keys: &KeyColumn| keys.as_numbers().map(|numbers| lookup(&numbers[rows.clone()]));
                let (src, dst) = (ids(&part.src).unwrap_or_default(), ids(&part.dst).unwrap_or_default());
                ends.push(EndIds { src, dst });
            }
        }
        let columns = parts.iter().flat_map(|part| pieces_of(part).map(move |rows| (part, rows)));
        let sides = columns.zip(&mut ends).flat_map(|((part, rows), ends)| {
            [(&part.src, rows.clone(), &mut ends.src), (&part.dst, rows, &mut ends.dst)]
        });
        let mut unknown: Vec<(&[i64], &mut Vec<VertexId>)> = sides
            .filter_map(|(keys, rows, ids)| Some((keys.as_numbers()?.get(rows)?, ids)))
            .filter(|(_, ids)| !delete && ids.contains(&NO_ID))
            .collect();
        let missing: Vec<i64> = unknown
            .iter()
            .flat_map(|(numbers, ids)| numbers.iter().zip(ids.iter()))
            .filter(|(_, id)| **id == NO_ID)
            .map(|(&number, _)| number)
            .collect();
        if missing.is_empty() {
            return Ok(Mapped { ends, ..Mapped::default() });
        }
        let new = distinct_numbers(&[&missing]);
        self.check_room(new.len())?;
        let new = KeyColumn::Int(new);
        self.add_keys(self.bound, &new);
        for (numbers, ids) in &mut unknown {
            let missing = ids.par_iter_mut().zip(*numbers).with_min_len(ROWS_PER_TASK);
            missing.filter(|(id, _)| **id == NO_ID).for_each(|(id, &number)| {
                *id = self.id_or_none(KeyRef::Int(number));
            });
        }
        Ok(Mapped { new_keys: Some(new), ends, ..Mapped::default() })
    }

    /// Gives ids to the strings that have none.
    fn add_texts(&mut self, parts: &[EdgeBatch]) -> Result<Option<KeyColumn>, SchemaError> {
        let columns: Vec<&KeyColumn> = parts.iter().flat_map(|part| [&part.src, &part.dst]).collect();
        let new = columns
            .par_iter()
            .filter_map(|column| column.as_texts())
            .map(|texts| texts.iter().filter(|text| self.lookup(KeyRef::Text(text)).is_none()).collect())
            .reduce(HashSet::<&str>::new, |mut left, right| {
                left.extend(right);
                left
            });
        let mut sorted: Vec<&str> = new.into_iter().collect();
        sorted.par_sort_unstable();
        let mut texts = TextValues::default();
        sorted.into_iter().for_each(|text| texts.push(text));
        self.check_room(texts.len())?;
        let new_keys = (!texts.is_empty()).then_some(KeyColumn::Text(texts));
        if let Some(keys) = &new_keys {
            self.add_keys(self.bound, keys);
        }
        Ok(new_keys)
    }
}

fn check_shape(part: &EdgeBatch) -> Result<(), SchemaError> {
    let expected = part.len();
    let check = |name: &str, found: usize| {
        let error = || SchemaError::ColumnLength { name: name.to_owned(), expected, found };
        if found == expected { Ok(()) } else { Err(error()) }
    };
    check("dst", part.dst.len())?;
    for (position, (name, column)) in part.columns.iter().enumerate() {
        check(name, column.len())?;
        check(name, column.validity.as_ref().map_or(expected, Vec::len))?;
        if let Some(texts) = column.cells().texts() {
            check_text_lengths(texts, |row| format!("property {name:?} in row {row}"))?;
        }
        if part.columns[..position].iter().any(|(earlier, _)| earlier == name) {
            return Err(SchemaError::Twice { name: name.clone() });
        }
    }
    Ok(())
}

/// The property columns of all parts one after the other, in the types of the schema.
fn batch_columns(owner: &EdgeType, parts: &[EdgeBatch]) -> Result<Vec<OpColumn>, SchemaError> {
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
                found: value.misfit(column.values.property_type()),
            })?;
        }
    }
    Ok(columns)
}
