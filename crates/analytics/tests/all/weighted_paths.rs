//! Bellman-Ford, and closeness and betweenness by weight, against their verifiers and small examples.

use crate::common::{any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::{
    AlgorithmError, BellmanFord, BetweennessOptions, ClosenessOptions, Control, Sources, SsspOptions, Weight,
    bellman_ford, betweenness_centrality, closeness_centrality, sssp,
};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn reached(view: &FlatView, sources: &[VertexId]) -> Result<BellmanFord, AlgorithmError> {
    let weight = Weight::Usual;
    let result = on_one_and_two_threads(|| bellman_ford(view, sources, &weight, &Control::new()))?;
    evergraph_analytics::bellman_ford::verify(view, sources, &weight, &result, &Control::new())
        .expect("a right result");
    Ok(result)
}

fn between(view: &FlatView, options: &BetweennessOptions) -> Vec<f64> {
    let run = || betweenness_centrality(view, options, &Control::new()).expect("a result");
    let bits = || run().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let result: Vec<f64> = on_one_and_two_threads(bits).into_iter().map(f64::from_bits).collect();
    evergraph_analytics::betweenness_centrality::verify(view, options, &result, &Control::new())
        .expect("a right result");
    result
}

fn near(view: &FlatView, options: &ClosenessOptions) -> Vec<f64> {
    let run = || closeness_centrality(view, options, &Control::new()).expect("a result");
    let bits = || run().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let result: Vec<f64> = on_one_and_two_threads(bits).into_iter().map(f64::from_bits).collect();
    evergraph_analytics::closeness_centrality::verify(view, options, &result, &Control::new())
        .expect("a right result");
    result
}

/// Whether a cycle of negative weight is reached: rounds over all edges never end.
fn never_ends(edges: &[(VertexId, VertexId, f64)], bound: usize, sources: &[VertexId]) -> bool {
    let mut distances = vec![f64::INFINITY; bound];
    sources.iter().for_each(|&source| distances[source as usize] = 0.0);
    let round = |distances: &mut [f64]| {
        edges.iter().fold(false, |changed, &(src, dst, weight)| {
            let far = distances[src as usize] + weight;
            let nearer = far < distances[dst as usize];
            distances[dst as usize] = distances[dst as usize].min(far);
            changed | nearer
        })
    };
    (0..=bound).all(|_| round(&mut distances))
}

proptest! {
    #[test]
    fn bellman_ford_agrees_with_rounds_over_all_edges(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![1 => -2i8..0, 8 => 0i8..10], 1..50),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let view = graph.weighted_view(&weights);
        let existing: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        let sources: Vec<VertexId> =
            picks.iter().filter(|_| !existing.is_empty()).map(|pick| *pick.get(&existing)).collect();
        let endless = never_ends(&graph.weighted_edges(&weights), graph.exists.len(), &sources);
        match reached(&view, &sources) {
            Ok(_) => prop_assert!(!endless),
            Err(AlgorithmError::NegativeCycle { vertex }) => {
                prop_assert!(endless && view.has_vertex(vertex));
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn without_negative_weights_it_is_sssp(
        graph in any_graph(),
        weights in prop::collection::vec(0.0..10.0, 1..50),
    ) {
        let view = graph.weighted_view(&weights);
        let sources: Vec<VertexId> = (0..view.id_bound()).find(|&vertex| view.has_vertex(vertex)).into_iter().collect();
        let expected = sssp(&view, &sources, &SsspOptions::default(), &Control::new()).expect("a result");
        let found = reached(&view, &sources).expect("no cycle");
        prop_assert_eq!((found.distances, found.reached), (expected.distances, expected.reached));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]
    #[test]
    fn centralities_by_weight_agree_with_slow_ones(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(1.0), 0.5..10.0], 1..50),
        wf_improved in any::<bool>(),
        normalized in any::<bool>(),
        endpoints in any::<bool>(),
        k in prop::option::of(1u64..20),
    ) {
        let view = graph.weighted_view(&weights);
        let distance = Weight::Usual;
        near(&view, &ClosenessOptions { distance: distance.clone(), wf_improved, u: None });
        let k = k.map(|k| k.min(view.num_vertices())).filter(|&k| k > 0);
        let sources = k.map_or(Sources::All, |k| Sources::Sample { k, seed: 3 });
        between(&view, &BetweennessOptions { sources, normalized, endpoints, weight: distance });
    }
}

#[test]
fn weights_of_one_change_nothing() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 0), (4, 5), (2, 5), (5, 6)];
    let weighted: Vec<_> = edges.iter().map(|&(src, dst)| (src, dst, 1.0)).collect();
    for symmetric in [false, true] {
        let view = FlatView::from_weighted_edges(8, &weighted, symmetric);
        let plain = BetweennessOptions::default();
        let heavy = BetweennessOptions { weight: Weight::Usual, ..BetweennessOptions::default() };
        let (plain, heavy) = (between(&view, &plain), between(&view, &heavy));
        assert!(plain.iter().zip(&heavy).all(|(plain, heavy)| (plain - heavy).abs() < 1e-12));
        let far = ClosenessOptions { distance: Weight::Usual, ..ClosenessOptions::default() };
        assert_eq!(near(&view, &ClosenessOptions::default()), near(&view, &far));
    }
}

