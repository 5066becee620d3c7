//! Batches of edges: from columns of keys to ids, in parallel.
//!
//! ```text
//!  key columns ─► distinct keys ─► those without an id get the next ones, ascending by key ─► ids by row
//! ```
//!
//! Invariant: keys are added last, when nothing can fail any more.

use std::ops::Range;
use std::sync::Arc;

use evergraph_types::{
    EdgeBatch, EdgeType, EdgeTypeId, EdgeTypeOptions, KeyColumn, KeyKind, Schema, SchemaError, VertexId,
};
use hashbrown::HashSet;
use rayon::prelude::*;

use crate::commits::resolve::{Resolver, check_keys};
use crate::keys::dictionary::NO_ID;
use crate::keys::key_range::{DirectMap, distinct_ids, distinct_numbers, lie_close};
use crate::loads::staged::Staged;
use crate::system::pool::items_per_task;
use crate::write_sets::catalog::{ItemChange, edge_type_item};
use crate::write_sets::ops::{EdgeOps, OpColumn, Rebound, WriteSet};
use crate::write_sets::schema_change::{
    check_property, check_room, check_text_lengths, ensure_edge_type, ensure_edge_type_like, infer_key_kind,
    require_edge_names,
};

/// Edges to put or delete at once, in parts of one shape.
#[derive(Debug, Default)]
pub(crate) struct BatchWrites {
    pub(crate) edge_type: String,
    /// What the edge type must behave like, and how it is made if there is none.
    pub(crate) create: Option<EdgeTypeOptions>,
    /// The edge type that `edge_type` has to be the name of, where edges before these went to it.
    pub(crate) known: Option<EdgeTypeId>,
    /// Whether it may bring nothing else that was not declared.
    pub(crate) is_strict: bool,
    pub(crate) parts: Vec<EdgeBatch>,
    /// Edges before those, which were too many for memory.
    pub(crate) staged: Option<Staged>,
    /// Changes of catalog items that belong to the edge type, by their names within it.
    pub(crate) items: Vec<ItemChange>,
    pub(crate) delete: bool,
}

impl BatchWrites {
    /// The number of edges given.
    pub(crate) fn rows(&self) -> usize {
        let staged = self.staged.as_ref().map_or(0, |staged| staged.rows);
        staged + self.parts.iter().map(EdgeBatch::len).sum::<usize>()
    }

    /// The parts in memory, and a row of each shape that others have: what tells which schema it needs.
    fn samples(&self) -> impl Iterator<Item = &EdgeBatch> {
        let staged = self.staged.iter().flat_map(|staged| &staged.heads);
        staged.chain(&self.parts)
    }
}

/// A change finds its properties by a row of 32 bits.
const MAX_ROWS: usize = u32::MAX as usize;
const WITH_PROPERTIES: &str = "edges with properties in one batch (add them in several)";
/// Larger parts are turned into ids so many rows at a time, to be dropped and sorted piece by piece.
const ROWS_AT_A_TIME: usize = 1 << 16;
/// Up to so many rows the ids of a part lie in one piece.
const ROWS_OF_A_PIECE: usize = 1 << 21;
/// Rows whose keys one task turns into ids.
const ROWS_PER_TASK: usize = 1 << 13;

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

/// Whether keys that have no ids get some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewKeys {
    /// No: what they name is to be deleted.
    No,
    /// Free ones, then the next.
    AtFreeIds,
    /// The next: those of a load, which is not in the log, or in parts.
    AtNextIds,
}

/// The ids that keys were given.
struct GivenIds {
    /// Those with ids that follow each other …
    new_keys: Option<KeyColumn>,
    /// … from this one on.
    first: VertexId,
    /// Those before them.
    rebound: Option<Rebound>,
}

/// Rows with their keys turned into ids.
#[derive(Default)]
pub(crate) struct MappedKeys {
    new_keys: Option<KeyColumn>,
    rebound: Option<Rebound>,
    pub(crate) ends: Vec<EndIds>,
    vertices: Option<Vec<VertexId>>,
}

