//! Single-source shortest paths against relaxing every edge until nothing changes, on every shape of graph.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::sssp::verify;
use evergraph_analytics::{AlgorithmError, Control, Sssp, SsspOptions, Weight, sssp};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, sources: &[VertexId], options: &SsspOptions) -> Sssp {
    let result = on_one_and_two_threads(|| sssp(view, sources, options, &Control::new()).expect("a result"));
    verify(view, sources, options, &result, &Control::new()).expect("a right result");
    result
}

/// Bellman and Ford's rounds over all edges.
fn naive(graph: &Graph, weights: &[f64], sources: &[VertexId], options: &SsspOptions) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; graph.exists.len()];
    sources.iter().for_each(|&source| distances[source as usize] = 0.0);
    for _ in 0..graph.exists.len() {
        for (src, dst, weight) in graph.weighted_edges(weights) {
            let (near, far) = if options.reverse { (dst, src) } else { (src, dst) };
            let distance = distances[near as usize] + weight;
            if distance <= options.cutoff.unwrap_or(f64::MAX) {
                distances[far as usize] = distances[far as usize].min(distance);
            }
        }
    }
    distances
}

proptest! {
    #[test]
    fn agrees_with_relaxing_all_edges(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..10.0, 0.0..1e6], 1..50)
            .prop_flat_map(|weights| (Just(weights), any::<bool>()))
            .prop_map(|(weights, whole)| weights.into_iter().map(|weight: f64| if whole { weight.round() } else { weight }).collect::<Vec<_>>()),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        reverse in any::<bool>(),
        cutoff in prop::option::of(0.0..20.0),
        delta in prop::option::of(prop_oneof![Just(1e-300), Just(1e300), 0.01..5.0]),
    ) {
        let view = graph.weighted_view(&weights);
        let existing: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        let sources: Vec<VertexId> =
            picks.iter().filter(|_| !existing.is_empty()).map(|pick| *pick.get(&existing)).collect();
        let options = SsspOptions { weight: Weight::Usual, reverse, cutoff, delta };
        prop_assert_eq!(checked(&view, &sources, &options).distances, naive(&graph, &weights, &sources, &options));
        let hops = SsspOptions { weight: Weight::One, ..options };
        prop_assert_eq!(checked(&view, &sources, &hops).distances, naive(&graph, &[1.0], &sources, &hops));
    }
}

#[test]
fn degenerate_graphs_from_every_vertex_at_once() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.weighted_view(&[2.5]);
        let sources: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        assert_eq!(checked(&view, &sources, &SsspOptions::default()).reached, view.num_vertices(), "{name}");
    }
}

#[test]
fn hubs_are_relaxed_in_pieces() {
    for chunk_len in [usize::MAX, 512] {
        let star = star(300_000, true, chunk_len);
        let weights = (0..star.num_entries()).map(|entry| (entry % 7) as f64).collect();
        let view = star.with_weights("weight", weights, None);
        checked(&view, &[0], &SsspOptions::default());
        checked(&view, &[300_000], &SsspOptions::default());
    }
}

