//! Serializable transactions: whatever was read, present or not, must be unchanged at the commit. Each case is a read of
//! one transaction and a write of another that commits in between; the read version of snapshot isolation lets all
//! of them through (write skew).

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use evergraph_store::{CommitError, Isolation, Options, Store, Transaction, TransactionOptions};
use evergraph_types::{Alteration, Direction, EdgeTypeOptions};

const KINDS: [&str; 3] = ["simple", "multi", "symmetric"];

fn store() -> Store {
    let store = Store::in_memory(Options::default());
    for name in KINDS {
        let options = EdgeTypeOptions {
            multi: name == "multi",
            symmetric: name == "symmetric",
            ..EdgeTypeOptions::default()
        };
        store.create_edge_type(name, options).unwrap();
        store.put_edge("a", "b", name, &[("weight", 1.into())]).unwrap();
        store.put_edge("b", "c", name, &[]).unwrap();
    }
    store.put_vertex("a", Some("Person"), &[("age", 30.into())]).unwrap();
    store.put_vertex("lonely", None, &[("seen", false.into())]).unwrap();
    store
}

/// Whether a transaction that reads, then writes elsewhere, commits although `write` committed in between.
fn commits(isolation: Isolation, read: &dyn Fn(&Transaction), write: &dyn Fn(&Store)) -> bool {
    let store = store();
    let options = TransactionOptions { isolation, ..TransactionOptions::default() };
    let mut transaction = store.begin_with(options).unwrap();
    read(&transaction);
    transaction.put_vertex("result", None, &[("seen", true.into())]).unwrap();
    write(&store);
    match transaction.commit() {
        Ok(_) => true,
        Err(CommitError::Conflict { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn conflicts(read: impl Fn(&Transaction), write: impl Fn(&Store)) {
    assert!(commits(Isolation::Snapshot, &read, &write), "snapshot isolation lets it through");
    assert!(!commits(Isolation::Serializable, &read, &write), "it is not serializable");
}

#[track_caller]
fn passes(read: impl Fn(&Transaction), write: impl Fn(&Store)) {
    assert!(commits(Isolation::Serializable, &read, &write));
}

#[test]
fn a_vertex_that_was_read() {
    let read = |tx: &Transaction| drop(tx.vertex("a"));
    conflicts(read, |db| drop(db.put_vertex("a", None, &[("age", 31.into())])));
    conflicts(read, |db| drop(db.delete_vertex("a")));
    passes(read, |db| drop(db.put_vertex("c", None, &[("age", 31.into())])));
    passes(read, |db| drop(db.put_edge("a", "new", "simple", &[])));
}

#[test]
fn a_vertex_that_was_not_there() {
    for read in [|tx: &Transaction| drop(tx.vertex("x")), |tx: &Transaction| assert!(!tx.has_vertex("x"))] {
        conflicts(read, |db| drop(db.put_vertex("x", None, &[])));
        conflicts(read, |db| drop(db.put_vertex("x", Some("Person"), &[])));
        conflicts(read, |db| drop(db.put_edge("a", "x", "simple", &[])));
        passes(read, |db| drop(db.put_edge("a", "y", "simple", &[])));
    }
}

#[test]
fn an_edge_that_was_read() {
    for kind in KINDS {
        let read = |tx: &Transaction| drop(tx.edges("a", "b", kind));
        conflicts(read, |db| drop(db.put_edge("a", "b", kind, &[("weight", 2.into())])));
        conflicts(read, |db| drop(db.delete_edge("a", "b", kind)));
        conflicts(read, |db| drop(db.delete_vertex("b")));
        passes(read, |db| drop(db.put_edge("a", "c", kind, &[])));
    }
    let read = |tx: &Transaction| assert!(tx.has_edge("b", "a", "symmetric"));
    conflicts(read, |db| drop(db.delete_edge("a", "b", "symmetric")));
}

#[test]
fn an_edge_that_was_not_there() {
    for kind in KINDS {
        conflicts(|tx| assert!(!tx.has_edge("a", "c", kind)), |db| drop(db.put_edge("a", "c", kind, &[])));
        conflicts(
            |tx| assert!(!tx.has_edge("a", "nobody", kind)),
            |db| drop(db.put_edge("a", "nobody", kind, &[])),
        );
    }
    conflicts(
        |tx| assert!(!tx.has_edge("a", "b", "unheard of")),
        |db| drop(db.put_edge("a", "b", "unheard of", &[])),
    );
}

#[test]
fn neighbors_that_were_read() {
    for kind in KINDS {
        for direction in [Direction::Out, Direction::In] {
            let read = |tx: &Transaction| drop(tx.neighbors("b", kind, direction));
            conflicts(read, |db| drop(db.put_edge("b", "d", kind, &[])));
            conflicts(read, |db| drop(db.put_edge("d", "b", kind, &[])));
            conflicts(read, |db| drop(db.delete_edge("a", "b", kind)));
            conflicts(read, |db| drop(db.delete_vertex("c")));
            passes(read, |db| drop(db.put_edge("a", "d", kind, &[])));
            let counted = |tx: &Transaction| assert!(tx.degree("b", kind, direction) > Some(0));
            conflicts(counted, |db| drop(db.put_edge("b", "d", kind, &[])));
            conflicts(counted, |db| drop(db.delete_edge("a", "b", kind)));
            conflicts(counted, |db| drop(db.delete_vertex("a")));
            passes(counted, |db| drop(db.put_edge("a", "d", kind, &[])));
        }
        let other = if kind == "multi" { "simple" } else { "multi" };
        passes(
            |tx| drop(tx.neighbors("b", kind, Direction::Out)),
            |db| drop(db.put_edge("b", "d", other, &[])),
        );
    }
    conflicts(
        |tx| assert_eq!(tx.neighbors("lonely", "simple", Direction::Out), Some(Vec::new())),
        |db| drop(db.put_edge("lonely", "a", "simple", &[])),
    );
}

#[test]
fn the_schema_that_was_read() {
    let looked = |tx: &Transaction| assert!(tx.schema().edge_type("one").is_none());
    conflicts(looked, |db| drop(db.create_edge_type("one", EdgeTypeOptions::default())));
    conflicts(looked, |db| drop(db.put_edge("a", "b", "simple", &[("new", 1.into())])));
    conflicts(looked, |db| drop(db.put_vertex("a", Some("New"), &[])));
    passes(looked, |db| drop(db.put_edge("a", "b", "simple", &[("weight", 2.into())])));
    let nothing = |_: &Transaction| {};
    passes(nothing, |db| drop(db.create_edge_type("one", EdgeTypeOptions::default())));
}

#[test]
fn an_edge_type_that_was_not_there() {
    let isolation = Isolation::Serializable;
    let begin = |store: &Store| store.begin_with(TransactionOptions { isolation, timeout: None }).unwrap();
    let store = store();
    let mut transaction = begin(&store);
    assert!(transaction.delete_edge("a", "b", "one").is_err());
    transaction.put_vertex("result", None, &[("seen", true.into())]).unwrap();
    store.create_edge_type("one", EdgeTypeOptions::default()).unwrap();
    assert!(matches!(transaction.commit(), Err(CommitError::Conflict { .. })));
    // Since it dropped it itself nobody else has to do with that.
    let mut transaction = begin(&store);
    transaction.alter(&Alteration::DropEdgeType { name: "one".to_owned() }).unwrap();
    assert!(!transaction.has_edge("a", "b", "one"));
    transaction.commit().unwrap();
}

#[test]
fn only_what_was_read_counts() {
    let nothing = |_: &Transaction| {};
    passes(nothing, |db| drop(db.put_edge("a", "b", "simple", &[("weight", 5.into())])));
    passes(nothing, |db| drop(db.delete_vertex("a")));
}

/// The classic: two doctors on call, each may leave as long as the other stays.
#[test]
fn write_skew() {
    for (isolation, both) in [(Isolation::Snapshot, true), (Isolation::Serializable, false)] {
        let store = Store::in_memory(Options::default());
        store.put_vertex("ward", None, &[]).unwrap();
        store.put_edge("ward", "ann", "on call", &[]).unwrap();
        store.put_edge("ward", "bob", "on call", &[]).unwrap();
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let mut leaves = ["ann", "bob"].map(|doctor| {
            let mut tx = store.begin_with(options).unwrap();
            assert_eq!(tx.neighbors("ward", "on call", Direction::Out).unwrap().len(), 2);
            tx.delete_edge("ward", doctor, "on call").unwrap();
            Some(tx)
        });
        let outcomes = [0, 1].map(|doctor| leaves[doctor].take().unwrap().commit().is_ok());
        assert_eq!(outcomes, [true, both]);
    }
}

#[test]
fn reading_alone_never_conflicts() {
    let store = store();
    let options = TransactionOptions { isolation: Isolation::Serializable, ..TransactionOptions::default() };
    let transaction = store.begin_with(options).unwrap();
    assert!(transaction.has_vertex("a"));
    store.delete_vertex("a").unwrap();
    assert!(transaction.has_vertex("a"));
    transaction.commit().unwrap();
}
