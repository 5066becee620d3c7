//! What is in a window: a store in memory of its own, to which an advance is a few batches.
//!
//! ```text
//!  deleted, leaving, entering ─► by pair of ends ─► copies before and after ─► one batch of deletes, one of puts
//! ```
//!
//! Invariant: between advances the store has for each pair the copies that are in the window: as parallel edges where
//! duplicates are kept, else as one edge, and `extra` how many there are beyond the first.

use std::sync::Arc;

use evergraph_analytics::incremental::Changes;
use evergraph_store::{Options, Run, Store, Version};
use evergraph_types::{
    Column, Direction, EdgeBatch, EdgeType, EdgeTypeId, EdgeTypeOptions, Key, KeyColumn, KeyKind, Property,
    PropertyId, PropertyType, TextValues, Value, VertexId,
};
use evergraph_view::{GraphView, Snapshot};
use hashbrown::HashMap;

use crate::cursor::{Pair, Put, time_of};
use crate::{Duplicates, WindowError};

/// The property that counts copies.
const COUNT: &str = "count";

/// What an advance does with edges.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Pairs of which every copy before is deleted.
    pub(crate) deleted: Vec<Pair>,
    /// Pairs of which the oldest copy leaves, as often as named.
    pub(crate) leaving: Vec<Pair>,
    /// Copies that enter, in the order of the axis.
    pub(crate) entering: Vec<Put>,
}

/// What becomes of a pair.
enum Move {
    Delete,
    Leave,
    Enter(u32),
}

#[derive(Debug)]
pub(crate) struct Content {
    store: Store,
    /// The edge type in the store that the window follows.
    id: EdgeTypeId,
    /// As that store has it.
    edge_type: EdgeType,
    duplicates: Duplicates,
    /// The time of an event, where the window slides by it.
    by_time: Option<PropertyId>,
    /// Copies beyond the first of pairs that have several; only where they are one edge.
    extra: HashMap<Pair, u32>,
    /// Where changes were last taken, and the pairs moved since; only once someone wants them, for it keeps that state.
    followed: Option<(Snapshot, Vec<Pair>)>,
}

/// Edges on their way into a batch.
struct Rows {
    src: Keys,
    dst: Keys,
    columns: Vec<(String, Column)>,
}

/// Keys on their way into a batch.
enum Keys {
    Int(Vec<i64>),
    Text(TextValues),
}

impl Keys {
    fn new(kind: Option<KeyKind>) -> Self {
        if kind == Some(KeyKind::Text) { Keys::Text(TextValues::default()) } else { Keys::Int(Vec::new()) }
    }

    fn push(&mut self, key: Key) {
        match (self, key) {
            (Keys::Int(keys), Key::Int(key)) => keys.push(key),
            (Keys::Text(keys), Key::Text(key)) => keys.push(&key),
            // A store has keys of one kind.
            _ => {}
        }
    }

    fn into_column(self) -> KeyColumn {
        match self {
            Keys::Int(keys) => KeyColumn::Int(keys),
            Keys::Text(keys) => KeyColumn::Text(keys),
        }
    }
}

impl Rows {
    fn new(kind: Option<KeyKind>, properties: &[(PropertyId, Property)]) -> Self {
        let column =
            |(_, property): &(PropertyId, Property)| (property.name.clone(), Column::new(property.kind));
        Rows { src: Keys::new(kind), dst: Keys::new(kind), columns: properties.iter().map(column).collect() }
    }

    fn push_ends(&mut self, source: &Version, (src, dst): Pair) {
        self.src.push(source.key(src));
        self.dst.push(source.key(dst));
    }

    fn into_batch(self) -> EdgeBatch {
        EdgeBatch { src: self.src.into_column(), dst: self.dst.into_column(), columns: self.columns }
    }
}

/// The properties of the edges of a window, with their ids in the store it follows.
fn properties_of(edge_type: &EdgeType, duplicates: Duplicates) -> Vec<(PropertyId, Property)> {
    match duplicates {
        Duplicates::Count => vec![(0, Property { name: COUNT.to_owned(), kind: PropertyType::Int64 })],
        _ => edge_type.properties().map(|(id, property)| (id, property.clone())).collect(),
    }
}

