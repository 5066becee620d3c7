//! A backup is a store of its own with the graph as it was, taken while commits go on.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use evergraph_store::{BackupError, ListFormat, Options, Retain, Store, check};
use evergraph_types::{Direction, EdgeBatch, KeyColumn, Value};

fn fill(store: &Store) {
    let edges = (0..3000i64).map(|edge| (edge % 70, edge * 7 % 1000));
    let (src, dst): (Vec<i64>, Vec<i64>) = edges.unzip();
    let batch = EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns: Vec::new() };
    store.add_edges("edge", vec![batch]).unwrap();
    for vertex in 0..50i64 {
        store.put_vertex(vertex, Some("Person"), &[("name", format!("v{vertex}").as_str().into())]).unwrap();
        store.put_edge(vertex, vertex + 1, "pays", &[("amount", 1.5.into()), ("note", "x".into())]).unwrap();
    }
    store.delete_vertex(3).unwrap();
}

#[track_caller]
fn assert_equal(left: &Store, right: &Store) {
    let (left, right) = (left.version().unwrap(), right.version().unwrap());
    assert_eq!(
        (left.sequence(), left.num_vertices(), left.schema()),
        (right.sequence(), right.num_vertices(), right.schema())
    );
    assert_eq!(left.vertex_ids(), right.vertex_ids());
    for vertex in left.vertex_ids() {
        assert_eq!(left.key(vertex), right.key(vertex));
        assert_eq!(left.vertex_type(vertex), right.vertex_type(vertex));
        assert_eq!(left.vertex_property(vertex, 0), right.vertex_property(vertex, 0));
        for edge_type in 0..left.schema().edge_types.len() as u16 {
            for direction in [Direction::Out, Direction::In] {
                let edges = |version: &evergraph_store::Version| {
                    let mut edges: Vec<(u32, Vec<Value>)> = Vec::new();
                    version.for_each_edge(edge_type, direction, vertex, &[0, 1], &mut |neighbor, values| {
                        edges.push((neighbor, values.to_vec()));
                    });
                    edges
                };
                assert_eq!(edges(&left), edges(&right));
            }
        }
    }
}

#[test]
fn a_backup_holds_what_the_store_held() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("net.eg");
    let options = Options { bulk_edges: 1000, format: Some(ListFormat::Compact), ..Options::default() };
    for store in [Store::in_memory(Options::default()), Store::open(&path, options).unwrap()] {
        fill(&store);
        store.checkpoint().unwrap();
        store.put_edge(1, 2, "pays", &[("amount", 9.0.into())]).unwrap();
        let copy = directory.path().join(if store.path().is_some() { "disk.eg" } else { "memory.eg" });
        assert_eq!(store.backup(&copy).unwrap(), store.version().unwrap().sequence());
        assert!(check(&copy).unwrap().is_healthy());
        let backup = Store::open(&copy, Options::default()).unwrap();
        assert_equal(&store, &backup);
        assert_eq!(store.version().unwrap().format(), backup.version().unwrap().format());
        // Both go on by themselves.
        backup.put_edge(1, 999, "pays", &[]).unwrap();
        store.put_edge(5, 6, "pays", &[]).unwrap();
        backup.close().unwrap();
        assert!(check(&copy).unwrap().is_healthy());
    }
}

#[test]
fn a_store_in_memory_that_keeps_its_history_is_saved_to_disk() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.eg");
    let store = Store::in_memory(Options { retain: Some(Retain::Everything), ..Options::default() });
    fill(&store);
    store.backup(&copy).unwrap();
    assert!(check(&copy).unwrap().is_healthy());
    assert_equal(&store, &Store::open(&copy, Options::default()).unwrap());
}

#[test]
fn commits_go_on_while_a_backup_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("net.eg"), Options::default()).unwrap();
    fill(&store);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (0..300i64).for_each(|turn| {
                // Both ends of a turn in one transaction.
                let mut tx = store.begin().unwrap();
                tx.put_edge(turn, turn + 1, "turn", &[]).unwrap();
                tx.put_edge(turn + 1, turn, "turn", &[]).unwrap();
                tx.commit().unwrap();
                if turn % 100 == 50 {
                    store.compact().unwrap();
                }
            });
        });
        for turn in 0..5 {
            let copy = directory.path().join(format!("{turn}.eg"));
            store.backup(&copy).unwrap();
            assert!(check(&copy).unwrap().is_healthy());
            let backup = Store::open(&copy, Options { read_only: true, ..Options::default() }).unwrap();
            let version = backup.version().unwrap();
            if let Some((turns, _)) = version.schema().edge_type("turn") {
                assert_eq!(version.num_edges(turns) % 2, 0);
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_backup_overwrites_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::in_memory(Options::default());
    let copy = directory.path().join("copy.eg");
    store.backup(&copy).unwrap();
    assert!(matches!(store.backup(&copy), Err(BackupError::Exists { .. })));
    std::fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(store.backup(directory.path()), Err(BackupError::Target(_))));
    store.close().unwrap();
    assert!(matches!(store.backup(directory.path().join("other.eg")), Err(BackupError::Closed(_))));
}

#[test]
fn a_backup_does_not_lie_in_its_store() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("own.eg");
    let store = Store::open(&own, Options::default()).unwrap();
    let inside = own.join("copies/copy.eg");
    assert!(matches!(store.backup(&inside), Err(BackupError::Inside { .. })));
    assert!(!own.join("copies").exists());
    store.backup(directory.path().join("own.eg.copy")).unwrap();
}
