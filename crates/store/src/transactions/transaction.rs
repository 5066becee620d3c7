//! A transaction: private writes over a pinned version. Reads see the version plus the own writes; nothing is
//! shared until `commit` hands the writes to the committer.
//!
//! Vertices are held as *handles*: the id of a key the dictionary knows, or `NEW | position` among the keys the
//! transaction brings. The committer turns handles into ids.
//!
//! Invariant: dropping a transaction without `commit` leaves no trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evergraph_types::{
    Alteration, Direction, EdgeTypeId, EdgeTypeOptions, Key, KeyKind, KeyRef, PropertyId, PropertyType,
    Schema, Sequence, Value, VertexData, VertexId,
};
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::commits::commit::Request;
use crate::commits::writers::PinnedWriter;
use crate::error::{Closed, CommitError, WriteError};
use crate::store::Store;
use crate::transactions::pending::PendingCommit;
use crate::transactions::reads::Reads;
use crate::transactions::writes::{
    EdgeWrite, Handle, NEW, Properties, VertexWrite, Writes, base_id, new_position, overlay,
};
use crate::versions::version::Version;
use crate::write_sets::schema_change::{
    check_key, check_property, coerce, ensure_vertex_type, infer_edge_type, infer_key_kind,
    infer_vertex_property, require_edge_names, require_vertex_names,
};

/// What a transaction is kept apart from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Snapshot isolation: it reads one version, and of two that change the same thing the first to commit wins. Two
    /// that each read what the other changes may both commit (write skew).
    #[default]
    Snapshot,
    /// It commits only if all it read is unchanged, so that the outcome is that of transactions run one by one.
    Serializable,
}

impl Isolation {
    /// The name users write: `snapshot`, `serializable`.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::Snapshot => "snapshot",
            Isolation::Serializable => "serializable",
        }
    }

    /// The isolation of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        [Isolation::Snapshot, Isolation::Serializable].into_iter().find(|isolation| isolation.name() == name)
    }
}

/// How to begin a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TransactionOptions {
    /// What it is kept apart from.
    pub isolation: Isolation,
    /// How long it may take; then every write and the commit are refused.
    pub timeout: Option<Duration>,
}

/// Savepoints, and times at which they are rolled back to, in order.
static STAMPS: AtomicU64 = AtomicU64::new(1);

fn stamp() -> u64 {
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

/// A point of a transaction to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    depth: usize,
    stamp: u64,
}

/// The writes at a savepoint.
#[derive(Clone, Debug)]
struct Saved {
    stamp: u64,
    /// When it was last rolled back to; 0 if it never was.
    restored: u64,
    writes: Box<Writes>,
    new_index: HashMap<Key, Handle>,
    vertex_index: HashMap<Handle, usize>,
}

/// An open read-write transaction.
///
/// ```
/// # use evergraph_store::{Options, Store};
/// let db = Store::in_memory(Options::default());
/// let mut tx = db.begin()?;
/// tx.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
/// assert!(tx.has_edge("alice", "bob", "pays"));
/// tx.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Transaction {
    store: Store,
    pub(crate) version: Arc<Version>,
    pub(crate) writes: Box<Writes>,
    new_index: HashMap<Key, Handle>,
    vertex_index: HashMap<Handle, usize>,
    savepoints: Vec<Saved>,
    /// Kept by serializable transactions.
    pub(crate) reads: Option<Box<Mutex<Reads>>>,
    deadline: Option<Instant>,
    pin: Option<PinnedWriter>,
}

impl Transaction {
    /// One that reads `version`; without a pin, one that conflicts with nothing.
    pub(crate) fn new(
        store: Store,
        version: Arc<Version>,
        pin: Option<PinnedWriter>,
        options: TransactionOptions,
    ) -> Self {
        let begin = pin.is_some().then_some(version.sequence);
        let writes = Box::new(Writes::new(begin, version.schema.clone()));
        Transaction {
            store,
            version,
            writes,
            new_index: HashMap::new(),
            vertex_index: HashMap::new(),
            savepoints: Vec::new(),
            reads: (options.isolation == Isolation::Serializable).then(Box::default),
            deadline: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            pin,
        }
    }

