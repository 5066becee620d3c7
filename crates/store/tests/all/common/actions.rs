//! Random actions, carried out on a store and on the model and compared after each.

use std::sync::Arc;

use evergraph_disk::SimDisk;
use evergraph_store::{
    CommitError, Durability, ListFormat, OpenError, Options, Retain, Savepoint, Store, Transaction, Version,
    WriteError, check_on,
};
use evergraph_types::{
    Alteration, Column, Direction, EdgeBatch, EdgeTypeOptions, Key, KeyKind, PropertyOwner, PropertyType,
    ScalarType, SchemaError, Value,
};
use proptest::prelude::*;

use super::{Dump, Model, Props, batch, directory, dump, on, options, try_open};

/// The edge types; the first one is inferred, the others are declared.
const TYPES: [&str; 6] = ["plain", "multi", "mirror", "both", "bare", "bare mirror"];
/// Edges of the types from this one on never have properties.
const BARE: usize = 4;
/// Property names with their types, for vertices and edges.
const PROPERTIES: [(&str, PropertyType); 11] = [
    ("number", PropertyType::Int64),
    ("text", PropertyType::String),
    ("float", PropertyType::Float64),
    ("flag", PropertyType::Bool),
    ("time", PropertyType::Timestamp),
    ("small", PropertyType::Int8),
    ("medium", PropertyType::UInt16),
    ("single", PropertyType::Float32),
    ("day", PropertyType::Date),
    ("bytes", PropertyType::Bytes),
    ("list", PropertyType::list(ScalarType::Int32)),
];
const VERTEX_TYPES: [&str; 2] = ["Person", "Firm"];
/// Keys most actions choose from.
const KEYS: u16 = 14;
/// Keys of the neighbors of hubs follow each other from here.
const SPOKES: u16 = 100;

/// What a run is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) keys: KeyKind,
    /// Batches of at least this many edges become segments.
    pub(crate) bulk_edges: usize,
    /// Batches come in pieces, and large ones are written to files on the way.
    pub(crate) memory_limit: Option<u64>,
    /// All versions are kept, so that every commit is in the log.
    pub(crate) keeps_history: bool,
    pub(crate) on_disk: bool,
    pub(crate) durability: Durability,
    pub(crate) format: ListFormat,
}

/// Property values given by a put: which one, and `None` for null.
pub(crate) type Given = Vec<(usize, Option<i8>)>;

/// One write of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    PutVertex {
        key: u16,
        label: Option<usize>,
        given: Given,
    },
    DeleteVertex {
        key: u16,
    },
    PutEdge {
        src: u16,
        dst: u16,
        edge_type: usize,
        given: Given,
    },
    DeleteEdge {
        src: u16,
        dst: u16,
        edge_type: usize,
    },
    /// Marks a savepoint.
    Save,
    /// Goes back to the newest savepoint.
    Back,
    /// Forgets the newest savepoint.
    Release,
}

/// One thing done to a store.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Creates the edge types that are not inferred.
    Declare,
    Commit(Vec<Write>),
    Rollback(Vec<Write>),
    /// As a transaction of its own.
    One(Write),
    Add {
        edge_type: usize,
        edges: Vec<(u16, u16)>,
        columns: u16,
        parts: usize,
    },
    Delete {
        edge_type: usize,
        edges: Vec<(u16, u16)>,
    },
    /// Edges from a hub to many neighbors, or from them to the hub.
    Hub {
        edge_type: usize,
        hub: u16,
        spokes: std::ops::Range<u16>,
        columns: u16,
        reverse: bool,
    },
    /// Deletes every `step`th of these.
    Thin {
        edge_type: usize,
        hub: u16,
        spokes: std::ops::Range<u16>,
        step: usize,
    },
    /// Drops an edge type with its edges.
    DropType {
        edge_type: usize,
    },
    /// Drops a property of an edge type, or of vertices.
    DropProperty {
        edge_type: Option<usize>,
        property: usize,
    },
    /// Adds a property, null everywhere, to an edge type or to vertices.
    AddProperty {
        edge_type: Option<usize>,
        property: usize,
    },
    /// Gives an edge type a name that nothing had before.
    RenameType {
        edge_type: usize,
    },
    /// Gives a property of an edge type, or of vertices, such a name.
    RenameProperty {
        edge_type: Option<usize>,
        property: usize,
    },
    Checkpoint,
    Compact,
    Reopen,
    /// Keeps a snapshot.
    Keep,
    /// Drops the oldest snapshot.
    Release,
}