impl Content {
    /// An empty window on an edge type of a store.
    pub(crate) fn new(
        source: &Version,
        edge_type: EdgeType,
        duplicates: Duplicates,
        by_time: Option<PropertyId>,
    ) -> Result<Self, WindowError> {
        let id = source.schema().require_edge_type(&edge_type.name)?.0;
        let store = new_store(source, &edge_type, duplicates)?;
        let extra = HashMap::new();
        Ok(Content { store, id, edge_type, duplicates, by_time, extra, followed: None })
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot, WindowError> {
        Ok(Snapshot::new(self.store.version()?))
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let stats = self.store.stats();
        stats.memory_bytes
            + stats.dictionary_bytes
            + (self.extra.capacity() * size_of::<(Pair, u32)>()) as u64
    }

    /// Nobody wants changes.
    pub(crate) fn forget_changes(&mut self) {
        self.followed = None;
    }

    /// What the moves since the last call changed, from one snapshot to the other; nothing the first time.
    pub(crate) fn take_changes(
        &mut self,
        source: &Version,
    ) -> Result<(Snapshot, Snapshot, Changes), WindowError> {
        let after = self.snapshot()?;
        let followed = self.followed.replace((after.clone(), Vec::new()));
        let (before, moved) = followed.unwrap_or_else(|| (after.clone(), Vec::new()));
        let id = |vertex: VertexId| {
            let key = source.key(vertex);
            after.vertex_id(&key).or_else(|| before.vertex_id(&key))
        };
        let edges: Vec<Pair> =
            moved.into_iter().filter_map(|(src, dst)| Some((id(src)?, id(dst)?))).collect();
        let vertices: Vec<VertexId> = edges.iter().flat_map(|&(src, dst)| [src, dst]).collect();
        let changes = Changes::between(&before, &after, edges, vertices);
        Ok((before, after, changes))
    }

    /// Makes the moves. Entering puts must be of the schema that `source` has.
    pub(crate) fn apply(&mut self, source: &Version, moves: &Moves) -> Result<(), WindowError> {
        self.follow_schema(source)?;
        let version = self.store.version()?;
        let mut steps: Vec<(Pair, Move)> = moves.deleted.iter().map(|&pair| (pair, Move::Delete)).collect();
        steps.extend(moves.leaving.iter().map(|&pair| (pair, Move::Leave)));
        steps.extend((0..).zip(&moves.entering).map(|(place, put)| (put.pair, Move::Enter(place))));
        // Stable, so that the moves of a pair stay in order.
        steps.sort_by_key(|&(pair, _)| pair);
        let kind = source.schema().key_kind;
        let (mut gone, mut come) =
            (Rows::new(kind, &[]), Rows::new(kind, &properties_of(&self.edge_type, self.duplicates)));
        for of_pair in steps.chunk_by(|left, right| left.0 == right.0) {
            match self.duplicates {
                Duplicates::Keep => {
                    self.move_copies(source, &version, moves, of_pair, &mut gone, &mut come)?
                }
                _ => self.move_edge(source, &version, moves, of_pair, &mut gone, &mut come)?,
            }
        }
        let removed: Vec<Pair> =
            steps.iter().filter(|(_, step)| !matches!(step, Move::Enter(_))).map(|&(pair, _)| pair).collect();
        if let Some((_, moved)) = &mut self.followed {
            moved.extend(steps.iter().map(|&(pair, _)| pair));
        }
        drop(version);
        for (rows, delete) in [(gone.into_batch(), true), (come.into_batch(), false)] {
            let name = &self.edge_type.name;
            match (rows.is_empty(), delete) {
                (true, _) => {}
                (false, true) => _ = self.store.delete_edges(name, vec![rows])?,
                (false, false) => _ = self.store.add_edges(name, vec![rows])?,
            }
        }
        self.remove_isolated(source, &removed)
    }

    /// Takes over properties that the edge type has got since, and the kind of keys once there are any.
    fn follow_schema(&mut self, source: &Version) -> Result<(), WindowError> {
        if self.store.version()?.id_bound() == 0 {
            self.store = new_store(source, &self.edge_type, self.duplicates)?;
        }
        let name = &self.edge_type.name;
        let Some((_, now)) = source.schema().edge_type(name).filter(|(id, _)| *id == self.id) else {
            return Err(WindowError::TypeChanged { edge_type: name.clone() });
        };
        for (old, new) in self.edge_type.options.properties.iter().zip(&now.options.properties) {
            if old != new {
                let (edge_type, property) = (name.clone(), old.name.clone());
                return Err(WindowError::PropertyChanged { edge_type, property });
            }
        }
        if self.edge_type.options.properties.len() < now.options.properties.len() {
            self.edge_type.options.properties = now.options.properties.clone();
        }
        Ok(())
    }

    /// The ids in the window's own store.
    fn ids(&self, source: &Version, version: &Version, (src, dst): Pair) -> Option<Pair> {
        let id = |vertex| version.vertex_id(source.key(vertex).as_ref());
        Some((id(src)?, id(dst)?))
    }

    /// Parallel edges. The store deletes all copies of a pair at once, so those that stay are put again.
    fn move_copies(
        &self,
        source: &Version,
        version: &Version,
        moves: &Moves,
        of_pair: &[(Pair, Move)],
        gone: &mut Rows,
        come: &mut Rows,
    ) -> Result<(), WindowError> {
        let deletes = of_pair.iter().any(|(_, step)| matches!(step, Move::Delete));
        let leaving = of_pair.iter().filter(|(_, step)| matches!(step, Move::Leave)).count();
        let Some(&(pair, _)) = of_pair.first() else { return Ok(()) };
        if deletes || leaving > 0 {
            gone.push_ends(source, pair);
        }
        if leaving > 0
            && !deletes
            && let Some((src, dst)) = self.ids(source, version, pair)
        {
            // Copies lie in the order they entered in, which is that of time but for late ones.
            let mut times = Vec::new();
            version.for_each_edge_between(0, src, dst, |run, row| times.push(self.time_of(run, row)));
            if times.len() > leaving {
                self.put_staying(source, version, (pair, (src, dst)), &times, leaving, come);
            }
        }
        for (_, step) in of_pair {
            if let Move::Enter(place) = step
                && let Some(put) = moves.entering.get(*place as usize)
            {
                come.push_ends(source, pair);
                self.push_properties(put, come)?;
            }
        }
        Ok(())
    }

    /// Puts again the copies that stay when so many leave.
    fn put_staying(
        &self,
        source: &Version,
        version: &Version,
        (pair, (src, dst)): (Pair, Pair),
        times: &[i64],
        leaving: usize,
        come: &mut Rows,
    ) {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&copy| times[copy]);
        let staying = &mut order[leaving.min(times.len())..];
        staying.sort_unstable();
        let (mut copy, mut staying) = (0, staying.iter().peekable());
        version.for_each_edge_between(0, src, dst, |run, row| {
            if staying.next_if_eq(&&copy).is_some() {
                come.push_ends(source, pair);
                for ((_, column), property) in come.columns.iter_mut().zip(0..) {
                    let _ = column.push(run.value(property, row));
                }
            }
            copy += 1;
        });
    }

