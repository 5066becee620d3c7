//! Betweenness against its definition, NetworkX's figures and its verifier, on every shape of graph.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::betweenness_centrality::verify;
use evergraph_analytics::{
    AlgorithmError, Arguments, BetweennessOptions, Check, Control, Scalar, Sources, Value, algorithm,
    betweenness_centrality,
};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

/// Bits, so that NaN is equal to itself.
fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

fn checked(view: &FlatView, options: &BetweennessOptions) -> Vec<f64> {
    let run = || betweenness_centrality(view, options, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(|| bits(&run()));
    let result: Vec<f64> = result.into_iter().map(f64::from_bits).collect();
    verify(view, options, &result, &Control::new()).expect("a right result");
    result
}

/// For every two ends, the share of the paths between them through each other vertex.
fn naive(graph: &Graph) -> Vec<f64> {
    let size = graph.exists.len();
    let mut edges = graph.out_edges();
    edges.sort_unstable();
    edges.dedup();
    let mut hops = vec![vec![usize::MAX; size]; size];
    let mut paths = vec![vec![0.0; size]; size];
    for start in 0..size {
        (hops[start][start], paths[start][start]) = (0, 1.0);
        for round in 0..size {
            let at = |vertex: VertexId| hops[start][vertex as usize];
            let onward: Vec<_> =
                edges.iter().copied().filter(|&(src, dst)| at(src) == round && at(dst) > round).collect();
            for (src, dst) in onward {
                hops[start][dst as usize] = round + 1;
                paths[start][dst as usize] += paths[start][src as usize];
            }
        }
    }
    let mut scores = vec![0.0; size];
    for start in 0..size {
        for end in (0..size).filter(|&end| end != start && hops[start][end] != usize::MAX) {
            for via in (0..size).filter(|&via| via != start && via != end) {
                let (first, second) = (hops[start][via], hops[via][end]);
                if first.checked_add(second) == Some(hops[start][end]) {
                    scores[via] += paths[start][via] * paths[via][end] / paths[start][end];
                }
            }
        }
    }
    scores
}

fn assert_close(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (vertex, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= 1e-9 * wanted.max(1.0), "vertex {vertex}: {found}, not {wanted}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn agrees_with_the_definition(
        graph in any_graph(),
        normalized in any::<bool>(),
        endpoints in any::<bool>(),
        k in 1u64..20,
        seed in any::<u64>(),
    ) {
        let view = graph.view();
        let plain = BetweennessOptions { normalized: false, ..BetweennessOptions::default() };
        let halved = if graph.symmetric { 0.5 } else { 1.0 };
        let wanted: Vec<f64> = naive(&graph).into_iter().map(|score| score * halved).collect();
        assert_close(&checked(&view, &plain), &wanted);
        checked(&view, &BetweennessOptions { sources: Sources::All, normalized, endpoints, ..BetweennessOptions::default() });
        let k = k.min(view.num_vertices());
        if k == 0 {
            return Ok(());
        }
        checked(&view, &BetweennessOptions { sources: Sources::Sample { k, seed }, normalized, endpoints, ..BetweennessOptions::default() });
    }
}

/// The figures of networkx 3.6 for this graph.
#[test]
fn figures_of_networkx() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 0), (4, 5), (2, 5)];
    let directed = FlatView::from_edges(7, &edges, false);
    let undirected = FlatView::from_edges(7, &edges, true);
    let run = |view: &FlatView, normalized, endpoints, sources: Option<Vec<VertexId>>| {
        let sources = sources.map_or(Sources::All, Sources::Given);
        checked(view, &BetweennessOptions { sources, normalized, endpoints, ..BetweennessOptions::default() })
    };
    let third = 1.0 / 3.0;
    assert_close(
        &run(&directed, true, false, None),
        &[7.0 / 30.0, 0.05, 1.0 / 12.0, 4.0 / 15.0, 0.3, 0.0, 0.0],
    );
    assert_close(&run(&directed, false, true, None), &[16.0, 10.5, 11.5, 17.0, 18.0, 5.0, 0.0]);
    let rim = 41.0 / 6.0;
    let scores = run(&undirected, false, true, None);
    assert_close(&scores, &[rim, 16.0 / 3.0, rim, rim, rim, 16.0 / 3.0, 0.0]);
    let sample = Some(vec![1, 4, 0]);
    assert_close(
        &run(&directed, true, false, sample.clone()),
        &[0.4, 0.15, 0.5 * third, third, 0.3, 0.0, 0.0],
    );
    assert_close(
        &run(&undirected, false, false, sample),
        &[3.5, 0.5, 4.0 * third, 7.0 * third, 2.0, third, 0.0],
    );
}

#[test]
fn degenerate_graphs_have_the_scores_expected() {
    for (name, graph) in degenerate_graphs() {
        let scores = checked(&graph.view(), &BetweennessOptions::default());
        assert_eq!(scores.iter().any(|&score| score > 0.0), name == "path", "{name}");
    }
    let view = FlatView::from_edges(3, &[(0, 1)], false);
    let outside = BetweennessOptions { sources: Sources::Given(vec![3]), ..BetweennessOptions::default() };
    let result = betweenness_centrality(&view, &outside, &Control::new());
    assert_eq!(result, Err(AlgorithmError::SourceNotFound { vertex: 3 }));
}

#[test]
fn no_sources_are_not_all_and_no_more_are_drawn_than_there_are() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2)], true);
    let none = BetweennessOptions { sources: Sources::Given(Vec::new()), ..BetweennessOptions::default() };
    assert_eq!(checked(&view, &none), [0.0; 3]);
    let algorithm = algorithm("betweenness_centrality").expect("a name");
    let run = |arguments: Arguments| algorithm.run(&view, &arguments, Check::Verify, &Control::new());
    let outcome = run(Arguments::new().with("sources", Value::Vertices(Vec::new()))).expect("a result");
    assert_eq!(outcome.values, [("sources", Scalar::Count(0))]);
    for k in [0, 4] {
        let result = run(Arguments::new().with("k", Value::Count(k)));
        assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "k"), "{k}");
    }
    assert!(run(Arguments::new().with("k", Value::Count(3))).is_ok());
}

#[test]
fn large_graphs_are_pulled_level_by_level() {
    let options =
        |sources| BetweennessOptions { sources: Sources::Given(sources), ..BetweennessOptions::default() };
    checked(&star(200_000, true, 512), &options(vec![0, 1, 200_000]));
    let model = Model::Kronecker(Kronecker::graph500(14, 8));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    checked(&Graph::new(1 << 14, &edges, true).view(), &options(vec![1, 77, 4000]));
    checked(&Graph { multi: true, ..Graph::new(1 << 14, &edges, false) }.view(), &options(vec![2, 9]));
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3)], true);
    let options = BetweennessOptions::default();
    let right = checked(&view, &options);
    for vertex in 0..4 {
        let mut wrong = right.clone();
        wrong[vertex] += 0.01;
        assert!(verify(&view, &options, &wrong, &Control::new()).is_err(), "vertex {vertex}");
    }
    assert!(verify(&view, &options, &right[1..], &Control::new()).is_err());
}