/// Kinds of stores.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let keys = prop_oneof![Just(KeyKind::Int64), Just(KeyKind::Text), Just(KeyKind::Dense)];
    let bulk = prop_oneof![Just(6), Just(600), Just(usize::MAX)];
    let format = prop_oneof![Just(ListFormat::Fast), Just(ListFormat::Compact)];
    let limit = prop_oneof![2 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(4000))];
    let history = prop::bool::weighted(0.3);
    (keys, bulk, limit, history, prop::bool::weighted(0.9), format).prop_map(
        |(keys, bulk_edges, memory_limit, keeps_history, on_disk, format)| {
            let durability = Durability::Sync;
            Case { keys, bulk_edges, memory_limit, keeps_history, on_disk, durability, format }
        },
    )
}

/// Sequences of actions.
pub(crate) fn actions(longest: usize) -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 1..longest)
}

/// As [`actions`], with names that change and properties that are added.
pub(crate) fn altering_actions(longest: usize) -> impl Strategy<Value = Vec<Action>> {
    let alter = prop_oneof![
        (0..TYPES.len()).prop_map(|edge_type| Action::RenameType { edge_type }),
        (prop::option::of(0..BARE), 0..PROPERTIES.len())
            .prop_map(|(edge_type, property)| Action::RenameProperty { edge_type, property }),
        (prop::option::of(0..BARE), 0..PROPERTIES.len())
            .prop_map(|(edge_type, property)| Action::AddProperty { edge_type, property }),
    ];
    prop::collection::vec(prop_oneof![9 => action(), 1 => alter], 1..longest)
}

fn given() -> impl Strategy<Value = Given> {
    prop::collection::vec((0..PROPERTIES.len(), prop::option::weighted(0.8, any::<i8>())), 0..4)
}