/// A batch that goes with a schema, its keys still to be turned into ids.
pub(crate) struct FittedBatch {
    pub(crate) batch: BatchWrites,
    /// The schema that it was compared with.
    pub(crate) before: Arc<Schema>,
    /// That with what the batch brings, if it brings anything.
    pub(crate) schema: Option<Schema>,
    pub(crate) edge_type: EdgeTypeId,
    columns: Vec<OpColumn>,
}

impl FittedBatch {
    pub(crate) fn new(
        before: &Arc<Schema>,
        wanted_kind: Option<KeyKind>,
        batch: BatchWrites,
    ) -> Result<Self, SchemaError> {
        let schema = schema_for(before, wanted_kind, &batch)?;
        let (edge_type, owner) = schema.require_edge_type(&batch.edge_type)?;
        let columns = batch_columns(owner, &batch.parts)?;
        if !columns.is_empty() {
            check_room(batch.parts.iter().map(EdgeBatch::len).sum(), MAX_ROWS, WITH_PROPERTIES)?;
        }
        if let Some(kind) = schema.key_kind {
            let mut keys = batch.parts.iter().flat_map(|part| [&part.src, &part.dst]);
            keys.try_for_each(|keys| check_keys(&schema, kind, keys))?;
        }
        let schema = (schema != **before).then_some(schema);
        Ok(FittedBatch { batch, before: before.clone(), schema, edge_type, columns })
    }

    /// As [`FittedBatch::new`], for a batch that is taken piece by piece: pieces that fit its schema have the columns.
    pub(crate) fn in_pieces(
        before: &Arc<Schema>,
        wanted_kind: Option<KeyKind>,
        batch: BatchWrites,
    ) -> Result<Self, SchemaError> {
        let (schema, edge_type) = check_pieces(before, wanted_kind, &batch)?;
        let schema = (schema != **before).then_some(schema);
        Ok(FittedBatch { batch, before: before.clone(), schema, edge_type, columns: Vec::new() })
    }

    /// The changes of catalog items, by their names in the catalog.
    pub(crate) fn items(&self) -> Vec<ItemChange> {
        let named = |(name, bytes): &ItemChange| (edge_type_item(self.edge_type, name).into(), bytes.clone());
        self.batch.items.iter().map(named).collect()
    }

    /// The batch but for its ends, and the parts that have their keys.
    pub(crate) fn split(self) -> (ResolvedBatch, Vec<EdgeBatch>) {
        let items = self.items();
        let FittedBatch { batch, schema, edge_type, columns, .. } = self;
        let writes = WriteSet { schema, items, ..WriteSet::default() };
        let (ends, delete) = (Vec::new(), batch.delete);
        (ResolvedBatch { writes, edge_type, ends, columns, delete, vertices: None }, batch.parts)
    }
}

/// The schema with what the batch brings that is new.
fn schema_for(
    schema: &Schema,
    wanted_kind: Option<KeyKind>,
    batch: &BatchWrites,
) -> Result<Schema, SchemaError> {
    let mut schema = schema.clone();
    let found = schema.edge_type(&batch.edge_type).map(|(edge_type, _)| edge_type);
    if batch.known.is_some_and(|known| found != Some(known)) {
        return Err(SchemaError::EdgeTypeGone { name: batch.edge_type.clone() });
    }
    if let Some(options) = &batch.create {
        ensure_edge_type_like(&mut schema, &batch.edge_type, options)?;
    }
    for part in batch.samples() {
        check_shape(part)?;
        // What deletes brings nothing new, not even the kind of keys.
        if !batch.delete {
            if let Some(key) = (!part.is_empty()).then(|| part.src.get(0)) {
                infer_key_kind(&mut schema, key, wanted_kind)?;
            }
            if batch.is_strict {
                let names = part.columns.iter().map(|(name, _)| name.as_str());
                require_edge_names(&schema, &batch.edge_type, names)?;
            }
            let typed = part.columns.iter().map(|(name, column)| (name.as_str(), column.property_type()));
            ensure_edge_type(&mut schema, &batch.edge_type, typed)?;
        }
    }
    Ok(schema)
}