#[test]
fn without_a_property_every_edge_weighs_one() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
    assert_eq!(checked(&view, &[0], &SsspOptions::default()).distances, [0.0, 1.0, 2.0]);
    let named = SsspOptions { weight: Weight::Property("cost".to_owned()), ..SsspOptions::default() };
    match sssp(&view, &[0], &named, &Control::new()) {
        Err(AlgorithmError::UnfitProperty { name, why }) => {
            assert_eq!(name, "weight");
            assert!(why.contains("\"cost\""), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn weights_and_arguments_that_make_no_sense_are_refused() {
    let run = |weight: f64, options: SsspOptions| {
        let view = FlatView::from_weighted_edges(3, &[(0, 1, 1.0), (1, 2, weight)], false);
        sssp(&view, &[0], &options, &Control::new())
    };
    let default = SsspOptions::default;
    assert_eq!(run(-1.0, default()), Err(AlgorithmError::NegativeWeight { src: 1, dst: 2 }));
    let reverse = SsspOptions { reverse: true, ..default() };
    assert_eq!(run(-1.0, reverse), Err(AlgorithmError::NegativeWeight { src: 1, dst: 2 }));
    assert_eq!(run(f64::NAN, default()), Err(AlgorithmError::NotFinite { src: 1, dst: 2 }));
    assert_eq!(run(f64::INFINITY, default()), Err(AlgorithmError::NotFinite { src: 1, dst: 2 }));
    for (wanted, options) in [
        ("delta", SsspOptions { delta: Some(0.0), ..default() }),
        ("delta", SsspOptions { delta: Some(f64::NAN), ..default() }),
        ("cutoff", SsspOptions { cutoff: Some(-1.0), ..default() }),
        ("cutoff", SsspOptions { cutoff: Some(f64::NAN), ..default() }),
    ] {
        let result = run(1.0, options);
        assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == wanted));
    }
    let view = FlatView::from_edges(1, &[], false);
    let result = sssp(&view, &[1], &default(), &Control::new());
    assert_eq!(result, Err(AlgorithmError::SourceNotFound { vertex: 1 }));
}

#[test]
fn sums_beyond_all_numbers_are_refused() {
    let view = FlatView::from_weighted_edges(3, &[(0, 1, 1e308), (1, 2, 1e308)], false);
    let result = sssp(&view, &[0], &SsspOptions::default(), &Control::new());
    assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "weight"));
    let near = SsspOptions { cutoff: Some(1e308), ..SsspOptions::default() };
    assert_eq!(checked(&view, &[0], &near).reached, 2);
}

#[test]
fn whole_lengths_and_sums_beyond_their_bits() {
    // Each is a whole number of 32 bits, but the way to 2 is not.
    let large = f64::from(u32::MAX - 1);
    for last in [1.0, 2.0, 0.5, large] {
        let edges = [(0, 1, large), (1, 2, last), (0, 3, 7.0), (3, 4, 0.0)];
        let view = FlatView::from_weighted_edges(5, &edges, false);
        let expected = [0.0, large, large + last, 7.0, 7.0];
        assert_eq!(checked(&view, &[0], &SsspOptions::default()).distances, expected);
    }
    let near = SsspOptions { cutoff: Some(7.0), ..SsspOptions::default() };
    let view = FlatView::from_weighted_edges(3, &[(0, 1, 7.0), (1, 2, 1.0)], true);
    assert_eq!(checked(&view, &[0], &near).distances, [0.0, 7.0, f64::INFINITY]);
}

#[test]
fn lengths_that_are_kept_are_those_of_their_weights() {
    let view = FlatView::from_weighted_edges(2, &[(0, 1, 3.0)], false);
    let reverse = SsspOptions { reverse: true, ..SsspOptions::default() };
    for _ in 0..2 {
        assert_eq!(checked(&view, &[0], &SsspOptions::default()).distances, [0.0, 3.0]);
        assert_eq!(checked(&view, &[1], &reverse).distances, [3.0, 0.0]);
    }
    let other = view.with_weights("weight", vec![4.0], Some(vec![5.0]));
    assert_eq!(checked(&other, &[0], &SsspOptions::default()).distances, [0.0, 4.0]);
    assert_eq!(checked(&other, &[1], &reverse).distances, [5.0, 0.0]);
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_weighted_edges(4, &[(0, 1, 1.0), (1, 2, 2.0), (0, 2, 4.0)], false);
    let options = SsspOptions::default();
    let right = checked(&view, &[0], &options);
    let wrong: [fn(&mut Sssp); 4] = [
        |result| result.distances[2] = 4.0,
        |result| result.distances[3] = 5.0,
        |result| result.distances[1] = f64::NAN,
        |result| result.reached = 4,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, &[0], &options, &result, &Control::new()).is_err(), "case {case}");
    }
}