fn write() -> impl Strategy<Value = Write> {
    let (key, edge_type) = (0..KEYS, 0..TYPES.len());
    prop_oneof![
        3 => (key.clone(), prop::option::of(0..VERTEX_TYPES.len()), given())
            .prop_map(|(key, label, given)| Write::PutVertex { key, label, given }),
        2 => key.clone().prop_map(|key| Write::DeleteVertex { key }),
        8 => (key.clone(), key.clone(), edge_type.clone(), given())
            .prop_map(|(src, dst, edge_type, given)| Write::PutEdge { src, dst, edge_type, given }),
        3 => (key.clone(), key, edge_type)
            .prop_map(|(src, dst, edge_type)| Write::DeleteEdge { src, dst, edge_type }),
        1 => prop_oneof![Just(Write::Save), Just(Write::Back), Just(Write::Release)],
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let writes = || prop::collection::vec(write(), 0..12);
    let edges = || prop::collection::vec((0..KEYS, 0..KEYS), 0..20);
    let spokes = (0..900u16, 1..1300u16).prop_map(|(from, count)| SPOKES + from..SPOKES + from + count);
    prop_oneof![
        6 => writes().prop_map(Action::Commit),
        1 => writes().prop_map(Action::Rollback),
        4 => write().prop_map(Action::One),
        4 => (0..TYPES.len(), edges(), any::<u16>(), 1..4usize)
            .prop_map(|(edge_type, edges, columns, parts)| Action::Add { edge_type, edges, columns, parts }),
        2 => (0..TYPES.len(), edges()).prop_map(|(edge_type, edges)| Action::Delete { edge_type, edges }),
        1 => (0..TYPES.len(), 0..2u16, spokes.clone(), any::<u16>(), any::<bool>())
            .prop_map(|(edge_type, hub, spokes, columns, reverse)| Action::Hub {
                edge_type, hub, spokes, columns, reverse
            }),
        1 => (0..TYPES.len(), 0..2u16, spokes, 1..4usize)
            .prop_map(|(edge_type, hub, spokes, step)| Action::Thin { edge_type, hub, spokes, step }),
        1 => (0..TYPES.len()).prop_map(|edge_type| Action::DropType { edge_type }),
        1 => (prop::option::of(0..BARE), 0..PROPERTIES.len())
            .prop_map(|(edge_type, property)| Action::DropProperty { edge_type, property }),
        3 => Just(Action::Checkpoint),
        1 => Just(Action::Compact),
        2 => Just(Action::Reopen),
        2 => Just(Action::Keep),
        1 => Just(Action::Release),
    ]
}

fn value(kind: PropertyType, seed: Option<i8>) -> Value {
    let Some(seed) = seed else { return Value::Null };
    match kind {
        PropertyType::Bool => Value::Bool(seed % 2 == 0),
        PropertyType::Int64 => Value::Int(i64::from(seed) * 1_000_000_007),
        PropertyType::Float64 => Value::Float(f64::from(seed) / 4.0),
        PropertyType::String => Value::Text("äbc".repeat(usize::from(seed.unsigned_abs()) % 7)),
        PropertyType::Timestamp => Value::Timestamp(i64::from(seed) << 40),
        PropertyType::Int8 => Value::Int(seed.into()),
        PropertyType::UInt16 => Value::Int(i64::from(seed.unsigned_abs()) * 256),
        PropertyType::Float32 => Value::Float(f64::from(seed) / 8.0),
        PropertyType::Date => Value::Date(i32::from(seed) << 20),
        PropertyType::Bytes => Value::Bytes(vec![seed as u8; usize::from(seed.unsigned_abs()) % 5]),
        kind if kind.item().is_some() => {
            // Its first item tells the type where it is inferred.
            let item = |number: u8| if number % 3 == 1 { Value::Null } else { Value::Int(number.into()) };
            Value::List((0..=seed.unsigned_abs() % 6).map(item).collect())
        }
        other => unreachable!("{other} is not among the properties"),
    }
}

/// The value of a batch's cell; some are null.
fn cell(property: usize, row: usize) -> Value {
    let seed = (row * 31 + property * 7) % 101;
    value(PROPERTIES[property].1, (!seed.is_multiple_of(5)).then_some(seed as i8))
}

/// An action that a disk did not let happen.
#[derive(Debug)]
pub(crate) enum Failure {
    Commit(CommitError),
    Open(OpenError),
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        Failure::Commit(error)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Failure::Open(error)
    }
}

/// A store with its model.
#[derive(Debug)]
pub(crate) struct Runner {
    case: Case,
    pub(crate) disk: SimDisk,
    pub(crate) store: Store,
    pub(crate) model: Model,
    /// What the model is if the action under way, or the one that failed, took place.
    pub(crate) attempted: Model,
    kept: Vec<(Arc<Version>, Dump)>,
}

/// Whose properties are altered.
fn owner(edge_type: Option<&str>) -> PropertyOwner {
    match edge_type {
        Some(edge_type) => PropertyOwner::EdgeType(edge_type.to_owned()),
        None => PropertyOwner::Vertices,
    }
}

impl Runner {
    /// A new store with the types declared.
    pub(crate) fn new(case: Case) -> Self {
        let mut runner = Self::resume(case, SimDisk::new(0), Model::default())
            .unwrap_or_else(|failure| panic!("a new store: {failure:?}"));
        runner.run(&Action::Declare);
        runner
    }