#[test]
fn degenerate_graphs_by_weight() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.weighted_view(&[2.5]);
        let sources: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        assert_eq!(reached(&view, &sources).map(|found| found.reached), Ok(view.num_vertices()), "{name}");
        near(&view, &ClosenessOptions { distance: Weight::Usual, ..ClosenessOptions::default() });
        between(&view, &BetweennessOptions { weight: Weight::Usual, ..BetweennessOptions::default() });
    }
}

#[test]
fn hubs_and_long_paths() {
    let star = star(300_000, true, 512);
    let weights = (0..star.num_entries()).map(|entry| (entry % 7) as f64).collect();
    reached(&star.with_weights("weight", weights, None), &[0]).expect("no cycle");
    let path: Vec<_> = (0..2000).map(|vertex| (vertex, vertex + 1, -1.0)).collect();
    let view = FlatView::from_weighted_edges(2001, &path, false);
    assert_eq!(reached(&view, &[0]).map(|found| found.distances[2000]), Ok(-2000.0));
    let ring: Vec<_> = path.iter().copied().chain([(2000, 0, 1999.5)]).collect();
    let view = FlatView::from_weighted_edges(2001, &ring, false);
    assert!(matches!(reached(&view, &[7]), Err(AlgorithmError::NegativeCycle { .. })));
}

#[test]
fn weights_that_make_no_sense_are_refused() {
    let view = FlatView::from_weighted_edges(3, &[(0, 1, 1.0), (1, 2, 0.0)], false);
    let options = BetweennessOptions { weight: Weight::Usual, ..BetweennessOptions::default() };
    let result = betweenness_centrality(&view, &options, &Control::new());
    assert_eq!(result, Err(AlgorithmError::ZeroWeight { src: 1, dst: 2 }));
    let view = FlatView::from_weighted_edges(3, &[(0, 1, 1.0), (1, 2, -1.0)], false);
    let options = ClosenessOptions { distance: Weight::Usual, ..ClosenessOptions::default() };
    let result = closeness_centrality(&view, &options, &Control::new());
    assert_eq!(result, Err(AlgorithmError::NegativeWeight { src: 1, dst: 2 }));
    let named = Weight::Property("cost".to_owned());
    let result = bellman_ford(&view, &[0], &named, &Control::new());
    assert!(matches!(result, Err(AlgorithmError::UnfitProperty { name, .. }) if name == "weight"));
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_weighted_edges(4, &[(0, 1, 1.0), (1, 2, -2.0), (0, 2, 4.0)], false);
    let right = reached(&view, &[0]).expect("no cycle");
    let wrong: [fn(&mut BellmanFord); 4] = [
        |result| result.distances[2] = 4.0,
        |result| result.parents[2] = 0,
        |result| result.parents[3] = 3,
        |result| result.reached = 4,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        let verified =
            evergraph_analytics::bellman_ford::verify(&view, &[0], &Weight::Usual, &result, &Control::new());
        assert!(verified.is_err(), "case {case}");
    }
}
