//! Savepoints and deadlines within one transaction.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::time::Duration;

use evergraph_store::{CommitError, Options, Store, TransactionOptions, WriteError};
use evergraph_types::{Direction, Value};

#[test]
fn going_back_undoes_every_kind_of_write() {
    let store = Store::in_memory(Options::default());
    store.put_edge("a", "b", "edge", &[("weight", 1.into())]).unwrap();
    store.put_vertex("a", Some("Person"), &[("age", 30.into())]).unwrap();
    let mut tx = store.begin().unwrap();
    tx.put_edge("a", "c", "edge", &[("weight", 2.into())]).unwrap();
    let first = tx.savepoint();
    tx.put_edge("a", "c", "edge", &[("weight", 3.into())]).unwrap();
    tx.put_vertex("a", Some("Robot"), &[("age", 31.into()), ("model", "X".into())]).unwrap();
    tx.put_edge("x", "y", "other", &[]).unwrap();
    let second = tx.savepoint();
    tx.delete_vertex("b").unwrap();
    tx.delete_edge("a", "c", "edge").unwrap();

    tx.rollback_to(second).unwrap();
    assert!(tx.has_vertex("b") && tx.has_edge("a", "c", "edge") && tx.has_edge("x", "y", "other"));
    tx.rollback_to(first).unwrap();
    assert_eq!(tx.edges("a", "c", "edge"), [[("weight".to_owned(), Value::Int(2))]]);
    assert!(!tx.has_vertex("x"));
    let a = tx.vertex("a").unwrap();
    assert_eq!(
        (a.vertex_type.as_deref(), a.properties),
        (Some("Person"), vec![("age".to_owned(), Value::Int(30))])
    );
    assert!(matches!(tx.rollback_to(second), Err(WriteError::NoSavepoint)), "it was undone");

    tx.put_edge("a", "z", "edge", &[]).unwrap();
    tx.rollback_to(first).unwrap();
    tx.put_edge("a", "w", "edge", &[]).unwrap();
    tx.commit().unwrap();
    let tx = store.begin().unwrap();
    let mut neighbors = tx.neighbors("a", "edge", Direction::Out).unwrap();
    neighbors.sort();
    assert_eq!(neighbors, ["b".into(), "c".into(), "w".into()]);
    assert!(!tx.has_vertex("x") && !tx.has_vertex("z"));
    assert!(store.version().unwrap().schema().edge_type("other").is_none());
}

#[test]
fn a_savepoint_belongs_to_its_transaction() {
    let store = Store::in_memory(Options::default());
    let mut one = store.begin().unwrap();
    let mut other = store.begin().unwrap();
    let savepoint = one.savepoint();
    let own = other.savepoint();
    assert!(matches!(other.rollback_to(savepoint), Err(WriteError::NoSavepoint)));
    other.rollback_to(own).unwrap();
}

#[test]
fn releasing_keeps_the_writes_and_forgets_what_came_after() {
    let store = Store::in_memory(Options::default());
    let mut tx = store.begin().unwrap();
    let outer = tx.savepoint();
    tx.put_vertex("a", None, &[]).unwrap();
    let released = tx.savepoint();
    tx.put_vertex("b", None, &[]).unwrap();
    let inner = tx.savepoint();
    tx.release(released).unwrap();
    for gone in [released, inner] {
        assert!(matches!(tx.rollback_to(gone), Err(WriteError::NoSavepoint)));
        assert!(matches!(tx.release(gone), Err(WriteError::NoSavepoint)));
    }
    assert!(tx.has_vertex("b"));
    tx.rollback_to(outer).unwrap();
    assert!(!tx.has_vertex("a"));
}

#[test]
fn a_block_is_undone_after_one_before_it_was_rolled_back_to() {
    let store = Store::in_memory(Options::default());
    let mut tx = store.begin().unwrap();
    tx.put_vertex("kept", None, &[]).unwrap();
    let outer = tx.savepoint();
    tx.put_vertex("a", None, &[]).unwrap();
    let released = tx.savepoint();
    let block = tx.savepoint();
    tx.put_vertex("b", None, &[]).unwrap();
    // What it wrote cannot be told from what was written before it, which stays.
    tx.release(released).unwrap();
    assert!(!tx.has_savepoint(block) && matches!(tx.undo_block(block), Err(WriteError::NoSavepoint)));
    assert!(tx.has_vertex("a") && tx.has_vertex("b"));
    // Going back to one before it undid both.
    tx.rollback_to(outer).unwrap();
    tx.put_vertex("c", None, &[]).unwrap();
    tx.undo_block(block).unwrap();
    assert!(tx.has_vertex("kept"));
    assert!(["a", "b", "c"].iter().all(|&key| !tx.has_vertex(key)));
    // One made after that is not what it began at.
    let block = tx.savepoint();
    tx.put_vertex("d", None, &[]).unwrap();
    tx.undo_block(block).unwrap();
    assert!(tx.has_savepoint(block) && tx.has_savepoint(outer) && !tx.has_vertex("d"));
    tx.release(outer).unwrap();
    assert!(matches!(tx.undo_block(block), Err(WriteError::NoSavepoint)));
}

#[test]
fn after_its_deadline_a_transaction_only_reads() {
    let store = Store::in_memory(Options::default());
    store.put_vertex("a", None, &[]).unwrap();
    let options =
        TransactionOptions { timeout: Some(Duration::from_millis(20)), ..TransactionOptions::default() };
    let mut tx = store.begin_with(options).unwrap();
    tx.put_vertex("b", None, &[]).unwrap();
    std::thread::sleep(Duration::from_millis(25));
    assert!(matches!(tx.put_vertex("c", None, &[]), Err(WriteError::TimedOut)));
    assert!(matches!(tx.delete_vertex("a"), Err(WriteError::TimedOut)));
    assert!(tx.has_vertex("a"));
    assert!(matches!(tx.commit(), Err(CommitError::TimedOut)));
    assert_eq!(store.version().unwrap().num_vertices(), 1);
    let options = TransactionOptions { timeout: Some(Duration::MAX), ..TransactionOptions::default() };
    store.begin_with(options).unwrap().commit().unwrap();
}