    /// The store on this disk, which the model is that of.
    pub(crate) fn resume(case: Case, disk: SimDisk, model: Model) -> Result<Self, Failure> {
        let store = if case.on_disk {
            try_open(&disk, Self::options(case))?
        } else {
            Store::in_memory(Self::options(case))
        };
        Ok(Self::of(case, disk, store, model))
    }

    /// An open store, which the model is that of.
    pub(crate) fn of(case: Case, disk: SimDisk, store: Store, model: Model) -> Self {
        Runner { case, disk, store, attempted: model.clone(), model, kept: Vec::new() }
    }

    pub(crate) fn case(&self) -> Case {
        self.case
    }

    pub(crate) fn options(case: Case) -> Options {
        // The kind of number keys has to be asked for.
        let keys = (case.keys == KeyKind::Dense).then_some(case.keys);
        let Case { bulk_edges, memory_limit: memory_limit_bytes, durability, .. } = case;
        let format = Some(case.format);
        let log_limit_bytes = 4000;
        let retain = case.keeps_history.then_some(Retain::Everything);
        Options {
            keys,
            bulk_edges,
            memory_limit_bytes,
            durability,
            format,
            log_limit_bytes,
            retain,
            ..options()
        }
    }

    fn key(&self, index: u16) -> Key {
        match self.case.keys {
            KeyKind::Dense => Key::Int(i64::from(index) * if index < SPOKES { 37 } else { 1 }),
            KeyKind::Int64 => Key::Int((i64::from(index) - 5) * 1_000_003),
            KeyKind::Text if index == 0 => Key::Text(String::new()),
            KeyKind::Text => Key::Text(format!("vertex {index}")),
        }
    }

    /// Does one thing and compares.
    pub(crate) fn run(&mut self, action: &Action) {
        let before = self.store.version().expect("open").sequence();
        self.try_run(action).unwrap_or_else(|failure| panic!("{failure:?} at {action:?}"));
        assert!(self.store.version().expect("open").sequence() >= before);
        self.compare(action);
    }

    /// Does one thing, if the disk lets it happen.
    pub(crate) fn try_run(&mut self, action: &Action) -> Result<(), Failure> {
        self.attempted = self.model.clone();
        self.carry_out(action)?;
        self.model = self.attempted.clone();
        Ok(())
    }

    /// Compares the newest version with the model.
    pub(crate) fn compare(&self, context: &dyn std::fmt::Debug) {
        let version = self.store.version().expect("open");
        assert_eq!(dump(&version), self.model.dump(), "after {context:?}");
        let stats = self.store.stats();
        assert_eq!(stats.num_vertices, self.model.vertices.len() as u64);
        assert_eq!(stats.num_edges, self.model.types.values().map(|kind| kind.num_edges()).sum::<u64>());
    }

    /// Compares what was kept, also after the store is gone.
    pub(crate) fn finish(self) {
        let Runner { store, kept, .. } = self;
        kept.iter().for_each(|(version, expected)| assert_eq!(dump(version), *expected));
        drop(store);
        kept.iter().for_each(|(version, expected)| assert_eq!(dump(version), *expected));
    }