/// Checks each part in memory without taking it, and that it goes with all others; gives the schema with what the batch
/// brings, and the type of the edges.
pub(crate) fn check_pieces(
    before: &Schema,
    wanted_kind: Option<KeyKind>,
    batch: &BatchWrites,
) -> Result<(Schema, EdgeTypeId), SchemaError> {
    let schema = schema_for(before, wanted_kind, batch)?;
    let (edge_type, owner) = schema.require_edge_type(&batch.edge_type)?;
    for part in &batch.parts {
        batch_columns(owner, std::slice::from_ref(part))?;
        if let Some(kind) = schema.key_kind {
            [&part.src, &part.dst].into_iter().try_for_each(|keys| check_keys(&schema, kind, keys))?;
        }
    }
    Ok((schema, edge_type))
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

    /// What `see` makes of the batch as a write set.
    pub(crate) fn seen_as_write_set<T>(&mut self, see: impl FnOnce(&WriteSet) -> T) -> T {
        let ends = std::mem::take(&mut self.ends);
        let columns = std::mem::take(&mut self.columns);
        let writes = std::mem::take(&mut self.writes);
        let batch = ResolvedBatch { writes, ends, columns, vertices: None, ..*self };
        self.writes = batch.into_write_set();
        let seen = see(&self.writes);
        for (_, EdgeOps { src, dst, columns, .. }) in self.writes.edges.drain(..) {
            self.ends.push(EndIds { src, dst });
            self.columns = columns;
        }
        seen
    }

    /// Takes in the ids of the next rows, and the keys that were given the first of these, if it is to name them.
    pub(crate) fn take_ends(&mut self, first_new_id: VertexId, mapped: MappedKeys, names_keys: bool) {
        let MappedKeys { new_keys, rebound, ends, vertices } = mapped;
        debug_assert!(rebound.is_none(), "keys of a load follow each other");
        self.vertices = vertices.filter(|_| self.ends.is_empty());
        self.ends.extend(ends);
        if let Some(new_keys) = new_keys.filter(|_| names_keys) {
            self.writes.extend(WriteSet { new_keys: Some(new_keys), first_new_id, ..WriteSet::default() });
        }
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

/// The ids of both ends of every row, some rows at a time, where they follow from the numbers; a part is dropped as soon as
/// it is done.
fn map_ends(parts: Vec<EdgeBatch>, id: impl Fn(i64) -> VertexId + Sync) -> Vec<EndIds> {
    let map_keys = |keys: &KeyColumn, rows: Range<usize>| -> Vec<VertexId> {
        match keys.as_numbers().and_then(|numbers| numbers.get(rows.clone())) {
            Some(numbers) if rows.len() < ROWS_PER_TASK => numbers.iter().map(|&number| id(number)).collect(),
            Some(numbers) => {
                numbers.par_iter().with_min_len(ROWS_PER_TASK).map(|&number| id(number)).collect()
            }
            None => vec![NO_ID; rows.len()],
        }
    };
    let map_part = |part: EdgeBatch| -> Vec<EndIds> {
        let map_rows = |rows: Range<usize>| EndIds {
            src: map_keys(&part.src, rows.clone()),
            dst: map_keys(&part.dst, rows),
        };
        let pieces: Vec<Range<usize>> = pieces_of(&part).collect();
        match &*pieces {
            [rows] => vec![map_rows(rows.clone())],
            _ => pieces.into_par_iter().map(map_rows).collect(),
        }
    };
    let rows = parts.iter().map(EdgeBatch::len).sum();
    if rows < ROWS_PER_TASK {
        return parts.into_iter().flat_map(map_part).collect();
    }
    parts.into_par_iter().with_min_len(items_per_task(rows)).flat_map_iter(map_part).collect()
}

/// Keys of some rows, from the first on, and their ids.
struct Side<'a> {
    keys: &'a KeyColumn,
    first: usize,
    ids: &'a mut [VertexId],
}

impl Side<'_> {
    /// The rows whose ids are not known.
    fn missing(&self) -> impl Iterator<Item = usize> {
        self.ids.iter().enumerate().filter(|(_, id)| **id == NO_ID).map(|(row, _)| self.first + row)
    }
}

