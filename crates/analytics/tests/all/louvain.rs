//! Louvain and Leiden communities: their modularity by its definition, what is known of some graphs, and the verifier.

use crate::common::{Graph, any_graph, complete, degenerate_graphs, on_one_and_two_threads};
use evergraph_analytics::louvain::verify;
use evergraph_analytics::{AlgorithmError, Communities, Control, LouvainOptions, Weight, leiden, louvain};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, options: &LouvainOptions) -> Communities {
    let result = on_one_and_two_threads(|| louvain(view, options, &Control::new()).expect("a result"));
    verify(view, options, &result, &Control::new()).expect("a right result");
    result
}

fn checked_leiden(view: &FlatView, options: &LouvainOptions) -> Communities {
    let result = on_one_and_two_threads(|| leiden(view, options, &Control::new()).expect("a result"));
    evergraph_analytics::leiden::verify(view, options, &result, &Control::new()).expect("a right result");
    result
}

/// The sum over all pairs of vertices, of what is between them and what chance would put there.
fn naive(graph: &Graph, weights: &[f64], labels: &[u32], resolution: f64) -> f64 {
    let size = graph.exists.len();
    let mut matrix = vec![vec![0.0; size]; size];
    for (src, dst, weight) in graph.weighted_edges(weights) {
        matrix[src as usize][dst as usize] += weight;
        if !graph.symmetric || src == dst {
            matrix[dst as usize][src as usize] += weight;
        }
    }
    let degrees: Vec<f64> = matrix.iter().map(|row| row.iter().sum()).collect();
    let total: f64 = degrees.iter().sum();
    let mut sum = 0.0;
    for one in 0..size {
        for other in (0..size).filter(|&other| labels[one] == labels[other]) {
            sum += matrix[one][other] - resolution * degrees[one] * degrees[other] / total;
        }
    }
    if total == 0.0 { 0.0 } else { sum / total }
}

proptest! {
    #[test]
    fn the_modularity_is_that_of_the_communities(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..10.0], 1..50),
        resolution in prop_oneof![Just(1.0), Just(0.0), 0.1..3.0],
        max_level in prop::option::of(0u32..3),
        seed in any::<u64>(),
    ) {
        let options = LouvainOptions { resolution, max_level, seed, ..LouvainOptions::default() };
        let view = graph.weighted_view(&weights);
        for result in [checked(&view, &options), checked_leiden(&view, &options)] {
            let wanted = naive(&graph, &weights, &result.labels, resolution);
            prop_assert!((result.modularity - wanted).abs() < 1e-9, "{}, not {}", result.modularity, wanted);
            prop_assert!(max_level.is_none_or(|most| result.levels <= most));
        }
    }
}

#[test]
fn weights_may_be_as_large_and_as_small_as_numbers_are() {
    let triangles = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
    for (symmetric, weight) in
        [1.0, 1e160, 1e308, f64::MAX, 1e-300, 5e-324].map(|weight| (weight > 1.0, weight))
    {
        let edges: Vec<_> = triangles.iter().map(|&(src, dst)| (src, dst, weight)).collect();
        let view = FlatView::from_weighted_edges(6, &edges, symmetric);
        let options = LouvainOptions::default();
        for found in [checked(&view, &options), checked_leiden(&view, &options)] {
            assert_eq!(found.labels, [0, 0, 0, 3, 3, 3], "{weight}");
            assert!((found.modularity - 5.0 / 14.0).abs() < 1e-12, "{weight}: {}", found.modularity);
        }
    }
}

#[test]
fn degenerate_graphs_have_the_communities_expected() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.view();
        let result = checked(&view, &LouvainOptions::default());
        match name {
            "complete" | "parallel edges" => assert_eq!(result.count, 1, "{name}"),
            "path" => assert!((8..20).contains(&result.count) && result.modularity > 0.8, "{result:?}"),
            _ => assert_eq!(result.count, view.num_vertices(), "{name}"),
        }
    }
}