    fn carry_out(&mut self, action: &Action) -> Result<(), Failure> {
        match action {
            Action::Declare => self.declare()?,
            Action::Commit(writes) => {
                let transaction = self.transaction(writes)?;
                let sequence = transaction.commit()?;
                assert_eq!(sequence, self.store.version().expect("open").sequence());
            }
            Action::Rollback(writes) => {
                self.transaction(writes)?.rollback();
                self.attempted = self.model.clone();
            }
            Action::One(write) => self.one(write)?,
            Action::Add { edge_type, edges, columns, parts } => {
                self.add(*edge_type, edges, *columns, *parts)?;
            }
            Action::Delete { edge_type, edges } => self.delete(*edge_type, edges)?,
            Action::Hub { edge_type, hub, spokes, columns, reverse } => {
                let edge = |spoke| if *reverse { (spoke, *hub) } else { (*hub, spoke) };
                let edges: Vec<_> = spokes.clone().map(edge).collect();
                self.add(*edge_type, &edges, *columns, 2)?;
            }
            Action::Thin { edge_type, hub, spokes, step } => {
                let edges: Vec<_> = spokes.clone().step_by(*step).map(|spoke| (*hub, spoke)).collect();
                self.delete(*edge_type, &edges)?;
            }
            Action::DropType { edge_type } => {
                let name = TYPES[*edge_type].to_owned();
                let was_there = self.attempted.types.remove(&name).is_some();
                self.alter(&Alteration::DropEdgeType { name }, was_there)?;
            }
            Action::DropProperty { edge_type, property } => self.drop_property(*edge_type, *property)?,
            Action::AddProperty { edge_type, property } => self.add_property(*edge_type, *property)?,
            Action::RenameType { edge_type } => {
                let (name, new_name) = (TYPES[*edge_type].to_owned(), self.unused_name());
                let kind = self.attempted.types.remove(&name);
                let was_there = kind.is_some();
                self.attempted.types.extend(kind.map(|kind| (new_name.clone(), kind)));
                self.alter(&Alteration::RenameEdgeType { name, new_name }, was_there)?;
            }
            Action::RenameProperty { edge_type, property } => self.rename_property(*edge_type, *property)?,
            Action::Checkpoint => self.store.checkpoint()?,
            Action::Compact => self.store.compact()?,
            Action::Reopen => self.reopen()?,
            Action::Keep => {
                self.kept.push((self.store.version().expect("open"), self.model.dump()));
            }
            Action::Release if !self.kept.is_empty() => {
                let (version, expected) = self.kept.remove(0);
                assert_eq!(dump(&version), expected);
            }
            Action::Release => {}
        }
        Ok(())
    }

    fn declare(&mut self) -> Result<(), CommitError> {
        let mut transaction = self.store.begin()?;
        let declared =
            [(1, true, false), (2, false, true), (3, true, true), (4, false, false), (5, false, true)];
        for (name, multi, symmetric) in declared {
            let options = EdgeTypeOptions { multi, symmetric, ..EdgeTypeOptions::default() };
            transaction.create_edge_type(TYPES[name], options.clone())?;
            self.attempted.create_edge_type(TYPES[name], &options);
        }
        transaction.commit().map(drop)
    }

    fn drop_property(&mut self, edge_type: Option<usize>, property: usize) -> Result<(), CommitError> {
        let name = PROPERTIES[property].0.to_owned();
        let edge_type = edge_type.map(|edge_type| TYPES[edge_type]);
        let was_there = self.attempted.drop_property(edge_type, &name);
        self.alter(&Alteration::DropProperty { owner: owner(edge_type), name }, was_there)
    }

    fn add_property(&mut self, edge_type: Option<usize>, property: usize) -> Result<(), CommitError> {
        let (name, kind) = PROPERTIES[property];
        let edge_type = edge_type.map(|edge_type| TYPES[edge_type]);
        let is_new = self.attempted.add_property(edge_type, name);
        self.alter(&Alteration::AddProperty { owner: owner(edge_type), name: name.to_owned(), kind }, is_new)
    }

    /// No two commits give the same.
    fn unused_name(&self) -> String {
        format!("renamed by {}", self.store.version().expect("open").sequence() + 1)
    }

    fn rename_property(&mut self, edge_type: Option<usize>, property: usize) -> Result<(), CommitError> {
        let (name, new_name) = (PROPERTIES[property].0.to_owned(), self.unused_name());
        let edge_type = edge_type.map(|edge_type| TYPES[edge_type]);
        let was_there = self.attempted.rename_property(edge_type, &name, &new_name);
        self.alter(&Alteration::RenameProperty { owner: owner(edge_type), name, new_name }, was_there)
    }

