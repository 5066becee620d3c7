//! What is near a vertex or a pair: hops, shared neighbors, local clusters, walks.

use crate::common::{Graph, any_graph, complete, degenerate_graphs, on_one_and_two_threads};
use evergraph_analytics::{
    AlgorithmError, Arguments, Check, Control, KHop, LocalCluster, LocalClusterOptions, Measure,
    NibbleOptions, Value, WalkOptions, algorithm, k_hop, link_prediction, local_cluster, nibble,
    random_walks,
};
use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

const MEASURES: [Measure; 5] = [
    Measure::CommonNeighbors,
    Measure::Jaccard,
    Measure::AdamicAdar,
    Measure::ResourceAllocation,
    Measure::PreferentialAttachment,
];

fn vertices(view: &FlatView) -> Vec<VertexId> {
    (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect()
}

fn hops(view: &FlatView, source: VertexId, k: u32, direction: Direction) -> KHop {
    let result = k_hop(view, source, k, direction, &Control::new()).expect("a result");
    evergraph_analytics::k_hop::verify(view, source, k, direction, &result, &Control::new())
        .expect("a right result");
    result
}

fn check_cluster(view: &FlatView, seed: VertexId, options: &LocalClusterOptions) -> Vec<VertexId> {
    let result = local_cluster(view, seed, options, &Control::new()).expect("a result");
    evergraph_analytics::local_cluster::verify(view, seed, options, &result, &Control::new())
        .expect("a right result");
    let mut members = result.members().to_vec();
    members.sort_unstable();
    members
}

fn check_walks(view: &FlatView, sources: &[VertexId], options: &WalkOptions) -> Vec<Vec<VertexId>> {
    let run = || random_walks(view, sources, options, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(run);
    evergraph_analytics::random_walk::verify(view, sources, options, &result, &Control::new())
        .expect("a right result");
    result
}

proptest! {
    #[test]
    fn agree_with_their_verifiers(
        graph in any_graph(),
        picks in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 1..6),
        k in 0u32..5,
        seed in any::<u64>(),
        alpha in 0.05..0.9,
        epsilon in prop_oneof![Just(1e-4), Just(1e-2), Just(2.0)],
    ) {
        let view = graph.view();
        let existing = vertices(&view);
        if !existing.is_empty() {
            let pairs: Vec<_> = picks.iter().map(|pick| pick.map(|pick| *pick.get(&existing)).into()).collect();
            for measure in MEASURES {
                let run = || link_prediction(&view, &pairs, measure, &Control::new()).expect("a result");
                let scores = run();
                evergraph_analytics::link_prediction::verify(&view, &pairs, measure, &scores, &Control::new()).expect("a right result");
            }
            let sources: Vec<VertexId> = pairs.iter().map(|&(u, _)| u).collect();
            hops(&view, sources[0], k, Direction::Out);
            hops(&view, sources[0], k, Direction::In);
            check_cluster(&view, sources[0], &LocalClusterOptions { alpha, epsilon });
            check_walks(&view, &sources, &WalkOptions { length: k, walks: 3, seed });
        }
    }
}

#[test]
fn degenerate_graphs_have_neighborhoods() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.view();
        for &vertex in vertices(&view).first().iter().copied().chain(vertices(&view).last()) {
            let near = hops(&view, vertex, 200, Direction::Out).vertices.len() as u64;
            assert!(near == 1 || near == view.num_vertices(), "{name}");
            check_cluster(&view, vertex, &LocalClusterOptions::default());
            check_walks(&view, &[vertex, vertex], &WalkOptions { length: 300, walks: 2, seed: 1 });
        }
    }
}

