//! Weights at the ends of the range of numbers: either the result is right, or the argument is named that makes it none.

use crate::common::on_one_and_two_threads;
use evergraph_analytics::{
    AlgorithmError, Arguments, BetweennessOptions, Check, ClosenessOptions, Control, Node2vecOptions,
    Outcome, PageRank, PageRankOptions, SsspOptions, Value, VertexColumn, Weight, algorithm, bellman_ford,
    betweenness_centrality, closeness_centrality, node2vec_walks, pagerank, shortest_path, sssp,
};
use evergraph_view::FlatView;

/// A ring of three with a tail, whose edges all weigh the same; and one back, so that some vertex has a choice.
fn graph(weight: f64) -> FlatView {
    let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (0, 2)];
    FlatView::from_weighted_edges(4, &edges.map(|(src, dst)| (src, dst, weight)), false)
}

/// Runs an algorithm by name with its verifier.
fn verified(name: &str, view: &FlatView, arguments: &Arguments) -> Result<Outcome, AlgorithmError> {
    algorithm(name).expect("a name").run(view, arguments, Check::Verify, &Control::new())
}

fn weighted() -> Arguments {
    Arguments::new().with("weight", Value::Text("weight".to_owned()))
}

fn scores(view: &FlatView, options: &PageRankOptions) -> Vec<f64> {
    let PageRank { scores, converged, .. } =
        on_one_and_two_threads(|| pagerank(view, options, &Control::new()).expect("a result"));
    assert!(converged);
    scores
}

fn agree(left: &[f64], right: &[f64]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-12)
}

fn named(error: AlgorithmError) -> String {
    match error {
        AlgorithmError::InvalidArgument { name, .. } => name,
        other => panic!("{other}"),
    }
}

#[test]
fn pagerank_goes_by_proportions_of_weights_of_any_size() {
    let options = PageRankOptions { weight: Weight::Usual, ..PageRankOptions::default() };
    let usual = scores(&graph(1.0), &options);
    for weight in [1e308, f64::MAX, 1e-310, 5e-324] {
        assert!(agree(&scores(&graph(weight), &options), &usual), "{weight:e}");
        verified("pagerank", &graph(weight), &weighted()).expect("a right result");
    }
    // Those of one vertex large, those of another small: each is scaled by itself.
    let edges = [(0, 1, 3.0), (0, 2, 1.0), (1, 0, 1.0), (2, 0, 3.0), (2, 1, 1.0)];
    let mixed = edges.map(|(src, dst, weight)| (src, dst, weight * [1e307, 1.0, 5e-324][src as usize]));
    let found =
        [edges, mixed].map(|edges| scores(&FlatView::from_weighted_edges(3, &edges, false), &options));
    assert!(agree(&found[0], &found[1]), "{found:?}");
}

#[test]
fn pagerank_takes_places_to_jump_to_of_any_size() {
    let view = graph(1.0);
    let jumps = |size: f64| vec![size, 0.0, 0.0, 3.0 * size];
    let with = |size| PageRankOptions { personalization: Some(jumps(size)), ..PageRankOptions::default() };
    let usual = scores(&view, &with(1.0));
    for size in [1e307, 1e-310, 5e-324] {
        assert!(agree(&scores(&view, &with(size)), &usual), "{size:e}");
        let given = Arguments::new().with("personalization", Value::Weights(jumps(size)));
        verified("pagerank", &view, &given).expect("a right result");
    }
}

#[test]
fn verifiers_agree_with_scores_by_weights_of_any_size() {
    for weight in [1e308, 1e-310, 5e-324] {
        for name in ["eigenvector_centrality", "hits"] {
            if let Err(error) = verified(name, &graph(weight), &weighted()) {
                assert_eq!(named(error), "weight", "{name} by {weight:e}");
            }
        }
    }
    let Outcome { columns, .. } = verified("hits", &graph(1e-310), &weighted()).expect("a right result");
    assert!(columns.iter().all(|(_, column)| match column {
        VertexColumn::Floats(scores) => scores.iter().all(|score| (0.0..=1.0).contains(score)),
        _ => false,
    }));
}