    /// One edge for all copies.
    fn move_edge(
        &mut self,
        source: &Version,
        version: &Version,
        moves: &Moves,
        of_pair: &[(Pair, Move)],
        gone: &mut Rows,
        come: &mut Rows,
    ) -> Result<(), WindowError> {
        let Some(&(pair, _)) = of_pair.first() else { return Ok(()) };
        let (mut is_there, mut time) = (false, i64::MIN);
        if let Some((src, dst)) = self.ids(source, version, pair) {
            version.for_each_edge_between(0, src, dst, |run, row| {
                (is_there, time) = (true, self.time_of(run, row))
            });
        }
        let before = if is_there { 1 + self.extra.get(&pair).copied().unwrap_or(0) } else { 0 };
        let (mut copies, mut latest) = (before, None);
        for (_, step) in of_pair {
            match step {
                Move::Delete => (copies, time) = (0, i64::MIN),
                Move::Leave => copies = copies.saturating_sub(1),
                Move::Enter(place) => {
                    copies += 1;
                    latest = moves.entering.get(*place as usize);
                }
            }
        }
        if copies > 1 {
            self.extra.insert(pair, copies - 1);
        } else {
            self.extra.remove(&pair);
        }
        if copies == 0 {
            if before > 0 {
                gone.push_ends(source, pair);
            }
        } else if self.duplicates == Duplicates::Count {
            come.push_ends(source, pair);
            let _ = come.columns[0].1.push(Value::Int(copies.into()));
        } else if let Some(put) = latest.filter(|put| self.by_time.is_none() || put.at >= time) {
            come.push_ends(source, pair);
            self.push_properties(put, come)?;
        }
        Ok(())
    }