/// The figures of networkx 3.6 for this graph, with a self-loop at 2.
#[test]
fn measures_of_pairs_are_those_of_networkx() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 0), (4, 5), (2, 5), (2, 2), (1, 2)];
    let pairs = [(0, 3), (1, 2), (2, 4), (0, 0)];
    let wanted = [
        [3.0, 2.0, 3.0, 3.0],
        [1.0, 0.4, 0.6, 1.0],
        [2.3785890798049216, 1.8204784532536746, 3.263173494142638, 2.3785890798049216],
        [0.8333333333333333, 0.6666666666666666, 1.1666666666666665, 0.8333333333333333],
        [9.0, 18.0, 18.0, 9.0],
    ];
    for symmetric in [true, false] {
        let view = FlatView::from_edges(6, &edges, symmetric);
        for (measure, wanted) in MEASURES.into_iter().zip(wanted) {
            let found = link_prediction(&view, &pairs, measure, &Control::new()).expect("a result");
            assert!(
                found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12),
                "{found:?}"
            );
        }
    }
}

#[test]
fn a_clique_is_the_cluster_of_its_members() {
    let mut edges: Vec<_> = (0..2)
        .flat_map(|part| complete(20).into_iter().map(move |(a, b)| (part * 20 + a, part * 20 + b)))
        .collect();
    edges.push((5, 25));
    for symmetric in [true, false] {
        let view = Graph::new(40, &edges, symmetric).view();
        for seed in [0, 5, 33] {
            let members = check_cluster(&view, seed, &LocalClusterOptions::default());
            assert_eq!(members, (seed / 20 * 20..seed / 20 * 20 + 20).collect::<Vec<_>>());
        }
    }
}

#[test]
fn walks_choose_every_edge_alike() {
    for chunk_len in [usize::MAX, 2] {
        let view =
            Graph { chunk_len, ..Graph::new(6, &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)], false) }.view();
        let walks = check_walks(&view, &[0], &WalkOptions { length: 1, walks: 10_000, seed: 5 });
        for leaf in 1..6 {
            let times = walks.iter().filter(|walk| walk[1] == leaf).count();
            assert!((1_850..2_150).contains(&times), "{times} times to {leaf}");
        }
    }
}

#[test]
fn senseless_arguments_are_named() {
    let view = FlatView::from_edges(3, &[(0, 1)], false);
    let control = Control::new();
    let not_found = |vertex| Some(AlgorithmError::SourceNotFound { vertex });
    assert_eq!(k_hop(&view, 3, 1, Direction::Out, &control).err(), not_found(3));
    assert_eq!(link_prediction(&view, &[(0, 4)], Measure::Jaccard, &control).err(), not_found(4));
    assert_eq!(random_walks(&view, &[0, 5], &WalkOptions::default(), &control).err(), not_found(5));
    for (wanted, alpha, epsilon) in [("alpha", 0.0, 1.0), ("alpha", 1.0, 1.0), ("epsilon", 0.5, f64::NAN)] {
        let result = local_cluster(&view, 0, &LocalClusterOptions { alpha, epsilon }, &control);
        assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == wanted));
    }
    let jaccard = algorithm("jaccard_coefficient").expect("jaccard_coefficient");
    let uneven = Arguments::new().with("u", Value::Vertices(vec![0, 1])).with("v", Value::Vertices(vec![0]));
    let result = jaccard.run(&view, &uneven, Check::Skip, &control);
    assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "v"));
    let half = Arguments::new().with("u", Value::Vertices(vec![0, 1]));
    let result = jaccard.run(&view, &half, Check::Skip, &control);
    assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "v"));
    let many = FlatView::from_edges(5_000, &[(0, 1)], false);
    let result = jaccard.run(&many, &Arguments::new(), Check::Skip, &control);
    assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "u"));
    let several = Arguments::new().with("source", Value::Vertices(vec![0, 1]));
    let result = algorithm("k_hop").expect("k_hop").run(&view, &several, Check::Skip, &control);
    assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "source"));
}

