//! node2vec walks, searches from several sources and temporal reachability, against definitions and verifiers.

use std::collections::BTreeMap;

use crate::common::{any_graph, degenerate_graphs, on_one_and_two_threads};
use evergraph_analytics::{
    AlgorithmError, BfsOptions, Control, MultiSourceBfs, Node2vecOptions, TemporalOptions,
    TemporalReachability, Weight, multi_source_bfs, node2vec_walks, temporal_reachability,
};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn walks(view: &FlatView, sources: &[VertexId], options: &Node2vecOptions) -> Vec<Vec<VertexId>> {
    let run = || node2vec_walks(view, sources, options, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(run);
    evergraph_analytics::node2vec_walk::verify(view, sources, options, &result, &Control::new())
        .expect("a right result");
    result
}

fn hops(view: &FlatView, sources: &[VertexId], options: &BfsOptions) -> MultiSourceBfs {
    let run = || multi_source_bfs(view, sources, options, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(run);
    evergraph_analytics::multi_source_bfs::verify(view, sources, options, &result, &Control::new())
        .expect("a right result");
    result
}

fn arrivals(view: &FlatView, sources: &[VertexId], options: &TemporalOptions) -> TemporalReachability {
    let run = || temporal_reachability(view, sources, options, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(run);
    let verified =
        evergraph_analytics::temporal_reachability::verify(view, sources, options, &result, &Control::new());
    verified.expect("a right result");
    result
}

fn timed() -> TemporalOptions {
    TemporalOptions { time: Some("weight".to_owned()), ..TemporalOptions::default() }
}

fn existing(view: &FlatView) -> Vec<VertexId> {
    (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect()
}

proptest! {
    #[test]
    fn agree_with_their_verifiers(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..4.0, (0u8..4).prop_map(f64::from)], 1..50),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        (p, q) in (prop_oneof![Just(1.0), 0.001..50.0], prop_oneof![Just(1.0), 0.001..50.0]),
        weighted in any::<bool>(),
        depth_limit in prop::option::of(0u32..4),
        (reverse, strict) in any::<(bool, bool)>(),
        (start, end) in (prop::option::of(0.0..3.0), prop::option::of(1.0..4.0)),
        seed in any::<u64>(),
    ) {
        let view = graph.weighted_view(&weights);
        let all = existing(&view);
        let sources: Vec<VertexId> =
            picks.iter().filter(|_| !all.is_empty()).map(|pick| *pick.get(&all)).collect();
        let weight = if weighted { Weight::Usual } else { Weight::One };
        walks(&view, &sources, &Node2vecOptions { length: 12, walks: 2, p, q, weight, seed });
        hops(&view, &sources, &BfsOptions { reverse, depth_limit });
        arrivals(&view, &sources, &TemporalOptions { start, end, strict, ..timed() });
    }
}

#[test]
fn degenerate_graphs_from_every_vertex() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.weighted_view(&[2.0]);
        let sources = existing(&view);
        let pairs = hops(&view, &sources, &BfsOptions::default()).sources.len();
        assert!(name != "path" || pairs == 130 * 131 / 2, "{pairs}");
        assert_eq!(arrivals(&view, &sources, &timed()).reached, view.num_vertices(), "{name}");
        walks(&view, &sources, &Node2vecOptions { length: 5, ..Node2vecOptions::default() });
    }
}