    /// The version the transaction reads.
    pub fn version(&self) -> &Arc<Version> {
        &self.version
    }

    /// Whether the store may still be written: [`Store::usable`]. Reads go on without.
    ///
    /// # Errors
    /// Those of [`Store::usable`].
    pub fn usable(&self) -> Result<(), Closed> {
        self.store.usable()
    }

    /// Begins another transaction of the same store, with nothing written yet.
    ///
    /// # Errors
    /// Those of [`Store::begin`].
    pub fn another(&self) -> Result<Transaction, CommitError> {
        self.store.begin()
    }

    /// Marks a point to go back to. Costs as much as the writes so far.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// let store = Store::in_memory(Options::default());
    /// let mut tx = store.begin()?;
    /// tx.put_edge("alice", "bob", "pays", &[])?;
    /// let savepoint = tx.savepoint();
    /// tx.delete_vertex("bob")?;
    /// tx.rollback_to(savepoint)?;
    /// assert!(tx.has_edge("alice", "bob", "pays"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn savepoint(&mut self) -> Savepoint {
        let stamp = stamp();
        self.savepoints.push(Saved {
            stamp,
            restored: 0,
            writes: self.writes.clone(),
            new_index: self.new_index.clone(),
            vertex_index: self.vertex_index.clone(),
        });
        Savepoint { depth: self.savepoints.len(), stamp }
    }

    /// Undoes every write since the savepoint, which can be gone back to again. Savepoints made after it are gone.
    ///
    /// # Errors
    /// [`WriteError::NoSavepoint`] if it is gone, or of another transaction.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), WriteError> {
        let Saved { writes, new_index, vertex_index, .. } = self.saved(savepoint)?.clone();
        self.savepoints.truncate(savepoint.depth);
        self.savepoints[savepoint.depth - 1].restored = stamp();
        (self.writes, self.new_index, self.vertex_index) = (writes, new_index, vertex_index);
        Ok(())
    }

    /// Whether a savepoint can be gone back to.
    pub fn has_savepoint(&self, savepoint: Savepoint) -> bool {
        self.saved(savepoint).is_ok()
    }

    /// Undoes a block of writes that began at a savepoint of this transaction: as [`Transaction::rollback_to`], and if one before it was
    /// rolled back to within the block, which undid what the block had written until then, all writes since.
    ///
    /// # Errors
    /// [`WriteError::NoSavepoint`] if it was released.
    pub fn undo_block(&mut self, savepoint: Savepoint) -> Result<(), WriteError> {
        if self.has_savepoint(savepoint) {
            return self.rollback_to(savepoint);
        }
        let before = self.savepoints.iter().rposition(|saved| saved.stamp < savepoint.stamp);
        let before = before.filter(|&position| self.savepoints[position].restored > savepoint.stamp);
        let position = before.ok_or(WriteError::NoSavepoint)?;
        self.rollback_to(Savepoint { depth: position + 1, stamp: self.savepoints[position].stamp })
    }

    /// Forgets a savepoint and those made after it; the writes stay. It cannot be gone back to any more, and takes no more
    /// memory.
    ///
    /// # Errors
    /// [`WriteError::NoSavepoint`] if it is gone, or of another transaction.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store, WriteError};
    /// let store = Store::in_memory(Options::default());
    /// let mut tx = store.begin()?;
    /// let savepoint = tx.savepoint();
    /// tx.put_vertex("alice", None, &[])?;
    /// tx.release(savepoint)?;
    /// assert!(matches!(tx.rollback_to(savepoint), Err(WriteError::NoSavepoint)));
    /// assert!(tx.has_vertex("alice"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), WriteError> {
        self.saved(savepoint)?;
        self.savepoints.truncate(savepoint.depth - 1);
        Ok(())
    }

    fn saved(&self, savepoint: Savepoint) -> Result<&Saved, WriteError> {
        let saved = self.savepoints.get(savepoint.depth - 1);
        saved.filter(|saved| saved.stamp == savepoint.stamp).ok_or(WriteError::NoSavepoint)
    }

    /// Creates a vertex or changes one: sets its type if one is given, and the properties given. Unknown vertex
    /// types, and unknown properties with a value that is not null, are added to the schema.
    ///
    /// # Errors
    /// [`WriteError::Schema`] if a key or value does not fit, or the first value of a property does not tell its type.
    pub fn put_vertex<'k>(
        &mut self,
        key: impl Into<KeyRef<'k>>,
        vertex_type: Option<&str>,
        properties: &[(&str, Value)],
    ) -> Result<(), WriteError> {
        self.check_writable()?;
        let key = key.into();
        let schema = self.writes.schema();
        let known = schema.key_kind.is_some()
            && vertex_type.is_none_or(|name| schema.vertex_type(name).is_some())
            && properties.iter().all(|(name, _)| schema.vertex_property(name).is_some());
        let mut inferred = (!known).then(|| schema.clone());
        if let Some(schema) = inferred.as_mut().map(Arc::make_mut) {
            infer_key_kind(schema, key, self.store.wanted_key_kind())?;
            if self.store.is_strict() {
                require_vertex_names(schema, vertex_type, properties.iter().map(|(name, _)| *name))?;
            }
            if let Some(name) = vertex_type {
                ensure_vertex_type(schema, name)?;
            }
            for (name, value) in properties {
                infer_vertex_property(schema, name, value)?;
            }
        }
        let schema = inferred.as_ref().unwrap_or(schema);
        // Everything is checked before anything is kept.
        check_key(schema, key)?;
        let label = vertex_type.and_then(|name| schema.vertex_type(name));
        let mut given = Properties::with_capacity(properties.len());
        for (name, value) in properties {
            let Some((property, kind)) = schema.vertex_property(name) else { continue };
            given.push((property, coerce("vertex", name, kind.kind, value.clone())?));
        }
        inferred.into_iter().for_each(|schema| self.adopt(schema));
        let handle = self.handle(key);
        if let Some(vertex) = base_id(handle) {
            self.version.prefetch_cells(vertex, given.iter().map(|(property, _)| *property));
        }
        let write = self.vertex_write(handle);
        let (label_before, before) = write.put.get_or_insert_default();
        *label_before = label.or(*label_before);
        overlay(before, given);
        Ok(())
    }

    /// Deletes a vertex with all its edges and properties. Tells whether there was one.
    ///
    /// # Errors
    /// [`WriteError::TimedOut`] after the deadline of the transaction.
    pub fn delete_vertex<'k>(&mut self, key: impl Into<KeyRef<'k>>) -> Result<bool, WriteError> {
        self.check_writable()?;
        let Some(handle) = self.read_vertex(key.into()) else { return Ok(false) };
        for (_, edges) in &mut self.writes.edges {
            edges.kill_vertex(handle);
        }
        // What it only had from this transaction is as if it had never been.
        let delete = base_id(handle).is_some_and(|vertex| self.version.has_vertex(vertex));
        *self.vertex_write(handle) = VertexWrite { delete, put: None };
        Ok(true)
    }

    /// Adds an edge: for `simple` types one per source and destination (a second put changes the properties given),
    /// for `multi` types one more. Endpoints that do not exist are created, and so is an unknown edge type.
    ///
    /// # Errors
    /// [`WriteError::Schema`] if a key or value does not fit.
    pub fn put_edge<'s, 'd>(
        &mut self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: &str,
        properties: &[(&str, Value)],
    ) -> Result<(), WriteError> {
        self.check_writable()?;
        let (src, dst) = (src.into(), dst.into());
        let schema = self.writes.schema();
        let known = schema.key_kind.is_some()
            && schema
                .edge_type(edge_type)
                .is_some_and(|(_, kind)| properties.iter().all(|(name, _)| kind.property(name).is_some()));
        let mut inferred = (!known).then(|| schema.clone());
        if let Some(schema) = inferred.as_mut().map(Arc::make_mut) {
            infer_key_kind(schema, src, self.store.wanted_key_kind())?;
            if self.store.is_strict() {
                require_edge_names(schema, edge_type, properties.iter().map(|(name, _)| *name))?;
            }
            infer_edge_type(schema, edge_type, properties)?;
        }
        let schema = inferred.as_ref().unwrap_or(schema);
        // Everything is checked before anything is kept.
        check_key(schema, src)?;
        check_key(schema, dst)?;
        let (id, kind) = schema.require_edge_type(edge_type)?;
        let multi = kind.options.multi;
        let mut given = SmallVec::<[_; 4]>::new();
        for (name, value) in properties {
            if *value == Value::Null && kind.property(name).is_none() {
                continue;
            }
            let (property, kind) = check_property(kind, name)?;
            given.push((property, coerce(edge_type, name, kind, value.clone())?));
        }
        inferred.into_iter().for_each(|schema| self.adopt(schema));
        let (src, dst) = (self.handle(src), self.handle(dst));
        let (src, dst) = self.canonical(id, src, dst);
        if self.asks_ahead() {
            for (end, direction) in [(src, Direction::Out), (dst, Direction::In)] {
                base_id(end).into_iter().for_each(|vertex| self.version.prefetch_end(id, direction, vertex));
            }
        }
        self.touch(src);
        self.touch(dst);
        let edges = self.writes.edges_mut(id);
        let earlier = edges.last(src, dst).filter(|&position| !multi && !edges.writes[position].delete);
        let position = earlier.unwrap_or_else(|| edges.push(src, dst, false));
        given.into_iter().for_each(|(property, value)| edges.give(position, property, value));
        Ok(())
    }

    /// Deletes the edge, for `multi` types every edge, from `src` to `dst`. Tells whether there was one.
    ///
    /// # Errors
    /// [`WriteError::Schema`] if there is no such edge type.
    pub fn delete_edge<'s, 'd>(
        &mut self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: &str,
    ) -> Result<bool, WriteError> {
        self.check_writable()?;
        self.read_edge_type(edge_type);
        let (id, _) = self.writes.schema().require_edge_type(edge_type)?;
        let Some((src, dst)) = self.read_ends(id, src.into(), dst.into()) else { return Ok(false) };
        if !self.edge_exists(id, src, dst) {
            return Ok(false);
        }
        let (src, dst) = self.canonical(id, src, dst);
        let edges = self.writes.edges_mut(id);
        edges.kill_edge(src, dst);
        edges.push(src, dst, true);
        Ok(true)
    }

    /// Declares an edge type. It is no error if it exists with the same options; it may have more properties by now.
    ///
    /// # Errors
    /// [`WriteError::Schema`] if it exists with others or a name is not usable.
    pub fn create_edge_type(&mut self, name: &str, options: EdgeTypeOptions) -> Result<(), WriteError> {
        let mut schema = (**self.writes.schema()).clone();
        crate::write_sets::schema_change::create_edge_type(&mut schema, name, options)?;
        self.adopt(Arc::new(schema));
        Ok(())
    }

    /// Declares a vertex type and properties of vertices.
    ///
    /// # Errors
    /// [`WriteError::Schema`] if a property exists with another type or a name is not usable.
    pub fn create_vertex_type(
        &mut self,
        name: &str,
        properties: &[(&str, PropertyType)],
    ) -> Result<(), WriteError> {
        let mut schema = (**self.writes.schema()).clone();
        crate::write_sets::schema_change::create_vertex_type(&mut schema, name, properties)?;
        self.adopt(Arc::new(schema));
        Ok(())
    }

    /// Drops or renames a type, or adds, drops or renames a property. What this transaction wrote to what it drops is
    /// dropped too; what it does afterwards sees the schema as it becomes.
    ///
    /// # Errors
    /// [`WriteError::Schema`] if there is nothing of the name, or something of the new name.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_types::Alteration;
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge("alice", "bob", "pays", &[])?;
    /// let mut tx = store.begin()?;
    /// tx.alter(&Alteration::RenameEdgeType { name: "pays".to_owned(), new_name: "paid".to_owned() })?;
    /// assert!(tx.has_edge("alice", "bob", "paid"));
    /// tx.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alter(&mut self, alteration: &Alteration) -> Result<(), WriteError> {
        self.check_writable()?;
        let mut schema = (**self.writes.schema()).clone();
        let dropped = crate::write_sets::alteration::alter(&mut schema, alteration)?;
        self.adopt(Arc::new(schema));
        crate::write_sets::alteration::forget(&mut self.writes, dropped);
        Ok(())
    }

    /// The schema, own changes included. To a serializable transaction that is a read of all of it.
    pub fn schema(&self) -> &Schema {
        if let Some(reads) = &self.reads {
            reads.lock().schema = true;
        }
        self.writes.schema()
    }

    /// Whether the vertex exists.
    pub fn has_vertex<'k>(&self, key: impl Into<KeyRef<'k>>) -> bool {
        self.read_vertex(key.into()).is_some()
    }

    /// The type and properties of a vertex; `None` if there is none.
    pub fn vertex<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<VertexData> {
        let handle = self.read_vertex(key.into())?;
        let write = self.write_of(handle);
        let mut label = 0;
        let mut values = vec![Value::Null; self.writes.schema().vertex_properties.len()];
        if let Some(id) = base_id(handle).filter(|_| !write.is_some_and(|write| write.delete)) {
            label = self.version.vertex_type(id).unwrap_or(0);
            for (property, _) in self.writes.schema().live_vertex_properties() {
                values[usize::from(property)] = self.version.vertex_property(id, property);
            }
        }
        if let Some((new_label, given)) = write.and_then(|write| write.put.as_ref()) {
            label = new_label.unwrap_or(label);
            given.iter().for_each(|(property, value)| values[usize::from(*property)] = value.clone());
        }
        let names = self.writes.schema().vertex_properties.iter().map(|property| property.name.clone());
        let properties = names.zip(values).filter(|(_, value)| *value != Value::Null).collect();
        Some(VertexData {
            vertex_type: self.writes.schema().vertex_type_name(label).map(str::to_owned),
            properties,
        })
    }

    /// Whether there is an edge of this type from `src` to `dst`.
    pub fn has_edge<'s, 'd>(
        &self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: &str,
    ) -> bool {
        let Some(id) = self.read_edge_type(edge_type) else { return false };
        let ends = self.read_ends(id, src.into(), dst.into());
        ends.is_some_and(|(src, dst)| self.edge_exists(id, src, dst))
    }

    /// The properties that are not null of each edge of this type from `src` to `dst`, in order of arrival.
    pub fn edges<'s, 'd>(
        &self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: &str,
    ) -> Vec<Vec<(String, Value)>> {
        let Some(id) = self.read_edge_type(edge_type) else { return Vec::new() };
        let Some((src, dst)) = self.read_ends(id, src.into(), dst.into()) else { return Vec::new() };
        let kind = &self.writes.schema().edge_types[usize::from(id)];
        let names: Vec<&str> =
            kind.options.properties.iter().map(|property| property.name.as_str()).collect();
        let mut found: Vec<Vec<Value>> = Vec::new();
        if let (Some(src), Some(dst)) = (base_id(src), base_id(dst))
            && self.reads_base(src.into(), dst.into())
        {
            found = edge_values(&self.version, id, src, dst, names.len());
        }
        let (from, to) = self.canonical(id, src, dst);
        let own = self.writes.edges(id);
        let all_given =
            own.into_iter().flat_map(|own| own.of_edge(from, to).map(|write| (write, own.given(write))));
        for (write, given) in all_given {
            if write.delete {
                found.clear();
            } else {
                if kind.options.multi || found.is_empty() {
                    found.push(vec![Value::Null; names.len()]);
                }
                let last = found.len() - 1;
                given.iter().for_each(|(id, value)| found[last][usize::from(*id)] = value.clone());
            }
        }
        let named = |values: Vec<Value>| {
            let all = names.iter().map(|name| (*name).to_owned()).zip(values);
            // What was dropped has no name.
            all.filter(|(name, value)| !name.is_empty() && *value != Value::Null).collect()
        };
        found.into_iter().map(named).collect()
    }

    /// The keys of the neighbors of a vertex over edges of one type, own writes included; parallel edges count
    /// each. `None` if there is no such vertex. Own additions come last.
    pub fn neighbors<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        edge_type: &str,
        direction: Direction,
    ) -> Option<Vec<Key>> {
        let neighbors = self.read_list(key.into(), edge_type, direction)?;
        Some(neighbors.into_iter().map(|neighbor| self.key_of(neighbor)).collect())
    }

    /// The number of edges of a vertex of one type, own writes included; parallel edges count each. `None` if there is
    /// no such vertex. It takes as long as to read the list.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_types::Direction;
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge("alice", "bob", "pays", &[])?;
    /// let mut tx = store.begin()?;
    /// tx.put_edge("alice", "carol", "pays", &[])?;
    /// assert_eq!(tx.degree("alice", "pays", Direction::Out), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn degree<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        edge_type: &str,
        direction: Direction,
    ) -> Option<usize> {
        self.read_list(key.into(), edge_type, direction).map(|neighbors| neighbors.len())
    }

    /// The neighbors of a vertex, if it exists; a read.
    fn read_list(&self, key: KeyRef<'_>, edge_type: &str, direction: Direction) -> Option<Vec<Handle>> {
        let handle = self.read_vertex(key)?;
        let Some(id) = self.read_edge_type(edge_type) else { return Some(Vec::new()) };
        let kind = &self.writes.schema().edge_types[usize::from(id)];
        if let (Some(reads), Some(vertex)) = (&self.reads, base_id(handle)) {
            reads.lock().lists.insert((id, vertex));
        }
        let base: Vec<VertexId> = match base_id(handle).filter(|_| self.reads_base(handle, handle)) {
            Some(vertex) => self.version.neighbors(id, direction, vertex).to_vec(),
            None => Vec::new(),
        };
        let mut neighbors: Vec<Handle> = base.into_iter().map(Handle::from).collect();
        neighbors.retain(|&neighbor| self.reads_base(neighbor, neighbor));
        let simple: HashSet<Handle> =
            if kind.options.multi { HashSet::new() } else { neighbors.iter().copied().collect() };
        for write in self.live_writes(id, handle) {
            let (near, far) = match direction {
                Direction::Out => (write.src, write.dst),
                Direction::In => (write.dst, write.src),
            };
            let far = match (near == handle, far == handle && kind.options.symmetric) {
                (true, _) => far,
                (false, true) => near,
                (false, false) => continue,
            };
            if write.delete {
                neighbors.retain(|&neighbor| neighbor != far);
            } else if kind.options.multi || !simple.contains(&far) || !neighbors.contains(&far) {
                neighbors.push(far);
            }
        }
        Some(neighbors)
    }

    /// Makes the writes part of the graph, all or none, and as durable as the store promises.
    ///
    /// # Errors
    /// [`CommitError::Conflict`] if another transaction changed the same edge or vertex first; then nothing of this
    /// one is applied and it may be run again from the start.
    pub fn commit(self) -> Result<Sequence, CommitError> {
        self.check_writable()?;
        let asks_ahead = self.asks_ahead();
        let Transaction { store, version, mut writes, reads, pin: _pin, .. } = self;
        if writes.is_empty() {
            // What it read was the graph after its begin version.
            return Ok(version.sequence);
        }
        writes.let_go_of(version, asks_ahead);
        store.commit_writes(writes, reads)
    }

    /// Hands the writes in, to be committed in the order in which transactions are handed in, and returns at once: the end is
    /// [waited for](PendingCommit::wait) later, for many transactions together. One caller then does as much with a store that syncs each commit
    /// as many callers do who wait for each. What begins before that does not see the writes, and may conflict with them.
    ///
    /// # Errors
    /// Those of a commit that are known before: its time is over, the store was closed. All others are those of [`PendingCommit::wait`].
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// let store = Store::in_memory(Options::default());
    /// let mut pending = Vec::new();
    /// for (src, dst) in [(1, 2), (2, 3), (3, 1)] {
    ///     let mut tx = store.begin()?;
    ///     tx.put_edge(src, dst, "knows", &[])?;
    ///     pending.push(tx.submit()?);
    /// }
    /// for commit in pending {
    ///     commit.wait()?;
    /// }
    /// assert_eq!(store.stats().num_edges, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(self) -> Result<PendingCommit, CommitError> {
        self.check_writable()?;
        let asks_ahead = self.asks_ahead();
        let Transaction { store, version, mut writes, reads, pin, .. } = self;
        if writes.is_empty() {
            return Ok(PendingCommit::done(Ok(version.sequence)));
        }
        writes.let_go_of(version, asks_ahead);
        PendingCommit::hand_in(store, Request::Writes(writes, reads), pin)
    }

    /// Drops the writes.
    pub fn rollback(self) {}

    /// Whether more may be written.
    pub(crate) fn check_writable(&self) -> Result<(), WriteError> {
        self.usable()?;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(WriteError::TimedOut),
            _ => Ok(()),
        }
    }

    /// The vertex of a key, if it exists; a read.
    fn read_vertex(&self, key: KeyRef<'_>) -> Option<Handle> {
        let handle = self.read_key(key)?;
        if let (Some(reads), Some(vertex)) = (&self.reads, base_id(handle)) {
            reads.lock().vertices.insert(vertex);
        }
        Some(handle).filter(|&handle| self.exists(handle))
    }

    /// The handle of a key; where the version has no vertex of it, that is a read.
    fn read_key(&self, key: KeyRef<'_>) -> Option<Handle> {
        let handle = self.find(key);
        let is_vertex = handle.and_then(base_id).is_some_and(|vertex| self.version.has_vertex(vertex));
        if let (Some(reads), false) = (&self.reads, is_vertex) {
            reads.lock().absent_keys.insert(key.to_key());
        }
        handle
    }

    /// The ends of an edge that is about to be read, `None` if one is no known vertex.
    fn read_ends(&self, edge_type: EdgeTypeId, src: KeyRef<'_>, dst: KeyRef<'_>) -> Option<(Handle, Handle)> {
        let (src, dst) = (self.read_key(src), self.read_key(dst));
        let (src, dst) = (src?, dst?);
        let (from, to) = self.canonical(edge_type, src, dst);
        if let (Some(reads), Some(from), Some(to)) = (&self.reads, base_id(from), base_id(to)) {
            reads.lock().edges.insert((edge_type, from, to));
        }
        Some((src, dst))
    }

    /// The id of an edge type; that there is none is a read, unless the transaction has dropped it.
    fn read_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        let found = self.writes.schema().edge_type(name).map(|(id, _)| id);
        let was_there = || self.version.schema.edge_type(name).is_some();
        if let (Some(reads), None) = (&self.reads, found)
            && !was_there()
        {
            reads.lock().absent_types.insert(name.to_owned());
        }
        found
    }

    fn adopt(&mut self, schema: Arc<Schema>) {
        if !Arc::ptr_eq(&schema, self.writes.schema()) && schema != *self.writes.schema() {
            self.writes.new_schema = Some(schema);
        }
    }

    /// The handle of a key that fits the schema, a new one if the dictionary has none.
    fn handle(&mut self, key: KeyRef<'_>) -> Handle {
        if let Some(handle) = self.find(key) {
            if self.writes.schema().key_kind != Some(KeyKind::Dense)
                && base_id(handle).is_some_and(|id| !self.version.has_vertex(id))
            {
                // Its key may be let go of at any time, and is the same to this transaction all the same.
                self.new_index.insert(key.to_key(), handle);
            }
            return handle;
        }
        let handle = NEW | self.writes.new_keys.len() as Handle;
        self.writes.new_keys.push(key.to_key());
        self.new_index.insert(key.to_key(), handle);
        handle
    }

    fn find(&self, key: KeyRef<'_>) -> Option<Handle> {
        let known = self.version.dictionary.lookup(key);
        // A dense id is its own handle, known or not; other keys count from when the version holds them. A key that
        // a later commit added is new here: the committer finds its id.
        let dense = self.writes.schema().key_kind == Some(evergraph_types::KeyKind::Dense);
        let known = known.filter(|&id| dense || id < self.version.id_bound);
        match known {
            Some(id) if self.new_index.is_empty() || self.version.has_vertex(id) => Some(Handle::from(id)),
            // A later commit may have given it an id that the version knows, but no key had.
            known => self.new_index.get(&key.to_key()).copied().or(known.map(Handle::from)),
        }
    }

    fn key_of(&self, handle: Handle) -> Key {
        match base_id(handle) {
            Some(id) => self.version.key(id),
            None => self.writes.new_keys[new_position(handle)].clone(),
        }
    }

    fn vertex_write(&mut self, handle: Handle) -> &mut VertexWrite {
        let position = *self.vertex_index.entry(handle).or_insert_with(|| {
            self.writes.vertices.push((handle, VertexWrite::default()));
            self.writes.vertices.len() - 1
        });
        &mut self.writes.vertices[position].1
    }

    fn write_of(&self, handle: Handle) -> Option<&VertexWrite> {
        self.vertex_index.get(&handle).map(|&position| &self.writes.vertices[position].1)
    }

    /// Sees to it that an endpoint exists after the commit, even if this transaction deleted it before.
    fn touch(&mut self, handle: Handle) {
        if !self.exists(handle) {
            self.vertex_write(handle).put.get_or_insert_default();
        }
    }

    fn exists(&self, handle: Handle) -> bool {
        match self.write_of(handle) {
            Some(write) if write.put.is_some() => true,
            Some(write) if write.delete => false,
            _ => base_id(handle).is_some_and(|id| self.version.has_vertex(id)),
        }
    }

    /// Whether edges between the two that the version holds are still there before edge writes are looked at.
    fn reads_base(&self, src: Handle, dst: Handle) -> bool {
        [src, dst].iter().all(|&end| !self.write_of(end).is_some_and(|write| write.delete))
    }

    /// The ends in the order operations on a symmetric type are kept in: the smaller handle first.
    fn canonical(&self, edge_type: EdgeTypeId, src: Handle, dst: Handle) -> (Handle, Handle) {
        let symmetric = self.writes.schema().edge_types[usize::from(edge_type)].options.symmetric;
        if symmetric && dst < src { (dst, src) } else { (src, dst) }
    }

    /// Whether the caller asks the processor for what the commit will read. Not where commits are synced: those who call share what time is
    /// left beside whoever commits for all of them, and that one asks for what a whole group reads at once.
    fn asks_ahead(&self) -> bool {
        !self.store.inner().is_synced()
    }

    fn live_writes(&self, edge_type: EdgeTypeId, vertex: Handle) -> impl Iterator<Item = &EdgeWrite> {
        self.writes.edges(edge_type).into_iter().flat_map(move |edges| edges.of_vertex(vertex))
    }

    fn edge_exists(&self, edge_type: EdgeTypeId, src: Handle, dst: Handle) -> bool {
        let (from, to) = self.canonical(edge_type, src, dst);
        let edges = self.writes.edges(edge_type);
        if let Some(position) = edges.and_then(|edges| edges.last(from, to)) {
            return edges.is_some_and(|edges| !edges.writes[position].delete);
        }
        match (base_id(src), base_id(dst)) {
            (Some(src_id), Some(dst_id)) if self.reads_base(src, dst) => {
                self.version.has_edge(edge_type, src_id, dst_id)
            }
            _ => false,
        }
    }
}

/// The property values of each edge from `src` to `dst`, in list order.
pub(crate) fn edge_values(
    version: &Version,
    edge_type: EdgeTypeId,
    src: VertexId,
    dst: VertexId,
    properties: usize,
) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    version.for_each_edge_between(edge_type, src, dst, |run, row| {
        found.push((0..properties as PropertyId).map(|property| run.value(property, row)).collect());
    });
    found
}
