//! Coloring, matching and spanning forests against the loops that they stand for.

use crate::common::{any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::{
    AlgorithmError, ColorOrder, Coloring, Control, SpanningForest, Weight, connected_components,
    greedy_color, maximal_matching, minimum_spanning_edges,
};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn colors(view: &FlatView, order: ColorOrder) -> Coloring {
    let result = on_one_and_two_threads(|| greedy_color(view, order, &Control::new()).expect("a result"));
    evergraph_analytics::greedy_color::verify(view, order, &result, &Control::new()).expect("a right result");
    result
}

fn matching(view: &FlatView, seed: u64) -> Vec<(VertexId, VertexId)> {
    let result = on_one_and_two_threads(|| maximal_matching(view, seed, &Control::new()).expect("a result"));
    evergraph_analytics::maximal_matching::verify(view, seed, &result, &Control::new())
        .expect("a right result");
    result
}

fn forest(view: &FlatView) -> SpanningForest {
    let run = || minimum_spanning_edges(view, &Weight::Usual, &Control::new()).expect("a result");
    let result = on_one_and_two_threads(run);
    let verified =
        evergraph_analytics::minimum_spanning_edges::verify(view, &Weight::Usual, &result, &Control::new());
    verified.expect("a right result");
    let components = connected_components(view, &Control::new()).expect("a result");
    assert_eq!(result.edges.len() as u64, view.num_vertices() - components.count);
    result
}

fn all(view: &FlatView, seed: u64) {
    colors(view, ColorOrder::LargestFirst);
    colors(view, ColorOrder::RandomSequential { seed });
    colors(view, ColorOrder::SmallestLast);
    matching(view, seed);
}

proptest! {
    #[test]
    fn agree_with_loops(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(-1.5), -10.0..10.0], 1..50),
        seed in any::<u64>(),
    ) {
        all(&graph.view(), seed);
        // Of a symmetric view both entries of an edge have the weight of the pair.
        forest(&graph.weighted_view(&weights));
    }
}

#[test]
fn degenerate_graphs_and_hubs() {
    for (name, graph) in degenerate_graphs() {
        all(&graph.view(), 1);
        forest(&graph.weighted_view(&[1.0]));
        if name == "complete" {
            assert_eq!(colors(&graph.view(), ColorOrder::LargestFirst).count, 65);
            assert_eq!(matching(&graph.view(), 5).len(), 32);
        }
    }
    let star = star(200_000, true, 512);
    all(&star, 2);
    assert_eq!(colors(&star, ColorOrder::LargestFirst).count, 3);
    assert_eq!(forest(&star).total, 200_000.0);
}

#[test]
fn a_large_graph() {
    let edges = Generator::new(Model::Kronecker(Kronecker::graph500(12, 8)), 5).expect("a generator");
    let edges = edges.collect_pairs().expect("edges");
    let weight = |at: usize| ((at * 2_654_435_761) % 1000) as f64;
    let edges: Vec<_> = edges.iter().enumerate().map(|(at, &(src, dst))| (src, dst, weight(at))).collect();
    for symmetric in [false, true] {
        let view = FlatView::from_weighted_edges(1 << 12, &edges, symmetric);
        all(&view, 9);
        assert!(forest(&view).edges.is_sorted_by(|left, right| left.2 <= right.2));
    }
}

#[test]
fn weights_that_are_no_numbers_are_refused() {
    let view = FlatView::from_weighted_edges(2, &[(0, 1, f64::NAN)], true);
    let result = minimum_spanning_edges(&view, &Weight::Usual, &Control::new());
    assert_eq!(result, Err(AlgorithmError::NotFinite { src: 0, dst: 1 }));
}

#[test]
fn the_verifiers_find_wrong_results() {
    let edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0)];
    let view = FlatView::from_weighted_edges(4, &edges, true);
    let mut wrong = colors(&view, ColorOrder::LargestFirst);
    wrong.colors[0] = 7;
    assert!(
        evergraph_analytics::greedy_color::verify(&view, ColorOrder::LargestFirst, &wrong, &Control::new())
            .is_err()
    );
    assert!(evergraph_analytics::maximal_matching::verify(&view, 0, &[], &Control::new()).is_err());
    assert!(
        evergraph_analytics::maximal_matching::verify(&view, 0, &[(0, 1), (1, 2)], &Control::new()).is_err()
    );
    let mut wrong = forest(&view);
    wrong.edges[1] = (0, 2, 3.0);
    assert!(
        evergraph_analytics::minimum_spanning_edges::verify(&view, &Weight::Usual, &wrong, &Control::new())
            .is_err()
    );
}
