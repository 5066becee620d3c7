//! A follower's changes, and those of a stream's batches, lead from each state to the next, whatever is written in between.

use std::time::Duration;

use evergraph_analytics::incremental::{
    Changes, IncrementalBfs, IncrementalComponents, IncrementalDegrees, takes_repeats,
};
use evergraph_analytics::{BfsOptions, Control, bfs, connected_components, degree_statistics};
use evergraph_store::{Options, Retain, Store};
use evergraph_stream::{Follower, Stream, StreamError, StreamOptions};
use evergraph_types::{Alteration, EdgeTypeOptions};
use evergraph_view::Snapshot;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Put(bool, i64, i64),
    Delete(bool, i64, i64),
    DeleteVertex(i64),
    PutVertex(i64),
    Advance,
    Archive,
}

fn any_step() -> impl Strategy<Value = Step> {
    let end = || 1i64..12;
    prop_oneof![
        10 => (any::<bool>(), end(), end()).prop_map(|(ours, src, dst)| Step::Put(ours, src, dst)),
        4 => (any::<bool>(), end(), end()).prop_map(|(ours, src, dst)| Step::Delete(ours, src, dst)),
        2 => end().prop_map(Step::DeleteVertex),
        1 => end().prop_map(Step::PutVertex),
        4 => Just(Step::Advance),
        2 => Just(Step::Archive),
    ]
}

/// A store with two edge types, and a vertex and an edge in it.
fn store(multi: bool, symmetric: bool, retain: Option<Retain>) -> Store {
    let store = Store::in_memory(Options { background: false, retain, ..Options::default() });
    for edge_type in ["a", "b"] {
        let options = EdgeTypeOptions { multi, symmetric, ..EdgeTypeOptions::default() };
        store.create_edge_type(edge_type, options).expect("a new type");
    }
    store.put_vertex(0, None, &[]).expect("put");
    store.put_edge(0, 1, "a", &[]).expect("put");
    store
}

/// Drops an edge type, and makes another one of that name.
fn make_anew(store: &Store, multi: bool, symmetric: bool) {
    store.alter(&Alteration::DropEdgeType { name: "b".to_owned() }).expect("dropped");
    let options = EdgeTypeOptions { multi, symmetric, ..EdgeTypeOptions::default() };
    store.create_edge_type("b", options).expect("a new type");
}

/// Whether the step was one of writing.
fn write(store: &Store, step: &Step) -> bool {
    let name = |ours: bool| if ours { "a" } else { "b" };
    match *step {
        Step::Put(ours, src, dst) => _ = store.put_edge(src, dst, name(ours), &[]).expect("put"),
        Step::Delete(ours, src, dst) => _ = store.delete_edge(src, dst, name(ours)).expect("deleted"),
        Step::DeleteVertex(vertex) => _ = store.delete_vertex(vertex).expect("deleted"),
        Step::PutVertex(vertex) => _ = store.put_vertex(vertex, None, &[]).expect("put"),
        Step::Archive => store.compact().expect("archived"),
        Step::Advance => return false,
    }
    true
}

/// Algorithms that read all kinds of changes.
struct Algorithms {
    tolerant: Tolerant,
    degrees: IncrementalDegrees,
}

/// Those of them that take repeats.
struct Tolerant {
    search: IncrementalBfs,
    components: IncrementalComponents,
}

impl Algorithms {
    fn new(start: &Snapshot) -> Self {
        let degrees = IncrementalDegrees::new(start, &Control::new()).expect("degrees");
        Algorithms { tolerant: Tolerant::new(start), degrees }
    }

    fn follow(&mut self, view: &Snapshot, changes: &Changes) -> Result<(), TestCaseError> {
        self.tolerant.follow(view, changes)?;
        self.degrees.update(view, changes).expect("an update");
        let twin = degree_statistics(view, &Control::new()).expect("a result");
        prop_assert_eq!(self.degrees.result(), twin);
        Ok(())
    }
}

impl Tolerant {
    fn new(start: &Snapshot) -> Self {
        assert!(takes_repeats("bfs") && takes_repeats("connected_components") && !takes_repeats("sssp"));
        let control = Control::new();
        let search = IncrementalBfs::new(start, &[0], &BfsOptions::default(), &control);
        let components = IncrementalComponents::new(start, &control).expect("components");
        Tolerant { search: search.expect("a search"), components }
    }

