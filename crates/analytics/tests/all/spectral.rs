//! Eigenvector, Katz and HITS scores, and PageRank in its general form, against pushing along lists of edges.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::{
    AlgorithmError, Control, EigenvectorOptions, Hits, HitsOptions, KatzOptions, PageRankOptions,
    PowerIteration, Weight, eigenvector_centrality, hits, katz_centrality, pagerank,
};
use evergraph_view::FlatView;
use proptest::prelude::*;

type Result<T> = std::result::Result<T, AlgorithmError>;

fn eigenvector(view: &FlatView, options: &EigenvectorOptions) -> PowerIteration {
    let run = || eigenvector_centrality(view, options, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(run);
    evergraph_analytics::eigenvector_centrality::verify(view, options, &result, &Control::new())
        .expect("a right result");
    result
}

fn katz(view: &FlatView, options: &KatzOptions) -> Result<PowerIteration> {
    let result = on_one_and_two_threads(|| katz_centrality(view, options, &Control::new()))?;
    evergraph_analytics::katz_centrality::verify(view, options, &result, &Control::new())
        .expect("a right result");
    Ok(result)
}

fn hubs(view: &FlatView, options: &HitsOptions) -> Hits {
    let result = on_one_and_two_threads(|| hits(view, options, &Control::new()).expect("a result"));
    evergraph_analytics::hits::verify(view, options, &result, &Control::new()).expect("a right result");
    result
}

/// A number for each vertex that exists, not all 0.
fn vector(graph: &Graph, numbers: &[u8]) -> Option<Vec<f64>> {
    let number =
        |(at, exists): (usize, &bool)| f64::from(u8::from(*exists)) * f64::from(numbers[at % numbers.len()]);
    let vector: Vec<f64> = graph.exists.iter().enumerate().map(number).collect();
    (vector.iter().sum::<f64>() > 0.0).then_some(vector)
}

fn numbers() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0u8..4, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn agree_with_pushing(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..10.0], 1..50),
        start in prop::option::of(numbers()),
        max_iter in 0u32..30,
        tol in prop_oneof![Just(0.0), Just(1e-6), Just(1e-2)],
        alpha in prop_oneof![Just(0.0), Just(0.1), -0.2..0.2],
        normalized in any::<bool>(),
        weighted in any::<bool>(),
    ) {
        let view = graph.weighted_view(&weights);
        let weight = if weighted { Weight::Usual } else { Weight::One };
        let nstart = start.and_then(|start| vector(&graph, &start));
        let options = EigenvectorOptions { max_iter, tol, nstart: nstart.clone(), weight: weight.clone() };
        let result = eigenvector(&view, &options);
        let length: f64 = result.scores.iter().map(|score| score * score).sum();
        prop_assert!(length == 0.0 || result.iterations == 0 || (length - 1.0).abs() < 1e-9);
        let options =
            KatzOptions { alpha, beta: 1.5, max_iter, tol, nstart: nstart.clone(), normalized, weight: weight.clone(), betas: None };
        let _ = katz(&view, &options);
        let _ = katz(&view, &KatzOptions { betas: nstart.clone(), ..options });
        hubs(&view, &HitsOptions { max_iter, tol, nstart, normalized, weight });
    }

    #[test]
    fn general_pagerank_agrees_with_pushing(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..10.0], 1..50),
        vectors in prop::array::uniform3(prop::option::of(numbers())),
        tol in prop_oneof![Just(0.0), Just(1e-6), Just(1e-2)],
    ) {
        let view = graph.weighted_view(&weights);
        let [personalization, nstart, dangling] =
            vectors.map(|numbers| numbers.and_then(|numbers| vector(&graph, &numbers)));
        let weight = Weight::Usual;
        let options =
            PageRankOptions { personalization, nstart, dangling, weight, tol, max_iter: 20, ..PageRankOptions::default() };
        let result = on_one_and_two_threads(|| pagerank(&view, &options, &Control::new()).expect("a result"));
        evergraph_analytics::pagerank::verify(&view, &options, &result, &Control::new()).expect("a right result");
        let total: f64 = result.scores.iter().sum();
        prop_assert!(graph.exists.iter().all(|exists| !exists) || (total - 1.0).abs() < 1e-9);
    }
}

#[test]
fn weights_of_one_change_nothing() {
    let graph = Graph::new(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (4, 3)], false);
    let view = graph.weighted_view(&[1.0]);
    let plain = PageRankOptions { tol: 1e-12, ..PageRankOptions::default() };
    let general = PageRankOptions { weight: Weight::Usual, ..plain.clone() };
    let [plain, general] = [plain, general].map(|options| {
        let result = pagerank(&view, &options, &Control::new()).expect("a result");
        result.scores
    });
    assert!(plain.iter().zip(&general).all(|(left, right)| (left - right).abs() < 1e-12));
}

