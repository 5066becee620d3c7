//! Streams: whole commits in order, batches that end where they should, states that are those of their versions.

use std::time::Duration;

use evergraph_store::{Options, Retain, Store};
use evergraph_stream::{Batch, Stream, StreamError, StreamOptions};
use evergraph_types::{EdgeTypeOptions, Property, PropertyType};
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
