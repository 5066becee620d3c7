//! Streams: whole commits in order, batches that end where they should, states that are those of their versions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use evergraph_disk::SimDisk;
use evergraph_store::{ChangesError, Options, Retain, Store};
use evergraph_stream::{Batch, Stream, StreamError, StreamOptions};
use evergraph_types::{Alteration, EdgeTypeOptions, Property, PropertyOwner, PropertyType};
use evergraph_view::{GraphView, Snapshot};

const NOW: Option<Duration> = Some(Duration::ZERO);

fn in_memory(retain: Option<Retain>) -> Store {
    Store::in_memory(Options { retain, background: false, ..Options::default() })
}

fn stream(store: &Store, batch_size: usize, is_stateful: bool) -> Stream {
    Stream::new(store, StreamOptions { batch_size, is_stateful, ..StreamOptions::default() })
        .expect("a stream")
}

fn all(stream: &mut Stream) -> Vec<Batch> {
    std::iter::from_fn(|| stream.next(NOW).expect("readable")).collect()
}

fn put(store: &Store, edges: std::ops::Range<i64>) {
    for edge in edges {
        store.put_edge(edge, edge + 1, "edge", &[("n", edge.into())]).expect("committed");
    }
}

/// Batches tell their keys when those are gone and others have their ids: one that is held, and one that was being gathered.
#[test]
fn batches_tell_the_keys_that_their_vertices_had() {
    for is_stateful in [false, true] {
        let store = in_memory(None);
        put(&store, 0..3);
        let mut stream = stream(&store, 1000, is_stateful);
        let waits = StreamOptions { every: Some(Duration::from_millis(200)), ..StreamOptions::default() };
        let mut gathering = Stream::new(&store, waits).expect("a stream");
        put(&store, 10..20);
        let held = all(&mut stream);
        assert!(gathering.try_next().expect("readable").is_none() && gathering.is_gathering());
        let come_and_go = |stream: &mut Stream, first: i64| {
            (first..first + 11).for_each(|key| _ = store.delete_vertex(key).expect("deleted"));
            all(stream);
            (0..2).for_each(|_| store.compact().expect("in memory"));
            let bound = store.version().expect("open").id_bound();
            put(&store, first + 90..first + 100);
            (bound, store.version().expect("open").id_bound())
        };
        for round in 0..4 {
            let (before, after) = come_and_go(&mut stream, 10 + 90 * round);
            assert_eq!(after, before + 11, "one still gathers what names the ids");
        }
        let keys = |batch: &Batch| format!("{:?}", batch.names.keys_of(&batch.edges[0].src));
        assert_eq!(held.len(), 1);
        assert!(keys(&held[0]).contains("10,"), "{}", keys(&held[0]));
        let found = gathering.next(Some(Duration::from_secs(60))).expect("readable").expect("a batch");
        assert!(keys(&found).contains("10,"), "{}", keys(&found));
        drop((held, found, gathering));
        // A state is held from one batch to the next.
        (4..6).for_each(|round| _ = come_and_go(&mut stream, 10 + 90 * round));
        let (before, after) = come_and_go(&mut stream, 550);
        assert_eq!(after, before, "nobody is behind");
    }
}

#[test]
fn batches_end_between_commits_and_miss_none() {
    let store = in_memory(None);
    let mut stream = stream(&store, 3, false);
    put(&store, 0..10);
    store.delete_vertex(5).expect("deleted");
    let batches = all(&mut stream);
    assert_eq!(batches.iter().map(|batch| batch.version).collect::<Vec<_>>(), [3, 6, 9, 11]);
    let mut after = 0;
    for batch in &batches {
        assert_eq!(batch.after, after);
        after = batch.version;
        let (edges, deleted) =
            (batch.names.listed_edges(&batch.edges), batch.names.listed_edges(&batch.deleted));
        assert_eq!(edges.schema(), deleted.schema());
        assert_eq!(edges.num_rows() + deleted.num_rows(), 3);
    }
    assert_eq!(batches[3].names.keys_of(&batches[3].changed_vertices).len(), 5);
}

#[test]
fn with_history_every_batch_has_its_state() {
    let store = in_memory(Some(Retain::Everything));
    let mut stream = stream(&store, 4, true);
    put(&store, 0..30);
    store.checkpoint().expect("archived");
    let batches = all(&mut stream);
    assert_eq!(batches.len(), 8);
    for batch in batches {
        let state = batch.snapshot.expect("stateful");
        assert_eq!((state.version(), state.num_edges()), (batch.version, batch.version));
    }
}

#[test]
fn without_history_a_batch_goes_on_to_the_newest_version() {
    let store = in_memory(None);
    let mut stream = stream(&store, 4, true);
    put(&store, 0..30);
    let batches = all(&mut stream);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].snapshot.as_ref().map(Snapshot::version), Some(30));
}

#[test]
fn no_batch_comes_of_what_is_not_asked_for() {
    let store = in_memory(None);
    let property = Property { name: "amount".to_owned(), kind: PropertyType::Float64 };
    let options = EdgeTypeOptions { multi: true, properties: vec![property], ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", options).expect("created");
    let edge_types = |name: &str| Some(vec![name.to_owned()]);
    let unknown = StreamOptions { edge_types: edge_types("owes"), ..StreamOptions::default() };
    assert!(matches!(Stream::new(&store, unknown), Err(StreamError::Schema(_))));
    assert!(matches!(
        Stream::new(&store, StreamOptions { batch_size: 0, ..StreamOptions::default() }),
        Err(StreamError::BatchSize)
    ));
    let options = StreamOptions { edge_types: edge_types("pays"), ..StreamOptions::default() };
    let mut stream = Stream::new(&store, options).expect("a stream");
    put(&store, 0..5);
    assert!(stream.next(NOW).expect("readable").is_none());
    store.put_edge(1, 2, "pays", &[("amount", 0.5.into())]).expect("put");
    store.put_edge(1, 2, "pays", &[]).expect("put");
    let batch = stream.next(NOW).expect("readable").expect("there");
    let table = batch.names.listed_edges(&batch.edges);
    let names: Vec<_> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["src", "dst", "amount", "version", "time"]);
    assert_eq!((table.num_rows(), table.column(2).null_count()), (2, 1));
    assert_eq!(batch.names.listed_edges(&batch.deleted).num_rows(), 0);
}