/// How often each third vertex follows, against the chances of the paper's formula.
#[test]
fn steps_have_the_chances_of_the_definition() {
    // From 0 to 1; of the neighbors of 1, vertex 0 is where the walk came from, 2 is a neighbor of 0, 3 and 4 are not.
    let edges = [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 2.0), (1, 3, 1.0), (1, 4, 3.0)];
    let view = FlatView::from_weighted_edges(5, &edges, true);
    for (weighted, p, q) in [(false, 0.25, 4.0), (false, 4.0, 0.25), (true, 0.01, 1.0), (true, 2.0, 50.0)] {
        let weight = if weighted { Weight::Usual } else { Weight::One };
        let options = Node2vecOptions { length: 2, walks: 40_000, p, q, weight, seed: 7 };
        let mut counts = BTreeMap::<VertexId, f64>::new();
        let found = walks(&view, &[0], &options);
        found.iter().filter(|walk| walk[1] == 1).for_each(|walk| *counts.entry(walk[2]).or_default() += 1.0);
        let seen: f64 = counts.values().sum();
        let chances = [(0, 1.0 / p), (2, 2.0), (3, 1.0 / q), (4, 3.0 / q)];
        let chances = chances.map(|(vertex, chance)| {
            let plain = [(2, 1.0), (4, 1.0 / q)].into_iter().find(|(other, _)| *other == vertex && !weighted);
            (vertex, plain.map_or(chance, |(_, chance)| chance))
        });
        let total: f64 = chances.iter().map(|(_, chance)| chance).sum();
        for (vertex, chance) in chances {
            let (found, wanted) = (counts.get(&vertex).copied().unwrap_or(0.0) / seen, chance / total);
            let deviation = (wanted * (1.0 - wanted) / seen).sqrt();
            assert!(
                (found - wanted).abs() < 5.0 * deviation + 1e-4,
                "{vertex} at {p}, {q}: {found}, not {wanted}"
            );
        }
    }
}

#[test]
fn news_passes_within_one_time_unless_paths_are_strict() {
    let edges = [(3, 4, 1.0), (0, 1, 2.0), (2, 3, 2.0), (1, 2, 2.0), (3, 5, 3.0), (5, 0, 9.0)];
    let view = FlatView::from_weighted_edges(6, &edges, false);
    let never = f64::INFINITY;
    assert_eq!(arrivals(&view, &[0], &timed()).arrivals, [1.0, 2.0, 2.0, 2.0, never, 3.0]);
    let strict = TemporalOptions { strict: true, ..timed() };
    assert_eq!(arrivals(&view, &[0], &strict).arrivals, [1.0, 2.0, never, never, never, never]);
    let late = TemporalOptions { start: Some(3.0), end: Some(8.0), ..timed() };
    assert_eq!(arrivals(&view, &[3], &late).arrivals, [never, never, never, 3.0, never, 3.0]);
}

#[test]
fn senseless_arguments_are_named() {
    let view = FlatView::from_weighted_edges(2, &[(0, 1, 1.0)], true);
    let named = |error: AlgorithmError, wanted: &str| match error {
        AlgorithmError::InvalidArgument { name, .. } | AlgorithmError::UnfitProperty { name, .. } => {
            assert_eq!(name, wanted)
        }
        other => panic!("{other:?}"),
    };
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = Node2vecOptions { p: value, ..Node2vecOptions::default() };
        named(node2vec_walks(&view, &[0], &options, &Control::new()).expect_err("refused"), "p");
    }
    let run = |options| temporal_reachability(&view, &[0], &options, &Control::new()).expect_err("refused");
    named(run(TemporalOptions::default()), "time");
    named(run(TemporalOptions { time: Some("when".to_owned()), ..timed() }), "time");
    named(run(TemporalOptions { start: Some(f64::NAN), ..timed() }), "start");
    let result = multi_source_bfs(&view, &[0, 2], &BfsOptions::default(), &Control::new());
    assert_eq!(result, Err(AlgorithmError::SourceNotFound { vertex: 2 }));
}

#[test]
fn the_verifiers_find_wrong_results() {
    let view = FlatView::from_weighted_edges(3, &[(0, 1, 1.0), (1, 2, 2.0)], false);
    let mut wrong = arrivals(&view, &[0], &timed());
    wrong.arrivals[2] = 1.0;
    assert!(
        evergraph_analytics::temporal_reachability::verify(&view, &[0], &timed(), &wrong, &Control::new())
            .is_err()
    );
    let mut wrong = hops(&view, &[0, 1], &BfsOptions::default());
    wrong.distances[1] = 2;
    let verified = evergraph_analytics::multi_source_bfs::verify(
        &view,
        &[0, 1],
        &BfsOptions::default(),
        &wrong,
        &Control::new(),
    );
    assert!(verified.is_err());
    let options = Node2vecOptions { walks: 1, ..Node2vecOptions::default() };
    let verified =
        evergraph_analytics::node2vec_walk::verify(&view, &[0], &options, &[vec![0, 2]], &Control::new());
    assert!(verified.is_err());
}
