//! From what callers wrote, in keys and handles, to write sets in ids. Runs in the committer, which alone gives out
//! ids.
//!
//! Invariant: `bound` is one past the last id given out, published or not; new keys of one request get ids that are free, and
//! after these ids that follow each other.

use std::sync::Arc;

use evergraph_types::{
    Key, KeyColumn, KeyKind, KeyRef, MAX_VERTICES, Schema, SchemaError, Sequence, VertexId,
};
use rayon::prelude::*;

use crate::commits::conflict::Late;
use crate::keys::dictionary::{Dictionary, NO_ID};
use crate::keys::recycler::{Recycler, is_view_of_ids};
use crate::system::pool::PARALLEL_ROWS;
use crate::transactions::writes::{EdgeWrites, Handle, Writes, base_id, id_of, new_position};
use crate::versions::version::Version;
use crate::write_sets::alteration::{extends, still_there, succeeds};
use crate::write_sets::ops::{EdgeOps, Rebound, VertexPut, WriteSet};
use crate::write_sets::schema_change::{check_key, check_text_lengths};

/// Of so many operations on edges of a type at the most, whoever wrote them frees what is left; what is left of more is not to take memory as
/// long as they are committed.
const LEFT_WRITES: usize = 1 << 10;

/// The state that ids and schema have reached, ahead of what is published.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) schema: Arc<Schema>,
    pub(crate) dictionary: Arc<Dictionary>,
    pub(crate) bound: VertexId,
    /// Keys of ids from this one on, and the schema if so, are those of a load that goes on or was given up: the next
    /// commit brings them to the log.
    unlogged: VertexId,
    pub(crate) schema_is_unlogged: bool,
    /// The kind of keys the store was opened for, if the caller said so.
    pub(crate) wanted_kind: Option<KeyKind>,
    /// Whether the dictionary holds the keys of all commits to come, since they are those of the past.
    pub(crate) keys_are_known: bool,
    /// Ids that lost their keys.
    pub(crate) recycler: Recycler,
}

impl Resolver {
    /// The state of a version.
    pub(crate) fn of(version: &Version, wanted_kind: Option<KeyKind>) -> Self {
        Resolver {
            schema: version.schema.clone(),
            dictionary: version.dictionary.clone(),
            bound: version.id_bound,
            unlogged: version.id_bound,
            schema_is_unlogged: false,
            wanted_kind,
            keys_are_known: false,
            recycler: Recycler::default(),
        }
    }