    fn follow(&mut self, view: &Snapshot, changes: &Changes) -> Result<(), TestCaseError> {
        self.search.update(view, changes).expect("an update");
        self.components.update(view, changes).expect("an update");
        let control = Control::new();
        let twin = bfs(view, &[0], &BfsOptions::default(), &control).expect("a result");
        prop_assert_eq!(self.search.distances(), &twin.distances);
        let twin = connected_components(view, &control).expect("a result");
        prop_assert_eq!(self.components.result(), twin);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn changes_lead_from_state_to_state(
        multi in any::<bool>(),
        symmetric in any::<bool>(),
        all_types in any::<bool>(),
        is_dropped_after in 0usize..60,
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let store = store(multi, symmetric, None);
        let mut follower = Follower::new(&store, (!all_types).then_some("a")).expect("a follower");
        let mut algorithms = Algorithms::new(follower.snapshot());
        let mut with_repeats = Follower::new(&store, (!all_types).then_some("a")).expect("a follower");
        with_repeats.take_repeats();
        let mut tolerant = Tolerant::new(with_repeats.snapshot());
        for (at, step) in steps.iter().chain([&Step::Advance]).enumerate() {
            if at == is_dropped_after && all_types {
                make_anew(&store, multi, symmetric);
            }
            if !write(&store, step) {
                let followed = follower.advance().expect("an advance");
                prop_assert_eq!(followed.after.version(), store.version().expect("open").sequence());
                algorithms.follow(&followed.after, &followed.changes)?;
                let followed = with_repeats.advance().expect("an advance");
                tolerant.follow(&followed.after, &followed.changes)?;
            }
        }
    }

    #[test]
    fn batches_lead_from_state_to_state(
        multi in any::<bool>(),
        symmetric in any::<bool>(),
        all_types in any::<bool>(),
        keeps_history in any::<bool>(),
        is_dropped_after in 0usize..60,
        batch_size in 1usize..8,
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let store = store(multi, symmetric, keeps_history.then_some(Retain::Everything));
        let edge_types = (!all_types).then(|| vec!["a".to_owned()]);
        let options = StreamOptions { edge_types, batch_size, is_stateful: true, ..StreamOptions::default() };
        let mut stream = Stream::new(&store, options).expect("a stream");
        // What is written before an algorithm begins to follow is for it to come all the same.
        store.put_edge(1, 2, "a", &[]).expect("put");
        let mut state = stream.state().expect("that of the beginning");
        let mut algorithms = Algorithms::new(&state);
        for (at, step) in steps.iter().chain([&Step::Advance]).enumerate() {
            if at == is_dropped_after && all_types {
                make_anew(&store, multi, symmetric);
            }
            if write(&store, step) {
                continue;
            }
            while let Some(batch) = stream.next(Some(Duration::ZERO)).expect("a batch") {
                let after = batch.snapshot.clone().expect("stateful");
                let before = batch.before.clone().expect("known from the beginning");
                prop_assert_eq!(before.version(), state.version());
                prop_assert_eq!(stream.state().expect("held").version(), after.version());
                algorithms.follow(&after, &batch.changes().expect("both are known"))?;
                state = after;
            }
        }
    }
}

#[test]
fn a_stream_without_states_has_no_changes() {
    let store = store(false, false, None);
    let mut stream = Stream::new(&store, StreamOptions::default()).expect("a stream");
    assert!(matches!(stream.state(), Err(StreamError::Stateless)));
    store.put_edge(1, 2, "a", &[]).expect("put");
    let batch = stream.next(Some(Duration::ZERO)).expect("readable").expect("there");
    assert!(batch.changes().is_none());
    // Of the past, the state is known only with history.
    let past = StreamOptions { is_stateful: true, after: Some(4), ..StreamOptions::default() };
    let mut stream = Stream::new(&store, past).expect("a stream");
    assert!(matches!(stream.state(), Err(StreamError::History(_))));
    let batch = stream.next(Some(Duration::ZERO)).expect("readable").expect("there");
    assert!(batch.before.is_none() && batch.changes().is_none());
    assert_eq!(stream.state().expect("that of the batch").version(), batch.version);
}
