//! A follower's changes lead from each state to the next, whatever is written in between.

use evergraph_analytics::incremental::{IncrementalBfs, IncrementalComponents, IncrementalDegrees};
use evergraph_analytics::{BfsOptions, Control, bfs, connected_components, degree_statistics};
use evergraph_store::{Options, Store};
use evergraph_stream::Follower;
use evergraph_types::EdgeTypeOptions;
use evergraph_view::{GraphView, Snapshot};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Put(bool, i64, i64),
    Delete(bool, i64, i64),
    DeleteVertex(i64),
    PutVertex(i64),
    Advance,
}

fn any_step() -> impl Strategy<Value = Step> {
    let end = || 1i64..12;
    prop_oneof![
        10 => (any::<bool>(), end(), end()).prop_map(|(ours, src, dst)| Step::Put(ours, src, dst)),
        4 => (any::<bool>(), end(), end()).prop_map(|(ours, src, dst)| Step::Delete(ours, src, dst)),
        1 => end().prop_map(Step::DeleteVertex),
        1 => end().prop_map(Step::PutVertex),
        4 => Just(Step::Advance),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn changes_lead_from_state_to_state(
        multi in any::<bool>(),
        symmetric in any::<bool>(),
        all_types in any::<bool>(),
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let store = Store::in_memory(Options { background: false, ..Options::default() });
        for edge_type in ["a", "b"] {
            let options = EdgeTypeOptions { multi, symmetric, ..EdgeTypeOptions::default() };
            store.create_edge_type(edge_type, options).expect("a new type");
        }
        store.put_vertex(0, None, &[]).expect("put");
        store.put_edge(0, 1, "a", &[]).expect("put");
        let mut follower = Follower::new(&store, (!all_types).then_some("a")).expect("a follower");
        let start: Snapshot = follower.snapshot().clone();
        let control = Control::new();
        let mut search = IncrementalBfs::new(&start, &[0], &BfsOptions::default(), &control).expect("a search");
        let mut components = IncrementalComponents::new(&start, &control).expect("components");
        let mut degrees = IncrementalDegrees::new(&start, &control).expect("degrees");
        for step in steps.iter().chain([&Step::Advance]) {
            let name = |ours: bool| if ours { "a" } else { "b" };
            match *step {
                Step::Put(ours, src, dst) => _ = store.put_edge(src, dst, name(ours), &[]).expect("put"),
                Step::Delete(ours, src, dst) => _ = store.delete_edge(src, dst, name(ours)).expect("deleted"),
                Step::DeleteVertex(vertex) => {
                    _ = store.transact(0, |tx| Ok::<_, evergraph_store::CommitError>(tx.delete_vertex(vertex)?)).expect("deleted");
                }
                Step::PutVertex(vertex) => _ = store.put_vertex(vertex, None, &[]).expect("put"),
                Step::Advance => {
                    let followed = follower.advance().expect("an advance");
                    search.update(&followed.after, &followed.changes).expect("an update");
                    components.update(&followed.after, &followed.changes).expect("an update");
                    degrees.update(&followed.after, &followed.changes).expect("an update");
                    let view = &followed.after;
                    prop_assert_eq!(view.version(), store.version().expect("open").sequence());
                    let twin = bfs(view, &[0], &BfsOptions::default(), &control).expect("a result");
                    prop_assert_eq!(search.distances(), &twin.distances);
                    prop_assert_eq!(components.result(), connected_components(view, &control).expect("a result"));
                    prop_assert_eq!(degrees.result(), degree_statistics(view, &control).expect("a result"));
                    prop_assert!(view.num_vertices() > 0);
                }
            }
        }
    }
}