#[test]
fn paths_longer_than_any_number_are_refused_rather_than_left_out() {
    let (view, control) = (graph(1e308), Control::new());
    let error = sssp(&view, &[1], &SsspOptions::default(), &control).expect_err("0 is too far");
    assert_eq!(named(error), "weight");
    // Within a distance all is known.
    let near = SsspOptions { cutoff: Some(1.5e308), ..SsspOptions::default() };
    assert_eq!(sssp(&view, &[1], &near, &control).expect("a result").reached, 2);
    let error = bellman_ford(&view, &[1], &Weight::Usual, &control).expect_err("0 is too far");
    assert_eq!(named(error), "weight");
    for (source, target) in [(1, 0), (1, 3)] {
        let error = shortest_path(&view, source, target, &Weight::Usual, &control).expect_err("too far");
        assert_eq!(named(error), "weight");
    }
    let path: Vec<_> = (0..6).map(|vertex| (vertex, vertex + 1, 1e308)).collect();
    let path = FlatView::from_weighted_edges(7, &path, false);
    let error = shortest_path(&path, 0, 6, &Weight::Usual, &control).expect_err("the searches do not meet");
    assert_eq!(named(error), "weight");
    // No path is none, whatever the weights.
    assert_eq!(shortest_path(&view, 3, 0, &Weight::Usual, &control), Ok(None));
    assert_eq!(shortest_path(&path, 6, 0, &Weight::Usual, &control), Ok(None));
}

#[test]
fn a_weight_that_no_shortest_path_needs_may_be_any() {
    let edges = [(0, 1, f64::MAX), (0, 2, 1.0), (2, 1, 1.0), (1, 3, f64::MAX), (2, 3, 5.0), (3, 0, 1e308)];
    let (view, control) = (FlatView::from_weighted_edges(4, &edges, false), Control::new());
    let distances = [0.0, 2.0, 1.0, 6.0];
    assert_eq!(sssp(&view, &[0], &SsspOptions::default(), &control).expect("a result").distances, distances);
    assert_eq!(bellman_ford(&view, &[0], &Weight::Usual, &control).expect("a result").distances, distances);
    let path = shortest_path(&view, 0, 3, &Weight::Usual, &control).expect("a result").expect("a path");
    assert_eq!((path.vertices, path.length), (vec![0, 2, 3], 6.0));
}

#[test]
fn centralities_by_distances_of_any_size_are_right_or_refused() {
    let control = Control::new();
    let closeness = |view: &FlatView, u: Option<Vec<_>>| {
        let options = ClosenessOptions { distance: Weight::Usual, u, ..ClosenessOptions::default() };
        closeness_centrality(view, &options, &control)
    };
    for weight in [1e308, 1e-310] {
        assert_eq!(named(closeness(&graph(weight), None).expect_err("no number")), "distance");
    }
    let pair = FlatView::from_weighted_edges(2, &[(0, 1, 1e300)], false);
    assert_eq!(closeness(&pair, None), Ok(vec![0.0, 1.0 / 1e300]));
    let options = BetweennessOptions { weight: Weight::Usual, ..BetweennessOptions::default() };
    let error = betweenness_centrality(&graph(1e308), &options, &control).expect_err("no number");
    assert_eq!(named(error), "weight");
}

#[test]
fn walks_go_along_edges_whatever_they_weigh() {
    for weight in [f64::MAX, 1e-310, 5e-324] {
        for (p, q) in [(1.0, 1.0), (1e-308, 1.0), (1.0, 1e-308), (1e308, 1e308)] {
            let view = graph(weight);
            let options = Node2vecOptions { length: 6, walks: 30, p, q, ..Node2vecOptions::default() };
            let result = node2vec_walks(&view, &[0], &options, &Control::new()).expect("walks");
            evergraph_analytics::node2vec_walk::verify(&view, &[0], &options, &result, &Control::new())
                .expect("right walks");
        }
    }
    let by = |weight| {
        let options = Node2vecOptions { length: 20, walks: 5, p: 0.3, q: 3.0, ..Node2vecOptions::default() };
        node2vec_walks(&graph(weight), &[0], &options, &Control::new()).expect("walks")
    };
    assert_eq!(by(1e-310), by(1.0));
    assert_eq!(by(1e308), by(1.0));
}
