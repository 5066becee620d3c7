//! Random commits of threads that each stand for themselves, and how each is done to the model: whatever the order
//! in which they commit, it is told by their sequences and, of large batches, by what they follow.

use std::cmp::Reverse;

use evergraph_proof::Random;
use evergraph_store::{BatchSummary, Store};
use evergraph_types::{Alteration, EdgeTypeOptions, Key, Property, PropertyOwner, PropertyType, Value};

use super::{Model, number_batch};

fn below(random: &mut Random, bound: i64) -> i64 {
    random.below(bound as u64) as i64
}

/// Declares what the commits use, and gives the model of it.
pub(crate) fn declare_for_commits(store: &Store) -> Model {
    let mut model = Model::default();
    for (name, multi, symmetric) in
        [("simple", false, false), ("multi", true, false), ("mirror", false, true), ("both", true, true)]
    {
        let value = Property { name: "value".to_owned(), kind: PropertyType::Int64 };
        let options =
            EdgeTypeOptions { multi, symmetric, properties: vec![value], ..EdgeTypeOptions::default() };
        store.create_edge_type(name, options.clone()).expect("new");
        model.create_edge_type(name, &options);
    }
    store.put_vertex(0, None, &[("value", 0.into())]).expect("it fits");
    model.put_vertex(&Key::Int(0), None, &[("value", 0.into())]);
    model
}

/// How a commit is done to the model.
type ModelWrite = Box<dyn Fn(&mut Model) + Send>;

/// A commit that was made.
pub(crate) struct Made {
    pub(crate) sequence: u64,
    /// The commit that it follows.
    follows: u64,
    write: ModelWrite,
}

impl Made {
    fn of(sequence: u64, write: impl Fn(&mut Model) + Send + 'static) -> Self {
        Made { sequence, follows: sequence - 1, write: Box::new(write) }
    }

    fn of_batch(summary: BatchSummary, write: impl Fn(&mut Model) + Send + 'static) -> Self {
        Made { sequence: summary.sequence, follows: summary.follows, write: Box::new(write) }
    }
}

/// Puts commits in the order in which they take effect: one that others were made beside comes before those.
pub(crate) fn in_order(commits: &mut [Made]) {
    commits.sort_by_key(|made| (made.follows, made.sequence > made.follows, Reverse(made.sequence)));
}

/// The model with those of the commits done to it, which are in order, that are in a version.
pub(crate) fn model_at(before: &Model, commits: &[Made], version: u64) -> Model {
    let mut model = before.clone();
    commits.iter().filter(|made| made.sequence <= version).for_each(|made| (made.write)(&mut model));
    model
}

/// One commit of a thread, done to the store.
pub(crate) fn random_commit(store: &Store, random: &mut Random) -> Option<Made> {
    const TYPES: [&str; 4] = ["simple", "multi", "mirror", "both"];
    let (src, dst, value) = (below(random, 6), below(random, 6), below(random, 1000));
    let edge_type = TYPES[below(random, 4) as usize];
    let (src_key, dst_key) = (Key::Int(src), Key::Int(dst));
    let given = move || if value % 3 > 0 { vec![("value", Value::Int(value))] } else { Vec::new() };
    let made = match below(random, 14) {
        0..5 => {
            let sequence = store.put_edge(src, dst, edge_type, &given()).expect("it fits");
            Made::of(sequence, move |model| model.put_edge(&src_key, &dst_key, edge_type, &given()))
        }
        5 | 6 => {
            let sequence = store.put_vertex(src, None, &given()).expect("it fits");
            Made::of(sequence, move |model| model.put_vertex(&src_key, None, &given()))
        }
        7 => {
            let mut transaction = store.begin().expect("open");
            transaction.delete_vertex(src).expect("it fits").then_some(())?;
            let sequence = transaction.commit().ok()?;
            Made::of(sequence, move |model| assert!(model.delete_vertex(&src_key)))
        }
        8 | 9 => {
            let mut transaction = store.begin().expect("open");
            transaction.delete_edge(src, dst, edge_type).expect("it fits").then_some(())?;
            transaction.put_edge(dst, src, "multi", &given()).expect("it fits");
            let sequence = transaction.commit().ok()?;
            let write = move |model: &mut Model| {
                assert!(model.delete_edge(&src_key, &dst_key, edge_type));
                model.put_edge(&dst_key, &src_key, "multi", &given());
            };
            Made::of(sequence, write)
        }
        10 => {
            let edges: Vec<(i64, i64)> = (0..4 + value % 4).map(|row| (src, (dst + row * row) % 6)).collect();
            let summary = store.add_edges(edge_type, vec![number_batch(edges.clone())]).expect("it fits");
            let write = move |model: &mut Model| {
                edges
                    .iter()
                    .for_each(|(src, dst)| model.put_edge(&(*src).into(), &(*dst).into(), edge_type, &[]));
            };
            Made::of_batch(summary, write)
        }
        11 => {
            let edges: Vec<(i64, i64)> = (0..3).map(|row| (src, (dst + row) % 6)).collect();
            let summary = store.delete_edges(edge_type, vec![number_batch(edges.clone())]).expect("it fits");
            let write = move |model: &mut Model| {
                for (src, dst) in &edges {
                    model.delete_edge(&(*src).into(), &(*dst).into(), edge_type);
                }
            };
            Made::of_batch(summary, write)
        }
        12 => return larger_commit(store, random),
        _ => return drop_something(store, random),
    };
    Some(made)
}

