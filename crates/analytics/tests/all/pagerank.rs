//! PageRank against pushing iterations in full precision, and against figures worked out by NetworkX's rules.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::pagerank::verify;
use evergraph_analytics::{AlgorithmError, Control, PageRank, PageRankOptions, pagerank};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, options: &PageRankOptions) -> PageRank {
    let result = on_one_and_two_threads(|| pagerank(view, options, &Control::new()).expect("a result"));
    verify(view, options, &result, &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agrees_with_pushing(
        graph in any_graph(),
        weights in prop::option::of(prop::collection::vec(0u8..4, 60)),
        alpha in prop_oneof![Just(0.0), Just(0.85), Just(1.0), 0.0..1.0],
        max_iter in 0u32..30,
        tol in prop_oneof![Just(0.0), Just(1e-6), Just(1e-2)],
    ) {
        let view = graph.view();
        let weights = weights.map(|weights| -> Vec<f64> {
            let exists = |vertex: usize| f64::from(u8::from(graph.exists[vertex]));
            (0..graph.exists.len()).map(|vertex| exists(vertex) * f64::from(weights[vertex])).collect()
        });
        let personalization = weights.filter(|weights| weights.iter().sum::<f64>() > 0.0);
        let result = checked(&view, &PageRankOptions { alpha, personalization, max_iter, tol, ..PageRankOptions::default() });
        let total: f64 = result.scores.iter().sum();
        prop_assert!(view.num_vertices() == 0 || (total - 1.0).abs() < 1e-9, "scores add up to {}", total);
        for (score, exists) in result.scores.iter().zip(&graph.exists) {
            prop_assert!(*exists || *score == 0.0);
        }
    }
}

#[test]
fn degenerate_graphs_converge() {
    for (name, graph) in degenerate_graphs() {
        let result = checked(&graph.view(), &PageRankOptions::default());
        assert!(result.converged, "{name}");
    }
}

#[test]
fn scores_are_those_of_networkx() {
    // networkx.pagerank(nx.MultiDiGraph([(0, 1), (0, 1), (0, 2), (2, 0)])): vertex 1 dangles and is met twice as often.
    let graph = Graph { multi: true, ..Graph::new(3, &[(0, 1), (0, 1), (0, 2), (2, 0)], false) };
    let options = PageRankOptions { tol: 1e-12, ..PageRankOptions::default() };
    let result = checked(&graph.view(), &options);
    // The fixed point of the definition, solved by hand: see `fixed_point`.
    for (score, expected) in result.scores.iter().zip(fixed_point()) {
        assert!((score - expected).abs() < 1e-10, "{:?}", result.scores);
    }
}

/// x0 = a x2 + j, x1 = 2/3 a x0 + j, x2 = 1/3 a x0 + j with j = (a x1 + 1 - a) / 3, by substitution.
fn fixed_point() -> [f64; 3] {
    let alpha = 0.85;
    // Everything in terms of j: x0 = (1 + a) j / (1 - a^2 / 3), then the sum is 1.
    let x0 = (1.0 + alpha) / (1.0 - alpha * alpha / 3.0);
    let (x1, x2) = (2.0 / 3.0 * alpha * x0 + 1.0, alpha * x0 / 3.0 + 1.0);
    let total = x0 + x1 + x2;
    [x0 / total, x1 / total, x2 / total]
}

#[test]
fn it_stops_at_max_iter_without_an_error() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2), (2, 0), (0, 2)], false);
    let result = checked(&view, &PageRankOptions { tol: 0.0, max_iter: 7, ..PageRankOptions::default() });
    assert_eq!((result.iterations, result.converged), (7, false));
    let none = checked(&view, &PageRankOptions { max_iter: 0, ..PageRankOptions::default() });
    assert_eq!((none.iterations, none.error, none.converged), (0, f64::INFINITY, false));
}

#[test]
fn a_personalization_that_leads_nowhere_else_stays_there() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 0), (2, 3)], false);
    let personalization = Some(vec![2.0, 0.0, 0.0, 0.0]);
    let result =
        checked(&view, &PageRankOptions { personalization, tol: 1e-12, ..PageRankOptions::default() });
    assert!(result.scores[2] < 1e-9 && result.scores[3] < 1e-9);
    assert!((result.scores[0] + result.scores[1] - 1.0).abs() < 1e-9);
}

#[test]
fn hubs_are_gathered_in_pieces() {
    for chunk_len in [usize::MAX, 512] {
        for tol in [1e-9, 1e-11] {
            let options = PageRankOptions { tol, ..PageRankOptions::default() };
            let result = checked(&star(300_000, false, chunk_len), &options);
            assert!(
                result.converged && (result.scores[0] - 0.85 / 1.85).abs() < 1e-3,
                "{}",
                result.scores[0]
            );
        }
    }
}

#[test]
fn shares_in_single_precision_stay_within_the_bound() {
    let generator = Generator::new(Model::Kronecker(Kronecker::graph500(17, 4)), 3).expect("a generator");
    let edges = generator.collect_pairs().expect("edges");
    let view = Graph { multi: true, ..Graph::new(1 << 17, &edges, false) }.view();
    let single = checked(&view, &PageRankOptions { tol: 1e-10, ..PageRankOptions::default() });
    assert!(single.converged && single.iterations > 5);
    let double = PageRankOptions { tol: 0.0, max_iter: single.iterations, ..PageRankOptions::default() };
    let double = pagerank(&view, &double, &Control::new()).expect("a result");
    let off: f64 =
        single.scores.iter().zip(&double.scores).map(|(single, double)| (single - double).abs()).sum();
    assert!(off > 0.0, "single precision was not used");
    assert!(off < 0.01 * 1e-10 * f64::from(1 << 17), "off by {off:e}");
}

#[test]
fn senseless_arguments_are_named() {
    let view = FlatView::from_edges(2, &[(0, 1)], false);
    let default = PageRankOptions::default;
    let cases = [
        ("alpha", PageRankOptions { alpha: 1.5, ..default() }),
        ("alpha", PageRankOptions { alpha: f64::NAN, ..default() }),
        ("tol", PageRankOptions { tol: -1.0, ..default() }),
        ("personalization", PageRankOptions { personalization: Some(vec![1.0]), ..default() }),
        ("personalization", PageRankOptions { personalization: Some(vec![0.0, 0.0]), ..default() }),
        ("personalization", PageRankOptions { personalization: Some(vec![-1.0, 2.0]), ..default() }),
        ("personalization", PageRankOptions { personalization: Some(vec![f64::INFINITY, 2.0]), ..default() }),
        ("personalization", PageRankOptions { personalization: Some(vec![f64::MAX, f64::MAX]), ..default() }),
    ];
    for (wanted, options) in cases {
        match pagerank(&view, &options, &Control::new()) {
            Err(AlgorithmError::InvalidArgument { name, .. })
            | Err(AlgorithmError::InvalidNumber { name, .. }) => assert_eq!(name, wanted),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2), (2, 0), (0, 2)], false);
    let options = PageRankOptions::default();
    let right = checked(&view, &options);
    let wrong: [fn(&mut PageRank); 4] = [
        |result| result.scores.swap(0, 1),
        |result| result.iterations -= 1,
        |result| result.error *= 2.0,
        |result| result.converged = false,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, &options, &result, &Control::new()).is_err(), "case {case}");
    }
}