    fn alter(&self, alteration: &Alteration, is_possible: bool) -> Result<(), CommitError> {
        match self.store.alter(alteration) {
            Err(CommitError::Schema(error)) if !is_possible => {
                let unknown = matches!(
                    error,
                    SchemaError::UnknownEdgeType { .. }
                        | SchemaError::UnknownProperty { .. }
                        | SchemaError::NameTaken { .. }
                );
                assert!(unknown, "{error}");
                Ok(())
            }
            outcome => {
                assert!(is_possible || outcome.is_err(), "{alteration:?} of what is not there");
                outcome
            }
        }
    }

    fn reopen(&mut self) -> Result<(), Failure> {
        if self.case.on_disk {
            let sequence = self.store.version().expect("open").sequence();
            // Half of the times it is only dropped.
            let report = check_on(on(&self.disk), directory());
            assert!(matches!(report, Err(OpenError::Locked(_))), "{report:?}");
            let closed = if sequence.is_multiple_of(2) { self.store.close() } else { Ok(()) };
            self.store = Store::in_memory(options());
            closed?;
            let report = check_on(on(&self.disk), directory())?;
            assert!(report.is_healthy(), "{report:?}");
            assert_eq!(report.sequence, sequence);
            self.store = try_open(&self.disk, Self::options(self.case))?;
            assert_eq!(self.store.version().expect("open").sequence(), sequence);
        }
        Ok(())
    }

    /// An open transaction that made these writes, each compared with the model.
    fn transaction(&mut self, writes: &[Write]) -> Result<Transaction, CommitError> {
        let mut transaction = self.store.begin()?;
        let mut model = self.model.clone();
        let mut saved: Vec<(Savepoint, Model)> = Vec::new();
        for write in writes {
            match (write, saved.last().cloned()) {
                (Write::Save, _) => saved.push((transaction.savepoint(), model.clone())),
                (Write::Back, Some((savepoint, before))) => {
                    transaction.rollback_to(savepoint).expect("it is there");
                    model = before;
                }
                (Write::Release, Some((savepoint, _))) => {
                    transaction.release(savepoint).expect("it is there");
                    saved.pop();
                }
                _ => self.write(&mut transaction, &mut model, write),
            }
            let keys = match write {
                Write::PutVertex { key, .. } | Write::DeleteVertex { key } => [*key, 0],
                Write::PutEdge { src, dst, .. } | Write::DeleteEdge { src, dst, .. } => [*src, *dst],
                Write::Save | Write::Back | Write::Release => [1, 2],
            };
            self.compare_reads(&transaction, &model, &self.key(keys[0]), &self.key(keys[1]));
        }
        self.attempted = model;
        Ok(transaction)
    }

