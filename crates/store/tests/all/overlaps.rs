//! Transactions that are open at the same time, their writes in any order: which of them are refused is read naively
//! from the table in `conflict.rs`, and what is there afterwards from the model.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Model, declare_for_commits, dump, for_all, number_batch, options};
use evergraph_proof::tally;
use evergraph_store::{CommitError, Options, Store, Transaction};
use evergraph_types::{Key, KeyKind, Value};
use proptest::prelude::*;

const TYPES: [&str; 4] = ["simple", "multi", "mirror", "both"];
/// So many transactions are open at once.
const OPEN: usize = 3;

/// One write of a transaction. Some keys have a vertex, some had one, some never had.
#[derive(Clone, Copy, Debug)]
enum Write {
    PutVertex { key: i64, value: Option<i64> },
    DeleteVertex { key: i64 },
    PutEdge { src: i64, dst: i64, edge_type: &'static str, value: Option<i64> },
    DeleteEdge { src: i64, dst: i64, edge_type: &'static str },
}

#[derive(Clone, Debug)]
enum Step {
    /// A write of one of the transactions, which begins if it has not.
    Write(usize, Write),
    Commit(usize),
    /// A batch beside them, which conflicts with nothing.
    Add {
        edge_type: &'static str,
        edges: Vec<(i64, i64)>,
    },
}

fn write() -> impl Strategy<Value = Write> {
    let key = || 0..7i64;
    let edge_type = || proptest::sample::select(&TYPES[..]);
    let value = || proptest::option::of(0..9i64);
    prop_oneof![
        2 => (key(), value()).prop_map(|(key, value)| Write::PutVertex { key, value }),
        2 => key().prop_map(|key| Write::DeleteVertex { key }),
        4 => (key(), key(), edge_type(), value())
            .prop_map(|(src, dst, edge_type, value)| Write::PutEdge { src, dst, edge_type, value }),
        2 => (key(), key(), edge_type())
            .prop_map(|(src, dst, edge_type)| Write::DeleteEdge { src, dst, edge_type }),
    ]
}

fn steps(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let edges = proptest::collection::vec((0..7i64, 0..7i64), 1..4);
    let step = prop_oneof![
        12 => (0..OPEN, write()).prop_map(|(number, write)| Step::Write(number, write)),
        5 => (0..OPEN).prop_map(Step::Commit),
        1 => (proptest::sample::select(&TYPES[..]), edges)
            .prop_map(|(edge_type, edges)| Step::Add { edge_type, edges }),
    ];
    proptest::collection::vec(step, 1..longest)
}

/// The properties that a put gives.
type Given = Vec<(&'static str, Value)>;
/// An edge as the model keeps it.
type Edge = (&'static str, Key, Key);

fn given(value: Option<i64>) -> Given {
    value.map(|value| ("value", Value::Int(value))).into_iter().collect()
}

/// What the writes of a transaction come to.
#[derive(Clone, Debug, Default)]
struct Writes {
    /// Vertices that were there when it began.
    deleted: BTreeSet<Key>,
    /// Vertices put, also as ends of edges.
    put: BTreeMap<Key, Given>,
    /// Edges put, with what they were given, and deleted, in order.
    edges: Vec<(Edge, Option<Given>)>,
}

impl Writes {
    fn changes_vertex(&self, key: &Key) -> bool {
        self.deleted.contains(key) || self.put.get(key).is_some_and(|given| !given.is_empty())
    }

    /// Whether it comes too late after a commit: the table.
    fn conflicts_with(&self, first: &Writes) -> bool {
        let has_end = |(_, src, dst): &Edge, key: &Key| src == key || dst == key;
        let mut vertices = self.deleted.iter().chain(self.put.keys());
        vertices.any(|key| self.changes_vertex(key) && first.changes_vertex(key))
            || self.deleted.iter().any(|key| first.edges.iter().any(|(edge, _)| has_end(edge, key)))
            || self.edges.iter().any(|(edge, given)| {
                let appends = given.is_some() && ["multi", "both"].contains(&edge.0);
                !appends && first.edges.iter().any(|(other, _)| other == edge)
                    || first.deleted.iter().any(|key| has_end(edge, key))
            })
    }

    fn apply(&self, model: &mut Model) {
        for key in &self.deleted {
            model.delete_vertex(key);
        }
        for (key, given) in &self.put {
            model.put_vertex(key, None, given);
        }
        for ((edge_type, src, dst), given) in &self.edges {
            match given {
                Some(given) => model.put_edge(src, dst, edge_type, given),
                None => drop(model.delete_edge(src, dst, edge_type)),
            }
        }
    }
}

/// An open transaction.
struct Open {
    transaction: Transaction,
    /// The number of commits when it began.
    begin: usize,
    before: Model,
    /// What it sees.
    view: Model,
    writes: Writes,
}

impl Open {
    fn write(&mut self, write: Write) {
        match write {
            Write::PutVertex { key, value } => {
                let (id, given) = (Key::Int(key), given(value));
                self.transaction.put_vertex(key, None, &given).expect("it fits");
                self.view.put_vertex(&id, None, &given);
                self.writes.put.entry(id).or_default().extend(given);
            }
            Write::DeleteVertex { key } => {
                let id = Key::Int(key);
                let was_there = self.transaction.delete_vertex(key).expect("it fits");
                assert_eq!(was_there, self.view.delete_vertex(&id));
                self.writes.edges.retain(|((_, src, dst), _)| *src != id && *dst != id);
                self.writes.put.remove(&id);
                if self.before.vertices.contains_key(&id) {
                    self.writes.deleted.insert(id);
                }
            }
            Write::PutEdge { src, dst, edge_type, value } => {
                let (ends, given) = ([Key::Int(src), Key::Int(dst)], given(value));
                self.transaction.put_edge(src, dst, edge_type, &given).expect("it fits");
                for end in ends.iter().filter(|end| !self.view.vertices.contains_key(end)) {
                    self.writes.put.entry(end.clone()).or_default();
                }
                self.view.put_edge(&ends[0], &ends[1], edge_type, &given);
                self.writes.edges.push((self.edge(edge_type, &ends), Some(given)));
            }
            Write::DeleteEdge { src, dst, edge_type } => {
                let ends = [Key::Int(src), Key::Int(dst)];
                let was_there = self.transaction.delete_edge(src, dst, edge_type).expect("it fits");
                assert_eq!(was_there, self.view.delete_edge(&ends[0], &ends[1], edge_type));
                if was_there {
                    let edge = self.edge(edge_type, &ends);
                    self.writes.edges.retain(|(other, _)| *other != edge);
                    self.writes.edges.push((edge, None));
                }
            }
        }
    }

    fn edge(&self, edge_type: &'static str, ends: &[Key; 2]) -> Edge {
        let (src, dst) = self.view.types[edge_type].ends(&ends[0], &ends[1]);
        (edge_type, src, dst)
    }

    /// Whatever others have committed, it sees its own version and writes.
    fn compare(&self) {
        for key in 0..7i64 {
            assert_eq!(self.transaction.has_vertex(key), self.view.vertices.contains_key(&Key::Int(key)));
            for (other, edge_type) in (0..7i64).flat_map(|other| TYPES.map(|edge_type| (other, edge_type))) {
                let between = self.view.types[edge_type].between(&key.into(), &other.into());
                assert_eq!(self.transaction.edges(key, other, edge_type).len(), between.len());
            }
        }
    }
}

/// A store and what has been committed to it.
struct Committed {
    store: Store,
    model: Model,
    /// With their sequences.
    commits: Vec<(u64, Writes)>,
}

impl Committed {
    fn begin(&self) -> Open {
        Open {
            transaction: self.store.begin().expect("open"),
            begin: self.commits.len(),
            before: self.model.clone(),
            view: self.model.clone(),
            writes: Writes::default(),
        }
    }

    fn commit(&mut self, open: Open) {
        open.compare();
        let first = &self.commits[open.begin..];
        let against = first.iter().filter(|(_, first)| open.writes.conflicts_with(first));
        let against: Vec<u64> = against.map(|(sequence, _)| *sequence).collect();
        match open.transaction.commit() {
            Ok(sequence) => {
                assert!(against.is_empty(), "{:?} is too late for {against:?}", open.writes);
                self.note(sequence, open.writes);
            }
            Err(CommitError::Conflict { what, sequence }) => {
                assert!(against.contains(&sequence), "{what}, {sequence} of {against:?}: {:?}", open.writes);
            }
            Err(error) => panic!("{error}"),
        }
        self.compare();
    }

    fn note(&mut self, sequence: u64, writes: Writes) {
        writes.apply(&mut self.model);
        self.commits.push((sequence, writes));
    }

    fn compare(&self) {
        assert_eq!(dump(&self.store.version().expect("open")), self.model.dump());
    }
}

fn run(keys: KeyKind, steps: &[Step]) {
    let store = Store::in_memory(Options { keys: Some(keys), ..options() });
    let model = declare_for_commits(&store);
    let mut committed = Committed { store, model, commits: Vec::new() };
    let mut open: [Option<Open>; OPEN] = Default::default();
    for step in steps {
        match step {
            Step::Write(number, write) => {
                open[*number].get_or_insert_with(|| committed.begin()).write(*write);
            }
            Step::Commit(number) => open[*number].take().into_iter().for_each(|open| committed.commit(open)),
            Step::Add { edge_type, edges } => {
                let summary = committed.store.add_edges(edge_type, vec![number_batch(edges.clone())]);
                let mut writes = Writes::default();
                for &(src, dst) in edges {
                    let (src, dst) = committed.model.types[*edge_type].ends(&src.into(), &dst.into());
                    writes.edges.push(((edge_type, src, dst), Some(Given::new())));
                }
                committed.note(summary.expect("it fits").sequence, writes);
                committed.compare();
            }
        }
    }
    open.into_iter().flatten().for_each(|open| committed.commit(open));
}

fn holds(cases: u32, longest: usize) {
    let keys = proptest::sample::select(&[KeyKind::Int64, KeyKind::Dense][..]);
    for_all(cases, &(keys, steps(longest)), |(keys, steps)| run(keys, &steps));
}

#[test]
fn the_later_of_two_is_refused_if_the_table_says_so_and_not_otherwise() {
    holds(400, 40);
}

#[test]
#[ignore = "long"]
fn soak_the_later_of_two_is_refused_if_the_table_says_so_and_not_otherwise() {
    holds(40_000, 60);
    tally("runs of transactions side by side", 40_000);
}
