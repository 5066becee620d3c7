//! The catalog: items change with the graph, in one commit, and survive whatever the graph survives.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeMap;

use crate::common::{open, options, try_open};
use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_store::{CommitError, Contested, Isolation, Options, Store, TransactionOptions, check_on};
use proptest::prelude::*;

type Items = BTreeMap<String, Vec<u8>>;

fn items(store: &Store) -> Items {
    let version = store.version().unwrap();
    let items = version.items("");
    items.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect()
}

fn put(store: &Store, name: &str, bytes: &[u8]) {
    store.transact(8, |tx| Ok::<_, CommitError>(tx.put_item(name, bytes)?)).unwrap();
}

#[derive(Clone, Debug)]
enum Action {
    /// Items put or deleted in one transaction, committed or not.
    Write(Vec<(u8, Option<Vec<u8>>)>, bool),
    Checkpoint,
    Compact,
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    let bytes = prop::option::weighted(0.7, prop::collection::vec(any::<u8>(), 0..9));
    prop_oneof![
        6 => (prop::collection::vec((0u8..90, bytes), 1..5), prop::bool::weighted(0.8))
            .prop_map(|(writes, commit)| Action::Write(writes, commit)),
        1 => Just(Action::Checkpoint),
        1 => Just(Action::Compact),
        2 => Just(Action::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn items_are_a_map(actions in prop::collection::vec(action(), 1..24)) {
        let disk = SimDisk::new(1);
        let mut store = open(&disk, options());
        let mut model = Items::new();
        for action in actions {
            match action {
                Action::Write(writes, commit) => {
                    let mut tx = store.begin().unwrap();
                    let mut after = model.clone();
                    for (name, bytes) in writes {
                        let name = format!("item/{name}");
                        match bytes {
                            Some(bytes) => {
                                tx.put_item(&name, &bytes).unwrap();
                                after.insert(name.clone(), bytes);
                            }
                            None => {
                                let removed = after.remove(&name).is_some();
                                prop_assert_eq!(tx.delete_item(&name).unwrap(), removed);
                            }
                        }
                        prop_assert_eq!(tx.item(&name).map(|bytes| bytes.to_vec()), after.get(&name).cloned());
                    }
                    if commit {
                        tx.commit().unwrap();
                        model = after;
                    }
                }
                Action::Checkpoint => store.checkpoint().unwrap(),
                Action::Compact => store.compact().unwrap(),
                Action::Reopen => {
                    store.close().unwrap();
                    store = open(&disk, options());
                }
            }
            prop_assert_eq!(&items(&store), &model);
        }
        let version = store.version().unwrap();
        let some: Vec<_> = version.items("item/3").into_iter().map(|(name, _)| name.to_owned()).collect();
        let expected: Vec<_> = model.keys().filter(|name| name.starts_with("item/3")).cloned().collect();
        prop_assert_eq!(some, expected);
    }
}

#[test]
fn an_item_and_the_graph_change_together_whatever_crashes() {
    let disk = SimDisk::new(2);
    let store = open(&disk, options());
    let mut acknowledged = Vec::new();
    for round in 0..12i64 {
        let mut tx = store.begin().unwrap();
        tx.put_vertex(round, None, &[]).unwrap();
        tx.put_item("count", &round.to_le_bytes()).unwrap();
        tx.commit().unwrap();
        acknowledged.push((disk.operations(), round));
        if round % 4 == 3 {
            store.checkpoint().unwrap();
        }
    }
    drop(store);
    for at in 0..=disk.operations() {
        for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced, CrashPlan::Random(at)] {
            let image = disk.state_at(at, plan);
            let Ok(store) = try_open(&image, options()) else {
                assert!(acknowledged[0].0 > at, "a store with commits opens");
                continue;
            };
            let version = store.version().unwrap();
            let count =
                version.item("count").map_or(0, |bytes| i64::from_le_bytes(bytes.try_into().unwrap()) + 1);
            assert_eq!(version.num_vertices() as i64, count, "the item says what the graph holds");
            let promised = acknowledged.iter().filter(|(done, _)| *done <= at).count() as i64;
            assert!(count >= promised, "{count} of {promised} at {at}");
            drop(store);
            assert!(check_on(crate::common::on(&image), crate::common::directory()).unwrap().is_healthy());
        }
    }
}

#[test]
fn the_first_to_change_an_item_wins() {
    let store = Store::in_memory(Options::default());
    put(&store, "a", b"0");
    let (mut first, mut second) = (store.begin().unwrap(), store.begin().unwrap());
    first.put_item("a", b"1").unwrap();
    second.put_item("a", b"2").unwrap();
    let mut other = store.begin().unwrap();
    other.put_item("b", b"3").unwrap();
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert!(
        matches!(&error, CommitError::Conflict { what: Contested::Item { name }, .. } if name == "a"),
        "{error}"
    );
    other.commit().unwrap();
    assert_eq!(
        items(&store),
        Items::from([("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"3".to_vec())])
    );
}

#[test]
fn a_serializable_transaction_conflicts_with_a_change_of_what_it_read() {
    let store = Store::in_memory(Options::default());
    let options = TransactionOptions { isolation: Isolation::Serializable, ..TransactionOptions::default() };
    for absent in [true, false] {
        let mut reader = store.begin_with(options).unwrap();
        assert_eq!(reader.item("a").is_none(), absent);
        reader.put_item("b", b"0").unwrap();
        put(&store, "a", b"1");
        assert!(matches!(reader.commit(), Err(CommitError::Conflict { .. })));
    }
}

#[test]
fn a_backup_has_the_items() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::in_memory(Options::default());
    put(&store, "view/a", &[0, 255]);
    store.backup(directory.path().join("copy.eg")).unwrap();
    let copy = Store::open(directory.path().join("copy.eg"), Options::default()).unwrap();
    assert_eq!(items(&copy), items(&store));
}

#[test]
fn names_and_sizes_are_checked_before_anything_is_kept() {
    let store = Store::in_memory(Options::default());
    let mut tx = store.begin().unwrap();
    assert!(tx.put_item("", b"1").is_err());
    assert!(tx.put_item("line\nbreak", b"1").is_err());
    assert!(tx.put_item("big", &vec![0; evergraph_store::MAX_ITEM_BYTES + 1]).is_err());
    tx.commit().unwrap();
    assert_eq!(items(&store), Items::new());
}