    fn write(&self, transaction: &mut Transaction, model: &mut Model, write: &Write) {
        match write {
            Write::PutVertex { key, label, given } => {
                let (key, label) = (self.key(*key), label.map(|label| VERTEX_TYPES[label]));
                let given = known(given, |name| model.vertex_properties.contains(name));
                transaction.put_vertex(&key, label, &given).expect("it fits");
                model.put_vertex(&key, label, &given);
            }
            Write::DeleteVertex { key } => {
                let key = self.key(*key);
                assert_eq!(transaction.delete_vertex(&key).expect("it fits"), model.delete_vertex(&key));
            }
            Write::PutEdge { src, dst, edge_type, given } => {
                let (src, dst, name) = (self.key(*src), self.key(*dst), TYPES[*edge_type]);
                let given = edge_given(model, name, given);
                transaction.put_edge(&src, &dst, name, &given).expect("it fits");
                model.put_edge(&src, &dst, name, &given);
            }
            Write::DeleteEdge { src, dst, edge_type } => {
                let (src, dst, name) = (self.key(*src), self.key(*dst), TYPES[*edge_type]);
                match transaction.delete_edge(&src, &dst, name) {
                    Ok(deleted) => assert_eq!(deleted, model.delete_edge(&src, &dst, name)),
                    Err(WriteError::Schema(SchemaError::UnknownEdgeType { .. })) => {
                        assert!(!model.types.contains_key(name));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            Write::Save | Write::Back | Write::Release => {}
        }
    }

    fn one(&mut self, write: &Write) -> Result<(), CommitError> {
        match write {
            Write::PutVertex { key, label, given } => {
                let (key, label) = (self.key(*key), label.map(|label| VERTEX_TYPES[label]));
                let given = known(given, |name| self.model.vertex_properties.contains(name));
                self.attempted.put_vertex(&key, label, &given);
                self.store.put_vertex(&key, label, &given)?;
            }
            Write::DeleteVertex { key } => {
                let key = self.key(*key);
                let expected = self.attempted.delete_vertex(&key);
                assert_eq!(self.store.delete_vertex(&key)?, expected);
            }
            Write::PutEdge { src, dst, edge_type, given } => {
                let (src, dst, name) = (self.key(*src), self.key(*dst), TYPES[*edge_type]);
                let given = edge_given(&self.model, name, given);
                self.attempted.put_edge(&src, &dst, name, &given);
                self.store.put_edge(&src, &dst, name, &given)?;
            }
            Write::DeleteEdge { src, dst, edge_type } => {
                let (src, dst, name) = (self.key(*src), self.key(*dst), TYPES[*edge_type]);
                let expected = self.attempted.delete_edge(&src, &dst, name);
                match self.store.delete_edge(&src, &dst, name) {
                    Ok(deleted) => assert_eq!(deleted, expected),
                    Err(CommitError::Schema(SchemaError::UnknownEdgeType { .. })) => {
                        assert!(!self.model.types.contains_key(name));
                    }
                    Err(error) => return Err(error),
                }
            }
            Write::Save | Write::Back | Write::Release => {}
        }
        Ok(())
    }

    fn add(
        &mut self,
        edge_type: usize,
        edges: &[(u16, u16)],
        columns: u16,
        parts: usize,
    ) -> Result<(), CommitError> {
        let name = TYPES[edge_type];
        let columns = if edge_type < BARE { columns } else { 0 };
        let properties: Vec<usize> = (0..PROPERTIES.len()).filter(|at| columns >> at & 1 == 1).collect();
        let mut batches = Vec::new();
        for (part, edges) in edges.chunks(edges.len().div_ceil(parts).max(1)).enumerate() {
            // The top bit lets parts differ in their columns.
            let skipped = usize::from(columns >> 7 == 1 && part == 1);
            let properties = &properties[skipped.min(properties.len())..];
            batches.push(self.part(edges, properties));
            for (row, (src, dst)) in edges.iter().enumerate() {
                let given: Vec<_> = properties
                    .iter()
                    .map(|&property| (PROPERTIES[property].0, cell(property, row)))
                    .collect();
                let (src, dst) = (self.key(*src), self.key(*dst));
                self.attempted.put_edge(&src, &dst, name, &given);
            }
        }
        if batches.is_empty() {
            return Ok(());
        }
        let summary = match self.case.memory_limit {
            None => self.store.add_edges(name, batches)?,
            // Either way of a batch that may be too large.
            Some(_) if parts == 1 => self.store.add_edges(name, batches)?,
            Some(_) => {
                let mut load = self.store.bulk_load(name, None);
                batches.into_iter().try_for_each(|batch| load.add(vec![batch]))?;
                load.commit(&[])?
            }
        };
        let (edges_before, vertices_before) = counts(&self.model, name);
        let (edges, vertices) = counts(&self.attempted, name);
        assert_eq!((summary.edges, summary.vertices), (edges - edges_before, vertices - vertices_before));
        assert_eq!(summary.sequence, self.store.version().expect("open").sequence());
        Ok(())
    }

    fn part(&self, edges: &[(u16, u16)], properties: &[usize]) -> EdgeBatch {
        let mut part = batch(edges.iter().map(|&(src, dst)| (self.key(src), self.key(dst))));
        for &property in properties {
            let (name, kind) = PROPERTIES[property];
            let mut column = Column::new(kind);
            (0..edges.len()).for_each(|row| column.push(cell(property, row)).expect("of the type"));
            part.columns.push((name.to_owned(), column));
        }
        part
    }

    fn delete(&mut self, edge_type: usize, edges: &[(u16, u16)]) -> Result<(), CommitError> {
        let name = TYPES[edge_type];
        if edges.is_empty() {
            return Ok(());
        }
        for (src, dst) in edges {
            let (src, dst) = (self.key(*src), self.key(*dst));
            self.attempted.delete_edge(&src, &dst, name);
        }
        match self.store.delete_edges(name, vec![self.part(edges, &[])]) {
            Ok(summary) => {
                let left = counts(&self.attempted, name).0;
                assert_eq!(summary.edges, counts(&self.model, name).0 - left);
                Ok(())
            }
            Err(CommitError::Schema(SchemaError::UnknownEdgeType { .. })) => {
                assert!(!self.model.types.contains_key(name));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Reads inside the transaction about two vertices.
    fn compare_reads(&self, transaction: &Transaction, model: &Model, src: &Key, dst: &Key) {
        for key in [src, dst] {
            let expected = model.vertices.get(key);
            assert_eq!(transaction.has_vertex(key), expected.is_some());
            let found = transaction.vertex(key);
            assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some(expected)) = (found, expected) {
                assert_eq!(found.vertex_type, expected.vertex_type);
                assert_eq!(found.properties.into_iter().collect::<Props>(), expected.properties);
            }
        }
        for name in TYPES {
            let between = model.types.get(name).map(|kind| kind.between(src, dst)).unwrap_or_default();
            assert_eq!(transaction.has_edge(src, dst, name), !between.is_empty());
            let found = transaction.edges(src, dst, name);
            let found: Vec<Props> = found.into_iter().map(|edge| edge.into_iter().collect()).collect();
            assert_eq!(found, between, "{name} {src} -> {dst}");
            for direction in [Direction::Out, Direction::In] {
                let found = transaction.neighbors(src, name, direction);
                assert_eq!(found.is_some(), model.vertices.contains_key(src));
                let mut found = found.unwrap_or_default();
                let kind = model.types.get(name);
                let list = kind.and_then(|kind| kind.lists(direction == Direction::In).remove(src));
                let list: Vec<Key> = list.unwrap_or_default().into_iter().map(|(key, _)| key).collect();
                if kind.is_some_and(|kind| !kind.multi) {
                    found.sort();
                }
                assert_eq!(found, list, "{name} {direction:?} {src}");
            }
        }
    }
}

fn counts(model: &Model, edge_type: &str) -> (u64, u64) {
    let edges = model.types.get(edge_type).map_or(0, |kind| kind.num_edges());
    (edges, model.vertices.len() as u64)
}

/// Without nulls of properties that are not there yet: those would be taken for strings.
fn known(given: &Given, is_known: impl Fn(&str) -> bool) -> Vec<(&'static str, Value)> {
    let named = given.iter().map(|&(property, seed)| {
        let (name, kind) = PROPERTIES[property];
        (name, value(kind, seed))
    });
    named.filter(|(name, value)| *value != Value::Null || is_known(name)).collect()
}

fn edge_given(model: &Model, edge_type: &str, given: &Given) -> Vec<(&'static str, Value)> {
    if TYPES[BARE..].contains(&edge_type) {
        return Vec::new();
    }
    let kind = model.types.get(edge_type);
    known(given, |name| kind.is_some_and(|kind| kind.properties.contains(name)))
}