#[test]
fn a_ring_of_cliques_falls_apart_into_cliques() {
    let mut edges: Vec<_> = (0..16)
        .flat_map(|part| complete(8).into_iter().map(move |(a, b)| (part * 8 + a, part * 8 + b)))
        .collect();
    edges.extend((0..16).map(|part| (part * 8, (part * 8 + 9) % 128)));
    for symmetric in [true, false] {
        for seed in 0..5 {
            let view = Graph::new(128, &edges, symmetric).view();
            let options = LouvainOptions { seed, ..LouvainOptions::default() };
            for result in [checked(&view, &options), checked_leiden(&view, &options)] {
                assert_eq!(result.labels, (0..128).map(|vertex| vertex / 8 * 8).collect::<Vec<_>>());
            }
        }
    }
}

/// Zachary's karate club: for each member, the later ones it is tied to.
const KARATE: [&[u32]; 34] = [
    &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
    &[2, 3, 7, 13, 17, 19, 21, 30],
    &[3, 7, 8, 9, 13, 27, 28, 32],
    &[7, 12, 13],
    &[6, 10],
    &[6, 10, 16],
    &[16],
    &[],
    &[30, 32, 33],
    &[33],
    &[],
    &[],
    &[],
    &[33],
    &[32, 33],
    &[32, 33],
    &[],
    &[],
    &[32, 33],
    &[33],
    &[32, 33],
    &[],
    &[32, 33],
    &[25, 27, 29, 32, 33],
    &[25, 27, 31],
    &[31],
    &[29, 33],
    &[33],
    &[31, 33],
    &[32, 33],
    &[32, 33],
    &[32, 33],
    &[33],
    &[],
];

#[test]
fn the_karate_club_comes_near_to_its_best_division() {
    let edges: Vec<_> =
        (0..).zip(KARATE).flat_map(|(src, list)| list.iter().map(move |&dst| (src, dst))).collect();
    let view = Graph::new(34, &edges, true).view();
    // The largest modularity there is for this graph is 0.4198; a start at random gets near it.
    let found: Vec<f64> = (0..10)
        .map(|seed| checked(&view, &LouvainOptions { seed, ..LouvainOptions::default() }).modularity)
        .collect();
    assert!(found.iter().all(|&modularity| (0.38..0.4199).contains(&modularity)), "{found:?}");
    assert!(found.iter().any(|&modularity| modularity > 0.415), "{found:?}");
}

#[test]
fn weights_decide_where_edges_alone_do_not() {
    let edges = [(0, 1, 10.0), (1, 2, 1.0), (2, 3, 10.0), (3, 0, 1.0)];
    let view = FlatView::from_weighted_edges(4, &edges, true);
    assert_eq!(checked(&view, &LouvainOptions::default()).labels, [0, 0, 2, 2]);
    let turned = edges.map(|(src, dst, weight)| (src, dst, 11.0 - weight));
    let view = FlatView::from_weighted_edges(4, &turned, true);
    assert_eq!(checked(&view, &LouvainOptions::default()).labels, [0, 1, 1, 0]);
    let view = FlatView::from_weighted_edges(2, &[(0, 1, -1.0)], true);
    let result = louvain(&view, &LouvainOptions::default(), &Control::new());
    assert_eq!(result, Err(AlgorithmError::NegativeWeight { src: 0, dst: 1 }));
    let ignored = LouvainOptions { weight: Weight::One, ..LouvainOptions::default() };
    assert_eq!(checked(&view, &ignored).count, 1);
}

#[test]
fn a_large_graph_gains_modularity() {
    let model = Model::Kronecker(Kronecker::graph500(12, 4));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    let result = checked(&Graph::new(1 << 12, &edges, true).view(), &LouvainOptions::default());
    assert!(result.modularity > 0.2, "{}", result.modularity);
}

#[test]
fn senseless_arguments_are_named() {
    let view = FlatView::from_edges(2, &[(0, 1)], true);
    let cases = [
        ("resolution", LouvainOptions { resolution: f64::NAN, ..LouvainOptions::default() }),
        ("threshold", LouvainOptions { threshold: -1.0, ..LouvainOptions::default() }),
    ];
    for (wanted, options) in cases {
        let result = louvain(&view, &options, &Control::new());
        assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == wanted));
    }
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], true);
    let options = LouvainOptions::default();
    let right = checked(&view, &options);
    let wrong: [fn(&mut Communities); 4] = [
        |result| result.labels[3] = 0,
        |result| result.labels[1] = 1,
        |result| result.count = 3,
        |result| result.modularity += 0.01,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, &options, &result, &Control::new()).is_err(), "case {case}");
    }
}