/// Both ends of the rows of each piece.
fn sides_of<'a>(parts: &'a [EdgeBatch], ends: &'a mut [EndIds]) -> Vec<Side<'a>> {
    let pieces = parts.iter().flat_map(|part| pieces_of(part).map(move |rows| (part, rows)));
    let both = pieces.zip(ends).flat_map(|((part, rows), EndIds { src, dst })| {
        [(&part.src, src), (&part.dst, dst)].map(|(keys, ids)| Side { keys, first: rows.start, ids })
    });
    both.collect()
}

/// The keys of the rows whose ids are not known, each once, ascending.
fn missing_keys(sides: &[Side<'_>]) -> KeyColumn {
    let sides =
        || sides.par_iter().with_min_len(items_per_task(sides.iter().map(|side| side.ids.len()).sum()));
    let numbers = sides().filter_map(|side| {
        let numbers = side.keys.as_numbers()?;
        Some(side.missing().map(|row| numbers[row]).collect())
    });
    let numbers: Vec<Vec<i64>> = numbers.collect();
    let texts = sides().filter_map(|side| {
        let texts = side.keys.as_texts()?;
        Some(side.missing().map(|row| texts.get(row)).collect())
    });
    let texts = texts.reduce(HashSet::<&str>::new, |mut left, right| {
        left.extend(right);
        left
    });
    if texts.is_empty() {
        return KeyColumn::Int(distinct_numbers(&numbers.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    }
    let mut sorted: Vec<&str> = texts.into_iter().collect();
    sorted.par_sort_unstable();
    KeyColumn::Text(sorted.into_iter().collect())
}

impl Resolver {
    /// A batch in ids. After an error nothing has changed.
    pub(crate) fn resolve_batch(&mut self, batch: BatchWrites) -> Result<ResolvedBatch, SchemaError> {
        let fitted = FittedBatch::new(&self.schema, self.wanted_kind, batch)?;
        let items = fitted.items();
        let FittedBatch { batch, schema, edge_type, columns, .. } = fitted;
        let before = (self.schema.clone(), self.dictionary.clone());
        if let Some(schema) = &schema {
            self.set_schema(schema.clone());
        }
        let first_new_id = self.bound;
        let mapped = self.map_keys(batch.parts, if batch.delete { NewKeys::No } else { NewKeys::AtFreeIds });
        if mapped.is_err() {
            (self.schema, self.dictionary) = before;
        }
        let MappedKeys { new_keys, rebound, ends, vertices } = mapped?;
        let writes = WriteSet { schema, new_keys, first_new_id, rebound, items, ..WriteSet::default() };
        Ok(ResolvedBatch { writes, edge_type, ends, columns, delete: batch.delete, vertices })
    }

    /// The ids of both ends of all rows, the schema being the one that goes with them; new keys get ids if they are to.
    pub(crate) fn map_keys(
        &mut self,
        parts: Vec<EdgeBatch>,
        new_keys: NewKeys,
    ) -> Result<MappedKeys, SchemaError> {
        if self.schema.key_kind == Some(KeyKind::Dense) {
            return Ok(MappedKeys { ends: map_ends(parts, dense_id), ..MappedKeys::default() });
        }
        match self.dictionary.has_numbers() {
            true => self.map_numbers(parts, new_keys),
            false => self.map_by_lookup(parts, new_keys),
        }
    }

    /// Gives ids to keys that have none, each given once: free ones to the first of them, if these may have them, then the next.
    fn give_ids(&mut self, keys: KeyColumn, new_keys: NewKeys) -> GivenIds {
        let rebound = if new_keys == NewKeys::AtFreeIds { self.rebind(&keys) } else { None };
        let given = rebound.as_ref().map_or(0, |rebound| rebound.ids.len());
        let keys = if given > 0 { keys.pick(given..keys.len()) } else { keys };
        let first = self.bound;
        let new_keys = (!keys.is_empty()).then_some(keys);
        if let Some(keys) = &new_keys {
            self.add_keys(first, keys);
        }
        GivenIds { new_keys, rebound, first }
    }

    /// Numbers to ids; new numbers get ids if they are to.
    fn map_numbers(&mut self, parts: Vec<EdgeBatch>, wanted: NewKeys) -> Result<MappedKeys, SchemaError> {
        let columns = parts.iter().flat_map(|part| [&part.src, &part.dst]);
        let slices: Vec<&[i64]> = columns.filter_map(|column| column.as_numbers()).collect();
        if !lie_close(&slices) {
            return self.map_by_lookup(parts, wanted);
        }
        let given = slices.iter().map(|numbers| numbers.len()).sum();
        let distinct = KeyColumn::Int(distinct_numbers(&slices));
        let mut ids = vec![NO_ID; distinct.len()];
        self.dictionary.find_ids(&distinct, 0, &mut ids);
        let distinct = distinct.as_numbers().unwrap_or_default();
        let mut new = Vec::new();
        if wanted != NewKeys::No {
            let missing = ids.iter_mut().zip(distinct).filter(|(id, _)| **id == NO_ID);
            new.extend(missing.map(|(id, &number)| (id, number)));
        }
        self.check_room(new.len())?;
        let (places, numbers): (Vec<&mut VertexId>, Vec<i64>) = new.into_iter().unzip();
        let GivenIds { new_keys, rebound, first } = self.give_ids(KeyColumn::Int(numbers), wanted);
        let free = rebound.iter().flat_map(|rebound| rebound.ids.iter().copied());
        places.into_iter().zip(free.chain(first..)).for_each(|(place, id)| *place = id);
        let Some(direct) = DirectMap::new(distinct, &ids, given) else {
            return Ok(MappedKeys { new_keys, rebound, ..self.map_by_lookup(parts, NewKeys::No)? });
        };
        let ends = map_ends(parts, |number| direct.get(number));
        ids.par_sort_unstable();
        Ok(MappedKeys { new_keys, rebound, ends, vertices: Some(ids) })
    }

    /// Keys to ids: each is looked up, and those found nowhere get ids if they are to.
    fn map_by_lookup(&mut self, parts: Vec<EdgeBatch>, wanted: NewKeys) -> Result<MappedKeys, SchemaError> {
        let unknown = |rows: Range<usize>| vec![NO_ID; rows.len()];
        let pieces = parts.iter().flat_map(pieces_of);
        let mut ends: Vec<EndIds> =
            pieces.map(|rows| EndIds { src: unknown(rows.clone()), dst: unknown(rows) }).collect();
        let mut sides = sides_of(&parts, &mut ends);
        sides.iter_mut().for_each(|side| self.dictionary.find_ids(side.keys, side.first, side.ids));
        sides.retain(|side| wanted != NewKeys::No && side.ids.contains(&NO_ID));
        if sides.is_empty() {
            return Ok(MappedKeys { ends, ..MappedKeys::default() });
        }
        let new = missing_keys(&sides);
        self.check_room(new.len())?;
        let GivenIds { new_keys, rebound, .. } = self.give_ids(new, wanted);
        sides.iter_mut().for_each(|side| self.dictionary.find_ids(side.keys, side.first, side.ids));
        Ok(MappedKeys { new_keys, rebound, ends, ..MappedKeys::default() })
    }
}

/// The id that a number is, if it is one.
fn dense_id(number: i64) -> VertexId {
    VertexId::try_from(number).unwrap_or(NO_ID)
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
        if let Some(row) = column.first_misfit() {
            let name = format!("property {name:?} in row {row}");
            return Err(SchemaError::NoValue { name, expected: column.property_type().name() });
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
                name: name.clone(),
                row: Some(row),
                expected: column.values.property_type(),
                found: value.misfit(column.values.property_type()),
            })?;
        }
    }
    Ok(columns)
}