#[test]
fn the_verifiers_find_wrong_results() {
    let view = FlatView::from_edges(5, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
    let mut near = hops(&view, 0, 1, Direction::Out);
    near.distances[1] = 2;
    assert!(evergraph_analytics::k_hop::verify(&view, 0, 1, Direction::Out, &near, &Control::new()).is_err());
    near.vertices.push(4);
    assert!(evergraph_analytics::k_hop::verify(&view, 0, 1, Direction::Out, &near, &Control::new()).is_err());
    let wrong = evergraph_analytics::link_prediction::verify(
        &view,
        &[(0, 1)],
        Measure::CommonNeighbors,
        &[2.0],
        &Control::new(),
    );
    assert!(wrong.is_err());
    let options = WalkOptions { length: 1, walks: 1, seed: 0 };
    for walk in [vec![0, 3], vec![1, 0], vec![0], vec![0, 1, 2]] {
        assert!(
            evergraph_analytics::random_walk::verify(&view, &[0], &options, &[walk], &Control::new())
                .is_err()
        );
    }
    let options = LocalClusterOptions::default();
    let right = local_cluster(&view, 0, &options, &Control::new()).expect("a result");
    for case in 0..3 {
        let mut wrong = right.clone();
        match case {
            0 => wrong.scores[0] += 0.1,
            1 => wrong.conductance += 0.1,
            _ => wrong.size = wrong.size % wrong.vertices.len() + 1,
        }
        assert!(
            evergraph_analytics::local_cluster::verify(&view, 0, &options, &wrong, &Control::new()).is_err(),
            "case {case}"
        );
    }
}

fn nibbled(view: &FlatView, seed: VertexId, options: &NibbleOptions) -> LocalCluster {
    let result = nibble(view, seed, options, &Control::new()).expect("a result");
    evergraph_analytics::nibble::verify(view, seed, options, &result, &Control::new())
        .expect("a right result");
    result
}

proptest! {
    #[test]
    fn nibble_is_the_walk_over_all_vertices(
        graph in any_graph(),
        seed in any::<prop::sample::Index>(),
        steps in 0u32..15,
        epsilon in prop_oneof![Just(1e-12), Just(1e-3), Just(0.05), Just(2.0)],
    ) {
        let view = graph.view();
        let ids: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        if !ids.is_empty() {
            nibbled(&view, ids[seed.index(ids.len())], &NibbleOptions { steps, epsilon });
        }
    }
}

#[test]
fn nibble_finds_the_clique_of_its_seed_and_goes_no_farther_than_it_is_let() {
    // Cliques of 8 in a ring, one edge between two of them.
    let clique = |first: u32| (first..first + 8).flat_map(move |u| (u + 1..first + 8).map(move |v| (u, v)));
    let mut edges: Vec<_> = (0..12).flat_map(|at| clique(8 * at)).collect();
    edges.extend((0..12).map(|at| (8 * at, (8 * at + 9) % 96)));
    let view = FlatView::from_edges(96, &edges, true);
    let found = nibbled(&view, 20, &NibbleOptions { steps: 10, epsilon: 5e-3 });
    let mut members = found.members().to_vec();
    members.sort_unstable();
    assert_eq!(members, (16..24).collect::<Vec<_>>());
    assert_eq!(found.conductance, 2.0 / 58.0);
    // Nobody holds a tenth per edge but the seed at the start.
    assert_eq!(nibbled(&view, 20, &NibbleOptions { steps: 10, epsilon: 0.1 }).vertices.len(), 8);
    assert_eq!(nibbled(&view, 20, &NibbleOptions { steps: 10, epsilon: 1.0 }).vertices, [20]);
    let mut wrong = found.clone();
    wrong.scores[0] += 0.1;
    let options = NibbleOptions { steps: 10, epsilon: 5e-3 };
    assert!(evergraph_analytics::nibble::verify(&view, 20, &options, &wrong, &Control::new()).is_err());
    assert!(evergraph_analytics::nibble::verify(&view, 21, &options, &found, &Control::new()).is_err());
    let nothing = nibble(&view, 0, &NibbleOptions { epsilon: 0.0, ..options }, &Control::new());
    assert!(matches!(nothing, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "epsilon"));
}