/// What comes with the first write that names it, and goes with an alteration: an edge type, a vertex type, and a property.
const PASSING: &str = "passing";

/// A transaction of many writes.
fn larger_commit(store: &Store, random: &mut Random) -> Option<Made> {
    let mut transaction = store.begin().expect("open");
    let mut writes: Vec<ModelWrite> = Vec::new();
    for number in 0..6 + below(random, 6) {
        let (src, dst, value) = (below(random, 6), below(random, 6), below(random, 1000));
        let (src_key, dst_key) = (Key::Int(src), Key::Int(dst));
        let given = move |name| [(name, Value::Int(value))];
        match if number == 0 { 0 } else { value % 4 } {
            0 | 1 => {
                let edge_type = if value % 2 == 0 { PASSING } else { "both" };
                transaction.put_edge(src, dst, edge_type, &given("value")).expect("it fits");
                let write = move |model: &mut Model| {
                    model.put_edge(&src_key, &dst_key, edge_type, &given("value"));
                };
                writes.push(Box::new(write));
            }
            2 => {
                transaction.put_vertex(src, Some(PASSING), &given(PASSING)).expect("it fits");
                let write = move |model: &mut Model| {
                    model.put_vertex(&src_key, Some(PASSING), &given(PASSING));
                };
                writes.push(Box::new(write));
            }
            _ => {
                if transaction.delete_edge(src, dst, "simple").expect("it fits") {
                    let write = move |model: &mut Model| {
                        assert!(model.delete_edge(&src_key, &dst_key, "simple"));
                    };
                    writes.push(Box::new(write));
                }
            }
        }
    }
    let sequence = transaction.commit().ok()?;
    Some(Made::of(sequence, move |model| writes.iter().for_each(|write| write(model))))
}

/// A transaction that drops what another one brought.
fn drop_something(store: &Store, random: &mut Random) -> Option<Made> {
    let name = PASSING.to_owned();
    let (alteration, write): (_, ModelWrite) = match below(random, 3) {
        0 => (Alteration::DropEdgeType { name }, Box::new(|model| drop(model.types.remove(PASSING)))),
        1 => {
            let owner = PropertyOwner::Vertices;
            let drop_property = |model: &mut Model| {
                model.drop_property(None, PASSING);
            };
            (Alteration::DropProperty { owner, name }, Box::new(drop_property))
        }
        _ => (Alteration::DropVertexType { name }, Box::new(|model| model.drop_vertex_type(PASSING))),
    };
    let mut transaction = store.begin().expect("open");
    transaction.alter(&alteration).ok()?;
    let sequence = transaction.commit().ok()?;
    Some(Made::of(sequence, write))
}
