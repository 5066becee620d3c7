//! Closeness against distances by Floyd and Warshall, NetworkX's figures and its verifier.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads};
use evergraph_analytics::closeness_centrality::verify;
use evergraph_analytics::{
    AlgorithmError, Arguments, Check, ClosenessOptions, Control, Value, VertexColumn, algorithm,
    closeness_centrality,
};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, options: &ClosenessOptions) -> Vec<f64> {
    let run = || closeness_centrality(view, options, &Control::new()).expect("a result");
    let bits = |scores: Vec<f64>| scores.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let result: Vec<f64> = on_one_and_two_threads(|| bits(run())).into_iter().map(f64::from_bits).collect();
    verify(view, options, &result, &Control::new()).expect("a right result");
    result
}

fn naive(graph: &Graph, wf_improved: bool) -> Vec<f64> {
    let size = graph.exists.len();
    let mut hops = vec![vec![f64::INFINITY; size]; size];
    graph.out_edges().iter().for_each(|&(src, dst)| hops[src as usize][dst as usize] = 1.0);
    (0..size).for_each(|vertex| hops[vertex][vertex] = 0.0);
    for via in 0..size {
        let onward = hops[via].clone();
        for row in &mut hops {
            let first = row[via];
            row.iter_mut().zip(&onward).for_each(|(hops, further)| *hops = hops.min(first + further));
        }
    }
    let others = graph.exists.iter().filter(|exists| **exists).count() as f64 - 1.0;
    let score = |vertex: usize| {
        let to = (0..size).map(|other| hops[other][vertex]).filter(|hops| hops.is_finite() && *hops > 0.0);
        let (count, sum) = to.fold((0.0, 0.0), |(count, sum), hops| (count + 1.0, sum + hops));
        let scale = if wf_improved { count / others } else { 1.0 };
        if sum == 0.0 { 0.0 } else { count / sum * scale }
    };
    (0..size).map(|vertex| if graph.exists[vertex] { score(vertex) } else { f64::NAN }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn agrees_with_all_distances(graph in any_graph(), wf_improved in any::<bool>()) {
        let result = checked(&graph.view(), &ClosenessOptions { wf_improved, ..ClosenessOptions::default() });
        for (found, wanted) in result.iter().zip(naive(&graph, wf_improved)) {
            prop_assert!((found - wanted).abs() < 1e-12 || (found.is_nan() && wanted.is_nan()));
        }
    }
}

/// The figures of networkx 3.6 for this graph.
#[test]
fn figures_of_networkx() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 0), (4, 5), (2, 5)];
    let directed = FlatView::from_edges(7, &edges, false);
    let found = checked(&directed, &ClosenessOptions::default());
    let wanted = [8.0 / 27.0, 4.0 / 15.0, 4.0 / 15.0, 8.0 / 21.0, 1.0 / 3.0, 25.0 / 54.0, 0.0];
    assert!(found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{found:?}");
    let undirected = FlatView::from_edges(7, &edges, true);
    let found = checked(&undirected, &ClosenessOptions { wf_improved: false, ..ClosenessOptions::default() });
    let (near, far) = (5.0 / 7.0, 5.0 / 9.0);
    assert_eq!(found, [near, far, near, near, near, far, 0.0]);
}

#[test]
fn only_what_was_asked_for_has_a_score() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
    let options = ClosenessOptions { u: Some(vec![1, 1]), ..ClosenessOptions::default() };
    let found = checked(&view, &options);
    assert!(found[0].is_nan() && found[1] == 0.5 && found[2].is_nan());
    let none = Arguments::new().with("u", Value::Vertices(Vec::new()));
    let closeness = algorithm("closeness_centrality").expect("a name");
    let outcome = closeness.run(&view, &none, Check::Verify, &Control::new()).expect("a result");
    assert!(
        matches!(&outcome.columns[0].1, VertexColumn::Floats(scores) if scores.iter().all(|it| it.is_nan()))
    );
    let outside = ClosenessOptions { u: Some(vec![3]), ..ClosenessOptions::default() };
    let result = closeness_centrality(&view, &outside, &Control::new());
    assert_eq!(result.err(), Some(AlgorithmError::SourceNotFound { vertex: 3 }));
}

#[test]
fn degenerate_graphs_and_a_large_one() {
    for (name, graph) in degenerate_graphs() {
        let found = checked(&graph.view(), &ClosenessOptions::default());
        assert_eq!(found.contains(&1.0), ["complete", "parallel edges"].contains(&name), "{name}");
    }
    let model = Model::Kronecker(Kronecker::graph500(11, 4));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    let view = Graph::new(1 << 11, &edges, false).view();
    checked(&view, &ClosenessOptions::default());
    assert_eq!(view.num_vertices(), 1 << 11);
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2)], true);
    let options = ClosenessOptions::default();
    let mut wrong = checked(&view, &options);
    wrong[1] = 0.9;
    assert!(verify(&view, &options, &wrong, &Control::new()).is_err());
    assert!(verify(&view, &options, &wrong[1..], &Control::new()).is_err());
}