#[test]
fn names_are_those_of_the_moment_and_what_was_dropped_is_told_no_more() {
    let store = in_memory(None);
    put(&store, 0..1);
    let property = Property { name: "amount".to_owned(), kind: PropertyType::Float64 };
    let options = EdgeTypeOptions { properties: vec![property], ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", options).expect("created");
    let alter = |alteration| store.alter(&alteration).expect("it is there");
    let mut all_types = stream(&store, 100, false);
    let options = StreamOptions { edge_types: Some(vec!["edge".to_owned()]), ..StreamOptions::default() };
    let mut one_type = Stream::new(&store, options).expect("a stream");
    put(&store, 7..8);
    store.put_edge(1, 2, "pays", &[("amount", 0.5.into())]).expect("put");
    alter(Alteration::RenameEdgeType { name: "edge".to_owned(), new_name: "knows".to_owned() });
    let owner = PropertyOwner::EdgeType("knows".to_owned());
    alter(Alteration::DropProperty { owner, name: "n".to_owned() });
    alter(Alteration::DropEdgeType { name: "pays".to_owned() });
    let batch = all_types.next(NOW).expect("readable").expect("there");
    let table = batch.names.listed_edges(&batch.edges);
    let schema = table.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!((names, table.num_rows()), (vec!["src", "dst", "version", "time"], 1));
    // The ends, and the vertex that came with the edge of the type that is gone.
    assert_eq!(batch.changed_vertices.len(), 3);
    store.put_edge(8, 9, "knows", &[]).expect("put");
    let batch = one_type.next(NOW).expect("readable").expect("there");
    assert_eq!(batch.names.listed_edges(&batch.edges).num_rows(), 2);
    alter(Alteration::DropEdgeType { name: "knows".to_owned() });
    assert!(matches!(one_type.next(NOW), Err(StreamError::TypesDropped { .. })));
}

#[test]
fn a_batch_by_time_has_the_state_at_its_end() {
    let store = in_memory(None);
    let every = Some(Duration::from_secs(1));
    let options = StreamOptions { every, is_stateful: true, ..StreamOptions::default() };
    let mut stream = Stream::new(&store, options).expect("a stream");
    put(&store, 0..1);
    let batch = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            put(&store, 1..3);
        });
        stream.next(None).expect("readable").expect("there")
    });
    assert_eq!((batch.version, batch.edges.len()), (3, 3));
    assert_eq!(batch.snapshot.map(|state| state.num_edges()), Some(3));
}

/// Wherever reading fails, the next pull goes on, and what was not given out is not acknowledged.
#[test]
fn no_commit_is_lost_to_an_error() {
    let mut failed = 0;
    for nth in 0..12 {
        let disk = SimDisk::new(0);
        let options = Options { retain: Some(Retain::Everything), background: false, ..Options::default() };
        let open = || Store::open_on(Arc::new(disk.clone()), Path::new("/net.eg"), options.clone());
        let store = open().expect("a good disk");
        put(&store, 0..10);
        store.checkpoint().expect("archived");
        put(&store, 10..20);
        let (name, after) = (Some("copy".to_owned()), Some(0));
        let options =
            StreamOptions { name, after, batch_size: 4, is_stateful: true, ..StreamOptions::default() };
        let mut stream = Stream::new(&store, options).expect("a stream");
        disk.fail_look_at(nth);
        let (mut given, mut rows) = (0, 0);
        loop {
            match stream.next(NOW) {
                Ok(None) => break,
                Ok(Some(batch)) => {
                    assert_eq!(
                        (batch.after, batch.snapshot.expect("a state").version()),
                        (given, batch.version)
                    );
                    (given, rows) = (batch.version, rows + batch.names.listed_edges(&batch.edges).num_rows());
                }
                Err(_) => {
                    failed += 1;
                    assert!(stream.position() == given && store.cursors()[0].1 <= given);
                }
            }
        }
        assert_eq!((given, rows), (20, 20), "the look {nth} failed");
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn a_slow_reader_is_told_that_retention_has_passed_it() {
    let disk = SimDisk::new(0);
    let retain = Some(Retain::Commits(10));
    let options = Options { retain, background: false, log_limit_bytes: 1000, ..Options::default() };
    let store = Store::open_on(Arc::new(disk), Path::new("/net.eg"), options).expect("a good disk");
    let mut slow = stream(&store, 5, true);
    for round in 0..20 {
        put(&store, round * 20..round * 20 + 20);
        store.checkpoint().expect("archived");
    }
    let error = loop {
        match slow.next(NOW) {
            Ok(batch) => assert!(batch.is_some(), "it is told"),
            Err(error) => break error,
        }
    };
    let StreamError::Changes(ChangesError::Trimmed { first, .. }) = error else { panic!("{error}") };
    let options = StreamOptions { after: Some(first - 1), ..StreamOptions::default() };
    let mut again = Stream::new(&store, options).expect("there is something from there on");
    assert_eq!(all(&mut again).last().map(|batch| batch.version), Some(400));
}
