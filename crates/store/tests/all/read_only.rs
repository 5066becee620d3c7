//! A store open to be read: everything can be seen, every write is refused, nothing on disk is touched.

use crate::common::{Action, Case, Model, Runner, dump, number_batch, open, options, try_open};
use evergraph_disk::{CrashPlan, Fault, SimDisk};
use evergraph_store::{CommitError, Options, Store};
use evergraph_types::{EdgeTypeOptions, KeyKind};

fn read_only() -> Options {
    Options { read_only: true, ..options() }
}

/// A store with a segment and a log behind it.
fn sample() -> SimDisk {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    store.add_edges("knows", vec![number_batch((0..50).map(|row| (row % 7, row)))]).expect("it fits");
    store.checkpoint().expect("a good disk");
    store.put_vertex(3, Some("Person"), &[("age", 5.into())]).expect("it fits");
    store.put_edge(3, 99, "likes", &[("much", true.into())]).expect("it fits");
    store.close().expect("a good disk");
    disk
}

fn refuses(store: &Store) {
    let refused = |outcome: Result<(), CommitError>| {
        assert!(matches!(outcome, Err(CommitError::ReadOnly)), "{outcome:?}");
    };
    refused(store.put_vertex(1, None, &[]).map(drop));
    refused(store.put_edge(1, 2, "knows", &[]).map(drop));
    refused(store.delete_vertex(1).map(drop));
    refused(store.delete_edge(0, 0, "knows").map(drop));
    refused(store.add_edges("knows", vec![number_batch([(1, 2)])]).map(drop));
    refused(store.delete_edges("knows", vec![number_batch([(0, 0)])]).map(drop));
    refused(store.create_edge_type("new", EdgeTypeOptions::default()));
    refused(store.create_vertex_type("new", &[]));
    refused(store.begin().map(drop));
    refused(store.transact(3, |_| Ok::<(), CommitError>(())));
    refused(store.checkpoint());
    refused(store.compact());
}

#[test]
fn every_write_is_refused_and_nothing_is_touched() {
    let disk = sample();
    let expected = dump(&open(&disk, options()).version().expect("open"));
    let operations = disk.operations();
    for bulk_edges in [1, 1000] {
        let store = open(&disk, Options { bulk_edges, ..read_only() });
        assert!(store.is_read_only());
        refuses(&store);
        assert_eq!(dump(&store.version().expect("open")), expected);
        assert_eq!(store.stats().failure, None);
        store.close().expect("nothing to sync");
        store.close().expect("closing again is no error");
        assert!(store.version().is_err());
    }
    assert_eq!(disk.operations(), operations);
}

#[test]
fn a_store_in_memory_can_be_read_only_too() {
    refuses(&Store::in_memory(read_only()));
}

#[test]
fn what_a_crash_left_is_read_as_recovery_would_find_it_and_left_as_it_is() {
    let (keys, durability, format) = (KeyKind::Text, Default::default(), Default::default());
    let case = Case {
        keys,
        bulk_edges: 8,
        memory_limit: None,
        keeps_history: false,
        on_disk: true,
        durability,
        format,
    };
    let mut runner = Runner::resume(case, SimDisk::new(0), Model::default()).expect("a good disk");
    let edges = |count: u16| (0..count).map(|row| (row % 5, row)).collect();
    let actions = [
        Action::Declare,
        Action::Add { edge_type: 1, edges: edges(5), columns: 3, parts: 1 },
        Action::Checkpoint,
        Action::Add { edge_type: 0, edges: edges(7), columns: 3, parts: 1 },
        Action::Add { edge_type: 4, edges: edges(12), columns: 0, parts: 2 },
        Action::Add { edge_type: 3, edges: edges(6), columns: 1, parts: 1 },
        Action::Compact,
        Action::Add { edge_type: 3, edges: edges(3), columns: 1, parts: 1 },
    ];
    actions.iter().for_each(|action| runner.run(action));
    let mut replay = runner.disk.replay();
    while replay.advance() {
        for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced, CrashPlan::Random(replay.operations())]
        {
            let disk = replay.crash(plan);
            // Any write would fail, and show.
            (0..100).for_each(|operation| disk.fail_at(operation, Fault::Eio));
            let read = try_open(&disk, read_only());
            assert_eq!(disk.operations(), 0, "{plan:?} after {}", replay.operations());
            match read {
                Ok(store) => {
                    let recovered = open(&replay.crash(plan), options());
                    let (read, recovered) =
                        (store.version().expect("open"), recovered.version().expect("open"));
                    assert_eq!(read.sequence(), recovered.sequence());
                    assert_eq!(dump(&read), dump(&recovered));
                }
                Err(error) => assert!(error.to_string().contains("no store"), "{error}"),
            }
        }
    }
}