    /// Takes in a write set of commit `sequence` read back from the log.
    /// Tells whether it fits what was read before.
    pub(crate) fn replay(&mut self, writes: &WriteSet, sequence: Sequence) -> bool {
        if let Some(schema) = &writes.schema {
            if !succeeds(schema, &self.schema) {
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
            self.lose_keys(keys, writes.first_new_id, sequence);
            self.add_keys(writes.first_new_id, keys);
        }
        let rebound = writes.rebound.as_ref();
        rebound.is_none_or(|rebound| self.replay_rebound(rebound, sequence)) && self.fits(writes)
    }

    /// Takes in keys of ids that other keys had before. Tells whether these ids have none, and what the segments say of it.
    fn replay_rebound(&mut self, Rebound { ids, keys }: &Rebound, sequence: Sequence) -> bool {
        let kind = self.schema.key_kind.filter(|kind| *kind != KeyKind::Dense);
        let are_keys = kind.is_some_and(|kind| check_keys(&self.schema, kind, keys).is_ok());
        let are_ids = ids.len() == keys.len() && ids.iter().all(|id| *id < self.bound);
        if !are_keys || !are_ids || self.keys_are_known {
            return are_keys && are_ids;
        }
        for (row, &id) in ids.iter().enumerate() {
            let key = keys.get(row);
            match self.lookup(key) {
                // Its commit was refused after it was archived, and the next one brought it again.
                Some(known) if known == id => continue,
                Some(older) => self.lose_key(older, sequence),
                None => {}
            }
            if !self.recycler.is_keyless(id) {
                return false;
            }
            self.bind(id, key);
        }
        true
    }

    /// Has ids that the segments say to have these keys lose them: they were let go of before `sequence`, where the keys are new
    /// again, and a crash came before an archive could say so. Those from `bound` on are about to get them.
    fn lose_keys(&mut self, keys: &KeyColumn, bound: VertexId, sequence: Sequence) {
        if self.keys_are_known {
            return;
        }
        let mut ids = vec![NO_ID; keys.len()];
        self.dictionary.find_ids(keys, 0, &mut ids);
        for id in ids.into_iter().filter(|id| *id < bound) {
            // The same key twice, in a log that makes no sense, is lost once.
            if !self.recycler.is_keyless(id) {
                self.lose_key(id, sequence);
            }
        }
    }

    fn lose_key(&mut self, id: VertexId, sequence: Sequence) {
        self.dictionary.remove(id);
        self.recycler.note_keyless(id);
        self.recycler.note_pass(sequence);
    }

    /// Gives an id that has no key to a key that has no id.
    fn bind(&mut self, id: VertexId, key: KeyRef<'_>) {
        let old = self.dictionary.add(id, key);
        self.recycler.note_bound(id, old);
    }

    /// Gives free ids to the first of some keys that have none, as many as there are; tells what was given.
    pub(crate) fn rebind(&mut self, keys: &KeyColumn) -> Option<Rebound> {
        let ids = self.recycler.take_free(keys.len());
        if ids.is_empty() {
            return None;
        }
        for (row, &id) in ids.iter().enumerate() {
            self.bind(id, keys.get(row));
        }
        let keys = keys.pick(0..ids.len());
        Some(Rebound { ids, keys })
    }

    /// What stands against writes that name ids which have lost their keys since their version was made.
    pub(crate) fn check_known_keys<'a>(&self, writes: &'a Writes) -> Result<(), Late<'a>> {
        if self.recycler.last_pass() == 0 {
            return Ok(());
        }
        let sequence = self.recycler.last_pass();
        if let Some(vertex) = writes.known_ids().find(|id| self.recycler.is_keyless(*id)) {
            return Err(Late::for_lost_key(vertex, sequence));
        }
        if writes.dictionary.as_ref().is_none_or(|dictionary| Arc::ptr_eq(dictionary, &self.dictionary)) {
            return Ok(());
        }
        let put = |(name, bytes): &(&Arc<str>, &Option<Arc<[u8]>>)| {
            bytes.as_ref().is_some_and(|bytes| is_view_of_ids(name, bytes))
        };
        let lost = writes.items.iter().find(put);
        lost.map_or(Ok(()), |(name, _)| Err(Late::for_lost_ids(name, sequence)))
    }

    /// The ids below this one have keys that are logged.
    pub(crate) fn logged_bound(&self) -> VertexId {
        self.unlogged
    }

    /// Whether all ids and columns of the writes are known.
    fn fits(&self, writes: &WriteSet) -> bool {
        let dense = self.schema.key_kind == Some(KeyKind::Dense);
        let is_id = |id: &VertexId| dense || *id < self.bound;
        let properties = &self.schema.vertex_properties;
        writes.vertex_deletes.iter().all(is_id)
            && writes.vertex_puts.iter().all(|put| {
                is_id(&put.vertex)
                    && put.properties.iter().all(|(id, value)| {
                        let property =
                            properties.get(usize::from(*id)).filter(|property| !property.is_dropped());
                        property.is_some_and(|property| value.clone().coerce(property.kind).is_ok())
                    })
            })
            && writes.edges.iter().all(|(edge_type, ops)| {
                let kind = self.schema.edge_types.get(usize::from(*edge_type));
                kind.filter(|kind| !kind.is_dropped()).is_some_and(|kind| {
                    ops.columns.iter().all(|column| {
                        let property = kind.options.properties.get(usize::from(column.property));
                        property.is_some_and(|property| {
                            !property.is_dropped() && property.kind == column.values.property_type()
                        })
                    })
                }) && ops.src.iter().chain(&ops.dst).all(is_id)
            })
    }

    /// Gives the ids from `first` on to `keys`.
    pub(crate) fn add_keys(&mut self, first: VertexId, keys: &KeyColumn) {
        self.bound = first + keys.len() as VertexId;
        if !self.keys_are_known {
            self.dictionary.add_all(first, keys);
        }
    }

    /// Has a commit take along what is not logged: all ids and the schema are in the log then.
    pub(crate) fn note_logged(&mut self, writes: &mut WriteSet) {
        let own = if writes.new_keys.is_some() { writes.first_new_id } else { self.bound };
        let first_new_id = std::mem::replace(&mut self.unlogged, self.bound);
        let is_altered = std::mem::take(&mut self.schema_is_unlogged);
        let ids = self.recycler.take_unlogged();
        if first_new_id < own || is_altered || !ids.is_empty() {
            let schema = is_altered.then(|| (*self.schema).clone());
            let new_keys = (first_new_id < own).then(|| self.dictionary.keys(first_new_id..own));
            let keys = self.dictionary.keys(ids.iter().copied());
            let rebound = (!ids.is_empty()).then_some(Rebound { ids, keys });
            let brought = WriteSet { schema, new_keys, first_new_id, rebound, ..WriteSet::default() };
            let commit = std::mem::replace(writes, brought);
            writes.extend(commit);
        }
    }

    /// Notes that segments hold the keys of all ids below `id_bound`, and the schema. Those of a load that was given up may be behind them.
    pub(crate) fn note_archived(&mut self, id_bound: VertexId) {
        (self.unlogged, self.schema_is_unlogged) = (id_bound.min(self.bound), false);
    }

    /// Takes the schema of a load. It is in no commit yet.
    pub(crate) fn set_unlogged_schema(&mut self, schema: Schema) {
        self.set_schema(schema);
        self.schema_is_unlogged = true;
    }

    /// Takes back the schema of a load that is given up, but for the kind of keys if some have ids.
    pub(crate) fn take_back_schema(&mut self, published: &Version) {
        if !std::mem::take(&mut self.schema_is_unlogged) {
            return;
        }
        let kind = self.schema.key_kind.filter(|_| self.unlogged < self.bound);
        self.schema = published.schema.clone();
        if kind.is_none() {
            self.dictionary = published.dictionary.clone();
        } else if self.schema.key_kind != kind {
            self.schema = Arc::new(Schema { key_kind: kind, ..(*self.schema).clone() });
            self.schema_is_unlogged = true;
        }
    }

    pub(crate) fn set_schema(&mut self, schema: Schema) {
        if let (None, Some(kind), false) = (self.schema.key_kind, schema.key_kind, self.keys_are_known) {
            self.dictionary = Arc::new(Dictionary::new(kind));
        }
        self.schema = Arc::new(schema);
    }

    /// The id a handle has by now, if any.
    pub(crate) fn known_id(&self, handle: Handle, new_keys: &[Key]) -> Option<VertexId> {
        base_id(handle).or_else(|| {
            let key = &new_keys[new_position(handle)];
            self.lookup(key.as_ref())
        })
    }

    pub(crate) fn lookup(&self, key: KeyRef<'_>) -> Option<VertexId> {
        let dense = self.schema.key_kind == Some(KeyKind::Dense);
        self.dictionary.lookup(key).filter(|&id| dense || id < self.bound)
    }

    /// The schema that a transaction's writes need in place of the current one, if any; `None` if both changed so that
    /// they do not go together. `alteration.rs` draws the cases.
    pub(crate) fn reconcile(&self, writes: &Writes) -> Option<Option<Schema>> {
        let own = |schema: &Schema| Some(Some(schema.clone()));
        let is_same = Arc::ptr_eq(&self.schema, &writes.base_schema) || self.schema == writes.base_schema;
        match &writes.new_schema {
            None if is_same => Some(None),
            None => still_there(writes, &self.schema).then_some(None),
            Some(schema) if is_same => own(schema),
            Some(schema) if extends(&self.schema, schema) => Some(None),
            Some(schema) if extends(schema, &self.schema) => own(schema),
            Some(_) => None,
        }
    }

    /// The write set of a transaction whose schema was reconciled, which takes of the writes what it can have without freeing what is left,
    /// unless that is much. After an error nothing has changed.
    pub(crate) fn resolve_writes(
        &mut self,
        writes: &mut Writes,
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
        let (mut new_keys, mut rebound_ids, mut rebound_keys) = (Vec::new(), Vec::new(), Vec::new());
        for key in std::mem::take(&mut writes.new_keys) {
            if let Some(id) = self.lookup(key.as_ref()) {
                ids.push(id);
            } else if let Some(&id) = self.recycler.take_free(1).first() {
                self.bind(id, key.as_ref());
                ids.push(id);
                rebound_ids.push(id);
                rebound_keys.push(key);
            } else {
                let old = self.dictionary.add(self.bound, key.as_ref());
                debug_assert!(old.is_none(), "an id that no key had");
                ids.push(self.bound);
                self.bound += 1;
                new_keys.push(key);
            }
        }
        let vertex_deletes = writes.vertices.iter().filter(|(_, write)| write.delete);
        let vertex_deletes = vertex_deletes.map(|(handle, _)| id_of(*handle, &ids)).collect();
        let vertex_puts = writes
            .vertices
            .iter_mut()
            .filter_map(|(handle, write)| {
                let (label, properties) = write.put.take()?;
                Some(VertexPut { vertex: id_of(*handle, &ids), label, properties })
            })
            .collect();
        let mut edges = Vec::new();
        for (edge_type, all) in &mut writes.edges {
            let properties = &self.schema.edge_types[usize::from(*edge_type)].options.properties;
            let mut ops = EdgeOps::default();
            for write in all.writes.iter().filter(|write| !write.dead) {
                let (src, dst) = (id_of(write.src, &ids), id_of(write.dst, &ids));
                let kind = |property| properties[usize::from(property)].kind;
                ops.push(src, dst, write.delete, all.given(write), kind);
            }
            if !ops.is_empty() {
                edges.push((*edge_type, ops));
            }
            if all.writes.len() > LEFT_WRITES {
                *all = EdgeWrites::default();
            }
        }
        let column = |keys: Vec<Key>| (!keys.is_empty()).then(|| KeyColumn::from_keys(keys)).flatten();
        let (new_keys, rebound_keys) = (column(new_keys), column(rebound_keys));
        let rebound = rebound_keys.map(|keys| Rebound { ids: rebound_ids, keys });
        let items = std::mem::take(&mut writes.items).into_iter().collect();
        Ok(WriteSet { schema, new_keys, first_new_id, rebound, vertex_deletes, vertex_puts, edges, items })
    }

    pub(crate) fn check_room(&self, keys: usize) -> Result<(), SchemaError> {
        let new_ids = keys.saturating_sub(self.recycler.num_free());
        if u64::from(self.bound) + new_ids as u64 <= MAX_VERTICES {
            Ok(())
        } else {
            Err(SchemaError::Limit { what: "vertices", max: MAX_VERTICES })
        }
    }
}

