//! Clustering coefficients against their definitions, on every shape of graph.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads};
use evergraph_analytics::clustering::{clustering_of, verify, verify_of};
use evergraph_analytics::{
    AlgorithmError, Clustering, Control, Definition, Weight, clustering, local_clustering_coefficient,
    weighted_clustering,
};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_view::FlatView;
use proptest::prelude::*;

fn checked(view: &FlatView, definition: Definition) -> Clustering {
    let result = on_one_and_two_threads(|| match definition {
        Definition::NetworkX => clustering(view, &Control::new()).expect("a result"),
        Definition::Graphalytics => local_clustering_coefficient(view, &Control::new()).expect("a result"),
    });
    verify(view, definition, &result, &Control::new()).expect("a right result");
    result
}

/// The definitions, as sums over an adjacency matrix.
fn naive(graph: &Graph, definition: Definition) -> Vec<f64> {
    let size = graph.exists.len();
    let mut edge = vec![vec![0u64; size]; size];
    for (src, dst) in graph.out_edges().into_iter().filter(|(src, dst)| src != dst) {
        edge[src as usize][dst as usize] = 1;
    }
    let near = |one: usize, other: usize| edge[one][other] | edge[other][one];
    let ways = |one: usize, other: usize| edge[one][other] + edge[other][one];
    let coefficient = |vertex: usize| {
        let neighbors: Vec<usize> = (0..size).filter(|&other| near(vertex, other) == 1).collect();
        let pairs = || neighbors.iter().flat_map(|&one| neighbors.iter().map(move |&other| (one, other)));
        let (up, down) = if definition == Definition::NetworkX && !graph.symmetric {
            let degree: u64 = neighbors.iter().map(|&other| ways(vertex, other)).sum();
            let both = neighbors.iter().filter(|&&other| ways(vertex, other) == 2).count() as u64;
            let triangles: u64 =
                pairs().map(|(one, other)| ways(vertex, one) * ways(one, other) * ways(other, vertex)).sum();
            (triangles, 2 * (degree * degree.saturating_sub(1) - 2 * both))
        } else {
            let degree = neighbors.len() as u64;
            (pairs().map(|(one, other)| edge[one][other]).sum(), degree * degree.saturating_sub(1))
        };
        if up == 0 { 0.0 } else { up as f64 / down as f64 }
    };
    (0..size).map(coefficient).collect()
}

proptest! {
    #[test]
    fn agrees_with_the_definitions(graph in any_graph()) {
        for definition in [Definition::NetworkX, Definition::Graphalytics] {
            let result = checked(&graph.view(), definition);
            for (vertex, (found, wanted)) in result.coefficients.iter().zip(naive(&graph, definition)).enumerate() {
                prop_assert!((found - wanted).abs() < 1e-12, "{definition:?}, {vertex}: {found}, not {wanted}");
            }
        }
        let nodes: Vec<u32> = (0..graph.exists.len() as u32).filter(|&vertex| graph.exists[vertex as usize]).collect();
        for nodes in [&nodes[..], &nodes[nodes.len() / 2..], &[]] {
            let run = || clustering_of(&graph.view(), nodes, &Control::new()).expect("a result");
            let result = run();
            verify_of(&graph.view(), nodes, &result, &Control::new()).expect("a right result");
        }
    }
}

fn by_weight(view: &FlatView) -> Clustering {
    let result = on_one_and_two_threads(|| {
        weighted_clustering(view, &Weight::Usual, &Control::new()).expect("a result")
    });
    let verified = weighted_clustering::verify(view, &Weight::Usual, &result, &Control::new());
    verified.expect("a right result");
    result
}

proptest! {
    /// The verifier goes pair by pair of neighbors. Equal weights are no weights, and a scale changes nothing.
    #[test]
    fn weights_agree_with_their_definition(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), 0.0f64..10.0], 1..30),
        one in 0.1f64..10.0,
    ) {
        let found = by_weight(&graph.weighted_view(&weights)).coefficients;
        let scaled: Vec<f64> = weights.iter().map(|weight| 8.0 * weight).collect();
        for (found, scaled) in found.iter().zip(by_weight(&graph.weighted_view(&scaled)).coefficients) {
            prop_assert!((found - scaled).abs() < 1e-12);
        }
        if !graph.multi {
            let plain = checked(&graph.view(), Definition::NetworkX).coefficients;
            for (found, wanted) in by_weight(&graph.weighted_view(&[one])).coefficients.iter().zip(plain) {
                prop_assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
            }
        }
    }
}

#[test]
fn figures_of_networkx_by_weight() {
    let edges = [(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0), (2, 0, 0.5), (3, 0, 4.0), (0, 3, 1.0)];
    // networkx.clustering(directed, weight="weight") of a DiGraph of these edges
    let directed = by_weight(&FlatView::from_weighted_edges(4, &edges, false)).coefficients;
    for (found, wanted) in
        directed.iter().zip([0.04042130957594906, 0.16168523830379627, 0.3233704766075925, 0.0])
    {
        assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
    }
    let refused = |weight: f64| {
        let view = FlatView::from_weighted_edges(2, &[(0, 1, weight)], false);
        weighted_clustering(&view, &Weight::Usual, &Control::new()).map(|_| ())
    };
    assert_eq!(refused(-1.0), Err(AlgorithmError::NegativeWeight { src: 0, dst: 1 }));
    assert_eq!(refused(f64::INFINITY), Err(AlgorithmError::NotFinite { src: 0, dst: 1 }));
}

#[test]
fn degenerate_graphs_have_no_triangles_but_the_complete_one() {
    for (name, graph) in degenerate_graphs() {
        for definition in [Definition::NetworkX, Definition::Graphalytics] {
            let average = if name == "complete" { 1.0 } else { 0.0 };
            assert_eq!(checked(&graph.view(), definition).average, average, "{name}");
        }
    }
}

#[test]
fn figures_of_networkx() {
    // networkx.clustering(nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 0), (3, 0), (0, 3)]))
    let view = FlatView::from_edges(4, &[(0, 1), (1, 0), (1, 2), (2, 0), (3, 0), (0, 3)], false);
    assert_eq!(checked(&view, Definition::NetworkX).coefficients, [0.125, 0.5, 1.0, 0.0]);
}

#[test]
fn a_large_graph_with_hubs() {
    let model = Model::Kronecker(Kronecker::graph500(10, 8));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    for graph in [
        Graph::new(1 << 10, &edges, true),
        Graph { chunk_len: 64, multi: true, ..Graph::new(1 << 10, &edges, false) },
    ] {
        checked(&graph.view(), Definition::NetworkX);
        checked(&graph.view(), Definition::Graphalytics);
    }
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], false);
    let right = checked(&view, Definition::NetworkX);
    let wrong: [fn(&mut Clustering); 2] =
        [|result| result.coefficients[2] = 0.5, |result| result.average = 0.0];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, Definition::NetworkX, &result, &Control::new()).is_err(), "case {case}");
    }
}