    /// The time of an edge, where the window slides by it.
    fn time_of(&self, run: Run<'_>, row: usize) -> i64 {
        let property = self.by_time.filter(|_| self.duplicates != Duplicates::Count);
        property.and_then(|property| time_of(&run.value(property, row))).unwrap_or(i64::MIN)
    }

    fn push_properties(&self, put: &Put, come: &mut Rows) -> Result<(), WindowError> {
        let properties = properties_of(&self.edge_type, self.duplicates);
        for ((name, column), (property, _)) in come.columns.iter_mut().zip(properties) {
            let given = put.logged.edges.column(property).filter(|given| given.is_given(put.row as usize));
            let value = given.map_or(Value::Null, |given| given.values.get(put.row as usize));
            column.push(value).map_err(|_| WindowError::PropertyChanged {
                edge_type: self.edge_type.name.clone(),
                property: name.clone(),
            })?;
        }
        Ok(())
    }

    /// Removes the ends of removed edges that have no edge left.
    fn remove_isolated(&self, source: &Version, removed: &[Pair]) -> Result<(), WindowError> {
        let version: Arc<Version> = self.store.version()?;
        let degree = |id, direction| version.neighbors(0, direction, id).len();
        let is_isolated = |id| degree(id, Direction::Out) + degree(id, Direction::In) == 0;
        let mut ends: Vec<VertexId> = removed.iter().flat_map(|&(src, dst)| [src, dst]).collect();
        ends.sort_unstable();
        ends.dedup();
        let keys = ends.into_iter().map(|vertex| source.key(vertex));
        let isolated: Vec<Key> =
            keys.filter(|key| version.vertex_id(key.as_ref()).is_some_and(is_isolated)).collect();
        if !isolated.is_empty() {
            let mut transaction = self.store.begin()?;
            for key in &isolated {
                transaction.delete_vertex(key).map_err(evergraph_store::CommitError::from)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    /// The number of edges in it.
    pub(crate) fn num_edges(&self) -> Result<u64, WindowError> {
        Ok(self.snapshot()?.num_edges())
    }
}

/// An empty store with the edge type of a window.
fn new_store(source: &Version, edge_type: &EdgeType, duplicates: Duplicates) -> Result<Store, WindowError> {
    let options = Options { keys: source.schema().key_kind, background: false, ..Options::default() };
    let store = Store::in_memory(options);
    let time = edge_type.options.time.clone().filter(|_| duplicates != Duplicates::Count);
    let properties = properties_of(edge_type, duplicates).into_iter().map(|(_, property)| property).collect();
    let multi = duplicates == Duplicates::Keep;
    let symmetric = edge_type.options.symmetric;
    let options = EdgeTypeOptions { multi, symmetric, reverse: true, time, properties };
    store.create_edge_type(&edge_type.name, options)?;
    Ok(store)
}