/// Whether a column of keys fits the store's kind of keys.
pub(crate) fn check_keys(schema: &Schema, kind: KeyKind, keys: &KeyColumn) -> Result<(), SchemaError> {
    match (kind, keys) {
        (KeyKind::Int64, KeyColumn::Int(_)) => Ok(()),
        (KeyKind::Text, KeyColumn::Text(texts)) => {
            let name = |row| format!("the vertex key in row {row}");
            check_text_lengths(texts, name)?;
            let no_value = |row| SchemaError::NoValue { name: name(row), expected: "string" };
            texts.first_non_text().map_or(Ok(()), |row| Err(no_value(row)))
        }
        (KeyKind::Dense, KeyColumn::Int(numbers)) => {
            let range = 0..MAX_VERTICES as i64;
            // Without a branch for each number; which one is wrong is looked for only if one is.
            let are_ids =
                |numbers: &[i64]| numbers.iter().fold(true, |all, number| all & range.contains(number));
            let all = match numbers.len() {
                0..PARALLEL_ROWS => are_ids(numbers),
                _ => numbers.par_chunks(PARALLEL_ROWS).all(are_ids),
            };
            let wrong = (!all).then(|| numbers.iter().find(|number| !range.contains(number))).flatten();
            wrong.map_or(Ok(()), |&number| check_key(schema, KeyRef::Int(number)))
        }
        (_, keys) if keys.is_empty() => Ok(()),
        (_, keys) => check_key(schema, keys.get(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write_sets::schema_change::ensure_edge_type;

    /// As if a load had brought a kind of keys and an edge type, and was then given up.
    #[test]
    fn a_schema_that_is_taken_back_leaves_the_kind_of_keys_that_have_ids() {
        let published = Version::empty(Schema::default(), Dictionary::dense());
        for keys in [0, 2] {
            let mut resolver = Resolver::of(&published, None);
            let mut schema = Schema { key_kind: Some(KeyKind::Int64), ..Schema::default() };
            ensure_edge_type(&mut schema, "pays", std::iter::empty()).expect("a new type");
            resolver.set_unlogged_schema(schema);
            if keys > 0 {
                resolver.add_keys(0, &KeyColumn::Int(vec![7, 8]));
            }
            resolver.take_back_schema(&published);
            let kind = (keys > 0).then_some(KeyKind::Int64);
            assert_eq!((resolver.schema.key_kind, resolver.schema.edge_types.len()), (kind, 0));
            let mut writes = WriteSet::default();
            resolver.note_logged(&mut writes);
            assert_eq!(writes.schema.and_then(|schema| schema.key_kind), kind);
            assert_eq!(writes.new_keys, (keys > 0).then(|| KeyColumn::Int(vec![7, 8])));
            let mut later = WriteSet::default();
            resolver.note_logged(&mut later);
            assert!(later.is_empty());
        }
    }

    /// As only a log tells it that nobody wrote.
    #[test]
    fn a_key_gets_no_id_that_another_key_has() {
        let schema = Schema { key_kind: Some(KeyKind::Int64), ..Schema::default() };
        let mut resolver = Resolver::of(&Version::empty(schema, Dictionary::new(KeyKind::Int64)), None);
        resolver.add_keys(0, &KeyColumn::Int(vec![7, 8]));
        let rebound = |id, key| {
            let rebound = Some(Rebound { ids: vec![id], keys: KeyColumn::Int(vec![key]) });
            WriteSet { rebound, ..WriteSet::default() }
        };
        assert!(!resolver.replay(&rebound(1, 9), 1), "it is that of 8");
        assert!(!resolver.replay(&rebound(2, 9), 1), "there is none");
        assert!(resolver.replay(&rebound(1, 8), 1), "it has it");
        resolver.lose_key(1, 1);
        assert!(resolver.replay(&rebound(1, 9), 2));
        assert_eq!([7, 8, 9].map(|key| resolver.lookup(KeyRef::Int(key))), [Some(0), None, Some(1)]);
        assert!(!resolver.replay(&rebound(1, 10), 3), "it is that of 9");
    }
}