#[test]
fn degenerate_graphs_are_scored() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.weighted_view(&[2.0]);
        let result =
            eigenvector(&view, &EigenvectorOptions { max_iter: 2000, ..EigenvectorOptions::default() });
        assert!(result.converged, "{name}");
        hubs(&view, &HitsOptions::default());
        match katz(&view, &KatzOptions { weight: Weight::Usual, ..KatzOptions::default() }) {
            Ok(result) => assert!(result.converged, "{name}"),
            Err(error) => {
                assert!(name == "complete" && error.to_string().contains("alpha"), "{name}: {error}")
            }
        }
    }
}

#[test]
fn katz_scores_that_are_large_are_brought_to_length_1() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2)], true);
    let options = KatzOptions { beta: 1e200, max_iter: 10, ..KatzOptions::default() };
    let result = katz(&view, &options).expect("a result");
    let length: f64 = result.scores.iter().map(|score| score * score).sum();
    assert!((length - 1.0).abs() < 1e-9, "{length}");
}

#[test]
fn katz_scores_that_grow_without_a_limit_are_an_error() {
    // The largest eigenvalue is 11, so scores grow by a tenth at each step: large after 1,000 of them, but finite.
    let view = Graph::new(12, &crate::common::complete(12), true).view();
    let error = katz(&view, &KatzOptions::default()).expect_err("alpha is too large");
    assert!(matches!(&error, AlgorithmError::InvalidArgument { name, .. } if name == "alpha"), "{error}");
    let slowly = KatzOptions { alpha: 0.0909, max_iter: 50, ..KatzOptions::default() };
    assert!(!katz(&view, &slowly).expect("a result, on its way").converged);
}

#[test]
fn hubs_are_gathered_in_pieces() {
    for chunk_len in [usize::MAX, 512] {
        let star = star(300_000, true, chunk_len);
        eigenvector(&star, &EigenvectorOptions { max_iter: 3, ..EigenvectorOptions::default() });
        let weights = vec![2.5; star.num_entries() as usize];
        hubs(
            &star.with_weights("weight", weights, None),
            &HitsOptions { max_iter: 3, ..HitsOptions::default() },
        );
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let view = FlatView::from_weighted_edges(2, &[(0, 1, -1.0)], false);
    let control = Control::new();
    let named = |error: AlgorithmError, wanted: &str| match error {
        AlgorithmError::InvalidArgument { name, .. } | AlgorithmError::InvalidNumber { name, .. } => {
            assert_eq!(name, wanted)
        }
        other => panic!("{other:?}"),
    };
    for tol in [-1.0, f64::NAN] {
        let options = EigenvectorOptions { tol, ..EigenvectorOptions::default() };
        named(eigenvector_centrality(&view, &options, &control).expect_err("refused"), "tol");
        let options = HitsOptions { tol, ..HitsOptions::default() };
        named(hits(&view, &options, &control).expect_err("refused"), "tol");
    }
    for start in [vec![1.0], vec![0.0, 0.0], vec![f64::NAN, 1.0], vec![-1.0, 2.0]] {
        let options = EigenvectorOptions { nstart: Some(start.clone()), ..EigenvectorOptions::default() };
        named(eigenvector_centrality(&view, &options, &control).expect_err("refused"), "nstart");
        let options = HitsOptions { nstart: Some(start), ..HitsOptions::default() };
        named(hits(&view, &options, &control).expect_err("refused"), "nstart");
    }
    let options = KatzOptions { alpha: f64::INFINITY, ..KatzOptions::default() };
    named(katz_centrality(&view, &options, &control).expect_err("refused"), "alpha");
    for numbers in [
        KatzOptions { nstart: Some(vec![0.0, f64::NAN]), ..KatzOptions::default() },
        KatzOptions { betas: Some(vec![0.0, f64::NAN]), ..KatzOptions::default() },
    ] {
        let error = katz_centrality(&view, &numbers, &control).expect_err("refused");
        assert!(matches!(&error, AlgorithmError::InvalidNumber { vertex: 1, .. }), "{error:?}");
        named(error, if numbers.betas.is_some() { "beta" } else { "nstart" });
    }
    let options = KatzOptions { betas: Some(vec![1.0]), ..KatzOptions::default() };
    named(katz_centrality(&view, &options, &control).expect_err("refused"), "beta");
    let error = hits(&view, &HitsOptions::default(), &control).expect_err("refused");
    assert_eq!(error, AlgorithmError::NegativeWeight { src: 0, dst: 1 });
}

#[test]
fn the_verifiers_find_wrong_results() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2), (2, 0), (0, 2)], false);
    let options = EigenvectorOptions::default();
    let mut wrong = eigenvector(&view, &options);
    wrong.scores[0] += 1e-6;
    assert!(
        evergraph_analytics::eigenvector_centrality::verify(&view, &options, &wrong, &Control::new())
            .is_err()
    );
    let options = KatzOptions::default();
    let mut wrong = katz(&view, &options).expect("a result");
    wrong.iterations -= 1;
    assert!(evergraph_analytics::katz_centrality::verify(&view, &options, &wrong, &Control::new()).is_err());
    let options = HitsOptions::default();
    let mut wrong = hubs(&view, &options);
    wrong.authorities[1] += 1e-6;
    assert!(evergraph_analytics::hits::verify(&view, &options, &wrong, &Control::new()).is_err());
}
